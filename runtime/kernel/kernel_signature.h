// What a generated kernel is: a small program over scalars (the body), how its operands are walked, and nothing of
// sizes. An eager operation makes a signature with one instruction, a fused region one with many; `codegen` turns
// either into the same kind of machine code. Plain data: its bytes are the key of every kernel cache.
//
// Iteration space. A kernel walks `outerRank` outer dims (a linear index, split by div/mod) and one inner dim of n
// elements. All values of the body are scalars of one (outer, inner) point; a value that does not depend on the inner
// index (inputs with inner access Zero, scalars, results of reductions, and what is computed from those alone) is
// *row-uniform* and computed once a row.
//
//   Row     pointwise work and reductions over the inner dim (trailing class, 32 lanes, blocks of 4096). Reductions
//           may feed pointwise work of the same row (softmax, norms).
//   Column  reductions over the *outermost but inner* dim (leading class, 8 lanes, blocks of 1024): the space is
//           outer dims × reduced dim r × inner dim; every output is a reduction, one element per (outer, inner).
//           `trailing`: in the order of the trailing class, for rows that are far apart along their length while the
//           next row is beside them. `reducedRank` above 1: r counts the elements of several dims, row-major.
//   Leading as Row, in the order of the leading class: columns that lie dense down their length are its rows.
//   Partial as Row, but a unit of work is one block of 4096 of a row and outputs are the blocks' partial results,
//           laid out [outer, ceil(n / 4096)], in the accumulator dtype. A Row kernel over those finishes them with the
//           same bits as one Row kernel over everything.
//   Short   as Row, of which a vector has an element of as many rows as it has lanes. On CPUs for rows of 2 to 8
//   elements
//           (`kShortRow`) under one outer dim, so that no lane is left empty; a range of units has a multiple of 16
//           (`kShortRows`). On GPUs for rows that are dense along the last outer dim instead of along themselves.
//
//   List    on GPUs, a Row kernel without outer dims, or over one row, for each entry of a list: operands that are
//           contiguous, of lengths of their own
//
// The argument block of a kernel, an array of int64 (strides in elements, pointers as integers):
//   [0 .. outerRank)  outer sizes, outermost first
//   [outerRank]       n, the inner size
//   Column only: [outerRank + 1] the reduced size: how many r there are
//                reducedRank above 1: the first r, then the sizes of the reduced dims but the outermost
//   for each input, then each output: pointer, inner stride, (Column only: reduced strides, 0 for outputs),
//                                     outer strides outermost first
//   the scalars: Float as the bits of a double, Int as int64
//   for each framed input: where it begins in the space, and how many elements it has
// See `ArgLayout`; a List kernel's block is another one (`ListLayout`).
//
// A kernel runs over a range of units, which are
//   Row with outerRank 0: inner elements (no reductions in it, all outputs elementwise)
//   Row else, Short, Leading: rows (linear outer index)
//   Partial:              row * ceil(n / 4096) + block
//   Column:               columns: outer linear index * n + inner index
//   List:                 entries of the list
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/op_code.h"
#include "runtime/base/small_vector.h"

namespace tandem {

enum class KernelKind : std::uint8_t { Row, Column, Partial, Short, Leading, List };

/// How an operand moves with the inner index.
enum class Access : std::uint8_t {
  Unit,     // contiguous along the inner dim (its stride argument is not read)
  Strided,  // any stride, read from the arguments
  Zero,     // does not move: a row-uniform input, or one output element a row
  Framed,   // an input that fills a stretch of the space only. Its strides are those of the whole space, contiguous;
            // elsewhere the value is the one element of the input behind it
};

struct KernelOperand {
  DType dtype;
  Access access;
};

/// One step of the body. Values are numbered: inputs, then scalars, then steps in order.
struct KernelStep {
  OpCode op;
  DType dtype;  // of the result
  /// Pointwise: one scalar operation; its operands all have the operation's operand dtype (conversions are steps of
  /// their own: OpCode::to). Half types are widened to float32 inside a step and rounded at its end.
  /// Reduce: over the inner dim (all but Column) or the reduced dim (Column); the operand is converted to `dtype`,
  /// the accumulator, which is never a half type. Index: the logical linear index of the point (outer linear * n +
  /// inner), int64; no operands.
  enum class Kind : std::uint8_t { Pointwise, Reduce, Index } kind = Kind::Pointwise;
  SmallVector<std::uint16_t, 4> operands;
  /// Which result of an operation with several (adamw): a step each.
  std::uint8_t result = 0;
};

struct KernelOutput {
  KernelOperand operand;
  std::uint16_t value;  // stored with conversion from the value's dtype only where it is the accumulator of a half type
};

struct KernelSignature {
  KernelKind kind = KernelKind::Row;
  std::uint8_t outerRank = 0;
  std::uint8_t reducedRank = 1;  // Column only
  bool trailing = false;         // Column only: the order of the trailing class
  bool toMemory = false;         // Row without outer dims only: whole vectors go past the caches to the outputs
  std::vector<KernelOperand> inputs;
  std::vector<DType> scalars;  // Int64 or Float64
  std::vector<KernelStep> steps;
  std::vector<KernelOutput> outputs;

  /// A canonical byte string: equal signatures, equal bytes.
  [[nodiscard]] std::string bytes() const;
  /// For humans, logs and error messages: `row2(f32:unit, f32:zero) { v2 = add f32 v0 v1 } -> v2:unit`.
  [[nodiscard]] std::string text() const;
};

/// Offsets into the argument block of a signature.
struct ArgLayout {
  explicit ArgLayout(const KernelSignature& s)
      : ArgLayout(s.kind, s.outerRank, s.inputs.size() + s.outputs.size(), s.scalars.size(), s.reducedRank) {
    for (const KernelOperand& input : s.inputs) framed += input.access == Access::Framed ? 1 : 0;
  }
  ArgLayout(KernelKind kind, int outerRank, std::size_t operands, std::size_t scalars, int reducedRank = 1)
      : outerRank(outerRank), column(kind == KernelKind::Column), reducedRank(column ? reducedRank : 0),
        operands(operands), scalars(scalars) {}

  int outerRank;
  bool column;
  int reducedRank;
  std::size_t operands;
  std::size_t scalars;
  std::size_t framed = 0;

  [[nodiscard]] std::size_t outerSize(int d) const { return d; }
  [[nodiscard]] std::size_t innerSize() const { return outerRank; }
  [[nodiscard]] std::size_t reducedSize() const { return outerRank + 1; }
  /// Of several reduced dims: the first r, and the size of dim d, which is not the outermost.
  [[nodiscard]] std::size_t firstReduced() const { return outerRank + 2; }
  [[nodiscard]] std::size_t reducedDim(int d) const { return outerRank + 2 + d; }
  [[nodiscard]] std::size_t perOperand() const { return 2 + reducedRank + outerRank; }
  [[nodiscard]] std::size_t pointer(std::size_t k) const {
    return outerRank + 1 + reducedRank + (reducedRank > 1 ? 1 : 0) + k * perOperand();
  }
  [[nodiscard]] std::size_t innerStride(std::size_t k) const { return pointer(k) + 1; }
  [[nodiscard]] std::size_t reducedStride(std::size_t k, int d = 0) const { return pointer(k) + 2 + d; }
  [[nodiscard]] std::size_t outerStride(std::size_t k, int d) const { return pointer(k) + 2 + reducedRank + d; }
  [[nodiscard]] std::size_t scalar(std::size_t j) const { return pointer(operands) + j; }
  /// Of the j-th framed input: [frame(j)] where it begins, [frame(j) + 1] how many elements it has.
  [[nodiscard]] std::size_t frame(std::size_t j) const { return scalar(scalars) + 2 * j; }
  [[nodiscard]] std::size_t size() const { return frame(framed); }
};

/// The argument block of a List kernel, as large as parameters of a launch may be beside its range: the scalars, then
/// of each entry n and the pointers of its operands.
struct ListLayout {
  explicit ListLayout(const KernelSignature& s)
      : scalars(s.scalars.size()), perEntry(1 + s.inputs.size() + s.outputs.size()) {}
  static constexpr std::size_t kSize = 508;

  std::size_t scalars;
  std::size_t perEntry;

  [[nodiscard]] std::size_t mostEntries() const { return (kSize - scalars) / perEntry; }
  [[nodiscard]] std::size_t entry(std::size_t e) const { return scalars + e * perEntry; }
};

/// The block length and lane counts of the two reduction classes. Part of what results mean: changing one changes bits.
inline constexpr std::int64_t kTrailingLanes = 32;
inline constexpr std::int64_t kTrailingBlock = 4096;
inline constexpr std::int64_t kLeadingLanes = 8;
inline constexpr std::int64_t kLeadingBlock = 1024;

/// What goes past the caches goes in such lines: outputs begin at one, and ranges at multiples of as many elements.
inline constexpr std::int64_t kLineBytes = 64;

/// Of Short kernels: elements of a row at most, and what their ranges are multiples of.
inline constexpr std::int64_t kShortRow = 8;
inline constexpr std::int64_t kShortRows = 16;

}  // namespace tandem
