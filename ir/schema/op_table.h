// The facts of every operation, generated from the records: what any layer may ask about an operation without knowing
// it. `OpCode`'s enumerators are the operations' names.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "ir/schema/op_code.h"
#include "runtime/base/dtype.h"
#include "runtime/base/scalar.h"
#include "runtime/base/shape.h"
#include "runtime/base/tensor_meta.h"

namespace tandem {

enum class OpKind : std::uint8_t {
  Pointwise,  // one output element from the input elements at the same (broadcast) place; generated kernel
  Reduction,  // over dims; generated kernel
  Random,     // a pointwise body of (seed, offset, ..., index): operands 0 and 1 are the generator's state, which
              // `apply` and recorders supply; generated kernel
  Creation,   // a pointwise body of numbers and the index (full, ramp); generated kernel
  View,       // another window on the same storage
  // Functions of runtime/lib (isLibrary), by what is known of them:
  Contraction,    // products of matrices
  Convolution,    // and the gradients of one
  Pool,           // over windows that slide along the last dims
  Attention,      // and its gradients
  Gather,         // elements of operand 0 from places that the other operands say
  Scatter,        // operand 0 changed at places: may be computed in its memory
  Scan,           // a running combination along a dim
  Sort,           // the elements along a dim in order, or those at some place of the order
  Factorisation,  // of matrices, each by itself; and what is solved with factors
  Library,        // anything else
  Composite,      // written with other operations; never in a trace, and on a tape only if it has a rule of its own
};

/// Is it run by a function of runtime/lib?
constexpr bool isLibrary(OpKind kind) { return kind >= OpKind::Contraction && kind <= OpKind::Library; }

/// What passes make by themselves, look through or must not leave out.
enum class OpRole : std::uint8_t {
  None,
  Copy,     // the operand's elements, in memory of their own
  Convert,  // the operand's elements in the dtype of the attribute
  Fill,     // the operand, a number, in every place; attributes: the shape, the dtype
  Expect,   // the first operand, where the second, of any shape, is true; else an error
};
inline constexpr std::size_t kNumRoles = 5;

/// How operand dtypes become the dtype the body computes in and the dtype of the result.
enum class DTypeRule : std::uint8_t {
  Promote,   // result = promoted type of all operands
  Float,     // as Promote, integers and bool becoming the default dtype
  Number,    // as Promote, bool becoming int64
  Compare,   // operands promoted, result bool
  Logical,   // operands converted to bool, result bool
  First,     // result = dtype of operand 0; the others are converted to it
  Select,    // operand 0 is a bool condition; the others promote
  Index,     // result int64
  Explicit,  // given by the attribute `dtype`
  Sum,       // integers and bool become int64, unless the attribute `dtype` says otherwise
  Raw,       // operands keep their dtypes (numbers: int64 or float64) and the body converts; the result has the
             // dtype of operand 0, of Random and Creation operations that of the attribute `dtype`
  Rule,      // the shape rule says
};

/// The dtypes that the body of a pointwise operation computes in; others are a NotImplementedError.
enum class OpDomain : std::uint8_t {
  Any,
  Floating,
  Integer,
  Integral,  // integers and bool
  Number,    // all but bool
};
inline bool inDomain(OpDomain domain, DType t) {
  switch (domain) {
  case OpDomain::Floating:
    return isFloating(t);
  case OpDomain::Integer:
    return isInteger(t);
  case OpDomain::Integral:
    return !isFloating(t);
  case OpDomain::Number:
    return t != DType::Bool;
  default:
    return true;
  }
}

/// Which operands a pointwise operation on integers has no result for.
enum class OpPartial : std::uint8_t {
  None,
  Divisor,   // operand 1: 0
  Exponent,  // operand 1: negative numbers, and numbers that the dtype cannot hold
  Choice,    // operands 1 and 2: numbers that the dtype cannot hold
};

/// How a library operation may fail for elements of its operands that it has no result for.
enum class OpFailure : std::uint8_t {
  Never,
  Values,     // what can be looked at before: indices, classes, what is expected
  Computing,  // known while it runs: an iteration that does not converge, a size that data decide
};

/// Results of one operation, at most.
inline constexpr std::size_t kMostResults = 8;

struct OpFacts;
/// Result metas of an operation, or an exception naming it, its shapes and dtypes. `results` has numResults entries.
using MetaRule = void (*)(const OpFacts& op, std::span<const TensorMeta> operands, std::span<const std::int64_t> attrs,
                          std::span<TensorMeta> results);

struct OpFacts {
  OpCode code;
  std::string_view name;
  OpKind kind;
  DTypeRule dtypeRule;
  OpDomain domain;
  std::uint8_t numResults;
  bool random;          // its operands begin with the generator's seed and offset, which callers do not pass
  bool usesIndex;       // the body reads the logical linear index: an Index step is its last operand
  bool differentiable;  // has a derivative statement other than "none"
  bool cheap;           // pointwise, of a few instructions
  bool updates;         // a Scatter: the result may take operand 0's memory
  bool wideNumbers;     // with half types, numbers are converted to float32 and not to the half type
  OpPartial partial;
  OpFailure failure;
  OpRole role;
  std::uint32_t savesInput;   // bit i: the derivative reads operand i
  std::uint32_t savesOutput;  // bit i: the derivative reads result i
  MetaRule metaRule;          // null for views
  /// For the first operands, what the derivative of each alone reads: a value is saved only for a derivative that is
  /// needed.
  std::uint32_t readsFor[4];
  std::uint32_t readsResultFor[4];  // likewise, of the results
};

const OpFacts& facts(OpCode op);
int numOps();
/// The operation that has a role (not None).
OpCode opOf(OpRole role);
/// By name; nothing where there is none.
std::optional<OpCode> findOp(std::string_view name);

/// The dtype operands of a pointwise operation are converted to, and that of its result. Shared by eager, the meta
/// rules and lowering, so that a fused operation computes in what the eager one does.
struct PointwiseTypes {
  DType operand;
  DType result;
};
PointwiseTypes pointwiseTypes(const OpFacts& op, std::span<const TensorMeta> operands,
                              std::span<const std::int64_t> attrs);
/// The dtype operand `i` of a pointwise operation is converted to before the body sees it.
DType operandType(const OpFacts& op, PointwiseTypes types, std::size_t i, const TensorMeta& operand);
/// PyTorch's promotion over tensors with dims, 0-d tensors and numbers, in that priority.
DType resultType(std::span<const TensorMeta> operands);
/// Set by `eager` from `set_default_dtype`.
inline DType schemaDefault = DType::Float32;
inline DType schemaDefaultDType() { return schemaDefault; }
inline void setSchemaDefaultDType(DType t) { schemaDefault = t; }

}  // namespace tandem
