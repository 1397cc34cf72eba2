// Whose code runs where: the names of architectures (Target::architecture), compared.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tandem {

/// Is it one of GPUs: machine code for them, as `sm_90`, or PTX, as `compute_90`, which the driver compiles?
bool isForGpus(std::string_view architecture);

/// Those of them whose code runs on a processor of the architecture `own`, the best first. CPUs run code for those of
/// their name up to their level. GPUs run machine code for their own or an earlier capability of the same major number,
/// and else PTX for an earlier one.
std::vector<std::string> thatRunOn(std::string_view own, const std::vector<std::string>& architectures);

}  // namespace tandem
