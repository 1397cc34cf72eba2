// Pools: thread by thread an element of the result, in the order of sums that runtime/lib/pool has.
#include "runtime/base/attrs.h"
#include "runtime/base/error.h"
#include "runtime/lib/cuda/operands.h"
#include "runtime/lib/cuda/table.h"
#include "runtime/lib/cuda/texts.h"
#include "runtime/lib/pool/pooling.h"

namespace tandem::cuda::lib {
namespace {

using tandem::lib::Pool;
using tandem::lib::PoolAxis;
using tandem::lib::spatialSizes;

constexpr Source kPool("pool", kPoolText);

const Function& kernelOf(const char* name, DType t) {
  return kPool.kernel(name, {{"ELEMENT", typeName(t)}, {"COMPUTE", computeName(t)}});
}

/// The struct Pool of pool.cu.
struct Windows {
  struct Axis {
    std::int64_t size, out, kernel, stride, padding, dilation, adaptive;
  };
  Axis axes[3];
  std::int64_t countPadding = 0;
  std::int64_t divisor = 0;
  std::int64_t byPlaces = 0;

  explicit Windows(const Pool& pool) : axes{} {
    for (std::size_t d = 0; d < 3; ++d) {
      const PoolAxis& a = pool.axes[d];
      axes[d] = {a.size, a.out, a.kernel, a.stride, a.padding, a.dilation, a.adaptive ? 1 : 0};
    }
    const PoolAxis& w = pool.axes[2];
    byPlaces = tandem::lib::takesPlaces(w) ? 1 : 0;
  }
};

/// After the sizes that come first: kernel, stride, padding, output size, count_include_pad, divisor.
Windows readAverage(AttrReader& attrs, DimsRef in, DimsRef out) {
  DimsRef kernel = attrs.list();
  DimsRef stride = attrs.list();
  DimsRef padding = attrs.list();
  attrs.list();
  const bool count = attrs.boolean();
  Pool pool(in, out, kernel, stride, padding, {});
  pool.makeRegular();
  Windows windows(pool);
  windows.countPadding = count ? 1 : 0;
  windows.divisor = attrs.integer();
  return windows;
}

/// The spatial sizes of the output, the fourth list of the attributes.
DimsRef outputSizes(AttrReader attrs) {
  for (int i = 0; i < 3; ++i) attrs.list();
  return attrs.list();
}

/// Calls `make` with contiguous results whose channels are the second dim, and copies them to those of the call, where
/// they are the last one.
void inPlanes(const LibraryCall& call, LibraryFn make) {
  std::optional<Workspace> memory[2];
  std::array<ArrayView, 2> planes;
  for (std::size_t k = 0; k < call.outputs.size(); ++k) {
    const ArrayView& out = call.outputs[k];
    memory[k].emplace(static_cast<std::size_t>(out.numel()) * itemSize(out.dtype));
    const Dims shape = tandem::lib::channelsSecond(out.shape);
    planes[k] = {memory[k]->as(), out.dtype, shape, contiguousStrides(shape)};
  }
  make({call.inputs, std::span(planes).first(call.outputs.size()), call.attrs, call.scalars, call.line});
  for (std::size_t k = 0; k < call.outputs.size(); ++k) {
    const ArrayView& out = call.outputs[k];
    copyArray(planes[k], {out.data, out.dtype, planes[k].shape, tandem::lib::channelsSecond(out.strides)});
  }
}
/// The flag of channels that come last, behind so many lists, and, of averages, a flag and a number.
bool channelsComeLast(const LibraryCall& call, int lists, bool average) {
  AttrReader attrs(call.attrs);
  for (; lists > 0; --lists) attrs.list();
  if (average) attrs.boolean(), attrs.integer();
  return attrs.boolean(false);
}

void maxima(const LibraryCall& call, bool places) {
  const ArrayView& values = call.outputs[0];
  if (values.numel() == 0) return;
  AttrReader attrs(call.attrs);
  DimsRef kernel = attrs.list();
  DimsRef stride = attrs.list();
  DimsRef padding = attrs.list();
  DimsRef dilation = attrs.list();
  DimsRef size = attrs.list();
  const Dense x(call.inputs[0]);
  Pool pool(spatialSizes(x.view().shape, size.size()), size, kernel, stride, padding, dilation);
  pool.makeRegular();
  const std::int64_t n = values.numel();
  launch(kernelOf("maximum", values.dtype), elementwise(n), x.data(), values.data,
         places ? call.outputs[1].data : nullptr, n, Windows(pool));
}

void average(const LibraryCall& call) {
  const ArrayView& out = call.outputs[0];
  if (out.numel() == 0) return;
  const Dense x(call.inputs[0]);
  AttrReader attrs(call.attrs);
  DimsRef size = outputSizes(attrs);
  const Windows windows = readAverage(attrs, spatialSizes(x.view().shape, size.size()), size);
  const std::int64_t n = out.numel();
  launch(kernelOf("average", out.dtype), elementwise(n), x.data(), out.data, n, windows);
}

void spread(const LibraryCall& call) {
  const ArrayView& out = call.outputs[0];
  if (out.numel() == 0) return;
  const Dense grad(call.inputs[0]);
  AttrReader attrs(call.attrs);
  DimsRef inputSize = attrs.list();
  const Windows windows = readAverage(attrs, inputSize, spatialSizes(grad.view().shape, inputSize.size()));
  const std::int64_t n = out.numel();
  launch(kernelOf("spread", out.dtype), elementwise(n), grad.data(), out.data, n, windows);
}

void maximaAndPlaces(const LibraryCall& call) { maxima(call, true); }
void maximaAlone(const LibraryCall& call) { maxima(call, false); }

/// Operands (grad, indices): each element of the result has a list of the windows whose maximum it is, linked in any
/// order, which its thread sorts before it adds their cotangents.
void collect(const LibraryCall& call) {
  const ArrayView& out = call.outputs[0];
  if (out.numel() == 0) return;
  const Dense grad(call.inputs[0]);
  const Dense indices(call.inputs[1]);
  const std::int64_t inputSize = numelOf(AttrReader(call.attrs).list());
  const std::int64_t n = out.numel();
  const std::int64_t windows = grad.view().numel();
  const std::int64_t outputSize = windows / (n / inputSize);
  const std::size_t headBytes = static_cast<std::size_t>(n) * sizeof(std::uint64_t);
  const Workspace heads(headBytes);
  const Workspace next(static_cast<std::size_t>(windows) * sizeof(std::uint64_t));
  Fault* wrong = expectNoFault(call, [](const long long* numbers) {
    fail<IndexError>("max_pool: an index lies outside of the input, which has ", numbers[0], " elements");
  });
  fill(heads.as(), 0, headBytes);
  launch(kernelOf("link", out.dtype), elementwise(windows), indices.data(), heads.as(), next.as(), windows, outputSize,
         inputSize, wrong);
  launch(kernelOf("collect", out.dtype), elementwise(n), grad.data(), heads.as(), next.as(), out.data, n);
}

}  // namespace

void avg_pool(const LibraryCall& call) { channelsComeLast(call, 4, true) ? inPlanes(call, average) : average(call); }
void avg_pool_grad(const LibraryCall& call) { channelsComeLast(call, 5, true) ? inPlanes(call, spread) : spread(call); }
void max_pool(const LibraryCall& call) {
  channelsComeLast(call, 5, false) ? inPlanes(call, maximaAndPlaces) : maximaAndPlaces(call);
}
void max_pool_values(const LibraryCall& call) {
  channelsComeLast(call, 5, false) ? inPlanes(call, maximaAlone) : maximaAlone(call);
}
void max_pool_grad(const LibraryCall& call) {
  channelsComeLast(call, 1, false) ? inPlanes(call, collect) : collect(call);
}

namespace {
const Registered here{{"avg_pool", &avg_pool},
                      {"avg_pool_grad", &avg_pool_grad},
                      {"max_pool", &max_pool},
                      {"max_pool_values", &max_pool_values},
                      {"max_pool_grad", &max_pool_grad}};
}  // namespace

}  // namespace tandem::cuda::lib
