#include "runtime/kernel/reduction_levels.h"

#include <limits>
#include <string>
#include <type_traits>
#include <unordered_map>

#include "runtime/base/dtype.h"
#include "runtime/kernel/kernel_signature.h"

namespace tandem {

namespace {

template <class T>
constexpr T kLowest =
    std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
template <class T>
constexpr T kHighest = std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();

// The same functions as generated code has for its lanes. Integers wrap.
struct Sum {
  template <class T>
  static constexpr T identity = std::is_floating_point_v<T> ? T(-0.0) : T(0);
  template <class T>
  static T combine(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return a + b;
    else
      return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
};
struct Prod {
  template <class T>
  static constexpr T identity = T(1);
  template <class T>
  static T combine(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return a * b;
    else
      return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  }
};
// A NaN on either side stays.
struct Max {
  template <class T>
  static constexpr T identity = kLowest<T>;
  template <class T>
  static T combine(T a, T b) {
    return b != b || b > a ? b : a;
  }
};
struct Min {
  template <class T>
  static constexpr T identity = kHighest<T>;
  template <class T>
  static T combine(T a, T b) {
    return b != b || b < a ? b : a;
  }
};

template <class Op, class T>
T halve(T* lanes) {
  for (std::int64_t h = kTrailingLanes / 2; h >= 1; h /= 2) {
    for (std::int64_t j = 0; j < h; ++j) lanes[j] = Op::combine(lanes[j], lanes[j + h]);
  }
  return lanes[0];
}

template <class Op, class T>
void levels(void* memory, std::int64_t block, std::int64_t blocks) {
  T* const second = static_cast<T*>(memory);
  T* const third = second + kTrailingLanes;
  T& value = second[kLevelsValue];
  auto clear = [](T* lanes) {
    for (std::int64_t j = 0; j < kTrailingLanes; ++j) lanes[j] = Op::template identity<T>;
  };
  auto take = [](T* lanes, std::int64_t number, T v) {
    T& lane = lanes[number % kTrailingLanes];
    lane = Op::combine(lane, v);
  };
  const std::int64_t inBlock = block % kTrailingBlock;
  const bool last = block == blocks - 1;
  if (block == 0) clear(third);
  if (inBlock == 0) clear(second);
  take(second, block, value);
  if (inBlock == kTrailingBlock - 1 || last) take(third, block / kTrailingBlock, halve<Op>(second));
  if (last) value = halve<Op>(third);
}

template <class Op>
void addAll(std::unordered_map<std::string, LevelsFn>& table, const std::string& op) {
  auto add = [&](DType t, LevelsFn fn) { table.emplace("tandem_levels_" + op + "_" + std::string(dtypeName(t)), fn); };
  add(DType::UInt8, &levels<Op, std::uint8_t>);
  add(DType::Int8, &levels<Op, std::int8_t>);
  add(DType::Int16, &levels<Op, std::int16_t>);
  add(DType::Int32, &levels<Op, std::int32_t>);
  add(DType::Int64, &levels<Op, std::int64_t>);
  add(DType::Float32, &levels<Op, float>);
  add(DType::Float64, &levels<Op, double>);
}

}  // namespace

LevelsFn findLevels(std::string_view name) {
  static const auto* const table = [] {
    auto* const made = new std::unordered_map<std::string, LevelsFn>;
    addAll<Sum>(*made, "sum");
    addAll<Prod>(*made, "prod");
    addAll<Max>(*made, "max");
    addAll<Min>(*made, "min");
    return made;
  }();
  const auto it = table->find(std::string(name));
  return it == table->end() ? nullptr : it->second;
}

}  // namespace tandem
