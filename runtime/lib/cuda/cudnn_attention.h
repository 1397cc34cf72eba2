// Attention in half types by cuDNN (cudnn.h), forward and backward.
#pragma once

#include "runtime/lib/library.h"

namespace tandem::cuda {

/// Query [B, H, rows, width], key [B, K, keys, width], value [B, K, keys, valueWidth] of `half`, or of float32 that was
/// converted from it; a mask [B, H, rows, keys] of bool or float32, or none. No size is 0.
struct AttentionOperands {
  const ArrayView &query, &key, &value;
  const ArrayView* mask;
  bool causal;
  double scale;
  DType half;
};

/// Queues softmax(query key^T scale + mask) value into `out` [B, H, rows, valueWidth], and statistics of rows as
/// `attention` has them into `stats`: the output of the operands' dtype, dense, with heads before rows or rows before
/// heads, the statistics float32 and contiguous. False, and nothing is queued, where cuDNN is missing, or has no engine
/// for the sizes. A row that attends to nothing gives zeros.
bool cudnnAttention(const AttentionOperands& operands, const ArrayView& out, const ArrayView& stats);

/// Queues the cotangents of query, key and value, of their shapes and dense as the output is, from that of the output.
/// False likewise, and on GPUs of a later kind than compute capability 9, where engines of this graph are not known to
/// add in a fixed order.
bool cudnnAttentionGrad(const AttentionOperands& operands, const ArrayView& grad, const ArrayView& output,
                        const ArrayView& stats, std::span<const ArrayView> results);

}  // namespace tandem::cuda
