// From an operation on tensors to a kernel launch. The signature of a call is packed into a few words; a small cache
// from those to the kernel makes the common case a hash and a compare, and only a miss builds the KernelSignature.
#include "eager/kernels.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "eager/call_cache.h"
#include "runtime/base/inline_array.h"
#include "runtime/base/long_work.h"
#include "runtime/kernel/collapse.h"
#include "runtime/kernel/kernel_cache.h"
#include "runtime/kernel/launch.h"
#include "runtime/lib/library.h"
#include "runtime/lib/strided.h"

namespace tandem {
namespace {

using Args = SmallVector<std::int64_t, 64>;

}  // namespace

thread_local constinit CallEntry* callCache = nullptr;
[[gnu::cold]] CallEntry* makeCallCache() {
  thread_local std::unique_ptr<CallEntry[]> owner;
  owner = std::make_unique<CallEntry[]>(kCallEntries);
  return callCache = owner.get();
}

/// A contiguous copy of the window of `t` broadcast to `shape`, for operands that too many dims keep from collapsing.
Tensor spread(const Tensor& t, DimsRef shape) {
  Tensor out = makeEmpty(shape, t.dtype());
  ArrayView from{pointerOf(t), t.dtype(), Dims(shape), broadcastStrides(t.shape(), t.strides(), shape)};
  ArrayView to{pointerOf(out), t.dtype(), Dims(shape), out.strides()};
  copyArray(from, to);
  return out;
}

namespace {

std::uint8_t scalarByte(const Scalar& s) { return static_cast<std::uint8_t>(0x80 + static_cast<int>(s.kind)); }

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

/// Rows too short for blocks of a transposition: operands that lie across are copied to the order of the outs first.
/// False, having done nothing, where there are none, or the rows are long.
bool runShortRows(const OpFacts& op, Operands operands, Attrs attrs, std::span<const Tensor> outs, DimsRef shape,
                  std::span<const Dims> strides) {
  constexpr std::int64_t kShort = 64;
  constexpr std::int64_t kLeast = 4096;       // elements: fewer stay in the first cache,
  constexpr std::int64_t kMost = 256 * 1024;  // and the copy of so many in the second
  const std::int64_t n = outs[0].numel();
  if (shape.back() >= kShort || n < kLeast || n > kMost || !outs[0].isContiguous()) return false;
  std::vector<Tensor> kept;
  std::vector<Operand> own(operands.begin(), operands.end());
  kept.reserve(own.size());
  std::size_t tensor = 0;
  for (auto& o : own) {
    if (!o.isTensor()) continue;
    const bool across = transposes(strides[tensor++]) && o.tensor().numel() == n;
    if (!across) continue;
    kept.push_back(spread(o.tensor(), outs[0].shape()));
    o = Operand(kept.back());
  }
  if (kept.empty()) return false;
  runPointwise(op, own, attrs, outs);
  return true;
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
  if (op.kind == OpKind::Pointwise && !op.usesIndex && runShortRows(op, operands, attrs, outs, shape, strides)) return;
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
