// Composites that move elements: rolled, flipped, rotated; and differences of neighbours.
#include <algorithm>

#include "eager/helpers.h"
#include "eager/memory_format.h"
#include "eager/ops.h"
#include "runtime/base/pieces.h"

namespace tandem::ops {
namespace {

/// For each dim of `x` all of it.
std::vector<PieceList> wholeDims(const Tensor& x) {
  std::vector<PieceList> pieces;
  for (std::int64_t n : x.shape()) pieces.push_back({{0, 1, n}});
  return pieces;
}

/// Those pieces of each dim of `x`, which lie in the order in which its dims do.
Tensor takenAsLies(const Tensor& x, const std::vector<PieceList>& pieces) {
  const Dims order = orderOfStrides(x.shape(), {&x.strides(), 1});
  std::vector<PieceList> placed;
  for (auto d : order) placed.push_back(pieces[static_cast<std::size_t>(d)]);
  return laidOut(x, order, [&](const Tensor& t) { return take_pieces(t, 0, packPieces(placed)); });
}

}  // namespace

Tensor ravel(const Tensor& x) { return view(contiguous(x), Dims{-1}); }

Tensor roll(const Tensor& x, DimsRef shifts, DimsRef dims) {
  if (shifts.empty()) fail("`shifts` required");
  if (dims.empty() && shifts.size() == 1) return view(roll(ravel(contiguous(x)), shifts, Dims{0}), x.shape());
  if (shifts.size() != dims.size())
    fail("shifts and dimensions must align. shifts: ", shifts.size(), ", dims:", dims.size());
  if (x.numel() == 0) return clone(x);
  if (x.dim() == 0)
    fail<IndexError>("Dimension specified as ", dims.empty() ? 0 : dims[0], " but tensor has no dimensions");
  std::vector<PieceList> pieces = wholeDims(x);
  Dims total(static_cast<std::size_t>(x.dim()), 0);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    std::int64_t d = wrapDim(dims[i], x.dim());
    const std::int64_t n = x.shape()[d];
    std::int64_t by = total[d] = ((total[d] + shifts[i] % n) % n + n) % n;
    pieces[static_cast<std::size_t>(d)] = {{n - by, 1, by}, {0, 1, n - by}};
  }
  bool moves = std::any_of(total.begin(), total.end(), [](std::int64_t by) { return by != 0; });
  if (!moves) return clone(x);
  // Images stay as they lie, as in PyTorch.
  return isContiguousIn(x, formatOf(x)) ? takenAsLies(x, pieces) : take_pieces(x, 0, packPieces(pieces));
}

Tensor flip(const Tensor& x, DimsRef dims) {
  std::vector<PieceList> pieces = wholeDims(x);
  for (auto d : dims) {
    std::int64_t k = wrapDim(d, x.dim());
    if (x.dim() == 0) continue;
    Piece& p = pieces[static_cast<std::size_t>(k)].front();
    if (p.step < 0) fail("dim ", k, " appears multiple times in the list of dims");
    p = {x.shape()[k] - 1, -1, p.count};
  }
  if (dims.empty() || x.dim() == 0) return clone(x);
  // What lies in another order stays so, as in PyTorch.
  return takenAsLies(x, pieces);
}

Tensor rot90(const Tensor& x, std::int64_t k, DimsRef dims) {
  if (dims.size() != 2) fail("expected total rotation dims == 2, but got dims = ", dims.size());
  if (x.dim() < 2) fail("expected total dims >= 2, but got total dims = ", x.dim());
  std::int64_t from = wrapDim(dims[0], x.dim());
  std::int64_t to = wrapDim(dims[1], x.dim());
  if (from == to) fail("expected rotation dims to be different, but got dim0 = ", dims[0], " and dim1 = ", dims[1]);
  switch ((k % 4 + 4) % 4) {
  case 1:
    return transpose(flip(x, Dims{to}), from, to);
  case 2:
    return flip(x, dims);
  case 3:
    return transpose(flip(x, Dims{from}), from, to);
  default:
    return clone(x);
  }
}

Tensor fliplr(const Tensor& x) {
  if (x.dim() < 2) fail("Input must be >= 2-d.");
  return flip(x, Dims{1});
}
Tensor flipud(const Tensor& x) {
  if (x.dim() < 1) fail("Input must be >= 1-d.");
  return flip(x, Dims{0});
}

Tensor adjoint(const Tensor& x) {
  if (x.dim() == 1) fail("tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor.");
  return x.dim() == 0 ? alias(x) : transpose(x, -2, -1);
}

Tensor narrow_copy(const Tensor& x, std::int64_t dim, std::int64_t start, std::int64_t length) {
  return clone(narrow(x, dim, start, length));
}

Tensor alias_copy(const Tensor& x) { return clone(x); }

Tensor diff(const Tensor& x, std::int64_t n, std::int64_t dim, const Tensor& prepend, const Tensor& append) {
  if (x.dim() == 0) fail("diff expects input to be at least one-dimensional");
  if (n < 0) fail("order must be non-negative but got ", n);
  dim = wrapDim(dim, x.dim());
  if (n == 0) return clone(x);
  std::vector<Tensor> parts;
  if (prepend.defined()) parts.push_back(prepend);
  parts.push_back(x);
  if (append.defined()) parts.push_back(append);
  for (const Tensor& p : parts) {
    if (p.dim() != x.dim()) fail("diff expects prepend or append to be the same dimension as input");
    for (std::int64_t d = 0; d < x.dim(); ++d)
      if (d != dim && p.size(d) != x.size(d))
        fail("diff expects the shape of tensor to prepend or append to match that of input except along dim ", dim,
             ", but got ", shapeText(p.shape()), " for an input of shape ", shapeText(x.shape()));
  }
  Tensor y = parts.size() == 1 ? x : cat(parts, dim);
  std::int64_t size = y.shape()[dim];
  if (n > size) n = size;
  for (; n > 0; --n, --size) {
    Tensor after = narrow(y, dim, std::min<std::int64_t>(1, size), std::max<std::int64_t>(size - 1, 0));
    Tensor before = narrow(y, dim, 0, std::max<std::int64_t>(size - 1, 0));
    y = y.dtype() == DType::Bool ? ne(after, before) : sub(after, before);
  }
  return y;
}

}  // namespace tandem::ops
