#include "eager/in_place_form.h"

#include <utility>

#include "eager/helpers.h"
#include "eager/modes.h"
#include "eager/ops.h"
#include "eager/overlap.h"
#include "eager/recorder.h"
#include "eager/tape_hook.h"

namespace tandem {
namespace {

thread_local const Tensor* inPlaceSelf = nullptr;   // of the InPlaceForm
thread_local const TensorImpl* updating = nullptr;  // of the LastStep

}  // namespace

GradientOnce::GradientOnce(const Tensor& into) : view_(nullptr) {
  TensorImpl* t = into.impl();
  if (!t->viewBase || !gradEnabled() || !into.requiresGrad() || into.numel() == 0 || !mayOverlapItself(into)) return;
  const Tensor once = ops::where(ops::lastPlaces(into), into, ops::detached(into));
  if (!once.requiresGrad()) return;
  tapeHook->takeHistory(into, once);
  view_ = t;
}
GradientOnce::~GradientOnce() {
  if (view_ != nullptr) view_->historyVersion = view_->version() - 1;  // brought up to date when next used
}

InPlaceForm::InPlaceForm(const Tensor& self) : gradient_(self), self_(self), outer_(std::exchange(inPlaceSelf, &self)) {
  if (tapeHook != nullptr) tapeHook->beginInPlaceForm();
  recording_.beginInScopes();
}
InPlaceForm::~InPlaceForm() {
  inPlaceSelf = outer_;
  if (tapeHook != nullptr) tapeHook->endInPlaceForm();
}
void ops::replace(const Tensor& into, const Tensor& value) {
  if (!gradEnabled() || !into.requiresGrad() || !value.requiresGrad() || into.impl()->viewBase)
    return assign(into, value);
  tapeHook->checkWrite(into, true);
  assign(alias(into), value);  // a write through a view keeps the history of what it replaces
}

void InPlaceForm::end(Tensor value) {
  if (!sameMemory(value, self_)) {
    // Where elements have several places, what is written to one must not be undone by what another one had.
    const bool several = mayOverlapItself(self_) && !selfOverlaps(self_) && value.shape() == self_.shape();
    const Tensor changed = several ? ops::lastChanges(self_, value) : Tensor();
    ops::assign(self_, value);
    if (several) {
      Tensor again = makeAlias(self_, self_.shape(), self_.strides(), self_.impl()->offset);
      again.impl()->countAlone();
      ops::assign(again, changed);
    }
  }
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
  settleReads(*x.impl()->storage);
  return true;
}

}  // namespace tandem
