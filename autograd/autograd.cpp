#include "autograd/autograd.h"

#include <atomic>
#include <mutex>

#include "autograd/engine.h"
#include "autograd/kept_saved.h"
#include "autograd/meta.h"
#include "autograd/tape.h"
#include "eager/batch.h"
#include "eager/helpers.h"
#include "eager/ops.h"
#include "eager/placement.h"

namespace tandem::autograd {

void install() {
  static Tape tape;
  tapeHook = &tape;
}

// ---- running ------------------------------------------------------------------------------------------------------

namespace {

/// The edges and cotangents to start from.
struct Roots {
  std::vector<Edge> edges;
  std::vector<Tensor> cotangents;
};

Roots rootsOf(std::span<const Tensor> outputs, std::span<const Tensor> cotangents) {
  if (!cotangents.empty() && cotangents.size() != outputs.size())
    fail("got ", outputs.size(), " tensors and ", cotangents.size(), " gradients");
  Roots r;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& out = outputs[i];
    Edge e = gradEdge(out);
    Tensor g = cotangents.empty() ? Tensor() : cotangents[i];
    if (g.defined()) {
      if (!(g.shape() == out.shape()))
        fail("Mismatch in shape: grad_output[", i, "] has a shape of ", shapeText(g.shape()), " and output[", i,
             "] has a shape of ", shapeText(out.shape()), ".");
      if (g.device() != out.device() && g.dim() == 0) g = toDevice(g, out.device());
      if (g.device() != out.device())
        fail("invalid gradient at index ", i, " - expected device ", deviceName(out.device()), " but got ",
             deviceName(g.device()));
      if (g.dtype() != out.dtype()) g = ops::to(g, out.dtype());
    } else if (e) {
      if (out.numel() != 1) fail("grad can be implicitly created only for scalar outputs");
      const DeviceScope there(out.device());
      g = ops::ones(out.shape(), out.dtype());
    }
    if (!e) fail("element ", i, " of tensors does not require grad and does not have a grad_fn");
    r.edges.push_back(std::move(e));
    r.cotangents.push_back(std::move(g));
  }
  return r;
}

}  // namespace

void backward(std::span<const Tensor> roots, std::span<const Tensor> cotangents, RunOptions options,
              std::span<const Tensor> inputs) {
  if (!activeAxes().empty()) failInsideTransform();
  Roots r = rootsOf(roots, cotangents);
  std::vector<Edge> captures;
  for (const Tensor& t : inputs) {
    if (!requiresGrad(t)) fail("One of the differentiated Tensors does not require grad");
    if (!isLeaf(t)) retainGrad(t);
    captures.push_back(gradEdge(t));
  }
  EngineRun run;
  run.roots = r.edges;
  run.cotangents = r.cotangents;
  run.keepGraph = options.retainGraph.value_or(options.createGraph) || keepingSaved();
  run.createGraph = options.createGraph;
  run.captures = captures;
  runEngine(run);
}

std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                         std::span<const Tensor> cotangents, GradOptions options) {
  if (inputs.empty()) fail("`inputs` argument to `grad()` cannot be empty.");
  Roots r = rootsOf(outputs, cotangents);
  std::vector<Edge> captures;
  for (const Tensor& t : inputs) {
    if (!requiresGrad(t)) fail("One of the differentiated Tensors does not require grad");
    captures.push_back(gradEdge(t));
  }
  EngineRun run;
  run.roots = r.edges;
  run.cotangents = r.cotangents;
  // In forward mode gradients have tangents, which are computed later and of what they were computed from.
  run.keepGraph = options.retainGraph.value_or(options.createGraph) || keepingSaved();
  run.createGraph = options.createGraph || keepingSaved();
  run.captures = captures;
  run.accumulate = false;
  std::vector<Tensor> grads = runEngine(run);
  for (std::size_t i = 0; i < grads.size(); ++i) {
    if (grads[i].defined()) continue;
    const DeviceScope there(inputs[i].device());
    if (options.materializeGrads) {
      grads[i] = ops::zeros(inputs[i].shape(), inputs[i].dtype());
      // So that it can be differentiated again, as the gradients beside it.
      if (options.createGraph) setRequiresGrad(grads[i], true);
    } else if (!options.allowUnused) {
      fail("One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if "
           "this is the desired behavior.");
    }
  }
  return grads;
}

// ---- what hangs on a tensor ---------------------------------------------------------------------------------------

namespace {
void refresh(const Tensor& t) {
  if (t.impl()->viewBase) tapeHook->refreshView(t.impl());
}
}  // namespace

bool requiresGrad(const Tensor& t) {
  refresh(t);
  return t.impl()->requiresGrad;
}

void setRequiresGrad(const Tensor& t, bool on) {
  bool leaf = isLeaf(t);
  if (!on && !leaf)
    fail("you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
         "subgraph that doesn't require differentiation use var_no_grad = var.detach().");
  if (on && !isFloating(t.dtype()))
    fail("only Tensors of floating point dtype can require gradients, not ", dtypeName(t.dtype()));
  if (on && t.impl()->inference && !inferenceMode())
    fail("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
  const bool becomesLeaf = on && !t.impl()->requiresGrad;
  t.impl()->requiresGrad = on;
  if (becomesLeaf && gradObserver != nullptr) gradObserver->onLeaf(t.impl());
}

bool isLeaf(const Tensor& t) {
  refresh(t);
  const AutogradMeta* m = metaOf(t);
  return m == nullptr || !m->gradFn;
}

Ref<Node> gradFn(const Tensor& t) {
  refresh(t);
  const AutogradMeta* m = metaOf(t);
  return m == nullptr ? Ref<Node>() : m->gradFn;
}

int outputNr(const Tensor& t) {
  refresh(t);
  const AutogradMeta* m = metaOf(t);
  return m == nullptr ? 0 : static_cast<int>(m->resultNr);
}

Tensor gradOf(const Tensor& t) {
  if (gradObserver != nullptr) gradObserver->onRead(t.impl());
  const AutogradMeta* m = metaOf(t);
  return m == nullptr ? Tensor() : m->grad;
}

void setGrad(const Tensor& t, const Tensor& g) {
  if (g.defined()) {
    if (g == t) fail("can't assign Variable as its own grad");
    if (g.dtype() != t.dtype())
      fail("assigned grad has data of a different type: ", dtypeName(g.dtype()), " for a tensor of ",
           dtypeName(t.dtype()));
    if (g.device() != t.device())
      fail("assigned grad has data located on a different device: ", deviceName(g.device()), " for a tensor on ",
           deviceName(t.device()));
    if (!(g.shape() == t.shape()))
      fail("assigned grad has data of a different size: ", shapeText(g.shape()), " for a tensor of ",
           shapeText(t.shape()));
    if (gradObserver != nullptr) gradObserver->onWrite(t.impl());
    needMeta(t.impl()).grad = g;
  } else {
    if (gradObserver != nullptr) gradObserver->onWrite(t.impl());
    if (AutogradMeta* m = metaOf(t)) m->grad = {};
  }
}

Tensor detach(const Tensor& t) {
  Tensor d = makeAlias(t, t.shape(), t.strides(), t.impl()->offset);
  d.impl()->countWith(*t.impl());
  return d;
}

void detachInPlace(const Tensor& t) {
  if (t.impl()->viewBase) fail("Can't detach views in-place. Use detach() instead.");
  clearHistory(t);
}

void retainGrad(const Tensor& t) {
  if (!requiresGrad(t)) fail("can't retain_grad on Tensor that has requires_grad=False");
  if (!isLeaf(t)) startRetaining(t.impl());
}

bool retainsGrad(const Tensor& t) {
  const AutogradMeta* m = metaOf(t);
  return m != nullptr && m->retainsGrad;
}

std::int64_t versionOf(const Tensor& t) { return t.impl()->version(); }

void setData(const Tensor& t, const Tensor& other) {
  TensorImpl* a = t.impl();
  TensorImpl* b = other.impl();
  if (a->requiresGrad && !isFloating(b->dtype))
    fail("data set to a tensor that requires gradients must be floating point, not ", dtypeName(b->dtype));
  if (AutogradMeta* m = metaOf(a)) {
    // The next graph's end has the new shape and dtype.
    std::scoped_lock guard(m->lock);
    m->accumulator = nullptr;
  }
  a->become(*b);
}

void becomeView(const Tensor& t, const Tensor& view) {
  TensorImpl* a = t.impl();
  TensorImpl* b = view.impl();
  tapeHook->checkWrite(t, a->requiresGrad);
  a->become(*b);
  AutogradMeta* m = metaOf(b);
  if (b->requiresGrad && m != nullptr && m->gradFn) setHistory(t, m->gradFn, m->resultNr);
  a->historyVersion = a->version();
}

void resize(const Tensor& t, DimsRef size, std::optional<MemoryFormat> format) {
  if (t.requiresGrad()) fail("cannot resize variables that require grad");
  for (auto n : size)
    if (n < 0) fail("Trying to create tensor with negative dimension ", n, ": ", shapeText(size));
  TensorImpl* a = t.impl();
  Dims shape(size);
  if (a->shape == shape && !format) return;
  if (format) needRank(*format, shape, "resize_");
  // What is recorded and has no memory is not read.
  bool none = a->storage->bytes() == 0 && t.isPending();
  if (!none) t.materialize();
  std::int64_t has = none ? 0 : static_cast<std::int64_t>(a->storage->bytes() / itemSize(a->dtype)) - a->offset;
  std::int64_t needs = elementsOf(shape, a->dtype);
  Tensor memory = t;
  if (needs > has || none) {
    // Others that look at this memory would not see what is written to the new one.
    if (a->storage->isShared()) fail("Trying to resize storage that is not resizable");
    memory = makeEmpty(Dims{needs}, a->dtype, a->device);
    if (has != 0) {
      NoGrad noGrad;
      AtOnce now;
      ops::assign(makeAlias(memory, Dims{has}, Dims{1}, 0), makeAlias(t, Dims{has}, Dims{1}, a->offset));
    }
  }
  Dims strides = stridesIn(format.value_or(MemoryFormat::Contiguous), shape);
  a->become(*makeAlias(memory, shape, strides, memory.impl()->offset).impl());
}

// ---- hooks ----------------------------------------------------------------------------------------------------------

std::uint64_t registerHook(const Tensor& t, TensorHook hook) {
  if (!requiresGrad(t)) fail("cannot register a hook on a tensor that doesn't require gradient");
  AutogradMeta& m = needMeta(t.impl());
  if (!m.gradFn) {
    leafHooksUsed.store(true, std::memory_order_relaxed);
    std::scoped_lock guard(m.lock);
    return addHook(m.hooks, std::move(hook));
  }
  std::scoped_lock guard(m.gradFn->lock());
  auto& lists = m.gradFn->needExtras().tensorHooks;
  if (lists.size() <= m.resultNr) lists.resize(m.resultNr + 1);
  return addHook(lists[m.resultNr], std::move(hook));
}

std::uint64_t registerPostAccumulateHook(const Tensor& t, LeafHook hook) {
  if (!requiresGrad(t)) fail("cannot register a hook on a tensor that doesn't require gradient");
  if (!isLeaf(t)) fail("post accumulate grad hooks cannot be registered on non-leaf tensors");
  leafHooksUsed.store(true, std::memory_order_relaxed);
  AutogradMeta& m = needMeta(t.impl());
  std::scoped_lock guard(m.lock);
  return addHook(m.afterAccumulate, std::move(hook));
}

std::uint64_t registerNodePreHook(Node& node, NodeHook hook) {
  if (node.kind() == Node::Kind::Leaf) leafHooksUsed.store(true, std::memory_order_relaxed);
  std::scoped_lock guard(node.lock());
  return addHook(node.needExtras().preHooks, std::move(hook));
}

std::uint64_t registerNodeHook(Node& node, NodePostHook hook) {
  if (node.kind() == Node::Kind::Leaf) leafHooksUsed.store(true, std::memory_order_relaxed);
  std::scoped_lock guard(node.lock());
  return addHook(node.needExtras().postHooks, std::move(hook));
}

void removeNodeHook(Node& node, std::uint64_t id) {
  std::scoped_lock guard(node.lock());
  NodeExtras* x = node.extras();
  if (x == nullptr || dropHook(x->preHooks, id) || dropHook(x->postHooks, id)) return;
  for (auto& list : x->tensorHooks)
    if (dropHook(list, id)) return;
}

void removeHook(const Tensor& t, std::uint64_t id) {
  AutogradMeta* m = metaOf(t);
  if (m == nullptr) return;
  // A hook may own the end of the graph, whose destructor takes the lock: it goes after the lock does.
  HookList<TensorHook> hooks;
  HookList<LeafHook> after;
  {
    std::scoped_lock guard(m->lock);
    hooks = m->hooks;
    after = m->afterAccumulate;
    if (dropHook(m->hooks, id) || dropHook(m->afterAccumulate, id)) return;
  }
  if (m->gradFn) removeNodeHook(*m->gradFn, id);
}

// ---- anomaly mode
// -----------------------------------------------------------------------------------------------------

namespace {
std::atomic<bool> anomaly{false};
std::atomic<bool> nanCheck{true};
std::function<std::string()>& lineProvider() {
  static std::function<std::string()> provider;
  return provider;
}
}  // namespace

void setAnomalyMode(bool on, bool checkNan) {
  anomaly = on;
  nanCheck = checkNan;
}
bool anomalyMode() { return anomaly.load(std::memory_order_relaxed); }
bool anomalyChecksNan() { return nanCheck.load(std::memory_order_relaxed); }
void setLineProvider(std::function<std::string()> provider) { lineProvider() = std::move(provider); }

void noteLine(Node& node) {
  if (!lineProvider()) return;
  std::string line = lineProvider()();
  std::scoped_lock guard(node.lock());
  node.needExtras().line = std::move(line);
}

}  // namespace tandem::autograd
