// What divide and conquer has between two solved halves, of eigenvalues and of singular values: a diagonal, d, and a
// vector z, of which an equation makes the values of the whole.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "runtime/lib/linalg/columns.h"
#include "runtime/lib/linalg/secular_equation.h"

namespace tandem::lib {

class Middle {
 public:
  Middle(double* d, std::vector<double> z) : d_(d), z_(std::move(z)) {}

  [[nodiscard]] double z(std::int64_t j) const { return z_[asSize(j)]; }
  /// The columns that the equation mixes, by value; all others stay as they are.
  [[nodiscard]] const std::vector<std::int64_t>& kept() const { return kept_; }

  /// The places of d by what is there. compare: std::less or std::greater.
  template <class Compare>
  [[nodiscard]] std::vector<std::int64_t> orderBy(Compare compare) const {
    std::vector<std::int64_t> order(z_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, compare, [&](std::int64_t j) { return d_[j]; });
    return order;
  }
  /// Keeps column j, of no smaller value than those before. Where the last one has nearly its value, turn(last, j, c,
  /// s) takes that one's part in z, and it is kept no more; the first `firm` are.
  template <class Turn>
  void keep(std::int64_t j, double tolerated, std::size_t firm, Turn turn) {
    if (kept_.size() > firm) {
      const std::int64_t other = kept_.back();
      const double length = std::hypot(z(j), z(other));
      const double c = z(j) / length;
      const double s = z(other) / length;
      const double low = d_[other];
      const double high = d_[j];
      if (std::abs((high - low) * c * s) <= tolerated) {
        turn(other, j, c, s);
        d_[other] = c * c * low + s * s * high;
        d_[j] = s * s * low + c * c * high;
        z_[asSize(j)] = length;
        kept_.pop_back();
      }
    }
    kept_.push_back(j);
  }
  /// The equation of those that are kept, whose zeros take their places.
  SecularEquation solve(double rho, SecularEquation::Poles poles) {
    std::vector<double> d, z;
    for (const std::int64_t j : kept_) {
      d.push_back(d_[j]);
      z.push_back(z_[asSize(j)]);
    }
    SecularEquation equation(std::move(d), std::move(z), rho, poles);
    for (std::size_t i = 0; i < kept_.size(); ++i) d_[kept_[i]] = equation.zero(static_cast<std::int64_t>(i));
    return equation;
  }
  /// Puts d in order, and returns where each was.
  template <class Compare>
  std::vector<std::int64_t> sort(Compare compare) {
    std::vector<std::int64_t> order = orderBy(compare);
    const std::vector<double> values(d_, d_ + order.size());
    for (std::size_t j = 0; j < order.size(); ++j) d_[j] = values[asSize(order[j])];
    return order;
  }

 private:
  double* d_;
  std::vector<double> z_;
  std::vector<std::int64_t> kept_;
};

}  // namespace tandem::lib
