// What the module exports of each kernel. It stands before what NVRTC's stand-in appends to a text: a record a kernel.
#pragma once

#include "tests/emulation/shim/types.h"

#ifndef __has_builtin
#define __has_builtin(x) 0
#endif

namespace tandem::emulation {

template <unsigned... I>
struct Indices {};
#if __has_builtin(__integer_pack)
template <unsigned N>
using IndicesUpTo = Indices<__integer_pack(N)...>;
#else
template <class, unsigned... I>
using ListOf = Indices<I...>;
template <unsigned N>
using IndicesUpTo = __make_integer_seq<ListOf, unsigned, N>;
#endif

/// A name that the text mentions as a kernel, and a false branch of the preprocessor took away.
struct NoKernel {};

template <class F>
struct Signature;
template <class... A>
struct Signature<void (*)(A...)> {
  static constexpr unsigned sizes[] = {static_cast<unsigned>(sizeof(A))..., 0};
  static constexpr unsigned count = sizeof...(A);
  template <auto kernel, unsigned... I>
  static void runWith(void** parameters, Indices<I...>) {
    kernel(*static_cast<A*>(parameters[I])...);
  }
  template <auto kernel>
  static void run(void** parameters) {
    runWith<kernel>(parameters, IndicesUpTo<sizeof...(A)>());
  }
};

template <auto kernel, class F = decltype(kernel)>
struct Record {
  static constexpr KernelRecord of(const char* name, unsigned mostThreads) {
    return {name, Signature<F>::sizes, Signature<F>::count, mostThreads, Signature<F>::template run<kernel>};
  }
};
template <auto none>
struct Record<none, const NoKernel*> {
  static constexpr KernelRecord of(const char*, unsigned) { return {}; }
};

constexpr unsigned firstOf(unsigned first = 0, unsigned = 0, unsigned = 0) { return first; }

}  // namespace tandem::emulation

// A macro that a kernel's name is made with is replaced before these read it.
#define TANDEM_TEXT_(name) #name
#define TANDEM_TEXT(name) TANDEM_TEXT_(name)
#define TANDEM_KERNEL(name, ...)                                                                                       \
  tandem::emulation::Record<&::name>::of(TANDEM_TEXT(name), tandem::emulation::firstOf(__VA_ARGS__)),
