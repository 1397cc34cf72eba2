// What composites and bindings share beside the operations themselves.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "eager/tensor.h"
#include "runtime/lib/expectation.h"

namespace tandem {

/// The dims of a reduction: all for None or an empty list; wrapped, sorted, without duplicates (Error).
Dims reductionDims(const Tensor& x, const std::optional<Dims>& dims);

/// What an in-place form does with a tensor whose dims repeat elements: an error, the write, or that with a warning;
/// changes at several places of an element are added if Summed.
enum class Repeats : std::uint8_t { Refused, Taken, Warned, Summed };

/// a * b and a + b of the sizes of a result; Error naming `op` where they are more than int64 holds.
std::int64_t sizeProduct(const char* op, std::int64_t a, std::int64_t b);
std::int64_t sizeSum(const char* op, std::int64_t a, std::int64_t b);

namespace ops {
/// `into.copy_(value)`: broadcast and converted, with history.
void assign(const Tensor& into, const Tensor& value);
/// The in-place form of a composite: what `compute` gives, its result, written into `into`, which has its shape and a
/// dtype that can hold its values (Error).
void assignResult(const char* op, const Tensor& into, const std::function<Tensor()>& compute,
                  Repeats repeats = Repeats::Refused);
/// Has it dims that repeat one element, as `expand` makes?
bool repeatsElements(const Tensor& t);
/// `into`, some elements of which have several places, changed to what `value` has at these: the last change counts, or
/// the sum of all. Errors where a gradient would be needed.
void assignRepeated(const char* op, const Tensor& into, Tensor value, Repeats repeats);
/// Of a window that may have several places for one element (mayOverlapItself), with elements: which places are the
/// last of theirs, in the order in which memory is walked.
Tensor lastPlaces(const Tensor& window);
/// What the elements of such a window become where `values` are to be written to its places, and places at which they
/// are what is there write nothing: at each place the last change of its element. Without history.
Tensor lastChanges(const Tensor& window, const Tensor& values);
/// `into.fill_(value)`.
void fillInto(const Tensor& into, const Operand& value);
/// `x` in another dtype; `x` itself if it has that one.
Tensor toDType(const Tensor& x, DType dtype);
/// Is each element nonzero? In uint8 of uint8, as reductions of such are.
Tensor flagsOf(const Tensor& x);
/// `x`, whose use follows the check that all of the bool tensor `good` holds: at once where values are at hand, else as
/// an operation. `shown` (int64, of the shape of `good`) has what the error names.
Tensor expected(const Tensor& x, const Tensor& good, Expectation what, const Tensor& shown = {},
                std::int64_t detail = 0);
/// `value`, which is constant in `of`, with the history of a value that depends on them: their gradient is 0.
Tensor constantIn(const Tensor& value, std::span<const Tensor> of);
/// A result that was written in pieces: what the program does not see is no version.
const Tensor& firstSeen(const Tensor& made);
/// Error unless the parameters of a normalisation have the dtype of `x`, or float32 where x has a half type.
void needNormDType(const char* op, const Tensor& x, std::initializer_list<const Tensor*> parameters);
/// Error unless both operands have one dtype.
void needSameDType(const char* op, const Tensor& x, const Tensor& y);
/// The value without history: the same memory, no gradient.
Tensor detached(const Tensor& x);
}  // namespace ops

}  // namespace tandem
