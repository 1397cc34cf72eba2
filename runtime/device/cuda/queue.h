// What library functions of a GPU are written with (runtime/lib/cuda): kernels in CUDA C++ text, compiled by NVRTC once
// for each set of definitions, memory that lives as long as the work that is queued, and checks of values that are
// raised by whoever waits next.
//
// A library function runs on the host, reads the shapes, strides and attributes of its call, and queues work in the
// current stream of its thread: that of `Executor::call`. It reads no device memory. Example:
//
//   constexpr Source kFlip("flip", kFlipText);                       // flip.cu, embedded by the build
//   void flip(const LibraryCall& call) {
//     const Function& kernel = kFlip.kernel("flip", {{"T", typeName(call.inputs[0].dtype)}});
//     const std::int64_t n = call.outputs[0].numel();
//     launch(kernel, elementwise(n), view(call.inputs[0]), view(call.outputs[0]), n);
//   }
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "runtime/lib/library.h"

namespace tandem::cuda {

/// A kernel of a loaded module.
class Function;
class Gpu;

/// A macro that a text is compiled with.
struct Define {
  std::string_view name;
  std::string value;
};

/// A text of CUDA C++ with the kernels of one subject. The build embeds runtime/lib/cuda/NAME.cu as `kNAMEText`
/// (generated/runtime/lib/cuda/texts.h); `common.cu`, which has the types and helpers that all share, is put before it.
/// Kernels are `extern "C" __global__`.
class Source {
 public:
  constexpr Source(const char* name, const char* text) : name_(name), text_(text) {}
  /// The kernel `name`, compiled with these definitions. Kept for the life of the process: a call is a look-up.
  [[nodiscard]] const Function& kernel(std::string_view name, std::initializer_list<Define> defines = {}) const;

 private:
  const char* name_;
  const char* text_;
};

/// How many threads a launch has.
struct Grid {
  std::array<unsigned, 3> blocks{1, 1, 1};
  std::array<unsigned, 3> threads{1, 1, 1};
  unsigned sharedBytes = 0;  // dynamic shared memory
};
/// Enough threads for n elements in a grid-stride loop: `for (i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i +=
/// gridDim.x * blockDim.x)`. Any n, also 0 (`launch` queues nothing then).
Grid elementwise(std::int64_t n, unsigned threads = 256);
/// A block of `threads` threads for each of n pieces of work, which kernels walk in a grid-stride loop over blocks.
Grid blocks(std::int64_t n, unsigned threads);

/// Queues a kernel in the current stream. Arguments are passed by value and must be of the types of the kernel's
/// parameters: `std::int64_t` for `long long`, `View` for `View`, pointers for pointers.
struct Parameter {
  const void* at;
  std::size_t bytes;
};
void launchRaw(const Function& function, const Grid& grid, std::span<const Parameter> parameters);
template <class... A>
void launch(const Function& function, const Grid& grid, const A&... arguments) {
  static_assert((std::is_trivially_copyable_v<A> && ...));
  const Parameter parameters[] = {{static_cast<const void*>(&arguments), sizeof arguments}...};
  launchRaw(function, grid, parameters);
}

/// An array in device memory as kernels get it, the same struct as in common.cu. Strides count elements.
struct View {
  static constexpr int kMostDims = 12;
  void* data = nullptr;
  std::int64_t numel = 0;
  std::int32_t rank = 0;
  std::int32_t contiguous = 0;
  std::int64_t shape[kMostDims] = {};
  std::int64_t strides[kMostDims] = {};
};
/// As it is, dims of size 1 left out where there are more than kMostDims. NotImplementedError where too many are left.
View view(const ArrayView& array);
/// With adjacent dims merged where its strides allow: for kernels that walk it in row-major order.
View flatView(const ArrayView& array);

/// `float`, `int64`, `float16` ...: what a dtype is called in common.cu. Half types are stored as structs of their
/// bits, bools as `truth`; `computeName` is what arithmetic on them uses: float and bool.
std::string typeName(DType t);
std::string computeName(DType t);

/// Device memory for what this library function queues; others may have it when that is done.
class Workspace {
 public:
  explicit Workspace(std::size_t bytes);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  template <class T = void>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_;
  Gpu* gpu_;
};

/// Fills device memory with a byte.
void fill(void* to, unsigned char value, std::size_t bytes);
/// Copies within the device. Host memory to the device: `from` may change once this has returned.
void copy(void* to, const void* from, std::size_t bytes);
void copyFromHost(void* to, const void* from, std::size_t bytes);
/// Copies the elements of a strided array to another one of the same shape, converting the dtype as `Tensor.to` does.
void copyArray(const ArrayView& from, const ArrayView& to);
/// The same within a dtype, by a kernel also where both are contiguous.
void copyByKernel(const ArrayView& from, const ArrayView& to);
/// For functions that have a library of NVIDIA's do their work where it is there: on a survey (survey.h), true, and the
/// copies that it may need are noted. Our own kernels are then to be noted, too, which serve where it is not.
bool isSurveyed(const ArrayView& a, const ArrayView& b, const ArrayView& out);
/// Waits for the stream and copies to the host: only where the size of a result depends on data, and there once.
void copyToHost(void* to, const void* from, std::size_t bytes);
/// The whole call done on the host: operands are copied there, the CPU's function runs, results are copied back. For
/// what needs a library that is not there; a warning says so once an operation, and `why`. `op` is its name.
void callOnHost(std::string_view op, const LibraryCall& call, std::string_view why);

/// A place where kernels that are queued now may report a wrong value: `fault(where, a, b, c)` in common.cu, of which
/// the first call counts. Whoever waits for the stream next gets what `raise` throws of the three numbers, with the
/// call's line. `raise` must own what it names.
using Fault = long long;
Fault* expectNoFault(const LibraryCall& call, std::function<void(const long long* numbers)> raise);

/// What is asked of the current device.
struct DeviceLimits {
  int multiprocessors;
  int sharedBytes;   // of a block, with opt-in
  int architecture;  // 90 for sm_90
};
const DeviceLimits& limits();

}  // namespace tandem::cuda
