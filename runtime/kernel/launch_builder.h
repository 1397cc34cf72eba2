// From operations to a launch: the one place where steps, conversions and argument blocks are written. An eager call
// builds the kernel of one operation here, lowering that of a region. Dtypes are resolved by the caller (ir/schema), of
// which the runtime knows nothing; layouts are shapes and strides in elements.
//
//   BodyWriter   the steps of a signature
//   collapse     the dims that a kernel walks
//   writeWalk    sizes and strides in the argument block
//   layOut       the last two for a whole launch
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "runtime/base/shape.h"
#include "runtime/kernel/call_cache.h"
#include "runtime/kernel/collapse.h"
#include "runtime/kernel/kernel.h"

namespace tandem {

/// A value of a body.
struct BodyValue {
  std::uint16_t id = 0;
  DType dtype = DType::Float32;
  std::uint16_t stored = 0;  // what an output holds: of a reduction to a half type the accumulator
};

/// Writes the body of a signature: inputs, then scalars, then operations, then outputs. Conversions are steps of their
/// own, made once a value and dtype; so is the index.
class BodyWriter {
 public:
  /// `conversion` is the operation that converts, of which the runtime knows no name.
  BodyWriter(KernelSignature& signature, OpCode conversion) : s_(signature), conversion_(conversion) {}

  BodyValue input(DType dtype, Access access = Access::Unit);
  /// A number of category Bool, Int64 or Float64: kernels get int64 or float64.
  BodyValue scalar(DType category);
  /// Makes an input a framed one.
  void frame(const BodyValue& input) { s_.inputs[input.id].access = Access::Framed; }
  /// One operation, computed in `computed` on operands converted to the dtypes `to`, its results converted to the
  /// dtypes they have in `results`.
  void pointwise(OpCode op, DType computed, bool usesIndex, std::span<const BodyValue> operands,
                 std::span<const DType> to, std::span<BodyValue> results);
  /// One reduction. A half type is rounded to when it is stored, and for what `isRead` by other operations.
  BodyValue reduce(OpCode op, DType accumulator, const BodyValue& operand, DType result, bool isRead);
  void output(const BodyValue& value, DType dtype, Access access = Access::Unit) {
    s_.outputs.push_back({{dtype, access}, value.stored});
  }

 private:
  std::uint16_t push(KernelStep step);
  std::uint16_t convert(std::uint16_t id, DType from, DType to);

  KernelSignature& s_;
  OpCode conversion_;
  std::map<std::pair<std::uint16_t, DType>, std::uint16_t> converted_;
  int index_ = -1;
};

/// What is walked: elements, or rows or columns whose dims [begin, end) are reduced (rows: end is the rank). `placed`:
/// the kernel knows its index or has framed inputs, and walks dims in their logical order.
struct Walk {
  enum class Kind : std::uint8_t { Elements, Rows, Columns } kind = Kind::Elements;
  std::size_t begin = 0;
  std::size_t end = 0;
  bool placed = false;
};
/// Merges dims as far as all operands allow; afterwards they are [outer..., (reduced,) inner]. False where an operand's
/// reduced dims do not merge into one. Outer dims may be more than kernels have (kMaxOuterRank).
bool collapse(const Walk& walk, Dims& shape, std::span<Dims> strides);
/// Sizes and strides of inputs and outputs into an argument block. `shape` is [outer..., (reduced...,) inner].
void writeWalk(const ArgLayout& layout, DimsRef shape, std::span<const Dims> strides, std::int64_t* args);

/// A launch but for where its operands lie: pointers and scalars are 0.
struct Launch {
  KernelSignature signature;
  std::vector<std::int64_t> args;
  LaunchSpace space;
};
/// Completes a launch whose signature has its body: collapses dims, and fills in accesses, argument block and space.
/// False where an operand's reduced dims do not merge.
bool layOut(Launch& launch, const Walk& walk, Dims shape, std::vector<Dims> strides);

/// The kernel of one reduction over one input, which is converted to the accumulator, as the accumulator is to the
/// output's dtype.
struct ReductionKernel {
  OpCode op;
  KernelKind kind;
  int outerRank;
  KernelOperand in;
  DType accumulator;
  KernelOperand out;
  bool trailing = false;  // Column only
  int reducedRank = 1;    // Column only

  [[nodiscard]] CallKey key(Device device) const;
  [[nodiscard]] KernelSignature signature() const;
  [[nodiscard]] ArgLayout layout() const { return {kind, outerRank, 2, 0, reducedRank}; }
};

}  // namespace tandem
