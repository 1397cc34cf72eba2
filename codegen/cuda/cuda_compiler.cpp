#include "codegen/cuda/cuda_compiler.h"

#include <fstream>

#include "codegen/compile_log.h"
#include "codegen/cuda/kernel_text.h"
#include "codegen/cuda/nvrtc.h"
#include "codegen/cuda/texts.h"
#include "runtime/base/error.h"
#include "runtime/kernel/generator_version.h"

namespace tandem::codegen::cuda {

namespace {

/// Compiles a text and tells who looks; `what` names it.
std::string compileText(const std::string& text, const std::string& name, const std::string& what,
                        const std::string& architecture) {
  const auto start = std::chrono::steady_clock::now();
  const std::string dump = dumpFile(name);
  if (!dump.empty()) std::ofstream(dump + ".cu") << text;
  try {
    std::string code = compileCuda(text, name + ".cu", architecture).code;
    logKernel(name, start, code.size(), what);
    return code;
  } catch (const InternalError& error) {
    const std::string file = dump.empty() ? failureFile(name, ".cu") : dump + ".cu";
    if (dump.empty()) std::ofstream(file) << text;
    fail<InternalError>("cannot compile the kernel ", what, ": ", error.what(), " (text in ", file, ")");
  }
}

}  // namespace

std::string wholeText(const KernelSignature& signature, const std::string& symbol) {
  return strcat(kPreludeText, "\n", kernelText(signature, symbol));
}

bool CudaCompiler::makesCodeFor(std::string_view architecture) const {
  return architecture.starts_with("sm_") || architecture.starts_with("compute_");
}

std::string CudaCompiler::compile(const KernelSignature& signature, const std::string& symbol,
                                  const std::string& architecture) {
  return compileText(wholeText(signature, symbol), symbol, signature.text(), architecture);
}

std::string CudaCompiler::compileSource(const KernelSource& source, const std::string& architecture) {
  return compileText(source.text, source.name, source.name, architecture);
}

std::string CudaCompiler::version() const { return std::string(kGeneratorVersion) + "-nvrtc" + nvrtcVersion(); }

}  // namespace tandem::codegen::cuda
