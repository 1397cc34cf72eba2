// The state behind random numbers: a Philox key and a counter that advances by one per random operation, whatever the
// operation's shape, so that shapes, loops and replays do not disturb the stream.
#pragma once

#include <cstdint>

namespace tandem {

class Generator {
 public:
  void manualSeed(std::int64_t seed) {
    seed_ = seed;
    offset_ = 0;
  }
  [[nodiscard]] std::int64_t seed() const { return seed_; }
  [[nodiscard]] std::int64_t offset() const { return offset_; }
  void setOffset(std::int64_t offset) { offset_ = offset; }
  /// The counter of the next random operation; advances.
  std::int64_t next() { return offset_++; }

 private:
  std::int64_t seed_ = 67280421310721;
  std::int64_t offset_ = 0;
};

/// What random operations draw from where none is given. One a process, guarded by the callers' lock (the GIL).
Generator& defaultGenerator();

/// For the life of the scope random operations of this thread draw from `g` (null: the default one).
class GeneratorScope {
 public:
  explicit GeneratorScope(Generator* g);
  ~GeneratorScope();
  GeneratorScope(const GeneratorScope&) = delete;
  GeneratorScope& operator=(const GeneratorScope&) = delete;

 private:
  Generator* before_;
};
/// The generator of the innermost scope; null where it is the default one.
Generator* scopedGenerator();

}  // namespace tandem
