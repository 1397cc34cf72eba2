#include "runtime/base/new_file.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include "runtime/base/error.h"

namespace tandem {
namespace {

/// Differs from the names that other threads and processes write under.
std::string asideOf(const std::string& path) {
  static std::atomic<int> counter{0};
  return path + "." + std::to_string(::getpid()) + "." + std::to_string(counter++);
}

}  // namespace

NewFile::NewFile(std::string path)
    : path_(std::move(path)), aside_(asideOf(path_)),
      fd_(::open(aside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)) {
  if (fd_ < 0) failed();
}

NewFile::~NewFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!aside_.empty()) ::unlink(aside_.c_str());
}

void NewFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) failed();
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

void NewFile::finish() {
  if (::fsync(fd_) != 0 || ::close(std::exchange(fd_, -1)) != 0 || ::rename(aside_.c_str(), path_.c_str()) != 0)
    failed();
  aside_.clear();
}

void NewFile::failed() const { fail<ValueError>(path_, ": cannot be written: ", std::strerror(errno)); }

}  // namespace tandem
