#include "runtime/device/cuda/faults.h"

#include <atomic>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/device/cuda/gpu.h"

namespace tandem::cuda {
namespace {

constexpr std::size_t kSlotBytes = 64;  // slots share no line of memory
constexpr std::size_t kSlotsAtOnce = 1024;
static_assert(FaultSlots::kNumbers * sizeof(long long) <= kSlotBytes);

}  // namespace

long long* FaultSlots::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    gpu_.use();
    void* memory = nullptr;
    check(driver().memHostAlloc(&memory, kSlotsAtOnce * kSlotBytes, kHostAllocPortable | kHostAllocDeviceMap),
          "allocating places for errors of values");
    for (std::size_t i = kSlotsAtOnce; i-- > 0;)
      free_.push_back(reinterpret_cast<long long*>(static_cast<char*>(memory) + i * kSlotBytes));
  }
  long long* slot = free_.back();
  free_.pop_back();
  for (int i = 0; i < kNumbers; ++i) slot[i] = 0;
  return slot;
}

void FaultSlots::give(long long* slot) {
  const std::lock_guard lock(mutex_);
  free_.push_back(slot);
}

Expected::Expected(Gpu& gpu, std::string where, std::function<void(const long long*)> raise)
    : gpu_(gpu), where_(std::move(where)), raise_(std::move(raise)), slot_(gpu.slots.take()) {}

Expected::~Expected() { gpu_.slots.give(slot_); }

bool Expected::failed() const { return std::atomic_ref(slot_[0]).load(std::memory_order_acquire) != 0; }

void Expected::raise() const {
  const long long numbers[3] = {slot_[1], slot_[2], slot_[3]};
  forget();
  try {
    raise_(numbers);
  } catch (const Error&) {
    rethrowWithPlace(where_);
  }
  fail<InternalError>("a wrong value raised no error");
}

void Expected::forget() const {
  for (int i = 0; i < FaultSlots::kNumbers; ++i) slot_[i] = 0;
}

std::string placeOf(std::string_view line) { return line.empty() ? "" : strcat("recorded at ", line); }

void rethrowWithPlace(std::string_view where) {
  if (where.empty()) throw;
  try {
    throw;
  } catch (const SizeChanged&) {
    throw;
  } catch (const Error& e) {
    failAs(e, strcat(e.what(), "\n  ", where));
  }
}

}  // namespace tandem::cuda
