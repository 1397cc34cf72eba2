#include "runtime/program/targets.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "runtime/base/error.h"
#include "runtime/kernel/architectures.h"
#include "runtime/kernel/kernel_cache.h"
#include "runtime/kernel/split.h"
#include "runtime/program/archive.h"
#include "runtime/program/function_code.h"

namespace tandem::program {

namespace {

/// GPUs cut launches by sizes and by how many multiprocessors they have: the kernels of the plans, all that these may
/// be cut into, and `more`, those of library functions. What is not among the program's kernels is added to them.
std::vector<std::size_t> kernelsForGpus(ProgramData& data, const std::vector<KernelSignature>& more) {
  std::map<std::string, std::size_t> known;
  for (std::size_t k = 0; k < data.kernels.size(); ++k) known.emplace(data.kernels[k].signature.bytes(), k);
  std::set<std::size_t> needed;
  auto need = [&](const KernelSignature& signature) {
    const auto [it, isNew] = known.emplace(signature.bytes(), data.kernels.size());
    if (isNew) data.kernels.push_back({signature, {}});
    needed.insert(it->second);
  };
  auto needAll = [&](const EntryData& e) {
    for (const std::uint32_t k : e.kernels) {
      const KernelSignature whole = data.kernels[k].signature;
      need(whole);
      if (!canSplitAsDim(whole)) continue;
      const auto [partial, finish] = splitSignatureAsDim(whole);
      need(partial);
      need(finish);
    }
  };
  for (const EntryData& e : data.entries) {
    needAll(e);
    for (const EntryData& form : e.others) needAll(form);
  }
  for (const KernelSignature& signature : more) need(signature);
  return {needed.begin(), needed.end()};
}

/// Adds the name of a text's code for the next target, to be put behind those of the targets before.
void addSource(ProgramData& data, const std::string& name, const std::string& symbol) {
  auto isFree = [&](const SourceData& s) { return s.name == name && s.symbols.size() == data.targets.size(); };
  auto it = std::ranges::find_if(data.sources, isFree);
  if (it == data.sources.end()) it = data.sources.insert(it, {name, std::vector<std::string>(data.targets.size())});
  it->symbols.push_back(symbol);
}

}  // namespace

CodeMembers addTarget(ProgramData& data, const std::string& target, std::vector<std::size_t> kernels) {
  if (std::ranges::find(data.targets, target) != data.targets.end())
    fail<ValueError>("the program has code for ", target, " already");
  std::unique_ptr<CodeSurvey> survey;
  if (isForGpus(target)) {
    survey = surveyCode("cuda", target);
    surveyFunctions(*survey, data);
    kernels = kernelsForGpus(data, survey->kernels());
  }
  CodeMembers made;
  std::vector<std::string> symbols;
  const LoadCode keep = [&](const std::string& object, const std::string& symbol) {
    symbols.push_back(symbol);
    made.emplace_back(codeMember(target, symbol), object);
  };
  for (const std::size_t k : kernels) findCode(data.kernels[k].signature, target, keep);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    std::vector<std::string>& of = data.kernels[kernels[i]].symbols;
    of.resize(data.targets.size());
    of.push_back(symbols[i]);
  }
  if (survey != nullptr)
    for (const KernelSource& source : survey->sources()) {
      findSourceCode(source, target, keep);
      addSource(data, source.name, symbols.back());
    }
  for (const auto& [name, object] : made) data.members.push_back({name, sha256(object)});
  data.targets.push_back(target);
  for (KernelData& k : data.kernels)
    if (!k.symbols.empty()) k.symbols.resize(data.targets.size());
  for (SourceData& s : data.sources) s.symbols.resize(data.targets.size());
  return made;
}

namespace {

bool hasCpuCode(const ProgramData& data, std::size_t kernel) {
  const std::vector<std::string>& symbols = data.kernels[kernel].symbols;
  for (std::size_t t = 0; t < symbols.size(); ++t)
    if (!symbols[t].empty() && !isForGpus(data.targets[t])) return true;
  return false;
}

}  // namespace

CodeMembers addTarget(ProgramData& data, const std::string& target) {
  std::vector<std::size_t> kernels;
  for (std::size_t k = 0; k < data.kernels.size(); ++k)
    if (hasCpuCode(data, k)) kernels.push_back(k);
  return addTarget(data, target, kernels);
}

}  // namespace tandem::program
