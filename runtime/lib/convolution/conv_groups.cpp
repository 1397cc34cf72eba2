// Outputs and input gradients: products of the filters, a row each, and of what the windows see, a column each. An
// element is a sum over the planes and the places of the filter in the order of memory, with zeros where a window
// reaches beyond its plane.
//
// For some groups at a time a tile writes what its windows see as pairs, each from two stretches of a slab (windows.h):
// those of two places of the filter that follow each other.
#include "runtime/lib/convolution/conv_groups.h"

#include <cstring>

#include "runtime/device/isa.h"
#include "runtime/device/thread_pool.h"
#include "runtime/lib/clones.h"
#include "runtime/lib/matmul/half_rows.h"

namespace tandem::lib {
namespace {

constexpr std::int64_t kOutputStep = 32;  // outputs that stay together, where they are shared
constexpr std::int64_t kTogether = 16;    // filters that lie side by side

/// A convolution for each of `n` images and `groups`: for each part of the windows, c[m, windows] = filters[m, k]
/// columns[k, windows], where k runs over the group's planes and the part's taps.
struct HalfConvolution {
  const Windowed& of;
  std::int64_t n, groups, planes, m;
  const BFloat16* input;
  // The filter of an output and a plane of a group begins `output * outputStep + plane * planeStep` filters, of so many
  // places each, behind the group's first.
  const BFloat16* weight;
  std::int64_t places, outputStep, planeStep;
  void* output;
  bool wide;  // is it float32?
};

/// to[x] = the pair of even[x] and odd[x], for a step.
[[gnu::always_inline]] inline void pairUp(const HalfBits* even, const HalfBits* odd, Pair* to) {
  constexpr std::int64_t lanes = 8;
  using Elements __attribute__((vector_size(lanes * sizeof(HalfBits)), aligned(2), may_alias)) = HalfBits;
  using Pairs __attribute__((vector_size(lanes * sizeof(Pair)), aligned(4), may_alias)) = Pair;
  for (std::int64_t x = 0; x < HalfSlabs::kStep; x += lanes)
    *reinterpret_cast<Pairs*>(to + x) = __builtin_convertvector(*reinterpret_cast<const Elements*>(even + x), Pairs) |
                                        __builtin_convertvector(*reinterpret_cast<const Elements*>(odd + x), Pairs)
                                            << 16;
}
/// The same where instructions shuffle a whole step.
[[gnu::always_inline]] inline void pairUpByShuffles(const HalfBits* even, const HalfBits* odd, Pair* to) {
  using Step = HalfSlabs::Elements;
  const Step a = *reinterpret_cast<const Step*>(even), b = *reinterpret_cast<const Step*>(odd);
  *reinterpret_cast<Step*>(to) = __builtin_shufflevector(a, b, 0, 32, 1, 33, 2, 34, 3, 35, 4, 36, 5, 37, 6, 38, 7, 39,
                                                         8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47);
  *reinterpret_cast<Step*>(to + HalfSlabs::kStep / 2) =
      __builtin_shufflevector(a, b, 16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23, 55, 24, 56, 25, 57, 26,
                              58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63);
}

class HalfTiles {
 public:
  explicit HalfTiles(const HalfConvolution& c)
      : c_(c), of_(c.of), block_(largestBlock(of_.windows, kTileWindows)),
        layout_(of_.windows, c.planes, block_.rows, block_.columns),
        blocks_(of_.windows, block_, c.n, layout_.size(), kTileWindows, ceilDiv(c.n, numThreads())),
        offsets_(offsetsOfParts(of_, layout_, c.planes)), filters_(filtersSize()) {}

  void run() {
    packFilters();
    if (groupKernels().flush())
      kernel_ = groupKernels().forExponents(
          smallestExponent(filters_.data(), filtersSize()),
          smallestExponent(c_.input, c_.n * c_.groups * c_.planes * of_.windows.h * of_.windows.w));
    const std::int64_t tiles = blocks_.count() * c_.groups;
    const std::int64_t windows = ceilDiv(c_.n * of_.windows.count(), blocks_.count());
    const std::int64_t cuts = cutsOf(tiles, c_.m * filter() * windows, ceilDiv(c_.m, kOutputStep));
    const std::int64_t outputs = ceilDiv(ceilDiv(c_.m, cuts), kOutputStep) * kOutputStep;
    const std::int64_t strips = ceilDiv(c_.m, outputs);
    parallelTiles(strips * tiles, [&](std::int64_t t) {
      const std::int64_t first = t % strips * outputs, block = t / strips % blocks_.count();
      tile(blocks_[block], t / strips / blocks_.count(), first, std::min(outputs, c_.m - first));
    });
  }

 private:
  /// Elements of the filters of one output.
  std::int64_t filter() const { return c_.planes * of_.places.size(); }
  std::int64_t groupsOf(const WindowPart& part) const { return ceilDiv(c_.planes * part.count, kGroup); }
  std::int64_t rowOf(const WindowPart& part) const { return groupsRow(groupsOf(part)); }
  std::int64_t filtersSize() const {
    std::int64_t size = 0;
    for (const WindowPart& part : of_.parts) size += c_.groups * c_.m * rowOf(part);
    return size;
  }

  /// For each part [groups, m, rowOf(part)], with zeros behind the last of k.
  void packFilters() {
    const std::int64_t strips = ceilDiv(c_.m, kTogether);
    parallelFor(c_.groups * strips, grainOf(kTogether * filter()), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t s = begin; s < end; ++s) {
        const std::int64_t group = s / strips, m = s % strips * kTogether, outputs = std::min(kTogether, c_.m - m);
        BFloat16* to = filters_.data();
        for (const WindowPart& part : of_.parts) {
          const std::int64_t row = rowOf(part), k = c_.planes * part.count;
          BFloat16* const rows = to + (group * c_.m + m) * row;
          for (std::int64_t plane = 0; plane < c_.planes; ++plane)
            for (std::int64_t o = 0; o < outputs; ++o)
              copyFilter(part,
                         c_.weight +
                             (group * c_.m * c_.planes + (m + o) * c_.outputStep + plane * c_.planeStep) * c_.places,
                         rows + o * row + plane * part.count);
          for (std::int64_t o = 0; o < outputs; ++o) std::fill(rows + o * row + k, rows + (o + 1) * row, BFloat16{});
          to += c_.groups * c_.m * row;
        }
      }
    });
  }
  void copyFilter(const WindowPart& part, const BFloat16* from, BFloat16* to) const {
    if (part.count == c_.places) return copyRow(from, part.count, to);  // all, in their order
    for (std::int64_t p = 0; p < part.count; ++p) to[p] = from[of_.places[part.tap + p]];
  }

  /// Some outputs of a group for a block of windows.
  void tile(const WindowBlocks::Block& block, std::int64_t group, std::int64_t first, std::int64_t outputs) const {
    const std::int64_t image = c_.groups * c_.planes * of_.windows.h * of_.windows.w;
    const HalfSlabs slabs(layout_, blocks_);
    slabs.fill(c_.input + block.image * image + group * c_.planes * of_.windows.h * of_.windows.w, image, block);
    const std::int64_t most = ceilDiv(block.count(), kGroupColumns) * kGroupColumns;
    const Scratch<Pair> pairs(kNearGroups * kGroup / 2 * (most + HalfSlabs::kStep));
    const Scratch<float> sums(outputs * most);
    const BFloat16* filters = filters_.data();
    for (const WindowPart& part : of_.parts) {
      WindowBlocks::Block seen = block;
      seen.windows.rows = std::min(block.windows.rows, part.rows - block.windows.i);
      seen.windows.columns = std::min(block.windows.columns, part.columns - block.windows.j);
      const std::int64_t row = rowOf(part), panels = ceilDiv(seen.count(), kGroupColumns);
      const BFloat16* const rows = filters + (group * c_.m + first) * row;
      filters += c_.groups * c_.m * row;
      if (part.count == 0 || seen.windows.rows < 1 || seen.windows.columns < 1) continue;
      const std::int64_t groups = groupsOf(part), ld = panels * kGroupColumns;
      const ScratchList<HalfSlabs::Row> windows = slabs.rows(seen);
      for (std::int64_t g = 0; g < groups; g += kNearGroups) {
        const std::int64_t near = std::min(kNearGroups, groups - g);
        pack(slabs, windows, seen.windows.columns, part, g * kGroup, near, ld + HalfSlabs::kStep, pairs.data());
        kernel_({.rows = outputs,
                 .groups = near,
                 .a = rows + g * kGroup,
                 .lda = row,
                 .panels = pairs.data(),
                 .count = panels,
                 .panelStride = kGroupColumns,
                 .c = sums.data(),
                 .ldc = ld,
                 .rowStride = ld + HalfSlabs::kStep,
                 .add = g > 0,
                 .last = g + near < groups ? kGroup : lastOfGroups(c_.planes * part.count)});
      }
      store(part, seen, group * c_.m + first, outputs, sums.data(), ld);
    }
  }

  /// What `rows` of `columns` windows see from place k on of a part, so many groups: rows of pairs `ld` apart.
  void pack(const HalfSlabs& slabs, const ScratchList<HalfSlabs::Row>& rows, std::int64_t columns,
            const WindowPart& part, std::int64_t k, std::int64_t groups, std::int64_t ld, Pair* to) const {
    const std::int64_t all = c_.planes * part.count, windows = rows.size() * columns;
    const std::int64_t* const offsets = offsets_.data() + c_.planes * part.tap;
    const HalfBits* const zeros = slabs.zeros();
    const auto withSteps = [=, &rows](auto step) TANDEM_INLINED {
      Pair* row = to;
      for (std::int64_t p = k; p < k + groups * kGroup; p += 2, row += ld) {
        if (p < all)
          for (const HalfSlabs::Row& r : rows) {
            const HalfBits* const even = r.from + offsets[p];
            const HalfBits* const odd = p + 1 < all ? r.from + offsets[p + 1] : zeros;
            for (std::int64_t x = 0; x < columns; x += HalfSlabs::kStep) step(even + x, odd + x, row + r.at + x);
          }
        for (std::int64_t x = p < all ? windows : 0; x < ld; ++x) row[x] = 0;
      }
    };
    hasAvx512() ? withAvx512([=]() TANDEM_INLINED { withSteps(pairUpByShuffles); })
                : withAvx2([=]() TANDEM_INLINED { withSteps(pairUp); });
  }

  /// Brings the sums of outputs, rows `ld` apart, to their places from plane `plane` of the images on.
  void store(const WindowPart& part, const WindowBlocks::Block& block, std::int64_t plane, std::int64_t outputs,
             const float* sums, std::int64_t ld) const {
    const WindowBlock& w = block.windows;
    // Windows of whole rows of the result lie one behind the other.
    const bool dense = of_.stepW == 1 && of_.stepH == w.columns;
    const std::int64_t rows = dense ? 1 : w.rows, columns = dense ? w.rows * w.columns : w.columns;
    const std::int64_t first = part.first + w.i * of_.stepH + w.j * of_.stepW;
    for (std::int64_t o = 0; o < outputs; ++o, sums += ld)
      for (std::int64_t i = 0; i < block.images; ++i)
        for (std::int64_t y = 0; y < rows; ++y) {
          const std::int64_t to =
              ((block.image + i) * c_.groups * c_.m + plane + o) * of_.plane + first + y * of_.stepH;
          const float* const from = sums + (i * rows + y) * columns;
          const auto spread = [&]<class E>(E* all) {
            for (std::int64_t x = 0; x < columns; ++x) all[to + x * of_.stepW] = Element<E>::store(from[x]);
          };
          if (of_.stepW == 1)
            putFloats(from, columns, c_.output, to, c_.wide);
          else
            c_.wide ? spread(static_cast<float*>(c_.output)) : spread(static_cast<BFloat16*>(c_.output));
        }
  }

  const HalfConvolution c_;
  const Windowed& of_;
  const WindowBlock block_;  // the largest
  const SlabLayout layout_;
  const WindowBlocks blocks_;
  const Scratch<std::int64_t> offsets_;  // of each part, plane and tap
  const Scratch<BFloat16> filters_;
  GroupTileFn kernel_ = groupKernels().exact;
};

}  // namespace

bool isForwardInGroups(const ConvShape& s) {
  if (servesDepthwise(s)) return false;
  if (isPointwise(s)) return isInGroups(s.groupOutputs(), s.oh * s.ow, s.groupChannels());
  return isInGroupsOf(s.groupOutputs(), s.n * s.oh * s.ow, s.groupChannels() * s.kh * s.kw);
}
bool isInputGradInGroups(const ConvShape& s) {
  if (servesDepthwise(s)) return false;
  if (inputGradIsProduct(s)) return isInGroups(s.groupChannels() * s.kh * s.kw, s.oh * s.ow, s.groupOutputs());
  // Parts have some places of the filter each.
  const std::int64_t places = std::max<std::int64_t>(1, s.kh * s.kw / (s.strideH * s.strideW));
  return isInGroupsOf(s.groupChannels(), s.n * s.oh * s.ow, s.groupOutputs() * places);
}

void groupsForward(const ConvShape& s, const BFloat16* input, const BFloat16* weight, void* output, bool wide) {
  const Windowed of = Windowed::ofOutput(s);
  HalfTiles({.of = of,
             .n = s.n,
             .groups = s.groups,
             .planes = s.groupChannels(),
             .m = s.groupOutputs(),
             .input = input,
             .weight = weight,
             .places = s.kh * s.kw,
             .outputStep = s.groupChannels(),
             .planeStep = 1,
             .output = output,
             .wide = wide})
      .run();
}

void groupsInputGrad(const ConvShape& s, const BFloat16* grad, const BFloat16* weight, void* inputGrad, bool wide) {
  const Windowed of = Windowed::ofInputGrad(s);
  if (std::any_of(of.parts.begin(), of.parts.end(), [](const WindowPart& part) { return part.count == 0; }))
    std::memset(inputGrad, 0,
                static_cast<std::size_t>(s.n * s.inputSize()) * (wide ? sizeof(float) : sizeof(BFloat16)));
  if (of.places.empty()) return;
  HalfTiles({.of = of,
             .n = s.n,
             .groups = s.groups,
             .planes = s.groupOutputs(),
             .m = s.groupChannels(),
             .input = grad,
             .weight = weight,
             .places = s.kh * s.kw,
             .outputStep = 1,
             .planeStep = s.groupChannels(),
             .output = inputGrad,
             .wide = wide})
      .run();
}

}  // namespace tandem::lib
