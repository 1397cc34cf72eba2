// The state behind random numbers: a Philox key and a counter that advances by one per random operation, whatever the
// operation's shape, so that shapes, loops and replays do not disturb the stream.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "eager/tensor.h"

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

/// A seed from the operating system, of 63 bits; none, with errno set, where it gives no numbers.
std::optional<std::int64_t> randomSeed();

/// What random operations on a device draw from where none is given. One a device, guarded by the callers' lock (the
/// GIL). That of a device which was not asked for yet is one seeded like the CPU's, which starts with a `randomSeed`.
Generator& defaultGenerator(Device device = currentDevice);
/// Seeds those of all devices.
void seedDefaultGenerators(std::int64_t seed);

/// The default generators as they are when it is made.
class GeneratorStates {
 public:
  GeneratorStates();
  void restore() const;

 private:
  std::vector<std::pair<Device, Generator>> states_;
};

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
