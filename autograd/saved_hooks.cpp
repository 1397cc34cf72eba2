#include "autograd/saved_hooks.h"

#include <vector>

#include "autograd/autograd.h"

namespace tandem {

namespace {
thread_local std::vector<std::shared_ptr<SavedTensorHooks>> stack;
thread_local std::optional<std::string> disabled;
}  // namespace

void pushSavedTensorHooks(std::shared_ptr<SavedTensorHooks> hooks) {
  if (disabled) fail(*disabled);
  stack.push_back(std::move(hooks));
}
void popSavedTensorHooks() {
  if (!stack.empty()) stack.pop_back();
}

bool savedTensorHooksActive() { return !stack.empty(); }

std::optional<std::string> disableSavedTensorHooks(std::optional<std::string> message) {
  if (message && !stack.empty()) fail(*message);
  return std::exchange(disabled, std::move(message));
}

Ref<PackedTensor> packSaved(const Tensor& t) {
  if (stack.empty() || !t.defined()) return {};
  // The hooks' own operations are packed by no one, and are no part of the graph.
  std::vector<std::shared_ptr<SavedTensorHooks>> outer;
  outer.swap(stack);
  NoGrad noGrad;
  Ref<PackedTensor> packed;
  try {
    const std::uint32_t version = t.impl()->version();
    packed = outer.back()->pack(autograd::detach(t));
    if (t.impl()->version() != version)
      fail(
          "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook can not be "
          "modified by in-place operations as this can lead to unexpected side-effects.");
  } catch (...) {
    stack.swap(outer);
    throw;
  }
  stack.swap(outer);
  if (packed) packed->batch = t.impl()->batch;
  return packed;
}

}  // namespace tandem
