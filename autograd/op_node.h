// The node of an operation of the records: one class for all of them. What it keeps is what the record's derivative
// names; `apply` hands it to the derivative function as a RuleContext.
//
// One allocation: the node and, behind it, its edges, results, saved tensors, operands, metas of operands that have no
// edge, and attributes.
#pragma once

#include <new>
#include <span>

#include "autograd/node.h"
#include "autograd/saved_tensor.h"
#include "eager/compute_flags.h"
#include "ir/schema/op_table.h"

namespace tandem {

class OpNode final : public Node {
 public:
  /// Lengths of the arrays behind the node.
  struct Layout {
    std::uint32_t operands = 0, results = 0, saved = 0, metas = 0, attrs = 0;
  };
  struct OperandSlot {
    Scalar scalar;  // when it is a number
    bool tensor = false;
    std::int16_t saved = -1;  // its place among the saved tensors
    std::int16_t meta = -1;   // its place among the metas; -1: its edge knows
  };

  /// All arrays default-constructed, for the caller to fill in.
  static OpNode* make(OpCode op, const Layout& layout, std::uint64_t sequence);
  /// The size of the block follows from the layout, which is read before the node is destroyed.
  static void operator delete(OpNode* node, std::destroying_delete_t);

  [[nodiscard]] OpCode op() const { return op_; }
  [[nodiscard]] const Layout& layout() const { return layout_; }
  /// What was saved is gone: a backward went through and did not keep it.
  [[nodiscard]] bool released() const { return released_; }
  /// The tape group it belongs to, whose nodes the engine runs as fused kernels (eager/fusion.h); 0: none.
  [[nodiscard]] std::uint32_t tapeGroup() const { return tapeGroup_; }
  void setTapeGroup(std::uint32_t group) { tapeGroup_ = group; }
  /// Is what it saved noted, to outlive writes (autograd/kept_saved.h)?
  [[nodiscard]] bool noted() const { return noted_; }
  void setNoted(bool noted) { noted_ = noted; }
  [[nodiscard]] std::span<const std::int64_t> attrs() const { return {attrs_, layout_.attrs}; }
  [[nodiscard]] bool operandIsTensor(int i) const { return operands_[i].tensor; }
  [[nodiscard]] Scalar scalar(int i) const { return operands_[i].scalar; }
  /// Shape and dtype of an operand; error for one whose meta was not kept (a pointwise operand without gradient).
  [[nodiscard]] const ResultMeta& operandMeta(int i) const;

  /// Where saved operands and results are among the saved tensors; -1: not saved.
  [[nodiscard]] int savedOperand(int i) const { return operands_[i].saved; }
  [[nodiscard]] int savedResult(int i) const;
  /// Error when released or written since.
  Tensor unpack(std::size_t slot);
  /// Result `nr` was stored into `into`: what is saved of it becomes `into`, at its present version.
  void rebindResult(std::uint32_t nr, const Tensor& into);

  std::span<Edge> mutableEdges() { return {edges_, layout_.operands}; }
  std::span<ResultMeta> mutableResults() { return {results_, layout_.results}; }
  std::span<SavedTensor> saved() { return {saved_, layout_.saved}; }
  std::span<OperandSlot> operands() { return {operands_, layout_.operands}; }
  std::span<ResultMeta> metas() { return {metas_, layout_.metas}; }
  std::span<std::int64_t> mutableAttrs() { return {attrs_, layout_.attrs}; }

  [[nodiscard]] std::string name() const override;
  void apply(std::span<const Tensor> cotangents, std::span<const bool> wanted, std::span<Tensor> grads) override;
  void releaseSaved() override;

 private:
  [[nodiscard]] static std::size_t bytesOf(const Layout& layout);
  OpNode(OpCode op, const Layout& layout, std::uint64_t sequence)
      : Node(Kind::Op, sequence), op_(op), layout_(layout) {}
  ~OpNode() override;

  OpCode op_;
  bool released_ = false;
  bool noted_ = false;
  ComputeFlags flags_;  // of the forward
  std::uint32_t tapeGroup_ = 0;
  Layout layout_;
  SavedTensor* saved_ = nullptr;
  OperandSlot* operands_ = nullptr;
  ResultMeta* metas_ = nullptr;
  std::int64_t* attrs_ = nullptr;
};

class RuleContext;
using DerivativeFn = void (*)(RuleContext&);
/// Generated from the records; null for operations without one.
DerivativeFn derivativeOf(OpCode op);
/// Is the derivative of a pointwise operation more than one operation for an operand? Generated, too.
bool derivativeHasSteps(OpCode op);

}  // namespace tandem
