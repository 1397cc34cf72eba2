#include "runtime/program/state_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <unistd.h>
#include <utility>

#include <sys/stat.h>

#include "runtime/base/error.h"
#include "runtime/lib/strided.h"
#include "runtime/program/safetensors.h"

namespace tandem::program {
namespace {

std::size_t bytesOf(const StateData& s) { return static_cast<std::size_t>(numelOf(s.shape)) * itemSize(s.dtype); }

/// A file that appears under its name when it is whole.
class NewFile {
 public:
  explicit NewFile(std::string path)
      : path_(std::move(path)), aside_(path_ + ".XXXXXX"), fd_(::mkstemp(aside_.data())) {
    if (fd_ < 0) failed("cannot be written");
    ::fchmod(fd_, 0644);
  }
  ~NewFile() {
    if (fd_ < 0) return;
    ::close(fd_);
    ::unlink(aside_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(const void* data, std::size_t bytes) {
    const char* at = static_cast<const char*>(data);
    while (bytes > 0) {
      const ssize_t n = ::write(fd_, at, bytes);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) failed("cannot be written");
      at += n;
      bytes -= static_cast<std::size_t>(n);
    }
  }
  void finish() {
    if (::fsync(fd_) != 0 || ::rename(aside_.c_str(), path_.c_str()) != 0) failed("cannot be written");
    ::close(std::exchange(fd_, -1));
  }

 private:
  [[noreturn]] void failed(const char* what) const { fail<ValueError>(path_, ": ", what, ": ", std::strerror(errno)); }
  std::string path_, aside_;
  int fd_;
};

/// Elements in row-major order.
std::string elementsOf(const Context& context, std::size_t number) {
  const StateData& s = context.program().data().state[number];
  std::string bytes(bytesOf(s), '\0');
  copyArray({const_cast<void*>(context.state(number)), s.dtype, s.shape, s.strides},
            {bytes.data(), s.dtype, s.shape, contiguousStrides(s.shape)});
  return bytes;
}

}  // namespace

void saveState(const Context& context, const std::string& path) {
  const std::vector<StateData>& state = context.program().data().state;
  std::vector<TensorRange> tensors;
  std::uint64_t at = 0;
  for (const StateData& s : state) {
    tensors.push_back({s.name, s.dtype, s.shape, at, at + bytesOf(s)});
    at += bytesOf(s);
  }
  const std::string header = safetensorsHeader(tensors);
  NewFile file(path);
  file.write(header.data(), header.size());
  for (std::size_t k = 0; k < state.size(); ++k) {
    const std::string bytes = elementsOf(context, k);
    file.write(bytes.data(), bytes.size());
  }
  file.finish();
}

void loadState(Context& context, const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) fail<ValueError>(path, ": ", std::strerror(errno));
  const std::string file{std::istreambuf_iterator<char>(in), {}};
  const Safetensors found = readSafetensors(file);
  const ProgramData& program = context.program().data();
  std::vector<std::size_t> numbers;
  for (const TensorRange& t : found.tensors) {
    const auto known = std::ranges::find(program.state, t.name, &StateData::name);
    if (known == program.state.end()) fail<ValueError>(path, ": the program has no tensor called `", t.name, "`");
    if (t.dtype != known->dtype || !(t.shape == known->shape))
      fail<ValueError>(path, ": `", t.name, "` is ", dtypeName(t.dtype), " ", shapeText(t.shape), ", and ",
                       dtypeName(known->dtype), " ", shapeText(known->shape), " in the program");
    numbers.push_back(static_cast<std::size_t>(known - program.state.begin()));
    const bool changes = program.memories[known->memory].changes;
    if (!changes && elementsOf(context, numbers.back()) != found.bytes.substr(t.begin, t.end - t.begin))
      fail<ValueError>(path, ": `", t.name, "` has other elements, and no entry of the program changes it");
  }
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    const StateData& s = program.state[numbers[k]];
    if (!program.memories[s.memory].changes) continue;
    copyArray(
        {const_cast<char*>(found.bytes.data() + found.tensors[k].begin), s.dtype, s.shape, contiguousStrides(s.shape)},
        {context.changingState(numbers[k]), s.dtype, s.shape, s.strides});
  }
}

}  // namespace tandem::program
