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
#include <span>
#include <string>
#include <vector>

#include "autograd/node.h"
#include "autograd/saved_tensor.h"

namespace tandem {

class FunctionNode final : public Node {
 public:
  /// From the cotangents of the outputs to the gradients of the inputs (one each; undefined for None).
  using Backward = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

  /// `inputs`: the tensor arguments; undefined entries stand for arguments that are no tensors.
  static Ref<FunctionNode> make(std::string name, std::span<const Tensor> inputs);

  void setBackward(Backward backward) { backward_ = std::move(backward); }
  /// Cotangents that no one gave are zeros rather than undefined (the default).
  void setMaterializeGrads(bool on) { materializeGrads_ = on; }
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

  [[nodiscard]] std::string name() const override { return name_; }
  void apply(std::span<const Tensor> cotangents, std::span<const bool> wanted, std::span<Tensor> grads) override;
  void releaseSaved() override;

 private:
  FunctionNode(std::string name, std::span<const Tensor> inputs);

  std::string name_;
  std::vector<Edge> inputEdges_;
  std::vector<ResultMeta> outputMetas_;
  bool released_ = false;
  Backward backward_;
  bool materializeGrads_ = true;
  std::vector<SavedTensor> saved_;
};

}  // namespace tandem
