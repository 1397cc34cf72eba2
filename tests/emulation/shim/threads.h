// Threads of a block working together: barriers, shuffles, votes, fences, loads that name a cache.
#pragma once

#include "tests/emulation/shim/types.h"

// A thread that meets a barrier waits in the driver's stand-in; the line is that of the text.
#define TANDEM_LINE int line = __builtin_LINE()

#pragma shim __syncthreads
inline void __syncthreads(TANDEM_LINE) {
  tandem::emulation::machine.barrier(tandem::emulation::Barrier::kPlain, 0, line);
}
#pragma shim __syncthreads_
inline int __syncthreads_count(int predicate, TANDEM_LINE) {
  return tandem::emulation::machine.barrier(tandem::emulation::Barrier::kCount, predicate, line);
}
inline int __syncthreads_and(int predicate, TANDEM_LINE) {
  return tandem::emulation::machine.barrier(tandem::emulation::Barrier::kAnd, predicate, line);
}
inline int __syncthreads_or(int predicate, TANDEM_LINE) {
  return tandem::emulation::machine.barrier(tandem::emulation::Barrier::kOr, predicate, line);
}

#pragma shim warpStep
namespace tandem::emulation {
inline unsigned long long warpStep(WarpStep kind, unsigned mask, unsigned long long value, unsigned source, int line) {
  return machine.warp(kind, mask, value, source, nullptr, line);
}
}  // namespace tandem::emulation

#pragma shim TANDEM_SHUFFLE
namespace tandem::emulation {
// Which lane a lane reads, as the instruction `shfl` has it: its own one where the other lies outside its part of a
// warp.
inline unsigned laneAt(unsigned source, unsigned width) {
  return (machine.lane & ~(width - 1)) | (source & (width - 1));
}
inline unsigned laneUp(unsigned delta, unsigned width) {
  return (machine.lane & (width - 1)) >= delta ? machine.lane - delta : machine.lane;
}
inline unsigned laneDown(unsigned delta, unsigned width) {
  return (machine.lane & (width - 1)) + delta < width ? machine.lane + delta : machine.lane;
}
inline unsigned laneXor(unsigned bits, unsigned width) {
  unsigned lane = machine.lane ^ bits;
  return lane <= (machine.lane | (width - 1)) && lane < kWarp ? lane : machine.lane;
}
template <class T>
inline T shuffle(unsigned mask, T value, unsigned source, int line) {
  static_assert(static_cast<T>(static_cast<double>(T(1))) == T(1), "shuffles take numbers");
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  bits = warpStep(WarpStep::kShuffle, mask, bits, source, line);
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}
}  // namespace tandem::emulation
// Small integers become int, as an overload of int would have it; what is no number is refused.
#define TANDEM_SHUFFLE(name, Source, lane)                                                                             \
  template <class T>                                                                                                   \
  inline auto name(unsigned mask, T value, Source source, int width = 32, TANDEM_LINE) -> decltype(+value) {           \
    return tandem::emulation::shuffle(mask, +value, tandem::emulation::lane(source, width), line);                     \
  }
#pragma shim __shfl_sync
TANDEM_SHUFFLE(__shfl_sync, int, laneAt)
#pragma shim __shfl_up_sync
TANDEM_SHUFFLE(__shfl_up_sync, unsigned, laneUp)
#pragma shim __shfl_down_sync
TANDEM_SHUFFLE(__shfl_down_sync, unsigned, laneDown)
#pragma shim __shfl_xor_sync
TANDEM_SHUFFLE(__shfl_xor_sync, int, laneXor)

#pragma shim __syncwarp
inline void __syncwarp(unsigned mask = 0xffffffffu, TANDEM_LINE) {
  tandem::emulation::warpStep(tandem::emulation::WarpStep::kSync, mask, 0, 0, line);
}
#pragma shim __ballot_sync
inline unsigned __ballot_sync(unsigned mask, int predicate, TANDEM_LINE) {
  return tandem::emulation::warpStep(tandem::emulation::WarpStep::kBallot, mask, predicate != 0, 0, line);
}
#pragma shim __any_sync __all_sync
inline int __any_sync(unsigned mask, int predicate, TANDEM_LINE) { return __ballot_sync(mask, predicate, line) != 0; }
inline int __all_sync(unsigned mask, int predicate, TANDEM_LINE) {
  return __ballot_sync(mask, predicate == 0, line) == 0;
}
#pragma shim __activemask
// The lanes that have not returned: which of them run together is the processor's choice.
inline unsigned __activemask() { return tandem::emulation::machine.liveLanes; }

#pragma shim __reduce_
namespace tandem::emulation {
template <class T, class F>
inline T reduceLanes(unsigned mask, T value, F combine, int line) {
  unsigned long long all[kWarp];
  machine.warp(WarpStep::kGather, mask, static_cast<unsigned>(value), 0, all, line);
  for (unsigned i = 0; i < kWarp; ++i) {
    if (i != machine.lane && (mask >> i & 1) != 0 && (machine.liveLanes >> i & 1) != 0)
      value = combine(value, static_cast<T>(all[i]));
  }
  return value;
}
}  // namespace tandem::emulation

#define TANDEM_REDUCE(T, name, expression)                                                                             \
  inline T __reduce_##name##_sync(unsigned mask, T value, TANDEM_LINE) {                                               \
    return tandem::emulation::reduceLanes(mask, value, [](T a, T b) -> T { return expression; }, line);                \
  }
TANDEM_REDUCE(unsigned, add, a + b)
TANDEM_REDUCE(unsigned, min, b < a ? b : a)
TANDEM_REDUCE(unsigned, max, a < b ? b : a)
TANDEM_REDUCE(unsigned, and, a& b)
TANDEM_REDUCE(unsigned, or, a | b)
TANDEM_REDUCE(unsigned, xor, a ^ b)
TANDEM_REDUCE(int, add, a + b)
TANDEM_REDUCE(int, min, b < a ? b : a)
TANDEM_REDUCE(int, max, a < b ? b : a)
#undef TANDEM_REDUCE

#pragma shim __match_
namespace tandem::emulation {
inline unsigned matchLanes(unsigned mask, unsigned long long value, int line) {
  unsigned long long all[kWarp];
  machine.warp(WarpStep::kGather, mask, value, 0, all, line);
  unsigned same = 0;
  for (unsigned i = 0; i < kWarp; ++i) {
    if (all[i] == value) same |= 1u << i;
  }
  return same & mask & machine.liveLanes;
}
}  // namespace tandem::emulation
#define TANDEM_MATCH(T)                                                                                                \
  inline unsigned __match_any_sync(unsigned mask, T value, TANDEM_LINE) {                                              \
    return tandem::emulation::matchLanes(mask, static_cast<unsigned long long>(value), line);                          \
  }                                                                                                                    \
  inline unsigned __match_all_sync(unsigned mask, T value, int* all, TANDEM_LINE) {                                    \
    unsigned taking = mask & tandem::emulation::machine.liveLanes;                                                     \
    *all = tandem::emulation::matchLanes(mask, static_cast<unsigned long long>(value), line) == taking;                \
    return *all ? taking : 0;                                                                                          \
  }
TANDEM_MATCH(int)
TANDEM_MATCH(unsigned)
TANDEM_MATCH(long)
TANDEM_MATCH(unsigned long)
TANDEM_MATCH(long long)
TANDEM_MATCH(unsigned long long)
#undef TANDEM_MATCH

#pragma shim __threadfence __nanosleep __trap clock64
// Threads take turns, so that memory is always in order.
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
inline void __nanosleep(unsigned) {}
inline void __trap(TANDEM_LINE) {
  tandem::emulation::machine.trap("__trap()");
  (void)line;
}
inline long long clock64() { return static_cast<long long>(__builtin_ia32_rdtsc()); }

#pragma shim sizeOfDynamicShared
// What a kernel reads in a register of its own on a GPU.
inline unsigned sizeOfDynamicShared() { return tandem::emulation::machine.dynamicSharedBytes; }

#pragma shim __ld __st
namespace tandem::emulation {
template <class T>
constexpr bool isNumber(T*) {
  return false;
}
#define TANDEM_NUMBER(T)                                                                                               \
  constexpr bool isNumber(const T*) { return true; }
TANDEM_NUMBER(char)
TANDEM_NUMBER(signed char)
TANDEM_NUMBER(unsigned char)
TANDEM_NUMBER(short)
TANDEM_NUMBER(unsigned short)
TANDEM_NUMBER(int)
TANDEM_NUMBER(unsigned)
TANDEM_NUMBER(long)
TANDEM_NUMBER(unsigned long)
TANDEM_NUMBER(long long)
TANDEM_NUMBER(unsigned long long)
TANDEM_NUMBER(float)
TANDEM_NUMBER(double)
#undef TANDEM_NUMBER
template <class T>
constexpr bool canLoad() {
  return isNumber(static_cast<const T*>(nullptr)) || kLoads<T>;
}
}  // namespace tandem::emulation

#pragma shim __ld
#define TANDEM_LOAD(name)                                                                                              \
  template <class T>                                                                                                   \
  inline T name(const T* from) {                                                                                       \
    static_assert(tandem::emulation::canLoad<T>(), #name " takes numbers and vectors of them");                        \
    return *from;                                                                                                      \
  }
TANDEM_LOAD(__ldg)
TANDEM_LOAD(__ldca)
TANDEM_LOAD(__ldcg)
TANDEM_LOAD(__ldcs)
TANDEM_LOAD(__ldcv)
TANDEM_LOAD(__ldlu)
#undef TANDEM_LOAD
#pragma shim __st
#define TANDEM_STORE(name)                                                                                             \
  template <class T>                                                                                                   \
  inline void name(T* to, T value) {                                                                                   \
    static_assert(tandem::emulation::canLoad<T>(), #name " takes numbers and vectors of them");                        \
    *to = value;                                                                                                       \
  }
TANDEM_STORE(__stwb)
TANDEM_STORE(__stcg)
TANDEM_STORE(__stcs)
TANDEM_STORE(__stwt)
#undef TANDEM_STORE
