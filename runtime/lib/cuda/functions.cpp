// Functions of float64 arrays, element by element.
#include <string>

#include "runtime/base/attrs.h"
#include "runtime/base/error.h"
#include "runtime/device/cuda/queue.h"
#include "runtime/lib/cuda/table.h"
#include "runtime/lib/cuda/texts.h"

namespace tandem::cuda::lib {
namespace {

const Source& gammaSource() {
  static const std::string text = std::string(kElementaryText) + kGammaText;
  static const Source source("gamma", text.c_str());
  return source;
}
constexpr Source kPolynomials("polynomials", kPolynomialsText);

constexpr std::int64_t kMostOrder = 8;  // as on the CPU

template <class... A>
void eachElement(const Function& kernel, const LibraryCall& call, const A&... rest) {
  const std::int64_t n = call.outputs[0].numel();
  launch(kernel, elementwise(n), flatView(call.inputs[0]), flatView(call.inputs[1]), call.outputs[0].data, n, rest...);
}

}  // namespace

void zeta(const LibraryCall& call) { eachElement(gammaSource().kernel("zeta", {{"ORDER", "0"}}), call); }
void gammainc(const LibraryCall& call) {
  eachElement(gammaSource().kernel("gammainc", {{"ORDER", "0"}}), call, AttrReader(call.attrs).integer());
}
void gamma_cdf_slope(const LibraryCall& call) {
  const std::int64_t order = AttrReader(call.attrs).integer();
  if (order < 1 || order > kMostOrder)
    fail("gamma_cdf_slope: derivatives of order 1 to ", kMostOrder, " are there, not of order ", order);
  eachElement(gammaSource().kernel("gammaCdfSlope", {{"ORDER", std::to_string(order)}}), call);
}

void orthogonal_polynomial(const LibraryCall& call) {
  AttrReader attrs(call.attrs);
  const std::int64_t family = attrs.integer();
  eachElement(kPolynomials.kernel("polynomials", {{"ELEMENT", typeName(call.outputs[0].dtype)}}), call, family,
              attrs.integer());
}

namespace {
const Registered here{{"zeta", &zeta},
                      {"gammainc", &gammainc},
                      {"gamma_cdf_slope", &gamma_cdf_slope},
                      {"orthogonal_polynomial", &orthogonal_polynomial}};
}  // namespace

}  // namespace tandem::cuda::lib
