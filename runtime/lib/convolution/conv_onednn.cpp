// float32 convolutions by oneDNN. For each kind and piece of work there is one primitive, made for the layouts the
// library likes best, with the reorders from and to our dense ones. Primitives are cached by sizes: making one costs
// 90 us, running a small one 10.
#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "runtime/base/hash.h"
#include "runtime/device/thread_pool.h"
#include "runtime/lib/convolution/convolution.h"
#include "runtime/lib/convolution/onednn.h"

namespace tandem::lib {
namespace {

using dnnl::memory;
using Layout = memory::desc;

// Multiply-adds of one piece of a batch, at least; and how many pieces there are at most.
constexpr std::int64_t kPieceWork = std::int64_t{1} << 20;
constexpr std::int64_t kMaxPieces = 64;
constexpr std::int64_t kMaxWeightPieces = 8;
// Output positions of one piece, at least, where that leaves two pieces: each reads all weights, or writes gradients
// for all of them, which are summed.
constexpr std::int64_t kPositions = 16;
constexpr std::int64_t kWeightPositions = 64;
// Channels of one piece where the weights are cut, at least, and how many pieces there are then at most: each reads all
// images.
constexpr std::int64_t kPieceChannels = 64;
constexpr std::int64_t kMaxChannelPieces = 8;
// Multiply-adds of one piece of the rows of an image, at least, and how many pieces there are at most.
constexpr std::int64_t kRowsWork = std::int64_t{1} << 22;
constexpr std::int64_t kMaxRowPieces = 8;
// Elements of which the gradients of all pieces are summed at a time, in the first cache.
constexpr std::int64_t kSumTogether = 4096;

enum class Kind : std::int64_t { Forward, InputGrad, WeightGrad };

Layout dense(const memory::dims& dims) {
  memory::dims strides(dims.size(), 1);
  for (std::size_t d = dims.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * dims[d + 1];
  return {dims, memory::data_type::f32, strides};
}
Layout any(const memory::dims& dims) { return {dims, memory::data_type::f32, memory::format_tag::any}; }

/// Memory of the pool's allocator for a layout, on a whole number of lines.
class Buffer {
 public:
  explicit Buffer(const Layout& layout) : bytes_(static_cast<std::int64_t>(layout.get_size())) {}
  void* data() const { return bytes_.data(); }

 private:
  Scratch<unsigned char> bytes_;
};

/// A primitive's arguments, of which the data changes from call to call. Making these objects costs as much as running
/// a small primitive. For one thread at a time.
class Arguments {
 public:
  Arguments() = default;
  Arguments(const dnnl::primitive& primitive, std::initializer_list<std::pair<int, Layout>> layouts)
      : primitive_(primitive) {
    for (const auto& [arg, layout] : layouts) {
      memories_.push_back(memory(layout, dnnlEngine(), DNNL_MEMORY_NONE));
      args_.push_back({arg, memories_.back().get()});
    }
  }
  /// `data`: of each argument, in the order of the layouts.
  void run(std::initializer_list<const void*> data) const {
    dnnl::stream& stream = dnnlStream();
    auto memory = memories_.begin();
    for (const void* place : data) (memory++)->set_data_handle(const_cast<void*>(place), stream);
    dnnl::error::wrap_c_api(
        dnnl_primitive_execute(primitive_.get(), stream.get(), static_cast<int>(args_.size()), args_.data()),
        "could not execute a primitive");
  }

 private:
  dnnl::primitive primitive_;
  std::vector<memory> memories_;
  std::vector<dnnl_exec_arg_t> args_;
};

/// A reorder between our layout and the primitive's; nothing where they are equal.
struct Reorder {
  Layout from, to;
  dnnl::primitive primitive;

  Reorder() = default;
  Reorder(const Layout& from, const Layout& to) : from(from), to(to) {
    if (needed()) primitive = dnnl::reorder(dnnl::reorder::primitive_desc(dnnlEngine(), from, dnnlEngine(), to));
  }
  bool needed() const { return from != to; }
  Arguments arguments() const {
    return needed() ? Arguments(primitive, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}) : Arguments();
  }
};

/// [images, channels, rows, columns] of images of `channels` channels of `rows` rows.
Layout part(const memory::dims& dims, std::int64_t channels, std::int64_t rows) {
  return {dims, memory::data_type::f32, {channels * rows * dims[3], rows * dims[3], dims[3], 1}};
}

/// Between images of ours and those whose channels lie last, which many primitives want: a transposition of each image.
/// oneDNN's own takes several times as long.
struct Turn {
  bool serves = false;
  std::int64_t images = 0, channels = 0, positions = 0, image = 0, channel = 0;

  Turn() = default;
  /// Of `dims`, parts of images of `all` channels of `rows` rows; `wanted`: what the primitive wants.
  Turn(const memory::dims& dims, std::int64_t all, std::int64_t rows, const Layout& wanted)
      : images(dims[0]), channels(dims[1]), positions(dims[2] * dims[3]), image(all * rows * dims[3]),
        channel(rows * dims[3]) {
    const Layout last(dims, memory::data_type::f32, {channels * positions, 1, dims[3] * channels, channels});
    serves = wanted == last;
  }
  void toLast(const float* from, float* to) const {
    for (std::int64_t i = 0; i < images; ++i)
      transposeMatrix(from + i * image, channel, to + i * channels * positions, channels, positions, channels,
                      DType::Float32);
  }
  void fromLast(const float* from, float* to) const {
    for (std::int64_t i = 0; i < images; ++i)
      transposeMatrix(from + i * channels * positions, channels, to + i * image, channel, channels, positions,
                      DType::Float32);
  }
};

/// One primitive with two operands and a result, in the layouts it wants. `s` may have some of the channels, or the
/// rows, of `whole`, of whose arrays the operands and the result are then parts.
class Convolution {
 public:
  Convolution(Kind kind, const ConvShape& s, const ConvShape& whole) {
    memory::dims src{s.n, s.c, s.h, s.w};
    memory::dims dst{s.n, s.o, s.oh, s.ow};
    memory::dims weight{s.o, s.groupChannels(), s.kh, s.kw};
    if (s.groups > 1) weight = {s.groups, s.groupOutputs(), s.groupChannels(), s.kh, s.kw};
    const Layout ownSrc = part(src, whole.c, whole.h);
    const Layout ownDst = part(dst, whole.o, whole.oh);
    const Layout ownWeight = s.groups > 1 ? dense(weight) : part(weight, whole.groupChannels(), whole.kh);
    memory::dims stride{s.strideH, s.strideW};
    memory::dims dilation{s.dilationH - 1, s.dilationW - 1};
    memory::dims before{s.padH, s.padW};
    // What oneDNN calls the padding after: the part of the last window that lies beyond the input.
    memory::dims after{(s.oh - 1) * s.strideH + (s.kh - 1) * s.dilationH + 1 - s.h - s.padH,
                       (s.ow - 1) * s.strideW + (s.kw - 1) * s.dilationW + 1 - s.w - s.padW};
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    auto direct = dnnl::algorithm::convolution_direct;
    dnnl::convolution_forward::primitive_desc forward(
        {kind == Kind::Forward ? dnnl::prop_kind::forward_inference : dnnl::prop_kind::forward_training, direct,
         any(src), any(weight), any(dst), stride, dilation, before, after},
        attr, dnnlEngine());
    switch (kind) {
    case Kind::Forward:
      set(forward, dnnl::convolution_forward(forward), ownSrc, forward.src_desc(), ownWeight, forward.weights_desc(),
          ownDst, forward.dst_desc());
      args_ = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
      break;
    case Kind::InputGrad: {
      dnnl::convolution_backward_data::primitive_desc pd(
          {direct, any(src), any(weight), any(dst), stride, dilation, before, after}, attr, dnnlEngine(), forward);
      set(pd, dnnl::convolution_backward_data(pd), ownDst, pd.diff_dst_desc(), ownWeight, pd.weights_desc(), ownSrc,
          pd.diff_src_desc());
      args_ = {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC};
      break;
    }
    case Kind::WeightGrad: {
      dnnl::convolution_backward_weights::primitive_desc pd(
          {direct, any(src), any(weight), any(dst), stride, dilation, before, after}, attr, dnnlEngine(), forward);
      set(pd, dnnl::convolution_backward_weights(pd), ownDst, pd.diff_dst_desc(), ownSrc, pd.src_desc(), ownWeight,
          pd.diff_weights_desc());
      args_ = {DNNL_ARG_DIFF_DST, DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS};
      break;
    }
    }
    const bool forwards = kind == Kind::Forward;
    const Turn ofSrc(src, whole.c, whole.h, forwards ? first_.to : result_.from);
    const Turn ofDst(dst, whole.o, whole.oh, forwards ? result_.from : first_.to);
    turnFirst_ = forwards ? ofSrc : ofDst;
    if (kind != Kind::WeightGrad) turnResult_ = forwards ? ofDst : ofSrc;
  }

  const Reorder& second() const { return second_; }
  /// Brings `second` into the primitive's layout, for calls with `secondReady`.
  void makeReady(const float* second, void* ready) const { callsHere().second.run({second, ready}); }

  /// `first` and `result` in our layouts, `second` in ours, or with `secondReady` in the primitive's.
  void operator()(const float* first, const void* second, bool secondReady, float* result) const {
    Buffer scratch(scratchpad_);
    Buffer ownFirst(first_.needed() ? first_.to : Layout());
    Buffer ownSecond(second_.needed() && !secondReady ? second_.to : Layout());
    Buffer ownResult(result_.needed() ? result_.from : Layout());
    const Calls& calls = callsHere();
    const void* x = first;
    if (first_.needed()) {
      if (turnFirst_.serves)
        turnFirst_.toLast(first, static_cast<float*>(ownFirst.data()));
      else
        calls.first.run({first, ownFirst.data()});
      x = ownFirst.data();
    }
    const void* y = second;
    if (second_.needed() && !secondReady) calls.second.run({second, ownSecond.data()}), y = ownSecond.data();
    void* z = result_.needed() ? ownResult.data() : result;
    calls.primitive.run({x, y, z, scratch.data()});
    if (result_.needed() && turnResult_.serves)
      turnResult_.fromLast(static_cast<const float*>(z), result);
    else if (result_.needed())
      calls.result.run({z, result});
  }

 private:
  struct Calls {
    const Convolution* of = nullptr;
    Arguments first, second, result, primitive;
  };

  /// The arguments of this convolution in this thread, which keeps those of the last few; convolutions live for ever.
  const Calls& callsHere() const {
    static thread_local const auto kept = std::make_unique<std::array<Calls, 16>>();
    Calls& calls = (*kept)[reinterpret_cast<std::uintptr_t>(this) / sizeof(Convolution) % kept->size()];
    if (calls.of != this) {
      calls = {nullptr, first_.arguments(), second_.arguments(), result_.arguments(),
               Arguments(primitive_, {{args_[0], first_.to},
                                      {args_[1], second_.to},
                                      {args_[2], result_.from},
                                      {DNNL_ARG_SCRATCHPAD, scratchpad_}})};
      calls.of = this;
    }
    return calls;
  }

  template <class Desc>
  void set(const Desc& pd, const dnnl::primitive& primitive, const Layout& first, const Layout& ownFirst,
           const Layout& second, const Layout& ownSecond, const Layout& result, const Layout& ownResult) {
    primitive_ = primitive;
    scratchpad_ = pd.scratchpad_desc();
    first_ = Reorder(first, ownFirst);
    second_ = Reorder(second, ownSecond);
    result_ = Reorder(ownResult, result);
  }

  dnnl::primitive primitive_;
  Layout scratchpad_;
  Reorder first_, second_, result_;
  Turn turnFirst_, turnResult_;
  std::array<int, 3> args_{};
};

/// The primitive for these sizes. Those that were made are kept.
const Convolution& convolution(Kind kind, const ConvShape& s, const ConvShape& whole) {
  static std::mutex mutex;
  static auto* cache = new std::unordered_map<Hash128, std::unique_ptr<Convolution>, Hash128Hasher>;
  std::array<std::int64_t, 21> key{static_cast<std::int64_t>(kind),
                                   s.n,
                                   s.c,
                                   s.h,
                                   s.w,
                                   s.o,
                                   s.kh,
                                   s.kw,
                                   s.oh,
                                   s.ow,
                                   s.padH,
                                   s.padW,
                                   s.strideH,
                                   s.strideW,
                                   s.dilationH,
                                   s.dilationW,
                                   s.groups,
                                   whole.c,
                                   whole.o,
                                   whole.h,
                                   whole.oh};
  std::lock_guard lock(mutex);
  auto& entry = (*cache)[Hash128{}.add(key)];
  if (entry == nullptr) {
    OneOpenMpThread one;
    entry = std::make_unique<Convolution>(kind, s, whole);
  }
  return *entry;
}

/// Images of one piece: by size alone, equal pieces where the batch has a fitting divisor.
std::int64_t pieceImages(const ConvShape& s, std::int64_t maxPieces, std::int64_t positions) {
  maxPieces = std::clamp<std::int64_t>(s.n * s.oh * s.ow / positions, 2, maxPieces);
  std::int64_t pieces = std::clamp<std::int64_t>(s.n * s.imageWork() / kPieceWork, 1, std::min(s.n, maxPieces));
  std::int64_t images = (s.n + pieces - 1) / pieces;
  for (std::int64_t d = images; d > images / 2; --d)
    if (s.n % d == 0 && s.n / d <= maxPieces) return d;
  return images;
}

/// The convolutions of the pieces of a batch: all of one size but perhaps the last.
class Pieces {
 public:
  Pieces(Kind kind, const ConvShape& s, std::int64_t images)
      : count((s.n + images - 1) / images), images(images), whole_(&sized(kind, s, images)),
        last_(s.n % images == 0 ? whole_ : &sized(kind, s, s.n % images)) {}
  const Convolution& operator[](std::int64_t piece) const { return piece + 1 == count ? *last_ : *whole_; }

  const std::int64_t count;
  const std::int64_t images;

 private:
  static const Convolution& sized(Kind kind, ConvShape s, std::int64_t images) {
    s.n = images;
    return convolution(kind, s, s);
  }
  const Convolution* whole_;
  const Convolution* last_;
};

/// Forward and input gradient: pieces of the batch side by side, the weight brought into its layout once.
void overBatch(Kind kind, const ConvShape& s, const float* first, std::int64_t firstSize, const float* weight,
               float* result, std::int64_t resultSize) {
  Pieces pieces(kind, s, pieceImages(s, kMaxPieces, kPositions));
  const Reorder& reorder = pieces[0].second();
  // One reorder serves the last piece too if it wants the same layout.
  bool shared = reorder.needed() && pieces[pieces.count - 1].second().to == reorder.to;
  Buffer ready(shared ? reorder.to : Layout());
  if (shared) {
    OneOpenMpThread one;
    pieces[0].makeReady(weight, ready.data());
  }
  parallelTiles(pieces.count, [&](std::int64_t p) {
    OneOpenMpThread one;
    std::int64_t image = p * pieces.images;
    pieces[p](first + image * firstSize, shared ? ready.data() : weight, shared, result + image * resultSize);
  });
}

/// Are there more weights than elements of images? Then a piece of the batch would wait for all of them.
bool isHeavy(const ConvShape& s) { return s.weightSize() > s.n * (s.inputSize() + s.outputSize()); }

/// The forward of one image: pieces of the output's rows side by side, with the rows of the input that they see.
bool overRows(const ConvShape& s, const float* input, const float* weight, float* output) {
  const std::int64_t most = std::min({kMaxRowPieces, s.oh, s.imageWork() / kRowsWork});
  if (s.n != 1 || isHeavy(s) || most < 2) return false;
  const std::int64_t rows = (s.oh + most - 1) / most;
  const std::int64_t count = (s.oh + rows - 1) / rows;
  struct Piece {
    const Convolution* convolution;
    std::int64_t from, row;  // of the input, of the output
  };
  SmallVector<Piece, kMaxRowPieces> pieces;
  for (std::int64_t row = 0; row < s.oh; row += rows) {
    ConvShape some = s;
    some.oh = std::min(rows, s.oh - row);
    const std::int64_t begin = row * s.strideH - s.padH;
    const std::int64_t from = std::max<std::int64_t>(begin, 0);
    some.padH = from - begin;
    some.h = std::min(s.h, begin + (some.oh - 1) * s.strideH + (s.kh - 1) * s.dilationH + 1) - from;
    if (some.h < 1) return false;  // all of it lies in the padding
    pieces.push_back({&convolution(Kind::Forward, some, s), from, row});
  }
  const Reorder& reorder = pieces[0].convolution->second();
  Buffer ready(reorder.needed() ? reorder.to : Layout());
  if (reorder.needed()) {
    OneOpenMpThread one;
    pieces[0].convolution->makeReady(weight, ready.data());
  }
  parallelTiles(count, [&](std::int64_t p) {
    OneOpenMpThread one;
    const Piece& piece = pieces[p];
    const bool shared = reorder.needed() && piece.convolution->second().to == reorder.to;
    (*piece.convolution)(input + piece.from * s.w, shared ? ready.data() : weight, shared, output + piece.row * s.ow);
  });
  return true;
}

/// Pieces of the output's channels side by side, for the input gradient of the input's: each brings its own part of the
/// weights into its layout, or the gradients for it out of theirs.
bool overChannels(Kind kind, const ConvShape& s, const float* first, const float* second, float* result) {
  std::int64_t ConvShape::* channels = kind == Kind::InputGrad ? &ConvShape::c : &ConvShape::o;
  const std::int64_t all = s.*channels;
  const std::int64_t most = std::min(kMaxChannelPieces, s.n * s.imageWork() / kPieceWork);
  const bool alone = s.n == 1 && kind != Kind::Forward;
  if (s.groups != 1 || (!alone && !isHeavy(s)) || most < 2 || all < 2 * kPieceChannels) return false;
  const std::int64_t here = std::max(kPieceChannels, (all + most - 1) / most + 15) / 16 * 16;
  ConvShape part = s;
  part.*channels = here;
  const Convolution* whole = &convolution(kind, part, s);
  const Convolution* last = whole;
  if (all % here != 0) {
    part.*channels = all % here;
    last = &convolution(kind, part, s);
  }
  const std::int64_t inputPart = here * s.h * s.w;
  const std::int64_t outputPart = here * s.oh * s.ow;
  const std::int64_t weightPart = (kind == Kind::InputGrad ? here : here * s.c) * s.kh * s.kw;
  const std::int64_t count = (all + here - 1) / here;
  parallelTiles(count, [&](std::int64_t p) {
    OneOpenMpThread one;
    const Convolution& run = p + 1 == count ? *last : *whole;
    switch (kind) {
    case Kind::Forward:
      return run(first, second + p * weightPart, false, result + p * outputPart);
    case Kind::InputGrad:
      return run(first, second + p * weightPart, false, result + p * inputPart);
    case Kind::WeightGrad:
      return run(first + p * outputPart, second, false, result + p * weightPart);
    }
  });
  return true;
}

}  // namespace

void convForward(const ConvShape& s, const float* input, const float* weight, float* output) {
  withOneDnn("conv2d", [&] {
    if (overChannels(Kind::Forward, s, input, weight, output) || overRows(s, input, weight, output)) return;
    overBatch(Kind::Forward, s, input, s.inputSize(), weight, output, s.outputSize());
  });
}

void convInputGrad(const ConvShape& s, const float* grad, const float* weight, float* inputGrad) {
  withOneDnn("conv2d_input_grad", [&] {
    if (overChannels(Kind::InputGrad, s, grad, weight, inputGrad)) return;
    overBatch(Kind::InputGrad, s, grad, s.outputSize(), weight, inputGrad, s.inputSize());
  });
}

void convWeightGrad(const ConvShape& s, const float* grad, const float* input, float* weightGrad) {
  withOneDnn("conv2d_weight_grad", [&] {
    if (overChannels(Kind::WeightGrad, s, grad, input, weightGrad)) return;
    Pieces pieces(Kind::WeightGrad, s, pieceImages(s, kMaxWeightPieces, kWeightPositions));
    std::int64_t size = s.weightSize();
    Scratch<float> partial((pieces.count - 1) * size);
    parallelTiles(pieces.count, [&](std::int64_t p) {
      OneOpenMpThread one;
      std::int64_t image = p * pieces.images;
      float* to = p == 0 ? weightGrad : partial.data() + (p - 1) * size;
      pieces[p](grad + image * s.outputSize(), input + image * s.inputSize(), false, to);
    });
    parallelFor(size, kSerialElements, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t from = begin; from < end; from += kSumTogether) {
        const std::int64_t to = std::min(end, from + kSumTogether);
        for (std::int64_t p = 0; p + 1 < pieces.count; ++p)
          for (std::int64_t i = from; i < to; ++i) weightGrad[i] += partial[p * size + i];
      }
    });
  });
}

}  // namespace tandem::lib
