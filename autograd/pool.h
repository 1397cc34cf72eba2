// Memory of nodes and metas: blocks of a few sizes, kept by the thread that freed them. A node is made and freed with
// every differentiable operation; the general allocator took a third of such an operation's instructions.
#pragma once

#include <cstddef>

namespace tandem {

void* poolAllocate(std::size_t bytes);
void poolFree(void* p, std::size_t bytes);

}  // namespace tandem
