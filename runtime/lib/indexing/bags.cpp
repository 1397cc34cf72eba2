// bag_sum, bag_max: what bags of rows of a table come to, read where they lie. Rows of a bag are taken in order, so the
// bits depend on neither threads nor vectors.
#include "runtime/lib/indexing/bags.h"

#include <algorithm>
#include <array>
#include <immintrin.h>
#include <optional>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/clones.h"
#include "runtime/lib/expectation_errors.h"
#include "runtime/lib/indexing/index_list.h"
#include "runtime/lib/matmul/half_rows.h"
#include "runtime/lib/strided.h"

// Of all that is inlined where half types are widened, between there and the function that is compiled for a processor.
#define TANDEM_IN_VECTORS __attribute__((always_inline, target("avx2,f16c")))

namespace tandem::lib {
namespace {

constexpr std::int64_t kBand = 256;  // columns of a piece
constexpr std::int64_t kAhead = 16;  // how many rows before it is read a row is fetched

std::int64_t offsetAt(const ArrayView& offsets, std::int64_t bag) {
  const std::int64_t at = bag * offsets.strides[0];
  return offsets.dtype == DType::Int32 ? offsets.as<const std::int32_t>()[at] : offsets.as<const std::int64_t>()[at];
}

/// A piece of a bag: so many columns of its rows.
struct Piece {
  std::int64_t bag, begin, end;  // its rows are at these places of the index
  std::int64_t column, length;
};

/// What both operations read: the table, the rows named, where bags begin and end.
class Bags {
 public:
  explicit Bags(const LibraryCall& call);
  std::int64_t begin(std::int64_t bag) const { return begins_ ? (*begins_)[bag] : bag * each_; }
  const std::int64_t* rows() const { return rows_.data(); }
  std::int64_t width() const { return width_; }
  DType dtype() const { return table.view().dtype; }
  bool counts(std::int64_t place) const { return rows_[place] != padding; }
  /// Calls `run` with a function for each of the runs of pieces, of at most kBand columns of a bag each, that threads
  /// take: it calls its argument with the pieces one after another.
  template <class F>
  void forPieces(const F& run) const;
  void forEachPiece(FunctionRef<void(const Piece&)> each) const {
    forPieces([&](const auto& pieces) { withAvx2([&]() TANDEM_IN_VECTORS { pieces(each); }); });
  }

  AttrReader attrs;      // those behind `padding` and `last`
  std::int64_t padding;  // the row that does not count; -1: all do
  std::int64_t count;
  Contiguous table;

 private:
  std::int64_t width_, each_, places_;
  std::optional<Scratch<std::int64_t>> begins_;
  IndexList rows_;
};

/// Where bags of an index of one dim begin, and the last one ends; none of an index of two.
std::optional<Scratch<std::int64_t>> beginsOf(const LibraryCall& call, std::int64_t count, bool last) {
  if (call.inputs[1].shape.size() != 1) return {};
  const std::int64_t places = call.inputs[1].numel();
  const ArrayView& offsets = call.inputs[2];
  if (!areOffsets(offsets, places)) failExpectation(Expectation::BagOffsets, places, true, 0, 0);
  Scratch<std::int64_t> begins(count + 1);
  for (std::int64_t b = 0; b <= count; ++b) begins[b] = b < count || last ? offsetAt(offsets, b) : places;
  return begins;
}

Bags::Bags(const LibraryCall& call)
    : attrs(call.attrs), padding(attrs.integer()), count(call.outputs[0].shape[0]), table(call.inputs[0]),
      width_(call.inputs[0].shape[1]), each_(call.inputs[1].shape.back()), places_(call.inputs[1].numel()),
      begins_(beginsOf(call, count, attrs.boolean())),
      rows_("embedding_bag", call.inputs[1], 0, call.inputs[0].shape[0], IndexRange::Slices) {}

template <class F>
void Bags::forPieces(const F& run) const {
  const std::int64_t bands = ceilDiv(width_, kBand);
  const std::int64_t work = std::min(width_, kBand) * (1 + places_ / std::max<std::int64_t>(count, 1));
  parallelFor(count * bands, grainOf(work), [&](std::int64_t first, std::int64_t last) {
    run([&](const auto& each) TANDEM_IN_VECTORS {
      // Divisions, of each piece, take as long as short bags do.
      std::int64_t bag = first / bands;
      std::int64_t column = first % bands * kBand;
      for (std::int64_t k = first; k < last; ++k) {
        each(Piece{bag, begin(bag), begin(bag + 1), column, std::min(kBand, width_ - column)});
        column += kBand;
        if (column >= width_) column = 0, ++bag;
      }
    });
  });
}

// Integers are computed as int64, one by one.
std::int64_t integerAt(const ArrayView& x, std::int64_t i) {
  switch (x.dtype) {
  case DType::Int64:
    return x.as<const std::int64_t>()[i];
  case DType::Int32:
    return x.as<const std::int32_t>()[i];
  case DType::Int16:
    return x.as<const std::int16_t>()[i];
  case DType::Int8:
    return x.as<const std::int8_t>()[i];
  default:
    return x.as<const std::uint8_t>()[i];
  }
}
/// `length` elements of a contiguous array from `at` on: its own memory where that has them, else `buffer`, widened.
const float* readRow(const ArrayView& x, std::int64_t at, std::int64_t length, float* buffer) {
  if (x.dtype == DType::Float32) return x.as<const float>() + at;
  if (x.dtype == DType::Float16)
    widen(x.as<const Half>() + at, buffer, length);
  else
    widen(x.as<const BFloat16>() + at, buffer, length);
  return buffer;
}
const double* readRow(const ArrayView& x, std::int64_t at, std::int64_t, double*) { return x.as<const double>() + at; }
const std::int64_t* readRow(const ArrayView& x, std::int64_t at, std::int64_t length, std::int64_t* buffer) {
  for (std::int64_t k = 0; k < length; ++k) buffer[k] = integerAt(x, at + k);
  return buffer;
}
/// Rounds them, or, of bools, says which are not zero.
void writeRow(const float* from, std::int64_t length, const ArrayView& out, std::int64_t at) {
  if (out.dtype == DType::Float32)
    std::copy_n(from, length, out.as<float>() + at);
  else if (out.dtype == DType::Float16)
    narrow(from, out.as<Half>() + at, length);
  else
    narrow(from, out.as<BFloat16>() + at, length);
}
void writeRow(const double* from, std::int64_t length, const ArrayView& out, std::int64_t at) {
  std::copy_n(from, length, out.as<double>() + at);
}
void writeRow(const std::int64_t* from, std::int64_t length, const ArrayView& out, std::int64_t at) {
  const auto size = static_cast<std::int64_t>(itemSize(out.dtype));
  for (std::int64_t k = 0; k < length; ++k) {
    const std::int64_t v = out.dtype == DType::Bool ? from[k] != 0 : from[k];
    std::memcpy(out.as<char>() + (at + k) * size, &v, static_cast<std::size_t>(size));
  }
}

/// What elements of `T` are summed in: 64 bytes, one register or two; of float16 32, as many as are widened at once.
template <class T>
struct Lanes {
  using Scalar = std::conditional_t<std::is_same_v<T, double>, double, float>;
  static constexpr std::int64_t kBytes = std::is_same_v<T, Scalar> ? 64 : 32;
  static constexpr std::int64_t kCount = kBytes / sizeof(Scalar);
  typedef Scalar Vector __attribute__((vector_size(kBytes)));
  TANDEM_IN_VECTORS static void load(const Scalar* x, Vector& v) { std::memcpy(&v, x, sizeof v); }
  TANDEM_IN_VECTORS static void load(const Half* x, Vector& v) {
    v = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
  }
  TANDEM_IN_VECTORS static void store(Scalar* to, const Vector& v) { std::memcpy(to, &v, sizeof v); }
};

typedef float Floats __attribute__((vector_size(64)));
typedef std::uint32_t Words __attribute__((vector_size(64)));

/// Of two neighbours in a word of bfloat16 each half is one float32: those of even and of odd columns are summed apart.
struct FloatPairs {
  Floats even, odd;
  TANDEM_IN_VECTORS FloatPairs& operator+=(const FloatPairs& o) {
    even += o.even;
    odd += o.odd;
    return *this;
  }
  TANDEM_IN_VECTORS friend FloatPairs operator*(float factor, const FloatPairs& x) {
    return {factor * x.even, factor * x.odd};
  }
};
template <>
struct Lanes<BFloat16> {
  using Scalar = float;
  using Vector = FloatPairs;
  static constexpr std::int64_t kBytes = sizeof(Vector);
  static constexpr std::int64_t kCount = kBytes / sizeof(Scalar);
  TANDEM_IN_VECTORS static void load(const BFloat16* x, Vector& v) {
    Words words;
    std::memcpy(&words, x, sizeof words);
    const Words low = words << 16, high = words & 0xffff0000;
    std::memcpy(&v.even, &low, sizeof low);
    std::memcpy(&v.odd, &high, sizeof high);
  }
  TANDEM_IN_VECTORS static void store(float* to, const Vector& v) {
    const Floats low = __builtin_shufflevector(v.even, v.odd, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const Floats high =
        __builtin_shufflevector(v.even, v.odd, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    std::memcpy(to, &low, sizeof low);
    std::memcpy(to + kCount / 2, &high, sizeof high);
  }
};

/// sums = the sum of the rows of a piece of a table of `T`, each times its factor where there are such, from column
/// `i` of the piece on, as far as `Vectors` vectors at a time go; where it came to.
template <class T, int Vectors>
TANDEM_IN_VECTORS inline std::int64_t sumRows(const Bags& bags, const T* factors, const Piece& piece, std::int64_t i,
                                              typename Lanes<T>::Scalar* sums) {
  using L = Lanes<T>;
  const auto* table = bags.table.as<const T>() + piece.column;
  const std::int64_t* rows = bags.rows();
  const std::int64_t width = bags.width(), padding = bags.padding, end = piece.end;
  for (; i + Vectors * L::kCount <= piece.length; i += Vectors * L::kCount) {
    // Unrolled, for the sums to stay in registers.
    typename L::Vector sum[Vectors] = {};
    for (std::int64_t p = piece.begin; p < end; ++p) {
      if (p + kAhead < end) {
        const auto* next = reinterpret_cast<const char*>(table + rows[p + kAhead] * width + i);
        for (std::size_t line = 0; line < sizeof(T) * Vectors * L::kCount; line += 64) __builtin_prefetch(next + line);
      }
      if (rows[p] == padding) continue;
      const T* row = table + rows[p] * width + i;
      const typename L::Scalar factor = factors == nullptr ? 1 : Element<T>::load(factors[p]);
#pragma GCC unroll 8
      for (int k = 0; k < Vectors; ++k) {
        typename L::Vector terms;
        L::load(row + k * L::kCount, terms);
        // A number times 1 is the number.
        sum[k] += factor * terms;
      }
    }
#pragma GCC unroll 8
    for (int k = 0; k < Vectors; ++k) L::store(sums + i + k * L::kCount, sum[k]);
  }
  return i;
}
template <class T>
TANDEM_IN_VECTORS inline void sumPiece(const Bags& bags, const T* factors, const Piece& piece,
                                       typename Lanes<T>::Scalar* sums) {
  std::int64_t i = sumRows<T, 256 / Lanes<T>::kBytes>(bags, factors, piece, 0, sums);
  if (i == piece.length) return;
  for (i = sumRows<T, 1>(bags, factors, piece, i, sums); i < piece.length; ++i) {
    typename Lanes<T>::Scalar sum = 0;
    for (std::int64_t p = piece.begin; p < piece.end; ++p)
      if (bags.counts(p))
        sum += (factors == nullptr ? 1 : Element<T>::load(factors[p])) *
               Element<T>::load(bags.table.as<const T>()[bags.rows()[p] * bags.width() + piece.column + i]);
    sums[i] = sum;
  }
}

/// The sums of all bags, divided by the `counts` of their rows where there are such.
template <class T>
void sumAll(const Bags& bags, const void* memory, const std::int64_t* counts, const ArrayView& out) {
  using C = typename Lanes<T>::Scalar;
  const auto* factors = static_cast<const T*>(memory);
  bags.forPieces([&](const auto& pieces) {
    const auto sum = [&]() TANDEM_IN_VECTORS {
      pieces([&](const Piece& piece) TANDEM_IN_VECTORS {
        std::array<C, kBand> buffer;
        const std::int64_t at = piece.bag * bags.width() + piece.column;
        C* sums = sizeof(T) < sizeof(C) ? buffer.data() : out.as<C>() + at;
        sumPiece<T>(bags, factors, piece, sums);
        if (counts != nullptr && counts[piece.bag] > 1)
          for (std::int64_t k = 0; k < piece.length; ++k) sums[k] /= static_cast<C>(counts[piece.bag]);
        if constexpr (std::is_same_v<T, Half>) narrow(sums, out.as<Half>() + at, piece.length);
        if constexpr (std::is_same_v<T, BFloat16>) narrow(sums, out.as<BFloat16>() + at, piece.length);
      });
    };
    // float16 is widened to vectors of AVX2.
    if constexpr (std::is_same_v<T, Half>)
      withAvx2(sum);
    else
      withHostIsa(sum);
  });
}

/// Of integers, which wrap.
void sumIntegers(const Bags& bags, const ArrayView* factors, const ArrayView& out) {
  bags.forEachPiece([&](const Piece& piece) {
    std::array<std::int64_t, kBand> sums{}, terms;
    for (std::int64_t p = piece.begin; p < piece.end; ++p) {
      if (!bags.counts(p)) continue;
      readRow(bags.table.view(), bags.rows()[p] * bags.width() + piece.column, piece.length, terms.data());
      const std::int64_t factor = factors == nullptr ? 1 : integerAt(*factors, p);
      for (std::int64_t k = 0; k < piece.length; ++k) sums[k] = addElements(sums[k], mulElements(factor, terms[k]));
    }
    writeRow(sums.data(), piece.length, out, piece.bag * bags.width() + piece.column);
  });
}

/// The largest elements of all bags and the rows they are in. Nothing is greater than a NaN that comes first, and no
/// other NaN than what comes before it, as in PyTorch, which compares one after another.
template <class T>
void maxAll(const Bags& bags, const ArrayView& out, std::int64_t* rows) {
  bags.forEachPiece([&](const Piece& piece) {
    std::array<T, kBand> best{}, buffer;
    std::array<std::int64_t, kBand> from;
    from.fill(-1);
    bool first = true;
    for (std::int64_t p = piece.begin; p < piece.end; ++p) {
      if (!bags.counts(p)) continue;
      const std::int64_t row = bags.rows()[p];
      const T* x = readRow(bags.table.view(), row * bags.width() + piece.column, piece.length, buffer.data());
      if (first) {
        std::copy_n(x, piece.length, best.data());
        std::fill_n(from.data(), piece.length, row);
      } else {
        for (std::int64_t k = 0; k < piece.length; ++k) {
          const bool more = x[k] > best[k];
          best[k] = more ? x[k] : best[k];
          from[k] = more ? row : from[k];
        }
      }
      first = false;
    }
    const std::int64_t at = piece.bag * bags.width() + piece.column;
    writeRow(best.data(), piece.length, out, at);
    std::copy_n(from.data(), piece.length, rows + at);
  });
}

}  // namespace

bool areOffsets(const ArrayView& offsets, std::int64_t length) {
  std::int64_t before = 0;
  for (std::int64_t b = 0; b < offsets.shape[0]; ++b) {
    const std::int64_t here = offsetAt(offsets, b);
    if (b == 0 ? here != 0 : here < before || here > length) return false;
    before = here;
  }
  return true;
}

// Extras: the offsets of bags, of an index of one dim; factors of the rows.
void bag_sum(const LibraryCall& call) {
  Bags bags(call);
  const ArrayView& out = call.outputs[0];
  auto* counts = call.outputs[1].as<std::int64_t>();
  for (std::int64_t b = 0; b < bags.count; ++b) {
    counts[b] = bags.begin(b + 1) - bags.begin(b);
    if (bags.padding >= 0)
      for (std::int64_t p = bags.begin(b); p < bags.begin(b + 1); ++p) counts[b] -= bags.counts(p) ? 0 : 1;
  }
  const std::int64_t* divisors = bags.attrs.boolean() ? counts : nullptr;
  std::optional<Contiguous> weights;
  const std::size_t plain = call.inputs[1].shape.size() == 1 ? 3 : 2;
  if (call.inputs.size() > plain) weights.emplace(call.inputs[plain]);
  const void* factors = weights ? weights->as<void>() : nullptr;
  switch (out.dtype) {
  case DType::Float32:
    return sumAll<float>(bags, factors, divisors, out);
  case DType::Float64:
    return sumAll<double>(bags, factors, divisors, out);
  case DType::Float16:
    return sumAll<Half>(bags, factors, divisors, out);
  case DType::BFloat16:
    return sumAll<BFloat16>(bags, factors, divisors, out);
  default:
    return sumIntegers(bags, weights ? &weights->view() : nullptr, out);
  }
}

void bag_max(const LibraryCall& call) {
  const Bags bags(call);
  auto* rows = call.outputs[1].as<std::int64_t>();
  if (bags.dtype() == DType::Float64) return maxAll<double>(bags, call.outputs[0], rows);
  if (isFloating(bags.dtype())) return maxAll<float>(bags, call.outputs[0], rows);
  maxAll<std::int64_t>(bags, call.outputs[0], rows);
}

}  // namespace tandem::lib
