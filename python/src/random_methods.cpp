// Random numbers written into a tensor.
#include <cmath>
#include <numbers>

#include "eager/helpers.h"
#include "eager/number_range.h"
#include "eager/ops.h"
#include "python/src/arg_parser.h"
#include "python/src/convert.h"
#include "python/src/docs.h"
#include "python/src/py_tensor.h"
#include "runtime/lib/half.h"

namespace tandem::python {

namespace {

using P = ParamType;
constexpr ParamSpec kSelf = {"input", P::Tensor, false, false};

/// Error unless `dtype` has both bounds of uniform numbers, and holds their distance.
void needRange(DType dtype, double from, double to) {
  for (const double bound : {from, to, to - from})
    if (!std::isfinite(bound) || !holdsNumber(dtype, bound))
      fail("uniform_: from=", from, " and to=", to, " must be finite numbers of ", dtypeName(dtype),
           ", and their distance too");
}

/// The largest number of a half type below `bound`; infinity for other dtypes, whose draws reach it next to never.
double largestBelow(double bound, DType dtype) {
  auto below = [&](auto nearest) -> double {
    const float held = lib::toFloat(nearest);
    if (held < bound) return held;
    nearest.bits = held > 0 ? nearest.bits - 1 : held == 0 ? 0x8001 : nearest.bits + 1;
    return lib::toFloat(nearest);
  };
  const auto single = static_cast<float>(bound);
  if (dtype == DType::Float16) return below(lib::toHalf(single));
  return dtype == DType::BFloat16 ? below(lib::toBFloat16(single)) : HUGE_VAL;
}

constexpr ParamSpec uniformParams[] = {
    kSelf, {"from", P::Float, true, false}, {"to", P::Float, true, false}, {"generator", P::Generator, true, true}};
constexpr Signature uniformSigs[] = {{"uniform_", uniformParams, [](ParsedArgs& a) -> PyObject* {
                                        const Tensor& t = a.tensor(0);
                                        double low = a.number(1, 0.0);
                                        double high = a.number(2, 1.0);
                                        if (!(low <= high)) {
                                          fail("uniform_ expects to return a [from, to) range, but found from=", low,
                                               " > to=", high);
                                        }
                                        needRange(t.dtype(), low, high);
                                        Tensor u = ops::rand(t.shape(), a.generator(3), t.dtype());
                                        Tensor drawn = ops::add(ops::mul(u, high - low), low);
                                        const double last = largestBelow(high, t.dtype());
                                        const bool rounds = low <= last && last < high;
                                        ops::assign(t, rounds ? ops::clamp_max(drawn, last) : drawn);
                                        return a.self();
                                      }}};
constexpr ParamSpec normalParams[] = {
    kSelf, {"mean", P::Float, true, false}, {"std", P::Float, true, false}, {"generator", P::Generator, true, true}};
constexpr Signature normalSigs[] = {{"normal_", normalParams, [](ParsedArgs& a) -> PyObject* {
                                       const Tensor& t = a.tensor(0);
                                       double std = a.number(2, 1.0);
                                       if (!(std >= 0.0)) fail("normal expects std >= 0.0, but found std ", std);
                                       Tensor n = ops::randn(t.shape(), a.generator(3), t.dtype());
                                       ops::assign(t, ops::add(ops::mul(n, std), a.number(1, 0.0)));
                                       return a.self();
                                     }}};
constexpr ParamSpec randomParams[] = {kSelf, {"generator", P::Generator, true, true}};
constexpr ParamSpec randomToParams[] = {kSelf, {"to", P::Int, false, false}, {"generator", P::Generator, true, true}};
constexpr ParamSpec randomRangeParams[] = {kSelf,
                                           {"from", P::Int, false, false},
                                           {"to", P::OptionalInt, false, false},
                                           {"generator", P::Generator, true, true}};
PyObject* randomInto(ParsedArgs& a, std::int64_t low, std::int64_t high, Generator* g) {
  const Tensor& t = a.tensor(0);
  if (low >= high) fail("random_ expects 'from' to be less than 'to', but got from=", low, " >= to=", high);
  ops::assign(t, ops::randint(low, high, t.shape(), g, t.dtype()));
  return a.self();
}
// The largest range whose integers the dtype represents exactly.
std::int64_t randomLimit(DType t) {
  constexpr std::int64_t limits[kNumDTypes] = {2,         256,  128, 32768,    2147483648,
                                               INT64_MAX, 2049, 257, 16777217, 9007199254740993};
  return limits[static_cast<int>(t)];
}
constexpr Signature randomSigs[] = {
    {"random_", randomParams,
     [](ParsedArgs& a) -> PyObject* { return randomInto(a, 0, randomLimit(a.tensor(0).dtype()), a.generator(1)); }},
    {"random_", randomToParams,
     [](ParsedArgs& a) -> PyObject* { return randomInto(a, 0, a.integer(1), a.generator(2)); }},
    {"random_", randomRangeParams,
     [](ParsedArgs& a) -> PyObject* {
       return randomInto(a, a.integer(1), a.integer(2, randomLimit(a.tensor(0).dtype())), a.generator(3));
     }},
};
constexpr ParamSpec bernoulliParams[] = {
    kSelf, {"p", P::Operand, true, false}, {"generator", P::Generator, true, true}};
constexpr Signature bernoulliSigs[] = {{"bernoulli_", bernoulliParams, [](ParsedArgs& a) -> PyObject* {
                                          const Tensor& t = a.tensor(0);
                                          Operand p = a.operand(1, Scalar(0.5));
                                          double chance = p.isTensor() ? 0.5 : p.scalar().asDouble();
                                          if (!(chance >= 0 && chance <= 1))
                                            fail("bernoulli_ expects p to be in [0, 1], but got p=", chance);
                                          DType d = isFloating(t.dtype()) ? t.dtype() : DType::Float32;
                                          Tensor u = ops::rand(t.shape(), a.generator(2), d);
                                          if (!p.isTensor()) {
                                            ops::assign(t, ops::lt(u, p));
                                            return a.self();
                                          }
                                          const Tensor chances = ops::detached(p.tensor());
                                          const Tensor checked = ops::expected(chances, ops::within(chances, 0, 1),
                                                                               Expectation::BernoulliProbability);
                                          ops::assign(t, ops::lt(u, checked));
                                          return a.self();
                                        }}};

// ---- by the inverse of a distribution function ----------------------------------------------------------------------

void needFloating(const char* op, const Tensor& t) {
  if (!isFloating(t.dtype()))
    fail<NotImplementedError>("\"", op, "\" not implemented for '", dtypeClassName(t.dtype()), "'");
}
/// Uniform on (0, 1], in float64.
Tensor aboveZero(const Tensor& t, Generator* g) { return ops::sub(1, ops::rand(t.shape(), g, DType::Float64)); }

constexpr ParamSpec exponentialParams[] = {
    kSelf, {"lambd", P::Float, true, false}, {"generator", P::Generator, true, true}};
constexpr Signature exponentialSigs[] = {{"exponential_", exponentialParams, [](ParsedArgs& a) -> PyObject* {
                                            const Tensor& t = a.tensor(0);
                                            if (!isFloating(t.dtype()))
                                              fail("Exponential distribution is a continuous probability distribution. "
                                                   "dtype must be a floating point but you "
                                                   "specified ",
                                                   dtypeClassName(t.dtype()));
                                            double rate = a.number(1, 1.0);
                                            if (!(rate > 0))
                                              fail("exponential_ expects lambda > 0.0, but found lambda=", rate);
                                            ops::assign(
                                                t, ops::div(ops::neg(ops::log(aboveZero(t, a.generator(2)))), rate));
                                            return a.self();
                                          }}};
constexpr ParamSpec geometricParams[] = {kSelf, {"p", P::Float, false, false}, {"generator", P::Generator, true, true}};
constexpr Signature geometricSigs[] = {{"geometric_", geometricParams, [](ParsedArgs& a) -> PyObject* {
                                          const Tensor& t = a.tensor(0);
                                          double p = a.number(1, 0.5);
                                          if (!(p > 0 && p < 1))
                                            fail("geometric_ expects p to be in (0, 1), but got p=", p);
                                          Tensor waiting = ops::ceil(
                                              ops::div(ops::log(aboveZero(t, a.generator(2))), std::log1p(-p)));
                                          ops::assign(t, ops::maximum(waiting, 1));
                                          return a.self();
                                        }}};
constexpr ParamSpec logNormalParams[] = {
    kSelf, {"mean", P::Float, true, false}, {"std", P::Float, true, false}, {"generator", P::Generator, true, true}};
constexpr Signature logNormalSigs[] = {{"log_normal_", logNormalParams, [](ParsedArgs& a) -> PyObject* {
                                          const Tensor& t = a.tensor(0);
                                          needFloating("log_normal_cpu", t);
                                          double std = a.number(2, 2.0);
                                          if (!(std > 0)) fail("log_normal_ expects std > 0.0, but found std=", std);
                                          Tensor n = ops::randn(t.shape(), a.generator(3), t.dtype());
                                          ops::assign(t, ops::exp(ops::add(ops::mul(n, std), a.number(1, 1.0))));
                                          return a.self();
                                        }}};
constexpr ParamSpec cauchyParams[] = {kSelf,
                                      {"median", P::Float, true, false},
                                      {"sigma", P::Float, true, false},
                                      {"generator", P::Generator, true, true}};
constexpr Signature cauchySigs[] = {
    {"cauchy_", cauchyParams, [](ParsedArgs& a) -> PyObject* {
       const Tensor& t = a.tensor(0);
       needFloating("cauchy_cpu", t);
       double sigma = a.number(2, 1.0);
       if (!(sigma > 0)) fail("cauchy_ expects sigma > 0.0, but found sigma=", sigma);
       Tensor angle = ops::mul(ops::sub(ops::rand(t.shape(), a.generator(3), DType::Float64), 0.5), std::numbers::pi);
       ops::assign(t, ops::add(ops::mul(ops::tan(angle), sigma), a.number(1, 0.0)));
       return a.self();
     }}};

}  // namespace

std::vector<PyMethodDef> randomMethodDefs() {
  return {
      method<uniformSigs>("uniform_", doc::method_uniform_),
      method<normalSigs>("normal_", doc::method_normal_),
      method<randomSigs>("random_", doc::method_random_),
      method<bernoulliSigs>("bernoulli_", doc::method_bernoulli_),
      method<exponentialSigs>("exponential_", doc::method_exponential_),
      method<geometricSigs>("geometric_", doc::method_geometric_),
      method<logNormalSigs>("log_normal_", doc::method_log_normal_),
      method<cauchySigs>("cauchy_", doc::method_cauchy_),
  };
}

}  // namespace tandem::python
