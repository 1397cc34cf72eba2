// Composites that join, repeat and broadcast tensors.
#include <algorithm>
#include <functional>

#include "eager/dispatch.h"
#include "eager/helpers.h"
#include "eager/host.h"
#include "eager/kernels.h"
#include "eager/ops.h"
#include "runtime/base/warn.h"

namespace tandem::ops {
namespace {

using Tensors = std::span<const Tensor>;

void needTensors(const char* op, Tensors tensors) {
  if (tensors.empty()) fail(op, " expects a non-empty TensorList");
}

std::vector<Tensor> mapped(Tensors tensors, const std::function<Tensor(const Tensor&)>& each) {
  std::vector<Tensor> out;
  out.reserve(tensors.size());
  for (const Tensor& x : tensors) out.push_back(each(x));
  return out;
}

}  // namespace

Tensor atleast_1d(const Tensor& x) { return x.dim() == 0 ? reshape(x, Dims{1}) : x; }
Tensor atleast_2d(const Tensor& x) {
  if (x.dim() == 0) return reshape(x, Dims{1, 1});
  return x.dim() == 1 ? unsqueeze(x, 0) : x;
}
Tensor atleast_3d(const Tensor& x) {
  if (x.dim() == 0) return reshape(x, Dims{1, 1, 1});
  if (x.dim() == 1) return unsqueeze(unsqueeze(x, 0), -1);
  return x.dim() == 2 ? unsqueeze(x, -1) : x;
}
std::vector<Tensor> atleast_1d_list(Tensors tensors) { return mapped(tensors, atleast_1d); }
std::vector<Tensor> atleast_2d_list(Tensors tensors) { return mapped(tensors, atleast_2d); }
std::vector<Tensor> atleast_3d_list(Tensors tensors) { return mapped(tensors, atleast_3d); }

Tensor hstack(Tensors tensors) {
  needTensors("hstack", tensors);
  std::vector<Tensor> parts = mapped(tensors, atleast_1d);
  return cat(parts, parts[0].dim() == 1 ? 0 : 1);
}
Tensor vstack(Tensors tensors) {
  needTensors("vstack", tensors);
  return cat(mapped(tensors, atleast_2d), 0);
}
Tensor dstack(Tensors tensors) {
  needTensors("dstack", tensors);
  return cat(mapped(tensors, atleast_3d), 2);
}
Tensor column_stack(Tensors tensors) {
  needTensors("column_stack", tensors);
  return hstack(mapped(tensors, [](const Tensor& x) { return x.dim() <= 1 ? reshape(x, Dims{x.numel(), 1}) : x; }));
}

Tensor block_diag(Tensors tensors) {
  if (tensors.empty()) return empty(Dims{1, 0});
  std::int64_t width = 0;
  std::vector<TensorMeta> metas;
  for (const Tensor& x : tensors) metas.push_back(metaOf(x));
  const DType dtype = resultType(metas);
  std::vector<Tensor> blocks;
  for (const Tensor& x : tensors) {
    if (x.dim() > 2)
      fail("block_diag: Input tensors must have 2 or fewer dimensions. Input ", blocks.size(), " has ", x.dim(),
           " dimensions");
    blocks.push_back(toDType(atleast_2d(x), dtype));
    width += blocks.back().size(1);
  }
  const auto count = static_cast<std::int64_t>(blocks.size());
  const Dims shape = blocks[0].shape();
  if (std::ranges::all_of(blocks, [&](const Tensor& b) { return b.shape() == shape; })) {
    // A window of one zero: the only array of the size is the result.
    const Tensor whole = expand(zeros(Dims{}, dtype), Dims{count * shape[0], width});
    return window_write(whole, stack(blocks, 0), Dims{count, shape[0], shape[1]},
                        Dims{shape[0] * width + shape[1], width, 1}, 0);
  }
  std::vector<Tensor> rows;
  std::int64_t at = 0;
  for (const Tensor& b : blocks) {
    std::int64_t n = b.size(0);
    const Tensor row[] = {zeros(Dims{n, at}, b.dtype()), b, zeros(Dims{n, width - at - b.size(1)}, b.dtype())};
    rows.push_back(cat(row, 1));
    at += b.size(1);
  }
  return cat(rows, 0);
}

Tensor tile(const Tensor& x, DimsRef dims) {
  Dims repeats(dims);
  while (static_cast<std::int64_t>(repeats.size()) < x.dim()) repeats.insert(0, 1);
  return repeat(x, repeats);
}

std::vector<Tensor> broadcast_tensors(Tensors tensors) {
  Dims shape;
  for (const Tensor& x : tensors) shape = broadcastShapes("broadcast_tensors", shape, x.shape());
  return mapped(tensors, [&](const Tensor& x) { return x.shape() == shape ? x : expand(x, shape); });
}

std::vector<Tensor> meshgrid(Tensors tensors, std::optional<std::string_view> order) {
  needTensors("meshgrid", tensors);
  if (!order) {
    warnOnce("meshgrid: in an upcoming release, it will be required to pass the indexing argument.");
  }
  std::string_view indexing = order.value_or("ij");
  if (indexing != "ij" && indexing != "xy")
    fail("meshgrid: indexing must be one of \"xy\" or \"ij\", but received: ", indexing);
  std::vector<Tensor> axes(tensors.begin(), tensors.end());
  Dims shape;
  bool swapped = indexing == "xy" && axes.size() > 1;
  if (swapped) std::swap(axes[0], axes[1]);
  for (const Tensor& x : axes) {
    if (x.dim() > 1)
      fail("meshgrid: Expected 0D or 1D tensor in the tensor list but got one of shape ", shapeText(x.shape()));
    if (x.dtype() != axes[0].dtype())
      fail("meshgrid expects all tensors to have the same dtype, but got ", dtypeName(axes[0].dtype()), " and ",
           dtypeName(x.dtype()));
    if (x.device() != axes[0].device())
      fail("meshgrid expects all tensors to have the same device, but got ", deviceName(axes[0].device()), " and ",
           deviceName(x.device()));
    shape.push_back(x.numel());
  }
  std::vector<Tensor> grids;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    Dims along(axes.size(), 1);
    along[i] = shape[i];
    grids.push_back(expand(view(axes[i], along), shape));
  }
  if (swapped) std::swap(grids[0], grids[1]);
  return grids;
}

Tensor cartesian_prod(Tensors tensors) {
  needTensors("cartesian_prod", tensors);
  for (const Tensor& x : tensors)
    if (x.dim() != 1) fail("Expect a 1D vector, but got shape ", shapeText(x.shape()));
  if (tensors.size() == 1) return tensors[0];
  return stack(mapped(meshgrid(tensors, "ij"), [](const Tensor& g) { return reshape(g, Dims{-1}); }), 1);
}

Tensor combinations(const Tensor& x, std::int64_t r, bool withReplacement) {
  if (x.dim() != 1) fail("Expect a 1D vector, but got shape ", shapeText(x.shape()));
  if (r < 0) fail("Expect a non-negative number, but got ", r);
  if (r == 0) return empty(Dims{0}, x.dtype());
  std::int64_t n = x.numel();
  auto length = static_cast<std::size_t>(r);
  // All index tuples in order: the next one counts up the last place that can be.
  std::vector<std::int64_t> places;
  std::vector<std::int64_t> at(length);
  for (std::size_t i = 0; i < length; ++i) at[i] = withReplacement ? 0 : static_cast<std::int64_t>(i);
  bool more = withReplacement ? n > 0 : r <= n;
  while (more) {
    places.insert(places.end(), at.begin(), at.end());
    std::size_t i = length;
    auto last = [&](std::size_t k) { return withReplacement ? n - 1 : n - static_cast<std::int64_t>(length - k); };
    while (i > 0 && at[i - 1] == last(i - 1)) --i;
    more = i > 0;
    if (!more) break;
    ++at[i - 1];
    for (; i < length; ++i) at[i] = at[i - 1] + (withReplacement ? 0 : 1);
  }
  auto count = static_cast<std::int64_t>(places.size());
  Tensor index = makeEmpty(Dims{count}, DType::Int64, Device{});
  std::copy(places.begin(), places.end(), index.dataAs<std::int64_t>());
  return reshape(index_select(x, 0, copyTo(index, x.device())), Dims{count / r, r});
}

Tensor repeat_interleave(const Tensor& x, std::int64_t repeats, std::optional<std::int64_t> dim,
                         std::optional<std::int64_t> outputSize) {
  if (!dim) return repeat_interleave(flatten(x), repeats, 0, outputSize);
  if (repeats < 0) fail("Repeats must be non-negative");
  Tensor t = atleast_1d(x);
  std::int64_t d = wrapDim(*dim, t.dim());
  Dims shape = t.shape();
  shape.insert(d + 1, repeats);
  Tensor wide = clone(expand(unsqueeze(t, d + 1), shape));
  shape.erase(d + 1);
  shape[d] = sizeProduct("repeat_interleave", shape[d], repeats);
  if (outputSize && *outputSize != shape[d])
    fail("repeat_interleave: Invalid output_size, expected ", shape[d], " but got ", *outputSize);
  return view(wide, shape);
}

Tensor sum_to_size(const Tensor& x, DimsRef size) {
  if (size.empty()) return sum(x);  // of integers in int64, one of no dims too
  std::int64_t lead = x.dim() - static_cast<std::int64_t>(size.size());
  bool fits = lead >= 0;
  Dims summed;
  for (std::int64_t d = 0; fits && d < x.dim(); ++d) {
    if (d >= lead && size[d - lead] == x.shape()[d]) continue;
    fits = d < lead || size[d - lead] == 1;
    summed.push_back(d);
  }
  if (!fits) fail("size {", shapeText(size), "} is not expandable to size {", shapeText(x.shape()), "}.");
  return summed.empty() ? x : reshape(sum(x, summed, true, std::nullopt), size);
}

}  // namespace tandem::ops
