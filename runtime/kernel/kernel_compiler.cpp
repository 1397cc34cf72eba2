// Finds and opens the compiler's shared object: $TANDEM_COMPILER, else libtandem_compiler.so beside the object that
// this code is part of.
#include "runtime/kernel/kernel_compiler.h"

#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <mutex>
#include <pthread.h>
#include <thread>

#include "runtime/base/error.h"
#include "runtime/device/isa.h"
#include "runtime/kernel/compiler_path.h"
#include "runtime/kernel/kernel_cache.h"

namespace tandem {

namespace {

std::atomic<KernelCompiler*> registered{nullptr};

/// All the state of opening. Never destroyed: a background thread may still be at it when the process ends.
struct Opening {
  std::mutex mutex;  // held while opening
  bool open = false;
  std::thread background;
  std::mutex graphMutex;
  void* graph = nullptr;
  void (*graphRegistrar)(void*) = nullptr;
};
Opening& opening() {
  static auto* const o = new Opening;
  return *o;
}

void takeGraphCompiler(void* compiler) {
  const std::lock_guard lock(opening().graphMutex);
  opening().graph = compiler;
  if (opening().graphRegistrar != nullptr) opening().graphRegistrar(compiler);
}

// A small kernel: creates an instance of the compiler and touches the code that every later kernel runs.
void warmUp(KernelCompiler& compiler) {
  KernelSignature signature;
  signature.inputs = {{DType::Float32, Access::Unit}};
  signature.outputs = {{{DType::Float32, Access::Unit}, 0}};
  compiler.compile(signature, "tandem_warm_up", hostIsa());
}

}  // namespace

void awaitCompilerOpening() {
  if (opening().background.joinable()) opening().background.join();
}

void registerKernelCompiler(KernelCompiler* compiler) { registered.store(compiler, std::memory_order_release); }

void onGraphCompiler(void (*registrar)(void*)) {
  const std::lock_guard lock(opening().graphMutex);
  opening().graphRegistrar = registrar;
  if (opening().graph != nullptr) registrar(opening().graph);
}

void openCompiler() {
  Opening& o = opening();
  const std::lock_guard lock(o.mutex);
  if (o.open) return;
  const std::string path = compilerPath();
  void* object = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) {
    const char* why = ::dlerror();
    fail<InternalError>("the compiler ", path, " cannot be opened: ", why == nullptr ? "unknown reason" : why);
  }
  using Init = void (*)(void (*)(KernelCompiler*), void (*)(void*));
  const auto init = reinterpret_cast<Init>(::dlsym(object, "tandemCompilerInit"));
  TANDEM_CHECK(init != nullptr, path, " is not the compiler: it has no tandemCompilerInit");
  init(&registerKernelCompiler, &takeGraphCompiler);
  o.open = true;
}

KernelCompiler& kernelCompiler() {
  KernelCompiler* compiler = registered.load(std::memory_order_acquire);
  if (compiler == nullptr) {
    openCompiler();
    compiler = registered.load(std::memory_order_acquire);
    TANDEM_CHECK(compiler != nullptr, compilerPath(), " registered no kernel compiler");
  }
  return *compiler;
}

void openCompilerInBackground() {
  static std::once_flag once;
  std::call_once(once, [] {
    opening().background = std::thread([] {
      try {
        warmUp(kernelCompiler());
      } catch (const std::exception&) {
        // Whoever needs a kernel that no cache has gets the error.
      }
    });
    // A child must not inherit an opening that nobody will finish, nor the process end under it.
    ::pthread_atfork([] { awaitCompilerOpening(); }, nullptr, nullptr);
    std::atexit([] { awaitCompilerOpening(); });
  });
}

}  // namespace tandem
