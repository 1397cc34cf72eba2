// What C functions do, as far as the observer needs to know: a table by function. A function that is in none of them is
// not understood, and a body that calls it runs on every call.
#include <algorithm>
#include <map>
#include <string_view>

#include "python/src/bindings.h"
#include "python/src/call_rules.h"
#include "python/src/compiled_function.h"
#include "python/src/convert.h"
#include "python/src/observer.h"
#include "python/src/py_tensor.h"
#include "python/src/words.h"

namespace tandem::python {
namespace {

using namespace rules;

// ---- tables --------------------------------------------------------------------------------------------------------

struct Named {
  const char* names;
  Rule rule;
};

constexpr Named kBuiltins[] = {
    {"isinstance issubclass", {asksClass, false, true}},
    {"len", {length}},
    {"abs round divmod ord chr", {pure}},
    {"pow", {ofNumbers<ScalarSlot::Source::Pow>}},
    {"callable", {asksType, false, true}},
    {"min", {leastOf}},
    {"max", {greatestOf}},
    {"sum", {sums}},
    {"any all", {asksEach}},
    {"sorted", {sorts, true}},
    {"iter", {firstIterates, true}},
    {"next", {advances}},
    {"getattr", {givesAttribute}},
    {"hasattr", {getsAttribute}},
    {"setattr", {setsAttribute, false, true}},
    {"id", {identity}},
    {"repr ascii format", {asText}},
    {"hash", {hashed}},
};
constexpr Named kMath[] = {
    {"acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cosh degrees dist erf erfc exp2 expm1 fabs "
     "factorial floor fmod frexp gamma gcd hypot isclose isfinite isinf isnan isqrt lcm ldexp lgamma log10 log1p log2 "
     "modf nextafter perm pow radians remainder sinh tan trunc ulp",
     {pure}},
    {"sqrt", {ofNumber<ScalarSlot::Source::Sqrt>}},
    {"exp", {ofNumber<ScalarSlot::Source::Exp>}},
    {"log", {ofNumber<ScalarSlot::Source::Log>}},
    {"sin", {ofNumber<ScalarSlot::Source::Sin>}},
    {"cos", {ofNumber<ScalarSlot::Source::Cos>}},
    {"tanh", {ofNumber<ScalarSlot::Source::Tanh>}},
    {"prod", {weighs}},
    {"fsum", {weighsFloats}},
};
constexpr Named kOperator[] = {
    {"truediv floordiv mod neg pos invert matmul pow eq ne lt le gt ge", {arithmetic}},
    {"add sub mul and_ or_ xor", {joins}},
    {"iadd isub imul itruediv", {changesFirst}},
    {"is_ is_not", {asksIdentity}},
    {"truth not_", {asksTruth}},
    {"getitem", {subscripts}},
    {"contains", {asksContains}},
    {"index", {pure}},
};
// What an abstract class says of another one, as isinstance() asks it.
constexpr Named kAbstract[] = {{"_abc_instancecheck _abc_subclasscheck", {asksAbstract}}};
constexpr Named kFunctools[] = {{"reduce", {reduces}}};
constexpr Named kList[] = {{"append", {appends, false, true}}, {"extend", {extends}},
                           {"insert pop", {mutatesAt}},        {"remove", {removes}},
                           {"clear reverse", {mutates}},       {"sort", {sortsInPlace}},
                           {"copy", {firstIterates, true}},    {"index count __contains__", {searches}},
                           {"__getitem__", {subscripts}},      {"__len__", {firstIterates}}};
constexpr Named kDict[] = {{"get", {givesItemOrNone}},
                           {"__getitem__", {getsItem}},
                           {"__contains__", {getsItemOrNone}},
                           {"keys values items copy __reversed__", {firstIterates, true}},
                           {"__len__ __iter__", {firstIterates}},
                           {"update", {updates}},
                           {"setdefault", {setsDefault}},
                           {"pop popitem clear __setitem__ __delitem__ move_to_end", {mutatesKey}},
                           {"fromkeys", {iteratesKeys, true}}};
constexpr Named kSet[] = {{"add discard remove pop clear", {mutatesKey}},
                          {"update difference_update intersection_update symmetric_difference_update", {updates}},
                          {"union intersection difference symmetric_difference copy", {iteratesKeys, true}},
                          {"isdisjoint issubset issuperset", {iteratesKeys}},
                          {"__contains__", {asksKey}},
                          {"__len__", {firstIterates}}};
constexpr Named kTuple[] = {
    {"index count __contains__", {searches}}, {"__getitem__", {subscripts}}, {"__len__", {firstIterates}}};
constexpr Named kGenerator[] = {{"send close throw __next__", {advances}}};
constexpr Named kVariable[] = {{"get", {asksVariable}}, {"set reset", {setsVariable, true, true}}};
constexpr Named kNumber[] = {
    {"is_integer bit_length bit_count conjugate as_integer_ratio hex fromhex __abs__ __round__ __floor__ __ceil__ "
     "__trunc__",
     {pure}}};
constexpr Named kText[] = {
    {"capitalize casefold center count encode endswith expandtabs find index isalnum isalpha isascii isdecimal isdigit "
     "isidentifier islower isnumeric isprintable isspace istitle isupper ljust lower lstrip partition removeprefix "
     "removesuffix replace rfind rindex rjust rpartition rsplit rstrip split splitlines startswith strip swapcase "
     "title "
     "translate upper zfill",
     {formats, true}},
    {"join format", {formats}}};

// Functions and methods of ours that no record makes. Reading a value ends the trace by itself (Session::beforeRead).
constexpr Named kOwnFunctions[] = {
    {"tensor", {scales, true}},
    {"as_tensor clone result_type promote_types can_cast get_default_dtype _element_size is_grad_enabled "
     "is_inference_mode_enabled _check_device _device_count",
     {operation, true}},
    {"_set_grad_enabled _set_inference_mode _is_tracing _is_recording _anomaly _autocast_get _autocast_set "
     "_autocast_enter _autocast_exit _autocast_clear _vmap_enter _vmap_exit _active_axes _in_transform _compute_flags "
     "_set_compute_flags",
     {nothing, true}},
    {"_warn _warn_once _keep_saved _instruction_above", {nothing, true}},
    {"_batch_in _batch_out _batch_axes _call_linear _differentiation_point _close_point _push_forward",
     {nothing, true}},
    {"_backward _grad _optimizer_update _holds _has_torch_function", {operation, true}},
    {"_vjp _linearize", {nothing, true}},
    {"_runtime_scalars", {nothing, true}},
    {"_lend", {lends}},
    {"_tensor_read", {nothing, false, true}},
    {"_runtime_is_zero _makes_state", {nothing}},
    {"_function_begin _function_saved _count_write _same_memory _transformed_inside", {nothing, true}},
    {"_function_end", {endsFunction, true}},
    {"_register_hook _remove_hook", {hooks}},
};
/// Operations, in place and not, that take numbers as operands alone.
bool takesFactors(std::string_view name) {
  if (name.ends_with('_') && !name.ends_with("__")) name.remove_suffix(1);
  constexpr std::string_view all[] = {
      "add",  "sub",   "subtract", "rsub",  "mul",       "multiply",  "div",  "divide", "true_divide", "floor_divide",
      "pow",  "eq",    "ne",       "lt",    "le",        "gt",        "ge",   "fmod",   "remainder",   "addcmul",
      "lerp", "xlogy", "addcdiv",  "clamp", "clamp_min", "clamp_max", "clip", "where",  "masked_fill", "full_like"};
  return std::ranges::find(all, name) != std::end(all);
}

Rule ofOperation(const PyMethodDef* definition) {
  return {takesFactors(definition->ml_name) ? scales : operation, true};
}

constexpr Named kOwnMethods[] = {
    {"size stride dim ndimension numel nelement element_size is_floating_point is_complex is_signed is_contiguous "
     "is_conj is_neg is_same_size get_device",
     {operation, true}},
    {"contiguous clone to type float double half bfloat16 int long short char byte bool type_as cpu cuda new_empty "
     "new_zeros "
     "new_ones new_full new_tensor new copy_ fill_ zero_ masked_select nonzero float_power_ detach "
     "backward item tolist is_nonzero equal allclose resolve_conj resolve_neg conj conj_physical conj_physical_ "
     "dim_order histogram is_shared lu to_dense triangular_solve random_ uniform_ "
     "normal_ bernoulli_ exponential_ log_normal_ cauchy_ geometric_ resize_ resize_as_ __getitem__",
     {operation, true}},
    {"view", {views, true}},
    {"requires_grad_", {makesLeaf, true}},
    {"register_hook retain_grad", {hooks, true}},
    {"detach_", {detaches, true}},
};

std::map<const PyMethodDef*, Rule>& methodRules() {
  static std::map<const PyMethodDef*, Rule> rules;
  return rules;
}
std::map<PyObject*, Rule>& objectRules() {
  static std::map<PyObject*, Rule> rules;
  return rules;
}

const PyMethodDef* definitionOf(PyObject* o) {
  if (PyCFunction_Check(o)) return reinterpret_cast<PyCFunctionObject*>(o)->m_ml;
  if (Py_TYPE(o) == &PyMethodDescr_Type || Py_TYPE(o) == &PyClassMethodDescr_Type)
    return reinterpret_cast<PyMethodDescrObject*>(o)->d_method;
  return nullptr;
}

/// The attributes of a type itself, borrowed. From 3.12 on those of the interpreter's own types are kept elsewhere.
PyObject* dictOf(PyTypeObject* type) {
#if PY_VERSION_HEX >= 0x030C0000
  return PyRef(PyType_GetDict(type)).get();
#else
  return type->tp_dict;
#endif
}

/// The rules of `holder`'s attributes: of a module's functions, of a type's methods.
template <std::size_t n>
void add(PyObject* holder, const Named (&table)[n]) {
  for (const Named& row : table) {
    for (const std::string_view word : wordsOf(row.names)) {
      const std::string name(word);
      PyObject* from =
          PyType_Check(holder) ? dictOf(reinterpret_cast<PyTypeObject*>(holder)) : PyModule_GetDict(holder);
      PyObject* o = PyDict_GetItemString(from, name.c_str());
      if (o == nullptr) continue;  // of another version of the interpreter, or of what may be changed
      if (const PyMethodDef* definition = definitionOf(o))
        methodRules()[definition] = row.rule;
      else
        objectRules()[o] = row.rule;
    }
  }
}
template <std::size_t n>
void addModule(const char* name, const Named (&table)[n]) {
  PyRef module(checked(PyImport_ImportModule(name)));
  add(module.get(), table);
}
template <std::size_t n>
void addType(PyTypeObject& type, const Named (&table)[n]) {
  add(reinterpret_cast<PyObject*>(&type), table);
}

/// Types whose call makes an object of its arguments.
std::map<PyTypeObject*, Rule>& typeRules() {
  static std::map<PyTypeObject*, Rule> rules;
  return rules;
}

PyTypeObject* partialType;
PyTypeObject* itemGetterType;
PyTypeObject* attributeGetterType;
PyTypeObject* methodWrapperType;
PyTypeObject* cachedType;

/// `itemgetter(...)` and `attrgetter(...)` say by pickling what they get.
PyRef gets(PyObject* getter) {
  PyRef reduced(PyObject_CallMethod(getter, "__reduce__", nullptr));
  if (!reduced || PyTuple_GET_SIZE(reduced.get()) != 2) {
    PyErr_Clear();
    return {};
  }
  return PyRef::borrow(PyTuple_GET_ITEM(reduced.get(), 1));
}

/// `o.a.b`, of which what comes before the last dot is looked up here as well: where that runs no code.
bool readsPath(Observer& o, PyObject* from, PyObject* path) {
  const PyRef dot(checked(PyUnicode_FromString(".")));
  const PyRef parts(checked(PyUnicode_Split(path, dot.get(), -1)));
  static PyObject* const reader = interned("__getattribute__");
  PyRef at = PyRef::borrow(from);
  const Py_ssize_t n = PyList_GET_SIZE(parts.get());
  for (Py_ssize_t i = 0; i < n && o.proved(); ++i) {
    PyObject* name = PyList_GET_ITEM(parts.get(), i);
    o.attribute(at.get(), name);
    if (i + 1 == n) break;
    PyTypeObject* type = Py_TYPE(at.get());
    const bool plainly =
        PyModule_CheckExact(at.get()) || (_PyType_Lookup(type, name) == nullptr &&
                                          (type->tp_getattro == PyObject_GenericGetAttr ||
                                           _PyType_Lookup(type, reader) == _PyType_Lookup(&PyBaseObject_Type, reader)));
    if (!plainly || isTensor(at.get()) || PyType_Check(at.get())) return false;
    PyObject* dict = attributesOf(at.get());
    PyObject* next = dict != nullptr ? PyDict_GetItemWithError(dict, name) : nullptr;
    if (next == nullptr) return false;
    at = PyRef::borrow(next);
  }
  return true;
}

bool callGetter(Observer& o, PyObject* getter, Args args, Py_ssize_t n) {
  const PyRef names = gets(getter);
  if (!names || n != 1 || !PyTuple_Check(names.get())) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names.get()); ++i) {
    PyObject* name = PyTuple_GET_ITEM(names.get(), i);
    if (Py_TYPE(getter) == itemGetterType)
      o.subscript(args[0], name);
    else if (!readsPath(o, args[0], name))
      return false;
  }
  return true;
}

bool callPartial(Observer& o, PyObject* partial, Args args, Py_ssize_t n, bool& makesFresh) {
  PyRef function(PyObject_GetAttrString(partial, "func"));
  PyRef bound(PyObject_GetAttrString(partial, "args"));
  PyRef keywords(PyObject_GetAttrString(partial, "keywords"));
  if (!function || !bound || !keywords || !PyTuple_CheckExact(bound.get()) || !PyDict_CheckExact(keywords.get()))
    return false;
  if (isCachedFunction(function.get()) && PyDict_GET_SIZE(keywords.get()) > 0) return false;
  std::vector<PyObject*> all(PySequence_Fast_ITEMS(bound.get()),
                             PySequence_Fast_ITEMS(bound.get()) + PyTuple_GET_SIZE(bound.get()));
  all.insert(all.end(), args, args + n);
  PyObject *k = nullptr, *v = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(keywords.get(), &at, &k, &v) != 0;) all.push_back(v);
  if (!o.fresh(partial)) {
    static PyObject* const parts[] = {interned("func"), interned("args"), interned("keywords")};
    for (PyObject* part : parts) o.attribute(partial, part);
    o.items(bound.get());
    o.iterate(keywords.get());
  }
  makesFresh = o.call(function.get(), all.data(), static_cast<Py_ssize_t>(all.size()));
  return true;
}

}  // namespace

bool rules::givesPlain(PyObject* f) {
  const PyMethodDef* definition = definitionOf(f);
  if (definition == nullptr || !methodRules().contains(definition)) return false;
  constexpr std::string_view names[] = {"is_", "is_not", "isinstance", "callable", "len", "not_"};
  return std::ranges::find(names, std::string_view(definition->ml_name)) != std::end(names);
}

bool isCachedFunction(PyObject* o) { return Py_TYPE(o) == cachedType; }

bool understoodObject(PyObject* o) {
  // Python's classes, which are there after this module.
  static const PyTypeObject* const formats[] = {typeNamed("tandem", "layout"), typeNamed("tandem", "memory_format")};
  const PyTypeObject* type = Py_TYPE(o);
  const std::string_view name = type->tp_name;
  return type == &PyContextVar_Type || type == partialType || type == itemGetterType || type == attributeGetterType ||
         std::ranges::find(formats, type) != std::end(formats) || name == "tandem._C._FunctionHandle" ||
         name == "types.GenericAlias" || name == "tandem._C.LinearMap";
}

bool understoodFunction(Observer& o, PyObject* callable, Args args, Py_ssize_t n, bool& makesFresh) {
  if (Py_TYPE(callable) == partialType) return callPartial(o, callable, args, n, makesFresh);
  if (isCachedFunction(callable)) {
    o.cachedCall(callable, args, n);
    return true;
  }
  if (Py_TYPE(callable) == itemGetterType || Py_TYPE(callable) == attributeGetterType)
    return callGetter(o, callable, args, n);
  std::vector<PyObject*> all;
  Rule rule;
  if (const PyMethodDef* definition = definitionOf(callable)) {
    PyObject* self = PyCFunction_Check(callable) ? PyCFunction_GET_SELF(callable) : nullptr;
    if (self != nullptr && std::string_view(definition->ml_name) == "__new__") {
      // `object.__new__(cls)`, `tuple.__new__(cls, items)`: named tuples are made so.
      if (self != reinterpret_cast<PyObject*>(&PyBaseObject_Type) && self != reinterpret_cast<PyObject*>(&PyTuple_Type))
        return false;
      if (n > 1 && self == reinterpret_cast<PyObject*>(&PyTuple_Type)) o.iterate(args[1]);
      makesFresh = true;
      return true;
    }
    auto it = methodRules().find(definition);
    if (it == methodRules().end()) return false;
    rule = it->second;
    if (self != nullptr && !PyModule_Check(self) && !PyType_Check(self)) {
      all.push_back(self);
      all.insert(all.end(), args, args + n);
      args = all.data();
      n = static_cast<Py_ssize_t>(all.size());
    }
  } else if (auto it = objectRules().find(callable); it != objectRules().end()) {
    rule = it->second;
  } else if (Py_TYPE(callable) == methodWrapperType) {
    // A slot of the interpreter's own types, bound: `d.__setitem__`, `super().__init__`.
    PyRef self(PyObject_GetAttrString(callable, "__self__"));
    PyRef name(PyObject_GetAttrString(callable, "__name__"));
    PyRef owner(PyObject_GetAttrString(callable, "__objclass__"));
    PyErr_Clear();
    if (!self || !name || !owner) return false;
    PyObject* descriptor = PyDict_GetItemWithError(dictOf(reinterpret_cast<PyTypeObject*>(owner.get())), name.get());
    auto found = objectRules().find(descriptor);
    if (found == objectRules().end()) return false;
    rule = found->second;
    all.push_back(self.get());
    all.insert(all.end(), args, args + n);
    rule.apply(o, all.data(), static_cast<Py_ssize_t>(all.size()));
    makesFresh = rule.makesFresh;
    return true;
  } else {
    return false;
  }
  // Those that take or hand on what containers hold ask nothing of it.
  const bool handsOn = rule.apply == getsItem || rule.apply == getsItemOrNone || rule.apply == givesItemOrNone ||
                       rule.apply == subscripts || rule.apply == updates || rule.apply == extends ||
                       (rule.apply == firstIterates && rule.makesFresh);
  if (!rule.handsOn)
    for (Py_ssize_t i = 0; i < n; ++i) o.guardRead(args[i]);
  if (rule.apply != asksClass && rule.apply != length && rule.apply != makesLeaf)
    for (Py_ssize_t i = 0; i < n; ++i)
      if (!handsOn || isTensor(args[i])) o.use(args[i]);
  // Functions of ours that nothing is known of but that they concern no tensor read their numbers.
  if (rule.apply == nothing)
    for (Py_ssize_t i = 0; i < n; ++i)
      if (o.slotOf(args[i]) != nullptr) o.guardNumber(args[i]);
  rule.apply(o, args, n);
  makesFresh = rule.makesFresh;
  return true;
}

bool understoodType(Observer& o, PyTypeObject* type, Args args, Py_ssize_t n, bool& makesFresh) {
  if (n == 1 && (type == &PyFloat_Type || type == &PyLong_Type) && o.converts(type, args[0])) return true;
  if (type == &PyType_Type) {
    if (n != 1) return false;
    o.guardNumber(args[0]);
    o.readType(args[0]);
    return true;
  }
  // Named results of operations are made of a sequence, as tuples are.
  if (n == 1 && std::string_view(type->tp_name).starts_with("tandem.return_types.")) {
    o.iterate(args[0]);
    makesFresh = true;
    return true;
  }
  auto it = typeRules().find(type);
  if (it == typeRules().end()) return false;
  it->second.apply(o, args, n);
  if (n == 1 && (type == &PyList_Type || type == &PyTuple_Type) && o.isMaker(args[0]))
    o.gives(Observer::Gives::NewItems);
  makesFresh = it->second.makesFresh;
  return true;
}

void initUnderstood(PyObject* module) {
  addModule("builtins", kBuiltins);
  addModule("math", kMath);
  addModule("_operator", kOperator);
  addModule("_functools", kFunctools);
  addModule("_abc", kAbstract);
  addType(PyContextVar_Type, kVariable);
  addType(PyList_Type, kList);
  for (PyTypeObject* type : {&PyDict_Type, &PyODict_Type, typeNamed("collections", "defaultdict"), &PyDictProxy_Type})
    addType(*type, kDict);
  addType(PySet_Type, kSet);
  addType(PyFrozenSet_Type, kSet);
  addType(PyTuple_Type, kTuple);
  constexpr Named ofSizes[] = {{"numel", {length}}};
  addType(*reinterpret_cast<PyTypeObject*>(PyDict_GetItemString(PyModule_GetDict(module), "Size")), ofSizes);
  addType(PyGen_Type, kGenerator);
  addType(PyFloat_Type, kNumber);
  addType(PyLong_Type, kNumber);
  addType(PyUnicode_Type, kText);
  add(module, kOwnFunctions);
  addType(*tensorType, kOwnMethods);
  forGenerated([](const PyMethodDef* definition) { methodRules()[definition] = ofOperation(definition); });
  PyObject* tensorDict = dictOf(tensorType);
  PyObject *k = nullptr, *v = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(tensorDict, &at, &k, &v) != 0;)
    if (const PyMethodDef* definition = definitionOf(v);
        definition != nullptr && isGeneratedMethod(definition->ml_name))
      methodRules().try_emplace(definition, ofOperation(definition));

  static constexpr Named object[] = {{"__setattr__", {objectSetsAttribute, false, true}},
                                     {"__init__ __init_subclass__", {nothing}},
                                     {"__getattribute__", {getsAttribute}},
                                     {"__reduce_ex__", {reducesToState}},
                                     {"__eq__ __ne__ __hash__", {asksIdentity}}};
  addType(PyBaseObject_Type, object);
  static constexpr Named dictSlots[] = {{"__setitem__ __delitem__", {mutatesKey}}};
  addType(PyDict_Type, dictSlots);

  partialType = typeNamed("functools", "partial");
  itemGetterType = typeNamed("operator", "itemgetter");
  attributeGetterType = typeNamed("operator", "attrgetter");
  methodWrapperType = typeNamed("types", "MethodWrapperType");
  cachedType = typeNamed("functools", "_lru_cache_wrapper");
  auto& types = typeRules();
  for (PyTypeObject* t : {&PyList_Type, &PyTuple_Type, &PyEnum_Type, &PyZip_Type, &PyReversed_Type})
    types[t] = {iterates, true};
  for (PyTypeObject* t : {&PySet_Type, &PyFrozenSet_Type}) types[t] = {iteratesKeys, true};
  for (PyTypeObject* t : {&PyDict_Type, &PyODict_Type, typeNamed("collections", "defaultdict")})
    types[t] = {iteratesPairs, true};
  for (const char* name : {"count", "repeat", "chain", "islice", "product", "combinations", "permutations", "cycle",
                           "zip_longest", "pairwise"})
    types[typeNamed("itertools", name)] = {iterates, true};
  types[typeNamed("itertools", "accumulate")] = {accumulates, true};
  types[typeNamed("itertools", "starmap")] = {starmaps, true};
  types[typeNamed("itertools", "takewhile")] = {takesWhile, true};
  types[&PyMap_Type] = {maps, true};
  types[typeNamed("types", "SimpleNamespace")] = {named, true};
  static constexpr Named chained[] = {{"from_iterable", {chains, true}}};
  addType(*typeNamed("itertools", "chain"), chained);
  types[&PyFilter_Type] = {filters, true};
  for (PyTypeObject* t : {&PyLong_Type, &PyFloat_Type, &PyBool_Type, &PyComplex_Type, &PyRange_Type, &PySlice_Type})
    types[t] = {pure};
  types[&PyBool_Type] = {asksTruth};
  types[&PyUnicode_Type] = {asText};
  types[&PySuper_Type] = {makesSuper, true};
  types[&PyBaseObject_Type] = {nothing, true};
  types[partialType] = types[itemGetterType] = types[attributeGetterType] = {nothing, true};
  PyRef size(checked(PyObject_GetAttrString(module, "Size")));
  types[reinterpret_cast<PyTypeObject*>(size.get())] = {iteratesNumbers};
  PyRef device(checked(PyObject_GetAttrString(module, "device")));
  types[reinterpret_cast<PyTypeObject*>(device.get())] = {pure};
}

}  // namespace tandem::python
