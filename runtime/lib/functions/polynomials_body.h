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
[[gnu::always_inline]] inline Many<n> fma(const Many<n>& a, const Many<n>& b, const Many<n>& c) {
  return each<n>([&](int i) { return fma(a.v[i], b.v[i], c.v[i]); });
}

/// An unevaluated sum. `times`, `plus` and `less` leave in lo what was lost so far; operators bring |lo| to at most
/// half an ULP of hi, by which errors of long computations stay those of lo's last digits.
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
[[gnu::always_inline]] inline Two<n> plus(const Two<n>& a, const Two<n>& b) {
  const Two<n> high = sum(a.hi, b.hi);
  return {high.hi, high.lo + (a.lo + b.lo)};
}
template <int n>
[[gnu::always_inline]] inline Two<n> less(const Two<n>& a, const Two<n>& b) {
  const Many<n> s = a.hi - b.hi;
  const Many<n> t = s - a.hi;
  return {s, ((a.hi - (s - t)) - (b.hi + t)) + (a.lo - b.lo)};
}
template <int n>
[[gnu::always_inline]] inline Two<n> times(const Two<n>& a, const Two<n>& b) {
  const Many<n> p = a.hi * b.hi;
  return {p, fma(a.hi, b.lo, fma(a.lo, b.hi, fma(a.hi, b.hi, -p)))};
}
template <int n>
[[gnu::always_inline]] inline Two<n> times(const Two<n>& a, const Many<n>& b) {
  const Many<n> p = a.hi * b;
  return {p, fma(a.lo, b, fma(a.hi, b, -p))};
}
template <int n>
[[gnu::always_inline]] inline Two<n> operator+(const Two<n>& a, const Two<n>& b) {
  const Two<n> t = plus(a, b);
  return fastSum(t.hi, t.lo);
}
template <int n>
[[gnu::always_inline]] inline Two<n> operator-(const Two<n>& a, const Two<n>& b) {
  const Two<n> t = less(a, b);
  return fastSum(t.hi, t.lo);
}
template <int n>
[[gnu::always_inline]] inline Two<n> operator*(const Two<n>& a, const Two<n>& b) {
  const Two<n> t = times(a, b);
  return fastSum(t.hi, t.lo);
}
template <int n>
[[gnu::always_inline]] inline Two<n> twice(const Two<n>& a) {
  return {a.hi + a.hi, a.lo + a.lo};
}

/// p / q of integers, the same for all elements.
template <int n>
[[gnu::always_inline]] inline Two<n> ratio(double p, double q) {
  const double hi = p / q;
  return {all<n>(hi), all<n>(std::fma(-hi, q, p) / q)};
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

Vector vectorAt(const double* x) {
  Vector v;
  std::memcpy(&v, x, sizeof(v));
  return v;
}
template <int n>
[[gnu::always_inline]] inline Two<n> read(const double* points, bool shifted) {
  const Many<n> x = each<n>([&](int i) { return vectorAt(points + i * kOfVector); });
  return shifted ? sum(x + x, all<n>(-1)) : Two<n>{x, all<n>(0)};
}

/// By U of a degree that is doubled bit by bit.
template <int n>
void chebyshev(Polynomial family, const Two<n>& x, std::int64_t degree, double* out) {
  Successive<n> u{{all<n>(1), all<n>(0)}, twice(x)};  // U_(k-1), U_k, of k = 1
  for (int i = 0; i < n; ++i) u.normalise(u.larger(), i, ~Integers{});
  for (int bit = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(degree))) - 2; bit >= 0; --bit) {
    const Two<n> a = u.before;
    const Two<n> b = u.now;
    const Two<n> even = (b - a) * (b + a);
    const bool odd = (degree >> bit & 1) != 0;
    u.before = odd ? even : twice(a * (b - x * a));
    u.now = odd ? twice(b * (x * b - a)) : even;
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

/// The polynomial of degree 1; of Chebyshev's families one of `x`, of others one of its first part.
template <int n>
[[gnu::always_inline]] inline Two<n> ofFirstDegree(Polynomial family, const Two<n>& x) {
  const Two<n> one{all<n>(1), all<n>(0)};
  switch (family) {
  case Polynomial::ChebyshevU:
  case Polynomial::HermiteH:
    return twice(x);
  case Polynomial::ChebyshevV:
    return twice(x) - one;
  case Polynomial::ChebyshevW:
    return twice(x) + one;
  case Polynomial::Laguerre:
    return sum(one.hi, -x.hi);
  default:
    return x;
  }
}

/// By recurrence; `near`: no value comes to be far from 1.
template <int n, bool near>
[[gnu::always_inline]] inline void recurrence(Polynomial family, const Two<n>& x, std::int64_t degree, double* out) {
  Successive<n> p{{all<n>(1), all<n>(0)}, ofFirstDegree(family, x)};
  const auto normalise = [&] {
    if constexpr (near) return;
    const Many<n> size = p.larger();
    for (int i = 0; i < n; ++i) p.normaliseFar(size, i);
  };
  normalise();
  for (std::int64_t step = 1; step < degree; ++step) {
    const auto k = static_cast<double>(step);
    Two<n> next = p.now;
    switch (family) {
    case Polynomial::HermiteH:
      next = twice(less(times(p.now, x.hi), times(p.before, all<n>(k))));
      break;
    case Polynomial::HermiteHe:
      next = less(times(p.now, x.hi), times(p.before, all<n>(k)));
      break;
    case Polynomial::Laguerre:
      next = times(less(times(sum(all<n>(2 * k + 1), -x.hi), p.now), times(p.before, all<n>(k))), ratio<n>(1, k + 1));
      break;
    case Polynomial::Legendre:
      next = less(times(times(p.now, x.hi), ratio<n>(2 * k + 1, k + 1)), times(p.before, ratio<n>(k, k + 1)));
      break;
    default:
      next = less(times(p.now, twice(x)), p.before);
    }
    p.before = p.now;
    p.now = next;
    normalise();
  }
  const Two<n> value = fastSum(p.now.hi, p.now.lo);
  if constexpr (near)
    std::memcpy(out, &value.hi, sizeof(value.hi));
  else
    p.result(value, out);
}

/// The elements of each `n` vectors.
template <int n, bool near>
void byRecurrence(Polynomial family, bool shifted, const double* points, std::int64_t degree, std::int64_t count,
                  double* out) {
  for (std::int64_t i = 0; i < count; i += n * kOfVector)
    recurrence<n, near>(family, read<n>(points + i, shifted), degree, out + i);
}

template <int n>
void inTwos(Polynomial family, bool shifted, const double* points, std::int64_t degree, std::int64_t count,
            double* out) {
  constexpr int kPair = n < 2 ? n : 2;  // long computations fill the registers sooner
  if (family <= Polynomial::ChebyshevW && degree > kMostSteps) {
    for (std::int64_t i = 0; i < count; i += kPair * kOfVector)
      chebyshev<kPair>(family, read<kPair>(points + i, shifted), degree, out + i);
    return;
  }
  Integers far{};
  for (std::int64_t i = 0; i < count; i += kOfVector) far |= magnitude(vectorAt(points + i)) > kMostNear;
  const auto run = degree <= kFewSteps && !any(far) ? &byRecurrence<n, true> : &byRecurrence<kPair, false>;
  run(family, shifted, points, degree, count, out);
}

/// By recurrence in single numbers, for results that are rounded to float32: at most kMostNear from 0 their error is
/// some 1e-13 of the larger of the last two values. Where more cancels than float32 can bear, in twos.
template <int n>
void inSingle(Polynomial family, bool shifted, const double* points, std::int64_t degree, std::int64_t count,
              double* out) {
  for (std::int64_t i = 0; i < count; i += n * kOfVector, points += n * kOfVector, out += n * kOfVector) {
    const Many<n> x = read<n>(points, shifted).hi;
    Many<n> before = all<n>(1), now = ofFirstDegree<n>(family, {x, all<n>(0)}).hi;
    for (std::int64_t step = 1; step < degree; ++step) {
      const auto k = static_cast<double>(step);
      Many<n> next = now;
      switch (family) {
      case Polynomial::HermiteH:
        next = fma(x, now, -(before * all<n>(k)));
        next = next + next;
        break;
      case Polynomial::HermiteHe:
        next = fma(x, now, -(before * all<n>(k)));
        break;
      case Polynomial::Laguerre:
        next = fma((all<n>(2 * k + 1) - x) * all<n>(1 / (k + 1)), now, -(before * all<n>(k / (k + 1))));
        break;
      case Polynomial::Legendre:
        next = fma(x * all<n>((2 * k + 1) / (k + 1)), now, -(before * all<n>(k / (k + 1))));
        break;
      default:
        next = fma(x + x, now, -before);
      }
      before = now;
      now = next;
    }
    std::memcpy(out, &now, sizeof(now));
    Integers unsure[n], some{};
    for (int j = 0; j < n; ++j) {
      unsure[j] = (magnitude(now.v[j]) < magnitude(before.v[j]) * kCancelled) |
                  (magnitude(vectorAt(points + j * kOfVector)) > kMostNear);
      some |= unsure[j];
    }
    if (!any(some)) continue;
    double exact[n * kOfVector];
    inTwos<n>(family, shifted, points, degree, n * kOfVector, exact);
    for (int j = 0; j < n * kOfVector; ++j)
      if (unsure[j / kOfVector][j % kOfVector] != 0) out[j] = exact[j];
  }
}

template <int n>
void ofOneDegree(Polynomial family, bool shifted, bool single, const double* points, std::int64_t degree,
                 std::int64_t count, double* out) {
  (single && degree <= kFewSteps ? inSingle<n> : inTwos<n>)(family, shifted, points, degree, count, out);
}

/// Of whole vectors: are all degrees the first one, and no argument farther than `most`?
Alike alike(const double* points, const double* degrees, std::int64_t count, double most) {
  Integers other{}, far{};
  for (std::int64_t i = 0; i < count; i += kOfVector) {
    other |= vectorAt(degrees + i) != degrees[0] - Vector{};
    far |= ~(magnitude(vectorAt(points + i)) <= most);
  }
  return {!any(other), !any(other | far)};
}

PolynomialLanes lanesOf() { return {kOfVector, &ofOneDegree<1>, &ofOneDegree<kVectors>, kVectors * kOfVector, &alike}; }
