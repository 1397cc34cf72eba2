#include "codegen/cpu/object_code.h"

#include <mutex>

#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/BasicAliasAnalysis.h"
#include "llvm/Analysis/BlockFrequencyInfo.h"
#include "llvm/Analysis/BranchProbabilityInfo.h"
#include "llvm/Analysis/LastRunTrackingAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/MemorySSA.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/Analysis/ProfileSummaryInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#ifdef __SANITIZE_ADDRESS__
#include "llvm/Transforms/Instrumentation/AddressSanitizer.h"
#endif
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "runtime/base/error.h"

namespace tandem::codegen {

namespace {

/// The new pass manager's caches, with exactly the analyses that the passes below ask for.
class Analyses {
 public:
  explicit Analyses(llvm::TargetMachine& machine) : library_(machine.getTargetTriple()) {
    library_.disableAllFunctions();
    function.registerPass([&] { return machine.getTargetIRAnalysis(); });
    function.registerPass([&] { return llvm::TargetLibraryAnalysis(library_); });
    function.registerPass([] { return llvm::AssumptionAnalysis(); });
    function.registerPass([] { return llvm::DominatorTreeAnalysis(); });
    function.registerPass([] { return llvm::PostDominatorTreeAnalysis(); });
    function.registerPass([] { return llvm::LoopAnalysis(); });
    function.registerPass([] { return llvm::ScalarEvolutionAnalysis(); });
    function.registerPass([] { return llvm::MemorySSAAnalysis(); });
    function.registerPass([] { return llvm::BasicAA(); });
    function.registerPass([] { return llvm::BranchProbabilityAnalysis(); });
    function.registerPass([] { return llvm::BlockFrequencyAnalysis(); });
    function.registerPass([] { return llvm::OptimizationRemarkEmitterAnalysis(); });
    function.registerPass([] { return llvm::LastRunTrackingAnalysis(); });
    function.registerPass([] {
      llvm::AAManager aliases;
      aliases.registerFunctionAnalysis<llvm::BasicAA>();
      return aliases;
    });
    function.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
    module.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
    module.registerPass([] { return llvm::ProfileSummaryAnalysis(); });
    loop.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
    module.registerPass([&] { return llvm::FunctionAnalysisManagerModuleProxy(function); });
    function.registerPass([&] { return llvm::ModuleAnalysisManagerFunctionProxy(module); });
    function.registerPass([&] { return llvm::LoopAnalysisManagerFunctionProxy(loop); });
    loop.registerPass([&] { return llvm::FunctionAnalysisManagerLoopProxy(function); });
  }

  llvm::LoopAnalysisManager loop;
  llvm::FunctionAnalysisManager function;
  llvm::ModuleAnalysisManager module;

 private:
  llvm::TargetLibraryInfoImpl library_;
};

void optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  Analyses analyses(machine);
  llvm::LoopPassManager loops;
  loops.addPass(llvm::LoopRotatePass());
  loops.addPass(llvm::LICMPass(llvm::LICMOptions()));
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loops), /*UseMemorySSA=*/true));
  passes.addPass(llvm::EarlyCSEPass());
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) passes.run(function, analyses.function);
  }
}

#ifdef __SANITIZE_ADDRESS__
/// In a build under AddressSanitizer kernels are checked as what calls them is: all that they read and write, their own
/// buffers on the stack among it.
void checkAccesses(llvm::Module& module, llvm::TargetMachine& machine) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr(llvm::Attribute::SanitizeAddress);
    function.setDSOLocal(true);  // its frame names it
  }
  llvm::AddressSanitizerOptions options;
  options.UseAfterReturn = llvm::AsanDetectStackUseAfterReturnMode::Never;
  Analyses analyses(machine);
  llvm::AddressSanitizerPass(options, /*UseGlobalGC=*/false, /*UseOdrIndicator=*/false, llvm::AsanDtorKind::None,
                             llvm::AsanCtorKind::None)
      .run(module, analyses.module);
}
#endif

/// Sets an option of LLVM that has no other interface, as its command line does.
void setOption(llvm::StringRef name, llvm::StringRef value) {
  auto& all = llvm::cl::getRegisteredOptions();
  const auto option = all.find(name);
  TANDEM_CHECK(option != all.end() && !option->second->addOccurrence(0, name, value), "LLVM has no option ",
               name.str());
}

}  // namespace

ObjectCode::ObjectCode(const std::string& isa) : isa_(isa) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    // Loop strength reduction takes a quarter of the time of a kernel and makes it no faster: x86 scales and adds in
    // its addresses.
    setOption("disable-lsr", "true");
    // Innermost loops begin at multiples of 64 bytes: a short one that lies in two lines takes 1.5 times as long (Zen
    // 3).
    setOption("x86-experimental-pref-innermost-loop-alignment", "6");
#ifdef __SANITIZE_ADDRESS__
    setOption("asan-globals", "false");  // they would have to be registered when an object is loaded
    setOption("asan-use-stack-safety", "false");
#endif
  });
  const llvm::Triple triple("x86_64-unknown-linux-gnu");
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  TANDEM_CHECK(target != nullptr, error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  machine_.reset(target->createTargetMachine(triple, isa, isa == "x86-64-v4" ? "-prefer-256-bit" : "", options,
                                             llvm::Reloc::PIC_, llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default,
                                             /*JIT=*/false));
  TANDEM_CHECK(machine_ != nullptr, "no code generator for ", isa);
}

ObjectCode::~ObjectCode() = default;

std::string ObjectCode::compile(llvm::Module& module) {
  module.setTargetTriple(machine_->getTargetTriple());
  module.setDataLayout(machine_->createDataLayout());
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("target-cpu", isa_);
    function.addFnAttr(llvm::Attribute::NoUnwind);  // no tables for unwinding, which the loader would have to place
    if (isa_ == "x86-64-v4") function.addFnAttr("prefer-vector-width", "512");
  }
  optimize(module, *machine_);
#ifdef __SANITIZE_ADDRESS__
  checkAccesses(module, *machine_);
#endif
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager codegen;
  const bool unsupported = machine_->addPassesToEmitFile(codegen, stream, nullptr, llvm::CodeGenFileType::ObjectFile,
                                                         /*DisableVerify=*/true);
  TANDEM_CHECK(!unsupported, "the target emits no objects");
  codegen.run(module);
  return {bytes.begin(), bytes.end()};
}

std::string llvmVersion() { return LLVM_VERSION_STRING; }

}  // namespace tandem::codegen
