// What a device does: keeps memory, loads and launches kernels, runs library functions, copies, orders work in streams.
// One executor a device. Code above the runtime finds it by the device of its tensors and knows nothing else of
// devices; a new kind is an implementation of this interface that registers itself.
//
// Work is queued: `launch`, `call` and `copy` may return before it is done, and what is queued in one stream is done in
// order. The CPU does it at once. Memory that is freed may still be used by work queued before; memory allocated after
// is used by work queued later. Only the executor and what it runs look at the memory of a device: the host reads a
// copy (`copyToHost`), which waits for the stream.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/function_ref.h"
#include "runtime/device/device.h"
#include "runtime/device/target.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/strided_reduction.h"
#include "runtime/lib/library.h"

namespace tandem {

/// An ordered queue of work on a device. On the CPU work is done when the call returns, so its streams are always
/// empty.
class Stream {
 public:
  virtual ~Stream() = default;
  /// Returns when all work queued so far is done. Throws the first error of that work which was not thrown yet.
  virtual void synchronize() = 0;
  /// The library's or driver's own handle; null on the CPU.
  virtual void* handle() const = 0;
};

/// A place in a stream that others can wait for.
class Event {
 public:
  virtual ~Event() = default;
  virtual void record(Stream& stream) = 0;
  /// Work queued on `stream` from now on waits for the event.
  virtual void waitOn(Stream& stream) = 0;
  virtual bool done() const = 0;
  virtual void synchronize() = 0;
  /// Milliseconds between two recorded and finished events.
  virtual double millisecondsSince(const Event& earlier) const = 0;
};

/// A launch that is to come. Of `args` pointers and scalars are not read.
struct LaunchPreview {
  const Kernel* kernel;
  const std::int64_t* args;
  LaunchSpace space;
  bool strided = false;  // by launchStrided
  bool listed = false;   // by launchList, together with the one before or behind it
};

/// A kernel whose code was made before. Without an object: one that launches only ask about and run others for.
struct SavedKernel {
  KernelSignature signature;
  std::string_view object;  // read while the module is made
  std::string_view symbol;
};

/// Such kernels, which live as long as it.
class KernelModule {
 public:
  virtual ~KernelModule() = default;
  /// Null: it has none of this signature.
  virtual const Kernel* find(const KernelSignature& signature) const = 0;
};

class GpuControl;

/// One device. Thread-safe.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual const Target& target() const = 0;

  /// As `allocate` and `deallocate` of runtime/memory/allocator.h.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void deallocate(void* p, std::size_t bytes) noexcept = 0;
  /// Host memory to the device's, in the order of `stream`; `from` may change once the call has returned.
  virtual void copyFromHost(void* to, const void* from, std::size_t bytes, Stream& stream) = 0;
  /// The device's memory to the host's. Waits for the stream.
  virtual void copyToHost(void* to, const void* from, std::size_t bytes, Stream& stream) = 0;
  /// Within the device.
  virtual void copy(void* to, const void* from, std::size_t bytes, Stream& stream) = 0;

  /// The kernel of a signature, for the life of the process. Its code comes from the caches (kernel_cache.h), or from
  /// the compiler of the architecture, when a launch first needs it: what compiling throws, `launch` or `prepare` does.
  virtual const Kernel* load(const KernelSignature& signature) = 0;
  /// Makes at once, in parallel, what code these launches will need: it may depend on sizes and strides.
  virtual void prepare(std::span<const LaunchPreview> launches) = 0;
  /// Of which kernels these launches will need the code, and of no others whatever the machine: what a saved program
  /// has to bring.
  virtual std::vector<KernelSignature> codeFor(std::span<const LaunchPreview> launches) {
    static_cast<void>(launches);
    fail<NotImplementedError>("programs cannot be saved for ", target().architecture);
  }
  /// The kernels of a saved program. InternalError saying what is wrong with their code.
  virtual std::unique_ptr<KernelModule> loadModule(std::span<const SavedKernel> kernels) {
    static_cast<void>(kernels);
    fail<NotImplementedError>("saved programs cannot be run on ", target().architecture);
  }
  /// Queues a kernel of this executor over a space, which is `wholeSpace` of its arguments. How the work is cut, and
  /// through which memory it goes, is the executor's choice and changes no bit. `args` is copied where the call returns
  /// before the work is done.
  virtual void launch(const Kernel& kernel, const std::int64_t* args, const LaunchSpace& space, Stream& stream) = 0;
  /// Queues a kernel once for each of `args`, its argument blocks one after another. It is a Row kernel without outer
  /// dims or over one row, whose operands are contiguous; the blocks share no memory that one of them writes, so that
  /// what they say may be done at once. False, having done nothing, where the executor has no way of its own: the
  /// caller then launches one after another.
  virtual bool launchList(const Kernel& kernel, std::span<const std::int64_t> args, Stream& stream) {
    static_cast<void>(kernel);
    static_cast<void>(args);
    static_cast<void>(stream);
    return false;
  }
  /// As `launch`, for a kernel of rows of which some inputs lie otherwise than `args`, laid out so, say: they are
  /// contiguous there, and `inputs`, one an input of the kernel, has shapes and strides of those, with as many elements
  /// in the same order. Made of a copy of each, unless the executor knows better.
  virtual void launchStrided(const Kernel& kernel, const ArgLayout& layout, const std::int64_t* args,
                             const LaunchSpace& space, std::span<const ArrayView> inputs, Stream& stream) {
    std::vector<std::int64_t> own(args, args + layout.size());
    std::list<Copy> copies;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const ArrayView& from = inputs[k];
      if (from.shape.empty()) continue;
      const Copy& copy = copies.emplace_back(*this, static_cast<std::size_t>(from.numel()) * itemSize(from.dtype));
      copyArray(from, {copy.data, from.dtype, from.shape, contiguousStrides(from.shape)}, stream);
      own[layout.pointer(k)] = std::bit_cast<std::int64_t>(copy.data);
    }
    launch(kernel, own.data(), space, stream);
  }
  /// Queues a reduction of strided memory. False, having done nothing, where the executor has no way of its own: the
  /// caller then launches a kernel, over a contiguous copy where the reduced dims do not merge.
  virtual bool reduceStrided(const StridedReduction& reduction, Stream& stream) {
    static_cast<void>(reduction);
    static_cast<void>(stream);
    return false;
  }
  /// Copies the elements of a strided array to another one of the same shape and dtype.
  virtual void copyArray(const ArrayView& from, const ArrayView& to, Stream& stream) = 0;
  /// The function of a library operation; null where the device has none.
  virtual LibraryFn library(std::string_view op) = 0;
  /// Queues a call of such a function. What the call names is copied where this returns before it is made.
  virtual void call(LibraryFn fn, const LibraryCall& call, Stream& stream) = 0;

  /// Queues in `stream()` what `queue` queues there: the launches, calls and copies of the plan of this number, the
  /// same ones each time but for their arguments. A device may keep them and queue them as one; it calls `queue` all
  /// the same, once or several times, of which one is done.
  virtual void queueSequence(std::uint64_t plan, FunctionRef<void()> queue) {
    static_cast<void>(plan);
    queue();
  }

  /// Where work goes that names no stream.
  virtual Stream& stream() = 0;
  virtual std::unique_ptr<Stream> makeStream() = 0;
  virtual std::unique_ptr<Event> makeEvent() = 0;

  /// Do tensors have elements? Without any no value is looked at before it is used.
  virtual bool hasElements() const { return true; }

  /// What a GPU does beside computing (gpu_control.h); null where the device is none.
  virtual GpuControl* gpu() { return nullptr; }

 private:
  struct Copy {
    Copy(Executor& runs, std::size_t bytes) : runs(runs), bytes(bytes), data(runs.allocate(bytes)) {}
    ~Copy() { runs.deallocate(data, bytes); }
    Copy(const Copy&) = delete;
    Copy& operator=(const Copy&) = delete;

    Executor& runs;
    std::size_t bytes;
    void* data;
  };
};

/// The devices of a kind, in the order of their indices; where there are none, why. They live as long as the process.
/// Error where the kind has devices already.
void registerExecutors(DeviceKind kind, std::span<Executor* const> devices, std::string_view why = {});
/// How many devices of the kind there are. Whoever asks first, here or by `executor`, opens what has them (plugin.h).
int deviceCount(DeviceKind kind);
/// Why no device of the kind is here, as part of a sentence; empty where there are some.
std::string whyNoDevice(DeviceKind kind);
/// The executor of a device; Error naming the device where it is not here.
Executor& executor(Device d);
/// What is asked about it.
inline const Target& targetOf(Device d) { return executor(d).target(); }

}  // namespace tandem
