// Composites that cut a tensor into views along a dim.
#include <algorithm>

#include "eager/helpers.h"
#include "eager/number_range.h"
#include "eager/ops.h"
#include "eager/recorder.h"

namespace tandem::ops {
namespace {

/// The dim that hsplit, vsplit or dsplit cuts, which must exist.
std::int64_t cutDim(const char* op, const Tensor& x, std::int64_t dim) {
  if (x.dim() <= dim && !(dim == 1 && x.dim() == 1))
    fail(op, " requires a tensor with at least ", dim == 1 ? 1 : dim + 1, " dimension, but got a tensor with ", x.dim(),
         " dimensions!");
  return std::min(dim, x.dim() - 1);
}

std::vector<Tensor> equalPieces(const char* op, const Tensor& x, std::int64_t dim, std::int64_t sections) {
  dim = cutDim(op, x, dim);
  if (sections <= 0 || x.shape()[dim] % sections != 0)
    fail(op, " attempted to split along dimension ", dim, ", but the size of the dimension ", x.shape()[dim],
         " is not divisible by the split_size ", sections, "!");
  return tensor_split(x, sections, dim);
}

void needDims(const Tensor& x) {
  if (x.dim() == 0)
    fail("tensor_split expected at least a 1-dimensional tensor, but got a tensor with ", x.dim(), " dims");
}

}  // namespace

std::vector<Tensor> tensor_split(const Tensor& x, std::int64_t sections, std::int64_t dim) {
  needDims(x);
  dim = wrapDim(dim, x.dim());
  if (sections <= 0) fail("number of sections must be larger than 0, got ", sections);
  const std::size_t count = pieceCount("tensor_split", sections);
  std::int64_t least = x.shape()[dim] / sections;
  std::int64_t larger = x.shape()[dim] % sections;
  std::vector<Tensor> out;
  out.reserve(count);
  for (std::int64_t i = 0, at = 0; i < sections; ++i) {
    std::int64_t size = least + (i < larger ? 1 : 0);
    out.push_back(slice(x, dim, at, at + size, 1));
    at += size;
  }
  return out;
}

std::vector<Tensor> tensor_split_at(const Tensor& x, DimsRef indices, std::int64_t dim) {
  needDims(x);
  dim = wrapDim(dim, x.dim());
  std::vector<Tensor> out;
  std::int64_t at = 0;
  for (std::int64_t end : indices) {
    out.push_back(slice(x, dim, at, end, 1));
    at = end;
  }
  out.push_back(slice(x, dim, at, x.shape()[dim], 1));
  return out;
}

std::vector<Tensor> tensor_split_tensor(const Tensor& x, const Tensor& at, std::int64_t dim) {
  if (at.dtype() != DType::Int64)
    fail("tensor_split expected tensor_indices_or_sections to have dtype of long, but got ", dtypeName(at.dtype()));
  if (at.dim() > 1)
    fail("tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but got "
         "a tensor with ",
         at.dim(), " dims");
  Tensor all = reshape(at, Dims{-1});
  Dims values;
  for (std::int64_t i = 0; i < all.numel(); ++i) {
    Tensor value = select(all, 0, i);
    values.push_back(learnSize(value));
  }
  return at.dim() == 0 ? tensor_split(x, values[0], dim) : tensor_split_at(x, values, dim);
}

std::vector<Tensor> hsplit(const Tensor& x, std::int64_t sections) { return equalPieces("hsplit", x, 1, sections); }
std::vector<Tensor> vsplit(const Tensor& x, std::int64_t sections) {
  if (x.dim() < 2)
    fail("vsplit requires a tensor with at least 2 dimension, but got a tensor with ", x.dim(), " dimensions!");
  return equalPieces("vsplit", x, 0, sections);
}
std::vector<Tensor> dsplit(const Tensor& x, std::int64_t sections) { return equalPieces("dsplit", x, 2, sections); }
std::vector<Tensor> hsplit_at(const Tensor& x, DimsRef indices) {
  return tensor_split_at(x, indices, cutDim("hsplit", x, 1));
}
std::vector<Tensor> vsplit_at(const Tensor& x, DimsRef indices) {
  if (x.dim() < 2)
    fail("vsplit requires a tensor with at least 2 dimension, but got a tensor with ", x.dim(), " dimensions!");
  return tensor_split_at(x, indices, 0);
}
std::vector<Tensor> dsplit_at(const Tensor& x, DimsRef indices) {
  return tensor_split_at(x, indices, cutDim("dsplit", x, 2));
}

std::vector<Tensor> split_with_sizes(const Tensor& x, DimsRef sizes, std::int64_t dim) {
  return split_sizes(x, sizes, dim);
}
namespace {
std::vector<Tensor> mayBeWritten(std::vector<Tensor> pieces) {
  for (const Tensor& t : pieces)
    if (t.impl()->origin == ViewOrigin::Piece) t.impl()->origin = ViewOrigin::Plain;
  return pieces;
}
}  // namespace

std::vector<Tensor> unsafe_chunk(const Tensor& x, std::int64_t chunks, std::int64_t dim) {
  return mayBeWritten(chunk(x, chunks, dim));
}
std::vector<Tensor> unsafe_split(const Tensor& x, std::int64_t size, std::int64_t dim) {
  return mayBeWritten(split(x, size, dim));
}
std::vector<Tensor> unsafe_split_with_sizes(const Tensor& x, DimsRef sizes, std::int64_t dim) {
  return mayBeWritten(split_sizes(x, sizes, dim));
}

}  // namespace tandem::ops
