// matrix_exp: scaling and squaring (matrix_exp.cu). The power series is evaluated as a polynomial in A^4 whose
// coefficients are polynomials in A of degree 3 (Paterson, Stockmeyer, 1973). Its degree, and the norms up to which it
// serves, are those where the error is that of an input within half a unit of the dtype's precision (Al-Mohy, Higham,
// "Computing the action of the matrix exponential", 2011).
#include <array>
#include <utility>

#include "runtime/lib/cuda/matmul.h"
#include "runtime/lib/cuda/operands.h"
#include "runtime/lib/cuda/table.h"
#include "runtime/lib/cuda/texts.h"

namespace tandem::cuda::lib {
namespace {

constexpr Source kMatrixExp("matrix_exp", kMatrixExpText);

struct Series {
  int degree;  // a multiple of 4
  double theta;
};
constexpr Series kFloat32{12, 1.4616615072090335};
constexpr Series kFloat64{16, 0.7802874256626574};

// Squarings that are launched, each for the matrices that need so many: norms up to 2^16 times theta. What is left is
// squared by one block, as small matrices are.
constexpr std::int64_t kLaunched = 16;
constexpr std::int64_t kSmall = 32;

/// The struct of the text.
struct Coefficients {
  std::array<double, 4> of;
  double leading;
};

class Exponential {
 public:
  Exponential(DType dtype, std::int64_t n, std::int64_t count)
      : dtype_(dtype), n_(n), count_(count), size_(static_cast<std::size_t>(n * n * count) * itemSize(dtype)) {}

  void run(const ArrayView& a, void* out) const {
    const Series& series = dtype_ == DType::Float64 ? kFloat64 : kFloat32;
    const Dense given(a);
    const Workspace squarings(static_cast<std::size_t>(count_) * sizeof(std::int32_t));
    const auto* needed = squarings.as<std::int32_t>();
    launch(kernel("countSquarings"), blocks(count_, 256), given.data(), n_, series.theta, needed, count_);
    const Workspace scaled(size_);
    launch(kernel("scale"), elementwise(n_ * n_ * count_), given.data(), needed, scaled.as(), n_ * n_, count_);
    const Workspace even(size_);
    const Workspace odd(size_);
    sum(series.degree, scaled, even.as(), odd.as());
    const std::int64_t done = n_ <= kSmall ? 0 : kLaunched;
    for (std::int64_t k = 0; k < done; ++k)
      squareWhereNeeded(matrices(k % 2 == 0 ? even.as() : odd.as()), matrices(k % 2 == 0 ? odd.as() : even.as()),
                        needed, k);
    launch(kernel("finish"), blocks(count_, 256), even.as(), odd.as(), needed, done, out, n_, count_);
  }

 private:
  [[nodiscard]] const Function& kernel(const char* name) const {
    return kMatrixExp.kernel(name, {{"ELEMENT", typeName(dtype_)}});
  }
  [[nodiscard]] ArrayView matrices(const void* data) const {
    return {const_cast<void*>(data), dtype_, {count_, n_, n_}, {n_ * n_, n_, 1}};
  }

  /// Of full precision, whatever a program allows its own products.
  void product(const void* a, const void* b, void* to) const {
    matrixProduct(matrices(a), matrices(b), matrices(to), false);
  }

  /// The series of the matrices `a`, into `to`; `other` is memory to work in.
  void sum(int degree, const Workspace& a, void* to, void* other) const {
    const Workspace square(size_);
    const Workspace cube(size_);
    const Workspace fourth(size_);
    product(a.as(), a.as(), square.as());
    product(square.as(), a.as(), cube.as());
    product(square.as(), square.as(), fourth.as());
    double factorial = 1;  // of the degree of the next coefficient
    for (int k = 2; k <= degree; ++k) factorial *= k;
    Coefficients c{{}, 1 / factorial};
    const void* rest = fourth.as();
    for (int low = degree - 4; low >= 0; low -= 4) {
      for (int k = 3; k >= 0; --k) {
        factorial /= low + k + 1;
        c.of[static_cast<std::size_t>(k)] = 1 / factorial;
      }
      launch(kernel("addTerms"), elementwise(n_ * n_ * count_), a.as(), square.as(), cube.as(), rest, to, n_, count_,
             c);
      if (low == 0) break;
      product(to, fourth.as(), other);
      rest = other;
      c.leading = 1;
    }
  }

  DType dtype_;
  std::int64_t n_, count_;
  std::size_t size_;
};

}  // namespace

void matrix_exp(const LibraryCall& call) {
  const ArrayView& out = call.outputs[0];
  if (out.numel() == 0) return;
  const std::int64_t n = out.shape.back();
  Exponential(out.dtype, n, out.numel() / (n * n)).run(call.inputs[0], out.data);
}

namespace {
const Registered here{{"matrix_exp", &matrix_exp}};
}  // namespace

}  // namespace tandem::cuda::lib
