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
Compiled compileText(const std::string& text, const std::string& name, const std::string& what,
                     const std::string& architecture) {
  const auto start = std::chrono::steady_clock::now();
  const std::string dump = dumpFile(name);
  if (!dump.empty()) std::ofstream(dump + ".cu") << text;
  try {
    Compiled compiled = compileCuda(text, name + ".cu", architecture);
    logKernel(name, start, compiled.code.size(), what);
    return compiled;
  } catch (const InternalError& error) {
    const std::string file = dump.empty() ? failureFile(name, ".cu") : dump + ".cu";
    if (dump.empty()) std::ofstream(file) << text;
    fail<InternalError>("cannot compile the kernel ", what, ": ", error.what(), " (text in ", file, ")");
  }
}

}  // namespace

std::string wholeText(const KernelSignature& signature, const std::string& symbol, const Tries& tries) {
  return strcat(kPreludeText, "\n", kernelText(signature, symbol, tries));
}

bool CudaCompiler::makesCodeFor(std::string_view architecture) const {
  return architecture.starts_with("sm_") || architecture.starts_with("compute_");
}

std::string CudaCompiler::compile(const KernelSignature& signature, const std::string& symbol,
                                  const std::string& architecture) {
  // Registers are not known of PTX, which a driver compiles.
  Tries tries = architecture.starts_with("sm_") ? Tries() : Tries::last(signature);
  // Of a list a few are better spilled, of what its threads share, than a block fewer.
  const int mostSpilled = signature.kind == KernelKind::List ? 16 : 0;
  while (true) {
    const Compiled compiled = compileText(wholeText(signature, symbol, tries), symbol, signature.text(), architecture);
    bool again = false;
    for (const Entry entry : {Entry::Whole, Entry::Brief})
      if (compiled.spilled(entryName(symbol, entry)) > mostSpilled) again = tries.next(signature, entry) || again;
    if (!again) return compiled.code;
  }
}

std::string CudaCompiler::compileSource(const KernelSource& source, const std::string& architecture) {
  return compileText(source.text, source.name, source.name, architecture).code;
}

std::string CudaCompiler::version() const { return std::string(kGeneratorVersion) + "-nvrtc" + nvrtcVersion(); }

}  // namespace tandem::codegen::cuda
