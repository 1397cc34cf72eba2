#include "python/src/check_compiled.h"

#include <cstdlib>
#include <cstring>
#include <unordered_set>

#include "autograd/autograd.h"
#include "autograd/meta.h"
#include "eager/ops.h"
#include "python/src/py_tensor.h"

namespace tandem::python {

struct CompiledCheck::Picture {
  std::string name;
  bool defined = false;
  DType dtype = DType::Float32;
  Dims shape, strides;
  bool requiresGrad = false;
  std::uint32_t version = 0;
  std::string bytes;
};

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
    memory_.push_back({t->storage, std::string(static_cast<const char*>(t->storage->data()), t->storage->bytes()),
                       t->storage->version});
  });
  trace.visitGradSlots(arguments, [&](TensorImpl* owner) {
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
  p.version = t.impl()->storage->version;
  const Tensor whole = ops::contiguous(autograd::detach(t));
  p.bytes.assign(static_cast<const char*>(whole.data()), static_cast<std::size_t>(whole.numel()) * itemSize(t.dtype()));
  return p;
}

namespace {
/// Tensors in tuples, lists and dicts, each with where it is.
void visitTensors(PyObject* o, const std::string& name, int depth,
                  const std::function<void(const std::string&, const Tensor&)>& visit) {
  if (isTensor(o)) return visit(name, tensorOf(o));
  if (depth > 50) return;
  if (PyTuple_Check(o) || PyList_Check(o)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
      visitTensors(PySequence_Fast_GET_ITEM(o, i), name + "[" + std::to_string(i) + "]", depth + 1, visit);
  } else if (PyDict_Check(o)) {
    PyObject *k = nullptr, *v = nullptr;
    int i = 0;
    for (Py_ssize_t at = 0; PyDict_Next(o, &at, &k, &v) != 0;)
      visitTensors(v, name + "[value " + std::to_string(i++) + "]", depth + 1, visit);
  }
}
}  // namespace

std::vector<CompiledCheck::Picture> CompiledCheck::pictures(PyObject* results) const {
  std::vector<Picture> all;
  visitTensors(results, "result", 0,
               [&](const std::string& name, const Tensor& t) { all.push_back(pictureOf(name, t)); });
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    const Storage& s = *memory_[i].storage;
    if (s.isPending()) s.pending()->materialize();
    Picture p;
    p.name = "the memory of input " + std::to_string(i);
    p.version = s.version;
    p.bytes.assign(static_cast<const char*>(s.data()), s.bytes());
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

PyObject* CompiledCheck::compare(PyObject* results, const std::function<PyObject*()>& body) {
  const std::vector<Picture> ours = pictures(results);
  for (const Memory& m : memory_) {
    std::memcpy(m.storage->data(), m.bytes.data(), m.bytes.size());
    m.storage->version = m.version;
  }
  for (const auto& [owner, grad] : grads_) autograd::setGrad(owner, grad);
  defaultGenerator() = generator_;
  PyRef eager(checked(body()));
  const std::vector<Picture> theirs = pictures(eager.get());
  auto differ = [](const std::string& name, const char* what) {
    fail<InternalError>("TANDEM_CHECK_COMPILED: ", what, " of ", name, " differs from the eager call's");
  };
  if (ours.size() != theirs.size()) differ("the call", "the number of results");
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const Picture& a = ours[i];
    const Picture& b = theirs[i];
    if (a.defined != b.defined) differ(a.name, "whether there is a tensor");
    if (a.dtype != b.dtype) differ(a.name, "the dtype");
    if (!(a.shape == b.shape)) differ(a.name, "the shape");
    if (a.requiresGrad != b.requiresGrad) differ(a.name, "requires_grad");
    if (a.bytes != b.bytes) differ(a.name, "a bit");
    if (a.version != b.version) differ(a.name, "the version");
  }
  return eager.release();
}

}  // namespace tandem::python
