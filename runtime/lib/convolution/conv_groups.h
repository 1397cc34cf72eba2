// Convolutions of bfloat16 as products in groups, in whose order they add (matmul/gemm_groups.h): what those that have
// outputs or input gradients (conv_groups.cpp) share with those of weight gradients (weight_grad_groups.cpp).
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/lib/convolution/convolution.h"
#include "runtime/lib/convolution/windows.h"
#include "runtime/lib/matmul/gemm_groups.h"

namespace tandem::lib {

/// Is a product of this size one in groups? Not where much of them would be zeros, nor where little is added.
constexpr bool isInGroupsOf(std::int64_t rows, std::int64_t columns, std::int64_t k) {
  constexpr std::int64_t kLeastWork = 1 << 14, kLeastSide = 8;
  return rows >= kLeastSide && columns >= kLeastSide && 2 * wholeGroups(k) <= 3 * k && rows * columns * k >= kLeastWork;
}

/// Elements from one row of so many groups to the next, an odd number of cache lines.
constexpr std::int64_t groupsRow(std::int64_t groups) { return (groups | 1) * kGroup; }

/// As whole numbers, which compilers move in vectors.
using HalfBits = std::uint16_t;

/// What a block of windows sees, in a slab for each image.
class HalfSlabs {
 public:
  /// Elements that one step of a loop over windows takes: it may read, and write, so many but one behind the last.
  static constexpr std::int64_t kStep = 32;
  using Elements __attribute__((vector_size(kStep * sizeof(HalfBits)), aligned(2), may_alias)) = HalfBits;

  HalfSlabs(const SlabLayout& layout, const WindowBlocks& blocks)
      : layout_(layout), size_(blocks.images() * layout.size()), zeros_(blocks.largest().columns + kStep),
        data_(size_ + zeros_) {
    std::fill_n(data_.data() + size_, zeros_, HalfBits{});
  }
  /// Of images that lie `image` elements apart, the block's first at `input`.
  void fill(const BFloat16* input, std::int64_t image, const WindowBlocks::Block& block) const {
    for (std::int64_t i = 0; i < block.images; ++i)
      layout_.fill(reinterpret_cast<const HalfBits*>(input + i * image), block.windows,
                   data_.data() + i * layout_.size());
  }
  /// Windows of a row of a block: where the first of them sees what has offset 0, and its number in the block.
  struct Row {
    const HalfBits* from;
    std::int64_t at;
  };
  ScratchList<Row> rows(const WindowBlocks::Block& block) const {
    ScratchList<Row> all(block.images * block.windows.rows);
    for (std::int64_t i = 0; i < block.images; ++i)
      for (std::int64_t y = 0; y < block.windows.rows; ++y)
        all.push_back({data_.data() + i * layout_.size() + y * layout_.down(), all.size() * block.windows.columns});
    return all;
  }
  /// A row of windows that see nothing.
  const HalfBits* zeros() const { return data_.data() + size_; }

 private:
  const SlabLayout& layout_;
  std::int64_t size_, zeros_;
  Scratch<HalfBits> data_;
};

}  // namespace tandem::lib
