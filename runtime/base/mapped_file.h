// Files that are read where they are mapped.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tandem {

/// A file, mapped to be read.
class MappedFile {
 public:
  /// ValueError naming the path where it is no file or cannot be mapped.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  [[nodiscard]] std::string_view bytes() const { return {static_cast<const char*>(data_), bytes_}; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace tandem
