// Composites that search and sort.
#include <algorithm>
#include <bit>
#include <utility>

#include "eager/dispatch.h"
#include "eager/fusion.h"
#include "eager/helpers.h"
#include "eager/kernels.h"
#include "eager/ops.h"
#include "runtime/base/attrs.h"
#include "runtime/base/warn.h"

namespace tandem::ops {
namespace {

/// So many values or fewer are each compared with every one of many elements, in one pass: quicker than a search.
constexpr std::int64_t kComparedAll = 64;

/// Two operands as tensors of their common dtype, without history. Integers are not brought to a narrower one, in which
/// they would be others.
std::pair<Tensor, Tensor> promoted(const Operand& x, const Operand& y) {
  const TensorMeta metas[] = {metaOf(x), metaOf(y)};
  DType common = resultType(metas);
  if (!isFloating(common)) common = promoteTypes(metas[0].dtype, metas[1].dtype);
  auto as = [&](const Operand& o) {
    return o.isTensor() ? toDType(detached(o.tensor()), common) : full_plain(o.scalar(), Dims{}, common);
  };
  return {as(x), as(y)};
}

Tensor places(const char* op, const Tensor& sorted, const Operand& values, bool int32, bool right) {
  auto [rows, x] = promoted(sorted, values);
  for (bool boundary : {true, false})
    if (!(boundary ? rows : x).isContiguous())
      warnOnce(strcat("searchsorted(): ", boundary ? "boundary" : "input value",
                      " tensor is non-contiguous: it is copied, which takes time. This is said once."));
  if (rows.dim() == 0) fail(op, "(): boundaries tensor should have positive dimension, but got 0 dimension");
  bool fits = rows.dim() == 1 || rows.dim() == x.dim();
  for (std::int64_t d = 0; fits && rows.dim() > 1 && d + 1 < rows.dim(); ++d) fits = rows.shape()[d] == x.shape()[d];
  if (!fits)
    fail(op,
         "(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input "
         "value tensor must match, but we got boundaries tensor ",
         shapeText(rows.shape()), " and input value tensor ", shapeText(x.shape()));
  Tensor found = search_rows(rows, x, right);
  return int32 ? toDType(found, DType::Int32) : found;
}

}  // namespace

Tensor searchsorted(const Tensor& sorted, const Operand& values, bool int32, bool right,
                    std::optional<std::string_view> side, const Tensor& sorter) {
  if (side && *side != "left" && *side != "right")
    fail("searchsorted(): side can only be 'left' or 'right' but got ", *side);
  if (side && *side == "left" && right)
    fail("searchsorted(): side and right can't be set to opposites, got side of left while right was True");
  right |= side && *side == "right";
  if (!sorter.defined()) return places("searchsorted", sorted, values, int32, right);
  if (!(sorter.shape() == sorted.shape()))
    fail("searchsorted(): boundary and sorter must have the same size, but got boundary tensor ",
         shapeText(sorted.shape()), " and got sorter tensor ", shapeText(sorter.shape()));
  if (sorter.dtype() != DType::Int64)
    fail("searchsorted(): sorter must be a tensor of long dtype but got dtype ", dtypeName(sorter.dtype()));
  return places("searchsorted", gather(sorted, -1, sorter), values, int32, right);
}

Tensor bucketize(const Operand& values, const Tensor& boundaries, bool int32, bool right) {
  if (boundaries.dim() != 1) fail("boundaries tensor must be 1 dimension, but got dim(", boundaries.dim(), ")");
  return places("bucketize", boundaries, values, int32, right);
}

Tensor isin(const Operand& elements, const Operand& among, bool, bool invert) {
  if (!elements.isTensor() && !among.isTensor())
    fail<TypeError>("isin(): at least one of elements and test_elements must be a Tensor");
  auto [x, all] = promoted(elements, among);
  const Tensor set = reshape(all, Dims{-1});
  if (set.numel() == 0) return full(x.shape(), invert, DType::Bool);
  if (set.numel() <= kComparedAll && worthFusing(x.numel())) {
    FusedScope fused(x);
    Tensor found = eq(x, select(set, 0, 0));
    // The last value repeated up to a power of two: few kernels serve sets of all sizes.
    const auto times = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(set.numel())));
    for (std::int64_t i = 1; i < times; ++i)
      found = logical_or(found, eq(x, select(set, 0, std::min(i, set.numel() - 1))));
    return invert ? logical_not(found) : found;
  }
  Tensor sorted = sort(set, 0)[0];
  // NaN, which a search takes as less than all, is in no set: it goes to the front, by searching the opposites.
  const bool floating = isFloating(x.dtype());
  if (floating) sorted = flip(neg(sorted), Dims{0});
  if (floating) x = neg(x);
  Tensor place = minimum(search_rows(sorted, x, false), set.numel() - 1);
  Tensor nearest = take(sorted, place);
  return invert ? ne(nearest, x) : eq(nearest, x);
}

Tensor msort(const Tensor& x) { return sort(x, 0)[0]; }

}  // namespace tandem::ops
