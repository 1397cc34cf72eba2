#include "runtime/program/targets.h"

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/kernel/kernel_cache.h"
#include "runtime/program/archive.h"

namespace tandem::program {

CodeMembers addTarget(ProgramData& data, const std::string& target, const std::vector<std::size_t>& kernels) {
  if (std::ranges::find(data.targets, target) != data.targets.end())
    fail<ValueError>("the program has code for ", target, " already");
  CodeMembers made;
  std::vector<std::string> symbols;
  for (const std::size_t k : kernels)
    findCode(data.kernels[k].signature, target, [&](const std::string& object, const std::string& symbol) {
      symbols.push_back(symbol);
      made.emplace_back(codeMember(target, symbol), object);
    });
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    data.kernels[kernels[i]].symbols.push_back(symbols[i]);
    data.members.push_back({made[i].first, sha256(made[i].second)});
  }
  data.targets.push_back(target);
  return made;
}

CodeMembers addTarget(ProgramData& data, const std::string& target) {
  std::vector<std::size_t> kernels;
  for (std::size_t k = 0; k < data.kernels.size(); ++k)
    if (!data.kernels[k].symbols.empty()) kernels.push_back(k);
  return addTarget(data, target, kernels);
}

}  // namespace tandem::program
