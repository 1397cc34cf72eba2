// Finds and opens the compiler's shared object: $TANDEM_COMPILER, else libtandem_compiler.so beside the object that
// this code is part of.
#include "runtime/kernel/kernel_compiler.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/device/executor.h"
#include "runtime/kernel/compiler_path.h"

namespace tandem {

namespace {

/// All the state of opening. Never destroyed: a background thread may still be at it when the process ends.
struct Opening {
  std::mutex mutex;  // held while opening
  bool open = false;
  std::thread background;
  std::mutex compilersMutex;
  std::vector<KernelCompiler*> compilers;
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

KernelCompiler* findCompiler(std::string_view architecture) {
  const std::lock_guard lock(opening().compilersMutex);
  const auto& all = opening().compilers;
  const auto it = std::find_if(all.rbegin(), all.rend(), [&](auto* c) { return c->makesCodeFor(architecture); });
  return it == all.rend() ? nullptr : *it;
}

// A small kernel: creates an instance of the host's compiler and touches the code that every later kernel runs.
void warmUp() {
  KernelSignature signature;
  signature.inputs = {{DType::Float32, Access::Unit}};
  signature.outputs = {{{DType::Float32, Access::Unit}, 0}};
  const std::string& host = targetOf(Device{}).architecture;
  kernelCompiler(host).compile(signature, "tandem_warm_up", host);
}

}  // namespace

void awaitCompilerOpening() {
  if (opening().background.joinable()) opening().background.join();
}

void registerKernelCompiler(KernelCompiler* compiler) {
  const std::lock_guard lock(opening().compilersMutex);
  opening().compilers.push_back(compiler);
}

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
  std::string why;
  void* object = openLibrary(path, why);
  if (object == nullptr) fail<InternalError>("the compiler ", path, " cannot be opened: ", why);
  using Init = void (*)(const CompilerHost&);
  const auto init = reinterpret_cast<Init>(::dlsym(object, "tandemCompilerInit"));
  TANDEM_CHECK(init != nullptr, path, " is not the compiler: it has no tandemCompilerInit");
  init({&registerKernelCompiler, &takeGraphCompiler, &targetOf});
  o.open = true;
}

KernelCompiler& kernelCompiler(std::string_view architecture) {
  KernelCompiler* compiler = findCompiler(architecture);
  if (compiler == nullptr) {
    openCompiler();
    compiler = findCompiler(architecture);
    if (compiler == nullptr) fail<ValueError>("nothing here makes code for `", architecture, "`");
  }
  return *compiler;
}

void openCompilerInBackground() {
  // Not std::call_once, whose thread-local variables are the C++ library's: a process in which others use up the
  // loader's room for such could not open this object.
  static const bool opened = [] {
    opening().background = std::thread([] {
      try {
        warmUp();
      } catch (const std::exception&) {
        // Whoever needs a kernel that no cache has gets the error.
      }
    });
    // A child must not inherit an opening that nobody will finish, nor the process end under it.
    ::pthread_atfork([] { awaitCompilerOpening(); }, nullptr, nullptr);
    std::atexit([] { awaitCompilerOpening(); });
    return true;
  }();
  static_cast<void>(opened);
}

}  // namespace tandem
