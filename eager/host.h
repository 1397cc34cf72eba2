// Between devices. What the host reads of a tensor it reads through `readHost`, so that a search for it lists all
// places that wait for a device.
#pragma once

#include "eager/tensor.h"

namespace tandem {

class GpuControl;

/// The elements of `t` on `device`: `t` itself where it is there, else a contiguous copy without history. Runs what was
/// recorded for `t`.
Tensor copyTo(const Tensor& t, Device device);
/// The elements of `t` for the host to read, by `data()`. Waits for the work that makes them.
inline Tensor readHost(const Tensor& t) { return copyTo(t, Device{}); }

/// While it lives, `copyTo` on this thread does not wait where it need not: from page-locked memory of the host to a
/// GPU, and from a GPU to such memory, which the host may read when it has waited for the GPU's stream.
class LateCopies {
 public:
  explicit LateCopies(bool late);
  ~LateCopies();
  LateCopies(const LateCopies&) = delete;
  LateCopies& operator=(const LateCopies&) = delete;

 private:
  bool before_;
};

/// Does such an object live?
bool copiesLate();
/// Queues a copy of `from`, which is on a GPU, to `into`, in which the host finds it when it has waited for the GPU's
/// stream. False, and nothing is done, where that cannot be: copies are not late, the memory is not page-locked or not
/// dense, something is recorded or has a history.
bool writeLate(const Tensor& into, const Tensor& from);

/// `t`, which is on the CPU, in memory that is page-locked for a GPU: a contiguous copy without history, or `t` itself.
Tensor pinned(const Tensor& t, GpuControl& gpu);

/// Where the first element is, on the device of `t`, which the host may not read from; materializes. Error inside vmap.
void* addressOf(const Tensor& t);
/// The same for others, who may read and write there from now on.
void* lentAddressOf(const Tensor& t);

/// Have both the same shape and the same elements? NaN differs from itself. Reads the data, of large tensors only up to
/// a piece in which they differ.
bool sameElements(const Tensor& x, const Tensor& y);

/// The first element.
template <class T>
T readElement(const Tensor& t) {
  return *readHost(t).dataAs<T>();
}

}  // namespace tandem
