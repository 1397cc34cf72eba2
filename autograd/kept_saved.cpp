#include "autograd/kept_saved.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "autograd/autograd.h"
#include "eager/ops.h"

namespace tandem {

namespace {

thread_local int lastingDepth = 0;
thread_local int passingDepth = 0;
/// Noted in scopes that pass; all go with the outermost.
thread_local std::vector<Ref<OpNode>> passingNodes;

/// What is noted for the life of its node. Nodes are not owned: one that dies takes itself out.
struct Lasting {
  std::mutex mutex;
  std::unordered_multimap<const std::uint32_t*, OpNode*> nodes;  // by what counts the writes to a memory
  std::unordered_map<const OpNode*, std::vector<const std::uint32_t*>> counters;
  std::atomic<std::size_t> count{0};
};
Lasting& lasting() {
  static auto* table = new Lasting;  // nodes may outlive static objects
  return *table;
}

bool isSavedOf(const SavedTensor& s, const Storage* storage) {
  return !s.isPacked() && s.tensor().defined() && s.tensor().impl()->storage->sameMemory(*storage) &&
         s.version() == s.tensor().impl()->version();
}

/// The operand that a slot keeps; -1: it keeps a result.
int operandOf(OpNode& node, std::size_t slot) {
  for (std::size_t i = 0; i < node.operands().size(); ++i)
    if (node.operands()[i].saved == static_cast<int>(slot)) return static_cast<int>(i);
  return -1;
}

void copySaved(OpNode& node, const Storage* storage) {
  for (std::size_t slot = 0; slot < node.saved().size(); ++slot) {
    Tensor was;
    {
      std::scoped_lock guard(node.lock());
      if (node.released() || !isSavedOf(node.saved()[slot], storage)) continue;
      was = node.saved()[slot].tensor();
    }
    Tensor copy;
    {
      NoGrad noGrad;
      copy = ops::clone(autograd::detach(was));
    }
    std::scoped_lock guard(node.lock());
    SavedTensor& s = node.saved()[slot];
    if (node.released() || !isSavedOf(s, storage)) continue;
    const bool result = s.kind() == SavedTensor::Kind::Result;
    const int index = result ? static_cast<int>(s.index()) : operandOf(node, slot);
    s = SavedTensor(copy, copy.impl()->version(), result ? SavedTensor::Kind::Result : SavedTensor::Kind::Detached,
                    static_cast<std::uint32_t>(index));
  }
}

}  // namespace

void beginKeepingSaved(bool lasting) { ++(lasting ? lastingDepth : passingDepth); }

bool keepingSaved() { return lastingDepth > 0; }

void endKeepingSaved(bool lasting) {
  --(lasting ? lastingDepth : passingDepth);
  if (passingDepth == 0 && !passingNodes.empty()) {
    // Nodes may end others, and those note nothing more.
    std::vector<Ref<OpNode>> gone;
    gone.swap(passingNodes);
  }
}

void noteSaved(OpNode& node) {
  if (lastingDepth + passingDepth == 0 || node.saved().empty()) return;
  if (lastingDepth == 0) {
    passingNodes.emplace_back(&node);
    return;
  }
  forgetSaved(node);
  std::vector<const std::uint32_t*> counters;
  for (const SavedTensor& s : node.saved())
    if (!s.isPacked() && s.tensor().defined()) counters.push_back(&s.tensor().impl()->storage->version);
  if (counters.empty()) return;
  Lasting& table = lasting();
  std::scoped_lock guard(table.mutex);
  for (const std::uint32_t* c : counters) table.nodes.emplace(c, &node);
  table.counters[&node] = std::move(counters);
  table.count.store(table.nodes.size(), std::memory_order_relaxed);
  node.setNoted(true);
}

void forgetSaved(OpNode& node) {
  if (!node.noted()) return;
  Lasting& table = lasting();
  std::scoped_lock guard(table.mutex);
  node.setNoted(false);
  auto found = table.counters.find(&node);
  if (found == table.counters.end()) return;
  for (const std::uint32_t* c : found->second) {
    auto [first, last] = table.nodes.equal_range(c);
    auto entry = std::find_if(first, last, [&](const auto& e) { return e.second == &node; });
    if (entry != last) table.nodes.erase(entry);
  }
  table.counters.erase(found);
  table.count.store(table.nodes.size(), std::memory_order_relaxed);
}

void keepSavedOf(const Storage* storage) {
  Lasting& table = lasting();
  if (passingNodes.empty() && table.count.load(std::memory_order_relaxed) == 0) return;
  std::vector<Ref<OpNode>> open(passingNodes);
  {
    std::scoped_lock guard(table.mutex);
    auto [first, last] = table.nodes.equal_range(&storage->version);
    for (auto e = first; e != last; ++e) {
      if (!e->second->tryRetain()) continue;
      open.emplace_back(e->second);
      e->second->release();
    }
  }
  for (const Ref<OpNode>& node : open) copySaved(*node, storage);
}

}  // namespace tandem
