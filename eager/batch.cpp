#include "eager/batch.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "eager/batch_rules.h"
#include "eager/helpers.h"
#include "eager/kernels.h"
#include "eager/ops.h"
#include "eager/recorder.h"
#include "eager/tape_hook.h"

namespace tandem {

// ---- axes -----------------------------------------------------------------------------------------------------------

namespace {

thread_local std::vector<Ref<BatchAxis>> scopes;

struct Registry {
  std::mutex mutex;
  std::unordered_map<std::int64_t, BatchAxis*> axes;
  std::int64_t next = 1;
};
Registry& registry() {
  static auto* r = new Registry;  // outlives tensors of static storage
  return *r;
}

/// For the life of the scope operations run as outside vmap and without history: below are plain tensors only.
class PlainScope {
 public:
  PlainScope() { scopes.swap(before_); }
  ~PlainScope() { scopes.swap(before_); }
  PlainScope(const PlainScope&) = delete;
  PlainScope& operator=(const PlainScope&) = delete;

 private:
  NoGrad noGrad_;
  std::vector<Ref<BatchAxis>> before_;
};

}  // namespace

void BatchAxis::destroy(BatchAxis* axis) {
  {
    std::scoped_lock guard(registry().mutex);
    registry().axes.erase(axis->id);
  }
  delete axis;
}

Ref<BatchAxis> findAxis(std::int64_t id) {
  std::scoped_lock guard(registry().mutex);
  auto it = registry().axes.find(id);
  if (it == registry().axes.end() || !it->second->tryRetain()) return {};
  Ref<BatchAxis> axis(it->second);
  axis->release();
  return axis;
}

std::span<const Ref<BatchAxis>> activeAxes() { return scopes; }

BatchScope::BatchScope(std::int64_t size, Randomness randomness) {
  std::scoped_lock guard(registry().mutex);
  axis_ = new BatchAxis(registry().next++, size, randomness);
  registry().axes.emplace(axis_->id, axis_.get());
  scopes.push_back(axis_);
}

void BatchScope::end() {
  if (!axis_->active) return;
  axis_->active = false;
  std::erase(scopes, axis_);
}

// ---- between hidden dims and plain ones -----------------------------------------------------------------------------

Tensor allExamples(const Tensor& t, std::span<const Ref<BatchAxis>> axes, bool expand, std::int64_t rank) {
  Dims shape;
  Dims strides;
  const BatchDims* batch = t.impl()->batch.get();
  for (const auto& axis : axes) {
    int at = batch != nullptr ? batch->find(axis.get()) : -1;
    shape.push_back(at >= 0 || expand ? axis->size : 1);
    strides.push_back(at >= 0 ? batch->dims[at].stride : 0);
  }
  for (std::int64_t d = t.dim(); d < rank; ++d) {
    shape.push_back(1);
    strides.push_back(0);
  }
  shape.append(t.shape().begin(), t.shape().end());
  strides.append(t.strides().begin(), t.strides().end());
  if (activeRecorder != nullptr) activeRecorder->touch(t);
  return Tensor(new TensorImpl(t.impl()->storage, t.dtype(), shape, strides, t.impl()->offset));
}

Tensor withHidden(const Tensor& t, std::span<const Ref<BatchAxis>> axes, std::span<const std::int64_t> places) {
  std::uint64_t taken = 0;
  std::vector<BatchDim> dims;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    dims.push_back({axes[i], t.strides()[places[i]]});
    taken |= std::uint64_t{1} << places[i];
  }
  if (const BatchDims* own = t.impl()->batch.get()) dims.insert(dims.end(), own->dims.begin(), own->dims.end());
  std::sort(dims.begin(), dims.end(), [](const BatchDim& a, const BatchDim& b) { return a.axis->id < b.axis->id; });
  Dims shape;
  Dims strides;
  for (std::int64_t d = 0; d < t.dim(); ++d) {
    if ((taken >> d & 1) != 0) continue;
    shape.push_back(t.shape()[d]);
    strides.push_back(t.strides()[d]);
  }
  auto* impl = new TensorImpl(t.impl()->storage, t.dtype(), shape, strides, t.impl()->offset);
  impl->batch = new BatchDims(std::move(dims));
  return Tensor(impl);
}

namespace {

std::vector<Ref<BatchAxis>> axesOf(const Tensor& t) {
  std::vector<Ref<BatchAxis>> axes;
  if (const BatchDims* batch = t.impl()->batch.get())
    for (const BatchDim& d : batch->dims) axes.push_back(d.axis);
  return axes;
}

Dims leadingPlaces(std::size_t n) {
  Dims places;
  for (std::size_t i = 0; i < n; ++i) places.push_back(static_cast<std::int64_t>(i));
  return places;
}

/// `t`, which shows what `x` does, is a view of the same base as other windows on x are.
void setBase(const Tensor& t, const Tensor& x, const Ref<TensorImpl>& base) {
  TensorImpl* view = t.impl();
  view->viewBase = base;
  view->countWith(*x.impl());
  view->inference = x.impl()->inference;
  view->origin = x.impl()->origin;
  if (view->origin == ViewOrigin::Plain && !gradEnabled())
    view->origin = inferenceMode() ? ViewOrigin::Inference : ViewOrigin::NoGrad;
}

}  // namespace

Tensor oneEach(const Tensor& value, const Tensor& like) {
  if (!like.impl()->batch) return value;
  std::vector<Ref<BatchAxis>> axes = axesOf(like);
  PlainScope plain;
  return withHidden(ops::clone(allExamples(value, axes, true)), axes, leadingPlaces(axes.size()));
}

namespace ops {

Tensor batch_in(const Tensor& x, std::int64_t dim, std::int64_t axis) {
  Ref<BatchAxis> named = findAxis(axis);
  TANDEM_CHECK(named && !(x.impl()->batch && x.impl()->batch->find(named.get()) >= 0),
               "a stale or repeated batch axis");
  dim = wrapDim(dim, x.dim());
  if (activeRecorder != nullptr) activeRecorder->touch(x);
  const Operand operands[] = {x};
  const std::int64_t attrs[] = {dim, axis};
  const Ref<BatchAxis> axes[] = {named};
  const std::int64_t places[] = {dim};
  if (x.impl()->viewBase && gradEnabled()) tapeHook->refreshView(x.impl());
  Tensor t = withHidden(x, axes, places);
  setBase(t, x, x.impl()->viewBase ? x.impl()->viewBase : x.ref());
  if (gradEnabled() && x.requiresGrad()) tapeHook->record(OpCode::batch_in, operands, attrs, {&t, 1});
  return t;
}

Tensor batch_out(const Tensor& x, std::int64_t dim, std::int64_t axis) {
  Ref<BatchAxis> named = findAxis(axis);
  dim = wrapDim(dim, x.dim() + 1);
  const BatchDims* batch = x.impl()->batch.get();
  int at = batch != nullptr && named ? batch->find(named.get()) : -1;
  if (at < 0) {
    TANDEM_CHECK(named, "a stale batch axis");
    Dims shape = x.shape();
    shape.insert(dim, named->size);
    return expand(unsqueeze(x, dim), shape);
  }
  if (activeRecorder != nullptr) activeRecorder->touch(x);
  if (x.impl()->viewBase && gradEnabled()) tapeHook->refreshView(x.impl());
  Dims shape = x.shape();
  Dims strides = x.strides();
  shape.insert(dim, named->size);
  strides.insert(dim, batch->dims[at].stride);
  std::vector<BatchDim> rest = batch->dims;
  rest.erase(rest.begin() + at);
  auto* impl = new TensorImpl(x.impl()->storage, x.dtype(), shape, strides, x.impl()->offset);
  if (!rest.empty()) impl->batch = new BatchDims(std::move(rest));
  Tensor t(impl);
  // What was made inside of vmap, and what is a window on that, has no base that is seen outside.
  const Ref<TensorImpl>& base = x.impl()->viewBase;
  if (base && !(base->batch && base->batch->find(named.get()) >= 0)) setBase(t, x, base);
  const Operand operands[] = {x};
  const std::int64_t attrs[] = {dim, axis};
  if (gradEnabled() && x.requiresGrad()) tapeHook->record(OpCode::batch_out, operands, attrs, {&t, 1});
  return t;
}

}  // namespace ops

// ---- running --------------------------------------------------------------------------------------------------------

BatchCall::BatchCall(const OpFacts& f, std::span<const Operand> o, std::span<const std::int64_t> a,
                     std::span<const TensorMeta> m, std::span<Tensor> results)
    : op(f), operands(o), attrs(a), metas(m), results_(results) {
  for (const Operand& x : o) {
    if (!isBatched(x)) continue;
    for (const BatchDim& d : x.tensor().impl()->batch->dims)
      if (std::find(axes.begin(), axes.end(), d.axis) == axes.end()) axes.push_back(d.axis);
  }
  std::sort(axes.begin(), axes.end(), [](const auto& l, const auto& r) { return l->id < r->id; });
}

Dims BatchCall::sizes() const {
  Dims sizes;
  for (const auto& axis : axes) sizes.push_back(axis->size);
  return sizes;
}

Tensor BatchCall::expanded(std::size_t i, std::int64_t rank) const { return allExamples(tensor(i), axes, true, rank); }

std::vector<Tensor> BatchCall::run(std::span<const Operand> plain, std::span<const std::int64_t> newAttrs) const {
  std::vector<Tensor> made(results_.size());
  applyMulti(op.code, plain, newAttrs, made);
  return made;
}

void BatchCall::set(std::size_t i, const Tensor& plain) {
  Dims shape = sizes();
  shape.append(metas[i].shape.begin(), metas[i].shape.end());
  set(i, plain.shape() == shape ? plain : ops::reshape(plain, shape), leadingPlaces(axes.size()));
}
void BatchCall::set(std::size_t i, const Tensor& plain, std::span<const std::int64_t> places) {
  results_[i] = axes.empty() ? plain : withHidden(plain, axes, places);
}

namespace {

void pointwise(BatchCall& c) {
  auto rank = static_cast<std::int64_t>(c.metas[0].shape.size());
  std::vector<Tensor> owned(c.operands.size());
  std::vector<Operand> plain(c.operands.begin(), c.operands.end());
  bool mixed = false;
  const DType* dtype = nullptr;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (!plain[i].isTensor()) continue;
    if (dtype != nullptr) mixed |= c.tensor(i).dtype() != *dtype;
    dtype = &c.tensor(i).impl()->dtype;
    if (!c.batched(i)) continue;
    owned[i] = allExamples(c.tensor(i), c.axes, false, rank);
    plain[i] = Operand(owned[i]);
  }
  // A 0-d tensor gives way in promotion; its examples, having a dim, would not.
  if (mixed && c.op.dtypeRule <= DTypeRule::Select) {
    std::vector<TensorMeta> metas;
    for (const Operand& o : c.operands) metas.push_back(metaOf(o));
    PointwiseTypes types = pointwiseTypes(c.op, metas, c.attrs);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      if (!plain[i].isTensor()) continue;
      DType wanted = operandType(c.op, types, i, metas[i]);
      if (plain[i].tensor().dtype() == wanted) continue;
      owned[i] = ops::to(plain[i].tensor(), wanted);
      plain[i] = Operand(owned[i]);
    }
  }
  std::vector<Tensor> made = c.run(plain, c.attrs);
  for (std::size_t i = 0; i < made.size(); ++i) c.set(i, made[i]);
}

void reduction(BatchCall& c) {
  std::vector<std::int64_t> attrs(c.attrs.begin(), c.attrs.end());
  for (std::int64_t i = 1; i <= attrs[0]; ++i) attrs[i] += c.depth();
  Tensor x = c.expanded(0);
  const Operand plain[] = {x};
  c.set(0, c.run(plain, attrs)[0]);
}

/// Inside vmap: numbers for all examples of the axes that want them different, else one set.
void random(BatchCall& c, std::span<const Ref<BatchAxis>> active) {
  for (const auto& axis : active) {
    if (axis->randomness == Randomness::Error)
      fail("vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
           "randomness flags on vmap or perform the randomness operation out of vmap");
    const bool known = std::any_of(c.axes.begin(), c.axes.end(), [&](const auto& own) { return own == axis; });
    if (known && axis->randomness == Randomness::Same)
      fail("vmap: ", c.op.name, " does not currently support same randomness with a batched tensor input");
    if (axis->randomness == Randomness::Different && !known) c.axes.push_back(axis);
  }
  if (c.axes.empty()) return c.set(0, c.run(c.operands, c.attrs)[0]);
  // A draw with tensors as parameters numbers the elements of its result, whatever leads.
  if (c.op.kind != OpKind::Random) return c.operands.empty() ? batch_rules::loop(c) : batch_rules::leading(c);
  // The size comes first.
  std::vector<std::int64_t> attrs{c.attrs[0] + c.depth()};
  for (std::int64_t n : c.sizes()) attrs.push_back(n);
  attrs.insert(attrs.end(), c.attrs.begin() + 1, c.attrs.end());
  c.set(0, c.run(c.operands, attrs)[0]);
}

}  // namespace

void refuseSameRandomness(const char* op, std::span<const Operand> parameters) {
  for (const Operand& o : parameters) {
    if (!isBatched(o)) continue;
    for (const BatchDim& d : o.tensor().impl()->batch->dims)
      if (d.axis->randomness == Randomness::Same)
        fail("vmap: ", op, " does not currently support same randomness with a batched tensor input");
  }
}

bool needsBatching(const OpFacts& op, std::span<const Operand> operands) {
  return (!scopes.empty() && op.random) || anyBatched(operands);
}

void runBatched(const OpFacts& op, std::span<const Operand> operands, std::span<const std::int64_t> attrs,
                std::span<const TensorMeta> metas, std::span<Tensor> results) {
  std::vector<Ref<BatchAxis>> active(scopes);
  PlainScope plain;
  BatchCall c(op, operands, attrs, metas, results);
  if (op.random) return random(c, active);
  switch (op.kind) {
  case OpKind::Pointwise:
    return pointwise(c);
  case OpKind::Reduction:
    return reduction(c);
  default:
    break;
  }
  if (c.examples() == 0) {
    for (std::size_t i = 0; i < metas.size(); ++i) {
      Dims shape = c.sizes();
      shape.append(metas[i].shape.begin(), metas[i].shape.end());
      c.set(i, ops::zeros(shape, metas[i].dtype));
    }
    return;
  }
  BatchRuleOf how = batchRuleOf(op.code);
  c.dimAttr = how.dimAttr;
  c.dimOptional = how.dimOptional;
  how.rule(c);
}

void writeBatched(const OpFacts& op, const Tensor& into, const Tensor& value) {
  const BatchDims* target = into.impl()->batch.get();
  if (const BatchDims* from = value.impl()->batch.get())
    for (const BatchDim& d : from->dims)
      if (target == nullptr || target->find(d.axis.get()) < 0) {
        if (op.random)
          fail("vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same "
               "randomness.");
        fail("vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in "
             "extra_args that has more elements than `self`. This happened due to `other` being vmapped over but "
             "`self` not being vmapped over in a vmap. Please try to use out-of-place operators instead of inplace "
             "arithmetic (",
             op.name, "_).");
      }
  std::vector<Ref<BatchAxis>> axes = axesOf(into);
  PlainScope plain;
  Tensor all = allExamples(into, axes, true);
  all.impl()->countAlone();  // the dispatcher counts the write
  ops::assign(all, allExamples(value, axes, false, into.dim()));
}

}  // namespace tandem
