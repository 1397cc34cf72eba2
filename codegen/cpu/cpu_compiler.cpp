#include "codegen/cpu/cpu_compiler.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "codegen/cpu/lowering.h"
#include "codegen/cpu/object_code.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/base/error.h"
#include "runtime/kernel/generator_version.h"

namespace tandem::codegen {

namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Lanes of a vector of float32; 0 for what this compiler makes no code for.
int lanesOf(std::string_view architecture) {
  return architecture == "x86-64-v4" ? 16 : architecture == "x86-64-v3" ? 8 : 0;
}

/// Where what failed is written when TANDEM_DUMP names no directory.
std::string failureFile(const std::string& symbol) {
  std::error_code ignored;
  return (std::filesystem::temp_directory_path(ignored) / ("tandem_" + symbol + ".mlir")).string();
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
  const std::string dumpDirectory = environment("TANDEM_DUMP");
  std::string dump;
  if (!dumpDirectory.empty()) {
    std::error_code ignored;
    std::filesystem::create_directories(dumpDirectory, ignored);
    dump = dumpDirectory + "/" + symbol;
  }
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
    const std::string file = dump.empty() ? failureFile(symbol) : dump + ".mlir";
    if (dump.empty()) std::ofstream(file) << instance->context.failedText();
    fail<InternalError>("cannot compile the kernel ", signature.text(), ": ", error.what(), " (IR in ", file, ")");
  }
  giveBack(std::move(instance));
  if (environment("TANDEM_LOG").find("kernels") != std::string::npos) {
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
    std::fprintf(stderr, "tandem: kernel %s: %.2f ms, %zu bytes: %s\n", symbol.c_str(), taken.count(), object.size(),
                 signature.text().c_str());
  }
  return object;
}

std::string CpuCompiler::version() const { return std::string(kGeneratorVersion) + "-llvm" + llvmVersion(); }

}  // namespace tandem::codegen
