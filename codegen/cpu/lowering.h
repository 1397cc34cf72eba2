// From the emitter's MLIR to LLVM IR: one conversion with all patterns, then the translation. A context of its own per
// user (`KernelContext`), because MLIR contexts are costly to fill and are not shared by threads here.
#pragma once

#include <memory>
#include <string>

#include "runtime/kernel/kernel_signature.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace tandem::codegen {

class KernelContext {
 public:
  KernelContext();
  ~KernelContext();
  KernelContext(const KernelContext&) = delete;
  KernelContext& operator=(const KernelContext&) = delete;

  /// The kernel of `signature` under the name `symbol`, with vectors of `lanes` elements. Writes the MLIR text to
  /// `dumpTo` unless that is empty. InternalError with the diagnostics where a stage fails; the text of what failed is
  /// then in `failedText`.
  std::unique_ptr<llvm::Module> lower(const KernelSignature& signature, const std::string& symbol, int lanes,
                                      llvm::LLVMContext& llvm, const std::string& dumpTo);
  [[nodiscard]] const std::string& failedText() const { return failedText_; }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::string failedText_;
};

}  // namespace tandem::codegen
