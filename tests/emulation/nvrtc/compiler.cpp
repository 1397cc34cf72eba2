#include "tests/emulation/nvrtc/compiler.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <spawn.h>
#include <string_view>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/wait.h>

#include "runtime/base/hash.h"

namespace tandem::emulation {
namespace {

/// A descriptor, closed when it goes.
class File {
 public:
  explicit File(int fd = -1) : fd_(fd) {}
  ~File() { close(); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] int get() const { return fd_; }
  void reset(int fd) {
    close();
    fd_ = fd;
  }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

std::string readAll(int fd) {
  std::string all;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t n = ::read(fd, buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return all;
    all.append(buffer, static_cast<std::size_t>(n));
  }
}

bool writeAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

/// Memory with the name of a file, read from its beginning.
void fillMemoryFile(File& file, std::string_view bytes) {
  file.reset(::memfd_create("text", MFD_CLOEXEC));
  writeAll(file.get(), bytes);
  ::lseek(file.get(), 0, SEEK_SET);
}

pid_t start(const std::vector<std::string>& command, int in, int out, int errors) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& a : command) arguments.push_back(const_cast<char*>(a.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out, 1);
  ::posix_spawn_file_actions_adddup2(&actions, errors, 2);
  pid_t child = -1;
  if (::posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ) != 0) child = -1;
  ::posix_spawn_file_actions_destroy(&actions);
  return child;
}

bool succeeds(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return false;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// $TANDEM_EMULATED_OPTIMIZE, else what a text takes the least time with that is compiled once and run a few times: -O1
/// takes twice as long for a long text, and what it makes half as long.
std::string optimization() {
  const char* level = std::getenv("TANDEM_EMULATED_OPTIMIZE");
  return level != nullptr && *level != '\0' ? level : "-Og";
}

std::vector<std::string> compilerCommand(const std::vector<std::string>& options) {
  // Without a driver between, which would be a third of the time of a small text.
  std::vector<std::string> command{TANDEM_CC1PLUS, "-quiet", "-nostdinc", "-nostdinc++", optimization(), "-w", "-g1",
                                   "-gdwarf-4",  // the line of a fault; of version 5 addr2line mistakes the file
                                   "-fno-var-tracking",
                                   // What a GPU refuses, or does otherwise than a host.
                                   "-fsanitize=alignment,shift-exponent,float-cast-overflow",
                                   "-fsanitize-undefined-trap-on-error", "-fpie", "-mfma", "-fno-exceptions",
                                   "-fno-rtti", "-fno-asynchronous-unwind-tables", "-fno-stack-protector",
                                   "-fno-threadsafe-statics", "-fno-math-errno", "-fno-strict-aliasing",
                                   "-fno-delete-null-pointer-checks", "-fwrapv", "-fwhole-program", "-fdata-sections",
                                   "-fno-zero-initialized-in-bss", "-fmax-errors=20", "-fno-diagnostics-show-caret"};
  command.insert(command.end(), options.begin(), options.end());
  return command;
}

std::string cacheFolder() {
  const char* off = std::getenv("TANDEM_CACHE");
  const char* folder = std::getenv("TANDEM_CACHE_DIR");
  if ((off != nullptr && std::string_view(off) == "off") || folder == nullptr || *folder == '\0') return {};
  return std::string(folder) + "/emulated";
}

/// A name that no other thread or process has.
std::string temporaryName(const std::string& folder) {
  static std::atomic<unsigned> count{0};
  return folder + "/tandem-emulated." + std::to_string(::getpid()) + "." + std::to_string(count++);
}

std::string readFile(const std::string& path) {
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file.get() < 0 ? std::string() : readAll(file.get());
}

}  // namespace

Compiled compileForHost(const std::string& text, const std::vector<std::string>& options) {
  std::vector<std::string> command = compilerCommand(options);
  Hash128 key;
  for (const std::string& c : command) key.add(c);
  key.add(text);
  const std::string kept = cacheFolder();
  const std::string path = kept.empty() ? std::string() : kept + "/" + key.hex() + ".o";
  Compiled result;
  if (!path.empty()) {
    result.object = readFile(path);
    if (!result.object.empty()) return result;
  }

  std::error_code ignored;
  const std::string folder = kept.empty() ? std::filesystem::temp_directory_path().string() : kept;
  std::filesystem::create_directories(folder, ignored);
  const std::string made = temporaryName(folder);
  command.insert(command.end(), {"-o", "-", "-"});

  // The assembler starts while the compiler works.
  File in;
  fillMemoryFile(in, text);
  const File errors(::memfd_create("errors", MFD_CLOEXEC));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {"", "no pipe"};
  File from(ends[0]);
  File to(ends[1]);
  const File nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const pid_t compiler = start(command, in.get(), to.get(), errors.get());
  const pid_t assembler = start({TANDEM_ASSEMBLER, "--64", "-o", made, "-"}, from.get(), nothing.get(), errors.get());
  to.close();
  from.close();
  const bool isCompiled = compiler > 0 && succeeds(compiler);
  const bool isAssembled = assembler > 0 && succeeds(assembler);
  if (isCompiled && isAssembled) result.object = readFile(made);
  ::lseek(errors.get(), 0, SEEK_SET);
  result.log = readAll(errors.get());
  if (result.object.empty()) {
    if (compiler < 0) result.log += std::string("cannot run ") + TANDEM_CC1PLUS + "\n";
    if (assembler < 0) result.log += std::string("cannot run ") + TANDEM_ASSEMBLER + "\n";
  }
  if (result.object.empty() || path.empty() || std::rename(made.c_str(), path.c_str()) != 0) ::unlink(made.c_str());
  return result;
}

Compiled preprocess(const std::string& text, const std::vector<std::string>& options) {
  std::vector<std::string> command = compilerCommand(options);
  command.insert(command.end(), {"-E", "-o", "-", "-"});
  File in;
  File out(::memfd_create("out", MFD_CLOEXEC));
  const File errors(::memfd_create("errors", MFD_CLOEXEC));
  fillMemoryFile(in, text);
  const pid_t compiler = start(command, in.get(), out.get(), errors.get());
  const bool ok = compiler > 0 && succeeds(compiler);
  ::lseek(out.get(), 0, SEEK_SET);
  ::lseek(errors.get(), 0, SEEK_SET);
  return {ok ? readAll(out.get()) : std::string(), readAll(errors.get())};
}

}  // namespace tandem::emulation
