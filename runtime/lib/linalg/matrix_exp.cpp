// Exponentials of matrices: the quotient of two polynomials p(A) / p(-A) of the degree that serves a small norm, of A
// over a power of two, and squares of it. Source: Higham, "The scaling and squaring method for the matrix exponential
// revisited", 2005, with its limits of norms.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/lib/linalg/batch.h"
#include "runtime/lib/linalg/blocks.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

struct Degree {
  int degree;
  double norm;  // the largest that it serves
};
constexpr std::array<Degree, 3> kFloatDegrees{
    {{3, 4.258730016922831e-1}, {5, 1.880152677804762}, {7, 3.925724783138660}}};
constexpr std::array<Degree, 5> kDoubleDegrees{{{3, 1.495585217958292e-2},
                                                {5, 2.539398330063230e-1},
                                                {7, 9.504178996162932e-1},
                                                {9, 2.097847961257068},
                                                {13, 5.371920351148152}}};

/// The lowest degree that serves the norm, or the highest.
template <class T>
Degree degreeFor(double norm) {
  const auto lowest = [&](const auto& degrees) {
    std::size_t i = 0;
    while (i + 1 < degrees.size() && norm > degrees[i].norm) ++i;
    return degrees[i];
  };
  return std::is_same_v<T, float> ? lowest(kFloatDegrees) : lowest(kDoubleDegrees);
}

/// Matrices n x n, one after another.
template <class T>
class Exponential {
 public:
  explicit Exponential(std::int64_t n) : n_(n), size_(n * n), memory_(kMatrices * size_) {}

  void run(const T* a, T* out) {
    const double norm = largestColumn(a);
    if (!std::isfinite(norm)) {
      std::fill_n(out, size_, std::numeric_limits<T>::quiet_NaN());
      return;
    }
    const Degree enough = degreeFor<T>(norm);
    int squares = 0;
    if (norm > enough.norm) std::frexp(norm / enough.norm, &squares);
    const T factor = std::ldexp(T(1), -squares);
    for (std::int64_t i = 0; i < size_; ++i) matrix(kScaled)[i] = a[i] * factor;
    quotient(enough.degree, out);
    for (int i = 0; i < squares; ++i) {
      multiply(out, out, matrix(kScaled));
      std::copy_n(matrix(kScaled), size_, out);
    }
  }

 private:
  // Places in memory: A, its even powers (A^2 first, up to A^8), the odd and the even part of p.
  enum : int { kScaled, kPowers, kOdd = kPowers + 4, kEven, kMatrices };

  [[nodiscard]] T* matrix(int i) const { return memory_.data() + i * size_; }
  void multiply(const T* a, const T* b, T* to) const { gemm(n_, n_, n_, Matrix<T>{a, n_, 1}, Matrix<T>{b, n_, 1}, to); }
  [[nodiscard]] double largestColumn(const T* a) const {
    std::fill_n(matrix(kOdd), n_, T());
    for (std::int64_t i = 0; i < size_; i += n_)
      for (std::int64_t j = 0; j < n_; ++j) matrix(kOdd)[j] += std::abs(a[i + j]);
    double largest = 0;
    for (std::int64_t j = 0; j < n_; ++j) {
      if (!std::isfinite(matrix(kOdd)[j])) return std::numeric_limits<double>::quiet_NaN();
      largest = std::max(largest, static_cast<double>(matrix(kOdd)[j]));
    }
    return largest;
  }
  /// to = sum of c[i] A^2i for i < count, or, where it has a value, added to it.
  void combine(const double* c, int count, T* to, bool add) const {
    for (std::int64_t i = 0; i < size_; ++i) {
      T sum = add ? to[i] : T();
      for (int k = count - 1; k > 0; --k) sum += static_cast<T>(c[2 * k]) * matrix(kPowers + k - 1)[i];
      to[i] = sum;
    }
    for (std::int64_t i = 0; i < n_; ++i) to[i * n_ + i] += static_cast<T>(c[0]);
  }
  /// The terms c[0], c[2], ... of an even polynomial of `terms` terms, of which the powers up to A^6 (A^8) are there.
  void even(const double* c, int terms, T* to, T* between) const {
    if (terms <= 5) return combine(c, terms, to, false);
    // Above A^6 the terms are A^6 times such up to A^6.
    std::array<double, 8> high{};
    for (int k = 4; k < terms; ++k) high[static_cast<std::size_t>(2 * (k - 3))] = c[2 * k];
    combine(high.data(), terms - 3, between, false);
    multiply(matrix(kPowers + 2), between, to);
    combine(c, 4, to, true);
  }
  /// out = p(-A)^-1 p(A), where p = even + odd.
  void quotient(int degree, T* out) const {
    std::array<double, 16> c{1};
    for (int j = 1; j <= degree; ++j)
      c[static_cast<std::size_t>(j)] =
          c[static_cast<std::size_t>(j - 1)] * (degree - j + 1) / (double(2 * degree - j + 1) * j);
    multiply(matrix(kScaled), matrix(kScaled), matrix(kPowers));
    const int powers = degree == 13 ? 3 : (degree - 1) / 2;
    for (int k = 1; k < powers; ++k) multiply(matrix(kPowers), matrix(kPowers + k - 1), matrix(kPowers + k));
    const int terms = (degree + 1) / 2;
    even(c.data() + 1, terms, matrix(kEven), out);
    multiply(matrix(kScaled), matrix(kEven), matrix(kOdd));
    even(c.data(), terms, matrix(kEven), out);
    for (std::int64_t i = 0; i < size_; ++i) {
      out[i] = matrix(kEven)[i] + matrix(kOdd)[i];
      matrix(kEven)[i] -= matrix(kOdd)[i];
    }
    solveSystem(matrix(kEven), out, n_, n_);
  }

  std::int64_t n_, size_;
  Scratch<T> memory_;
};

}  // namespace

void matrix_exp(const LibraryCall& call) {
  const Contiguous in(call.inputs[0]);
  const ArrayView& out = call.outputs[0];
  if (out.numel() == 0) return;
  const std::int64_t n = out.shape.back();
  withFloating(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    forEachMatrix(out.numel() / (n * n), 16 * n * n * n, [&](std::int64_t begin, std::int64_t end) {
      Exponential<T> exponential(n);
      for (std::int64_t i = begin; i < end; ++i) exponential.run(in.as<T>() + i * n * n, out.as<T>() + i * n * n);
    });
  });
}

}  // namespace tandem::lib
