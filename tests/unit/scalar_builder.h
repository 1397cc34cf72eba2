// The vector math's builder on plain C++ scalars: one lane, a value and its dtype. Compile with -ffp-contract=off.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "codegen/math/builder.h"

namespace tandem::test {

class ScalarBuilder {
 public:
  /// The value's bits, sign- or zero-extended as its dtype is.
  struct V {
    DType type;
    std::uint64_t raw;
  };

  template <class T>
  static V make(T x) {
    if constexpr (std::is_same_v<T, float>) {
      return {DType::Float32, std::bit_cast<std::uint32_t>(x)};
    } else if constexpr (std::is_same_v<T, double>) {
      return {DType::Float64, std::bit_cast<std::uint64_t>(x)};
    } else {
      constexpr DType signedTypes[] = {DType::Int8, DType::Int16, DType::Int32, DType::Int64};
      constexpr DType type = std::is_same_v<T, bool>           ? DType::Bool
                             : std::is_same_v<T, std::uint8_t> ? DType::UInt8
                                                               : signedTypes[std::bit_width(sizeof(T)) - 1];
      return {type, static_cast<std::uint64_t>(static_cast<std::int64_t>(x))};
    }
  }
  template <class T>
  static T get(V x) {
    if constexpr (std::is_same_v<T, float>) {
      return std::bit_cast<float>(static_cast<std::uint32_t>(x.raw));
    } else if constexpr (std::is_same_v<T, double>) {
      return std::bit_cast<double>(x.raw);
    } else {
      return static_cast<T>(x.raw);
    }
  }

  DType dtype(V x) { return x.type; }
  V cst(V like, double c) {
    return visit(like.type, [&](auto t) { return make(static_cast<decltype(t)>(c)); });
  }
  V bitsCst(V like, std::uint64_t bits) {
    return itemSize(like.type) == 8 ? make(static_cast<std::int64_t>(bits)) : make(static_cast<std::int32_t>(bits));
  }

  V add(V x, V y) {
    return arithmetic(x, y, [](auto a, auto b) { return a + b; });
  }
  V sub(V x, V y) {
    return arithmetic(x, y, [](auto a, auto b) { return a - b; });
  }
  V mul(V x, V y) {
    return arithmetic(x, y, [](auto a, auto b) { return a * b; });
  }
  V div(V x, V y) {
    return visit(x.type, [&](auto t) {
      using T = decltype(t);
      T a = get<T>(x), b = get<T>(y);
      if constexpr (std::is_floating_point_v<T>) {
        return make(a / b);
      } else {
        return b == T{0}                                        ? make(T{0})
               : b == static_cast<T>(-1) && std::is_signed_v<T> ? neg(x)
                                                                : make(static_cast<T>(a / b));
      }
    });
  }
  V rem(V x, V y) {
    return visit(x.type, [&](auto t) {
      using T = decltype(t);
      T a = get<T>(x), b = get<T>(y);
      if constexpr (std::is_floating_point_v<T>) {
        return make(std::fmod(a, b));
      } else {
        return make(b == T{0} || (b == static_cast<T>(-1) && std::is_signed_v<T>) ? T{0} : static_cast<T>(a % b));
      }
    });
  }
  V fma(V x, V y, V z) {
    if (x.type == DType::Float32) return make(std::fma(get<float>(x), get<float>(y), get<float>(z)));
    return make(std::fma(get<double>(x), get<double>(y), get<double>(z)));
  }
  V inverse(V x) { return div(cst(x, 1), x); }
  static bool scales(V) { return false; }
  static V scale(V y, V) { return y; }
  V sqrt(V x) {
    return real(x, [](auto a) { return std::sqrt(a); });
  }
  V neg(V x) {
    if (isFloating(x.type)) return real(x, [](auto a) { return -a; });
    return arithmetic(make(std::int64_t{0}), x, [](auto a, auto b) { return a - b; });
  }
  V abs(V x) {
    if (isFloating(x.type)) return real(x, [](auto a) { return std::fabs(a); });
    return static_cast<std::int64_t>(x.raw) < 0 ? neg(x) : x;
  }
  V floor(V x) {
    return real(x, [](auto a) { return std::floor(a); });
  }
  V ceil(V x) {
    return real(x, [](auto a) { return std::ceil(a); });
  }
  V trunc(V x) {
    return real(x, [](auto a) { return std::trunc(a); });
  }
  V roundeven(V x) {
    return real(x, [](auto a) { return std::nearbyint(a); });
  }

  V lt(V x, V y) {
    return compare(x, y, [](auto a, auto b) { return a < b; });
  }
  V le(V x, V y) {
    return compare(x, y, [](auto a, auto b) { return a <= b; });
  }
  V gt(V x, V y) {
    return compare(x, y, [](auto a, auto b) { return a > b; });
  }
  V ge(V x, V y) {
    return compare(x, y, [](auto a, auto b) { return a >= b; });
  }
  V eq(V x, V y) {
    return compare(x, y, [](auto a, auto b) { return a == b; });
  }
  V ne(V x, V y) {
    return compare(x, y, [](auto a, auto b) { return a != b; });
  }
  V select(V c, V x, V y) { return c.raw != 0 ? x : y; }

  V and_(V x, V y) { return {x.type, x.raw & y.raw}; }
  V or_(V x, V y) { return {x.type, x.raw | y.raw}; }
  V xor_(V x, V y) { return {x.type, x.raw ^ y.raw}; }
  V not_(V x) { return x.type == DType::Bool ? V{x.type, x.raw ^ 1} : narrow(x.type, ~x.raw); }
  V shl(V x, int n) { return narrow(x.type, x.raw << n); }
  V lshr(V x, int n) {
    const int width = static_cast<int>(itemSize(x.type)) * 8;
    return narrow(x.type, (x.raw & (~std::uint64_t{0} >> (64 - width))) >> n);
  }
  V ashr(V x, int n) { return narrow(x.type, static_cast<std::uint64_t>(static_cast<std::int64_t>(x.raw) >> n)); }
  V bits(V x) {
    if (x.type == DType::Float64) return {DType::Int64, x.raw};
    return make(static_cast<std::int32_t>(x.raw));
  }
  V flt(V x) {
    if (x.type == DType::Int64) return {DType::Float64, x.raw};
    return {DType::Float32, static_cast<std::uint32_t>(x.raw)};
  }
  V cast(V x, DType to) {
    return visit(x.type, [&](auto from) {
      const auto a = get<decltype(from)>(x);
      return visit(to, [&](auto t) {
        using T = decltype(t);
        if constexpr (std::is_integral_v<T> && std::is_floating_point_v<decltype(from)> && !std::is_same_v<T, bool>) {
          using L = std::numeric_limits<T>;
          if (a != a) return make(T{0});
          if (a <= static_cast<double>(L::min())) return make(L::min());
          if (a >= static_cast<double>(L::max())) return make(L::max());
        }
        return make(static_cast<T>(a));
      });
    });
  }

  template <class F, std::size_t N>
  std::array<V, N> ifAny(V mask, F then, std::array<V, N> otherwise) {
    return mask.raw != 0 ? then() : otherwise;
  }
  V index() { return make(std::int64_t{0}); }

 private:
  template <class F>
  static V visit(DType t, F f) {
    switch (t) {
    case DType::Bool:
      return f(bool{});
    case DType::UInt8:
      return f(std::uint8_t{});
    case DType::Int8:
      return f(std::int8_t{});
    case DType::Int16:
      return f(std::int16_t{});
    case DType::Int32:
      return f(std::int32_t{});
    case DType::Float32:
      return f(float{});
    case DType::Float64:
      return f(double{});
    default:
      return f(std::int64_t{});
    }
  }
  template <class F>
  static V real(V x, F f) {
    return x.type == DType::Float32 ? make(f(get<float>(x))) : make(f(get<double>(x)));
  }
  /// Integers compute in 64 unsigned bits and wrap to their width.
  template <class F>
  static V arithmetic(V x, V y, F f) {
    if (y.type == DType::Float32) return make(f(get<float>(x), get<float>(y)));
    if (y.type == DType::Float64) return make(f(get<double>(x), get<double>(y)));
    return narrow(y.type, f(x.raw, y.raw));
  }
  template <class F>
  static V compare(V x, V y, F f) {
    if (x.type == DType::Float32) return make(f(get<float>(x), get<float>(y)));
    if (x.type == DType::Float64) return make(f(get<double>(x), get<double>(y)));
    return make(f(static_cast<std::int64_t>(x.raw), static_cast<std::int64_t>(y.raw)));
  }
  static V narrow(DType t, std::uint64_t raw) {
    return visit(t, [&](auto like) { return make(static_cast<decltype(like)>(raw)); });
  }
};

}  // namespace tandem::test
