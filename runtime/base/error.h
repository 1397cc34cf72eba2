// Errors a user can cause, each the C++ face of one Python exception, and TANDEM_CHECK for our own invariants.
#pragma once

#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>

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

/// Concatenates its arguments with `<<`.
template <class... Args>
std::string strcat(const Args&... args) {
  std::ostringstream s;
  (s << ... << args);
  return s.str();
}
template <class E = Error, class... Args>
[[noreturn, gnu::cold, gnu::noinline]] void fail(const Args&... args) {
  throw E(strcat(args...));
}

/// Throws an error of the class of `e`, of those in TANDEM_ERRORS, with another text.
[[noreturn]] void failAs(const Error& e, const std::string& text);

}  // namespace tandem

#define TANDEM_CHECK(cond, ...)                                                                                        \
  do {                                                                                                                 \
    if (!(cond)) [[unlikely]]                                                                                          \
      ::tandem::fail<::tandem::InternalError>("internal error: " #cond " (" __FILE__ ":", __LINE__, ") ",              \
                                              ##__VA_ARGS__);                                                          \
  } while (0)
