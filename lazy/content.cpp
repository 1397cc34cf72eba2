#include "lazy/content.h"

#include <chrono>
#include <thread>

#include "lazy/session.h"
#include "runtime/base/long_work.h"

namespace tandem::lazy {

Content::Content(Session& s, Storage* of, ValueRef v, std::int32_t number)
    : session(&s), storage(of), value(v), input(number) {
  previous = s.last_;
  (s.last_ != nullptr ? s.last_->next : s.first_) = this;
  s.last_ = this;
}

Content::~Content() { lose(); }

void Content::lose() noexcept {
  if (session == nullptr) return;
  (previous != nullptr ? previous->next : session->first_) = next;
  (next != nullptr ? next->previous : session->last_) = previous;
  session = nullptr;
}

void Content::materialize() {
  if (session == nullptr) fail("the value of the tensor was lost: the run of the operations recorded with it failed");
  if (session->running_) return awaitRun(*storage);
  Session& own = *session;
  own.giveUp(Session::kValueRead);  // this may be destroyed by it
  own.flush();
}

bool Content::isRunning() const { return session != nullptr && session->running_; }

void Content::letOthersGoOn() {
  LongWork away(LongWork::kLong);
  std::this_thread::sleep_for(std::chrono::microseconds(50));
}

void Content::awaitRun(Storage& s) {
  // The run is another thread's, which lets go of the host's lock meanwhile and takes it to end.
  auto runs = [&] { return s.isPending() && static_cast<Content*>(s.pending())->isRunning(); };
  while (runs()) letOthersGoOn();
  if (s.isPending()) s.pending()->materialize();
}

}  // namespace tandem::lazy
