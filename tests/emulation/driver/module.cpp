#include "tests/emulation/driver/module.h"

#include <cstdio>
#include <cstring>
#include <string_view>

#include "tests/emulation/driver/block.h"

namespace tandem::emulation {
namespace {

/// Arguments of a launch, each at an address that suits every type.
class Arguments {
 public:
  Arguments(const KernelRecord& kernel, void** given) {
    constexpr std::size_t kAlignment = 64;
    for (unsigned i = 0; i < kernel.parameters; ++i) {
      places_.push_back(units_.size());
      units_.resize(units_.size() + (kernel.sizes[i] + kAlignment - 1) / kAlignment);
      std::memcpy(&units_[places_.back()], given[i], kernel.sizes[i]);
    }
  }
  /// Where they are.
  [[nodiscard]] std::vector<void*> pointers() {
    std::vector<void*> out;
    out.reserve(places_.size() + 1);
    for (const std::size_t place : places_) out.push_back(&units_[place]);
    out.push_back(nullptr);
    return out;
  }

 private:
  struct alignas(64) Unit {
    unsigned char bytes[64];
  };
  std::vector<Unit> units_;
  std::vector<std::size_t> places_;
};

void fail(Device& device, const Outcome& outcome) {
  std::string text = outcome.text;
  if (outcome.isAccess && outcome.address != nullptr) {
    char address[32];
    std::snprintf(address, sizeof(address), "%p", outcome.address);
    text += std::string(" at ") + address;
    for (const auto& other : state().devices) {
      if (!other->memory.holds(outcome.address)) continue;
      text += ": " + other->memory.placeOf(outcome.address);
      if (other.get() != &device) text += " of another device";
    }
  }
  std::fprintf(stderr, "emulated GPU: %s\n", text.c_str());
  state().failure = text;
  device.failed = outcome.isAccess ? tandem::cuda::kIllegalAddress : tandem::cuda::kLaunchFailed;
}

std::uint64_t countOf(uint3 n) { return std::uint64_t{n.x} * n.y * n.z; }

}  // namespace

std::string Module::load(const void* image) {
  const std::string text = LoadedObject::ofText(static_cast<const char*>(image));
  if (!text.empty()) image = text.data();
  const std::size_t bytes = LoadedObject::sizeOf(image);
  if (bytes == 0) return "it is no object of NVRTC's stand-in";
  std::string wrong = object.load({static_cast<const char*>(image), bytes});
  if (!wrong.empty()) return wrong;
  const ModuleRecord& record = object.record();
  for (unsigned i = 0; i < record.count; ++i) {
    if (record.kernels[i].name == nullptr) continue;  // the preprocessor took it away
    auto function = std::make_unique<Function>();
    *function = {this, &record.kernels[i], kUsualShared - static_cast<int>(object.sharedBytes(record.kernels[i].name))};
    if (function->mostDynamicShared < 0)
      return std::string("the __shared__ variables of ") + record.kernels[i].name + " have more than 48 KiB";
    functions.push_back(std::move(function));
  }
  return {};
}

Function* Module::find(const char* name) {
  for (const auto& f : functions) {
    if (std::string_view(f->record->name) == name) return f.get();
  }
  return nullptr;
}

Work launchWork(const Function& function, uint3 blocks, uint3 threads, unsigned sharedBytes, void** parameters,
                int& result) {
  const KernelRecord& kernel = *function.record;
  result = tandem::cuda::kInvalidValue;
  if (countOf(blocks) == 0 || countOf(threads) == 0 || countOf(threads) > kMostThreads || threads.z > 64 ||
      blocks.x > 0x7fffffff || blocks.y > 65535 || blocks.z > 65535 ||
      (parameters == nullptr && kernel.parameters != 0) ||
      static_cast<long long>(sharedBytes) > function.mostDynamicShared)
    return nullptr;
  if (kernel.mostThreads != 0 && countOf(threads) > kernel.mostThreads) {
    result = kLaunchOutOfResources;
    return nullptr;
  }
  result = tandem::cuda::kSuccess;
  return [module = function.module->shared_from_this(), record = &kernel, blocks, threads, sharedBytes,
          arguments = Arguments(kernel, parameters)](Lock&) mutable {
    openMemory(module->device);
    std::vector<void*> pointers = arguments.pointers();
    const Outcome outcome = run({&module->object, record, blocks, threads, sharedBytes, pointers.data()});
    if (outcome.kind != Outcome::kDone) fail(*module->device, outcome);
  };
}

}  // namespace tandem::emulation
