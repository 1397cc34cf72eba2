#include "runtime/kernel/kernel_cache.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <shared_mutex>

#include "runtime/base/counters.h"
#include "runtime/base/error.h"
#include "runtime/base/function_ref.h"
#include "runtime/kernel/architectures.h"
#include "runtime/kernel/disk_cache.h"
#include "runtime/kernel/generator_version.h"
#include "runtime/kernel/kernel_compiler.h"
#include "runtime/kernel/kernel_symbol.h"
#include "runtime/kernel/shipped_kernels.h"

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

/// What open programs bring, by architecture and symbol. Several may bring the same.
struct Brought {
  std::shared_mutex mutex;
  std::map<std::string, std::multimap<std::string, std::pair<const void*, std::string_view>>> objects;

  static Brought& all() {
    static auto* const brought = new Brought;  // never destroyed: as the locks
    return *brought;
  }
  std::vector<std::string> architectures() {
    const std::shared_lock lock(mutex);
    std::vector<std::string> names;
    for (const auto& [name, code] : objects)
      if (!code.empty()) names.push_back(name);
    return names;
  }
  std::optional<std::string> find(const std::string& architecture, const std::string& symbol) {
    const std::shared_lock lock(mutex);
    const auto code = objects.find(architecture);
    if (code == objects.end()) return std::nullopt;
    const auto it = code->second.find(symbol);
    if (it == code->second.end()) return std::nullopt;
    return std::string(it->second.second);
  }
};

/// What is looked for, by the names that it has as code for an architecture.
struct Names {
  FunctionRef<std::string(const std::string& architecture)> symbol;
  FunctionRef<std::string(const std::string& architecture)> key;  // in caches
};

/// Of a GPU, what runs there; of a CPU its own, since each level has code of its own.
std::vector<std::string> codeFor(const std::string& own, const std::vector<std::string>& there) {
  if (isForGpus(own)) return thatRunOn(own, there);
  return std::ranges::find(there, own) != there.end() ? std::vector<std::string>{own} : std::vector<std::string>{};
}

/// Gives `load` the first object that can be loaded; false where there is none. One that cannot be is as good as
/// damaged.
bool findObject(const std::string& architecture, const Names& names, const LoadCode& load) {
  auto good = [&](const std::optional<std::string>& object, const std::string& from) {
    if (!object) return false;
    try {
      load(*object, names.symbol(from));
      bump(counters().kernelCacheHits);
      return true;
    } catch (const InternalError&) {
      return false;
    }
  };
  for (const std::string& a : codeFor(architecture, Brought::all().architectures()))
    if (good(Brought::all().find(a, names.symbol(a)), a)) return true;
  if (good(readCachedObject({architecture, names.key(architecture)}), architecture)) return true;
  for (const std::string& a : codeFor(architecture, shippedArchitectures()))
    if (good(readShippedObject({a, names.key(a)}), a)) return true;
  return false;
}

void findOrCompile(const std::string& architecture, const Names& names, const LoadCode& load,
                   FunctionRef<std::string(KernelCompiler&)> compile) {
  const std::shared_lock forks(locks()->forkGate);
  if (findObject(architecture, names, load)) return;
  const std::string object = compile(kernelCompiler(architecture));
  bump(counters().kernelCompiles);
  writeCachedObject({architecture, names.key(architecture)}, object);
  load(object, names.symbol(architecture));
}

}  // namespace

void findCode(const KernelSignature& signature, const std::string& architecture, const LoadCode& load) {
  const std::string bytes = signature.bytes();
  auto symbol = [&](const std::string& a) { return kernelSymbol(signature, a); };
  auto key = [&](const std::string& a) { return cacheKey({bytes, a, kGeneratorVersion, compilerIdentity()}); };
  findOrCompile(architecture, {symbol, key}, load, [&](KernelCompiler& compiler) {
    return compiler.compile(signature, symbol(architecture), architecture);
  });
}

void findSourceCode(const KernelSource& source, const std::string& architecture, const LoadCode& load) {
  auto symbol = [&](const std::string& a) { return sourceSymbol(source.text, a); };
  auto key = [&](const std::string& a) { return cacheKey({"source", source.text, a, compilerIdentity()}); };
  findOrCompile(architecture, {symbol, key}, load,
                [&](KernelCompiler& compiler) { return compiler.compileSource(source, architecture); });
}

BroughtCode::~BroughtCode() {
  Brought& all = Brought::all();
  const std::unique_lock lock(all.mutex);
  for (const auto& [architecture, symbol] : names_) {
    auto& code = all.objects[architecture];
    const auto [first, last] = code.equal_range(symbol);
    code.erase(std::find_if(first, last, [&](const auto& o) { return o.second.first == this; }));
  }
}

void BroughtCode::add(const std::string& architecture, const std::string& symbol, std::string_view object) {
  Brought& all = Brought::all();
  const std::unique_lock lock(all.mutex);
  all.objects[architecture].emplace(symbol, std::pair(this, object));
  names_.emplace_back(architecture, symbol);
}

}  // namespace tandem
