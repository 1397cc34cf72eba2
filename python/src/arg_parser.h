// How Python arguments reach operations. The generator writes, for every Python name, a list of overloads
//
//   static constexpr ParamSpec params_add_0[] = {{"input", ParamType::Operand, false, false}, ...};
//   static PyObject* call_add_0(ParsedArgs& a) { return wrap(a, ops::add(a.operand(0), a.operand(1))); }
//   static constexpr Signature sigs_add[] = {{"add", params_add_0, call_add_0, /*takesOut=*/true}};
//
// and tables of PyMethodDef made by `function<sigs_add>("add", doc)` and `method<sigs_add>("add", doc)`, which end in
// an empty entry: kFunctions (tandem.*), kMethods (on Tensor, in-place forms included), kNnFunctions, kLinalgFunctions,
// kSpecialFunctions.
//
// A call binds arguments to the parameters of each overload in turn and checks their types without converting them; the
// first overload that fits is called, and converts what it reads. Errors name the operation and its signatures.
#pragma once

#include <Python.h>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "eager/tensor.h"
#include "ir/schema/op_table.h"
#include "python/src/autocast.h"
#include "python/src/errors.h"

namespace tandem {
class Generator;
}

namespace tandem::python {

/// The kind of value a parameter takes. The Optional ones take None as well, as does every parameter with a default
/// but those whose default is an integer, a float or no tensor; None then counts as not given.
enum class ParamType : std::uint8_t {
  Tensor,
  OptionalTensor,
  TensorList,       // list or tuple of tensors; one tensor is not a list
  TensorArguments,  // the tensors themselves, none of them too, or as TensorList
  Operand,          // tensor or number
  Scalar,           // number, or a tensor of one element (which is read)
  OptionalScalar,
  Int,  // anything with __index__ but bool
  OptionalInt,
  IntList,  // list, tuple or one int; where it is the last positional parameter, also as varargs
  OptionalIntList,
  IntList2,  // as IntList; one int stands for two
  Bool,
  OptionalBool,
  OptionalDType,  // a dtype, or float, int, bool
  Float,          // number
  OptionalFloat,
  Str,
  OptionalStr,
  Generator,  // tandem.Generator or None
  Device,     // None, or a device that is here
  Layout,     // None, or a tandem.layout: strided, any other one is refused
  Any,        // accepted and ignored: pin_memory, memory_format
};

struct ParamSpec {
  const char* name;
  ParamType type;
  bool optional;  // may be left out
  bool keywordOnly;
};

class ParsedArgs;
struct Signature {
  const char* op;  // as users write it, for messages
  std::span<const ParamSpec> params;
  PyObject* (*call)(ParsedArgs&);
  bool takesOut = false;  // has the keyword `out`, see ParsedArgs::out and wrap
  AutocastPolicy autocast = {};
  // Of an order of the arguments that only older programs use, and are warned of: the place that each parameter has in
  // what `call` reads.
  std::span<const std::uint8_t> places = {};
};

/// The arguments of one call, in the order of the signature's parameters. Borrows from the caller of the operation, so
/// everything it hands out lives as long as the call. All accessors throw on a value out of range.
class ParsedArgs {
 public:
  static constexpr std::size_t kMaxParams = 24;

  /// Given, and not None.
  [[nodiscard]] bool has(std::size_t i) const { return values_[i] != nullptr; }
  /// Undefined where it was not given.
  [[nodiscard]] const Tensor& tensor(std::size_t i) const;
  [[nodiscard]] std::vector<Tensor> tensors(std::size_t i) const;
  [[nodiscard]] Operand operand(std::size_t i) const;
  /// `dflt` where it was not given.
  [[nodiscard]] Operand operand(std::size_t i, Scalar dflt) const;
  [[nodiscard]] std::optional<Operand> optionalOperand(std::size_t i) const {
    return has(i) ? std::optional(operand(i)) : std::nullopt;
  }
  [[nodiscard]] Scalar scalar(std::size_t i, Scalar dflt = Scalar()) const;
  [[nodiscard]] std::optional<Scalar> optionalScalar(std::size_t i) const;
  [[nodiscard]] std::int64_t integer(std::size_t i, std::int64_t dflt = 0) const;
  [[nodiscard]] std::optional<std::int64_t> optionalInteger(std::size_t i) const;
  [[nodiscard]] Dims ints(std::size_t i, std::initializer_list<std::int64_t> dflt = {}) const;
  [[nodiscard]] std::optional<Dims> optionalInts(std::size_t i) const;
  [[nodiscard]] bool boolean(std::size_t i, bool dflt = false) const;
  [[nodiscard]] std::optional<DType> dtype(std::size_t i) const;
  [[nodiscard]] DType dtype(std::size_t i, DType dflt) const { return dtype(i).value_or(dflt); }
  [[nodiscard]] double number(std::size_t i, double dflt = 0) const;
  [[nodiscard]] std::optional<bool> optionalBoolean(std::size_t i) const;
  [[nodiscard]] std::optional<double> optionalNumber(std::size_t i) const;
  [[nodiscard]] std::string str(std::size_t i, std::string_view dflt = {}) const;
  [[nodiscard]] std::optional<std::string> optionalStr(std::size_t i) const;
  /// Null where it was not given: the default generator.
  [[nodiscard]] Generator* generator(std::size_t i) const;

  /// The argument itself; null where it was not given.
  [[nodiscard]] PyObject* object(std::size_t i) const { return values_[i]; }
  /// The operation as users write it, for messages.
  [[nodiscard]] const char* op() const { return signature_->op; }
  /// Where the call runs: the device that is given, else that of its tensors, else the default one.
  [[nodiscard]] Device device() const;
  /// Does a tensor among the arguments, or in a list of them, lie in the memory of `t`?
  [[nodiscard]] bool reach(const Tensor& t) const;
  /// The value of `out`: a tensor or a tuple of tensors, or null.
  [[nodiscard]] PyObject* out() const { return out_; }
  [[nodiscard]] std::size_t numParams() const { return signature_->params.size(); }
  [[nodiscard]] const ParamSpec& param(std::size_t i) const { return signature_->params[i]; }
  /// A new reference to argument 0: what an in-place method returns.
  [[nodiscard]] PyObject* self() const { return Py_NewRef(values_[0]); }

 private:
  friend class Binder;
  /// The number at i. One that no signed integer holds is taken as what stands beside it: the tensors, or the dtype.
  [[nodiscard]] Scalar plainNumber(std::size_t i, bool operand = false) const;
  friend void castArguments(ParsedArgs& a, AutocastPolicy policy, std::vector<PyRef>& owned);
  const Signature* signature_ = nullptr;
  PyObject* out_ = nullptr;
  std::size_t varargsAt_ = kMaxParams;  // the parameter that took varargs
  PyObject* const* varargs_ = nullptr;
  std::size_t numVarargs_ = 0;
  PyObject* values_[kMaxParams];
};

/// Replaces tensors among the arguments by what autocast makes of them; `owned` keeps those for the call.
void castArguments(ParsedArgs& a, AutocastPolicy policy, std::vector<PyRef>& owned);

/// Binds and calls the first overload that fits; `self`, if not null, is argument 0. `module` is that of a function,
/// null for methods. Classes that say themselves what operations do are asked first (torch_function.h).
PyObject* callOverloads(std::span<const Signature> overloads, PyObject* self, PyObject* const* args, Py_ssize_t numArgs,
                        PyObject* keywords, PyObject* module = nullptr) noexcept;

template <const auto& overloads>
PyObject* functionEntry(PyObject* module, PyObject* const* args, Py_ssize_t numArgs, PyObject* keywords) {
  return callOverloads(overloads, nullptr, args, numArgs, keywords, module);
}
template <const auto& overloads>
PyObject* methodEntry(PyObject* self, PyObject* const* args, Py_ssize_t numArgs, PyObject* keywords) {
  return callOverloads(overloads, self, args, numArgs, keywords);
}
template <const auto& overloads>
PyMethodDef function(const char* name, const char* doc) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&functionEntry<overloads>)),
          METH_FASTCALL | METH_KEYWORDS, doc};
}
template <const auto& overloads>
PyMethodDef method(const char* name, const char* doc) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&methodEntry<overloads>)),
          METH_FASTCALL | METH_KEYWORDS, doc};
}

// Results. A new reference to the Python object of a value.
PyObject* wrap(Tensor t);
PyObject* wrap(bool v);
PyObject* wrap(std::int64_t v);
PyObject* wrap(double v);
PyObject* wrap(const Scalar& v);
PyObject* wrap(DType v);
PyObject* wrap(std::span<const Tensor> tensors);  // a tuple
inline PyObject* wrap(const std::vector<Tensor>& tensors) { return wrap(std::span<const Tensor>(tensors)); }

/// A tensor in memory that nobody else knows is no view: neither what it was a window of, nor where, matters to it.
PyObject* wrapAlone(Tensor t);

/// TypeError where the first two arguments are numbers.
void needOne(const ParsedArgs& a);
/// `result`, or the tensor given as `out` after `result` was stored in it (resized if it is empty; history of an
/// operand or a dtype that `out` cannot take is an error).
PyObject* wrap(ParsedArgs& a, Tensor result);
/// Error where an argument shares memory with `into`, which the call is to change, in a way that it cannot have: what
/// it reads there is written before. The out tensor or argument 0.
void refuseShared(const ParsedArgs& a, const Tensor& into);
/// The same for a pointwise primitive, which writes into a fitting `out` itself.
PyObject* applyOut(ParsedArgs& a, OpCode op, std::initializer_list<Operand> operands,
                   std::span<const std::int64_t> attrs = {});
/// The same of an operation that reads elements of a tensor along a dim where indices say: the three of them.
PyObject* gatherOut(ParsedArgs& a, OpCode op, std::initializer_list<Operand> inputDimIndex);
/// Several results; with `fields` as a named tuple `tandem.return_types.<typeName>`.
PyObject* wrap(ParsedArgs& a, std::span<const Tensor> results, const char* typeName = nullptr,
               std::initializer_list<const char*> fields = {});
/// The tensor if there is one, else a tuple.
inline PyObject* wrapOneOrMore(ParsedArgs& a, const std::vector<Tensor>& tensors) {
  return tensors.size() == 1 ? wrap(a, tensors[0]) : wrap(a, tensors);
}
/// `_named_result(name, fields, values)`: such a named tuple, of Python's strings and values.
PyObject* namedResult(PyObject* module, PyObject* args);
/// What a factory returns: a leaf, requiring a gradient if `requiresGrad`. An `out` of another shape becomes of that
/// shape, but one of as many elements stays as it is if `keepsShape`.
PyObject* wrapLeaf(ParsedArgs& a, Tensor result, bool requiresGrad, bool keepsShape = false);
/// What `make`, which makes a row-major tensor like argument 0 or of the sizes that it is, gives in the memory format
/// that argument `i` names: where it names none in that of the tensor, or row-major.
Tensor madeLike(const ParsedArgs& a, std::size_t i, const std::function<Tensor(const Tensor&)>& make);
Tensor madeIn(const ParsedArgs& a, std::size_t i, const std::function<Tensor(DimsRef)>& make);
/// The dtype to make or to compute in: that of `out`, which argument `i` may repeat, or what the argument says.
std::optional<DType> dtypeOfOut(const ParsedArgs& a, std::size_t i);
/// What argument `i` of an in-place call says, which is to be the dtype of the tensor that it writes.
std::optional<DType> dtypeInPlace(const ParsedArgs& a, std::size_t i);

}  // namespace tandem::python
