#include "runtime/device/cuda/source.h"

#include <cctype>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "runtime/base/error.h"
#include "runtime/base/small_vector.h"
#include "runtime/device/cuda/gpu.h"
#include "runtime/device/cuda/sequence.h"
#include "runtime/device/cuda/survey.h"
#include "runtime/lib/cuda/texts.h"

namespace tandem::cuda {
namespace {

constexpr std::size_t kMostShown = 80;

/// What a text is compiled to for a device.
struct Module {
  std::once_flag once;
  ModuleHandle handle = nullptr;
};

/// The kernels and modules of texts, for all devices. Never destroyed: threads may look up while the process ends.
struct Sources {
  std::shared_mutex mutex;
  std::unordered_map<std::string, std::unique_ptr<const Function>> functions;
  std::unordered_map<std::string, std::unique_ptr<Module>> modules;
};
Sources& sources() {
  static auto* const s = new Sources;
  return *s;
}

template <class T>
void appendBytes(std::string& key, const T& value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// `flip.T=float`, as a file may be called; what would be too long is a number.
std::string nameOf(const char* name, std::span<const Define> defines) {
  std::string all;
  for (const Define& d : defines) all += strcat(".", d.name, "=", d.value);
  std::string shown = all;
  for (char& c : shown)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && std::string_view(".=-").find(c) == std::string_view::npos)
      c = '_';
  if (shown.size() > kMostShown) shown = strcat(shown.substr(0, kMostShown), ".", std::hash<std::string>()(all));
  return name + shown;
}

KernelSource sourceOf(const char* name, const char* text, std::span<const Define> defines) {
  KernelSource source{nameOf(name, defines), kCommonText};
  for (const Define& d : defines) source.text += strcat("#define ", d.name, " ", d.value, "\n");
  source.text += text;
  return source;
}

void compile(Gpu& gpu, Module& module, const KernelSource& source) {
  host().findSourceCode(source, gpu.properties().architecture, [&](const std::string& object, const std::string&) {
    module.handle = loadModule(gpu, object, source.name);
  });
}

const Function& findFunction(Gpu& gpu, const char* name, const char* text, std::string_view kernel,
                             std::span<const Define> defines) {
  std::string key;
  key.reserve(128);
  appendBytes(key, text);
  appendBytes(key, gpu.ordinal());
  for (const Define& d : defines) (key += d.name).append(1, '=').append(d.value).append(1, '\n');
  const std::size_t moduleKey = key.size();
  key += kernel;
  Sources& s = sources();
  {
    const std::shared_lock lock(s.mutex);
    if (const auto it = s.functions.find(key); it != s.functions.end()) return *it->second;
  }
  Module* module = nullptr;
  {
    const std::unique_lock lock(s.mutex);
    auto& known = s.modules[key.substr(0, moduleKey)];
    if (!known) known = std::make_unique<Module>();
    module = known.get();
  }
  // Other texts may be compiled meanwhile; whoever wants this one waits.
  std::call_once(module->once, [&] { compile(gpu, *module, sourceOf(name, text, defines)); });
  const std::string symbol(kernel);
  auto made = std::make_unique<const Function>(symbol, functionOf(module->handle, symbol, name));
  const std::unique_lock lock(s.mutex);
  return *s.functions.try_emplace(std::move(key), std::move(made)).first->second;
}

}  // namespace

ModuleHandle loadModule(Gpu& gpu, std::string_view object, std::string_view name) {
  gpu.use();
  ModuleHandle module = nullptr;
  // PTX is text, which the driver reads to a null byte.
  const std::string code(object);
  const int result = driver().moduleLoadData(&module, code.c_str());
  try {
    check(result, strcat("loading ", name, " on ", gpu.name()));
  } catch (const OutOfMemoryError&) {
    throw;
  } catch (const Error& e) {
    fail<InternalError>(e.what());
  }
  return module;
}

FunctionHandle findFunction(ModuleHandle module, const std::string& symbol) {
  FunctionHandle function = nullptr;
  return driver().moduleGetFunction(&function, module, symbol.c_str()) == kSuccess ? function : nullptr;
}

FunctionHandle functionOf(ModuleHandle module, const std::string& symbol, std::string_view name) {
  const FunctionHandle function = findFunction(module, symbol);
  if (function == nullptr) fail<InternalError>(name, " has no kernel ", symbol);
  return function;
}

void* allocateForWork(std::size_t bytes, CudaStream& stream) {
  if (Survey* survey = Survey::now()) return survey->allocate(bytes);
  Tape* tape = Tape::now();
  if (tape == nullptr) return stream.gpu().memory.allocate(bytes, stream.raw());
  if (void* known = tape->allocate(bytes)) return known;
  void* memory = stream.gpu().memory.allocate(bytes, stream.raw());
  tape->allocated(memory);
  return memory;
}

void deallocateForWork(void* memory, Gpu& gpu) {
  if (Survey::now() != nullptr) return;
  if (Tape* tape = Tape::now(); tape != nullptr && tape->deallocate()) return;
  gpu.memory.deallocate(memory);
}

Function::Function(std::string name, FunctionHandle handle) : name_(std::move(name)), handle_(handle) {
  if (handle == nullptr) return;
  const std::string doing = strcat("asking what the kernel ", name_, " takes");
  check(driver().funcGetAttribute(&sharedInText_, kFunctionSharedBytes, handle), doing);
  check(driver().funcGetAttribute(&registers_, kFunctionRegisters, handle), doing);
}

void Function::launch(CudaStream& stream, const Grid& grid, std::span<const Parameter> parameters) const {
  for (unsigned n : grid.blocks)
    if (n == 0) return;
  if (Survey::now() != nullptr) return;
  Tape* tape = Tape::now();
  if (tape != nullptr && tape->launch(*this, handle_, grid, parameters)) return;
  const Driver& d = driver();
  if (grid.sharedBytes > shared_.load(std::memory_order_relaxed)) {
    check(d.funcSetAttribute(handle_, kFunctionMaxDynamicSharedBytes, static_cast<int>(grid.sharedBytes)),
          strcat("giving the kernel ", name_, " ", grid.sharedBytes, " bytes of shared memory"));
    shared_.store(grid.sharedBytes, std::memory_order_relaxed);
  }
  stream.note(name_.c_str());
  SmallVector<void*, 16> places;
  for (const Parameter& p : parameters) places.push_back(const_cast<void*>(p.at));
  const auto [bx, by, bz] = grid.blocks;
  const auto [tx, ty, tz] = grid.threads;
  const int result =
      d.launchKernel(handle_, bx, by, bz, tx, ty, tz, grid.sharedBytes, stream.raw(), places.data(), nullptr);
  if (result != kSuccess) [[unlikely]]
    stream.checkWork(result, strcat("launching the kernel ", name_, " of ", bx, "x", by, "x", bz, " blocks of ", tx,
                                    "x", ty, "x", tz, " threads"));
  if (tape != nullptr) return tape->launched(stream);  // captured, not done
  bump(host().counters->kernelLaunches);
  if (launchesBlock() && !stream.isCapturing()) stream.wait();
}

const Function& Source::kernel(std::string_view name, std::initializer_list<Define> defines) const {
  const std::span<const Define> all(defines.begin(), defines.size());
  if (Survey* survey = Survey::now()) return survey->note(sourceOf(name_, text_, all));
  return findFunction(Queueing::now().stream().gpu(), name_, text_, name, all);
}

}  // namespace tandem::cuda
