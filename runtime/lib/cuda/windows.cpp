// unfold and fold: each element of the result on its own.
#include "runtime/lib/cuda/windows.h"

#include "runtime/base/attrs.h"
#include "runtime/base/error.h"
#include "runtime/lib/cuda/operands.h"
#include "runtime/lib/cuda/table.h"
#include "runtime/lib/cuda/texts.h"

namespace tandem::cuda {
namespace {

constexpr Source kWindows("windows", kWindowsText);

const Function& kernelOf(const char* name, DType t) {
  return kWindows.kernel(name, {{"ELEMENT", typeName(t)}, {"COMPUTE", computeName(t)}});
}

Windows windowsOf(DimsRef image, AttrReader& attrs) {
  DimsRef kernel = attrs.list();
  DimsRef dilation = attrs.list();
  DimsRef padding = attrs.list();
  DimsRef stride = attrs.list();
  Windows s{image[2],  image[3],  kernel[0],  kernel[1],  0,           0,
            stride[0], stride[1], padding[0], padding[1], dilation[0], dilation[1]};
  s.oh = (s.h + 2 * s.padH - s.dilationH * (s.kh - 1) - 1) / s.strideH + 1;
  s.ow = (s.w + 2 * s.padW - s.dilationW * (s.kw - 1) - 1) / s.strideW + 1;
  return s;
}

}  // namespace

void unfoldImages(const void* images, void* columns, DType dtype, std::int64_t channels, const Windows& windows) {
  const std::int64_t rows = channels * windows.kh * windows.kw;
  launch(kernelOf("unfold", dtype), elementwise(rows * 32), images, columns, rows, windows);
}

void sumImages(const void* each, void* out, DType dtype, std::int64_t size, std::int64_t images, bool onTop) {
  Grid grid = blocks((size + 31) / 32, 256);
  grid.threads = {32, 8, 1};
  launch(kernelOf("sumImages", dtype), grid, each, out, size, images, static_cast<int>(onTop));
}

namespace lib {

void unfold_windows(const LibraryCall& call) {
  const ArrayView& out = call.outputs[0];
  if (out.numel() == 0) return;
  const Dense x(call.inputs[0]);
  AttrReader attrs(call.attrs);
  const DimsRef image = x.view().shape;
  unfoldImages(x.data(), out.data, out.dtype, image[0] * image[1], windowsOf(image, attrs));
}

void fold_windows(const LibraryCall& call) {
  const ArrayView& out = call.outputs[0];
  if (out.numel() == 0) return;
  const Dense columns(call.inputs[0]);
  AttrReader attrs(call.attrs);
  attrs.list();
  const Windows windows = windowsOf(out.shape, attrs);
  const std::int64_t n = out.numel();
  launch(kernelOf("fold", out.dtype), elementwise(n), columns.data(), out.data, n, windows);
}

namespace {
const Registered here{{"unfold_windows", &unfold_windows}, {"fold_windows", &fold_windows}};
}  // namespace

}  // namespace lib

}  // namespace tandem::cuda
