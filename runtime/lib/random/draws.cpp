// gamma_draw, poisson_draw, binomial_draw: draws by rejection, by the text that GPUs compile as well.
#include <bit>
#include <cmath>
#include <limits>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/random/philox.h"
#include "runtime/lib/strided.h"

#pragma GCC target("avx2,fma")  // which generated code needs too
#include "runtime/lib/functions/elementary.h"

namespace tandem::lib {
namespace {

#define FORMULA inline
#define NOT_A_NUMBER std::numeric_limits<double>::quiet_NaN()
#include "runtime/lib/formulas/draw.inl"
#undef NOT_A_NUMBER
#undef FORMULA

template <class Draw>
void drawElements(const LibraryCall& call, Draw draw) {
  auto* out = call.outputs[0].as<double>();
  parallelFor(call.outputs[0].numel(), 512, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      ElementStream stream = streamOf(call.scalars[0], call.scalars[1], i);
      out[i] = draw(stream, i);
    }
  });
}

}  // namespace

void gamma_draw(const LibraryCall& call) {
  Contiguous alpha(call.inputs[0]);
  const auto* a = alpha.as<double>();
  drawElements(call, [&](ElementStream& s, std::int64_t i) { return gammaDraw(s, a[i]); });
}
void poisson_draw(const LibraryCall& call) {
  Contiguous rates(call.inputs[0]);
  const auto* rate = rates.as<double>();
  drawElements(call, [&](ElementStream& s, std::int64_t i) { return poissonDraw(s, rate[i]); });
}
void binomial_draw(const LibraryCall& call) {
  Contiguous counts(call.inputs[0]);
  Contiguous probs(call.inputs[1]);
  const auto* n = counts.as<double>();
  const auto* p = probs.as<double>();
  drawElements(call, [&](ElementStream& s, std::int64_t i) { return binomialDraw(s, n[i], p[i]); });
}

}  // namespace tandem::lib
