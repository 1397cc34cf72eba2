// Runs passes on a file of the dialect td: `td-opt --td-canonicalize --td-fuse program.mlir`, `td-opt --td-pipeline`.
// `--td-print-kernels` prints the LLVM IR of the kernels that a program's plan launches, before LLVM's own passes, and
// `--td-print-kernels=cuda` their CUDA C++.
#include <mlir/Tools/mlir-opt/MlirOptMain.h>

#include "codegen/cpu/lowering.h"
#include "codegen/cuda/kernel_text.h"
#include "ir/dialect/td.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "passes/pipeline.h"
#include "runtime/kernel/kernel_signature.h"

namespace {

class PrintKernels : public mlir::PassWrapper<PrintKernels, tandem::passes::FunctionPass> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrintKernels)
  PrintKernels() = default;
  PrintKernels(const PrintKernels& other) : PassWrapper(other) {}
  llvm::StringRef getArgument() const override { return "td-print-kernels"; }
  llvm::StringRef getName() const override { return "print_kernels"; }
  llvm::StringRef getDescription() const override { return "Prints the kernels of a program"; }

  void runOnOperation() override {
    // The passes change the program; what is printed after this pass is as it was.
    const mlir::OwningOpRef<mlir::func::FuncOp> function(getOperation().clone());
    tandem::Plan plan;
    tandem::passes::runPipeline(*function, plan);
    tandem::codegen::KernelContext context;
    for (const tandem::KernelSignature& kernel : plan.kernels) {
      if (cuda_) {
        llvm::outs() << tandem::codegen::cuda::kernelText(kernel, "kernel", {});
        continue;
      }
      llvm::LLVMContext llvm;
      llvm::outs() << "; kernel " << kernel.text() << "\n";
      context.lower(kernel, "kernel", lanes_, llvm, "")->print(llvm::outs(), nullptr);
    }
  }

 private:
  Option<int> lanes_{*this, "lanes", llvm::cl::desc("Elements of a vector: 8 for x86-64-v3, 16 for v4"),
                     llvm::cl::init(8)};
  Option<bool> cuda_{*this, "cuda", llvm::cl::desc("CUDA C++ instead of LLVM IR"), llvm::cl::init(false)};
};

}  // namespace

int main(int argc, char** argv) {
  mlir::DialectRegistry registry;
  registry.insert<tandem::td::TDDialect, mlir::func::FuncDialect>();
  tandem::passes::registerPasses();
  mlir::PassRegistration<PrintKernels>();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Passes on the dialect td\n", registry));
}
