// The one symbol that the runtime looks up in the compiler's shared object. What it registers is handed to functions
// of the caller, because the shared object has hidden copies of the runtime's own.
#include "codegen/register.h"

#include "codegen/cpu/cpu_compiler.h"
#include "codegen/cuda/cuda_compiler.h"

namespace tandem::codegen {

namespace {
void*& graphCompiler() {
  static void* compiler = nullptr;
  return compiler;
}

using TargetOf = const Target& (*)(Device);
TargetOf& targets() {
  static TargetOf function = [](Device) -> const Target& {
    static const Target usual;
    return usual;
  };
  return function;
}
}  // namespace

const Target& targetOf(Device device) { return targets()(device); }

void offerGraphCompiler(void* compiler) { graphCompiler() = compiler; }

}  // namespace tandem::codegen

extern "C" [[gnu::visibility("default")]] void tandemCompilerInit(const tandem::CompilerHost& host) {
  // Never destroyed: kernels may be compiled by threads that outlive static objects.
  static tandem::KernelCompiler* const compilers[] = {new tandem::codegen::CpuCompiler,
                                                      new tandem::codegen::cuda::CudaCompiler};
  tandem::codegen::targets() = host.targetOf;
  for (tandem::KernelCompiler* compiler : compilers) host.addKernelCompiler(compiler);
  if (void* graph = tandem::codegen::graphCompiler(); graph != nullptr) host.setGraphCompiler(graph);
}
