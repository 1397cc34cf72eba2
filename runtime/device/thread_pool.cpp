// The pool.
//
// The tiles of a job are shared out in stretches, one to each thread, so that a thread meets the same part of an array
// in one job after another and finds it in its own cache; who has done with its share goes on with the others'. A share
// is published as one 64-bit ticket, (epoch, tiles left), and the epoch when all shares are. A thread claims a tile by
// compare-and-swap on the whole ticket, so one that comes late with an old epoch claims nothing. What it must know of
// the job it reads before the claim: if the claim succeeds the job cannot have ended, and what was read was its own.
// The caller waits for finished tiles, never for workers: one that sleeps, or is not scheduled, delays nobody.
//
// One job runs at a time; a caller that finds the pool busy runs its tiles itself.
#include "runtime/device/thread_pool.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>
#include <xmmintrin.h>

#include <linux/futex.h>
#include <sys/syscall.h>

#include "runtime/base/error.h"

namespace tandem {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kSpin = std::chrono::microseconds(30);
constexpr auto kRepinInterval = std::chrono::microseconds(200);
constexpr std::uint64_t kCountMask = 0xffffffffULL;
constexpr std::int64_t kMaxTiles = 0x7fffffff;

// Is this thread inside a tile?
thread_local bool insideTile = false;

void futexWait(std::atomic<std::uint32_t>& word, std::uint32_t seen) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}
void futexWake(std::atomic<std::uint32_t>& word, int waiters) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE, waiters, nullptr, nullptr, 0);
}

/// Spins until `ready` or the time is up.
template <class Ready>
bool spinFor(Ready ready) {
  auto end = Clock::now() + kSpin;
  do {
    for (int i = 0; i < 32; ++i) {
      if (ready()) return true;
      _mm_pause();
    }
  } while (Clock::now() < end);
  return ready();
}

/// The CPUs this process may use. A runtime told to pin its threads (OMP_PROC_BIND) may have pinned this one before
/// our code ran: ask then for all CPUs, of which the system grants the allowed ones.
cpu_set_t allowedCpus() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof mask, &mask);
  if (CPU_COUNT(&mask) == 1 && std::getenv("OMP_PROC_BIND") != nullptr) {
    cpu_set_t all;
    std::fill_n(reinterpret_cast<unsigned char*>(&all), sizeof all, 0xff);
    if (sched_setaffinity(0, sizeof all, &all) == 0) sched_getaffinity(0, sizeof mask, &mask);
  }
  return mask;
}

/// A ticket for each thread, together in as few cache lines as they take and apart from everything else.
class Tickets {
 public:
  explicit Tickets(std::size_t count) : count_(count), lines_((count + kPerLine - 1) / kPerLine) {}
  std::size_t count() const { return count_; }
  std::atomic<std::uint64_t>& operator[](std::size_t i) { return lines_[i / kPerLine].tickets[i % kPerLine]; }

 private:
  static constexpr std::size_t kPerLine = 8;
  struct alignas(64) Line {
    std::array<std::atomic<std::uint64_t>, kPerLine> tickets{};
  };
  std::size_t count_;
  std::vector<Line> lines_;
};

class Pool {
 public:
  static Pool& get() {
    static auto* pool = new Pool;  // never destroyed: workers may outlive static destructors
    return *pool;
  }

  int threads() const { return threads_.load(std::memory_order_relaxed); }

  void setThreads(int n) {
    std::lock_guard lock(region_);
    if (n == threads()) return;
    stopWorkers();
    threads_.store(n, std::memory_order_relaxed);
    tickets_ = Tickets(static_cast<std::size_t>(n));
  }

  /// False where another job has the pool.
  bool tryRun(std::int64_t tiles, FunctionRef<void(std::int64_t)> tile) {
    std::unique_lock lock(region_, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    startWorkers();
    keepWorkersOffCaller();
    fn_.store(&tile, std::memory_order_relaxed);
    total_.store(tiles, std::memory_order_relaxed);
    controlWord_.store(_mm_getcsr(), std::memory_order_relaxed);
    finished_.store(0, std::memory_order_relaxed);
    ++epoch_;
    for (std::size_t i = 0; i < tickets_.count(); ++i)
      if (auto share = static_cast<std::uint64_t>(shareEnd(i + 1, tiles) - shareEnd(i, tiles)); share != 0)
        tickets_[i].store(std::uint64_t{epoch_} << 32 | share, std::memory_order_seq_cst);
    published_.store(epoch_, std::memory_order_seq_cst);
    wakeWorkers(tiles - 1);
    while (runOne(epoch_, 0)) {
    }
    waitForFinished(static_cast<std::uint32_t>(tiles));
    if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
    return true;
  }

 private:
  Pool()
      : cpus_(allowedCpus()), threads_(std::max(1, CPU_COUNT(&cpus_))), tickets_(static_cast<std::size_t>(threads())) {
    // A fork waits for the running job; the child then has a pool without workers and makes its own when needed.
    pthread_atfork([] { get().beforeFork(); }, [] { get().afterForkInParent(); }, [] { get().afterForkInChild(); });
  }

  // The job: written by the caller before the tickets are published, read by any thread before it claims a tile.
  std::atomic<const FunctionRef<void(std::int64_t)>*> fn_{nullptr};
  std::atomic<std::int64_t> total_{0};
  std::atomic<unsigned> controlWord_{0};
  alignas(64) std::atomic<std::uint32_t> published_{0};  // epoch of the last job whose tickets all are
  alignas(64) std::atomic<std::uint32_t> finished_{0};
  std::atomic<std::uint32_t> callerSleeps_{0};
  std::mutex errorMutex_;
  std::exception_ptr error_;

  alignas(64) std::atomic<std::uint32_t> wakeWord_{0};
  std::atomic<std::int32_t> sleepers_{0};
  std::atomic<bool> stop_{false};

  // Guarded by region_.
  std::mutex region_;
  cpu_set_t cpus_;
  std::atomic<int> threads_;
  Tickets tickets_;  // replaced while there are no workers
  std::uint32_t epoch_ = 0;
  std::vector<std::thread> workers_;
  int avoidedCpu_ = -1;
  Clock::time_point pinnedAt_{};

  std::int64_t shareEnd(std::size_t shares, std::int64_t tiles) const {
    return tiles * static_cast<std::int64_t>(shares) / static_cast<std::int64_t>(tickets_.count());
  }

  /// Claims and runs one tile of job `epoch`, of share `own` before others'; false where none is left.
  bool runOne(std::uint32_t epoch, std::size_t own) {
    for (std::size_t i = 0; i < tickets_.count(); ++i) {
      std::size_t share = own + i < tickets_.count() ? own + i : own + i - tickets_.count();
      if (runOneOf(share, epoch)) return true;
    }
    return false;
  }
  bool runOneOf(std::size_t share, std::uint32_t epoch) {
    std::atomic<std::uint64_t>& published = tickets_[share];
    std::uint64_t ticket = published.load(std::memory_order_acquire);
    std::uint64_t left = ticket & kCountMask;
    if (left == 0 || ticket >> 32 != epoch) return false;
    const auto* fn = fn_.load(std::memory_order_relaxed);
    std::int64_t total = total_.load(std::memory_order_relaxed);
    unsigned controlWord = controlWord_.load(std::memory_order_relaxed);
    if (!published.compare_exchange_strong(ticket, ticket - 1, std::memory_order_acq_rel)) return true;
    if (_mm_getcsr() != controlWord) _mm_setcsr(controlWord);
    insideTile = true;
    try {
      (*fn)(shareEnd(share + 1, total) - static_cast<std::int64_t>(left));
    } catch (...) {
      std::lock_guard lock(errorMutex_);
      if (error_ == nullptr) error_ = std::current_exception();
    }
    insideTile = false;
    auto done = finished_.fetch_add(1, std::memory_order_seq_cst) + 1;
    if (done == static_cast<std::uint32_t>(total) && callerSleeps_.load(std::memory_order_seq_cst) != 0)
      futexWake(finished_, 1);
    return true;
  }

  void waitForFinished(std::uint32_t tiles) {
    auto done = [&] { return finished_.load(std::memory_order_acquire) == tiles; };
    if (done() || spinFor(done)) return;
    callerSleeps_.store(1, std::memory_order_seq_cst);
    for (std::uint32_t seen; (seen = finished_.load(std::memory_order_seq_cst)) != tiles;) futexWait(finished_, seen);
    callerSleeps_.store(0, std::memory_order_relaxed);
  }

  void wakeWorkers(std::int64_t useful) {
    int asleep = sleepers_.load(std::memory_order_seq_cst);
    if (asleep == 0) return;
    wakeWord_.fetch_add(1, std::memory_order_seq_cst);
    futexWake(wakeWord_, static_cast<int>(std::min<std::int64_t>(useful, asleep)));
  }

  void work(std::size_t share) {
    std::uint32_t done = 0;
    auto isIdle = [&] {
      return published_.load(std::memory_order_seq_cst) == done && !stop_.load(std::memory_order_seq_cst);
    };
    while (!stop_.load(std::memory_order_acquire)) {
      done = published_.load(std::memory_order_acquire);
      while (runOne(done, share)) {
      }
      if (spinFor([&] { return !isIdle(); })) continue;
      std::uint32_t seen = wakeWord_.load(std::memory_order_seq_cst);
      sleepers_.fetch_add(1, std::memory_order_seq_cst);
      if (isIdle()) futexWait(wakeWord_, seen);
      sleepers_.fetch_sub(1, std::memory_order_seq_cst);
    }
  }

  void startWorkers() {
    while (static_cast<int>(workers_.size()) < threads() - 1) {
      try {
        workers_.emplace_back([this, share = workers_.size() + 1] { work(share); });
      } catch (const std::system_error&) {
        return;  // the system gives no more threads: the work is done by those there are
      }
      avoidedCpu_ = -1;
    }
  }

  void stopWorkers() {
    stop_.store(true, std::memory_order_seq_cst);
    wakeWord_.fetch_add(1, std::memory_order_seq_cst);
    futexWake(wakeWord_, 0x7fffffff);
    for (std::thread& t : workers_) t.join();
    workers_.clear();
    stop_.store(false, std::memory_order_seq_cst);
  }

  /// The scheduler may pack caller and worker on one CPU and leave another idle. Where there is a CPU for each thread,
  /// workers may use all but the caller's.
  void keepWorkersOffCaller() {
    int cpu = sched_getcpu();
    if (cpu == avoidedCpu_ || cpu < 0) return;
    if (threads() > CPU_COUNT(&cpus_)) return;
    auto now = Clock::now();
    if (avoidedCpu_ >= 0 && now - pinnedAt_ < kRepinInterval) return;
    cpu_set_t mask = cpus_;
    CPU_CLR(cpu, &mask);
    if (CPU_COUNT(&mask) == 0) return;
    for (std::thread& t : workers_) pthread_setaffinity_np(t.native_handle(), sizeof mask, &mask);
    avoidedCpu_ = cpu;
    pinnedAt_ = now;
  }

  void beforeFork() {
    if (!insideTile) region_.lock();
  }
  void afterForkInParent() {
    if (!insideTile) region_.unlock();
  }
  void afterForkInChild() {
    // The threads do not exist here: their handles must be neither joined nor destroyed.
    new std::vector<std::thread>(std::move(workers_));
    workers_.clear();
    for (std::size_t i = 0; i < tickets_.count(); ++i) tickets_[i].store(0, std::memory_order_relaxed);
    finished_.store(0, std::memory_order_relaxed);
    callerSleeps_.store(0, std::memory_order_relaxed);
    sleepers_.store(0, std::memory_order_relaxed);
    if (!insideTile) region_.unlock();
  }
};

}  // namespace

int numThreads() { return Pool::get().threads(); }

void setNumThreads(int n) {
  if (n < 1) fail<ValueError>("set_num_threads: expected a positive number, got ", n);
  if (insideTile) fail<Error>("set_num_threads: called from inside a parallel loop");
  Pool::get().setThreads(n);
}

void parallelTiles(std::int64_t tiles, FunctionRef<void(std::int64_t)> tile) {
  TANDEM_CHECK(tiles <= kMaxTiles, "too many tiles: ", tiles);
  if (tiles > 1 && !insideTile && numThreads() > 1 && Pool::get().tryRun(tiles, tile)) return;
  for (std::int64_t i = 0; i < tiles; ++i) tile(i);
}

void parallelFor(std::int64_t n, std::int64_t grain, FunctionRef<void(std::int64_t, std::int64_t)> body) {
  if (n <= 0) return;
  std::int64_t threads = insideTile ? 1 : numThreads();
  // Several pieces a thread, so that a late one is not waited for with the whole rest of the work.
  std::int64_t pieces = threads == 1 ? 1 : std::min(n / std::max<std::int64_t>(grain, 1), 8 * threads);
  if (pieces <= 1) return body(0, n);
  parallelTiles(pieces, [&](std::int64_t i) {
    // n / pieces each, the first n % pieces one more; no product that could overflow
    std::int64_t each = n / pieces;
    std::int64_t more = n % pieces;
    std::int64_t begin = i * each + std::min(i, more);
    body(begin, begin + each + (i < more ? 1 : 0));
  });
}

}  // namespace tandem
