// Checks of values on a GPU. A kernel that meets a wrong value writes three numbers to a slot of page-locked memory,
// which the host looks at when somebody waits for the stream: an expectation says what the numbers mean.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace tandem::cuda {

class Gpu;

/// Slots of four numbers: 0, or 1 and then what the kernel says. Memory of the host that kernels reach.
class FaultSlots {
 public:
  static constexpr int kNumbers = 4;
  explicit FaultSlots(Gpu& gpu) : gpu_(gpu) {}
  /// One of zeros.
  long long* take();
  void give(long long* slot);

 private:
  Gpu& gpu_;
  std::mutex mutex_;
  std::vector<long long*> free_;
};

/// One that was queued, with the slot of its own. Its work must be done, or never have begun, when it dies.
class Expected {
 public:
  Expected(Gpu& gpu, std::string line, std::function<void(const long long*)> raise);
  ~Expected();
  Expected(const Expected&) = delete;
  Expected& operator=(const Expected&) = delete;

  [[nodiscard]] long long* slot() const { return slot_; }
  /// Was it proved wrong?
  [[nodiscard]] bool failed() const;
  /// Throws the error, with the line, as if it had not been proved wrong afterwards.
  [[noreturn]] void raise() const;
  void forget() const;

 private:
  Gpu& gpu_;
  std::string line_;
  std::function<void(const long long*)> raise_;
  long long* slot_;
};

/// Adds the line at which the program recorded a call to an error of it, unless there is none. To be called in a
/// `catch (const Error&)`; rethrows.
[[noreturn]] void rethrowWithLine(std::string_view line);

}  // namespace tandem::cuda
