// Vectors of AVX-512, as gemm_body.h describes them. Included inside a file's own namespace, below the pragma that sets
// it. first(n, p): the first n elements, behind which nothing is read, and zeros.

struct Floats {
  using Scalar = float;
  using Vector = __m512;
  static constexpr int kLanes = 16;
  static constexpr int kRows = 12;
  static Vector zero() { return _mm512_setzero_ps(); }
  static Vector broadcast(float x) { return _mm512_set1_ps(x); }
  static Vector load(const float* p) { return _mm512_loadu_ps(p); }
  static Vector first(int n, const float* p) { return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1U << n) - 1), p); }
  static void store(float* p, Vector v) { _mm512_storeu_ps(p, v); }
  static Vector add(Vector a, Vector b) { return _mm512_add_ps(a, b); }
  static Vector fma(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
  static float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
};

struct Doubles {
  using Scalar = double;
  using Vector = __m512d;
  static constexpr int kLanes = 8;
  static constexpr int kRows = 12;
  static Vector zero() { return _mm512_setzero_pd(); }
  static Vector broadcast(double x) { return _mm512_set1_pd(x); }
  static Vector load(const double* p) { return _mm512_loadu_pd(p); }
  static Vector first(int n, const double* p) { return _mm512_maskz_loadu_pd(static_cast<__mmask8>((1U << n) - 1), p); }
  static void store(double* p, Vector v) { _mm512_storeu_pd(p, v); }
  static Vector add(Vector a, Vector b) { return _mm512_add_pd(a, b); }
  static Vector fma(Vector a, Vector b, Vector c) { return _mm512_fmadd_pd(a, b, c); }
  static double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
};
