// Modules and the launches of their kernels.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/emulation/driver/device.h"
#include "tests/emulation/driver/object.h"

namespace tandem::emulation {

inline constexpr int kMostShared = 227 << 10;   // of a block, with opt-in
inline constexpr int kUsualShared = 48 << 10;   // without
inline constexpr unsigned kMostThreads = 1024;  // of a block

struct Module;

struct Function {
  Module* module;
  const KernelRecord* record;
  int mostDynamicShared;
};

struct Module : std::enable_shared_from_this<Module> {
  Device* device = nullptr;
  LoadedObject object;
  std::vector<std::unique_ptr<Function>> functions;

  /// What is wrong with the image; empty: it is loaded.
  std::string load(const void* image);
  Function* find(const char* name);
};

/// The launch with its arguments copied; null, with the reason in `result`, where it is not allowed.
Work launchWork(const Function& function, uint3 blocks, uint3 threads, unsigned sharedBytes, void** parameters,
                int& result);

}  // namespace tandem::emulation
