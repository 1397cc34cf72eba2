// bag_sum, bag_max: what bags of rows of a table come to, read where they lie. Rows of a bag are taken in order, so the
// bits depend on neither threads nor vectors.
#include "runtime/lib/indexing/bags.h"

#include <algorithm>
#include <array>
#include <immintrin.h>
#include <optional>
#include <utility>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/clones.h"
#include "runtime/lib/expectation_errors.h"
#include "runtime/lib/half_vectors.h"
#include "runtime/lib/indexing/index_list.h"
#include "runtime/lib/matmul/half_rows.h"
#include "runtime/lib/strided.h"

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
  std::int64_t places() const { return places_; }
  DType dtype() const { return table.view().dtype; }
  bool counts(std::int64_t place) const { return rows_[place] != padding; }
  /// Calls `run` with a function for each of the runs of pieces, of at most kBand columns of a bag each, that threads
  /// take: it calls its argument with the pieces one after another.
  template <class F>
  void forPieces(const F& run) const;
  void forEachPiece(FunctionRef<void(const Piece&)> each) const {
    forPieces([&](const auto& pieces) { withAvx2([&]() TANDEM_IN_AVX2 { pieces(each); }); });
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
      rows_("embedding_bag", call.inputs[1], 0, call.inputs[0].shape[0], IndexRange::Elements) {}

template <class F>
void Bags::forPieces(const F& run) const {
  const std::int64_t bands = ceilDiv(width_, kBand);
  const std::int64_t work = std::min(width_, kBand) * (1 + places_ / std::max<std::int64_t>(count, 1));
  parallelFor(count * bands, grainOf(work), [&](std::int64_t first, std::int64_t last) {
    run([&](const auto& each) TANDEM_IN_AVX2 {
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

/// What elements of `T` are summed in, of so many bytes: a register of the processor, which longer vectors would not
/// stay in; of float16 32, as many as are widened at once.
template <class T, std::int64_t Bytes>
struct Lanes {
  using Scalar = std::conditional_t<std::is_same_v<T, double>, double, float>;
  static constexpr std::int64_t kCount = Bytes / sizeof(Scalar);
  typedef Scalar Vector __attribute__((vector_size(Bytes)));
  TANDEM_IN_AVX2 static void load(const Scalar* x, Vector& v) { std::memcpy(&v, x, sizeof v); }
  TANDEM_IN_AVX2 static void load(const Half* x, Vector& v) { v = floatsAt(x); }
  TANDEM_IN_AVX2 static void store(Scalar* to, const Vector& v) { std::memcpy(to, &v, sizeof v); }
};

/// Of two neighbours in a word of bfloat16 each half is one float32: those of even and of odd columns are summed apart.
template <std::int64_t Bytes>
struct FloatPairs {
  typedef float Floats __attribute__((vector_size(Bytes)));
  Floats even, odd;
  TANDEM_IN_AVX2 FloatPairs& operator+=(const FloatPairs& o) {
    even += o.even;
    odd += o.odd;
    return *this;
  }
  TANDEM_IN_AVX2 friend FloatPairs operator*(float factor, const FloatPairs& x) {
    return {factor * x.even, factor * x.odd};
  }
};
template <std::int64_t Bytes>
struct Lanes<BFloat16, Bytes> {
  using Scalar = float;
  using Vector = FloatPairs<Bytes>;
  typedef std::uint32_t Words __attribute__((vector_size(Bytes)));
  static constexpr std::int64_t kCount = sizeof(Vector) / sizeof(Scalar);
  TANDEM_IN_AVX2 static void load(const BFloat16* x, Vector& v) {
    Words words;
    std::memcpy(&words, x, sizeof words);
    v.even = (typename Vector::Floats)(words << 16);
    v.odd = (typename Vector::Floats)(words & 0xffff0000);
  }
  TANDEM_IN_AVX2 static void store(float* to, const Vector& v) { store(to, v, std::make_index_sequence<kCount / 2>()); }

 private:
  template <std::size_t... K>
  TANDEM_IN_AVX2 static void store(float* to, const Vector& v, std::index_sequence<K...>) {
    constexpr int half = kCount / 2;
    const typename Vector::Floats low =
        __builtin_shufflevector(v.even, v.odd, (static_cast<int>(K) / 2 + static_cast<int>(K) % 2 * half)...);
    const typename Vector::Floats high = __builtin_shufflevector(
        v.even, v.odd, (half / 2 + static_cast<int>(K) / 2 + static_cast<int>(K) % 2 * half)...);
    std::memcpy(to, &low, sizeof low);
    std::memcpy(to + half, &high, sizeof high);
  }
};

/// sums = the sum of the rows of a piece of a table of `T`, each times its factor where there are such, of `Vectors`
/// vectors of columns from `i` on.
template <class T, std::int64_t Bytes, int Vectors>
TANDEM_IN_AVX2 inline void sumRows(const Bags& bags, const T* factors, const Piece& piece, std::int64_t i,
                                   typename Lanes<T, Bytes>::Scalar* sums) {
  using L = Lanes<T, Bytes>;
  const auto* table = bags.table.as<const T>() + piece.column + i;
  const std::int64_t* rows = bags.rows();
  const std::int64_t width = bags.width(), padding = bags.padding, end = piece.end, last = bags.places();
  // Unrolled, for the sums to stay in registers.
  typename L::Vector sum[Vectors] = {};
  for (std::int64_t p = piece.begin; p < end; ++p) {
    // Those of the bags behind too, which short bags do not reach otherwise.
    if (p + kAhead < last) {
      const auto* next = reinterpret_cast<const char*>(table + rows[p + kAhead] * width);
      for (std::size_t line = 0; line < sizeof(T) * Vectors * L::kCount; line += 64) __builtin_prefetch(next + line);
    }
    if (rows[p] == padding) continue;
    const T* row = table + rows[p] * width;
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
template <class T, std::int64_t Bytes>
TANDEM_IN_AVX2 inline void sumPiece(const Bags& bags, const T* factors, const Piece& piece,
                                    typename Lanes<T, Bytes>::Scalar* sums) {
  using L = Lanes<T, Bytes>;
  constexpr int together = 8 * Bytes / sizeof(typename L::Vector);
  std::int64_t i = 0;
  // So many vectors at once while more than `least` columns are left: the last ones have some columns once more.
  auto take = [&]<int Vectors>(std::integral_constant<int, Vectors>, std::int64_t least) TANDEM_IN_AVX2 {
    constexpr std::int64_t width = Vectors * L::kCount;
    if (piece.length < width) return;
    for (; piece.length - i > least; i += width)
      sumRows<T, Bytes, Vectors>(bags, factors, piece, std::min(i, piece.length - width), sums);
  };
  take(std::integral_constant<int, together>(), L::kCount);
  take(std::integral_constant<int, 1>(), 0);
  for (; i < piece.length; ++i) {
    typename L::Scalar sum = 0;
    for (std::int64_t p = piece.begin; p < piece.end; ++p)
      if (bags.counts(p))
        sum += (factors == nullptr ? 1 : Element<T>::load(factors[p])) *
               Element<T>::load(bags.table.as<const T>()[bags.rows()[p] * bags.width() + piece.column + i]);
    sums[i] = sum;
  }
}

/// The sums of all bags, divided by the `counts` of their rows where there are such.
template <class T, std::int64_t Bytes>
TANDEM_IN_AVX2 inline void sumSome(const Bags& bags, const T* factors, const std::int64_t* counts, const ArrayView& out,
                                   const auto& pieces) {
  using C = typename Lanes<T, Bytes>::Scalar;
  pieces([&](const Piece& piece) TANDEM_IN_AVX2 {
    std::array<C, kBand> buffer;
    const std::int64_t at = piece.bag * bags.width() + piece.column;
    C* sums = sizeof(T) < sizeof(C) ? buffer.data() : out.as<C>() + at;
    sumPiece<T, Bytes>(bags, factors, piece, sums);
    if (counts != nullptr && counts[piece.bag] > 1)
      for (std::int64_t k = 0; k < piece.length; ++k) sums[k] /= static_cast<C>(counts[piece.bag]);
    if constexpr (std::is_same_v<T, Half>) narrow(sums, out.as<Half>() + at, piece.length);
    if constexpr (std::is_same_v<T, BFloat16>) narrow(sums, out.as<BFloat16>() + at, piece.length);
  });
}
template <class T>
void sumAll(const Bags& bags, const void* memory, const std::int64_t* counts, const ArrayView& out) {
  const auto* factors = static_cast<const T*>(memory);
  bags.forPieces([&](const auto& pieces) {
    // float16 is widened to vectors of AVX2.
    if constexpr (!std::is_same_v<T, Half>)
      if (hasAvx512()) return withAvx512([&]() TANDEM_IN_AVX2 { sumSome<T, 64>(bags, factors, counts, out, pieces); });
    withAvx2([&]() TANDEM_IN_AVX2 { sumSome<T, 32>(bags, factors, counts, out, pieces); });
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
