// Random draws by rejection: Gamma, Poisson, binomial. One stream of random numbers an element. One text for the GPU and
// for the CPU (runtime/lib/random/draws.cpp); elementary.inl and philox.inl stand before it.

// The random numbers of one element: as many as it asks for, a function of seed, offset and place alone. The counter's
// second word counts the draws: an array has fewer than 2^32 elements a draw can be asked for.
struct ElementStream {
  uint64 seed, offset, element;
  uint32 draws, words[4];
  int left;
};
FORMULA ElementStream streamOf(int64 seed, int64 offset, int64 element) {
  ElementStream s;
  s.seed = (uint64)seed;
  s.offset = (uint64)offset;
  s.element = (uint64)element;
  s.draws = 0;
  s.left = 0;
  return s;
}
// In (0, 1), a multiple of 2^-54.
FORMULA double uniformDraw(ElementStream& s) {
  if (s.left == 0) {
    // The low half of the element's number and the draws so far; its high half goes with the offset's.
    s.words[0] = (uint32)s.element;
    s.words[1] = s.draws++;
    s.words[2] = (uint32)s.offset;
    s.words[3] = (uint32)(s.offset >> 32) ^ (uint32)(s.element >> 32 << 16);
    philoxRounds(s.words, s.seed);
    s.left = 2;
  }
  --s.left;
  const uint64 bits = (uint64)(s.left ? s.words[3] : s.words[1]) << 32 | (s.left ? s.words[2] : s.words[0]);
  return ((double)(bits >> 11) + 0.5) * 0x1p-53;
}
// Standard normal, by Box and Muller.
FORMULA double normalDraw(ElementStream& s) {
  const double r = rootOf(-2 * logOf(uniformDraw(s)));
  return r * cosineOf(0x1.921fb54442d18p2 * uniformDraw(s));
}

// Marsaglia and Tsang, "A simple method for generating gamma variables", 2000; a < 1 through a + 1.
FORMULA double gammaDraw(ElementStream& s, double a) {
  if (!(a >= 0)) return NOT_A_NUMBER;
  if (a == 0) return 0;
  const double boost = a < 1 ? powOf(uniformDraw(s), 1 / a) : 1;
  const double d = (a < 1 ? a + 1 : a) - 1.0 / 3, c = 1 / rootOf(9 * d);
  for (;;) {
    const double x = normalDraw(s);
    double v = 1 + c * x;
    if (v <= 0) continue;
    v = v * v * v;
    if (logOf(uniformDraw(s)) < x * x / 2 + d - d * v + d * logOf(v)) return boost * d * v;
  }
}

// Below 10 by multiplying uniform numbers (Knuth), else by PTRS: Hormann, "The transformed rejection method for
// generating Poisson random variables", 1993.
FORMULA double poissonDraw(ElementStream& s, double rate) {
  if (!(rate >= 0)) return NOT_A_NUMBER;
  if (rate == 0) return 0;
  if (rate < 10) {
    const double limit = expOf(-rate);
    double product = uniformDraw(s), k = 0;
    for (; product > limit; ++k) product *= uniformDraw(s);
    return k;
  }
  const double b = 0.931 + 2.53 * rootOf(rate), a = -0.059 + 0.02483 * b;
  const double inverseAlpha = 1.1239 + 1.1328 / (b - 3.4), vr = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = uniformDraw(s) - 0.5, v = uniformDraw(s), us = 0.5 - (u < 0 ? -u : u);
    const double k = floorOf((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= vr) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    const double accept = logOf(v) + logOf(inverseAlpha) - logOf(a / (us * us) + b);
    if (accept <= -rate + k * logOf(rate) - lgammaOf(k + 1)) return k;
  }
}

// Few expected successes by the gaps between them (Devroye 1986, X.4), else by BTRS: Hormann, "The generation of binomial
// random variates", 1993. p is at most 1/2.
FORMULA double fewSuccesses(ElementStream& s, double n, double p) {
  if (n * p < 10) {
    const double q = log1pOf(-p);
    double k = 0;
    for (double at = ceilOf(logOf(uniformDraw(s)) / q); at <= n; at += ceilOf(logOf(uniformDraw(s)) / q)) ++k;
    return k;
  }
  const double deviation = rootOf(n * p * (1 - p)), b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double c = n * p + 0.5, vr = 0.92 - 4.2 / b, alpha = (2.83 + 5.1 / b) * deviation, odds = p / (1 - p);
  const double mode = floorOf((n + 1) * p), atMode = lgammaOf(mode + 1) + lgammaOf(n - mode + 1);
  for (;;) {
    const double u = uniformDraw(s) - 0.5, v = uniformDraw(s), us = 0.5 - (u < 0 ? -u : u);
    const double k = floorOf((2 * a / us + b) * u + c);
    if (k < 0 || k > n) continue;
    if (us >= 0.07 && v <= vr) return k;
    const double accept = logOf(v * alpha / (a / (us * us) + b));
    if (accept <= atMode - lgammaOf(k + 1) - lgammaOf(n - k + 1) + (k - mode) * logOf(odds)) return k;
  }
}
FORMULA double binomialDraw(ElementStream& s, double n, double p) {
  if (!(n >= 0) || !(p >= 0) || p > 1) return NOT_A_NUMBER;
  n = floorOf(n);
  if (n == 0 || p == 0) return 0;
  if (p == 1) return n;
  return p > 0.5 ? n - fewSuccesses(s, n, 1 - p) : fewSuccesses(s, n, p);
}
