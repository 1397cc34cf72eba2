// window_write: what a write through a view means for the tensor that is viewed. Where the window's rows lie in the
// output in their own order, as a slice's do, rows and what lies between them are written in one pass over the output,
// of which each thread has the part that it has of other arrays of the size.
#include <algorithm>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/movement/copy_bytes.h"
#include "runtime/lib/movement/window_rows.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

/// False, having done nothing, where the rows do not suit that, or the base is neither one element for all nor lies as
/// the output.
bool writeRows(const ArrayView& base, const WindowRows& rows, std::int64_t offset, const ArrayView& out) {
  const bool one = std::ranges::all_of(base.strides, [](std::int64_t s) { return s == 0; });
  if (!rows.suit() || !(one || base.contiguous())) return false;
  const auto size = static_cast<std::int64_t>(itemSize(out.dtype));
  parallelFor(out.numel(), kSerialElements, [&](std::int64_t first, std::int64_t last) {
    rows.write(first - offset, last - offset, out.as<char>() + first * size, [&](std::int64_t from, std::int64_t to) {
      char* const target = out.as<char>() + (offset + from) * size;
      if (one)
        fillElements(out.dtype, base.as<char>(), to - from, target);
      else if (from < to)
        copyBytes(target, base.as<char>() + (offset + from) * size, static_cast<std::size_t>((to - from) * size));
    });
  });
  return true;
}

}  // namespace

void window_write(const LibraryCall& call) {
  const ArrayView& out = call.outputs[0];
  const ArrayView& base = call.inputs[0];
  ArrayView value = call.inputs[1];
  AttrReader attrs(call.attrs);
  DimsRef size = attrs.list();
  DimsRef stride = attrs.list();
  std::int64_t offset = attrs.integer();
  value.strides = broadcastStrides(value.shape, value.strides, size);
  value.shape = size;
  ArrayView window{out.as<unsigned char>() + static_cast<std::size_t>(offset) * itemSize(out.dtype), out.dtype, size,
                   stride};
  const bool apart = base.data != out.data && value.numel() > 0 && out.contiguous();
  if (apart && writeRows(base, {value, window}, offset, out)) return;
  copyArray(base, out);
  copyArray(value, window);
}

}  // namespace tandem::lib
