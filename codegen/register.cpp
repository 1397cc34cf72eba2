// The one symbol that the runtime looks up in the compiler's shared object. What it registers is handed to functions
// of the caller, because the shared object has hidden copies of the runtime's own.
#include "codegen/register.h"

#include "codegen/cpu/cpu_compiler.h"
#include "ir/schema/op_table.h"

namespace tandem::codegen {

namespace {
void*& graphCompiler() {
  static void* compiler = nullptr;
  return compiler;
}
}  // namespace

void offerGraphCompiler(void* compiler) { graphCompiler() = compiler; }

}  // namespace tandem::codegen

extern "C" [[gnu::visibility("default")]] void tandemCompilerInit(void (*registerKernel)(tandem::KernelCompiler*),
                                                                  void (*registerGraph)(void*)) {
  // Never destroyed: kernels may be compiled by threads that outlive static objects.
  static auto* const compiler = new tandem::codegen::CpuCompiler;
  tandem::setOpNamer([](tandem::OpCode op) { return tandem::facts(op).name; });
  registerKernel(compiler);
  if (void* graph = tandem::codegen::graphCompiler(); graph != nullptr) registerGraph(graph);
}
