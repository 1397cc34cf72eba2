// How a reduction over any dims becomes a chain of reductions over one group of adjacent dims each. It fixes the order
// of every sum together with the two kernel classes, so eager and compiled programs both ask here.
//
//   1. dims of size 1 do not count; adjacent reduced dims are one group
//   2. a group that ends the shape is a *trailing* reduction (KernelKind::Row), any other a *leading* one (Column)
//   3. of several groups the innermost goes first. Between stages values stay in the accumulator's dtype; a half type
//      is rounded to once, at the very end
//
// No group at all (every reduced dim has size 1) leaves a conversion to the result's dtype. A reduction over no
// elements gives the identity.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ir/schema/op_table.h"

namespace tandem {

/// One stage reduces the dims [begin, end) of what the one before it gave (dims of size 1 among them are harmless): a
/// tensor of the rank of the operation's operand, dims that are reduced already being 1.
struct ReductionStage {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool trailing = false;
};

/// `dims` wrapped and sorted.
SmallVector<ReductionStage, 4> reductionStages(DimsRef shape, DimsRef dims);

/// A stage as an operation of its own, on what the one before it gave: its attributes and its result, of the operand's
/// rank. The last result has the elements of the whole reduction's, and its dtype.
struct ReductionStep {
  SmallVector<std::int64_t, 8> attrs;
  TensorMeta result;
};
/// Of a reduction `op` from one meta to another, cut into stages.
std::vector<ReductionStep> reductionSteps(const OpFacts& op, const TensorMeta& from, const TensorMeta& to,
                                          std::span<const ReductionStage> stages);

/// What an operation of this name gives for no elements: 1 for prod and all, 0 for sum and any. amax and amin have
/// none; their shape rule has raised the error.
std::int64_t reductionIdentity(std::string_view op);

}  // namespace tandem
