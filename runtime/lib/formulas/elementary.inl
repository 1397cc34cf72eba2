// Elementary functions for library operations, one text for the GPU and for the CPU (runtime/lib/functions/elementary.h),
// so that what they compute has the same bits on both. Formulas and constants are those of codegen/math; only what the
// operations ask for is there, and of functions of which they know the range only that range.
//
// Each operator is one IEEE operation, as written: nothing is contracted.

#define INFINITE ofBits((int64)0x7ff0000000000000LL)
#define NOT_A_NUMBER ofBits((int64)0x7ff8000000000000LL)
#define LOG2E 0x1.71547652b82fep0
#define LN2_HIGH 0x1.62e42fefa39efp-1
#define LN2_LOW 0x1.abc9e3b39803fp-56
#define LOG2E_F 0x1.715476p0f
#define LN2_HIGH_F 0x1.62e43p-1f
#define LN2_LOW_F -0x1.05c61p-29f

// A polynomial by its coefficients, highest power first.
template <class F> INLINED F horner(F, F sum) { return sum; }
template <class F, class... Rest> INLINED F horner(F x, F sum, F next, Rest... rest) {
  return horner<F>(x, fused(sum, x, next), rest...);
}

// The exponent e that leaves x 2^-e in [from, 2 from). Vectors of the CPU shift and convert no 64-bit integers with a
// sign: here and below such numbers are moved to be positive first, and become doubles by their bits.
FORMULA int64 exponentOf(double x, double from) {
  return (int64)(((uint64)bitsOf(x) - (uint64)bitsOf(from) + ((uint64)1024 << 52)) >> 52) - 1024;
}
FORMULA double doubleOf(int64 e) { return ofBits((int64)((uint64)e + (uint64)bitsOf(0x1.8p52))) - 0x1.8p52; }
FORMULA int32 exponentOf(float x, float from) { return (int32)((uint32)bitsOf(x) - (uint32)bitsOf(from)) >> 23; }

// 2^n for an n whose power is a normal number, and y * 2^n for any n that is asked for.
FORMULA double powerOfTwo(int64 n) { return ofBits((int64)((uint64)(n + 1023) << 52)); }
FORMULA float powerOfTwo(int32 n) { return ofBits((int32)((uint32)(n + 127) << 23)); }
FORMULA double scaled(double y, int64 n) {
  const int64 half = (int64)((uint64)(n + 4096) >> 1) - 2048;
  return y * powerOfTwo(half) * powerOfTwo(n - half);
}
FORMULA float scaled(float y, int32 n) {
  const int32 half = n >> 1;
  return y * powerOfTwo(half) * powerOfTwo(n - half);
}

// (e^r - 1 - r) / r^2 for |r| <= ln(2)/2.
FORMULA double expTail(double r) {
  return horner<double>(r, 0x1.ad9303fd4d2cap-26, 0x1.28adfefa75cap-22, 0x1.71df18e2549e2p-19, 0x1.a019995cdc7a7p-16,
         0x1.a01a012ff2944p-13, 0x1.6c16c18477aefp-10, 0x1.1111111126b3p-7, 0x1.55555555506bap-5, 0x1.55555555554fep-3,
         0x1.000000000000ap-1);
}
FORMULA float expTail(float r) {
  return horner<float>(r, 0x1.6a604ap-10f, 0x1.123ac8p-7f, 0x1.5558ap-5f, 0x1.55549p-3f, 0x1.fffffcp-2f);
}

FORMULA double expOf(double x) {
  x = x > 710 ? 710 : x;
  x = x < -746 ? -746 : x;
  const double magic = 0x1.8p52, t = fused(x, LOG2E, magic), k = t - magic;
  const double r = fused(k, -LN2_LOW, fused(k, -LN2_HIGH, x)), s = 1 + r, low = (1 - s) + r;
  return scaled(s + fused(r * r, expTail(r), low), (int64)((uint64)bitsOf(t) - (uint64)bitsOf(magic)));
}
FORMULA float expOf(float x) {
  x = x > 89.0f ? 89.0f : x;
  x = x < -105.0f ? -105.0f : x;
  const float magic = 0x1.8p23f, t = fused(x, LOG2E_F, magic), k = t - magic;
  const float r = fused(k, -(LN2_LOW_F), fused(k, -LN2_HIGH_F, x)), s = 1.0f + r, low = (1.0f - s) + r;
  return scaled(s + fused(r * r, expTail(r), low), (int32)((uint32)bitsOf(t) - (uint32)bitsOf(magic)));
}

// log(1 + f) - f + low, for 1 + f in [sqrt(1/2), sqrt(2)); in float32 in [2/3, 4/3).
FORMULA double logPolynomial(double z) {
  return horner<double>(z, 0x1.2f036e00c94cap-3, 0x1.39a1f25e27bf4p-3, 0x1.74663c7d6d9dp-3, 0x1.c71c5216a7ebfp-3,
         0x1.24924941de7bap-2, 0x1.999999997ff41p-2, 0x1.5555555555592p-1);
}
FORMULA double logTail(double f, double low) {
  const double s = f / (f + 2), z = s * s, h = f * 0.5, hf = h * f, hl = fused(h, f, -hf), r = z * logPolynomial(z);
  return (fused(s, hf + r, -hf) - hl) + low;
}
FORMULA float logPolynomial(float f) {
  return horner<float>(f, -0x1.080cf8p-3f, 0x1.1e753cp-3f, -0x1.f30e26p-4f, 0x1.1ed3e8p-3f, -0x1.559de4p-3f, 0x1.99d06p-3f,
         -0x1.fffefp-3f, 0x1.555506p-2f, -0.5f);
}
FORMULA float logTail(float f, float low) { return fused(f * f, logPolynomial(f), low); }

FORMULA double logOf(double x) {
  const bool tiny = x < 0x1p-1022;
  const double u = tiny ? x * 0x1p54 : x;
  const int64 e = exponentOf(u, 0x1.6a09e667f3bcdp-1);
  const double f = ofBits((int64)((uint64)bitsOf(u) - ((uint64)e << 52))) - 1, n = doubleOf(e) - (tiny ? 54 : 0);
  const double s = fused(n, LN2_HIGH, f), d = fused(n, LN2_HIGH, -s), low = fused(n, LN2_LOW, d + f);
  const double y = s + logTail(f, low);
  return x == 0 ? -INFINITE : x < 0 ? NOT_A_NUMBER : x < INFINITE ? y : x;
}

FORMULA double log1pOf(double x) {
  const int64 e = exponentOf(x + 1, 0x1.6a09e667f3bcdp-1);
  // (1 + x) 2^-e - 1, exactly; the factor 16 keeps 2^-e normal.
  const double s = ofBits((int64)((uint64)bitsOf(16.0) - ((uint64)e << 52))), x16 = x * 0.0625, m = fused(s, 0.0625, -1.0);
  const double f = fused(x16, s, m);
  double g = fused(x16, s, m - f);
  g = fused(-g, f, g);
  const double n = doubleOf(e), z = fused(n, LN2_HIGH, f), d = fused(n, LN2_HIGH, -z), low = fused(n, LN2_LOW, d + f) + g;
  const double y = z + logTail(f, low), size = x < 0 ? -x : x;
  return x < -1 ? NOT_A_NUMBER : x == -1 ? -INFINITE : !(x < INFINITE) || size < 0x1p-54 ? x : y;
}
FORMULA float log1pOf(float x) {
  const int32 e = exponentOf(x + 1.0f, 0x1.555556p-1f);
  const float s = ofBits((int32)((uint32)bitsOf(16.0f) - ((uint32)e << 23))), x16 = x * 0.0625f;
  const float m = fused(s, 0.0625f, -1.0f), f = fused(x16, s, m);
  float g = fused(x16, s, m - f);
  g = fused(-g, f, g);
  const float n = (float)e, z = fused(n, LN2_HIGH_F, f), d = fused(n, LN2_HIGH_F, -z);
  const float low = fused(n, LN2_LOW_F, d + f) + g, y = z + logTail(f, low), size = x < 0 ? -x : x;
  return x < -1 ? (float)NOT_A_NUMBER : x == -1 ? -(float)INFINITE : !(x < (float)INFINITE) || size < 0x1p-25f ? x : y;
}

// log(e^a + e^b).
template <class F> FORMULA F logSum(F a, F b) {
  if (a != a || b != b) return a + b;
  if (a == b) return a + (F)0.693147180559945309417;
  const F larger = a < b ? b : a, smaller = a < b ? a : b;
  return larger + log1pOf(expOf(smaller - larger));
}

FORMULA double sinePolynomial(double z) {
  return horner<double>(z, -0x1.a55d96db32ae8p-41, 0x1.6114a777b42fbp-33, -0x1.ae643d45c1e5cp-26, 0x1.71de3a401a72fp-19,
         -0x1.a01a01a006d9p-13, 0x1.111111111108bp-7, -0x1.5555555555555p-3);
}
FORMULA double cosinePolynomial(double z) {
  return horner<double>(z, -0x1.8fa6917123386p-37, 0x1.1ee9dbec7010ap-29, -0x1.27e4f7f1c1054p-22, 0x1.a01a019c8f66bp-16,
         -0x1.6c16c16c15017p-10, 0x1.555555555554bp-5);
}
// For 0 <= x <= 2^30.
FORMULA double cosineOf(double x) {
  const double high = 0x1.921fb54442d18p0, middle = 0x1.1a62633145c07p-54, end = -0x1.f1976b7ed8fbcp-110;
  const double magic = 0x1.8p52, t = fused(x, 0x1.45f306dc9c883p-1, magic), k = t - magic;
  const int64 quadrant = (int64)((uint64)bitsOf(t) - (uint64)bitsOf(magic)) + 1;
  const double head = fused(k, -high, x), p = k * -middle, pl = fused(k, -middle, -p);
  const double h = head + p, u = h - head, e = fused(k, -end, ((head - (h - u)) + (p - u)) + pl);
  const double r = h + e, rl = (h - r) + e, z = r * r;
  double y;
  if (quadrant & 1) {
    const double half = r * 0.5, w = fused(-half, r, 1.0), low = fused(-r, rl, fused(-half, r, 1 - w));
    y = w + fused(z * z, cosinePolynomial(z), low);
  } else {
    y = r + fused(sinePolynomial(z), r * z, rl);
  }
  return quadrant & 2 ? -y : y;
}

FORMULA double powPolynomial(double z) {
  return horner<double>(z, 0x1.61e9cb0fb71a5p-3, 0x1.58fdaa1d110d9p-3, 0x1.8a09acc9b7c6p-3, 0x1.c68ee9a8566adp-3,
         0x1.0c9a853a72516p-2, 0x1.484b13d6add9bp-2, 0x1.a61762a7aedd3p-2, 0x1.2776c50ef9bfcp-1);
}
// x^y for normal numbers x in (0, 1) and y > 0: log2 x to twice the precision, and 2^t of the product.
FORMULA double powOf(double x, double y) {
  const int64 exponent = exponentOf(x, 0x1.6a09e667f3bcdp-1);
  const double m = ofBits((int64)((uint64)bitsOf(x) - ((uint64)exponent << 52))), n = doubleOf(exponent);
  const double f = m - 1, d = m + 1, dl = m - (d - 1), c = 1 / d, s0 = f * c, g = fused(-s0, dl, fused(-s0, d, f));
  const double gc = g * c, s = s0 + gc, sl = (s0 - s) + gc;
  const double z = s * s, zl = fused(s + s, sl, fused(s, s, -z)), p = powPolynomial(z);
  double a = z * p, al = fused(z, p, -a);
  const double v = 0x1.ec709dc3a03fdp-1 + a;
  double vl = (0x1.ec709dc3a03fdp-1 - v) + a;
  vl = fused(zl, p, vl + (al + 0x1.d27f05548af0cp-55));
  a = z * v;
  al = fused(zl, v, fused(z, vl, fused(z, v, -a)));
  const double w = 0x1.71547652b82fep1 + a;
  double wl = (0x1.71547652b82fep1 - w) + a;
  wl = wl + (al + 0x1.777d0ffda0d24p-55);
  const double h = s * w, hl = fused(sl, w, fused(s, wl, fused(s, w, -h)));
  const double l0 = n + h, ll = ((n - l0) + h) + hl, lg = l0 + ll, lgl = (l0 - lg) + ll;
  double t = y * lg, tl = fused(y, lgl, fused(y, lg, -t));
  const bool far = t < -1100;
  t = far ? -1100 : t;
  tl = far || y == INFINITE ? 0 : tl;
  const double tm = t + 0x1.8p52, r = t - (tm - 0x1.8p52);
  a = r * LN2_HIGH;
  al = fused(tl, LN2_HIGH, fused(r, LN2_LOW, fused(r, LN2_HIGH, -a)));
  const double e0 = 1 + a, el = (1 - e0) + a, e = fused(a * a, expTail(a), el), e1 = e0 + e, el1 = (e0 - e1) + e;
  return scaled(e1 + fused(e1, al, el1), (int64)((uint64)bitsOf(tm) - (uint64)bitsOf(0x1.8p52)));
}

FORMULA double lgammaNear1(double e) {
  return horner<double>(e, -0x1.cd15fe0d2180bp-3, 0x1.db8d14b984b43p-3, 0x1.58c191555bd4ap-3, -0x1.62854cae55f9cp-3,
         -0x1.3a2cb924be3d0p-3, 0x1.448ab2237ef85p-3, -0x1.25f238329208dp-8, 0x1.5b48e83ba44edp-8, -0x1.cffe0bc18662ep-5,
         0x1.e5b198f977938p-5, -0x1.a33fa4f50c02ep-5, 0x1.bad978c589529p-5, -0x1.e33d673e67c0fp-5, 0x1.00b36c1e271b0p-4,
         -0x1.11055d77f9801p-4, 0x1.24889fbacf506p-4, -0x1.3b1e5a452e83ep-4, 0x1.556b9f1bd3bb4p-4, -0x1.748c2beab2e19p-4,
         0x1.9a01dc292eeadp-4, -0x1.c806709756039p-4, 0x1.010b36c523ee9p-3, -0x1.2703a1dca49d9p-3, 0x1.5b40cb0fc4855p-3,
         -0x1.a8b9c17aa6802p-3, 0x1.151322ac7dbbep-2, -0x1.9a4d55beab2d5p-2, 0x1.a51a6625307d2p-1, -0x1.2788cfc6fb619p-1);
}
FORMULA double lgammaNear2(double e) {
  return horner<double>(e, -0x1.1be56b7e101c6p-23, 0x1.2b4bb069ee6a9p-22, -0x1.d06b46182e294p-22, 0x1.edf317afe0c72p-21,
         -0x1.125408d7ee6ebp-19, 0x1.2640a5e8ab73ep-18, -0x1.3cb5f201754a6p-17, 0x1.5806d7786fbc2p-16,
         -0x1.78de85fa0bf74p-15, 0x1.a127dd231f4b2p-14, -0x1.d3fd4bda4f97bp-13, 0x1.0b36af3424c50p-11,
         -0x1.38ac5c2c96006p-10, 0x1.7add6eae5b8fdp-9, -0x1.e404fc218ecffp-8, 0x1.51322ac7d7fd2p-6,
         -0x1.13e001a557607p-4, 0x1.4a34cc4a60fa7p-2, 0x1.b0ee6072093cep-2);
}
FORMULA double stirlingTail(double z) {
  return horner<double>(z, -0x1.6296f938fde04p-6, 0x1.9953fe129858ap-8, -0x1.f62ea65dab7ecp-10, 0x1.b9504e2ac3faap-11,
         -0x1.38137fcfdca11p-11, 0x1.a01a019f7bac4p-11, -0x1.6c16c16c16bacp-9, 0x1.5555555555555p-4);
}
// log Gamma(x) for x >= 1/2.
FORMULA double lgammaOf(double x) {
  if (x < 1.5) return fused(x - 1, lgammaNear1(x - 1), 0.0);
  if (x < 2.5) return (x - 2) * lgammaNear2(x - 2);
  if (x < 8.5) {
    // Gamma(x) = (x - 1)(x - 2) ... t Gamma(t) with t in [1.5, 2.5); all differences are exact.
    double product = x - 1, t = product;
    for (int k = 2; k <= 6; ++k) {
      const double factor = x - k;
      if (!(factor > 1.4999999999999998)) break;
      t = factor;
      product = product * factor;
    }
    return logOf(product) + (t - 2) * lgammaNear2(t - 2);
  }
  if (!(x < INFINITE)) return x;
  const double r = 1 / x;
  return fused(x - 0.5, logOf(x) - 1, fused(r, stirlingTail(r * r), 0x1.acfe390c97d69p-2));
}
