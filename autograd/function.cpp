#include "autograd/function.h"

#include <algorithm>
#include <mutex>

#include "autograd/autograd.h"
#include "autograd/meta.h"
#include "autograd/tape.h"
#include "eager/ops.h"

namespace tandem {

namespace {
bool contains(std::span<const Tensor> list, const Tensor& t) {
  return std::find(list.begin(), list.end(), t) != list.end();
}
}  // namespace

FunctionNode::FunctionNode(FunctionCall call, std::vector<Edge> edges, std::uint64_t sequence)
    : Node(Kind::Function, sequence), call_(std::move(call)), inputEdges_(std::move(edges)) {
  edges_ = inputEdges_.data();
  numEdges_ = static_cast<std::uint32_t>(inputEdges_.size());
  setResults(std::move(call_.results));
}

void FunctionNode::setResults(std::vector<ResultMeta> metas) {
  call_.results = std::move(metas);
  results_ = call_.results.data();
  numResults_ = static_cast<std::uint32_t>(call_.results.size());
}

Ref<FunctionNode> FunctionNode::remake(FunctionCall call, std::vector<Edge> edges, std::vector<SavedTensor> saved,
                                       std::uint64_t sequence) {
  Ref<FunctionNode> node(new FunctionNode(std::move(call), std::move(edges), sequence));
  node->saved_ = std::move(saved);
  return node;
}

Ref<FunctionNode> FunctionNode::make(std::string name, std::span<const Tensor> inputs) {
  if (!gradEnabled()) return {};
  bool any = std::any_of(inputs.begin(), inputs.end(),
                         [](const Tensor& t) { return t.defined() && autograd::requiresGrad(t); });
  if (!any) return {};
  std::vector<Edge> edges;
  for (const Tensor& t : inputs) edges.push_back(t.defined() ? gradEdge(t) : Edge{});
  Ref<FunctionNode> node(new FunctionNode({.name = std::move(name)}, std::move(edges), takeSequence()));
  if (autograd::anomalyMode()) autograd::noteLine(*node);
  return node;
}

void FunctionNode::attach(std::span<Tensor> outputs, std::span<const Tensor> inputs,
                          std::span<const Tensor> nonDifferentiable, std::span<const Tensor> dirty) {
  std::vector<ResultMeta> metas;
  for (const Tensor& t : outputs)
    metas.push_back(t.defined() ? ResultMeta{t.shape(), t.dtype(), t.device(), t.impl()->batch} : ResultMeta{});
  setResults(std::move(metas));
  call_.noCotangent.clear();
  for (const Tensor& t : outputs) {
    bool differentiable = t.defined() && isFloating(t.dtype()) && !contains(nonDifferentiable, t);
    call_.noCotangent.push_back(!t.defined() || (!differentiable && !call_.materializeNonDifferentiable));
  }
  for (const Tensor& t : dirty)
    if (!contains(outputs, t))
      fail("mark_dirty: Some elements marked as dirty during the forward method of ", call_.name,
           " were not returned as output. The inputs that are modified inplace must all be outputs of the Function.");
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Tensor& t = outputs[i];
    if (!t.defined()) continue;
    bool differentiable = isFloating(t.dtype()) && !contains(nonDifferentiable, t);
    if (contains(dirty, t)) {
      if (!differentiable) continue;
      tapeHook->checkWrite(t, true);
      Tensor value = autograd::detach(t);
      setHistory(value, Ref<Node>(this), static_cast<std::uint32_t>(i));
      tapeHook->recordWrite(t, value);
      continue;
    }
    const bool view = contains(inputs, t) || t.impl()->viewBase;
    if (view || (!differentiable && t.impl()->requiresGrad)) t = autograd::detach(t);
    // What it shares memory with has no history that a write through it could change.
    if (view && differentiable) t.impl()->origin = ViewOrigin::NoGrad;
    if (differentiable) setHistory(t, Ref<Node>(this), static_cast<std::uint32_t>(i));
  }
}

int FunctionNode::inputOf(const Tensor& t) const {
  if (!t.defined() || !t.requiresGrad()) return -1;
  Edge own = gradEdge(t);
  for (std::size_t i = 0; i < inputEdges_.size(); ++i)
    if (inputEdges_[i] && inputEdges_[i].node == own.node && inputEdges_[i].result == own.result)
      return static_cast<int>(i);
  return -1;
}

void FunctionNode::saveTensors(std::span<const Tensor> tensors) {
  saved_.clear();
  for (const Tensor& t : tensors) {
    const AutogradMeta* m = t.defined() ? metaOf(t) : nullptr;
    // A result of ours, kept without a cycle.
    bool own = m != nullptr && m->gradFn.get() == this;
    saved_.push_back(own ? SavedTensor::result(t, m->resultNr) : SavedTensor::operand(t, inputOf(t)));
  }
}

std::vector<Tensor> FunctionNode::savedTensors() {
  std::vector<SavedTensor> saved;
  {
    std::scoped_lock guard(lock());
    if (released_) failReleased();
    saved = saved_;
  }
  std::vector<Tensor> out;
  for (const SavedTensor& s : saved) out.push_back(s.unpack(*this));
  return out;
}

void FunctionNode::apply(std::span<const Tensor> cotangents, std::span<const bool>, std::span<Tensor> grads) {
  std::vector<Tensor> given(cotangents.begin(), cotangents.end());
  if (call_.materializeGrads)
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (given[i].defined() || call_.noCotangent[i]) continue;
      const DeviceScope there(call_.results[i].device);
      given[i] = ops::zeros(call_.results[i].shape, call_.results[i].dtype);
    }
  std::vector<Tensor> result = backward_(given);
  if (result.size() != grads.size())
    fail("function ", call_.name, " returned an incorrect number of gradients (expected ", grads.size(), ", got ",
         result.size(), ")");
  std::move(result.begin(), result.end(), grads.begin());
}

void FunctionNode::releaseSaved() {
  std::vector<SavedTensor> gone;
  std::scoped_lock guard(lock());
  // Nothing saved: nothing that a second backward would lack.
  released_ = !saved_.empty();
  gone.swap(saved_);
}

}  // namespace tandem
