#include "autograd/op_node.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <mutex>
#include <new>
#include <optional>

#include "autograd/kept_saved.h"
#include "autograd/rule_context.h"
#include "eager/fusion.h"
#include "eager/half_types.h"

namespace tandem {

std::size_t OpNode::bytesOf(const Layout& layout) {
  static_assert(alignof(OpNode) <= 8 && alignof(ResultMeta) <= 8 && alignof(SavedTensor) <= 8 &&
                alignof(OperandSlot) <= 8 && sizeof(OpNode) % 8 == 0 && sizeof(SavedTensor) % 8 == 0 &&
                sizeof(OperandSlot) % 8 == 0 && sizeof(Edge) % 8 == 0 && sizeof(ResultMeta) % 8 == 0);
  return sizeof(OpNode) + layout.operands * (sizeof(Edge) + sizeof(OperandSlot)) +
         (layout.results + layout.metas) * sizeof(ResultMeta) + layout.saved * sizeof(SavedTensor) +
         layout.attrs * sizeof(std::int64_t);
}

void OpNode::operator delete(OpNode* node, std::destroying_delete_t) {
  std::size_t bytes = bytesOf(node->layout_);
  node->~OpNode();
  poolFree(node, bytes);
}

OpNode* OpNode::make(OpCode op, const Layout& layout, std::uint64_t sequence) {
  char* p = static_cast<char*>(poolAllocate(bytesOf(layout)));
  auto* node = new (p) OpNode(op, layout, sequence);
  node->tapeGroup_ = activeTapeGroup;
  node->flags_ = computeFlags();
  p += sizeof(OpNode);
  auto take = [&p]<class T>(T*& array, std::size_t n) {
    array = reinterpret_cast<T*>(p);
    std::uninitialized_value_construct_n(array, n);
    p += n * sizeof(T);
  };
  take(node->edges_, layout.operands);
  take(node->results_, layout.results);
  take(node->saved_, layout.saved);
  take(node->operands_, layout.operands);
  take(node->metas_, layout.metas);
  take(node->attrs_, layout.attrs);
  node->numEdges_ = layout.operands;
  node->numResults_ = layout.results;
  return node;
}

OpNode::~OpNode() {
  forgetSaved(*this);
  std::destroy_n(saved_, layout_.saved);
  std::destroy_n(metas_, layout_.metas);
  std::destroy_n(results_, layout_.results);
  std::destroy_n(edges_, layout_.operands);
}

const ResultMeta& OpNode::operandMeta(int i) const {
  if (operands_[i].meta >= 0) return metas_[operands_[i].meta];
  const Edge& e = edges_[i];
  TANDEM_CHECK(e, "the derivative of ", facts(op_).name, " asks for the shape of operand ", i, ", which was not kept");
  return e.node->results()[e.result];
}

int OpNode::savedResult(int i) const {
  for (std::uint32_t k = 0; k < layout_.saved; ++k)
    if (saved_[k].kind() == SavedTensor::Kind::Result && static_cast<int>(saved_[k].index()) == i)
      return static_cast<int>(k);
  return -1;
}

Tensor OpNode::unpack(std::size_t slot) {
  SavedTensor s;
  {
    std::scoped_lock guard(lock());
    if (released_) failReleased();
    s = saved_[slot];
  }
  return s.unpack(*this);
}

void OpNode::rebindResult(std::uint32_t nr, const Tensor& into) {
  {
    std::scoped_lock guard(lock());
    int k = savedResult(static_cast<int>(nr));
    if (k < 0 || released_ || saved_[k].isPacked()) return;
    const Tensor& was = saved_[k].tensor();
    if (was.dtype() != into.dtype() || !(was.shape() == into.shape())) return;
    saved_[k] = SavedTensor::result(into, nr);
  }
  noteSaved(*this);
}

std::string OpNode::name() const {
  // `scatter_add` is ScatterAddBackward0, as in PyTorch.
  std::string s;
  bool up = true;
  for (char c : facts(op_).name) {
    if (c == '_')
      up = true;
    else {
      s += up ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
      up = false;
    }
  }
  return s + "Backward0";
}

void OpNode::apply(std::span<const Tensor> cotangents, std::span<const bool> wanted, std::span<Tensor> grads) {
  DerivativeFn rule = derivativeOf(op_);
  TANDEM_CHECK(rule != nullptr, "no derivative of ", facts(op_).name);
  const bool wide = derivativeHasSteps(op_);
  std::optional<DeviceScope> scope;
  if (otherDevices) [[unlikely]]
    for (const Tensor& c : cotangents)
      if (c.defined()) scope.emplace(c.device());
  const ComputeFlagsScope flags(flags_);
  std::vector<Tensor> own;
  if (wide && std::ranges::any_of(cotangents, [](const Tensor& c) { return c.defined() && isHalf(c.dtype()); })) {
    for (const Tensor& c : cotangents) own.push_back(c.defined() ? ops::widened(c) : c);
    cotangents = own;
  }
  RuleContext context(*this, cotangents, wanted, grads, wide);
  rule(context);
}

void OpNode::releaseSaved() {
  if (layout_.saved == 0) return;
  forgetSaved(*this);
  // Freed outside the lock: tensors may own much.
  std::vector<SavedTensor> gone;
  std::scoped_lock guard(lock());
  released_ = true;
  gone.reserve(layout_.saved);
  for (auto& s : saved()) gone.push_back(std::exchange(s, {}));
}

const Tensor& RuleContext::unpacked(std::size_t slot) {
  if (unpacked_.size() <= slot) unpacked_.resize(node_.layout().saved);
  Tensor& t = unpacked_[slot];
  if (!t.defined()) t = node_.unpack(slot);
  if (wide_ && t.defined()) t = ops::widened(t);
  return unpacked_[slot];
}

const Tensor& RuleContext::input(int i) {
  int slot = node_.savedOperand(i);
  TANDEM_CHECK(slot >= 0, "the derivative of ", facts(op()).name, " reads operand ", i,
               ", which its record does not name");
  return unpacked(static_cast<std::size_t>(slot));
}

Operand RuleContext::operand(int i) {
  if (!node_.operandIsTensor(i)) return node_.scalar(i);
  return input(i);
}

const Tensor& RuleContext::output(int i) {
  if (node_.released()) failReleased();
  int slot = node_.savedResult(i);
  TANDEM_CHECK(slot >= 0, "the derivative of ", facts(op()).name, " reads result ", i,
               ", which its record does not name");
  return unpacked(static_cast<std::size_t>(slot));
}

bool RuleContext::comesFromTranspose(int i) const {
  const Edge& e = node_.edges()[i];
  if (!e || e.node->kind() != Node::Kind::Op) return false;
  const auto& from = static_cast<const OpNode&>(*e.node);
  if (from.op() != OpCode::transpose) return false;
  auto rank = static_cast<std::int64_t>(from.results()[0].shape.size());
  auto [low, high] = std::minmax(from.attrs()[0], from.attrs()[1]);
  return low == rank - 2 && high == rank - 1;
}

}  // namespace tandem
