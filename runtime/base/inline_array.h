// An array in place whose size, at most N, is known when it is made: only the elements there are get constructed. For
// what an operation needs a few of and may need many of.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <utility>

namespace tandem {

template <class T, std::size_t N>
class InlineArray {
 public:
  /// `size` elements, default-constructed; at most N.
  explicit InlineArray(std::size_t size) : size_(size) { std::uninitialized_default_construct_n(data(), size); }
  /// The elements make(0), make(1), ... Where one throws, those before it are destroyed.
  template <class Make>
  InlineArray(std::size_t size, Make make) : InlineArray(0) {
    for (; size_ < size; ++size_) new (bytes_ + size_ * sizeof(T)) T(make(size_));
  }
  InlineArray(const InlineArray&) = delete;
  InlineArray& operator=(const InlineArray&) = delete;
  ~InlineArray() { std::destroy_n(data(), size_); }

  /// One more, where there is room.
  void push_back(T value) { new (bytes_ + size_++ * sizeof(T)) T(std::move(value)); }

  [[nodiscard]] std::size_t size() const { return size_; }
  T* data() { return reinterpret_cast<T*>(bytes_); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  T& operator[](std::size_t i) { return data()[i]; }
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator std::span<T>() { return {data(), size_}; }

 private:
  std::size_t size_;
  alignas(T) std::byte bytes_[N * sizeof(T)];
};

}  // namespace tandem
