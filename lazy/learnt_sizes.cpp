// What depends on data and has to be known while a function is traced: sizes, for which the trace then holds alone, and
// elements that the program reads.
#include <array>
#include <cstring>
#include <vector>

#include "eager/dispatch.h"
#include "eager/host.h"
#include "eager/kernels.h"
#include "eager/ops.h"
#include "lazy/plan_cache.h"
#include "lazy/session.h"

namespace tandem::lazy {
namespace {

constexpr const char* kSizeRead = "a size that depends on data (of a mask's selection, nonzero, unique ...) is read";

std::uint64_t lowBits(std::size_t n) { return n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1; }

}  // namespace

Tensor Session::valueNow(ValueRef v) {
  const TensorMeta& meta = trace_.meta(v);
  const Tensor known = makeEmpty(meta.shape, meta.dtype, trace_.device);
  void* out[] = {known.impl()->storage->data()};
  std::shared_ptr<Plan> plan = planFor(trace_, {{v, -1}});
  runPlan(*plan, {inputPointers(), out, scalarArguments_, firstDraw_.seed(), firstDraw_.offset(), trace_.slots});
  AtOnce now;
  return readHost(known);
}

std::optional<Session::Read> Session::readAhead(const Tensor& t, bool run) {
  // Memory made while tracing is a constant of the trace, and so is what it holds.
  const bool constant = !t.isPending() && isConstant(t.impl()->storage.get());
  if (!tracing_ || constant || t.numel() != 1 || t.dtype() == DType::Bool || t.impl()->batch ||
      t.device() != trace_.device || (run && (placeholders || reads_ == kMostReads)))
    return {};
  try {
    const ValueRef v = valueOf(t);
    if (!tracing_) return {};
    ++reads_;
    const TensorMeta& meta = trace_.meta(v);
    const Tensor now = run ? valueNow(v) : makeEmpty(meta.shape, meta.dtype, Device{});
    if (!run) std::memset(now.data(), 0, itemSize(meta.dtype));
    return Read{now, fresh(v, meta)};
  } catch (const OutOfMemoryError&) {
    return {};
  }
}

std::int64_t Session::learnSize(Tensor& count) {
  if (!tracing_) return readElement<std::int64_t>(count);
  const auto size = *static_cast<const std::int64_t*>(valueNow(valueOf(count)).data());
  count = ops::expect_size(count, size, static_cast<std::int64_t>(learntSizes_.size()));
  learntSizes_.push_back(size);
  checks_.push_back(count);
  return size;
}

std::uint64_t Session::dataDimsOf(const Tensor& t) const {
  if (!t.isPending() || contentOf(t.impl()->storage.get())->session != this) return 0;
  const Content& c = *contentOf(t.impl()->storage.get());
  bool whole = t.isContiguous() && t.shape() == trace_.meta(c.value).shape;
  return c.dataDims == 0 || whole ? c.dataDims : lowBits(t.shape().size());
}

std::uint64_t Session::dataDimsOf(const OpFacts& f, std::span<const Operand> operands,
                                  std::span<const std::int64_t> attrs, std::size_t number,
                                  const TensorMeta& result) const {
  if (f.code == OpCode::nonzero_rows) return 1;
  // Which sizes of the result change when those that depend on data are one more: the shape rule knows.
  bool any = false;
  std::vector<TensorMeta> metas;
  for (const auto& o : operands) {
    metas.push_back(metaOf(o));
    std::uint64_t dims = o.isTensor() && o.tensor().defined() ? dataDimsOf(o.tensor()) : 0;
    any |= dims != 0;
    for (std::size_t d = 0; d < metas.back().shape.size(); ++d) metas.back().shape[d] += dims >> d & 1;
  }
  if (!any) return 0;
  std::array<TensorMeta, kMostResults> others;
  try {
    f.metaRule(f, metas, attrs, {others.data(), f.numResults});
  } catch (const Error&) {
    return lowBits(result.shape.size());  // they fit no other size
  }
  std::uint64_t dims = 0;
  for (std::size_t d = 0; d < result.shape.size(); ++d)
    dims |= std::uint64_t{others[number].shape[d] != result.shape[d]} << d;
  return dims;
}

void Session::beforeSizeRead(const Tensor& t, std::int64_t dim) {
  std::uint64_t dims = dataDimsOf(t);
  if (dims != 0 && (dim < 0 || (dims >> dim & 1) != 0)) giveUp(kSizeRead);
}

}  // namespace tandem::lazy
