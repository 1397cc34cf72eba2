// unfold and fold: each element of the result on its own.
#include "runtime/base/attrs.h"
#include "runtime/base/error.h"
#include "runtime/lib/cuda/operands.h"
#include "runtime/lib/cuda/table.h"
#include "runtime/lib/cuda/texts.h"

namespace tandem::cuda::lib {
namespace {

constexpr Source kWindows("windows", kWindowsText);

/// The struct Windows of windows.cu, of images [n, c, h, w]; attributes kernel, dilation, padding, stride.
struct Windows {
  std::int64_t h, w, kh, kw, oh, ow;
  std::int64_t strideH, strideW, padH, padW, dilationH, dilationW;

  Windows(DimsRef image, AttrReader& attrs) : h(image[2]), w(image[3]) {
    DimsRef kernel = attrs.list();
    DimsRef dilation = attrs.list();
    DimsRef padding = attrs.list();
    DimsRef stride = attrs.list();
    kh = kernel[0], kw = kernel[1];
    strideH = stride[0], strideW = stride[1];
    padH = padding[0], padW = padding[1];
    dilationH = dilation[0], dilationW = dilation[1];
    oh = (h + 2 * padH - dilationH * (kh - 1) - 1) / strideH + 1;
    ow = (w + 2 * padW - dilationW * (kw - 1) - 1) / strideW + 1;
  }
};

}  // namespace

void unfold_windows(const LibraryCall& call) {
  const ArrayView& out = call.outputs[0];
  if (out.numel() == 0) return;
  const Dense x(call.inputs[0]);
  AttrReader attrs(call.attrs);
  const Windows windows(x.view().shape, attrs);
  const std::int64_t n = out.numel();
  launch(kWindows.kernel("unfold", {{"ELEMENT", typeName(out.dtype)}, {"COMPUTE", computeName(out.dtype)}}),
         elementwise(n), x.data(), out.data, n, windows);
}

void fold_windows(const LibraryCall& call) {
  const ArrayView& out = call.outputs[0];
  if (out.numel() == 0) return;
  const Dense columns(call.inputs[0]);
  AttrReader attrs(call.attrs);
  attrs.list();
  const Windows windows(out.shape, attrs);
  const std::int64_t n = out.numel();
  launch(kWindows.kernel("fold", {{"ELEMENT", typeName(out.dtype)}, {"COMPUTE", computeName(out.dtype)}}),
         elementwise(n), columns.data(), out.data, n, windows);
}

namespace {
const Registered here{{"unfold_windows", &unfold_windows}, {"fold_windows", &fold_windows}};
}  // namespace

}  // namespace tandem::cuda::lib
