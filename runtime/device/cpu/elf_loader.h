// Places kernels' relocatable objects in executable memory. Takes only what the code generator makes: code and
// read-only data, a few relocations, a fixed table of imports. Pages are written first and executable afterwards, never
// both.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/device/cpu/cpu_kernel.h"

namespace tandem::cpu {

/// An object and the symbol in it that is a kernel.
struct KernelObject {
  std::string_view object;
  std::string_view symbol;
};

/// Objects in one stretch of executable memory, which goes with it.
class LoadedCode {
 public:
  /// InternalError saying what is wrong with an object where something is; every offset in it is checked.
  explicit LoadedCode(std::span<const KernelObject> kernels);
  ~LoadedCode();
  LoadedCode(LoadedCode&& other) noexcept
      : functions(std::move(other.functions)), memory_(std::exchange(other.memory_, nullptr)), bytes_(other.bytes_) {}
  LoadedCode& operator=(LoadedCode&&) = delete;

  /// One a kernel, in the order they were given.
  std::vector<KernelFn> functions;
  /// Leaves the code where it is for the life of the process.
  void keep() { memory_ = nullptr; }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

/// The address of `symbol` in the object, which stays for the life of the process.
KernelFn loadObject(std::string_view object, std::string_view symbol);

}  // namespace tandem::cpu
