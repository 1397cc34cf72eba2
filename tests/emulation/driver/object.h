// Loads what NVRTC's stand-in makes: a relocatable object of this host, placed in memory of its own.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

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
  /// Sets all bits of the shared variables that a kernel may use: NaN, if floating-point.
  void clearShared(std::string_view kernel) const;
  /// How many bytes the shared variables of a kernel have, without those of functions that it calls.
  [[nodiscard]] std::size_t sharedBytes(std::string_view kernel) const;
  /// `file:line` of the text that an instruction was made of; empty where it is not known.
  [[nodiscard]] std::string lineOf(const void* instruction) const;

 private:
  friend class Placing;
  /// A shared variable.
  struct Shared {
    std::string kernel;  // whose it is; empty: it is in another function or in none
    unsigned char* at;
    std::size_t bytes;
  };
  /// A stretch of code.
  struct Code {
    std::string section;
    const unsigned char* at;
    std::size_t bytes;
  };

  unsigned char* memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::vector<Shared> shared_;
  std::vector<Code> code_;
  std::string object_;  // for lineOf
  const ModuleRecord* record_ = nullptr;
};

}  // namespace tandem::emulation
