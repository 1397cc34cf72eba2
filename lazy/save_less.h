// What the backward of a compiled forward makes again instead of having it stored. A plan that leaves what the tape of
//
//     y = x + b;  return 0.5 * y * (1 + tanh(c * (y + d * y ** 3)))
//
// saves writes nine arrays; all of them follow from y by elementwise work, which costs less than memory does. Which to
// keep is a minimum cut: between what the tape needs and what can only be stored (products, reductions, random numbers,
// memory that others may write to), through the values whose bytes are the fewest together, and of several such cuts
// the one nearest to what is needed.
#pragma once

#include <span>

#include "autograd/template.h"
#include "lazy/session.h"

namespace tandem::lazy {

/// Decides it for a tape of a trace that is complete, and gives the template the recipe and what is kept for it.
/// `seen`: the tensors that the program gets, and may write to.
void saveLess(Session& session, TapeTemplate& tape, std::span<const Tensor> seen);

}  // namespace tandem::lazy
