#include "autograd/recomputed.h"

#include <algorithm>

#include "autograd/autograd.h"
#include "eager/dispatch.h"
#include "eager/modes.h"
#include "runtime/base/error.h"

namespace tandem {

namespace {

/// What was made again by one recorder, or by none.
struct Known {
  Ref<const Recomputation> of;
  const Recorder* recorder = nullptr;
  std::vector<std::vector<Tensor>> made;
};
thread_local std::vector<Known> known;
thread_local int scopes = 0;

/// What the present recorder has of it; null if nothing.
Known* knownOf(const Recomputation& of) {
  const auto it =
      std::ranges::find_if(known, [&](const Known& k) { return k.of.get() == &of && k.recorder == activeRecorder; });
  return it != known.end() ? &*it : nullptr;
}

class Again final : public PackedTensor {
 public:
  Again(Recomputation& of, std::uint32_t number) : of_(&of), number_(number) {}
  Tensor unpack() override { return of_->value(number_); }

 private:
  Ref<Recomputation> of_;
  std::uint32_t number_;
};

}  // namespace

Recomputation::Recomputation(std::shared_ptr<const Recipe> recipe, std::vector<Tensor> kept,
                             std::vector<Scalar> numbers)
    : recipe_(std::move(recipe)), kept_(std::move(kept)), numbers_(std::move(numbers)) {
  for (const Tensor& t : kept_) versions_.push_back(t.impl()->version());
}

Ref<PackedTensor> Recomputation::saved(std::uint32_t number) { return Ref<PackedTensor>(new Again(*this, number)); }

std::vector<Tensor> Recomputation::run(const Recipe::Step& step, const Made& made) const {
  std::vector<Tensor> tensors(step.sources.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i] = find(step.sources[i], made);
  if (step.isWindow) {
    const Tensor& whole = tensors[0];
    return {makeAlias(whole, step.shape, step.strides, whole.impl()->offset + step.offset)};
  }
  std::vector<Operand> operands;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Recipe::Source& source = step.sources[i];
    if (source.kind == Recipe::Source::Kind::Number)
      operands.emplace_back(numbers_[source.index]);
    else
      operands.emplace_back(tensors[i]);
  }
  std::vector<Tensor> results(step.results);
  applyMulti(step.op, operands, step.attrs, results);
  return results;
}

Tensor Recomputation::find(const Recipe::Source& source, const Made& made) const {
  using Kind = Recipe::Source::Kind;
  if (source.kind == Kind::Kept) return kept_[source.index];
  if (source.kind != Kind::Step) return {};
  return made[source.index][source.result];
}

Tensor Recomputation::value(std::uint32_t number) {
  for (std::size_t i = 0; i < kept_.size(); ++i)
    if (kept_[i].impl()->version() != versions_[i])
      fail("one of the variables needed for gradient computation has been modified by an inplace operation: a tensor "
           "that a compiled call kept, from which it makes others again for their derivatives.");
  const Recipe::Source& wanted = recipe_->values[number];
  if (wanted.kind == Recipe::Source::Kind::Kept) return kept_[wanted.index];
  Known* here = knownOf(*this);
  Made made = here != nullptr ? std::move(here->made) : Made();
  made.resize(recipe_->steps.size());
  NoGrad noGrad;
  // Steps that are needed and not made yet, each behind those that it reads.
  std::vector<std::uint32_t> open{wanted.index};
  while (!open.empty()) {
    const std::uint32_t at = open.back();
    if (!made[at].empty()) {
      open.pop_back();
      continue;
    }
    const std::size_t before = open.size();
    for (const Recipe::Source& source : recipe_->steps[at].sources)
      if (source.kind == Recipe::Source::Kind::Step && made[source.index].empty()) open.push_back(source.index);
    if (open.size() > before) continue;
    made[at] = run(recipe_->steps[at], made);
    open.pop_back();
  }
  Tensor result = made[wanted.index][wanted.result];
  if (scopes > 0) {
    // Operations may have ended a recording, and what was known with it.
    here = knownOf(*this);
    if (here == nullptr) here = &known.emplace_back(Known{Ref<const Recomputation>(this), activeRecorder, {}});
    here->made = std::move(made);
  }
  return result;
}

RecomputedScope::RecomputedScope() { ++scopes; }
RecomputedScope::~RecomputedScope() {
  --scopes;
  forget();
}
void RecomputedScope::forget() {
  if (known.empty()) return;
  const std::vector<Known> gone = std::move(known);  // dropping it may reach here again
  known.clear();
}

}  // namespace tandem
