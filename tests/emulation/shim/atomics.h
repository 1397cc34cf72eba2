// Atomic functions, of the types for which CUDA has them. One thread runs at a time, so that plain reads and writes do.
#pragma once
#include "tests/emulation/shim/types.h"

// The function and its forms for the block and the system.
#define TANDEM_ATOMIC(T, name, expression)                                                                             \
  inline T name(T* at, T v) {                                                                                          \
    T old = *at;                                                                                                       \
    *at = expression;                                                                                                  \
    return old;                                                                                                        \
  }                                                                                                                    \
  inline T name##_block(T* at, T v) { return name(at, v); }                                                            \
  inline T name##_system(T* at, T v) { return name(at, v); }
#define TANDEM_ATOMIC_CAS(T)                                                                                           \
  inline T atomicCAS(T* at, T expected, T v) {                                                                         \
    T old = *at;                                                                                                       \
    if (old == expected) *at = v;                                                                                      \
    return old;                                                                                                        \
  }                                                                                                                    \
  inline T atomicCAS_block(T* at, T expected, T v) { return atomicCAS(at, expected, v); }                              \
  inline T atomicCAS_system(T* at, T expected, T v) { return atomicCAS(at, expected, v); }
#define TANDEM_ATOMICS(T)                                                                                              \
  TANDEM_ATOMIC(T, atomicMin, v < old ? v : old)                                                                       \
  TANDEM_ATOMIC(T, atomicMax, old < v ? v : old)                                                                       \
  TANDEM_ATOMIC(T, atomicAnd, old& v)                                                                                  \
  TANDEM_ATOMIC(T, atomicOr, old | v)                                                                                  \
  TANDEM_ATOMIC(T, atomicXor, old ^ v)
TANDEM_ATOMICS(int)
TANDEM_ATOMICS(unsigned)
TANDEM_ATOMICS(long long)
TANDEM_ATOMICS(unsigned long long)
TANDEM_ATOMIC(int, atomicAdd, static_cast<int>(static_cast<unsigned>(old) + static_cast<unsigned>(v)))
TANDEM_ATOMIC(unsigned, atomicAdd, old + v)
TANDEM_ATOMIC(unsigned long long, atomicAdd, old + v)
TANDEM_ATOMIC(float, atomicAdd, old + v)
TANDEM_ATOMIC(double, atomicAdd, old + v)
TANDEM_ATOMIC(int, atomicSub, static_cast<int>(static_cast<unsigned>(old) - static_cast<unsigned>(v)))
TANDEM_ATOMIC(unsigned, atomicSub, old - v)
TANDEM_ATOMIC(unsigned, atomicInc, old >= v ? 0 : old + 1)
TANDEM_ATOMIC(unsigned, atomicDec, old == 0 || old > v ? v : old - 1)
TANDEM_ATOMIC(int, atomicExch, v)
TANDEM_ATOMIC(unsigned, atomicExch, v)
TANDEM_ATOMIC(unsigned long long, atomicExch, v)
TANDEM_ATOMIC(float, atomicExch, v)
TANDEM_ATOMIC_CAS(int)
TANDEM_ATOMIC_CAS(unsigned)
TANDEM_ATOMIC_CAS(unsigned long long)
TANDEM_ATOMIC_CAS(unsigned short)
#undef TANDEM_ATOMIC
#undef TANDEM_ATOMICS
#undef TANDEM_ATOMIC_CAS
