#include "eager/recorder.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "eager/host.h"
#include "eager/tape_hook.h"
#include "runtime/base/long_work.h"

namespace tandem {

thread_local constinit Recorder* activeRecorder = nullptr;
TapeHook* tapeHook = nullptr;

namespace {
struct Holders {
  std::mutex mutex;
  std::vector<Recorder*> all;
};
Holders& holders() {
  static auto* holders = new Holders;  // threads may outlive static objects
  return *holders;
}
}  // namespace

HoldsBack::HoldsBack(Recorder* recorder) : recorder_(recorder) {
  if (recorder == nullptr) return;
  std::scoped_lock guard(holders().mutex);
  holders().all.push_back(recorder);
  count_.fetch_add(1, std::memory_order_relaxed);
}
HoldsBack::~HoldsBack() {
  if (recorder_ == nullptr) return;
  std::scoped_lock guard(holders().mutex);
  std::erase(holders().all, recorder_);
  count_.fetch_sub(1, std::memory_order_relaxed);
}

void settleOthers(Storage& memory, const Recorder* one) {
  if (LongWork::enter == nullptr) return;
  std::vector<Recorder*> all;
  {
    std::scoped_lock guard(holders().mutex);
    all = holders().all;
  }
  for (Recorder* r : all) {
    if (r == one) continue;
    {
      // What ran for the one before let other threads go on, which may have ended this one.
      std::scoped_lock guard(holders().mutex);
      if (std::ranges::find(holders().all, r) == holders().all.end()) continue;
    }
    r->beforeChange(memory);
  }
}

std::int64_t learnSize(Tensor& count) {
  if (count.impl()->batch)
    fail("vmap: It looks like you're calling an operation whose result has a size that depends on data (nonzero, a "
         "mask's selection, unique ...). Examples may differ in it; please use tandem.where instead.");
  return activeRecorder != nullptr ? activeRecorder->learnSize(count) : readElement<std::int64_t>(count);
}

Recorder* recorderFor(std::span<const Operand> operands) {
  if (activeRecorder != nullptr) return activeRecorder;
  // Pending in another thread's recording: its value is needed now.
  for (const auto& o : operands)
    if (o.isTensor() && o.tensor().defined()) o.tensor().materialize();
  return nullptr;
}

}  // namespace tandem
