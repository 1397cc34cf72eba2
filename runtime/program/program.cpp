#include "runtime/program/program.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/small_vector.h"
#include "runtime/device/executor.h"
#include "runtime/device/gpu_control.h"
#include "runtime/kernel/architectures.h"
#include "runtime/kernel/kernel_symbol.h"
#include "runtime/lib/strided.h"
#include "runtime/memory/allocator.h"
#include "runtime/plan/scalar_slots.h"
#include "runtime/program/call_check.h"
#include "runtime/program/check.h"
#include "runtime/program/safetensors.h"

namespace tandem::program {

// ---- opening

std::shared_ptr<const Program> Program::open(Archive archive, const OpenOptions& options) {
  std::shared_ptr<Program> program(new Program(std::move(archive)));
  program->read(options);
  program->loadKernels(options.irOnly);
  program->placeWeights();
  return program;
}

namespace {

constexpr std::uint64_t kAlignment = 64;
std::uint64_t aligned(std::uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// Of all members, or of the code for one target.
void checkHashes(const Archive& archive, const ProgramData& data, bool all, const std::string& target) {
  const std::string code = codeFolder(target);
  for (const auto& [name, bytes] : archive.members()) {
    if (name == kManifest || name == kSignature || !(all || (!target.empty() && name.starts_with(code)))) continue;
    const auto known = std::ranges::find(data.members, name, &MemberData::name);
    if (known == data.members.end()) fail<ValueError>("a saved program's member `", name, "` is not in its manifest");
    if (sha256(bytes) != known->sha256) fail<ValueError>("a saved program's member `", name, "` is damaged");
  }
}

bool isWhole(const ResultData& r, std::uint64_t bytes) {
  return r.place.offset == 0 && isContiguous(r.shape, r.strides) && bytesOf(r) == bytes;
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
  if (options.device)
    device_ = *options.device;
  else if (!data_.device.empty())
    device_ = {parseDevice(data_.device).kind, options.index};
  for (EntryData& e : data_.entries) {
    e.plan.device = device_;
    for (EntryData& form : e.others) form.plan.device = device_;
  }
  if (!options.irOnly) chooseTarget();
  checkHashes(archive_, data_, options.verify || !options.signedBy.empty(), target_);
  if (!data_.memories.empty()) weights_ = archive_.member(kWeights);
  // A file beside the program may have been replaced. (Sums that overflow are refused below.)
  std::uint64_t end = 0;
  for (const MemoryData& m : data_.memories) end = std::max(end, m.offset + m.bytes);
  if (end != weights_.size())
    fail<ValueError>("the weights of a saved program have ", weights_.size(), " bytes, and should have ", end);
  if (archive_.weightsAreBeside() && !data_.weightsHeader.empty() &&
      sha256(safetensorsHeaderOf(weights_)) != data_.weightsHeader)
    fail<ValueError>("the weights beside a saved program are not those that it was saved with");
  checkProgram(data_, weights_.size());
  findFunctions();
  for (EntryData& e : data_.entries) {
    addSpaces(e.plan);
    layouts_.push_back(layoutOf(e));
    sized_.push_back(e.sizes.empty() ? nullptr : std::make_unique<SizedEntry>(e));
    e.others = {};
    e.functions = {};
    e.varying = {};
    e.choice = {};
  }
}

void Program::findFunctions() {
  auto add = [&](const Plan& plan) { functions_.insert(functions_.end(), plan.library.begin(), plan.library.end()); };
  for (const EntryData& e : data_.entries) {
    add(e.plan);
    for (const EntryData& form : e.others) add(form.plan);
  }
  std::ranges::sort(functions_);
  const auto again = std::ranges::unique(functions_);
  functions_.erase(again.begin(), again.end());
  Executor& runs = executor(device_);
  for (const std::string& name : functions_)
    if (runs.library(name) == nullptr)
      fail<NotImplementedError>("a saved program calls the library function `", name, "`, which ",
                                device_.isCpu() ? "is not linked into this program" : "GPUs do not have");
}

Program::Layout Program::layoutOf(const EntryData& e) const {
  Layout layout;
  layout.straight.assign(e.fresh.size(), -1);
  layout.bytes = aligned(e.plan.arenaBytes);
  for (std::size_t k = 0; k < e.fresh.size(); ++k) {
    auto isHere = [&](const ResultData& r) { return r.place.origin == PlaceData::Origin::Fresh && r.place.index == k; };
    const auto first = std::ranges::find_if(e.results, isHere);
    if (first != e.results.end() && std::ranges::count_if(e.results, isHere) == 1 && isWhole(*first, e.fresh[k]))
      layout.straight[k] = static_cast<std::int32_t>(first - e.results.begin());
    layout.offsets.push_back(layout.bytes);
    if (layout.straight[k] < 0) layout.bytes += aligned(e.fresh[k]);
  }
  if (device_.isCpu()) return layout;
  auto place = [&](const auto& t) {
    layout.bytes += aligned(bytesOf(t));
    return layout.bytes - aligned(bytesOf(t));
  };
  for (const ArgumentData& a : e.arguments) layout.arguments.push_back(place(a));
  for (const ResultData& r : e.results) layout.results.push_back(place(r));
  return layout;
}

void Program::chooseTarget() {
  const std::string& own = executor(device_).target().architecture;
  if (const auto good = thatRunOn(own, data_.targets); !good.empty()) target_ = good.front();
  const bool needed = std::ranges::any_of(data_.kernels, [](const KernelData& k) { return !k.symbols.empty(); });
  if (needed && target_.empty()) {
    std::string known;
    for (const std::string& target : data_.targets) known += (known.empty() ? "" : ", ") + target;
    fail<NotImplementedError>("the saved program has code for ", known, "; this ",
                              device_.isCpu() ? "processor is " : "GPU is ", own);
  }
}

void Program::loadKernels(bool irOnly) {
  Executor& runs = executor(device_);
  if (irOnly) {
    for (EntryData& e : data_.entries) resolvePlan(e.plan);
    return;
  }
  std::vector<SavedKernel> kernels;
  const auto number = static_cast<std::size_t>(std::ranges::find(data_.targets, target_) - data_.targets.begin());
  for (const KernelData& k : data_.kernels) {
    if (k.symbols.empty() || target_.empty() || k.symbols[number].empty()) {
      kernels.push_back({k.signature, {}, {}});
      continue;
    }
    const std::string& symbol = k.symbols[number];
    if (data_.minor > 0 && symbol != kernelSymbol(k.signature, target_))
      fail<ValueError>("a saved program has the code `", symbol, "` for a kernel of another signature");
    kernels.push_back({k.signature, archive_.member(codeMember(target_, symbol)), symbol});
    if (!device_.isCpu() && data_.minor > 0) brought_.add(target_, symbol, kernels.back().object);
  }
  // What library functions look for.
  if (!device_.isCpu() && !target_.empty())
    for (const SourceData& s : data_.sources)
      if (const std::string& symbol = s.symbols[number]; !symbol.empty())
        brought_.add(target_, symbol, archive_.member(codeMember(target_, symbol)));
  module_ = runs.loadModule(kernels);
  for (EntryData& e : data_.entries) resolvePlan(e.plan, module_.get());
}

void Program::placeWeights() {
  if (device_.isCpu() || weights_.empty()) return;
  weightsThere_ = std::make_unique<DeviceBlock>(device_, weights_.size());
  Executor& runs = executor(device_);
  runs.copyFromHost(weightsThere_->data, weights_.data(), weights_.size(), runs.stream());
  runs.stream().synchronize();  // contexts may be on other streams
}

std::optional<std::size_t> Program::entry(std::string_view name) const {
  const auto it = std::ranges::find(data_.entries, name, &EntryData::name);
  if (it == data_.entries.end()) return std::nullopt;
  return static_cast<std::size_t>(it - data_.entries.begin());
}

// ---- running

namespace {

/// Host memory to that of a device.
void copyTo(Device device, void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  Executor& runs = executor(device);
  runs.copyFromHost(to, from, bytes, runs.stream());
}
void copyBack(Device device, void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  Executor& runs = executor(device);
  runs.copyToHost(to, from, bytes, runs.stream());
}

/// Bytes from the first element of an array to the end of the last.
std::size_t spanOf(const ArrayView& array) {
  if (array.numel() == 0) return 0;
  return static_cast<std::size_t>(reach(array.shape, array.strides)) * itemSize(array.dtype);
}

/// The elements of an array on a device to the host, row-major. They are put in order here, so that no kernel is
/// needed.
void copyOut(Device device, ArrayView from, void* to) {
  const ArrayView dense{to, from.dtype, from.shape, contiguousStrides(from.shape)};
  if (device.isCpu()) return copyArray(from, dense);
  if (from.contiguous()) return copyBack(device, to, from.data, spanOf(from));
  std::vector<char> span(spanOf(from));
  copyBack(device, span.data(), from.data, span.size());
  from.data = span.data();
  copyArray(from, dense);
}

}  // namespace

Context::Context(std::shared_ptr<const Program> program)
    : seed(program->data_.seed), draws(program->data_.draws), program_(std::move(program)) {
  for (const MemoryData& m : program_->data_.memories) {
    const char* saved = program_->weights_.data() + m.offset;
    if (m.changes) {
      own_.push_back(std::make_unique<DeviceBlock>(program_->device_, m.bytes));
      copyTo(program_->device_, own_.back()->data, saved, m.bytes);
      memories_.push_back(own_.back()->data);
    } else if (program_->weightsThere_ != nullptr) {
      memories_.push_back(program_->weightsThere_->data + m.offset);
    } else {
      memories_.push_back(const_cast<char*>(saved));  // which `checkProgram` saw that nothing writes to
    }
  }
  std::uint64_t most = 0;
  for (const Program::Layout& layout : program_->layouts_) most = std::max(most, layout.bytes);
  arena_ = std::make_unique<DeviceBlock>(program_->device_, most);
  for (std::size_t k = 0; k < program_->data_.entries.size(); ++k) {
    Instances& of = instances_.emplace_back();
    of.all.push_back(std::make_unique<Instance>());
    of.now = of.all[0].get();
    of.now->entry = &program_->data_.entries[k];
    of.now->layout = &program_->layouts_[k];
    for (const SizeData& s : of.now->entry->sizes) of.now->sizes.push_back(s.example);
  }
  endWork();
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

const EntryData& Context::entry(std::size_t number) const {
  if (number >= instances_.size()) fail<IndexError>("the program has ", instances_.size(), " entries");
  return *instances_[number].now->entry;
}

void Context::resize(std::size_t number, std::span<const std::int64_t> sizes) {
  const std::string& name = entry(number).name;
  Instances& of = instances_[number];
  if (std::ranges::equal(sizes, of.now->sizes)) return;
  const SizedEntry* sized = program_->sized(number);
  const std::size_t expected = sized != nullptr ? sized->numSizes() : 0;
  if (sizes.size() != expected) fail<TypeError>(name, " has ", expected, " sizes, not ", sizes.size());
  for (const auto& known : of.all)
    if (std::ranges::equal(sizes, known->sizes)) {
      of.now = known.get();
      of.now->lastUse = ++clock_;
      return;
    }
  sized->checkRange(sizes);
  auto made = std::make_unique<Instance>();
  made->sizes.assign(sizes.begin(), sizes.end());
  made->ownEntry = sized->at(sizes);
  EntryData& e = made->ownEntry;
  checkEntry(program_->data_, e);
  addSpaces(e.plan);
  resolvePlan(e.plan, program_->module_.get());
  made->ownLayout = program_->layoutOf(e);
  made->entry = &made->ownEntry;
  made->layout = &made->ownLayout;
  made->lastUse = ++clock_;
  if (made->layout->bytes > arena_->bytes) {
    beginWork();
    arena_ = std::make_unique<DeviceBlock>(program_->device_, made->layout->bytes);
    recorded_.clear();
    endWork();
    // What runs remember of their memory is of the old arena.
    for (Instances& other : instances_)
      for (const auto& instance : other.all) instance->work = {};
  }
  if (of.all.size() == kMostInstances)
    of.all.erase(
        std::ranges::min_element(of.all.begin() + 1, of.all.end(), {}, [](const auto& i) { return i->lastUse; }));
  of.all.push_back(std::move(made));
  of.now = of.all.back().get();
}

void Context::resizeFor(std::size_t number, std::span<const DimsRef> shapes) {
  static_cast<void>(entry(number));
  const SizedEntry* sized = program_->sized(number);
  if (sized == nullptr) return;
  sizes_.resize(sized->numSizes());
  sized->sizesOf(shapes, sizes_);
  resize(number, sizes_);
}

void Context::checkApart(const EntryData& e, std::span<const Bytes> arguments) const {
  program::checkApart(e, program_->data_.memories, memories_, arguments);
}

void Context::run(std::size_t number, std::span<void* const> arguments, std::span<const Scalar> numbers,
                  std::span<void* const> results) {
  if (program_->device_.isCpu()) {
    checkCall(entry(number), arguments.size(), numbers, results.size());
    return runHere(*instances_[number].now, arguments, numbers, results);
  }
  std::vector<Located> all;
  for (void* a : arguments) all.push_back({a, Device{}});
  for (void* r : results) all.push_back({r, Device{}});
  const std::span<const Located> located(all);
  run(number, located.first(arguments.size()), numbers, located.subspan(arguments.size()));
}

void Context::run(std::size_t number, std::span<const Located> arguments, std::span<const Scalar> numbers,
                  std::span<const Located> results) {
  const EntryData& e = entry(number);
  Instance& instance = *instances_[number].now;
  checkCall(e, arguments.size(), numbers, results.size());
  auto check = [&](const Located& l, const std::string& name) {
    if (!l.device.isCpu() && l.device != program_->device_)
      fail<TypeError>(e.name, ": ", name, " is on ", deviceName(l.device), ", and the program runs on ",
                      deviceName(program_->device_));
  };
  for (std::size_t k = 0; k < arguments.size(); ++k) check(arguments[k], e.arguments[k].name);
  for (std::size_t k = 0; k < results.size(); ++k) check(results[k], e.results[k].name);
  if (!program_->device_.isCpu()) return runOnDevice(instance, arguments, numbers, results);
  SmallVector<void*, 8> from;
  SmallVector<void*, 8> to;
  for (const Located& a : arguments) from.push_back(a.data);
  for (const Located& r : results) to.push_back(r.data);
  runHere(instance, {from.data(), from.size()}, numbers, {to.data(), to.size()});
}

void Context::runHere(Instance& instance, std::span<void* const> arguments, std::span<const Scalar> numbers,
                      std::span<void* const> results) {
  const EntryData& e = *instance.entry;
  const Program::Layout& layout = *instance.layout;
  for (std::size_t k = 0; k < results.size(); ++k) checkGiven(e, e.results[k].name, results[k], bytesOf(e.results[k]));
  bytes_.clear();
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    checkGiven(e, e.arguments[k].name, arguments[k], bytesOf(e.arguments[k]));
    bytes_.push_back({static_cast<const char*>(arguments[k]), bytesOf(e.arguments[k])});
  }
  checkApart(e, bytes_);
  inputs_.clear();
  outputs_.clear();
  for (const PlaceData& p : e.inputs) inputs_.push_back(at(p, arguments, arena_->data, layout.offsets));
  for (std::size_t k = 0; k < e.fresh.size(); ++k)
    outputs_.push_back(layout.straight[k] >= 0 ? results[static_cast<std::size_t>(layout.straight[k])]
                                               : arena_->data + layout.offsets[k]);
  const PlanRun run{inputs_, outputs_, numbers, seed, draws, {}};
  checkBounds(e, run, instance.work.slots);
  runPlan(e.plan, run, arena_->data, instance.work);
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

void Context::beginWork() const {
  if (program_->device_.isCpu()) return;
  Executor& runs = executor(program_->device_);
  Stream& stream = runs.stream();
  if (last_ != nullptr && lastStream_ != stream.handle()) last_->waitOn(stream);
  GpuControl* gpu = runs.gpu();
  if (gpu == nullptr || std::ranges::find(recorded_, stream.handle()) != recorded_.end()) return;
  auto record = [&](const std::unique_ptr<DeviceBlock>& block) {
    if (block != nullptr && block->data != nullptr) gpu->recordStream(block->data, stream);
  };
  record(arena_);
  record(program_->weightsThere_);
  for (const auto& block : own_) record(block);
  recorded_.push_back(stream.handle());
}

void Context::endWork() const {
  if (program_->device_.isCpu()) return;
  Executor& runs = executor(program_->device_);
  if (last_ == nullptr) last_ = runs.gpu() != nullptr ? runs.gpu()->makeEvent(false) : runs.makeEvent();
  last_->record(runs.stream());
  lastStream_ = runs.stream().handle();
}

void Context::wait() {
  if (last_ != nullptr) last_->synchronize();
}

namespace {

/// Can kernels take it where it is? They rely on the alignment of memory.
bool isAligned(const void* p) { return reinterpret_cast<std::uintptr_t>(p) % kAlignment == 0; }

bool isOnHost(const Located& l) { return l.device.isCpu(); }

}  // namespace

char* Context::placed(const Located& result, std::uint64_t offset) const {
  return isOnHost(result) || !isAligned(result.data) ? arena_->data + offset : static_cast<char*>(result.data);
}

void Context::runOnDevice(Instance& instance, std::span<const Located> arguments, std::span<const Scalar> numbers,
                          std::span<const Located> results) {
  const Device device = program_->device_;
  Executor& runs = executor(device);
  const EntryData& e = *instance.entry;
  const Program::Layout& layout = *instance.layout;
  bytes_.clear();
  for (std::size_t k = 0; k < results.size(); ++k)
    checkGiven(e, e.results[k].name, results[k].data, bytesOf(e.results[k]));
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    checkGiven(e, e.arguments[k].name, arguments[k].data, bytesOf(e.arguments[k]));
    bytes_.push_back({static_cast<const char*>(arguments[k].data), bytesOf(e.arguments[k])});
  }
  checkApart(e, bytes_);
  beginWork();
  std::vector<void*> there;
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    const Located& a = arguments[k];
    const std::size_t bytes = bytesOf(e.arguments[k]);
    there.push_back(placed(a, layout.arguments[k]));
    if (isOnHost(a))
      copyTo(device, there[k], a.data, bytes);
    else if (there[k] != a.data && bytes != 0)
      runs.copy(there[k], a.data, bytes, runs.stream());
  }
  inputs_.clear();
  outputs_.clear();
  for (const PlaceData& p : e.inputs) inputs_.push_back(at(p, there, arena_->data, layout.offsets));
  for (std::size_t k = 0; k < e.fresh.size(); ++k) {
    const auto straight = static_cast<std::size_t>(std::max(layout.straight[k], 0));
    outputs_.push_back(layout.straight[k] >= 0 ? placed(results[straight], layout.results[straight])
                                               : arena_->data + layout.offsets[k]);
  }
  const PlanRun run{inputs_, outputs_, numbers, seed, draws, {}};
  checkBounds(e, run, instance.work.slots);
  runPlan(e.plan, run, arena_->data, instance.work);
  bool hostChanges = std::ranges::any_of(results, isOnHost);
  for (std::size_t k = 0; k < arguments.size(); ++k) hostChanges |= e.arguments[k].changes && isOnHost(arguments[k]);
  // Errors of values come before anything of the caller's is written on the host.
  if (hostChanges) runs.stream().synchronize();
  draws = static_cast<std::int64_t>(static_cast<std::uint64_t>(draws) + e.plan.numRandom);
  giveBack(instance, arguments, there, results);
  endWork();
}

void Context::giveBack(const Instance& instance, std::span<const Located> arguments, std::span<void* const> there,
                       std::span<const Located> results) {
  const Device device = program_->device_;
  Executor& runs = executor(device);
  const EntryData& e = *instance.entry;
  const Program::Layout& layout = *instance.layout;
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    if (!e.arguments[k].changes || there[k] == arguments[k].data) continue;
    const std::size_t bytes = bytesOf(e.arguments[k]);
    if (isOnHost(arguments[k]))
      copyBack(device, arguments[k].data, there[k], bytes);
    else if (bytes != 0)
      runs.copy(arguments[k].data, there[k], bytes, runs.stream());
  }
  for (std::size_t k = 0; k < e.results.size(); ++k) {
    const ResultData& r = e.results[k];
    const PlaceData& p = r.place;
    if (p.origin == PlaceData::Origin::Nothing) continue;
    const bool straight = p.origin == PlaceData::Origin::Fresh && layout.straight[p.index] >= 0;
    char* const from = straight ? placed(results[k], layout.results[k]) : at(p, there, arena_->data, layout.offsets);
    if (from == results[k].data) continue;
    const Dims dense = contiguousStrides(r.shape);
    const ArrayView view{from, r.dtype, r.shape, straight ? dense : r.strides};
    if (isOnHost(results[k]))
      copyOut(device, view, results[k].data);
    else
      runs.copyArray(view, {results[k].data, r.dtype, r.shape, dense}, runs.stream());
  }
}

const void* Context::state(std::size_t number) const {
  const StateData& s = program_->data_.state[number];
  beginWork();
  return memories_[s.memory] + s.offset;
}

void Context::getState(std::size_t number, void* elements) const {
  const StateData& s = program_->data_.state[number];
  copyOut(program_->device_, {const_cast<void*>(state(number)), s.dtype, s.shape, s.strides}, elements);
}

void Context::setState(std::size_t number, const void* elements) {
  const StateData& s = program_->data_.state[number];
  const Device device = program_->device_;
  ArrayView to{changingState(number), s.dtype, s.shape, s.strides};
  const ArrayView from{const_cast<void*>(elements), s.dtype, s.shape, contiguousStrides(s.shape)};
  if (device.isCpu()) return copyArray(from, to);
  beginWork();
  // Through the host's copy of all that its elements span, of which others may be another tensor's.
  std::vector<char> span(spanOf(to));
  void* const there = to.data;
  copyBack(device, span.data(), there, span.size());
  to.data = span.data();
  copyArray(from, to);
  copyTo(device, there, span.data(), span.size());
  endWork();
}

void* Context::changingState(std::size_t number) {
  const StateData& s = program_->data_.state[number];
  if (!program_->data_.memories[s.memory].changes)
    fail<ValueError>("no entry of the program changes `", s.name, "`, so that it is shared by all contexts");
  return memories_[s.memory] + s.offset;
}

}  // namespace tandem::program
