// Orthogonal polynomials of many elements of one degree, each by itself, in sums of two numbers; compiled once an
// instruction set, with the same bits. Included inside a file's own namespace, below the pragma that sets it, which
// has:
//
//   Vector, Integers   of as many lanes, of double and std::int64_t
//   fma(a, b, c), any(Integers)
//   kVectors            how many of them the registers hold side by side

constexpr int kOfVector = sizeof(Vector) / sizeof(double);

/// `n` vectors, whose chains of operations run side by side.
template <int n>
struct Many {
  Vector v[n];
};
template <int n, class F>
[[gnu::always_inline]] inline Many<n> each(F f) {
  Many<n> out;
#pragma GCC unroll 4
  for (int i = 0; i < n; ++i) out.v[i] = f(i);
  return out;
}
template <int n>
[[gnu::always_inline]] inline Many<n> all(double x) {
  return each<n>([&](int) { return x - Vector{}; });
}
template <int n>
[[gnu::always_inline]] inline Many<n> operator+(const Many<n>& a, const Many<n>& b) {
  return each<n>([&](int i) { return a.v[i] + b.v[i]; });
}
template <int n>
[[gnu::always_inline]] inline Many<n> operator-(const Many<n>& a, const Many<n>& b) {
  return each<n>([&](int i) { return a.v[i] - b.v[i]; });
}
template <int n>
[[gnu::always_inline]] inline Many<n> operator-(const Many<n>& a) {
  return each<n>([&](int i) { return -a.v[i]; });
}
template <int n>
[[gnu::always_inline]] inline Many<n> operator*(const Many<n>& a, const Many<n>& b) {
  return each<n>([&](int i) { return a.v[i] * b.v[i]; });
}
template <int n>
[[gnu::always_inline]] inline Many<n> operator/(const Many<n>& a, double b) {
  return each<n>([&](int i) { return a.v[i] / b; });
}
template <int n>
[[gnu::always_inline]] inline Many<n> fma(const Many<n>& a, const Many<n>& b, const Many<n>& c) {
  return each<n>([&](int i) { return fma(a.v[i], b.v[i], c.v[i]); });
}

/// An unevaluated sum, |lo| at most half an ULP of hi.
template <int n>
struct Two {
  Many<n> hi, lo;
};
template <int n>
[[gnu::always_inline]] inline Two<n> fastSum(const Many<n>& a, const Many<n>& b) {
  const Many<n> s = a + b;
  return {s, b - (s - a)};
}
template <int n>
[[gnu::always_inline]] inline Two<n> sum(const Many<n>& a, const Many<n>& b) {
  const Many<n> s = a + b;
  const Many<n> t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}
template <int n>
[[gnu::always_inline]] inline Two<n> operator-(const Two<n>& a) {
  return {-a.hi, -a.lo};
}
template <int n>
[[gnu::always_inline]] inline Two<n> operator+(const Two<n>& a, const Two<n>& b) {
  const Two<n> high = sum(a.hi, b.hi);
  const Two<n> low = sum(a.lo, b.lo);
  const Two<n> partial = fastSum(high.hi, high.lo + low.hi);
  return fastSum(partial.hi, partial.lo + low.lo);
}
template <int n>
[[gnu::always_inline]] inline Two<n> operator-(const Two<n>& a, const Two<n>& b) {
  return a + -b;
}
template <int n>
[[gnu::always_inline]] inline Two<n> operator*(const Two<n>& a, const Two<n>& b) {
  const Many<n> p = a.hi * b.hi;
  return fastSum(p, fma(a.hi, b.hi, -p) + (a.hi * b.lo + a.lo * b.hi));
}
template <int n>
[[gnu::always_inline]] inline Two<n> operator*(const Two<n>& a, const Many<n>& b) {
  const Many<n> p = a.hi * b;
  return fastSum(p, fma(a.hi, b, -p) + a.lo * b);
}
template <int n>
[[gnu::always_inline]] inline Two<n> operator*(const Two<n>& a, double b) {
  return a * all<n>(b);
}
template <int n>
[[gnu::always_inline]] inline Two<n> operator/(const Two<n>& a, double b) {
  const Many<n> q = a.hi / b;
  return fastSum(q, (fma(-q, all<n>(b), a.hi) + a.lo) / b);
}

Integers bitsOf(Vector x) { return reinterpret_cast<Integers>(x); }
Vector magnitude(Vector x) { return reinterpret_cast<Vector>(bitsOf(x) & std::numeric_limits<std::int64_t>::max()); }

/// Two successive values of a sequence, times 2^-exponent.
template <int n>
struct Successive {
  Two<n> before;
  Two<n> now;
  Integers exponent[n] = {};

  Many<n> larger() const {
    return each<n>([&](int i) {
      const Vector a = magnitude(before.hi.v[i]), b = magnitude(now.hi.v[i]);
      return a > b ? a : b;
    });
  }
  /// Brings the larger one to [1/2, 1), in the elements where `where` has all bits.
  void normalise(const Many<n>& size, int i, Integers where) {
    const Integers e = ((bitsOf(size.v[i]) >> 52) - 1022) & where & (bitsOf(size.v[i]) != 0);
    const Vector scale = reinterpret_cast<Vector>((1023 - e) << 52);
    for (Two<n>* t : {&before, &now}) {
      t->hi.v[i] *= scale;
      t->lo.v[i] *= scale;
    }
    exponent[i] += e;
  }
  /// The same where it is far from 1.
  void normaliseFar(const Many<n>& size, int i) {
    const Integers far = (size.v[i] > 0x1p400) | (size.v[i] < 0x1p-400);
    if (any(far)) normalise(size, i, far);
  }
  void result(const Two<n>& value, double* out) const {
    for (int i = 0; i < n; ++i, out += kOfVector) {
      // One multiplication where the power of two is a normal number.
      if (!any((exponent[i] < -1022) | (exponent[i] > 1023))) {
        const Vector scaled = value.hi.v[i] * reinterpret_cast<Vector>((exponent[i] + 1023) << 52);
        std::memcpy(out, &scaled, sizeof(scaled));
        continue;
      }
      for (int lane = 0; lane < kOfVector; ++lane)
        out[lane] =
            std::ldexp(value.hi.v[i][lane], static_cast<int>(std::clamp<std::int64_t>(exponent[i][lane], -5000, 5000)));
    }
  }
};

template <int n>
void chebyshev(Polynomial family, const Two<n>& x, std::int64_t degree, double* out) {
  Successive<n> u{{all<n>(1), all<n>(0)}, x * 2};  // U_(k-1), U_k, of k = 1
  for (int i = 0; i < n; ++i) u.normalise(u.larger(), i, ~Integers{});
  for (int bit = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(degree))) - 2; bit >= 0; --bit) {
    const Two<n> a = u.before;
    const Two<n> b = u.now;
    const Two<n> even = (b - a) * (b + a);
    const bool odd = (degree >> bit & 1) != 0;
    u.before = odd ? even : a * (b - x * a) * 2;
    u.now = odd ? b * (x * b - a) * 2 : even;
    const Many<n> size = u.larger();
    for (int i = 0; i < n; ++i) {
      u.exponent[i] *= 2;
      u.normalise(size, i, ~Integers{});
    }
  }
  switch (family) {
  case Polynomial::ChebyshevT:
    return u.result(u.now - x * u.before, out);
  case Polynomial::ChebyshevU:
    return u.result(u.now, out);
  case Polynomial::ChebyshevV:
    return u.result(u.now - u.before, out);
  default:
    return u.result(u.now + u.before, out);
  }
}

template <int n>
void recurrence(Polynomial family, const Many<n>& x, std::int64_t degree, double* out) {
  Two<n> first{x, all<n>(0)};
  if (family == Polynomial::HermiteH) first = first * 2;
  if (family == Polynomial::Laguerre) first = sum(all<n>(1), -x);
  Successive<n> p{{all<n>(1), all<n>(0)}, first};
  for (int i = 0; i < n; ++i) p.normaliseFar(p.larger(), i);
  for (std::int64_t step = 1; step < degree; ++step) {
    const auto k = static_cast<double>(step);
    Two<n> next = p.now;
    switch (family) {
    case Polynomial::HermiteH:
      next = (p.now * x - p.before * k) * 2;
      break;
    case Polynomial::HermiteHe:
      next = p.now * x - p.before * k;
      break;
    case Polynomial::Laguerre:
      next = (sum(all<n>(2 * k + 1), -x) * p.now - p.before * k) / (k + 1);
      break;
    default:
      next = (p.now * x * (2 * k + 1) - p.before * k) / (k + 1);
    }
    p.before = p.now;
    p.now = next;
    const Many<n> size = p.larger();
    for (int i = 0; i < n; ++i) p.normaliseFar(size, i);
  }
  p.result(p.now, out);
}

template <int n>
void ofOneDegree(Polynomial family, bool shifted, const double* points, std::int64_t degree, double* out) {
  Many<n> x;
  std::memcpy(&x, points, sizeof(x));
  if (family > Polynomial::ChebyshevW) return recurrence<n>(family, x, degree, out);
  chebyshev<n>(family, shifted ? sum(x + x, all<n>(-1)) : Two<n>{x, all<n>(0)}, degree, out);
}

PolynomialLanes lanesOf() { return {kOfVector, &ofOneDegree<1>, &ofOneDegree<kVectors>, kVectors * kOfVector}; }
