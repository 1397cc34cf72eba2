#include "autograd/meta.h"

#include <mutex>

namespace tandem {

thread_local constinit GradObserver* gradObserver = nullptr;

AutogradMeta::~AutogradMeta() {
  if (!retainsGrad || !gradFn) return;
  std::scoped_lock guard(gradFn->lock());
  if (NodeExtras* x = gradFn->extras(); x != nullptr && resultNr < x->retained.size()) x->retained[resultNr] = nullptr;
}

AutogradMeta& needMeta(TensorImpl* t) {
  if (!t->autograd) t->autograd = std::make_unique<AutogradMeta>();
  return *metaOf(t);
}

void startRetaining(TensorImpl* t) {
  AutogradMeta& m = needMeta(t);
  m.retainsGrad = true;
  if (!m.gradFn) return;
  std::scoped_lock guard(m.gradFn->lock());
  auto& retained = m.gradFn->needExtras().retained;
  if (retained.size() <= m.resultNr) retained.resize(m.resultNr + 1, nullptr);
  retained[m.resultNr] = t;
}

void stopRetaining(TensorImpl* t) {
  AutogradMeta* m = metaOf(t);
  if (m == nullptr || !m->retainsGrad) return;
  m->retainsGrad = false;
  if (!m->gradFn) return;
  std::scoped_lock guard(m->gradFn->lock());
  if (NodeExtras* x = m->gradFn->extras(); x != nullptr && m->resultNr < x->retained.size())
    x->retained[m->resultNr] = nullptr;
}

void setHistory(const Tensor& t, Ref<Node> node, std::uint32_t nr) {
  TensorImpl* impl = t.impl();
  AutogradMeta& m = needMeta(impl);
  bool retains = m.retainsGrad;
  if (retains) stopRetaining(impl);
  m.gradFn = std::move(node);
  m.resultNr = nr;
  impl->requiresGrad = true;
  if (retains) startRetaining(impl);
}

void clearHistory(const Tensor& t) {
  TensorImpl* impl = t.impl();
  impl->requiresGrad = false;
  if (AutogradMeta* m = metaOf(impl)) {
    stopRetaining(impl);
    m->gradFn = {};
    m->resultNr = 0;
  }
}

}  // namespace tandem
