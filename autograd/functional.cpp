#include "autograd/functional.h"

#include <algorithm>
#include <unordered_set>

#include "autograd/autograd.h"
#include "autograd/engine.h"
#include "autograd/kept_saved.h"
#include "autograd/meta.h"
#include "autograd/op_node.h"
#include "eager/ops.h"
#include "eager/recorder.h"

namespace tandem::autograd {

namespace {

class EnableGrad {
 public:
  EnableGrad() : before_(gradEnabled()) { setGradEnabled(true); }
  ~EnableGrad() { setGradEnabled(before_); }
  EnableGrad(const EnableGrad&) = delete;
  EnableGrad& operator=(const EnableGrad&) = delete;

 private:
  bool before_;
};

// A point's node has one attribute: is its transform still at work, and may the point be written? What leads to closed
// points only is constant to everyone outside.
enum class PointState : std::int64_t { Closed, Open, Frozen };

bool isPointIn(PointState state, const Node& node) {
  if (node.kind() != Node::Kind::Op) return false;
  const auto& op = static_cast<const OpNode&>(node);
  return op.op() == OpCode::alias && !op.attrs().empty() && op.attrs()[0] == static_cast<std::int64_t>(state);
}
bool isClosedPoint(const Node& node) { return isPointIn(PointState::Closed, node); }

void markPoint(const Tensor& point, PointState state) {
  Ref<Node> node = gradFn(point);
  if (!node || node->kind() != Node::Kind::Op) return;
  auto& op = static_cast<OpNode&>(*node);
  if (op.op() == OpCode::alias && !op.attrs().empty()) op.mutableAttrs()[0] = static_cast<std::int64_t>(state);
}

/// Does the history of some tensor end at anything that someone may ask a derivative by?
bool hasHistory(std::span<const Tensor> tensors) {
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> open;
  // The nodes are kept by the tensors.
  auto visit = [&](const Edge& e) {
    if (e && seen.insert(e.node.get()).second) open.push_back(e.node.get());
    return static_cast<bool>(e);
  };
  for (const Tensor& t : tensors)
    if (t.defined()) visit(gradEdge(t));
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    bool ends = true;
    for (const Edge& e : node->edges()) ends &= !visit(e);
    if (ends && !isClosedPoint(*node)) return true;
  }
  return false;
}

bool anyRequiresGrad(std::span<const Tensor> tensors) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const Tensor& t) { return t.defined() && autograd::requiresGrad(t); });
}

/// A linear map by the tape: from weights of `roots` to totals at `points`.
std::vector<Tensor> along(std::span<const Tensor> roots, std::span<const Tensor> weights,
                          std::span<const Tensor> points, bool createGraph) {
  std::vector<Edge> starts;
  std::vector<Tensor> given;
  for (std::size_t i = 0; i < std::min(roots.size(), weights.size()); ++i) {
    if (!roots[i].defined() || !weights[i].defined()) continue;
    Edge e = gradEdge(roots[i]);
    if (!e) continue;
    starts.push_back(std::move(e));
    given.push_back(weights[i]);
  }
  std::vector<Edge> ends;
  for (const Tensor& p : points) ends.push_back(gradEdge(p));
  EngineRun run;
  run.roots = starts;
  run.cotangents = given;
  run.keepGraph = true;
  run.createGraph = createGraph;
  run.captures = ends;
  run.accumulate = false;
  if (points.empty()) return {};
  return runEngine(run);
}

void checkWeights(const char* what, std::span<const Tensor> weights, std::span<const Tensor> like) {
  if (weights.size() > like.size()) fail(what, ": expected at most ", like.size(), " tensors, got ", weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!weights[i].defined()) continue;
    if (!(weights[i].shape() == like[i].shape()))
      fail(what, ": expected a tensor of shape ", shapeText(like[i].shape()), " at place ", i, ", but got ",
           shapeText(weights[i].shape()));
  }
}

std::vector<Tensor> inDTypes(std::span<const Tensor> weights, std::span<const Tensor> like) {
  std::vector<Tensor> out(weights.begin(), weights.end());
  for (std::size_t i = 0; i < out.size(); ++i)
    if (out[i].defined() && out[i].dtype() != like[i].dtype()) out[i] = ops::to(out[i], like[i].dtype());
  return out;
}

void zerosWhereUndefined(std::vector<Tensor>& values, std::span<const Tensor> like) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const DeviceScope there(like[i].device());
    if (!values[i].defined()) values[i] = ops::zeros(like[i].shape(), like[i].dtype());
  }
}

/// What leaves a transform whose points are closed: with its history, or without where that leads nowhere.
std::vector<Tensor> escape(std::span<const Tensor> values, bool outer) {
  std::vector<Tensor> out;
  for (const Tensor& v : values) {
    bool keep = !v.defined() || !autograd::requiresGrad(v) || (outer && hasHistory({&v, 1}));
    out.push_back(keep ? v : detach(v));
  }
  return out;
}

/// `escape` while the points, which are no one's business but the caller's, are open.
std::vector<Tensor> escapeFrom(std::span<const Tensor> points, std::span<const Tensor> values, bool outer) {
  for (const Tensor& p : points) closePoint(p);
  std::vector<Tensor> out = escape(values, outer);
  for (const Tensor& p : points) openPoint(p);
  return out;
}

/// The points of a transform, open for the life of the scope.
class Points {
 public:
  Points(std::span<const Tensor> primals, bool outer) {
    for (const Tensor& x : primals) {
      tensors.push_back(differentiationPoint(x, outer));
      anchors.push_back(anchorOf(tensors.back()));
    }
  }
  ~Points() { close(); }
  Points(const Points&) = delete;
  Points& operator=(const Points&) = delete;
  void close() {
    for (const Tensor& t : anchors) closePoint(t);
  }
  std::vector<Tensor> tensors;  // f may write them in place
  std::vector<Tensor> anchors;  // where the derivatives stop
};

struct Linear {
  std::vector<Tensor> pulled;  // the cotangents at the points, as functions of `weights`
  std::vector<Tensor> weights;
};
/// The pullback at an arbitrary cotangent: zero does, since only its linear part will be asked for.
Linear pullbackOf(std::span<const Tensor> outputs, std::span<const Tensor> points) {
  Linear l;
  EnableGrad on;
  for (const Tensor& y : outputs) {
    const DeviceScope there(y.device());
    l.weights.push_back(
        differentiationPoint(ops::zeros(y.shape(), isFloating(y.dtype()) ? y.dtype() : DType::Float32), false));
  }
  l.pulled = along(outputs, l.weights, points, true);
  return l;
}

}  // namespace

Tensor differentiationPoint(const Tensor& x, bool connected) {
  if (!isFloating(x.dtype()))
    fail("only Tensors of floating point dtype can require gradients, not ", dtypeName(x.dtype()));
  Edge from = connected ? gradEdge(x) : Edge{};
  if (activeRecorder != nullptr) activeRecorder->touch(x);
  Tensor t = detach(x);
  OpNode* node = OpNode::make(OpCode::alias, {1, 1, 0, 0, 1}, Node::takeSequence());
  node->mutableAttrs()[0] = 1;
  Ref<Node> ref(node);
  node->operands()[0].tensor = true;
  node->mutableEdges()[0] = std::move(from);
  node->mutableResults()[0] = {t.shape(), t.dtype(), t.device(), t.impl()->batch};
  setHistory(t, std::move(ref), 0);
  return t;
}

Tensor anchorOf(const Tensor& point) {
  Tensor t = detach(point);
  setHistory(t, gradFn(point), static_cast<std::uint32_t>(outputNr(point)));
  return t;
}

void closePoint(const Tensor& point) { markPoint(point, PointState::Closed); }
void openPoint(const Tensor& point) { markPoint(point, PointState::Open); }
bool isFrozenPoint(const Node& node) { return isPointIn(PointState::Frozen, node); }

std::vector<Tensor> pushForward(std::span<const Tensor> outputs, std::span<const Tensor> points,
                                std::span<const Tensor> tangents) {
  Linear l = pullbackOf(outputs, points);
  for (const Tensor& w : l.weights) closePoint(w);
  std::vector<Tensor> moved = along(l.pulled, tangents, l.weights, gradEnabled());
  return escapeFrom(points, moved, true);
}

Tensor primalOf(const Tensor& output, std::span<const Tensor> points) {
  const Tensor kept = escapeFrom(points, {&output, 1}, gradEnabled())[0];
  return autograd::requiresGrad(kept) ? anchorOf(kept) : kept;
}

Transformed vjp(const TensorFunction& f, std::span<const Tensor> primals, bool frozen) {
  const bool outer = gradEnabled();
  // The pullback may be called where gradients are wanted, even if the function is called where they are not.
  Points points(primals, true);
  if (frozen)
    for (const Tensor& t : points.anchors) markPoint(t, PointState::Frozen);
  std::vector<Tensor> outputs;
  {
    EnableGrad on;
    outputs = f(points.tensors);
  }
  points.close();
  bool history = hasHistory(outputs);
  Transformed result{escape(outputs, outer), {}};
  result.map = [at = points.anchors, outputs, history](std::span<const Tensor> cotangents) {
    checkWeights("vjp", cotangents, outputs);
    bool create = gradEnabled() && (history || anyRequiresGrad(cotangents));
    std::vector<Tensor> grads = along(outputs, inDTypes(cotangents, outputs), at, create);
    zerosWhereUndefined(grads, at);
    return escape(grads, create);
  };
  return result;
}

Transformed linearize(const TensorFunction& f, std::span<const Tensor> primals) {
  bool outer = gradEnabled();
  KeepSaved keep;
  Points points(primals, outer);
  std::vector<Tensor> outputs;
  {
    EnableGrad on;
    outputs = f(points.tensors);
  }
  Linear l = pullbackOf(outputs, points.anchors);
  points.close();
  for (const Tensor& w : l.weights) closePoint(w);
  bool history = hasHistory(l.pulled);
  Transformed result{escape(outputs, outer), {}};
  result.map = [at = points.anchors, outputs, l, history](std::span<const Tensor> tangents) {
    checkWeights("jvp", tangents, at);
    bool create = gradEnabled() && (history || anyRequiresGrad(tangents));
    std::vector<Tensor> moved = along(l.pulled, inDTypes(tangents, at), l.weights, create);
    zerosWhereUndefined(moved, outputs);
    return escape(moved, create);
  };
  return result;
}

}  // namespace tandem::autograd
