// What a recurrent layer and its derivative share: the order of steps and the state each starts from.
//
// Rows are packed: those of step 0, of step 1 and so on, `sizes[t]` of them, which never grow with t; row i of every
// step belongs to sequence i. Sequences of one length are the case of equal sizes.
#pragma once

#include <vector>

#include "eager/tensor.h"

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

}  // namespace tandem::ops
