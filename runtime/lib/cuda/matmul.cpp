// matmul_plain: by cuBLASLt where it has the dtype (cublaslt.h), else by our own kernel. A matrix is packed for
// products by making it contiguous, with columns of zeros up to the size that the record asks for.
#include "runtime/lib/cuda/matmul.h"

#include <algorithm>

#include "runtime/base/attrs.h"
#include "runtime/base/error.h"
#include "runtime/device/cuda/survey.h"
#include "runtime/lib/cuda/contraction.h"
#include "runtime/lib/cuda/cublaslt.h"
#include "runtime/lib/cuda/table.h"

namespace tandem::cuda {
namespace {

/// The struct Contraction of contraction.cu for products of matrices.
struct MatrixPlan {
  ContractionSizes sizes;
  std::int64_t leftRow, leftDepth, rightDepth, rightColumn;
  std::int64_t rank = 0;
  std::int64_t shape[View::kMostDims], left[View::kMostDims], right[View::kMostDims];
  const std::int32_t* needed = nullptr;  // of each product, if not all are to be made
  std::int64_t step = 0;
  const void* bias = nullptr;
  std::int64_t biasStride = 0;
};

/// Adds a dim of the batch, or makes it one with the dim before it.
void addDim(MatrixPlan& plan, std::int64_t size, std::int64_t left, std::int64_t right) {
  if (size == 1) return;
  const std::int64_t last = plan.rank - 1;
  if (last >= 0 && plan.left[last] == left * size && plan.right[last] == right * size) {
    plan.shape[last] *= size;
    plan.left[last] = left;
    plan.right[last] = right;
    return;
  }
  if (plan.rank == View::kMostDims)
    fail<NotImplementedError>("matmul: batches of more than ", View::kMostDims, " dims that cannot be merged");
  plan.shape[plan.rank] = size;
  plan.left[plan.rank] = left;
  plan.right[plan.rank++] = right;
}

/// Where cuBLASLt has the product, but none that adds a bias: by its product in float32.
bool addedAfterwards(const ArrayView& a, const ArrayView& b, const ArrayView& c, const MatrixPlan& plan) {
  const Workspace sums(static_cast<std::size_t>(c.numel()) * sizeof(float));
  const bool made = cublasltProduct(a, b, {sums.as(), DType::Float32, c.shape, c.strides}, false, nullptr);
  if (made || Survey::now() != nullptr)
    launch(combineKernel(ContractionKind::Matrices, a.dtype, c.dtype), elementwise(c.numel()), sums.as(), c.data, plan);
  return made;
}

}  // namespace

void matrixProduct(const ArrayView& a, const ArrayView& b, const ArrayView& c, bool allowsTf32, const ArrayView* bias) {
  if (c.numel() == 0) return;
  const std::size_t r = a.shape.size();
  MatrixPlan plan{};
  plan.sizes = {a.shape[r - 2], b.shape[r - 1], a.shape[r - 1], 1};
  plan.leftRow = a.strides[r - 2], plan.leftDepth = a.strides[r - 1];
  plan.rightDepth = b.strides[r - 2], plan.rightColumn = b.strides[r - 1];
  const bool empty = plan.sizes.depth == 0;
  if (empty && bias == nullptr) return fill(c.data, 0, static_cast<std::size_t>(c.numel()) * itemSize(c.dtype));
  for (std::size_t d = 0; d + 2 < r; ++d) {
    plan.sizes.batch *= a.shape[d];
    addDim(plan, a.shape[d], a.strides[d], b.strides[d]);
  }
  if (!empty && cublasltProduct(a, b, c, allowsTf32, bias)) return;
  if (bias != nullptr) {
    plan.bias = bias->data, plan.biasStride = bias->strides[0];
    if (!empty && addedAfterwards(a, b, c, plan)) return;
  }
  if (!empty) plan.sizes.cut(1);
  ContractionLaunch(ContractionKind::Matrices, a.dtype, c.dtype, plan.sizes).run(a.data, b.data, c.data, plan);
}

void squareWhereNeeded(const ArrayView& a, const ArrayView& c, const std::int32_t* needed, std::int64_t step) {
  const std::int64_t n = a.shape[1];
  MatrixPlan plan{};
  plan.sizes = {n, n, n, a.shape[0], 1, n};
  plan.leftRow = plan.rightDepth = n;
  plan.leftDepth = plan.rightColumn = 1;
  addDim(plan, a.shape[0], n * n, n * n);
  plan.needed = needed, plan.step = step;
  ContractionLaunch(ContractionKind::Matrices, a.dtype, c.dtype, plan.sizes).run(a.data, a.data, c.data, plan);
}

namespace lib {

void matmul(const LibraryCall& call) {
  matrixProduct(call.inputs[0], call.inputs[1], call.outputs[0], AttrReader(call.attrs).boolean(false),
                call.inputs.size() > 2 ? &call.inputs[2] : nullptr);
}

void pack_matrix(const LibraryCall& call) {
  const ArrayView& b = call.inputs[0];
  const ArrayView& to = call.outputs[0];
  if (to.numel() == 0) return;
  if (to.shape[1] != b.shape[1]) fill(to.data, 0, static_cast<std::size_t>(to.numel()) * itemSize(to.dtype));
  cuda::copyArray(b, {to.data, to.dtype, b.shape, to.strides});
}

void matmul_packed(const LibraryCall& call) {
  const ArrayView& packed = call.inputs[1];
  const ArrayView& c = call.outputs[0];
  AttrReader attrs(call.attrs);
  attrs.integer();  // the columns, which the result has
  matrixProduct(call.inputs[0], {packed.data, packed.dtype, {packed.shape[0], c.shape[1]}, packed.strides}, c,
                attrs.boolean(false));
}

namespace {
const Registered here{{"matmul", &matmul}, {"pack_matrix", &pack_matrix}, {"matmul_packed", &matmul_packed}};
}  // namespace

}  // namespace lib

}  // namespace tandem::cuda
