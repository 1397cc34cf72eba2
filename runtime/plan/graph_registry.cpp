#include "runtime/plan/graph_registry.h"

#include <atomic>

#include "runtime/base/error.h"
#include "runtime/kernel/kernel_compiler.h"

namespace tandem {

namespace {
std::atomic<void*> registered{nullptr};
}  // namespace

void* openGraphCompiler() {
  if (void* compiler = registered.load(std::memory_order_acquire)) return compiler;
  openCompiler();
  onGraphCompiler([](void* compiler) { registered.store(compiler, std::memory_order_release); });
  void* compiler = registered.load(std::memory_order_acquire);
  TANDEM_CHECK(compiler != nullptr, "the compiler's shared object has no graph compiler");
  return compiler;
}

}  // namespace tandem
