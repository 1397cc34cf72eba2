// A user's own operation (`autograd.Function`): a node whose derivative is a function given by the user.
//
// Life of a call, as the Python layer drives it:
//   1. `auto node = FunctionNode::make("MyFunction", inputs)`: edges are taken before the forward runs; null when no
//      input requires a gradient or grad mode is off
//   2. run the forward in NoGrad
//   3. `node->setBackward(fn)`, `node->attach(outputs, inputs, nonDifferentiable, dirty)`: gives the outputs their
//      history
//   4. `node->saveTensors(...)` as the forward asked
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "autograd/node.h"
#include "autograd/saved_tensor.h"

namespace tandem {

class FunctionNode;

/// What a call of a Function is made of beside its tensors. A compiled function makes the nodes of its body again at
/// every call, each from the maker of the node that was traced.
class FunctionMaker {
 public:
  virtual ~FunctionMaker() = default;
  /// Tensors that the derivative reads beside the saved ones (attributes of the context), in a fixed order.
  virtual std::vector<Tensor> attributes() = 0;
  /// The user's context of the call, borrowed; null where it is not known.
  [[nodiscard]] virtual void* context() const { return nullptr; }
  /// One that what becomes of the user's context later does not change.
  virtual std::shared_ptr<FunctionMaker> kept() = 0;
  /// Gives a new node its backward, which reads these in their place.
  virtual void remake(FunctionNode& node, std::span<const Tensor> attributes) = 0;
};

/// A call of a Function without its tensors.
struct FunctionCall {
  std::string name;
  std::vector<ResultMeta> results = {};
  /// Cotangents that no one gave are zeros rather than undefined.
  bool materializeGrads = true;
  /// The same for outputs without derivative.
  bool materializeNonDifferentiable = true;
  /// By output: a cotangent is never made, as of one that is no tensor.
  std::vector<bool> noCotangent = {};
  std::shared_ptr<FunctionMaker> maker = {};
};

class FunctionNode final : public Node {
 public:
  /// From the cotangents of the outputs to the gradients of the inputs (one each; undefined for None).
  using Backward = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

  /// `inputs`: the tensor arguments; undefined entries stand for arguments that are no tensors.
  static Ref<FunctionNode> make(std::string name, std::span<const Tensor> inputs);
  /// The node of one call more, which the maker has yet to give its backward.
  static Ref<FunctionNode> remake(FunctionCall call, std::vector<Edge> edges, std::vector<SavedTensor> saved,
                                  std::uint64_t sequence);

  [[nodiscard]] const FunctionCall& call() const { return call_; }
  void setMaker(std::shared_ptr<FunctionMaker> maker) { call_.maker = std::move(maker); }
  void setBackward(Backward backward) { backward_ = std::move(backward); }
  /// Before `attach`.
  void setMaterializeGrads(bool on, bool nonDifferentiable) {
    call_.materializeGrads = on;
    call_.materializeNonDifferentiable = nonDifferentiable;
  }
  /// Kept until the graph is released, with version checks. Tensors that are outputs may be among them: call after
  /// `attach` for those.
  void saveTensors(std::span<const Tensor> tensors);
  /// What was saved; Error when the graph was released or a tensor was written since.
  std::vector<Tensor> savedTensors();
  /// Gives `outputs` their history, in place. An output that is one of the inputs, or a view, becomes an alias first,
  /// unless it is in `dirty` (written in place by the forward); `nonDifferentiable` ones stay without history.
  /// Undefined outputs stand for results that are no tensors.
  void attach(std::span<Tensor> outputs, std::span<const Tensor> inputs, std::span<const Tensor> nonDifferentiable,
              std::span<const Tensor> dirty);

  [[nodiscard]] std::string name() const override { return call_.name; }
  void apply(std::span<const Tensor> cotangents, std::span<const bool> wanted, std::span<Tensor> grads) override;
  void releaseSaved() override;
  [[nodiscard]] bool released() const { return released_; }
  [[nodiscard]] std::span<const SavedTensor> saved() const { return saved_; }
  /// Which input the tensor is, by where its gradient goes; -1: none.
  [[nodiscard]] int inputOf(const Tensor& t) const;

 private:
  FunctionNode(FunctionCall call, std::vector<Edge> edges, std::uint64_t sequence);
  void setResults(std::vector<ResultMeta> metas);

  FunctionCall call_;
  std::vector<Edge> inputEdges_;
  bool released_ = false;
  Backward backward_;
  std::vector<SavedTensor> saved_;
};

}  // namespace tandem
