#include "runtime/lib/linalg/tridiagonal.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/linalg/middle.h"
#include "runtime/lib/linalg/split_columns.h"

namespace tandem::lib {
namespace {

/// Makes two solved halves, and rho z z^T beside them, one: d and the columns in the order of d.
template <class T>
void merge(double* d, std::vector<double> z, double rho, SplitColumns<T> columns) {
  // What is at most this counts as nothing, beside the matrix.
  const double tolerated =
      4 * static_cast<double>(std::numeric_limits<T>::epsilon()) * std::max(2 * rho, largestOf(d, std::ssize(z)));
  Middle middle(d, std::move(z));
  auto turn = [&](std::int64_t first, std::int64_t second, double c, double s) { columns.turn(first, second, c, s); };
  for (const std::int64_t j : middle.orderBy(std::less())) {
    if (rho * std::abs(middle.z(j)) * std::sqrt(2.0) <= tolerated) continue;
    middle.keep(j, tolerated, 0, turn);
  }
  const Scratch<double> vectors =
      middle.kept().empty() ? Scratch<double>(0) : middle.solve(rho, SecularEquation::Poles::Plain).vectors();
  const std::vector<std::int64_t> order = middle.sort(std::less());
  columns.replace(middle.kept(), vectors.data(), order);
}

template <class T>
class Halves {
 public:
  Halves(double* d, const double* beside, HalvedVectors<T> q) : d_(d), beside_(beside), q_(q) {}

  /// The rows [at, at + n). Parts that are as many as the threads, or more, are each solved by one of them.
  bool solve(std::int64_t at, std::int64_t n) {
    std::vector<Part> parts = {{at, n}}, wholes;
    for (std::int64_t most = n; most > kSmallTridiagonal && std::ssize(parts) < numThreads();) {
      std::vector<Part> halves;
      for (const Part& p : parts) {
        if (p.n <= kSmallTridiagonal) {
          halves.push_back(p);
          continue;
        }
        wholes.push_back(p);
        halves.push_back({p.at, separate(p)});
        halves.push_back({p.at + p.n / 2, p.n - p.n / 2});
      }
      parts = std::move(halves);
      most -= most / 2;
    }
    std::vector<char> solved(parts.size());
    parallelTiles(std::ssize(parts), [&](std::int64_t i) { solved[asSize(i)] = solvePart(parts[asSize(i)]); });
    if (std::ranges::count(solved, 0) > 0) return false;
    for (; !wholes.empty(); wholes.pop_back()) join(wholes.back());
    return true;
  }

 private:
  struct Part {
    std::int64_t at, n;
  };

  bool solvePart(const Part& p) {
    if (p.n <= kSmallTridiagonal) return solveSmall(p.at, p.n);
    const std::int64_t upper = separate(p);
    if (!solvePart({p.at, upper}) || !solvePart({p.at + upper, p.n - upper})) return false;
    join(p);
    return true;
  }
  /// Takes what the halves have between them from the diagonal; returns the rows of the first.
  std::int64_t separate(const Part& p) {
    const std::int64_t upper = p.n / 2;
    const double between = std::abs(beside_[p.at + upper - 1]);
    d_[p.at + upper - 1] -= between;
    d_[p.at + upper] -= between;
    return upper;
  }
  void join(const Part& p) {
    const auto [at, n] = p;
    const std::int64_t upper = n / 2;
    const double between = beside_[at + upper - 1];
    const T* last = q_.lastOfUpper(at, upper);
    const T* first = q_.firstOfLower(at, upper);
    std::vector<double> z(asSize(n));
    for (std::int64_t j = 0; j < n; ++j) z[asSize(j)] = j < upper ? last[j] : std::copysign(1.0, between) * first[j];
    merge<T>(d_ + at, std::move(z), std::abs(between), q_.joined(at, n, upper));
  }
  bool solveSmall(std::int64_t at, std::int64_t n) {
    std::vector<double> beside(beside_ + at, beside_ + at + n - 1);
    std::vector<double> vectors = q_.unit(n);
    constexpr double precision = std::numeric_limits<T>::epsilon();
    if (!solveSmallTridiagonal(d_ + at, beside.data(), n, {vectors.data(), n}, precision)) return false;
    q_.write(at, vectors, n);
    return true;
  }

  double* d_;
  const double* beside_;
  HalvedVectors<T> q_;
};

}  // namespace

template <class T>
bool solveTridiagonal(double* diagonal, const double* beside, std::int64_t n, T* vectors) {
  std::fill_n(vectors, n * n, T());
  return Halves<T>(diagonal, beside, {vectors, n, false}).solve(0, n);
}
template bool solveTridiagonal(double*, const double*, std::int64_t, float*);
template bool solveTridiagonal(double*, const double*, std::int64_t, double*);

}  // namespace tandem::lib
