// Binding of Python arguments to the parameters of an operation's overloads, and the errors when none fits.
#include "python/src/arg_parser.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "eager/fusion.h"
#include "python/src/convert.h"
#include "python/src/device_object.h"
#include "python/src/generator.h"
#include "python/src/py_tensor.h"
#include "python/src/torch_function.h"
#include "python/src/tracked_numbers.h"
#include "runtime/base/warn.h"

namespace tandem::python {

// ---- which values fit which parameters ------------------------------------------------------------------------------

namespace {

bool isInteger(PyObject* o) {
  if (PyLong_CheckExact(o)) return true;
  if (PyBool_Check(o)) return false;
  return PyLong_Check(o) || (PyIndex_Check(o) && !isTensor(o) && isNumber(o));
}
// Elements of a list of sizes: a tensor of one integer is read.
bool isSizeElement(PyObject* o) { return isInteger(o) || isTensor(o) || isNumpyNumber(o); }

bool isSequence(PyObject* o) { return PyTuple_Check(o) || PyList_Check(o); }
template <class Test>
bool allOf(PyObject* o, Test test) {
  Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
  PyObject** items = PySequence_Fast_ITEMS(o);
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (!test(items[i])) return false;
  }
  return true;
}

bool isNumpyBool(PyObject* o) {
  const char* name = Py_TYPE(o)->tp_name;
  return std::strcmp(name, "numpy.bool") == 0 || std::strcmp(name, "numpy.bool_") == 0;
}

bool takesNone(const ParamSpec& p) {
  switch (p.type) {
  case ParamType::OptionalTensor:
  case ParamType::OptionalScalar:
  case ParamType::OptionalInt:
  case ParamType::OptionalIntList:
  case ParamType::OptionalBool:
  case ParamType::OptionalDType:
  case ParamType::OptionalFloat:
  case ParamType::OptionalStr:
  case ParamType::Generator:
  case ParamType::Device:
    return true;
  default:
    return p.optional && p.type != ParamType::Int && p.type != ParamType::Float && p.type != ParamType::TensorArguments;
  }
}

bool fits(ParamType type, PyObject* o) {
  switch (type) {
  case ParamType::Tensor:
  case ParamType::OptionalTensor:
    return isTensor(o);
  case ParamType::TensorList:
  case ParamType::TensorArguments:
    return isSequence(o) && allOf(o, isTensor);
  case ParamType::Operand:
    return isTensor(o) || isNumber(o);
  case ParamType::Scalar:
  case ParamType::OptionalScalar:
    // A number has no gradient: a tensor that wants one is none.
    return isNumber(o) || (isTensor(o) && tensorOf(o).numel() == 1 && !tensorOf(o).requiresGrad());
  case ParamType::Int:
  case ParamType::OptionalInt:
    return isInteger(o);
  case ParamType::IntList:
  case ParamType::OptionalIntList:
  case ParamType::IntList2:
    return isInteger(o) || (isSequence(o) && allOf(o, isSizeElement));
  case ParamType::Bool:
  case ParamType::OptionalBool:
    return PyBool_Check(o) || isNumpyBool(o);
  case ParamType::OptionalDType:
    return asDType(o).has_value();
  case ParamType::Float:
  case ParamType::OptionalFloat:
    return isNumber(o);
  case ParamType::Str:
  case ParamType::OptionalStr:
    return PyUnicode_Check(o);
  case ParamType::Generator:
    return isGenerator(o);
  case ParamType::Device:
    return PyUnicode_Check(o) || isDevice(o) || (PyLong_Check(o) && !PyBool_Check(o));
  case ParamType::Layout:
    return isLayout(o);
  case ParamType::Any:
    return true;
  }
  return false;
}

bool isIntList(ParamType t) {
  return t == ParamType::IntList || t == ParamType::OptionalIntList || t == ParamType::IntList2;
}

/// A tensor of no dims, which stands for the number that it holds.
bool isTensorNumber(ParamType type, PyObject* o) {
  if (!isTensor(o)) return false;
  const Tensor& t = tensorOf(o);
  if (t.dim() != 0 || t.requiresGrad()) return false;
  if (type == ParamType::Float || type == ParamType::OptionalFloat) return true;
  const bool integer = type == ParamType::Int || type == ParamType::OptionalInt || isIntList(type);
  return integer && !isFloating(t.dtype()) && t.dtype() != DType::Bool;
}

const char* typeText(ParamType type) {
  switch (type) {
  case ParamType::Tensor:
  case ParamType::OptionalTensor:
    return "Tensor";
  case ParamType::TensorList:
  case ParamType::TensorArguments:
    return "tuple of Tensors";
  case ParamType::Operand:
    return "Tensor or Number";
  case ParamType::Scalar:
  case ParamType::OptionalScalar:
    return "Number";
  case ParamType::Int:
  case ParamType::OptionalInt:
    return "int";
  case ParamType::IntList:
  case ParamType::OptionalIntList:
  case ParamType::IntList2:
    return "tuple of ints";
  case ParamType::Bool:
  case ParamType::OptionalBool:
    return "bool";
  case ParamType::OptionalDType:
    return "tandem.dtype";
  case ParamType::Float:
  case ParamType::OptionalFloat:
    return "float";
  case ParamType::Str:
  case ParamType::OptionalStr:
    return "str";
  case ParamType::Generator:
    return "tandem.Generator";
  case ParamType::Device:
    return "tandem.device";
  case ParamType::Layout:
    return "tandem.layout";
  case ParamType::Any:
    return "object";
  }
  return "?";
}

// Keywords of NumPy and of older PyTorch that mean the same.
struct Alias {
  const char* keyword;
  const char* parameter;
};
constexpr Alias kAliases[] = {{"from_", "from"},
                              {"axis", "dim"},
                              {"axis", "dims"},
                              {"self", "input"},
                              {"x", "input"},
                              {"x1", "input"},
                              {"a", "input"},
                              {"x2", "other"},
                              {"keepdims", "keepdim"},
                              {"axis1", "dim1"},
                              {"axis2", "dim2"},
                              {"axis0", "dim0"},
                              {"dim", "axis"},
                              {"tensor", "input"},
                              {"value", "src"},
                              {"element", "elements"},
                              {"test_element", "test_elements"},
                              {"obj", "data"},
                              {"other", "src"},
                              {"tensor", "tensor1"},
                              {"scalar", "tensor1"},
                              {"scalar1", "tensor1"},
                              {"other", "tensor2"},
                              {"scalar2", "tensor2"},
                              {"train", "training"},
                              {"split_size", "split_size_or_sections"}};

}  // namespace

// ---- binding --------------------------------------------------------------------------------------------------------

// The class of an argument as messages name it: tensors by their short name.
static const char* className(PyObject* o) { return Py_TYPE(o) == tensorType ? "Tensor" : Py_TYPE(o)->tp_name; }

class Binder {
 public:
  enum class Why : std::uint8_t { Fits, TooMany, WrongType, UnknownKeyword, Twice, Missing };

  /// `readTensors`: a number may be a 0-d tensor of one, which is read.
  Binder(const Signature& s, PyObject* self, PyObject* const* args, Py_ssize_t numArgs, PyObject* keywords,
         bool readTensors = false)
      : signature_(s), self_(self), args_(args), numArgs_(static_cast<std::size_t>(numArgs)), keywords_(keywords),
        readTensors_(readTensors) {}

  bool bind(ParsedArgs& a) {
    a.signature_ = &signature_;
    a.out_ = nullptr;
    a.varargsAt_ = ParsedArgs::kMaxParams;
    const std::size_t count = signature_.params.size();
    for (std::size_t i = 0; i < count; ++i) a.values_[i] = nullptr;
    std::size_t at = 0;
    given_ = 0;
    if (self_ != nullptr && !put(a, at++, self_)) return false;
    for (std::size_t j = 0; j < numArgs_; ++j, ++at) {
      if (at >= count || signature_.params[at].keywordOnly) return no(Why::TooMany, at);
      if (isLastPositional(at) && takesVarargs(signature_.params[at].type, j)) {
        a.varargsAt_ = at;
        a.varargs_ = args_ + j;
        a.numVarargs_ = numArgs_ - j;
        a.values_[at] = args_[j];
        given_ |= 1U << at;
        break;
      }
      if (!put(a, at, args_[j])) return false;
    }
    return (keywords_ == nullptr || bindKeywords(a)) && allGiven();
  }

  /// Puts what was bound in an older order where `call` reads it.
  void reorder(ParsedArgs& a) const {
    std::array<PyObject*, ParsedArgs::kMaxParams> given{};
    for (std::size_t i = 0; i < signature_.places.size(); ++i) given[signature_.places[i]] = a.values_[i];
    std::ranges::copy(given, a.values_);
  }

  /// The error for a name with one signature.
  void raise() const {
    const char* op = signature_.op;
    const ParamSpec* p = at_ < signature_.params.size() ? &signature_.params[at_] : nullptr;
    switch (why_) {
    case Why::WrongType: {
      std::string where = byKeyword_ ? "" : strcat(" (position ", at_ + (self_ != nullptr ? 0 : 1), ")");
      fail<TypeError>(op, "(): argument '", p->name, "'", where, " must be ", typeText(p->type), ", not ",
                      className(bad_));
    }
    case Why::UnknownKeyword:
      fail<TypeError>(op, "() got an unexpected keyword argument '", name_, "'");
    case Why::Twice:
      fail<TypeError>(op, "() got multiple values for argument '", name_, "'");
    case Why::Missing:
      fail<TypeError>(op, "() missing 1 required positional arguments: \"", p->name, "\"");
    default:
      raiseCombination();
    }
  }
  [[noreturn]] void raiseCombination() const {
    fail<TypeError>(signature_.op, "() received an invalid combination of arguments - got ", gotText(),
                    ", but expected ", signatureText(signature_));
  }

  [[noreturn]] static void raiseCombinations(std::span<const Signature> overloads, const std::string& got) {
    std::string text = strcat(overloads[0].op, "() received an invalid combination of arguments - got ", got,
                              ", but expected one of:\n");
    for (const Signature& s : overloads) text += strcat(" * ", signatureText(s), "\n");
    throw TypeError(text);
  }
  /// Says that the order of the arguments is one of older programs; `overloads` are those in the present order.
  void warnOfOrder(std::span<const Signature> overloads) const {
    std::string text = strcat("This overload of ", signature_.op, " is deprecated:\n\t", signature_.op,
                              signatureText(signature_), "\nConsider using one of the following signatures instead:");
    for (const Signature& s : overloads) text += strcat("\n\t", s.op, signatureText(s));
    warnOnce(text);
  }

  [[nodiscard]] std::string gotText() const {
    std::string text = "(";
    auto add = [&](const char* name, PyObject* o) {
      if (text.size() > 1) text += ", ";
      if (name != nullptr) text += strcat(name, "=");
      text += className(o);
    };
    if (self_ != nullptr) add(nullptr, self_);
    for (std::size_t i = 0; i < numArgs_; ++i) add(nullptr, args_[i]);
    for (Py_ssize_t k = 0; keywords_ != nullptr && k < PyTuple_GET_SIZE(keywords_); ++k) {
      add(PyUnicode_AsUTF8(PyTuple_GET_ITEM(keywords_, k)), args_[numArgs_ + static_cast<std::size_t>(k)]);
    }
    return text + ")";
  }
  static std::string signatureText(const Signature& s) {
    std::string text = "(";
    bool starred = false;
    for (const ParamSpec& p : s.params) {
      if (text.size() > 1) text += ", ";
      if (p.keywordOnly && !starred) text += "*, ";
      starred |= p.keywordOnly;
      text += strcat(typeText(p.type), " ", p.name, p.optional ? " = None" : "");
    }
    if (s.takesOut) text += strcat(starred ? ", " : ", *, ", "Tensor out = None");
    return text + ")";
  }

 private:
  bool no(Why why, std::size_t at) {
    why_ = why;
    at_ = at;
    return false;
  }
  bool put(ParsedArgs& a, std::size_t at, PyObject* o) {
    const ParamSpec& p = signature_.params[at];
    given_ |= 1U << at;
    if (o == Py_None && takesNone(p)) return true;
    if (!fits(p.type, o) && !(readTensors_ && isTensorNumber(p.type, o))) {
      bad_ = o;
      return no(Why::WrongType, at);
    }
    if (p.type == ParamType::Device) deviceFrom(o);
    if (p.type == ParamType::Layout) denseLayout(o, signature_.op);
    a.values_[at] = o;
    return true;
  }
  [[nodiscard]] bool isLastPositional(std::size_t at) const {
    return at + 1 == signature_.params.size() || signature_.params[at + 1].keywordOnly;
  }
  [[nodiscard]] bool takesVarargs(ParamType type, std::size_t j) const {
    auto ints = readTensors_ ? isSizeElement : isInteger;
    auto test = isIntList(type) ? ints : type == ParamType::TensorArguments ? isTensor : nullptr;
    for (; test != nullptr && j < numArgs_; ++j)
      if (!test(args_[j])) return false;
    return test != nullptr;
  }
  [[nodiscard]] std::size_t find(const char* name) const {
    for (std::size_t i = 0; i < signature_.params.size(); ++i) {
      if (std::strcmp(signature_.params[i].name, name) == 0) return i;
    }
    return signature_.params.size();
  }
  bool bindKeywords(ParsedArgs& a) {
    const std::size_t count = signature_.params.size();
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(keywords_); ++k) {
      PyObject* value = args_[numArgs_ + static_cast<std::size_t>(k)];
      name_ = PyUnicode_AsUTF8(PyTuple_GET_ITEM(keywords_, k));
      std::size_t at = find(name_);
      for (const Alias& alias : kAliases) {
        if (at != count) break;
        if (std::strcmp(alias.keyword, name_) == 0) at = find(alias.parameter);
      }
      if (at == count) {
        if (!signature_.takesOut || std::strcmp(name_, "out") != 0) return no(Why::UnknownKeyword, count);
        if (value != Py_None) a.out_ = value;
        continue;
      }
      if ((given_ >> at & 1U) != 0) return no(Why::Twice, at);
      byKeyword_ = true;
      if (!put(a, at, value)) return false;
    }
    return true;
  }
  bool allGiven() {
    for (std::size_t i = 0; i < signature_.params.size(); ++i) {
      if (!signature_.params[i].optional && (given_ >> i & 1U) == 0) return no(Why::Missing, i);
    }
    return true;
  }

  const Signature& signature_;
  PyObject* self_;
  PyObject* const* args_;
  std::size_t numArgs_;
  PyObject* keywords_;
  bool readTensors_;
  std::uint32_t given_ = 0;
  Why why_ = Why::Fits;
  std::size_t at_ = 0;
  PyObject* bad_ = nullptr;
  const char* name_ = "";
  bool byKeyword_ = false;
};

namespace {

/// What classes of the arguments say of the call: see askClasses. They are not asked about what gives a tensor another
/// class, nor about functions of our own.
std::optional<PyObject*> askFirst(const char* op, const Call& call, PyObject* module, bool anyClass) {
  const bool own = op[0] == '_' && op[1] != '_';
  if (own || std::string_view(op) == "as_subclass" || (module == nullptr && call.self == nullptr)) return std::nullopt;
  PyObject* owner = module != nullptr ? module : reinterpret_cast<PyObject*>(tensorType);
  if (PyObject_HasAttrString(owner, op) == 0) return std::nullopt;
  return askClasses(owner, op, call, anyClass);
}

/// The overloads but those of older orders, which come last.
std::span<const Signature> inPresentOrder(std::span<const Signature> overloads) {
  std::size_t count = overloads.size();
  while (!overloads[count - 1].places.empty()) --count;
  return overloads.first(count);
}

/// The call; with an `out`, as one program with the write to it where the operation is a fused composite.
PyObject* callOnce(const Signature& s, ParsedArgs& a) {
  std::optional<DeviceScope> scope;
  if (otherDevices) [[unlikely]]
    scope.emplace(a.device());
  if (a.out() == nullptr) return s.call(a);
  FusedRecording recording;
  recording.beginInScopes();
  PyRef result(s.call(a));
  recording.end();
  return result.release();
}

}  // namespace

PyObject* callOverloads(std::span<const Signature> overloads, PyObject* self, PyObject* const* args, Py_ssize_t numArgs,
                        PyObject* keywords, PyObject* module) noexcept {
  return guarded([&]() -> PyObject* {
    const Call call{self, args, numArgs, keywords};
    if (overridesMayAct()) [[unlikely]]
      if (auto answer = askFirst(overloads[0].op, call, module, false)) return *answer;
    ParsedArgs a;
    for (bool readTensors : {false, true}) {
      for (const Signature& s : overloads) {
        Binder binder(s, self, args, numArgs, keywords, readTensors);
        if (!binder.bind(a)) continue;
        if (!s.places.empty()) [[unlikely]] {
          binder.reorder(a);
          binder.warnOfOrder(inPresentOrder(overloads));
        }
        // The dtype of `out` is the caller's choice.
        const bool mayCast =
            (s.autocast.cpu != Autocast::None || s.autocast.gpu != Autocast::None) && a.out() == nullptr;
        if (!mayCast || !autocastState().enabled()) return callOnce(s, a);
        std::vector<PyRef> owned;
        castArguments(a, s.autocast, owned);
        return callOnce(s, a);
      }
    }
    if (overridesOff == 0)
      if (auto answer = askFirst(overloads[0].op, call, module, true)) return *answer;
    Binder first(overloads[0], self, args, numArgs, keywords);
    const auto current = inPresentOrder(overloads);
    if (current.size() == 1) {
      first.bind(a);
      first.raise();
    }
    Binder::raiseCombinations(current, first.gotText());
  });
}

// ---- reading --------------------------------------------------------------------------------------------------------

const Tensor& ParsedArgs::tensor(std::size_t i) const {
  static const Tensor absent;
  return has(i) ? tensorOf(values_[i]) : absent;
}

std::vector<Tensor> ParsedArgs::tensors(std::size_t i) const {
  std::vector<Tensor> result;
  if (!has(i)) return result;
  bool var = i == varargsAt_;
  std::size_t n = var ? numVarargs_ : static_cast<std::size_t>(PySequence_Fast_GET_SIZE(values_[i]));
  PyObject* const* items = var ? varargs_ : PySequence_Fast_ITEMS(values_[i]);
  result.reserve(n);
  for (std::size_t k = 0; k < n; ++k) result.push_back(tensorOf(items[k]));
  return result;
}

Scalar ParsedArgs::plainNumber(std::size_t i, bool operand) const {
  PyObject* number = values_[i];
  if (!isUnsignedInteger(number)) [[likely]]
    return scalarOf(number);
  std::optional<DType> beside;
  auto add = [&](DType t) { beside = beside ? promoteTypes(*beside, t) : t; };
  for (std::size_t k = 0; k < numParams(); ++k) {
    PyObject* o = values_[k];
    if (o == nullptr) continue;
    if (isTensor(o)) add(tensorOf(o).dtype());
    if (PyFloat_Check(o)) add(defaultDType());
    if (isDType(o)) return unsignedAs(*dtype(k), number, "");
  }
  // Of nothing beside it only these are as whole as the numbers that they are given.
  const std::string_view name = op();
  const DType alone = name.ends_with("full") || name.ends_with("arange") ? DType::Int64 : defaultDType();
  if (beside == DType::Bool) return unsignedAs(DType::Int64, number, "");
  return unsignedAs(beside.value_or(alone), number, operand && beside ? name : "");
}

Operand ParsedArgs::operand(std::size_t i) const {
  if (isTensor(values_[i])) return tensorOf(values_[i]);
  return plainNumber(i, true);
}
Operand ParsedArgs::operand(std::size_t i, Scalar dflt) const { return has(i) ? operand(i) : Operand(dflt); }

Scalar ParsedArgs::scalar(std::size_t i, Scalar dflt) const {
  if (!has(i)) return dflt;
  return isTensor(values_[i]) ? itemOf(tensorOf(values_[i])) : plainNumber(i);
}
std::optional<Scalar> ParsedArgs::optionalScalar(std::size_t i) const {
  return has(i) ? std::optional(scalar(i)) : std::nullopt;
}

std::int64_t ParsedArgs::integer(std::size_t i, std::int64_t dflt) const { return has(i) ? indexOf(values_[i]) : dflt; }
std::optional<std::int64_t> ParsedArgs::optionalInteger(std::size_t i) const {
  return has(i) ? std::optional(integer(i)) : std::nullopt;
}

Dims ParsedArgs::ints(std::size_t i, std::initializer_list<std::int64_t> dflt) const {
  if (!has(i)) return dflt;
  Dims dims;
  if (i == varargsAt_) {
    for (std::size_t k = 0; k < numVarargs_; ++k) dims.push_back(indexOf(varargs_[k]));
  } else {
    dims = dimsOf(values_[i], signature_->op);
  }
  if (signature_->params[i].type == ParamType::IntList2) {
    if (dims.size() == 1) dims.push_back(dims[0]);
    if (dims.size() != 2) {
      fail<ValueError>(signature_->op, "(): argument '", signature_->params[i].name, "' must be one or two ints, got ",
                       shapeText(dims));
    }
  }
  return dims;
}
std::optional<Dims> ParsedArgs::optionalInts(std::size_t i) const {
  return has(i) ? std::optional(ints(i)) : std::nullopt;
}

bool ParsedArgs::boolean(std::size_t i, bool dflt) const {
  return has(i) ? checked(PyObject_IsTrue(values_[i])) != 0 : dflt;
}

std::optional<bool> ParsedArgs::optionalBoolean(std::size_t i) const {
  return has(i) ? std::optional(boolean(i)) : std::nullopt;
}

std::optional<DType> ParsedArgs::dtype(std::size_t i) const { return has(i) ? asDType(values_[i]) : std::nullopt; }

double ParsedArgs::number(std::size_t i, double dflt) const {
  if (!has(i)) return dflt;
  useTracked(values_[i]);
  double v = PyFloat_AsDouble(values_[i]);
  if (v == -1.0 && PyErr_Occurred() != nullptr) throw PythonError();
  return v;
}
std::optional<double> ParsedArgs::optionalNumber(std::size_t i) const {
  return has(i) ? std::optional(number(i)) : std::nullopt;
}

std::string ParsedArgs::str(std::size_t i, std::string_view dflt) const {
  if (!has(i)) return std::string(dflt);
  Py_ssize_t n;
  const char* s = PyUnicode_AsUTF8AndSize(values_[i], &n);
  if (s == nullptr) throw PythonError();
  return {s, static_cast<std::size_t>(n)};
}
std::optional<std::string> ParsedArgs::optionalStr(std::size_t i) const {
  return has(i) ? std::optional(str(i)) : std::nullopt;
}

Generator* ParsedArgs::generator(std::size_t i) const {
  if (!has(i)) return nullptr;
  checkGeneratorDevice(values_[i]);
  return generatorOf(values_[i]);
}

Device ParsedArgs::device() const {
  std::optional<Device> found;
  auto look = [&](PyObject* o) {
    if (isTensor(o) && (!found || found->isCpu())) found = tensorOf(o).device();
  };
  const auto takesDevice = [](const ParamSpec& p) { return p.type == ParamType::Device; };
  const bool factory = std::ranges::any_of(signature_->params, takesDevice);
  for (std::size_t i = 0; i < numParams(); ++i) {
    if (!has(i)) continue;
    PyObject* o = values_[i];
    if (signature_->params[i].type == ParamType::Device) return deviceFrom(o);
    // What a tensor is made from: its device is kept unless the program chose one, that of tensors in a list is not.
    if (factory && i == 0 && signature_->params[i].type == ParamType::Any) {
      if (currentDevice.isCpu()) look(o);
      continue;
    }
    look(o);
    if (PyList_CheckExact(o) || PyTuple_CheckExact(o))
      for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(o); ++k) look(PySequence_Fast_GET_ITEM(o, k));
  }
  for (std::size_t k = 0; k < numVarargs_; ++k) look(varargs_[k]);
  if (!found && out_ != nullptr) look(out_);
  return found.value_or(currentDevice);
}

}  // namespace tandem::python
