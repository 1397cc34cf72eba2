// A tensor kept for the backward, and how it is got back: unchanged (by its version) or with an error, and without a
// cycle when it is a result of the node that keeps it.
#pragma once

#include <cstdint>

#include "autograd/node.h"
#include "autograd/saved_hooks.h"
#include "eager/tensor.h"

namespace tandem {

class SavedTensor {
 public:
  enum class Kind : std::uint8_t {
    Operand,   // the tensor itself, with whatever history it has
    Detached,  // an operand's window without history, which is that of the owner's edge `index`
    Result,    // a result's window without history, which is `index` of the owner
  };

  SavedTensor() = default;
  /// `index`: which operand of the node it is; -1: none of them.
  static SavedTensor operand(const Tensor& t, int index) {
    if (t.defined() && t.impl()->inference && !inferenceMode())
      fail("Inference tensors cannot be saved for backward. Make a clone of it outside inference mode to use it in "
           "autograd.");
    if (Ref<PackedTensor> packed = packSaved(t))
      return {std::move(packed), index < 0 ? Kind::Operand : Kind::Detached, static_cast<std::uint32_t>(index)};
    return {t, versionOf(t), Kind::Operand, 0};
  }
  static SavedTensor result(const Tensor& t, std::uint32_t nr);
  SavedTensor(Tensor t, std::uint32_t version, Kind kind, std::uint32_t index)
      : tensor_(std::move(t)), version_(version), kind_(kind), index_(static_cast<std::uint16_t>(index)) {}

  SavedTensor(Ref<PackedTensor> packed, Kind kind, std::uint32_t index)
      : packed_(std::move(packed)), kind_(kind), index_(static_cast<std::uint16_t>(index)) {}

  /// A hook packed it: there is no tensor.
  [[nodiscard]] bool isPacked() const { return static_cast<bool>(packed_); }
  /// The tensor as it was, with its history if grad mode is on. `owner` is the node that keeps it. Error with
  /// PyTorch's text when it was written since.
  [[nodiscard]] Tensor unpack(Node& owner) const;
  [[nodiscard]] const Tensor& tensor() const { return tensor_; }
  [[nodiscard]] std::uint32_t version() const { return version_; }
  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] std::uint32_t index() const { return index_; }

 private:
  static std::uint32_t versionOf(const Tensor& t) { return t.defined() ? t.impl()->version() : 0; }

  Tensor tensor_;
  Ref<PackedTensor> packed_;
  std::uint32_t version_ = 0;
  Kind kind_ = Kind::Operand;
  std::uint16_t index_ = 0;
};

}  // namespace tandem
