#include "tests/emulation/driver/fault.h"

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <execinfo.h>
#include <memory>
#include <string_view>
#include <ucontext.h>
#include <unistd.h>

#include <sys/syscall.h>

#include "tests/emulation/driver/fiber.h"

namespace tandem::emulation {
namespace {

constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
std::array<struct sigaction, 65> before;
bool (*isDeviceMemory)(const void*) = nullptr;

// Of the one kernel that runs; a handler reads them on the thread that wrote them.
std::atomic<pid_t> kernelThread{0};
void** schedulerLeft = nullptr;
bool (*isFiberStack)(const void*) = nullptr;
KernelFault fault;

pid_t thisThread() { return static_cast<pid_t>(::syscall(SYS_gettid)); }

void onFault(int signal, siginfo_t* info, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  // NOLINTBEGIN(performance-no-int-to-ptr): registers are numbers
  if (kernelThread == thisThread() && isFiberStack(reinterpret_cast<const void*>(registers[REG_RSP]))) {
    fault = {true, signal, reinterpret_cast<const void*>(registers[REG_RIP]),
             signal == SIGSEGV || signal == SIGBUS ? info->si_addr : nullptr};
    // NOLINTEND(performance-no-int-to-ptr)
    registers[REG_RSP] = reinterpret_cast<greg_t>(*schedulerLeft);
    registers[REG_RIP] = reinterpret_cast<greg_t>(&tandemResume);
    return;
  }
  if (signal == SIGSEGV && isDeviceMemory(info->si_addr)) {
    constexpr std::string_view text = "the host touched memory of an emulated GPU\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
    std::array<void*, 64> frames{};
    ::backtrace_symbols_fd(frames.data(), ::backtrace(frames.data(), static_cast<int>(frames.size())), STDERR_FILENO);
  }
  ::sigaction(signal, &before[static_cast<std::size_t>(signal)], nullptr);  // and fault again
}

/// A stack for the handler: a fault may be that the other stack is full.
class HandlerStack {
 public:
  HandlerStack() {
    stack_t other{};
    if (::sigaltstack(nullptr, &other) != 0 || (other.ss_flags & SS_DISABLE) == 0) return;
    memory_ = std::make_unique<std::array<char, kBytes>>();
    other = {};
    other.ss_sp = memory_->data();
    other.ss_size = kBytes;
    ::sigaltstack(&other, nullptr);
  }
  ~HandlerStack() {
    if (memory_ == nullptr) return;
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    ::sigaltstack(&none, nullptr);
  }
  HandlerStack(const HandlerStack&) = delete;
  HandlerStack& operator=(const HandlerStack&) = delete;

 private:
  static constexpr std::size_t kBytes = std::size_t{64} << 10;
  std::unique_ptr<std::array<char, kBytes>> memory_;
};

}  // namespace

void watchFaults(bool (*isDevice)(const void*)) {
  isDeviceMemory = isDevice;
  // The first use loads a library, which a handler must not.
  std::array<void*, 4> frames{};
  ::backtrace(frames.data(), static_cast<int>(frames.size()));
  struct sigaction action{};
  action.sa_sigaction = onFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int signal : kSignals) ::sigaction(signal, &action, &before[static_cast<std::size_t>(signal)]);
}

const KernelFault& kernelFault() { return fault; }

std::string KernelFault::what() const {
  switch (signal) {
  case SIGFPE:
    return "an integer was divided by 0, or the lowest one by -1";
  case SIGILL:
    return "an access that is not aligned, a shift by the width or more, or a number converted to an integer type "
           "that has none such";
  default:
    return "a memory access failed";
  }
}

bool KernelFault::isAccess() const { return signal == SIGSEGV || signal == SIGBUS; }

KernelGuard::KernelGuard(void** scheduler, bool (*isFiber)(const void*)) {
  thread_local const HandlerStack handlerStack;
  fault = {};
  schedulerLeft = scheduler;
  isFiberStack = isFiber;
  kernelThread = thisThread();
}

KernelGuard::~KernelGuard() { kernelThread = 0; }

}  // namespace tandem::emulation
