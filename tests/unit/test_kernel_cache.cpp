// The kernel cache on disk, the loader of objects, and what both do with damage.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "runtime/base/counters.h"
#include "runtime/base/error.h"
#include "runtime/device/cpu/elf_loader.h"
#include "runtime/device/executor.h"
#include "runtime/device/isa.h"
#include "runtime/kernel/disk_cache.h"
#include "runtime/kernel/kernel_cache.h"
#include "runtime/kernel/kernel_compiler.h"
#include "tests/unit/kernel_test_util.h"

namespace tandem::test {
namespace {

namespace fs = std::filesystem;

/// A cache folder of its own for one test.
class KernelCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = (fs::temp_directory_path() / ("tandem_cache_test_" + std::to_string(::getpid()))).string();
    fs::remove_all(folder_);
    if (const char* old = std::getenv("TANDEM_CACHE_DIR")) before_ = old;
    if (const char* off = std::getenv("TANDEM_CACHE")) off_ = off;
    ::setenv("TANDEM_CACHE_DIR", folder_.c_str(), 1);
    ::unsetenv("TANDEM_CACHE");
  }
  void TearDown() override {
    fs::remove_all(folder_);
    if (before_.empty())
      ::unsetenv("TANDEM_CACHE_DIR");
    else
      ::setenv("TANDEM_CACHE_DIR", before_.c_str(), 1);
    if (!off_.empty()) ::setenv("TANDEM_CACHE", off_.c_str(), 1);
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    if (!fs::exists(folder_)) return found;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      if (entry.is_regular_file()) found.push_back(entry.path());
    }
    return found;
  }
  std::string folder_, before_, off_;
};

/// A signature that no other test uses: `length` additions in a chain.
KernelSignature chain(int length, DType t = DType::Float64) {
  Build k(KernelKind::Row);
  auto v = k.input(t);
  for (int i = 0; i < length; ++i) v = k.step(OpCode::add, t, {v, v});
  k.output(t, Access::Unit, v);
  return k.signature;
}

const CodeName kKey{"some-isa", "00112233445566778899aabbccddeeff"};

TEST_F(KernelCacheTest, ReadsWhatItWrote) {
  EXPECT_FALSE(readCachedObject(kKey));
  writeCachedObject(kKey, "some object");
  EXPECT_EQ(readCachedObject(kKey), "some object");
  ASSERT_EQ(files().size(), 1U);
  EXPECT_EQ(files()[0], fs::path(folder_) / "some-isa" / "00" / "112233445566778899aabbccddeeff.o");
}

TEST_F(KernelCacheTest, IgnoresDamagedAndShortFiles) {
  writeCachedObject(kKey, "some object");
  const fs::path file = files().at(0);
  std::string whole;
  {
    std::ifstream in(file, std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(in), {});
  }
  auto holds = [&](const std::string& bytes) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
    return readCachedObject(kKey).has_value();
  };
  EXPECT_TRUE(holds(whole));
  for (std::size_t n = 0; n < whole.size(); ++n) {
    EXPECT_FALSE(holds(whole.substr(0, n))) << n;
    std::string flipped = whole;
    flipped[n] = static_cast<char>(flipped[n] ^ 4);
    EXPECT_FALSE(holds(flipped)) << n;
  }
  EXPECT_FALSE(holds(whole + "x"));
  writeCachedObject(kKey, "some object");
  EXPECT_TRUE(readCachedObject(kKey));
}

TEST_F(KernelCacheTest, CanBeTurnedOff) {
  ::setenv("TANDEM_CACHE", "off", 1);
  writeCachedObject(kKey, "some object");
  EXPECT_TRUE(files().empty());
  ::unsetenv("TANDEM_CACHE");
  writeCachedObject(kKey, "some object");
  ::setenv("TANDEM_CACHE", "off", 1);
  EXPECT_FALSE(readCachedObject(kKey));
  ::unsetenv("TANDEM_CACHE");
}

TEST_F(KernelCacheTest, CompilesOnceAndFindsItAgain) {
  const auto compiles = counters().kernelCompiles.load(), hits = counters().kernelCacheHits.load();
  const cpu::KernelFn first = cpu::loadKernel(chain(11)).function();
  EXPECT_EQ(counters().kernelCompiles.load(), compiles + 1);
  EXPECT_EQ(cpu::loadKernel(chain(11)).function(), first);
  EXPECT_EQ(counters().kernelCompiles.load(), compiles + 1);
  EXPECT_EQ(counters().kernelCacheHits.load(), hits + 1);
  EXPECT_EQ(files().size(), 1U);
}

/// Runs `body` in a child with caches of its own in memory; true where it says so.
bool inChild(const std::function<bool()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(KernelCacheTest, SharesItsFilesBetweenProcesses) {
  auto compilesIn = [&](int length) {
    return [=] {
      const auto before = counters().kernelCompiles.load();
      double x = 1, z = 0;
      run(chain(length), Args(chain(length)).inner(1).operand(0, &x).operand(1, &z), 0, 1);
      return counters().kernelCompiles.load() == before + 1 && z == std::ldexp(1.0, length);
    };
  };
  EXPECT_TRUE(inChild(compilesIn(12)));   // fills the cache
  EXPECT_FALSE(inChild(compilesIn(12)));  // finds it there
  // Damage: made anew, and rewritten.
  ASSERT_EQ(files().size(), 1U);
  std::ofstream(files()[0], std::ios::binary | std::ios::in | std::ios::out).seekp(100) << "damage";
  EXPECT_TRUE(inChild(compilesIn(12)));
  EXPECT_FALSE(inChild(compilesIn(12)));
  // A whole file with nonsense inside.
  const fs::path file = files()[0];
  const std::string key = file.parent_path().filename().string() + file.stem().string();
  writeCachedObject({file.parent_path().parent_path().filename().string(), key}, "this is no object");
  EXPECT_TRUE(inChild(compilesIn(12)));
  EXPECT_FALSE(inChild(compilesIn(12)));
}

TEST_F(KernelCacheTest, ManyThreadsGetTheSameKernel) {
  std::vector<const Kernel*> wanted;
  std::vector<LaunchPreview> launches;
  const std::int64_t sizes[8] = {1};
  for (int length = 20; length < 26; ++length) {
    wanted.push_back(executor(Device{}).load(chain(length)));
    launches.push_back({wanted.back(), sizes, {1, 1}});
  }
  std::vector<std::vector<cpu::KernelFn>> got(4);
  std::vector<std::thread> threads;
  for (auto& kernels : got)
    threads.emplace_back([&] {
      executor(Device{}).prepare(launches);
      for (const Kernel* k : wanted) kernels.push_back(static_cast<const cpu::CpuKernel*>(k)->ready());
    });
  for (std::thread& t : threads) t.join();
  for (const auto& kernels : got) EXPECT_EQ(kernels, got[0]);
  for (cpu::KernelFn fn : got[0]) EXPECT_NE(fn, nullptr);
}

TEST_F(KernelCacheTest, SignaturesThatDifferHaveOtherBytes) {
  const KernelSignature base = chain(2);
  KernelSignature other = base;
  EXPECT_EQ(base.bytes(), other.bytes());
  other.outerRank = 1;
  EXPECT_NE(base.bytes(), other.bytes());
  other = base;
  other.steps[1].operands[0] = 0;
  EXPECT_NE(base.bytes(), other.bytes());
  other = base;
  other.inputs[0].access = Access::Strided;
  EXPECT_NE(base.bytes(), other.bytes());
  other = base;
  other.outputs[0].operand.dtype = DType::Float32;
  EXPECT_NE(base.bytes(), other.bytes());
  EXPECT_NE(base.text(), other.text());
  EXPECT_NE(cacheKey({"ab", "c"}), cacheKey({"a", "bc"}));
}

TEST(KernelLoader, RefusesWhatIsNoObject) {
  const std::string object = kernelCompiler(hostIsa()).compile(chain(3), "entry", hostIsa());
  EXPECT_NE(cpu::loadObject(object, "entry"), nullptr);
  EXPECT_THROW(cpu::loadObject(object, "other"), InternalError);
  EXPECT_THROW(cpu::loadObject("", "entry"), InternalError);
  EXPECT_THROW(cpu::loadObject(std::string(200, 'x'), "entry"), InternalError);
  for (std::size_t n = 0; n < object.size(); n += 7)
    EXPECT_THROW(cpu::loadObject(object.substr(0, n), "entry"), InternalError);
}

TEST(KernelLoader, SurvivesFlippedBytes) {
  // Loads or refuses, but never reads or writes outside (ASan watches); what loads is not run.
  const std::string object = kernelCompiler(hostIsa()).compile(chain(3), "entry", hostIsa());
  for (std::size_t at = 0; at < object.size(); ++at) {
    for (int bit : {0, 3, 7}) {
      std::string flipped = object;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
      try {
        cpu::loadObject(flipped, "entry");
      } catch (const Error&) {
      }
    }
  }
}

TEST(KernelLoader, LinksItsImports) {
  Build k(KernelKind::Row);
  const auto a = k.input(DType::Float64), b = k.input(DType::Float64);
  k.output(DType::Float64, Access::Unit, k.step(OpCode::fmod, DType::Float64, {a, b}));
  const auto x = noises<double>(20, 1000), y = noises<double>(20, 3, 7);
  std::vector<double> z(20);
  run(k.signature, Args(k.signature).inner(20).operand(0, x.data()).operand(1, y.data()).operand(2, z.data()), 0, 20);
  for (std::size_t i = 0; i < z.size(); ++i) EXPECT_EQ(z[i], std::fmod(x[i], y[i]));
}

TEST(KernelCompiler, NamesTheSignatureItCannotCompile) {
  Build k(KernelKind::Row, 1);
  const auto a = k.input(DType::Float32);
  k.output(DType::Float32, Access::Unit, k.step(OpCode::matmul_plain, DType::Float32, {a, a}));  // has no scalar body
  try {
    kernelCompiler(hostIsa()).compile(k.signature, "broken", hostIsa());
    FAIL() << "compiled";
  } catch (const InternalError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("row1(f32:unit)"), std::string::npos) << text;
    EXPECT_NE(text.find("broken.mlir"), std::string::npos) << text;
  }
}

/// A compiler for an architecture of its own.
class OtherCompiler : public KernelCompiler {
 public:
  bool makesCodeFor(std::string_view architecture) const override { return architecture == "test-isa"; }
  std::string compile(const KernelSignature&, const std::string&, const std::string&) override {
    ++compiled;
    return "code";
  }
  std::string version() const override { return "1"; }
  int compiled = 0;
};

TEST_F(KernelCacheTest, KeepsArchitecturesApart) {
  static OtherCompiler other;
  registerKernelCompiler(&other);
  EXPECT_EQ(&kernelCompiler("test-isa"), &other);
  EXPECT_NE(&kernelCompiler(hostIsa()), &other);
  EXPECT_THROW(kernelCompiler("no-isa"), ValueError);
  std::vector<std::string> objects;
  const LoadCode load = [&](const std::string& object, const std::string&) { objects.push_back(object); };
  findCode(chain(13), "test-isa", load);
  findCode(chain(13), "test-isa", load);
  findCode(chain(13), hostIsa(), load);
  EXPECT_EQ(other.compiled, 1);
  ASSERT_EQ(objects.size(), 3U);
  EXPECT_EQ(objects[0], "code");
  EXPECT_EQ(objects[1], "code");
  EXPECT_NE(objects[2], "code");
  EXPECT_EQ(files().size(), 2U);
}

TEST(KernelCompiler, MakesCodeForBothIsas) {
  for (const char* isa : {"x86-64-v3", "x86-64-v4"})
    for (const KernelKind kind : {KernelKind::Row, KernelKind::Leading}) {
      Build k(kind, 1);
      const auto x = k.input(DType::Float32), h = k.input(DType::BFloat16, Access::Strided);
      const auto e = k.step(OpCode::exp, DType::Float32, {k.step(OpCode::to, DType::Float32, {h})});
      k.output(DType::Float32, Access::Zero,
               k.reduce(OpCode::sum, DType::Float32, k.step(OpCode::mul, DType::Float32, {x, e})));
      EXPECT_NE(cpu::loadObject(kernelCompiler(isa).compile(k.signature, "both", isa), "both"), nullptr);
    }
}

}  // namespace
}  // namespace tandem::test
