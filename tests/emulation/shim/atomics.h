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
#pragma shim atomicMin
TANDEM_ATOMIC(int, atomicMin, v < old ? v : old)
TANDEM_ATOMIC(unsigned, atomicMin, v < old ? v : old)
TANDEM_ATOMIC(long long, atomicMin, v < old ? v : old)
TANDEM_ATOMIC(unsigned long long, atomicMin, v < old ? v : old)
#pragma shim atomicMax
TANDEM_ATOMIC(int, atomicMax, old < v ? v : old)
TANDEM_ATOMIC(unsigned, atomicMax, old < v ? v : old)
TANDEM_ATOMIC(long long, atomicMax, old < v ? v : old)
TANDEM_ATOMIC(unsigned long long, atomicMax, old < v ? v : old)
#pragma shim atomicAnd
TANDEM_ATOMIC(int, atomicAnd, old& v)
TANDEM_ATOMIC(unsigned, atomicAnd, old& v)
TANDEM_ATOMIC(long long, atomicAnd, old& v)
TANDEM_ATOMIC(unsigned long long, atomicAnd, old& v)
#pragma shim atomicOr
TANDEM_ATOMIC(int, atomicOr, old | v)
TANDEM_ATOMIC(unsigned, atomicOr, old | v)
TANDEM_ATOMIC(long long, atomicOr, old | v)
TANDEM_ATOMIC(unsigned long long, atomicOr, old | v)
#pragma shim atomicXor
TANDEM_ATOMIC(int, atomicXor, old ^ v)
TANDEM_ATOMIC(unsigned, atomicXor, old ^ v)
TANDEM_ATOMIC(long long, atomicXor, old ^ v)
TANDEM_ATOMIC(unsigned long long, atomicXor, old ^ v)
#pragma shim atomicAdd
TANDEM_ATOMIC(int, atomicAdd, static_cast<int>(static_cast<unsigned>(old) + static_cast<unsigned>(v)))
TANDEM_ATOMIC(unsigned, atomicAdd, old + v)
TANDEM_ATOMIC(unsigned long long, atomicAdd, old + v)
TANDEM_ATOMIC(float, atomicAdd, old + v)
TANDEM_ATOMIC(double, atomicAdd, old + v)
#pragma shim atomicSub atomicInc atomicDec
TANDEM_ATOMIC(int, atomicSub, static_cast<int>(static_cast<unsigned>(old) - static_cast<unsigned>(v)))
TANDEM_ATOMIC(unsigned, atomicSub, old - v)
TANDEM_ATOMIC(unsigned, atomicInc, old >= v ? 0 : old + 1)
TANDEM_ATOMIC(unsigned, atomicDec, old == 0 || old > v ? v : old - 1)
#pragma shim atomicExch
TANDEM_ATOMIC(int, atomicExch, v)
TANDEM_ATOMIC(unsigned, atomicExch, v)
TANDEM_ATOMIC(unsigned long long, atomicExch, v)
TANDEM_ATOMIC(float, atomicExch, v)
#pragma shim atomicCAS
TANDEM_ATOMIC_CAS(int)
TANDEM_ATOMIC_CAS(unsigned)
TANDEM_ATOMIC_CAS(unsigned long long)
TANDEM_ATOMIC_CAS(unsigned short)
