// Tensor: what users hold. An intrusive pointer to a TensorImpl: a window (shape, strides, offset) on a storage, a
// dtype, and what autograd hangs on it.
//
// Three facts to know the rest by:
//   - A tensor is *pending* when its storage is: operations were recorded instead of run. Shape and dtype are known,
//     bytes are not; `materialize` makes them so. Everything above `eager/dispatch.h` treats both alike.
//   - A view shares its base's storage, and so its version counter; `viewBase` names the tensor it was taken from
//     (always a non-view), so that an in-place write through it reaches the base's history.
//   - `requiresGrad` is true of leaves that ask for a gradient and of results that have one to pass on; the rest
//     (`grad`, `grad_fn`, hooks) is in the AutogradMeta, allocated when first needed.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "eager/batch_dims.h"
#include "eager/modes.h"
#include "runtime/base/dtype.h"
#include "runtime/base/error.h"
#include "runtime/base/intrusive.h"
#include "runtime/base/scalar.h"
#include "runtime/base/shape.h"
#include "runtime/memory/object_pool.h"
#include "runtime/memory/storage.h"

namespace tandem {

/// Base of what `autograd` keeps with a tensor (autograd/meta.h).
class AutogradMetaBase {
 public:
  virtual ~AutogradMetaBase() = default;
};

/// How a view, or one that it is a view of, was made: all but plain ones refuse writes that would reach a gradient.
enum class ViewOrigin : std::uint8_t {
  Plain,
  Piece,      // one of several views that an operation gave
  NoGrad,     // where no gradients were recorded
  Inference,  // in inference mode
};

/// How often a tensor that `.data` made, and what looks at it, were written to: writes through it do not count as those
/// of the tensor that it was taken from, nor those as its own.
struct WriteCount : Counted<WriteCount> {
  std::uint32_t count = 0;
  static void destroy(WriteCount* c) { delete c; }
};

class TensorImpl : public Counted<TensorImpl> {
 public:
  TensorImpl(Ref<Storage> storage, DType dtype, DimsRef shape, DimsRef strides, std::int64_t offset);
  /// Contiguous from the storage's first byte on; `numel` is the product of the sizes.
  TensorImpl(Ref<Storage> storage, DType dtype, DimsRef shape, std::int64_t numel);
  TensorImpl(const TensorImpl&) = delete;
  TensorImpl& operator=(const TensorImpl&) = delete;

  static void destroy(TensorImpl* impl);
  /// Looks at what the other one does from now on, its hidden dims with it. The one way in which the window of a tensor
  /// that others may know changes.
  void become(const TensorImpl& other);
  /// How often this was written to, by any tensor that counts its writes together with it.
  [[nodiscard]] std::uint32_t& version() const { return writes ? writes->count : storage->version; }
  /// Counts writes as `other` does, on whose memory it is.
  void countWith(const TensorImpl& other) {
    if (other.writes) takeCount(other.writes);
  }
  /// Counts its own writes, and none that others make to the memory.
  void countAlone() { takeCount(Ref<WriteCount>(new WriteCount)); }
  /// The node that accumulates its gradient knows it.
  [[nodiscard]] bool isKnownToOthers() const { return autograd != nullptr; }
  static void* operator new(std::size_t bytes) { return poolAllocate(bytes); }
  static void operator delete(void* p) { poolFree(p, sizeof(TensorImpl)); }

  Ref<Storage> storage;
  std::int64_t offset;  // in elements
  Dims shape;
  Dims strides;  // in elements
  DType dtype;
  Device device;  // of the storage
  bool requiresGrad = false;
  bool contiguous;  // of (shape, strides), whatever the offset
  ViewOrigin origin = ViewOrigin::Plain;
  bool inference = false;  // made in inference mode, or a window on what was
  Ref<WriteCount> writes;  // null: the storage counts them
  /// The version at which the history of a view was last right (autograd/tape.h).
  std::uint32_t historyVersion = storage->version;
  std::uint32_t windowChanges = 0;  // how often it became another window
  std::int64_t numel;
  Ref<TensorImpl> viewBase;
  /// Dims that only the dispatcher sees; null but inside `vmap`. The rest of the window is that of the first example.
  Ref<const BatchDims> batch;
  std::unique_ptr<AutogradMetaBase> autograd;
  /// The Python object that wraps this, borrowed; null when there is none. Guarded by the GIL.
  void* pyObject = nullptr;

 private:
  friend class Counted<TensorImpl>;
  ~TensorImpl() = default;
  void takeCount(Ref<WriteCount> c) {
    writes = std::move(c);
    historyVersion = writes->count;
  }
};

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(TensorImpl* impl) : impl_(impl) {}
  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}

  [[nodiscard]] bool defined() const { return static_cast<bool>(impl_); }
  [[nodiscard]] TensorImpl* impl() const { return impl_.get(); }
  [[nodiscard]] const Ref<TensorImpl>& ref() const { return impl_; }
  TensorImpl* detach() { return impl_.detach(); }

  [[nodiscard]] const Dims& shape() const { return impl_->shape; }
  [[nodiscard]] const Dims& strides() const { return impl_->strides; }
  [[nodiscard]] std::int64_t dim() const { return static_cast<std::int64_t>(impl_->shape.size()); }
  /// Size of `dim`, which may be negative. IndexError where there is no such dim.
  [[nodiscard]] std::int64_t size(std::int64_t d) const { return impl_->shape[existingDim(d, dim())]; }
  [[nodiscard]] std::int64_t numel() const { return impl_->numel; }
  [[nodiscard]] DType dtype() const { return impl_->dtype; }
  [[nodiscard]] Device device() const { return impl_->device; }
  [[nodiscard]] bool isContiguous() const { return impl_->contiguous; }
  [[nodiscard]] bool requiresGrad() const { return impl_->requiresGrad; }
  [[nodiscard]] bool isPending() const { return impl_->storage->isPending(); }
  /// Runs what was recorded for this tensor, if it is pending.
  void materialize() const;
  /// Pointer to the first element of a tensor on the CPU; materializes. Of one elsewhere an error: see eager/host.h.
  [[nodiscard]] void* data() const;
  template <class T>
  [[nodiscard]] T* dataAs() const {
    return static_cast<T*>(data());
  }
  friend bool operator==(const Tensor& a, const Tensor& b) { return a.impl_ == b.impl_; }

 private:
  Ref<TensorImpl> impl_;
};

/// Where tensors are made that are made of no tensors: the CPU, unless a DeviceScope says otherwise.
extern thread_local constinit Device currentDevice;
class DeviceScope {
 public:
  explicit DeviceScope(Device device) : before_(currentDevice) { currentDevice = device; }
  ~DeviceScope() { currentDevice = before_; }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  Device before_;
};

/// The number of elements. OutOfMemoryError where it, the bytes or a row-major stride overflow.
std::int64_t elementsOf(DimsRef shape, DType dtype);
/// A fresh contiguous tensor, uninitialised (never pending).
Tensor makeEmpty(DimsRef shape, DType dtype, Device device = currentDevice);
/// Another window on the storage of `t`, with its hidden dims, without history: no view base, no gradient.
Tensor makeAlias(const Tensor& t, DimsRef shape, DimsRef strides, std::int64_t offset);

/// An operand of an operation: a tensor, or a Python number (weakly typed). Borrows the tensor.
class Operand {
 public:
  // NOLINTBEGIN(google-explicit-constructor): rules read `mul(g, sub(1, square(out)))`
  Operand() = default;
  Operand(const Tensor& t) : tensor_(&t) {}
  Operand(Scalar s) : scalar_(s) {}
  Operand(int v) : scalar_(v) {}
  Operand(double v) : scalar_(v) {}
  Operand(std::int64_t v) : scalar_(v) {}
  // NOLINTEND(google-explicit-constructor)
  [[nodiscard]] bool isTensor() const { return tensor_ != nullptr; }
  [[nodiscard]] const Tensor& tensor() const { return *tensor_; }
  [[nodiscard]] const Scalar& scalar() const { return scalar_; }

 private:
  const Tensor* tensor_ = nullptr;
  Scalar scalar_;
};

}  // namespace tandem
