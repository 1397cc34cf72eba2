// What queued work may turn out to be: wrong, of which whoever waits for the stream hears.
//
// Checks of values on a GPU are such expectations: a kernel that meets a wrong value writes three numbers to a slot of
// page-locked memory, which the host looks at when somebody waits. Others are of agreements between processes.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/device/gpu_control.h"

namespace tandem::cuda {

class Gpu;

/// Of work that is queued. Asked when that work is done, or may be.
class Expectation {
 public:
  Expectation() = default;
  virtual ~Expectation() = default;
  Expectation(const Expectation&) = delete;
  Expectation& operator=(const Expectation&) = delete;

  /// Is it known that nothing went wrong? Does not wait.
  [[nodiscard]] virtual bool fine() const = 0;
  /// Was it proved wrong? May wait for others than the device.
  [[nodiscard]] virtual bool failed() const = 0;
  /// Throws the error, as if it had not been proved wrong afterwards.
  [[noreturn]] virtual void raise() const = 0;
  virtual void forget() const = 0;
  /// Is it of other streams, too, that wait for the work?
  [[nodiscard]] virtual bool goesAlong() const { return false; }
};

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

/// That a kernel meets no wrong value, with the slot of its own. Its work must be done, or never have begun, when it
/// dies. Errors say where the program made the call, `recorded at file:line`, unless `where` is empty.
class Expected final : public Expectation {
 public:
  Expected(Gpu& gpu, std::string where, std::function<void(const long long*)> raise);
  ~Expected() override;

  [[nodiscard]] long long* slot() const { return slot_; }
  [[nodiscard]] bool fine() const override { return !failed(); }
  [[nodiscard]] bool failed() const override;
  [[noreturn]] void raise() const override;
  void forget() const override;

 private:
  Gpu& gpu_;
  std::string where_;
  std::function<void(const long long*)> raise_;
  long long* slot_;
};

/// That processes agreed about what they did together.
class Agreed final : public Expectation {
 public:
  explicit Agreed(std::shared_ptr<const Agreement> agreement) : agreement_(std::move(agreement)) {}
  [[nodiscard]] bool fine() const override { return agreement_->isKnown() && agreement_->failure().empty(); }
  [[nodiscard]] bool failed() const override { return !agreement_->failure().empty(); }
  [[noreturn]] void raise() const override { agreement_->raise(); }
  void forget() const override {}  // what it is of stays wrong
  [[nodiscard]] bool goesAlong() const override { return true; }

 private:
  std::shared_ptr<const Agreement> agreement_;
};

/// Adds where the program made a call, `recorded at file:line`, to an error of it, unless it is empty. To be called in
/// a `catch (const Error&)`; rethrows.
[[noreturn]] void rethrowWithPlace(std::string_view where);
/// That of a call which was recorded at the line; empty where there is none.
std::string placeOf(std::string_view line);

}  // namespace tandem::cuda
