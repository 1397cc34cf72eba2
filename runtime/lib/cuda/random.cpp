// randperm, gamma_draw, poisson_draw, binomial_draw: the CPU's numbers, made by the text that it compiles too.
#include <string>

#include "runtime/lib/cuda/operands.h"
#include "runtime/lib/cuda/radix_sort.h"
#include "runtime/lib/cuda/table.h"
#include "runtime/lib/cuda/texts.h"

namespace tandem::cuda::lib {
namespace {

const Source& source() {
  static const std::string text = std::string(kPhiloxText) + kElementaryText + kDrawText + kRandomText;
  static const Source source("random", text.c_str());
  return source;
}

}  // namespace

void randperm(const LibraryCall& call) {
  const std::int64_t n = AttrReader(call.attrs).integer();
  const Workspace keys(static_cast<std::size_t>(n) * sizeof(std::uint64_t));
  auto* values = call.outputs[0].as<std::int64_t>();
  launch(source().kernel("permutationKeys"), elementwise(n), n, call.scalars[0], call.scalars[1],
         keys.as<std::uint64_t>(), values);
  sortPairs(keys.as<std::uint64_t>(), values, 1, n, 64);
}

void gamma_draw(const LibraryCall& call) {
  const Dense alpha(call.inputs[0]);
  const std::int64_t n = call.outputs[0].numel();
  launch(source().kernel("gammaDraws"), elementwise(n), n, call.scalars[0], call.scalars[1], alpha.data(),
         call.outputs[0].data);
}
void poisson_draw(const LibraryCall& call) {
  const Dense rate(call.inputs[0]);
  const std::int64_t n = call.outputs[0].numel();
  launch(source().kernel("poissonDraws"), elementwise(n), n, call.scalars[0], call.scalars[1], rate.data(),
         call.outputs[0].data);
}
void binomial_draw(const LibraryCall& call) {
  const Dense count(call.inputs[0]);
  const Dense prob(call.inputs[1]);
  const std::int64_t n = call.outputs[0].numel();
  launch(source().kernel("binomialDraws"), elementwise(n), n, call.scalars[0], call.scalars[1], count.data(),
         prob.data(), call.outputs[0].data);
}

namespace {

const Registered here{{"randperm", &randperm},
                      {"gamma_draw", &gamma_draw},
                      {"poisson_draw", &poisson_draw},
                      {"binomial_draw", &binomial_draw}};

}  // namespace

}  // namespace tandem::cuda::lib
