// Orthogonal polynomials, with the bits of runtime/lib/functions/polynomials.cpp: the same sums of two numbers, element
// by element.

struct Two {
  double hi, lo;
};
static __device__ inline Two two(double hi, double lo) {
  Two t = {hi, lo};
  return t;
}
static __device__ inline Two fastSum(double a, double b) {
  const double s = a + b;
  return two(s, b - (s - a));
}
static __device__ inline Two sum(double a, double b) {
  const double s = a + b, t = s - a;
  return two(s, (a - (s - t)) + (b - t));
}
static __device__ inline Two plus(Two a, Two b) {
  const Two high = sum(a.hi, b.hi);
  return two(high.hi, high.lo + (a.lo + b.lo));
}
static __device__ inline Two less(Two a, Two b) {
  const double s = a.hi - b.hi, t = s - a.hi;
  return two(s, ((a.hi - (s - t)) - (b.hi + t)) + (a.lo - b.lo));
}
static __device__ inline Two times(Two a, Two b) {
  const double p = a.hi * b.hi;
  return two(p, fma(a.hi, b.lo, fma(a.lo, b.hi, fma(a.hi, b.hi, -p))));
}
static __device__ inline Two times(Two a, double b) {
  const double p = a.hi * b;
  return two(p, fma(a.lo, b, fma(a.hi, b, -p)));
}
static __device__ inline Two normal(Two a) { return fastSum(a.hi, a.lo); }
static __device__ inline Two operator+(Two a, Two b) { return normal(plus(a, b)); }
static __device__ inline Two operator-(Two a, Two b) { return normal(less(a, b)); }
static __device__ inline Two operator*(Two a, Two b) { return normal(times(a, b)); }
static __device__ inline Two twice(Two a) { return two(a.hi + a.hi, a.lo + a.lo); }
// p / q of integers.
static __device__ inline Two ratio(double p, double q) {
  const double hi = p / q;
  return two(hi, fma(-hi, q, p) / q);
}

static __device__ inline double magnitude(double x) {
  return __longlong_as_double(__double_as_longlong(x) & 0x7fffffffffffffffLL);
}
static __device__ inline double powerOfTwo(int64 e) { return __longlong_as_double((e + 1023) << 52); }
// x 2^e, rounded once.
static __device__ inline double scaled(double x, int64 e) {
  if (e >= -1022 && e <= 1023) return x * powerOfTwo(e);
  return ldexp(x, (int)(e < -5000 ? -5000 : e > 5000 ? 5000 : e));
}

// Two successive values of a sequence, times 2^-exponent.
struct Successive {
  Two before, now;
  int64 exponent;
  __device__ double larger() const {
    const double a = magnitude(before.hi), b = magnitude(now.hi);
    return a > b ? a : b;
  }
  // Brings the larger one to [1/2, 1).
  __device__ void normalise() {
    const int64 bits = __double_as_longlong(larger());
    const int64 e = bits != 0 ? (bits >> 52) - 1022 : 0;
    const double scale = powerOfTwo(-e);
    before = two(before.hi * scale, before.lo * scale);
    now = two(now.hi * scale, now.lo * scale);
    exponent += e;
  }
  // The same where it is far from 1.
  __device__ void normaliseFar() {
    const double size = larger();
    if (size > 0x1p400 || size < 0x1p-400) normalise();
  }
};

enum Family { kChebyshevT, kChebyshevU, kChebyshevV, kChebyshevW, kHermiteH, kHermiteHe, kLaguerre, kLegendre };

static __device__ double chebyshev(int64 family, Two x, int64 n) {
  Successive u = {{1, 0}, twice(x), 0};  // U_(k-1), U_k, of k = 1
  u.normalise();
  int bit = 63;
  while (!(n >> bit & 1)) --bit;
  for (--bit; bit >= 0; --bit) {
    const Two a = u.before, b = u.now;
    const Two even = (b - a) * (b + a);
    const bool odd = (n >> bit & 1) != 0;
    u.before = odd ? even : twice(a * (b - x * a));
    u.now = odd ? twice(b * (x * b - a)) : even;
    u.exponent *= 2;
    u.normalise();
  }
  const Two value = family == kChebyshevT   ? u.now - x * u.before
                    : family == kChebyshevU ? u.now
                    : family == kChebyshevV ? u.now - u.before
                                            : u.now + u.before;
  return scaled(value.hi, u.exponent);
}

static __device__ Two ofFirstDegree(int64 family, Two x) {
  if (family == kChebyshevU || family == kHermiteH) return twice(x);
  if (family == kChebyshevV) return twice(x) - two(1, 0);
  if (family == kChebyshevW) return twice(x) + two(1, 0);
  return family == kLaguerre ? sum(1, -x.hi) : x;
}

static __device__ double recurrence(int64 family, Two x, int64 n) {
  Successive p = {{1, 0}, ofFirstDegree(family, x), 0};
  p.normaliseFar();
  for (int64 i = 1; i < n; ++i) {
    const double k = (double)i;
    Two next;
    if (family == kHermiteH)
      next = twice(less(times(p.now, x.hi), times(p.before, k)));
    else if (family == kHermiteHe)
      next = less(times(p.now, x.hi), times(p.before, k));
    else if (family == kLaguerre)
      next = times(less(times(sum(2 * k + 1, -x.hi), p.now), times(p.before, k)), ratio(1, k + 1));
    else if (family == kLegendre)
      next = less(times(times(p.now, x.hi), ratio(2 * k + 1, k + 1)), times(p.before, ratio(k, k + 1)));
    else
      next = less(times(p.now, twice(x)), p.before);
    p.before = p.now;
    p.now = next;
    p.normaliseFar();
  }
  return scaled(normal(p.now).hi, p.exponent);
}

// In single numbers, for results that are rounded to float32; `sure`: not too much cancelled.
static __device__ double single(int64 family, double x, int64 n, bool* sure) {
  double before = 1, now = ofFirstDegree(family, two(x, 0)).hi;
  for (int64 i = 1; i < n; ++i) {
    const double k = (double)i;
    double next;
    if (family == kHermiteH) {
      next = fma(x, now, -(before * k));
      next = next + next;
    } else if (family == kHermiteHe) {
      next = fma(x, now, -(before * k));
    } else if (family == kLaguerre) {
      next = fma(((2 * k + 1) - x) * (1 / (k + 1)), now, -(before * (k / (k + 1))));
    } else if (family == kLegendre) {
      next = fma(x * ((2 * k + 1) / (k + 1)), now, -(before * (k / (k + 1))));
    } else {
      next = fma(x + x, now, -before);
    }
    before = now;
    now = next;
  }
  *sure = !(magnitude(now) < magnitude(before) * 0x1p-14);
  return now;
}

// Where x^n is all that counts.
static __device__ double leading(int64 family, bool shifted, double x, int64 n) {
  if (family == kLaguerre) x = -x;
  if (n > 2) return x < 0 && n % 2 != 0 ? -INFINITY_D : INFINITY_D;
  double first = 2, second = 4;
  if (family == kChebyshevT) first = 1, second = 2;
  if (family == kLaguerre) first = 1, second = 0.5;
  if (family == kLegendre) first = 1, second = 1.5;
  if (family == kHermiteHe) first = 1, second = 1;
  if (shifted) first *= 2, second *= 4;
  return n == 1 ? first * x : second * x * x;
}

static __device__ double polynomial(int64 family, bool shifted, bool narrow, double x, double degree) {
  if (degree != degree) return NAN_D;
  degree = trunc(degree);
  if (degree < 0) return 0;
  if (degree == 0) return 1;
  const bool hermite = family == kHermiteH || family == kHermiteHe;
  // Hermite polynomials of more overflow; the recurrences of others would run for minutes.
  if (x != x || degree > (hermite ? 512 : 0x1p31)) return NAN_D;
  const int64 n = (int64)degree;
  if (magnitude(x) > 0x1p500) return leading(family, shifted, x, n);
  const Two at = shifted ? sum(2 * x, -1) : two(x, 0);
  if (narrow && n <= 32 && magnitude(x) <= 1024) {
    bool sure;
    const double value = single(family, at.hi, n, &sure);
    if (sure) return value;
  }
  return family <= kChebyshevW && n > 10 ? chebyshev(family, at, n) : recurrence(family, at, n);
}

extern "C" __global__ void polynomials(View x, View degree, ELEMENT* out, int64 n, int64 family, int64 shifted) {
  GRID_LOOP(i, n)
    out[i] = (ELEMENT)polynomial(family, shifted != 0, sizeof(ELEMENT) == 4, (double)x.as<ELEMENT>()[x.offset(i)],
                                 degree.as<double>()[degree.offset(i)]);
}
