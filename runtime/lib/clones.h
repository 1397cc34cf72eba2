#pragma once

// One function, compiled for the instruction sets that matter to it; which one runs never matters to the bits.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&               \
    !defined(__SANITIZE_THREAD__)
#define TANDEM_CLONES [[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]]
#else
#define TANDEM_CLONES
#endif

// Of a lambda in such a function: compiled with each of its clones, not once for the least of them.
#if defined(__GNUC__)
#define TANDEM_INLINED __attribute__((always_inline))
#else
#define TANDEM_INLINED
#endif
