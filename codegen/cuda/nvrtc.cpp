#include "codegen/cuda/nvrtc.h"

#include <array>
#include <charconv>
#include <vector>

#include "codegen/cuda/nvrtc_functions.h"
#include "runtime/base/error.h"
#include "runtime/base/shared_library.h"

namespace tandem::codegen::cuda {

namespace {

struct Nvrtc {
#define X(member, symbol, parameters) int(*member) parameters = nullptr;  // NOLINT(bugprone-macro-parentheses): names
  TANDEM_NVRTC(X)
#undef X
  std::string missing;  // why there is none
};

const Nvrtc& nvrtc() {
  static const Nvrtc* const found = [] {
    auto* const n = new Nvrtc;
    static constexpr std::array<const char*, 2> kNames{"libnvrtc.so.13", "libnvrtc.so.12"};
    void* object = openSharedLibrary("TANDEM_NVRTC", kNames, n->missing);
    if (object == nullptr) return n;
#define X(member, symbol, parameters) {#symbol, &n->member},
    const SharedFunction functions[] = {TANDEM_NVRTC(X)};
#undef X
    if (const std::string lacking = findFunctions(object, functions); !lacking.empty()) n->missing = "it " + lacking;
    return n;
  }();
  return *found;
}

/// A text that is with the compiler.
class Compilation {
 public:
  Compilation(const std::string& text, const std::string& name) {
    const int result = nvrtc().createProgram(&program_, text.c_str(), name.c_str(), 0, nullptr, nullptr);
    TANDEM_CHECK(result == 0, "NVRTC does not take the text of ", name, ": error ", result);
  }
  ~Compilation() { nvrtc().destroyProgram(&program_); }
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  bool compile(const std::vector<std::string>& options) {
    std::vector<const char*> all;
    for (const std::string& o : options) all.push_back(o.c_str());
    return nvrtc().compileProgram(program_, static_cast<int>(all.size()), all.data()) == 0;
  }
  std::string log() { return read(nvrtc().getProgramLogSize, nvrtc().getProgramLog, true); }
  std::string cubin() { return read(nvrtc().getCubinSize, nvrtc().getCubin, false); }
  std::string ptx() { return read(nvrtc().getPtxSize, nvrtc().getPtx, true); }

 private:
  std::string read(int (*size)(Program, std::size_t*), int (*get)(Program, char*), bool text) {
    std::size_t bytes = 0;
    if (size(program_, &bytes) != 0 || bytes == 0) return "";
    std::string all(bytes, '\0');
    if (get(program_, all.data()) != 0) return "";
    if (text) all.resize(all.find('\0') == std::string::npos ? bytes : all.find('\0'));
    return all;
  }

  Program program_ = nullptr;
};

}  // namespace

std::string nvrtcVersion() {
  int major = 0;
  int minor = 0;
  if (!nvrtc().missing.empty() || nvrtc().version(&major, &minor) != 0) return "";
  return strcat(major, ".", minor);
}

// "Function properties for NAME", and behind it "0 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads".
int Compiled::spilled(const std::string& function) const {
  const std::size_t from = log.find("Function properties for " + function + "\n");
  const std::size_t behind = from == std::string::npos ? from : log.find(" bytes spill stores", from);
  if (behind == std::string::npos) return 0;
  int bytes = 0;
  std::from_chars(log.data() + log.rfind(' ', behind - 1) + 1, log.data() + behind, bytes);
  return bytes;
}

Compiled compileCuda(const std::string& text, const std::string& name, const std::string& architecture) {
  if (!nvrtc().missing.empty())
    fail<Error>(
        "kernels for ", architecture, " are compiled by NVRTC, which cannot be opened (", nvrtc().missing,
        "): install CUDA 13, or the Python package nvidia-cuda-nvrtc, as `pip install tandem-tensor[cuda]` does");
  std::vector<std::string> options{"--gpu-architecture=" + architecture,
                                   "--std=c++17",
                                   "--fmad=false",
                                   "--ftz=false",
                                   "--prec-div=true",
                                   "--prec-sqrt=true",
                                   "--ptxas-options=-v"};
  Compilation compilation(text, name);
  const bool good = compilation.compile(options);
  Compiled compiled{"", compilation.log()};
  if (!good) fail<InternalError>("NVRTC cannot compile ", name, " for ", architecture, ":\n", compiled.log);
  compiled.code = architecture.starts_with("compute_") ? compilation.ptx() : compilation.cubin();
  TANDEM_CHECK(!compiled.code.empty(), "NVRTC gives no code of ", name, " for ", architecture);
  return compiled;
}

}  // namespace tandem::codegen::cuda
