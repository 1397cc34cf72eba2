// Which windows of one memory meet: what a write may destroy before it is read.
#pragma once

#include <span>

#include "eager/tensor.h"

namespace tandem {

/// Of a tensor with elements, whatever order its dims lie in: all of a stretch of memory, each once.
bool isDense(const Tensor& t);

/// The same elements of the same memory, in the same shape.
bool sameWindow(const Tensor& a, const Tensor& b);

/// All of the same memory in the same order, in whatever shape: a write of one to the other changes nothing.
bool sameMemory(const Tensor& a, const Tensor& b);

/// Has `t` a dim of several elements that are one in memory, as `expand` makes?
bool selfOverlaps(const Tensor& t);

/// Of windows of other kinds too: may two places of `t` be one element? False only where that is known.
bool mayOverlapItself(const Tensor& t);

/// `t` and `into` reach into one stretch of memory.
bool overlaps(const Tensor& t, const Tensor& into);

/// Other than by being the same window: reading it while `into` is written would see the write.
inline bool overlapsPartly(const Tensor& t, const Tensor& into) { return overlaps(t, into) && !sameWindow(t, into); }

/// Error where a call that writes `out` element by element would read elements of `operands` after it wrote them:
/// windows of one memory that meet without being the same. As in PyTorch, only stretches without holes are compared.
void refusePartialOverlap(const char* op, const Tensor& out, std::span<const Operand> operands);
inline void refusePartialOverlap(const char* op, const Tensor& out, std::initializer_list<Operand> operands) {
  refusePartialOverlap(op, out, std::span(operands.begin(), operands.size()));
}

/// The same where each element of `out` may depend on any of `t`: they must share no memory at all.
void refuseOverlap(const char* op, const Tensor& out, const Tensor& t);

}  // namespace tandem
