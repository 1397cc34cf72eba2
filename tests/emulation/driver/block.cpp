#include "tests/emulation/driver/block.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <new>

#include <sys/mman.h>

#include "tests/emulation/driver/fault.h"
#include "tests/emulation/driver/fiber.h"

namespace tandem::emulation {
namespace {

constexpr unsigned kMostThreads = 1024;
constexpr std::size_t kDynamicShared = std::size_t{228} << 10;

struct Thread {
  enum State : std::uint8_t { kFresh, kRuns, kAtBarrier, kAtWarpStep, kReady, kReturned };
  State state;
  Barrier barrier;
  WarpStep step;
  int line;  // of the text where it waits
  int barrierResult;
  unsigned mask, source;
  unsigned long long value, result;
  unsigned long long* all;
  void* left;  // where its stack was left
  uint3 at;
};

std::string listOf(const std::vector<unsigned>& numbers) {
  std::string out;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i;
    while (end + 1 < numbers.size() && numbers[end + 1] == numbers[end] + 1) ++end;
    if (!out.empty()) out += ", ";
    out += std::to_string(numbers[i]);
    if (end > i) out.append("-").append(std::to_string(numbers[end]));
    i = end + 1;
  }
  return out;
}

/// The block that runs. There is one in the process.
class Block {
 public:
  Outcome run(const Launch& launch);

 private:
  friend struct Entries;

  bool runOne();
  void runFresh();
  void setUp(unsigned index);
  unsigned indexOf(const Thread& t) const { return static_cast<unsigned>(&t - threads_.data()); }
  /// The lanes of the warp that begins with this thread: of a block's last warp some may be missing.
  unsigned lanesFrom(unsigned first) const {
    return count_ - first >= kWarp ? 0xffffffffu : (1u << (count_ - first)) - 1;
  }
  void leave(Thread::State state);
  void finishBarrier();
  void finishWarpStep(unsigned first, unsigned lanes);
  [[noreturn]] void stop(std::string text);
  std::string whatIsStuck() const;
  std::string where(int line) const { return " at line " + std::to_string(line); }

  int barrier(Barrier kind, int predicate, int line);
  unsigned long long warp(WarpStep kind, unsigned mask, unsigned long long value, unsigned source,
                          unsigned long long* all, int line);

  const Launch* launch_ = nullptr;
  Machine* machine_ = nullptr;
  unsigned count_ = 0;  // threads of the block
  unsigned fresh_ = 0;  // how many were started
  unsigned returned_ = 0;
  bool backwards_ = false;  // threads and blocks are run from the last to the first
  std::array<Thread, kMostThreads> threads_;
  Thread* current_ = threads_.data();
  std::deque<unsigned> ready_;
  // The barrier that threads wait at.
  unsigned arrived_ = 0;
  unsigned trueOnes_ = 0;
  std::array<unsigned, kMostThreads / kWarp> waiting_{};  // of each warp, its lanes that wait for others
  std::array<unsigned, kMostThreads / kWarp> live_{};     // and those that have not returned

  Stacks stacks_;
  void* scheduler_ = nullptr;  // where the scheduler's stack was left
  std::string stopped_;
  char* dynamicEnd_ = nullptr;
};

Block& block() {
  static auto* const one = new Block;
  return *one;
}

struct Entries {
  static void fiber() {
    block().runFresh();
    std::abort();
  }
  static int barrier(Barrier kind, int predicate, int line) { return block().barrier(kind, predicate, line); }
  static unsigned long long warp(WarpStep kind, unsigned mask, unsigned long long value, unsigned source,
                                 unsigned long long* all, int line) {
    return block().warp(kind, mask, value, source, all, line);
  }
  static void trap(const char* what) { block().stop(what); }
};

void Block::setUp(unsigned index) {
  current_ = &threads_[index];
  current_->state = Thread::kRuns;
  machine_->thread = current_->at;
  machine_->lane = index % kWarp;
  machine_->liveLanes = live_[index / kWarp];
}

/// What a fiber does: it runs threads one after another. When one waits, the fiber is that thread's until it goes on,
/// and another fiber runs the next ones; a kernel without barriers needs one fiber a block.
void Block::runFresh() {
  const unsigned stack = stacks_.taken();
  while (fresh_ < count_) {
    const unsigned index = backwards_ ? count_ - 1 - fresh_ : fresh_;
    ++fresh_;
    setUp(index);
    launch_->kernel->run(launch_->parameters);
    current_->state = Thread::kReturned;
    ++returned_;
    live_[indexOf(*current_) / kWarp] &= ~(1u << machine_->lane);
    // Threads that wait go first, so that a warp is done before the next one starts.
    if (!ready_.empty()) break;
  }
  stacks_.give(stack);
  void* ignored;
  tandemSwitch(&ignored, scheduler_);
  std::abort();
}

/// False: the block was stopped or is stuck.
bool Block::runOne() {
  fresh_ = returned_ = arrived_ = trueOnes_ = 0;
  ready_.clear();
  waiting_.fill(0);
  for (unsigned first = 0; first < count_; first += kWarp) live_[first / kWarp] = lanesFrom(first);
  launch_->object->clearShared(launch_->kernel->name);
  if (launch_->sharedBytes != 0) std::memset(machine_->dynamicShared, 0xff, launch_->sharedBytes);
  while (returned_ < count_) {
    if (!ready_.empty()) {
      const unsigned index = ready_.front();
      ready_.pop_front();
      setUp(index);
      tandemSwitch(&scheduler_, current_->left);
    } else if (fresh_ < count_) {
      tandemSwitch(&scheduler_, stacks_.take(&Entries::fiber));
    } else {
      stopped_ = whatIsStuck();
    }
    if (!stopped_.empty() || kernelFault().happened) return false;
  }
  return true;
}

Outcome Block::run(const Launch& launch) {
  launch_ = &launch;
  machine_ = launch.object->record().machine;
  count_ = launch.threads.x * launch.threads.y * launch.threads.z;
  if (dynamicEnd_ == nullptr) {
    // A page that nobody may touch lies behind it.
    void* memory = ::mmap(nullptr, kDynamicShared + 4096, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    dynamicEnd_ = static_cast<char*>(memory) + kDynamicShared;
    ::mprotect(dynamicEnd_, 4096, PROT_NONE);
  }
  const char* order = std::getenv("TANDEM_EMULATED_ORDER");
  backwards_ = order != nullptr && std::strcmp(order, "backwards") == 0;
  unsigned index = 0;
  for (unsigned z = 0; z < launch.threads.z; ++z) {
    for (unsigned y = 0; y < launch.threads.y; ++y) {
      for (unsigned x = 0; x < launch.threads.x; ++x) threads_[index++].at = {x, y, z};
    }
  }
  Machine& m = *machine_;
  m.threads = launch.threads;
  m.blocks = launch.blocks;
  m.dynamicShared = dynamicEnd_ - (launch.sharedBytes + 15) / 16 * 16;
  m.dynamicSharedBytes = launch.sharedBytes;
  m.barrier = &Entries::barrier;
  m.warp = &Entries::warp;
  m.trap = &Entries::trap;

  stopped_.clear();
  const KernelGuard guard(&scheduler_, [](const void* at) { return block().stacks_.holds(at); });
  const std::uint64_t plane = std::uint64_t{launch.blocks.x} * launch.blocks.y;
  const std::uint64_t blocks = plane * launch.blocks.z;
  Outcome outcome;
  for (std::uint64_t b = 0; b < blocks; ++b) {
    const std::uint64_t k = backwards_ ? blocks - 1 - b : b;
    m.block = {static_cast<unsigned>(k % launch.blocks.x), static_cast<unsigned>(k % plane / launch.blocks.x),
               static_cast<unsigned>(k / plane)};
    if (runOne()) continue;
    const uint3 at = current_->at;
    outcome.text = std::string("kernel ") + launch.kernel->name + ", block (" + std::to_string(m.block.x) + ", " +
                   std::to_string(m.block.y) + ", " + std::to_string(m.block.z) + "), ";
    const std::string thread =
        "thread (" + std::to_string(at.x) + ", " + std::to_string(at.y) + ", " + std::to_string(at.z) + "): ";
    if (kernelFault().happened) {
      outcome.kind = Outcome::kFault;
      outcome.address = kernelFault().address;
      outcome.isAccess = kernelFault().isAccess();
      const bool overflow = stacks_.isBelow(outcome.address);
      if (overflow) outcome.address = nullptr;
      outcome.text += thread + (overflow ? "its stack is full" : kernelFault().what());
      const std::string line = launch.object->lineOf(kernelFault().instruction);
      if (!line.empty()) outcome.text.append(" (").append(line).append(")");
    } else {
      outcome.kind = Outcome::kStuck;
      outcome.text += stopped_;
    }
    stacks_.giveAll();
    break;
  }
  return outcome;
}

void Block::leave(Thread::State state) {
  current_->state = state;
  tandemSwitch(&current_->left, scheduler_);
}

void Block::stop(std::string text) {
  const uint3 at = current_->at;
  stopped_ = "thread (" + std::to_string(at.x) + ", " + std::to_string(at.y) + ", " + std::to_string(at.z) +
             "): " + std::move(text);
  void* ignored;
  tandemSwitch(&ignored, scheduler_);
  std::abort();
}

int Block::barrier(Barrier kind, int predicate, int line) {
  Thread& me = *current_;
  if (returned_ > 0) {
    std::vector<unsigned> gone;
    for (unsigned i = 0; i < count_; ++i) {
      if (threads_[i].state == Thread::kReturned) gone.push_back(i);
    }
    stop("__syncthreads" + where(line) + " is not reached by threads " + listOf(gone) + ", which have returned");
  }
  me.barrier = kind;
  me.line = line;
  if (predicate != 0) ++trueOnes_;
  if (++arrived_ < count_) {
    leave(Thread::kAtBarrier);
    return me.barrierResult;
  }
  finishBarrier();
  return me.barrierResult;
}

/// The last thread has come: the others may go on.
void Block::finishBarrier() {
  const Thread& me = *current_;
  for (unsigned i = 0; i < count_; ++i) {
    const Thread& t = threads_[i];
    if (t.line != me.line || t.barrier != me.barrier)
      stop("threads of the block are at different barriers: thread " + std::to_string(i) + where(t.line) +
           ", this one" + where(me.line));
  }
  const int count = static_cast<int>(trueOnes_);
  int result = 0;
  if (me.barrier == Barrier::kCount) result = count;
  if (me.barrier == Barrier::kAnd) result = trueOnes_ == count_ ? 1 : 0;
  if (me.barrier == Barrier::kOr) result = trueOnes_ != 0 ? 1 : 0;
  arrived_ = trueOnes_ = 0;
  for (unsigned i = 0; i < count_; ++i) {
    Thread& t = threads_[i];
    t.barrierResult = result;
    if (&t == current_) continue;
    t.state = Thread::kReady;
    if (backwards_)
      ready_.push_front(i);
    else
      ready_.push_back(i);
  }
}

unsigned long long Block::warp(WarpStep kind, unsigned mask, unsigned long long value, unsigned source,
                               unsigned long long* all, int line) {
  Thread& me = *current_;
  const unsigned index = indexOf(me);
  const unsigned lane = index % kWarp;
  const unsigned first = index - lane;
  if ((mask >> lane & 1) == 0) stop("the mask of a step of the warp" + where(line) + " lacks the lane itself");
  me.step = kind;
  me.mask = mask;
  me.value = value;
  me.source = source;
  me.all = all;
  me.line = line;
  const unsigned needed = mask & lanesFrom(first);  // nobody waits for lanes that do not exist
  unsigned& waiting = waiting_[first / kWarp];
  waiting |= 1u << lane;
  bool complete = (waiting & needed) == needed;
  for (unsigned i = 0; complete && i < kWarp; ++i) {
    if ((needed >> i & 1) != 0 && threads_[first + i].mask != mask) complete = false;
  }
  if (!complete) {
    leave(Thread::kAtWarpStep);
    return me.result;
  }
  waiting &= ~needed;
  finishWarpStep(first, needed);
  return me.result;
}

void Block::finishWarpStep(unsigned first, unsigned lanes) {
  const Thread& me = *current_;
  for (unsigned i = 0; i < kWarp; ++i) {
    if ((lanes >> i & 1) == 0) continue;
    const Thread& t = threads_[first + i];
    if (t.step != me.step || t.line != me.line)
      stop("lanes of the warp are at different steps: lane " + std::to_string(i) + where(t.line) + ", this one" +
           where(me.line));
  }
  unsigned ballot = 0;
  for (unsigned i = 0; i < kWarp; ++i) {
    if ((lanes >> i & 1) != 0 && threads_[first + i].value != 0) ballot |= 1u << i;
  }
  for (unsigned i = 0; i < kWarp; ++i) {
    if ((lanes >> i & 1) == 0) continue;
    Thread& t = threads_[first + i];
    t.result = 0;
    if (t.step == WarpStep::kBallot) t.result = ballot;
    if (t.step == WarpStep::kShuffle) {
      if ((lanes >> t.source & 1) == 0)
        stop("lane " + std::to_string(i) + " reads lane " + std::to_string(t.source) + where(t.line) +
             ", which takes no part in the shuffle");
      t.result = threads_[first + t.source].value;
    }
    if (t.step == WarpStep::kGather) {
      for (unsigned k = 0; k < kWarp; ++k) t.all[k] = (lanes >> k & 1) != 0 ? threads_[first + k].value : 0;
    }
  }
  for (unsigned i = 0; i < kWarp; ++i) {
    if ((lanes >> i & 1) == 0 || &threads_[first + i] == current_) continue;
    threads_[first + i].state = Thread::kReady;
    ready_.push_back(first + i);
  }
}

/// Nobody can go on.
std::string Block::whatIsStuck() const {
  std::vector<unsigned> atBarrier, atStep, gone;
  int barrierLine = 0;
  const Thread* step = nullptr;
  for (unsigned i = 0; i < count_; ++i) {
    const Thread& t = threads_[i];
    if (t.state == Thread::kAtBarrier) {
      atBarrier.push_back(i);
      barrierLine = t.line;
    } else if (t.state == Thread::kAtWarpStep) {
      atStep.push_back(i);
      step = &t;
    } else {
      gone.push_back(i);
    }
  }
  std::string out = "no thread can go on";
  if (!atBarrier.empty()) out += "; threads " + listOf(atBarrier) + " wait for all others" + where(barrierLine);
  if (step != nullptr) {
    char mask[16];
    std::snprintf(mask, sizeof(mask), "0x%08x", step->mask);
    out += "; threads " + listOf(atStep) + " wait for the lanes of their mask " + mask + where(step->line);
  }
  if (!gone.empty()) out += "; threads " + listOf(gone) + " have returned";
  return out;
}

}  // namespace

Outcome run(const Launch& launch) { return block().run(launch); }

}  // namespace tandem::emulation
