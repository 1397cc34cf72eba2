// What code is made for, and what passes and launches ask about it instead of knowing it. A policy may change what is
// fused or how work is cut, never a bit of a result.
#pragma once

#include <cstdint>
#include <string>

namespace tandem {

/// A kind of processor with its caches. Two processors of one architecture with other caches are two targets.
struct Target {
  /// `x86-64-v4`, `sm_90`: what a kernel compiler makes code for. Part of the keys of kernel caches and of disk names.
  std::string architecture;
};

}  // namespace tandem
