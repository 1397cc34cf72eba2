#include "autograd/tape.h"

#include <algorithm>
#include <bit>

#include "autograd/autograd.h"
#include "autograd/functional.h"
#include "autograd/geometry.h"
#include "autograd/kept_saved.h"
#include "autograd/meta.h"

namespace tandem {

namespace {

bool saves(std::uint32_t mask, std::size_t i) { return ((mask >> std::min<std::size_t>(i, 31)) & 1) != 0; }

/// What the derivative of operand i reads: operands and results, as masks.
struct Reads {
  std::uint32_t inputs;
  std::uint32_t outputs;
};
Reads readsOf(const OpFacts& f, std::size_t i) {
  if (i >= std::size(f.readsFor)) return {f.savesInput, f.savesOutput};
  // The tensors of a list, the last operands, are saved all or none: their bits go on to the last.
  std::uint32_t list = f.savesInput & static_cast<std::uint32_t>(~0ULL << (32 - std::countl_one(f.savesInput)));
  return {f.readsFor[i] | list, f.readsResultFor[i]};
}

/// A node of one tensor operand, made without running anything: what histories of views and writes are built of. `t`
/// has the dtype and the hidden dims of its result.
Ref<Node> makeViewNode(OpCode op, Edge from, std::span<const std::int64_t> attrs, DimsRef shape, const TensorImpl& t) {
  OpNode* node = OpNode::make(op, {1, 1, 0, 0, static_cast<std::uint32_t>(attrs.size())}, Node::takeSequence());
  node->operands()[0].tensor = true;
  node->mutableEdges()[0] = std::move(from);
  node->mutableResults()[0] = {Dims(shape), t.dtype, t.device, t.batch};
  std::copy(attrs.begin(), attrs.end(), node->mutableAttrs().begin());
  Ref<Node> ref(node);
  if (autograd::anomalyMode()) autograd::noteLine(*node);
  return ref;
}

Ref<Node> makePermuteNode(Edge from, const Dims& order, DimsRef shape, const TensorImpl& t) {
  std::vector<std::int64_t> attrs{static_cast<std::int64_t>(order.size())};
  attrs.insert(attrs.end(), order.begin(), order.end());
  return makeViewNode(OpCode::permute, std::move(from), attrs, shape, t);
}

Dims pick(DimsRef values, const Dims& order) {
  Dims out;
  for (std::int64_t d : order) out.push_back(values[d]);
  return out;
}

/// `base` in memory order, as a contiguous array: the window of `view` on it, and how to get there.
struct Unfolded {
  Dims order;
  Dims shape;
  bool permuted = false;
  Geometry window;
};
Unfolded unfold(const TensorImpl& base, const TensorImpl& view) {
  Unfolded u;
  std::int64_t offset = view.offset - base.offset;
  if (base.contiguous) {
    u.shape = base.shape;
    u.window = {view.shape, view.strides, offset};
    return u;
  }
  u.order = memoryOrder(base.shape, base.strides);
  u.permuted = !std::is_sorted(u.order.begin(), u.order.end());
  u.shape = pick(base.shape, u.order);
  u.window = inContiguous(u.shape, pick(base.strides, u.order), view.shape, view.strides, offset);
  return u;
}

/// A window on memory that `base` has no elements in has values, but its gradient would have no place.
void needWithin(const TensorImpl& base, const TensorImpl& view) {
  const Dims order = memoryOrder(base.shape, base.strides);
  if (liesWithin(pick(base.shape, order), pick(base.strides, order), view.shape, view.strides,
                 view.offset - base.offset))
    return;
  fail("as_strided: of an input that requires grad the window must hold elements of the input alone, got sizes ",
       shapeText(view.shape), ", strides ", shapeText(view.strides), ", storage offset ", view.offset,
       " of an input with sizes ", shapeText(base.shape), ", strides ", shapeText(base.strides), ", storage offset ",
       base.offset);
}

/// `view` as as_strided of `base`, whose history leads to `from`.
Ref<Node> makeStridedNode(Edge from, const TensorImpl& base, const TensorImpl& view) {
  Unfolded u = unfold(base, view);
  if (u.permuted) from = {makePermuteNode(std::move(from), u.order, u.shape, base), 0};
  std::vector<std::int64_t> attrs = windowAttrs(u.window);
  attrs.insert(attrs.end() - 1, 1);  // as_strided's offset is optional: it is given
  return makeViewNode(OpCode::as_strided, std::move(from), attrs, view.shape, view);
}

/// The axes of a view inside vmap along which its base shows its dims, and the view with those as dims of its own, the
/// first ones: the window on the base that all examples are.
struct Shown {
  std::vector<Ref<BatchAxis>> axes;
  Ref<TensorImpl> all;  // null where there are none
};
Shown shown(const TensorImpl& base, const TensorImpl& view) {
  Shown s;
  if (!view.batch) return s;
  Dims shape;
  Dims strides;
  for (const BatchDim& d : view.batch->dims) {
    if (base.batch && base.batch->find(d.axis.get()) >= 0) continue;
    s.axes.push_back(d.axis);
    shape.push_back(d.axis->size);
    strides.push_back(d.stride);
  }
  if (s.axes.empty()) return s;
  shape.append(view.shape.begin(), view.shape.end());
  strides.append(view.strides.begin(), view.strides.end());
  s.all = new TensorImpl(view.storage, view.dtype, shape, strides, view.offset);
  s.all->batch = base.batch;
  return s;
}

/// A tensor to describe results by: one that has the hidden dims of `base` and the first `count` of `axes`.
Ref<TensorImpl> withAxes(const TensorImpl& base, std::span<const Ref<BatchAxis>> axes, std::size_t count) {
  std::vector<BatchDim> dims;
  if (base.batch) dims = base.batch->dims;
  for (const Ref<BatchAxis>& axis : axes.first(count)) dims.push_back({axis, 0});
  std::ranges::sort(dims, {}, [](const BatchDim& d) { return d.axis->id; });
  Ref<TensorImpl> t(new TensorImpl(base.storage, base.dtype, Dims(), Dims(), 0));
  if (!dims.empty()) t->batch = new BatchDims(std::move(dims));
  return t;
}

/// The history of `view` on its base, whose own leads to `from`.
Ref<Node> makeViewHistory(Edge from, const TensorImpl& base, const TensorImpl& view) {
  const Shown s = shown(base, view);
  if (s.axes.empty()) return makeStridedNode(std::move(from), base, view);
  Ref<Node> node = makeStridedNode(std::move(from), base, *s.all);
  Dims shape = s.all->shape;
  for (std::size_t i = 0; i < s.axes.size(); ++i) {
    const std::int64_t attrs[] = {0, s.axes[i]->id};
    shape = Dims(shape.begin() + 1, shape.end());
    node = makeViewNode(OpCode::batch_in, {std::move(node), 0}, attrs, shape, *withAxes(base, s.axes, i + 1));
  }
  return node;
}

/// What leads to a value with hidden dims, as one that shows those of `s`.
Edge shownValue(Edge from, const TensorImpl& base, const Shown& s) {
  for (std::size_t i = s.axes.size(); i-- > 0;) {
    const std::int64_t attrs[] = {0, s.axes[i]->id};
    const Dims shape(s.all->shape.begin() + static_cast<std::ptrdiff_t>(i), s.all->shape.end());
    from = {makeViewNode(OpCode::batch_out, std::move(from), attrs, shape, *withAxes(base, s.axes, i)), 0};
  }
  return from;
}

/// as_strided of a base with gaps, or that begins behind its memory's first element: its attributes count memory; the
/// derivative counts elements of a contiguous array, from its first on. False where both are the same.
[[gnu::noinline]] bool recordWindow(const Tensor& base, const Tensor& window) {
  needWithin(*base.impl(), *window.impl());
  if (base.isContiguous() && base.impl()->offset == 0) return false;
  setHistory(window, makeStridedNode(gradEdge(base), *base.impl(), *window.impl()), 0);
  return true;
}

}  // namespace

void Tape::record(OpCode op, std::span<const Operand> operands, std::span<const std::int64_t> attrs,
                  std::span<Tensor> results) {
  const OpFacts& f = facts(op);
  if (!f.differentiable) return;
  if (std::none_of(results.begin(), results.end(), [](const Tensor& r) { return isFloating(r.dtype()); })) return;

  SmallVector<bool, 8> wanted(operands.size(), false);
  OpNode::Layout layout;
  layout.operands = static_cast<std::uint32_t>(operands.size());
  layout.results = static_cast<std::uint32_t>(results.size());
  layout.attrs = static_cast<std::uint32_t>(attrs.size());
  bool any = false;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].isTensor() || !operands[i].tensor().defined()) continue;
    TensorImpl* t = operands[i].tensor().impl();
    if (t->viewBase) refreshView(t);
    any |= wanted[i] = t->requiresGrad;
  }
  if (!any) return;
  if (op == OpCode::as_strided) [[unlikely]]
    if (recordWindow(operands[0].tensor(), results[0])) return;

  std::uint32_t inputs = 0;
  std::uint32_t outputs = 0;
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (wanted[i]) {
      Reads m = readsOf(f, i);
      inputs |= m.inputs;
      outputs |= m.outputs;
    }
  bool keepMetas = f.kind != OpKind::Pointwise;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].isTensor() || !operands[i].tensor().defined()) continue;
    layout.saved += saves(inputs, i) ? 1 : 0;
    layout.metas += keepMetas && !wanted[i] ? 1 : 0;
  }
  for (std::size_t i = 0; i < results.size(); ++i) layout.saved += saves(outputs, i) ? 1 : 0;

  OpNode* node = OpNode::make(op, layout, Node::takeSequence());
  Ref<Node> ref(node);
  std::int16_t saved = 0;
  std::int16_t metas = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    OpNode::OperandSlot& slot = node->operands()[i];
    if (!operands[i].isTensor()) {
      slot.scalar = operands[i].scalar();
      continue;
    }
    const Tensor& t = operands[i].tensor();
    if (!t.defined()) continue;
    slot.tensor = true;
    if (wanted[i]) node->mutableEdges()[i] = gradEdge(t);
    if (saves(inputs, i)) {
      slot.saved = saved;
      node->saved()[saved++] = SavedTensor::operand(t, static_cast<int>(i));
    }
    if (keepMetas && !wanted[i]) {
      slot.meta = metas;
      node->metas()[metas++] = {t.shape(), t.dtype(), t.device()};
    }
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    node->mutableResults()[i] = {results[i].shape(), results[i].dtype(), results[i].device(), results[i].impl()->batch};
    if (saves(outputs, i)) node->saved()[saved++] = SavedTensor::result(results[i], static_cast<std::uint32_t>(i));
  }
  std::copy(attrs.begin(), attrs.end(), node->mutableAttrs().begin());
  noteSaved(*node);
  if (autograd::anomalyMode()) autograd::noteLine(*node);
  for (std::size_t i = 0; i < results.size(); ++i)
    if (isFloating(results[i].dtype())) setHistory(results[i], ref, static_cast<std::uint32_t>(i));
}

void Tape::beginInPlaceForm() { beginKeepingSaved(false); }
void Tape::endInPlaceForm() { endKeepingSaved(false); }
void Tape::beforeWrite(const Storage* storage) { keepSavedOf(storage); }
bool Tape::keepsSaved() const { return keepingSaved(); }

/// The gradient of a write through such a view would be ambiguous.
static void checkOrigin(const TensorImpl& view) {
  // The forward of a Function runs without gradients, and its outputs are no views of what they share memory with.
  const TensorImpl& base = view.viewBase ? *view.viewBase : view;
  if (base.origin == ViewOrigin::NoGrad)
    fail("Output of a custom Function, of shape ", shapeText(base.shape),
         ", is a view and is being modified inplace. This view was created inside a custom Function (or because an "
         "input was returned as-is), and the autograd logic to handle view+inplace would override the custom "
         "backward: clone() it in the forward, or use an out-of-place operation.");
  switch (view.origin) {
  case ViewOrigin::Plain:
    return;
  case ViewOrigin::Piece:
    fail("A view that split, chunk or unbind gave, of shape ", shapeText(view.shape),
         ", is being modified inplace. Such functions return multiple views, which must not be modified inplace: use "
         "an out-of-place operation.");
  case ViewOrigin::NoGrad:
  case ViewOrigin::Inference:
    const bool inference = view.origin == ViewOrigin::Inference;
    fail("A view was created in ", inference ? "inference" : "no_grad", " mode and is being modified inplace ",
         inference ? "in normal mode" : "with grad mode enabled",
         ". Its gradient would be ambiguous, so this is forbidden: move both the view and the write into the ",
         inference ? "inference_mode" : "no_grad", " block, or both out.");
  }
}

/// Is what has this a leaf, or a point that a function is differentiated at?
static bool isLeaf(const AutogradMeta* m) { return m == nullptr || !m->gradFn || autograd::isFrozenPoint(*m->gradFn); }

void Tape::checkWrite(const Tensor& into, bool needsGrad) {
  TensorImpl* t = into.impl();
  if (t->inference && !inferenceMode())
    fail(
        "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a normal "
        "tensor before doing inplace update.");
  const bool reaches = needsGrad || (t->viewBase && t->viewBase->requiresGrad);
  if (!reaches || !gradEnabled()) return;
  checkOrigin(*t);
  if (t->viewBase) {
    refreshView(t);
    TensorImpl* base = t->viewBase.get();
    AutogradMeta* m = metaOf(base);
    // Where the base needs no gradient, what does is a view that was made a leaf, or a view of one.
    const bool leaf = base->requiresGrad ? isLeaf(m) : t->requiresGrad;
    if (leaf) fail("a view of a leaf Variable that requires grad is being used in an in-place operation.");
    return;
  }
  if (t->requiresGrad && isLeaf(metaOf(t)))
    fail("a leaf Variable that requires grad is being used in an in-place operation.");
}

void Tape::recordWrite(const Tensor& into, const Tensor& value) {
  if (!gradEnabled()) return;
  TensorImpl* view = into.impl();
  TensorImpl* base = view->viewBase ? view->viewBase.get() : view;
  bool valueHasHistory = value.impl()->requiresGrad;
  if (!valueHasHistory && !base->requiresGrad) return;

  AutogradMeta* m = metaOf(value);
  if (valueHasHistory && m != nullptr && m->gradFn && m->gradFn->kind() == Node::Kind::Op)
    static_cast<OpNode*>(m->gradFn.get())->rebindResult(m->resultNr, into);
  if (base == view && valueHasHistory) {
    Edge e = gradEdge(value);
    setHistory(into, std::move(e.node), e.result);
    return;
  }

  Tensor baseTensor{base};
  const Shown all = shown(*base, *view);
  Unfolded u = unfold(*base, all.all ? *all.all : *view);
  Edge from = base->requiresGrad ? gradEdge(baseTensor) : Edge{};
  if (from && u.permuted) from = {makePermuteNode(std::move(from), u.order, u.shape, *base), 0};
  Edge of = valueHasHistory ? shownValue(gradEdge(value), *base, all) : Edge{};
  std::vector<std::int64_t> attrs = windowAttrs(u.window);
  OpNode::Layout layout{2, 1, 0, 2, static_cast<std::uint32_t>(attrs.size())};
  OpNode* node = OpNode::make(OpCode::window_write, layout, Node::takeSequence());
  Ref<Node> ref(node);
  node->mutableEdges()[0] = std::move(from);
  node->mutableEdges()[1] = std::move(of);
  node->metas()[0] = {u.shape, base->dtype, base->device};
  node->metas()[1] = {all.all ? all.all->shape : value.shape(), value.dtype(), value.device()};
  for (std::int16_t i = 0; i < 2; ++i) {
    node->operands()[i].tensor = true;
    node->operands()[i].meta = i;
  }
  node->mutableResults()[0] = {u.shape, base->dtype, base->device, base->batch};
  std::copy(attrs.begin(), attrs.end(), node->mutableAttrs().begin());
  if (autograd::anomalyMode()) autograd::noteLine(*node);
  if (u.permuted) {
    Dims back(u.order.size());
    for (std::size_t i = 0; i < u.order.size(); ++i) back[u.order[i]] = static_cast<std::int64_t>(i);
    ref = makePermuteNode({ref, 0}, back, base->shape, *base);
  }
  setHistory(baseTensor, std::move(ref), 0);
  if (base != view) {
    // A Function may have written it before, and the check of the write have brought it up to date with that.
    view->historyVersion = base->version() - 1;
    refreshView(view);
  }
}

void Tape::takeHistory(const Tensor& t, const Tensor& from) {
  Edge e = gradEdge(from);
  setHistory(t, std::move(e.node), e.result);
}

void Tape::refreshView(TensorImpl* view) {
  TensorImpl* base = view->viewBase.get();
  std::uint32_t now = base->version();
  // A tensor that was given other data is no window on its base any more.
  if (view->historyVersion == now || view->storage.get() != base->storage.get()) return;
  view->historyVersion = now;
  if (!base->requiresGrad || !isFloating(view->dtype)) return;
  setHistory(Tensor{view}, makeViewHistory(gradEdge(Tensor{base}), *base, *view), 0);
}

}  // namespace tandem
