#include "autograd/functional.h"

#include <algorithm>
#include <unordered_set>

#include "autograd/autograd.h"
#include "autograd/engine.h"
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

/// Does the history of some tensor end elsewhere than at `points`?
bool leadsElsewhere(std::span<const Tensor> tensors, std::span<const Tensor> points) {
  std::unordered_set<const Node*> own;
  for (const Tensor& p : points) own.insert(gradEdge(p).node.get());
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
    if (ends && !own.contains(node)) return true;
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
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!values[i].defined()) values[i] = ops::zeros(like[i].shape(), like[i].dtype());
}

/// What leaves a transform: with its history, or without where that would only lead to the transform's own points.
std::vector<Tensor> escape(std::span<const Tensor> values, std::span<const Tensor> points, bool outer) {
  std::vector<Tensor> out;
  for (const Tensor& v : values) {
    bool keep = !v.defined() || !autograd::requiresGrad(v) || (outer && leadsElsewhere({&v, 1}, points));
    out.push_back(keep ? v : detach(v));
  }
  return out;
}

std::vector<Tensor> enter(std::span<const Tensor> primals, bool outer) {
  std::vector<Tensor> points;
  for (const Tensor& x : primals) points.push_back(differentiationPoint(x, outer));
  return points;
}

struct Linear {
  std::vector<Tensor> pulled;  // the cotangents at the points, as functions of `weights`
  std::vector<Tensor> weights;
};
/// The pullback at an arbitrary cotangent: zero does, since only its linear part will be asked for.
Linear pullbackOf(std::span<const Tensor> outputs, std::span<const Tensor> points) {
  Linear l;
  EnableGrad on;
  for (const Tensor& y : outputs)
    l.weights.push_back(
        differentiationPoint(ops::zeros(y.shape(), isFloating(y.dtype()) ? y.dtype() : DType::Float32), false));
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
  OpNode* node = OpNode::make(OpCode::alias, {1, 1, 0, 0, 0}, Node::takeSequence());
  Ref<Node> ref(node);
  node->operands()[0].tensor = true;
  node->mutableEdges()[0] = std::move(from);
  node->mutableResults()[0] = {t.shape(), t.dtype(), t.impl()->batch};
  setHistory(t, std::move(ref), 0);
  return t;
}

std::vector<Tensor> pushForward(std::span<const Tensor> outputs, std::span<const Tensor> points,
                                std::span<const Tensor> tangents) {
  Linear l = pullbackOf(outputs, points);
  return along(l.pulled, tangents, l.weights, gradEnabled());
}

Transformed vjp(const TensorFunction& f, std::span<const Tensor> primals) {
  bool outer = gradEnabled();
  std::vector<Tensor> points;
  std::vector<Tensor> outputs;
  {
    EnableGrad on;
    points = enter(primals, outer);
    outputs = f(points);
  }
  bool elsewhere = leadsElsewhere(outputs, points);
  Transformed result{escape(outputs, points, outer), {}};
  result.map = [points, outputs, elsewhere](std::span<const Tensor> cotangents) {
    checkWeights("vjp", cotangents, outputs);
    bool create = gradEnabled() && (elsewhere || anyRequiresGrad(cotangents));
    std::vector<Tensor> grads = along(outputs, inDTypes(cotangents, outputs), points, create);
    zerosWhereUndefined(grads, points);
    return create ? escape(grads, points, true) : grads;
  };
  return result;
}

Transformed linearize(const TensorFunction& f, std::span<const Tensor> primals) {
  bool outer = gradEnabled();
  std::vector<Tensor> points;
  std::vector<Tensor> outputs;
  {
    EnableGrad on;
    points = enter(primals, outer);
    outputs = f(points);
  }
  Linear l = pullbackOf(outputs, points);
  std::vector<Tensor> own = points;
  own.insert(own.end(), l.weights.begin(), l.weights.end());
  bool elsewhere = leadsElsewhere(l.pulled, own);
  Transformed result{escape(outputs, points, outer), {}};
  result.map = [points, outputs, l, own, elsewhere](std::span<const Tensor> tangents) {
    checkWeights("jvp", tangents, points);
    bool create = gradEnabled() && (elsewhere || anyRequiresGrad(tangents));
    std::vector<Tensor> moved = along(l.pulled, inDTypes(tangents, points), l.weights, create);
    zerosWhereUndefined(moved, outputs);
    return create ? escape(moved, own, true) : moved;
  };
  return result;
}

}  // namespace tandem::autograd
