// Runs passes on a file of the dialect td: `td-opt --td-canonicalize --td-fuse program.mlir`, `td-opt --td-pipeline`.
#include <mlir/Tools/mlir-opt/MlirOptMain.h>

#include "ir/dialect/td.h"
#include "passes/pipeline.h"
#include "runtime/kernel/kernel_signature.h"

int main(int argc, char** argv) {
  mlir::DialectRegistry registry;
  registry.insert<tandem::td::TDDialect, mlir::func::FuncDialect>();
  tandem::passes::registerPasses();
  tandem::setOpNamer([](tandem::OpCode op) { return tandem::facts(op).name; });
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Passes on the dialect td\n", registry));
}
