// Writing files so that readers see all of one or nothing.
#pragma once

#include <string>
#include <string_view>

namespace tandem {

/// A file that appears under its name when it is whole: written aside, in the same folder, then synced and renamed.
/// What was there before stays until then. Every member throws ValueError naming the path where it cannot be done.
class NewFile {
 public:
  explicit NewFile(std::string path);
  /// Without `finish` nothing is left.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view bytes);
  void finish();

 private:
  [[noreturn]] void failed() const;
  std::string path_, aside_;
  int fd_;
};

}  // namespace tandem
