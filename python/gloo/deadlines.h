// Ends what lasts too long. Gloo's own waits close all connections when their time is over, after which nobody can be
// told why; these are cut off instead.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace tandem::distributed {

class Deadlines {
 public:
  using Clock = std::chrono::steady_clock;
  using Entries = std::multimap<Clock::time_point, std::function<void()>>;

  Deadlines() = default;
  ~Deadlines();
  Deadlines(const Deadlines&) = delete;
  Deadlines& operator=(const Deadlines&) = delete;

  /// While it exists, `cutOff` is called once `at` has passed.
  class Guard {
   public:
    Guard(Deadlines& deadlines, Clock::time_point at, std::function<void()> cutOff);
    ~Guard();
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    Deadlines& deadlines_;
    Entries::iterator entry_;
  };

 private:
  void run();

  std::mutex mutex_;  // guards what follows, and is held during a call of `cutOff`
  std::condition_variable changed_;
  Entries entries_;
  Clock::time_point next_ = Clock::time_point::max();  // when the thread looks again
  bool ending_ = false;
  std::thread thread_;  // begins with the first guard
};

}  // namespace tandem::distributed
