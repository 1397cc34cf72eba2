// What a recurrent layer and its derivative share: the order of steps and the state each starts from.
//
// Rows are packed: those of step 0, of step 1 and so on, `sizes[t]` of them, which never grow with t; row i of every
// step belongs to sequence i. Sequences of one length are the case of equal sizes.
#pragma once

#include <span>
#include <vector>

#include "eager/tensor.h"
#include "ir/schema/op_table.h"

namespace tandem::ops {

/// Which cell: the numbers that `recurrent_sequence` takes as `kind`.
enum class Recurrence : std::int64_t { Tanh, Relu, Lstm, Gru };
/// Blocks of rows in a cell's weights.
constexpr std::int64_t gateCount(Recurrence kind) {
  return kind == Recurrence::Lstm ? 4 : kind == Recurrence::Gru ? 3 : 1;
}

class PackedSteps {
 public:
  PackedSteps(DimsRef sizes, bool reverse);

  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(sizes_.size()); }
  [[nodiscard]] std::int64_t rows(std::int64_t t) const { return sizes_[t]; }
  [[nodiscard]] std::int64_t allRows() const { return offsets_.back() + sizes_.back(); }
  /// The step that is run i-th.
  [[nodiscard]] std::int64_t nth(std::int64_t i) const { return reverse_ ? count() - 1 - i : i; }
  /// The rows of step t.
  [[nodiscard]] Tensor at(const Tensor& all, std::int64_t t) const;
  /// What step t starts from: the state `last` that the step before it left (undefined: t is the first), the rows of
  /// sequences that start here from `initial`.
  [[nodiscard]] Tensor start(const Tensor& last, const Tensor& initial, std::int64_t t) const;
  /// As `start`, the states being the rows of `all`.
  [[nodiscard]] Tensor startFrom(const Tensor& all, const Tensor& initial, std::int64_t t) const;
  /// `startFrom` of all steps, packed.
  [[nodiscard]] Tensor starts(const Tensor& all, const Tensor& initial) const;
  /// The state of every sequence after its last step.
  [[nodiscard]] Tensor finals(const Tensor& all) const;

 private:
  DimsRef sizes_;
  std::vector<std::int64_t> offsets_;
  bool reverse_;
};

/// Block k of the gates, [B, H] of [B, G H].
Tensor gateBlock(const Tensor& gates, std::int64_t k, std::int64_t width);

/// The results of one pointwise operation at all steps: each the next block of columns of one of a few tensors that
/// hold the rows of all steps, or of its step alone. Results are computed where they belong; they are kept and joined
/// where nothing is computed yet (recording) or memory is not that of one example (vmap). Takes part in no gradient.
class StepResults {
 public:
  static constexpr std::int64_t kOfItsStep = -1;

  /// `places[i]`: the tensor that result i of `op` belongs to. `sources`: what the steps read; `width`: of a block.
  StepResults(OpCode op, const PackedSteps& steps, std::initializer_list<std::int64_t> places, std::int64_t width,
              std::span<const Tensor> sources);
  /// Runs step t; its results, until the next.
  std::span<const Tensor> run(std::int64_t t, std::initializer_list<Tensor> inputs);
  /// The rows of step t of tensor `k`, which has run.
  [[nodiscard]] Tensor at(std::int64_t k, std::int64_t t) const {
    return direct_ ? steps_.at(all_[k], t) : parts_[k][t];
  }
  /// Tensor `k`, when all steps have run.
  [[nodiscard]] Tensor all(std::int64_t k) const;

 private:
  OpCode op_;
  const PackedSteps& steps_;
  std::vector<std::int64_t> places_;
  std::int64_t width_;
  DType dtype_;
  bool direct_;
  std::vector<Tensor> all_;                 // by place
  std::vector<std::vector<Tensor>> parts_;  // by place and step
  std::vector<Tensor> results_;
};

/// Products of the states of many steps with one weight, [K, N]: packed once where that pays. The bits are those of
/// `matmul`. Takes part in no gradient.
class StepProduct {
 public:
  StepProduct(const Tensor& weight, const PackedSteps& steps);
  Tensor operator()(const Tensor& x) const;

 private:
  Tensor weight_;
  Tensor packed_;
};

}  // namespace tandem::ops
