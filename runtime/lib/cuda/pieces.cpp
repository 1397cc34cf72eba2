// take_pieces: runtime/lib/movement/pieces.cpp, a thread an element, or several where all blocks and addresses allow.
#include "runtime/base/pieces.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "runtime/lib/cuda/operands.h"
#include "runtime/lib/cuda/table.h"
#include "runtime/lib/cuda/texts.h"

namespace tandem::cuda::lib {
namespace {

constexpr Source kMovement("movement", kMovementText);
constexpr std::int32_t kListed = 32;  // pieces that are given with the launch

struct PieceDims {
  std::int64_t rank = 0;
  std::int64_t sizes[View::kMostDims] = {};
  std::int64_t strides[View::kMostDims] = {};
  std::int32_t begin[View::kMostDims] = {};
  std::int32_t end[View::kMostDims] = {};

  /// Adds a whole dim, to the one before where that is whole too and the strides allow.
  void whole(std::int64_t size, std::int64_t stride, std::size_t from) {
    if (size == 1) return;
    const auto r = static_cast<std::size_t>(rank);
    if (r > from && strides[r - 1] == stride * size) {
      sizes[r - 1] *= size;
      strides[r - 1] = stride;
      return;
    }
    add(size, stride, 0, 0);
  }
  void add(std::int64_t size, std::int64_t stride, std::int32_t first, std::int32_t last) {
    if (rank == View::kMostDims)
      fail<NotImplementedError>("pieces of tensors with more than ", View::kMostDims, " dims that do not merge");
    const auto r = static_cast<std::size_t>(rank++);
    sizes[r] = size;
    strides[r] = stride;
    begin[r] = first;
    end[r] = last;
  }
};
template <std::size_t N>
struct PieceArray {
  std::int64_t pieces[N][3] = {};
};

bool isWhole(const tandem::PieceList& pieces, std::int64_t size) {
  return pieces.size() == 1 && pieces[0].start == 0 && pieces[0].step == 1 && pieces[0].count == size;
}

}  // namespace

void take_pieces(const LibraryCall& call) {
  const ArrayView& x = call.inputs[0];
  const ArrayView& out = call.outputs[0];
  if (out.numel() == 0) return;
  AttrReader attrs(call.attrs);
  const auto first = static_cast<std::size_t>(attrs.integer());
  std::vector<tandem::PieceList> dims = unpackPieces(attrs.list());
  while (dims.size() > 1 && isWhole(dims.back(), x.shape[first + dims.size() - 1])) dims.pop_back();
  const std::size_t behind = first + dims.size();

  // The dims behind the pieces are moved in wide units where they are one dense block.
  const auto item = static_cast<std::int64_t>(itemSize(x.dtype));
  std::int64_t unit = item;
  const std::int64_t block = numelOf(DimsRef(x.shape).subspan(behind));
  if (block > 1 && isContiguous(DimsRef(x.shape).subspan(behind), DimsRef(x.strides).subspan(behind))) {
    Dims counts = DimsRef(x.strides).first(behind);
    counts.push_back(block);
    const void* addresses[] = {x.data, out.data};
    unit = unitOf(item, counts, addresses);
  }
  const std::int64_t wide = unit / item;

  PieceDims walked;
  std::vector<std::int64_t> list;
  for (std::size_t d = 0; d < first; ++d) walked.whole(x.shape[d], x.strides[d] / wide, 0);
  for (std::size_t k = 0; k < dims.size(); ++k) {
    const auto begin = static_cast<std::int32_t>(list.size() / 3);
    std::int64_t end = 0;
    for (const Piece& p : dims[k]) {
      end += p.count;
      list.insert(list.end(), {p.start, p.step, end});
    }
    walked.add(end, x.strides[first + k] / wide, begin, static_cast<std::int32_t>(list.size() / 3));
  }
  const auto inner = static_cast<std::size_t>(walked.rank);
  if (wide > 1)
    walked.whole(block / wide, 1, inner);
  else
    for (std::size_t d = behind; d < x.shape.size(); ++d) walked.whole(x.shape[d], x.strides[d], inner);

  const std::int64_t n = out.numel() / wide;
  const std::string type = unitType(unit);
  if (list.size() <= std::size_t{3} * kListed) {
    PieceArray<kListed> listed;
    std::copy(list.begin(), list.end(), &listed.pieces[0][0]);
    return launch(kMovement.kernel("takePieces", {{"ELEMENT", type}, {"PIECES", std::to_string(kListed)}}),
                  elementwise(n), walked, listed, static_cast<const std::int64_t*>(nullptr), x.data, n, out.data);
  }
  const Workspace memory(list.size() * sizeof(std::int64_t));
  copyFromHost(memory.as<void>(), list.data(), list.size() * sizeof(std::int64_t));
  launch(kMovement.kernel("takePieces", {{"ELEMENT", type}, {"PIECES", "1"}}), elementwise(n), walked, PieceArray<1>(),
         memory.as<const std::int64_t>(), x.data, n, out.data);
}

namespace {

const Registered here{{"take_pieces", &take_pieces}};

}  // namespace

}  // namespace tandem::cuda::lib
