#include "eager/in_place_form.h"

#include <utility>

#include "eager/helpers.h"
#include "eager/overlap.h"
#include "eager/recorder.h"
#include "eager/tape_hook.h"

namespace tandem {
namespace {

thread_local const Tensor* inPlaceSelf = nullptr;   // of the InPlaceForm
thread_local const TensorImpl* updating = nullptr;  // of the LastStep

}  // namespace

InPlaceForm::InPlaceForm(const Tensor& self) : self_(self), outer_(std::exchange(inPlaceSelf, &self)) {
  if (tapeHook != nullptr) tapeHook->beginInPlaceForm();
  recording_.beginInScopes();
}
InPlaceForm::~InPlaceForm() {
  inPlaceSelf = outer_;
  if (tapeHook != nullptr) tapeHook->endInPlaceForm();
}
void InPlaceForm::end(Tensor value) {
  if (!sameMemory(value, self_)) ops::assign(self_, value);
  value = {};  // or the recording would have to keep it
  recording_.end();
}

LastStep::LastStep(const Tensor& x) : outer_(updating) {
  const bool known = inPlaceSelf != nullptr && activeRecorder == nullptr && !x.isPending() && !x.impl()->batch;
  updating = known && x.isContiguous() && sameMemory(x, *inPlaceSelf) ? x.impl() : nullptr;
}
LastStep::~LastStep() { updating = outer_; }

bool takeLastStep(const Tensor& x) {
  if (updating == nullptr || x.impl() != updating) return false;
  updating = nullptr;
  return true;
}

}  // namespace tandem
