// The encoding of an operation's attributes as one list of int64, in the order of the record's signature: an int as
// itself, a list as its length and then its elements, an optional as 0, or 1 and then the value, a bool as 0 or 1, a
// dtype as its number.
#pragma once

#include <optional>
#include <span>

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"

namespace tandem {

class AttrReader {
 public:
  explicit AttrReader(std::span<const std::int64_t> attrs) : attrs_(attrs) {}
  std::int64_t integer() { return attrs_[at_++]; }
  bool boolean() { return integer() != 0; }
  /// One of those at the end that an operation did not always have: programs that were saved before lack it.
  bool boolean(bool otherwise) { return at_ < attrs_.size() ? boolean() : otherwise; }
  DType dtype() { return static_cast<DType>(integer()); }
  /// For optionals: is there a value to read next?
  bool present() { return integer() != 0; }
  std::optional<std::int64_t> optionalInteger() {
    if (present()) return integer();
    return {};
  }
  std::optional<DType> optionalDType() {
    if (present()) return dtype();
    return {};
  }
  DimsRef list() {
    auto n = static_cast<std::size_t>(integer());
    at_ += n;
    return attrs_.subspan(at_ - n, n);
  }

 private:
  std::span<const std::int64_t> attrs_;
  std::size_t at_ = 0;
};

class AttrWriter {
 public:
  void integer(std::int64_t v) { attrs_.push_back(v); }
  void boolean(bool v) { integer(v ? 1 : 0); }
  void dtype(DType v) { integer(static_cast<std::int64_t>(v)); }
  void list(DimsRef v) {
    integer(static_cast<std::int64_t>(v.size()));
    attrs_.append(v.begin(), v.end());
  }
  void optionalInteger(std::optional<std::int64_t> v) {
    boolean(v.has_value());
    if (v) integer(*v);
  }
  void optionalDType(std::optional<DType> v) {
    boolean(v.has_value());
    if (v) dtype(*v);
  }
  [[nodiscard]] std::span<const std::int64_t> span() const { return attrs_; }

 private:
  SmallVector<std::int64_t, 16> attrs_;
};

}  // namespace tandem
