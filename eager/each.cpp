#include "eager/each.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "eager/apply_steps.h"
#include "eager/dispatch.h"
#include "eager/kernels.h"
#include "eager/ops.h"
#include "eager/overlap.h"
#include "runtime/base/long_work.h"
#include "runtime/device/launch.h"
#include "runtime/kernel/launch_builder.h"

namespace tandem {
namespace {

/// Does a kernel alone compute from the tensor on `device`, where nothing is recorded?
bool isMemoryOn(const Tensor& t, Device device) {
  return t.defined() && !t.isPending() && !t.impl()->batch && t.device() == device && t.isContiguous();
}

class Each {
 public:
  Each(OpCode op, bool inPlace) : f_(facts(op)), inPlace_(inPlace), rows_(f_) {
    TANDEM_CHECK(f_.kind == OpKind::Pointwise && !f_.usesIndex && f_.numResults == 1, f_.name);
  }

  /// The result; of an in-place form the tensor that is written.
  Tensor take(Operands row) {
    std::optional<Tensor> later;
    try {
      later = putOff(row);
    } catch (...) {
      rows_.run();  // those before the one that is wrong
      throw;
    }
    if (later) return *std::move(later);
    rows_.run();
    if (!inPlace_) return apply(f_.code, row);
    applyInto(row[0].tensor(), f_.code, row);
    return row[0].tensor();
  }
  void run() { rows_.run(); }

 private:
  std::optional<Tensor> putOff(Operands row) {
    if (activeRecorder != nullptr || !row[0].isTensor()) return {};
    const Device device = row[0].tensor().defined() ? row[0].tensor().device() : Device();
    for (const Operand& o : row)
      if (o.isTensor() && !isMemoryOn(o.tensor(), device)) return {};
    if (refresh(row)) return {};
    if (inPlace_ && isPlain(row)) {
      // As a row before: what that had for a result, this one has.
      const Tensor& out = row[0].tensor();
      beforeWrite(out);
      if (rows_.add(row, {&out, 1})) {
        countWrite(out);
        return out;
      }
    }
    OperandMetas metas(f_, row);
    ResultMetas made(1);
    f_.metaRule(f_, metas.span(), {}, made);
    if (!isFloating(made[0].dtype)) return {};  // what has no result for some integers is checked
    Tensor out;
    if (inPlace_) {
      out = row[0].tensor();
      if (!(made[0].shape == out.shape()) || made[0].dtype != out.dtype() || !isPlain(row)) return {};
      beforeWrite(out);
    } else {
      out = makeEmpty(made[0].shape, made[0].dtype, device);
    }
    const std::span<const Tensor> outs(&out, 1);
    if (!rows_.add(row, outs) && !rows_.addFirst(row, outs)) return {};
    if (inPlace_) countWrite(out);
    return out;
  }

  /// Does a write into the first operand change no other one while it is read, and is that as large as the result?
  static bool isPlain(Operands row) {
    const Tensor& out = row[0].tensor();
    return std::ranges::all_of(row, [&](const Operand& o) {
      return !o.isTensor() || (o.tensor().dim() <= out.dim() && !overlapsPartly(o.tensor(), out));
    });
  }
  static void beforeWrite(const Tensor& out) {
    if (tapeHook != nullptr) tapeHook->checkWrite(out, gradEnabled() && out.requiresGrad());
    tandem::beforeWrite(*out.impl()->storage);
  }

  const OpFacts& f_;
  bool inPlace_;
  FlatRows rows_;
};

Tensor reduceOne(EachReduction what, const Tensor& t) {
  if (what == EachReduction::SquareSum) return ops::sum(ops::mul(t, t));
  return ops::any(ops::logical_not(ops::isfinite(t)));
}

/// The kernel of such a reduction of contiguous rows.
KernelSignature signatureOf(EachReduction what, DType dtype) {
  KernelSignature s;
  s.outerRank = 1;
  BodyWriter body(s, OpCode::to);
  const BodyValue x = body.input(dtype);
  const auto step = [&](OpCode op, std::initializer_list<BodyValue> operands, DType result) {
    std::vector<TensorMeta> metas;
    for (const BodyValue& v : operands) metas.emplace_back().dtype = v.dtype;
    const PointwiseTypes types = pointwiseTypes(facts(op), metas, {});
    std::vector<DType> to;
    for (std::size_t i = 0; i < metas.size(); ++i) to.push_back(operandType(facts(op), types, i, metas[i]));
    BodyValue made{0, result, 0};
    body.pointwise(op, types.result, false, {operands.begin(), operands.size()}, to, {&made, 1});
    return made;
  };
  if (what == EachReduction::SquareSum) {
    const BodyValue square = step(OpCode::mul, {x, x}, dtype);
    body.output(body.reduce(OpCode::sum, dtype, square, dtype, false), dtype, Access::Zero);
  } else {
    const BodyValue bad = step(OpCode::logical_not, {step(OpCode::isfinite, {x}, DType::Bool)}, DType::Bool);
    body.output(body.reduce(OpCode::any, DType::Bool, bad, DType::Bool, false), DType::Bool, Access::Zero);
  }
  return s;
}

}  // namespace

std::vector<Tensor> applyEach(OpCode op, std::span<const Operand> rows, std::size_t width, bool inPlace) {
  Each each(op, inPlace);
  std::vector<Tensor> results;
  results.reserve(rows.size() / width);
  for (; !rows.empty(); rows = rows.subspan(width)) results.push_back(each.take(rows.first(width)));
  each.run();
  if (inPlace) results.clear();
  return results;
}

Tensor reduceEach(EachReduction what, std::span<const Tensor> tensors) {
  const NoGrad noGrad;
  const Device device = tensors[0].device();
  const bool together = activeRecorder == nullptr && std::ranges::all_of(tensors, [&](const Tensor& t) {
                          // The sum of a half type is not kept as one is before it is rounded.
                          return isMemoryOn(t, device) && t.numel() > 0 &&
                                 (what != EachReduction::SquareSum || !isHalf(t.dtype())) && isFloating(t.dtype());
                        });
  const bool alike = what != EachReduction::SquareSum ||
                     std::ranges::all_of(tensors, [&](const Tensor& t) { return t.dtype() == tensors[0].dtype(); });
  if (!together || !alike) {
    std::vector<Tensor> each;
    for (const Tensor& t : tensors) each.push_back(reduceOne(what, t));
    return ops::stack(each);
  }
  const DType made = what == EachReduction::SquareSum ? tensors[0].dtype() : DType::Bool;
  Tensor out = makeEmpty(Dims{static_cast<std::int64_t>(tensors.size())}, made, device);
  const ArgLayout layout(KernelKind::Row, 1, 2, 0);
  std::map<DType, std::vector<std::int64_t>> args;
  std::int64_t to = address(out);
  std::int64_t elements = 0;
  for (const Tensor& t : tensors) {
    std::vector<std::int64_t>& all = args[t.dtype()];
    const std::size_t at = all.size();
    all.resize(at + layout.size());
    all[at + layout.outerSize(0)] = 1;
    all[at + layout.innerSize()] = t.numel();
    all[at + layout.pointer(0)] = address(t);
    all[at + layout.innerStride(0)] = 1;
    all[at + layout.pointer(1)] = to;
    to += static_cast<std::int64_t>(itemSize(made));
    elements += t.numel();
  }
  LongWork away(elements);
  Executor& runs = executor(device);
  for (const auto& [dtype, all] : args) {
    const Kernel& kernel = *runs.load(signatureOf(what, dtype));
    if (runs.launchList(kernel, all, runs.stream())) continue;
    for (std::size_t at = 0; at < all.size(); at += layout.size())
      launch(device, kernel, &all[at], wholeSpace(KernelKind::Row, layout, &all[at]));
  }
  return out;
}

}  // namespace tandem
