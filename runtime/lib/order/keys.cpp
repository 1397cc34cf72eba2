#include "runtime/lib/order/keys.h"

#include <bit>

#pragma GCC target("avx2")  // which generated code needs too

namespace tandem::lib {
namespace {

template <class T>
KeyOf<T> ascendingKey(T x) {
  using Key = KeyOf<T>;
  using C = typename Element<T>::Compute;
  constexpr Key kTop = Key{1} << (sizeof(Key) * 8 - 1);
  C v = Element<T>::load(x);
  if constexpr (std::is_same_v<C, bool>) {
    return v ? 1 : 0;
  } else if constexpr (std::is_floating_point_v<C>) {
    Key bits = std::bit_cast<Key>(v + C{0});  // -0 + 0 is +0
    // Without branches, for vectors: a negative number has all its bits turned, a positive one its first.
    bits ^= static_cast<Key>(static_cast<std::make_signed_t<Key>>(bits) >> (sizeof(Key) * 8 - 1)) | kTop;
    return v != v ? ~Key{0} : bits;
  } else if constexpr (std::is_signed_v<C>) {
    return static_cast<Key>(static_cast<std::make_signed_t<Key>>(v)) ^ kTop;
  } else {
    return static_cast<Key>(v);
  }
}

template <class T>
void writeKeys(const void* from, std::int64_t step, std::int64_t count, KeyOf<T> turned, KeyOf<T>* to) {
  // Any byte but 0 is true: bools may have been written as bytes.
  constexpr bool kTruth = std::is_same_v<T, bool>;
  const auto* x = static_cast<const std::conditional_t<kTruth, std::uint8_t, T>*>(from);
  auto key = [&](std::int64_t at) {
    if constexpr (kTruth)
      return ascendingKey<bool>(x[at] != 0);
    else
      return ascendingKey<T>(x[at]);
  };
  if (step == 1)
    for (std::int64_t r = 0; r < count; ++r) to[r] = key(r) ^ turned;
  else
    for (std::int64_t r = 0; r < count; ++r) to[r] = key(r * step) ^ turned;
}

}  // namespace

template <class T>
KeysFn<KeyOf<T>> keysOf() {
  return &writeKeys<T>;
}
template KeysFn<std::uint32_t> keysOf<bool>();
template KeysFn<std::uint32_t> keysOf<std::uint8_t>();
template KeysFn<std::uint32_t> keysOf<std::int8_t>();
template KeysFn<std::uint32_t> keysOf<std::int16_t>();
template KeysFn<std::uint32_t> keysOf<std::int32_t>();
template KeysFn<std::uint64_t> keysOf<std::int64_t>();
template KeysFn<std::uint32_t> keysOf<Half>();
template KeysFn<std::uint32_t> keysOf<BFloat16>();
template KeysFn<std::uint32_t> keysOf<float>();
template KeysFn<std::uint64_t> keysOf<double>();

}  // namespace tandem::lib
