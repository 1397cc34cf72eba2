// Where recordings begin and end: lazy scopes, and the composites of eager programs. A session that has ended is kept,
// with the memory it has and the traces it made, for the next recording at the same site.
#include "lazy/scopes.h"

#include <algorithm>

#include "eager/fusion.h"
#include "eager/number_range.h"
#include "lazy/kept_grads.h"
#include "runtime/base/counters.h"

namespace tandem::lazy {

namespace {

/// Sessions of this thread that have ended and keep their memory: those of composites, which nest only through hooks,
/// and those of scopes.
template <bool composite>
class Spares {
 public:
  static std::unique_ptr<Session> take(std::uint64_t site) {
    auto& spares = list();
    auto it = std::find_if(spares.rbegin(), spares.rend(), [&](const Spare& s) { return s.session->site == site; });
    if (it == spares.rend() && spares.size() < kMost) {
      auto s = std::make_unique<Session>(false, composite);
      s->site = site;
      return s;
    }
    // The one that was used last at this site, else the one whose use is longest ago.
    auto found = it != spares.rend() ? std::prev(it.base()) : spares.begin();
    std::unique_ptr<Session> s = std::move(found->session);
    nodesKept() -= found->nodes;
    spares.erase(found);
    s->site = site;
    return s;
  }
  static void giveBack(std::unique_ptr<Session> s) {
    s->rest();
    auto& spares = list();
    const std::size_t nodes = s->nodesKept();
    nodesKept() += nodes;
    spares.push_back({nodes, std::move(s)});
    while (nodesKept() > kMostNodesKept && spares.size() > 1) {
      nodesKept() -= spares.front().nodes;
      spares.erase(spares.begin());
    }
  }

 private:
  static constexpr std::size_t kMost = 64;
  static constexpr std::size_t kMostNodesKept = std::size_t{1} << 16;  // some 20 MB
  struct Spare {
    std::size_t nodes;
    std::unique_ptr<Session> session;
  };
  static std::size_t& nodesKept() {
    thread_local std::size_t nodes = 0;
    return nodes;
  }
  static std::vector<Spare>& list() {
    thread_local std::vector<Spare> spares;
    return spares;
  }
};

class CompositeFusion final : public Fusion {
 public:
  Recorder* begin(std::uint64_t site) override { return Spares<true>::take(site).release(); }
  void end(Recorder* recorder, bool failed) override {
    std::unique_ptr<Session> s(static_cast<Session*>(recorder));
    if (failed)
      s->abandon();
    else
      s->flush();
    Spares<true>::giveBack(std::move(s));
  }
};

}  // namespace

void install() {
  static CompositeFusion composites;
  fusion = &composites;
  Scalar::onRead = [](const Scalar& s) {
    if (Session* session = activeSession()) (void)session->guardScalar(s);
  };
  onHeld = [](const Scalar& s, double most) {
    if (Session* session = activeSession()) session->boundScalar(s, most);
  };
}

Session* activeSession() { return static_cast<Session*>(activeRecorder); }

void flushActive() {
  if (Session* s = activeSession(); s != nullptr && !s->tracing()) s->flush();
}

LazyScope::LazyScope(std::uint64_t site) {
  if (activeRecorder != nullptr) return;
  own_ = Spares<false>::take(site);
  if (own_->grads == nullptr) own_->grads = std::make_shared<KeptGrads>();
  own_->grads->watch();
  activeRecorder = own_.get();
}

void LazyScope::end() {
  if (ended_) return;
  ended_ = true;
  if (own_ == nullptr) return;
  activeRecorder = nullptr;
  bump(counters().graphTraces);
  try {
    own_->flush();
  } catch (...) {
    own_->grads->rest();
    throw;
  }
  own_->grads->rest();
  Spares<false>::giveBack(std::move(own_));
}

LazyScope::~LazyScope() {
  if (ended_ || own_ == nullptr) return;
  activeRecorder = nullptr;
  own_->grads->rest();
}

}  // namespace tandem::lazy
