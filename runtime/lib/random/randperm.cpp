// randperm: the numbers 0 .. n-1 in the order of their random keys.
#include <algorithm>
#include <cstring>
#include <immintrin.h>
#include <numeric>

#include "runtime/device/isa.h"
#include "runtime/device/thread_pool.h"
#include "runtime/lib/random/key_order.h"
#include "runtime/lib/random/philox.h"
#include "runtime/lib/strided.h"

#pragma GCC target("avx2")  // which generated code needs too

namespace tandem::lib {
namespace {

constexpr std::int64_t kLanes = 4;
// Places that are counted at once: their counts stay in a core's cache. More numbers are parted by leading bits first.
constexpr int kMostPlaceBits = 16;

__m256i vectorAt(const std::int64_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
void setVector(std::int64_t* p, __m256i v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }

constexpr int kVectors = 3;  // whose rounds take turns: a round waits for its products
using Vectors = __m256i[kVectors];

/// Rounds of Philox of counters whose first two words are a number and the others `offset`: the first two words made,
/// as one number of 64 bits in place of each. A product reads the lower half of a lane alone: the upper may be
/// anything.
[[gnu::always_inline]] inline void drawKeys(Vectors& numbers, std::uint64_t offset, std::uint64_t seed) {
  const __m256i m0 = _mm256_set1_epi64x(0xD2511F53), m1 = _mm256_set1_epi64x(0xCD9E8D57);
  const __m256i more0 = _mm256_set1_epi64x(0x9E3779B9), more1 = _mm256_set1_epi64x(0xBB67AE85);
  __m256i k0 = _mm256_set1_epi64x(static_cast<std::int64_t>(seed)), k1 = _mm256_srli_epi64(k0, 32);
  Vectors c0, c1, c2, c3;
  for (int v = 0; v < kVectors; ++v) {
    c0[v] = numbers[v];
    c1[v] = _mm256_srli_epi64(c0[v], 32);
    c2[v] = _mm256_set1_epi64x(static_cast<std::int64_t>(offset));
    c3[v] = _mm256_srli_epi64(c2[v], 32);
  }
  for (int round = 0; round < 10; ++round) {
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) {
      const __m256i p0 = _mm256_mul_epu32(c0[v], m0), p1 = _mm256_mul_epu32(c2[v], m1);
      c0[v] = _mm256_xor_si256(_mm256_srli_epi64(p1, 32), _mm256_xor_si256(c1[v], k0));
      c2[v] = _mm256_xor_si256(_mm256_srli_epi64(p0, 32), _mm256_xor_si256(c3[v], k1));
      c1[v] = p1;
      c3[v] = p0;
    }
    k0 = _mm256_add_epi64(k0, more0);
    k1 = _mm256_add_epi64(k1, more1);
  }
  for (int v = 0; v < kVectors; ++v) numbers[v] = _mm256_blend_epi32(c0[v], _mm256_slli_epi64(c1[v], 32), 0b10101010);
}

#pragma GCC push_options
#pragma GCC target("avx512f")
/// What randperm packs of the numbers [begin, end), as far as whole vectors of AVX-512 go: where it stopped. Twice as
/// many rounds as drawKeys makes at a time.
std::int64_t packWithAvx512(std::int64_t begin, std::int64_t end, std::uint64_t offset, std::uint64_t seed,
                            std::int64_t upper, std::int64_t* packed) {
  typedef std::uint64_t V __attribute__((vector_size(64)));
  constexpr std::int64_t kWide = 2 * kLanes;
  const __m512i m0 = _mm512_set1_epi64(0xD2511F53), m1 = _mm512_set1_epi64(0xCD9E8D57);
  const V lanes = {0, 1, 2, 3, 4, 5, 6, 7};
  for (; begin + kWide * kVectors <= end; begin += kWide * kVectors) {
    V k0 = V{} + seed, k1 = k0 >> 32;
    V numbers[kVectors], c0[kVectors], c1[kVectors], c2[kVectors], c3[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      c0[v] = numbers[v] = lanes + static_cast<std::uint64_t>(begin + v * kWide);
      c1[v] = c0[v] >> 32;
      c2[v] = V{} + offset;
      c3[v] = c2[v] >> 32;
    }
    for (int round = 0; round < 10; ++round) {
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) {
        const V p0 = reinterpret_cast<V>(_mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(c0[v]), m0));
        const V p1 = reinterpret_cast<V>(_mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(c2[v]), m1));
        c0[v] = (p1 >> 32) ^ c1[v] ^ k0;
        c2[v] = (p0 >> 32) ^ c3[v] ^ k1;
        c1[v] = p1;
        c3[v] = p0;
      }
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    for (int v = 0; v < kVectors; ++v) {
      const V key = (c0[v] & 0xffffffff) | c1[v] << 32;
      const V item = (key >> 1 & static_cast<std::uint64_t>(upper)) | numbers[v];
      std::memcpy(packed + begin + v * kWide, &item, sizeof item);
    }
  }
  return begin;
}
#pragma GCC pop_options

std::uint64_t keyOfOne(std::int64_t number, std::uint64_t offset, std::uint64_t seed) {
  auto u = static_cast<std::uint64_t>(number);
  auto r = philox({static_cast<std::uint32_t>(u), static_cast<std::uint32_t>(u >> 32),
                   static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(offset >> 32)},
                  seed);
  return std::uint64_t{r[1]} << 32 | r[0];
}

/// Places of items by `bits` bits of their keys, from bit `shift` of an item on.
struct Places {
  int shift;
  int bits;
  [[nodiscard]] std::int64_t of(std::int64_t item) const { return (item >> shift) & ((std::int64_t{1} << bits) - 1); }
  [[nodiscard]] std::int64_t count() const { return std::int64_t{1} << bits; }
};

/// The items of `from` in the order of places, to `to`, and where those of each place end there.
template <class Count>
void putInPlaces(const std::int64_t* from, std::int64_t n, Places places, std::int64_t* to, Count* ends) {
  std::fill_n(ends, places.count(), Count{0});
  for (std::int64_t i = 0; i < n; ++i) ++ends[places.of(from[i])];
  std::exclusive_scan(ends, ends + places.count(), ends, Count{0});
  for (std::int64_t i = 0; i < n; ++i) to[ends[places.of(from[i])]++] = from[i];
}

/// The smaller of neighbours first, for the pairs of x, n of them in whole vectors: no branch to be guessed.
void sortPairs(std::int64_t* x, std::int64_t n) {
  const __m256i larger = _mm256_set_epi64x(-1, 0, -1, 0);  // lanes that the larger goes to
  for (std::int64_t i = 0; i + kLanes <= n; i += kLanes) {
    const __m256i v = vectorAt(x + i), other = _mm256_shuffle_epi32(v, 0b01001110);
    setVector(x + i, _mm256_blendv_epi8(v, other, _mm256_xor_si256(_mm256_cmpgt_epi64(v, other), larger)));
  }
}

/// Items in the order of leading bits of their keys, of which few are at each place, in the order of keys.
template <class KeyOf>
void finish(std::int64_t* x, std::int64_t n, int bits, const KeyOf& keyOf) {
  const std::int64_t lower = (std::int64_t{1} << bits) - 1;
  auto before = [&](std::int64_t a, std::int64_t b) {
    if (((a ^ b) & ~lower) != 0) return a < b;
    const std::uint64_t keyA = keyOf(a & lower), keyB = keyOf(b & lower);
    return keyA != keyB ? keyA < keyB : a < b;
  };
  constexpr std::int64_t kBlock = 512;
  for (std::int64_t begin = 0; begin < n; begin += kBlock) {
    const std::int64_t size = std::min(kBlock, n - begin);
    for (int pass = 0; pass < 2; ++pass) {
      sortPairs(x + begin, size);
      sortPairs(x + begin + 1, size - 1);
    }
    for (std::int64_t i = std::max<std::int64_t>(begin, 1); i < begin + size;) {
      if (i + kLanes <= begin + size) {
        const __m256i v = vectorAt(x + i), last = vectorAt(x + i - 1);
        const __m256i above = _mm256_andnot_si256(_mm256_set1_epi64x(lower), _mm256_xor_si256(v, last));
        const __m256i tied = _mm256_cmpeq_epi64(above, _mm256_setzero_si256());
        const __m256i doubtful = _mm256_or_si256(_mm256_cmpgt_epi64(last, v), tied);
        if (_mm256_testz_si256(doubtful, doubtful) != 0) {
          i += kLanes;
          continue;
        }
      }
      for (std::int64_t end = std::min(i + kLanes, begin + size); i < end; ++i) {
        const std::int64_t item = x[i];
        std::int64_t at = i;
        for (; at > 0 && before(item, x[at - 1]); --at) x[at] = x[at - 1];
        x[at] = item;
      }
    }
  }
}

}  // namespace

void orderByKeys(std::int64_t* packed, std::int64_t n, FunctionRef<std::uint64_t(std::int64_t)> keyOf,
                 std::int64_t* out) {
  const int bits = indexBits(n);
  const std::int64_t lower = (std::int64_t{1} << bits) - 1;
  // About one number a place.
  const Places parts{63 - std::max(0, bits - kMostPlaceBits), std::max(0, bits - kMostPlaceBits)};
  const Places places{63 - bits, bits - parts.bits};
  Scratch<std::int64_t> spare(n);
  Scratch<std::int64_t> ends(parts.count());
  std::int64_t* from = packed;
  std::int64_t* to = spare.data();
  ends[0] = n;
  if (parts.bits > 0) {
    putInPlaces(packed, n, parts, to, ends.data());
    std::swap(from, to);
  }
  parallelTiles(parts.count(), [&](std::int64_t part) {
    const std::int64_t begin = part == 0 ? 0 : ends[part - 1];
    const std::int64_t size = ends[part] - begin;
    Scratch<std::uint32_t> counts(places.count());  // of some 2^kMostPlaceBits items
    putInPlaces(from + begin, size, places, to + begin, counts.data());
    finish(to + begin, size, bits, keyOf);
    for (std::int64_t i = begin; i < begin + size; ++i) out[i] = to[i] & lower;
  });
}

void randperm(const LibraryCall& call) {
  std::int64_t n = AttrReader(call.attrs).integer();
  auto seed = static_cast<std::uint64_t>(call.scalars[0]);
  auto offset = static_cast<std::uint64_t>(call.scalars[1]);
  const int bits = indexBits(n);
  Scratch<std::int64_t> packed(n);
  parallelFor(n, 4096, [&](std::int64_t begin, std::int64_t end) {
    const auto upperBits = static_cast<std::int64_t>(~std::uint64_t{0} >> 1 >> bits << bits);
    const __m256i upper = _mm256_set1_epi64x(upperBits);
    std::int64_t i = hasAvx512() ? packWithAvx512(begin, end, offset, seed, upperBits, packed.data()) : begin;
    for (; i + kLanes * kVectors <= end; i += kLanes * kVectors) {
      const __m256i first = _mm256_add_epi64(_mm256_set1_epi64x(i), _mm256_set_epi64x(3, 2, 1, 0));
      Vectors numbers, keys;
      for (int v = 0; v < kVectors; ++v) keys[v] = numbers[v] = _mm256_add_epi64(first, _mm256_set1_epi64x(v * kLanes));
      drawKeys(keys, offset, seed);
      for (int v = 0; v < kVectors; ++v)
        setVector(&packed[i + v * kLanes],
                  _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi64(keys[v], 1), upper), numbers[v]));
    }
    for (; i < end; ++i) packed[i] = packKey(keyOfOne(i, offset, seed), i, bits);
  });
  orderByKeys(
      packed.data(), n, [&](std::int64_t i) { return keyOfOne(i, offset, seed); }, call.outputs[0].as<std::int64_t>());
}

}  // namespace tandem::lib
