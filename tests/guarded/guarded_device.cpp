// A device for tests, which shows what a GPU would punish: its memory can be touched only while its executor works on
// it, and its streams run late. Over the CPU's kernels and library functions, so that its results have the CPU's bits.
//
//   - All its memory lies in one stretch of addresses that is PROT_NONE but while work is done (`Access`): a host read
//     of it is a fault, which says so and shows the stack.
//   - Work is queued and done when somebody waits: for the stream, or for an event that was recorded in it. Two streams
//     know nothing of each other unless an event says so, and what reads too early reads what was there before.
//   - Fresh and freed memory is filled with bytes that are NaN, so that it is noticed where it is read.
//   - Library functions that are listed in $TANDEM_GUARDED_WITHOUT, with commas, are missing.
//
// It is also the smallest whole device: a shared object that defines `tandemDevices` (runtime/device/plugin.h).
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <execinfo.h>
#include <functional>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <unistd.h>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sys/mman.h>

#include "runtime/base/error.h"
#include "runtime/device/plugin.h"

namespace tandem::guarded {
namespace {

constexpr std::size_t kSpace = std::size_t{32} << 30;  // of addresses, of which few are ever used
constexpr int kFill = 0xff;

/// The device's memory: blocks of powers of two, kept when freed.
class Memory {
 public:
  Memory() {
    void* base = ::mmap(nullptr, kSpace, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<char*>(base);
  }

  void* allocate(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    auto& free = free_[classOf(bytes)];
    if (!free.empty()) {
      void* block = free.back();
      free.pop_back();
      return block;
    }
    const std::size_t size = std::size_t{1} << classOf(bytes);
    if (used_ + size > kSpace) throw std::bad_alloc();
    void* block = base_ + used_;
    used_ += size;
    if (used_ > reach_) grow();
    return block;
  }
  void deallocate(void* p, std::size_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    free_[classOf(bytes)].push_back(p);
  }

  void open() {
    const std::lock_guard lock(mutex_);
    if (open_++ == 0) protect(PROT_READ | PROT_WRITE);
  }
  void close() {
    const std::lock_guard lock(mutex_);
    if (--open_ == 0) protect(PROT_NONE);
  }

 private:
  /// Of blocks of so many bytes: at least a cache line.
  static std::size_t classOf(std::size_t bytes) {
    std::size_t c = 6;
    while ((std::size_t{1} << c) < bytes) ++c;
    return c;
  }
  void grow() {
    constexpr std::size_t kStep = std::size_t{1} << 22;
    reach_ = (used_ + kStep - 1) / kStep * kStep;
    if (open_ > 0) protect(PROT_READ | PROT_WRITE);
  }
  void protect(int access) const {
    if (reach_ != 0 && ::mprotect(base_, reach_, access) != 0) std::abort();
  }

  std::mutex mutex_;
  char* base_ = nullptr;
  std::size_t used_ = 0;   // bytes from the beginning on
  std::size_t reach_ = 0;  // rounded up: what `protect` is about
  int open_ = 0;
  std::array<std::vector<void*>, 48> free_;

 public:
  [[nodiscard]] bool holds(const void* p) const { return p >= base_ && p < base_ + kSpace; }
};

/// The memory of all devices, for the fault handler.
std::array<const Memory*, 2> memories{};

void onFault(int signal, siginfo_t* info, void*) {
  for (const Memory* m : memories) {
    if (m == nullptr || !m->holds(info->si_addr)) continue;
    constexpr std::string_view text = "the host touched memory of a guarded device\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
    std::array<void*, 64> frames{};
    ::backtrace_symbols_fd(frames.data(), ::backtrace(frames.data(), static_cast<int>(frames.size())), STDERR_FILENO);
  }
  ::signal(signal, SIG_DFL);  // and fault again
}

void watchFaults() {
  struct sigaction action{};
  action.sa_sigaction = onFault;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGSEGV, &action, nullptr);
}

/// While it lives the memory can be touched.
class Access {
 public:
  explicit Access(Memory& memory) : memory_(memory) { memory_.open(); }
  ~Access() { memory_.close(); }
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;

 private:
  Memory& memory_;
};

/// Late work, in order. The mutex is held while work is done: whoever waits meanwhile finds it done.
class LateStream : public Stream {
 public:
  explicit LateStream(Memory& memory) : memory_(memory) {}
  void push(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
    ++pushed_;
    if (queue_.size() > kMost) runUntil(pushed_);
  }
  void synchronize() override {
    std::exception_ptr error;
    {
      const std::lock_guard lock(mutex_);
      runUntil(pushed_);
      error = std::exchange(error_, nullptr);
    }
    if (error) std::rethrow_exception(error);
  }
  void* handle() const override { return nullptr; }

  /// How much work was queued so far, for `waitFor`.
  std::uint64_t mark() {
    const std::lock_guard lock(mutex_);
    return pushed_;
  }
  void waitFor(std::uint64_t mark) {
    const std::lock_guard lock(mutex_);
    runUntil(mark);
  }
  bool reached(std::uint64_t mark) {
    const std::lock_guard lock(mutex_);
    return done_ >= mark;
  }

 private:
  static constexpr std::size_t kMost = 10000;

  void runUntil(std::uint64_t mark) {
    if (done_ >= mark) return;
    const Access access(memory_);
    while (done_ < mark) {
      const std::function<void()> work = std::move(queue_.front());
      queue_.pop_front();
      ++done_;
      try {
        work();
      } catch (...) {
        if (!error_) error_ = std::current_exception();
      }
    }
  }

  Memory& memory_;
  std::recursive_mutex mutex_;
  std::deque<std::function<void()>> queue_;
  std::uint64_t pushed_ = 0;
  std::uint64_t done_ = 0;
  std::exception_ptr error_;  // the first that was not thrown yet
};

class LateEvent : public Event {
 public:
  void record(Stream& stream) override {
    stream_ = &static_cast<LateStream&>(stream);
    mark_ = stream_->mark();
    at_ = std::chrono::steady_clock::now();
  }
  void waitOn(Stream& stream) override {
    static_cast<LateStream&>(stream).push([other = stream_, mark = mark_] {
      if (other != nullptr) other->waitFor(mark);
    });
  }
  bool done() const override { return stream_ == nullptr || stream_->reached(mark_); }
  void synchronize() override {
    if (stream_ != nullptr) stream_->waitFor(mark_);
  }
  double millisecondsSince(const Event& earlier) const override {
    return std::chrono::duration<double, std::milli>(at_ - static_cast<const LateEvent&>(earlier).at_).count();
  }

 private:
  LateStream* stream_ = nullptr;
  std::uint64_t mark_ = 0;
  std::chrono::steady_clock::time_point at_;
};

/// A kernel of the CPU, and how long its argument block is.
struct LateKernel : Kernel {
  LateKernel(const Kernel* kernel, std::size_t length) : cpu(kernel), args(length) {}
  const Kernel* cpu;
  std::size_t args;
};

/// What a library call is given, kept until it is made.
struct KeptCall {
  explicit KeptCall(const LibraryCall& call)
      : inputs(call.inputs.begin(), call.inputs.end()), outputs(call.outputs.begin(), call.outputs.end()),
        attrs(call.attrs.begin(), call.attrs.end()), scalars(call.scalars.begin(), call.scalars.end()),
        line(call.line) {}
  [[nodiscard]] LibraryCall call() const { return {inputs, outputs, attrs, scalars, line}; }

  std::vector<ArrayView> inputs, outputs;
  std::vector<std::int64_t> attrs, scalars;
  std::string line;
};

class GuardedExecutor : public Executor {
 public:
  GuardedExecutor(Executor& cpu, std::size_t number) : cpu_(cpu), target_(cpu.target()) {
    memories[number] = &memory_;
    const char* without = std::getenv("TANDEM_GUARDED_WITHOUT");
    if (without != nullptr) without_ = strcat(",", without, ",");
  }

  const Target& target() const override { return target_; }

  void* allocate(std::size_t bytes) override {
    void* p = memory_.allocate(bytes);
    fill(p, bytes);
    return p;
  }
  void deallocate(void* p, std::size_t bytes) noexcept override {
    try {
      fill(p, bytes);
    } catch (...) {  // it is only for tests to notice
    }
    memory_.deallocate(p, bytes);
  }

  void copyFromHost(void* to, const void* from, std::size_t bytes, Stream& stream) override {
    const auto* first = static_cast<const char*>(from);
    late(stream).push([to, own = std::vector<char>(first, first + bytes)] { std::memcpy(to, own.data(), own.size()); });
  }
  void copyToHost(void* to, const void* from, std::size_t bytes, Stream& stream) override {
    stream.synchronize();
    const Access access(memory_);
    std::memcpy(to, from, bytes);
  }
  void copy(void* to, const void* from, std::size_t bytes, Stream& stream) override {
    late(stream).push([to, from, bytes] { std::memmove(to, from, bytes); });
  }
  void copyArray(const ArrayView& from, const ArrayView& to, Stream& stream) override {
    late(stream).push([this, from, to] { cpu_.copyArray(from, to, cpu_.stream()); });
  }

  const Kernel* load(const KernelSignature& signature) override {
    const Kernel* kernel = cpu_.load(signature);
    const std::lock_guard lock(mutex_);
    auto [it, fresh] = kernels_.try_emplace(kernel, nullptr);
    if (fresh) it->second = new LateKernel(kernel, ArgLayout(signature).size());
    return it->second;
  }
  void prepare(std::span<const LaunchPreview> launches) override {
    std::vector<LaunchPreview> own;
    for (const LaunchPreview& l : launches)
      own.push_back({static_cast<const LateKernel*>(l.kernel)->cpu, l.args, l.space});
    cpu_.prepare(own);
  }
  void launch(const Kernel& kernel, const std::int64_t* args, const LaunchSpace& space, Stream& stream) override {
    const auto& late = static_cast<const LateKernel&>(kernel);
    this->late(stream).push([this, cpu = late.cpu, own = std::vector<std::int64_t>(args, args + late.args), space] {
      cpu_.launch(*cpu, own.data(), space, cpu_.stream());
    });
  }

  LibraryFn library(std::string_view op) override {
    if (without_.find(strcat(",", op, ",")) != std::string::npos) return nullptr;
    return cpu_.library(op);
  }
  void call(LibraryFn fn, const LibraryCall& call, Stream& stream) override {
    late(stream).push([this, fn, own = KeptCall(call)] { cpu_.call(fn, own.call(), cpu_.stream()); });
  }

  Stream& stream() override { return stream_; }
  std::unique_ptr<Stream> makeStream() override { return std::make_unique<LateStream>(memory_); }
  std::unique_ptr<Event> makeEvent() override { return std::make_unique<LateEvent>(); }

 private:
  static LateStream& late(Stream& stream) { return static_cast<LateStream&>(stream); }
  void fill(void* p, std::size_t bytes) {
    stream_.push([p, bytes] { std::memset(p, kFill, bytes); });
  }

  Executor& cpu_;
  Target target_;
  std::string without_;
  Memory memory_;
  LateStream stream_{memory_};
  std::mutex mutex_;
  std::unordered_map<const Kernel*, LateKernel*> kernels_;
};

}  // namespace
}  // namespace tandem::guarded

extern "C" [[gnu::visibility("default")]] tandem::DevicePlugin tandemDevices(const tandem::DeviceHost& host) {
  using tandem::guarded::GuardedExecutor;
  // Tensors outlive other statics: never destroyed.
  static tandem::Executor* const devices[] = {new GuardedExecutor(*host.cpu, 0), new GuardedExecutor(*host.cpu, 1)};
  tandem::guarded::watchFaults();
  return {"guarded", devices, 2};
}
