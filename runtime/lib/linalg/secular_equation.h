// The eigenvalues and eigenvectors of a diagonal matrix to which rho z z^T is added, and the singular values and
// vectors of one to which a row is added: those are the roots of the eigenvalues where the diagonal's squares are taken
// for it.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/lib/strided.h"

namespace tandem::lib {

/// The zeros of 1 + rho sum_j z_j^2 / (d_j - x), where d ascends strictly, rho > 0 and no z_j is 0. Zero i lies between
/// d_i and the next one. With `Poles::Squares` d_j^2 - x^2 is in the place of d_j - x, and no d_j is negative.
class SecularEquation {
 public:
  enum class Poles : std::uint8_t { Plain, Squares };
  /// Uses the pool.
  SecularEquation(std::vector<double> d, std::vector<double> z, double rho, Poles poles = Poles::Plain);
  [[nodiscard]] double zero(std::int64_t i) const { return zeros_[static_cast<std::size_t>(i)]; }
  /// The unit eigenvectors of diag(d) + rho z z^T: vector i is row i. Of squares, with rho = 1, they are the right
  /// singular vectors of diag(d) whose first row is z.
  [[nodiscard]] Scratch<double> vectors() const { return unitRows(false); }
  /// Of squares with d_0 = 0: the left singular vectors of that matrix.
  [[nodiscard]] Scratch<double> leftVectors() const { return unitRows(true); }

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
  /// At origin + x, or origin^2 + x; writes d_j or its square minus that.
  Sums evaluate(std::int64_t split, double origin, double x, double* gaps) const;
  /// The zero that lies x above the pole of `origin`.
  [[nodiscard]] double plus(double origin, double x) const;
  /// The distance from pole i to pole j.
  [[nodiscard]] double apart(std::size_t j, std::size_t i) const {
    return poles_ == Poles::Squares ? (d_[j] - d_[i]) * (d_[j] + d_[i]) : d_[j] - d_[i];
  }
  [[nodiscard]] Scratch<double> unitRows(bool left) const;
  [[nodiscard]] double* gaps(std::int64_t i) { return gaps_.data() + i * size_; }

  std::int64_t size_;
  Poles poles_;
  std::vector<double> d_, z_, squares_;  // squares: rho z^2
  std::vector<double> zeros_;
  Scratch<double> gaps_;  // row i: pole j minus zero i, accurate however near they are
};

}  // namespace tandem::lib
