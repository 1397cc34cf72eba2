// The interface through which the runtime reaches the code generators, which it does not link: `codegen` implements and
// registers one a kind of architecture when the compiler's shared object is opened. A deployed program does without.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/error.h"
#include "runtime/device/device.h"
#include "runtime/device/target.h"
#include "runtime/kernel/kernel_cache.h"
#include "runtime/kernel/kernel_signature.h"

namespace tandem {

class KernelCompiler {
 public:
  virtual ~KernelCompiler() = default;
  /// Does it make code for this architecture (`Target::architecture`)?
  virtual bool makesCodeFor(std::string_view architecture) const = 0;
  /// Object code that defines `symbol` as the kernel of `signature`, in the form that executors of the architecture
  /// load. Thread-safe. Throws InternalError naming the signature where it cannot be compiled.
  virtual std::string compile(const KernelSignature& signature, const std::string& symbol,
                              const std::string& architecture) = 0;
  /// Object code of a text in the language of the architecture's kernels, which names what it defines itself. Throws
  /// InternalError with the compiler's messages where it cannot be compiled, or where the architecture has no such
  /// language.
  virtual std::string compileSource(const KernelSource& source, const std::string& architecture) {
    fail<InternalError>("no source text is compiled for ", architecture, ": ", source.name);
  }
  /// Changes whenever generated code may: part of every cache key.
  virtual std::string version() const = 0;
};

/// What the compiler's shared object gets when it is opened: it has hidden copies of the runtime's own functions, which
/// know no devices.
struct CompilerHost {
  /// Once a kernel compiler; they live as long as the process.
  void (*addKernelCompiler)(KernelCompiler* compiler);
  /// A GraphCompiler*, of which the runtime knows nothing.
  void (*setGraphCompiler)(void* compiler);
  /// Executor::target of a device.
  const Target& (*targetOf)(Device device);
};
/// Adds a compiler. Of several for an architecture the one added last is taken.
void registerKernelCompiler(KernelCompiler* compiler);
/// The compiler for an architecture, opening the shared object if need be. Throws InternalError naming the missing
/// object, or the architecture that no compiler makes code for.
KernelCompiler& kernelCompiler(std::string_view architecture);
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
