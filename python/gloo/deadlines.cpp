#include "python/gloo/deadlines.h"

#include <algorithm>
#include <utility>

namespace tandem::distributed {

Deadlines::~Deadlines() {
  {
    std::scoped_lock guard(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

Deadlines::Guard::Guard(Deadlines& deadlines, Clock::time_point at, std::function<void()> cutOff)
    : deadlines_(deadlines) {
  std::scoped_lock guard(deadlines.mutex_);
  entry_ = deadlines.entries_.emplace(at, std::move(cutOff));
  if (!deadlines.thread_.joinable()) deadlines.thread_ = std::thread([&deadlines] { deadlines.run(); });
  // Most deadlines are later than the last one, and the thread need not wake for them.
  if (at < deadlines.next_) deadlines.changed_.notify_all();
}

Deadlines::Guard::~Guard() {
  std::scoped_lock guard(deadlines_.mutex_);
  deadlines_.entries_.erase(entry_);
}

void Deadlines::run() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    const auto now = Clock::now();
    next_ = Clock::time_point::max();
    for (const auto& [at, cutOff] : entries_) {
      if (at > now) {
        next_ = at;
        break;
      }
      cutOff();
    }
    // Called again now and then until its guard has gone, since a wait may begin after the call.
    constexpr auto kAgain = std::chrono::milliseconds(20);
    if (!entries_.empty() && entries_.begin()->first <= now) next_ = std::min(next_, now + kAgain);
    if (next_ == Clock::time_point::max())
      changed_.wait(lock);
    else
      changed_.wait_until(lock, next_);
  }
}

}  // namespace tandem::distributed
