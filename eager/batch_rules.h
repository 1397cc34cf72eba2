// How library operations run on all examples at once: one function a scheme, named by `batching` in their records.
#pragma once

#include <vector>

#include "eager/batch.h"
#include "runtime/base/attrs.h"

namespace tandem {

/// One call: its operands and attributes as they are for one example, and the axes of all of them.
class BatchCall {
 public:
  BatchCall(const OpFacts& op, std::span<const Operand> operands, std::span<const std::int64_t> attrs,
            std::span<const TensorMeta> metas, std::span<Tensor> results);

  const OpFacts& op;
  std::span<const Operand> operands;
  std::span<const std::int64_t> attrs;
  std::span<const TensorMeta> metas;  // of one example's results
  std::vector<Ref<BatchAxis>> axes;   // of the operands, outermost first
  int dimAttr = -1;                   // where the attribute `dim` is,
  bool dimOptional = false;           // and whether it may be None

  [[nodiscard]] std::int64_t depth() const { return static_cast<std::int64_t>(axes.size()); }
  [[nodiscard]] const Tensor& tensor(std::size_t i) const { return operands[i].tensor(); }
  [[nodiscard]] bool batched(std::size_t i) const { return isBatched(operands[i]); }
  /// Sizes of the axes, and their product.
  [[nodiscard]] Dims sizes() const;
  [[nodiscard]] std::int64_t examples() const { return numelOf(sizes()); }
  /// All examples of operand i, every axis at its size (stride 0 where the operand lacks it), leading.
  [[nodiscard]] Tensor expanded(std::size_t i, std::int64_t rank = 0) const;

  /// Runs the operation itself on plain tensors; its results.
  std::vector<Tensor> run(std::span<const Operand> plain, std::span<const std::int64_t> newAttrs) const;
  /// Result i: a plain tensor of all axes leading and then the elements of one example, in whatever dims.
  void set(std::size_t i, const Tensor& plain);
  /// Result i with the axes at these dims.
  void set(std::size_t i, const Tensor& plain, std::span<const std::int64_t> places);

 private:
  std::span<Tensor> results_;
};

using BatchRule = void (*)(BatchCall&);

namespace batch_rules {
/// One example after another.
void loop(BatchCall& c);
/// Works on the last dims of its operands, whatever leads.
void leading(BatchCall& c);
/// Works along the attribute `dim`, whatever leads.
void alongDim(BatchCall& c);
/// Dim 0 of operands and results counts examples already.
void folded(BatchCall& c);
void matmul(BatchCall& c);
void convolution(BatchCall& c);
void convolutionInputGrad(BatchCall& c);
void convolutionWeightGrad(BatchCall& c);
void indexSelect(BatchCall& c);
void indexAdd(BatchCall& c);
void indexGet(BatchCall& c);
void indexPut(BatchCall& c);
void windowWrite(BatchCall& c);
}  // namespace batch_rules

struct BatchRuleOf {
  BatchRule rule;
  int dimAttr;
  bool dimOptional;
};
/// Generated from the records.
BatchRuleOf batchRuleOf(OpCode op);

}  // namespace tandem
