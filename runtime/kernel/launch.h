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

/// Does an operand of an elementwise Row kernel lie nearly across (collapse.h): a few bytes apart over the rows? Blocks
/// of some rows and columns then use every line that they fetch.
bool readsAcross(const std::int64_t* args, const ArgLayout& layout, std::span<const KernelOperand> operands);
/// Does the kernel take inputs that lie across as Unit ones?
bool takesAcross(const std::int64_t* args, const ArgLayout& layout, std::span<const KernelOperand> operands);
/// Runs such a kernel of either kind in blocks: of some rows and columns, or where it reduces of some whole rows (of a
/// Column kernel, columns). Inputs that it takes as Unit ones are transposed, block by block. Not for kernels that know
/// their index.
void launchAcross(KernelFn fn, const std::int64_t* args, const ArgLayout& layout,
                  std::span<const KernelOperand> operands, bool reduces);

}  // namespace tandem
