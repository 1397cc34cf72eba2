// The Hurwitz zeta function, the incomplete Gamma functions and their derivatives: the formulas of
// runtime/lib/functions/gamma.cpp. Logarithms, powers and lgamma are those of elementary.inl, which stands before it,
// and may differ from the CPU's by a few ULP.
//
// ORDER: of the derivative.

#define EPSILON 2.220446049250313e-16
#define MOST_TERMS (1 << 20)
#define FAR_BELOW (-1024.0)
#define LARGE_SHAPE 1e10

static __device__ inline double magnitude(double x) { return x < 0 ? -x : x; }

// q^-s for s > 1; of negative q for integers.
static __device__ double inversePower(double q, double s) {
  const double size = magnitude(q);
  if (q != q) return q;
  double power = 1;
  if (size < 0x1p-1022)
    power = INFINITY_D;
  else if (size < 1)
    power = 1 / powOf(size, s);
  else if (size > 1)
    power = powOf(size, -s);
  return q < 0 && magnitude(s) < 0x1p53 && (int64)s % 2 != 0 ? -power : power;
}

// The sum over k of (q + k)^-2, the trigamma function for q > 0, from the smallest term on.
static __device__ double trigamma(double q) {
  const double steps = q < 10 ? 10 - (q < 0 ? floorOf(q) : 0) : 0;
  const int count = steps < MOST_TERMS ? (int)steps : MOST_TERMS;
  const double r = 1 / (q + count);
  const double z = r * r;
  // B_2j
  const double tail =
      z *
      (1.0 / 6 - z * (1.0 / 30 -
                      z * (1.0 / 42 -
                           z * (1.0 / 30 - z * (5.0 / 66 - z * (691.0 / 2730 - z * (7.0 / 6 - z * (3617.0 / 510))))))));
  double sum = r + z * 0.5 + r * tail;
  for (int k = count - 1; k >= 0; --k) sum += 1 / ((q + k) * (q + k));
  return sum;
}

// The sum over k of (q + k)^-s by Euler-Maclaurin summation from the first q + k above 10 + s; q is no pole.
static __device__ double zetaSum(double s, double q) {
  if (s == 2) return trigamma(q);
  double sum = 0;
  const double far = 10 + s;
  for (int k = 0; q < far && k < MOST_TERMS; ++k, q += 1) {
    const double term = inversePower(q, s);
    sum += term;
    if (q > 0 && term <= EPSILON * EPSILON * magnitude(sum)) return sum;
  }
  if (q == INFINITY_D) return sum;
  const double power = inversePower(q, s);
  sum += power * (q / (s - 1) + 0.5);
  // B_2j / (2j)!
  const double bernoulli[] = {0x1.5555555555555p-4,   -0x1.6c16c16c16c17p-10, 0x1.1566abc011567p-15,
                              -0x1.bbd779334ef0bp-21, 0x1.66a8f2bf70ebep-26,  -0x1.22805d644267fp-31,
                              0x1.d6db2c4e09162p-37,  -0x1.7da4e1f79955cp-42, 0x1.355871d652e9ep-47,
                              -0x1.f57d968caacf1p-53, 0x1.967e1f09c376fp-58,  -0x1.497d9033a2b5cp-63};
  double factor = power * s / q;
  for (int j = 0; j < 12; ++j) {
    const double term = bernoulli[j] * factor;
    sum += term;
    if (magnitude(term) < EPSILON * 0.1 * magnitude(sum)) break;
    factor *= (s + 2 * j + 1) / q * ((s + 2 * j + 2) / q);
  }
  return sum;
}

// Of an integer s and q far below 0. The terms below 0, turned round, are those over the fractions from 1 - f to -q,
// where f is the fraction of q: zeta(s, f) + (-1)^s (zeta(s, 1 - f) - zeta(s, 1 - q)).
static __device__ double zetaFarBelow(double s, double q) {
  const double above = q - floorOf(q), below = -floorOf(-q) - q;
  const double up = zetaSum(s, above), down = zetaSum(s, below), rest = zetaSum(s, 1 - q);
  if (s >= 0x1p53 || (int64)s % 2 == 0) return up + (down - rest);
  if (above == below) return rest;
  if (up == INFINITY_D && down == INFINITY_D) return above < below ? INFINITY_D : -INFINITY_D;
  return up - (down - rest);
}

static __device__ double hurwitzZeta(double s, double q) {
  if (s == 1) return INFINITY_D;
  if (!(s > 1)) return NAN_D;
  if (q <= 0) {
    if (q == floorOf(q)) return INFINITY_D;
    if (s != floorOf(s)) return NAN_D;  // powers of negative numbers
    if (q < FAR_BELOW) return zetaFarBelow(s, q);
  }
  return zetaSum(s, q);
}

// digamma of x >= 1.
static __device__ double digammaAbove1(double x) {
  double y = 0;
  for (; x < 10; x += 1) y -= 1 / x;
  const double z = 1 / (x * x);
  const double tail =
      z * (1.0 / 12 - z * (1.0 / 120 -
                           z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z * (1.0 / 12)))))));
  return y + logOf(x) - 0.5 / x - tail;
}

// u - log(1 + u)
static __device__ double logDistance(double u) {
  if (!(magnitude(u) < 0.2)) return u - log1pOf(u);
  double distance = 0;
  double power = u * u;
  for (int k = 2; k < 40; ++k, power *= -u) distance += power / k;
  return distance;
}

// log(x^a e^-x / Gamma(a + 1)), without losing digits to its large terms.
static __device__ double logPrefactor(double a, double x) {
  if (a < 10) return a * logOf(x) - x - lgammaOf(a + 1);
  const double distance = logDistance((x - a) / a);
  const double z = 1 / (a * a);
  const double stirling = (1.0 / 12 - z * (1.0 / 360 - z * (1.0 / 1260 - z * (1.0 / 1680 - z * (1.0 / 1188))))) / a;
  return -a * distance - 0.5 * logOf(2 * 3.141592653589793 * a) - stirling;
}

// A polynomial in a small step, cut off after the power ORDER.
struct Jet {
  double c[ORDER + 1];
  __device__ Jet(double value, double slope) {
    for (int i = 0; i <= ORDER; ++i) c[i] = i == 1 ? slope : 0;
    c[0] = value;
  }
  // Is `step` too small to change any coefficient?
  __device__ bool settled(const Jet& step) const {
    for (int i = 0; i <= ORDER; ++i)
      if (magnitude(step.c[i]) > EPSILON * 0.5 * magnitude(c[i])) return false;
    return true;
  }
};
static __device__ inline Jet constant(double value) { return Jet(value, 0); }
static __device__ Jet operator*(const Jet& x, const Jet& y) {
  Jet r = constant(0);
  for (int i = 0; i <= ORDER; ++i)
    for (int j = 0; j <= i; ++j) r.c[i] += x.c[j] * y.c[i - j];
  return r;
}
static __device__ Jet operator+(Jet x, const Jet& y) {
  for (int i = 0; i <= ORDER; ++i) x.c[i] += y.c[i];
  return x;
}
static __device__ Jet operator/(const Jet& x, const Jet& y) {
  Jet r = constant(0);
  for (int i = 0; i <= ORDER; ++i) {
    double rest = x.c[i];
    for (int j = 1; j <= i; ++j) rest -= y.c[j] * r.c[i - j];
    r.c[i] = rest / y.c[0];
  }
  return r;
}
// e^x for x.c[0] = 0: r' = x' r.
static __device__ Jet exponential(const Jet& x) {
  Jet r = constant(1);
  for (int i = 1; i <= ORDER; ++i) {
    for (int j = 1; j <= i; ++j) r.c[i] += j * x.c[j] * r.c[i - j];
    r.c[i] /= i;
  }
  return r;
}

// The sum over k of x^k / ((a + 1) ... (a + k)).
static __device__ Jet lowerSum(double a, double x) {
  Jet term = constant(1);
  Jet sum = term;
  for (int k = 1; k < MOST_TERMS; ++k) {
    term = term / Jet((a + k) / x, 1 / x);
    sum = sum + term;
    if (k > 3 && sum.settled(term)) break;
  }
  return sum;
}
// The continued fraction 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - 2 (2 - a) / (x + 5 - a - ...))).
static __device__ Jet upperFraction(double a, double x) {
  Jet b(x + 1 - a, -1);
  Jet d = constant(1) / b;
  Jet c = constant(1e300);
  Jet h = d;
  for (int i = 1; i < MOST_TERMS; ++i) {
    const Jet numerator(i * (a - i), i);
    b.c[0] += 2;
    d = constant(1) / (numerator * d + b);
    c = b + numerator / c;
    const Jet next = h * (d * c);
    Jet step = next;
    for (int k = 0; k <= ORDER; ++k) step.c[k] -= h.c[k];
    h = next;
    if (h.settled(step)) break;
  }
  return h;
}
// Is the sum over all powers slow to settle, or, where the `upper` part is wanted, so near 1 that digits would be lost?
static __device__ inline bool inTail(double a, double x, bool upper) { return a < 1 && upper ? x > 0.75 : x > a + 1; }

// P(a, x), or Q, of numbers above 0.
static __device__ double gammaBySums(double a, double x, bool upper) {
  const double scale = expOf(logPrefactor(a, x));
  if (inTail(a, x, upper)) {
    const double q = scale * a * upperFraction(a, x).c[0];
    return upper ? q : 1 - q;
  }
  const double p = scale * lowerSum(a, x).c[0];
  return upper ? 1 - p : p;
}

// The same of large a by Temme's uniform expansion, the first two terms of it (DLMF 8.12). erfc(z) is Q(1/2, z^2).
static __device__ double largeGamma(double a, double x, bool upper) {
  const double u = (x - a) / a;
  const bool large = (x < a) == upper;
  if (!(magnitude(u) < 0.2)) return large ? 1 : 0;
  const double square = a * logDistance(u);
  const double tail = square > 0 ? gammaBySums(0.5, square, true) : 1;
  const double rest = expOf(-square) / rootOf(2 * 3.141592653589793 * a) * (u / 12 - 1.0 / 3);
  return (large ? 2 - tail : tail) / 2 + (upper ? rest : -rest);
}

static __device__ double incompleteGamma(double a, double x, bool upper) {
  if (!(a >= 0) || !(x >= 0) || (a == 0 && x == 0) || (a == INFINITY_D && x == INFINITY_D)) return NAN_D;
  if (a == 0 || x == INFINITY_D) return upper ? 0 : 1;
  if (x == 0 || a == INFINITY_D) return upper ? 1 : 0;
  return a > LARGE_SHAPE ? largeGamma(a, x, upper) : gammaBySums(a, x, upper);
}

// The `order`-th derivative of P in a, divided by x^(a-1) e^-x / Gamma(a).
static __device__ double cdfSlope(double a, double x) {
  if (!(a > 0) || !(x >= 0) || x == INFINITY_D || a == INFINITY_D) return NAN_D;
  if (x == 0) return 0;
  // x^step Gamma(a + 1) / Gamma(a + 1 + step)
  Jet exponent(0, logOf(x) - digammaAbove1(a + 1));
  double sign = -1;
  for (int k = 2; k <= ORDER; ++k, sign = -sign) exponent.c[k] = sign * hurwitzZeta(k, a + 1) / k;
  const Jet ratio = exponential(exponent);
  double factorial = 1;
  for (int k = 2; k <= ORDER; ++k) factorial *= k;
  if (inTail(a, x, true)) {
    const Jet tail = ratio * Jet(1, 1 / a) * upperFraction(a, x);
    return -factorial * x * tail.c[ORDER];
  }
  return factorial * (x / a) * (ratio * lowerSum(a, x)).c[ORDER];
}

extern "C" __global__ void zeta(View s, View q, double* out, int64 n) {
  GRID_LOOP(i, n) out[i] = hurwitzZeta(s.as<double>()[s.offset(i)], q.as<double>()[q.offset(i)]);
}
extern "C" __global__ void gammainc(View a, View x, double* out, int64 n, int64 upper) {
  GRID_LOOP(i, n) out[i] = incompleteGamma(a.as<double>()[a.offset(i)], x.as<double>()[x.offset(i)], upper != 0);
}
extern "C" __global__ void gammaCdfSlope(View a, View x, double* out, int64 n) {
  GRID_LOOP(i, n) out[i] = cdfSlope(a.as<double>()[a.offset(i)], x.as<double>()[x.offset(i)]);
}
