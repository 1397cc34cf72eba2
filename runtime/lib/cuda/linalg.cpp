// Linear algebra: Cholesky, LU, QR and triangular systems by kernels of our own (linalg.cu), for which the host walks
// over columns or blocks of them.
#include <algorithm>

#include "runtime/base/attrs.h"
#include "runtime/base/error.h"
#include "runtime/lib/cuda/operands.h"
#include "runtime/lib/cuda/table.h"
#include "runtime/lib/cuda/texts.h"

namespace tandem::cuda::lib {
namespace {

constexpr Source kLinalg("linalg", kLinalgText);
constexpr std::int64_t kBlock = 32;  // BLOCK of the text

/// Matrices of elements of some bytes, rows x columns of each; strides in elements.
struct Matrices {
  std::byte* data;
  std::int64_t row, column, each;
};

class Kernels {
 public:
  Kernels(DType t, std::int64_t count) : type_(typeName(t)), itemSize_(itemSize(t)), count_(count) {}

  [[nodiscard]] const Function& operator[](const char* name) const {
    return kLinalg.kernel(name, {{"ELEMENT", type_}});
  }
  [[nodiscard]] std::int64_t count() const { return count_; }
  /// The matrices that begin at row i, column j of these.
  [[nodiscard]] Matrices at(const Matrices& m, std::int64_t i, std::int64_t j) const {
    Matrices part = m;
    part.data += (i * m.row + j * m.column) * static_cast<std::int64_t>(itemSize_);
    return part;
  }
  void subtract(const Matrices& c, const Matrices& a, const Matrices& b, std::int64_t rows, std::int64_t columns,
                std::int64_t depth, bool lower) const {
    const std::int64_t tiles = (rows + kBlock - 1) / kBlock * ((columns + kBlock - 1) / kBlock);
    if (tiles > 0)
      launch((*this)["subtract"], blocks(tiles * count_, 256), c, a, b, rows, columns, depth,
             std::int64_t{lower ? 1 : 0}, count_);
  }
  /// x = a^-1 x, a [n, n] lower triangular, x [n, m].
  void solveLower(const Matrices& a, const Matrices& x, std::int64_t n, std::int64_t m, bool unit) const {
    for (std::int64_t k = 0; k < n; k += kBlock) {
      const std::int64_t size = std::min(kBlock, n - k);
      launch((*this)["solveDiagonal"], elementwise(m * count_), at(a, k, k), at(x, k, 0), size, m,
             std::int64_t{unit ? 1 : 0}, count_);
      subtract(at(x, k + size, 0), at(a, k + size, k), at(x, k, 0), n - k - size, m, size, false);
    }
  }
  /// An upper triangle is a lower one, read from its end.
  void solve(const Matrices& a, const Matrices& x, std::int64_t n, std::int64_t m, bool upper, bool unit) const {
    if (!upper) return solveLower(a, x, n, m, unit);
    Matrices turned = at(a, n - 1, n - 1);
    turned.row = -turned.row, turned.column = -turned.column;
    Matrices rows = at(x, n - 1, 0);
    rows.row = -rows.row;
    solveLower(turned, rows, n, m, unit);
  }
  /// lu: the matrices, which become their factors.
  void factorLu(void* lu, void* swaps, void* order, std::int64_t rows, std::int64_t columns) const {
    const std::int64_t most = std::min(rows, columns);
    const Matrices all{static_cast<std::byte*>(lu), columns, 1, rows * columns};
    launch((*this)["beginOrder"], elementwise(rows * count_), order, rows, count_);
    for (std::int64_t k = 0; k < most; k += kBlock) {
      const std::int64_t size = std::min(kBlock, most - k);
      launch((*this)["factorColumns"], blocks(count_, 256), lu, swaps, order, rows, columns, k, size, count_);
      const std::int64_t rest = columns - k - size;
      if (rest == 0) continue;
      launch((*this)["solveDiagonal"], elementwise(rest * count_), at(all, k, k), at(all, k, k + size), size, rest,
             std::int64_t{1}, count_);
      subtract(at(all, k + size, k + size), at(all, k + size, k), at(all, k, k + size), rows - k - size, rest, size,
               false);
    }
  }
  /// a = Q R: R on and above the diagonal, below it the reflectors that Q is made of, with their `taus`, a matrix's
  /// min(rows, columns).
  void factorQr(const Matrices& a, void* taus, std::int64_t rows, std::int64_t columns) const {
    const std::int64_t most = std::min(rows, columns);
    for (std::int64_t j = 0; j < most; ++j) {
      launch((*this)["reflect"], blocks(count_, 256), at(a, j, j), element(taus, j), most, rows - j, count_);
      applyReflector(at(a, j, j + 1), at(a, j, j), element(taus, j), most, rows - j, columns - j - 1);
    }
  }
  /// The first `columns` columns of that Q.
  void makeQ(const Matrices& a, void* taus, void* q, std::int64_t rows, std::int64_t columns, std::int64_t most) const {
    launch((*this)["identity"], elementwise(rows * columns * count_), q, rows, columns, count_);
    const Matrices to{static_cast<std::byte*>(q), columns, 1, rows * columns};
    for (std::int64_t j = most; j-- > 0;)
      applyReflector(at(to, j, j), at(a, j, j), element(taus, j), most, rows - j, columns - j);
  }

 private:
  [[nodiscard]] void* element(void* array, std::int64_t i) const {
    return static_cast<std::byte*>(array) + i * static_cast<std::int64_t>(itemSize_);
  }
  void applyReflector(const Matrices& c, const Matrices& v, void* tau, std::int64_t each, std::int64_t rows,
                      std::int64_t columns) const {
    launch((*this)["applyReflector"], blocks((columns + kBlock - 1) / kBlock * count_, 256), c, v, tau, each, rows,
           columns, count_);
  }

  std::string type_;
  std::size_t itemSize_;
  std::int64_t count_;
};

std::size_t bytesOf(const ArrayView& x) { return static_cast<std::size_t>(x.numel()) * itemSize(x.dtype); }

/// Contiguous matrices.
Matrices matricesOf(const ArrayView& x) {
  const std::size_t r = x.shape.size();
  return {x.as<std::byte>(), x.shape[r - 1], 1, x.shape[r - 2] * x.shape[r - 1]};
}
std::int64_t countOf(DimsRef shape) { return numelOf(shape.first(shape.size() - 2)); }

}  // namespace

void cholesky(const LibraryCall& call) {
  const ArrayView& out = call.outputs[0];
  const ArrayView& failed = call.outputs[1];
  if (failed.numel() > 0) fill(failed.data, 0, bytesOf(failed));
  if (out.numel() == 0) return;
  cuda::copyArray(call.inputs[0], out);
  const std::int64_t n = out.shape.back();
  const Kernels run(out.dtype, countOf(out.shape));
  const Matrices l = matricesOf(out);
  for (std::int64_t k = 0; k < n; k += kBlock) {
    const std::int64_t size = std::min(kBlock, n - k);
    const std::int64_t rest = n - k - size;
    launch(run["factorDiagonal"], blocks(run.count(), kBlock), run.at(l, k, k), size, k, failed.data, run.count());
    if (rest == 0) break;
    const Matrices below = run.at(l, k + size, k);
    launch(run["factorBelow"], elementwise(rest * run.count()), below, run.at(l, k, k), rest, size, run.count());
    Matrices across = below;
    std::swap(across.row, across.column);
    run.subtract(run.at(l, k + size, k + size), below, across, rest, rest, size, true);
  }
  launch(run["finishFactor"], elementwise(out.numel()), out.data, failed.data, n, run.count());
  if (!AttrReader(call.attrs).boolean()) return;
  Fault* wrong = expectNoFault(call, [batched = out.shape.size() > 2](const long long* numbers) {
    const std::string which = batched ? strcat("(Batch element ", numbers[0], "): ") : "";
    fail<LinAlgError>("linalg.cholesky: ", which, "The factorization could not be completed because the input is not ",
                      "positive-definite (the leading minor of order ", numbers[1], " is not positive-definite).");
  });
  launch(run["reportFailed"], Grid{}, failed.data, run.count(), wrong);
}

void triangular_solve(const LibraryCall& call) {
  const ArrayView& out = call.outputs[0];
  if (out.numel() == 0) return;
  const Dense a(call.inputs[0]);
  cuda::copyArray(call.inputs[1], out);
  AttrReader attrs(call.attrs);
  const bool upper = attrs.integer() != 0;
  const bool unit = attrs.integer() != 0;
  const std::size_t r = out.shape.size();
  Kernels(out.dtype, countOf(out.shape))
      .solve(matricesOf(a.view()), matricesOf(out), out.shape[r - 2], out.shape[r - 1], upper, unit);
}

void lu(const LibraryCall& call) {
  const ArrayView& out = call.outputs[0];
  const std::size_t r = out.shape.size();
  if (call.outputs[2].numel() == 0) return;
  if (out.numel() > 0) cuda::copyArray(call.inputs[0], out);
  Kernels(out.dtype, countOf(out.shape))
      .factorLu(out.data, call.outputs[1].data, call.outputs[2].data, out.shape[r - 2], out.shape[r - 1]);
}

void solve(const LibraryCall& call) {
  const ArrayView& x = call.outputs[0];
  if (x.numel() == 0) return;
  const ArrayView& a = call.inputs[0];
  const Dense b(call.inputs[1]);
  const std::size_t r = x.shape.size();
  const std::int64_t n = x.shape[r - 2];
  const std::int64_t m = x.shape[r - 1];
  const Kernels run(x.dtype, countOf(x.shape));
  const Workspace factors(bytesOf(a));
  const Workspace swaps(static_cast<std::size_t>(n * run.count()) * sizeof(std::int32_t));
  const Workspace order(static_cast<std::size_t>(n * run.count()) * sizeof(std::int64_t));
  const ArrayView lu{factors.as(), a.dtype, a.shape, contiguousStrides(a.shape)};
  cuda::copyArray(a, lu);
  run.factorLu(lu.data, swaps.as(), order.as(), n, n);
  launch(run["permuteRows"], elementwise(x.numel()), b.data(), order.as(), x.data, n, m, std::int64_t{0}, run.count());
  run.solve(matricesOf(lu), matricesOf(x), n, m, false, true);
  run.solve(matricesOf(lu), matricesOf(x), n, m, true, false);
}

void lu_order(const LibraryCall& call) {
  const ArrayView& order = call.outputs[0];
  if (order.numel() == 0) return;
  const std::int64_t rows = order.shape.back();
  const std::int64_t count = order.numel() / rows;
  const Dense swaps(call.inputs[0]);
  Fault* wrong = expectNoFault(call, [rows](const long long* numbers) {
    fail("linalg.lu_solve: pivots must lie between 1 and ", rows, ", got ", numbers[1]);
  });
  launch(Kernels(DType::Float32, count)["orderRows"], elementwise(count), swaps.data(), order.data, rows, count, wrong);
}

void lu_solve(const LibraryCall& call) {
  const ArrayView& x = call.outputs[0];
  if (x.numel() == 0) return;
  const Dense lu(call.inputs[0]);
  const Dense order(call.inputs[1]);
  const Dense b(call.inputs[2]);
  const std::size_t r = x.shape.size();
  const std::int64_t n = x.shape[r - 2];
  const std::int64_t m = x.shape[r - 1];
  const Kernels run(x.dtype, countOf(x.shape));
  Matrices factors = matricesOf(lu.view());
  auto permute = [&](const void* from, const ArrayView& to, bool back) {
    launch(run["permuteRows"], elementwise(x.numel()), from, order.data(), to.data, n, m, std::int64_t{back ? 1 : 0},
           run.count());
  };
  if (!AttrReader(call.attrs).boolean()) {
    permute(b.data(), x, false);
    run.solve(factors, matricesOf(x), n, m, false, true);
    run.solve(factors, matricesOf(x), n, m, true, false);
    return;
  }
  std::swap(factors.row, factors.column);
  const Workspace turned(bytesOf(x));
  const ArrayView solved{turned.as(), x.dtype, x.shape, contiguousStrides(x.shape)};
  cuda::copyArray(b.view(), solved);
  run.solve(factors, matricesOf(solved), n, m, false, false);
  run.solve(factors, matricesOf(solved), n, m, true, true);
  permute(solved.data, x, true);
}

void geqrf(const LibraryCall& call) {
  const ArrayView& packed = call.outputs[0];
  if (packed.numel() == 0) return;
  cuda::copyArray(call.inputs[0], packed);
  const std::size_t r = packed.shape.size();
  Kernels(packed.dtype, countOf(packed.shape))
      .factorQr(matricesOf(packed), call.outputs[1].data, packed.shape[r - 2], packed.shape[r - 1]);
}

void householder_product(const LibraryCall& call) {
  const ArrayView& q = call.outputs[0];
  if (q.numel() == 0) return;
  const Dense vectors(call.inputs[0]);
  const Dense taus(call.inputs[1]);
  const std::size_t r = q.shape.size();
  Kernels(q.dtype, countOf(q.shape))
      .makeQ(matricesOf(vectors.view()), taus.view().data, q.data, q.shape[r - 2], q.shape[r - 1],
             call.inputs[1].shape.back());
}

void qr(const LibraryCall& call) {
  const ArrayView& a = call.inputs[0];
  const ArrayView& q = call.outputs[0];
  const ArrayView& upper = call.outputs[1];
  const std::size_t r = a.shape.size();
  const std::int64_t rows = a.shape[r - 2];
  const std::int64_t columns = a.shape[r - 1];
  const std::int64_t most = std::min(rows, columns);
  const Kernels run(a.dtype, countOf(a.shape));
  if (q.numel() == 0 && upper.numel() == 0) return;
  const Workspace packed(bytesOf(a));
  const Workspace taus(static_cast<std::size_t>(most * run.count()) * itemSize(a.dtype));
  const ArrayView factors{packed.as(), a.dtype, a.shape, contiguousStrides(a.shape)};
  if (a.numel() > 0) {
    cuda::copyArray(a, factors);
    run.factorQr(matricesOf(factors), taus.as(), rows, columns);
    const std::int64_t kept = upper.shape[r - 2];
    launch(run["upperPart"], elementwise(kept * columns * run.count()), matricesOf(factors), upper.data, kept, columns,
           run.count());
  }
  if (q.numel() > 0) run.makeQ(matricesOf(factors), taus.as(), q.data, rows, q.shape[r - 1], most);
}

namespace {
const Registered here{{"cholesky", &cholesky},
                      {"triangular_solve", &triangular_solve},
                      {"lu", &lu},
                      {"lu_order", &lu_order},
                      {"lu_solve", &lu_solve},
                      {"solve", &solve},
                      {"qr", &qr},
                      {"geqrf", &geqrf},
                      {"householder_product", &householder_product}};
}  // namespace

}  // namespace tandem::cuda::lib
