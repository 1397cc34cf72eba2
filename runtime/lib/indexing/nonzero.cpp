#include "runtime/lib/indexing/nonzero.h"

#include <algorithm>
#include <array>
#include <bit>
#include <immintrin.h>
#include <vector>

#include "runtime/base/attrs.h"
#include "runtime/device/thread_pool.h"
#include "runtime/lib/strided.h"

#pragma GCC target("avx2,bmi,popcnt")  // which generated code needs too

namespace tandem::lib {
namespace {

constexpr std::int64_t kPiece = 16 * 1024;
constexpr std::int64_t kVector = 32;  // bytes of one

/// How many of `n` bytes are not 0: those of bools are 0 or 1, unless they were written as bytes (`bytes.view(bool)`).
std::int64_t countOnes(const std::uint8_t* bytes, std::int64_t n) {
  const __m256i one = _mm256_set1_epi8(1);
  __m256i sums = _mm256_setzero_si256();
  std::int64_t i = 0;
  for (; i + kVector <= n; i += kVector) {
    const __m256i values = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes + i));
    sums = _mm256_add_epi64(sums, _mm256_sad_epu8(_mm256_min_epu8(values, one), _mm256_setzero_si256()));
  }
  std::array<std::int64_t, 4> each{};
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(each.data()), sums);
  std::int64_t count = each[0] + each[1] + each[2] + each[3];
  for (; i < n; ++i) count += bytes[i] != 0 ? 1 : 0;
  return count;
}

/// The counts of each piece of kPiece elements in row-major order.
std::vector<std::int64_t> countPieces(const ArrayView& x) {
  std::int64_t n = x.numel();
  std::vector<std::int64_t> counts(static_cast<std::size_t>((n + kPiece - 1) / kPiece));
  parallelTiles(static_cast<std::int64_t>(counts.size()), [&](std::int64_t p) {
    const auto* data = x.as<std::uint8_t>();
    std::int64_t count = 0;
    std::int64_t length = std::min(kPiece, n - p * kPiece);
    if (x.contiguous()) {
      count = countOnes(data + p * kPiece, length);
    } else {
      Walker<1> at(x.shape, {x.strides}, p * kPiece);
      for (std::int64_t i = 0; i < length; ++i, at.next()) count += data[at.offset[0]] != 0 ? 1 : 0;
    }
    counts[static_cast<std::size_t>(p)] = count;
  });
  return counts;
}

/// For each byte the places of its bits that are set, in order; then zeros.
constexpr auto kPlaces = [] {
  std::array<std::array<std::uint8_t, 8>, 256> all{};
  for (unsigned byte = 0; byte < 256; ++byte)
    for (unsigned bit = 0, n = 0; bit < 8; ++bit)
      if ((byte >> bit & 1) != 0) all[byte][n++] = static_cast<std::uint8_t>(bit);
  return all;
}();

/// The places among the bytes [i, size) of those that are not 0, a vector of them at a time, until `to` is `end`.
/// Returns where it stopped.
std::int64_t placesOfOnes(const std::uint8_t* line, std::int64_t i, std::int64_t size, std::int64_t*& to,
                          const std::int64_t* end) {
  constexpr int kFew = 6;     // of so many each is sought by itself,
  constexpr int kBeyond = 8;  // and of others so many places behind the last one may be written
  for (; i + kVector <= size && to != end; i += kVector) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(line + i));
    auto ones = ~static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_setzero_si256())));
    if (ones == 0) continue;
    const int count = std::popcount(ones);
    if (count == kVector) {
      for (std::int64_t k = 0; k < kVector; ++k) to[k] = i + k;
      to += kVector;
    } else if (count <= kFew || end - to < count + kBeyond) {
      for (; ones != 0; ones &= ones - 1) *to++ = i + std::countr_zero(ones);
    } else {
      for (std::int64_t from = i; from < i + kVector; from += 8, ones >>= 8) {
        const std::array<std::uint8_t, 8>& places = kPlaces[ones & 0xff];
        for (std::size_t k = 0; k < 8; ++k) to[k] = from + places[k];
        to += std::popcount(ones & 0xff);
      }
    }
  }
  return i;
}

}  // namespace

void expect_size(const LibraryCall& call) {
  AttrReader attrs(call.attrs);
  std::int64_t size = attrs.integer();
  std::int64_t number = attrs.integer();
  std::int64_t now = *call.inputs[0].as<std::int64_t>();
  if (now != size) throw SizeChanged(number, now);
  *call.outputs[0].as<std::int64_t>() = now;
}

void nonzero_rows(const LibraryCall& call) {
  const ArrayView& x = call.inputs[0];
  const ArrayView& out = call.outputs[0];
  std::vector<std::int64_t> starts = countPieces(x);
  std::int64_t total = 0;
  for (std::int64_t& s : starts) total += std::exchange(s, total);
  TANDEM_CHECK(total == out.shape[0], "nonzero: ", out.shape[0], " rows for ", total, " elements");
  if (total == 0 || x.shape.empty()) return;
  const std::size_t rank = x.shape.size();
  const auto step = static_cast<std::int64_t>(rank);
  const std::int64_t size = x.shape[rank - 1];
  const std::int64_t stride = x.strides[rank - 1];
  parallelTiles(static_cast<std::int64_t>(starts.size()), [&](std::int64_t p) {
    const std::size_t next = static_cast<std::size_t>(p) + 1;
    std::int64_t* row = out.as<std::int64_t>() + starts[static_cast<std::size_t>(p)] * step;
    const std::int64_t* end = out.as<std::int64_t>() + (next < starts.size() ? starts[next] : total) * step;
    Walker<1> at(DimsRef(x.shape).first(rank - 1), {DimsRef(x.strides).first(rank - 1)}, p * kPiece / size);
    for (std::int64_t i = p * kPiece % size; row != end; i = 0, at.next()) {
      const auto* line = x.as<std::uint8_t>() + at.offset[0];
      std::int64_t* first = row;
      if (rank == 1 && stride == 1) i = placesOfOnes(line, i, size, row, end);
      // Every place is written, and kept where the element is not 0: there is nothing to guess wrong.
      for (; i < size && row != end; ++i) {
        row[step - 1] = i;
        row += line[i * stride] != 0 ? step : 0;
      }
      for (std::size_t d = 0; d + 1 < rank; ++d)
        for (std::int64_t* r = first; r != row; r += step) r[d] = at.index()[d];
    }
  });
}

}  // namespace tandem::lib
