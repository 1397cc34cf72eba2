#include "runtime/kernel/kernel_cache.h"

#include <mutex>
#include <pthread.h>
#include <shared_mutex>

#include "runtime/base/counters.h"
#include "runtime/base/error.h"
#include "runtime/kernel/disk_cache.h"
#include "runtime/kernel/generator_version.h"
#include "runtime/kernel/kernel_compiler.h"
#include "runtime/kernel/kernel_symbol.h"

namespace tandem {

namespace {

struct Locks {
  std::shared_mutex tables;
  std::shared_mutex forkGate;
  Locks* before = nullptr;  // the parent's, kept so that they count as no leak
};

// A fork waits until no kernel is being made, so that no child inherits a compiler at work. The child gets fresh locks:
// a reader-writer lock remembers its writer by thread id, which changes.
Locks*& locks() {
  static Locks* current = [] {
    ::pthread_atfork(
        [] {
          locks()->forkGate.lock();
          locks()->tables.lock();
        },
        [] {
          locks()->tables.unlock();
          locks()->forkGate.unlock();
        },
        [] {
          auto* const fresh = new Locks;
          fresh->before = locks();
          locks() = fresh;
        });
    return new Locks;  // never destroyed: threads may look up while the process ends
  }();
  return current;
}

}  // namespace

const Kernel* KernelTable::find(const KernelSignature& signature) {
  std::string bytes = signature.bytes();
  {
    const std::shared_lock lock(locks()->tables);
    if (const auto it = kernels_.find(bytes); it != kernels_.end()) {
      bump(counters().kernelCacheHits);
      return it->second;
    }
  }
  const std::unique_lock lock(locks()->tables);
  auto [it, fresh] = kernels_.try_emplace(std::move(bytes), nullptr);
  if (fresh) it->second = make_(signature);
  return it->second;
}

namespace {

/// Gives `load` what the caches hold under a key, then what `compile` makes.
void findObject(const std::string& architecture, std::string key, const std::string& symbol, const LoadCode& load,
                const std::function<std::string(KernelCompiler&)>& compile) {
  const std::shared_lock forks(locks()->forkGate);
  const CodeName name{architecture, std::move(key)};
  for (const std::string& object : readCachedObjects(name)) {
    try {
      load(object, symbol);
      bump(counters().kernelCacheHits);
      return;
    } catch (const InternalError&) {
      // Whole but not loadable: as good as damaged. It is made anew and rewritten.
    }
  }
  const std::string object = compile(kernelCompiler(architecture));
  bump(counters().kernelCompiles);
  writeCachedObject(name, object);
  load(object, symbol);
}

}  // namespace

void findCode(const KernelSignature& signature, const std::string& architecture, const LoadCode& load) {
  const std::string key = cacheKey({signature.bytes(), architecture, kGeneratorVersion, compilerIdentity()});
  const std::string symbol = kernelSymbol(signature, architecture);
  findObject(architecture, key, symbol, load,
             [&](KernelCompiler& compiler) { return compiler.compile(signature, symbol, architecture); });
}

void findSourceCode(const KernelSource& source, const std::string& architecture, const LoadCode& load) {
  findObject(architecture, cacheKey({"source", source.text, architecture, compilerIdentity()}), "", load,
             [&](KernelCompiler& compiler) { return compiler.compileSource(source, architecture); });
}

}  // namespace tandem
