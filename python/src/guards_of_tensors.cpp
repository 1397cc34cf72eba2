// Guards of tensors: what one is (window, memory, dtype, hooks and flags), and not what its elements are.
#include <algorithm>

#include "autograd/meta.h"
#include "python/src/guards.h"
#include "python/src/py_tensor.h"
#include "runtime/base/hash.h"

namespace tandem::python {

namespace {
constexpr std::uint32_t kRequiresGrad = 1;
std::uint32_t flagsOf(const TensorImpl* t) {
  const AutogradMeta* m = metaOf(t);
  return (t->requiresGrad ? kRequiresGrad : 0) | (t->writes ? 2 : 0) | (t->inference ? 4 : 0) | (t->batch ? 8 : 0) |
         (m != nullptr && m->gradFn ? 16 : 0) | (m != nullptr && m->retainsGrad ? 32 : 0) |
         (t->pyObject != nullptr && Py_TYPE(static_cast<PyObject*>(t->pyObject)) == tensorType ? 64 : 0);
}
/// A hash of the hooks, whose numbers are given out once. 0: there are none.
std::uint64_t hooksOf(const TensorImpl* t) {
  const AutogradMeta* m = metaOf(t);
  if (m == nullptr || (!m->hooks && !m->afterAccumulate)) return 0;
  Hash128 hash;
  if (m->hooks)
    for (const auto& h : *m->hooks) hash.add(2 * h.id);
  if (m->afterAccumulate)
    for (const auto& h : *m->afterAccumulate) hash.add(2 * h.id + 1);
  return hash.lo;
}
}  // namespace

GuardSet::TensorGuard::TensorGuard(PyObject* o, const TensorImpl* t, bool isBase)
    : tensor(o), impl(t), history(isBase && metaOf(t) != nullptr ? metaOf(t)->gradFn.get() : nullptr),
      windowChanges(t->windowChanges), flags(flagsOf(t)), hooks(hooksOf(t)), shape(t->shape), strides(t->strides),
      offset(t->offset), dtype(t->dtype), storage(t->storage.get()), base(t->viewBase.get()) {}

bool GuardSet::TensorGuard::sameWindow() const {
  return impl->storage.get() == storage && impl->offset == offset && impl->dtype == dtype && impl->shape == shape &&
         impl->strides == strides && impl->viewBase.get() == base;
}

bool GuardSet::TensorGuard::holds() {
  if (tensor.dead()) return false;
  if (impl->windowChanges != windowChanges) {
    if (!sameWindow()) return false;
    windowChanges = impl->windowChanges;
  }
  if (history != nullptr && (metaOf(impl) == nullptr || metaOf(impl)->gradFn.get() != history)) return false;
  return flagsOf(impl) == flags && (metaOf(impl) == nullptr ? hooks == 0 : hooksOf(impl) == hooks);
}

void GuardSet::tensor(PyObject* tensor) {
  if (!isNew(Kind::Tensor, tensor, nullptr)) return;
  order_.emplace_back(Kind::Tensor, static_cast<std::uint32_t>(tensors_.size()));
  const TensorImpl* t = tensorOf(tensor).impl();
  tensors_.emplace_back(tensor, t, false);
  if (t->viewBase == nullptr) return;
  order_.emplace_back(Kind::Tensor, static_cast<std::uint32_t>(tensors_.size()));
  tensors_.emplace_back(tensor, t->viewBase.get(), true);
}

void GuardSet::expectLeaf(PyObject* tensor) {
  const TensorImpl* t = tensorOf(tensor).impl();
  for (TensorGuard& g : tensors_)
    if (g.impl == t && g.tensor.is(tensor)) g.flags |= kRequiresGrad;
}

bool GuardSet::names(const TensorImpl* t) const {
  return std::any_of(tensors_.begin(), tensors_.end(), [&](const TensorGuard& g) { return g.impl == t; });
}

bool GuardSet::names(const Storage* memory) const {
  return std::ranges::any_of(tensors_, [&](const TensorGuard& g) { return g.storage == memory; });
}

TensorImpl* GuardSet::alike(TensorImpl* t) const {
  if (names(t)) return t;
  for (const TensorGuard& g : tensors_)
    if (g.storage == t->storage.get() && g.dtype == t->dtype) return const_cast<TensorImpl*>(g.impl);
  return nullptr;
}

}  // namespace tandem::python
