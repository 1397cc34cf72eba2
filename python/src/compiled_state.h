// What a compiled function keeps from call to call: for each signature of arguments the traces that were made for it,
// and how often its body may be watched. For compiled_function.cpp and what saves such functions.
#pragma once

#include <Python.h>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "lazy/compiled.h"
#include "python/src/argument_leaves.h"
#include "python/src/call_signature.h"
#include "python/src/errors.h"
#include "python/src/observer.h"
#include "python/src/result_tree.h"
#include "python/src/run_time_numbers.h"

namespace tandem::python {

struct Entry {
  std::shared_ptr<lazy::CompiledTrace> trace;
  ResultTree results;
  GuardSet guards;
  std::vector<NumberSource> sources;
  std::vector<ZeroGuard> zeros;
  StateArguments states;
  std::vector<Held> identities;         // that the signature names by address, and owners of what is assigned
  std::vector<AssignedPlace> assigned;  // which a call sets, behind the result in a tuple that `results` builds
  std::vector<std::string> warnings;    // that the body shows
  std::vector<std::size_t> leaves;      // arguments that the body makes require grad (ArgumentLeaves), increasing
  std::uint64_t lastUse = 0;
  std::uint64_t made = 0;  // likewise, of the call that it was made of

  /// Does it hold for one value of some number alone, which no call had again?
  [[nodiscard]] bool heldOnce() const { return lastUse == made && !trace->guardedScalars.empty(); }
  /// Does it stand for this call? Adds to it the tensors and numbers that it reads elsewhere.
  [[nodiscard]] bool fits(CallSignature& call);
  [[nodiscard]] bool dead() const {
    return guards.dead() || std::ranges::any_of(identities, [](const Held& h) { return h.dead(); });
  }
  /// What a call returns, a new reference, made of the plan's tensors and the call's numbers. Sets what the body
  /// assigns.
  [[nodiscard]] PyObject* finish(const std::vector<Tensor>& tensors, const std::vector<Scalar>& numbers) const {
    return assigned.empty() ? results.build(tensors, numbers) : assign(PyRef(results.build(tensors, numbers)));
  }
  /// `result` and, behind it in a tuple, what the places hold now that a call assigns; itself where there are none.
  [[nodiscard]] PyRef withAssigned(const PyRef& result) const;
  [[nodiscard]] std::vector<PyRef> assignedNow() const;
  /// Shows what the body warns of.
  void warn() const;
  /// Of the places that a call assigns: while it runs, other threads may drop them.
  [[nodiscard]] std::vector<PyRef> owners() const;
  void putBack(const std::vector<PyRef>& before) const;

 private:
  [[nodiscard]] PyObject* assign(const PyRef& built) const;
  [[nodiscard]] bool valuesFit(CallSignature& call) const;
};

/// Of one signature: traces differ by guards and by sizes that depend on data, of which there may be very many.
constexpr std::size_t kMostEntries = 192;
/// Of those, traces of one value of a number that was not met again: it seems that it never is.
constexpr std::size_t kMostHeldOnce = 16;
/// Of one function, over all signatures.
constexpr std::size_t kMostOfAll = 256;

/// How often a body may be watched. Each watch costs one, each replay earns a little; a function that has nothing left
/// is watched at its calls number n, 2n, 4n ...
class Budget {
 public:
  [[nodiscard]] bool allows() const { return credit_ >= 1 || calls_ >= next_; }
  void call() { ++calls_; }
  void replayed() { credit_ = std::min(credit_ + 0.25, 64.0); }
  void watched(bool proved) {
    if (credit_ < 1) next_ = 2 * calls_;
    credit_ = std::max(0.0, credit_ - (proved ? 1 : 4));
  }

 private:
  double credit_ = 24;
  std::uint64_t calls_ = 0, next_ = 0;
};

struct Function {
  PyRef callable;
  bool fullGraph = false;
  bool dropsGrads = false;  // which nobody looks at: lazy::Tracer::dropGrads
  std::unordered_map<std::string, std::vector<std::shared_ptr<Entry>>> entries;
  std::size_t numEntries = 0;
  std::uint64_t clock = 0;
  Budget budget;
  ChangingPlaces changing;
  ArgumentTerms terms;
  std::set<std::size_t> leaves;             // `Entry::leaves` of all entries
  std::vector<Ref<Storage>> wholeCaptured;  // and captured ones
  std::unique_ptr<CallSignature> spare;     // for the memory of the next call's
  std::uint64_t runs = 0;                   // of the body
  bool learnt = false;                      // did the last body that was watched show what the next one is to look at?
  std::string reason;  // why the last body that was watched runs on every call; empty if it does not
};

/// A call's signature, in the memory of an earlier call's where none uses that.
class OwnSignature {
 public:
  explicit OwnSignature(Function& f)
      : function_(f), call_(f.spare ? std::move(f.spare) : std::make_unique<CallSignature>()) {}
  OwnSignature(const OwnSignature&) = delete;
  OwnSignature& operator=(const OwnSignature&) = delete;
  ~OwnSignature() {
    call_->clear();
    if (call_->key.capacity() <= kMostKept) function_.spare = std::move(call_);
  }
  CallSignature& operator*() const { return *call_; }

 private:
  static constexpr std::size_t kMostKept = 4096;
  Function& function_;
  std::unique_ptr<CallSignature> call_;
};

struct PyCompiled {
  PyObject_HEAD PyObject* dict;
  PyObject* weakrefs;
  Function* function;
  vectorcallfunc call;
};

/// The first entry that fits the call and, as far as it is known, the sizes that depend on its data. `leaves`: those
/// that were turned on for it, or null.
std::shared_ptr<Entry> entryFor(const std::vector<std::shared_ptr<Entry>>& known, CallSignature& call,
                                const std::vector<std::int64_t>& sizes, const ArgumentLeaves* leaves);
/// The entry for a call, which becomes that of its arguments as the entry takes them; null if there is none.
std::shared_ptr<Entry> knownEntry(Function& f, CallSignature& call, PyObject* const* args, Py_ssize_t numArgs,
                                  PyObject* keywords);
/// Drops the entries for a signature that no call can fit again.
void forget(Function& f, const std::string& key);
/// False, and the entry is not kept, where it is one of many that no call meets again.
bool keep(Function& f, const std::string& key, std::shared_ptr<Entry> entry);
/// Does the trace hold for one value of an int that its call brought? That counts by value then.
bool fixes(Function& f, const Entry& entry, PyObject* const* args, std::size_t n);
/// Runs the body once, recorded and watched. Where it is proved, `made` is the trace for later calls; the plan then did
/// not run if it is to be `dry`, and the call gets the numbers that the body read; it becomes the call with the
/// arguments that the trace takes (ArgumentLeaves). `placeholders`: as for lazy::Session.
PyRef watch(Function& f, CallSignature& call, PyObject* const* args, Py_ssize_t numArgs, PyObject* keywords,
            std::shared_ptr<Entry>& made, bool dry = false, bool placeholders = false);

}  // namespace tandem::python
