// NVRTC takes one text of a process at a time, whatever number of threads come with one: twenty kernels of a plan would
// be compiled one after another. So texts that come while one is compiled here go to processes, which live as long as
// there is something to compile.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <mutex>
#include <optional>
#include <spawn.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <sys/wait.h>

#include "codegen/cuda/nvrtc.h"
#include "codegen/cuda/nvrtc_messages.h"
#include "runtime/base/error.h"

namespace tandem::codegen::cuda {

namespace {

/// The program, beside the shared object that this is part of.
std::string programPath() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&compileCuda), &info) == 0 || info.dli_fname == nullptr) return "";
  const std::string own = info.dli_fname;
  std::string path = own.substr(0, own.rfind('/') + 1) + "tandem-nvrtc";
  return access(path.c_str(), X_OK) == 0 ? path : "";
}

struct Process {
  pid_t id;
  int socket;
};

std::optional<Process> start(const std::string& path) {
  int ends[2];
  if (path.empty() || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return std::nullopt;
  // It opens the library that is open here.
  constexpr std::string_view kVariable = "TANDEM_NVRTC=";
  std::string library = std::string(kVariable) + nvrtcPath();
  std::vector<char*> environment{library.data()};
  for (char** e = environ; *e != nullptr; ++e)
    if (!std::string_view(*e).starts_with(kVariable)) environment.push_back(*e);
  environment.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  // Out of the reach of Ctrl+C, which is this process's to act upon.
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::string name = "tandem-nvrtc";
  char* const arguments[] = {name.data(), nullptr};
  Process made{-1, ends[0]};
  const int result = posix_spawn(&made.id, path.c_str(), &files, &attributes, arguments, environment.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  close(ends[1]);
  if (result == 0) return made;
  close(ends[0]);
  return std::nullopt;
}

/// Shut down, not only closed: a process that was forked from this one may have the socket, too.
void end(const Process& process) {
  shutdown(process.socket, SHUT_RDWR);
  close(process.socket);
  while (waitpid(process.id, nullptr, 0) < 0 && errno == EINTR) {
  }
}

class Processes {
 public:
  static Processes& get() {
    static auto* const all = new Processes;
    return *all;
  }

  /// Between these, processes live on.
  void begin() {
    const std::lock_guard lock(mutex_);
    ++callers_;
  }
  void end() {
    std::vector<Process> done;
    {
      const std::lock_guard lock(mutex_);
      if (--callers_ == 0) done.swap(idle_);
    }
    std::ranges::for_each(done, cuda::end);
  }

  /// Null where there is no process to do it.
  std::optional<Compiled> compile(const std::string& text, const std::string& name, const std::string& architecture) {
    std::optional<Process> process = take();
    if (!process) return std::nullopt;
    const int socket = process->socket;
    std::string error;
    Compiled compiled;
    const bool done = sendText(socket, text) && sendText(socket, name) && sendText(socket, architecture) &&
                      receiveText(socket, error) && receiveText(socket, compiled.code) &&
                      receiveText(socket, compiled.log);
    {
      const std::lock_guard lock(mutex_);
      --busy_;
      if (done) idle_.push_back(*process);
    }
    if (!done) {
      kill(process->id, SIGKILL);
      cuda::end(*process);
      return std::nullopt;
    }
    if (!error.empty()) fail<InternalError>(error);
    return compiled;
  }

 private:
  std::optional<Process> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) {
      if (busy_ + 1 >= std::max(std::thread::hardware_concurrency(), 1U)) return std::nullopt;
      std::optional<Process> made = start(path_);
      if (made) ++busy_;
      return made;
    }
    const Process process = idle_.back();
    idle_.pop_back();
    ++busy_;
    return process;
  }

  const std::string path_ = programPath();
  std::mutex mutex_;
  std::vector<Process> idle_;
  std::size_t busy_ = 0;
  std::size_t callers_ = 0;
};

class Calling {
 public:
  Calling() { Processes::get().begin(); }
  ~Calling() { Processes::get().end(); }
  Calling(const Calling&) = delete;
  Calling& operator=(const Calling&) = delete;
};

}  // namespace

Compiled compileCuda(const std::string& text, const std::string& name, const std::string& architecture) {
  static auto* const here = new std::mutex;
  const Calling calling;
  if (const std::unique_lock lock(*here, std::try_to_lock); lock) return compileHere(text, name, architecture);
  if (!nvrtcPath().empty())
    if (std::optional<Compiled> made = Processes::get().compile(text, name, architecture)) return std::move(*made);
  const std::lock_guard lock(*here);
  return compileHere(text, name, architecture);
}

}  // namespace tandem::codegen::cuda
