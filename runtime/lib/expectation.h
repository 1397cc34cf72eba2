// What an operation may ask of the values of its operands, and the error that names what is wrong. One operation checks
// all of them, `expect`: alone it is a look at the values, in a plan an instruction.
#pragma once

#include <cstdint>

#include "runtime/lib/library.h"

namespace tandem {

enum class Expectation : std::int64_t {
  NonZeroDivisor,
  MarginTargetInRange,
  LabelInRange,
  ClassNonNegative,
  ClassBelowCount,
  InputIsProbability,
  TargetIsProbability,
  BernoulliProbability,
  MultinomialWeights,
  MultinomialSum,
  MultinomialCount,
  EnoughToScatter,
  OutputSize,
  NormalDeviation,
  PoissonRate,
  QuantileInRange,
  InvertibleForInv,    // shown: 1 + the place of the zero on the diagonal
  InvertibleForSolve,  // likewise
  InputLength,         // shown: the length; detail: the most it may be
  TargetLength,        // likewise
  TargetsReach,
  ArgumentHolds,
  VarianceNonNegative,
  NonZeroBlock,  // shown: 1 + the place of the block
  BagOffsets,    // detail: the length of the input
  HistogramRange,
  NonZeroPivot,  // shown: 1 + the place of the zero on the diagonal of U; detail: 1 for lu_factor_ex
  PivotOfLU,     // shown: the pivot; detail: the number of rows
  PivotOfLDL,    // likewise
  PivotTwice,    // likewise
  CovFrequency,
  CovWeight,
  CopiedPlace,     // shown: the place; detail: the size of the dim
  CholeskyFactor,  // shown: 1 + the place of the zero on the diagonal
};

/// Throws the error of the first element of the bool array `good` that is false. Where `shown` is an int64 array of the
/// same shape, its element there is named; `detail` is a number that the text of some has.
void checkExpectation(Expectation what, std::int64_t detail, const ArrayView& good, const ArrayView& shown);

}  // namespace tandem
