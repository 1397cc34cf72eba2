// Copies of strided arrays. Elements of one dtype are moved by a text of our own, up to 16 bytes at once; a conversion
// is a generated kernel, so that it has the bits of the operation `to`.
#include <array>
#include <bit>
#include <span>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/device/cuda/copies.h"
#include "runtime/device/cuda/cuda_kernel.h"
#include "runtime/device/cuda/gpu.h"
#include "runtime/device/cuda/survey.h"
#include "runtime/kernel/collapse.h"
#include "runtime/kernel/launch_builder.h"
#include "runtime/lib/cuda/operands.h"
#include "runtime/lib/cuda/texts.h"

namespace tandem::cuda {
namespace {

constexpr Source kCopyArray("copy_array", kCopyArrayText);
// Shorter sides are not worth tiles of 32.
constexpr std::int64_t kLeastTurned = 16;

/// Both arrays with their dims in the order in which `to` lies, merged where both allow it.
void simplify(ArrayView& from, ArrayView& to) {
  std::array<Dims, 2> strides{from.strides, to.strides};
  orderAsLies(from.shape, strides, 1);
  collapsePointwise(from.shape, strides);
  to.shape = from.shape;
  from.strides = std::move(strides[0]);
  to.strides = std::move(strides[1]);
}

/// Brings the dim along which `from` is dense next to the last one, along which `to` is; false where that is no turn.
bool bringTogether(ArrayView& from, ArrayView& to) {
  const std::size_t rank = from.shape.size();
  if (rank < 2 || to.strides[rank - 1] != 1 || from.shape[rank - 1] < kLeastTurned) return false;
  for (std::size_t d = 0; d + 1 < rank; ++d) {
    if (from.strides[d] != 1 || from.shape[d] < kLeastTurned) continue;
    for (std::size_t e = d; e + 2 < rank; ++e) {
      std::swap(from.shape[e], from.shape[e + 1]);
      std::swap(from.strides[e], from.strides[e + 1]);
      std::swap(to.strides[e], to.strides[e + 1]);
    }
    to.shape = from.shape;
    return true;
  }
  return false;
}

/// Counts elements in the widest unit, in bytes, that rows of both and all addresses are made of, where rows are dense.
std::int64_t inUnits(ArrayView& from, ArrayView& to) {
  const auto item = static_cast<std::int64_t>(itemSize(from.dtype));
  if (from.shape.empty() || from.strides.back() != 1 || to.strides.back() != 1) return item;
  Dims counts{from.shape.back()};
  for (std::size_t d = 0; d + 1 < from.shape.size(); ++d) {
    counts.push_back(from.strides[d]);
    counts.push_back(to.strides[d]);
  }
  const void* const addresses[] = {from.data, to.data};
  const std::int64_t unit = unitOf(item, counts, addresses);
  for (ArrayView* x : {&from, &to}) {
    x->shape.back() /= unit / item;
    for (std::size_t d = 0; d + 1 < x->strides.size(); ++d) x->strides[d] /= unit / item;
  }
  return unit;
}

void moveByKernel(ArrayView from, ArrayView to) {
  simplify(from, to);
  if (bringTogether(from, to)) {
    const std::size_t m = from.shape.size() - 2;
    const std::int64_t tiles = (from.shape[m] + 31) / 32 * ((from.shape[m + 1] + 31) / 32) *
                               (from.numel() / (from.shape[m] * from.shape[m + 1]));
    Grid grid = blocks(tiles, 256);
    grid.threads = {32, 8, 1};
    return launch(kCopyArray.kernel("turn_array", {{"T", unitType(from.dtype)}}), grid, view(from), view(to));
  }
  // Where the program will run, addresses may be less aligned.
  if (Survey::now() != nullptr) static_cast<void>(kCopyArray.kernel("copy_array", {{"T", unitType(from.dtype)}}));
  const std::int64_t unit = inUnits(from, to);
  launch(kCopyArray.kernel("copy_array", {{"T", unitType(unit)}}), elementwise(from.numel()), view(from), view(to));
}

void move(const ArrayView& from, const ArrayView& to, CudaStream& stream) {
  if (from.contiguous() && to.contiguous())
    return copyWithin(to.data, from.data, static_cast<std::size_t>(from.numel()) * itemSize(from.dtype), stream);
  const Queueing here(stream);
  moveByKernel(from, to);
}

void convert(const ArrayView& from, const ArrayView& to, CudaStream& stream) {
  static const OpCode conversion = *opNamed("to");
  Launch l;
  l.signature.inputs = {{from.dtype, Access::Unit}};
  l.signature.steps = {{conversion, to.dtype, KernelStep::Kind::Pointwise, {0}, 0}};
  l.signature.outputs = {{{to.dtype, Access::Unit}, 1}};
  TANDEM_CHECK(layOut(l, {}, from.shape, {from.strides, to.strides}));
  if (l.signature.outerRank > kMaxOuterRank) {
    // Of more dims than kernels have: beside each other in between.
    const Queueing here(stream);
    const auto n = static_cast<std::size_t>(from.numel());
    const Workspace dense(n * itemSize(from.dtype));
    const Workspace converted(n * itemSize(to.dtype));
    const Dims strides = contiguousStrides(from.shape);
    const ArrayView in{dense.as<>(), from.dtype, from.shape, strides};
    const ArrayView out{converted.as<>(), to.dtype, from.shape, strides};
    move(from, in, stream);
    convert(in, out, stream);
    return move(out, to, stream);
  }
  if (Survey* survey = Survey::now()) return survey->note(l.signature);
  const ArgLayout layout(l.signature);
  l.args[layout.pointer(0)] = std::bit_cast<std::int64_t>(from.data);
  l.args[layout.pointer(1)] = std::bit_cast<std::int64_t>(to.data);
  launchKernel(loadKernel(stream.gpu(), l.signature), l.args.data(), l.space, stream);
}

}  // namespace

void copyStrided(const ArrayView& from, const ArrayView& to, CudaStream& stream) {
  TANDEM_CHECK(from.shape == to.shape, shapeText(from.shape), " ", shapeText(to.shape));
  if (from.numel() == 0) return;
  if (from.dtype != to.dtype) return convert(from, to, stream);
  move(from, to, stream);
}

void copyByKernel(const ArrayView& from, const ArrayView& to) {
  if (from.numel() != 0) moveByKernel(from, to);
}

bool isSurveyed(const ArrayView& a, const ArrayView& b, const ArrayView& out) {
  if (Survey::now() == nullptr) return false;
  for (const ArrayView* x : {&a, &b, &out}) copyByKernel(*x, *x);
  return true;
}

void copyArray(const ArrayView& from, const ArrayView& to) { copyStrided(from, to, Queueing::now().stream()); }

}  // namespace tandem::cuda
