// Vectors of AVX2, as gemm_body.h describes them. Included inside a file's own namespace, below the pragma that sets
// it. first(n, p): the first n elements, behind which nothing is read, and zeros.

struct Floats {
  using Scalar = float;
  using Vector = __m256;
  static constexpr int kLanes = 8;
  static constexpr int kRows = 6;
  static Vector zero() { return _mm256_setzero_ps(); }
  static Vector broadcast(float x) { return _mm256_set1_ps(x); }
  static Vector load(const float* p) { return _mm256_loadu_ps(p); }
  static Vector first(int n, const float* p) {
    return _mm256_maskload_ps(p, _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)));
  }
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
  static Vector first(int n, const double* p) {
    return _mm256_maskload_pd(p, _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3)));
  }
  static void store(double* p, Vector v) { _mm256_storeu_pd(p, v); }
  static Vector add(Vector a, Vector b) { return _mm256_add_pd(a, b); }
  static Vector fma(Vector a, Vector b, Vector c) { return _mm256_fmadd_pd(a, b, c); }
  static double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
};
