// The bodies of conv_kernel.h. Included by one file an instruction set, below the pragma that sets it, in a namespace
// of its own, below the vectors V (see gemm_body.h).

template <class V, int Rows, class T = typename V::Scalar>
void productRows(const PanelProduct<T>& p, std::int64_t first) {
  typename V::Vector acc[Rows][2];
  for (auto& row : acc) row[0] = row[1] = V::zero();
  // A pointer for four rows: one for each would not stay in registers, and the compiler is kept from making them.
  const std::int64_t lda = p.lda;
  const T* a0 = p.a + first * lda;
  const T* a4 = a0 + 4 * lda;
  const T* a8 = a4 + 4 * lda;
  const std::int64_t second = p.second;
  for (std::int64_t i = 0; i < p.k; ++i) {
    const T* b = p.b + p.offsets[i];
    const auto b0 = V::load(b);
    const auto b1 = V::load(b + second);
    asm("" : "+r"(a0), "+r"(a4), "+r"(a8));
    [&]<int... R>(std::integer_sequence<int, R...>) {
      const auto add = [&](typename V::Vector(&row)[2], const T* from) {
        const auto x = V::broadcast(*from);
        row[0] = V::fma(x, b0, row[0]);
        row[1] = V::fma(x, b1, row[1]);
      };
      (add(acc[R], (R < 4 ? a0 : R < 8 ? a4 : a8) + R % 4 * lda), ...);
    }(std::make_integer_sequence<int, Rows>());
    ++a0, ++a4, ++a8;
  }
  T* to = p.c + first * p.ldc;
  const std::int64_t ldc = p.ldc;
  const bool add = p.add;
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r, to += ldc) {
    const auto c0 = add ? V::add(V::load(to), acc[r][0]) : acc[r][0];
    const auto c1 = add ? V::add(V::load(to + second), acc[r][1]) : acc[r][1];
    V::store(to, c0);
    V::store(to + second, c1);
  }
}

template <class V, int Rows, class T = typename V::Scalar>
void productOf(const PanelProduct<T>& p, std::int64_t first, std::int64_t rows) {
  if constexpr (Rows > 0) {
    if (rows == Rows) return productRows<V, Rows>(p, first);
    productOf<V, Rows - 1>(p, first, rows);
  }
}

/// Rows in even shares: tiles of few rows keep the multipliers waiting.
template <class V, class T = typename V::Scalar>
void product(const PanelProduct<T>& p) {
  const std::int64_t tiles = (p.m + V::kRows - 1) / V::kRows;
  for (std::int64_t t = 0; t < tiles; ++t) {
    const std::int64_t first = t * p.m / tiles;
    productOf<V, V::kRows>(p, first, (t + 1) * p.m / tiles - first);
  }
}

template <class V, int Count, int Vectors, class T = typename V::Scalar>
void channelSums(const ChannelProduct<T>& p) {
  typename V::Vector acc[Count][Vectors];
  for (auto& row : acc)
    for (auto& v : row) v = V::zero();
  const T* panel = p.panel;
  for (std::int64_t i = 0; i < p.k; ++i, panel += Vectors * V::kLanes) {
    const T* b = p.b + p.offsets[i];
    typename V::Vector filters[Vectors];
    for (int v = 0; v < Vectors; ++v) filters[v] = V::load(panel + v * V::kLanes);
#pragma GCC unroll 16
    for (int w = 0; w < Count; ++w) {
      const auto x = V::broadcast(b[w]);
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) acc[w][v] = V::fma(x, filters[v], acc[w][v]);
    }
  }
  T* to = p.c;
  const bool add = p.add;
#pragma GCC unroll 16
  for (int w = 0; w < Count; ++w)
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v, to += V::kLanes) V::store(to, add ? V::add(V::load(to), acc[w][v]) : acc[w][v]);
}

/// With 32 registers 14 windows of two vectors fit in, with 16 of them 6.
template <class V>
constexpr int kWindows = V::kRows > 6 ? 14 : 6;

template <class V, int Count, int Vectors, class T = typename V::Scalar>
void channelSumsOf(const ChannelProduct<T>& p) {
  if (p.count == Count) return channelSums<V, Count, Vectors>(p);
  if constexpr (Count >= kWindows<V> / 2) channelSumsOf<V, Count - 1, Vectors>(p);
}

template <class V, int Rows, int Vectors, class T = typename V::Scalar>
void runSums(const RunSums<T>& s) {
  typename V::Vector acc[Rows][Vectors];
  for (auto& row : acc)
    for (auto& v : row) v = V::zero();
  // Rows beyond the last read what the last one reads; their sums are not stored.
  const T* from[Rows];
  for (int r = 0; r < Rows; ++r) from[r] = s.from[r < s.count ? r : s.count - 1];
  for (std::int64_t i = 0; i < s.runCount; ++i) {
    const auto [offset, length, row] = s.runs[i];
    const T* panel = s.panel + row * Vectors * V::kLanes;
    for (std::int64_t e = offset; e < offset + length; ++e) {
      typename V::Vector b[Vectors];
      for (int v = 0; v < Vectors; ++v) b[v] = V::load(panel + v * V::kLanes);
      panel += Vectors * V::kLanes;
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) {
        const auto x = V::broadcast(from[r][e]);
#pragma GCC unroll 2
        for (int v = 0; v < Vectors; ++v) acc[r][v] = V::fma(x, b[v], acc[r][v]);
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
    if (r < s.count)
      for (int v = 0; v < Vectors; ++v) {
        T* to = s.sums[r] + v * V::kLanes;
        V::store(to, s.add ? V::add(V::load(to), acc[r][v]) : acc[r][v]);
      }
}

/// By the tile that has room for the rows and little more.
template <class V, int Vectors, class T = typename V::Scalar>
void runSumsOf(const RunSums<T>& s) {
  if (s.count <= 3) return runSums<V, 3, Vectors>(s);
  if (s.count <= 6 || V::kRows <= 6) return runSums<V, 6, Vectors>(s);
  if constexpr (V::kRows > 6) {
    if (s.count <= 9) return runSums<V, 9, Vectors>(s);
    runSums<V, 12, Vectors>(s);
  }
}

/// Windows from w on, `Count` at a time while there are so many; returns where it ended.
template <class V, int Count, class T = typename V::Scalar>
std::int64_t planesWindows(const PlanesProduct<T>& p, std::int64_t w) {
  for (; w + Count <= p.count; w += Count) {
    typename V::Vector acc[Count];
    for (auto& v : acc) v = V::zero();
    const T* from = p.b + w * p.step;
    for (std::int64_t i = 0; i < p.k; ++i) {
      const T* b = from + p.offsets[i];
      const auto a = V::load(p.a + i * V::kLanes);
#pragma GCC unroll 8
      for (int x = 0; x < Count; ++x) acc[x] = V::fma(a, V::load(b + x * p.step), acc[x]);
    }
    for (int x = 0; x < Count; ++x) V::store(p.c + (w + x) * p.apart, acc[x]);
  }
  return w;
}
template <class V, class T = typename V::Scalar>
void planesProduct(const PlanesProduct<T>& p) {
  std::int64_t w = planesWindows<V, 7>(p, 0);
  w = planesWindows<V, 3>(p, w);
  planesWindows<V, 1>(p, w);
}

template <class V, int Taps, class T = typename V::Scalar>
void planesSumsOf(const PlanesSums<T>& s) {
  if constexpr (Taps > 0) {
    if (s.taps < Taps) return planesSumsOf<V, Taps - 1>(s);
    typename V::Vector acc[Taps];
    const T* b[Taps];
    for (int p = 0; p < Taps; ++p) acc[p] = V::load(s.sums + p * V::kLanes), b[p] = s.b + s.offsets[p];
    for (std::int64_t w = 0, at = 0; w < s.count; ++w, at += s.step) {
      const auto g = V::load(s.g + w * V::kLanes);
#pragma GCC unroll 16
      for (int p = 0; p < Taps; ++p) acc[p] = V::fma(g, V::load(b[p] + at), acc[p]);
    }
    for (int p = 0; p < Taps; ++p) V::store(s.sums + p * V::kLanes, acc[p]);
  }
}

template <class V, class T = typename V::Scalar>
ConvKernels<T> convKernelsOf() {
  return {V::kLanes,
          V::kRows,
          kWindows<V>,
          product<V>,
          [](const ChannelProduct<T>& p) {
            p.vectors == 1 ? channelSumsOf<V, kWindows<V>, 1>(p) : channelSumsOf<V, kWindows<V>, 2>(p);
          },
          [](const RunSums<T>& s) { s.vectors == 1 ? runSumsOf<V, 1>(s) : runSumsOf<V, 2>(s); },
          planesProduct<V>,
          planesSumsOf<V, kPlaneTaps>,
          turnedTo};
}
