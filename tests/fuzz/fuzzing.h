// What the fuzzers share: the saved programs that they begin with, and running what was opened.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/program/program.h"

namespace tandem::fuzz {

/// A saved program that seeds.py made, in the order of names in the folder TANDEM_FUZZ_SEEDS.
struct Seed {
  std::string name;
  std::shared_ptr<const std::string> file;
  program::Archive archive;
};
const std::vector<Seed>& seeds();

/// Is the code that the program says a kernel has the code of such a kernel? The code itself is believed, as any
/// library's is: what the fuzzers change is what is said about it, and opening compares that.
bool isTrusted(const program::ProgramData& data);

/// Every entry, in one context, with any arguments, for the example's sizes, the least and the largest, and again for
/// the example's. Leaves out what is large.
void run(const std::shared_ptr<const program::Program>& program);
/// `body`, of which errors of the program are expected.
template <class Body>
void attempt(Body body);

}  // namespace tandem::fuzz

#include "runtime/base/error.h"

template <class Body>
void tandem::fuzz::attempt(Body body) {
  try {
    body();
  } catch (const tandem::InternalError& e) {
    // Only what kernels and library functions say of values they met, and the loader of the code that is missing.
  } catch (const tandem::Error& e) {
  } catch (const std::bad_alloc&) {
  }
}
