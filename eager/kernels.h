// Runs one primitive now: as a generated kernel of a single operation, or as a library call. The graph of one node.
#pragma once

#include <span>
#include <vector>

#include "eager/tensor.h"
#include "ir/schema/op_table.h"
#include "runtime/device/device.h"
#include "runtime/kernel/call_cache.h"

namespace tandem {

/// Runs a pointwise, random or creation operation over the shape of `outs` (all of one shape; operands broadcast to
/// it), converting results to the outs' dtypes. An out may be an operand, or share its exact window with one.
/// Random operations' operands begin with seed and offset.
void runPointwise(const OpFacts& op, std::span<const Operand> operands, std::span<const std::int64_t> attrs,
                  std::span<const Tensor> outs);
/// Calls of one pointwise operation on row after row of operands, such as the parameters of an optimizer, where all of
/// a row is contiguous: the kernel is found once, and several threads take rows that share no memory.
class FlatRows {
 public:
  /// For rows that are like this one in dtypes and in what has no dims. It is not one of them, and was checked.
  FlatRows(const OpFacts& op, std::span<const Operand> operands, std::span<const Tensor> outs);
  /// Takes a row, to be run as by `runPointwise`, whose tensors live until `run`; false, having done nothing, where it
  /// is unlike the first.
  bool add(std::span<const Operand> operands, std::span<const Tensor> outs);
  /// Runs what was added since the last time; the bits are those of one row after the other.
  void run();

 private:
  struct Touched {
    const Storage* storage;
    std::uint32_t row;  // where its arguments begin
    bool written;
  };
  static std::uint32_t numbersOf(std::span<const Operand> operands);
  /// Does no row touch memory that another one writes?
  [[nodiscard]] bool areApart() const;

  const OpFacts& op_;
  Device device_;
  std::uint32_t numbers_;  // the operands that are tensors of no dims, a bit each
  std::size_t width_ = 0;  // arguments of a row
  CallKey key_;
  const Kernel* kernel_ = nullptr;
  std::vector<std::int64_t> args_;
  std::vector<Touched> touched_;
  std::int64_t elements_ = 0;
};
/// Runs a reduction into `out`, fresh and contiguous, of the rule's shape and dtype.
void runReduction(const OpFacts& op, const Tensor& input, std::span<const std::int64_t> attrs, const Tensor& out);
/// Runs a library operation into `outs`, fresh and contiguous.
void runLibrary(const OpFacts& op, std::span<const Operand> operands, std::span<const std::int64_t> attrs,
                std::span<const Tensor> outs);

inline char* pointerOf(const Tensor& t) {
  return static_cast<char*>(t.impl()->storage->data()) +
         t.impl()->offset * static_cast<std::int64_t>(itemSize(t.dtype()));
}
inline std::int64_t address(const Tensor& t) { return reinterpret_cast<std::int64_t>(pointerOf(t)); }

/// A contiguous copy of the window of `t` broadcast to `shape`, for operands that too many dims keep from collapsing.
Tensor spread(const Tensor& t, DimsRef shape);

/// The meta of an operand.
inline TensorMeta metaOf(const Operand& o) {
  TensorMeta m;
  if (!o.isTensor()) {
    m.weak = true;
    m.dtype = o.scalar().isFloat()                    ? DType::Float64
              : o.scalar().kind == Scalar::Kind::Bool ? DType::Bool
                                                      : DType::Int64;
  } else if (!o.tensor().defined()) {
    m.absent = true;
  } else {
    m.shape = o.tensor().shape();
    m.dtype = o.tensor().dtype();
  }
  return m;
}

}  // namespace tandem
