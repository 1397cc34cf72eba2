// Errors a user can cause, each the C++ face of one Python exception, and TANDEM_CHECK for our own invariants.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace tandem {

/// RuntimeError in Python.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The classes of which users see the name, the one list of them. With the text alone an error can be made again: to add
// the line of the program (failAs), or as Python's exception (python/src/errors.cpp).
#define TANDEM_ERRORS(X)                                                                                               \
  X(ValueError)                                                                                                        \
  X(TypeError)                                                                                                         \
  X(IndexError)                                                                                                        \
  X(NotImplementedError)                                                                                               \
  X(LinAlgError)      /* tandem.linalg.LinAlgError, a RuntimeError: a matrix has no such factorisation */              \
  X(OutOfMemoryError) /* tandem.OutOfMemoryError, a RuntimeError */                                                    \
  X(DataReadError)    /* tandem.DataReadError, a RuntimeError: a value was read while a function was being traced */   \
  X(InternalError)    /* tandem.InternalError, a RuntimeError: an invariant of ours does not hold */

#define TANDEM_ERROR_CLASS(E)                                                                                          \
  class E : public Error {                                                                                             \
   public:                                                                                                             \
    using Error::Error;                                                                                                \
  };
TANDEM_ERRORS(TANDEM_ERROR_CLASS)
#undef TANDEM_ERROR_CLASS

/// A size that depends on data is not the one a plan was made for. Thrown before the plan changes anything that others
/// can see; whoever runs the plan makes another.
class SizeChanged : public Error {
 public:
  SizeChanged(std::int64_t which, std::int64_t now)
      : Error("a size that depends on data is not the one that was planned for"), number(which), size(now) {}
  std::int64_t number;  // of the size, in the order in which they were learnt
  std::int64_t size;    // what it is now
};

/// A part of a text: a string or a number, which the text has as `<<` writes it. Refers to the string.
class TextPart {
 public:
  TextPart(const char* text) : string_(text), size_(kTerminated) {}
  TextPart(std::string_view text) : string_(text.data()), size_(static_cast<std::int64_t>(text.size())) {}
  TextPart(const std::string& text) : TextPart(std::string_view(text)) {}
  TextPart(char c) : letter_(c), size_(kLetter) {}
  template <std::floating_point T>
  TextPart(T x) : real_(x), size_(kReal) {}
  template <std::integral T>
    requires(sizeof(T) > 1 || std::is_same_v<T, bool>)
  TextPart(T x) : integer_(static_cast<std::int64_t>(x)), size_(std::is_signed_v<T> ? kSigned : kUnsigned) {}

  void appendTo(std::string& text) const;

 private:
  enum : std::int64_t { kTerminated = -1, kLetter = -2, kReal = -3, kSigned = -4, kUnsigned = -5 };
  union {
    const char* string_;
    char letter_;
    double real_;
    std::int64_t integer_;
  };
  std::int64_t size_;  // of a string, or what else this is
};

[[gnu::cold]] std::string joined(std::initializer_list<TextPart> parts);
template <class E>
[[noreturn, gnu::cold, gnu::noinline]] void failWith(std::initializer_list<TextPart> parts) {
  throw E(joined(parts));
}

/// Concatenates its arguments.
template <class... Args>
std::string strcat(const Args&... args) {
  return joined({TextPart(args)...});
}
// Not inlined: calls with arguments of the same kinds are calls of the same code.
template <class E = Error, class... Args>
[[noreturn, gnu::cold, gnu::noinline]] void fail(const Args&... args) {
  failWith<E>({TextPart(args)...});
}

/// In the handler of `e`: throws one of its class, if in TANDEM_ERRORS, with another text; any other goes on as it is.
[[noreturn]] void failAs(const Error& e, const std::string& text);

}  // namespace tandem

#define TANDEM_QUOTED_AS_IT_IS(x) #x
#define TANDEM_QUOTED(x) TANDEM_QUOTED_AS_IT_IS(x)
#define TANDEM_CHECK(cond, ...)                                                                                        \
  do {                                                                                                                 \
    if (!(cond)) [[unlikely]]                                                                                          \
      ::tandem::fail<::tandem::InternalError>("internal error: " #cond " (" __FILE__                                   \
                                              ":" TANDEM_QUOTED(__LINE__) ") " __VA_OPT__(, ) __VA_ARGS__);            \
  } while (0)
