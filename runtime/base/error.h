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
class ValueError : public Error {
 public:
  using Error::Error;
};
class TypeError : public Error {
 public:
  using Error::Error;
};
class IndexError : public Error {
 public:
  using Error::Error;
};
class NotImplementedError : public Error {
 public:
  using Error::Error;
};
/// tandem.linalg.LinAlgError, a RuntimeError: a matrix has no such factorisation.
class LinAlgError : public Error {
 public:
  using Error::Error;
};
/// tandem.OutOfMemoryError, a RuntimeError.
class OutOfMemoryError : public Error {
 public:
  using Error::Error;
};
/// tandem.DataReadError, a RuntimeError: a value was read while a function was being traced.
class DataReadError : public Error {
 public:
  using Error::Error;
};
/// A size that depends on data is not the one a plan was made for. Thrown before the plan changes anything that others
/// can see; whoever runs the plan makes another.
class SizeChanged : public Error {
 public:
  SizeChanged(std::int64_t which, std::int64_t now)
      : Error("a size that depends on data is not the one that was planned for"), number(which), size(now) {}
  std::int64_t number;  // of the size, in the order in which they were learnt
  std::int64_t size;    // what it is now
};
/// An invariant of ours does not hold.
class InternalError : public Error {
 public:
  using Error::Error;
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

}  // namespace tandem

#define TANDEM_CHECK(cond, ...)                                                                                        \
  do {                                                                                                                 \
    if (!(cond)) [[unlikely]]                                                                                          \
      ::tandem::fail<::tandem::InternalError>("internal error: " #cond " (" __FILE__ ":", __LINE__, ") ",              \
                                              ##__VA_ARGS__);                                                          \
  } while (0)
