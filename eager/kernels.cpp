// From an operation on tensors to a kernel launch. The signature of a call is packed into a few words; a small cache
// from those to the kernel makes the common case a hash and a compare, and only a miss builds the KernelSignature.
#include "eager/kernels.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "eager/overlap.h"
#include "runtime/base/index_table.h"
#include "runtime/base/inline_array.h"
#include "runtime/base/long_work.h"
#include "runtime/device/launch.h"
#include "runtime/device/thread_pool.h"
#include "runtime/kernel/launch_builder.h"
#include "runtime/lib/library.h"
#include "runtime/lib/strided.h"

namespace tandem {

/// A contiguous copy of the window of `t` broadcast to `shape`, for operands that too many dims keep from collapsing.
Tensor spread(const Tensor& t, DimsRef shape) {
  Tensor out = makeEmpty(shape, t.dtype(), t.device());
  ArrayView from{pointerOf(t), t.dtype(), Dims(shape), broadcastStrides(t.shape(), t.strides(), shape)};
  ArrayView to{pointerOf(out), t.dtype(), Dims(shape), out.strides()};
  copyArray(t.device(), from, to);
  return out;
}

namespace {

// ---- kernels -------------------------------------------------------------------------------------------------------

std::uint8_t scalarByte(const Scalar& s) { return static_cast<std::uint8_t>(0x80 + static_cast<int>(s.kind)); }

/// The kernel of one operation. `access` has the tensor operands'.
const Kernel* buildPointwise(const OpFacts& op, std::span<const Operand> operands, std::span<const std::int64_t> attrs,
                             std::span<const Tensor> outs, std::span<const Access> access, Access outAccess,
                             int outerRank) {
  KernelSignature s;
  s.outerRank = static_cast<std::uint8_t>(outerRank);
  BodyWriter body(s, OpCode::to);
  std::vector<TensorMeta> metas;
  std::vector<BodyValue> values(operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    metas.push_back(metaOf(operands[i]));
    if (operands[i].isTensor()) values[i] = body.input(metas[i].dtype, access[s.inputs.size()]);
  }
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (!operands[i].isTensor()) values[i] = body.scalar(metas[i].dtype);
  const PointwiseTypes types = pointwiseTypes(op, metas, attrs);
  std::vector<DType> to;
  for (std::size_t i = 0; i < operands.size(); ++i) to.push_back(operandType(op, types, i, metas[i]));
  std::vector<BodyValue> results;
  for (const Tensor& t : outs) results.push_back({0, t.dtype(), 0});
  body.pointwise(op.code, types.result, op.usesIndex, values, to, results);
  for (const BodyValue& result : results) body.output(result, result.dtype, outAccess);
  return executor(outs[0].device()).load(s);
}

using Operands = std::span<const Operand>;
using Attrs = std::span<const std::int64_t>;

/// Of a tensor in a call over one inner dim of n elements.
Access flatAccess(const Tensor& t, std::int64_t n) { return t.numel() == 1 && n != 1 ? Access::Zero : Access::Unit; }

/// Where a call's key is put together, byte by byte.
class KeyWriter {
 public:
  explicit KeyWriter(const OpFacts& op) : op_(op) {}
  void add(const Tensor& t, Access a) { add(operandByte(t.dtype(), a)); }
  void add(const Scalar& s) { add(scalarByte(s)); }
  /// With what else decides kernel and dtypes: the operation, outer dims, an attribute, the default dtype, the device.
  CallKey finish(Attrs attrs, int outerRank, Device device) {
    const bool given =
        op_.dtypeRule == DTypeRule::Explicit || op_.kind == OpKind::Random || op_.kind == OpKind::Creation;
    key_.words[0] |= static_cast<std::uint64_t>(op_.code) | static_cast<std::uint64_t>(outerRank) << 16 |
                     static_cast<std::uint64_t>(given ? attrs.back() : 0) << 20;
    key_.words[2] |= static_cast<std::uint64_t>(schemaDefaultDType()) << 56;
    key_.device = device;
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

/// How the elements of a call lie: row-major, or all as the first result.
enum class Lie { Contiguous, Alike };

/// Of a result, or of an operand that has one element or the result's shape.
template <Lie lie>
[[gnu::always_inline]] inline bool lies(const Tensor& t, const Tensor& as) {
  if constexpr (lie == Lie::Contiguous)
    return t.isContiguous();
  else
    return t.numel() == 1 || t.strides() == as.strides();
}

/// Writes what a call has for kernels over one inner dim where everything lies so, or has one element: into `key`, and
/// from `args` on. Returns the arguments' end; null where it is not so.
template <Lie lie = Lie::Contiguous>
[[gnu::always_inline]] inline std::int64_t* writeFlat(KeyWriter& key, Operands operands, std::span<const Tensor> outs,
                                                      std::int64_t* args) {
  const std::int64_t n = outs[0].numel();
  *args++ = n;
  for (const auto& o : operands) {
    if (!o.isTensor()) {
      key.add(o.scalar());
      continue;
    }
    const Tensor& t = o.tensor();
    if (!lies<lie>(t, outs[0]) || (t.numel() != 1 && !(t.shape() == outs[0].shape()))) return nullptr;
    key.add(t, flatAccess(t, n));
    *args++ = address(t);
    *args++ = 0;
  }
  for (const auto& t : outs) {
    if (!lies<lie>(t, outs[0])) return nullptr;
    key.add(t, Access::Unit);
    *args++ = address(t);
    *args++ = 1;
  }
  for (const auto& o : operands)
    if (!o.isTensor()) *args++ = o.scalar().bits();
  return args;
}

/// What a call over one inner dim is run by, where the thread does not remember it.
const Kernel* buildFlat(const OpFacts& op, Operands operands, Attrs attrs, std::span<const Tensor> outs) {
  SmallVector<Access, CallKey::kMost> access;
  for (const auto& o : operands)
    if (o.isTensor()) access.push_back(flatAccess(o.tensor(), outs[0].numel()));
  return buildPointwise(op, operands, attrs, outs, access, Access::Unit, 0);
}

using FlatArgs = std::array<std::int64_t, 1 + 2 * CallKey::kMost>;

/// By a kernel over one inner dim; false, having done nothing, where `writeFlat` finds more.
template <Lie lie = Lie::Contiguous>
bool runFlat(const OpFacts& op, Operands operands, Attrs attrs, std::span<const Tensor> outs) {
  KeyWriter key(op);
  FlatArgs args;
  if (writeFlat<lie>(key, operands, outs, args.data()) == nullptr) return false;
  const Device device = outs[0].device();
  const Kernel& kernel = kernelFor(key.finish(attrs, 0, device), [&] { return buildFlat(op, operands, attrs, outs); });
  LongWork away(args[0]);
  launch(device, kernel, args.data(), {args[0], 1});
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
  for (const auto& t : outs) fresh.push_back(makeEmpty(t.shape(), t.dtype(), t.device()));
  runPointwise(op, dense, attrs, fresh);
  for (std::size_t i = 0; i < outs.size(); ++i)
    copyArray(fresh[i].device(), {pointerOf(fresh[i]), fresh[i].dtype(), fresh[i].shape(), fresh[i].strides()},
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

/// Rows too short for what a launch does with operands that lie across: these are copied to the order of the outs
/// first. False, having done nothing, where there are none, or the rows are long.
bool runShortRows(const OpFacts& op, Operands operands, Attrs attrs, std::span<const Tensor> outs, DimsRef shape,
                  std::span<const Dims> strides) {
  const std::int64_t n = outs[0].numel();
  const Target& target = targetOf(outs[0].device());
  if (shape.back() >= target.shortRow || n < target.leastTurned || n > target.mostTurned || !outs[0].isContiguous())
    return false;
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
  const bool ordered = op.kind != OpKind::Pointwise || op.usesIndex;  // row-major
  if (!ordered && isDense(outs[0]) && runFlat<Lie::Alike>(op, operands, attrs, outs)) return;
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
  if (!ordered) sortDims(shape, strides, Dims(strides[numIn]));
  Walk walk;
  walk.placed = op.usesIndex;
  collapse(walk, shape, strides);
  constexpr std::int64_t kShortCopy = 8;  // of so few elements at most, rows are copied by the executor
  const auto isShort = [&] {
    const Target& target = targetOf(outs[0].device());
    return shape.size() > 1 && shape.back() <= std::min(kShortCopy, target.shortRow) &&
           outs[0].numel() >= target.leastTurned;
  };
  if (op.code == OpCode::clone && numIn == 1 && arrays[0]->dtype() == arrays[1]->dtype() &&
      (transposes(strides[0]) || isShort())) {
    const DType dtype = arrays[0]->dtype();
    LongWork away(outs[0].numel());
    return copyArray(outs[0].device(), {pointerOf(*arrays[0]), dtype, shape, strides[0]},
                     {pointerOf(*arrays[1]), dtype, shape, strides[1]});
  }
  if (!ordered && runShortRows(op, operands, attrs, outs, shape, strides)) return;
  if (shape.size() > kMaxOuterRank + 1) return runSpread(op, operands, attrs, outs);

  const int outerRank = static_cast<int>(shape.size()) - 1;
  const ArgLayout layout(KernelKind::Row, outerRank, arrays.size(), operands.size() - numIn);
  SmallVector<std::int64_t, 64> args(layout.size());
  writeWalk(layout, shape, strides, args.data());
  auto accessTo = [&](std::size_t k) { return accessOf(strides[k].back(), shape.back()); };
  const Access outAccess = accessTo(numIn);
  KeyWriter key(op);
  std::size_t tensor = 0;
  std::size_t scalar = 0;
  for (const auto& o : operands) {
    if (o.isTensor()) {
      key.add(o.tensor(), accessTo(tensor));
      args[layout.pointer(tensor++)] = address(o.tensor());
    } else {
      key.add(o.scalar());
      args[layout.scalar(scalar++)] = o.scalar().bits();
    }
  }
  for (std::size_t k = numIn; k < arrays.size(); ++k) {
    TANDEM_CHECK(accessTo(k) == outAccess, op.name, " writes results of different layouts");
    key.add(*arrays[k], outAccess);
    args[layout.pointer(k)] = address(*arrays[k]);
  }
  const Kernel& kernel = kernelFor(key.finish(attrs, outerRank, outs[0].device()), [&] {
    SmallVector<Access, CallKey::kMost> access;
    for (std::size_t k = 0; k < numIn; ++k) access.push_back(accessTo(k));
    return buildPointwise(op, operands, attrs, outs, access, outAccess, outerRank);
  });
  LongWork away(outs[0].numel());
  launch(outs[0].device(), kernel, args.data(), wholeSpace(KernelKind::Row, layout, args.data()));
}

}  // namespace

void runPointwise(const OpFacts& op, Operands operands, Attrs attrs, std::span<const Tensor> outs) {
  if (outs[0].numel() == 0 || runFlat(op, operands, attrs, outs)) return;
  runStrided(op, operands, attrs, outs);
}

// ---- rows of calls -------------------------------------------------------------------------------------------------

std::uint32_t FlatRows::numbersOf(std::span<const Operand> operands) {
  std::uint32_t numbers = 0;
  for (std::size_t k = 0; k < operands.size(); ++k)
    if (operands[k].isTensor() && operands[k].tensor().dim() == 0) numbers |= std::uint32_t{1} << k;
  return numbers;
}

bool FlatRows::add(std::span<const Operand> operands, std::span<const Tensor> outs) {
  if (kinds_.empty()) return false;
  KeyWriter writer(op_);
  FlatArgs args;
  const std::int64_t* const end = writeFlat(writer, operands, outs, args.data());
  if (end == nullptr) return false;
  const CallKey key = writer.finish({}, 0, outs[0].device());
  const std::uint32_t numbers = numbersOf(operands);
  for (std::size_t tried = 0; tried < kinds_.size(); ++tried) {
    const Kind& kind = kinds_[last_];
    if (kind.numbers == numbers && kind.key == key) {
      take(last_, {args.data(), kind.layout.size()}, operands, outs);
      return true;
    }
    last_ = last_ + 1 < kinds_.size() ? last_ + 1 : 0;
  }
  return false;
}

bool FlatRows::addFirst(std::span<const Operand> operands, std::span<const Tensor> outs) {
  constexpr std::size_t kMostKinds = 8;
  KeyWriter writer(op_);
  FlatArgs args;
  if (outs[0].numel() == 0 || writeFlat(writer, operands, outs, args.data()) == nullptr) return false;
  if (kinds_.size() == kMostKinds) {
    run();
    kinds_.clear();
  }
  const Device device = outs[0].device();
  const CallKey key = writer.finish({}, 0, device);
  const Kernel& kernel = kernelFor(key, [&] { return buildFlat(op_, operands, {}, outs); });
  const auto tensors = static_cast<std::size_t>(std::ranges::count_if(operands, &Operand::isTensor));
  const ArgLayout layout(KernelKind::Row, 0, tensors + outs.size(), operands.size() - tensors);
  last_ = kinds_.size();
  kinds_.push_back({device, numbersOf(operands), key, &kernel, layout, {}});
  take(last_, {args.data(), layout.size()}, operands, outs);
  return true;
}

void FlatRows::take(std::size_t kind, std::span<const std::int64_t> args, std::span<const Operand> operands,
                    std::span<const Tensor> outs) {
  Kind& of = kinds_[kind];
  const auto row = static_cast<std::uint32_t>(rows_.size());
  rows_.push_back({static_cast<std::uint32_t>(kind), static_cast<std::uint32_t>(of.args.size())});
  of.args.insert(of.args.end(), args.begin(), args.end());
  of.elements += args[0];
  const auto isOut = [&](const Storage* s) {
    return std::ranges::any_of(outs, [&](const Tensor& t) { return t.impl()->storage.get() == s; });
  };
  for (const Tensor& t : outs) touched_.push_back({t.impl()->storage.get(), row, true});
  for (const Operand& o : operands)
    if (o.isTensor() && !isOut(o.tensor().impl()->storage.get()))
      touched_.push_back({o.tensor().impl()->storage.get(), row, false});
}

bool FlatRows::areApart() const {
  IndexTable<const void*> writers;
  for (const Touched& t : touched_)
    if (t.written && (t.storage->isShared() || writers.findOrAdd(t.storage, t.row) != t.row)) return false;
  return std::ranges::all_of(touched_, [&](const Touched& t) {
    if (t.written) return true;
    const std::uint32_t writer = writers.find(t.storage);
    return writer == t.row || writer == writers.kNone;
  });
}

void FlatRows::runOne(const Kind& kind, std::size_t at) {
  launch(kind.device, *kind.kernel, &kind.args[at], {kind.args[at], 1});
}

void FlatRows::runApart(const Kind& kind) {
  const std::size_t width = kind.layout.size();
  if (!kind.device.isCpu()) {
    Executor& runs = executor(kind.device);
    if (runs.launchList(*kind.kernel, kind.args, runs.stream())) return;
    for (std::size_t at = 0; at < kind.args.size(); at += width) runOne(kind, at);
    return;
  }
  const std::vector<std::int64_t>& args = kind.args;
  // Rows of a tile or more are shared among threads as they are, the others between them in stretches of about a tile.
  struct Stretch {
    std::size_t from, to;
  };
  std::vector<Stretch> stretches;
  std::int64_t length = cpu::kTileElements;
  const auto isLong = [&](std::size_t at) { return args[at] >= cpu::kTileElements; };
  runOne(kind, 0);  // by one thread, which makes the kernel's code where it lacks some
  for (std::size_t at = width; at < args.size(); at += width) {
    if (isLong(at)) {
      runOne(kind, at);
      continue;
    }
    if (length >= cpu::kTileElements) stretches.push_back({at, at}), length = 0;
    stretches.back().to = at + width;
    length += args[at];
  }
  parallelTiles(static_cast<std::int64_t>(stretches.size()), [&](std::int64_t i) {
    const Stretch& s = stretches[static_cast<std::size_t>(i)];
    for (std::size_t at = s.from; at < s.to; at += width)
      if (!isLong(at)) runOne(kind, at);
  });
}

void FlatRows::run() {
  if (rows_.empty()) return;
  std::int64_t elements = 0;
  bool isCpu = true;
  for (const Kind& kind : kinds_) {
    elements += kind.elements;
    isCpu = isCpu && kind.device.isCpu();
  }
  {
    LongWork away(elements);
    const bool worthIt = isCpu ? numThreads() > 1 && elements >= 2 * cpu::kTileElements : rows_.size() > 1;
    if (worthIt && areApart()) {
      for (const Kind& kind : kinds_)
        if (!kind.args.empty()) runApart(kind);
    } else {
      for (const Row& row : rows_) runOne(kinds_[row.kind], row.at);
    }
  }
  for (Kind& kind : kinds_) {
    kind.args.clear();
    kind.elements = 0;
  }
  rows_.clear();
  touched_.clear();
}

// ---- library -------------------------------------------------------------------------------------------------------

void runLibrary(const OpFacts& op, std::span<const Operand> operands, std::span<const std::int64_t> attrs,
                std::span<const Tensor> outs) {
  const Device device = outs[0].device();
  static std::vector<LibraryFn> functions(numOps(), nullptr);  // the CPU's
  LibraryFn fn = functions[static_cast<std::size_t>(op.code)];
  if (fn == nullptr || !device.isCpu()) {
    fn = libraryFunction(device, op.name);
    if (device.isCpu()) functions[static_cast<std::size_t>(op.code)] = fn;
  }
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
  callLibrary(device, fn, {views.subspan(0, numIn), views.subspan(numIn, outs.size()), attrs, scalars});
}

}  // namespace tandem
