#include "codegen/cpu/cpu_compiler.h"

#include <chrono>
#include <fstream>
#include <map>
#include <string>

#include "codegen/compile_log.h"
#include "codegen/cpu/lowering.h"
#include "codegen/cpu/object_code.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/base/error.h"
#include "runtime/kernel/generator_version.h"

namespace tandem::codegen {

namespace {

/// Lanes of a vector of float32; 0 for what this compiler makes no code for.
int lanesOf(std::string_view architecture) {
  return architecture == "x86-64-v4" ? 16 : architecture == "x86-64-v3" ? 8 : 0;
}

}  // namespace

struct CpuCompiler::Instance {
  KernelContext context;
  std::map<std::string, ObjectCode> objectCode;  // by architecture
};

CpuCompiler::CpuCompiler() = default;
CpuCompiler::~CpuCompiler() = default;

std::unique_ptr<CpuCompiler::Instance> CpuCompiler::borrow() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Instance> instance = std::move(idle_.back());
      idle_.pop_back();
      return instance;
    }
  }
  return std::make_unique<Instance>();
}

void CpuCompiler::giveBack(std::unique_ptr<Instance> instance) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(instance));
}

bool CpuCompiler::makesCodeFor(std::string_view architecture) const { return lanesOf(architecture) != 0; }

std::string CpuCompiler::compile(const KernelSignature& signature, const std::string& symbol,
                                 const std::string& architecture) {
  if (!makesCodeFor(architecture)) fail<InternalError>("no kernels for the instruction set ", architecture);
  const auto start = std::chrono::steady_clock::now();
  const std::string dump = dumpFile(symbol);
  std::unique_ptr<Instance> instance = borrow();
  std::string object;
  try {
    ObjectCode& code = instance->objectCode.try_emplace(architecture, architecture).first->second;
    llvm::LLVMContext context;
    const std::unique_ptr<llvm::Module> module =
        instance->context.lower(signature, symbol, lanesOf(architecture), context, dump.empty() ? "" : dump + ".mlir");
    if (!dump.empty()) {
      std::string text = "; " + signature.text() + "\n";
      llvm::raw_string_ostream stream(text);
      module->print(stream, nullptr);
      std::ofstream(dump + ".ll") << text;
    }
    object = code.compile(*module);
  } catch (const std::exception& error) {
    // The instance is dropped: what state its context is in is not known.
    const std::string file = dump.empty() ? failureFile(symbol, ".mlir") : dump + ".mlir";
    if (dump.empty()) std::ofstream(file) << instance->context.failedText();
    fail<InternalError>("cannot compile the kernel ", signature.text(), ": ", error.what(), " (IR in ", file, ")");
  }
  giveBack(std::move(instance));
  logKernel(symbol, start, object.size(), signature.text());
  return object;
}

std::string CpuCompiler::version() const { return std::string(kGeneratorVersion) + "-llvm" + llvmVersion(); }

}  // namespace tandem::codegen
