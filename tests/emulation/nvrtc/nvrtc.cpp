// A stand-in for NVRTC, put in its place by $TANDEM_NVRTC: the same functions, which compile CUDA C++ for the host.
// What it gives as a cubin is an object of the host that the driver's stand-in (tests/emulation/driver) loads.
//
// A text becomes: shim, text, records of its kernels. The shim (tests/emulation/shim) says in C++ what NVRTC has built
// in.
#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/emulation/nvrtc/compiler.h"
#include "tests/emulation/nvrtc/text.h"
#include "tests/emulation/shim_text.h"

namespace tandem::emulation {
namespace {

/// nvrtcResult.
enum Result : int {
  kSuccess = 0,
  kInvalidInput = 3,
  kInvalidProgram = 4,
  kInvalidOption = 5,
  kCompilation = 6,
};

constexpr std::array kArchitectures = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};

struct Program {
  std::string text, name, log, object;
  bool isVirtual = false;  // compute_90: PTX, no cubin
};

struct Options {
  std::vector<std::string> compiler;
  std::string macros;    // those defined, as lines of a text: behind the shim, whose names they may have
  bool contract = true;  // what NVRTC does unless it is told not to
  bool isVirtual = false;
  std::string wrong;  // the first that NVRTC does not know
};

/// The value of an option that is written `--name=value` or `-n=value`.
bool valueOf(std::string_view option, std::string_view longName, std::string_view shortName, std::string_view& value) {
  for (const std::string_view name : {longName, shortName}) {
    if (name.empty() || !option.starts_with(name) || !option.substr(name.size()).starts_with("=")) continue;
    value = option.substr(name.size() + 1);
    return true;
  }
  return false;
}

bool isArchitecture(std::string_view value, Options& options) {
  options.isVirtual = value.starts_with("compute_");
  if (!options.isVirtual && !value.starts_with("sm_")) return false;
  value.remove_prefix(value.find('_') + 1);
  if (!value.empty() && (value.back() == 'a' || value.back() == 'f')) value.remove_suffix(1);
  return std::any_of(kArchitectures.begin(), kArchitectures.end(),
                     [&](int known) { return value == std::to_string(known); });
}

/// `NAME=VALUE` or `NAME`, which is 1.
std::string definition(std::string_view macro) {
  const std::size_t sign = macro.find('=');
  std::string out = "#define ";
  out.append(macro.substr(0, sign)).append(" ");
  out.append(sign == std::string_view::npos ? "1" : macro.substr(sign + 1)).append("\n");
  return out;
}

Options readOptions(const std::vector<std::string>& given) {
  static constexpr std::array kIgnored = {"--device-as-default-execution-space",
                                          "-default-device",
                                          "--restrict",
                                          "-restrict",
                                          "-w",
                                          "--disable-warnings",
                                          "-lineinfo",
                                          "--generate-line-info",
                                          "--extra-device-vectorization",
                                          "--no-source-include",
                                          "--minimal",
                                          "-minimal"};
  Options options;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::string& o = given[i];
    std::string_view value;
    bool ok = true;
    if (valueOf(o, "--gpu-architecture", "-arch", value)) {
      ok = isArchitecture(value, options);
    } else if (valueOf(o, "--fmad", "-fmad", value)) {
      options.contract = value == "true";
    } else if (valueOf(o, "--std", "-std", value)) {
      ok = value == "c++11" || value == "c++14" || value == "c++17" || value == "c++20";
      if (value == "c++20") options.compiler.emplace_back("-std=c++20");
    } else if (valueOf(o, "--define-macro", "", value)) {
      options.macros += definition(value);
    } else if (valueOf(o, "--undefine-macro", "", value)) {
      options.macros.append("#undef ").append(value).append("\n");
    } else if (o == "-D" && i + 1 < given.size()) {
      options.macros += definition(given[++i]);
    } else if (o.starts_with("-D") && o.size() > 2) {
      options.macros += definition(std::string_view(o).substr(2));
    } else if (o.starts_with("-U") && o.size() > 2) {
      options.macros.append("#undef ").append(o.substr(2)).append("\n");
    } else if (valueOf(o, "--ftz", "-ftz", value)) {
      ok = value == "false";  // the host has no such mode
    } else if (valueOf(o, "--prec-div", "-prec-div", value) || valueOf(o, "--prec-sqrt", "-prec-sqrt", value)) {
      ok = value == "true";
    } else if (valueOf(o, "--maxrregcount", "-maxrregcount", value) ||
               valueOf(o, "--ptxas-options", "-Xptxas", value) ||
               valueOf(o, "--diag-suppress", "-diag-suppress", value) ||
               valueOf(o, "--split-compile", "-split-compile", value)) {
      ok = !value.empty();
    } else {
      ok = std::find(kIgnored.begin(), kIgnored.end(), o) != kIgnored.end();
    }
    if (!ok && options.wrong.empty()) options.wrong = o;
  }
  if (std::none_of(options.compiler.begin(), options.compiler.end(),
                   [](const std::string& o) { return o.starts_with("-std"); }))
    options.compiler.emplace_back("-std=c++17");
  options.compiler.emplace_back(options.contract ? "-ffp-contract=fast" : "-ffp-contract=off");
  if (options.contract) options.compiler.insert(options.compiler.end(), {"-O1", "-fexpensive-optimizations"});
  return options;
}

std::string quoted(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

/// What is appended to a text: a record a kernel. A kernel that the preprocessor took away is found as the `NoKernel`
/// of its name, which lookup of `::name` comes to where the global namespace itself has none.
std::string recordsOf(const std::vector<KernelName>& kernels) {
  std::string out = "\n#line 1 \"records of the kernels\"\nnamespace tandem::emulation::none {\n";
  for (const KernelName& k : kernels) out += "constexpr NoKernel " + k.name + "{};\n";
  out += "}\nusing namespace tandem::emulation::none;\n"
         "static const tandem::emulation::KernelRecord tandemKernels[] = {\n";
  for (const KernelName& k : kernels)
    out += "TANDEM_KERNEL(" + k.name + (k.bounds.empty() ? "" : ", " + k.bounds) + ")\n";
  out +=
      "{}};\nextern \"C\" __attribute__((externally_visible)) const tandem::emulation::ModuleRecord tandemModule = {" +
      std::to_string(shimVersion()) + "ull, &tandem::emulation::machine, tandemKernels, " +
      std::to_string(kernels.size()) + "};\n";
  return out;
}

int compile(Program& program, const std::vector<std::string>& given) {
  program.object.clear();
  program.log.clear();
  const Options options = readOptions(given);
  if (!options.wrong.empty()) {
    program.log = "nvrtc: error: invalid value or unrecognized option found: '" + options.wrong + "'\n";
    return kInvalidOption;
  }
  program.isVirtual = options.isVirtual;
  std::string text = program.text;
  HostText host = hostText(text);
  if (host.kernelsInMacros) {
    // The words that the shim replaces have to come through.
    const Compiled flat = preprocess(options.macros + "#line 1\n" + text, options.compiler);
    if (flat.object.empty()) {
      program.log = flat.log;
      return kCompilation;
    }
    text = flat.object;
    host = hostText(text);
  }
  if (!host.refusal.empty()) {
    program.log = program.name + host.refusal;
    return kCompilation;
  }
  const std::string own =
      "\n" + options.macros + "#line 1 " + quoted(program.name) + "\n" + host.text + recordsOf(host.kernels);
  Compiled compiled = compileForHost(shimFor(wordsOf(own)) + own, options.compiler);
  // A macro may have made a name of the shim's.
  if (compiled.object.empty()) compiled = compileForHost(wholeShim() + own, options.compiler);
  program.log = std::move(compiled.log);
  program.object = std::move(compiled.object);
  return program.object.empty() ? kCompilation : kSuccess;
}

/// Compilations that are in flight, and how many are to wait for each other: what is compiled one after the other never
/// meets.
class Meeting {
 public:
  void call(int count, int seconds) {
    const std::lock_guard lock(mutex_);
    awaited_ = count;
    seconds_ = seconds;
    most_ = 0;
  }
  int most() {
    const std::lock_guard lock(mutex_);
    return most_;
  }
  /// False where the others did not come.
  bool enter() {
    std::unique_lock lock(mutex_);
    most_ = std::max(most_, ++here_);
    if (here_ >= awaited_) {
      awaited_ = 0;
      all_.notify_all();
    }
    return all_.wait_for(lock, std::chrono::seconds(seconds_), [&] { return awaited_ == 0; });
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    --here_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_;
  int awaited_ = 0, seconds_ = 0, here_ = 0, most_ = 0;
};
Meeting& meeting() {
  static auto* const one = new Meeting;
  return *one;
}

/// What stands for PTX, which is text: the object in digits.
std::string textOf(const std::string& object) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out = kTextObject;
  for (const char c : object) {
    const auto byte = static_cast<unsigned char>(c);
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

/// Size with the zero behind it, as NVRTC counts texts.
int textSize(const std::string& text, std::size_t* size) {
  *size = text.size() + 1;
  return kSuccess;
}

}  // namespace
}  // namespace tandem::emulation

using tandem::emulation::Program;

extern "C" {
#pragma GCC visibility push(default)

int nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return 0;
}

const char* nvrtcGetErrorString(int result) {
  switch (result) {
  case 0:
    return "NVRTC_SUCCESS";
  case 1:
    return "NVRTC_ERROR_OUT_OF_MEMORY";
  case 2:
    return "NVRTC_ERROR_PROGRAM_CREATION_FAILURE";
  case 3:
    return "NVRTC_ERROR_INVALID_INPUT";
  case 4:
    return "NVRTC_ERROR_INVALID_PROGRAM";
  case 5:
    return "NVRTC_ERROR_INVALID_OPTION";
  case 6:
    return "NVRTC_ERROR_COMPILATION";
  default:
    return "NVRTC_ERROR unknown";
  }
}

int nvrtcGetNumSupportedArchs(int* count) {
  *count = static_cast<int>(tandem::emulation::kArchitectures.size());
  return 0;
}

int nvrtcGetSupportedArchs(int* architectures) {
  std::copy(tandem::emulation::kArchitectures.begin(), tandem::emulation::kArchitectures.end(), architectures);
  return 0;
}

int nvrtcCreateProgram(Program** program, const char* text, const char* name, int headers, const char* const*,
                       const char* const*) {
  // No text of ours includes a header.
  if (program == nullptr || text == nullptr || headers != 0) return tandem::emulation::kInvalidInput;
  *program = new Program{text, name == nullptr || *name == '\0' ? "default_program" : name, "", ""};
  return 0;
}

int nvrtcDestroyProgram(Program** program) {
  if (program == nullptr || *program == nullptr) return tandem::emulation::kInvalidProgram;
  delete *program;
  *program = nullptr;
  return 0;
}

int nvrtcCompileProgram(Program* program, int count, const char* const* options) {
  if (program == nullptr) return tandem::emulation::kInvalidProgram;
  const bool met = tandem::emulation::meeting().enter();
  const int result = met ? tandem::emulation::compile(*program, std::vector<std::string>(options, options + count))
                         : tandem::emulation::kCompilation;
  if (!met) program->log = "the compilations that this one was to meet did not come\n";
  tandem::emulation::meeting().leave();
  return result;
}

/// Of no NVRTC: the next compilations wait until `count` of them are in flight, so many seconds at most. The second is
/// the most that were at once since then.
void tandemCompileTogether(int count, int seconds) { tandem::emulation::meeting().call(count, seconds); }
int tandemCompiledTogether() { return tandem::emulation::meeting().most(); }

int nvrtcGetProgramLogSize(Program* program, std::size_t* size) {
  return program == nullptr ? tandem::emulation::kInvalidProgram : tandem::emulation::textSize(program->log, size);
}

int nvrtcGetProgramLog(Program* program, char* log) {
  if (program == nullptr) return tandem::emulation::kInvalidProgram;
  std::copy_n(program->log.c_str(), program->log.size() + 1, log);
  return 0;
}

int nvrtcGetCUBINSize(Program* program, std::size_t* size) {
  if (program == nullptr || program->object.empty()) return tandem::emulation::kInvalidProgram;
  *size = program->isVirtual ? 0 : program->object.size();
  return 0;
}

int nvrtcGetCUBIN(Program* program, char* bytes) {
  if (program == nullptr || program->object.empty()) return tandem::emulation::kInvalidProgram;
  if (!program->isVirtual) std::copy(program->object.begin(), program->object.end(), bytes);
  return 0;
}

int nvrtcGetPTXSize(Program* program, std::size_t* size) {
  if (program == nullptr || program->object.empty()) return tandem::emulation::kInvalidProgram;
  return tandem::emulation::textSize(tandem::emulation::textOf(program->object), size);
}

int nvrtcGetPTX(Program* program, char* bytes) {
  if (program == nullptr || program->object.empty()) return tandem::emulation::kInvalidProgram;
  const std::string text = tandem::emulation::textOf(program->object);
  std::copy_n(text.c_str(), text.size() + 1, bytes);
  return 0;
}

#pragma GCC visibility pop
}
