// Runs a saved program on memory of the GPU, as a program of users does that has it from the driver itself: two
// arguments of floats, the second of which is not changed, and one result. Prints the result of a run in a stream of
// its own, and of one whose argument is the host's.
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <tandem/program.hpp>

namespace {

/// The driver's functions that it needs.
struct Driver {
  void* library = dlopen(std::getenv("TANDEM_CUDA_DRIVER"), RTLD_NOW);
  template <class... A>
  void call(const char* name, A... arguments) const {
    auto* function = reinterpret_cast<int (*)(A...)>(dlsym(library, name));
    if (function == nullptr || function(arguments...) != 0) throw std::runtime_error(name);
  }
};

class Floats {
 public:
  Floats(const Driver& driver, std::size_t count) : driver_(driver), count_(count) {
    driver.call("cuMemAlloc_v2", &address_, bytes());
  }
  void write(const std::vector<float>& from) const {
    driver_.call("cuMemcpyHtoDAsync_v2", address_, static_cast<const void*>(from.data()), bytes(), kNoStream);
    driver_.call("cuCtxSynchronize");
  }
  [[nodiscard]] std::vector<float> read(void* stream) const {
    std::vector<float> to(count_);
    driver_.call("cuMemcpyDtoHAsync_v2", static_cast<void*>(to.data()), address_, bytes(), stream);
    driver_.call("cuStreamSynchronize", stream);
    return to;
  }
  [[nodiscard]] void* data() const { return reinterpret_cast<void*>(address_); }
  [[nodiscard]] std::size_t bytes() const { return count_ * sizeof(float); }

 private:
  static constexpr void* kNoStream = nullptr;
  const Driver& driver_;
  std::size_t count_;
  unsigned long long address_ = 0;
};

void print(const std::vector<float>& values) {
  for (const float v : values) std::printf("%a ", static_cast<double>(v));
  std::printf("\n");
}

void runs(const char* path) {
  tandem::OpenOptions options;
  options.device = "cuda";
  tandem::Context context{tandem::Program(path, options)};
  const tandem::Program& program = context.program();
  std::printf("%s\n", program.target().c_str());
  const auto countOf = [](const tandem_tensor_info& info) { return info.bytes / sizeof(float); };

  const Driver driver;
  void* stream = nullptr;
  driver.call("cuStreamCreateWithPriority", &stream, 1U, 0);
  const Floats x(driver, countOf(program.argument(0, 0))), y(driver, countOf(program.argument(0, 1)));
  const Floats z(driver, countOf(program.result(0, 0)));
  std::vector<float> first(countOf(program.argument(0, 0))), second(countOf(program.argument(0, 1)));
  for (std::size_t i = 0; i < first.size(); ++i) first[i] = static_cast<float>(i) / 8;
  for (std::size_t i = 0; i < second.size(); ++i) second[i] = 1 - static_cast<float>(i) / 16;
  x.write(first);
  y.write(second);

  using tandem::Input;
  using tandem::Output;
  const void* unchanged = y.data();
  context.run(0, {Input::onGpu(x.data(), x.bytes()), Input::onGpu(unchanged, y.bytes())},
              {Output::onGpu(z.data(), z.bytes())}, {}, stream);
  print(z.read(stream));
  // One argument and the result of the host, the other one on the GPU.
  std::vector<float> result(countOf(program.result(0, 0)));
  context.run(0, {Input(second), Input::onGpu(x.data(), x.bytes())}, {Output(result)});
  context.wait();
  print(result);
  try {
    context.run(0, {Input::onGpu(x.data(), x.bytes(), 1), Input(second)}, {Output(result)});
  } catch (const tandem::Error& e) {
    std::printf("%s\n", e.what());
  }
}

}  // namespace

int main(int count, char** arguments) {
  try {
    if (count == 2) runs(arguments[1]);
    return count == 2 ? 0 : 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
