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
/// a row is contiguous: kernels are found once a *kind* of rows, which are alike in dtypes and in what has no dims, and
/// rows that share no memory are taken by several threads, or as a list by a device (Executor::launchList).
class FlatRows {
 public:
  explicit FlatRows(const OpFacts& op) : op_(op) {}
  /// Takes a row, to be run as by `runPointwise`, whose tensors live until `run`; false, having done nothing, where it
  /// is of no kind that was met.
  bool add(std::span<const Operand> operands, std::span<const Tensor> outs);
  /// The same for a row of a new kind, which was checked; false where it is not contiguous, or has no elements.
  bool addFirst(std::span<const Operand> operands, std::span<const Tensor> outs);
  /// Runs what was added since the last time; the bits are those of one row after the other.
  void run();

 private:
  struct Kind {
    Device device;
    std::uint32_t numbers;  // the operands that are tensors of no dims, a bit each
    CallKey key;
    const Kernel* kernel;
    ArgLayout layout;
    std::vector<std::int64_t> args;
    std::int64_t elements = 0;
  };
  struct Row {
    std::uint32_t kind;
    std::uint32_t at;  // where its arguments begin
  };
  struct Touched {
    const Storage* storage;
    std::uint32_t row;
    bool written;
  };
  static std::uint32_t numbersOf(std::span<const Operand> operands);
  void take(std::size_t kind, std::span<const std::int64_t> args, std::span<const Operand> operands,
            std::span<const Tensor> outs);
  /// Does no row touch memory that another one writes?
  [[nodiscard]] bool areApart() const;
  static void runOne(const Kind& kind, std::size_t at);
  static void runApart(const Kind& kind);

  const OpFacts& op_;
  std::vector<Kind> kinds_;
  std::size_t last_ = 0;  // the kind met last
  std::vector<Row> rows_;
  std::vector<Touched> touched_;
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
