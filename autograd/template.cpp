#include "autograd/template.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "autograd/kept_saved.h"
#include "autograd/meta.h"
#include "eager/fusion.h"
#include "eager/tape_hook.h"

namespace tandem {

namespace {

class Extraction {
 public:
  Extraction(std::span<const Tensor> inputs, std::span<const Edge> inputEdges, std::uint64_t first, TapeTemplate& out)
      : inputs_(inputs), inputEdges_(inputEdges), first_(first), out_(out) {}

  bool run(std::span<const Tensor> outputs, std::string& reason) {
    std::vector<Edge> starts;
    for (const Tensor& t : outputs) starts.push_back(t.defined() ? historyOf(t) : Edge{});
    for (const Edge& e : starts)
      if (!reach(e, reason)) return false;
    for (std::size_t i = 0; i < order_.size(); ++i)
      for (const Edge& e : order_[i]->edges())
        if (!reach(e, reason)) return false;
    std::sort(order_.begin(), order_.end(), [](auto* a, auto* b) { return a->sequence() < b->sequence(); });
    for (std::size_t i = 0; i < order_.size(); ++i) number_[order_[i]] = static_cast<std::uint32_t>(i);
    for (Node* node : order_) {
      out_.traced.emplace_back(node);
      if (node->kind() == Node::Kind::Op)
        describe(static_cast<OpNode&>(*node));
      else
        describe(static_cast<FunctionNode&>(*node));
      describeExtras(*node);
    }
    for (const Edge& e : starts) out_.outputs.push_back(targetOf(e));
    for (const Tensor& t : outputs) {
      const AutogradMeta* m = t.defined() ? metaOf(t) : nullptr;
      out_.retained.push_back(m != nullptr && m->retainsGrad);
    }
    return true;
  }

 private:
  static Edge historyOf(const Tensor& t) {
    TensorImpl* impl = t.impl();
    if (impl->viewBase) tapeHook->refreshView(impl);
    const AutogradMeta* m = metaOf(impl);
    if (!impl->requiresGrad || m == nullptr || !m->gradFn) return {};
    return {m->gradFn, m->resultNr};
  }

  [[nodiscard]] std::int32_t inputOf(const Edge& e) const {
    for (std::size_t i = 0; i < inputEdges_.size(); ++i)
      if (inputEdges_[i] && inputEdges_[i].node == e.node && inputEdges_[i].result == e.result)
        return static_cast<std::int32_t>(i);
    return -1;
  }

  bool reach(const Edge& e, std::string& reason) {
    if (!e || inputOf(e) >= 0) return true;
    Node* node = e.node.get();
    // Spent: whoever goes there gets the error, hooks or not.
    if (spent(*node)) return true;
    if (node->kind() == Node::Kind::Leaf) {
      reason = "a tensor that requires grad is used and is no input";
      return false;
    }
    if (node->sequence() < first_) {
      reason = strcat("the history of a tensor made outside (", node->name(), ") is used and is no input");
      return false;
    }
    std::span<const SavedTensor> saved = node->kind() == Node::Kind::Op ? static_cast<OpNode*>(node)->saved()
                                                                        : static_cast<FunctionNode*>(node)->saved();
    if (std::any_of(saved.begin(), saved.end(), [](const SavedTensor& s) { return s.isPacked(); })) {
      reason = strcat("a saved-tensor hook packed what ", node->name(), " saved");
      return false;
    }
    if (number_.emplace(node, 0).second) order_.push_back(node);
    return true;
  }

  static bool spent(const Node& node) {
    if (node.kind() == Node::Kind::Op) return static_cast<const OpNode&>(node).released();
    return node.kind() == Node::Kind::Function && static_cast<const FunctionNode&>(node).released();
  }

  [[nodiscard]] TapeTemplate::Target targetOf(const Edge& e) {
    using Kind = TapeTemplate::Target::Kind;
    if (!e) return {};
    if (std::int32_t i = inputOf(e); i >= 0) return {Kind::Input, static_cast<std::uint32_t>(i), 0};
    if (auto it = number_.find(e.node.get()); it != number_.end()) return {Kind::Node, it->second, e.result};
    out_.fixed.push_back(e.node);
    return {Kind::Fixed, static_cast<std::uint32_t>(out_.fixed.size()) - 1, e.result};
  }

  void describeExtras(const Node& node) {
    const NodeExtras* x = node.extras();
    if (x == nullptr) return;
    if (!x->line.empty()) {
      out_.lines.resize(out_.nodes.size() - 1);
      out_.lines.push_back(x->line);
    }
    bool hooked = x->preHooks || x->postHooks ||
                  std::any_of(x->tensorHooks.begin(), x->tensorHooks.end(), [](const auto& h) { return h != nullptr; });
    if (hooked)
      out_.hooks.push_back(
          {static_cast<std::uint32_t>(out_.nodes.size() - 1), x->tensorHooks, x->preHooks, x->postHooks});
  }

  void describe(FunctionNode& node) {
    FunctionCall call = node.call();
    call.maker = call.maker->kept();
    const std::vector<Tensor> attributes = call.maker->attributes();
    TapeTemplate::Prototype p;
    p.function = static_cast<std::int32_t>(out_.functions.size());
    out_.nodes.push_back(p);
    out_.functions.push_back({std::move(call), static_cast<std::uint32_t>(node.edges().size()),
                              static_cast<std::uint32_t>(node.saved().size()),
                              static_cast<std::uint32_t>(attributes.size())});
    for (const Edge& e : node.edges()) out_.edges.push_back(targetOf(e));
    for (const SavedTensor& s : node.saved()) out_.savedRefs.push_back(refOf(node, s));
    for (const Tensor& t : attributes) {
      // Reading an attribute is no use of a saved tensor: what was written since is no error.
      SavedTensor s(t, t.impl()->version(), SavedTensor::Kind::Operand, 0);
      out_.savedRefs.push_back(refOf(node, s));
    }
  }

  // What a Function saved is an operand of it, one of its results, or a value that it computed without history.
  TapeTemplate::SavedRef refOf(const FunctionNode& node, const SavedTensor& s) {
    using Kind = SavedTensor::Kind;
    if (!s.tensor().defined()) return {TapeTemplate::SavedRef::kNothing, Kind::Operand, 0};
    std::uint32_t id = idOf(s);
    if (s.kind() != Kind::Operand || out_.saved[id].input >= 0 || !s.tensor().requiresGrad())
      return {id, s.kind(), static_cast<std::uint16_t>(s.index())};
    int operand = node.inputOf(s.tensor());
    if (operand < 0) return {id, Kind::Operand, 0};
    return {id, Kind::Detached, static_cast<std::uint16_t>(operand)};
  }

  void describe(OpNode& node) {
    for (const ResultMeta& m : node.results()) out_.large |= worthFusing(numelOf(m.shape));
    out_.nodes.push_back({node.op(), node.layout()});
    for (const Edge& e : node.edges()) out_.edges.push_back(targetOf(e));
    out_.results.insert(out_.results.end(), node.results().begin(), node.results().end());
    auto operands = node.operands();
    std::vector<std::uint32_t> operandOfSlot(node.saved().size(), 0);
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (operands[i].saved >= 0) operandOfSlot[operands[i].saved] = static_cast<std::uint32_t>(i);
    out_.operands.insert(out_.operands.end(), operands.begin(), operands.end());
    out_.metas.insert(out_.metas.end(), node.metas().begin(), node.metas().end());
    out_.attrs.insert(out_.attrs.end(), node.attrs().begin(), node.attrs().end());
    for (std::size_t k = 0; k < node.saved().size(); ++k) {
      const SavedTensor& s = node.saved()[k];
      std::uint32_t id = idOf(s);
      bool result = s.kind() == SavedTensor::Kind::Result;
      // An operand computed inside is kept without its history, which its edge knows.
      auto kind = result                      ? s.kind()
                  : out_.saved[id].input >= 0 ? SavedTensor::Kind::Operand
                                              : SavedTensor::Kind::Detached;
      out_.savedRefs.push_back({id, kind, static_cast<std::uint16_t>(result ? s.index() : operandOfSlot[k])});
    }
  }

  std::uint32_t idOf(const SavedTensor& s) {
    const Tensor& t = s.tensor();
    std::uint32_t since = t.impl()->version() - s.version();
    std::int32_t input = -1;
    for (std::size_t i = 0; i < inputs_.size() && s.kind() != SavedTensor::Kind::Result; ++i)
      if (inputs_[i] == t) input = static_cast<std::int32_t>(i);
    auto [from, to] = byStorage_.equal_range(t.impl()->storage.get());
    for (auto it = from; it != to; ++it) {
      const TapeTemplate::Saved& o = out_.saved[it->second];
      const TensorImpl* a = o.traced.impl();
      const TensorImpl* b = t.impl();
      if (o.writtenSince == since && o.input == input && a->dtype == b->dtype && a->offset == b->offset &&
          a->shape == b->shape && a->strides == b->strides && a->batch == b->batch)
        return it->second;
    }
    auto id = static_cast<std::uint32_t>(out_.saved.size());
    out_.saved.push_back({t, input, since, -1});
    byStorage_.emplace(t.impl()->storage.get(), id);
    return id;
  }

  std::span<const Tensor> inputs_;
  std::span<const Edge> inputEdges_;
  std::uint64_t first_;
  TapeTemplate& out_;
  std::vector<Node*> order_;
  std::unordered_map<const Node*, std::uint32_t> number_;
  std::unordered_multimap<const Storage*, std::uint32_t> byStorage_;
};

template <class T>
void take(std::span<T> into, const T*& from) {
  std::copy_n(from, into.size(), into.begin());
  from += into.size();
}

Ref<Recomputation> recomputationOf(const TapeTemplate& t, std::span<const Tensor> saved,
                                   std::span<const Scalar> slots) {
  if (t.recipe == nullptr) return {};
  std::vector<Tensor> kept;
  kept.reserve(t.kept.size());
  for (std::uint32_t i : t.kept) kept.push_back(saved[i]);
  std::vector<Scalar> numbers;
  numbers.reserve(t.numbers.size());
  for (std::int32_t slot : t.numbers) numbers.push_back(slots[static_cast<std::size_t>(slot)]);
  return Ref<Recomputation>(new Recomputation(t.recipe, std::move(kept), std::move(numbers)));
}

SavedTensor madeAgain(const TapeTemplate& t, const TapeTemplate::SavedRef& r, const Ref<Recomputation>& of) {
  return {of->saved(static_cast<std::uint32_t>(t.saved[r.id].again)), r.kind, r.index};
}

}  // namespace

bool extractTemplate(std::span<const Tensor> outputs, std::span<const Tensor> inputs, std::span<const Edge> inputEdges,
                     std::uint64_t firstSequence, TapeTemplate& out, std::string& reason) {
  out = {};
  return Extraction(inputs, inputEdges, firstSequence, out).run(outputs, reason);
}

void instantiate(const TapeTemplate& t, std::span<const Edge> inputEdges, std::span<const Tensor> saved,
                 std::span<const Scalar> slots, std::span<const Tensor> outputs) {
  using Kind = TapeTemplate::Target::Kind;
  std::uint64_t sequence = Node::takeSequence(t.nodes.size());
  std::uint32_t group = t.large ? newTapeGroup() : 0;
  std::vector<Node*> nodes(t.nodes.size());
  auto edgeOf = [&](const TapeTemplate::Target& target) -> Edge {
    switch (target.kind) {
    case Kind::None:
      return {};
    case Kind::Input:
      return inputEdges[target.index];
    case Kind::Node:
      return {Ref<Node>(nodes[target.index]), target.result};
    case Kind::Fixed:
      return {t.fixed[target.index], target.result};
    }
    return {};
  };
  const Ref<Recomputation> again = recomputationOf(t, saved, slots);
  auto savedOf = [&](const TapeTemplate::SavedRef& r) {
    if (r.id == TapeTemplate::SavedRef::kNothing) return SavedTensor();
    if (t.saved[r.id].again >= 0) return madeAgain(t, r, again);
    const Tensor& value = saved[r.id];
    return SavedTensor(value, value.impl()->version() - t.saved[r.id].writtenSince, r.kind, r.index);
  };
  std::vector<Ref<Node>> owned;  // nodes that no one else holds yet
  const TapeTemplate::Target* edges = t.edges.data();
  const ResultMeta* results = t.results.data();
  const TapeTemplate::SavedRef* refs = t.savedRefs.data();
  const OpNode::OperandSlot* operands = t.operands.data();
  const ResultMeta* metas = t.metas.data();
  const std::int64_t* attrs = t.attrs.data();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const TapeTemplate::Prototype& p = t.nodes[i];
    if (p.function >= 0) {
      const TapeTemplate::Function& f = t.functions[p.function];
      std::vector<Edge> ownEdges;
      for (std::uint32_t k = 0; k < f.edges; ++k) ownEdges.push_back(edgeOf(*edges++));
      std::vector<SavedTensor> kept;
      for (std::uint32_t k = 0; k < f.saved; ++k) kept.push_back(savedOf(*refs++));
      Ref<FunctionNode> node = FunctionNode::remake(f.call, std::move(ownEdges), std::move(kept), sequence + i);
      std::vector<Tensor> attributes;
      for (std::uint32_t k = 0; k < f.attributes; ++k) attributes.push_back(savedOf(*refs++).unpack(*node));
      f.call.maker->remake(*node, attributes);
      nodes[i] = owned.emplace_back(node.get()).get();
      continue;
    }
    OpNode* node = OpNode::make(p.op, p.layout, sequence + i);
    nodes[i] = node;
    node->setTapeGroup(group);
    for (Edge& e : node->mutableEdges()) e = edgeOf(*edges++);
    take(node->mutableResults(), results);
    take(node->operands(), operands);
    for (auto& o : node->operands())
      if (!o.tensor && o.scalar.slot >= 0) o.scalar = slots[o.scalar.slot];
    take(node->metas(), metas);
    take(node->mutableAttrs(), attrs);
    for (SavedTensor& s : node->saved()) s = savedOf(*refs++);
    noteSaved(*node);
  }
  for (std::size_t i = 0; i < t.lines.size(); ++i) {
    if (t.lines[i].empty()) continue;
    std::scoped_lock guard(nodes[i]->lock());
    nodes[i]->needExtras().line = t.lines[i];
  }
  for (const auto& h : t.hooks) {
    std::scoped_lock guard(nodes[h.node]->lock());
    NodeExtras& x = nodes[h.node]->needExtras();
    x.tensorHooks = h.tensorHooks;
    x.preHooks = h.preHooks;
    x.postHooks = h.postHooks;
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const TapeTemplate::Target& target = t.outputs[i];
    if (t.retained[i]) startRetaining(outputs[i].impl());
    if (target.kind == Kind::Node) setHistory(outputs[i], Ref<Node>(nodes[target.index]), target.result);
    if (target.kind == Kind::Fixed) setHistory(outputs[i], t.fixed[target.index], target.result);
  }
}

void keepLess(TapeTemplate& t, std::span<const Scalar> slots) {
  std::vector<Tensor> saved;
  saved.reserve(t.saved.size());
  for (const TapeTemplate::Saved& s : t.saved) saved.push_back(s.traced);
  const Ref<Recomputation> again = recomputationOf(t, saved, slots);
  const TapeTemplate::SavedRef* refs = t.savedRefs.data();
  for (const Ref<Node>& traced : t.traced) {
    auto& node = static_cast<OpNode&>(*traced);
    for (SavedTensor& s : node.saved()) {
      const TapeTemplate::SavedRef& r = *refs++;
      if (r.id != TapeTemplate::SavedRef::kNothing && t.saved[r.id].again >= 0) s = madeAgain(t, r, again);
    }
  }
  for (TapeTemplate::Saved& s : t.saved)
    if (s.again >= 0) s.traced = Tensor();
}

}  // namespace tandem
