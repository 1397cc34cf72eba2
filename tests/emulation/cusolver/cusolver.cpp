// A stand-in for cuSOLVER: those of its functions that runtime/lib/cuda calls, by Jacobi's methods in kernels of its
// own (library_kernel.h), which are late as all work of a stream.
//
// It is strict: a routine is to be called with the arguments that its workspace was asked for with, on a stream that
// was given and is not captured, with deterministic results asked for, and with pointers of the device. What it may
// spoil (operands, the workspaces, as gesvdjBatched the vectors of those who want none) it spoils. $TANDEM_CUSOLVER_LOG
// names a file to which it adds a line a call; $TANDEM_CUSOLVER_FAIL, as `2:5`, has matrix 2 of each call report 5
// values that did not converge.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "runtime/lib/cuda/cusolver_functions.h"
#include "tests/emulation/library_kernel.h"

namespace {

namespace cs = tandem::cuda::cusolver;
namespace em = tandem::emulation;

constexpr int kNotInitialized = 1;  // CUSOLVER_STATUS_NOT_INITIALIZED
constexpr int kInvalidValue = 3;
constexpr int kExecutionFailed = 6;
constexpr int kInternalError = 7;
constexpr int kNotSupported = 9;
constexpr std::size_t kHostBytes = 96;
constexpr std::int64_t kMostBatched = 32768;

const char kText[] = R"cu(
#define EPSILON ((ELEMENT)(sizeof(ELEMENT) == 4 ? 1.1920928955078125e-07 : 2.220446049250313e-16))

// A matrix of so many rows, column by column.
struct Columns {
  ELEMENT* data;
  int64 rows;
  __device__ ELEMENT& operator()(int64 i, int64 j) const { return data[i + j * rows]; }
};
static __device__ inline ELEMENT size(ELEMENT x) { return x < 0 ? -x : x; }
static __device__ inline ELEMENT root(ELEMENT x) { return (ELEMENT)sqrt((double)x); }

// The rotation that makes an element of a symmetric matrix zero: tan of its angle, of half the difference of the
// diagonal's elements by it.
struct Rotation {
  ELEMENT c, s;
  __device__ explicit Rotation(ELEMENT half) {
    const ELEMENT t = (half < 0 ? (ELEMENT)-1 : (ELEMENT)1) / (size(half) + root(1 + half * half));
    c = 1 / root(1 + t * t);
    s = t * c;
  }
  __device__ void turn(ELEMENT& x, ELEMENT& y) const {
    const ELEMENT before = x;
    x = c * before - s * y;
    y = s * before + c * y;
  }
};

static __device__ void makeIdentity(Columns v, int64 n) {
  for (int64 i = 0; i < v.rows; ++i)
    for (int64 j = 0; j < n; ++j) v(i, j) = i == j;
}
static __device__ void swapColumns(Columns a, int64 i, int64 j) {
  for (int64 k = 0; k < a.rows; ++k) {
    const ELEMENT x = a(k, i);
    a(k, i) = a(k, j);
    a(k, j) = x;
  }
}

extern "C" __global__ void eigenvalues(ELEMENT* matrices, ELEMENT* values, int32* info, ELEMENT* workspace, int64 n,
                                       int64 upper, int64 vectors, int64 count, int64 failing, int64 number) {
  GRID_LOOP(matrix, count) {
    const Columns given = {matrices + matrix * n * n, n}, a = {workspace + matrix * 2 * n * n, n}, v = {a.data + n * n, n};
    for (int64 i = 0; i < n; ++i)
      for (int64 j = 0; j < n; ++j) a(i, j) = (upper ? i <= j : i >= j) ? given(i, j) : given(j, i);
    makeIdentity(v, n);
    bool turned = true;
    for (int sweep = 0; sweep < 60 && turned; ++sweep) {
      turned = false;
      for (int64 p = 0; p < n; ++p)
        for (int64 q = p + 1; q < n; ++q) {
          if (a(p, q) == 0 || size(a(p, q)) <= EPSILON / 8 * root(size(a(p, p))) * root(size(a(q, q)))) continue;
          turned = true;
          const Rotation r((a(q, q) - a(p, p)) / (2 * a(p, q)));
          for (int64 k = 0; k < n; ++k) r.turn(a(k, p), a(k, q));
          for (int64 k = 0; k < n; ++k) r.turn(a(p, k), a(q, k));
          for (int64 k = 0; k < n; ++k) r.turn(v(k, p), v(k, q));
        }
    }
    ELEMENT* w = values + matrix * n;
    for (int64 i = 0; i < n; ++i) w[i] = a(i, i);
    for (int64 i = 0; i < n; ++i) {
      int64 least = i;
      for (int64 j = i; j < n; ++j)
        if (w[j] < w[least]) least = j;
      const ELEMENT moved = w[i];
      w[i] = w[least];
      w[least] = moved;
      swapColumns(v, i, least);
    }
    for (int64 i = 0; i < n * n; ++i) given.data[i] = vectors ? v.data[i] : (ELEMENT)NAN_F;
    info[matrix] = matrix == failing ? (int32)number : 0;
  }
}

// Makes column j of u one unit vector that is at right angles to those before it.
static __device__ void complete(Columns u, int64 j) {
  for (int64 k = 0; k < u.rows; ++k) {
    for (int64 i = 0; i < u.rows; ++i) u(i, j) = i == k;
    ELEMENT norm = 0;
    for (int pass = 0; pass < 2; ++pass) {
      for (int64 l = 0; l < j; ++l) {
        ELEMENT sum = 0;
        for (int64 i = 0; i < u.rows; ++i) sum += u(i, l) * u(i, j);
        for (int64 i = 0; i < u.rows; ++i) u(i, j) -= sum * u(i, l);
      }
      norm = 0;
      for (int64 i = 0; i < u.rows; ++i) norm += u(i, j) * u(i, j);
    }
    if (norm * 2 * (ELEMENT)u.rows < (ELEMENT)(u.rows - j)) continue;
    for (int64 i = 0; i < u.rows; ++i) u(i, j) /= root(norm);
    return;
  }
}

// w = U diag(s) V^T, with no fewer rows than columns n; u becomes all of U, and w is overwritten.
static __device__ void factor(Columns w, Columns u, Columns v, ELEMENT* s, int64 n) {
  makeIdentity(v, n);
  bool turned = true;
  for (int sweep = 0; sweep < 60 && turned; ++sweep) {
    turned = false;
    for (int64 p = 0; p < n; ++p)
      for (int64 q = p + 1; q < n; ++q) {
        ELEMENT left = 0, right = 0, both = 0;
        for (int64 k = 0; k < w.rows; ++k) {
          left += w(k, p) * w(k, p);
          right += w(k, q) * w(k, q);
          both += w(k, p) * w(k, q);
        }
        if (size(both) <= EPSILON * root(left) * root(right)) continue;
        turned = true;
        const Rotation r((right - left) / (2 * both));
        for (int64 k = 0; k < w.rows; ++k) r.turn(w(k, p), w(k, q));
        for (int64 k = 0; k < n; ++k) r.turn(v(k, p), v(k, q));
      }
  }
  for (int64 j = 0; j < n; ++j) {
    ELEMENT sum = 0;
    for (int64 k = 0; k < w.rows; ++k) sum += w(k, j) * w(k, j);
    s[j] = root(sum);
  }
  for (int64 i = 0; i < n; ++i) {
    int64 largest = i;
    for (int64 j = i; j < n; ++j)
      if (s[j] > s[largest]) largest = j;
    const ELEMENT moved = s[i];
    s[i] = s[largest];
    s[largest] = moved;
    swapColumns(w, i, largest);
    swapColumns(v, i, largest);
  }
  for (int64 j = 0; j < w.rows; ++j) {
    if (j < n && s[j] > EPSILON * s[0]) {
      for (int64 k = 0; k < w.rows; ++k) u(k, j) = w(k, j) / s[j];
    } else {
      complete(u, j);
    }
  }
}

// `lefts`: columns of the left vectors; `turned`: V^T is wanted.
extern "C" __global__ void singularValues(ELEMENT* matrices, ELEMENT* values, ELEMENT* left, ELEMENT* right,
                                          int32* info, ELEMENT* workspace, int64 m, int64 n, int64 lefts, int64 turned,
                                          int64 vectors, int64 count, int64 failing, int64 number) {
  const bool wide = m < n;
  const int64 rows = wide ? n : m, columns = wide ? m : n;
  GRID_LOOP(matrix, count) {
    const Columns a = {matrices + matrix * m * n, m}, w = {workspace + matrix * (2 * rows * rows + columns * columns), rows};
    const Columns u = {w.data + rows * rows, rows}, v = {u.data + rows * rows, columns};
    for (int64 i = 0; i < rows; ++i)
      for (int64 j = 0; j < columns; ++j) w(i, j) = wide ? a(j, i) : a(i, j);
    factor(w, u, v, values + matrix * columns, columns);
    for (int64 i = 0; i < m * n; ++i) a.data[i] = (ELEMENT)NAN_F;
    const Columns x = wide ? v : u, y = wide ? u : v;
    if (vectors) {
      const Columns toLeft = {left + matrix * m * lefts, m}, toRight = {right + matrix * n * n, n};
      for (int64 j = 0; j < lefts; ++j)
        for (int64 i = 0; i < m; ++i) toLeft(i, j) = x(i, j);
      for (int64 j = 0; j < n; ++j)
        for (int64 i = 0; i < n; ++i) toRight(i, j) = turned ? y(j, i) : y(i, j);
    }
    info[matrix] = matrix == failing ? (int32)number : 0;
  }
}
)cu";

struct Context {
  tandem::cuda::StreamHandle stream = nullptr;
  bool hasStream = false, isDeterministic = false;
  std::string asked;  // the routine and the arguments that a workspace was asked for with
  std::size_t bytes = 0;
};

std::mutex& mutex() {
  static std::mutex m;
  return m;
}
template <class Handle>
std::set<Handle>& live() {
  static std::set<Handle> handles;
  return handles;
}
template <class Handle>
int make(Handle* handle, void* object) {
  const std::lock_guard lock(mutex());
  *handle = static_cast<Handle>(object);
  live<Handle>().insert(*handle);
  return cs::kSuccess;
}
template <class Handle>
bool isLive(Handle handle) {
  const std::lock_guard lock(mutex());
  return live<Handle>().contains(handle);
}
Context& of(cs::Handle handle) { return *reinterpret_cast<Context*>(handle); }

/// Can work reach the memory? The driver refuses a copy where it cannot.
bool isOnDevice(const void* memory, std::size_t bytes, tandem::cuda::StreamHandle stream) {
  const auto address = reinterpret_cast<tandem::cuda::DevicePointer>(memory);
  const auto copy = em::function<int (*)(tandem::cuda::DevicePointer, tandem::cuda::DevicePointer, std::size_t,
                                         tandem::cuda::StreamHandle)>("TANDEM_CUDA_DRIVER", "cuMemcpyDtoDAsync_v2");
  return copy != nullptr && memory != nullptr && copy(address, address, bytes, stream) == 0;
}

struct Failing {
  std::int64_t matrix = -1, number = 0;
  explicit Failing(const std::string& routine) {
    const char* given = std::getenv("TANDEM_CUSOLVER_FAIL");
    if (given == nullptr) return;
    char* colon = nullptr;
    const std::int64_t which = std::strtoll(given, &colon, 10);
    if (*colon == ':') number = std::strtoll(colon + 1, &colon, 10);
    if (*colon != ':' || routine.starts_with(std::string(colon + 1) + " ")) matrix = which;
  }
};

/// A call of a routine, or the question for its workspace.
struct Call {
  std::string routine;  // and what of it is wanted
  cs::Handle handle;
  int type, valueType, compute;
  std::int64_t m, n, count;
  const void* a;
  const void* values;
  const void* left = nullptr;
  const void* right = nullptr;
  std::size_t elements;  // of the workspace
  bool hasOptions;

  [[nodiscard]] std::size_t item() const { return type == cs::kFloat64 ? 8 : 4; }
  [[nodiscard]] std::string text() const {
    return routine + " " + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(count);
  }
  [[nodiscard]] std::string all() const {
    std::string s = text();
    for (const void* p : {a, values, left, right})
      s.append(" ").append(std::to_string(reinterpret_cast<std::uintptr_t>(p)));
    return s.append(" ").append(std::to_string(type));
  }
  [[nodiscard]] int check() const {
    if (!isLive(handle) || !hasOptions || !of(handle).hasStream) return kNotInitialized;
    if (type != cs::kFloat32 && type != cs::kFloat64) return kNotSupported;
    if (valueType != type || compute != type || m < 1 || n < 1 || count < 1) return kInvalidValue;
    return cs::kSuccess;
  }
  int ask(std::size_t* device, std::size_t* host) const {
    if (const int wrong = check()) return wrong;
    of(handle).asked = all();
    of(handle).bytes = elements * item();
    *device = of(handle).bytes;
    *host = kHostBytes;
    return cs::kSuccess;
  }
  int begin(const void* workspace, std::size_t bytes, void* host, std::size_t hostBytes, const int* info) const {
    if (const int wrong = check()) return wrong;
    Context& c = of(handle);
    if (!c.isDeterministic || c.asked != all()) return kInvalidValue;
    c.asked.clear();
    if (bytes < c.bytes || hostBytes < kHostBytes || host == nullptr) return kInvalidValue;
    int capturing = 0;
    const auto ask =
        em::function<int (*)(tandem::cuda::StreamHandle, int*)>("TANDEM_CUDA_DRIVER", "cuStreamIsCapturing");
    if (ask == nullptr || ask(c.stream, &capturing) != 0 || capturing != 0) return kInternalError;
    const auto k = static_cast<std::size_t>(std::min(m, n) * count);
    if (!isOnDevice(workspace, c.bytes, c.stream) || !isOnDevice(info, static_cast<std::size_t>(count) * 4, c.stream) ||
        !isOnDevice(a, static_cast<std::size_t>(m * n * count) * item(), c.stream) ||
        !isOnDevice(values, k * item(), c.stream))
      return kInvalidValue;
    std::memset(host, 0x5a, hostBytes);
    em::addLine("TANDEM_CUSOLVER_LOG", text());
    return cs::kSuccess;
  }
  int launch(const char* kernel, void** parameters) const {
    static std::map<std::pair<std::string, cs::Handle>, tandem::cuda::FunctionHandle> kernels;
    const std::lock_guard lock(mutex());
    const std::string element = type == cs::kFloat64 ? "double" : "float";
    tandem::cuda::FunctionHandle& f = kernels[{kernel + element, handle}];
    if (f == nullptr) f = em::kernelOf("cusolver", "#define ELEMENT " + element + "\n" + kText, kernel);
    const auto blocks = static_cast<unsigned>(std::min<std::int64_t>((count + 31) / 32, 1024));
    return em::launchKernel(f, blocks, of(handle).stream, parameters) ? cs::kSuccess : kExecutionFailed;
  }
};

Call symmetric(const char* routine, cs::Handle handle, cs::Options options, int wanted, int triangle, std::int64_t n,
               int type, const void* a, std::int64_t pitch, int valueType, const void* values, int compute,
               std::int64_t count) {
  const bool valid = isLive(options) && pitch == n && count <= kMostBatched && (wanted == 0 || wanted == 1) &&
                     (triangle == 0 || triangle == 1);
  return {std::string(routine) + (triangle == cs::kUpper ? " upper" : " lower") + (wanted ? " vectors" : " values"),
          handle,
          type,
          valueType,
          compute,
          n,
          n,
          count,
          a,
          values,
          nullptr,
          nullptr,
          static_cast<std::size_t>(2 * n * n * count),
          valid};
}
int runSymmetric(const Call& call, void* workspace, int* info, int wanted, int triangle) {
  const Failing failing(call.routine);
  void* a = const_cast<void*>(call.a);
  void* values = const_cast<void*>(call.values);
  std::int64_t n = call.n, upper = triangle, vectors = wanted, count = call.count, matrix = failing.matrix;
  std::int64_t number = failing.number;
  void* parameters[] = {static_cast<void*>(&a),
                        static_cast<void*>(&values),
                        static_cast<void*>(&info),
                        static_cast<void*>(&workspace),
                        &n,
                        &upper,
                        &vectors,
                        &count,
                        &matrix,
                        &number,
                        nullptr};
  return call.launch("eigenvalues", parameters);
}

std::size_t singularElements(std::int64_t m, std::int64_t n, std::int64_t count) {
  const std::int64_t rows = std::max(m, n), columns = std::min(m, n);
  return static_cast<std::size_t>((2 * rows * rows + columns * columns) * count);
}
Call byQr(cs::Handle handle, cs::Options options, signed char left, signed char right, std::int64_t m, std::int64_t n,
          int type, const void* a, std::int64_t pitch, int valueType, const void* values, int leftType, const void* u,
          std::int64_t uPitch, int rightType, const void* vt, std::int64_t vtPitch, int compute) {
  const bool valid = isLive(options) && m >= n && pitch == m && uPitch == m && vtPitch == n && left == right &&
                     leftType == type && rightType == type && (left == 'N' || (u != nullptr && vt != nullptr)) &&
                     (left == 'N' || left == 'S' || left == 'A');
  return {std::string("gesvd ") + static_cast<char>(left),
          handle,
          type,
          valueType,
          compute,
          m,
          n,
          1,
          a,
          values,
          u,
          vt,
          singularElements(m, n, 1),
          valid};
}
Call byJacobi(cs::Handle handle, int wanted, int m, int n, int type, const void* a, int pitch, const void* values,
              const void* u, int uPitch, const void* v, int vPitch, cs::Jacobi jacobi, int count) {
  const bool valid = isLive(jacobi) && m <= cs::kMostJacobi && n <= cs::kMostJacobi && pitch == m && uPitch == m &&
                     vPitch == n && count <= kMostBatched;
  return {std::string("gesvdjBatched ") + (wanted ? "vectors" : "values"),
          handle,
          type,
          type,
          type,
          m,
          n,
          count,
          a,
          values,
          u,
          v,
          singularElements(m, n, count),
          valid};
}
Call byJacobiAlone(cs::Handle handle, int wanted, int isThin, int m, int n, int type, const void* a, int pitch,
                   const void* values, const void* u, int uPitch, const void* v, int vPitch, cs::Jacobi jacobi) {
  const bool valid = isLive(jacobi) && m >= n && pitch == m && uPitch == m && vPitch == n;
  return {std::string("gesvdj ") + (wanted ? "vectors" : "values") + (isThin ? " thin" : " full"),
          handle,
          type,
          type,
          type,
          m,
          n,
          1,
          a,
          values,
          u,
          v,
          singularElements(m, n, 1),
          valid};
}
/// `writes`: vectors, be they wanted or not.
int runSingular(const Call& call, void* workspace, int* info, bool writes, bool full, bool isTurned) {
  const auto vectorBytes = [&](std::int64_t elements) { return static_cast<std::size_t>(elements) * call.item(); };
  std::int64_t m = call.m, n = call.n, lefts = full ? m : n, turned = isTurned, vectors = writes, count = call.count;
  if (writes && (!isOnDevice(call.left, vectorBytes(m * lefts * count), of(call.handle).stream) ||
                 !isOnDevice(call.right, vectorBytes(n * n * count), of(call.handle).stream)))
    return kInvalidValue;
  const Failing failing(call.routine);
  void* a = const_cast<void*>(call.a);
  void* values = const_cast<void*>(call.values);
  void* left = const_cast<void*>(call.left);
  void* right = const_cast<void*>(call.right);
  std::int64_t matrix = failing.matrix, number = failing.number;
  void* parameters[] = {static_cast<void*>(&a),
                        static_cast<void*>(&values),
                        static_cast<void*>(&left),
                        static_cast<void*>(&right),
                        static_cast<void*>(&info),
                        static_cast<void*>(&workspace),
                        &m,
                        &n,
                        &lefts,
                        &turned,
                        &vectors,
                        &count,
                        &matrix,
                        &number,
                        nullptr};
  return call.launch("singularValues", parameters);
}

/// Of one dtype's functions of Jacobi's method, which count elements and have no workspace on the host.
template <class T>
int askJacobi(const Call& call, int* elements) {
  std::size_t device = 0;
  std::size_t host = 0;
  const int result = call.ask(&device, &host);
  *elements = static_cast<int>(device / sizeof(T));
  return result;
}
template <class T>
int runJacobi(const Call& call, T* work, int elements, int* info, bool full = true) {
  char host[kHostBytes];
  if (elements < 0) return kInvalidValue;
  if (const int wrong = call.begin(work, static_cast<std::size_t>(elements) * sizeof(T), host, kHostBytes, info))
    return wrong;
  return runSingular(call, work, info, true, full, false);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int cusolverDnCreate(cs::Handle* handle) { return make(handle, new Context); }
int cusolverDnCreateParams(cs::Options* options) { return make(options, new char); }
int cusolverDnCreateGesvdjInfo(cs::Jacobi* jacobi) { return make(jacobi, new char); }
int cusolverDnSetStream(cs::Handle handle, tandem::cuda::StreamHandle stream) {
  if (!isLive(handle)) return kNotInitialized;
  of(handle).stream = stream;
  of(handle).hasStream = true;
  return cs::kSuccess;
}
int cusolverDnSetDeterministicMode(cs::Handle handle, int mode) {
  if (!isLive(handle)) return kNotInitialized;
  of(handle).isDeterministic = mode == cs::kDeterministic;
  return cs::kSuccess;
}

int cusolverDnXsyevd_bufferSize(cs::Handle handle, cs::Options options, int wanted, int triangle, std::int64_t n,
                                int type, const void* a, std::int64_t pitch, int valueType, const void* values,
                                int compute, std::size_t* device, std::size_t* host) {
  return symmetric("syevd", handle, options, wanted, triangle, n, type, a, pitch, valueType, values, compute, 1)
      .ask(device, host);
}
int cusolverDnXsyevd(cs::Handle handle, cs::Options options, int wanted, int triangle, std::int64_t n, int type,
                     void* a, std::int64_t pitch, int valueType, void* values, int compute, void* device,
                     std::size_t deviceBytes, void* host, std::size_t hostBytes, int* info) {
  const Call call =
      symmetric("syevd", handle, options, wanted, triangle, n, type, a, pitch, valueType, values, compute, 1);
  if (const int wrong = call.begin(device, deviceBytes, host, hostBytes, info)) return wrong;
  return runSymmetric(call, device, info, wanted, triangle);
}
int cusolverDnXsyevBatched_bufferSize(cs::Handle handle, cs::Options options, int wanted, int triangle, std::int64_t n,
                                      int type, const void* a, std::int64_t pitch, int valueType, const void* values,
                                      int compute, std::size_t* device, std::size_t* host, std::int64_t batch) {
  return symmetric("syevBatched", handle, options, wanted, triangle, n, type, a, pitch, valueType, values, compute,
                   batch)
      .ask(device, host);
}
int cusolverDnXsyevBatched(cs::Handle handle, cs::Options options, int wanted, int triangle, std::int64_t n, int type,
                           void* a, std::int64_t pitch, int valueType, void* values, int compute, void* device,
                           std::size_t deviceBytes, void* host, std::size_t hostBytes, int* info, std::int64_t batch) {
  const Call call =
      symmetric("syevBatched", handle, options, wanted, triangle, n, type, a, pitch, valueType, values, compute, batch);
  if (const int wrong = call.begin(device, deviceBytes, host, hostBytes, info)) return wrong;
  return runSymmetric(call, device, info, wanted, triangle);
}

int cusolverDnXgesvd_bufferSize(cs::Handle handle, cs::Options options, signed char left, signed char right,
                                std::int64_t m, std::int64_t n, int type, const void* a, std::int64_t pitch,
                                int valueType, const void* values, int leftType, const void* u, std::int64_t uPitch,
                                int rightType, const void* vt, std::int64_t vtPitch, int compute, std::size_t* device,
                                std::size_t* host) {
  return byQr(handle, options, left, right, m, n, type, a, pitch, valueType, values, leftType, u, uPitch, rightType, vt,
              vtPitch, compute)
      .ask(device, host);
}
int cusolverDnXgesvd(cs::Handle handle, cs::Options options, signed char left, signed char right, std::int64_t m,
                     std::int64_t n, int type, void* a, std::int64_t pitch, int valueType, void* values, int leftType,
                     void* u, std::int64_t uPitch, int rightType, void* vt, std::int64_t vtPitch, int compute,
                     void* device, std::size_t deviceBytes, void* host, std::size_t hostBytes, int* info) {
  const Call call = byQr(handle, options, left, right, m, n, type, a, pitch, valueType, values, leftType, u, uPitch,
                         rightType, vt, vtPitch, compute);
  if (const int wrong = call.begin(device, deviceBytes, host, hostBytes, info)) return wrong;
  return runSingular(call, device, info, left != cs::kNone, left == cs::kFull, true);
}

int cusolverDnSgesvdjBatched_bufferSize(cs::Handle handle, int wanted, int m, int n, const float* a, int pitch,
                                        const float* values, const float* u, int uPitch, const float* v, int vPitch,
                                        int* elements, cs::Jacobi jacobi, int batch) {
  return askJacobi<float>(
      byJacobi(handle, wanted, m, n, cs::kFloat32, a, pitch, values, u, uPitch, v, vPitch, jacobi, batch), elements);
}
int cusolverDnDgesvdjBatched_bufferSize(cs::Handle handle, int wanted, int m, int n, const double* a, int pitch,
                                        const double* values, const double* u, int uPitch, const double* v, int vPitch,
                                        int* elements, cs::Jacobi jacobi, int batch) {
  return askJacobi<double>(
      byJacobi(handle, wanted, m, n, cs::kFloat64, a, pitch, values, u, uPitch, v, vPitch, jacobi, batch), elements);
}
int cusolverDnSgesvdjBatched(cs::Handle handle, int wanted, int m, int n, float* a, int pitch, float* values, float* u,
                             int uPitch, float* v, int vPitch, float* work, int elements, int* info, cs::Jacobi jacobi,
                             int batch) {
  return runJacobi(byJacobi(handle, wanted, m, n, cs::kFloat32, a, pitch, values, u, uPitch, v, vPitch, jacobi, batch),
                   work, elements, info);
}
int cusolverDnDgesvdjBatched(cs::Handle handle, int wanted, int m, int n, double* a, int pitch, double* values,
                             double* u, int uPitch, double* v, int vPitch, double* work, int elements, int* info,
                             cs::Jacobi jacobi, int batch) {
  return runJacobi(byJacobi(handle, wanted, m, n, cs::kFloat64, a, pitch, values, u, uPitch, v, vPitch, jacobi, batch),
                   work, elements, info);
}
int cusolverDnDgesvdj_bufferSize(cs::Handle handle, int wanted, int isThin, int m, int n, const double* a, int pitch,
                                 const double* values, const double* u, int uPitch, const double* v, int vPitch,
                                 int* elements, cs::Jacobi jacobi) {
  return askJacobi<double>(
      byJacobiAlone(handle, wanted, isThin, m, n, cs::kFloat64, a, pitch, values, u, uPitch, v, vPitch, jacobi),
      elements);
}
int cusolverDnDgesvdj(cs::Handle handle, int wanted, int isThin, int m, int n, double* a, int pitch, double* values,
                      double* u, int uPitch, double* v, int vPitch, double* work, int elements, int* info,
                      cs::Jacobi jacobi) {
  return runJacobi(
      byJacobiAlone(handle, wanted, isThin, m, n, cs::kFloat64, a, pitch, values, u, uPitch, v, vPitch, jacobi), work,
      elements, info, isThin == 0);
}

}  // extern "C"
#pragma GCC visibility pop
