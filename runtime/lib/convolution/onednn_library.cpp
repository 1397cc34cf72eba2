// oneDNN, opened late: a process that runs no convolution of float32 needs neither it nor the libraries that it is
// linked with, and does not wait for them to be loaded.
#include <atomic>
#include <mutex>
#include <pthread.h>
#include <unistd.h>

#include "runtime/base/error.h"
#include "runtime/base/shared_library.h"
#include "runtime/kernel/compiler_path.h"
#include "runtime/lib/convolution/onednn_functions.h"

// A function is a jump to where `tandem_at_` and its name points, once the library is open.
#define TANDEM_ONEDNN_JUMP(name)                                                                                       \
  extern "C" [[gnu::visibility("hidden")]] void* tandem_at_##name;                                                     \
  void* tandem_at_##name = nullptr;                                                                                    \
  asm(".pushsection .text." #name ",\"ax\",@progbits\n"                                                                \
      ".globl " #name "\n.hidden " #name "\n.type " #name ",@function\n" #name                                         \
      ":\n.cfi_startproc\njmp *tandem_at_" #name "(%rip)\n.cfi_endproc\n.size " #name ",.-" #name "\n.popsection");
TANDEM_ONEDNN_FUNCTIONS(TANDEM_ONEDNN_JUMP)
#undef TANDEM_ONEDNN_JUMP

namespace tandem::lib {
namespace {

constexpr SharedFunction kFunctions[] = {
#define TANDEM_ONEDNN_ENTRY(name) {#name, &tandem_at_##name},
    TANDEM_ONEDNN_FUNCTIONS(TANDEM_ONEDNN_ENTRY)
#undef TANDEM_ONEDNN_ENTRY
};

std::mutex& openingMutex() {
  static auto* mutex = [] {
    auto* made = new std::mutex;  // never destroyed: threads may run while the process ends
    // A fork waits for an opening, which nobody would finish in the child.
    ::pthread_atfork([] { openingMutex().lock(); }, [] { openingMutex().unlock(); }, [] { openingMutex().unlock(); });
    return made;
  }();
  return *mutex;
}

[[noreturn]] void failToOpen(const char* what, const std::string& why) {
  fail<NotImplementedError>(what,
                            ": needs oneDNN for float32 (" TANDEM_ONEDNN
                            ", in Debian 12 of the package libdnnl2), which cannot be opened: ",
                            why);
}

}  // namespace

void needOneDnn(const char* what) {
  static std::atomic<bool> open{false};
  if (open.load(std::memory_order_acquire)) [[likely]]
    return;
  const std::lock_guard lock(openingMutex());
  if (open.load(std::memory_order_relaxed)) return;
  // A wheel brings its own, beside the library that this is part of; otherwise it is the system's.
  const std::string own = libraryFolder() + "/" TANDEM_ONEDNN;
  const bool ours = ::access(own.c_str(), F_OK) == 0;
  std::string why;
  void* library = openLibrary(ours ? own : TANDEM_ONEDNN, why);
  if (library == nullptr) failToOpen(what, why);
  // Those of OpenMP are found in what the library is linked with.
  if (const std::string lacking = findFunctions(library, kFunctions); !lacking.empty())
    failToOpen(what, strcat(TANDEM_ONEDNN " ", lacking));
  open.store(true, std::memory_order_release);
}

}  // namespace tandem::lib
