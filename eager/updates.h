// The updates of optimizers: pointwise operations that read and overwrite a parameter and its state in one pass.
#pragma once

#include <span>

#include "eager/kernels.h"
#include "eager/tensor.h"
#include "ir/schema/op_table.h"

namespace tandem {

/// Overwrites `outs` with the first results of a pointwise operation that reads them. The outs have the shape and dtype
/// of the results and take part in no gradient; one that is not defined (never the first) is a result that nobody
/// wants.
void applyUpdate(OpCode op, std::span<const Operand> operands, std::span<const Tensor> outs);

/// The update of one parameter after the other, each as by `applyUpdate`. Those that are contiguous are put off and run
/// together, which several hundred small parameters take half the time for, and on a GPU a few launches.
class Updates {
 public:
  explicit Updates(OpCode op) : op_(op), rows_(facts(op)) {}
  /// The tensors live until `run`.
  void add(std::span<const Operand> operands, std::span<const Tensor> outs);
  /// Runs what was put off.
  void run() { rows_.run(); }

 private:
  bool putOff(std::span<const Operand> operands, std::span<const Tensor> outs);

  OpCode op_;
  FlatRows rows_;
};

}  // namespace tandem
