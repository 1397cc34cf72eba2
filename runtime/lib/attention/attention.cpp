// attention, attention_grad, attention_keep: reads the operands, cuts the work into chunks by shape.
#include "runtime/lib/attention/attention.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "runtime/device/isa.h"
#include "runtime/device/thread_pool.h"
#include "runtime/lib/matmul/half_rows.h"
#include "runtime/lib/random/philox.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

// Of fewer rows or keys products in groups are no faster.
constexpr std::int64_t kLeastSide = 8;
// So many chunks of keys there are at least, to share among threads, as long as each has this many keys.
constexpr std::int64_t kBackwardChunks = 8;
constexpr std::int64_t kChunkKeys = 4 * kBackwardKeys;

Dropout dropoutOf(double p, std::int64_t key) {
  Dropout d;
  d.key = static_cast<std::uint64_t>(key);
  d.below = static_cast<std::uint64_t>(std::ceil(p * 0x1p32));
  d.scale = p < 1 ? 1 / (1 - p) : 0;
  return d;
}
/// One of the four words that a counter gives.
bool keepsElement(const Dropout& d, std::int64_t element) {
  auto e = static_cast<std::uint64_t>(element);
  std::uint64_t counter = e >> 2;
  auto words = philox({static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), 0, 0}, d.key);
  return words[e & 3] >= d.below;
}

[[gnu::noinline]] void zero(void* data, std::size_t bytes) {
  parallelFor(static_cast<std::int64_t>(bytes), kSerialElements * 4, [&](std::int64_t begin, std::int64_t end) {
    std::memset(static_cast<char*>(data) + begin, 0, static_cast<std::size_t>(end - begin));
  });
}
/// Is it whole memory, of heads before rows or of rows before heads?
bool isWhole(const ArrayView& x) {
  const Dims &n = x.shape, &s = x.strides;
  return x.contiguous() || (s[3] == 1 && s[1] == n[3] && s[2] == n[1] * n[3] && s[0] == n[2] * s[2]);
}

/// A [B, H, rows, width] operand with dense rows, of half types as float32 unless they stay as they are: itself, or a
/// copy that lives as long as this.
class DenseRows {
 public:
  explicit DenseRows(const ArrayView& x, bool stays = false)
      : copy_(rowsDense(x, stays) ? empty(x) : x), wide_(isHalf(x.dtype) && !stays ? x.numel() : 0),
        view_(rowsDense(x, stays) ? x : copy_.view()) {
    if (!isHalf(x.dtype) || stays) return;
    widenAll(view_, wide_.data());
    view_.data = wide_.data();
  }
  template <class T>
  Heads<const T> heads() const {
    return {view_.as<const T>(), {view_.strides[0], view_.strides[1], view_.strides[2], view_.strides[3]}};
  }

 private:
  static bool rowsDense(const ArrayView& x, bool stays) {
    return isHalf(x.dtype) && !stays ? isWhole(x) : x.strides[3] == 1 || x.shape[3] == 1;
  }
  static ArrayView empty(const ArrayView& x) { return {x.data, x.dtype, {0}, {1}}; }
  Contiguous copy_;
  Scratch<float> wide_;
  ArrayView view_;
};

struct Operands {
  const ArrayView *query, *key, *value;
  std::span<const ArrayView> extras;
  double scale, dropout;
  bool causal, masked;
  std::int64_t resultStrides[3][4];  // as [B, H, rows, width]
};

template <class T, class E = T>
AttentionProblem<T, E> problemOf(const Operands& o, const DenseRows& query, const DenseRows& key,
                                 const DenseRows& value) {
  AttentionProblem<T, E> p{};
  const Dims& q = o.query->shape;
  p.batch = q[0], p.heads = q[1], p.rows = q[2], p.width = q[3];
  p.sharedHeads = o.key->shape[1], p.keys = o.key->shape[2], p.valueWidth = o.value->shape[3];
  p.query = query.heads<E>(), p.key = key.heads<E>(), p.value = value.heads<E>();
  p.resultStrides = o.resultStrides;
  p.scale = o.scale;
  p.causal = o.causal;
  std::size_t next = 0;
  p.maskKind = MaskKind::None;
  if (o.masked) {
    const ArrayView& m = o.extras[next++];
    p.maskKind = m.dtype == DType::Bool ? MaskKind::Bool : MaskKind::Added;
    p.mask = m.data;
    std::copy_n(m.strides.begin(), 4, p.maskStrides);
  }
  p.drops = next < o.extras.size();
  if (p.drops) p.drop = dropoutOf(o.dropout, *o.extras[next].as<std::int64_t>());
  p.keeps = keepsElement;
  return p;
}

Operands operandsOf(const LibraryCall& call, std::size_t first, std::size_t between) {
  AttrReader attrs(call.attrs);
  bool causal = attrs.boolean();
  bool masked = attrs.boolean();
  attrs.boolean(false), attrs.boolean(false);  // half, bfloat
  Operands o{&call.inputs[first],
             &call.inputs[first + 1],
             &call.inputs[first + 2],
             call.inputs.subspan(first + 3 + between),
             std::bit_cast<double>(call.scalars[0]),
             std::bit_cast<double>(call.scalars[1]),
             causal,
             masked,
             {}};
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    std::int64_t (&strides)[4] = o.resultStrides[i];
    std::copy_n(call.outputs[i].strides.begin(), 4, strides);
    if (attrs.boolean(false)) std::swap(strides[1], strides[2]);
  }
  return o;
}

}  // namespace

void attention(const LibraryCall& call) {
  const ArrayView& out = call.outputs[0];
  if (call.outputs[1].numel() == 0) return;
  Operands o = operandsOf(call, 0, 0);
  const Dims &q = o.query->shape, &k = o.key->shape;
  const bool groups = out.dtype == DType::BFloat16 && o.query->dtype == DType::BFloat16 && q[2] >= kLeastSide &&
                      k[2] >= kLeastSide && wholeGroups(q[3]) <= 2 * q[3];
  DenseRows query(*o.query, groups);
  DenseRows key(*o.key, groups);
  DenseRows value(*o.value, groups);
  const auto compute = [&](auto type, auto element) {
    using T = decltype(type);
    using E = decltype(element);
    const Narrowed<T> result(out);
    auto p = problemOf<T, E>(o, query, key, value);
    p.results[0] = result.data();
    static const auto run = hasAvx512() ? avx512::attentionForward(E{}) : avx2::attentionForward(E{});
    constexpr std::int64_t chunk = kForwardChunk<E>;
    std::int64_t chunks = ceilDiv(p.rows, chunk);
    auto tile = [&](std::int64_t t) {
      std::int64_t head = t / chunks;
      // The longest chunks of a causal one first.
      std::int64_t row = (chunks - 1 - t % chunks) * chunk;
      Scratch<T> scratch(forwardScratchSize(p));
      run(p, head / p.heads, head % p.heads, row, std::min(row + chunk, p.rows),
          call.outputs[1].as<T>() + head * p.rows * 2, scratch.data());
    };
    std::int64_t tiles = p.batch * p.heads * chunks;
    std::int64_t work = std::min(p.rows, chunk) * p.keys * (p.width + p.valueWidth);
    std::int64_t grain = std::max<std::int64_t>(1, (std::int64_t{1} << 20) / (work + 1));
    parallelFor(tiles, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t t = begin; t < end; ++t) tile(t);
    });
    result.store();
  };
  if (groups) return compute(float{}, BFloat16{});
  computeType(out.dtype) == DType::Float64 ? compute(double{}, double{}) : compute(float{}, float{});
}

/// Inputs (grad, query, key, value, output, stats, extras...).
void attention_grad(const LibraryCall& call) {
  Operands o = operandsOf(call, 1, 2);
  DenseRows grad(call.inputs[0]);
  DenseRows query(*o.query);
  DenseRows key(*o.key);
  DenseRows value(*o.value);
  DenseRows output(call.inputs[4]);
  Contiguous stats(call.inputs[5]);
  withFloating(computeType(call.outputs[0].dtype), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const Narrowed<T> queryResult(call.outputs[0]), keyResult(call.outputs[1]), valueResult(call.outputs[2]);
    auto p = problemOf<T>(o, query, key, value);
    p.grad = grad.heads<T>(), p.output = output.heads<T>(), p.stats = stats.as<T>();
    p.results[0] = queryResult.data(), p.results[1] = keyResult.data();
    p.results[2] = valueResult.data();
    static const auto run = hasAvx512() ? avx512::attentionBackward(T{}) : avx2::attentionBackward(T{});
    std::int64_t size = p.batch * p.heads * p.rows * p.width;
    std::int64_t shared = p.batch * p.sharedHeads;
    std::int64_t chunks = std::clamp<std::int64_t>(p.keys / kChunkKeys, 1, (kBackwardChunks + shared - 1) / shared);
    std::int64_t length = ((p.keys + chunks - 1) / chunks + kBackwardKeys - 1) / kBackwardKeys * kBackwardKeys;
    Scratch<T> partial((chunks - 1) * size);
    zero(p.results[0], size * sizeof(T));
    zero(partial.data(), (chunks - 1) * size * sizeof(T));
    if (p.rows == 0 || p.visible(p.rows) < p.keys) {  // keys that no row sees
      zero(p.results[1], shared * p.keys * p.width * sizeof(T));
      zero(p.results[2], shared * p.keys * p.valueWidth * sizeof(T));
    }
    parallelTiles(shared * chunks, [&](std::int64_t t) {
      std::int64_t head = t / chunks;
      std::int64_t chunk = t % chunks;
      T* to = chunk == 0 ? p.results[0] : partial.data() + (chunk - 1) * size;
      std::int64_t first = std::min(chunk * length, p.keys);
      Scratch<T> scratch(backwardScratchSize(p));
      run(p, head / p.sharedHeads, head % p.sharedHeads, first, std::min(first + length, p.keys), to, scratch.data());
    });
    parallelFor(size, kSerialElements, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t c = 0; c + 1 < chunks; ++c)
        for (std::int64_t i = begin; i < end; ++i) p.results[0][i] += partial[c * size + i];
    });
    for (const Narrowed<T>* r : {&queryResult, &keyResult, &valueResult}) r->store();
  });
}

void attention_keep(const LibraryCall& call) {
  Dropout d = dropoutOf(std::bit_cast<double>(call.scalars[0]), *call.inputs[0].as<std::int64_t>());
  bool* out = call.outputs[0].as<bool>();
  parallelFor(call.outputs[0].numel(), kSerialElements, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) out[i] = keepsElement(d, i);
  });
}

}  // namespace tandem::lib
