// Weight gradients: products of what the windows see at each place of the filter, a row each, and of the gradients of
// their outputs, a column each. An element is a sum over the windows in blocks, each filled up with zeros to whole
// groups, of a piece of the blocks; and the pieces in order. Blocks and pieces are cut by sizes alone.
#include <algorithm>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/clones.h"
#include "runtime/lib/convolution/conv_groups.h"
#include "runtime/lib/matmul/half_rows.h"

namespace tandem::lib {
namespace {

constexpr std::int64_t kBlockWindows = 512;
constexpr std::int64_t kTileRows = 128;  // at most, if they hold a channel
constexpr std::int64_t kTiles = 16;      // pieces make as many
constexpr std::int64_t kMaxPieces = 8;
constexpr std::int64_t kTogether = 32;  // rows of sums

class HalfWeightGrad {
 public:
  HalfWeightGrad(const ConvShape& s, const Windows& windows, const BFloat16* grad, const BFloat16* input)
      : s_(s), windows_(windows), grad_(grad), input_(input), taps_(windows.taps.size()), blocks_(blocksOf(s, windows)),
        depth_(wholeGroups(blocks_[0].count())), panels_(ceilDiv(s.groupOutputs(), kGroupColumns)) {
    channels_ = std::clamp<std::int64_t>(kTileRows / taps_, 1, s.groupChannels());
    strips_ = ceilDiv(s.groupChannels(), channels_);
    pieces_ = std::clamp<std::int64_t>(ceilDiv(kTiles, s.groups * strips_), 1, std::min(kMaxPieces, blocks_.count()));
  }

  void run(void* weightGrad, bool wide) {
    const Scratch<Pair> packed(blocks_.count() * s_.groups * blockPairs());
    parallelFor(blocks_.count() * s_.groups, grainOf(s_.groupOutputs() * depth_),
                [&](std::int64_t begin, std::int64_t end) {
                  for (std::int64_t i = begin; i < end; ++i)
                    packGrads(blocks_[i / s_.groups], i % s_.groups, packed.data() + i * blockPairs());
                });
    if (groupKernels().flush())
      kernel_ = groupKernels().forExponents(smallestExponent(grad_, s_.n * s_.outputSize()),
                                            smallestExponent(input_, s_.n * s_.inputSize()));
    const std::int64_t rows = s_.groupChannels() * taps_, size = s_.groups * rows * width();
    const Scratch<float> sums(pieces_ * size);
    parallelTiles(pieces_ * s_.groups * strips_, [&](std::int64_t t) {
      const std::int64_t first = t % strips_ * channels_, group = t / strips_ % s_.groups;
      const std::int64_t piece = t / strips_ / s_.groups;
      tile(piece, group, first, std::min(channels_, s_.groupChannels() - first), packed.data(),
           sums.data() + piece * size + (group * rows + first * taps_) * width());
    });
    const std::int64_t strips = ceilDiv(rows, kTogether);
    parallelFor(s_.groups * strips, grainOf(kTogether * width() * pieces_), [&](std::int64_t begin, std::int64_t end) {
      const Scratch<float> turned(s_.groupOutputs() * kTogether);
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t group = i / strips, row = i % strips * kTogether;
        const std::int64_t here = std::min(kTogether, rows - row);
        float* const from = sums.data() + (group * rows + row) * width();
        for (std::int64_t p = 1; p < pieces_; ++p)
          for (std::int64_t e = 0; e < here * width(); ++e) from[e] += from[p * size + e];
        turn_(from, width(), turned.data(), kTogether, s_.groupOutputs(), here);
        for (std::int64_t o = 0; o < s_.groupOutputs(); ++o) {
          const std::int64_t to = (group * s_.groupOutputs() + o) * rows + row;
          putFloats(turned.data() + o * kTogether, here, weightGrad, to, wide);
        }
      }
    });
  }

 private:
  using Block = WindowBlocks::Block;
  static WindowBlocks blocksOf(const ConvShape& s, const Windows& w) {
    const WindowBlock largest = largestBlock(w, kBlockWindows);
    const std::int64_t plane = SlabLayout(w, 1, largest.rows, largest.columns).size();
    return {w, largest, s.n, s.groupChannels() * plane, kBlockWindows, s.n};
  }
  std::int64_t width() const { return panels_ * kGroupColumns; }
  std::int64_t blockPairs() const { return depth_ / 2 * width(); }

  /// The gradients of a block as panels, its windows in pairs.
  void packGrads(const Block& block, std::int64_t group, Pair* to) const {
    const std::int64_t depth = wholeGroups(block.count()), plane = windows_.count();
    const WindowBlock& w = block.windows;
    const bool whole = w.columns == windows_.columns;
    const std::int64_t stretches = whole ? 1 : w.rows, length = whole ? w.rows * w.columns : w.columns;
    const Scratch<BFloat16> rows(kGroupColumns * depth);
    for (std::int64_t first = 0; first < s_.groupOutputs(); first += kGroupColumns, to += depth / 2 * kGroupColumns) {
      const std::int64_t outputs = std::min(kGroupColumns, s_.groupOutputs() - first);
      std::fill_n(rows.data(), kGroupColumns * depth, BFloat16{});
      for (std::int64_t o = 0; o < outputs; ++o)
        for (std::int64_t i = 0; i < block.images; ++i)
          for (std::int64_t y = 0; y < stretches; ++y)
            copyRow(grad_ + ((block.image + i) * s_.o + group * s_.groupOutputs() + first + o) * plane +
                        (w.i + y) * windows_.columns + w.j,
                    length, rows.data() + o * depth + (i * stretches + y) * length);
      turn_(reinterpret_cast<const float*>(rows.data()), depth / 2, reinterpret_cast<float*>(to), kGroupColumns,
            depth / 2, kGroupColumns);
    }
  }

  /// The sums of some channels of a group over a piece of the blocks, [channels * taps, width()].
  void tile(std::int64_t piece, std::int64_t group, std::int64_t channel, std::int64_t channels, const Pair* packed,
            float* sums) const {
    const std::int64_t rows = channels * taps_, row = groupsRow(depth_ / kGroup), plane = s_.h * s_.w;
    const SlabLayout layout(windows_, channels, blocks_.largest().rows, blocks_.largest().columns);
    const HalfSlabs slabs(layout, blocks_);
    const Scratch<HalfBits> seen(rows * row + HalfSlabs::kStep);
    const std::int64_t first = piece * blocks_.count() / pieces_, end = (piece + 1) * blocks_.count() / pieces_;
    for (std::int64_t b = first; b < end; ++b) {
      const Block block = blocks_[b];
      slabs.fill(input_ + block.image * s_.inputSize() + (group * s_.groupChannels() + channel) * plane, s_.inputSize(),
                 block);
      const std::int64_t depth = wholeGroups(block.count());
      const ScratchList<HalfSlabs::Row> windows = slabs.rows(block);
      const std::int64_t columns = block.windows.columns, count = block.count();
      withHostIsa([=, &windows, offsets = layout.offsets(), rowsOf = seen.data()]() TANDEM_INLINED {
        for (std::int64_t r = 0; r < rows; ++r) {
          HalfBits* const to = rowsOf + r * row;
          for (const HalfSlabs::Row& w : windows)
            for (std::int64_t x = 0; x < columns; x += HalfSlabs::kStep)
              *reinterpret_cast<HalfSlabs::Elements*>(to + w.at + x) =
                  *reinterpret_cast<const HalfSlabs::Elements*>(w.from + offsets[r] + x);
          for (std::int64_t x = count; x < depth; ++x) to[x] = 0;
        }
      });
      kernel_({.rows = rows,
               .groups = depth / kGroup,
               .a = reinterpret_cast<const BFloat16*>(seen.data()),
               .lda = row,
               .panels = packed + (b * s_.groups + group) * blockPairs(),
               .count = panels_,
               .panelStride = depth / 2 * kGroupColumns,
               .c = sums,
               .ldc = width(),
               .add = b > first,
               .last = lastOfGroups(block.count())});
    }
  }

  const ConvShape& s_;
  const Windows& windows_;
  const BFloat16* grad_;
  const BFloat16* input_;
  std::int64_t taps_;
  const WindowBlocks blocks_;
  std::int64_t depth_;              // of the largest block, whole groups
  std::int64_t panels_;             // of a group's outputs
  std::int64_t channels_, strips_;  // of a tile, and tiles of a group
  std::int64_t pieces_;
  GroupTileFn kernel_ = groupKernels().exact;
  decltype(ConvKernels<float>::turn) turn_ = convKernels<float>().turn;
};

}  // namespace

bool isWeightGradInGroups(const ConvShape& s) {
  return !servesDepthwise(s) && isInGroupsOf(s.groupChannels() * s.kh * s.kw, s.groupOutputs(), s.n * s.oh * s.ow);
}

void groupsWeightGrad(const ConvShape& s, const BFloat16* grad, const BFloat16* input, void* weightGrad, bool wide) {
  const Windowed of = Windowed::ofOutput(s);
  HalfWeightGrad(s, of.windows, grad, input).run(weightGrad, wide);
}

}  // namespace tandem::lib
