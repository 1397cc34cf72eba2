// grid_sample and its derivatives: runtime/lib/pool/grid_sample.cpp, by the text that the CPU compiles too. What is
// spread over an image is listed, place after place, and added by scatter_add, in that order; what lies outside goes to
// one element behind each plane.
#include <array>
#include <iterator>
#include <string>

#include "runtime/lib/cuda/operands.h"
#include "runtime/lib/cuda/table.h"
#include "runtime/lib/cuda/texts.h"
#include "runtime/lib/grid_modes.h"

namespace tandem::cuda::lib {
namespace {

const Source& source() {
  static const std::string text = std::string(kElementaryText) + kGridText + kGridSampleText;
  static const Source source("grid_sample", text.c_str());
  return source;
}

/// The struct GridAxis of grid.inl.
struct GridAxis {
  std::int64_t size, stride, unknown;
  std::int32_t padding, corners;
};
/// The struct Sampling of grid_sample.cu.
struct Sampling {
  std::int64_t batch, channels, plane, places;
  GridAxis axes[3];
};

struct Call {
  Sampling s{};
  std::string element;
  std::int64_t dims, reach;

  Call(DimsRef image, const ArrayView& grid, AttrReader attrs)
      : element(typeName(grid.dtype)), dims(std::ssize(image) - 2), reach(0) {
    const std::size_t n = image.size() - 2;
    reach = reachOf(static_cast<GridMode>(attrs.integer()));
    const auto padding = static_cast<std::int32_t>(attrs.integer());
    const auto corners = static_cast<std::int32_t>(attrs.boolean());
    s.batch = image[0];
    s.channels = image[1];
    s.plane = s.places = 1;
    for (std::size_t d = n; d-- > 0; s.plane *= image[2 + d]) {
      s.places *= grid.shape[1 + d];
      s.axes[d] = {image[2 + d], s.plane, n == 2 ? 0 : image[2 + d] - 1, padding, corners};
    }
  }
  [[nodiscard]] const Function& kernel(const char* name) const {
    return source().kernel(name,
                           {{"ELEMENT", element}, {"DIMS", std::to_string(dims)}, {"REACH", std::to_string(reach)}});
  }
  /// Taps of a place.
  [[nodiscard]] std::int64_t taps() const { return dims == 2 ? reach * reach : reach * reach * reach; }
};

}  // namespace

void grid_sample(const LibraryCall& call) {
  const ArrayView& out = call.outputs[0];
  const Call c(call.inputs[0].shape, call.inputs[1], AttrReader(call.attrs));
  const Dense x(call.inputs[0]);
  const Dense grid(call.inputs[1]);
  if (out.numel() > 0)
    launch(c.kernel("sample"), elementwise(c.s.batch * c.s.places), x.data(), grid.data(), out.data, c.s);
}

void grid_sample_grid_grad(const LibraryCall& call) {
  const ArrayView& out = call.outputs[0];
  const Call c(call.inputs[1].shape, call.inputs[2], AttrReader(call.attrs));
  // The nearest places are the same beside a place.
  if (c.reach == 1) return fill(out.data, 0, static_cast<std::size_t>(out.numel()) * itemSize(out.dtype));
  const Dense g(call.inputs[0]);
  const Dense x(call.inputs[1]);
  const Dense grid(call.inputs[2]);
  if (out.numel() > 0)
    launch(c.kernel("slopes"), elementwise(c.s.batch * c.s.places), g.data(), x.data(), grid.data(), out.data, c.s);
}

void grid_sample_input_grad(const LibraryCall& call) {
  const ArrayView& out = call.outputs[0];
  if (out.numel() == 0) return;
  AttrReader attrs(call.attrs);
  attrs.list();
  const Call c(out.shape, call.inputs[1], attrs);
  const Dense g(call.inputs[0]);
  const Dense grid(call.inputs[1]);
  const DType wide = computeType(out.dtype);
  const std::int64_t line = c.s.places * c.taps();
  const std::int64_t planes = c.s.batch * c.s.channels;
  const Workspace sums(static_cast<std::size_t>(planes * (c.s.plane + 1)) * itemSize(wide));
  fill(sums.as(), 0, static_cast<std::size_t>(planes * (c.s.plane + 1)) * itemSize(wide));
  if (line > 0) {
    const Workspace parts(static_cast<std::size_t>(planes * line) * itemSize(wide));
    const Workspace index(static_cast<std::size_t>(c.s.batch * line) * sizeof(std::int64_t));
    launch(c.kernel("parts"), elementwise(c.s.batch * c.s.places), g.data(), grid.data(), parts.as(),
           index.as<std::int64_t>(), c.s);
    const Dims shape{c.s.batch, c.s.channels, line};
    const Dims to{c.s.batch, c.s.channels, c.s.plane + 1};
    const ArrayView made{sums.as(), wide, to, contiguousStrides(to)};
    const std::array<ArrayView, 3> inputs{made, ArrayView{index.as(), DType::Int64, shape, Dims{line, 0, 1}},
                                          ArrayView{parts.as(), wide, shape, contiguousStrides(shape)}};
    const std::int64_t dim = 2;
    scatter_add({inputs, {&made, 1}, {&dim, 1}, {}, call.line});
  }
  launch(c.kernel("inside"), elementwise(out.numel()), sums.as(), out.data, out.numel(), c.s.plane);
}

namespace {

const Registered here{{"grid_sample", &grid_sample},
                      {"grid_sample_input_grad", &grid_sample_input_grad},
                      {"grid_sample_grid_grad", &grid_sample_grid_grad}};

}  // namespace

}  // namespace tandem::cuda::lib
