// A stand-in for cuBLASLt: those of its functions that runtime/lib/cuda calls, and of them what it asks for. A product
// is a kernel of its own (library_kernel.h).
//
// It is strict: an unknown attribute, a wrong size, a missing workspace is an error. Like the real one it has
// algorithms that do not serve every layout (none of its own takes two transposed operands), none that adds a bias to a
// single row, and adds in another order where an operand is transposed. $TANDEM_CUBLASLT_LOG names a file to which it
// adds a line a product.
#include <atomic>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "runtime/lib/cuda/cublaslt_functions.h"
#include "tests/emulation/library_kernel.h"

namespace {

namespace lt = tandem::cuda::cublaslt;

constexpr int kInvalidValue = 7;  // CUBLAS_STATUS_INVALID_VALUE
constexpr int kInternalError = 14;
constexpr int kNotSupported = 15;
constexpr std::size_t kWorkspace = 512;
constexpr std::uint64_t kAlgorithm = 0x7a11d;

struct Operation {
  int compute, scale;
  std::int32_t transposeA = 0, transposeB = 0;
  std::uint32_t epilogue = 1;  // CUBLASLT_EPILOGUE_DEFAULT: nothing
  const void* bias = nullptr;
};
struct Layout {
  int type;
  std::uint64_t rows, columns;
  std::int64_t pitch;
  std::int32_t batch = 1;
  std::int64_t stride = 0;
};
struct Preference {
  std::uint64_t mostWorkspace = 0;
  std::uint32_t schemes = 0x1f;
  std::uint32_t alignment[4] = {256, 256, 256, 256};
};

Operation& of(lt::Operation o) { return *reinterpret_cast<Operation*>(o); }
Layout& of(lt::Layout l) { return *reinterpret_cast<Layout*>(l); }
Preference& of(lt::Preference p) { return *reinterpret_cast<Preference*>(p); }

template <class T>
int set(T& to, const void* value, std::size_t bytes) {
  if (bytes != sizeof(T) || value == nullptr) return kInvalidValue;
  std::memcpy(&to, value, bytes);
  return lt::kSuccess;
}

/// Columns by columns: element (i, j) of a matrix is i + j * pitch, of a transposed one i * pitch + j.
const char kText[] = R"cu(
struct Operand {
  const ELEMENT* data;
  int64 pitch, stride, transposed;
  __device__ SCALE at(int64 product, int64 i, int64 j) const {
    const SCALE x = load(data[product * stride + (transposed ? i * pitch + j : i + j * pitch)]);
    return TF32 ? (SCALE)__int_as_float((__float_as_int((float)x) + 0x1000) & ~0x1fff) : x;
  }
};
extern "C" __global__ void multiply(Operand a, Operand b, RESULT* d, int64 pitch, int64 stride, int64 m, int64 n,
                                    int64 k, int64 batch, SCALE* workspace, const RESULT* bias) {
  GRID_LOOP(i, batch * m * n) {
    int64 product = i / (m * n), row = i % m, column = i / m % n;
    SCALE sum = 0;
    for (int64 y = 0; y < k; ++y) {
      const int64 x = a.transposed || b.transposed ? k - 1 - y : y;
      sum = fma(a.at(product, row, x), b.at(product, x, column), sum);
    }
    workspace[threadIdx.x] = bias ? sum + load(bias[row]) : sum;
    d[product * stride + row + column * pitch] = Store<RESULT>::of(workspace[threadIdx.x]);
  }
}
)cu";

/// What the text's kernel gets.
struct Operand {
  const void* data;
  std::int64_t pitch, stride, transposed;
};

/// A handle, and so its kernels, belong to the device that was current when it was made.
tandem::cuda::FunctionHandle kernelOf(lt::Handle handle, int type, int result, bool tf32) {
  static std::mutex mutex;
  static std::map<std::tuple<lt::Handle, int, int, bool>, tandem::cuda::FunctionHandle> kernels;
  const std::lock_guard lock(mutex);
  tandem::cuda::FunctionHandle& kernel = kernels[{handle, type, result, tf32}];
  if (kernel != nullptr) return kernel;
  const auto name = [](int t) -> std::string {
    const char* names[] = {"float", "double", "float16"};
    return t == lt::kBFloat16 ? "bfloat16" : names[t];
  };
  kernel = tandem::emulation::kernelOf("cublaslt",
                                       "#define ELEMENT " + name(type) + "\n#define RESULT " + name(result) +
                                           "\n#define SCALE " + (type == lt::kFloat64 ? "double" : "float") +
                                           "\n#define TF32 " + (tf32 ? "1\n" : "0\n") + kText,
                                       "multiply");
  return kernel;
}

/// Do the descriptions belong together? Operands as they are multiplied: m x k and k x n.
bool fits(const Operation& o, const Layout& a, const Layout& b, const Layout& d) {
  const bool wide = a.type == lt::kFloat64;
  const bool tf32 = o.compute == lt::kComputeTf32 && a.type == lt::kFloat32;
  if ((!tf32 && o.compute != (wide ? lt::kComputeFloat64 : lt::kComputeFloat32)) ||
      o.scale != (wide ? lt::kFloat64 : lt::kFloat32))
    return false;
  if (o.epilogue == lt::kAddsBias ? o.bias == nullptr : o.epilogue != 1) return false;
  const bool widened = !wide && d.type == lt::kFloat32;
  if (a.type != b.type || (a.type != d.type && !widened) || a.batch != b.batch || a.batch != d.batch) return false;
  const std::uint64_t m = o.transposeA ? a.columns : a.rows, k = o.transposeA ? a.rows : a.columns;
  const std::uint64_t n = o.transposeB ? b.rows : b.columns, depth = o.transposeB ? b.columns : b.rows;
  for (const Layout* x : {&a, &b, &d})
    if (x->pitch < static_cast<std::int64_t>(x->rows)) return false;
  return k == depth && d.rows == m && d.columns == n;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int cublasLtCreate(lt::Handle* handle) {
  static std::atomic<std::uintptr_t> made{0};
  *handle = reinterpret_cast<lt::Handle>(++made);
  return lt::kSuccess;
}

int cublasLtMatmulDescCreate(lt::Operation* operation, int compute, int scale) {
  *operation = reinterpret_cast<lt::Operation>(new Operation{compute, scale});
  return lt::kSuccess;
}
int cublasLtMatmulDescDestroy(lt::Operation operation) {
  delete &of(operation);
  return lt::kSuccess;
}
int cublasLtMatmulDescSetAttribute(lt::Operation operation, int attribute, const void* value, std::size_t bytes) {
  if (attribute == lt::kTransposeA) return set(of(operation).transposeA, value, bytes);
  if (attribute == lt::kTransposeB) return set(of(operation).transposeB, value, bytes);
  if (attribute == lt::kEpilogue) return set(of(operation).epilogue, value, bytes);
  if (attribute == lt::kBiasPointer) return set(of(operation).bias, value, bytes);
  return kInvalidValue;
}

int cublasLtMatrixLayoutCreate(lt::Layout* layout, int type, std::uint64_t rows, std::uint64_t columns,
                               std::int64_t pitch) {
  if (type != lt::kFloat32 && type != lt::kFloat64 && type != lt::kFloat16 && type != lt::kBFloat16)
    return kNotSupported;
  *layout = reinterpret_cast<lt::Layout>(new Layout{type, rows, columns, pitch});
  return lt::kSuccess;
}
int cublasLtMatrixLayoutDestroy(lt::Layout layout) {
  delete &of(layout);
  return lt::kSuccess;
}
int cublasLtMatrixLayoutSetAttribute(lt::Layout layout, int attribute, const void* value, std::size_t bytes) {
  if (attribute == lt::kBatchCount) return set(of(layout).batch, value, bytes);
  if (attribute == lt::kBatchStride) return set(of(layout).stride, value, bytes);
  return kInvalidValue;
}

int cublasLtMatmulPreferenceCreate(lt::Preference* preference) {
  *preference = reinterpret_cast<lt::Preference>(new Preference);
  return lt::kSuccess;
}
int cublasLtMatmulPreferenceDestroy(lt::Preference preference) {
  delete &of(preference);
  return lt::kSuccess;
}
int cublasLtMatmulPreferenceSetAttribute(lt::Preference preference, int attribute, const void* value,
                                         std::size_t bytes) {
  if (attribute == lt::kMostWorkspace) return set(of(preference).mostWorkspace, value, bytes);
  if (attribute == lt::kReductionSchemes) return set(of(preference).schemes, value, bytes);
  if (attribute >= lt::kAlignmentA && attribute <= lt::kAlignmentD)
    return set(of(preference).alignment[attribute - lt::kAlignmentA], value, bytes);
  return kInvalidValue;
}

int cublasLtMatmulAlgoGetHeuristic(lt::Handle, lt::Operation operation, lt::Layout a, lt::Layout b, lt::Layout c,
                                   lt::Layout d, lt::Preference preference, int wanted, lt::Found* found, int* count) {
  *count = 0;
  if (wanted < 1 || c != d || !fits(of(operation), of(a), of(b), of(d))) return kInvalidValue;
  // Sums that atomics add up have no order.
  if ((of(preference).schemes & 1) != 0) return kInvalidValue;
  if (of(preference).mostWorkspace < kWorkspace) return kNotSupported;
  if (of(operation).epilogue == lt::kAddsBias && of(d).rows == 1) return kNotSupported;
  const auto& least = of(preference).alignment;
  *found = {{{kAlgorithm, least[0], least[1], least[2], least[3]}}, kWorkspace, lt::kSuccess, 1, {}};
  *count = 1;
  return lt::kSuccess;
}
int cublasLtMatmulAlgoCheck(lt::Handle, lt::Operation operation, lt::Layout a, lt::Layout b, lt::Layout c, lt::Layout d,
                            const lt::Algorithm* algorithm, lt::Found* found) {
  if (algorithm->data[0] != kAlgorithm || c != d || !fits(of(operation), of(a), of(b), of(d))) return kInvalidValue;
  if (of(operation).transposeA && of(operation).transposeB) return kNotSupported;
  *found = {*algorithm, kWorkspace, lt::kSuccess, 1, {}};
  return lt::kSuccess;
}

int cublasLtMatmul(lt::Handle handle, lt::Operation operation, const void* alpha, const void* a, lt::Layout aLayout,
                   const void* b, lt::Layout bLayout, const void* beta, const void* c, lt::Layout cLayout, void* d,
                   lt::Layout dLayout, const lt::Algorithm* algorithm, void* workspace, std::size_t workspaceBytes,
                   tandem::cuda::StreamHandle stream) {
  const Operation& o = of(operation);
  const Layout &left = of(aLayout), &right = of(bLayout), &to = of(dLayout);
  const bool wide = left.type == lt::kFloat64;
  if (algorithm->data[0] != kAlgorithm || c != d || cLayout != dLayout || !fits(o, left, right, to))
    return kInvalidValue;
  if (workspace == nullptr || workspaceBytes < kWorkspace || (o.transposeA && o.transposeB)) return kInvalidValue;
  const void* pointers[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i)
    if (reinterpret_cast<std::uintptr_t>(pointers[i]) % algorithm->data[1 + i] != 0) return kInvalidValue;
  // As long vectors are read of the bias as of the result.
  const void* bias = o.epilogue == lt::kAddsBias ? o.bias : nullptr;
  if (reinterpret_cast<std::uintptr_t>(bias) % algorithm->data[4] != 0) return kInvalidValue;
  const double one = wide ? *static_cast<const double*>(alpha) : *static_cast<const float*>(alpha);
  const double zero = wide ? *static_cast<const double*>(beta) : *static_cast<const float*>(beta);
  if (one != 1 || zero != 0) return kNotSupported;
  const tandem::cuda::FunctionHandle kernel = kernelOf(handle, left.type, to.type, o.compute == lt::kComputeTf32);
  if (kernel == nullptr) return kInternalError;
  Operand x{a, left.pitch, left.stride, o.transposeA}, y{b, right.pitch, right.stride, o.transposeB};
  auto m = static_cast<std::int64_t>(to.rows), n = static_cast<std::int64_t>(to.columns);
  auto k = static_cast<std::int64_t>(o.transposeA ? left.rows : left.columns);
  std::int64_t pitch = to.pitch, stride = to.stride, batch = to.batch;
  tandem::emulation::addLine("TANDEM_CUBLASLT_LOG",
                             std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) + " " +
                                 (o.transposeA ? "t" : "n") + (o.transposeB ? "t" : "n") +
                                 (o.compute == lt::kComputeTf32 ? " tf32" : "") + (bias != nullptr ? " bias" : ""));
  void* parameters[] = {&x,
                        &y,
                        static_cast<void*>(&d),
                        &pitch,
                        &stride,
                        &m,
                        &n,
                        &k,
                        &batch,
                        static_cast<void*>(&workspace),
                        static_cast<void*>(&bias),
                        nullptr};
  // As many threads as there are numbers in the workspace.
  return tandem::emulation::launchKernel(kernel, 1, stream, parameters) ? lt::kSuccess : kInternalError;
}

}  // extern "C"
#pragma GCC visibility pop
