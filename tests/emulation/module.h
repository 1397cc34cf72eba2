// What a compiled text and the driver's stand-in share. It is part of every text, before the shim, and includes
// nothing.
#pragma once

/// Three coordinates, as CUDA calls them.
struct uint3 {
  unsigned x, y, z;
};

namespace tandem::emulation {

/// Lanes of a warp.
inline constexpr unsigned kWarp = 32;
/// Shared variables have this alignment and nothing else has: the loader knows them by it.
inline constexpr unsigned kSharedAlignment = 512;

enum class Barrier : int { kPlain, kCount, kAnd, kOr };
enum class WarpStep : int { kSync, kShuffle, kBallot, kGather };

/// What a running thread sees of the processor. Each module has one; the driver fills it before a thread goes on.
struct Machine {
  uint3 thread, block;    // where the thread is
  uint3 threads, blocks;  // how many there are
  void* dynamicShared;
  unsigned dynamicSharedBytes;
  unsigned lane, liveLanes;

  /// Waits for all threads of the block; of what they gave, the count, or whether all or any were not 0. `line` is that
  /// of the text: threads that meet at different lines have diverged.
  int (*barrier)(Barrier kind, int predicate, int line);
  /// Waits for the lanes of `mask`. kShuffle: what lane `source` gave; kBallot: a bit for each lane whose value is not
  /// 0. kGather: `all` gets what each lane gave, 0 of those that take no part.
  unsigned long long (*warp)(WarpStep kind, unsigned mask, unsigned long long value, unsigned source,
                             unsigned long long* all, int line);
  void (*trap)(const char* what);
};

/// A kernel of a module.
struct KernelRecord {
  const char* name;
  const unsigned* sizes;  // bytes of each parameter
  unsigned parameters;
  unsigned mostThreads;  // of a block, __launch_bounds__; 0: not said
  void (*run)(void** parameters);
};

/// What a module exports, as `tandemModule`.
struct ModuleRecord {
  unsigned long long version;  // a hash of the shim: a module made with another one is refused
  Machine* machine;
  const KernelRecord* kernels;
  unsigned count;
};

}  // namespace tandem::emulation
