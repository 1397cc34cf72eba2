#include "tests/fuzz/fuzzing.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "runtime/device/thread_pool.h"
#include "runtime/memory/allocator.h"
#include "runtime/program/check.h"
#include "runtime/program/sizes.h"

namespace tandem::fuzz {
namespace {

constexpr std::int64_t kMostElements = 1 << 20;
constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 20;

std::vector<Seed> readSeeds() {
  setNumThreads(2);
  const char* folder = std::getenv("TANDEM_FUZZ_SEEDS");
  TANDEM_CHECK(folder != nullptr, "TANDEM_FUZZ_SEEDS names no folder of saved programs");
  std::vector<std::filesystem::path> paths;
  for (const auto& file : std::filesystem::directory_iterator(folder))
    if (file.path().extension() == ".tandem") paths.push_back(file.path());
  std::ranges::sort(paths);
  std::vector<Seed> all;
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    auto file =
        std::make_shared<const std::string>(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    all.push_back({path.stem().string(), file, program::Archive::read(*file, file, path.string())});
  }
  TANDEM_CHECK(!all.empty(), "there is no saved program in ", folder);
  return all;
}

std::vector<std::string> kernelsOf(const program::ProgramData& data) {
  std::vector<std::string> all;
  for (const program::KernelData& k : data.kernels) {
    std::string code = k.signature.bytes();
    for (const std::string& symbol : k.symbols) code += "|" + symbol;
    if (!k.symbols.empty()) all.push_back(std::move(code));
  }
  return all;
}

/// Memory for a tensor of a call.
class Block {
 public:
  explicit Block(std::size_t bytes) : bytes_(bytes), data_(static_cast<char*>(allocate(bytes))) {
    for (std::size_t i = 0; i < bytes; ++i) data_[i] = static_cast<char>(i % 3);
  }
  ~Block() { deallocate(data_, bytes_); }
  Block(Block&& other) noexcept : bytes_(other.bytes_), data_(std::exchange(other.data_, nullptr)) {}
  Block& operator=(Block&&) = delete;
  [[nodiscard]] void* data() const { return data_; }

 private:
  std::size_t bytes_;
  char* data_;
};

template <class T>
std::uint64_t bytesOf(const std::vector<T>& tensors) {
  std::uint64_t all = 0;
  for (const T& t : tensors)
    all += std::min(kMostBytes, static_cast<std::uint64_t>(numelOf(t.shape))) * itemSize(t.dtype);
  return all;
}
template <class T>
std::vector<Block> blocksOf(const std::vector<T>& tensors) {
  std::vector<Block> all;
  for (const T& t : tensors) all.emplace_back(static_cast<std::size_t>(numelOf(t.shape)) * itemSize(t.dtype));
  return all;
}
std::vector<void*> pointersTo(const std::vector<Block>& blocks) {
  std::vector<void*> all;
  for (const Block& b : blocks) all.push_back(b.data());
  return all;
}

bool isSmall(const program::EntryData& e) {
  std::uint64_t bytes = e.plan.arenaBytes;
  for (const std::uint64_t b : e.fresh) bytes = std::min(bytes + b, 2 * kMostBytes);
  std::int64_t elements = 0;
  for (const PlanInstr& i : e.plan.instrs) {
    if (i.kind == PlanInstr::Kind::Kernel)
      elements += std::min(kMostElements + 1, i.space.units) * std::min(kMostElements + 1, i.space.elementsPerUnit);
    for (const PlanOperand& o : i.operands) elements += std::min(kMostElements + 1, numelOf(o.shape));
    // Sizes of windows and lists of many more pieces than elements.
    for (const std::int64_t a : i.attrs)
      if (a > 4096 || a < -4096) return false;
    if (elements > kMostElements) return false;
  }
  return bytes <= kMostBytes && bytesOf(e.arguments) + bytesOf(e.results) <= kMostBytes;
}

}  // namespace

const std::vector<Seed>& seeds() {
  static const auto* const all = new std::vector<Seed>(readSeeds());
  return *all;
}

bool isTrusted(const program::ProgramData& data) {
  static const auto* const known = [] {
    auto* all = new std::set<std::string>;
    for (const Seed& s : seeds())
      for (std::string& k : kernelsOf(program::decodeManifest(s.archive.member(program::kManifest))))
        all->insert(std::move(k));
    return all;
  }();
  // Of the first version of the format nothing says which code is whose.
  return data.minor > 0 ||
         std::ranges::all_of(kernelsOf(data), [](const std::string& k) { return known->contains(k); });
}

namespace {

/// Sizes that an entry is tried with; none where it has none to choose.
std::vector<std::vector<std::int64_t>> sizesOf(const program::EntryData& e) {
  std::vector<std::vector<std::int64_t>> all(5);
  for (const program::SizeData& s : e.sizes) {
    all[0].push_back(s.example);
    all[1].push_back(s.least);
    all[2].push_back(s.most);
    all[3].push_back(std::min(s.least + 1, s.most));
    all[4].push_back(s.example);
  }
  if (e.sizes.empty()) all.resize(1);
  return all;
}

/// False where what it would take is too much to try.
bool resize(program::Context& context, std::size_t number, const std::vector<std::int64_t>& sizes) {
  const program::Program& program = context.program();
  if (const program::SizedEntry* sized = program.sized(number)) {
    program::EntryData e = sized->at(sizes);
    checkEntry(program.data(), e);
    program::addSpaces(e.plan);
    if (!isSmall(e)) return false;
    std::vector<DimsRef> shapes;
    for (const program::ArgumentData& a : e.arguments) shapes.emplace_back(a.shape);
    context.resizeFor(number, shapes);
  }
  return true;
}

}  // namespace

void run(const std::shared_ptr<const program::Program>& program) {
  const program::ProgramData& data = program->data();
  if (!std::ranges::all_of(data.entries, isSmall)) return;
  program::Context context(program);
  for (std::size_t k = 0; k < data.entries.size(); ++k) {
    for (const std::vector<std::int64_t>& sizes : sizesOf(data.entries[k])) {
      attempt([&] {
        if (!resize(context, k, sizes)) return;
        const program::EntryData& e = context.entry(k);
        const std::vector<Block> arguments = blocksOf(e.arguments);
        const std::vector<Block> results = blocksOf(e.results);
        std::vector<Scalar> numbers;
        for (const program::NumberData& n : e.numbers) numbers.push_back(n.value);
        context.run(k, pointersTo(arguments), numbers, pointersTo(results));
      });
    }
  }
}

}  // namespace tandem::fuzz
