// The vocabulary of scalar bodies and of the vector math, written once as templates over a builder `B`. A builder is
// what an expression becomes: MLIR vector operations (codegen/cpu), plain C++ scalars (tests), CUDA text (later).
//
// What a builder provides. `V` is a copyable handle to a value of one dtype, in as many lanes as the builder likes;
// every method is lane-wise, and one IEEE operation (round to nearest even, no contraction, no flushing):
//
//   DType dtype(V)                            Bool, UInt8, Int8 ... Int64, Float32, Float64. Never a half type: the
//                                             emitter widens those before a body and rounds after it
//   V cst(V like, double value)               a constant of like's dtype (floating, or an integral value of an integer)
//   V bitsCst(V like, std::uint64_t bits)     an integer constant as wide as `like`: Int32 or Int64 (also for floats)
//   V add sub mul (V, V)                      floats; wrapping integers
//   V div(V, V)                               floats; integers truncate (a zero divisor gives 0, never a trap)
//   V rem(V, V)                               floats: fmod, exact; integers: remainder of `div`, zero divisor gives 0
//   V inverse(V)                              1 / x, as div rounds it, of |x| in [2^-125, 2^126); elsewhere any value
//                                             that is NaN for NaN
//   bool scales(V y)                          is there one operation for `scale` of it?
//   V scale(V y, V k)                         y * 2^k, rounded once, of a whole k; called where there is
//   V fma(V, V, V), V sqrt(V)                 floats
//   V neg(V), V abs(V)                        floats: sign bit only; wrapping integers
//   V floor ceil trunc roundeven (V)          floats
//   V lt le gt ge eq ne (V, V)                Bool. Ordered (false for NaN) but `ne`, which is true for NaN
//   V select(V c, V a, V b)                   c is Bool
//   V and_ or_ xor_ (V, V), V not_(V)         Bool or integers
//   V shl lshr ashr (V, int)                  integers, by a constant
//   V bits(V), V flt(V)                       bit casts between a float and the signed integer of its width
//   V cast(V, DType)                          numeric conversion; float to integer truncates and saturates, NaN to 0;
//                                             to Bool is `!= 0`
//   template <class F> std::array<V, N> ifAny(V mask, F then, std::array<V, N> otherwise)
//                                             the values of then() where any lane of mask is set anywhere in the
//                                             block, `otherwise` elsewhere. A licence to skip work, never to change
//                                             results: callers select per lane afterwards
//   V index()                                 the point's logical linear index (Int64); bodies of random operations
#pragma once

#include <array>
#include <cstdint>

#include "runtime/base/dtype.h"
