// Intrusive reference counting: one pointer wide, count inside the object.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace tandem {

/// Base of counted objects. `T` is the most derived class that is deleted, or has a virtual destructor. Most objects
/// have one owner from first to last: an object that nobody owns yet, or one that only the caller owns, is known to no
/// other thread, and needs no atomic addition, which costs as much as twenty others.
template <class T>
class Counted {
 public:
  void retain() const {
    if (refs_.load(std::memory_order_relaxed) == 0)
      refs_.store(1, std::memory_order_relaxed);
    else
      refs_.fetch_add(1, std::memory_order_relaxed);
  }
  void release() const {
    T* self = static_cast<T*>(const_cast<Counted*>(this));
    if ((refs_.load(std::memory_order_acquire) == 1 && !self->isKnownToOthers()) ||
        refs_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      T::destroy(self);
  }
  /// May others find the object without owning it, by `tryRetain`? Then its only owner is not alone with it.
  [[nodiscard]] bool isKnownToOthers() const { return false; }
  /// Takes a reference unless the last one is already gone: for whoever knows of the object without owning it.
  [[nodiscard]] bool tryRetain() const {
    std::int32_t n = refs_.load(std::memory_order_relaxed);
    while (n > 0)
      if (refs_.compare_exchange_weak(n, n + 1, std::memory_order_acq_rel)) return true;
    return false;
  }
  [[nodiscard]] std::int32_t refCount() const { return refs_.load(std::memory_order_relaxed); }

 private:
  mutable std::atomic<std::int32_t> refs_{0};
};

template <class T>
class Ref {
 public:
  Ref() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a pointer converts as to a shared_ptr of the library's own
  Ref(T* p) : p_(p) {
    if (p_ != nullptr) p_->retain();
  }
  Ref(const Ref& o) : Ref(o.p_) {}
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  ~Ref() {
    if (p_ != nullptr) p_->release();
  }
  Ref& operator=(Ref o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.p_ == b.p_; }
  /// Gives up the reference without releasing it.
  T* detach() { return std::exchange(p_, nullptr); }

 private:
  T* p_ = nullptr;
};

}  // namespace tandem
