// Vectors of AVX2, as gemm_body.h describes them. Included inside a file's own namespace, below the pragma that sets
// it.

struct Floats {
  using Scalar = float;
  using Vector = __m256;
  static constexpr int kLanes = 8;
  static constexpr int kRows = 6;
  static Vector zero() { return _mm256_setzero_ps(); }
  static Vector broadcast(float x) { return _mm256_set1_ps(x); }
  static Vector load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, Vector v) { _mm256_storeu_ps(p, v); }
  static Vector add(Vector a, Vector b) { return _mm256_add_ps(a, b); }
  static Vector fma(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
  static float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
};

struct Doubles {
  using Scalar = double;
  using Vector = __m256d;
  static constexpr int kLanes = 4;
  static constexpr int kRows = 6;
  static Vector zero() { return _mm256_setzero_pd(); }
  static Vector broadcast(double x) { return _mm256_set1_pd(x); }
  static Vector load(const double* p) { return _mm256_loadu_pd(p); }
  static void store(double* p, Vector v) { _mm256_storeu_pd(p, v); }
  static Vector add(Vector a, Vector b) { return _mm256_add_pd(a, b); }
  static Vector fma(Vector a, Vector b, Vector c) { return _mm256_fmadd_pd(a, b, c); }
  static double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
};
