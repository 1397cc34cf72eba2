// One call of a user's Function. The Python class drives it:
//
//   handle = _C._function_begin(name, inputs)     edges are taken; None when no gradient is wanted
//   ... forward runs in no_grad ...
//   outputs = _C._function_end(handle, ctx, backward, outputs, inputs, saved, non_differentiable, dirty, materialize,
//                                materialize_non_differentiable)
//
// Who owns whom: the outputs own the node, the node owns its backward and so the ctx, and the ctx reaches back to the
// node through the handle, which then owns nothing: it is told when the node goes. A compiled function makes the node
// again at every call, with a copy of the context.
#include "python/src/function_bindings.h"

#include <algorithm>

#include "autograd/autograd.h"
#include "autograd/function.h"
#include "python/src/arg_parser.h"
#include "python/src/observer.h"
#include "python/src/py_tensor.h"

namespace tandem::python {

namespace {

struct Handle {
  PyObject_HEAD FunctionNode* node;  // null when it is gone
  bool owns;                         // until the forward has ended
};
PyTypeObject* handleType;

Handle* handleOf(PyObject* o) {
  if (Py_TYPE(o) != handleType) fail<TypeError>("expected the handle of a Function");
  return reinterpret_cast<Handle*>(o);
}
PyObject* newHandle(FunctionNode* node, bool owns) {
  PyObject* handle = checked(handleType->tp_alloc(handleType, 0));
  reinterpret_cast<Handle*>(handle)->node = node;
  reinterpret_cast<Handle*>(handle)->owns = owns;
  return handle;
}
void handleDealloc(PyObject* self) {
  auto* h = reinterpret_cast<Handle*>(self);
  PyTypeObject* type = Py_TYPE(self);
  if (h->owns && h->node != nullptr) h->node->release();
  type->tp_free(self);
  Py_DECREF(type);
}

/// A part of the node's backward: when that is destroyed, the handle forgets the node.
class Farewell {
 public:
  explicit Farewell(PyObject* handle) : handle_(Py_NewRef(handle)) {}
  ~Farewell() {
    if (Py_IsInitialized() == 0) return;
    WithGil gil;
    reinterpret_cast<Handle*>(handle_)->node = nullptr;
    Py_DECREF(handle_);
  }
  Farewell(const Farewell&) = delete;
  Farewell& operator=(const Farewell&) = delete;

 private:
  PyObject* handle_;
};

std::vector<Tensor> listOf(PyObject* tuple) {
  std::vector<Tensor> list;
  if (tuple == nullptr || tuple == Py_None) return list;
  PyRef items(PySequence_Fast(tuple, "expected a sequence of Tensors"));
  if (!items) throw PythonError();
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(items.get(), i);
    list.push_back(isTensor(item) ? tensorOf(item) : Tensor());
  }
  return list;
}

/// Gradients as the user's backward returned them: one an argument, None where there is none.
std::vector<Tensor> gradientsOf(PyObject* result, const std::string& name, std::size_t count) {
  PyRef items(PyTuple_Check(result)  ? Py_NewRef(result)
              : PyList_Check(result) ? PyList_AsTuple(result)
                                     : PyTuple_Pack(1, result));
  if (!items) throw PythonError();
  auto n = static_cast<std::size_t>(PyTuple_GET_SIZE(items.get()));
  bool fits = n >= count;
  // More than were asked for is fine as long as they are None.
  for (std::size_t i = count; i < n; ++i) fits &= PyTuple_GET_ITEM(items.get(), static_cast<Py_ssize_t>(i)) == Py_None;
  if (!fits) fail("function ", name, " returned an incorrect number of gradients (expected ", count, ", got ", n, ")");
  std::vector<Tensor> grads;
  for (std::size_t i = 0; i < count; ++i) {
    PyObject* g = PyTuple_GET_ITEM(items.get(), static_cast<Py_ssize_t>(i));
    if (g != Py_None && !isTensor(g)) {
      fail<TypeError>("function ", name, " returned a gradient of type '", Py_TYPE(g)->tp_name,
                      "', expected a Tensor or None");
    }
    grads.push_back(g == Py_None ? Tensor() : tensorOf(g));
  }
  return grads;
}

/// The context of a call, and how one more call gets another: a copy whose tensors are that call's.
class PythonFunction final : public FunctionMaker {
 public:
  PythonFunction(PyObject* context, PyObject* backward, std::size_t numInputs)
      : context_(context), backward_(backward), numInputs_(numInputs) {}

  void bind(FunctionNode& node, PyObject* handle, PyObject* context) const {
    auto farewell = std::make_shared<Farewell>(handle);
    node.setBackward([call = backward_, owned = SharedObject(context), farewell, name = node.name(),
                      count = numInputs_](std::span<const Tensor> cotangents) {
      WithGil gil;
      std::vector<PyRef> wrapped;
      std::vector<PyObject*> arguments{owned.get()};
      for (const Tensor& t : cotangents) {
        wrapped.emplace_back(checked(wrap(t)));
        arguments.push_back(wrapped.back().get());
      }
      beforeCall(call.get(), arguments.data(), static_cast<Py_ssize_t>(arguments.size()));
      PyRef result(checked(PyObject_Vectorcall(call.get(), arguments.data(), arguments.size(), nullptr)));
      return gradientsOf(result.get(), name, count);
    });
  }

  [[nodiscard]] void* context() const override { return context_.get(); }

  std::vector<Tensor> attributes() override {
    WithGil gil;
    PyRef found(checked(PyObject_CallMethod(context_.get(), "_tensors", nullptr)));
    return listOf(found.get());
  }

  std::shared_ptr<FunctionMaker> kept() override {
    WithGil gil;
    const PyRef context = copyOf(Py_None, attributes());
    return std::make_shared<PythonFunction>(context.get(), backward_.get(), numInputs_);
  }

  void remake(FunctionNode& node, std::span<const Tensor> attributes) override {
    WithGil gil;
    PyRef handle(newHandle(&node, false));
    bind(node, handle.get(), copyOf(handle.get(), std::vector<Tensor>(attributes.begin(), attributes.end())).get());
  }

 private:
  [[nodiscard]] PyRef copyOf(PyObject* handle, const std::vector<Tensor>& attributes) const {
    const PyRef tensors(checked(wrap(attributes)));
    return PyRef(checked(PyObject_CallMethod(context_.get(), "_remade", "OO", handle, tensors.get())));
  }

  SharedObject context_;
  SharedObject backward_;
  std::size_t numInputs_;
};

PyObject* begin(PyObject*, PyObject* args) {
  const char* name;
  PyObject* inputs;
  if (PyArg_ParseTuple(args, "sO", &name, &inputs) == 0) return nullptr;
  return guarded([&]() -> PyObject* {
    Ref<FunctionNode> node = FunctionNode::make(name, listOf(inputs));
    if (!node) Py_RETURN_NONE;
    return newHandle(node.detach(), true);
  });
}

PyObject* end(PyObject*, PyObject* args) {
  PyObject *object, *ctx, *backward, *outputs, *inputs, *saved, *nonDifferentiable, *dirty;
  int materialize, materializeRest;
  if (PyArg_ParseTuple(args, "OOOOOOOOpp", &object, &ctx, &backward, &outputs, &inputs, &saved, &nonDifferentiable,
                       &dirty, &materialize, &materializeRest) == 0) {
    return nullptr;
  }
  return guarded([&]() -> PyObject* {
    Handle* handle = handleOf(object);
    Ref<FunctionNode> node(handle->node);
    if (handle->owns) {
      handle->owns = false;
      handle->node->release();
    }
    std::vector<Tensor> ins = listOf(inputs);
    node->setMaterializeGrads(materialize != 0, materializeRest != 0);
    auto function = std::make_shared<PythonFunction>(ctx, backward, ins.size());
    function->bind(*node, object, ctx);
    node->setMaker(std::move(function));
    std::vector<Tensor> outs = listOf(outputs);
    node->attach(outs, ins, listOf(nonDifferentiable), listOf(dirty));
    std::vector<Tensor> keep = listOf(saved);
    // An output among the saved tensors stands for the output with its history, an input for the input, also where it
    // is returned: the output is an alias of it then.
    PyRef before(checked(PySequence_Fast(outputs, "expected a tuple of outputs")));
    PyRef kept(saved == Py_None ? PyTuple_New(0) : PySequence_Fast(saved, "expected a tuple of saved tensors"));
    if (!kept) throw PythonError();
    for (std::size_t i = 0; i < keep.size(); ++i) {
      if (std::find(ins.begin(), ins.end(), keep[i]) != ins.end()) continue;
      for (std::size_t k = 0; k < outs.size(); ++k) {
        if (PySequence_Fast_GET_ITEM(kept.get(), static_cast<Py_ssize_t>(i)) ==
                PySequence_Fast_GET_ITEM(before.get(), static_cast<Py_ssize_t>(k)) &&
            outs[k].defined()) {
          keep[i] = outs[k];
        }
      }
    }
    node->saveTensors(keep);
    return wrap(outs);
  });
}

PyObject* saved(PyObject*, PyObject* object) {
  return guarded([&]() -> PyObject* {
    Handle* handle = handleOf(object);
    if (handle->node == nullptr || !handle->node->tryRetain()) {
      fail("Trying to backward through the graph a second time (or directly access saved tensors after they have "
           "already been freed). Saved intermediate values of the graph are freed when you call .backward() or "
           "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if "
           "you need to access saved tensors after calling backward.");
    }
    Ref<FunctionNode> node(handle->node);
    node->release();
    return wrap(node->savedTensors());
  });
}

PyObject* sameMemory(PyObject*, PyObject* args) {
  PyObject *tensor, *other;
  if (PyArg_ParseTuple(args, "O!O!", tensorType, &tensor, tensorType, &other) == 0) return nullptr;
  const Storage& memory = *tensorOf(tensor).impl()->storage;
  return PyBool_FromLong(memory.sameMemory(*tensorOf(other).impl()->storage) ? 1 : 0);
}

}  // namespace

PyObject* savedTensorsOf(Node& node) {
  if (node.kind() == Node::Kind::Function) {
    if (auto* function = dynamic_cast<FunctionNode*>(&node)) return wrap(function->savedTensors());
  }
  PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute 'saved_tensors'", node.name().c_str());
  return nullptr;
}

PyObject* contextOf(Node& node) {
  if (node.kind() != Node::Kind::Function) return nullptr;
  auto* function = dynamic_cast<FunctionNode*>(&node);
  if (function == nullptr || function->call().maker == nullptr) return nullptr;
  return static_cast<PyObject*>(function->call().maker->context());
}

bool isSpent(PyObject* context) {
  const PyRef handle(PyObject_GetAttrString(context, "_handle"));
  PyErr_Clear();
  if (!handle || !isFunctionHandle(handle.get())) return true;
  FunctionNode* node = handleOf(handle.get())->node;
  return node == nullptr || node->released();
}

bool isFunctionHandle(PyObject* o) { return Py_TYPE(o) == handleType; }

void initFunction(PyObject* module) {
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(handleDealloc)}, {0, nullptr}};
  PyType_Spec spec = {"tandem._C._FunctionHandle", sizeof(Handle), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, slots};
  handleType = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)));
  static PyMethodDef functions[] = {
      {"_function_begin", begin, METH_VARARGS, "The node of a Function's call, or None."},
      {"_function_end", end, METH_VARARGS, "The outputs of a Function's call, with their history."},
      {"_function_saved", saved, METH_O, "What a Function's call saved."},
      {"_same_memory", sameMemory, METH_VARARGS, "(tensor, other): do both look at one memory?"},
      {nullptr, nullptr, 0, nullptr},
  };
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace tandem::python
