#include "runtime/kernel/kernel_cache.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <shared_mutex>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "runtime/base/counters.h"
#include "runtime/base/error.h"
#include "runtime/device/isa.h"
#include "runtime/kernel/disk_cache.h"
#include "runtime/kernel/elf_loader.h"
#include "runtime/kernel/generator_version.h"
#include "runtime/kernel/kernel_compiler.h"

namespace tandem {

namespace {

class KernelCache {
 public:
  KernelFn find(const std::string& bytes) {
    const std::shared_lock lock(locks_->kernels);
    const auto it = kernels_.find(bytes);
    return it == kernels_.end() ? nullptr : it->second;
  }

  KernelFn lookup(const KernelSignature& signature) {
    std::string bytes = signature.bytes();
    if (KernelFn fn = find(bytes)) {
      bump(counters().kernelCacheHits);
      return fn;
    }
    // Two threads that want the same kernel may both make it, and the first one in stays: rare, and without a wait
    // that could outlive a thread.
    const std::shared_lock forks(locks_->forkGate);
    KernelFn fn = make(signature, bytes);
    const std::unique_lock lock(locks_->kernels);
    return kernels_.emplace(std::move(bytes), fn).first->second;
  }

  // A fork waits until no kernel is being made, so that no child inherits a compiler at work. The child gets fresh
  // locks: a reader-writer lock remembers its writer by thread id, which changes.
  void beforeFork() {
    locks_->forkGate.lock();
    locks_->kernels.lock();
  }
  void afterForkInParent() {
    locks_->kernels.unlock();
    locks_->forkGate.unlock();
  }
  void afterForkInChild() {
    auto* const fresh = new Locks;
    fresh->before = locks_;
    locks_ = fresh;
  }

 private:
  KernelFn make(const KernelSignature& signature, const std::string& bytes) {
    const std::string key = cacheKey({bytes, hostIsa(), kGeneratorVersion, compilerIdentity()});
    const std::string symbol = "k" + key;
    for (const std::string& object : readCachedObjects(key)) {
      try {
        KernelFn fn = loadObject(object, symbol);
        bump(counters().kernelCacheHits);
        return fn;
      } catch (const InternalError&) {
        // Whole but not loadable: as good as damaged. It is made anew and rewritten.
      }
    }
    const std::string object = kernelCompiler().compile(signature, symbol, hostIsa());
    bump(counters().kernelCompiles);
    writeCachedObject(key, object);
    return loadObject(object, symbol);
  }

  struct Locks {
    std::shared_mutex kernels;
    std::shared_mutex forkGate;
    Locks* before = nullptr;  // the parent's, kept so that they count as no leak
  };
  Locks* locks_ = new Locks;
  std::unordered_map<std::string, KernelFn> kernels_;
};

KernelCache& cache() {
  static auto* const c = [] {
    auto* const made = new KernelCache;  // never destroyed: threads may look up while the process ends
    ::pthread_atfork([] { cache().beforeFork(); }, [] { cache().afterForkInParent(); },
                     [] { cache().afterForkInChild(); });
    return made;
  }();
  return *c;
}

}  // namespace

KernelFn lookupKernel(const KernelSignature& signature) { return cache().lookup(signature); }

std::vector<KernelFn> lookupKernels(std::span<const KernelSignature> signatures) {
  std::vector<KernelFn> kernels(signatures.size(), nullptr);
  std::vector<std::size_t> missing;
  std::unordered_set<std::string> seen;
  for (std::size_t i = 0; i < signatures.size(); ++i) {
    std::string bytes = signatures[i].bytes();
    kernels[i] = cache().find(bytes);
    if (kernels[i] != nullptr) {
      bump(counters().kernelCacheHits);
    } else if (seen.insert(std::move(bytes)).second) {
      missing.push_back(i);
    }
  }
  const std::size_t threads = std::min<std::size_t>({missing.size(), std::thread::hardware_concurrency(), 4});
  if (threads > 1) {
    std::atomic<std::size_t> next{0};
    std::exception_ptr error;
    std::mutex errorMutex;
    auto work = [&] {
      for (std::size_t k = next++; k < missing.size(); k = next++) {
        try {
          kernels[missing[k]] = cache().lookup(signatures[missing[k]]);
        } catch (...) {
          const std::lock_guard lock(errorMutex);
          if (!error) error = std::current_exception();
        }
      }
    };
    std::vector<std::thread> workers;
    for (std::size_t t = 1; t < threads; ++t) workers.emplace_back(work);
    work();
    for (std::thread& worker : workers) worker.join();
    if (error) std::rethrow_exception(error);
  }
  for (std::size_t i = 0; i < signatures.size(); ++i) {
    if (kernels[i] == nullptr) kernels[i] = cache().lookup(signatures[i]);
  }
  return kernels;
}

}  // namespace tandem
