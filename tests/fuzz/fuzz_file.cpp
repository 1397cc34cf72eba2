// Whole files: what reads archives, manifests and code from a mapped file, and what runs where one is whole.
#include <cstdint>
#include <string>

#include "tests/fuzz/fuzzing.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tandem;
  fuzz::seeds();
  // A file is mapped at the begin of a page.
  const auto file = std::make_shared<const std::string>(reinterpret_cast<const char*>(data), size);
  for (const bool verify : {false, true})
    fuzz::attempt([&] {
      program::OpenOptions options;
      options.device = Device{};
      options.verify = verify;
      const auto program = program::Program::open(program::Archive::read(*file, file, "fuzzed"), options);
      if (fuzz::isTrusted(program->data())) fuzz::run(program);
    });
  return 0;
}
