// Convolutions of float32 and float64 as matrix products: of the filters, a row each, and of what the windows see, a
// column each. No matrix of patches is written out: in a slab (windows.h) what neighbouring windows see at one place of
// the filter lies side by side, and products read it there. There are two ways to share what is read, and the cheaper
// one is taken, by sizes alone. Both give the same bits, of finite filters:
// - by windows: vectors are of neighbouring windows, and filters of several outputs meet each of them. In planes of few
//   columns vectors go on through what lies between two rows, whose results are dropped;
// - by channels: vectors are of outputs, for which the filters are turned first, and several windows meet each of them.
//
// An element is a sum over the planes and the places of the filter in the order of memory, in blocks of kBlockK.
#include <algorithm>
#include <utility>

#include "runtime/device/isa.h"
#include "runtime/device/thread_pool.h"
#include "runtime/lib/convolution/conv_kernel.h"
#include "runtime/lib/convolution/convolution.h"
#include "runtime/lib/convolution/windows.h"
#include "runtime/lib/matmul/gemm.h"

namespace tandem::lib {

template <class T>
const ConvKernels<T>& convKernels() {
  static const auto own = hasAvx512() ? avx512::convKernels(T{}) : avx2::convKernels(T{});
  return own;
}
template const ConvKernels<float>& convKernels();
template const ConvKernels<double>& convKernels();

namespace {

constexpr std::int64_t kBlockK = 256;
// In blocks of fewer columns than this, windows of one row are too few to share what is read.
constexpr std::int64_t kNarrow = 7;
// Outputs that stay together, where they are shared: whole vectors, and tiles of rows.
constexpr std::int64_t kOutputStep = 64;
// What it takes to turn an element of filters, and one of the results, in multiply-adds of vectors.
constexpr double kTurnFilter = 0.7;
constexpr double kTurnResult = 0.4;

/// A convolution as products, for each of `n` images and `groups`: for each part of the windows, c[m, windows] =
/// filters[m, k] columns[k, windows], where k runs over the group's planes and the part's taps.
template <class T>
struct WindowProducts {
  const Windowed& of;
  std::int64_t n, groups, planes, m;
  const T* input;  // [n, groups, planes, h, w]
  T* output;       // [n, groups, m, ...]
  // Do the planes of an image, of all groups, lie beside each other instead?
  bool inputChannels, outputChannels;
};

template <class T>
class Tiles {
 public:
  explicit Tiles(const WindowProducts<T>& p)
      : p_(p), of_(p.of), all_(p.planes * p.of.places.size()), block_(largestBlock(of_.windows, kTileWindows)),
        byChannels_(isByChannels(p, all_, block_)), narrow_(byChannels_ && block_.columns < kNarrow),
        layout_(of_.windows, p.planes, block_.rows, block_.columns, !narrow_),
        blocks_(of_.windows, block_, p.n, layout_.size(), kTileWindows, p.n), width_(2 * kernels_.lanes),
        offsets_(offsetsOfParts(of_, layout_, p.planes)) {
    const std::int64_t tiles = blocks_.count() * p.groups;
    const std::int64_t work = p.m * all_ * blocks_.images() * block_.rows * block_.columns;
    const std::int64_t cuts = cutsOf(tiles, work, ceilDiv(p.m, kOutputStep));
    outputs_ = cuts == 1 ? p.m : ceilDiv(ceilDiv(p.m, cuts), kOutputStep) * kOutputStep;
    cuts_ = ceilDiv(p.m, outputs_);
  }

  /// Do the products take the filters by channels: for each part and group, panels of `panelWidth(m)` outputs from m
  /// on, [k, outputs]? Otherwise as [parts, groups, m, k].
  bool byChannels() const { return byChannels_; }
  std::int64_t panelWidth(std::int64_t m) const { return std::min(width_, channels() - m); }
  /// Outputs of a group, in whole vectors if by channels.
  std::int64_t channels() const { return byChannels_ ? ceilDiv(p_.m, kernels_.lanes) * kernels_.lanes : p_.m; }
  /// Elements of all filters, and where those of a part for an output of a group are.
  std::int64_t filters() const { return p_.groups * channels() * all_; }
  std::int64_t filtersOf(const WindowPart& part, std::int64_t group, std::int64_t m) const {
    return p_.planes * (p_.groups * channels() * part.tap + (group * channels() + m) * part.count);
  }

  void run(const T* filters) const {
    parallelTiles(cuts_ * p_.groups * blocks_.count(), [&](std::int64_t t) {
      const WindowBlocks::Block block = blocks_[t / cuts_ / p_.groups];
      const std::int64_t m = t % cuts_ * outputs_, group = t / cuts_ % p_.groups;
      tile({block.image, block.images, group, m, std::min(outputs_, p_.m - m), block.windows}, filters);
    });
  }

 private:
  /// Outputs [m, m + outputs) of a group for what `block` sees of some images.
  struct Tile {
    std::int64_t image, images, group, m, outputs;
    WindowBlock block;
    std::int64_t windows() const { return block.rows * block.columns; }
  };

  void tile(Tile t, const T* filters) const {
    const Scratch<T> slab(t.images * layout_.size() + width_);
    const std::int64_t plane = of_.windows.h * of_.windows.w, channels = p_.groups * p_.planes;
    for (std::int64_t i = 0; i < t.images; ++i)
      layout_.fill(p_.input + (t.image + i) * channels * plane + t.group * p_.planes * (p_.inputChannels ? 1 : plane),
                   t.block, slab.data() + i * layout_.size(), p_.inputChannels ? channels : 0);
    std::fill_n(slab.data() + t.images * layout_.size(), width_, T{});
    const WindowBlock block = t.block;
    for (const WindowPart& part : of_.parts) {
      t.block.rows = std::min(block.rows, part.rows - block.i);
      t.block.columns = std::min(block.columns, part.columns - block.j);
      if (part.count == 0 || t.block.rows < 1 || t.block.columns < 1) continue;
      const Filters of{filters + filtersOf(part, t.group, t.m), offsets_.data() + p_.planes * part.tap,
                       p_.planes * part.count, 0};
      byChannels_ ? tileByChannels(t, part, of, slab.data()) : tileByWindows(t, part, of, slab.data());
    }
  }

  /// Filters of a part for a tile, and where a window sees what they meet, `k` of it from `first` on.
  struct Filters {
    const T* data;
    const std::int64_t* offsets;
    std::int64_t k;
    std::int64_t first;
  };

  /// The way is by sizes alone: multiply-adds of vectors of 64 bytes for all windows, a step of k.
  static bool isByChannels(const WindowProducts<T>& p, std::int64_t all, const WindowBlock& block) {
    constexpr std::int64_t lanes = 64 / sizeof(T);
    const Windows& w = p.of.windows;
    const std::int64_t blocks = p.n * ceilDiv(w.rows, block.rows) * ceilDiv(w.columns, block.columns);
    const SlabLayout layout(w, 1, block.rows, block.columns);
    // Results are turned where they are not made as they lie.
    const double turn = kTurnResult * static_cast<double>(p.n * w.count() * p.m) / static_cast<double>(all);
    const double byWindows = static_cast<double>(blocks * runsOf(block, layout.down(), 2 * lanes).panels * 2 * p.m) +
                             (p.outputChannels ? turn : 0);
    const double byChannels = static_cast<double>(p.n * w.count() * ceilDiv(p.m, lanes)) +
                              (p.outputChannels ? 0 : turn) + kTurnFilter * static_cast<double>(p.m);
    return byChannels < byWindows;
  }

  /// How windows are columns: in runs of panels, each over all rows of a block, or over one.
  struct Runs {
    bool through;
    std::int64_t panels;  // of a block
  };
  static Runs runsOf(const WindowBlock& block, std::int64_t down, std::int64_t width) {
    const std::int64_t through = ceilDiv((block.rows - 1) * down + block.columns, width);
    const std::int64_t byRow = block.rows * ceilDiv(block.columns, width);
    return {through < byRow, std::min(through, byRow)};
  }

  void tileByWindows(const Tile& t, const WindowPart& part, const Filters& f, const T* slab) const {
    const Runs runs = runsOf(t.block, layout_.down(), width_);
    const std::int64_t count = runs.through ? 1 : t.block.rows, panels = runs.panels / count;
    // Rows that are no narrower than a vector are cut into panels that fit, straight to their places.
    const bool straight = !runs.through && of_.stepW == 1 && t.block.columns >= kernels_.lanes && !p_.outputChannels;
    const std::int64_t ofImage = runs.panels * width_, ofRow = runs.through ? layout_.down() : panels * width_;
    const std::int64_t ld = straight ? of_.plane : t.images * ofImage, depth = std::min(f.k, kBlockK);
    const Scratch<T> results(straight ? 0 : t.outputs * ld);
    // Filters a multiple of 2 KiB apart fall on the same few cache lines.
    const bool collide = t.outputs > kernels_.rows && f.k * std::int64_t{sizeof(T)} % 2048 == 0;
    const std::int64_t filterRow = depth + 16;
    const Scratch<T> moved(collide ? t.outputs * filterRow : 0);
    for (std::int64_t k = 0; k < f.k; k += kBlockK) {
      PanelProduct<T> product{
          t.outputs, std::min(kBlockK, f.k - k), f.data + k, f.k, nullptr, f.offsets + k, kernels_.lanes, nullptr, ld,
          k > 0};
      if (collide) {
        for (std::int64_t m = 0; m < t.outputs; ++m)
          std::copy_n(f.data + m * f.k + k, product.k, moved.data() + m * filterRow);
        product.a = moved.data(), product.lda = filterRow;
      }
      for (std::int64_t i = 0; i < t.images; ++i)
        for (std::int64_t run = 0; run < count; ++run)
          for (std::int64_t p = 0; p < panels; ++p) {
            std::int64_t x = p * width_;
            if (straight) {
              x = p * t.block.columns / panels;
              product.second = std::min(kernels_.lanes, (p + 1) * t.block.columns / panels - x - kernels_.lanes);
            }
            product.b = slab + i * layout_.size() + run * layout_.down() + x;
            product.c =
                x + (straight ? output(t, part, i) + run * of_.stepH : results.data() + i * ofImage + run * ofRow);
            kernels_.product(product);
          }
    }
    if (straight) return;
    for (std::int64_t i = 0; i < t.images; ++i) {
      const T* from = results.data() + i * ofImage;
      T* to = output(t, part, i);
      if (p_.outputChannels)
        for (std::int64_t y = 0; y < t.block.rows; ++y)
          kernels_.turn(from + y * ofRow, ld, to + y * of_.stepH * apart(), of_.stepW * apart(), t.block.columns,
                        t.outputs);
      else
        for (std::int64_t m = 0; m < t.outputs; ++m) store(t.block, from + m * ld, ofRow, to + m * of_.plane);
    }
  }

  void tileByChannels(const Tile& t, const WindowPart& part, const Filters& f, const T* slab) const {
    const std::int64_t windows = t.windows(), all = t.images * windows;
    const Scratch<T> results(all * width_);
    const Scratch<T> turned(isDense(t.block) || p_.outputChannels ? 0 : width_ * windows);
    for (std::int64_t m = 0; m < t.outputs; m += width_) {
      const std::int64_t width = panelWidth(t.m + m), outputs = std::min(width, t.outputs - m);
      for (std::int64_t k = 0; k < f.k; k += kBlockK) {
        const Filters here{f.data + m * f.k + k * width, f.offsets + k, std::min(kBlockK, f.k - k), k};
        narrow_ ? narrowWindows(t, part, here, slab, width, k > 0, results.data())
                : wideWindows(t, here, slab, width, k > 0, results.data());
      }
      for (std::int64_t i = 0; i < t.images; ++i) {
        T* to = output(t, part, i) + m * (p_.outputChannels ? 1 : of_.plane);
        const T* from = results.data() + i * windows * width;
        if (p_.outputChannels) {
          for (std::int64_t y = 0; y < t.block.rows; ++y)
            for (std::int64_t x = 0; x < t.block.columns; ++x, from += width)
              copyRow(from, outputs, to + (y * of_.stepH + x * of_.stepW) * apart());
          continue;
        }
        if (isDense(t.block)) {
          kernels_.turn(from, width, to, of_.plane, outputs, windows);
          continue;
        }
        kernels_.turn(from, width, turned.data(), windows, outputs, windows);
        for (std::int64_t o = 0; o < outputs; ++o)
          store(t.block, turned.data() + o * windows, t.block.columns, to + o * of_.plane);
      }
    }
  }

  /// Windows of a row together, in even shares.
  void wideWindows(const Tile& t, const Filters& f, const T* slab, std::int64_t width, bool add, T* results) const {
    const std::int64_t parts = ceilDiv(t.block.columns, kernels_.windows);
    ChannelProduct<T> product{0,       f.k, static_cast<int>(width / kernels_.lanes), nullptr, f.offsets, f.data,
                              results, add};
    for (std::int64_t i = 0; i < t.images; ++i)
      for (std::int64_t y = 0; y < t.block.rows; ++y)
        for (std::int64_t part = 0; part < parts; ++part, product.c += product.count * width) {
          const std::int64_t x = part * t.block.columns / parts;
          product.count = (part + 1) * t.block.columns / parts - x;
          product.b = slab + i * layout_.size() + y * layout_.down() + x;
          kernels_.channels(product);
        }
  }

  /// Windows of several rows and images together: those that see the same places of the filter inside of the plane.
  /// Many windows of a small plane reach beyond its edge, and what lies there is left out.
  void narrowWindows(const Tile& t, const WindowPart& part, const Filters& f, const T* slab, std::int64_t width,
                     bool add, T* results) const {
    const Windows& w = of_.windows;
    const auto tap = [&](std::int64_t p) { return w.taps[part.tap + p % part.count]; };
    const auto row = [&](std::int64_t y, const Tap& a) { return (t.block.i + y) * w.stepH + a.row; };
    const auto column = [&](std::int64_t x, const Tap& a) { return (t.block.j + x) * w.stepW + a.column; };
    const ScratchList<std::int64_t> rows = kindsOf(part, t.block.rows, row, w.h);
    const ScratchList<std::int64_t> columns = kindsOf(part, t.block.columns, column, w.w);
    ScratchList<Run> runs(f.k);
    for (std::int64_t y = 0; y < t.block.rows; ++y)
      for (std::int64_t x = 0; x < t.block.columns; ++x) {
        if (!isFirst(rows, y) || !isFirst(columns, x)) continue;
        runs.clear();
        for (std::int64_t p = 0; p < f.k; ++p) {
          const Tap at = tap(f.first + p);
          if (!isInside(row(y, at), w.h) || !isInside(column(x, at), w.w)) continue;
          if (!runs.empty() && runs.back().offset + runs.back().length == f.offsets[p] &&
              runs.back().row + runs.back().length == p)
            ++runs.back().length;
          else
            runs.push_back({f.offsets[p], 1, p});
        }
        RunSums<T> sums{nullptr, 0,  static_cast<int>(width / kernels_.lanes), runs.begin(), runs.size(), f.data,
                        nullptr, add};
        eachOfKind(t, rows, columns, rows[y], columns[x], sums, slab, width, results);
      }
  }
  /// A number for each of `count` rows or columns of windows: those that have the same one see the same places inside
  /// of the plane. It tells how many lie before it and how many behind.
  template <class Place>
  ScratchList<std::int64_t> kindsOf(const WindowPart& part, std::int64_t count, Place place, std::int64_t size) const {
    ScratchList<std::int64_t> kinds(count);
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t kind = 0;
      for (std::int64_t p = part.tap; p < part.tap + part.count; ++p) {
        const std::int64_t at = place(i, of_.windows.taps[p]);
        kind += at < 0 ? 1 : at >= size ? part.count + 1 : 0;
      }
      kinds.push_back(kind);
    }
    return kinds;
  }
  static bool isFirst(const ScratchList<std::int64_t>& kinds, std::int64_t i) {
    return std::find(kinds.begin(), kinds.end(), kinds[i]) == kinds.begin() + i;
  }
  static bool isInside(std::int64_t at, std::int64_t size) { return at >= 0 && at < size; }
  /// The sums of all windows of a kind, as many at a time as share what is read.
  void eachOfKind(const Tile& t, const ScratchList<std::int64_t>& rows, const ScratchList<std::int64_t>& columns,
                  std::int64_t row, std::int64_t column, RunSums<T> sums, const T* slab, std::int64_t width,
                  T* results) const {
    const T* from[kMaxRows];
    T* to[kMaxRows];
    sums.from = from, sums.sums = to;
    for (std::int64_t i = 0; i < t.images; ++i)
      for (std::int64_t y = 0; y < t.block.rows; ++y)
        for (std::int64_t x = 0; x < t.block.columns; ++x) {
          if (rows[y] != row || columns[x] != column) continue;
          from[sums.count] = slab + i * layout_.size() + y * layout_.down() + x * layout_.beside();
          to[sums.count++] = results + (i * t.windows() + y * t.block.columns + x) * width;
          if (sums.count == kernels_.rows) kernels_.sum(sums), sums.count = 0;
        }
    if (sums.count > 0) kernels_.sum(sums);
  }

  /// Where the result of the first window of an image goes.
  T* output(const Tile& t, const WindowPart& part, std::int64_t image) const {
    return p_.output + (t.image + image) * p_.groups * p_.m * of_.plane +
           (t.group * p_.m + t.m) * (p_.outputChannels ? 1 : of_.plane) +
           (part.first + t.block.i * of_.stepH + t.block.j * of_.stepW) * apart();
  }
  /// Elements between neighbours of a row of the output.
  std::int64_t apart() const { return p_.outputChannels ? p_.groups * p_.m : 1; }
  /// Do the windows of a block have places side by side in the output?
  bool isDense(const WindowBlock& block) const {
    return of_.stepW == 1 && (block.rows == 1 || of_.stepH == block.columns);
  }
  /// Brings the results for one plane of the output, rows `ld` apart, to their places.
  void store(const WindowBlock& block, const T* from, std::int64_t ld, T* to) const {
    if (ld == block.columns && isDense(block)) return copyRow(from, block.rows * block.columns, to);
    for (std::int64_t y = 0; y < block.rows; ++y, from += ld, to += of_.stepH) {
      if (of_.stepW == 1)
        copyRow(from, block.columns, to);
      else
        for (std::int64_t x = 0; x < block.columns; ++x) to[x * of_.stepW] = from[x];
    }
  }

  const WindowProducts<T> p_;
  const Windowed& of_;
  const std::int64_t all_;  // k of all parts
  const ConvKernels<T>& kernels_ = convKernels<T>();
  const WindowBlock block_;  // the largest
  const bool byChannels_, narrow_;
  const SlabLayout layout_;
  const WindowBlocks blocks_;
  const std::int64_t width_;             // of a panel
  const Scratch<std::int64_t> offsets_;  // of each part, plane and tap
  std::int64_t outputs_, cuts_;          // of a tile, and tiles of all
};

/// Calls each(group, first output, outputs, width) for the panels of filters by channels, of `all` outputs a group.
template <class T, class Each>
void eachPanel(const Tiles<T>& tiles, std::int64_t groups, std::int64_t all, std::int64_t k, Each each) {
  const std::int64_t width = tiles.panelWidth(0), panels = ceilDiv(tiles.channels(), width);
  parallelFor(groups * panels, grainOf(k * width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) {
      const std::int64_t m = p % panels * width, here = tiles.panelWidth(m);
      each(p / panels, m, std::min(here, all - m), here);
    }
  });
}

/// The filters of an input gradient, of the weight [groups, outputs, channels, kh * kw].
template <class T>
void gradFilters(const ConvShape& s, const Windowed& of, const T* weight, const Tiles<T>& tiles, T* filters) {
  const std::int64_t cg = s.groupChannels(), og = s.groupOutputs(), size = s.kh * s.kw;
  const auto weightOf = [&](std::int64_t group, std::int64_t o, std::int64_t channel) {
    return weight + ((group * og + o) * cg + channel) * size;
  };
  const std::int64_t* places = of.places.begin();
  if (tiles.byChannels()) {
    eachPanel(tiles, s.groups, cg, og * size,
              [&](std::int64_t group, std::int64_t m, std::int64_t channels, std::int64_t width) {
                // Of one output all places, [places, channels]; those of channels behind the last stay zeros.
                const Scratch<T> turned(size * width);
                std::fill_n(turned.data(), size * width, T{});
                for (std::int64_t o = 0; o < og; ++o) {
                  convKernels<T>().turn(weightOf(group, o, m), size, turned.data(), width, size, channels);
                  for (const WindowPart& part : of.parts) {
                    T* to = filters + tiles.filtersOf(part, group, m) + o * part.count * width;
                    for (std::int64_t p = 0; p < part.count; ++p)
                      copyRow(turned.data() + places[part.tap + p] * width, width, to + p * width);
                  }
                }
              });
    return;
  }
  constexpr std::int64_t together = 16;  // channels, which lie side by side
  const std::int64_t strips = ceilDiv(cg, together);
  parallelFor(s.groups * strips, grainOf(together * og * size), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t group = i / strips, channel = i % strips * together;
      for (std::int64_t o = 0; o < og; ++o)
        for (std::int64_t c = channel; c < std::min(cg, channel + together); ++c)
          for (const WindowPart& part : of.parts) {
            T* to = filters + tiles.filtersOf(part, group, c) + o * part.count;
            for (std::int64_t p = 0; p < part.count; ++p) to[p] = weightOf(group, o, c)[places[part.tap + p]];
          }
    }
  });
}

}  // namespace

template <class T>
void windowForward(const ConvShape& s, const T* input, const T* weight, T* output) {
  const Windowed of = Windowed::ofOutput(s);
  const std::int64_t m = s.groupOutputs(), k = s.groupChannels() * s.kh * s.kw;
  const Tiles<T> tiles({of, s.n, s.groups, s.groupChannels(), m, input, output, s.inputChannels, s.outputChannels});
  if (!tiles.byChannels()) return tiles.run(weight);
  const Scratch<T> filters(tiles.filters());
  eachPanel(tiles, s.groups, m, k,
            [&](std::int64_t group, std::int64_t first, std::int64_t outputs, std::int64_t width) {
              T* panel = filters.data() + tiles.filtersOf(of.parts[0], group, first);
              if (outputs < width) std::fill_n(panel, width * k, T{});
              convKernels<T>().turn(weight + (group * m + first) * k, k, panel, width, k, outputs);
            });
  tiles.run(filters.data());
}

template <class T>
void windowInputGrad(const ConvShape& s, const T* grad, const T* weight, T* inputGrad) {
  const Windowed of = Windowed::ofInputGrad(s);
  if (std::any_of(of.parts.begin(), of.parts.end(), [](const WindowPart& part) { return part.count == 0; }))
    parallelFor(s.n * s.inputSize(), kSerialElements,
                [&](std::int64_t begin, std::int64_t end) { std::fill(inputGrad + begin, inputGrad + end, T{}); });
  if (of.places.empty()) return;
  const Tiles<T> tiles(
      {of, s.n, s.groups, s.groupOutputs(), s.groupChannels(), grad, inputGrad, s.outputChannels, s.inputChannels});
  const Scratch<T> filters(tiles.filters());
  gradFilters(s, of, weight, tiles, filters.data());
  tiles.run(filters.data());
}

template void windowForward(const ConvShape&, const float*, const float*, float*);
template void windowForward(const ConvShape&, const double*, const double*, double*);
template void windowInputGrad(const ConvShape&, const float*, const float*, float*);
template void windowInputGrad(const ConvShape&, const double*, const double*, double*);

}  // namespace tandem::lib
