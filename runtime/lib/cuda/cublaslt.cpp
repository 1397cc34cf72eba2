#include "runtime/lib/cuda/cublaslt.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "runtime/base/error.h"
#include "runtime/base/shared_library.h"
#include "runtime/device/cuda/gpu.h"
#include "runtime/lib/cuda/cublaslt_functions.h"
#include "runtime/lib/cuda/foreign.h"

namespace tandem::cuda {
namespace {

namespace lt = cublaslt;

constexpr std::uint64_t kMostWorkspaceBytes = std::uint64_t{32} << 20;
// Products that are kept prepared.
constexpr std::size_t kMostPrepared = 4096;

void check(int status, const char* what) {
  if (status != lt::kSuccess) fail<Error>("matmul: cuBLASLt reports status ", status, " on ", what);
}

/// Null where it is missing or lacks a function: products are then made by our own kernel.
const lt::Library* library() {
  static const lt::Library* const found = []() -> const lt::Library* {
    static constexpr std::array<const char*, 2> kNames{"libcublasLt.so.13", "libcublasLt.so.12"};
    std::string why;
    void* object = openSharedLibrary("TANDEM_CUBLASLT", kNames, why);
    if (object == nullptr) return nullptr;
    auto made = std::make_unique<lt::Library>();
#define X(member, symbol, parameters) {#symbol, &made->member},
    const SharedFunction functions[] = {TANDEM_CUBLASLT(X)};
#undef X
    return findFunctions(object, functions).empty() ? made.release() : nullptr;
  }();
  return found;
}

/// A matrix [rows, columns] of a batch: its rows are dense, or (turned) its columns are, `pitch` apart.
struct Lie {
  bool turned = false;
  std::int64_t pitch = 0;
  std::int64_t stride = 0;  // from one matrix of the batch to the next
  friend auto operator<=>(const Lie&, const Lie&) = default;
};

struct ProductKey {
  int ordinal;
  DType dtype, result;
  bool tf32, biased;
  std::int64_t rows, columns, depth, batch;
  Lie a, b;
  friend auto operator<=>(const ProductKey&, const ProductKey&) = default;

  [[nodiscard]] Lie contiguousA() const { return {false, depth, batch > 1 ? rows * depth : 0}; }
  [[nodiscard]] Lie contiguousB() const { return {false, columns, batch > 1 ? depth * columns : 0}; }
  [[nodiscard]] bool contiguous() const { return a == contiguousA() && b == contiguousB(); }
};

int typeOf(DType t) {
  switch (t) {
  case DType::Float16:
    return lt::kFloat16;
  case DType::BFloat16:
    return lt::kBFloat16;
  case DType::Float64:
    return lt::kFloat64;
  default:
    return lt::kFloat32;
  }
}

/// Descriptions of a product for the library, which takes matrices column by column: it is given c^T = b^T a^T.
class Prepared {
 public:
  explicit Prepared(const ProductKey& key) : dtype_(key.dtype) {
    const lt::Library& l = *library();
    const bool wide = key.dtype == DType::Float64;
    const lt::Compute compute = wide ? lt::kComputeFloat64 : key.tf32 ? lt::kComputeTf32 : lt::kComputeFloat32;
    check(l.createOperation(&operation_, compute, wide ? lt::kFloat64 : lt::kFloat32), "describing a product");
    if (key.b.turned) transpose(lt::kTransposeA);
    if (key.a.turned) transpose(lt::kTransposeB);
    if (key.biased) {
      // Columns of c are rows of what the library makes. It looks at the alignment of the pointer alone.
      set(lt::kEpilogue, lt::kAddsBias);
      set(lt::kBiasPointer, reinterpret_cast<const void*>(kForeignAlignment));
    }
    b_ = layout(key, key.dtype, key.depth, key.columns, key.b);
    a_ = layout(key, key.dtype, key.rows, key.depth, key.a);
    c_ = layout(key, key.result, key.rows, key.columns,
                {false, key.columns, key.batch > 1 ? key.rows * key.columns : 0});
  }
  ~Prepared() {
    const lt::Library& l = *library();
    for (lt::Layout x : {a_, b_, c_})
      if (x != nullptr) l.destroyLayout(x);
    if (operation_ != nullptr) l.destroyOperation(operation_);
  }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  /// Asks for the algorithm. False: there is none.
  bool find(lt::Handle handle) {
    const lt::Library& l = *library();
    lt::Preference preference = nullptr;
    check(l.createPreference(&preference), "stating a preference");
    bool stated = true;
    auto state = [&](int attribute, auto value) {
      stated = stated && l.setPreference(preference, attribute, &value, sizeof value) == lt::kSuccess;
    };
    state(lt::kMostWorkspace, kMostWorkspaceBytes);
    state(lt::kReductionSchemes, lt::kByWorkspace);
    for (int which : {lt::kAlignmentA, lt::kAlignmentB, lt::kAlignmentC, lt::kAlignmentD})
      state(which, static_cast<std::uint32_t>(kForeignAlignment));
    lt::Found found{};
    int count = 0;
    const int status =
        stated ? l.find(handle, operation_, b_, a_, c_, c_, preference, 1, &found, &count) : lt::kSuccess;
    l.destroyPreference(preference);
    if (!stated || status != lt::kSuccess || count == 0 || found.status != lt::kSuccess) return false;
    algorithm_ = found.algorithm;
    workspaceBytes_ = found.workspaceBytes;
    return true;
  }
  /// Takes the algorithm of the same product of contiguous operands. False where it does not serve these.
  bool take(lt::Handle handle, const Prepared& other) {
    lt::Found found{};
    const int status = library()->check(handle, operation_, b_, a_, c_, c_, &other.algorithm_, &found);
    if (status != lt::kSuccess || found.status != lt::kSuccess || found.workspaceBytes > kMostWorkspaceBytes)
      return false;
    algorithm_ = other.algorithm_;
    workspaceBytes_ = found.workspaceBytes;
    return true;
  }
  void run(lt::Handle handle, const void* a, const void* b, const void* bias, void* c, StreamHandle stream,
           bool isInGraph) const {
    const Workspace workspace(workspaceBytes_);
    if (isInGraph) return;
    std::unique_lock<std::mutex> alone(bias_, std::defer_lock);
    if (bias != nullptr) {
      alone.lock();
      set(lt::kBiasPointer, bias);
    }
    const double one = 1, zero = 0;
    const float oneFloat = 1, zeroFloat = 0;
    const bool wide = dtype_ == DType::Float64;
    check(library()->matmul(handle, operation_, wide ? static_cast<const void*>(&one) : &oneFloat, b, b_, a, a_,
                            wide ? static_cast<const void*>(&zero) : &zeroFloat, c, c_, c, c_, &algorithm_,
                            workspace.as(), workspaceBytes_, stream),
          "a product");
  }

 private:
  template <class T>
  void set(int attribute, const T& value) const {
    check(library()->setOperation(operation_, attribute, &value, sizeof value), "describing a product");
  }
  void transpose(int which) const { set(which, lt::kTransposed); }
  static lt::Layout layout(const ProductKey& key, DType dtype, std::int64_t rows, std::int64_t columns,
                           const Lie& lie) {
    const lt::Library& l = *library();
    lt::Layout made = nullptr;
    const auto down = static_cast<std::uint64_t>(lie.turned ? rows : columns);
    const auto across = static_cast<std::uint64_t>(lie.turned ? columns : rows);
    check(l.createLayout(&made, typeOf(dtype), down, across, lie.pitch), "describing a matrix");
    if (key.batch == 1) return made;
    const auto count = static_cast<std::int32_t>(key.batch);
    check(l.setLayout(made, lt::kBatchCount, &count, sizeof count), "describing a batch");
    check(l.setLayout(made, lt::kBatchStride, &lie.stride, sizeof lie.stride), "describing a batch");
    return made;
  }

  DType dtype_;
  lt::Operation operation_ = nullptr;
  lt::Layout a_ = nullptr, b_ = nullptr, c_ = nullptr;
  lt::Algorithm algorithm_{};
  std::size_t workspaceBytes_ = 0;
  mutable std::mutex bias_;  // which the description names while a thread makes the call
};

/// What was prepared, for all devices; null where the library has no algorithm. Never destroyed: threads may multiply
/// while the process ends.
struct Preparations {
  std::mutex mutex;
  std::map<int, lt::Handle> handles;
  std::map<ProductKey, std::shared_ptr<const Prepared>> products;
};
Preparations& preparations() {
  static auto* const p = new Preparations;
  return *p;
}

lt::Handle handleOf(Preparations& p, int ordinal) {
  lt::Handle& handle = p.handles[ordinal];
  if (handle == nullptr) check(library()->create(&handle), "being set up");
  return handle;
}

/// With the lock.
std::shared_ptr<const Prepared> prepared(Preparations& p, lt::Handle handle, const ProductKey& key) {
  if (const auto it = p.products.find(key); it != p.products.end()) return it->second;
  if (p.products.size() >= kMostPrepared) p.products.clear();
  auto made = std::make_shared<Prepared>(key);
  bool good = false;
  if (key.contiguous()) {
    good = made->find(handle);
  } else {
    ProductKey plain = key;
    plain.a = key.contiguousA(), plain.b = key.contiguousB();
    const auto first = prepared(p, handle, plain);
    good = first != nullptr && made->take(handle, *first);
  }
  if (!good) made = nullptr;
  p.products[key] = made;
  return made;
}

/// Matrices [rows, columns] of an operand, dense one after the other.
Lie dense(const ArrayView& x, bool turned) {
  const std::size_t r = x.shape.size();
  const std::int64_t size = x.shape[r - 2] * x.shape[r - 1];
  return {turned, x.shape[r - (turned ? 2 : 1)], x.numel() == size ? 0 : size};
}

/// Are the columns of an operand dense, and not its rows? The library adds in an order that depends on it.
bool isTurned(const ArrayView& x) {
  const std::size_t r = x.shape.size();
  return x.shape[r - 1] != 1 && x.strides[r - 1] != 1 && (x.shape[r - 2] == 1 || x.strides[r - 2] == 1);
}

/// The distance between the matrices of a batch; nothing where there is no single one.
std::optional<std::int64_t> batchStride(const ArrayView& x) {
  bool batched = false;
  std::int64_t stride = 0, reach = 0;  // the latter of the batch dims behind
  for (std::size_t d = x.shape.size() - 2; d-- > 0;) {
    if (x.shape[d] == 1) continue;
    if (batched && x.strides[d] != reach) return {};
    if (!batched) stride = x.strides[d];
    batched = true;
    reach = x.strides[d] * x.shape[d];
  }
  return stride;
}

/// How an operand lies in memory, if the library can read it and it is as aligned as a dense one.
std::optional<Lie> lieOf(const ArrayView& x) {
  const std::size_t r = x.shape.size();
  const bool turned = isTurned(x);
  const std::size_t inner = r - (turned ? 2 : 1), outer = r - (turned ? 1 : 2);
  if (x.shape[inner] != 1 && x.strides[inner] != 1) return {};
  const Lie other = dense(x, turned);
  const std::optional<std::int64_t> stride = batchStride(x);
  if (!stride || *stride < 0 || !isAligned(x.data)) return {};
  const Lie lie{turned, x.shape[outer] == 1 ? other.pitch : x.strides[outer], *stride};
  if (lie.pitch < other.pitch || lie.pitch >> 31 != 0) return {};
  const auto item = static_cast<std::int64_t>(itemSize(x.dtype));
  auto alike = [item](std::int64_t a, std::int64_t b) {
    return (a * item % kForeignAlignment == 0) == (b * item % kForeignAlignment == 0);
  };
  if (!alike(lie.pitch, other.pitch) || (lie.stride != 0 && !alike(lie.stride, other.stride))) return {};
  return lie;
}

/// An operand as it lies, or a dense copy whose rows lie as its do.
class Operand {
 public:
  /// `moves`: it lies elsewhere each time, and is copied by a kernel, which a graph can be told.
  Operand(const ArrayView& x, bool moves) : array_(x) {
    const auto found = lieOf(x);
    if (found && !moves)
      lie_ = *found;
    else
      copy(isTurned(x));
  }
  void copy(bool turned) {
    if (copy_ && lie_.turned == turned) return;
    lie_ = dense(array_, turned);
    ArrayView read = array_;
    const std::size_t r = read.shape.size();
    if (turned) {
      std::swap(read.shape[r - 2], read.shape[r - 1]);
      std::swap(read.strides[r - 2], read.strides[r - 1]);
    }
    copy_.emplace(read);
  }
  [[nodiscard]] const Lie& lie() const { return lie_; }
  [[nodiscard]] const void* data() const { return copy_ ? copy_->data() : array_.data; }

 private:
  const ArrayView& array_;
  Lie lie_;
  std::optional<ForeignCopy> copy_;
};

}  // namespace

bool cublasltProduct(const ArrayView& a, const ArrayView& b, const ArrayView& c, bool allowsTf32,
                     const ArrayView* bias) {
  if (bias != nullptr) isSurveyed(*bias, *bias, *bias);
  if (!isFloating(c.dtype) || isSurveyed(a, b, c) || library() == nullptr) return false;
  const std::size_t r = c.shape.size();
  CudaStream& stream = Queueing::now().stream();
  const bool tf32 = allowsTf32 && a.dtype == DType::Float32;
  ProductKey key{stream.gpu().ordinal(), a.dtype, c.dtype, tf32, bias != nullptr, c.shape[r - 2], c.shape[r - 1],
                 a.shape[r - 1],         1,       {},      {}};
  for (std::size_t d = 0; d + 2 < r; ++d) key.batch *= c.shape[d];
  if (std::max({key.rows, key.columns, key.depth, key.batch}) >> 31 != 0) return false;
  key.a = key.contiguousA(), key.b = key.contiguousB();
  Preparations& all = preparations();
  stream.gpu().use();  // whose handle is made, and whose work is queued
  lt::Handle handle = nullptr;
  std::shared_ptr<const Prepared> product;
  {
    const std::lock_guard lock(all.mutex);
    handle = handleOf(all, key.ordinal);
    product = prepared(all, handle, key);
  }
  if (product == nullptr) return false;
  const void* operands[] = {a.data, b.data, c.data, bias != nullptr ? bias->data : nullptr};
  const ForeignCall call = foreignCall(operands);
  Operand left(a, (call.moving & 1) != 0);
  Operand right(b, (call.moving & 2) != 0);
  if (left.lie() != key.a || right.lie() != key.b) {
    ProductKey own = key;
    own.a = left.lie(), own.b = right.lie();
    std::shared_ptr<const Prepared> other;
    {
      const std::lock_guard lock(all.mutex);
      other = prepared(all, handle, own);
    }
    if (other != nullptr) {
      product = other;
    } else {
      if (left.lie() != key.a) left.copy(false);
      if (right.lie() != key.b) right.copy(false);
    }
  }
  std::optional<ForeignOperand> added;
  if (bias != nullptr) added.emplace(*bias, (call.moving & 8) != 0);
  const ForeignResult result(c, (call.moving & 4) != 0);
  product->run(handle, left.data(), right.data(), added ? added->data() : nullptr, result.data(), stream.raw(),
               call.isInGraph);
  result.finish();
  return true;
}

}  // namespace tandem::cuda
