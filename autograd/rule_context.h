// What a derivative rule sees: the cotangents of an operation's results, its operands and results as they were, its
// attributes; and where it puts the gradients. Rules call only public operations (`tandem::ops`), so one rule serves
// eager runs, recording, and its own differentiation.
//
// Numbers: operand i is the i-th operand of the record, the tensors of a `Tensor[]` counting one each; result i, the
// i-th result; attribute k, the k-th attribute of the record (parameters that are no operands), in its order.
//
// Only what the record names as saved may be asked for by `input`, `operand` and `output`; shapes and dtypes of all.
#pragma once

#include <span>
#include <vector>

#include "autograd/op_node.h"
#include "eager/tensor.h"
#include "runtime/lib/library.h"

namespace tandem {

class RuleContext {
 public:
  /// `wide`: what has half types is seen in float32, as the cotangents are already, so that a derivative of several
  /// steps is rounded once.
  RuleContext(OpNode& node, std::span<const Tensor> cotangents, std::span<const bool> wanted, std::span<Tensor> grads,
              bool wide)
      : node_(node), cotangents_(cotangents), wanted_(wanted), grads_(grads), wide_(wide) {}

  /// Cotangent of result i, in its shape and dtype. Undefined means zero; `hasGrad` says. Result 0's is defined
  /// whenever the operation has one result.
  [[nodiscard]] const Tensor& grad(int i = 0) const { return cotangents_[i]; }
  [[nodiscard]] bool hasGrad(int i = 0) const { return cotangents_[i].defined(); }

  /// Does operand i need a gradient? `set` it only then; a gradient may have a shape that broadcasts from the
  /// operand's and another dtype.
  [[nodiscard]] bool needs(int i) const { return wanted_[i]; }
  void set(int i, Tensor g) { grads_[i] = std::move(g); }

  [[nodiscard]] int numResults() const { return static_cast<int>(cotangents_.size()); }
  [[nodiscard]] int numOperands() const { return static_cast<int>(wanted_.size()); }
  /// A saved operand that is a tensor.
  const Tensor& input(int i);
  /// A saved operand as it was given, tensor or number.
  Operand operand(int i);
  [[nodiscard]] bool isTensor(int i) const { return node_.operandIsTensor(i); }
  [[nodiscard]] Scalar scalar(int i) const { return node_.scalar(i); }
  const Tensor& output(int i);

  /// Of any operand, saved or not. Numbers have an empty shape.
  [[nodiscard]] DimsRef inputShape(int i) const { return node_.operandMeta(i).shape; }
  [[nodiscard]] DType inputDType(int i) const { return node_.operandMeta(i).dtype; }
  [[nodiscard]] DimsRef resultShape(int i = 0) const { return node_.results()[i].shape; }
  [[nodiscard]] DType resultDType(int i = 0) const { return node_.results()[i].dtype; }

  /// Is operand i the result of a `transpose` of its last two dims, which its gradient goes through next?
  [[nodiscard]] bool comesFromTranspose(int i) const;

  [[nodiscard]] OpCode op() const { return node_.op(); }
  [[nodiscard]] AttrReader attrs() const { return AttrReader(node_.attrs()); }
  [[nodiscard]] std::span<const std::int64_t> rawAttrs() const { return node_.attrs(); }

 private:
  const Tensor& unpacked(std::size_t slot);

  OpNode& node_;
  std::span<const Tensor> cotangents_;
  std::span<const bool> wanted_;
  std::span<Tensor> grads_;
  bool wide_;
  std::vector<Tensor> unpacked_;  // by slot of the node's saved tensors
};

}  // namespace tandem
