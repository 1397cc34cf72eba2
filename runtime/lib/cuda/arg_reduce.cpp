// argmax, argmin, max_dim, min_dim: runtime/lib/order/arg_reduce.cpp.
#include <algorithm>
#include <optional>

#include "runtime/lib/cuda/operands.h"
#include "runtime/lib/cuda/table.h"
#include "runtime/lib/cuda/texts.h"

namespace tandem::cuda::lib {
namespace {

constexpr Source kArgReduce("arg_reduce", kArgReduceText);
constexpr unsigned kThreads = 256;
constexpr std::int64_t kRow = 128;    // elements of a line that is worth a block
constexpr std::int64_t kChunk = 64;   // elements that a thread should see at least
constexpr std::int64_t kBusy = 1024;  // threads that keep a multiprocessor busy

/// For each position of outer x inner. `values` may be null.
void reduce(const char* op, const ArrayView& input, const AlongDim& split, bool largest, void* values,
            const ArrayView& indices) {
  if (indices.numel() == 0) return;
  if (split.size == 0) fail<IndexError>(op, ": the reduced dim has no elements");
  const Dense x(input);
  const std::int64_t lines = split.outer * split.inner;
  const bool rows = split.inner == 1 && split.size >= kRow;
  const std::initializer_list<Define> defines = {{"ELEMENT", typeName(input.dtype)}, {"LARGEST", largest ? "1" : "0"}};
  // Few long lines are cut into chunks.
  const std::int64_t threads = rows ? lines * kThreads : lines;
  const std::int64_t wanted = std::max<std::int64_t>(kBusy * limits().multiprocessors / threads, 1);
  const std::int64_t most = (split.size + kChunk - 1) / kChunk / (rows ? kThreads : 1);
  const std::int64_t parts = std::clamp<std::int64_t>(most, 1, wanted);
  const std::int64_t length = (split.size + parts - 1) / parts;
  const std::int64_t chunks = (split.size + length - 1) / length;
  std::optional<Workspace> found;
  if (chunks > 1) found.emplace(static_cast<std::size_t>(lines * chunks) * sizeof(std::int64_t));
  void* places = found ? found->as<void>() : indices.data;
  void* here = found ? nullptr : values;
  if (rows)
    launch(kArgReduce.kernel("bestOfRows", defines), blocks(lines * chunks, kThreads), x.data(), lines, split.size,
           chunks, length, places, here);
  else
    launch(kArgReduce.kernel("bestOfColumns", defines), elementwise(lines * chunks), x.data(), lines, split.size,
           split.inner, chunks, length, places, here);
  if (found)
    launch(kArgReduce.kernel("bestOfChunks", defines), elementwise(lines), x.data(), lines, split.size, split.inner,
           chunks, places, indices.data, values);
}

void argReduce(const char* op, const LibraryCall& call, bool largest) {
  const ArrayView& x = call.inputs[0];
  AttrReader attrs(call.attrs);
  AlongDim split({}, 0);
  if (attrs.present())
    split = AlongDim(x.shape, wrapDim(attrs.integer(), static_cast<std::int64_t>(x.shape.size())));
  else
    split.size = x.numel();
  reduce(op, x, split, largest, nullptr, call.outputs[0]);
}

void dimReduce(const char* op, const LibraryCall& call, bool largest) {
  const ArrayView& x = call.inputs[0];
  const std::int64_t dim = wrapDim(AttrReader(call.attrs).integer(), static_cast<std::int64_t>(x.shape.size()));
  reduce(op, x, AlongDim(x.shape, dim), largest, call.outputs[0].data, call.outputs[1]);
}

}  // namespace

void argmax(const LibraryCall& call) { argReduce("argmax", call, true); }
void argmin(const LibraryCall& call) { argReduce("argmin", call, false); }
void max_dim(const LibraryCall& call) { dimReduce("max", call, true); }
void min_dim(const LibraryCall& call) { dimReduce("min", call, false); }

namespace {

const Registered here{{"argmax", &argmax}, {"argmin", &argmin}, {"max_dim", &max_dim}, {"min_dim", &min_dim}};

}  // namespace

}  // namespace tandem::cuda::lib
