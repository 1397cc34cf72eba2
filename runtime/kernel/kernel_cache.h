// From signatures to kernels: what executors share. In memory a table from signature to kernel; of code, what open
// programs bring, the disk ($TANDEM_CACHE_DIR, else $XDG_CACHE_HOME/tandem), what is shipped beside the library, and
// last the compiler of the architecture. Programs and the package may have code for an earlier architecture, which runs
// as well (architectures.h). Thread-safe; any number of processes may share a cache directory.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/kernel/kernel.h"

namespace tandem {

/// The kernels of a device in memory.
class KernelTable {
 public:
  /// Makes the kernel of a signature that is new. It must be quick: code is looked for when the kernel is first needed.
  using Make = const Kernel* (*)(const KernelSignature& signature);
  explicit KernelTable(Make make) : make_(make) {}
  const Kernel* find(const KernelSignature& signature);

 private:
  Make make_;
  std::unordered_map<std::string, const Kernel*> kernels_;
};

/// A text in the language that the compiler of an architecture takes: CUDA C++ for GPUs. Kernels that no generator
/// makes.
struct KernelSource {
  std::string name;  // for messages and files
  std::string text;
};

/// The object code for an architecture; of a signature it defines `symbol`, of a source text what that defines.
using LoadCode = std::function<void(const std::string& object, const std::string& symbol)>;
/// Gives `load` what is there, then what the compiler makes. `load` throws InternalError where an object cannot
/// be loaded; one from a cache then counts as damaged and is made anew. Throws what compiling throws.
void findCode(const KernelSignature& signature, const std::string& architecture, const LoadCode& load);
/// The same of a source text; `symbol` says nothing.
void findSourceCode(const KernelSource& source, const std::string& architecture, const LoadCode& load);

/// Code that an open program brings, found while this lives.
class BroughtCode {
 public:
  BroughtCode() = default;
  ~BroughtCode();
  BroughtCode(const BroughtCode&) = delete;
  BroughtCode& operator=(const BroughtCode&) = delete;
  /// `symbol` as kernel_symbol.h has it; the object must live as long as this.
  void add(const std::string& architecture, const std::string& symbol, std::string_view object);

 private:
  std::vector<std::pair<std::string, std::string>> names_;
};

}  // namespace tandem
