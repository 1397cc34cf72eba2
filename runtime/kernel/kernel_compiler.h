// The interface through which the runtime reaches the code generator, which it does not link: `codegen` implements
// and registers it when the compiler's shared object is opened. A deployed program does without one.
#pragma once

#include <string>
#include <vector>

#include "runtime/kernel/kernel_signature.h"

namespace tandem {

class KernelCompiler {
 public:
  virtual ~KernelCompiler() = default;
  /// A relocatable ELF object (x86-64) that defines `symbol` as a KernelFn for `signature` on `isa`. Thread-safe.
  /// Throws InternalError naming the signature where it cannot be compiled.
  virtual std::string compile(const KernelSignature& signature, const std::string& symbol, const std::string& isa) = 0;
  /// Changes whenever generated code may: part of every cache key.
  virtual std::string version() const = 0;
};

/// Called by the compiler's shared object; null unregisters.
void registerKernelCompiler(KernelCompiler* compiler);
/// The registered compiler, opening the shared object if need be. Throws InternalError naming the missing object.
KernelCompiler& kernelCompiler();
/// Opens the shared object unless that is done. Throws InternalError naming it where it is missing or cannot be opened.
void openCompiler();
/// `registrar` gets the graph compiler of the shared object (a GraphCompiler*, of which the runtime knows nothing) when
/// that is opened, at once if it is open.
void onGraphCompiler(void (*registrar)(void*));
/// Names what compiles here without opening it: the build id of the shared object, empty where there is none.
const std::string& compilerIdentity();
/// Starts opening the compiler's shared object in the background, and warming it up.
void openCompilerInBackground();
/// Waits until that has ended: before the process takes down what the compiler stands on.
void awaitCompilerOpening();

}  // namespace tandem
