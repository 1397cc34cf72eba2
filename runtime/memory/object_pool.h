// Memory of the objects that every operation makes and frees (tensors, storages, nodes and what autograd keeps with
// them): blocks of a few sizes, kept by the thread that freed them. The general allocator took a third of a
// differentiable operation's instructions.
#pragma once

#include <cstddef>

namespace tandem {

void* poolAllocate(std::size_t bytes);
void poolFree(void* p, std::size_t bytes);

}  // namespace tandem
