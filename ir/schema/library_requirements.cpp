// What the functions of runtime/lib need of a call beside the rules of shapes and dtypes: what composites and dispatch
// make sure of, because users are told of it in their terms. One statement an operation; a call of an operation without
// one is not made.
#include <algorithm>
#include <array>
#include <utility>

#include "ir/schema/library_call.h"
#include "ir/schema/shape_rules.h"
#include "runtime/base/attrs.h"
#include "runtime/base/error.h"

namespace tandem::schema {
namespace {

using Call = const ParsedCall&;

void need(Call c, bool holds, const char* what) {
  if (!holds) fail<ValueError>(c.op.name, ": ", what);
}
std::int64_t rankOf(const TensorMeta& m) { return std::ssize(m.shape); }
bool isWide(DType t) { return t == DType::Float32 || t == DType::Float64; }

/// The product of sizes that are not negative, which must stay far from the range of an integer.
std::int64_t product(Call c, DimsRef sizes) {
  std::int64_t n = 1;
  for (const std::int64_t size : sizes)
    need(c, size >= 0 && !__builtin_mul_overflow(n, std::max<std::int64_t>(size, 1), &n), "a size is too large");
  need(c, n <= std::int64_t{1} << 60, "a size is too large");
  return std::ranges::find(sizes, 0) == sizes.end() ? n : 0;
}
/// Numbers of windows: sums and products of two of them stay integers.
void smallNumbers(Call c, DimsRef values, std::int64_t least) {
  for (const std::int64_t v : values) need(c, v >= least && v < std::int64_t{1} << 30, "an attribute is out of range");
}
bool broadcasts(DimsRef from, DimsRef to) {
  if (from.size() > to.size()) return false;
  for (std::size_t d = 0; d < from.size(); ++d)
    if (from[d] != 1 && from[d] != to[to.size() - from.size() + d]) return false;
  return true;
}

void nothing(Call) {}

/// All operands are alike in shape and dtype.
void alike(Call c) {
  for (const TensorMeta& m : c.inputs)
    need(c, m.shape == c.inputs[0].shape && m.dtype == c.inputs[0].dtype, "operands differ in shape or dtype");
}
void float64s(Call c) {
  alike(c);
  need(c, c.inputs[0].dtype == DType::Float64, "operands are not float64");
}
void orthogonalPolynomial(Call c) {
  need(c, c.inputs[1].shape == c.inputs[0].shape, "operands differ in shape");
  need(c, isWide(c.inputs[0].dtype) && c.inputs[1].dtype == DType::Float64,
       "operands are not float32 or float64, and float64");
}
void int64(Call c) { need(c, c.inputs[0].dtype == DType::Int64, "the operand is not int64"); }
void oneInt64(Call c) {
  int64(c);
  need(c, c.inputs[0].shape.empty(), "the operand is no single number");
}
void wideMatrices(Call c) {
  for (const TensorMeta& m : c.inputs) need(c, isWide(m.dtype) && rankOf(m) >= 2, "operands are no wide matrices");
}

// ---- products

void matmul(Call c) {
  const Dims& a = c.inputs[0].shape;
  need(c, !c.inputs[1].shape.empty(), "operands are no matrices");
  product(c, Dims{product(c, a), c.inputs[1].shape.back()});
  if (c.inputs.size() < 3) return;
  const TensorMeta& bias = c.inputs[2];
  need(c,
       rankOf(bias) == 1 && bias.shape[0] == c.inputs[1].shape.back() && isHalf(bias.dtype) &&
           bias.dtype == c.inputs[0].dtype && bias.dtype == c.outputs[0].dtype,
       "the bias does not fit");
}
void packMatrix(Call c) {
  need(c, rankOf(c.inputs[0]) == 2 && isWide(c.inputs[0].dtype), "the operand is no wide matrix");
}
void matmulPacked(Call c) {
  const Dims& packed = c.inputs[1].shape;
  need(c, packed.size() == 2 && isWide(c.inputs[1].dtype), "the packed matrix is none");
  const std::int64_t columns = AttrReader(c.attrs).integer();
  need(c, columns > 1 && columns <= packed[1] && packed[1] - columns < 64 && packed[1] % 64 == 0,
       "the packed matrix has other columns");
  need(c, rankOf(c.inputs[0]) == 2 && c.inputs[0].shape[0] > 1, "the operand has too few rows");
}
void solve(Call c) {
  wideMatrices(c);
  const Dims& a = c.inputs[0].shape;
  const Dims& b = c.inputs[1].shape;
  need(c, a.size() == b.size() && std::equal(a.begin(), a.end() - 2, b.begin()), "batches differ");
  need(c, c.inputs[0].dtype == c.inputs[1].dtype, "operands differ in dtype");
}

void householderProduct(Call c) {
  wideMatrices({c.op, c.inputs.first(1), c.outputs, c.attrs});
  const Dims& a = c.inputs[0].shape;
  const Dims& tau = c.inputs[1].shape;
  need(c, tau.size() + 1 == a.size() && std::equal(tau.begin(), tau.end() - 1, a.begin()), "batches differ");
  need(c, c.inputs[0].dtype == c.inputs[1].dtype, "operands differ in dtype");
  need(c, a[a.size() - 2] >= a.back() && a.back() >= tau.back(), "there are too many columns");
}

// ---- convolutions

/// `attrs` begin with stride, padding, dilation and groups; what follows says how a result lies, not what it is.
/// Returns what is convolved.
TensorMeta convolution(Call c, const TensorMeta& x, const TensorMeta& w, std::span<const std::int64_t> attrs) {
  AttrReader r(attrs);
  std::size_t read = 1;
  for (int k = 0; k < 3; ++k) {
    const DimsRef list = r.list();
    need(c, list.size() == 2, "a list has not two numbers");
    smallNumbers(c, list, 0);
    read += 1 + list.size();
  }
  for (const TensorMeta* m : {&x, &w}) {
    smallNumbers(c, m->shape, 0);
    product(c, m->shape);
  }
  TensorMeta made;
  rules::conv2d(facts(*findOp("conv2d_plain")), std::array{x, w}, attrs.first(read), {&made, 1});
  product(c, Dims{product(c, DimsRef(w.shape).subspan(1)), product(c, DimsRef(made.shape).subspan(2))});
  return made;
}
void conv2d(Call c) { convolution(c, c.inputs[0], c.inputs[1], c.attrs); }
/// The gradients' attributes begin with the shape of what they are the gradient of.
template <bool OfInput>
void convolutionGrad(Call c) {
  const DimsRef shape = AttrReader(c.attrs).list();
  need(c, shape.size() == 4, "a shape has not four sizes");
  TensorMeta of;
  of.shape = Dims(shape);
  of.dtype = c.inputs[0].dtype;
  const TensorMeta made =
      convolution(c, OfInput ? of : c.inputs[1], OfInput ? c.inputs[1] : of, c.attrs.subspan(1 + shape.size()));
  need(c, made.shape == c.inputs[0].shape && made.dtype == c.inputs[0].dtype, "sizes do not fit");
}

/// Images and the columns of their windows: kernel, dilation, padding, stride.
void columns(Call c, DimsRef image, std::int64_t places, AttrReader r) {
  DimsRef lists[4];
  for (DimsRef& list : lists) {
    list = r.list();
    need(c, list.size() == 2, "a list has not two numbers");
    smallNumbers(c, list, &list == &lists[2] ? 0 : 1);
  }
  const auto& [kernel, dilation, padding, stride] = lists;
  smallNumbers(c, image, 0);
  std::int64_t all = 1;
  for (std::size_t d = 0; d < 2; ++d) {
    const std::int64_t room = image[2 + d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1;
    need(c, room >= 0, "the windows are larger than the image");
    all *= room / stride[d] + 1;
  }
  need(c, places < 0 || all == places, "there are other windows than that");
  product(c, Dims{image[1], kernel[0], kernel[1], all});
}
void unfoldWindows(Call c) {
  need(c, rankOf(c.inputs[0]) == 4, "the operand has not four dims");
  columns(c, c.inputs[0].shape, -1, AttrReader(c.attrs));
}
void foldWindows(Call c) {
  AttrReader r(c.attrs);
  const DimsRef size = r.list();
  const DimsRef kernel = AttrReader(r).list();
  const Dims& x = c.inputs[0].shape;
  need(c, x.size() == 3 && size.size() == 2 && kernel.size() == 2, "sizes are missing");
  smallNumbers(c, kernel, 1);
  const std::int64_t places = kernel[0] * kernel[1];
  need(c, x[1] % places == 0, "the columns do not fit the windows");
  columns(c, Dims{x[0], x[1] / places, size[0], size[1]}, x[2], r);
}

// ---- pools

/// Windows of pools, as the composites make them.
void windows(Call c, DimsRef in, DimsRef out, DimsRef kernel, DimsRef stride, DimsRef padding, DimsRef dilation) {
  const std::size_t n = in.size();
  need(c, n >= 1 && n <= 3 && out.size() == n, "a pool has one to three dims");
  smallNumbers(c, in, 1);
  smallNumbers(c, out, 1);
  if (kernel.empty()) return;  // windows that divide the input
  need(c, kernel.size() == n && stride.size() == n && padding.size() == n && (dilation.empty() || dilation.size() == n),
       "a list has another length");
  smallNumbers(c, kernel, 1);
  smallNumbers(c, stride, 1);
  smallNumbers(c, padding, 0);
  smallNumbers(c, dilation, 1);
  for (std::size_t d = 0; d < n; ++d) {
    const std::int64_t reach = (kernel[d] - 1) * (dilation.empty() ? 1 : dilation[d]) + 1;
    need(c, padding[d] <= reach / 2, "the padding is more than half of a window");
    need(c, (out[d] - 1) * stride[d] < in[d] + padding[d], "a window begins behind the input");
  }
}
DimsRef lastSizes(Call c, const TensorMeta& m, std::size_t n) {
  need(c, n <= m.shape.size(), "the operand has too few dims");
  return DimsRef(m.shape).last(n);
}
void maxPool(Call c) {
  AttrReader r(c.attrs);
  const DimsRef kernel = r.list();
  const DimsRef stride = r.list();
  const DimsRef padding = r.list();
  const DimsRef dilation = r.list();
  const DimsRef out = r.list();
  windows(c, lastSizes(c, c.inputs[0], out.size()), out, kernel, stride, padding, dilation);
}
/// Behind the sizes of the input, in gradients.
void average(Call c, DimsRef in, DimsRef out, AttrReader r) {
  const DimsRef kernel = r.list();
  const DimsRef stride = r.list();
  const DimsRef padding = r.list();
  need(c, DimsRef(r.list()).size() == out.size(), "a list has another length");
  windows(c, in, out, kernel, stride, padding, {});
  r.boolean();
  const std::int64_t divisor = r.integer();
  const DType t = c.inputs[0].dtype;
  need(c, isFloating(t) || t == DType::Int64, "means of short integers");
  need(c, isFloating(t) || divisor >= 0, "integers divided by a negative number");
}
void avgPool(Call c) {
  AttrReader r(c.attrs);
  for (int k = 0; k < 3; ++k) r.list();
  const DimsRef out = r.list();
  average(c, lastSizes(c, c.inputs[0], out.size()), out, AttrReader(c.attrs));
}
void avgPoolGrad(Call c) {
  AttrReader r(c.attrs);
  const DimsRef in = r.list();
  need(c, isFloating(c.inputs[0].dtype), "a gradient of integers");
  average(c, in, lastSizes(c, c.inputs[0], in.size()), r);
}
void maxPoolGrad(Call c) {
  const DimsRef in = AttrReader(c.attrs).list();
  need(c, !in.empty(), "a pool has one to three dims");
  lastSizes(c, c.inputs[0], in.size());
  smallNumbers(c, in, 0);
  need(c, c.inputs[1].dtype == DType::Int64 && c.inputs[1].shape == c.inputs[0].shape, "an index an element");
}
void resample(Call c) {
  AttrReader r(c.attrs);
  const std::int64_t dim = r.integer();
  const std::int64_t size = r.integer();
  const std::int64_t mode = r.integer();
  need(c, rankOf(c.inputs[0]) > 0, "the operand has no dims");
  smallNumbers(c, DimsRef{&size, 1}, 1);
  smallNumbers(c, DimsRef(c.inputs[0].shape).subspan(static_cast<std::size_t>(dim), 1), 1);
  need(c, mode >= 0 && mode <= 5, "an unknown mode");
}

/// Of an image of these dims, and with results the size of `made`: read at the places of a grid, or their gradients.
void gridSample(Call c, DimsRef image, const TensorMeta& grid, DimsRef made, AttrReader r) {
  const std::size_t n = image.size() - 2;
  const DimsRef of = grid.shape;
  need(c, (n == 2 || n == 3) && of.size() == n + 2, "images have two or three dims, and grids as many");
  for (const TensorMeta& m : c.inputs)
    need(c, m.dtype == grid.dtype && isFloating(m.dtype), "operands differ in dtype or are integers");
  need(c, of[0] == image[0] && of.back() == static_cast<std::int64_t>(n), "the grid does not fit the image");
  Dims places{image[0], image[1]};
  for (std::size_t d = 0; d < n; ++d) places.push_back(of[1 + d]);
  need(c, std::ranges::equal(made, places), "the gradient does not fit the grid");
  smallNumbers(c, image.subspan(2), 1);
  product(c, image);
  const std::int64_t mode = r.integer();
  const std::int64_t padding = r.integer();
  need(c, mode >= 0 && mode <= (n == 2 ? 2 : 1) && padding >= 0 && padding <= 2, "an unknown mode");
}
void gridSampleForward(Call c) {
  need(c, c.inputs[0].shape.size() >= 2 && c.inputs[0].shape.size() == c.inputs[1].shape.size(), "too few dims");
  gridSample(c, c.inputs[0].shape, c.inputs[1], c.outputs[0].shape, AttrReader(c.attrs));
}
void gridSampleInputGrad(Call c) {
  AttrReader r(c.attrs);
  const DimsRef size = r.list();
  need(c, c.inputs[0].shape.size() >= 2 && c.inputs[0].shape.size() == size.size() + 2, "too few dims");
  Dims image{c.inputs[0].shape[0], c.inputs[0].shape[1]};
  image.append(size.begin(), size.end());
  gridSample(c, image, c.inputs[1], c.inputs[0].shape, r);
}
void gridSampleGridGrad(Call c) {
  need(c, c.inputs[1].shape.size() >= 2, "too few dims");
  gridSample(c, c.inputs[1].shape, c.inputs[2], c.inputs[0].shape, AttrReader(c.attrs));
}

// ---- attention

/// Of which `first` are the query, key and value, and `extras` the first of what may follow: a mask, a key of dropout.
/// Statistics and masks of half types are float32.
void attention(Call c, std::size_t first, std::size_t extras) {
  const DType wide = computeType(c.inputs[0].dtype);
  for (std::size_t k = 0; k < extras; ++k)
    need(c, rankOf(c.inputs[k]) == 4 && c.inputs[k].dtype == (k == 5 ? wide : c.inputs[0].dtype) && isWide(wide),
         "operands differ in dtype or have not four dims");
  const Dims& q = c.inputs[first].shape;
  const Dims& k = c.inputs[first + 1].shape;
  const Dims& v = c.inputs[first + 2].shape;
  need(c, q[0] > 0 && q[1] > 0 && k[1] > 0 && q[1] % k[1] == 0, "heads that cannot be shared");
  need(c, k[0] == q[0] && v[0] == q[0] && v[1] == k[1] && v[2] == k[2] && k[3] == q[3], "sizes do not fit");
  product(c, Dims{q[0], q[1], q[2], std::max<std::int64_t>(k[2], 1)});
  AttrReader r(c.attrs);
  r.boolean();
  std::size_t next = extras;
  if (r.boolean()) {
    need(c, next < c.inputs.size(), "the mask is missing");
    const TensorMeta& mask = c.inputs[next++];
    need(c, mask.shape == Dims{q[0], q[1], q[2], k[2]} && (mask.dtype == DType::Bool || mask.dtype == wide),
         "the mask does not fit");
  }
  need(c, c.inputs.size() - next <= 1, "there are operands that it does not have");
  if (next < c.inputs.size())
    need(c, c.inputs[next].dtype == DType::Int64 && numelOf(c.inputs[next].shape) == 1, "a key is one int64");
}
void attentionForward(Call c) { attention(c, 0, 3); }
void attentionGrad(Call c) {
  attention(c, 1, 6);
  const Dims& q = c.inputs[1].shape;
  const Dims out{q[0], q[1], q[2], c.inputs[3].shape[3]};
  need(c, c.inputs[0].shape == out && c.inputs[4].shape == out && c.inputs[5].shape == Dims{q[0], q[1], q[2], 2},
       "sizes do not fit");
}
void attentionKeep(Call c) {
  need(c, c.inputs[0].dtype == DType::Int64 && numelOf(c.inputs[0].shape) == 1, "a key is one int64");
  product(c, AttrReader(c.attrs).list());
}

// ---- indices

/// An index without elements may be anything, and a source without elements is read by none.
void scatter(Call c) {
  need(c, numelOf(c.inputs[1].shape) == 0 || numelOf(c.inputs[2].shape) > 0, "there is nothing to scatter");
}
void indexSelect(Call c) {
  need(c, rankOf(c.inputs[0]) > 0 || numelOf(c.inputs[1].shape) == 1, "one element is selected from one");
}
/// The operands from `from` on are the indices of as many dims, the first of which is the first attribute.
void indices(Call c, std::size_t from) {
  const std::int64_t first = AttrReader(c.attrs).integer();
  const auto n = std::ssize(c.inputs) - static_cast<std::int64_t>(from);
  need(c, n > 0 && first >= 0 && first <= rankOf(c.inputs[0]) - n, "there are other dims than indices");
  for (const TensorMeta& m : c.inputs.subspan(from))
    need(c, m.shape == c.inputs[from].shape, "index tensors of different shapes");
}
void indexGet(Call c) { indices(c, 1); }
void indexPut(Call c) {
  indices(c, 2);
  const auto first = static_cast<std::size_t>(AttrReader(c.attrs).integer());
  const DimsRef x = c.inputs[0].shape;
  Dims shape(x.first(first));
  shape.append(c.inputs[2].shape.begin(), c.inputs[2].shape.end());
  const DimsRef inner = x.subspan(first + c.inputs.size() - 2);
  shape.append(inner.begin(), inner.end());
  product(c, shape);
  need(c, broadcasts(c.inputs[1].shape, shape), "the values do not fit the indices");
}
/// Of what follows the offsets of an index of one dim, the factors, there is one at most.
void bags(Call c, std::size_t most) {
  const bool offsets = rankOf(c.inputs[1]) == 1;
  need(c, c.inputs.size() <= most + (offsets ? 1 : 0), "there are more factors than one");
  product(c, c.inputs[1].shape);
}
void bagSum(Call c) {
  bags(c, 3);
  AttrReader r(c.attrs);
  r.integer();
  r.boolean();
  need(c, !r.boolean() || isFloating(c.inputs[0].dtype), "integers have no means");
}
void bagMax(Call c) { bags(c, 2); }
void nonzeroRows(Call c) {
  need(c, c.inputs[0].dtype == DType::Bool && AttrReader(c.attrs).integer() >= 0, "the operand is no mask");
}
void expect(Call c) { need(c, c.inputs[1].dtype == DType::Bool, "the expectation is no mask"); }

void multilabelMargins(Call c) {
  need(c, rankOf(c.inputs[0]) == 2 && isFloating(c.inputs[0].dtype), "the operand is no matrix");
  need(c, c.inputs[1].shape == c.inputs[0].shape && c.inputs[1].dtype == DType::Int64, "a label an element");
}

// ---- movement and order

void cat(Call c) {
  for (const TensorMeta& m : c.inputs) need(c, m.dtype == c.inputs[0].dtype, "operands differ in dtype");
}
void takePieces(Call c) {
  AttrReader r(c.attrs);
  auto dim = static_cast<std::size_t>(r.integer());
  const DimsRef packed = r.list();
  const Dims& x = c.inputs[0].shape;
  need(c, !packed.empty(), "no dim has pieces");
  for (std::size_t at = 0; at < packed.size(); ++dim) {
    const std::int64_t pieces = packed[at++];
    need(c, dim < x.size() && pieces >= 0 && static_cast<std::uint64_t>(pieces) <= (packed.size() - at) / 3,
         "pieces of no dim");
    std::int64_t all = 0;
    for (std::int64_t k = 0; k < pieces; ++k, at += 3) {
      const std::int64_t start = packed[at], step = packed[at + 1], count = packed[at + 2];
      std::int64_t last = 0;
      need(c,
           count >= 0 && !__builtin_mul_overflow(std::max<std::int64_t>(count - 1, 0), step, &last) &&
               !__builtin_add_overflow(last, start, &last) && !__builtin_add_overflow(all, count, &all),
           "a piece is too large");
      need(c, count == 0 || (start >= 0 && start < x[dim] && last >= 0 && last < x[dim]), "a piece lies outside");
    }
  }
}
void windowWrite(Call c) {
  AttrReader r(c.attrs);
  const DimsRef size = r.list();
  const DimsRef stride = r.list();
  std::int64_t low = r.integer();
  std::int64_t high = low;
  need(c, c.inputs[0].dtype == c.inputs[1].dtype, "operands differ in dtype");
  need(c, size.size() == stride.size() && size.size() <= 64, "a list has another length");
  product(c, size);
  for (std::size_t d = 0; d < size.size(); ++d) {
    std::int64_t far = 0;
    need(c,
         !__builtin_mul_overflow(std::max<std::int64_t>(size[d] - 1, 0), stride[d], &far) &&
             !__builtin_add_overflow(far < 0 ? low : high, far, far < 0 ? &low : &high),
         "the window is too large");
  }
  const std::int64_t n = numelOf(c.inputs[0].shape);
  need(c, low >= 0 && (high < n || (product(c, size) == 0 && high <= n)), "the window lies outside");
  need(c, broadcasts(c.inputs[1].shape, size), "the value does not fit the window");
}
void searchRows(Call c) {
  const Dims& rows = c.inputs[0].shape;
  const Dims& values = c.inputs[1].shape;
  need(c, !rows.empty() && c.inputs[0].dtype == c.inputs[1].dtype, "operands differ in dtype");
  need(c,
       rows.size() == 1 || (rows.size() == values.size() && std::equal(rows.begin(), rows.end() - 1, values.begin())),
       "there is no row for each row of values");
}
void lexOrder(Call c) { need(c, rankOf(c.inputs[0]) == 2, "the operand has not two dims"); }

constexpr std::pair<std::string_view, void (*)(Call)> kRequirements[] = {
    {"argmax", nothing},
    {"argmin", nothing},
    {"attention_grad", attentionGrad},
    {"attention_keep", attentionKeep},
    {"attention_plain", attentionForward},
    {"avg_pool_grad", avgPoolGrad},
    {"avg_pool_plain", avgPool},
    {"bag_max", bagMax},
    {"bag_sum", bagSum},
    {"binomial_draw", float64s},
    {"cat_plain", cat},
    {"cholesky_plain", wideMatrices},
    {"class_indices", int64},
    {"conv2d_input_grad", convolutionGrad<true>},
    {"conv2d_plain", conv2d},
    {"conv2d_weight_grad", convolutionGrad<false>},
    {"cummax", nothing},
    {"cummin", nothing},
    {"cumprod_plain", nothing},
    {"cumsum_plain", nothing},
    {"eigh_plain", nothing},
    {"eigvalsh_plain", nothing},
    {"expect", expect},
    {"expect_size", oneInt64},
    {"fold_windows", foldWindows},
    {"gamma_cdf_slope_plain", float64s},
    {"gamma_draw", float64s},
    {"gammainc_plain", float64s},
    {"gather", nothing},
    {"gcd_plain", alike},
    {"geqrf", nothing},
    {"grid_sample_grid_grad", gridSampleGridGrad},
    {"grid_sample_input_grad", gridSampleInputGrad},
    {"grid_sample_plain", gridSampleForward},
    {"householder_product_plain", householderProduct},
    {"index_add_plain", nothing},
    {"index_get", indexGet},
    {"index_put_plain", indexPut},
    {"index_select", indexSelect},
    {"kthvalue", nothing},
    {"ldl_plain", nothing},
    {"ldl_solve_plain", nothing},
    {"lex_order", lexOrder},
    {"linear_recurrence", alike},
    {"logcumsumexp_plain", nothing},
    {"lstsq_plain", nothing},
    {"lu_order", nothing},
    {"lu_plain", nothing},
    {"lu_solve_plain", nothing},
    {"matmul_packed", matmulPacked},
    {"matmul_plain", matmul},
    {"matrix_exp_plain", wideMatrices},
    {"max_dim", nothing},
    {"max_pool_grad", maxPoolGrad},
    {"max_pool_plain", maxPool},
    {"max_pool_values", maxPool},
    {"median_dim", nothing},
    {"min_dim", nothing},
    {"mode", nothing},
    {"multilabel_margins", multilabelMargins},
    {"nanmedian_dim", nothing},
    {"nonzero_rows", nonzeroRows},
    {"orthogonal_polynomial_plain", orthogonalPolynomial},
    {"pack_matrix", packMatrix},
    {"poisson_draw", float64s},
    {"qr_plain", nothing},
    {"randperm_plain", nothing},
    {"resample", resample},
    {"resample_grad", resample},
    {"scatter_add", scatter},
    {"scatter_combine", scatter},
    {"scatter_plain", scatter},
    {"search_rows", searchRows},
    {"solve_plain", solve},
    {"sort", nothing},
    {"svd_plain", nothing},
    {"svdvals_plain", nothing},
    {"take_pieces", takePieces},
    {"topk", nothing},
    {"triangular_solve_plain", solve},
    {"unfold_windows", unfoldWindows},
    {"window_write", windowWrite},
    {"zeta_plain", float64s},
};

static_assert(std::ranges::is_sorted(kRequirements, {}, [](const auto& r) { return r.first; }));

/// Null where nothing is known.
const auto* found(std::string_view op) {
  const auto* const at = std::ranges::lower_bound(kRequirements, op, {}, [](const auto& r) { return r.first; });
  return at != std::end(kRequirements) && at->first == op ? at : nullptr;
}

}  // namespace

bool hasRequirements(std::string_view op) { return found(op) != nullptr; }

void checkRequirements(const ParsedCall& call) {
  const auto* requirement = found(call.op.name);
  if (requirement == nullptr) fail<NotImplementedError>(call.op.name, ": nothing says what its function needs");
  requirement->second(call);
}

}  // namespace tandem::schema
