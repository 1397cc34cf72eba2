// Linear algebra: Cholesky, LU, QR and triangular systems by kernels of our own, for which the host walks over some
// columns at a time. LU and Cholesky are recursive: the left half of the columns, what they take from the right half,
// which so is products of as great a depth as there are columns, and the right half.
#include "runtime/lib/cuda/linalg.h"

#include <algorithm>

#include "runtime/base/attrs.h"
#include "runtime/base/error.h"
#include "runtime/lib/cuda/operands.h"
#include "runtime/lib/cuda/table.h"
#include "runtime/lib/cuda/texts.h"

namespace tandem::cuda {
namespace lib {
namespace {

constexpr std::int64_t kBlock = 32;  // BLOCK of the texts
constexpr std::int64_t kTile = 64;   // TILE
constexpr std::int64_t kPair = 64;   // PAIR
constexpr std::int64_t kRows = 128;  // ROWS

std::int64_t parts(std::int64_t n, std::int64_t of) { return (n + of - 1) / of; }

/// A text behind matrices.cu.
struct Text {
  Text(const char* name, const char* text) : all(std::string(kMatricesText) + text), source(name, all.c_str()) {}
  std::string all;
  Source source;
};
struct Texts {
  Text linalg{"linalg", kLinalgText};
  Text cholesky{"cholesky", kCholeskyText};
  Text triangular{"triangular", kTriangularText};
  Text panels{"panels", kPanelsText};
  Text reflectors{"reflectors", kReflectorsText};
};
const Texts& texts() {
  static const auto* const all = new Texts;  // never destroyed, as kernels are found by their texts' addresses
  return *all;
}

void identities(const std::string& type, void* to, std::int64_t rows, std::int64_t columns, std::int64_t count) {
  launch(texts().linalg.source.kernel("identity", {{"ELEMENT", type}}), elementwise(rows * columns * count), to, rows,
         columns, count);
}

/// Matrices of elements of some bytes, rows x columns of each; strides in elements.
struct Matrices {
  std::byte* data;
  std::int64_t row, column, each;
};

/// How a block of threads holds a panel of so many rows in its registers (panels.cu). None holds more than kMostRows.
struct PanelShape {
  static constexpr std::int64_t kMostRows = 4096;
  static constexpr std::int64_t kWidthOfMore = 8;  // of a panel with more rows, which stays in memory

  // Few sizes, since each is compiled.
  PanelShape(std::int64_t rows, std::size_t itemSize) {
    const bool isWide = itemSize == 8;
    if (rows <= 1024) {
      threads = rows <= 32 ? 32 : rows <= 128 ? 128 : 256;
      per = rows <= 256 ? 1 : 4;
      width = isWide && threads > 128 ? 16 : 32;
    } else {
      threads = rows <= 2048 ? 512 : 1024;
      per = 4;
      width = (isWide ? 4096 : 8192) / threads;
    }
  }
  std::int64_t threads, per, width;
};

/// The struct of panels.cu.
struct Panel {
  std::byte* data;
  std::int64_t row, each, rows, columns;
};

class Kernels {
 public:
  Kernels(DType t, std::int64_t count) : type_(typeName(t)), itemSize_(itemSize(t)), count_(count) {}

  [[nodiscard]] const Function& operator[](const char* name) const { return of(texts().linalg.source, name); }
  [[nodiscard]] std::int64_t count() const { return count_; }
  /// The matrices that begin at row i, column j of these.
  [[nodiscard]] Matrices at(const Matrices& m, std::int64_t i, std::int64_t j) const {
    Matrices part = m;
    part.data += (i * m.row + j * m.column) * static_cast<std::int64_t>(itemSize_);
    return part;
  }

  /// The lower triangle of l becomes its factor; what is above it is left. `failed`: of each matrix.
  void factorCholesky(const Matrices& l, std::int64_t n, void* failed) const {
    const Workspace diagonals(static_cast<std::size_t>(n * kPair * count_) * itemSize_);
    factorCholesky(l, n, 0, n, diagonals.as(), failed);
    launch(of(texts().cholesky.source, "finishFactor"), elementwise(n * n * count_), l.data, diagonals.as(), failed, n,
           count_);
  }
  void reportFailed(const void* failed, Fault* wrong) const {
    launch(of(texts().cholesky.source, "reportFailed"), elementwise(count_), failed, count_, wrong);
  }

  /// x = a^-1 x, a [n, n] triangular, x [n, m]. An upper triangle is a lower one, read from its end.
  void solve(const Matrices& a, const Matrices& x, std::int64_t n, std::int64_t m, bool upper, bool unit) const {
    Matrices triangle = a;
    Matrices rows = x;
    if (upper) {
      triangle = at(a, n - 1, n - 1);
      triangle.row = -triangle.row, triangle.column = -triangle.column;
      rows = at(x, n - 1, 0);
      rows.row = -rows.row;
    }
    // As many blocks as there may be work for on a device, or blocks that read the triangle for more right sides at
    // once.
    const std::int64_t most = itemSize_ == 8 ? 16 : 32;
    const std::int64_t columns = m == 1 ? 1 : parts(m, most) * count_ >= 128 ? most : 8;
    const std::int64_t threads = n <= kBlock ? 32 : std::min<std::int64_t>(256, parts(n - kBlock, 32) * 32);
    launch(
        texts().triangular.source.kernel("solveTriangular", {{"ELEMENT", type_}, {"COLUMNS", std::to_string(columns)}}),
        blocks(parts(m, columns) * count_, static_cast<unsigned>(threads)), triangle, rows, n, m,
        std::int64_t{unit ? 1 : 0}, count_);
  }

  /// lu: the matrices, which become their factors.
  void factorLu(void* lu, void* swaps, void* order, std::int64_t rows, std::int64_t columns) const {
    launch((*this)["beginOrder"], elementwise(rows * count_), order, rows, count_);
    const std::int64_t most = std::min(rows, columns);
    if (most == 0) return;
    const Workspace moves(static_cast<std::size_t>(2 * kBlock * count_) * sizeof(std::int32_t));
    const Lu all{{static_cast<std::byte*>(lu), columns, 1, rows * columns}, swaps, order, moves.as(), rows, columns};
    factorLu(all, 0, most);
    if (columns > most) takeFromRight(all, 0, most, columns);
  }

  /// a = Q R: R on and above the diagonal, below it the reflectors that Q is made of, with their `taus`, a matrix's
  /// min(rows, columns).
  void factorQr(const Matrices& a, void* taus, std::int64_t rows, std::int64_t columns) const {
    const std::int64_t most = std::min(rows, columns);
    for (std::int64_t j = 0; j < most;) {
      const std::int64_t size = reflectPanel(at(a, j, j), element(taus, j), most, rows - j, most - j);
      applyReflectors(at(a, j, j + size), at(a, j, j), element(taus, j), most, rows - j, size, columns - j - size,
                      true);
      j += size;
    }
  }
  /// The first `columns` columns of that Q.
  void makeQ(const Matrices& a, void* taus, void* q, std::int64_t rows, std::int64_t columns, std::int64_t most) const {
    identities(type_, q, rows, columns, count_);
    const Matrices to{static_cast<std::byte*>(q), columns, 1, rows * columns};
    for (std::int64_t j = parts(most, kBlock) * kBlock; (j -= kBlock) >= 0;)
      applyReflectors(at(to, j, j), at(a, j, j), element(taus, j), most, rows - j, std::min(kBlock, most - j),
                      columns - j, false);
  }

 private:
  /// What is factored, and where what is found goes; strides of the matrices are those of contiguous ones.
  struct Lu {
    Matrices lu;
    void* swaps;
    void* order;
    void* moves;
    std::int64_t rows, columns;
  };

  [[nodiscard]] const Function& of(const Source& text, const char* name) const {
    return text.kernel(name, {{"ELEMENT", type_}});
  }
  [[nodiscard]] const Function& panelKernel(const char* name, const PanelShape& shape) const {
    return texts().panels.source.kernel(name, {{"ELEMENT", type_},
                                               {"THREADS", std::to_string(shape.threads)},
                                               {"PER", std::to_string(shape.per)},
                                               {"WIDTH", std::to_string(shape.width)}});
  }
  [[nodiscard]] void* element(void* array, std::int64_t i) const {
    return static_cast<std::byte*>(array) + i * static_cast<std::int64_t>(itemSize_);
  }

  void subtract(const Matrices& c, const Matrices& a, const Matrices& b, std::int64_t rows, std::int64_t columns,
                std::int64_t depth, bool lower) const {
    launch((*this)["subtract"], blocks(parts(rows, kTile) * parts(columns, kTile) * count_, 256), c, a, b, rows,
           columns, depth, std::int64_t{lower ? 1 : 0}, count_);
  }

  /// Columns [first, end) of factors whose columns before these have been taken from them.
  void factorCholesky(const Matrices& l, std::int64_t n, std::int64_t first, std::int64_t end, void* diagonals,
                      void* failed) const {
    const std::int64_t size = end - first;
    if (size <= kPair) {
      const std::int64_t rest = n - end;
      Grid grid = blocks(std::max<std::int64_t>(1, parts(rest, kRows)) * count_,
                         static_cast<unsigned>(rest == 0 ? kBlock : kRows + kBlock));
      if (rest != 0) grid.sharedBytes = static_cast<unsigned>(kRows * (kPair + 1)) * static_cast<unsigned>(itemSize_);
      launch(of(texts().cholesky.source, "factorBlock"), grid, at(l, first, first), n - first, size, first, diagonals,
             n * kPair, failed, count_);
      return;
    }
    const std::int64_t middle = first + parts(parts(size, kPair), 2) * kPair;
    factorCholesky(l, n, first, middle, diagonals, failed);
    const Matrices left = at(l, middle, first);
    Matrices across = left;
    std::swap(across.row, across.column);
    subtract(at(l, middle, middle), left, across, n - middle, end - middle, middle - first, true);
    factorCholesky(l, n, middle, end, diagonals, failed);
  }

  /// Columns [first, end); rows are exchanged in all columns.
  void factorLu(const Lu& all, std::int64_t first, std::int64_t end) const {
    const std::int64_t rows = all.rows - first;
    const bool isHeld = rows <= PanelShape::kMostRows;
    const PanelShape shape(std::min(rows, PanelShape::kMostRows), itemSize_);
    const std::int64_t width = isHeld ? shape.width : PanelShape::kWidthOfMore;
    const std::int64_t size = end - first;
    if (size > width) {
      const std::int64_t middle = first + parts(parts(size, width), 2) * width;
      factorLu(all, first, middle);
      takeFromRight(all, first, middle, end);
      factorLu(all, middle, end);
      return;
    }
    const Matrices from = at(all.lu, first, first);
    if (!isHeld) {
      launch((*this)["factorColumns"], blocks(count_, 1024), all.lu.data, all.swaps, all.order, all.rows, all.columns,
             first, size, count_);
      return;
    }
    launch(panelKernel("factorPanel", shape), blocks(count_, static_cast<unsigned>(shape.threads)),
           Panel{from.data, from.row, from.each, rows, size}, static_cast<std::int32_t*>(all.swaps) + first,
           std::min(all.rows, all.columns), first, all.moves, count_);
    launch((*this)["exchangeRows"], blocks(parts(all.columns - size + 1, kTile) * count_, kTile), all.lu.data,
           all.order, all.moves, all.rows, all.columns, first, size, width, count_);
  }
  /// What columns [first, middle), which are factored, take from those up to `end`.
  void takeFromRight(const Lu& all, std::int64_t first, std::int64_t middle, std::int64_t end) const {
    const Matrices right = at(all.lu, first, middle);
    solve(at(all.lu, first, first), right, middle - first, end - middle, false, true);
    subtract(at(all.lu, middle, middle), at(all.lu, middle, first), right, all.rows - middle, end - middle,
             middle - first, false);
  }

  /// Makes reflectors of the first columns of a, at most `columns`: of how many.
  std::int64_t reflectPanel(const Matrices& a, void* taus, std::int64_t each, std::int64_t rows,
                            std::int64_t columns) const {
    if (rows <= PanelShape::kMostRows) {
      const PanelShape shape(rows, itemSize_);
      const std::int64_t size = std::min(columns, shape.width);
      launch(panelKernel("reflectPanel", shape), blocks(count_, static_cast<unsigned>(shape.threads)),
             Panel{a.data, a.row, a.each, rows, size}, taus, each, count_);
      return size;
    }
    const std::int64_t size = std::min(columns, kBlock);
    for (std::int64_t j = 0; j < size; ++j) {
      launch(of(texts().reflectors.source, "reflect"), blocks(count_, 1024), at(a, j, j), element(taus, j), each,
             rows - j, count_);
      applyReflectors(at(a, j, j + 1), at(a, j, j), element(taus, j), each, rows - j, 1, size - j - 1, true);
    }
    return size;
  }
  /// c = Q c, or Q^T c, of the Q that `size` reflectors make, with `each` taus a matrix.
  void applyReflectors(const Matrices& c, const Matrices& v, void* taus, std::int64_t each, std::int64_t rows,
                       std::int64_t size, std::int64_t columns, bool transposed) const {
    if (columns == 0) return;
    // Sums over all rows are cut into as many pieces as sizes say: for more blocks.
    const std::int64_t wanted =
        std::clamp<std::int64_t>(rows / 128, 1, rows <= 8192 ? 8 : std::min<std::int64_t>(64, rows / 1024));
    const std::int64_t length = parts(parts(rows, wanted), kBlock) * kBlock;
    const std::int64_t pieces = parts(rows, length);
    const std::int64_t tiles = 1 + parts(columns, kTile);
    const Workspace sums(static_cast<std::size_t>(kBlock * kTile * tiles * pieces * count_) * itemSize_);
    launch(of(texts().reflectors.source, "project"), blocks(tiles * pieces * count_, 128), v, c, sums.as(), rows, size,
           columns, pieces, length, count_);
    const std::int64_t high = itemSize_ == 8 ? 64 : 128;  // HIGH of the text
    launch(of(texts().reflectors.source, "applyReflectors"),
           blocks(parts(rows, high) * parts(columns, kBlock) * count_, 256), v, c, taus, each, sums.as(), rows, size,
           columns, pieces, std::int64_t{transposed ? 1 : 0}, count_);
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
}  // namespace lib

void makeIdentities(const ArrayView& to) {
  const std::size_t r = to.shape.size();
  lib::identities(typeName(to.dtype), to.data, to.shape[r - 2], to.shape[r - 1], lib::countOf(to.shape));
}

namespace lib {

void cholesky(const LibraryCall& call) {
  const ArrayView& out = call.outputs[0];
  const ArrayView& failed = call.outputs[1];
  if (failed.numel() > 0) fill(failed.data, 0, bytesOf(failed));
  if (out.numel() == 0) return;
  cuda::copyArray(call.inputs[0], out);
  const std::int64_t n = out.shape.back();
  const Kernels run(out.dtype, countOf(out.shape));
  run.factorCholesky(matricesOf(out), n, failed.data);
  if (!AttrReader(call.attrs).boolean()) return;
  Fault* wrong = expectNoFault(call, [batched = out.shape.size() > 2](const long long* numbers) {
    const std::string which = batched ? strcat("(Batch element ", numbers[0], "): ") : "";
    fail<LinAlgError>("linalg.cholesky: ", which, "The factorization could not be completed because the input is not ",
                      "positive-definite (the leading minor of order ", numbers[1], " is not positive-definite).");
  });
  run.reportFailed(failed.data, wrong);
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
  launch(Kernels(DType::Float32, count)["orderRows"], blocks(count, 256), swaps.data(), order.data, rows, count, wrong);
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

}  // namespace lib
}  // namespace tandem::cuda
