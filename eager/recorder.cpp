#include "eager/recorder.h"

#include "eager/host.h"
#include "eager/tape_hook.h"

namespace tandem {

thread_local constinit Recorder* activeRecorder = nullptr;
TapeHook* tapeHook = nullptr;

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
