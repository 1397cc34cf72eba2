#include "python/src/autograd_bindings.h"

#include <array>
#include <map>

#include "autograd/autograd.h"
#include "autograd/engine.h"
#include "autograd/meta.h"
#include "eager/batch.h"
#include "eager/ops.h"
#include "python/src/arg_parser.h"
#include "python/src/compiled_function.h"
#include "python/src/convert.h"
#include "python/src/cuda_bindings.h"
#include "python/src/docs.h"
#include "python/src/engine_bindings.h"
#include "python/src/function_bindings.h"
#include "python/src/observer.h"
#include "python/src/py_tensor.h"
#include "runtime/base/warn.h"

namespace tandem::python {

namespace {

template <class F>
void* slot(F* f) {
  return reinterpret_cast<void*>(f);
}

// ---- nodes
// ----------------------------------------------------------------------------------------------------------------

struct NodeObject {
  PyObject_HEAD Ref<Node> node;
};
PyTypeObject* nodeType;
bool isNode(PyObject* o) { return PyObject_TypeCheck(o, nodeType) != 0; }

Node& nodeOf(PyObject* o) { return *reinterpret_cast<NodeObject*>(o)->node; }

void nodeDealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  reinterpret_cast<NodeObject*>(self)->node.~Ref();
  type->tp_free(self);
  Py_DECREF(type);
}
PyObject* nodeRepr(PyObject* self) {
  return guarded([&] { return PyUnicode_FromFormat("<%s object at %p>", nodeOf(self).name().c_str(), &nodeOf(self)); });
}
PyObject* nodeName(PyObject* self, PyObject*) {
  return guarded([&] {
    std::string name = nodeOf(self).name();
    if (nodeOf(self).kind() == Node::Kind::Leaf) name.insert(0, "torch::autograd::");
    return PyUnicode_FromString(name.c_str());
  });
}
/// The class of nodes of one name, which programs that walk a graph ask for.
PyTypeObject* nodeTypeOf(const Node& node) {
  static std::map<std::string, PyTypeObject*> types;
  const auto place = types.try_emplace(node.name(), nullptr).first;
  if (place->second != nullptr) return place->second;
  PyType_Slot none[] = {{0, nullptr}};
  const std::string name = "tandem.autograd.graph." + place->first;
  PyType_Spec spec = {name.c_str(), sizeof(NodeObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, none};
  place->second =
      reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpecWithBases(&spec, reinterpret_cast<PyObject*>(nodeType))));
  return place->second;
}
// What the user's context of a Function's call has is an attribute of its node, as in PyTorch, where they are one.
PyObject* nodeGetAttribute(PyObject* self, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(self, name);
  if (found != nullptr || PyErr_ExceptionMatches(PyExc_AttributeError) == 0) return found;
  PyObject* context = contextOf(nodeOf(self));
  if (context == nullptr) return nullptr;
  PyErr_Clear();
  return PyObject_GetAttr(context, name);
}
int nodeSetAttribute(PyObject* self, PyObject* name, PyObject* value) {
  PyObject* context = contextOf(nodeOf(self));
  return context != nullptr ? PyObject_SetAttr(context, name, value) : PyObject_GenericSetAttr(self, name, value);
}
Py_hash_t nodeHash(PyObject* self) { return _Py_HashPointer(&nodeOf(self)); }
PyObject* nodeCompare(PyObject* left, PyObject* right, int op) {
  if ((op != Py_EQ && op != Py_NE) || !isNode(right)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((&nodeOf(left) == &nodeOf(right)) == (op == Py_EQ) ? 1 : 0);
}
PyObject* nextFunctions(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    auto edges = nodeOf(self).edges();
    PyRef tuple(checked(PyTuple_New(static_cast<Py_ssize_t>(edges.size()))));
    for (std::size_t i = 0; i < edges.size(); ++i) {
      PyRef node(checked(nodeObject(edges[i].node)));
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i),
                       checked(Py_BuildValue("(OI)", node.get(), edges[i] ? edges[i].result : 0)));
    }
    return tuple.release();
  });
}
PyObject* variable(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    auto* leaf = dynamic_cast<LeafNode*>(&nodeOf(self));
    if (leaf == nullptr) {
      PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute 'variable'", nodeOf(self).name().c_str());
      return nullptr;
    }
    return wrap(leaf->leaf());
  });
}
PyObject* nodeSavedTensors(PyObject* self, void*) {
  return guarded([&]() -> PyObject* { return savedTensorsOf(nodeOf(self)); });
}
PyObject* sequence(PyObject* self, PyObject*) { return PyLong_FromUnsignedLongLong(nodeOf(self).sequence()); }

// ---- hooks
// ----------------------------------------------------------------------------------------------------------------

PyRef tupleOf(std::span<const Tensor> tensors) { return PyRef(checked(wrap(tensors))); }

std::string hookName(PyObject* hook) {
  PyRef name(PyObject_GetAttrString(hook, "__name__"));
  const char* text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : nullptr;
  PyErr_Clear();
  return text != nullptr ? text : Py_TYPE(hook)->tp_name;
}

/// What `hook` returned in place of the gradient `g`: undefined for None. A gradient stays one of its tensor: of the
/// same dtype, shape and device.
Tensor replacement(const Tensor& g, PyObject* result, PyObject* hook) {
  if (result == Py_None) return {};
  if (!isTensor(result)) {
    fail<TypeError>("hook returned an object of type '", Py_TYPE(result)->tp_name, "', expected a Tensor or None");
  }
  const Tensor& t = tensorOf(result);
  if (!g.defined()) return t;
  if (t.dtype() != g.dtype())
    fail("hook '", hookName(hook), "' has changed the type of value (was ", dtypeName(g.dtype()), " got ",
         dtypeName(t.dtype()), ")");
  if (t.device() != g.device())
    fail("hook '", hookName(hook), "' has changed the type of value (was on ", deviceName(g.device()), " got ",
         deviceName(t.device()), ")");
  if (!(t.shape() == g.shape()))
    fail("hook '", hookName(hook), "' has changed the size of value (was ", shapeText(g.shape()), " got ",
         shapeText(t.shape()), ")");
  return t;
}
void replaceAll(std::vector<Tensor>& list, PyObject* result, PyObject* hook) {
  if (result == Py_None) return;
  if (isTensor(result) && list.size() == 1) {
    list[0] = replacement(list[0], result, hook);
    return;
  }
  if (!PyTuple_Check(result) || static_cast<std::size_t>(PyTuple_GET_SIZE(result)) != list.size()) {
    fail("hook has returned an incorrect number of values (got ", PyTuple_Check(result) ? PyTuple_GET_SIZE(result) : 1,
         ", but expected ", list.size(), ")");
  }
  for (std::size_t i = 0; i < list.size(); ++i)
    list[i] = replacement(list[i], PyTuple_GET_ITEM(result, static_cast<Py_ssize_t>(i)), hook);
}

PyObject* registerHook(PyObject* self, PyObject* hook) {
  return guarded([&] {
    const Tensor& t = tensorOf(self);
    if (!autograd::requiresGrad(t)) fail("cannot register a hook on a tensor that doesn't require gradient");
    return PyLong_FromUnsignedLongLong(autograd::registerHook(t, PythonTensorHook{SharedObject(hook)}));
  });
}
PyObject* registerLeafHook(PyObject* self, PyObject* hook) {
  return guarded([&] {
    const Tensor& t = tensorOf(self);
    if (!autograd::requiresGrad(t)) fail("cannot register a hook on a tensor that doesn't require gradient");
    if (!autograd::isLeaf(t)) fail("post accumulate grad hooks cannot be registered on non-leaf tensors");
    return PyLong_FromUnsignedLongLong(autograd::registerPostAccumulateHook(t, PythonLeafHook{SharedObject(hook)}));
  });
}
/// What `remove` takes a hook of `owner` away by.
PyObject* removableHandle(PyObject* owner, std::uint64_t id) {
  PyRef number(checked(PyLong_FromUnsignedLongLong(id)));
  return callSupport("TensorHookHandle", {owner, number.get()});
}
PyObject* nodeRegisterHook(PyObject* self, PyObject* hook) {
  return guarded([&] {
    return removableHandle(self, autograd::registerNodeHook(nodeOf(self), PythonNodeHook{SharedObject(hook)}));
  });
}
PyObject* nodeRegisterPreHook(PyObject* self, PyObject* hook) {
  return guarded([&] {
    return removableHandle(self, autograd::registerNodePreHook(nodeOf(self), PythonNodePreHook{SharedObject(hook)}));
  });
}
PyObject* removeHook(PyObject*, PyObject* args) {
  PyObject* owner;
  unsigned long long id;
  if (PyArg_ParseTuple(args, "OK", &owner, &id) == 0) return nullptr;
  return guarded([&]() -> PyObject* {
    if (isTensor(owner)) {
      autograd::removeHook(tensorOf(owner), id);
    } else if (isNode(owner)) {
      autograd::removeNodeHook(nodeOf(owner), id);
    }
    Py_RETURN_NONE;
  });
}
template <PyObject* (*method)(PyObject*, PyObject*)>
PyObject* onTensor(PyObject*, PyObject* args) {
  PyObject *self, *hook;
  if (PyArg_ParseTuple(args, "O!O", tensorType, &self, &hook) == 0) return nullptr;
  return method(self, hook);
}

// ---- backward and grad
// --------------------------------------------------------------------------------------------------

using P = ParamType;

/// A tuple (node, which of its results, ...), as `GradientEdge` is.
bool isEdge(PyObject* o) {
  return PyTuple_Check(o) && PyTuple_GET_SIZE(o) >= 2 && isNode(PyTuple_GET_ITEM(o, 0)) &&
         PyLong_Check(PyTuple_GET_ITEM(o, 1));
}

/// A tensor whose gradient goes where the edge leads: the leaf, or one that stands for the node's result.
Tensor tensorOfEdge(PyObject* edge) {
  Node& node = nodeOf(PyTuple_GET_ITEM(edge, 0));
  if (auto* leaf = dynamic_cast<LeafNode*>(&node)) return leaf->leaf();
  std::size_t result = PyLong_AsSize_t(PyTuple_GET_ITEM(edge, 1));
  if (PyErr_Occurred() != nullptr) throw PythonError();
  if (result >= node.results().size())
    fail<IndexError>("gradient edge: ", node.name(), " has ", node.results().size(),
                     " results, there is none of number ", result);
  const ResultMeta& meta = node.results()[result];
  const DeviceScope there(meta.device);
  Tensor t = autograd::detach(ops::expand(ops::zeros(Dims{}, meta.dtype), meta.shape));
  setHistory(t, Ref<Node>(&node), static_cast<std::uint32_t>(result));
  return t;
}

/// Tensors, and gradient edges where they are allowed.
std::vector<Tensor> tensorsOf(PyObject* o, const char* what, bool edges = false) {
  std::vector<Tensor> list;
  if (o == nullptr) return list;
  if (isTensor(o)) return {tensorOf(o)};
  if (edges && isEdge(o)) return {tensorOfEdge(o)};
  PyRef items(PySequence_Fast(o, "expected a Tensor or a sequence of Tensors"));
  if (!items) throw PythonError();
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(items.get(), i);
    if (edges && isEdge(item)) {
      list.push_back(tensorOfEdge(item));
      continue;
    }
    if (item != Py_None && !isTensor(item)) {
      fail<TypeError>(what, " can be either Tensors or None, but got ", Py_TYPE(item)->tp_name);
    }
    list.push_back(item == Py_None ? Tensor() : tensorOf(item));
  }
  return list;
}

std::optional<bool> optionalBool(ParsedArgs& a, std::size_t i) {
  return a.has(i) ? std::optional(a.boolean(i)) : std::nullopt;
}

PyObject* runBackward(const std::vector<Tensor>& roots, const std::vector<Tensor>& cotangents,
                      autograd::RunOptions options, PyObject* inputs) {
  std::vector<Tensor> only = tensorsOf(inputs, "inputs", true);
  if (inputs != nullptr && only.empty()) fail("`inputs` argument to `backward()` cannot be empty.");
  if (options.createGraph) {
    warnOnce("Using backward() with create_graph=True will create a reference cycle between the parameter and its "
             "gradient, which can cause a memory leak. Use autograd.grad when creating the graph, or reset the "
             ".grad fields of the parameters to None after use.");
  }
  {
    const AcrossStreams ordered;
    WithoutGil released;
    autograd::backward(roots, cotangents, options, only);
  }
  Py_RETURN_NONE;
}

constexpr ParamSpec backwardParams[] = {{"self", P::Tensor, false, false},
                                        {"gradient", P::OptionalTensor, true, false},
                                        {"retain_graph", P::Bool, true, false},
                                        {"create_graph", P::Bool, true, false},
                                        {"inputs", P::Any, true, false}};
constexpr Signature backwardSigs[] = {{"backward", backwardParams, [](ParsedArgs& a) -> PyObject* {
                                         std::vector<Tensor> cotangents;
                                         if (a.has(1)) cotangents.push_back(a.tensor(1));
                                         return runBackward({a.tensor(0)}, cotangents,
                                                            {optionalBool(a, 2), a.boolean(3)}, a.object(4));
                                       }}};

constexpr ParamSpec backwardAllParams[] = {
    {"tensors", P::Any, false, false},       {"grad_tensors", P::Any, true, false},
    {"retain_graph", P::Bool, true, false},  {"create_graph", P::Bool, true, false},
    {"grad_variables", P::Any, true, false}, {"inputs", P::Any, true, false}};
constexpr Signature backwardAllSigs[] = {{"backward", backwardAllParams, [](ParsedArgs& a) -> PyObject* {
                                            return runBackward(
                                                tensorsOf(a.object(0), "tensors", true),
                                                tensorsOf(a.has(1) ? a.object(1) : a.object(4), "gradients"),
                                                {optionalBool(a, 2), a.boolean(3)}, a.object(5));
                                          }}};

constexpr ParamSpec gradParams[] = {
    {"outputs", P::Any, false, false},          {"inputs", P::Any, false, false},
    {"grad_outputs", P::Any, true, false},      {"retain_graph", P::Bool, true, false},
    {"create_graph", P::Bool, true, false},     {"only_inputs", P::Bool, true, false},
    {"allow_unused", P::Bool, true, false},     {"is_grads_batched", P::Bool, true, false},
    {"materialize_grads", P::Bool, true, false}};
constexpr Signature gradSigs[] = {
    {"grad", gradParams, [](ParsedArgs& a) -> PyObject* {
       if (!a.boolean(5, true)) fail<ValueError>("only_inputs argument is deprecated and must be True");
       std::vector<Tensor> outputs = tensorsOf(a.object(0), "outputs", true);
       std::vector<Tensor> inputs = tensorsOf(a.object(1), "inputs", true);
       std::vector<Tensor> cotangents = tensorsOf(a.object(2), "gradients");
       autograd::GradOptions options;
       options.retainGraph = optionalBool(a, 3);
       options.createGraph = a.boolean(4);
       options.materializeGrads = a.boolean(8);
       if (options.materializeGrads && a.has(6) && !a.boolean(6)) {
         fail<ValueError>("Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
                          "allow_unused=False.");
       }
       options.allowUnused = a.boolean(6) || options.materializeGrads;
       std::vector<Tensor> grads;
       std::unique_ptr<BatchScope> batch;
       if (a.boolean(7)) {
         std::int64_t size = -1;
         for (std::size_t i = 0; i < cotangents.size(); ++i) {
           Tensor& g = cotangents[i];
           if (!g.defined()) continue;
           if (g.dim() == 0 || (size >= 0 && g.size(0) != size))
             fail("If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                  "dimension, which must be of one size for all, but got shape ",
                  shapeText(g.shape()));
           if (i < outputs.size() && !(DimsRef(g.shape()).subspan(1) == outputs[i].shape()))
             fail("If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                  "dimension. The sizes of the remaining dimensions are expected to match the shape of corresponding "
                  "output, but a mismatch was detected: grad_output[",
                  i, "] has a shape of ", shapeText(g.shape()), " and output[", i, "] has a shape of ",
                  shapeText(outputs[i].shape()), ".");
           size = g.size(0);
           if (!batch) batch = std::make_unique<BatchScope>(size, Randomness::Error);
           g = ops::batch_in(g, 0, batch->axis().id);
         }
       }
       {
         const AcrossStreams ordered;
         WithoutGil released;
         grads = autograd::grad(outputs, inputs, cotangents, options);
       }
       if (batch)
         for (Tensor& g : grads)
           if (g.defined()) g = ops::batch_out(g, 0, batch->axis().id);
       return wrap(grads);
     }}};

/// (number of the backward that runs, which of a list of nodes it reaches).
PyObject* backwardReaches(PyObject*, PyObject* list) {
  return guarded([&]() -> PyObject* {
    PyRef items(checked(PySequence_Fast(list, "expected a sequence of nodes")));
    std::vector<const Node*> nodes;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(items.get(), i);
      if (!isNode(item)) fail<TypeError>("expected a node, but got ", Py_TYPE(item)->tp_name);
      nodes.push_back(&nodeOf(item));
    }
    std::vector<bool> reached = reachedByCurrentRun(nodes);
    PyRef flags(checked(PyList_New(static_cast<Py_ssize_t>(nodes.size()))));
    for (std::size_t i = 0; i < nodes.size(); ++i)
      PyList_SET_ITEM(flags.get(), static_cast<Py_ssize_t>(i), PyBool_FromLong(reached[i] ? 1 : 0));
    return Py_BuildValue("(KO)", static_cast<unsigned long long>(currentRun()), flags.get());
  });
}

PyObject* setAnomaly(PyObject*, PyObject* args) {
  int on, checkNan;
  if (PyArg_ParseTuple(args, "pp", &on, &checkNan) == 0) return nullptr;
  return guarded([&]() -> PyObject* {
    autograd::setAnomalyMode(on != 0, checkNan != 0);
    Py_RETURN_NONE;
  });
}
PyObject* anomaly(PyObject*, PyObject*) {
  return Py_BuildValue("(NN)", PyBool_FromLong(autograd::anomalyMode() ? 1 : 0),
                       PyBool_FromLong(autograd::anomalyChecksNan() ? 1 : 0));
}

/// A list that no backward has taken.
template <class Functor, class F>
int traverseList(const HookList<F>& list, visitproc visit, void* arg) {
  if (list == nullptr || list.use_count() != 1) return 0;
  for (const Hook<F>& hook : *list)
    if (const auto* python = hook.run.template target<Functor>())
      if (int r = python->call.traverse(visit, arg)) return r;
  return 0;
}
/// What the node's hooks hang on, if its object alone holds it.
NodeExtras* ownedHooks(PyObject* object) {
  const Ref<Node>& node = reinterpret_cast<NodeObject*>(object)->node;
  return node && node->refCount() == 1 ? node->extras() : nullptr;
}
int nodeTraverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  const NodeExtras* x = ownedHooks(self);
  if (x == nullptr) return 0;
  for (const auto& list : x->tensorHooks)
    if (int r = traverseList<PythonTensorHook>(list, visit, arg)) return r;
  if (int r = traverseList<PythonNodePreHook>(x->preHooks, visit, arg)) return r;
  return traverseList<PythonNodeHook>(x->postHooks, visit, arg);
}
int nodeClear(PyObject* self) {
  NodeExtras* x = ownedHooks(self);
  if (x == nullptr) return 0;
  // Taken out first: functions that go may run any code. Each result keeps its place.
  std::vector<HookList<TensorHook>> hooks(x->tensorHooks.size());
  hooks.swap(x->tensorHooks);
  HookList<NodeHook> before = std::move(x->preHooks);
  HookList<NodePostHook> after = std::move(x->postHooks);
  return 0;
}
/// What the tensor's hooks hang on, if it is a leaf that this reference alone holds.
AutogradMeta* ownedHooks(const Tensor& t) {
  if (!t.defined() || t.impl()->refCount() != 1) return nullptr;
  AutogradMeta* m = metaOf(t);
  return m != nullptr && (m->hooks != nullptr || m->afterAccumulate != nullptr) ? m : nullptr;
}

}  // namespace

Tensor PythonTensorHook::operator()(const Tensor& grad) const {
  WithGil gil;
  PyRef argument(checked(wrap(grad)));
  beforeCall(call.get(), std::array{argument.get()}.data(), 1);
  PyRef result(checked(PyObject_CallOneArg(call.get(), argument.get())));
  return replacement(grad, result.get(), call.get());
}
void PythonLeafHook::operator()(const Tensor& leaf) const {
  WithGil gil;
  PyRef argument(checked(wrap(leaf)));
  beforeCall(call.get(), std::array{argument.get()}.data(), 1);
  PyRef result(checked(PyObject_CallOneArg(call.get(), argument.get())));
  if (isTensor(result.get())) fail("Tensor post accumulate grad hooks should return None.");
  if (result.get() != Py_None)
    fail<TypeError>("expected Variable, but hook returned '", Py_TYPE(result.get())->tp_name, "'");
}

void PythonNodeHook::operator()(std::vector<Tensor>& grads, std::span<const Tensor> cotangents) const {
  WithGil gil;
  PyRef in = tupleOf(grads);
  PyRef out = tupleOf(cotangents);
  beforeCall(call.get(), std::array{in.get(), out.get()}.data(), 2);
  PyRef result(checked(PyObject_CallFunctionObjArgs(call.get(), in.get(), out.get(), nullptr)));
  replaceAll(grads, result.get(), call.get());
}
void PythonNodePreHook::operator()(std::vector<Tensor>& cotangents) const {
  WithGil gil;
  PyRef out = tupleOf(cotangents);
  beforeCall(call.get(), std::array{out.get()}.data(), 1);
  PyRef result(checked(PyObject_CallOneArg(call.get(), out.get())));
  replaceAll(cotangents, result.get(), call.get());
}

int traverseHooks(const Tensor& t, visitproc visit, void* arg) {
  AutogradMeta* m = ownedHooks(t);
  if (m == nullptr) return 0;
  if (int r = traverseList<PythonTensorHook>(m->hooks, visit, arg)) return r;
  return traverseList<PythonLeafHook>(m->afterAccumulate, visit, arg);
}
void clearHooks(const Tensor& t) {
  AutogradMeta* m = ownedHooks(t);
  if (m == nullptr) return;
  // Taken out first: functions that go may run any code.
  HookList<TensorHook> hooks = std::move(m->hooks);
  HookList<LeafHook> after = std::move(m->afterAccumulate);
}

PyObject* nodeObject(Ref<Node> node) {
  if (!node) Py_RETURN_NONE;
  PyTypeObject* type = nodeTypeOf(*node);
  auto* self = reinterpret_cast<NodeObject*>(checked(type->tp_alloc(type, 0)));
  new (&self->node) Ref<Node>(std::move(node));
  return reinterpret_cast<PyObject*>(self);
}

PyMethodDef backwardMethod() { return method<backwardSigs>("backward", doc::method_backward); }

void initAutograd(PyObject* module) {
  static PyMethodDef nodeMethods[] = {
      {"name", nodeName, METH_NOARGS, "What the node is called."},
      {"register_hook", nodeRegisterHook, METH_O, doc::method_register_hook},
      {"register_prehook", nodeRegisterPreHook, METH_O, "Calls hook(grad_outputs) before the node runs."},
      {"_sequence_nr", sequence, METH_NOARGS, "Nodes run by decreasing number."},
      {nullptr, nullptr, 0, nullptr},
  };
  static PyGetSetDef nodeProperties[] = {
      {"next_functions", nextFunctions, nullptr, "Where gradients go on to.", nullptr},
      {"variable", variable, nullptr, "The leaf at the end of the graph.", nullptr},
      {"saved_tensors", nodeSavedTensors, nullptr, "What a Function saved.", nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr},
  };
  PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("A node of the graph of derivatives.")},
      {Py_tp_dealloc, slot(nodeDealloc)},
      {Py_tp_traverse, slot(nodeTraverse)},
      {Py_tp_clear, slot(nodeClear)},
      {Py_tp_repr, slot(nodeRepr)},
      {Py_tp_hash, slot(nodeHash)},
      {Py_tp_getattro, slot(nodeGetAttribute)},
      {Py_tp_setattro, slot(nodeSetAttribute)},
      {Py_tp_richcompare, slot(nodeCompare)},
      {Py_tp_methods, nodeMethods},
      {Py_tp_getset, nodeProperties},
      {0, nullptr},
  };
  PyType_Spec spec = {"tandem.autograd.graph.Node", sizeof(NodeObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE |
                          Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
                      slots};
  nodeType = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)));
  checked(PyModule_AddObjectRef(module, "_Node", reinterpret_cast<PyObject*>(nodeType)));

  static PyMethodDef functions[] = {
      function<backwardAllSigs>("_backward", "See tandem.autograd.backward."),
      function<gradSigs>("_grad", "See tandem.autograd.grad."),
      {"_register_hook", onTensor<registerHook>, METH_VARARGS, "The id of a new tensor hook."},
      {"_register_leaf_hook", onTensor<registerLeafHook>, METH_VARARGS, "The id of a new hook after accumulation."},
      {"_remove_hook", removeHook, METH_VARARGS, "Removes the hook of a tensor or node by its id."},
      {"_backward_reaches", backwardReaches, METH_O, "(number of this backward, which of the nodes it reaches)."},
      {"_set_anomaly", setAnomaly, METH_VARARGS, "Turns anomaly mode on or off."},
      {"_anomaly", anomaly, METH_NOARGS, "(is on, checks NaN)."},
      {nullptr, nullptr, 0, nullptr},
  };
  checked(PyModule_AddFunctions(module, functions));
  initEngine(module);
  initFunction(module);
  autograd::install();
  autograd::setLineProvider([] {
    WithGil gil;
    return userLineOutside();
  });
}

}  // namespace tandem::python
