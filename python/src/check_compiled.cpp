#include "python/src/check_compiled.h"

#include <cstdlib>
#include <cstring>
#include <unordered_map>

#include "autograd/autograd.h"
#include "autograd/meta.h"
#include "eager/host.h"
#include "eager/ops.h"
#include "python/src/py_tensor.h"
#include "runtime/device/executor.h"

namespace tandem::python {

struct CompiledCheck::Picture {
  std::string name;
  PyTypeObject* type = nullptr;  // of what is no tensor and no memory
  bool defined = false;
  DType dtype = DType::Float32;
  Dims shape, strides;
  bool requiresGrad = false;
  std::uint32_t version = 0;
  std::string bytes;
};

namespace {

std::string bytesOf(const Storage& s) {
  std::string bytes(s.bytes(), '\0');
  Executor& device = executor(s.device());
  device.copyToHost(bytes.data(), s.data(), bytes.size(), device.stream());
  return bytes;
}

}  // namespace

bool checksCompiled() {
  static const bool on = [] {
    const char* asked = std::getenv("TANDEM_CHECK_COMPILED");
    return asked != nullptr && std::strcmp(asked, "") != 0 && std::strcmp(asked, "0") != 0;
  }();
  return on;
}

CompiledCheck::CompiledCheck(const lazy::CompiledTrace& trace, std::span<const Tensor> arguments)
    : generator_(defaultGenerator()) {
  trace.visitInputs(arguments, [&](TensorImpl* t) {
    t->storage->isPending() ? t->storage->pending()->materialize() : void();
    memory_.push_back({t->storage, bytesOf(*t->storage), t->storage->version});
  });
  trace.visitGrads(arguments, [&](TensorImpl* owner) {
    const AutogradMeta* m = metaOf(owner);
    grads_.emplace_back(Tensor(Ref<TensorImpl>(owner)), m != nullptr ? m->grad : Tensor());
  });
}

CompiledCheck::Picture CompiledCheck::pictureOf(std::string name, const Tensor& t) {
  Picture p;
  p.name = std::move(name);
  if (!t.defined()) return p;
  NoGrad noGrad;
  p.defined = true;
  p.dtype = t.dtype();
  p.shape = t.shape();
  p.strides = t.strides();
  p.requiresGrad = t.requiresGrad();
  p.version = t.impl()->version();
  const Tensor whole = readHost(ops::contiguous(autograd::detach(t)));
  p.bytes.assign(static_cast<const char*>(whole.data()), static_cast<std::size_t>(whole.numel()) * itemSize(t.dtype()));
  return p;
}

/// What results hold, in one order, each with where it is: tensors, containers and objects with all that is in them,
/// and other values. What was met before, and what every call hands on as it is, is only named.
class CompiledCheck::Walk {
 public:
  Walk(std::vector<Picture>& all, const ResultTree& tree) : all_(all), tree_(tree) {}

  void visit(PyObject* o, const std::string& name) {
    const void* identity = isTensor(o) ? static_cast<const void*>(tensorOf(o).impl()) : o;
    if (isUnchanging(o)) return value(o, name, textOf(o));
    if (auto [known, first] = seen_.emplace(identity, name); !first) return value(o, name, known->second);
    if (isTensor(o)) return all_.push_back(pictureOf(name, tensorOf(o)));
    if (tree_.holds(o)) return value(o, name, std::to_string(reinterpret_cast<std::uintptr_t>(o)));
    value(o, name, "");
    if (PyTuple_Check(o) || PyList_Check(o)) {
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
        visit(PySequence_Fast_GET_ITEM(o, i), name + "[" + std::to_string(i) + "]");
    } else if (PyDict_Check(o)) {
      // In the order of iteration, which is an OrderedDict's own.
      PyRef items(checked(PyODict_CheckExact(o) ? PyObject_CallMethod(o, "items", nullptr) : PyDict_Items(o)));
      PyRef list(checked(PySequence_List(items.get())));
      for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); ++i) {
        PyObject* item = PyList_GET_ITEM(list.get(), i);
        visit(PyTuple_GET_ITEM(item, 1), name + "[" + textOf(PyTuple_GET_ITEM(item, 0)) + "]");
      }
    }
    PyRef attributes(Py_TYPE(o)->tp_dictoffset != 0 ? checked(PyObject_GenericGetDict(o, nullptr)) : nullptr);
    PyObject *k = nullptr, *v = nullptr;
    for (Py_ssize_t at = 0; attributes && PyDict_Next(attributes.get(), &at, &k, &v) != 0;)
      visit(v, name + "." + utf8(k));
    visitSlots(o, [&](const PyMemberDef& slot, PyObject* held) {
      if (held != nullptr) visit(held, name + "." + slot.name);
    });
  }

 private:
  void value(PyObject* o, const std::string& name, std::string text) {
    Picture p;
    p.name = name;
    p.type = Py_TYPE(o);
    p.bytes = std::move(text);
    all_.push_back(std::move(p));
  }

  static std::string utf8(PyObject* text) {
    const char* s = PyUnicode_Check(text) ? PyUnicode_AsUTF8(text) : nullptr;
    return s != nullptr ? s : "?";
  }
  static std::string textOf(PyObject* o) { return utf8(PyRef(checked(PyObject_Repr(o))).get()); }

  std::vector<Picture>& all_;
  const ResultTree& tree_;
  std::unordered_map<const void*, std::string> seen_;  // where each was first
};

std::vector<CompiledCheck::Picture> CompiledCheck::pictures(PyObject* results, const ResultTree& tree) const {
  std::vector<Picture> all;
  Walk(all, tree).visit(results, "result");
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    const Storage& s = *memory_[i].storage;
    if (s.isPending()) s.pending()->materialize();
    Picture p;
    p.name = "the memory of input " + std::to_string(i);
    p.version = s.version;
    p.bytes = bytesOf(s);
    all.push_back(std::move(p));
  }
  for (std::size_t i = 0; i < grads_.size(); ++i) {
    const AutogradMeta* m = metaOf(grads_[i].first);
    all.push_back(pictureOf("the gradient of tensor " + std::to_string(i), m != nullptr ? m->grad : Tensor()));
  }
  Picture generator;
  generator.name = "the state of the default generator";
  const std::int64_t words[] = {defaultGenerator().seed(), defaultGenerator().offset()};
  generator.bytes.assign(reinterpret_cast<const char*>(words), sizeof words);
  all.push_back(std::move(generator));
  return all;
}

PyObject* CompiledCheck::compare(PyObject* results, const ResultTree& tree, const std::function<PyObject*()>& body) {
  const std::vector<Picture> ours = pictures(results, tree);
  for (const Memory& m : memory_) {
    Executor& device = executor(m.storage->device());
    device.copyFromHost(m.storage->data(), m.bytes.data(), m.bytes.size(), device.stream());
    m.storage->version = m.version;
  }
  for (const auto& [owner, grad] : grads_) autograd::setGrad(owner, grad);
  defaultGenerator() = generator_;
  PyRef eager(checked(body()));
  const std::vector<Picture> theirs = pictures(eager.get(), tree);
  auto differ = [](const std::string& name, const char* what) {
    fail<InternalError>("TANDEM_CHECK_COMPILED: ", what, " of ", name, " differs from the eager call's");
  };
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const Picture& a = ours[i];
    const Picture& b = theirs[i < theirs.size() ? i : theirs.size() - 1];
    if (a.name != b.name) differ(a.name, "the place");
    if (a.type != b.type) differ(a.name, "the type");
    if (a.defined != b.defined) differ(a.name, "whether there is a tensor");
    if (a.dtype != b.dtype) differ(a.name, "the dtype");
    if (!(a.shape == b.shape)) differ(a.name, "the shape");
    if (a.requiresGrad != b.requiresGrad) differ(a.name, "requires_grad");
    if (a.bytes != b.bytes) differ(a.name, a.type == nullptr ? "a bit" : "the value");
    // One that advances more than eager's can at most make an error of a backward that eager runs; one that advances
    // less would hide that a saved value is stale.
    if (a.version < b.version) differ(a.name, "the version");
  }
  return eager.release();
}

}  // namespace tandem::python
