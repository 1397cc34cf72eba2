// What a compiled function returns of a value that nobody else sees: a view of a small part needs no more than the
// part. Eager keeps the whole memory behind such a view; after this the plan need not even compute it.
#include <algorithm>
#include <limits>

#include "lazy/session.h"

namespace tandem::lazy {

void Session::narrow(std::span<const Tensor> results) {
  for (Content *c = first_, *next = nullptr; c != nullptr; c = next) {
    next = c->next;
    std::vector<TensorImpl*> views;
    for (const Tensor& t : results)
      if (t.defined() && t.impl()->storage.get() == c->storage &&
          std::find(views.begin(), views.end(), t.impl()) == views.end())
        views.push_back(t.impl());
    if (!views.empty() && c->input < 0 && c->dataDims == 0) narrow(*c, views);
  }
}

void Session::narrow(Content& content, std::span<TensorImpl* const> views) {
  Storage* s = content.storage;
  std::int64_t begin = std::numeric_limits<std::int64_t>::max();
  std::int64_t end = 0;
  // Tensors that are known to be views of others keep these.
  std::vector<TensorImpl*> bases;
  for (TensorImpl* v : views) {
    if (v->numel == 0 || v->batch || v->historyVersion != s->version) return;
    begin = std::min(begin, v->offset);
    end = std::max(end, v->offset + reach(v->shape, v->strides));
    TensorImpl* base = v->viewBase.get();
    if (base != nullptr && std::find(bases.begin(), bases.end(), base) == bases.end()) bases.push_back(base);
  }
  for (TensorImpl* base : bases)
    if (base->refCount() !=
        std::count_if(views.begin(), views.end(), [&](TensorImpl* v) { return v->viewBase.get() == base; }))
      return;
  DType dtype = views[0]->dtype;
  if (s->refCount() != static_cast<std::int32_t>(views.size() + bases.size()) ||
      2 * (end - begin) > numelOf(trace_.meta(content.value).shape))
    return;
  Dims part{end - begin};
  Tensor alone = fresh(trace_.addWindow(content.value, {part, {1}, begin}), {part, dtype});
  alone.impl()->storage->version = s->version;
  for (TensorImpl* v : views) {
    v->viewBase = nullptr;
    v->become(*makeAlias(alone, v->shape, v->strides, v->offset - begin).impl());
  }
}

}  // namespace tandem::lazy
