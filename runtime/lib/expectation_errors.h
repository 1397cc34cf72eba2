// The errors of expectations that do not hold, the same on every device.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/error.h"
#include "runtime/lib/expectation.h"

namespace tandem {

/// "(Batch element 3): " where the matrices are a batch.
inline std::string batchElement(bool batched, std::int64_t place) {
  return batched ? strcat("(Batch element ", place, "): ") : "";
}

/// Throws the error of an expectation that does not hold at element `place` of its operand, the matrices of a batch
/// where it is `batched`; `detail` and `shown` are numbers that the text of some has.
[[noreturn]] inline void failExpectation(Expectation what, std::int64_t detail, bool batched, std::int64_t place,
                                         std::int64_t shown) {
  switch (what) {
  case Expectation::NonZeroDivisor:
    fail("ZeroDivisionError: an integer is divided by zero");
  case Expectation::MarginTargetInRange:
    fail("target out of range");
  case Expectation::LabelInRange:
    fail("argument #2 'target' is out of range");
  case Expectation::ClassNonNegative:
    fail("Class values must be non-negative.");
  case Expectation::ClassBelowCount:
    fail("Class values must be smaller than num_classes.");
  case Expectation::InputIsProbability:
    fail("all elements of input should be between 0 and 1");
  case Expectation::TargetIsProbability:
    fail("all elements of target should be between 0 and 1");
  case Expectation::BernoulliProbability:
    fail("bernoulli: Expected p_in >= 0 && p_in <= 1 to be true, but got false: probabilities lie between 0 and 1");
  case Expectation::MultinomialWeights:
    fail("probability tensor contains either `inf`, `nan` or element < 0");
  case Expectation::MultinomialSum:
    fail("invalid multinomial distribution (sum of probabilities <= 0)");
  case Expectation::MultinomialCount:
    fail("invalid multinomial distribution (with replacement=False, not enough non-negative category to sample)");
  case Expectation::EnoughToScatter:
    fail("masked_scatter: Number of elements of source < number of ones in mask");
  case Expectation::OutputSize:
    fail("repeat_interleave: allocated size does not match required size (output_size is not the sum of repeats)");
  case Expectation::NormalDeviation:
    fail("normal expects all elements of std >= 0.0");
  case Expectation::PoissonRate:
    fail("invalid Poisson rate, expected rate to be non-negative");
  case Expectation::QuantileInRange:
    fail("quantile() q values must be in the range [0, 1]");
  case Expectation::InvertibleForInv:
    fail<LinAlgError>("linalg.inv: ", batchElement(batched, place), "The diagonal element ", shown,
                      " is zero, the inversion could not be completed because the input matrix is singular.");
  case Expectation::InvertibleForSolve:
    fail<LinAlgError>("torch.linalg.solve: ", batchElement(batched, place),
                      "The solver failed because the input matrix is ", "singular.");
  case Expectation::InputLength:
    fail("Expected input_lengths to have value at most ", detail, ", but got value ", shown);
  case Expectation::TargetLength:
    fail("Expected tensor to have size at least ", shown, " at dimension 1, but got size ", detail,
         " for argument #2 'targets'");
  case Expectation::TargetsReach:
    fail("ctc_loss: targets end before the sum of target_lengths");
  case Expectation::ArgumentHolds:
    fail("an argument has a value that it may not have");
  case Expectation::VarianceNonNegative:
    fail<ValueError>("var has negative entry/entries");
  case Expectation::NonZeroBlock:
    fail<LinAlgError>("linalg.ldl_factor: ", batchElement(batched, place), "The block of D at ", shown,
                      " is zero: the input matrix is singular.");
  case Expectation::BagOffsets:
    fail("embedding_bag: offsets must begin with 0, not decrease and be at most the length of the input, ", detail);
  case Expectation::HistogramRange:
    fail("histc: the range of the input's elements is not finite");
  case Expectation::NonZeroPivot:
    fail("torch.linalg.lu_factor", detail == 1 ? "_ex: " : ": ", batchElement(batched, place), "U[", shown, ",", shown,
         "] is zero and using it on lu_solve would result in a division by zero. If you still want to perform the ",
         "factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)");
  case Expectation::PivotOfLU:
    fail("linalg.lu_solve: pivots must lie between 1 and ", detail, ", got ", shown);
  case Expectation::PivotOfLDL:
    fail("linalg.ldl_solve: pivots must lie between 1 and ", detail, " or be the negative of such, got ", shown);
  case Expectation::PivotTwice:
    fail("linalg.ldl_solve: a negative pivot must stand twice, got ", shown);
  case Expectation::CovFrequency:
    fail("cov(): fweights cannot be negative");
  case Expectation::CovWeight:
    fail("cov(): aweights cannot be negative");
  case Expectation::CholeskyFactor:
    fail<LinAlgError>("cholesky_inverse: The diagonal element ", shown,
                      " is zero, the inversion could not be completed "
                      "because the input matrix is singular.");
  case Expectation::CopiedPlace:
    fail<IndexError>("index_copy_(): index ", shown, " is out of bounds for a dim of size ", detail);
  }
  fail<InternalError>("not an expectation: ", static_cast<std::int64_t>(what));
}

}  // namespace tandem
