// A reduction of memory that is not contiguous, as executors are asked for it: how the memory is best walked is theirs
// to know.
#pragma once

#include <cstddef>

#include "runtime/kernel/kernel_signature.h"
#include "runtime/lib/library.h"

namespace tandem {

/// Adjacent dims [begin, end) of `in` are reduced to `out`, which has their sizes as 1 and lies without gaps, in any
/// order. `trailing` is the class of the order in which elements are taken in (kernel_signature.h), which is the
/// logical one however `in` lies.
struct StridedReduction {
  OpCode op;
  ArrayView in;
  std::size_t begin;
  std::size_t end;
  bool trailing;
  /// Could a Row or Column kernel walk `in` as it is?
  bool merges;
  DType accumulator;
  ArrayView out;  // of a dtype that kernels store the accumulator in
};

}  // namespace tandem
