// Loads what NVRTC's stand-in makes: a relocatable object of this host, placed in memory of its own.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tests/emulation/module.h"

namespace tandem::emulation {

/// An object in memory: code that can be executed, and data. Shared variables lie together.
class LoadedObject {
 public:
  LoadedObject() = default;
  ~LoadedObject();
  LoadedObject(const LoadedObject&) = delete;
  LoadedObject& operator=(const LoadedObject&) = delete;

  /// What is wrong with the object; empty: it is loaded.
  std::string load(std::string_view object);
  /// How many bytes an object has that begins here; 0: it is none.
  static std::size_t sizeOf(const void* image);
  /// The object that what stands for PTX has in it; empty: it is no such text.
  static std::string ofText(const char* image);

  [[nodiscard]] const ModuleRecord& record() const { return *record_; }
  /// Sets all bits of the shared variables: NaN, if floating-point.
  void clearShared() const;
  [[nodiscard]] std::size_t sharedBytes() const { return sharedSize_; }
  [[nodiscard]] bool holdsCode(const void* at) const { return at >= memory_ && at < memory_ + codeSize_; }

 private:
  unsigned char* memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t codeSize_ = 0;
  unsigned char* shared_ = nullptr;
  std::size_t sharedSpan_ = 0;  // with the gaps between variables
  std::size_t sharedSize_ = 0;  // of the variables alone
  const ModuleRecord* record_ = nullptr;
};

}  // namespace tandem::emulation
