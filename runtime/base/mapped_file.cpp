#include "runtime/base/mapped_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/stat.h>

#include "runtime/base/error.h"

namespace tandem {

MappedFile::MappedFile(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail<ValueError>(path, ": ", std::strerror(errno));
  struct stat info{};
  const bool regular = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  if (regular && info.st_size > 0) {
    bytes_ = static_cast<std::size_t>(info.st_size);
    data_ = ::mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, fd, 0);
  }
  const int error = errno;
  ::close(fd);
  if (!regular) fail<ValueError>(path, ": not a file");
  if (data_ == MAP_FAILED) fail<ValueError>(path, ": cannot be mapped: ", std::strerror(error));
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

}  // namespace tandem
