// Runs a kernel over its whole range: serial for small work, in tiles of the pool for large.
#pragma once

#include <span>

#include "runtime/kernel/kernel_signature.h"

namespace tandem {

/// `units` is the length of the kernel's range, `elementsPerUnit` about how many elements one unit touches. Counts one
/// launch. Bits do not depend on how the range is cut. `kind` is the kernel's: columns are cut into pieces as wide as
/// the kernel takes at once, since every row of a narrow one costs a cache line.
void launchKernel(KernelFn fn, const std::int64_t* args, std::int64_t units, std::int64_t elementsPerUnit,
                  KernelKind kind = KernelKind::Row);

/// Is an operand of an elementwise Row kernel dense across the rows, and far apart along them (a transposed matrix)?
/// Row by row each of its cache lines would be fetched for one element.
bool readsAcross(const std::int64_t* args, const ArgLayout& layout, std::span<const KernelOperand> operands);
/// Runs such a kernel in blocks of some rows and columns, which use every line they fetch. Not for kernels that reduce
/// or that know their index.
void launchAcross(KernelFn fn, const std::int64_t* args, const ArgLayout& layout,
                  std::span<const KernelOperand> operands);

}  // namespace tandem
