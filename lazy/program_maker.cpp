#include "lazy/program_maker.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>
#include <set>

#include "eager/generator.h"
#include "eager/host.h"
#include "runtime/device/executor.h"
#include "runtime/lib/library.h"
#include "runtime/program/archive.h"
#include "runtime/program/safetensors.h"
#include "runtime/program/targets.h"

namespace tandem::lazy {

using program::EntryData;
using program::PlaceData;
using program::ProgramData;
using program::StateData;
using Origin = PlaceData::Origin;

namespace {

std::uint64_t bytesTo(const TensorImpl* t, std::int64_t elements) {
  return static_cast<std::uint64_t>(elements) * itemSize(t->dtype);
}

/// The plan with the trace's own constants. Its buffers are in the order of inputs and outputs, and the arena is one of
/// them: which temporaries share memory by chance, because for some sizes they have the same, is then no part of the
/// plan's structure.
Plan planOf(const CompiledTrace& trace) {
  Plan out = *trace.plan;
  std::ranges::copy(trace.slots, out.slots.begin());
  // A plan serves all traces that need the same: of an input that no instruction sees it may have another's size.
  std::vector<bool> seen(out.buffers.size());
  for (const PlanInstr& i : out.instrs)
    for (const PlanOperand& o : i.operands)
      if (!o.absent) seen[o.buffer] = true;
  std::vector<std::uint32_t> order;
  for (std::uint32_t k = 0; k < seen.size(); ++k)
    if (seen[k] && out.buffers[k].kind != PlanBuffer::Kind::Temporary) order.push_back(k);
  std::ranges::stable_sort(order, {},
                           [&](std::uint32_t k) { return std::pair(out.buffers[k].kind, out.buffers[k].index); });
  std::vector<std::uint32_t> numbers(out.buffers.size(), static_cast<std::uint32_t>(order.size()));
  std::vector<PlanBuffer> buffers;
  for (const std::uint32_t k : order) {
    numbers[k] = static_cast<std::uint32_t>(buffers.size());
    buffers.push_back(out.buffers[k]);
  }
  buffers.push_back({PlanBuffer::Kind::Temporary, 0, 0, out.arenaBytes});
  for (PlanInstr& i : out.instrs)
    for (PlanOperand& o : i.operands) {
      if (o.absent) continue;
      if (const PlanBuffer& b = out.buffers[o.buffer]; b.kind == PlanBuffer::Kind::Temporary)
        o.byteOffset += b.arenaOffset;
      o.buffer = numbers[o.buffer];
    }
  out.buffers = std::move(buffers);
  return out;
}

/// The bytes of a storage, wherever it is.
Tensor bytesOf(const Ref<Storage>& s) {
  const auto bytes = static_cast<std::int64_t>(s->bytes());
  return readHost(Tensor(new TensorImpl(s, DType::UInt8, Dims{bytes}, Dims{1}, 0)));
}

/// Which kernels a CPU launches for a plan of any device.
std::vector<KernelSignature> codeHere(const Plan& plan) {
  Executor& cpu = executor(Device{});
  if (plan.device.isCpu()) return cpu.codeFor(launchesOf(plan));
  Plan here = plan;
  here.device = Device{};
  resolvePlan(here);
  return cpu.codeFor(launchesOf(here));
}

}  // namespace

ProgramMaker::ProgramMaker(std::vector<NamedTensor> state) {
  for (NamedTensor& s : state)
    if (s.kind == StateData::Kind::Other)
      others_.push_back(std::move(s));
    else
      addState(s);
}

void ProgramMaker::addState(const NamedTensor& s) {
  const TensorImpl* t = s.tensor.impl();
  const std::uint32_t memory = memoryOf(s.tensor, s.name);
  data_.state.push_back({s.kind, s.name, memory, bytesTo(t, t->offset), t->dtype, t->shape, t->strides});
}

namespace {

/// The user's line that first makes a tensor of a size that depends on data.
std::string lineOfSize(const Plan& plan) {
  for (const PlanInstr& i : plan.instrs)
    if (i.kind == PlanInstr::Kind::Library && plan.library[i.function] == kSizeCheck) return i.line;
  return {};
}

}  // namespace

std::uint32_t ProgramMaker::memoryOf(const Tensor& t, const std::string& name) {
  t.materialize();
  const Ref<Storage>& s = t.impl()->storage;
  const auto [it, isNew] = memories_.emplace(s.get(), static_cast<std::uint32_t>(data_.memories.size()));
  if (!isNew && data_.memories[it->second].name.empty()) data_.memories[it->second].name = name;
  if (isNew) {
    data_.memories.push_back({name, 0, s->bytes(), false});
    firsts_.push_back(t);
    itemSizes_.push_back(1);
  }
  itemSizes_[it->second] = std::max(itemSizes_[it->second], itemSize(t.dtype()));
  return it->second;
}

/// Traces make constants of their own, which often are the same.
std::uint32_t ProgramMaker::constantOf(const Tensor& t) {
  t.materialize();
  const Tensor bytes = bytesOf(t.impl()->storage);
  const auto [it, isNew] =
      constants_.emplace(std::string(static_cast<const char*>(bytes.data()), bytes.impl()->storage->bytes()), 0);
  if (isNew) it->second = memoryOf(t, "");
  itemSizes_[it->second] = std::max(itemSizes_[it->second], itemSize(t.dtype()));
  return it->second;
}

std::uint32_t ProgramMaker::kernelOf(const KernelSignature& signature, bool withCode) {
  const auto [it, isNew] = kernels_.emplace(signature.bytes(), static_cast<std::uint32_t>(data_.kernels.size()));
  if (isNew) {
    data_.kernels.push_back({signature, {}});
    withCode_.push_back(false);
  }
  if (withCode) withCode_[it->second] = true;
  return it->second;
}

/// Gradients that an entry looks at are state: memory that is there before every call of any entry. So no entry may
/// forget them, or put others in their place.
void ProgramMaker::checkGradients(const std::string& entry, const CompiledTrace& trace) {
  auto refuse = [&](const auto&... why) { fail<NotImplementedError>("export: ", entry, ": ", why...); };
  for (const auto& g : trace.gradGuards)
    if (g.outer.captured != nullptr) {
      Gradient& known = gradients_[g.outer.captured];
      (g.defined ? known.reader : known.asker) = entry;
    }
  for (const auto& g : trace.grads) {
    if (g.value >= 0) refuse("it leaves a gradient that it made new, and depends on whether there was one before");
    if (g.outer.captured != nullptr) {
      Gradient& known = gradients_[g.outer.captured];
      (g.dropped ? known.dropper : known.forgetter) = entry;
    }
  }
  for (const auto& [tensor, g] : gradients_) {
    const std::string& looks = g.reader.empty() ? g.asker : g.reader;
    if (!looks.empty() && !g.dropper.empty())
      refuse("`", g.dropper, "` begins with optimizer.zero_grad(), and `", looks, "` looks at the gradients it leaves");
    if (!g.reader.empty() && !g.forgetter.empty())
      refuse("`", g.reader, "` reads gradients that `", g.forgetter,
             "` sets to None; use optimizer.zero_grad(set_to_none=False)");
  }
}

/// What a plan says holds on every device, so that its program runs on each that it has code for; but where it was made
/// its random numbers come from, and what it was tried with is there.
void ProgramMaker::runsOn(const std::string& entry, Device device) {
  if (first_.empty()) {
    first_ = entry;
    device_ = device;
    const Generator& g = defaultGenerator(device);
    data_.seed = g.seed();
    data_.draws = g.offset();
    if (!device.isCpu()) data_.device = kindName(device.kind);
  }
  if (device != device_)
    fail<NotImplementedError>("export: `", first_, "` runs on ", deviceName(device_), ", and `", entry, "` on ",
                              deviceName(device), ": the entries of a program are for one device");
}

EntryData ProgramMaker::entryOf(const Names& names, const CompiledTrace& trace, std::span<const Tensor> tensors,
                                std::vector<program::NumberData> numbers) {
  auto refuse = [&](const auto&... why) { fail<NotImplementedError>("export: ", names.entry, ": ", why...); };
  runsOn(names.entry, trace.plan->device);
  if (!trace.sizes.empty()) {
    const std::string line = lineOfSize(*trace.plan);
    refuse(
        line, line.empty() ? "" : ": ",
        "a size depends on data (of a mask's selection, nonzero, unique, bincount ...), and a saved program is for the "
        "sizes that it was traced with. Use tandem.where or index_add in place of what is selected, or return the "
        "tensor and select outside, between two entries");
  }
  if (trace.differentiable) refuse("a result requires a gradient: detach it, or export with_gradients");
  checkGradients(names.entry, trace);
  // In which place callers pass what the trace knows by number.
  std::vector<std::uint32_t> argumentOf;
  for (const Tensor& t : tensors) {
    const auto it = std::ranges::find_if(names.arguments, [&](const auto& a) { return a.second == t; });
    TANDEM_CHECK(it != names.arguments.end(), "an argument without a name");
    TANDEM_CHECK(t.isContiguous() && t.impl()->offset == 0, "an argument that is not contiguous");
    argumentOf.push_back(static_cast<std::uint32_t>(it - names.arguments.begin()));
  }

  EntryData e;
  e.name = names.entry;
  e.tree = names.tree;
  e.numbers = std::move(numbers);
  for (const auto& [slot, most] : trace.boundedScalars) e.bounds.push_back({static_cast<std::uint32_t>(slot), most});
  for (const auto& [name, t] : names.arguments) e.arguments.push_back({name, t.dtype(), t.shape(), false});
  auto captured = [&](TensorImpl* t) { return memoryOf(Tensor(Ref<TensorImpl>(t)), ""); };
  for (const auto& source : trace.inputs) {
    if (source.grad && source.outer.argument >= 0) refuse("it reads the `.grad` of an argument");
    const std::int64_t shift = source.placed ? source.placed->shift() : source.shift;
    if (!source.constant && source.outer.argument >= 0) {
      const std::uint32_t number = argumentOf[static_cast<std::size_t>(source.outer.argument)];
      const TensorImpl* t = names.arguments[number].second.impl();
      e.inputs.push_back({Origin::Argument, number, source.whole ? 0 : bytesTo(t, shift)});
      e.arguments[number].changes |= source.written;
      e.arguments[number].onHost |= source.placed != nullptr;
    } else {
      TensorImpl* t = source.constant ? source.constant.get() : CompiledTrace::inputOf(source, {});
      const std::uint32_t memory =
          source.constant && !source.written ? constantOf(Tensor(source.constant)) : captured(t);
      e.inputs.push_back({Origin::Memory, memory, source.whole ? 0 : bytesTo(t, t->offset + shift)});
      data_.memories[memory].changes |= source.written;
    }
  }
  for (const auto& f : trace.fresh) e.fresh.push_back(f.bytes);
  TANDEM_CHECK(names.results.size() == trace.results.size(), names.results.size(), " ", trace.results.size());
  for (std::size_t k = 0; k < trace.results.size(); ++k) {
    if (trace.results[k] < 0) refuse("a result is no tensor");
    const CompiledTrace::Made& m = trace.made[static_cast<std::size_t>(trace.results[k])];
    if (m.batch) refuse("a result belongs to a vmap");
    program::ResultData r{names.results[k], m.dtype, m.shape, m.strides, {}};
    const auto offset = static_cast<std::uint64_t>(m.offset) * itemSize(m.dtype);
    switch (m.kind) {
    case CompiledTrace::Made::Kind::Fresh:
      r.place = {Origin::Fresh, m.index, offset};
      break;
    case CompiledTrace::Made::Kind::Input:
      r.place = e.inputs[m.index];
      r.place.offset += offset;
      break;
    case CompiledTrace::Made::Kind::Outer:
      if (m.outer.argument >= 0)
        r.place = {Origin::Argument, argumentOf[static_cast<std::size_t>(m.outer.argument)], 0};
      else
        r.place = {Origin::Memory, captured(m.outer.captured), bytesTo(m.outer.captured, m.outer.captured->offset)};
      break;
    case CompiledTrace::Made::Kind::Empty:
      break;
    }
    e.results.push_back(std::move(r));
  }
  e.plan = planOf(trace);
  for (const PlanInstr& i : e.plan.instrs)
    if (i.kind == PlanInstr::Kind::Kernel) {
      const KernelSignature& s = e.plan.kernels[i.function];
      const LaunchSpace space = wholeSpace(s.kind, ArgLayout(s), i.args.data());
      TANDEM_CHECK(space.units == i.space.units && space.elementsPerUnit == i.space.elementsPerUnit, s.text());
    }
  for (const KernelSignature& s : e.plan.kernels) e.kernels.push_back(kernelOf(s, false));
  for (const KernelSignature& s : codeHere(*trace.plan)) kernelOf(s, true);
  return e;
}

namespace {

std::string hexadecimal(std::string_view bytes) {
  std::string text;
  for (const char c : bytes)
    for (const int shift : {4, 0}) text += "0123456789abcdef"[static_cast<unsigned char>(c) >> shift & 15];
  return text;
}

/// The safetensors header of memories that lie one behind the other: a memory that a tensor of the state fills has its
/// name, dtype and shape, others are bytes. It has the hash of them all (32 bytes), by which weights in a file of their
/// own are known.
std::string headerOf(const ProgramData& data, const std::vector<std::uint32_t>& order, std::string_view hash) {
  std::vector<program::TensorRange> tensors;
  std::set<std::string> names;
  std::uint64_t at = 0;
  for (const std::uint32_t k : order) {
    const program::MemoryData& m = data.memories[k];
    const auto fills = std::ranges::find_if(data.state, [&](const StateData& s) {
      return s.memory == k && s.offset == 0 && isContiguous(s.shape, s.strides) &&
             static_cast<std::uint64_t>(numelOf(s.shape)) * itemSize(s.dtype) == m.bytes;
    });
    const bool found = fills != data.state.end();
    program::TensorRange t{found ? fills->name : m.name, found ? fills->dtype : DType::UInt8,
                           found ? fills->shape : Dims{static_cast<std::int64_t>(m.bytes)}, at, at + m.bytes};
    for (int n = 1; !names.insert(t.name).second; ++n) t.name = strcat(found ? fills->name : m.name, ".", n);
    tensors.push_back(std::move(t));
    at += m.bytes;
  }
  const std::pair<std::string, std::string> metadata("sha256", hexadecimal(hash));
  return program::safetensorsHeader(tensors, {&metadata, 1});
}

}  // namespace

ProgramMaker::Members ProgramMaker::members(const std::vector<std::string>& targets, std::string producer,
                                            std::vector<std::pair<std::string, std::string>> notes) && {
  Members out;
  for (const NamedTensor& s : others_)
    if (memories_.contains(s.tensor.impl()->storage.get())) addState(s);
  for (std::uint32_t k = 0; k < data_.memories.size(); ++k) {
    program::MemoryData& m = data_.memories[k];
    const bool named = !m.name.empty();
    if (!named) m.name = m.changes ? strcat("state.", k) : "constant";
    // What changes is state, also where no variable leads to it.
    if (!named && m.changes) addState({m.name, StateData::Kind::Other, firsts_[k]});
  }
  data_.producer = std::move(producer);
  data_.notes = std::move(notes);
  // Memories of large elements first: each then begins at a multiple of its elements' size, without gaps.
  std::vector<std::uint32_t> order(data_.memories.size());
  std::iota(order.begin(), order.end(), 0);
  auto unit = [&](std::uint32_t k) { return data_.memories[k].bytes % itemSizes_[k] == 0 ? itemSizes_[k] : 1; };
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) { return unit(a) > unit(b); });
  // As long as with the hash, which is known when the elements lie behind it.
  std::string header = headerOf(data_, order, std::string(32, '\0'));
  std::uint64_t end = header.size();
  for (const std::uint32_t k : order) {
    data_.memories[k].offset = end;
    end += data_.memories[k].bytes;
  }
  out.weights = makeEmpty(Dims{static_cast<std::int64_t>(end)}, DType::UInt8, Device{});
  char* weights = static_cast<char*>(out.weights.data());
  for (const std::uint32_t k : order)
    if (data_.memories[k].bytes != 0)
      std::memcpy(weights + data_.memories[k].offset, bytesOf(firsts_[k].impl()->storage).data(),
                  data_.memories[k].bytes);
  header = headerOf(data_, order, program::sha256({weights + header.size(), end - header.size()}));
  std::memcpy(weights, header.data(), header.size());
  data_.weightsHeader = program::sha256(header);
  data_.members.push_back({std::string(program::kWeights), program::sha256({weights, end})});
  std::vector<std::size_t> needed;
  for (std::size_t k = 0; k < withCode_.size(); ++k)
    if (withCode_[k]) needed.push_back(k);
  for (const std::string& target : targets)
    std::ranges::move(addTarget(data_, target, needed), std::back_inserter(out.code));
  out.manifest = program::encodeManifest(data_);
  return out;
}

}  // namespace tandem::lazy
