// The shape programs of this process, by the structure of the traces that they serve: the structures that were used
// most recently, up to a number. Of each there are several programs, as sizes decide what is fused.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "passes/shape_program.h"

namespace tandem::passes {

/// Thread-safe.
class Structures {
 public:
  /// The plan by a program of the structure; null where there is none that fits.
  std::shared_ptr<Plan> planFor(const Hash128& structure, const Trace& trace, const std::vector<TraceOutput>& outputs);
  /// A trace of the structure is compiled: is it worth recording what is decided? Not the first time, as most programs
  /// have one shape, nor where that did not succeed.
  bool wantsProgram(const Hash128& structure);
  /// What was recorded; null where nothing could be.
  void add(const Hash128& structure, std::shared_ptr<const ShapeProgram> program);

 private:
  static constexpr std::size_t kMostStructures = 512;
  static constexpr std::size_t kMostPrograms = 8;                    // of a structure
  static constexpr std::size_t kMostInstrs = std::size_t{32} << 10;  // of all programs: about a kilobyte each
  struct Structure {
    Hash128 key;
    bool refused = false;
    std::vector<std::shared_ptr<const ShapeProgram>> programs;
  };
  /// Null where it is not known.
  Structure* find(const Hash128& key);
  void forgetOld();

  std::mutex mutex_;
  std::list<Structure> structures_;  // the most recently used first
  std::unordered_map<Hash128, std::list<Structure>::iterator, Hash128Hasher> places_;
  std::size_t instrs_ = 0;
};

}  // namespace tandem::passes
