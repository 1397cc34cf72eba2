// What the losses share: how the losses of the elements become one.
#pragma once

#include <optional>
#include <string_view>

#include "eager/tensor.h"

namespace tandem::ops {

/// `reduction`, unless one of the two older flags was given.
std::string_view reductionOf(std::optional<bool> average, std::optional<bool> reduce, std::string_view reduction);
/// ValueError where `reduction` is none of 'mean', 'sum' and 'none': before classes out of range are looked for.
void needReduction(std::string_view reduction);
/// Losses of the elements reduced by 'mean', 'sum' or 'none'; ValueError for anything else.
Tensor reducedLoss(const Tensor& loss, std::string_view reduction);
/// As above, of losses times optional weights.
Tensor reducedLoss(const Tensor& loss, const Tensor& weight, std::string_view reduction);

}  // namespace tandem::ops
