#include "codegen/compile_log.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace tandem::codegen {

namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string dumpFile(const std::string& symbol) {
  const std::string folder = environment("TANDEM_DUMP");
  if (folder.empty()) return "";
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  return folder + "/" + symbol;
}

std::string failureFile(const std::string& symbol, const char* suffix) {
  std::error_code ignored;
  return (std::filesystem::temp_directory_path(ignored) / ("tandem_" + symbol + suffix)).string();
}

void logKernel(const std::string& symbol, std::chrono::steady_clock::time_point start, std::size_t bytes,
               const std::string& what) {
  if (environment("TANDEM_LOG").find("kernels") == std::string::npos) return;
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
  std::fprintf(stderr, "tandem: kernel %s: %.2f ms, %zu bytes: %s\n", symbol.c_str(), taken.count(), bytes,
               what.c_str());
}

}  // namespace tandem::codegen
