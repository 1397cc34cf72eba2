// Saved-tensor hooks: what the tape keeps of a tensor may be another thing, from which the tensor is made again when
// the backward wants it. Thread-local; the innermost hooks pack what is saved while they are on the stack.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "eager/tensor.h"

namespace tandem {

/// What a tensor was packed into.
class PackedTensor : public Counted<PackedTensor> {
 public:
  virtual ~PackedTensor() = default;
  static void destroy(PackedTensor* p) { delete p; }
  virtual Tensor unpack() = 0;

  /// The hidden dims of the tensor, by which the node's cotangents know its examples.
  Ref<const BatchDims> batch;
};

class SavedTensorHooks {
 public:
  virtual ~SavedTensorHooks() = default;
  /// `t` has no history.
  virtual Ref<PackedTensor> pack(const Tensor& t) = 0;
};

/// Error while hooks are disabled.
void pushSavedTensorHooks(std::shared_ptr<SavedTensorHooks> hooks);
void popSavedTensorHooks();
/// Hooks cannot be pushed, with this message, until set to nothing; what it was. Error if some are on the stack.
std::optional<std::string> disableSavedTensorHooks(std::optional<std::string> message);
/// Are there hooks on this thread's stack?
bool savedTensorHooksActive();
/// Packs `t` by the innermost hooks; null where there are none.
Ref<PackedTensor> packSaved(const Tensor& t);

}  // namespace tandem
