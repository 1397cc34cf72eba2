#include "runtime/device/cuda/survey.h"

#include <cctype>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include "runtime/base/error.h"
#include "runtime/device/cuda/cuda_kernel.h"
#include "runtime/device/cuda/source.h"
#include "runtime/lib/cuda/table.h"

namespace tandem::cuda {
namespace {

thread_local Survey* current = nullptr;

/// For the time of its life, what this thread queues is noted.
class Surveying {
 public:
  explicit Surveying(Survey& survey) : before_(current) { current = &survey; }
  ~Surveying() { current = before_; }
  Surveying(const Surveying&) = delete;
  Surveying& operator=(const Surveying&) = delete;

 private:
  Survey* before_;
};

class NoEvent final : public Event {
 public:
  void record(Stream&) override {}
  void waitOn(Stream&) override {}
  bool done() const override { return true; }
  void synchronize() override {}
  double millisecondsSince(const Event&) const override { return 0; }
};

/// A device of the architecture: numbers that choose how work is cut, and no code.
GpuProperties propertiesOf(const std::string& architecture) {
  const std::size_t digits = architecture.find('_') + 1;
  int number = 0;
  for (const char c : architecture.substr(digits)) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) break;
    number = number * 10 + (c - '0');
  }
  if (number < 50) fail<ValueError>("no architecture of GPUs is called `", architecture, "`");
  GpuProperties p;
  p.name = architecture;
  p.architecture = architecture;
  p.major = number / 10;
  p.minor = number % 10;
  p.multiprocessors = 128;
  p.warpSize = 32;
  p.maxThreadsPerBlock = 1024;
  p.maxThreadsPerMultiprocessor = 2048;
  p.sharedMemoryPerBlock = std::size_t{48} << 10;
  p.sharedMemoryPerBlockOptin = std::size_t{99} << 10;
  p.l2CacheSize = 32 << 20;
  return p;
}

/// Never destroyed, as GPUs that are there: kernels refer to it.
Gpu& gpuOf(const std::string& architecture) {
  static auto* const mutex = new std::mutex;
  static auto* const gpus = new std::map<std::string, std::unique_ptr<Gpu>>;
  const std::lock_guard lock(*mutex);
  std::unique_ptr<Gpu>& gpu = (*gpus)[architecture];
  if (gpu == nullptr) gpu = std::make_unique<Gpu>(propertiesOf(architecture));
  return *gpu;
}

}  // namespace

Survey* Survey::now() { return current; }

void Survey::note(const KernelSignature& signature) {
  if (known_.insert(signature.bytes()).second) kernels.push_back(signature);
}

const Function& Survey::note(KernelSource source) {
  static const Function none("", nullptr);
  if (known_.insert("text " + source.text).second) sources.push_back(std::move(source));
  return none;
}

void* Survey::allocate(std::size_t bytes) {
  constexpr std::uintptr_t kAlignment = 512;
  void* const memory = reinterpret_cast<void*>(end_);
  end_ += (bytes / kAlignment + 1) * kAlignment;
  return memory;
}

SurveyDevice::SurveyDevice(const std::string& architecture) : gpu_(gpuOf(architecture)) {}

void SurveyDevice::copyToHost(void* to, const void*, std::size_t bytes, Stream&) { std::memset(to, 0, bytes); }

const Kernel* SurveyDevice::load(const KernelSignature& signature) { return &loadKernel(gpu_, signature); }

void SurveyDevice::launch(const Kernel& kernel, const std::int64_t* args, const LaunchSpace& space, Stream&) {
  if (space.units <= 0) return;
  for (const CudaKernel* k : neededBy(static_cast<const CudaKernel&>(kernel), args, space)) survey_.note(k->signature);
}

bool SurveyDevice::reduceStrided(const StridedReduction& reduction, Stream& stream) {
  const auto columns = walkOf(reduction);
  if (!columns) return false;
  launch(loadKernel(gpu_, columns->kernel.signature()), columns->args.data(), columns->space, stream);
  return true;
}

void SurveyDevice::copyArray(const ArrayView& from, const ArrayView& to, Stream&) {
  const Surveying here(survey_);
  copyStrided(from, to, gpu_.defaultStream());
}

LibraryFn SurveyDevice::library(std::string_view op) { return findFunction(op); }

void SurveyDevice::call(LibraryFn fn, const LibraryCall& call, Stream&) {
  const Surveying here(survey_);
  const Queueing queueing(gpu_.defaultStream());
  fn(call);
}

std::unique_ptr<Stream> SurveyDevice::makeStream() { return std::make_unique<Nothing>(); }
std::unique_ptr<Event> SurveyDevice::makeEvent() { return std::make_unique<NoEvent>(); }

}  // namespace tandem::cuda
