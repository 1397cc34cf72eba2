#include "runtime/device/cpu/reduction_levels.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <type_traits>
#include <unordered_map>

#include "runtime/base/dtype.h"
#include "runtime/kernel/kernel_signature.h"

#pragma GCC target("avx2")  // which generated code needs too

namespace tandem {

namespace {

template <class T>
constexpr T kLowest =
    std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
template <class T>
constexpr T kHighest = std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();

// The same functions as generated code has for its lanes. Integers wrap.
struct Sum {
  static constexpr bool wraps = true;
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
  static constexpr bool wraps = true;
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
  static constexpr bool wraps = false;
  template <class T>
  static constexpr T identity = kLowest<T>;
  template <class T>
  static T combine(T a, T b) {
    const T greater = b > a ? b : a;
    return b != b ? b : greater;
  }
};
struct Min {
  static constexpr bool wraps = false;
  template <class T>
  static constexpr T identity = kHighest<T>;
  template <class T>
  static T combine(T a, T b) {
    const T less = b < a ? b : a;
    return b != b ? b : less;
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

// The first `lanes` lines, a power of two, to one, column by column: line j and line j + h for h = half of them,
// ..., 1. Lines lie w elements apart.
template <class Op, class T>
void halveLines(T* __restrict lines, T* __restrict to, std::int64_t columns, std::int64_t lanes, std::int64_t w) {
  if (lanes == 1) {
    std::copy_n(lines, columns, to);
  } else if (lanes == 8) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const T a = Op::combine(lines[c], lines[c + 4 * w]);
      const T b = Op::combine(lines[c + w], lines[c + 5 * w]);
      const T d = Op::combine(lines[c + 2 * w], lines[c + 6 * w]);
      const T e = Op::combine(lines[c + 3 * w], lines[c + 7 * w]);
      to[c] = Op::combine(Op::combine(a, d), Op::combine(b, e));
    }
  } else {
    const std::int64_t h = lanes / 2;
    T* const half = h == 1 ? to : lines;
    for (std::int64_t j = 0; j < h; ++j) {
      T* const line = half + j * w;
      const T* const first = lines + j * w;
      const T* const second = lines + (j + h) * w;
      for (std::int64_t c = 0; c < columns; ++c) line[c] = Op::combine(first[c], second[c]);
    }
    if (h > 1) halveLines<Op>(lines, to, columns, h, w);
  }
}

template <class Op, class T>
[[gnu::noinline]] void columnsInOrder(const ColumnOrder& order, void* memory, std::int64_t columns, std::int64_t block,
                                      std::int64_t blocks, std::int64_t rows) {
  T* const first = static_cast<T*>(memory);
  T* const second = first + order.count * order.tile;
  T* const result = first + order.result() * order.tile;
  // Lanes that nothing goes to would change nothing.
  auto used = [&order](std::int64_t n) {
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::min(n, order.count))));
  };
  auto fill = [columns](T* line, T v) {
    for (std::int64_t c = 0; c < columns; ++c) line[c] = v;
  };
  auto clear = [&](T* lines, std::int64_t lanes) {
    for (std::int64_t lane = 0; lane < lanes; ++lane) fill(lines + lane * order.tile, Op::template identity<T>);
  };
  if (block == 0) {
    // Without a row there is no block, and the sum is +0.
    if (blocks == 0) fill(result, Op::template identity<T> + T(0));
    if (blocks > 1) clear(second, used(blocks));
  } else {
    halveLines<Op>(first, result, columns, used(rows), order.tile);
    if (blocks > 1) {
      T* const line = second + (block - 1) % order.count * order.tile;
      for (std::int64_t c = 0; c < columns; ++c) line[c] = Op::combine(line[c], result[c]);
    }
  }
  if (block < blocks) {
    clear(first, used(rows));
  } else if (blocks > 1) {
    halveLines<Op>(second, result, columns, used(blocks), order.tile);
  }
}

template <class Op, bool Trailing, class T>
void columns(void* memory, std::int64_t columns, std::int64_t block, std::int64_t blocks, std::int64_t rows) {
  static constexpr ColumnOrder order = columnOrder(Trailing);
  columnsInOrder<Op, T>(order, memory, columns, block, blocks, rows);
}

using Table = std::unordered_map<std::string, void*>;

[[gnu::noinline]] void enter(Table& table, const char* what, const char* op, DType t, void* function) {
  table.emplace(std::string("tandem_") + what + "_" + op + "_" + std::string(dtypeName(t)), function);
}

template <class Op>
void addAll(Table& table, const char* op) {
  auto add = [&]<class T>(DType t, T /*element*/) {
    const LevelsFn blocks = &levels<Op, T>;
    const ColumnsFn leading = &columns<Op, false, T>;
    const ColumnsFn trailing = &columns<Op, true, T>;
    enter(table, "levels", op, t, reinterpret_cast<void*>(blocks));
    enter(table, kLeadingColumns.import, op, t, reinterpret_cast<void*>(leading));
    enter(table, kTrailingColumns.import, op, t, reinterpret_cast<void*>(trailing));
  };
  add(DType::UInt8, std::uint8_t{});
  // What wraps is the same for those with a sign.
  add(DType::Int8, std::conditional_t<Op::wraps, std::uint8_t, std::int8_t>{});
  add(DType::Int16, std::int16_t{});
  add(DType::Int32, std::int32_t{});
  add(DType::Int64, std::int64_t{});
  add(DType::Float32, float{});
  add(DType::Float64, double{});
}

}  // namespace

void* findLevels(std::string_view name) {
  static const auto* const table = [] {
    auto* const made = new Table;
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
