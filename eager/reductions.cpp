// Reductions of one operation, stage by stage (ir/schema/reduction_plan.h): which loops a stage has follows from how
// its operand lies in memory, the order of what is added does not.
//
//   - what gives the same result in any order (maxima, integers) is reduced in the order of the memory
//   - memory that is not dense along the kernel's inner dim the executor may walk in a way of its own
//   - else dims that merge into one are a Row or a Column kernel's reduced dim, whatever its stride; of what does not
//     merge a contiguous copy is reduced
//   - what a stage makes lies in memory as its operand, for the next stage
#include <algorithm>
#include <array>

#include "eager/kernels.h"
#include "ir/schema/reduction_plan.h"
#include "runtime/base/long_work.h"
#include "runtime/device/launch.h"
#include "runtime/kernel/launch_builder.h"
#include "runtime/kernel/memory_order.h"
#include "runtime/lib/strided.h"

namespace tandem {

namespace {

/// Fills `out` with a number.
void fill(const Tensor& out, Scalar value) {
  const Operand operands[] = {Operand(value)};
  AttrWriter attrs;
  attrs.list(out.shape());
  attrs.dtype(out.dtype());
  runPointwise(facts(OpCode::full_plain), operands, attrs.span(), {&out, 1});
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

/// The shape of a stage's result, with the reduced dims as 1.
Dims reducedShape(DimsRef shape, const ReductionStage& stage) {
  Dims kept(shape);
  for (std::size_t d = stage.begin; d < stage.end; ++d) kept[d] = 1;
  return kept;
}

/// False where the operand's dims do not merge into as many as kernels walk. The result has these strides.
bool walkStrided(const Tensor& in, const ReductionStage& stage, const Dims& to, ReductionWalk& w) {
  w = {in.shape(), {in.strides(), to}};
  for (std::size_t d = stage.begin; d < stage.end; ++d) w.strides[1][d] = 0;
  const Walk walk{stage.trailing ? Walk::Kind::Rows : Walk::Kind::Columns, stage.begin, stage.end, false};
  return collapse(walk, w.shape, w.strides) && w.shape.size() <= kMaxOuterRank + (stage.trailing ? 1 : 2);
}

/// The result's elements lie as strides `to` of the operand's rank say.
void runStage(const OpFacts& op, const Tensor& in, const ReductionStage& stage, DType accumulator, const Tensor& out,
              const Dims& to) {
  const Device device = out.device();
  Tensor source = in;
  // any and all of bytes give bytes, of 0 and 1 as bool has them.
  const DType stored = accumulator == DType::Bool ? DType::Bool : out.dtype();
  ReductionWalk w;
  bool merges = true;
  if (in.isContiguous()) {
    w = walkContiguous(in.shape(), stage);
  } else {
    merges = walkStrided(in, stage, to, w);
    // Rows along which the operand is dense stay rows, and so do columns beside each other.
    if (!merges || w.strides[0].back() != 1) {
      const StridedReduction reduction{op.code,        {pointerOf(in), in.dtype(), in.shape(), in.strides()},
                                       stage.begin,    stage.end,
                                       stage.trailing, merges,
                                       accumulator,    {pointerOf(out), stored, reducedShape(in.shape(), stage), to}};
      LongWork away(in.numel());
      Executor& runs = executor(device);
      if (runs.reduceStrided(reduction, runs.stream())) return;
    }
  }
  if (!merges) {
    source = spread(in, in.shape());
    if (!walkStrided(source, stage, to, w)) fail<InternalError>("a contiguous operand of ", op.name);
  }
  const std::int64_t n = w.shape.back();
  const ReductionKernel reduction{op.code,
                                  stage.trailing ? KernelKind::Row : KernelKind::Column,
                                  static_cast<int>(w.shape.size()) - (stage.trailing ? 1 : 2),
                                  {source.dtype(), accessOf(w.strides[0].back(), n)},
                                  accumulator,
                                  {stored, stage.trailing ? Access::Zero : accessOf(w.strides[1].back(), n)}};
  const ArgLayout layout = reduction.layout();
  SmallVector<std::int64_t, 64> args(layout.size());
  writeWalk(layout, w.shape, w.strides, args.data());
  args[layout.pointer(0)] = address(source);
  args[layout.pointer(1)] = address(out);
  const Kernel& kernel = kernelFor(reduction.key(device), [&] { return executor(device).load(reduction.signature()); });
  LongWork away(numelOf(w.shape));
  launch(device, kernel, args.data(), wholeSpace(reduction.kind, layout, args.data()));
}

/// Does the result not depend on the order in which elements are taken in? Of zeros of both signs the greatest is the
/// one met first.
bool inAnyOrder(const OpFacts& op, DType accumulator) {
  return !isFloating(accumulator) || op.code == OpCode::amax || op.code == OpCode::amin;
}
bool anyZero(const Tensor& t) {
  return lib::withType(t.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const auto* x = reinterpret_cast<const T*>(pointerOf(t));
    bool any = false;
    for (std::int64_t i = 0; i < t.numel(); ++i) any |= lib::Element<T>::load(x[i]) == 0;
    return any;
  });
}

void reduceStages(const OpFacts& op, Tensor source, DimsRef dims, DType accumulator, const Tensor& out);

/// Whose dims lie in this order, so that what is made of an operand, and read by the next stage, lies as the operand.
Tensor emptyInOrder(const Dims& order, const Dims& shape, DType dtype, Device device) {
  const Tensor made = makeEmpty(shape, dtype, device);
  // More dims may not merge into as many as kernels walk.
  if (std::ranges::is_sorted(order) || shape.size() > kMaxOuterRank) return made;
  return makeAlias(made, shape, stridesInOrder(shape, order), 0);
}

/// Takes the dims in the order of the memory. The result comes in that order too, and is copied where it matters. False
/// where the order of elements may matter after all.
bool reduceInMemoryOrder(const OpFacts& op, const Tensor& in, DimsRef dims, DType accumulator, const Tensor& out,
                         const Dims& order) {
  Dims shape;
  Dims strides;
  Dims reduced;
  Dims kept;      // shape of the result, in the order of the memory
  Dims keptDims;  // which dims these are
  for (std::int64_t d : order) {
    const bool isReduced = std::ranges::find(dims, d) != dims.end();
    if (isReduced) reduced.push_back(static_cast<std::int64_t>(shape.size()));
    if (!isReduced && in.shape()[d] != 1) {
      kept.push_back(in.shape()[d]);
      keptDims.push_back(d);
    }
    shape.push_back(in.shape()[d]);
    strides.push_back(in.strides()[d]);
  }
  const Tensor turned = makeAlias(in, shape, strides, in.impl()->offset);
  const bool signedZeros = isFloating(accumulator);
  if (std::ranges::is_sorted(keptDims)) {
    reduceStages(op, turned, reduced, accumulator, out);
    return !signedZeros || !anyZero(out);
  }
  const Tensor result = makeEmpty(kept, out.dtype(), out.device());
  reduceStages(op, turned, reduced, accumulator, result);
  if (signedZeros && anyZero(result)) return false;
  // Where each dim of the result goes in `out`, which is contiguous in the logical order.
  Dims to(kept.size(), 0);
  std::int64_t step = 1;
  for (std::int64_t d = in.dim(); d-- > 0;) {
    const auto at = std::ranges::find(keptDims, d) - keptDims.begin();
    if (at == static_cast<std::ptrdiff_t>(keptDims.size())) continue;
    to[static_cast<std::size_t>(at)] = step;
    step *= kept[static_cast<std::size_t>(at)];
  }
  copyArray(out.device(), {pointerOf(result), result.dtype(), kept, result.strides()},
            {pointerOf(out), out.dtype(), kept, to});
  return true;
}

}  // namespace

void runReduction(const OpFacts& op, const Tensor& input, std::span<const std::int64_t> attrs, const Tensor& out) {
  if (out.numel() == 0) return;
  if (input.numel() == 0) return fill(out, Scalar(reductionIdentity(op.name)));
  const Dims dims(AttrReader(attrs).list());
  DType accumulator = computeType(out.dtype());
  if (op.dtypeRule == DTypeRule::Logical) accumulator = DType::Bool;
  // Zeros are looked for on the host, which would have to wait for other devices.
  const bool mayLook = input.device().isCpu() || !isFloating(accumulator);
  if (!input.isContiguous() && mayLook && inAnyOrder(op, accumulator)) {
    const Dims order = memoryOrder(input.shape(), input.strides());
    if (!std::ranges::is_sorted(order) && reduceInMemoryOrder(op, input, dims, accumulator, out, order)) return;
  }
  reduceStages(op, input, dims, accumulator, out);
}

namespace {

/// The reduction in the order of dims that `input` has.
void reduceStages(const OpFacts& op, Tensor source, DimsRef dims, DType accumulator, const Tensor& out) {
  const auto stages = reductionStages(source.shape(), dims);
  if (op.dtypeRule == DTypeRule::Logical && source.dtype() != DType::Bool) {
    const Tensor truth = makeEmpty(source.shape(), DType::Bool, out.device());
    const Operand operands[] = {source};
    AttrWriter to;
    to.dtype(DType::Bool);
    runPointwise(facts(OpCode::to), operands, to.span(), {&truth, 1});
    source = truth;
  }
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
      runStage(op, source, stages[i], accumulator, out, contiguousStrides(reducedShape(source.shape(), stages[i])));
      return;
    }
    Dims shape = source.shape();
    for (std::size_t d = stages[i].begin; d < stages[i].end; ++d) shape[d] = 1;
    const Tensor into = emptyInOrder(memoryOrder(source.shape(), source.strides()), shape, accumulator, out.device());
    runStage(op, source, stages[i], accumulator, into, into.strides());
    source = into;
  }
}

}  // namespace

}  // namespace tandem
