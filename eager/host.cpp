#include "eager/host.h"

#include <algorithm>

#include "eager/apply_steps.h"
#include "eager/dispatch.h"
#include "eager/helpers.h"
#include "eager/kernels.h"
#include "eager/ops.h"
#include "eager/recorder.h"
#include "eager/sync_debug.h"
#include "eager/tape_hook.h"
#include "runtime/base/long_work.h"
#include "runtime/base/user_line.h"
#include "runtime/base/warn.h"
#include "runtime/device/executor.h"
#include "runtime/device/gpu_control.h"

namespace tandem {
namespace {

thread_local constinit bool copiesAreLate = false;

// Elements of which two tensors are compared first, and of the pieces behind them: those that differ mostly do so at
// once, and to compare a piece takes long beside a call.
constexpr std::int64_t kFirstLook = 512;
constexpr std::int64_t kLaterLook = std::int64_t{1} << 18;

std::size_t bytesOf(const Tensor& t) { return static_cast<std::size_t>(t.numel()) * itemSize(t.dtype()); }

Tensor makePinned(DimsRef shape, DType dtype, std::size_t bytes, GpuControl& gpu) {
  struct Block {
    GpuControl& gpu;
    void* memory;
  };
  auto* block = new Block{gpu, gpu.allocatePinned(bytes)};
  auto free = [](void* context) {
    auto* b = static_cast<Block*>(context);
    b->gpu.freePinned(b->memory);
    delete b;
  };
  const Ref<Storage> storage(new Storage(block->memory, bytes, free, block));
  return Tensor(new TensorImpl(storage, dtype, shape, contiguousStrides(shape), 0));
}

[[gnu::noinline, gnu::cold]] void tellOfWaiting(const Tensor& t) {
  std::string line = userLine();
  const std::string text =
      strcat("called a synchronizing CUDA operation: ", dtypeName(t.dtype()), " ", shapeText(t.shape()), " on ",
             deviceName(t.device()), " is read by the host", line.empty() ? "" : ", at ", line);
  if (syncDebug == SyncDebug::Error) fail(text);
  warn(text);
}

Tensor toHost(const Tensor& from, const void* source, std::size_t bytes) {
  Executor& there = executor(from.device());
  if (GpuControl* gpu = copiesAreLate ? there.gpu() : nullptr; gpu != nullptr && bytes != 0) {
    Tensor to = makePinned(from.shape(), from.dtype(), bytes, *gpu);
    gpu->copyToPinned(pointerOf(to), source, bytes, there.stream());
    return to;
  }
  Tensor to = makeEmpty(from.shape(), from.dtype(), Device{});
  if (bytes == 0) return to;
  if (syncDebug.load(std::memory_order_relaxed) != SyncDebug::Default) tellOfWaiting(from);
  void* place = pointerOf(to);
  Stream& stream = there.stream();
  const LongWork waiting(LongWork::kLong);
  there.copyToHost(place, source, bytes, stream);
  return to;
}

void fromHost(void* place, const void* source, std::size_t bytes, Device device) {
  Executor& there = executor(device);
  GpuControl* gpu = copiesAreLate ? there.gpu() : nullptr;
  if (gpu != nullptr && gpu->isPinned(source))
    gpu->copyFromPinned(place, source, bytes, there.stream());
  else
    there.copyFromHost(place, source, bytes, there.stream());
}

}  // namespace

LateCopies::LateCopies(bool late) : before_(std::exchange(copiesAreLate, late)) {}
LateCopies::~LateCopies() { copiesAreLate = before_; }

bool copiesLate() { return copiesAreLate; }

bool writeLate(const Tensor& into, const Tensor& from) {
  if (!copiesAreLate || !into.device().isCpu() || from.device().isCpu() || activeRecorder != nullptr) return false;
  if (into.shape() != from.shape() || !into.isContiguous() || into.impl()->batch || from.impl()->batch) return false;
  const Operand both[] = {into, from};
  if (refresh(both)) return false;
  Executor& there = executor(from.device());
  GpuControl* gpu = there.gpu();
  into.materialize();
  void* place = pointerOf(into);
  if (gpu == nullptr || into.numel() == 0 || !gpu->isPinned(place)) return false;
  NoGrad noGrad;
  const Tensor dense = ops::contiguous(ops::toDType(from, into.dtype()));
  if (tapeHook != nullptr) tapeHook->checkWrite(into, false);
  beforeWrite(*into.impl()->storage);
  gpu->copyToPinned(place, addressOf(dense), bytesOf(dense), there.stream());
  return true;
}

void* addressOf(const Tensor& t) {
  if (t.impl()->batch)
    fail("vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a "
         "Tensor, or anything else that reads its values; please try to rewrite what you're doing with other "
         "operations.");
  t.materialize();
  return pointerOf(t);
}

void* lentAddressOf(const Tensor& t) {
  void* address = addressOf(t);
  settleReads(*t.impl()->storage);
  return address;
}

Tensor copyTo(const Tensor& t, Device device) {
  t.materialize();
  if (t.device() == device) return t;
  if (t.impl()->batch) fail("vmap: the values of a tensor inside it cannot be copied to ", deviceName(device));
  NoGrad noGrad;
  AtOnce now;
  const Tensor from = t.isContiguous() ? t : apply(OpCode::clone, {t});
  const std::size_t bytes = bytesOf(from);
  const void* source = addressOf(from);
  if (device.isCpu()) return toHost(from, source, bytes);
  GpuControl* peer = from.device().kind == device.kind ? executor(device).gpu() : nullptr;
  if (!from.device().isCpu() && peer == nullptr) return copyTo(copyTo(from, Device{}), device);
  Tensor to = makeEmpty(from.shape(), from.dtype(), device);
  if (bytes == 0) return to;
  if (from.device().isCpu())
    fromHost(pointerOf(to), source, bytes, device);
  else
    peer->copyFromPeer(pointerOf(to), source, bytes, executor(from.device()), executor(device).stream());
  return to;
}

bool sameElements(const Tensor& x, const Tensor& y) {
  if (x.shape() != y.shape()) return false;
  // Only a NaN differs from itself.
  if (x.impl() == y.impl() && !isFloating(x.dtype())) return true;
  auto same = [](const Tensor& a, const Tensor& b) { return readElement<bool>(ops::all(ops::eq(a, b))); };
  const auto lies = [](const Tensor& t) { return t.device().isCpu() && t.isContiguous() && !t.isPending(); };
  if (x.numel() <= kFirstLook || activeRecorder != nullptr || !lies(x) || !lies(y) || x.impl()->batch ||
      y.impl()->batch)
    return same(x, y);
  NoGrad noGrad;
  for (std::int64_t from = 0, count = kFirstLook; from < x.numel(); from += count, count = kLaterLook) {
    count = std::min(count, x.numel() - from);
    auto piece = [&](const Tensor& t) { return makeAlias(t, Dims{count}, Dims{1}, t.impl()->offset + from); };
    if (!same(piece(x), piece(y))) return false;
  }
  return true;
}

Tensor pinned(const Tensor& t, GpuControl& gpu) {
  t.materialize();
  if (gpu.isPinned(t.impl()->storage->data())) return t;
  if (t.impl()->batch) fail("vmap: the memory of a tensor inside it cannot be pinned");
  Tensor to = makePinned(t.shape(), t.dtype(), bytesOf(t), gpu);
  NoGrad noGrad;
  AtOnce now;
  applyInto(to, OpCode::clone, {t});
  return to;
}

}  // namespace tandem
