// A vector that keeps its first N elements inline. For trivially copyable elements only: dims, strides, value ids.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <span>
#include <type_traits>
#include <vector>

namespace tandem {

template <class T, std::size_t N>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T>, "SmallVector moves its elements with memcpy");

 public:
  using value_type = T;

  SmallVector() = default;
  explicit SmallVector(std::size_t n, T value = T{}) { resize(n, value); }
  SmallVector(std::initializer_list<T> values) { append(values.begin(), values.end()); }
  template <class It>
    requires(!std::is_integral_v<It>)
  SmallVector(It first, It last) {
    append(first, last);
  }
  // NOLINTNEXTLINE(google-explicit-constructor): a span or a vector of dims is as good as a SmallVector
  SmallVector(std::span<const T> values) { append(values.begin(), values.end()); }
  // NOLINTNEXTLINE(google-explicit-constructor)
  SmallVector(const std::vector<T>& values) { append(values.begin(), values.end()); }
  SmallVector(const SmallVector& other) { copy(other); }
  SmallVector(SmallVector&& other) noexcept { steal(other); }
  ~SmallVector() { release(); }

  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) {
      size_ = 0;
      copy(other);
    }
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      release();
      steal(other);
    }
    return *this;
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  [[nodiscard]] const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  [[nodiscard]] const T* begin() const { return data_; }
  [[nodiscard]] const T* end() const { return data_ + size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  [[nodiscard]] const T& back() const { return data_[size_ - 1]; }
  T& front() { return data_[0]; }
  [[nodiscard]] const T& front() const { return data_[0]; }

  void push_back(T value) {
    if (size_ == capacity_) grow(size_ + 1);
    data_[size_++] = value;
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  void resize(std::size_t n, T value = T{}) {
    if (n > capacity_) grow(n);
    for (std::size_t i = size_; i < n; ++i) data_[i] = value;
    size_ = static_cast<std::uint32_t>(n);
  }
  /// `n` elements, for the caller to set: they have no values yet.
  static SmallVector unset(std::size_t n) {
    SmallVector v;
    if (n > N) v.grow(n);
    v.size_ = static_cast<std::uint32_t>(n);
    return v;
  }
  template <class It>
  void append(It first, It last) {
    if constexpr (std::forward_iterator<It>) {
      const std::size_t n = size_ + static_cast<std::size_t>(std::distance(first, last));
      if (n > capacity_) grow(n);
      for (T* to = data_ + size_; first != last; ++first, ++to) *to = static_cast<T>(*first);
      size_ = static_cast<std::uint32_t>(n);
    } else {
      for (; first != last; ++first) push_back(static_cast<T>(*first));
    }
  }
  void insert(std::size_t at, T value) {
    push_back(value);
    std::rotate(begin() + at, end() - 1, end());
  }
  void erase(std::size_t at) {
    std::copy(begin() + at + 1, end(), begin() + at);
    --size_;
  }

  // NOLINTNEXTLINE(google-explicit-constructor)
  operator std::span<const T>() const { return {data_, size_}; }

  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    if (a.size_ != b.size_) return false;
    for (std::uint32_t i = 0; i < a.size_; ++i)
      if (!(a.data_[i] == b.data_[i])) return false;
    return true;
  }

 private:
  void grow(std::size_t n) {
    std::size_t capacity = std::max<std::size_t>(n, std::size_t{capacity_} * 2);
    T* fresh = new T[capacity];
    std::memcpy(static_cast<void*>(fresh), data_, size_ * sizeof(T));
    release();
    data_ = fresh;
    capacity_ = static_cast<std::uint32_t>(capacity);
  }
  void release() {
    if (data_ != inline_) delete[] data_;
    data_ = inline_;
    capacity_ = N;
  }
  // Of few elements all are copied, also those past the end, which nobody has set: moves of a known size are cheaper
  // than a call.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
  static constexpr bool kCopiesAll = N * sizeof(T) <= 64;
  void copy(const SmallVector& other) {
    if (kCopiesAll && other.size_ <= N && data_ == inline_) {
      std::memcpy(static_cast<void*>(inline_), other.data_, N * sizeof(T));
      size_ = other.size_;
    } else {
      append(other.begin(), other.end());
    }
  }
  void steal(SmallVector& other) {
    size_ = other.size_;
    if (other.data_ == other.inline_) {
      data_ = inline_;
      capacity_ = N;
      std::memcpy(static_cast<void*>(inline_), other.inline_, (kCopiesAll ? N : size_) * sizeof(T));
    } else {
      data_ = other.data_;
      capacity_ = other.capacity_;
      other.data_ = other.inline_;
      other.capacity_ = N;
    }
    other.size_ = 0;
  }
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

  T* data_ = inline_;
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = N;
  T inline_[N];
};

}  // namespace tandem
