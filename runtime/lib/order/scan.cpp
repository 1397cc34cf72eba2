// cumsum, cumprod, logcumsumexp, cummax, cummin, linear recurrences: one chain along the dim for every other position,
// in order, whatever is walked beside it.
#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstring>
#include <immintrin.h>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/accumulator.h"
#include "runtime/lib/clones.h"
#include "runtime/lib/strided.h"

#pragma GCC target("avx2,f16c,fma")  // which generated code needs too
#include "runtime/lib/functions/elementary.h"

namespace tandem::lib {
namespace {

template <class Out>
using ComputeOf = typename Element<Out>::Compute;
/// What sums and products of elements of Out run on in: float64 for float32, which is rounded as it is stored.
template <class Out>
using Wide = std::conditional_t<std::is_same_v<Out, float>, double, ComputeOf<Out>>;

template <class T>
ComputeOf<T> load(T x) {
  if constexpr (std::is_same_v<T, Half>)
    return _cvtsh_ss(x.bits);
  else
    return Element<T>::load(x);
}
template <class T>
T store(ComputeOf<T> x) {
  if constexpr (std::is_same_v<T, Half>)
    return {_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT)};
  else
    return Element<T>::store(x);
}

/// What sums and products put together, one pair or four.
struct Add {
  template <class C>
  C operator()(C a, C b) const {
    return addElements(a, b);
  }
  template <class V>
  V four(V a, V b) const {
    return a + b;
  }
};
struct Multiply {
  template <class C>
  C operator()(C a, C b) const {
    return mulElements(a, b);
  }
  template <class V>
  V four(V a, V b) const {
    return a * b;
  }
};

// Neighbouring positions, taken together so that memory is read in order.
constexpr std::int64_t kTogether = 64;
// Up to here they are taken by kChains, a constant that lets their values stay in registers; so are rows, of which one
// alone would wait at each step for the one before.
constexpr std::int64_t kFew = 15;
constexpr std::int64_t kChains = 4;

/// Calls body(first, apart, count) until it has had every chain of outer x inner: `count` chains, at most kTogether,
/// which begin at `first` and lie `apart` elements from each other. `count` is a constant where it is small.
/// Of rows `Rows` are taken where there are so many.
template <std::int64_t Rows = kChains, class Body>
void overChains(const DimSplit& s, Body body) {
  if (s.size == 0 || s.inner == 0) return;
  auto few = [&](std::int64_t first, std::int64_t apart, std::int64_t count) {
    if constexpr (Rows > kChains)
      for (; count >= Rows; first += Rows * apart, count -= Rows)
        body(first, apart, std::integral_constant<std::int64_t, Rows>());
    for (; count >= kChains; first += kChains * apart, count -= kChains)
      body(first, apart, std::integral_constant<std::int64_t, kChains>());
    for (; count > 0; first += apart, --count) body(first, apart, std::integral_constant<std::int64_t, 1>());
  };
  if (s.inner == 1) {
    std::int64_t units = (s.outer + Rows - 1) / Rows;
    return parallelFor(units, grainOf(s.size * Rows), [&](std::int64_t begin, std::int64_t end) {
      few(begin * Rows * s.size, s.size, std::min(end * Rows, s.outer) - begin * Rows);
    });
  }
  std::int64_t pieces = (s.inner + kTogether - 1) / kTogether;
  std::int64_t work = s.size * std::min(s.inner, kTogether);
  parallelFor(s.outer * pieces, grainOf(work), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t unit = begin; unit < end; ++unit) {
      std::int64_t from = unit % pieces * kTogether;
      std::int64_t count = std::min(kTogether, s.inner - from);
      std::int64_t first = unit / pieces * s.size * s.inner + from;
      count <= kFew ? few(first, 1, count) : body(first, std::integral_constant<std::int64_t, 1>(), count);
    }
  });
}

// Four neighbouring elements, and what four chains run in.
__m128 loadFour(const float* p) { return _mm_loadu_ps(p); }
__m128 loadFour(const Half* p) { return _mm_cvtph_ps(_mm_loadu_si64(p)); }
__m128 loadFour(const BFloat16* p) {
  return _mm_castsi128_ps(_mm_slli_epi32(_mm_cvtepu16_epi32(_mm_loadu_si64(p)), 16));
}
void storeFour(float* p, __m128 v) { _mm_storeu_ps(p, v); }
void storeFour(Half* p, __m128 v) { _mm_storeu_si64(p, _mm_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT)); }
void storeFour(BFloat16* p, __m128 v) {  // toBFloat16
  const __m128i u = _mm_castps_si128(v);
  const __m128i odd = _mm_and_si128(_mm_srli_epi32(u, 16), _mm_set1_epi32(1));
  const __m128i rounded = _mm_add_epi32(u, _mm_add_epi32(odd, _mm_set1_epi32(0x7fff)));
  const __m128i quieted = _mm_or_si128(u, _mm_set1_epi32(0x400000));
  const __m128i kept = _mm_blendv_epi8(rounded, quieted, _mm_castps_si128(_mm_cmpunord_ps(v, v)));
  _mm_storeu_si64(p, _mm_packus_epi32(_mm_srli_epi32(kept, 16), _mm_setzero_si128()));
}
template <class T>
auto wideFour(__m128 v) {
  if constexpr (std::is_same_v<Wide<T>, double>)
    return _mm256_cvtps_pd(v);
  else
    return v;
}
__m128 narrowFour(__m256d v) { return _mm256_cvtpd_ps(v); }
__m128 narrowFour(__m128 v) { return v; }

/// Four rows of two or three elements, which are two or three vectors: the columns, and back.
template <class T, class Combine>
void scanPairs(const T* x, T* out, Combine combine) {
  const __m128 a = loadFour(x), b = loadFour(x + 4);
  const auto first = wideFour<T>(_mm_shuffle_ps(a, b, _MM_SHUFFLE(2, 0, 2, 0)));
  const __m128 sums = narrowFour(combine.four(first, wideFour<T>(_mm_shuffle_ps(a, b, _MM_SHUFFLE(3, 1, 3, 1)))));
  const __m128 firsts = narrowFour(first);
  storeFour(out, _mm_unpacklo_ps(firsts, sums));
  storeFour(out + 4, _mm_unpackhi_ps(firsts, sums));
}
template <class T, class Combine>
void scanTriples(const T* x, T* out, Combine combine) {
  const __m128 a = loadFour(x), b = loadFour(x + 4), c = loadFour(x + 8);
  const __m128 ends = _mm_shuffle_ps(b, c, _MM_SHUFFLE(2, 1, 3, 2));    // of the last two rows, the first two
  const __m128 begins = _mm_shuffle_ps(a, b, _MM_SHUFFLE(1, 0, 2, 1));  // of the first two rows, the last two
  auto carry = wideFour<T>(_mm_shuffle_ps(a, ends, _MM_SHUFFLE(2, 0, 3, 0)));
  const __m128 column0 = narrowFour(carry);
  carry = combine.four(carry, wideFour<T>(_mm_shuffle_ps(begins, ends, _MM_SHUFFLE(3, 1, 2, 0))));
  const __m128 column1 = narrowFour(carry);
  carry = combine.four(carry, wideFour<T>(_mm_shuffle_ps(begins, c, _MM_SHUFFLE(3, 0, 3, 1))));
  const __m128 column2 = narrowFour(carry);
  const __m128 even = _mm_shuffle_ps(column0, column1, _MM_SHUFFLE(2, 0, 2, 0));
  const __m128 odd = _mm_shuffle_ps(column1, column2, _MM_SHUFFLE(3, 1, 3, 1));
  const __m128 both = _mm_shuffle_ps(column2, column0, _MM_SHUFFLE(3, 1, 2, 0));
  storeFour(out, _mm_shuffle_ps(even, both, _MM_SHUFFLE(2, 0, 2, 0)));
  storeFour(out + 4, _mm_shuffle_ps(odd, even, _MM_SHUFFLE(3, 1, 2, 0)));
  storeFour(out + 8, _mm_shuffle_ps(both, odd, _MM_SHUFFLE(3, 1, 3, 1)));
}

/// Four rows of `size` elements each, 2 at least, a column of four at a time: what `scanLines` does by elements.
template <class T, class Combine>
void scanRows(const T* x, T* out, std::int64_t size, Combine combine) {
  static_assert(kChains == 4);
  if (size == 2) return scanPairs(x, out, combine);
  if (size == 3) return scanTriples(x, out, combine);
  decltype(wideFour<T>(__m128())) carry{};
  __m128 row[4] = {};
  auto scanColumns = [&](std::int64_t from) TANDEM_INLINED {
    _MM_TRANSPOSE4_PS(row[0], row[1], row[2], row[3]);
    const auto first = wideFour<T>(row[0]);
    carry = from == 0 ? first : combine.four(carry, first);
    row[0] = narrowFour(carry);
    for (int k = 1; k < 4; ++k) {
      carry = combine.four(carry, wideFour<T>(row[k]));
      row[k] = narrowFour(carry);
    }
    _MM_TRANSPOSE4_PS(row[0], row[1], row[2], row[3]);
  };
  std::int64_t from = 0;
  for (; from + 4 <= size; from += 4) {
    for (int j = 0; j < 4; ++j) row[j] = loadFour(x + j * size + from);
    scanColumns(from);
    for (int j = 0; j < 4; ++j) storeFour(out + j * size + from, row[j]);
  }
  if (from == size) return;
  // Whole vectors here too: all rows but the last go on into the next one, of which nothing is used; the last one's
  // ends with it, and is turned by as many places. They are stored with what comes before.
  const __m128 before[4] = {row[0], row[1], row[2], row[3]};
  const int rest = static_cast<int>(size - from);
  const __m128i places = _mm_setr_epi32(0, 1, 2, 3);
  const __m128i rests = _mm_set1_epi32(rest);
  for (int j = 0; j < 3; ++j) row[j] = loadFour(x + j * size + from);
  row[3] = _mm_permutevar_ps(loadFour(x + 4 * size - 4), _mm_sub_epi32(places, rests));
  scanColumns(from);
  const __m128 fresh = _mm_castsi128_ps(_mm_cmpgt_epi32(rests, places));
  for (int j = 0; j < 4; ++j)
    storeFour(out + (j + 1) * size - 4,
              _mm_permutevar_ps(_mm_blendv_ps(before[j], row[j], fresh), _mm_add_epi32(places, rests)));
}

// Four elements of eight bytes: a chain's own vector, of which four columns are turned into rows.
template <class T>
struct FourOf {
  typedef T Vector __attribute__((vector_size(4 * sizeof(T))));
};
template <class T>
typename FourOf<T>::Vector readFour(const T* x) {
  typename FourOf<T>::Vector v;
  std::memcpy(&v, x, sizeof v);
  return v;
}
template <class V>
void transposeFour(V* v) {
  const V a = __builtin_shufflevector(v[0], v[1], 0, 4, 2, 6), b = __builtin_shufflevector(v[0], v[1], 1, 5, 3, 7);
  const V c = __builtin_shufflevector(v[2], v[3], 0, 4, 2, 6), d = __builtin_shufflevector(v[2], v[3], 1, 5, 3, 7);
  v[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  v[1] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  v[2] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  v[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}
/// Four rows of `size` elements of eight bytes, four columns at a time.
template <class T, class Combine>
void scanWideRows(const T* x, T* out, std::int64_t size, Combine combine) {
  using V = typename FourOf<T>::Vector;
  V carry{};
  std::int64_t from = 0;
  for (; from + 4 <= size; from += 4, x += 4, out += 4) {
    // The same columns of the next rows, of which the last ones are not there.
    if (from % 8 == 0)
      for (int j = 4; j < 8; ++j) __builtin_prefetch(x + j * size), __builtin_prefetch(out + j * size, 1);
    V row[4] = {readFour(x), readFour(x + size), readFour(x + 2 * size), readFour(x + 3 * size)};
    transposeFour(row);
    if (from > 0) row[0] = combine.four(carry, row[0]);
    row[1] = combine.four(row[0], row[1]);
    row[2] = combine.four(row[1], row[2]);
    carry = row[3] = combine.four(row[2], row[3]);
    transposeFour(row);
    std::memcpy(out, &row[0], sizeof carry);
    std::memcpy(out + size, &row[1], sizeof carry);
    std::memcpy(out + 2 * size, &row[2], sizeof carry);
    std::memcpy(out + 3 * size, &row[3], sizeof carry);
  }
  for (; from < size; ++from, ++x, ++out) {
    const V next{x[0], x[size], x[2 * size], x[3 * size]};
    carry = from > 0 ? combine.four(carry, next) : next;
    for (int j = 0; j < 4; ++j) out[j * size] = carry[j];
  }
}

/// A row of sums of integers of eight bytes, whose order is free: four at a time, so that one row alone is read in
/// order and none waits for the one before.
inline void sumRow(const std::uint64_t* x, std::uint64_t* out, std::int64_t size) {
  using V = FourOf<std::uint64_t>::Vector;
  V before{};
  std::int64_t i = 0;
  for (; i + 4 <= size; i += 4) {
    V v = readFour(x + i);
    v += __builtin_shufflevector(v, V{}, 4, 0, 1, 2);
    v += __builtin_shufflevector(v, V{}, 4, 5, 0, 1);
    const V sums = before + v;
    std::memcpy(out + i, &sums, sizeof sums);
    before += __builtin_shufflevector(v, v, 3, 3, 3, 3);
  }
  for (std::uint64_t sum = before[0]; i < size; ++i) out[i] = sum += x[i];
}

/// x and out, outer x size x inner of T; the chain runs in C, from its first element on.
template <class C, std::int64_t Rows, class T, class Combine>
void scanLines(const T* x, T* out, const DimSplit& s, Combine combine) {
  if (s.size == 0) return;
  overChains<Rows>(s, [&](std::int64_t at, auto apart, auto count) {
    if constexpr (requires(__m128 v) { loadFour(x), combine.four(v, v); })
      if (s.inner == 1 && s.size > 1 && count == kChains) return scanRows(x + at, out + at, s.size, combine);
    // Integers wrap.
    using U = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
    if constexpr (sizeof(T) == 8 && std::is_integral_v<T> && std::is_same_v<Combine, Add>) {
      if (s.inner == 1) {
        for (std::int64_t j = 0; j < count; ++j, at += s.size)
          sumRow(reinterpret_cast<const U*>(x + at), reinterpret_cast<U*>(out + at), s.size);
        return;
      }
    } else if constexpr (sizeof(T) == 8 && requires(FourOf<std::uint64_t>::Vector v) { combine.four(v, v); }) {
      if (s.inner == 1 && s.size >= kChains && count == kChains)
        return scanWideRows(reinterpret_cast<const U*>(x + at), reinterpret_cast<U*>(out + at), s.size, combine);
    }
    C carry[kTogether];
    auto take = [&](std::int64_t j, auto next) {
      std::int64_t place = at + j * apart;
      carry[j] = next(static_cast<C>(load(x[place])));
      out[place] = store<T>(static_cast<ComputeOf<T>>(carry[j]));
    };
    for (std::int64_t j = 0; j < count; ++j) take(j, [](C v) { return v; });
    for (std::int64_t r = 1; r < s.size; ++r) {
      at += s.inner;
      for (std::int64_t j = 0; j < count; ++j) take(j, [&](C v) { return combine(carry[j], v); });
    }
  });
}

/// Calls scanned(x), which overwrites the `n` elements `from` as int32, and writes their last bits to `to`: few scans
/// are of integers of fewer bits. Of bytes that are bools any but 0 is true.
template <bool AreBools = false, class T, class Scanned>
void inLongerIntegers(const T* from, T* to, std::int64_t n, Scanned scanned) {
  const Scratch<std::int32_t> x(n);
  parallelFor(n, kSerialElements, [from, to = x.data()](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] = AreBools ? from[i] != 0 : +from[i];
  });
  scanned(x.data());
  parallelFor(n, kSerialElements, [&](std::int64_t begin, std::int64_t end) {
    const std::int32_t* last = x.data();
    T* bits = to;  // not what is captured, which writes of bytes might change
    for (std::int64_t i = begin; i < end; ++i) bits[i] = static_cast<T>(last[i]);
  });
}

/// `CarryOf<Out>` is what chains run in.
template <template <class> class CarryOf, std::int64_t Rows = kChains, class Combine>
void scan(const LibraryCall& call, Combine combine) {
  const ArrayView& out = call.outputs[0];
  std::int64_t dim = wrapDim(AttrReader(call.attrs).integer(), static_cast<std::int64_t>(out.shape.size()));
  DimSplit split(out.shape, dim);
  Contiguous x(call.inputs[0]);
  TANDEM_CHECK(out.dtype == x.view().dtype, "a scan converts nothing");
  withType(out.dtype, [&](auto tag) {
    // Sums and products wrap, with a sign as without.
    using Stored = typename decltype(tag)::Type;
    if constexpr (!std::is_invocable_v<Combine, CarryOf<Stored>, CarryOf<Stored>>) {
      fail<InternalError>("scan of ", dtypeName(x.view().dtype));
    } else if constexpr (std::is_integral_v<Stored> && !std::is_same_v<Stored, bool> && sizeof(Stored) < 4) {
      using T = std::make_unsigned_t<Stored>;
      inLongerIntegers(x.as<T>(), out.as<T>(), out.numel(),
                       [&](std::int32_t* wide) { scanLines<std::int32_t, Rows>(wide, wide, split, combine); });
    } else if constexpr (Rows > kChains && !std::is_same_v<Stored, ComputeOf<Stored>>) {
      // Of long steps: reading and writing is nothing beside them.
      const Widened<Stored> wide(x.view());
      scanLines<float, Rows>(wide.data(), wide.data(), split, combine);
      narrowAll(wide.data(), out.as<Stored>(), out.numel());
    } else {
      scanLines<CarryOf<Stored>, Rows>(x.as<Stored>(), out.as<Stored>(), split, combine);
    }
  });
}

/// Does `a` replace `b`, met before it, where greater ones do? Elements, or vectors of them.
template <class V>
auto replaces(V a, V b) {
  return (a != a) | ((b == b) & (a >= b));
}

/// An integer of the size of C.
template <class C>
using BitsOf =
    std::conditional_t<sizeof(C) == 8, std::int64_t, std::conditional_t<sizeof(C) == 4, std::int32_t, std::uint8_t>>;
/// With the bits of `turned` turned: where that is the sign of numbers, or are all bits of integers, the least element
/// is the greatest, and NaN stays NaN.
template <class C>
C turn(C v, BitsOf<C> turned) {
  return std::bit_cast<C>(std::bit_cast<BitsOf<C>>(v) ^ turned);
}
/// What turns elements so that the greatest replaces others, as those do that are to be found.
template <class C>
BitsOf<C> turnedFor(bool greatest) {
  if (greatest) return 0;
  if constexpr (std::is_floating_point_v<C>) return std::bit_cast<BitsOf<C>>(C{-0.0});
  return -1;
}

/// Four chains, one step after the other. No branch depends on values.
template <class T, class C = typename Element<T>::Compute>
void fourExtremes(const T* x, T* values, std::int64_t* indices, std::int64_t apart, std::int64_t step,
                  std::int64_t size, BitsOf<C> turned) {
  typedef C Values __attribute__((vector_size(kChains * sizeof(C))));
  typedef BitsOf<C> Bits __attribute__((vector_size(kChains * sizeof(C))));
  typedef std::int64_t Places __attribute__((vector_size(kChains * sizeof(std::int64_t))));
  static_assert(kChains == 4);
  auto turnFour = [&](Values v) TANDEM_INLINED { return reinterpret_cast<Values>(reinterpret_cast<Bits>(v) ^ turned); };
  auto four = [&](std::int64_t at) TANDEM_INLINED {
    return turnFour(Values{load(x[at]), load(x[at + apart]), load(x[at + 2 * apart]), load(x[at + 3 * apart])});
  };
  Values best = four(0);
  Places place = {};
  for (std::int64_t r = 0; r < size; ++r) {
    const std::int64_t at = r * step;
    const Values v = four(at);
    const auto better = replaces(v, best);
    best = better ? v : best;
    place = __builtin_convertvector(better, Places) ? place - place + r : place;
    const Values stored = turnFour(best);
    for (std::int64_t j = 0; j < kChains; ++j) {
      values[at + j * apart] = store<T>(stored[j]);
      indices[at + j * apart] = place[j];
    }
  }
}

/// Values and the places they come from; a later equal value replaces the one before, and NaN everything.
template <class T>
void scanExtremes(const T* x, T* values, std::int64_t* indices, const DimSplit& s, bool greatest) {
  using C = typename Element<T>::Compute;
  if (s.size == 0) return;
  const BitsOf<C> turned = turnedFor<C>(greatest);
  overChains(s, [&](std::int64_t at, auto apart, auto count) {
    if (count == kChains) return fourExtremes(x + at, values + at, indices + at, apart, s.inner, s.size, turned);
    C best[kTogether];
    std::int64_t place[kTogether];
    auto take = [&](std::int64_t j, std::int64_t r, bool better, C v) {
      best[j] = better ? v : best[j];
      place[j] = better ? r : place[j];
      values[at + j * apart] = store<T>(turn(best[j], turned));
      indices[at + j * apart] = place[j];
    };
    for (std::int64_t j = 0; j < count; ++j) {
      best[j] = turn(load(x[at + j * apart]), turned);
      take(j, 0, true, best[j]);
    }
    for (std::int64_t r = 1; r < s.size; ++r) {
      at += s.inner;
      for (std::int64_t j = 0; j < count; ++j) {
        const C v = turn(load(x[at + j * apart]), turned);
        take(j, r, replaces(v, best[j]), v);
      }
    }
  });
}

void extremes(const LibraryCall& call, bool greatest) {
  const ArrayView& out = call.outputs[0];
  std::int64_t dim = wrapDim(AttrReader(call.attrs).integer(), static_cast<std::int64_t>(out.shape.size()));
  DimSplit split(out.shape, dim);
  Contiguous x(call.inputs[0]);
  auto* indices = call.outputs[1].as<std::int64_t>();
  withType(out.dtype, [&](auto tag) {
    using Stored = typename decltype(tag)::Type;
    using T = std::conditional_t<std::is_same_v<Stored, bool>, std::uint8_t, Stored>;
    if constexpr (std::is_integral_v<T> && sizeof(T) < 4)
      inLongerIntegers<std::is_same_v<Stored, bool>>(x.as<T>(), out.as<T>(), out.numel(), [&](std::int32_t* wide) {
        scanExtremes(wide, wide, indices, split, greatest);
      });
    else
      scanExtremes(x.as<T>(), out.as<T>(), indices, split, greatest);
  });
}

/// s[i] = terms[i] + factors[i] s[i-1], or s[i+1].
template <class C, class T>
void recur(const T* terms, const T* factors, T* out, const DimSplit& s, bool reverse) {
  const std::int64_t first = reverse ? (s.size - 1) * s.inner : 0;
  const std::int64_t step = reverse ? -s.inner : s.inner;
  overChains(s, [&](std::int64_t at, auto apart, auto count) {
    C carry[kTogether];
    at += first;
    auto take = [&](std::int64_t j, auto next) {
      std::int64_t place = at + j * apart;
      carry[j] = next(static_cast<C>(load(terms[place])), place);
      out[place] = store<T>(static_cast<ComputeOf<T>>(carry[j]));
    };
    for (std::int64_t j = 0; j < count; ++j) take(j, [](C term, std::int64_t) { return term; });
    for (std::int64_t r = 1; r < s.size; ++r) {
      at += step;
      for (std::int64_t j = 0; j < count; ++j)
        take(j, [&](C term, std::int64_t place) {
          return addElements(term, mulElements(static_cast<C>(load(factors[place])), carry[j]));
        });
    }
  });
}

}  // namespace

void cummax(const LibraryCall& call) { extremes(call, true); }
void cummin(const LibraryCall& call) { extremes(call, false); }

void logcumsumexp(const LibraryCall& call) {
  // A step is so long that more chains than a vector has lanes keep the processor busy.
  scan<ComputeOf, 4 * kChains>(call, []<std::floating_point C>(C a, C b) { return logSum(a, b); });
}

void cumsum(const LibraryCall& call) { scan<Wide>(call, Add()); }
void linear_recurrence(const LibraryCall& call) {
  const ArrayView& out = call.outputs[0];
  AttrReader attrs(call.attrs);
  std::int64_t dim = wrapDim(attrs.integer(), static_cast<std::int64_t>(out.shape.size()));
  const bool reverse = attrs.boolean();
  TANDEM_CHECK(call.inputs[0].shape == call.inputs[1].shape && call.inputs[0].dtype == call.inputs[1].dtype,
               "a factor for each term of a recurrence");
  DimSplit split(out.shape, dim);
  Contiguous terms(call.inputs[0]);
  Contiguous factors(call.inputs[1]);
  withType(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if constexpr (std::is_floating_point_v<T>) {
      recur<Wide<T>>(terms.as<T>(), factors.as<T>(), out.as<T>(), split, reverse);
    } else if constexpr (std::is_floating_point_v<ComputeOf<T>>) {
      const Widened<T> wide(terms.view());
      recur<Wide<T>>(wide.data(), Widened<T>(factors.view()).data(), wide.data(), split, reverse);
      narrowAll(wide.data(), out.as<T>(), out.numel());
    } else {
      fail<InternalError>("a recurrence of ", dtypeName(out.dtype));
    }
  });
}
void cumprod(const LibraryCall& call) { scan<Wide>(call, Multiply()); }

}  // namespace tandem::lib
