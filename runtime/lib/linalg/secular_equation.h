// The eigenvalues and eigenvectors of a diagonal matrix to which rho z z^T is added.
#pragma once

#include <cstdint>
#include <vector>

namespace tandem::lib {

/// The zeros of 1 + rho sum_j z_j^2 / (d_j - x), where d ascends strictly, rho > 0 and no z_j is 0. Zero i lies between
/// d_i and the next one.
class SecularEquation {
 public:
  /// Uses the pool.
  SecularEquation(std::vector<double> d, std::vector<double> z, double rho);
  [[nodiscard]] double zero(std::int64_t i) const { return zeros_[static_cast<std::size_t>(i)]; }
  /// The unit eigenvectors of diag(d) + rho z z^T: vector i is row i.
  [[nodiscard]] std::vector<double> vectors() const;

 private:
  /// The function without its 1, over the poles up to the first one of an interval and over those above.
  struct Sums {
    double below = 0, above = 0, belowSlope = 0, aboveSlope = 0;
  };
  /// Where zero i is sought: as `origin` plus a number between low and high.
  struct Bracket {
    double origin, low, high, guess;
  };
  void solve(std::int64_t i);
  [[nodiscard]] Bracket bracketInside(std::int64_t i) const;
  /// At origin + x; writes d_j minus that.
  Sums evaluate(std::int64_t split, double origin, double x, double* gaps) const;
  [[nodiscard]] double* gaps(std::int64_t i) { return gaps_.data() + i * size_; }

  std::int64_t size_;
  std::vector<double> d_, z_, squares_;  // squares: rho z^2
  std::vector<double> zeros_;
  std::vector<double> gaps_;  // row i: d_j minus zero i, accurate however near they are
};

}  // namespace tandem::lib
