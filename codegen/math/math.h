// All functions a scalar body may call, as `math::NAME(builder, arguments...)`. See builder.h for what a builder is.
//
//   common.h         values with operators; Horner, reductions, exact sums
//   basic.h          arithmetic, comparison, choice, remainders
//   exp.h, log.h, pow.h, trig.h, inverse_trig.h, hyperbolic.h, erf.h, erfinv.h, gamma.h, activations.h, log_space.h
//   bessel.h, airy.h, normal.h   Bessel and Airy functions; the normal distribution's logarithm, inverse, scaled tail
//   bitwise.h        shifts by a variable number of places
//   parts.h          mantissas, exponents and neighbours of numbers
//   product.h        the product of a running product, where subnormal numbers come of it
//   random.h         counter-based random numbers
//   optim.h          optimizer updates
//
// At most 2 ULP in float32 and 4 in float64 (20 in bessel.h, airy.h and normal.h), subnormals, infinities, NaN and
// signed zeros included (tests/unit/test_vector_math.cpp, tests/python/operations/test_vector_math.py).
#pragma once

#include "codegen/math/activations.h"
#include "codegen/math/airy.h"
#include "codegen/math/basic.h"
#include "codegen/math/bessel.h"
#include "codegen/math/bitwise.h"
#include "codegen/math/builder.h"
#include "codegen/math/common.h"
#include "codegen/math/erf.h"
#include "codegen/math/erfinv.h"
#include "codegen/math/exp.h"
#include "codegen/math/gamma.h"
#include "codegen/math/hyperbolic.h"
#include "codegen/math/inverse_trig.h"
#include "codegen/math/log.h"
#include "codegen/math/log_space.h"
#include "codegen/math/normal.h"
#include "codegen/math/optim.h"
#include "codegen/math/parts.h"
#include "codegen/math/pow.h"
#include "codegen/math/product.h"
#include "codegen/math/random.h"
#include "codegen/math/trig.h"
