// unfold and fold: the windows of images as columns, and columns added back into images.
#include <type_traits>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/convolution/patches.h"
#include "runtime/lib/matmul/half_rows.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

/// Images [n, c, h, w] and their columns [n, c * kh * kw, l]; attributes kernel, dilation, padding, stride.
ConvShape foldShape(DimsRef image, AttrReader& attrs) {
  DimsRef kernel = attrs.list();
  DimsRef dilation = attrs.list();
  DimsRef padding = attrs.list();
  DimsRef stride = attrs.list();
  auto outputs = [&](std::size_t d) {
    return (image[2 + d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1) / stride[d] + 1;
  };
  return {image[0],   image[1],  image[2],  image[3],   1,          kernel[0],   kernel[1],   outputs(0),
          outputs(1), stride[0], stride[1], padding[0], padding[1], dilation[0], dilation[1], 1};
}

std::int64_t columnsSize(const ConvShape& s) { return s.c * s.kh * s.kw * s.oh * s.ow; }

template <class T>
void addColumns(const ConvShape& s, const T* columns, T* images) {
  using C = typename Element<T>::Compute;
  parallelFor(s.n, grainOf(columnsSize(s)), [&](std::int64_t begin, std::int64_t end) {
    constexpr bool wide = !std::is_same_v<T, C>;
    Scratch<C> parts(wide ? columnsSize(s) : 0);
    Scratch<C> sums(wide ? s.inputSize() : 0);
    for (std::int64_t n = begin; n < end; ++n) {
      const T* from = columns + n * columnsSize(s);
      T* image = images + n * s.inputSize();
      if constexpr (wide) {
        widen(from, parts.data(), columnsSize(s));
        std::fill_n(sums.data(), s.inputSize(), C{});
        addPatches(s, parts.data(), sums.data());
        narrow(sums.data(), image, s.inputSize());
      } else {
        std::fill_n(image, s.inputSize(), T{});
        addPatches(s, from, image);
      }
    }
  });
}

}  // namespace

void unfold_windows(const LibraryCall& call) {
  Contiguous x(call.inputs[0]);
  const ArrayView& out = call.outputs[0];
  if (out.numel() == 0) return;
  AttrReader attrs(call.attrs);
  ConvShape s = foldShape(x.view().shape, attrs);
  withSize(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    parallelFor(s.n, grainOf(columnsSize(s)), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t n = begin; n < end; ++n)
        toPatches(s, x.as<T>() + n * s.inputSize(), out.as<T>() + n * columnsSize(s));
    });
  });
}

void fold_windows(const LibraryCall& call) {
  Contiguous columns(call.inputs[0]);
  const ArrayView& out = call.outputs[0];
  if (out.numel() == 0) return;
  AttrReader attrs(call.attrs);
  attrs.list();
  ConvShape s = foldShape(out.shape, attrs);
  withType(out.dtype, [&](auto tag) {
    using T = AddedAs<typename decltype(tag)::Type>;
    addColumns(s, columns.as<T>(), out.as<T>());
  });
}

}  // namespace tandem::lib
