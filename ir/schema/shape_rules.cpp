#include "ir/schema/shape_rules.h"

#include <string>

#include "runtime/base/attrs.h"
#include "runtime/base/error.h"
#include "runtime/base/pieces.h"
#include "runtime/base/warn.h"

namespace tandem::rules {
namespace {

using Metas = std::span<const TensorMeta>;
using Attrs = std::span<const std::int64_t>;

std::string name(const OpFacts& op) { return std::string(op.name); }
void set(TensorMeta& m, Dims shape, DType dtype) {
  m.shape = std::move(shape);
  m.dtype = dtype;
}
void needIndex(const OpFacts& op, const TensorMeta& index) {
  if (index.dtype != DType::Int64 && index.dtype != DType::Int32)
    fail(op.name, "(): Expected dtype int32/int64 for index, but got ", dtypeClassName(index.dtype));
}
void needSameDType(const OpFacts& op, const TensorMeta& a, const TensorMeta& b) {
  if (a.dtype != b.dtype)
    fail(name(op), "(): Expected self.dtype to be equal to src.dtype, but got ", dtypeName(a.dtype), " and ",
         dtypeName(b.dtype));
}
std::int64_t rankOf(const TensorMeta& m) { return static_cast<std::int64_t>(m.shape.size()); }

/// A reduction without a first element, of dims without elements.
[[noreturn]] void failEmpty(const OpFacts& op, const Dims& shape, DimsRef dims) {
  for (auto d : dims)
    if (shape[d] == 0)
      fail<IndexError>(op.name, "(): Expected reduction dim ", d, " to have non-zero size.", " (shape ",
                       shapeText(shape), ")");
  fail<InternalError>(op.name, " of no empty dim");
}

void needNoBool(Metas operands) {
  bool first = operands[0].dtype == DType::Bool;
  bool second = operands[1].dtype == DType::Bool;
  if (first && second)
    fail("Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
         "operator "
         "instead.");
  if (first || second)
    fail("Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use "
         "the `~` or `logical_not()` operator instead.");
}

}  // namespace

void pointwise(const OpFacts& op, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  Dims shape;
  bool first = true;
  for (const auto& m : operands) {
    if (m.weak || m.absent) continue;
    if (first) {
      shape = m.shape;
      first = false;
    } else if (!(m.shape == shape)) {
      shape = broadcastShapes(op.name.data(), shape, m.shape);
    }
  }
  auto [computed, dtype] = pointwiseTypes(op, operands, attrs);
  if (!inDomain(op.domain, computed))
    fail<NotImplementedError>("\"", op.name, "_cpu\" not implemented for '", dtypeClassName(computed), "'");
  for (auto& r : results) set(r, shape, dtype);
}

void subtraction(const OpFacts& op, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  needNoBool(operands);
  pointwise(op, operands, attrs, results);
}

void selection(const OpFacts& op, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  if (operands[0].dtype != DType::Bool && operands[0].dtype != DType::UInt8)
    fail("where expected condition to be a boolean tensor, but got a tensor with dtype ",
         dtypeClassName(operands[0].dtype));
  if (operands[0].dtype == DType::UInt8) {
    warnOnce("where received a uint8 condition tensor, which is deprecated. Use a boolean condition instead.");
  }
  pointwise(op, operands, attrs, results);
}

void reduction(const OpFacts& op, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  AttrReader r(attrs);
  DimsRef dims = r.list();
  bool keepdim = r.boolean();
  const TensorMeta& x = operands[0];
  std::uint64_t reduced = 0;
  for (auto d : dims) reduced |= std::uint64_t{1} << d;
  Dims shape;
  std::int64_t count = 1;
  for (std::int64_t d = 0; d < rankOf(x); ++d) {
    if ((reduced >> d & 1) == 0) {
      shape.push_back(x.shape[d]);
    } else {
      count *= x.shape[d];
      if (keepdim) shape.push_back(1);
    }
  }
  if (count == 0 && op.dtypeRule == DTypeRule::First) failEmpty(op, x.shape, dims);
  DType dtype = x.dtype;
  if (op.dtypeRule == DTypeRule::Logical) dtype = x.dtype == DType::UInt8 ? DType::UInt8 : DType::Bool;
  if (op.dtypeRule == DTypeRule::Sum) {
    auto given = r.optionalDType();
    dtype = given ? *given : isFloating(x.dtype) ? x.dtype : DType::Int64;
  }
  set(results[0], std::move(shape), dtype);
}

void creation(const OpFacts& op, Metas, Attrs attrs, std::span<TensorMeta> results) {
  AttrReader r(attrs);
  DimsRef size = r.list();
  for (auto s : size)
    if (s < 0) fail(name(op), ": Trying to create tensor with negative dimension ", s, ": ", shapeText(size));
  set(results[0], Dims(size), r.dtype());
}

void sameAsInput(const OpFacts&, Metas operands, Attrs, std::span<TensorMeta> results) {
  set(results[0], operands[0].shape, operands[0].dtype);
}

void sameAsLast(const OpFacts&, Metas operands, Attrs, std::span<TensorMeta> results) {
  set(results[0], operands.back().shape, operands.back().dtype);
}

void cholesky(const OpFacts& op, Metas operands, Attrs, std::span<TensorMeta> results) {
  const Dims& shape = operands[0].shape;
  std::size_t r = shape.size();
  if (r < 2 || shape[r - 1] != shape[r - 2]) fail(name(op), ": expected square matrices, got shape ", shapeText(shape));
  set(results[0], shape, operands[0].dtype);
}

void triangularSolve(const OpFacts& op, Metas operands, Attrs, std::span<TensorMeta> results) {
  const Dims& a = operands[0].shape;
  const Dims& b = operands[1].shape;
  std::size_t r = a.size();
  if (r < 2 || b.size() != r || a[r - 1] != a[r - 2] || a[r - 1] != b[r - 2])
    fail(name(op), ": shapes ", shapeText(a), " and ", shapeText(b), " do not fit");
  set(results[0], b, operands[1].dtype);
}

namespace {
/// The dtype of a sum of products of this one, by the flag `wide`.
DType wideType(DType dtype, AttrReader& flags) {
  return flags.boolean(false) && isHalf(dtype) ? DType::Float32 : dtype;
}
}  // namespace

void matmul(const OpFacts&, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  const TensorMeta& a = operands[0];
  const TensorMeta& b = operands[1];
  std::size_t r = a.shape.size();
  bool fits = r >= 2 && b.shape.size() == r && a.shape[r - 1] == b.shape[r - 2];
  for (std::size_t d = 0; fits && d + 2 < r; ++d) fits = a.shape[d] == b.shape[d];
  if (!fits) fail("matmul: shapes do not fit: ", shapeText(a.shape), " @ ", shapeText(b.shape));
  if (a.dtype != b.dtype)
    fail("matmul: expected both operands to have the same dtype, but got ", dtypeName(a.dtype), " and ",
         dtypeName(b.dtype), " for ", shapeText(a.shape), " @ ", shapeText(b.shape));
  if (a.dtype == DType::Bool)
    fail<NotImplementedError>("\"matmul_cpu\" not implemented for 'Bool', ", shapeText(a.shape), " @ ",
                              shapeText(b.shape));
  Dims shape = a.shape;
  shape[r - 1] = b.shape[r - 1];
  AttrReader flags(attrs);
  flags.boolean(false);
  set(results[0], std::move(shape), wideType(a.dtype, flags));
}

// Columns as `packedColumns` of runtime/lib/matmul/gemm.h.
void packMatrix(const OpFacts&, Metas operands, Attrs, std::span<TensorMeta> results) {
  const Dims& shape = operands[0].shape;
  set(results[0], Dims{shape[0], (shape[1] + 63) / 64 * 64}, operands[0].dtype);
}

void matmulPacked(const OpFacts& op, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  const Dims& a = operands[0].shape;
  if (a.size() != 2 || a[1] != operands[1].shape[0] || operands[0].dtype != operands[1].dtype)
    fail(name(op), ": ", shapeText(a), " and a packed matrix of ", operands[1].shape[0], " rows do not fit");
  set(results[0], Dims{a[0], AttrReader(attrs).integer()}, operands[0].dtype);
}

void windowWrite(const OpFacts&, Metas operands, Attrs, std::span<TensorMeta> results) {
  set(results[0], operands[0].shape, operands[0].dtype);
}

namespace {
/// A convolution's result of this shape, by the flags that follow the number of groups.
void setConvolved(Dims shape, DType dtype, AttrReader flags, TensorMeta& result) {
  flags.boolean(true), flags.boolean(false);
  if (flags.boolean(false)) shape = Dims{shape[0], shape[2], shape[3], shape[1]};
  set(result, std::move(shape), wideType(dtype, flags));
}
void convolutionGrad(Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  AttrReader r(attrs);
  const DimsRef shape = r.list();
  for (int list = 0; list < 3; ++list) r.list();
  r.integer();
  setConvolved(Dims(shape), operands[0].dtype, r, results[0]);
}
}  // namespace

void conv2d(const OpFacts&, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  const auto& x = operands[0].shape;
  const auto& w = operands[1].shape;
  AttrReader r(attrs);
  DimsRef stride = r.list();
  DimsRef padding = r.list();
  DimsRef dilation = r.list();
  std::int64_t groups = r.integer();
  if (x.size() != 4 || w.size() != 4)
    fail("conv2d: Expected 3D (unbatched) or 4D (batched) input and 4D weight, but got input of size: ", shapeText(x),
         " and weight of size: ", shapeText(w));
  if (operands[0].dtype != operands[1].dtype)
    fail("conv2d: Input type (", dtypeName(operands[0].dtype), ") and weight type (", dtypeName(operands[1].dtype),
         ") should be the same");
  if (groups <= 0 || w[0] % groups != 0 || x[1] != w[1] * groups)
    fail("conv2d: Given groups=", groups, ", weight of size ", shapeText(w), ", expected input", shapeText(x),
         " to have ", w[1] * std::max<std::int64_t>(groups, 1), " channels, but got ", x[1], " channels instead");
  Dims shape{x[0], w[0], 0, 0};
  for (int d = 0; d < 2; ++d) {
    if (stride[d] <= 0 || dilation[d] <= 0 || padding[d] < 0)
      fail("conv2d: stride ", shapeText(stride), " and dilation ", shapeText(dilation), " must be positive, padding ",
           shapeText(padding), " must not be negative");
    std::int64_t reach = dilation[d] * (w[2 + d] - 1) + 1;
    std::int64_t room = x[2 + d] + 2 * padding[d] - reach;
    if (room < 0)
      fail("conv2d: Calculated padded input size per channel: (", x[2] + 2 * padding[0], " x ", x[3] + 2 * padding[1],
           "). Kernel size: (", dilation[0] * (w[2] - 1) + 1, " x ", dilation[1] * (w[3] - 1) + 1,
           "). Kernel size can't be greater than actual input size");
    shape[2 + d] = room / stride[d] + 1;
  }
  setConvolved(std::move(shape), operands[0].dtype, r, results[0]);
}

void conv2dInputGrad(const OpFacts&, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  convolutionGrad(operands, attrs, results);
}
void conv2dWeightGrad(const OpFacts&, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  convolutionGrad(operands, attrs, results);
}

namespace {
std::int64_t sizeOf(const TensorMeta& m, std::size_t d) { return m.shape.empty() ? 1 : m.shape[d]; }
/// Is `index` no larger than `x`, apart from dim `except`? A 0-d tensor counts as a vector of one element.
bool within(const TensorMeta& index, const TensorMeta& x, std::int64_t except) {
  for (std::size_t d = 0; d < index.shape.size(); ++d)
    if (static_cast<std::int64_t>(d) != except && index.shape[d] > sizeOf(x, d)) return false;
  return true;
}
/// An index of one integer an element, of the rank of `x`. Without elements it may be of any type and rank, as in
/// PyTorch.
void needElementIndex(const OpFacts& op, const TensorMeta& x, const TensorMeta& index) {
  if (numelOf(index.shape) == 0) return;
  if (index.dtype != DType::Int64 && index.dtype != DType::Int32)
    fail(name(op), "(): Expected dtype int32/int64 for index, but got ", dtypeName(index.dtype));
  if (std::max<std::int64_t>(rankOf(index), 1) != std::max<std::int64_t>(rankOf(x), 1))
    fail(name(op), "(): Index tensor must have the same number of dimensions as input tensor, but got index ",
         shapeText(index.shape), " and input ", shapeText(x.shape));
}
}  // namespace

void gather(const OpFacts& op, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  const TensorMeta& x = operands[0];
  const TensorMeta& index = operands[1];
  needElementIndex(op, x, index);
  std::int64_t dim = AttrReader(attrs).integer();
  if (numelOf(index.shape) != 0 && !within(index, x, dim))
    fail(name(op), "(): Size does not match at a dimension: expected index ", shapeText(index.shape),
         " to be no larger than self ", shapeText(x.shape), " apart from dimension ", dim);
  set(results[0], operands[1].shape, operands[0].dtype);
}

void scatter(const OpFacts& op, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  const TensorMeta& index = operands[1];
  needElementIndex(op, operands[0], index);
  needSameDType(op, operands[0], operands[2]);
  std::int64_t dim = AttrReader(attrs).integer();
  bool fits = rankOf(index) == 0 || rankOf(operands[2]) == 0 || rankOf(operands[2]) == rankOf(index);
  if (numelOf(index.shape) != 0 && !(fits && within(index, operands[0], dim) && within(index, operands[2], -1)))
    fail(name(op), "(): Expected index ", shapeText(index.shape), " to be no larger than self ",
         shapeText(operands[0].shape), " apart from dimension ", dim, " and to be no larger size than src ",
         shapeText(operands[2].shape));
  set(results[0], operands[0].shape, operands[0].dtype);
}

void indexSelect(const OpFacts& op, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  needIndex(op, operands[1]);
  if (rankOf(operands[1]) > 1)
    fail<IndexError>("index_select(): Index is supposed to be a vector, but got shape ", shapeText(operands[1].shape));
  Dims shape = operands[0].shape;
  const std::int64_t count = numelOf(operands[1].shape);
  if (shape.empty() && count != 1)
    fail("index_select(): Index to scalar can have only 1 value, got ", count, " value(s)");
  if (!shape.empty()) shape[AttrReader(attrs).integer()] = count;
  set(results[0], std::move(shape), operands[0].dtype);
}

namespace {
/// How many bags there are.
std::int64_t countBags(const OpFacts& op, Metas operands, Attrs attrs) {
  const TensorMeta& weight = operands[0];
  const TensorMeta& index = operands[1];
  needIndex(op, index);
  if (rankOf(weight) != 2 || rankOf(index) < 1 || rankOf(index) > 2)
    fail(op.name, "(): expected weight [rows, width] and an index of one or two dims, but got ",
         shapeText(weight.shape), " and ", shapeText(index.shape));
  std::int64_t count = index.shape[0];
  if (rankOf(index) == 1) {
    if (operands.size() < 3 || rankOf(operands[2]) != 1) fail(op.name, "(): expected offsets of one dim");
    needIndex(op, operands[2]);
    AttrReader r(attrs);
    r.integer();
    count = operands[2].shape[0] - (r.boolean() ? 1 : 0);
    if (count < 0) fail(op.name, "(): the last offset is missing");
  }
  for (const TensorMeta& factors : operands.subspan(rankOf(index) == 1 ? 3 : 2)) {
    needSameDType(op, weight, factors);
    if (!(factors.shape == index.shape))
      fail(op.name, "(): expected factors in the shape of the index, ", shapeText(index.shape), ", but got ",
           shapeText(factors.shape));
  }
  return count;
}
}  // namespace

void bagSum(const OpFacts& op, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  const std::int64_t count = countBags(op, operands, attrs);
  set(results[0], Dims{count, operands[0].shape[1]}, operands[0].dtype);
  set(results[1], Dims{count}, DType::Int64);
}

void bagMax(const OpFacts& op, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  const std::int64_t count = countBags(op, operands, attrs);
  set(results[0], Dims{count, operands[0].shape[1]}, operands[0].dtype);
  set(results[1], Dims{count, operands[0].shape[1]}, DType::Int64);
}

void multilabelMargins(const OpFacts&, Metas operands, Attrs, std::span<TensorMeta> results) {
  set(results[0], Dims{operands[0].shape[0]}, operands[0].dtype);
  results[1] = operands[0];
}

void takePieces(const OpFacts&, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  AttrReader r(attrs);
  auto d = static_cast<std::size_t>(r.integer());
  Dims shape = operands[0].shape;
  for (const PieceList& pieces : unpackPieces(r.list())) shape[d++] = countOf(pieces);
  set(results[0], std::move(shape), operands[0].dtype);
}

void indexAdd(const OpFacts& op, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  if (!isInteger(operands[1].dtype))
    fail(name(op), "(): Expected integers for index, but got ", dtypeClassName(operands[1].dtype));
  needSameDType(op, operands[0], operands[2]);
  const Dims& self = operands[0].shape;
  const Dims& source = operands[2].shape;
  std::int64_t dim = AttrReader(attrs).integer();
  std::int64_t count = numelOf(operands[1].shape);
  if (rankOf(operands[1]) > 1)
    fail<IndexError>(name(op), "(): Index is supposed to be a vector, but got shape ", shapeText(operands[1].shape));
  std::int64_t has = dim < rankOf(operands[2]) ? source[dim] : 1;
  if (has != count)
    fail(name(op), "(): Number of indices (", count, ") should be equal to source.size(dim): (", has,
         "), for dim: ", dim);
  Dims expected = self;
  if (!expected.empty()) expected[dim] = count;
  if (!(source == expected))
    fail(name(op), "(): source tensor shape must match self tensor shape, excluding the specified dimension. ",
         "Got self.shape = ", shapeText(self), " source.shape = ", shapeText(source));
  set(results[0], self, operands[0].dtype);
}

void indexGet(const OpFacts& op, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  std::int64_t first = AttrReader(attrs).integer();
  const auto& x = operands[0].shape;
  std::size_t n = operands.size() - 1;
  for (const auto& i : operands.subspan(1)) needIndex(op, i);
  Dims shape(x.begin(), x.begin() + first);
  shape.append(operands[1].shape.begin(), operands[1].shape.end());
  shape.append(x.begin() + first + n, x.end());
  set(results[0], std::move(shape), operands[0].dtype);
}

void indexPut(const OpFacts& op, Metas operands, Attrs, std::span<TensorMeta> results) {
  for (const auto& i : operands.subspan(2)) needIndex(op, i);
  needSameDType(op, operands[0], operands[1]);
  set(results[0], operands[0].shape, operands[0].dtype);
}

void valuesAndIndices(const OpFacts&, Metas operands, Attrs, std::span<TensorMeta> results) {
  set(results[0], operands[0].shape, operands[0].dtype);
  set(results[1], operands[0].shape, DType::Int64);
}

namespace {
Dims withoutDim(const TensorMeta& x, std::int64_t dim, bool keepdim) {
  Dims shape = x.shape;
  if (shape.empty()) return shape;
  if (keepdim)
    shape[dim] = 1;
  else
    shape.erase(dim);
  return shape;
}
void needElements(const OpFacts& op, const TensorMeta& x, std::int64_t dim) {
  if (!x.shape.empty() && x.shape[dim] == 0)
    fail<IndexError>(std::string(op.name.substr(0, op.name.find("_dim"))), "(): Expected reduction dim ", dim,
                     " to have non-zero size. (shape ", shapeText(x.shape), ")");
}
}  // namespace

void maxDim(const OpFacts& op, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  AttrReader r(attrs);
  std::int64_t dim = r.integer();
  bool keepdim = r.boolean();
  needElements(op, operands[0], dim);
  Dims shape = withoutDim(operands[0], dim, keepdim);
  set(results[0], shape, operands[0].dtype);
  set(results[1], shape, DType::Int64);
}

void kthvalue(const OpFacts& op, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  AttrReader r(attrs);
  std::int64_t k = r.integer();
  std::int64_t dim = r.integer();
  bool keepdim = r.boolean();
  const TensorMeta& x = operands[0];
  needElements(op, x, dim);
  if (k < 1 || k > (x.shape.empty() ? 1 : x.shape[dim]))
    fail(name(op), "(): selected number k out of range for dimension ", dim);
  Dims shape = withoutDim(x, dim, keepdim);
  set(results[0], shape, x.dtype);
  set(results[1], shape, DType::Int64);
}

void argReduce(const OpFacts& op, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  AttrReader r(attrs);
  auto dim = r.optionalInteger();
  bool keepdim = r.boolean();
  if (dim) {
    needElements(op, operands[0], *dim);
    return set(results[0], withoutDim(operands[0], *dim, keepdim), DType::Int64);
  }
  if (numelOf(operands[0].shape) == 0)
    fail<IndexError>(name(op), "(): Expected reduction dim to be specified for input.numel() == 0, shape ",
                     shapeText(operands[0].shape));
  set(results[0], keepdim ? Dims(operands[0].shape.size(), 1) : Dims(), DType::Int64);
}

void topk(const OpFacts& op, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  AttrReader r(attrs);
  std::int64_t k = r.integer();
  std::int64_t dim = r.integer();
  Dims shape = operands[0].shape;
  std::int64_t size = shape.empty() ? 1 : shape[dim];
  if (k < 0 || k > size)
    fail(name(op), "(): selected index k out of range: k is ", k, ", dim ", dim, " of ", shapeText(shape));
  if (!shape.empty()) shape[dim] = k;
  set(results[0], shape, operands[0].dtype);
  set(results[1], shape, DType::Int64);
}

void cat(const OpFacts&, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  if (operands.empty()) fail<ValueError>("cat(): expected a non-empty list of Tensors");
  std::int64_t dim = AttrReader(attrs).integer();
  Dims shape = operands[0].shape;
  if (shape.empty()) fail("cat(): zero-dimensional tensor (at position 0) cannot be concatenated");
  std::int64_t total = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const auto& s = operands[i].shape;
    bool fits = s.size() == shape.size();
    for (std::size_t d = 0; fits && d < s.size(); ++d) fits = static_cast<std::int64_t>(d) == dim || s[d] == shape[d];
    if (!fits)
      fail("cat(): Sizes of tensors must match except in dimension ", dim, ". Expected ", shapeText(shape), " but got ",
           shapeText(s), " for tensor number ", i, " in the list");
    if (__builtin_add_overflow(total, s[dim], &total)) fail("cat(): the sizes of dimension ", dim, " overflow int64");
  }
  shape[dim] = total;
  set(results[0], std::move(shape), operands[0].dtype);
}

void searchRows(const OpFacts&, Metas operands, Attrs, std::span<TensorMeta> results) {
  set(results[0], operands[1].shape, DType::Int64);
}

void lexOrder(const OpFacts&, Metas operands, Attrs, std::span<TensorMeta> results) {
  set(results[0], Dims{operands[0].shape[0]}, DType::Int64);
}

void randperm(const OpFacts&, Metas, Attrs attrs, std::span<TensorMeta> results) {
  std::int64_t n = AttrReader(attrs).integer();
  if (n < 0) fail("randperm(): n must not be negative, but got ", n);
  set(results[0], Dims{n}, DType::Int64);
}

void nonzeroRows(const OpFacts&, Metas operands, Attrs attrs, std::span<TensorMeta> results) {
  set(results[0], Dims{AttrReader(attrs).integer(), static_cast<std::int64_t>(operands[0].shape.size())}, DType::Int64);
}

}  // namespace tandem::rules
