// Composites that make tensors: constants, ramps, random numbers.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "eager/batch.h"
#include "eager/dispatch.h"
#include "eager/fusion.h"
#include "eager/helpers.h"
#include "eager/number_range.h"
#include "eager/ops.h"
#include "eager/recorder.h"
#include "runtime/base/attrs.h"
#include "runtime/base/warn.h"

namespace tandem::ops {
namespace {

DType dtypeOf(const Scalar& s) {
  return s.isFloat() ? defaultDType() : s.kind == Scalar::Kind::Bool ? DType::Bool : DType::Int64;
}

Tensor ramp(const Operand& start, const Operand& step, std::int64_t n, DType dtype) {
  AttrWriter w;
  w.list(Dims{n});
  w.dtype(dtype);
  return apply(OpCode::ramp, {start, step}, w.span());
}

void needFloatingDType(const char* op, DType t) {
  if (!isFloating(t)) fail<NotImplementedError>("\"", op, "\" not implemented for '", dtypeClassName(t), "'");
}

}  // namespace

Tensor full(DimsRef size, Scalar value, std::optional<DType> dtype) {
  const DType of = dtype.value_or(dtypeOf(value));
  needHeldByAll("full", of, numelOf(size), value);
  return full_plain(value, size, of);
}
Tensor zeros(DimsRef size, std::optional<DType> dtype) { return full_plain(0, size, dtype.value_or(defaultDType())); }
Tensor ones(DimsRef size, std::optional<DType> dtype) { return full_plain(1, size, dtype.value_or(defaultDType())); }
Tensor empty(DimsRef size, std::optional<DType> dtype) {
  for (auto s : size)
    if (s < 0) fail("empty: Trying to create tensor with negative dimension ", s, ": ", shapeText(size));
  // While recording every new tensor is a value of the trace.
  if (activeRecorder != nullptr) return zeros(size, dtype);
  return makeEmpty(size, dtype.value_or(defaultDType()));
}
Tensor full_like(const Tensor& x, Scalar value, std::optional<DType> dtype) {
  const DType of = dtype.value_or(x.dtype());
  needHeldByAll("full_like", of, x.numel(), value);
  return oneEach(full_plain(value, x.shape(), of), x);
}
Tensor zeros_like(const Tensor& x, std::optional<DType> dtype) { return full_like(x, 0, dtype); }
Tensor ones_like(const Tensor& x, std::optional<DType> dtype) { return full_like(x, 1, dtype); }
Tensor empty_like(const Tensor& x, std::optional<DType> dtype) {
  return oneEach(empty(x.shape(), dtype.value_or(x.dtype())), x);
}

Tensor arange(Scalar start, Scalar end, Scalar step, std::optional<DType> dtype) {
  bool floating = start.isFloat() || end.isFloat() || step.isFloat();
  if (dtype == DType::Bool) fail<NotImplementedError>("\"arange_cpu\" not implemented for 'Bool'");
  if (step.asDouble() == 0) fail("arange: step must be nonzero");
  double steps = (end.asDouble() - start.asDouble()) / step.asDouble();
  if (!(steps >= 0))
    fail("arange: upper bound and lower bound inconsistent with step sign (", start.asDouble(), ", ", end.asDouble(),
         ", ", step.asDouble(), ")");
  // Of an integer dtype start and step are integers; the number of elements is that of the numbers as they were given,
  // but of int64 that of the integers, as PyTorch has it.
  if (floating && dtype && !isFloating(*dtype)) {
    if (*dtype == DType::Int64 && step.asInt() == 0)
      fail<ValueError>("arange: step must be nonzero, but ", step.asDouble(), " is 0 as an integer");
    if (*dtype == DType::Int64) return arange(start.asInt(), end.asInt(), step.asInt(), dtype);
    return ramp(start.asInt(), step.asInt(), static_cast<std::int64_t>(std::ceil(steps)), *dtype);
  }
  std::int64_t n = 0;
  if (floating) {
    n = static_cast<std::int64_t>(std::ceil(steps));
  } else {
    std::int64_t span = end.asInt() - start.asInt();
    n = (span + step.asInt() + (step.asInt() > 0 ? -1 : 1)) / step.asInt();
  }
  return ramp(start, step, n, dtype.value_or(floating ? defaultDType() : DType::Int64));
}
Tensor arange_end(Scalar end, std::optional<DType> dtype) {
  return arange(end.isFloat() ? Scalar(0.0) : Scalar(0), end, 1, dtype);
}

Tensor eye(std::int64_t n, std::optional<std::int64_t> m, std::optional<DType> dtype) {
  std::int64_t columns = m.value_or(n);
  if (n < 0 || columns < 0) fail("eye: n and m must not be negative, got ", n, " and ", columns);
  FusedScope fused(n * columns);
  // Compared where numbers are narrow, if there are no more of them.
  const DType index = std::max(n, columns) <= std::numeric_limits<std::int32_t>::max() ? DType::Int32 : DType::Int64;
  Tensor row = unsqueeze(ramp(std::int64_t{0}, std::int64_t{1}, n, index), 1);
  Tensor column = ramp(std::int64_t{0}, std::int64_t{1}, columns, index);
  return toDType(eq(row, column), dtype.value_or(defaultDType()));
}

Tensor rand(DimsRef size, Generator* g, std::optional<DType> dtype) {
  DType t = dtype.value_or(defaultDType());
  needFloatingDType("rand", t);
  GeneratorScope scope(g);
  return uniform_plain(size, t);
}
Tensor randn(DimsRef size, Generator* g, std::optional<DType> dtype) {
  DType t = dtype.value_or(defaultDType());
  needFloatingDType("randn", t);
  GeneratorScope scope(g);
  return normal_plain(size, t);
}
Tensor rand_like(const Tensor& x, std::optional<DType> dtype) {
  return rand(x.shape(), nullptr, dtype.value_or(x.dtype()));
}
Tensor randn_like(const Tensor& x, std::optional<DType> dtype) {
  return randn(x.shape(), nullptr, dtype.value_or(x.dtype()));
}
/// The largest n for which the dtype has all of 0 .. n: in a floating one a power of 2.
static std::int64_t lastOfAll(DType dtype) {
  if (!isFloating(dtype)) return integerRange(dtype).second;
  const int bits = dtype == DType::Float64 ? 53 : dtype == DType::Float32 ? 24 : dtype == DType::Float16 ? 11 : 8;
  return std::int64_t{1} << bits;
}
/// RuntimeError unless `dtype` holds the integers from `low` up to `high` - 1; a warning where it rounds some.
static void checkDraws(std::int64_t low, std::int64_t high, DType dtype) {
  auto refuse = [&](const char* which) {
    fail("randint: ", which, " is out of bounds for ", dtypeName(dtype), ", got from=", low, " and to=", high);
  };
  if (isFloating(dtype)) {
    const double most = dtype == DType::Float16 ? 65504 : HUGE_VAL;
    if (static_cast<double>(low) < -most) refuse("from");
    if (static_cast<double>(high) - 1 > most) refuse("to - 1");
    const std::int64_t exact = lastOfAll(dtype);
    const int bits = std::countr_zero(static_cast<std::uint64_t>(exact));
    if (low < -exact || high - 1 > exact)
      warn(strcat("randint: from=", low, " and to=", high, " reach past [-(2^", bits, "), 2^", bits, "], where ",
                  dtypeName(dtype), " has not every integer"));
    return;
  }
  const auto [least, most] = integerRange(dtype);
  if (low < least || low > most) refuse("from");
  if (high - 1 > most) refuse("to - 1");
}

Tensor randint(std::int64_t low, std::int64_t high, DimsRef size, Generator* g, std::optional<DType> dtype) {
  if (low >= high) fail("randint: random_ expects 'from' to be less than 'to', but got from=", low, " >= to=", high);
  if (dtype) checkDraws(low, high, *dtype);
  GeneratorScope scope(g);
  Tensor values = randint_plain(low, high, size, DType::Int64);
  return dtype ? toDType(values, *dtype) : values;
}
Tensor randint_high(std::int64_t high, DimsRef size, Generator* g, std::optional<DType> dtype) {
  return randint(0, high, size, g, dtype);
}
Tensor randperm(std::int64_t n, Generator* g, std::optional<DType> dtype) {
  // Beyond these numbers the dtype has not all of 0 .. n-1.
  if (dtype == DType::Bool) fail<NotImplementedError>("\"randperm\" not implemented for 'Bool'");
  if (dtype && n > 1 && n - 1 > lastOfAll(*dtype))
    fail("randperm(): n must not be greater than ", lastOfAll(*dtype) + 1, " for ", dtypeName(*dtype), ", but got ", n);
  GeneratorScope scope(g);
  Tensor p = randperm_plain(n);
  return dtype ? toDType(p, *dtype) : p;
}
Tensor bernoulli(const Tensor& p, Generator* g) {
  needFloatingDType("bernoulli", p.dtype());
  refuseSameRandomness("bernoulli", {p});
  GeneratorScope scope(g);
  Tensor chance = detached(p);
  chance = expected(chance, within(chance, 0, 1), Expectation::BernoulliProbability);
  Tensor u = uniform_plain(p.shape(), computeType(p.dtype()));
  return constantIn(toDType(lt(u, chance), p.dtype()), {&p, 1});
}
Tensor bernoulli_prob(const Tensor& x, double p, Generator* g) {
  if (!(p >= 0 && p <= 1)) fail("bernoulli_ expects p to be in [0, 1], but got p=", p);
  GeneratorScope scope(g);
  return toDType(
      lt(uniform_plain(x.shape(), isFloating(x.dtype()) ? computeType(x.dtype()) : DType::Float32), Scalar(p)),
      x.dtype());
}

Tensor range(Scalar start, Scalar end, Scalar step, std::optional<DType> dtype) {
  warn("range is deprecated, since its end is part of it, unlike that of Python's range. Use arange, which gives "
       "the values in [start, end).");
  double from = start.asDouble();
  double to = end.asDouble();
  double by = step.asDouble();
  if (by == 0) fail("step must be nonzero");
  if ((by > 0 && to < from) || (by < 0 && to > from)) fail("upper bound and lower bound inconsistent with step sign");
  if (dtype == DType::Bool) fail<NotImplementedError>("\"range_cpu\" not implemented for 'Bool'");
  // As in `arange`, for an integer dtype, in which negative numbers of unsigned ones wrap.
  const bool whole = dtype && !isFloating(*dtype);
  if (whole && std::trunc(by) == 0) fail("step must be nonzero");
  if (whole) from = std::trunc(from), to = std::trunc(to), by = std::trunc(by);
  auto count = static_cast<std::int64_t>(std::floor((to - from) / by)) + 1;
  if (whole) return ramp(static_cast<std::int64_t>(from), static_cast<std::int64_t>(by), count, *dtype);
  Tensor places = toDType(arange(std::int64_t{0}, count), DType::Float64);
  return toDType(add(mul(places, by), from), dtype.value_or(defaultDType()));
}

}  // namespace tandem::ops
