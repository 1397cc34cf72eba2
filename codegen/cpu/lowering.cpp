#include "codegen/cpu/lowering.h"

#include <fstream>

#include "codegen/cpu/kernel_frame.h"
#include "llvm/IR/Module.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "runtime/base/error.h"

namespace tandem::codegen {

namespace {

mlir::DialectRegistry dialects() {
  mlir::DialectRegistry registry;
  registry.insert<mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect, mlir::math::MathDialect,
                  mlir::scf::SCFDialect, mlir::vector::VectorDialect, mlir::LLVM::LLVMDialect>();
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  return registry;
}

}  // namespace

struct KernelContext::Impl {
  Impl() : context(dialects(), mlir::MLIRContext::Threading::DISABLED) {
    context.loadAllAvailableDialects();
    // Created once all dialects are there: the patterns of a conversion are its larger cost.
    mlir::LowerToLLVMOptions options(&context);
    converter = std::make_unique<mlir::LLVMTypeConverter>(&context, options);
    mlir::RewritePatternSet set(&context);
    mlir::populateSCFToControlFlowConversionPatterns(set);
    mlir::cf::populateControlFlowToLLVMConversionPatterns(*converter, set);
    mlir::arith::populateArithToLLVMConversionPatterns(*converter, set);
    mlir::populateMathToLLVMConversionPatterns(*converter, set);
    mlir::populateVectorToLLVMConversionPatterns(*converter, set);
    patterns = mlir::FrozenRewritePatternSet(std::move(set));
  }

  mlir::MLIRContext context;
  std::unique_ptr<mlir::LLVMTypeConverter> converter;
  mlir::FrozenRewritePatternSet patterns;
};

KernelContext::KernelContext() : impl_(std::make_unique<Impl>()) {}
KernelContext::~KernelContext() = default;

std::unique_ptr<llvm::Module> KernelContext::lower(const KernelSignature& signature, const std::string& symbol,
                                                   int lanes, llvm::LLVMContext& llvm, const std::string& dumpTo) {
  mlir::MLIRContext& context = impl_->context;
  std::string diagnostics;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic& d) {
    diagnostics += d.str() + "\n";
    return mlir::success();
  });
  mlir::OwningOpRef<mlir::ModuleOp> module(mlir::ModuleOp::create(mlir::UnknownLoc::get(&context)));
  auto text = [&] {
    std::string out;
    llvm::raw_string_ostream stream(out);
    module->print(stream, mlir::OpPrintingFlags().assumeVerified());
    return out;
  };

  // One vector is all lanes of the leading class.
  if (signature.kind == KernelKind::Leading) lanes = static_cast<int>(kLeadingLanes);
  KernelFrame frame(*module, signature, symbol, lanes);
  if (signature.kind == KernelKind::Column)
    emitColumnLoops(frame);
  else
    signature.kind == KernelKind::Short ? emitShortLoops(frame) : emitRowLoops(frame);
  frame.finish();
  if (!dumpTo.empty()) std::ofstream(dumpTo) << text();
  auto require = [&](bool ok, const char* stage) {
    if (ok) return;
    failedText_ = text();
    fail<InternalError>(stage, ": ", diagnostics.empty() ? "no diagnostic" : diagnostics);
  };
#ifndef NDEBUG
  require(mlir::succeeded(mlir::verify(*module)), "verification of the emitted IR");
#endif
  mlir::LLVMConversionTarget target(context);
  target.addLegalOp<mlir::ModuleOp>();
  require(mlir::succeeded(mlir::applyFullConversion(*module, target, impl_->patterns)), "conversion to LLVM");
  std::unique_ptr<llvm::Module> lowered =
      mlir::translateModuleToLLVMIR(*module, llvm, symbol, /*disableVerification=*/true);
  require(lowered != nullptr, "translation to LLVM IR");
  return lowered;
}

}  // namespace tandem::codegen
