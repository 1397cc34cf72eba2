// Memory formats: the order in which the dims of a dense tensor lie in memory, as PyTorch's `memory_format` names them.
#pragma once

#include <functional>
#include <span>
#include <utility>

#include "eager/tensor.h"

namespace tandem {

enum class MemoryFormat : std::uint8_t {
  Contiguous,      // row-major
  Preserve,        // the order that the source has
  ChannelsLast,    // [N, C, H, W] with the channels innermost
  ChannelsLast3d,  // [N, C, D, H, W] likewise
};

/// The dims of a tensor of so many in the order of `format` (not Preserve), from the outermost to the innermost one.
Dims orderOf(MemoryFormat format, std::int64_t dim);
/// RuntimeError that names `op` where the format is for another number of dims.
void needRank(MemoryFormat format, DimsRef shape, const char* op);
/// The strides of a dense tensor of that shape in `format` (not Preserve), which is for as many dims.
Dims stridesIn(MemoryFormat format, DimsRef shape);
/// Does `t` lie dense in the order of `format` (not Preserve)? False where the format is for another number of dims.
bool isContiguousIn(const Tensor& t, MemoryFormat format);

/// The dims of a shape from the outermost to the innermost one, as the strides in it tell: those of the first array
/// that has two dims at different steps, 0 saying nothing. PyTorch's order for elementwise results of such operands.
Dims orderOfStrides(DimsRef shape, std::span<const Dims> strides);
/// Has `t` no gaps, its dims lying in this order from the outermost on?
bool isDense(const Tensor& t, DimsRef order);
/// At which place of the order each dim is.
Dims inverseOf(DimsRef order);

/// While it lives, elementwise results of this thread are row-major whatever order their operands lie in: for those of
/// a fused program that are reduced and lie nowhere, since kernels reduce what they compute in the order of their
/// input.
class RowMajorResults {
 public:
  explicit RowMajorResults(bool on = true) : before_(std::exchange(active_, active_ || on)) {}
  ~RowMajorResults() { active_ = before_; }
  RowMajorResults(const RowMajorResults&) = delete;
  RowMajorResults& operator=(const RowMajorResults&) = delete;
  [[nodiscard]] static bool active() { return active_; }

 private:
  static thread_local constinit bool active_;
  bool before_;
};

/// What `f`, which makes a row-major tensor of as many dims, gives for `t`, laid out in this order of dims; with
/// history.
Tensor laidOut(const Tensor& t, const Dims& order, const std::function<Tensor(const Tensor&)>& f);

/// What `make`, which makes a row-major tensor of the shape of what it is given, gives for `t`, in that format: with
/// Preserve the strides of a dense `t` are kept, and of another its order of dims. RuntimeError where the format is for
/// another number of dims, naming `op`.
Tensor madeLike(const Tensor& t, MemoryFormat format, const char* op, const std::function<Tensor(const Tensor&)>& make);
/// What `make`, which makes a row-major tensor of the sizes it is given, gives for a shape, in that format (not
/// Preserve). Errors as of `madeLike`.
Tensor madeIn(MemoryFormat format, DimsRef shape, const char* op, const std::function<Tensor(DimsRef)>& make);

/// The order in which an elementwise result of operands in one shape lies: row-major where nothing else is known.
Dims orderOfResult(std::span<const Tensor> operands);
/// What `f`, elementwise of two row-major tensors, gives for a and b of one shape, laid out so; with history.
Tensor laidOutAs(const Tensor& a, const Tensor& b, const std::function<Tensor(const Tensor&, const Tensor&)>& f);
/// `value` in the shape of `x` and a dtype, laid out as an elementwise result of `x`.
Tensor filledAs(const Tensor& x, Scalar value, DType dtype);

/// Do the dims of `t` lie in the order that they have?
bool isInRowMajorOrder(const Tensor& t);
/// `t`; where its dims lie in another order than row-major a row-major copy of it, with history: for operations along
/// rows, whose results are row-major whatever they are of.
Tensor inRowMajorOrder(const Tensor& t);

/// A number of each group of channels in memory of its own for each channel: `v` [N, G, 1, 1] for `x` [N, G, C, *].
/// Kernels then walk channels that lie beside each other as one run.
Tensor ofEachChannel(const Tensor& v, const Tensor& x);

/// The format that the strides of `t` speak for, as PyTorch reads them: ChannelsLast or ChannelsLast3d where the
/// channels are innermost beyond doubt, else Contiguous.
MemoryFormat formatOf(const Tensor& t);

/// A copy of `t` in that format and dtype, on a device; a tensor of its own, whose gradient passes to `t`. With
/// Preserve the strides of a dense `t` are kept, and of another its order of dims. RuntimeError where the format is for
/// another number of dims, naming `op`.
Tensor copyIn(const Tensor& t, MemoryFormat format, DType dtype, Device device, const char* op);
inline Tensor copyIn(const Tensor& t, MemoryFormat format, DType dtype, const char* op) {
  return copyIn(t, format, dtype, t.device(), op);
}

}  // namespace tandem
