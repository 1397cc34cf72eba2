// One function, compiled for the instruction sets that matter to it; which one runs never matters to the bits.
#pragma once

#include "runtime/device/isa.h"

// Of a lambda, and of what it calls: compiled with what calls it, for the same instruction set.
#if defined(__GNUC__)
#define TANDEM_INLINED __attribute__((always_inline))
#else
#define TANDEM_INLINED
#endif

namespace tandem::lib {

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
namespace clones {
template <class F>
[[gnu::target("arch=x86-64-v4"), gnu::noinline]] auto avx512(const F& f) {
  return f();
}
template <class F>
[[gnu::target("arch=x86-64-v3"), gnu::noinline]] auto avx2(const F& f) {
  return f();
}
}  // namespace clones

/// What `f` returns, a TANDEM_INLINED lambda that calls always-inlined functions only: they run with the instruction
/// set that generated kernels run with (hostIsa).
template <class F>
auto withHostIsa(const F& f) {
  return hasAvx512() ? clones::avx512(f) : clones::avx2(f);
}
/// The same for what wider vectors bring no time: with AVX2, which every CPU we run on has.
template <class F>
auto withAvx2(const F& f) {
  return clones::avx2(f);
}
/// With AVX-512, which this CPU has to have.
template <class F>
auto withAvx512(const F& f) {
  return clones::avx512(f);
}
#else
template <class F>
auto withHostIsa(const F& f) {
  return f();
}
template <class F>
auto withAvx2(const F& f) {
  return f();
}
template <class F>
auto withAvx512(const F& f) {
  return f();
}
#endif

}  // namespace tandem::lib
