// What a signature's values are to the emitter: which are row-uniform, which stage of the inner loop each belongs to,
// and which are needed at all. Stage s may use the results of reductions over stage s - 1: a softmax has three stages
// (maximum, sum, quotient), each a pass over the row that recomputes the elementwise values it needs.
#pragma once

#include <optional>
#include <vector>

#include "runtime/kernel/kernel_signature.h"

namespace tandem {

struct ValueFacts {
  DType dtype = DType::Float32;  // logical: a half type's values are held as float32
  bool uniform = false;          // the same for the whole row
  bool constant = false;         // uniform, and made of scalars alone: the same for all rows
  bool needed = false;
  int stage = 0;
};

class Schedule {
 public:
  explicit Schedule(const KernelSignature& signature);

  [[nodiscard]] const ValueFacts& value(std::size_t id) const { return values_[id]; }
  [[nodiscard]] std::size_t numValues() const { return values_.size(); }
  [[nodiscard]] std::size_t firstStep() const { return firstStep_; }
  [[nodiscard]] bool isReduce(std::size_t id) const;
  /// Needed reductions whose operand belongs to `stage`, as value ids.
  [[nodiscard]] const std::vector<std::size_t>& reductions(int stage) const { return reductions_[stage]; }
  [[nodiscard]] int stages() const { return static_cast<int>(reductions_.size()); }
  /// Where outputs that move with the inner index are stored: the last stage that reads inputs, because an output may
  /// share its memory with one. -1 where there are none.
  [[nodiscard]] int storeStage() const { return storeStage_; }
  /// The elementwise outputs, by number, that the pass of `stage` stores; a Partial kernel has none.
  [[nodiscard]] std::vector<std::size_t> outputs(int stage) const;
  /// What the pass of `stage` is for: the operands of its reductions, and what its outputs store.
  [[nodiscard]] std::vector<std::size_t> targets(int stage) const;
  /// The varying (not uniform) values that `targets` depend on, through pointwise steps, in order of computation; not
  /// the `known` ones and what only these depend on.
  [[nodiscard]] std::vector<std::size_t> varyingBehind(const std::vector<std::size_t>& targets,
                                                       const std::vector<std::size_t>& known = {}) const;
  /// The steps' values that the pass of `stage`, where the `known` ones are, computes and later passes start from, in
  /// order of computation: where all of them are known, nothing that this pass computed is computed again.
  [[nodiscard]] std::vector<std::size_t> handedOn(int stage, const std::vector<std::size_t>& known) const;
  /// A value that the last reduction over the row computes and all that the one elementwise output needs beside
  /// row-uniform ones, as the exponentials of a softmax: the output's memory can carry it from one pass to the next.
  struct Carried {
    std::size_t output;
    std::size_t value;
    int stage;  // whose pass computes it
  };
  [[nodiscard]] const std::optional<Carried>& carried() const { return carried_; }

 private:
  const KernelSignature& signature_;
  std::size_t firstStep_;
  std::vector<ValueFacts> values_;
  std::vector<std::vector<std::size_t>> reductions_;
  int storeStage_ = -1;
  std::optional<Carried> carried_;

  void findCarried();
};

}  // namespace tandem
