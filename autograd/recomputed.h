// Saved tensors that a backward makes again instead of keeping them. The forward of `x * tanh(x + b)` would write the
// sum and the tanh for its derivatives; it keeps the sum alone, from which the backward has the tanh by the operation
// that the forward did, with the same bits. Where the backward is recorded (a tape group), that operation is one of its
// kernels, and nothing is written at all.
#pragma once

#include <memory>
#include <vector>

#include "autograd/saved_hooks.h"
#include "eager/tensor.h"
#include "ir/schema/op_table.h"

namespace tandem {

/// How tensors are made of others that are kept: operations in an order in which each finds what it reads.
struct Recipe {
  struct Source {
    enum class Kind : std::uint8_t { Kept, Step, Number, Absent } kind = Kind::Absent;
    std::uint32_t index = 0;   // among what is kept, of the step, or among the numbers
    std::uint32_t result = 0;  // of the step
  };
  /// An operation, or a window on what another step or a kept tensor holds, in elements.
  struct Step {
    OpCode op{};
    std::vector<Source> sources;
    std::vector<std::int64_t> attrs;
    std::uint32_t results = 1;
    bool isWindow = false;
    Dims shape, strides;
    std::int64_t offset = 0;
  };
  std::vector<Step> steps;
  std::vector<Source> values;  // what is made, by number
};

/// A recipe with what one call kept for it.
class Recomputation : public Counted<Recomputation> {
 public:
  Recomputation(std::shared_ptr<const Recipe> recipe, std::vector<Tensor> kept, std::vector<Scalar> numbers);
  static void destroy(Recomputation* r) { delete r; }

  /// A saved tensor that is value `number` of the recipe.
  Ref<PackedTensor> saved(std::uint32_t number);
  /// Made by operations without history. Error where what was kept has been written to.
  Tensor value(std::uint32_t number);

 private:
  using Made = std::vector<std::vector<Tensor>>;  // by step and result; empty: not yet
  [[nodiscard]] Tensor find(const Recipe::Source& source, const Made& made) const;
  [[nodiscard]] std::vector<Tensor> run(const Recipe::Step& step, const Made& made) const;

  std::shared_ptr<const Recipe> recipe_;
  std::vector<Tensor> kept_;
  std::vector<std::uint32_t> versions_;
  std::vector<Scalar> numbers_;
};

/// While it lives on a thread, what one derivative had made again is there for the next.
class RecomputedScope {
 public:
  RecomputedScope();
  ~RecomputedScope();
  RecomputedScope(const RecomputedScope&) = delete;
  RecomputedScope& operator=(const RecomputedScope&) = delete;
  /// Drops it, as before the end of a recording, which would have to store what is still held.
  static void forget();
};

}  // namespace tandem
