#include "runtime/program/program.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/device/executor.h"
#include "runtime/lib/strided.h"
#include "runtime/memory/allocator.h"
#include "runtime/program/check.h"

namespace tandem::program {

// ---- opening

std::shared_ptr<const Program> Program::open(Archive archive, const OpenOptions& options) {
  std::shared_ptr<Program> program(new Program(std::move(archive)));
  program->read(options);
  program->loadKernels(options.irOnly);
  return program;
}

namespace {

constexpr std::uint64_t kAlignment = 64;
std::uint64_t aligned(std::uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

bool isCode(std::string_view member) { return member.starts_with("cpu/"); }

void checkHashes(const Archive& archive, const ProgramData& data, bool all) {
  for (const auto& [name, bytes] : archive.members()) {
    if (name == kManifest || name == kSignature || !(all || isCode(name))) continue;
    const auto known = std::ranges::find(data.members, name, &MemberData::name);
    if (known == data.members.end()) fail<ValueError>("a saved program's member `", name, "` is not in its manifest");
    if (sha256(bytes) != known->sha256) fail<ValueError>("a saved program's member `", name, "` is damaged");
  }
}

void checkNumber(const std::string& entry, const NumberData& n, const Scalar& value) {
  const bool fits = n.freedom == NumberData::Freedom::Any || value.asDouble() == n.value.asDouble() ||
                    (n.freedom == NumberData::Freedom::SameZero && value.asDouble() != 0 && n.value.asDouble() != 0);
  if (!fits)
    fail<TypeError>(entry, ": ", n.name, " was ", n.value.asDouble(), " when the program was saved, and cannot be ",
                    value.asDouble(),
                    n.freedom == NumberData::Freedom::Fixed ? ": the program depends on its value"
                                                            : ": the program depends on whether it is zero");
}

bool isWhole(const ResultData& r, std::uint64_t bytes) {
  return r.place.offset == 0 && isContiguous(r.shape, r.strides) &&
         static_cast<std::uint64_t>(numelOf(r.shape)) * itemSize(r.dtype) == bytes;
}

}  // namespace

void Program::read(const OpenOptions& options) {
  const std::string_view manifest = archive_.member(kManifest);
  if (!options.signedBy.empty()) {
    if (!archive_.has(kSignature)) fail<ValueError>("the saved program is not signed");
    if (!isSigned(manifest, archive_.member(kSignature), options.signedBy))
      fail<ValueError>("the saved program is not signed with the key that is required");
  }
  data_ = decodeManifest(manifest);
  checkHashes(archive_, data_, options.verify || !options.signedBy.empty());
  if (!data_.memories.empty()) weights_ = archive_.member(kWeights);
  // A file beside the program may have been replaced. (Sums that overflow are refused below.)
  std::uint64_t end = 0;
  for (const MemoryData& m : data_.memories) end = std::max(end, m.offset + m.bytes);
  if (end != weights_.size())
    fail<ValueError>("the weights of a saved program have ", weights_.size(), " bytes, and should have ", end);
  checkProgram(data_, weights_.size());
  for (EntryData& e : data_.entries) {
    addSpaces(e.plan);
    Layout layout;
    layout.straight.assign(e.fresh.size(), -1);
    layout.bytes = aligned(e.plan.arenaBytes);
    for (std::size_t k = 0; k < e.fresh.size(); ++k) {
      auto isHere = [&](const ResultData& r) {
        return r.place.origin == PlaceData::Origin::Fresh && r.place.index == k;
      };
      const auto first = std::ranges::find_if(e.results, isHere);
      if (first != e.results.end() && std::ranges::count_if(e.results, isHere) == 1 && isWhole(*first, e.fresh[k]))
        layout.straight[k] = static_cast<std::int32_t>(first - e.results.begin());
      layout.offsets.push_back(layout.bytes);
      if (layout.straight[k] < 0) layout.bytes += aligned(e.fresh[k]);
    }
    layouts_.push_back(std::move(layout));
  }
}

void Program::loadKernels(bool irOnly) {
  Executor& cpu = executor(Device{});
  if (irOnly) {
    for (EntryData& e : data_.entries) resolvePlan(e.plan);
    return;
  }
  const std::string& own = cpu.target().architecture;
  // Code for older processors runs on newer ones, which are listed behind them.
  for (const std::string& target : data_.targets)
    if (target <= own && target > target_) target_ = target;
  const bool needed = std::ranges::any_of(data_.kernels, [](const KernelData& k) { return !k.symbols.empty(); });
  if (needed && target_.empty()) {
    std::string known;
    for (const std::string& target : data_.targets) known += (known.empty() ? "" : ", ") + target;
    fail<NotImplementedError>("the saved program has code for ", known, "; this processor is ", own);
  }
  std::vector<SavedKernel> kernels;
  const auto number = static_cast<std::size_t>(std::ranges::find(data_.targets, target_) - data_.targets.begin());
  for (const KernelData& k : data_.kernels) {
    if (k.symbols.empty())
      kernels.push_back({k.signature, {}, {}});
    else
      kernels.push_back({k.signature, archive_.member(codeMember(target_, k.symbols[number])), k.symbols[number]});
  }
  module_ = cpu.loadModule(kernels);
  for (EntryData& e : data_.entries) resolvePlan(e.plan, module_.get());
}

std::optional<std::size_t> Program::entry(std::string_view name) const {
  const auto it = std::ranges::find(data_.entries, name, &EntryData::name);
  if (it == data_.entries.end()) return std::nullopt;
  return static_cast<std::size_t>(it - data_.entries.begin());
}

// ---- running

struct Context::Block {
  explicit Block(std::size_t n) : bytes(n), data(static_cast<char*>(allocate(n))) {}
  ~Block() { deallocate(data, bytes); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  std::size_t bytes;
  char* data;
};

Context::Context(std::shared_ptr<const Program> program)
    : seed(program->data_.seed), draws(program->data_.draws), program_(std::move(program)),
      works_(program_->data_.entries.size()) {
  for (const MemoryData& m : program_->data_.memories) {
    const char* saved = program_->weights_.data() + m.offset;
    if (m.changes) {
      own_.push_back(std::make_unique<Block>(m.bytes));
      std::memcpy(own_.back()->data, saved, m.bytes);
      memories_.push_back(own_.back()->data);
    } else {
      memories_.push_back(const_cast<char*>(saved));  // which `checkProgram` saw that nothing writes to
    }
  }
  std::uint64_t most = 0;
  for (const Program::Layout& layout : program_->layouts_) most = std::max(most, layout.bytes);
  arena_ = std::make_unique<Block>(most);
}

Context::~Context() = default;

char* Context::at(const PlaceData& p, std::span<void* const> arguments, char* outputs,
                  const std::vector<std::uint64_t>& offsets) const {
  switch (p.origin) {
  case PlaceData::Origin::Fresh:
    return outputs + offsets[p.index] + p.offset;
  case PlaceData::Origin::Argument:
    return static_cast<char*>(arguments[p.index]) + p.offset;
  case PlaceData::Origin::Memory:
    return memories_[p.index] + p.offset;
  case PlaceData::Origin::Nothing:
    return nullptr;
  }
  return nullptr;
}

void Context::run(std::size_t number, std::span<void* const> arguments, std::span<const Scalar> numbers,
                  std::span<void* const> results) {
  const ProgramData& data = program_->data_;
  if (number >= data.entries.size()) fail<IndexError>("the program has ", data.entries.size(), " entries");
  const EntryData& e = data.entries[number];
  for (std::size_t k = 0; k < std::min(numbers.size(), e.numbers.size()); ++k)
    checkNumber(e.name, e.numbers[k], numbers[k]);
  if (arguments.size() != e.arguments.size() || numbers.size() != e.numbers.size() ||
      results.size() != e.results.size())
    fail<TypeError>(e.name, " takes ", e.arguments.size(), " tensors and ", e.numbers.size(), " numbers and gives ",
                    e.results.size(), " tensors, not ", arguments.size(), ", ", numbers.size(), " and ",
                    results.size());
  const Program::Layout& layout = program_->layouts_[number];
  inputs_.clear();
  outputs_.clear();
  for (const PlaceData& p : e.inputs) inputs_.push_back(at(p, arguments, arena_->data, layout.offsets));
  for (std::size_t k = 0; k < e.fresh.size(); ++k)
    outputs_.push_back(layout.straight[k] >= 0 ? results[static_cast<std::size_t>(layout.straight[k])]
                                               : arena_->data + layout.offsets[k]);
  runPlan(e.plan, {inputs_, outputs_, numbers, seed, draws, {}}, arena_->data, works_[number]);
  draws = static_cast<std::int64_t>(static_cast<std::uint64_t>(draws) + e.plan.numRandom);
  for (std::size_t k = 0; k < e.results.size(); ++k) {
    const ResultData& r = e.results[k];
    const PlaceData& p = r.place;
    if (p.origin == PlaceData::Origin::Nothing ||
        (p.origin == PlaceData::Origin::Fresh && layout.straight[p.index] >= 0))
      continue;
    copyArray({at(p, arguments, arena_->data, layout.offsets), r.dtype, r.shape, r.strides},
              {results[k], r.dtype, r.shape, contiguousStrides(r.shape)});
  }
}

const void* Context::state(std::size_t number) const {
  const StateData& s = program_->data_.state[number];
  return memories_[s.memory] + s.offset;
}

void Context::getState(std::size_t number, void* elements) const {
  const StateData& s = program_->data_.state[number];
  copyArray({const_cast<void*>(state(number)), s.dtype, s.shape, s.strides},
            {elements, s.dtype, s.shape, contiguousStrides(s.shape)});
}

void Context::setState(std::size_t number, const void* elements) {
  const StateData& s = program_->data_.state[number];
  copyArray({const_cast<void*>(elements), s.dtype, s.shape, contiguousStrides(s.shape)},
            {changingState(number), s.dtype, s.shape, s.strides});
}

void* Context::changingState(std::size_t number) {
  const StateData& s = program_->data_.state[number];
  if (!program_->data_.memories[s.memory].changes)
    fail<ValueError>("no entry of the program changes `", s.name, "`, so that it is shared by all contexts");
  return memories_[s.memory] + s.offset;
}

}  // namespace tandem::program
