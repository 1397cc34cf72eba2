// The kernels of attention (see attention.h), on the tiles of gemm_body.h that the product's files have. Included by
// one file an instruction set, behind gemm_body.h. Loops over kSumLanes elements are written so that the compiler makes
// vectors of them; sums have that many chains on every instruction set, combined by halving.

inline constexpr std::int64_t kSumLanes = 16;

// e^x for x <= 0, by 2^n times a Taylor polynomial on [-ln 2 / 2, ln 2 / 2]: within 1 ULP. Exponents below the normal
// range give zero; NaN stays.
inline float expNegative(float x) {
  constexpr float kShift = 12582912.0F;
  float shifted = x * 1.44269504F + kShift;
  float n = shifted - kShift;
  float r = __builtin_fmaf(n, -0.693359375F, x);
  r = __builtin_fmaf(n, 2.12194440e-4F, r);
  float p = 1.98412698e-4F;
  p = __builtin_fmaf(p, r, 1.38888889e-3F);
  p = __builtin_fmaf(p, r, 8.33333333e-3F);
  p = __builtin_fmaf(p, r, 4.16666667e-2F);
  p = __builtin_fmaf(p, r, 1.66666667e-1F);
  p = __builtin_fmaf(p, r, 0.5F);
  p = __builtin_fmaf(p, r, 1.0F);
  p = __builtin_fmaf(p, r, 1.0F);
  float scale = __builtin_bit_cast(float, (__builtin_bit_cast(std::int32_t, shifted) + 127) << 23);
  float y = p * scale;
  return x < -87.3F ? 0.0F : y;
}
inline double expNegative(double x) {
  constexpr double kShift = 6755399441055744.0;
  double shifted = x * 1.44269504088896340736 + kShift;
  double n = shifted - kShift;
  double r = __builtin_fma(n, -0.69314718036912381649, x);
  r = __builtin_fma(n, -1.90821492927058770002e-10, r);
  double p = 1.6059043836821613e-10;
  p = __builtin_fma(p, r, 2.08767569878681e-9);
  p = __builtin_fma(p, r, 2.505210838544172e-8);
  p = __builtin_fma(p, r, 2.755731922398589e-7);
  p = __builtin_fma(p, r, 2.7557319223985893e-6);
  p = __builtin_fma(p, r, 2.48015873015873e-5);
  p = __builtin_fma(p, r, 1.984126984126984e-4);
  p = __builtin_fma(p, r, 1.388888888888889e-3);
  p = __builtin_fma(p, r, 8.333333333333333e-3);
  p = __builtin_fma(p, r, 4.1666666666666664e-2);
  p = __builtin_fma(p, r, 1.6666666666666666e-1);
  p = __builtin_fma(p, r, 0.5);
  p = __builtin_fma(p, r, 1.0);
  p = __builtin_fma(p, r, 1.0);
  double scale = __builtin_bit_cast(double, (__builtin_bit_cast(std::int64_t, shifted) + 1023) << 52);
  double y = p * scale;
  return x < -708.3 ? 0.0 : y;
}

template <class T>
inline constexpr T kMinusInfinity = -__builtin_huge_valf();

/// Does dropout keep this element?
template <class T, class E>
bool keeps(const AttentionProblem<T, E>& p, std::int64_t b, std::int64_t h, std::int64_t row, std::int64_t key) {
  return p.keeps(p.drop, ((b * p.heads + h) * p.rows + row) * p.keys + key);
}

/// Adds what the mask says of `count` scores, the first of which is of this row and key and the next ones of the keys,
/// or rows, after it: 0 or -infinity where it is a bool one.
template <class M, class T>
void addMask(const M* mask, std::int64_t step, T* scores, std::int64_t count) {
  auto added = [](M m) {
    if constexpr (std::is_same_v<M, bool>) {  // by its bits: no branch, which would be guessed wrong
      using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
      const Bits seen = m;
      return __builtin_bit_cast(T, (seen - 1) & __builtin_bit_cast(Bits, kMinusInfinity<T>));
    } else {
      return m;
    }
  };
  if (step == 1)
    for (std::int64_t j = 0; j < count; ++j) scores[j] += added(mask[j]);
  else
    for (std::int64_t j = 0; j < count; ++j) scores[j] += added(mask[j * step]);
}
template <class T, class E>
void addMask(const AttentionProblem<T, E>& p, std::int64_t b, std::int64_t h, std::int64_t row, std::int64_t key,
             bool alongKeys, T* scores, std::int64_t count) {
  const std::int64_t at = b * p.maskStrides[0] + h * p.maskStrides[1] + row * p.maskStrides[2] + key * p.maskStrides[3];
  const std::int64_t step = p.maskStrides[alongKeys ? 3 : 2];
  if (p.maskKind == MaskKind::Bool) addMask(static_cast<const bool*>(p.mask) + at, step, scores, count);
  if (p.maskKind == MaskKind::Added) addMask(static_cast<const T*>(p.mask) + at, step, scores, count);
}

/// c = or += a[rows][k] times the first k of the `depth` rows that were packed.
template <class V, class T = typename V::Scalar>
void timesPanels(std::int64_t rows, std::int64_t columns, std::int64_t k, const T* a, std::int64_t lda, const T* panels,
                 std::int64_t depth, T* c, std::int64_t ldc, bool add) {
  constexpr std::int64_t width = 2 * V::kLanes;
  for (std::int64_t j = 0; j < columns; j += width)
    rowsTimesPanel(rows, std::min(width, columns - j), k, {a, lda, 0, 0, false}, panels + j * depth, c + j, ldc, add);
}

/// The elements of a vector combined by halving, by an operation of two vectors and of two elements.
template <class Vector, class Operation, std::size_t... kHalf>
[[gnu::always_inline]] inline auto halve(const Vector& v, Operation operation, std::index_sequence<kHalf...>) {
  constexpr int n = sizeof...(kHalf);
  if constexpr (n == 1) {
    return operation(v[0], v[1]);
  } else {
    const auto half =
        operation(__builtin_shufflevector(v, v, int{kHalf}...), __builtin_shufflevector(v, v, n + int{kHalf}...));
    return halve(half, operation, std::make_index_sequence<n / 2>());
  }
}

/// kSumLanes chains in registers.
template <class V>
struct Lanes {
  using T = typename V::Scalar;
  static constexpr int kVectors = static_cast<int>(kSumLanes) / V::kLanes;
  typename V::Vector vectors[kVectors];

  explicit Lanes(T all) {
    for (auto& v : vectors) v = V::broadcast(all);
  }
  template <class Operation>
  [[gnu::always_inline]] void take(const T* from, Operation operation) {
    for (int v = 0; v < kVectors; ++v) vectors[v] = operation(vectors[v], V::load(from + v * V::kLanes));
  }
  template <class Operation>
  [[gnu::always_inline]] T combined(Operation operation) {
    for (int n = kVectors / 2; n > 0; n /= 2)
      for (int v = 0; v < n; ++v) vectors[v] = operation(vectors[v], vectors[v + n]);
    return halve(vectors[0], operation, std::make_index_sequence<V::kLanes / 2>());
  }
};
// Operations of Lanes.
constexpr auto kSum = [](auto a, auto b) __attribute__((always_inline)) { return a + b; };
constexpr auto kLarger = [](auto a, auto b) __attribute__((always_inline)) { return b > a ? b : a; };

/// So much of whole lanes behind the scores as is none is -infinity.
template <class T>
void fillLanes(T* s, std::int64_t count) {
  for (; count % kSumLanes != 0; ++count) s[count] = kMinusInfinity<T>;
}
/// The largest score. A NaN is passed over (the exponentials' sum shows it) unless all others are -infinity.
template <class V, class T = typename V::Scalar>
T largest(const T* s, std::int64_t count) {
  Lanes<V> lanes(kMinusInfinity<T>);
  for (std::int64_t i = 0; i < count; i += kSumLanes) lanes.take(s + i, kLarger);
  T best = lanes.combined(kLarger);
  for (std::int64_t i = 0; best == kMinusInfinity<T> && i < count; ++i) best = s[i] != s[i] ? s[i] : best;
  return best;
}
/// s = e^(s * scale - m), and their sum.
template <class V, class T = typename V::Scalar>
T exponentials(T* s, std::int64_t count, T scale, T m) {
  Lanes<V> lanes(0);
  for (std::int64_t i = 0; i < count; i += kSumLanes) {
    for (std::int64_t l = 0; l < kSumLanes; ++l) s[i + l] = expNegative(s[i + l] * scale - m);
    lanes.take(s + i, kSum);
  }
  return lanes.combined(kSum);
}

/// The products of a chunk of rows of one head with blocks of keys, and of values.
template <class V, class E>
class ForwardProducts {
  using T = typename V::Scalar;

 public:
  ForwardProducts(const AttentionProblem<T>& p, std::int64_t b, std::int64_t h, std::int64_t /*row*/,
                  std::int64_t /*end*/, T* scratch)
      : p_(p), query_(p.query.at(b, h)), key_(p.key.at(b, h / p.group())), value_(p.value.at(b, h / p.group())),
        keys_(scratch), values_(scratch + kForwardKeys<E> * p.width) {}

  /// The block of `count` keys from `first` on is the next one's.
  void pack(std::int64_t first, std::int64_t count) {
    count_ = count;
    packColumns(Matrix<T>{key_ + first * p_.key.strides[2], 1, p_.key.strides[2]}, p_.width, count, keys_);
    packColumns(Matrix<T>{value_ + first * p_.value.strides[2], p_.value.strides[2], 1}, count, p_.valueWidth, values_);
  }
  /// s[rows][kForwardKeys<E>] = the products of rows from `first` on and of the first `keys`.
  void scores(std::int64_t first, std::int64_t rows, std::int64_t keys, T* s) const {
    timesPanels<V>(rows, keys, p_.width, query_ + first * p_.query.strides[2], p_.query.strides[2], keys_, p_.width, s,
                   kForwardKeys<E>, false);
  }
  /// sums[rows][valueWidth] += s times the first `keys` values.
  void addWeighted(const T* s, std::int64_t rows, std::int64_t keys, T* sums) const {
    timesPanels<V>(rows, p_.valueWidth, keys, s, kForwardKeys<E>, values_, count_, sums, p_.valueWidth, true);
  }

 private:
  const AttentionProblem<T>& p_;
  const T *query_, *key_, *value_;
  T *keys_, *values_;
  std::int64_t count_ = 0;
};

/// In groups. Sums are added here: tiles take subnormal numbers for zeros, and sums that shrink may become such.
template <class V>
class ForwardProducts<V, BFloat16> {
 public:
  ForwardProducts(const AttentionProblem<float, BFloat16>& p, std::int64_t b, std::int64_t h, std::int64_t row,
                  std::int64_t end, float* scratch)
      : p_(p), width_(wholeGroups(p.width)), valueWidth_(wholeGroups(p.valueWidth)), row_(row),
        query_(p.query.at(b, h) + row * p.query.strides[2]), queryStep_(p.query.strides[2]),
        key_(p.key.at(b, h / p.group())), value_(p.value.at(b, h / p.group())) {
    const auto take = [&scratch](std::int64_t words) { return std::exchange(scratch, scratch + words); };
    keys_ = reinterpret_cast<Pair*>(take(kForwardKeys<BFloat16> / 2 * width_));
    values_ = reinterpret_cast<Pair*>(take(kForwardKeys<BFloat16> / 2 * valueWidth_));
    weights_ = reinterpret_cast<BFloat16*>(take(kForwardRows<BFloat16> * kForwardKeys<BFloat16> / 2));
    added_ = take(kForwardRows<BFloat16> * valueWidth_);
    if (p.width != width_) {
      query_ =
          denseRows({query_, queryStep_, 1}, end - row, p.width, reinterpret_cast<BFloat16*>(scratch), width_).data;
      queryStep_ = width_;
    }
    queryExponent_ = exponent(end - row, width_, query_, queryStep_);
  }

  void pack(std::int64_t first, std::int64_t count) {
    count_ = count;
    packGroupPanels({key_ + first * p_.key.strides[2], 1, p_.key.strides[2]}, p_.width, 0, count, keys_);
    packGroupPanels({value_ + first * p_.value.strides[2], p_.value.strides[2], 1}, count, 0, p_.valueWidth, values_);
    const std::int64_t keys = wholeGroups(count);
    forScores_ = kernels_.forExponents(queryExponent_, exponent(keys, width_, elements(keys_), width_));
    // Exponentials that are smaller add too little to be seen, if values are not of very different sizes, and none of
    // what others add is subnormal.
    const auto [least, most] = exponentsOf(keys, valueWidth_, elements(values_), valueWidth_);
    leavesOut_ = least + kLeastExponent >= kSafeExponents && most - least <= kLeastExponent - 20;
    forWeighted_ = leavesOut_ ? kernels_.fast : kernels_.exact;
  }
  void scores(std::int64_t first, std::int64_t rows, std::int64_t keys, float* s) const {
    forScores_({.rows = rows,
                .groups = width_ / kGroup,
                .a = query_ + (first - row_) * queryStep_,
                .lda = queryStep_,
                .panels = keys_,
                .count = wholeGroups(keys) / kGroupColumns,
                .panelStride = width_ / 2 * kGroupColumns,
                .c = s,
                .ldc = kForwardKeys<BFloat16>,
                .last = lastOfGroups(p_.width)});
  }
  void addWeighted(float* s, std::int64_t rows, std::int64_t keys, float* sums) const {
    const std::int64_t whole = wholeGroups(keys);
    for (std::int64_t i = 0; i < rows; ++i) {
      float* const line = s + i * kForwardKeys<BFloat16>;
      for (std::int64_t j = keys; j < whole; ++j) line[j] = 0;
      narrow(line, weights_ + i * kForwardKeys<BFloat16>, whole);
      if (!leavesOut_) continue;
      auto* const bits = reinterpret_cast<std::uint16_t*>(weights_ + i * kForwardKeys<BFloat16>);
      for (std::int64_t j = 0; j < whole; ++j) bits[j] = bits[j] < kLeastExponent << 7 ? 0 : bits[j];
    }
    forWeighted_({.rows = rows,
                  .groups = whole / kGroup,
                  .a = weights_,
                  .lda = kForwardKeys<BFloat16>,
                  .panels = values_,
                  .count = valueWidth_ / kGroupColumns,
                  .panelStride = wholeGroups(count_) / 2 * kGroupColumns,
                  .c = added_,
                  .ldc = valueWidth_,
                  .last = lastOfGroups(keys)});
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < p_.valueWidth; ++j) sums[i * p_.valueWidth + j] += added_[i * valueWidth_ + j];
  }

 private:
  static constexpr int kLeastExponent = 63;
  static const BFloat16* elements(const Pair* pairs) { return reinterpret_cast<const BFloat16*>(pairs); }
  int exponent(std::int64_t rows, std::int64_t columns, const BFloat16* from, std::int64_t ld) const {
    return kernels_.flush() ? smallestExponent(rows, columns, from, ld) : 0;
  }

  const AttentionProblem<float, BFloat16>& p_;
  const GroupKernels& kernels_ = groupKernels();
  std::int64_t width_, valueWidth_, row_;
  const BFloat16* query_;
  std::int64_t queryStep_;
  const BFloat16 *key_, *value_;
  Pair *keys_, *values_;
  BFloat16* weights_;  // [kForwardRows][kForwardKeys<BFloat16>]
  float* added_;       // [kForwardRows][valueWidth_]
  std::int64_t count_ = 0;
  int queryExponent_;
  bool leavesOut_ = false;
  GroupTileFn forScores_ = nullptr, forWeighted_ = nullptr;
};

template <class V, class E, class T = typename V::Scalar>
void attentionForwardChunk(const AttentionProblem<T, E>& p, std::int64_t b, std::int64_t h, std::int64_t row,
                           std::int64_t end, T* stats, T* scratch) {
  auto scale = static_cast<T>(p.scale);
  const bool late = p.maskKind == MaskKind::None && scale > 0;  // the largest score is that of the largest product
  std::int64_t e = p.valueWidth;
  T* s = scratch;
  T* best = s + kForwardRows<E> * kForwardKeys<E>;
  T* total = best + kForwardChunk<E>;
  T* sums = total + kForwardChunk<E>;
  ForwardProducts<V, E> products(p, b, h, row, end, sums + kForwardChunk<E> * e);
  for (std::int64_t i = 0; i < end - row; ++i) best[i] = kMinusInfinity<T>, total[i] = 0;
  for (std::int64_t i = 0; i < (end - row) * e; ++i) sums[i] = 0;

  for (std::int64_t k0 = 0, last = p.visible(end); k0 < last; k0 += kForwardKeys<E>) {
    std::int64_t keys = std::min(kForwardKeys<E>, last - k0);
    products.pack(k0, keys);
    for (std::int64_t r0 = row; r0 < end; r0 += kForwardRows<E>) {
      std::int64_t rows = std::min(kForwardRows<E>, end - r0);
      std::int64_t seen = std::min(keys, p.visible(r0 + rows) - k0);
      if (seen <= 0) continue;
      products.scores(r0, rows, seen, s);
      for (std::int64_t i = 0; i < rows; ++i) {
        T* line = s + i * kForwardKeys<E>;
        std::int64_t at = r0 + i - row;
        std::int64_t count = std::min(seen, p.visible(r0 + i + 1) - k0);
        if (count < 0) count = 0;
        if (!late) {
          for (std::int64_t j = 0; j < count; ++j) line[j] *= scale;
          addMask(p, b, h, r0 + i, k0, true, line, count);
        }
        fillLanes(line, count);
        T m = largest<V>(line, count) * (late ? scale : T{1});
        m = m > best[at] || m != m ? m : best[at];
        if (m == kMinusInfinity<T>) {  // nothing to attend to so far
          for (std::int64_t j = 0; j < seen; ++j) line[j] = 0;
          continue;
        }
        const T shrink = best[at] == m ? T{1} : expNegative(best[at] - m);
        best[at] = m;
        total[at] = total[at] * shrink + exponentials<V>(line, count, late ? scale : T{1}, m);
        for (std::int64_t j = count; j < seen; ++j) line[j] = 0;
        if (p.drops)
          for (std::int64_t j = 0; j < count; ++j)
            line[j] = keeps(p, b, h, r0 + i, k0 + j) ? line[j] * static_cast<T>(p.drop.scale) : T{0};
        if (shrink != 1)
          for (std::int64_t j = 0; j < e; ++j) sums[at * e + j] *= shrink;
      }
      products.addWeighted(s, rows, seen, sums + (r0 - row) * e);
    }
  }
  T* out = p.resultAt(0, b, h) + row * p.resultStrides[0][2];
  for (std::int64_t i = 0; i < end - row; ++i, out += p.resultStrides[0][2]) {
    T inverse = best[i] == kMinusInfinity<T> ? T{0} : 1 / total[i];
    for (std::int64_t j = 0; j < e; ++j) out[j] = sums[i * e + j] * inverse;
    stats[(row + i) * 2] = best[i];
    stats[(row + i) * 2 + 1] = inverse;
  }
}

/// The rows of one block as the products of the backward read them.
template <class T>
struct PackedRows {
  T *query, *grad;            // [rows][width] panels
  T *queryT, *gradT;          // [width][rows] panels
  T *best, *inverse, *inner;  // of each row: its statistics, and the sum of grad * output
  PackedRows(const AttentionProblem<T>& p, T* at) {
    auto take = [&at](std::int64_t n) {
      T* block = at;
      at += n;
      return block;
    };
    query = take(kBackwardRows * wholePanels(p.width));
    grad = take(kBackwardRows * wholePanels(p.valueWidth));
    queryT = take(kBackwardRows * p.width);
    gradT = take(kBackwardRows * p.valueWidth);
    best = take(kBackwardRows);
    inverse = take(kBackwardRows);
    inner = take(kBackwardRows);
  }
  static std::int64_t size(const AttentionProblem<T>& p) {
    return kBackwardRows * (p.width + p.valueWidth + wholePanels(p.width) + wholePanels(p.valueWidth)) +
           3 * kBackwardRows;
  }
};

template <class V, class T = typename V::Scalar>
void packRowBlock(const AttentionProblem<T>& p, std::int64_t b, std::int64_t h, std::int64_t r0, std::int64_t rows,
                  const PackedRows<T>& to) {
  std::int64_t e = p.valueWidth;
  const T* q = p.query.at(b, h) + r0 * p.query.strides[2];
  const T* g = p.grad.at(b, h) + r0 * p.grad.strides[2];
  const T* o = p.output.at(b, h) + r0 * p.output.strides[2];
  packColumns(Matrix<T>{q, p.query.strides[2], 1}, rows, p.width, to.query);
  packColumns(Matrix<T>{g, p.grad.strides[2], 1}, rows, e, to.grad);
  packColumns(Matrix<T>{q, 1, p.query.strides[2]}, p.width, rows, to.queryT);
  packColumns(Matrix<T>{g, 1, p.grad.strides[2]}, e, rows, to.gradT);
  const T* stats = p.stats + ((b * p.heads + h) * p.rows + r0) * 2;
  for (std::int64_t i = 0; i < rows; ++i) {
    // A row that attends to nothing has no exponentials: any finite maximum will do.
    to.best[i] = stats[2 * i] == kMinusInfinity<T> ? T{0} : stats[2 * i];
    to.inverse[i] = stats[2 * i + 1];
    Lanes<V> lanes(0);
    const T* x = g + i * p.grad.strides[2];
    const T* y = o + i * p.output.strides[2];
    alignas(64) T products[kSumLanes];
    for (std::int64_t j = 0; j < e; j += kSumLanes) {
      const std::int64_t count = std::min(kSumLanes, e - j);
      for (std::int64_t l = 0; l < count; ++l) products[l] = x[j + l] * y[j + l];
      for (std::int64_t l = count; l < kSumLanes; ++l) products[l] = 0;
      lanes.take(products, kSum);
    }
    to.inner[i] = lanes.combined(kSum);
  }
}

/// Of `keys` x `rows` scores s and products t = value . grad: s becomes the probabilities (with dropout), t the
/// cotangents of the scores.
template <class T>
void scoreCotangents(const AttentionProblem<T>& p, std::int64_t b, std::int64_t h, std::int64_t k0, std::int64_t keys,
                     std::int64_t r0, std::int64_t rows, const PackedRows<T>& packed, T* s, T* t) {
  auto scale = static_cast<T>(p.scale);
  for (std::int64_t j = 0; j < keys; ++j) {
    T* x = s + j * kBackwardRows;
    T* y = t + j * kBackwardRows;
    for (std::int64_t i = 0; i < rows; ++i) x[i] *= scale;
    addMask(p, b, h, r0, k0 + j, false, x, rows);
    if (p.causal)
      for (std::int64_t i = 0; i < std::min(rows, k0 + j - r0); ++i) x[i] = kMinusInfinity<T>;
    for (std::int64_t i = 0; i < rows; ++i) x[i] = expNegative(x[i] - packed.best[i]) * packed.inverse[i];
    if (!p.drops) {
      for (std::int64_t i = 0; i < rows; ++i) y[i] = x[i] * (y[i] - packed.inner[i]) * scale;
      continue;
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      T keep = keeps(p, b, h, r0 + i, k0 + j) ? static_cast<T>(p.drop.scale) : T{0};
      y[i] = x[i] * (y[i] * keep - packed.inner[i]) * scale;
      x[i] *= keep;
    }
  }
}

template <class V, class T = typename V::Scalar>
void attentionBackwardChunk(const AttentionProblem<T>& p, std::int64_t b, std::int64_t shared, std::int64_t key,
                            std::int64_t end, T* queryGrad, T* scratch) {
  const T* k = p.key.at(b, shared);
  const T* v = p.value.at(b, shared);
  T* keyGrad = p.resultAt(1, b, shared);
  T* valueGrad = p.resultAt(2, b, shared);
  std::int64_t queryStep = p.resultStrides[0][2], keyStep = p.resultStrides[1][2], valueStep = p.resultStrides[2][2];
  std::int64_t blocks = (p.rows + kBackwardRows - 1) / kBackwardRows;
  std::int64_t packedSize = PackedRows<T>::size(p);
  T* keyPanels = scratch + blocks * packedSize;
  T* s = keyPanels + kBackwardKeys * wholePanels(p.width);
  T* t = s + kBackwardKeys * kBackwardRows;
  T* turned = t + kBackwardKeys * kBackwardRows;
  for (std::int64_t g = 0; g < p.group(); ++g) {
    std::int64_t h = shared * p.group() + g;
    T* to = queryGrad + b * p.resultStrides[0][0] + h * p.resultStrides[0][1];
    for (std::int64_t block = 0; block < blocks; ++block) {
      std::int64_t r0 = block * kBackwardRows;
      std::int64_t rows = std::min(kBackwardRows, p.rows - r0);
      if (p.visible(r0 + rows) > key)
        packRowBlock<V>(p, b, h, r0, rows, PackedRows<T>(p, scratch + block * packedSize));
    }
    for (std::int64_t k0 = key; k0 < end; k0 += kBackwardKeys) {
      std::int64_t keys = std::min(kBackwardKeys, end - k0);
      packColumns(Matrix<T>{k + k0 * p.key.strides[2], p.key.strides[2], 1}, keys, p.width, keyPanels);
      bool first = g == 0;
      for (std::int64_t block = 0; block < blocks; ++block) {
        std::int64_t r0 = block * kBackwardRows;
        std::int64_t rows = std::min(kBackwardRows, p.rows - r0);
        if (p.visible(r0 + rows) <= k0) continue;
        PackedRows<T> packed(p, scratch + block * packedSize);
        timesPanels<V>(keys, rows, p.width, k + k0 * p.key.strides[2], p.key.strides[2], packed.queryT, p.width, s,
                       kBackwardRows, false);
        timesPanels<V>(keys, rows, p.valueWidth, v + k0 * p.value.strides[2], p.value.strides[2], packed.gradT,
                       p.valueWidth, t, kBackwardRows, false);
        scoreCotangents(p, b, h, k0, keys, r0, rows, packed, s, t);
        timesPanels<V>(keys, p.valueWidth, rows, s, kBackwardRows, packed.grad, rows, valueGrad + k0 * valueStep,
                       valueStep, !first);
        timesPanels<V>(keys, p.width, rows, t, kBackwardRows, packed.query, rows, keyGrad + k0 * keyStep, keyStep,
                       !first);
        first = false;
        turnedTo(t, kBackwardRows, turned, kBackwardKeys, rows, keys);
        timesPanels<V>(rows, p.width, keys, turned, kBackwardKeys, keyPanels, keys, to + r0 * queryStep, queryStep,
                       true);
      }
    }
  }
}
