// The families of orthogonal polynomials, as the attribute of the operation that evaluates them names them.
#pragma once

#include <cstdint>

namespace tandem {

enum class Polynomial : std::uint8_t {
  ChebyshevT,
  ChebyshevU,
  ChebyshevV,
  ChebyshevW,
  HermiteH,
  HermiteHe,
  Laguerre,
  Legendre,
};

}  // namespace tandem
