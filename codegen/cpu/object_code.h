// From LLVM IR to an object: a short list of passes built directly, then instruction selection. Nothing in it may
// contract, reassociate or fold what is not exact: one pipeline makes the kernels of every mode.
#pragma once

#include <memory>
#include <string>

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace tandem::codegen {

class ObjectCode {
 public:
  /// `isa` is x86-64-v3 or x86-64-v4.
  explicit ObjectCode(const std::string& isa);
  ~ObjectCode();

  /// Relocatable ELF bytes. The module is used up.
  std::string compile(llvm::Module& module);

 private:
  std::string isa_;
  std::unique_ptr<llvm::TargetMachine> machine_;
};

std::string llvmVersion();

}  // namespace tandem::codegen
