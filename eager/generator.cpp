#include "eager/generator.h"

#include <deque>

#include <sys/random.h>

namespace tandem {
namespace {

thread_local Generator* generatorScope = nullptr;

/// Programs that seed nothing draw other numbers each time that they run.
struct Generators {
  Generator cpu;
  std::int64_t seed = randomSeed().value_or(cpu.seed());  // that all were given last
  std::deque<std::pair<Device, Generator>> others;        // grows at its end, so that references stay good

  Generators() { cpu.manualSeed(seed); }
};
Generators& generators() {
  static Generators g;
  return g;
}

}  // namespace

std::optional<std::int64_t> randomSeed() {
  std::int64_t value = 0;
  if (getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value)) return std::nullopt;
  return value & 0x7fffffffffffffff;
}

Generator& defaultGenerator(Device device) {
  Generators& all = generators();
  if (device.isCpu()) return all.cpu;
  for (auto& [d, generator] : all.others)
    if (d == device) return generator;
  Generator& made = all.others.emplace_back(device, Generator()).second;
  made.manualSeed(all.seed);
  return made;
}

void seedDefaultGenerators(std::int64_t seed) {
  Generators& all = generators();
  all.seed = seed;
  all.cpu.manualSeed(seed);
  for (auto& [d, generator] : all.others) generator.manualSeed(seed);
}

GeneratorStates::GeneratorStates() : states_{{Device{}, generators().cpu}} {
  for (const auto& state : generators().others) states_.push_back(state);
}
void GeneratorStates::restore() const {
  for (const auto& [device, state] : states_) defaultGenerator(device) = state;
}

GeneratorScope::GeneratorScope(Generator* g) : before_(generatorScope) { generatorScope = g; }
GeneratorScope::~GeneratorScope() { generatorScope = before_; }
Generator* scopedGenerator() { return generatorScope; }

}  // namespace tandem
