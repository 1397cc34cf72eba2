// Saved programs: the manifest, what the reader refuses, and running: code pages, memory, threads, forks.
#include <bit>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "counted_new.h"
#include "lazy/size_fit.h"
#include "plan_test_util.h"
#include "runtime/base/error.h"
#include "runtime/device/executor.h"
#include "runtime/device/thread_pool.h"
#include "runtime/kernel/kernel_cache.h"
#include "runtime/kernel/kernel_symbol.h"
#include "runtime/program/check.h"
#include "runtime/program/manifest_generated.h"
#include "runtime/program/program.h"

namespace tandem::test {
namespace {

using program::Archive;
using program::Context;
using program::PlaceData;
using program::Program;
using program::ProgramData;
using Origin = PlaceData::Origin;

constexpr std::int64_t kRows = 8;
constexpr std::int64_t kColumns = 4;

/// A program's members in memory.
struct Members {
  ProgramData data;
  std::map<std::string, std::string, std::less<>> parts;  // all but the manifest

  [[nodiscard]] Archive archive() const {
    struct Owner {
      std::map<std::string, std::string, std::less<>> parts;
    };
    auto owner = std::make_shared<Owner>(Owner{parts});
    owner->parts[std::string(program::kManifest)] = program::encodeManifest(data);
    std::map<std::string, std::string_view, std::less<>> views;
    for (const auto& [name, bytes] : owner->parts) views.emplace(name, bytes);
    return {std::move(views), std::move(owner)};
  }
  [[nodiscard]] std::shared_ptr<const Program> open() const { return Program::open(archive()); }
};

/// y = relu(s' w), where s' = s * factor + x takes the place of s, and the elements of x that an index says: kernels, a
/// product, a gather, a number, a memory that changes and one that does not. The first `rows` of s.
program::EntryData makeEntry(Members& made, std::int64_t rows) {
  Graph g;
  const ValueRef x = g.input({rows, kColumns});
  const ValueRef index = g.input({rows, 1}, DType::Int64);
  const ValueRef w = g.input({kColumns, kColumns});
  const ValueRef s = g.input({rows, kColumns});
  const std::int32_t factor = g.scalar(Scalar(0.5), ScalarSlot::Source::Argument, 0);
  const ValueRef scaled{g.node(OpCode::mul, {TraceOperand::of(s), TraceOperand::ofSlot(factor)}), 0};
  const ValueRef state = g.op(OpCode::add, {scaled, x});
  const ValueRef y = g.op(OpCode::relu, {g.op(OpCode::matmul_plain, {state, w})});
  const ValueRef picked = g.op(OpCode::gather, {x, index}, {1});
  auto plan = graphCompiler().compile(g.trace, {{y, -1}, {picked, -1}, {state, 3}});

  ProgramData& d = made.data;
  const std::uint64_t item = sizeof(float);
  const auto count = static_cast<std::uint64_t>(rows);
  program::EntryData e;
  e.name = "forward";
  e.arguments = {{"x", DType::Float32, {rows, kColumns}, false}, {"index", DType::Int64, {rows, 1}, false}};
  e.numbers = {{"factor", Scalar(0.5), program::NumberData::Freedom::Any}};
  e.inputs = {{Origin::Argument, 0, 0}, {Origin::Argument, 1, 0}, {Origin::Memory, 0, 0}, {Origin::Memory, 1, 0}};
  e.fresh = {count * kColumns * item, count * item};
  e.results = {{"y", DType::Float32, {rows, kColumns}, {kColumns, 1}, {Origin::Fresh, 0, 0}},
               {"picked", DType::Float32, {rows, 1}, {1, 1}, {Origin::Fresh, 1, 0}}};
  e.plan = *plan;
  auto number = [&](const KernelSignature& k) {
    for (std::uint32_t i = 0; i < d.kernels.size(); ++i)
      if (d.kernels[i].signature.bytes() == k.bytes()) return i;
    d.kernels.push_back({k, {}});
    return static_cast<std::uint32_t>(d.kernels.size() - 1);
  };
  for (const KernelSignature& k : plan->kernels) e.kernels.push_back(number(k));
  for (const KernelSignature& k : executor(Device{}).codeFor(launchesOf(*plan))) {
    program::KernelData& kernel = d.kernels[number(k)];
    if (!kernel.symbols.empty()) continue;
    findCode(k, d.targets[0], [&](const std::string& object, const std::string& symbol) {
      kernel.symbols = {symbol};
      made.parts[program::codeMember(d.targets[0], symbol)] = object;
    });
  }
  return e;
}

/// With kRows rows, or from one to `most`.
Members makeMembers(std::int64_t most = 0) {
  Members made;
  ProgramData& d = made.data;
  d.producer = "a test";
  d.targets = {executor(Device{}).target().architecture};
  const std::uint64_t item = sizeof(float);
  const auto rows = static_cast<std::uint64_t>(std::max(most, kRows));
  d.memories = {{"w", 0, kColumns * kColumns * item, false}, {"s", 64, rows * kColumns * item, true}};
  d.state = {{program::StateData::Kind::Parameter, "w", 0, 0, DType::Float32, {kColumns, kColumns}, {kColumns, 1}},
             {program::StateData::Kind::Buffer, "s", 1, 0, DType::Float32, {kRows, kColumns}, {kColumns, 1}}};
  std::vector<float> weights(16 + rows * kColumns);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = 0.1F * static_cast<float>(i) - 1;
  made.parts[std::string(program::kWeights)] = {reinterpret_cast<const char*>(weights.data()), weights.size() * item};
  if (most == 0) {
    d.entries = {makeEntry(made, kRows)};
  } else {
    lazy::SizeFit fit({{"rows", 1, most, kRows}}, {{0, 0, 0, 1, 0}, {1, 0, 0, 1, 0}});
    for (std::int64_t n = 1; n <= most; ++n) fit.add(makeEntry(made, n));
    d.entries = {std::move(fit).finish()};
  }
  for (const auto& [name, bytes] : made.parts) d.members.push_back({name, program::sha256(bytes)});
  return made;
}

const Members& members() {
  static const Members made = makeMembers();
  return made;
}

/// Two runs, one after the other: the second sees the state that the first left.
std::vector<float> twoRuns(Context& context) {
  std::vector<float> x(kRows * kColumns);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) - 3;
  std::vector<std::int64_t> index(kRows, 2);
  std::vector<float> y(x.size());
  std::vector<float> picked(kRows);
  std::vector<float> all;
  for (int k = 0; k < 2; ++k) {
    const Scalar factor(0.25);
    context.run(0, std::array<void*, 2>{x.data(), index.data()}, {&factor, 1},
                std::array<void*, 2>{y.data(), picked.data()});
    all.insert(all.end(), y.begin(), y.end());
    all.insert(all.end(), picked.begin(), picked.end());
  }
  return all;
}

TEST(Program, ManifestIsTheSameAfterReading) {
  const std::string bytes = program::encodeManifest(members().data);
  EXPECT_EQ(program::encodeManifest(program::decodeManifest(bytes)), bytes);
}

std::string manifestOfVersion(int major, int minor) {
  flatbuffers::FlatBufferBuilder b;
  const auto producer = b.CreateString("another version");
  wire::ManifestBuilder manifest(b);
  manifest.add_major(static_cast<std::uint16_t>(major));
  manifest.add_minor(static_cast<std::uint16_t>(minor));
  manifest.add_producer(producer);
  wire::FinishManifestBuffer(b, manifest.Finish());
  return {reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize()};
}

TEST(Program, VersionsThatAreRead) {
  EXPECT_EQ(program::decodeManifest(manifestOfVersion(program::kMajor, 99)).producer, "another version");
  EXPECT_THROW(program::decodeManifest(manifestOfVersion(program::kMajor + 1, 0)), ValueError);
}

TEST(Program, RunsWithItsState) {
  Context context(members().open());
  const std::vector<float> got = twoRuns(context);
  // The state is s * 1/16 + x * 5/4.
  const auto* state = static_cast<const float*>(context.state(1));
  EXPECT_FLOAT_EQ(state[0], (0.1F * 16 - 1) / 16 + -3 * 1.25F);
  EXPECT_EQ(got[kRows * kColumns], -1);  // column 2 of the first row
  EXPECT_THROW(static_cast<void>(context.changingState(0)), ValueError);
}

TEST(Program, ContextsOnThreadsGiveTheSameBits) {
  const auto program = members().open();
  Context alone(program);
  const std::vector<float> expected = twoRuns(alone);
  std::array<std::vector<float>, 4> got;
  std::vector<std::thread> threads;
  for (auto& g : got)
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k) {
        Context context(program);
        g = twoRuns(context);
        if (g != expected) return;
      }
    });
  for (std::thread& t : threads) t.join();
  for (const auto& g : got) EXPECT_EQ(g, expected);
}

TEST(Program, RunsAfterAFork) {
  const auto program = members().open();
  Context context(program);
  Context other(program);
  const std::vector<float> expected = twoRuns(other);
  const pid_t child = ::fork();
  if (child == 0) {
    bool same = twoRuns(context) == expected;
    Context made(program);
    same &= twoRuns(made) == expected;
    std::_Exit(same ? 0 : 1);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(twoRuns(context), expected);
}

TEST(Program, RunsAllocateNothingOnceTheyRan) {
  Context context(members().open());
  std::vector<float> x(kRows * kColumns, 1);
  std::vector<std::int64_t> index(kRows, 1);
  std::vector<float> y(x.size());
  std::vector<float> picked(kRows);
  const std::array<void*, 2> arguments{x.data(), index.data()};
  const std::array<void*, 2> results{y.data(), picked.data()};
  const Scalar factor(0.25);
  auto run = [&] { context.run(0, arguments, {&factor, 1}, results); };
  run();
  run();
  if (!countsNews()) GTEST_SKIP() << "a sanitizer has the allocator";
  const std::int64_t before = numNews();
  for (int k = 0; k < 100; ++k) run();
  EXPECT_EQ(numNews() - before, 0);
}

TEST(Program, SizesAreMadeOnceAndThenAllocateNothing) {
  constexpr std::int64_t kMost = Context::kMostInstances + 40;
  const auto program = makeMembers(kMost).open();
  Context context(program);
  std::vector<float> x(kMost * kColumns, 1);
  std::vector<std::int64_t> index(kMost, 1);
  std::vector<float> y(x.size());
  std::vector<float> picked(kMost);
  const std::array<void*, 2> arguments{x.data(), index.data()};
  const std::array<void*, 2> results{y.data(), picked.data()};
  const Scalar factor(0.25);
  auto run = [&](std::int64_t rows) {
    context.resize(0, {&rows, 1});
    context.run(0, arguments, {&factor, 1}, results);
    EXPECT_EQ(context.entry(0).arguments[0].shape[0], rows);
  };
  // The same as in a context that never had other sizes.
  for (std::int64_t rows : {kMost, std::int64_t{1}, kRows}) {
    Context alone(program);
    alone.resize(0, {&rows, 1});
    std::vector<float> expected(x.size());
    alone.run(0, arguments, {&factor, 1}, std::array<void*, 2>{expected.data(), picked.data()});
    Context moved(program);
    for (std::int64_t n = 1; n <= kMost; ++n) moved.resize(0, {&n, 1});
    moved.resize(0, {&rows, 1});
    moved.run(0, arguments, {&factor, 1}, results);
    EXPECT_EQ(y, expected);
    std::ranges::fill(y, 0);
  }
  for (std::int64_t rows = 1; rows <= kMost; ++rows) run(rows);
  for (int k = 0; k < 2; ++k)
    for (std::int64_t rows : {3, 5, 8}) run(rows);
  EXPECT_THROW(run(0), ValueError);
  EXPECT_THROW(run(kMost + 1), ValueError);
  EXPECT_THROW(context.resize(0, {}), TypeError);
  if (!countsNews()) GTEST_SKIP() << "a sanitizer has the allocator";
  const std::int64_t before = numNews();
  for (int k = 0; k < 30; ++k)
    for (std::int64_t rows : {3, 5, 8}) run(rows);
  EXPECT_EQ(numNews() - before, 0);
}

/// How many bytes of the process's memory can be executed, and how many of them written as well.
std::pair<std::int64_t, std::int64_t> executableMemory() {
  std::ifstream maps("/proc/self/maps");
  std::int64_t executable = 0;
  std::int64_t writable = 0;
  for (std::string line; std::getline(maps, line);) {
    const std::string rights = line.substr(line.find(' ') + 1, 4);
    std::size_t begin = 0;
    const auto first = std::stoull(line, &begin, 16);
    const auto bytes = static_cast<std::int64_t>(std::stoull(line.substr(begin + 1), nullptr, 16) - first);
    executable += rights[2] == 'x' ? bytes : 0;
    writable += rights[1] == 'w' && rights[2] == 'x' ? bytes : 0;
  }
  return {executable, writable};
}

TEST(Program, NoPageIsWritableAndExecutable) {
  const Members made = members();
  const auto before = executableMemory();
  const auto program = made.open();
  const auto after = executableMemory();
  EXPECT_GT(after.first, before.first);
  EXPECT_EQ(after.second, before.second);
}

std::int64_t residentBytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t pages = 0;
  std::int64_t resident = 0;
  statm >> pages >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

TEST(Program, OpeningAndClosingLeavesNothingBehind) {
  if (!countsNews()) GTEST_SKIP() << "a sanitizer keeps what was freed";
  for (int k = 0; k < 100; ++k) Context(members().open());
  const std::int64_t before = residentBytes();
  for (int k = 0; k < 10'000; ++k) Context(members().open());
  EXPECT_LT(residentBytes() - before, std::int64_t{64} << 20);
}

TEST(Program, DamagedCodeIsFound) {
  Members damaged = members();
  for (auto& [name, bytes] : damaged.parts)
    if (name.starts_with("cpu/")) bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  EXPECT_THROW(damaged.open(), ValueError);
  // With hashes to match it is still no code.
  for (auto& [name, bytes] : damaged.parts)
    if (name.starts_with("cpu/")) bytes.resize(bytes.size() / 2);
  for (program::MemberData& m : damaged.data.members) m.sha256 = program::sha256(damaged.parts[m.name]);
  EXPECT_THROW(damaged.open(), InternalError);
}

TEST(Program, CodeOfAnotherSignatureIsRefused) {
  Members swapped = members();
  std::vector<std::size_t> withCode;
  for (std::size_t k = 0; k < swapped.data.kernels.size(); ++k)
    if (!swapped.data.kernels[k].symbols.empty()) withCode.push_back(k);
  ASSERT_GE(withCode.size(), 2U);
  std::swap(swapped.data.kernels[withCode[0]].symbols, swapped.data.kernels[withCode[1]].symbols);
  try {
    static_cast<void>(swapped.open());
    FAIL() << "it was taken";
  } catch (const ValueError& e) {
    EXPECT_NE(std::string(e.what()).find("for a kernel of another signature"), std::string::npos) << e.what();
  }
  // The first version said nothing of symbols.
  swapped.data.minor = 0;
  EXPECT_NO_THROW(static_cast<void>(swapped.open()));
}

TEST(Program, NumbersAreHeldToTheirBounds) {
  Members bounded = members();
  bounded.data.entries[0].bounds = {{0, 0.25}};
  Context context(bounded.open());
  const auto bits = [&] {
    const auto* state = static_cast<const float*>(context.state(1));
    return std::vector<float>(state, state + kRows * kColumns);
  };
  const std::vector<float> before = bits();
  std::vector<float> x(kRows * kColumns, 1), y(kRows * kColumns), picked(kRows);
  std::vector<std::int64_t> index(kRows, 0);
  const auto run = [&](double factor) {
    const Scalar number(factor);
    context.run(0, std::array<void*, 2>{x.data(), index.data()}, {&number, 1},
                std::array<void*, 2>{y.data(), picked.data()});
  };
  for (const double beyond : {0.26, -1.0}) EXPECT_THROW(run(beyond), Error);
  EXPECT_EQ(bits(), before);
  for (const double within : {0.25, -0.25, 0.0, HUGE_VAL, std::nan("")}) EXPECT_NO_THROW(run(within));
  bounded.data.entries[0].bounds = {{1000, 1}};
  EXPECT_THROW(bounded.open(), ValueError);
}

TEST(Program, SymbolsStayWhatTheyAre) {
  // y = relu(x + s), of which files have been written.
  KernelSignature s;
  s.outerRank = 1;
  s.inputs = {{DType::Float32, Access::Unit}};
  s.scalars = {DType::Float64};
  s.steps.push_back({OpCode::add, DType::Float32, KernelStep::Kind::Pointwise, {0, 1}});
  s.steps.push_back({OpCode::relu, DType::Float32, KernelStep::Kind::Pointwise, {2}});
  s.outputs = {{{DType::Float32, Access::Unit}, 3}};
  EXPECT_EQ(kernelSymbol(s, "x86-64-v3"), "kbf8eccb56f15f86c3a73fc85be66491b");
  EXPECT_NE(kernelSymbol(s, "x86-64-v3"), kernelSymbol(s, "x86-64-v4"));
}

TEST(Program, SaysWhichFunctionsItCalls) {
  EXPECT_EQ(members().open()->functions(), (std::vector<std::string>{"gather", "matmul_plain"}));
}

// ---- what is refused

struct Refusal {
  const char* name;
  std::function<void(ProgramData&)> change;
  const char* text;
};

program::EntryData& entry(ProgramData& d) { return d.entries[0]; }
PlanInstr& first(ProgramData& d, PlanInstr::Kind kind, const char* library = "") {
  Plan& plan = entry(d).plan;
  for (PlanInstr& i : plan.instrs)
    if (i.kind == kind && (*library == '\0' || plan.library[i.function] == library)) return i;
  throw std::runtime_error("the program has no such instruction");
}
PlanInstr& kernel(ProgramData& d) { return first(d, PlanInstr::Kind::Kernel); }
PlanInstr& product(ProgramData& d) { return first(d, PlanInstr::Kind::Library, "matmul_plain"); }
PlanInstr& gather(ProgramData& d) { return first(d, PlanInstr::Kind::Library, "gather"); }
ArgLayout layout(ProgramData& d) { return ArgLayout(entry(d).plan.kernels[kernel(d).function]); }
void addSlot(ProgramData& d, ScalarSlot::Source source, int a, int b) {
  entry(d).plan.slots.push_back({source, Scalar(1), a, b});
}

void stride(ProgramData& d, Dims shape, Dims strides) {
  PlanInstr& i = kernel(d);
  i.strided = true;
  i.operands[0].shape = std::move(shape);
  i.operands[0].strides = std::move(strides);
}

const Refusal kRefusals[] = {
    {"ArenaTooLarge", [](ProgramData& d) { entry(d).plan.arenaBytes = std::uint64_t{1} << 50; }, "bytes"},
    {"ResultsOverflow", [](ProgramData& d) { entry(d).fresh.assign(2, UINT64_MAX - 8); }, "a result of"},
    {"TemporaryOutside", [](ProgramData& d) { entry(d).plan.arenaBytes = 0; }, "a temporary outside the arena"},
    {"OutputTooSmall", [](ProgramData& d) { entry(d).fresh[0] = 4; }, "an output"},
    {"ArgumentTooSmall", [](ProgramData& d) { entry(d).arguments[0].shape = {kRows, 1}; }, "an input of"},
    {"NegativeShape", [](ProgramData& d) { entry(d).arguments[0].shape = {-1, -1}; }, "negative"},
    {"ShapeOverflows", [](ProgramData& d) { entry(d).arguments[0].shape = {1LL << 40, 1LL << 40}; }, "overflows"},
    {"InputOffset", [](ProgramData& d) { entry(d).inputs[0].offset = 1 << 20; }, "an input's offset"},
    {"InputOfNoArgument", [](ProgramData& d) { entry(d).inputs[0].index = 7; }, "a place in no argument"},
    {"InputOfNoMemory", [](ProgramData& d) { entry(d).inputs[2].index = 7; }, "a place in no memory"},
    {"InputIsFresh", [](ProgramData& d) { entry(d).inputs[0].origin = Origin::Fresh; }, "an input's place"},
    {"MemoryUnaligned",
     [](ProgramData& d) {
       d.memories[1].offset += 2;
       d.memories[1].bytes -= 2;
     },
     "not aligned"},
    {"WritesWhatDoesNotChange", [](ProgramData& d) { d.memories[1].changes = false; },
     "writes to what does not change"},
    {"MemoryOutside", [](ProgramData& d) { d.memories[0].bytes = 1 << 20; }, "outside the weights"},
    {"MemoriesOverlap", [](ProgramData& d) { d.memories[0].offset = 60; }, "two memories overlap"},
    {"StateOutside", [](ProgramData& d) { d.state[0].offset = 4; }, "a tensor of the state reaches"},
    {"StateOfNoMemory", [](ProgramData& d) { d.state[0].memory = 9; }, "in no memory"},
    {"StateRank", [](ProgramData& d) { d.state[0].strides = {1}; }, "strides"},
    {"TwoOfAName", [](ProgramData& d) { d.state[1].name = d.state[0].name; }, "are called"},
    {"StateWithoutName", [](ProgramData& d) { d.state[0].name.clear(); }, "is empty"},
    {"NameOfNoText", [](ProgramData& d) { d.state[0].name = "a\xED\xA0\x80"; }, "no UTF-8"},
    {"EntryOfNoText", [](ProgramData& d) { entry(d).name = "w\xC3"; }, "no UTF-8"},
    {"TwoEntries", [](ProgramData& d) { d.entries.push_back(d.entries[0]); }, "are called"},
    {"ResultOutside", [](ProgramData& d) { entry(d).results[0].strides = {kColumns, 2}; }, "a result reaches"},
    {"ResultOfNothing", [](ProgramData& d) { entry(d).results[0].place.origin = Origin::Nothing; }, "a result reaches"},
    {"ResultOfNoMemory", [](ProgramData& d) { entry(d).results[0].place = {Origin::Memory, UINT32_MAX / 2, 0}; },
     "a place in no memory"},
    {"ResultOfNoOutput", [](ProgramData& d) { entry(d).results[0].place.index = 9; }, "a place in no output"},
    {"BufferOfNoInput",
     [](ProgramData& d) {
       for (PlanBuffer& b : entry(d).plan.buffers) b.index = 9;
     },
     "an "},
    {"SlotBehind", [](ProgramData& d) { addSlot(d, ScalarSlot::Source::Add, 50, 0); }, "one behind it"},
    {"SlotNegation", [](ProgramData& d) { addSlot(d, ScalarSlot::Source::Neg, 0, 50); }, "one behind it"},
    {"SlotArgument", [](ProgramData& d) { addSlot(d, ScalarSlot::Source::Argument, 3, -1); }, "no call gives"},
    {"NoSuchSlot", [](ProgramData& d) { kernel(d).scalars.assign(kernel(d).scalars.size(), 99); }, "a slot"},
    {"NoSuchBuffer", [](ProgramData& d) { kernel(d).operands[0].buffer = 99; }, "an operand"},
    {"NoSuchKernel", [](ProgramData& d) { kernel(d).function = 99; }, "a kernel's number"},
    {"KernelOperands", [](ProgramData& d) { kernel(d).operands.pop_back(); }, "a kernel's arguments"},
    {"KernelArguments", [](ProgramData& d) { kernel(d).args.pop_back(); }, "a kernel's arguments"},
    {"KernelDType", [](ProgramData& d) { kernel(d).operands[0].dtype = DType::Int8; }, "the dtype of a kernel's"},
    {"KernelOffset", [](ProgramData& d) { kernel(d).operands[0].byteOffset = UINT64_MAX; }, "the place of"},
    {"KernelTooLong", [](ProgramData& d) { kernel(d).args[layout(d).innerSize()] += 1; }, "a kernel's operand reaches"},
    {"KernelHuge", [](ProgramData& d) { kernel(d).args[layout(d).innerSize()] = INT64_MAX; }, "size"},
    {"KernelEmpty", [](ProgramData& d) { kernel(d).args[layout(d).innerSize()] = 0; }, "no elements"},
    {"KernelStrided", [](ProgramData& d) { stride(d, {kRows, 2}, {2, 1}); }, "a strided input of a kernel"},
    {"KernelStridedElementwise", [](ProgramData& d) { stride(d, {kRows, kColumns}, {1, kRows}); },
     "a strided input of a kernel"},
    {"NoCodeOfAPartialKernel",
     [](ProgramData& d) { entry(d).plan.kernels[kernel(d).function].kind = KernelKind::Partial; }, "partial"},
    {"NoSuchFunction", [](ProgramData& d) { product(d).function = 99; }, "a library call"},
    {"OperandsMissing", [](ProgramData& d) { product(d).operands.resize(1); }, "a library call"},
    {"ProductShapes", [](ProgramData& d) { product(d).operands[0].shape = {kColumns, kRows}; }, "do not fit"},
    {"ProductResult", [](ProgramData& d) { product(d).operands[2].shape = {kRows, 2}; },
     "results are not of the shapes"},
    {"ProductDType", [](ProgramData& d) { product(d).operands[1].dtype = DType::Int32; }, "dtype"},
    {"ProductGaps", [](ProgramData& d) { product(d).operands[2].strides = {1, kRows}; }, "has gaps"},
    {"ProductInItsOperand", [](ProgramData& d) { product(d).operands[2] = product(d).operands[0]; },
     "lies in an operand"},
    {"ProductAbsent", [](ProgramData& d) { product(d).operands[0] = {}, product(d).operands[0].absent = true; },
     "absent"},
    {"ProductNumbers", [](ProgramData& d) { product(d).scalars = {0}; }, "numbers"},
    {"ProductAttributes", [](ProgramData& d) { product(d).attrs = {0, 1, 0}; }, "attributes"},
    {"ProductFlag", [](ProgramData& d) { product(d).attrs = {2}; }, "no bool"},
    {"GatherDim", [](ProgramData& d) { gather(d).attrs = {2}; }, "a dim is out of range"},
    {"GatherNoDim", [](ProgramData& d) { gather(d).attrs = {}; }, "attributes are missing"},
    {"GatherIndex", [](ProgramData& d) { gather(d).operands[1].dtype = DType::Float64; }, "dtype"},
    {"CopyOntoItself",
     [](ProgramData& d) {
       PlanInstr copy = product(d);
       copy.kind = PlanInstr::Kind::Copy;
       copy.operands = {copy.operands[0], copy.operands[0]};
       entry(d).plan.instrs.push_back(copy);
     },
     "onto itself"},
    {"CopyOfAnotherDType",
     [](ProgramData& d) {
       PlanInstr copy = product(d);
       copy.kind = PlanInstr::Kind::Copy;
       copy.operands = {copy.operands[0], copy.operands[2]};
       copy.operands[0].dtype = DType::Int32;
       entry(d).plan.instrs.push_back(copy);
     },
     "a copy"},
    {"KernelTwice", [](ProgramData& d) { d.kernels.push_back(d.kernels[0]); }, "there twice"},
    {"StepAhead", [](ProgramData& d) { d.kernels[0].signature.steps[0].operands[0] = 999; }, "what comes after it"},
    {"OutputOfNoValue", [](ProgramData& d) { d.kernels[0].signature.outputs[0].value = 999; }, "no value"},
    {"OuterRank", [](ProgramData& d) { d.kernels[0].signature.outerRank = 200; }, "ranks"},
    {"SymbolsOfTargets", [](ProgramData& d) { d.targets.emplace_back("x86-64-v9"); }, "symbols"},
};

class Refused : public testing::TestWithParam<Refusal> {};

TEST_P(Refused, WithWhatIsWrong) {
  ProgramData changed = members().data;
  checkProgram(changed, members().parts.at(std::string(program::kWeights)).size());
  GetParam().change(changed);
  try {
    checkProgram(changed, members().parts.at(std::string(program::kWeights)).size());
    FAIL() << "it was taken";
  } catch (const ValueError& e) {
    EXPECT_NE(std::string(e.what()).find(GetParam().text), std::string::npos) << e.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Program, Refused, testing::ValuesIn(kRefusals),
                         [](const auto& info) { return info.param.name; });

TEST(Program, NamesAreOfAnyScript) {
  ProgramData changed = members().data;
  changed.state[0].name = "\xC3\xA4\xE2\x82\xAC\xED\x9F\xBF\xF0\x9F\x98\x80\xF4\x8F\xBF\xBF";
  checkProgram(changed, members().parts.at(std::string(program::kWeights)).size());
}

TEST(Program, OperationsThatAreNotHere) {
  ProgramData d = members().data;
  entry(d).plan.library.assign(entry(d).plan.library.size(), "frobnicate");
  EXPECT_THROW(checkProgram(d, members().parts.at(std::string(program::kWeights)).size()), NotImplementedError);
}

}  // namespace
}  // namespace tandem::test
