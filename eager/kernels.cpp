// From an operation on tensors to a kernel launch. The signature of a call is packed into a few words; a small cache
// from those to the kernel makes the common case a hash and a compare, and only a miss builds the KernelSignature.
#include "eager/kernels.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>

#include "ir/schema/reduction_plan.h"
#include "runtime/base/inline_array.h"
#include "runtime/base/long_work.h"
#include "runtime/kernel/collapse.h"
#include "runtime/kernel/kernel_cache.h"
#include "runtime/kernel/launch.h"
#include "runtime/kernel/reduce_split.h"
#include "runtime/lib/library.h"
#include "runtime/lib/strided.h"

namespace tandem {
namespace {

using Args = SmallVector<std::int64_t, 64>;

// ---- the packed key of a pointwise call ---------------------------------------------------------------------------

/// Operation, outer rank, then a byte an operand (tensor: dtype and access; number: its category) and a byte an out.
struct CallKey {
  static constexpr std::size_t kMost = 20;  // operands and outs; the first 3 and the last byte are for other facts
  std::array<std::uint64_t, 3> words{};

  void set(std::size_t i, std::uint8_t byte) { words[i / 8] |= std::uint64_t{byte} << (8 * (i % 8)); }
  friend bool operator==(const CallKey& a, const CallKey& b) {
    return a.words[0] == b.words[0] && a.words[1] == b.words[1] && a.words[2] == b.words[2];
  }
  [[nodiscard]] std::size_t hash() const {
    std::uint64_t h = words[0] * 0x9e3779b97f4a7c15ULL ^ words[1] * 0xc2b2ae3d27d4eb4fULL ^ words[2];
    return h ^ h >> 29;
  }
};
struct CallEntry {
  CallKey key;
  KernelFn fn = nullptr;
};
constexpr std::size_t kCallEntries = 1024;
// On the heap: the loader has little room for the thread-local memory of libraries it opens late.
thread_local CallEntry* callCache = nullptr;
[[gnu::cold]] CallEntry* makeCallCache() {
  thread_local std::unique_ptr<CallEntry[]> owner;
  owner = std::make_unique<CallEntry[]>(kCallEntries);
  return callCache = owner.get();
}

CallEntry& callEntry(const CallKey& key) {
  CallEntry* entries = callCache != nullptr ? callCache : makeCallCache();
  return entries[key.hash() % kCallEntries];
}

std::uint8_t operandByte(DType t, Access a) {
  return static_cast<std::uint8_t>(1 + static_cast<int>(t) * 4 + static_cast<int>(a));
}
std::uint8_t scalarByte(const Scalar& s) { return static_cast<std::uint8_t>(0x80 + static_cast<int>(s.kind)); }

char* pointerOf(const Tensor& t) {
  return static_cast<char*>(t.impl()->storage->data()) +
         t.impl()->offset * static_cast<std::int64_t>(itemSize(t.dtype()));
}
std::int64_t address(const Tensor& t) { return reinterpret_cast<std::int64_t>(pointerOf(t)); }

DType scalarDType(const Scalar& s) { return s.isFloat() ? DType::Float64 : DType::Int64; }

// ---- signatures ----------------------------------------------------------------------------------------------------

/// Adds the steps of one operation to a signature whose inputs and scalars are there: conversions of operands, the
/// index, the operation, conversions to the outs' dtypes. `values` are the operands' value numbers.
void addSteps(KernelSignature& s, const OpFacts& op, PointwiseTypes types, std::span<const TensorMeta> metas,
              std::span<const std::uint16_t> values, std::span<const Tensor> outs, Access outAccess) {
  auto next = [&] { return static_cast<std::uint16_t>(s.inputs.size() + s.scalars.size() + s.steps.size()); };
  auto convert = [&](std::uint16_t v, DType from, DType to) {
    if (from == to) return v;
    s.steps.push_back({OpCode::to, to, KernelStep::Kind::Pointwise, {v}, 0});
    return static_cast<std::uint16_t>(next() - 1);
  };
  SmallVector<std::uint16_t, 4> operands;
  for (std::size_t i = 0; i < values.size(); ++i) {
    // Numbers reach kernels as int64 or float64.
    DType own = metas[i].weak && metas[i].dtype != DType::Float64 ? DType::Int64 : metas[i].dtype;
    DType wanted = operandType(op, types, i, metas[i]);
    if (op.dtypeRule == DTypeRule::Raw && metas[i].weak) wanted = own;
    operands.push_back(convert(values[i], own, wanted));
  }
  if (op.usesIndex) {
    s.steps.push_back({op.code, DType::Int64, KernelStep::Kind::Index, {}, 0});
    operands.push_back(static_cast<std::uint16_t>(next() - 1));
  }
  SmallVector<std::uint16_t, 4> results;
  for (std::uint8_t r = 0; r < outs.size(); ++r) {
    s.steps.push_back({op.code, types.result, KernelStep::Kind::Pointwise, operands, r});
    results.push_back(static_cast<std::uint16_t>(next() - 1));
  }
  for (std::size_t r = 0; r < outs.size(); ++r) {
    std::uint16_t v = convert(results[r], types.result, outs[r].dtype());
    s.outputs.push_back({{outs[r].dtype(), outAccess}, v});
  }
}

KernelFn buildPointwise(const OpFacts& op, std::span<const Operand> operands, std::span<const std::int64_t> attrs,
                        std::span<const Tensor> outs, std::span<const Access> access, Access outAccess, int outerRank) {
  KernelSignature s;
  s.outerRank = static_cast<std::uint8_t>(outerRank);
  std::vector<TensorMeta> metas;
  std::vector<std::uint16_t> values;
  std::uint16_t tensors = 0;
  for (const auto& o : operands) tensors += o.isTensor() ? 1 : 0;
  std::uint16_t scalars = 0;
  for (const auto& o : operands) {
    metas.push_back(metaOf(o));
    if (o.isTensor()) {
      values.push_back(static_cast<std::uint16_t>(s.inputs.size()));
      s.inputs.push_back({o.tensor().dtype(), access[s.inputs.size()]});
    } else {
      values.push_back(static_cast<std::uint16_t>(tensors + scalars++));
      s.scalars.push_back(scalarDType(o.scalar()));
    }
  }
  addSteps(s, op, pointwiseTypes(op, metas, attrs), metas, values, outs, outAccess);
  return lookupKernel(s);
}

/// A contiguous copy of the window of `t` broadcast to `shape`, for operands that too many dims keep from collapsing.
Tensor spread(const Tensor& t, DimsRef shape) {
  Tensor out = makeEmpty(shape, t.dtype());
  ArrayView from{pointerOf(t), t.dtype(), Dims(shape), broadcastStrides(t.shape(), t.strides(), shape)};
  ArrayView to{pointerOf(out), t.dtype(), Dims(shape), out.strides()};
  copyArray(from, to);
  return out;
}

using Operands = std::span<const Operand>;
using Attrs = std::span<const std::int64_t>;

/// Where a call's key is put together, byte by byte.
class KeyWriter {
 public:
  explicit KeyWriter(const OpFacts& op) : op_(op) {}
  void add(const Tensor& t, Access a) { add(operandByte(t.dtype(), a)); }
  void add(const Scalar& s) { add(scalarByte(s)); }
  /// With what else decides kernel and dtypes: the operation, outer dims, an attribute, the default dtype.
  CallKey finish(Attrs attrs, int outerRank) {
    const bool given =
        op_.dtypeRule == DTypeRule::Explicit || op_.kind == OpKind::Random || op_.kind == OpKind::Creation;
    key_.words[0] |= static_cast<std::uint64_t>(op_.code) | static_cast<std::uint64_t>(outerRank) << 16 |
                     static_cast<std::uint64_t>(given ? attrs.back() : 0) << 20;
    key_.words[2] |= static_cast<std::uint64_t>(schemaDefaultDType()) << 56;
    return key_;
  }

 private:
  void add(std::uint8_t byte) {
    TANDEM_CHECK(at_ < CallKey::kMost + 3, op_.name);
    key_.set(at_++, byte);
  }

  const OpFacts& op_;
  CallKey key_;
  std::size_t at_ = 3;
};

/// The kernel that the thread remembers for a key, or what `build` gives.
template <class Build>
KernelFn kernelFor(const CallKey& key, Build build) {
  CallEntry& entry = callEntry(key);
  if (entry.fn == nullptr || !(entry.key == key)) {
    KernelFn fn = build();
    entry = {key, fn};
  }
  return entry.fn;
}

/// Everything contiguous and of one shape, or of one element: one inner dim. False, having done nothing, where it is
/// not so.
bool runFlat(const OpFacts& op, Operands operands, Attrs attrs, std::span<const Tensor> outs) {
  const std::int64_t n = outs[0].numel();
  auto accessTo = [n](const Tensor& t) { return t.numel() == 1 && n != 1 ? Access::Zero : Access::Unit; };
  KeyWriter key(op);
  std::array<std::int64_t, 1 + 2 * CallKey::kMost> args;
  std::int64_t* arg = args.data();
  *arg++ = n;
  for (const auto& o : operands) {
    if (!o.isTensor()) {
      key.add(o.scalar());
      continue;
    }
    const Tensor& t = o.tensor();
    if (!t.isContiguous() || (t.numel() != 1 && !(t.shape() == outs[0].shape()))) return false;
    key.add(t, accessTo(t));
    *arg++ = address(t);
    *arg++ = 0;
  }
  for (const auto& t : outs) {
    if (!t.isContiguous()) return false;
    key.add(t, Access::Unit);
    *arg++ = address(t);
    *arg++ = 1;
  }
  for (const auto& o : operands)
    if (!o.isTensor()) *arg++ = o.scalar().bits();
  KernelFn fn = kernelFor(key.finish(attrs, 0), [&] {
    SmallVector<Access, CallKey::kMost> access;
    for (const auto& o : operands)
      if (o.isTensor()) access.push_back(accessTo(o.tensor()));
    return buildPointwise(op, operands, attrs, outs, access, Access::Unit, 0);
  });
  LongWork away(n);
  launchKernel(fn, args.data(), n, 1);
  return true;
}

/// Of more dims than kernels have, which is rare: copies make everything one dim; a result that is not contiguous is
/// made beside it and copied.
void runSpread(const OpFacts& op, Operands operands, Attrs attrs, std::span<const Tensor> outs) {
  std::vector<Tensor> kept;
  std::vector<Operand> dense;
  kept.reserve(operands.size());
  for (const auto& o : operands) {
    if (o.isTensor() && o.tensor().numel() != 1) {
      kept.push_back(spread(o.tensor(), outs[0].shape()));
      dense.emplace_back(kept.back());
    } else {
      dense.push_back(o);
    }
  }
  std::vector<Tensor> fresh;
  for (const auto& t : outs) fresh.push_back(makeEmpty(t.shape(), t.dtype()));
  runPointwise(op, dense, attrs, fresh);
  for (std::size_t i = 0; i < outs.size(); ++i)
    copyArray({pointerOf(fresh[i]), fresh[i].dtype(), fresh[i].shape(), fresh[i].strides()},
              {pointerOf(outs[i]), outs[i].dtype(), outs[i].shape(), outs[i].strides()});
}

/// The dims in the order in which `order` lies in memory, far steps first, so that what is written is written in order.
void sortDims(Dims& shape, std::span<Dims> strides, const Dims& order) {
  if (std::is_sorted(order.begin(), order.end(), std::greater<>())) return;
  SmallVector<std::uint32_t, 6> from;
  for (std::uint32_t d = 0; d < shape.size(); ++d) from.push_back(d);
  std::stable_sort(from.begin(), from.end(), [&](std::uint32_t a, std::uint32_t b) { return order[a] > order[b]; });
  auto sorted = [&](const Dims& dims) {
    Dims s = dims;
    for (std::size_t d = 0; d < from.size(); ++d) s[d] = dims[from[d]];
    return s;
  };
  shape = sorted(shape);
  for (Dims& s : strides) s = sorted(s);
}

/// Broadcast or strided operands: as few dims as all of them allow.
void runStrided(const OpFacts& op, Operands operands, Attrs attrs, std::span<const Tensor> outs) {
  TANDEM_CHECK(operands.size() + outs.size() <= CallKey::kMost, op.name);
  SmallVector<const Tensor*, CallKey::kMost> arrays;
  for (const auto& o : operands)
    if (o.isTensor()) arrays.push_back(&o.tensor());
  const std::size_t numIn = arrays.size();
  for (const auto& t : outs) arrays.push_back(&t);
  Dims shape = outs[0].shape();
  InlineArray<Dims, CallKey::kMost> walked(arrays.size(), [&](std::size_t k) {
    return k < numIn ? broadcastStrides(arrays[k]->shape(), arrays[k]->strides(), shape) : arrays[k]->strides();
  });
  std::span<Dims> strides = walked;
  if (op.kind == OpKind::Pointwise && !op.usesIndex) sortDims(shape, strides, Dims(strides[numIn]));
  collapsePointwise(shape, strides);
  if (op.code == OpCode::clone && numIn == 1 && arrays[0]->dtype() == arrays[1]->dtype() && transposes(strides[0])) {
    const DType dtype = arrays[0]->dtype();
    LongWork away(outs[0].numel());
    return copyArray({pointerOf(*arrays[0]), dtype, shape, strides[0]},
                     {pointerOf(*arrays[1]), dtype, shape, strides[1]});
  }
  if (!op.usesIndex) bringDenseNext(shape, strides);
  if (shape.size() > kMaxOuterRank + 1) return runSpread(op, operands, attrs, outs);

  const int outerRank = static_cast<int>(shape.size()) - 1;
  const std::int64_t inner = shape.back();
  Args args;
  SmallVector<KernelOperand, CallKey::kMost> places;
  args.append(shape.begin(), shape.end());
  for (std::size_t k = 0; k < arrays.size(); ++k) {
    places.push_back({arrays[k]->dtype(), accessOf(strides[k].back(), inner)});
    args.push_back(address(*arrays[k]));
    args.push_back(strides[k].back());
    for (int d = 0; d < outerRank; ++d) args.push_back(strides[k][d]);
  }
  const Access outAccess = places[numIn].access;
  const ArgLayout layout(KernelKind::Row, outerRank, places.size(), operands.size() - numIn);
  const bool across = !op.usesIndex && (takeAcross({places.data(), numIn}, args.data(), layout, false) ||
                                        readsAcross(args.data(), layout, places));
  KeyWriter key(op);
  std::size_t tensor = 0;
  for (const auto& o : operands) {
    if (o.isTensor()) {
      key.add(o.tensor(), places[tensor++].access);
    } else {
      key.add(o.scalar());
      args.push_back(o.scalar().bits());
    }
  }
  for (std::size_t k = numIn; k < arrays.size(); ++k) {
    TANDEM_CHECK(places[k].access == outAccess, op.name, " writes results of different layouts");
    key.add(*arrays[k], outAccess);
  }
  KernelFn fn = kernelFor(key.finish(attrs, outerRank), [&] {
    SmallVector<Access, CallKey::kMost> access;
    for (std::size_t k = 0; k < numIn; ++k) access.push_back(places[k].access);
    return buildPointwise(op, operands, attrs, outs, access, outAccess, outerRank);
  });
  LongWork away(outs[0].numel());
  if (outerRank == 0) return launchKernel(fn, args.data(), inner, 1);
  if (across) return launchAcross(fn, args.data(), layout, places, false);
  launchKernel(fn, args.data(), outs[0].numel() / inner, inner);
}

}  // namespace

void runPointwise(const OpFacts& op, Operands operands, Attrs attrs, std::span<const Tensor> outs) {
  if (outs[0].numel() == 0 || runFlat(op, operands, attrs, outs)) return;
  runStrided(op, operands, attrs, outs);
}

// ---- reductions ----------------------------------------------------------------------------------------------------

namespace {

/// Fills `out` with a number.
void fill(const Tensor& out, Scalar value) {
  const Operand operands[] = {Operand(value)};
  AttrWriter attrs;
  attrs.list(out.shape());
  attrs.dtype(out.dtype());
  runPointwise(facts(OpCode::full_value), operands, attrs.span(), {&out, 1});
}

/// One reduction step over one input, its conversions to the accumulator and to the out made by the kernel.
KernelSignature reduceSignature(OpCode op, KernelKind kind, int outerRank, KernelOperand in, DType accumulator,
                                KernelOperand out) {
  KernelSignature s;
  s.kind = kind;
  s.outerRank = static_cast<std::uint8_t>(outerRank);
  s.inputs.push_back(in);
  s.steps.push_back({op, accumulator, KernelStep::Kind::Reduce, {0}, 0});
  s.outputs.push_back({out, 1});
  return s;
}

/// Few and long columns: the blocks of rows are reduced by themselves, then their results as columns of their own.
/// `args` are those of the Column kernel `s` over everything, whose bits these are.
void runColumnBlocks(const KernelSignature& s, const Args& args, std::int64_t outer) {
  const ArgLayout whole(s);
  const int rank = s.outerRank;
  const DType accumulator = s.steps[0].dtype;
  const std::int64_t n = args[whole.innerSize()];
  const std::int64_t rows = args[whole.reducedSize()];
  const std::int64_t blocks = (rows + kLeadingBlock - 1) / kLeadingBlock;
  Tensor partial = makeEmpty(Dims{outer, blocks, n}, accumulator);
  auto launch = [&](const KernelSignature& kernel, const Args& block, std::int64_t units, std::int64_t reduced) {
    launchKernel(lookupKernel(kernel), block.data(), units, reduced, KernelKind::Column);
  };

  // [outer..., block, row of the block, column]; the last block is shorter where rows are left.
  KernelSignature part = s;
  part.outerRank = static_cast<std::uint8_t>(rank + 1);
  part.outputs[0].operand = {accumulator, accessOf(1, n)};
  const ArgLayout layout(part);
  Args first(layout.size());
  std::int64_t step = blocks * n;
  for (int d = rank; d-- > 0;) {
    first[layout.outerSize(d)] = args[whole.outerSize(d)];
    first[layout.outerStride(0, d)] = args[whole.outerStride(0, d)];
    first[layout.outerStride(1, d)] = step;
    step *= args[whole.outerSize(d)];
  }
  first[layout.innerSize()] = n;
  first[layout.pointer(0)] = args[whole.pointer(0)];
  first[layout.innerStride(0)] = args[whole.innerStride(0)];
  first[layout.reducedStride(0)] = args[whole.reducedStride(0)];
  first[layout.outerStride(0, rank)] = kLeadingBlock * args[whole.reducedStride(0)];
  first[layout.innerStride(1)] = 1;
  first[layout.outerStride(1, rank)] = n;
  const std::int64_t full = rows / kLeadingBlock;
  auto reduceBlocks = [&](std::int64_t from, std::int64_t count, std::int64_t reduced) {
    Args block = first;
    block[layout.outerSize(rank)] = count;
    block[layout.reducedSize()] = reduced;
    block[layout.pointer(0)] +=
        from * first[layout.outerStride(0, rank)] * static_cast<std::int64_t>(itemSize(s.inputs[0].dtype));
    block[layout.pointer(1)] = address(partial) + from * n * static_cast<std::int64_t>(itemSize(accumulator));
    launch(part, block, outer * count * n, reduced);
  };
  reduceBlocks(0, full, kLeadingBlock);
  if (full < blocks) reduceBlocks(full, 1, rows - full * kLeadingBlock);

  KernelSignature finish = s;
  finish.inputs[0] = {accumulator, accessOf(1, n)};
  Args last = args;
  step = blocks * n;
  for (int d = rank; d-- > 0;) {
    last[whole.outerStride(0, d)] = step;
    step *= args[whole.outerSize(d)];
  }
  last[whole.pointer(0)] = address(partial);
  last[whole.innerStride(0)] = 1;
  last[whole.reducedStride(0)] = n;
  last[whole.reducedSize()] = blocks;
  launch(finish, last, outer * n, blocks);
}

/// What a reduction of one stage walks: {outer..., reduced} of a trailing one, {outer..., reduced, inner} of a leading
/// one, with the strides of operand and out, which has the operand's shape with the reduced dims 1, contiguous.
struct ReductionWalk {
  Dims shape;
  std::array<Dims, 2> strides;
};

ReductionWalk walkContiguous(DimsRef shape, const ReductionStage& stage) {
  const std::int64_t outer = numelOf(shape.first(stage.begin));
  const std::int64_t reduced = numelOf(shape.subspan(stage.begin, stage.end - stage.begin));
  if (stage.trailing) return {{outer, reduced}, {Dims{reduced, 1}, Dims{1, 0}}};
  const std::int64_t inner = numelOf(shape.subspan(stage.end));
  if (outer == 1) return {{reduced, inner}, {Dims{inner, 1}, Dims{0, 1}}};
  return {{outer, reduced, inner}, {Dims{reduced * inner, inner, 1}, Dims{inner, 0, 1}}};
}

/// Nothing where the operand's dims do not merge into as many as kernels walk.
std::optional<ReductionWalk> walkStrided(const Tensor& in, const ReductionStage& stage) {
  ReductionWalk w{in.shape(), {in.strides(), {}}};
  Dims kept = in.shape();
  for (std::size_t d = stage.begin; d < stage.end; ++d) kept[d] = 1;
  w.strides[1] = contiguousStrides(kept);
  for (std::size_t d = stage.begin; d < stage.end; ++d) w.strides[1][d] = 0;
  const bool merges = stage.trailing ? collapseRow(w.shape, w.strides, stage.begin)
                                     : collapseColumn(w.shape, w.strides, stage.begin, stage.end);
  if (!merges || w.shape.size() > kMaxOuterRank + (stage.trailing ? 1 : 2)) return {};
  return w;
}

/// The argument block of a one-input reduction: outer sizes, n, (reduced size), then both operands.
void runStage(const OpFacts& op, const Tensor& in, const ReductionStage& stage, DType accumulator, const Tensor& out) {
  Tensor source = in;
  std::optional<ReductionWalk> strided;
  if (!in.isContiguous() && !(strided = walkStrided(in, stage))) source = spread(in, in.shape());
  auto [shape, strides] = strided ? *strided : walkContiguous(in.shape(), stage);
  if (stage.trailing) bringDenseNext(shape, strides);
  std::size_t rank = shape.size();
  std::int64_t n = shape[rank - 1];
  int outerRank = static_cast<int>(rank) - (stage.trailing ? 1 : 2);
  KernelOperand from{source.dtype(), accessOf(strides[0][rank - 1], n)};
  // any and all of bytes give bytes, of 0 and 1 as bool has them.
  DType stored = accumulator == DType::Bool ? DType::Bool : out.dtype();
  KernelOperand to{stored, stage.trailing ? Access::Zero : accessOf(strides[1][rank - 1], n)};
  KernelKind kind = stage.trailing ? KernelKind::Row : KernelKind::Column;
  auto signature = [&] { return reduceSignature(op.code, kind, outerRank, from, accumulator, to); };
  auto kernel = [&] {
    CallKey key;
    key.words[0] = static_cast<std::uint64_t>(op.code) | static_cast<std::uint64_t>(outerRank) << 16;
    key.set(3, static_cast<std::uint8_t>(kind));
    key.set(4, static_cast<std::uint8_t>(accumulator));
    key.set(5, operandByte(from.dtype, from.access));
    key.set(6, operandByte(to.dtype, to.access));
    return kernelFor(key, [&] { return lookupKernel(signature()); });
  };
  ArgLayout layout(kind, outerRank, 2, 0);
  Args args(layout.size());
  std::int64_t outer = 1;
  for (int d = 0; d < outerRank; ++d) {
    args[layout.outerSize(d)] = shape[d];
    outer *= shape[d];
    for (std::size_t k = 0; k < 2; ++k) args[layout.outerStride(k, d)] = strides[k][d];
  }
  args[layout.innerSize()] = n;
  args[layout.pointer(0)] = address(source);
  args[layout.pointer(1)] = address(out);
  for (std::size_t k = 0; k < 2; ++k) args[layout.innerStride(k)] = strides[k][rank - 1];
  LongWork away(outer * n * (stage.trailing ? 1 : shape[rank - 2]));
  if (!stage.trailing) {
    args[layout.reducedSize()] = shape[rank - 2];
    args[layout.reducedStride(0)] = strides[0][rank - 2];
  }
  if (takeAcross({&from, 1}, args.data(), layout, true)) {
    const KernelOperand operands[] = {from, to};
    return launchAcross(kernel(), args.data(), layout, operands, true);
  }
  if (!stage.trailing) {
    const std::int64_t rows = shape[rank - 2];
    if (splitsColumns(outer * n, rows) && outerRank < static_cast<int>(kMaxOuterRank))
      return runColumnBlocks(signature(), args, outer);
    return launchKernel(kernel(), args.data(), outer * n, rows, kind);
  }
  if (!splitsRows(outer, n)) return launchKernel(kernel(), args.data(), outer, n);
  KernelSignature s = signature();
  if (!shouldSplitRows(s, outer, n)) return launchKernel(kernel(), args.data(), outer, n);

  SplitRows split = splitRows(s);
  std::int64_t blocks = rowBlocks(n);
  Tensor partial = makeEmpty(Dims{outer, blocks}, accumulator);
  std::int64_t step = blocks;
  for (int d = outerRank; d-- > 0;) {
    args[layout.outerStride(1, d)] = step;
    step *= shape[d];
  }
  args[layout.pointer(1)] = address(partial);
  launchKernel(lookupKernel(split.partial), args.data(), outer * blocks, std::min(n, kTrailingBlock));
  ArgLayout finish(split.finish);
  Args last(finish.size());
  last[finish.outerSize(0)] = outer;
  last[finish.innerSize()] = blocks;
  last[finish.pointer(0)] = address(partial);
  last[finish.innerStride(0)] = 1;
  last[finish.outerStride(0, 0)] = blocks;
  last[finish.pointer(1)] = address(out);
  last[finish.outerStride(1, 0)] = 1;
  launchKernel(lookupKernel(split.finish), last.data(), outer, blocks);
}

}  // namespace

void runReduction(const OpFacts& op, const Tensor& input, std::span<const std::int64_t> attrs, const Tensor& out) {
  if (out.numel() == 0) return;
  if (input.numel() == 0) return fill(out, Scalar(reductionIdentity(op.name)));
  auto stages = reductionStages(input.shape(), AttrReader(attrs).list());
  Tensor source = input;
  if (op.dtypeRule == DTypeRule::Logical && input.dtype() != DType::Bool) {
    source = makeEmpty(input.shape(), DType::Bool);
    const Operand operands[] = {input};
    AttrWriter to;
    to.dtype(DType::Bool);
    runPointwise(facts(OpCode::to), operands, to.span(), {&source, 1});
  }
  DType accumulator = computeType(out.dtype());
  if (op.dtypeRule == DTypeRule::Logical) accumulator = DType::Bool;
  if (stages.empty()) {
    // Dims of size 1 only: the same elements in the out's shape.
    Dims strides;
    TANDEM_CHECK(viewStrides(source.shape(), source.strides(), out.shape(), strides), op.name);
    Tensor window = makeAlias(source, out.shape(), strides, source.impl()->offset);
    const Operand operands[] = {window};
    AttrWriter to;
    to.dtype(out.dtype());
    return runPointwise(facts(OpCode::to), operands, to.span(), {&out, 1});
  }
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (i + 1 == stages.size()) {
      runStage(op, source, stages[i], accumulator, out);
      return;
    }
    Dims shape = source.shape();
    for (std::size_t d = stages[i].begin; d < stages[i].end; ++d) shape[d] = 1;
    Tensor into = makeEmpty(shape, accumulator);
    runStage(op, source, stages[i], accumulator, into);
    source = into;
  }
}

// ---- library -------------------------------------------------------------------------------------------------------

void runLibrary(const OpFacts& op, std::span<const Operand> operands, std::span<const std::int64_t> attrs,
                std::span<const Tensor> outs) {
  static std::vector<LibraryFn> functions(numOps(), nullptr);
  LibraryFn& fn = functions[static_cast<std::size_t>(op.code)];
  if (fn == nullptr) fn = libraryFunction(op.name);
  TANDEM_CHECK(fn != nullptr, op.name, " has no library function");
  SmallVector<std::int64_t, 4> scalars;
  std::array<ArrayView, 8> few;
  std::vector<ArrayView> many;
  std::size_t count = operands.size() + outs.size();
  if (count > few.size()) many.resize(count);
  std::span<ArrayView> views(count > few.size() ? many.data() : few.data(), count);
  std::size_t at = 0;
  auto add = [&](const Tensor& t) {
    ArrayView& v = views[at++];
    if (!t.defined()) return;
    v.data = pointerOf(t);
    v.dtype = t.dtype();
    v.shape = t.shape();
    v.strides = t.strides();
  };
  for (const auto& o : operands) {
    if (o.isTensor())
      add(o.tensor());
    else
      scalars.push_back(o.scalar().bits());
  }
  std::size_t numIn = at;
  for (const auto& t : outs) add(t);
  std::int64_t largest = 0;
  for (const auto& v : views) largest = std::max(largest, numelOf(v.shape));
  LongWork away(largest);
  fn({views.subspan(0, numIn), views.subspan(numIn, outs.size()), attrs, scalars});
}

}  // namespace tandem
