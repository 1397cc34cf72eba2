#include "passes/shape_program.h"

#include <algorithm>

#include "codegen/register.h"
#include "ir/schema/reduction_plan.h"
#include "passes/clusters.h"
#include "passes/direct_writes.h"
#include "passes/kernel_builder.h"
#include "passes/plan_writer.h"
#include "passes/trace_values.h"
#include "runtime/base/attrs.h"
#include "runtime/base/error.h"

namespace tandem::passes {

namespace {

std::int64_t bytesOf(const TensorMeta& m) { return numelOf(m.shape) * static_cast<std::int64_t>(itemSize(m.dtype)); }

std::string lineOf(const Trace& trace, std::uint32_t node) {
  const std::uint32_t line = trace.nodes[node].line;
  return line < trace.lines.size() ? trace.lines[line] : std::string();
}

void addSlots(Hash128& h, const Trace& trace) {
  h.add(trace.slots.size());
  for (const ScalarSlot& s : trace.slots)
    h.add(static_cast<std::uint64_t>(s.source) | static_cast<std::uint64_t>(s.value.kind) << 8)
        .add(static_cast<std::uint64_t>(s.a))
        .add(static_cast<std::uint64_t>(s.b));
}

// Sizes are attributes of what is made of none, of random numbers, and of library functions, which get them as they
// stand in the trace.
bool hasSizesInAttrs(OpKind kind) { return kind == OpKind::Creation || kind == OpKind::Random || isLibrary(kind); }

// False where there is an empty value.
bool addNode(Hash128& h, const Trace& trace, const TraceNode& node) {
  h.add(static_cast<std::uint64_t>(node.kind) | static_cast<std::uint64_t>(node.op) << 8 |
        std::uint64_t{node.input} << 32);
  for (const TraceOperand& o : trace.operands(node))
    h.add(static_cast<std::uint64_t>(o.kind) | std::uint64_t{o.value.result} << 8 | std::uint64_t{o.value.node} << 32)
        .add(static_cast<std::uint64_t>(o.slot));
  if (node.kind == TraceNode::Kind::Op && !hasSizesInAttrs(facts(node.op).kind)) h.add(trace.attrs(node));
  for (const TensorMeta& m : trace.results(node)) {
    std::uint64_t ones = 1;
    for (std::int64_t size : m.shape) {
      if (size == 0) return false;
      ones = ones << 1 | (size == 1 ? 1 : 0);
    }
    h.add(static_cast<std::uint64_t>(m.dtype)).add(ones);
  }
  return true;
}

// Of two signatures of one body: are they one?
bool hasSameAccesses(const KernelSignature& a, const KernelSignature& b) {
  auto same = [](auto& x, auto& y) { return x.access == y.access; };
  return a.outerRank == b.outerRank && std::ranges::equal(a.inputs, b.inputs, same) &&
         std::ranges::equal(a.outputs, b.outputs, [&](auto& x, auto& y) { return same(x.operand, y.operand); });
}

}  // namespace

std::optional<Hash128> structureOf(const Trace& trace, const std::vector<TraceOutput>& outputs) {
  Hash128 h;
  h.add(trace.numInputs | std::uint64_t{trace.numRandom} << 32).add(trace.nodes.size());
  h.add(static_cast<std::uint64_t>(trace.defaultDType()) | static_cast<std::uint64_t>(deviceNumber(trace.device)) << 8);
  addSlots(h, trace);
  for (const TraceNode& node : trace.nodes)
    if (!addNode(h, trace, node)) return {};
  for (const TraceOutput& o : outputs)
    h.add(o.value.node | std::uint64_t{o.value.result} << 32).add(static_cast<std::uint64_t>(o.intoInput));
  return h;
}

// One evaluation of a shape program. Functions give false where a check fails.
class ShapeRun {
 public:
  using Value = ShapeProgram::Value;
  using Read = ShapeProgram::Read;
  using Instr = ShapeProgram::Instr;
  using Member = ShapeProgram::Member;

  ShapeRun(const ShapeProgram& program, const Trace& trace, Plan& plan)
      : program_(program), trace_(trace), target_(codegen::targetOf(trace.device)), values_(trace), plan_(plan),
        writer_(plan), memories_(program.memories_), buffers_(program.values_.size()) {}

  bool run(const std::vector<TraceOutput>& outputs) {
    plan_.device = trace_.device;
    plan_.slots = trace_.slots;
    plan_.numRandom = trace_.numRandom;
    plan_.numInputs = trace_.numInputs;
    for (const TraceOutput& o : outputs) plan_.numOutputs += o.intoInput < 0 ? 1 : 0;
    if (!layOutMemory()) return false;
    for (std::size_t v = 0; v < program_.values_.size() && isInput(program_.values_[v]); ++v) takeBuffer(v);
    for (const Instr& instr : program_.instrs_)
      if (!add(instr)) return false;
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (!leaves(program_.outputs_[i], outputs[i].value)) return false;
    writer_.explain(outputs.size());
    return true;
  }

  ShapeProgram::Answers answers() {
    for (std::uint32_t v : program_.shared_) answers_.push_back(bytes(v) >= target_.leastSharedBytes);
    for (std::uint32_t v : program_.made_) answers_.push_back(bytes(v) >= target_.cachedBytes);
    return std::move(answers_);
  }

 private:
  // What an operand reads in a value: strides and offset over the value's own elements.
  struct At {
    DimsRef shape;
    Strided place;
    [[nodiscard]] bool isAll(std::int64_t elements) const {
      return place.offset == 0 && numelOf(shape) == elements && isContiguous(shape, place.strides);
    }
  };

  [[nodiscard]] const TensorMeta& meta(std::uint32_t value) const { return trace_.meta(program_.values_[value].ref); }
  [[nodiscard]] std::int64_t bytes(std::uint32_t value) const { return bytesOf(meta(value)); }
  [[nodiscard]] bool isInput(const Value& v) const {
    return !v.copy && trace_.nodes[v.ref.node].kind == TraceNode::Kind::Input;
  }

  bool layOutMemory() {
    std::vector<bool> known(memories_.size());
    for (std::uint32_t v = 0; v < program_.values_.size(); ++v) {
      if (program_.values_[v].write) continue;  // lies in a part of its memory
      const std::uint32_t m = program_.values_[v].memory;
      const std::int64_t size = alignedBytes(bytes(v));
      if (known[m] && memories_[m].bytes != size) return false;
      known[m] = true;
      memories_[m].bytes = size;
    }
    for (const MemoryLife& m : memories_)
      if (m.inherits >= 0 && memories_[static_cast<std::size_t>(m.inherits)].bytes != m.bytes) return false;
    plan_.arenaBytes = static_cast<std::uint64_t>(placeTemporaries(memories_, true));
    return true;
  }
  void takeBuffer(std::size_t value) {
    const MemoryPlace& place = memories_[program_.values_[value].memory].place;
    buffers_[value] = writer_.buffer(place, bytes(static_cast<std::uint32_t>(value)));
  }

  // How the trace's value is read in memory that holds `read.value`.
  bool resolve(const Read& read, At& at) const {
    const Value& held = program_.values_[read.value];
    const Seen& content = values_.seen(held.ref);
    const Seen& seen = values_.seen(read.ref);
    at = {trace_.meta(read.ref).shape, seen.at};
    if (held.copy) {
      if (seen.copied && values_.copyOf(content) == seen.root) return true;
      at.place = {contiguousStrides(at.shape), 0};
      return seen == content;
    }
    return !seen.copied && !content.copied && seen.root == content.root &&
           content.shape == trace_.meta(content.root).shape && content.isAllOf(content.shape);
  }

  PlanOperand operand(std::uint32_t value, std::int64_t offset) const {
    PlanOperand o;
    o.buffer = buffers_[value];
    o.dtype = meta(value).dtype;
    o.byteOffset = static_cast<std::uint64_t>(offset) * itemSize(o.dtype);
    return o;
  }
  PlanOperand view(std::uint32_t value, const At& at) const {
    PlanOperand o = operand(value, at.place.offset);
    o.shape = Dims(at.shape);
    o.strides = at.place.strides;
    return o;
  }
  PlanOperand whole(std::uint32_t value) const {
    const Dims& shape = meta(value).shape;
    return view(value, {shape, {contiguousStrides(shape), 0}});
  }

  // Does a result lie where this value does?
  [[nodiscard]] bool overwrites(std::uint32_t result, std::uint32_t value) const {
    const std::uint32_t into = program_.values_[result].memory;
    const std::uint32_t from = program_.values_[value].memory;
    return into == from || memories_[into].inherits == static_cast<int>(from);
  }
  // May an operand be overwritten as far as its own place goes?
  [[nodiscard]] bool isSamePlace(std::uint32_t result, std::uint32_t value, const At& at) const {
    return at.place.offset == 0 && isContiguous(at.shape, at.place.strides) &&
           itemSize(meta(result).dtype) == itemSize(meta(value).dtype) &&
           numelOf(at.shape) == numelOf(meta(result).shape);
  }

  bool add(const Instr& instr) {
    for (std::uint32_t r : instr.results) takeBuffer(r);
    switch (instr.kind) {
    case Instr::Kind::Region:
      return addRegion(instr);
    case Instr::Kind::Library:
      return addLibrary(instr);
    case Instr::Kind::Copy:
      return addCopy(instr);
    default:
      return addWrite(instr);
    }
  }

  bool addLibrary(const Instr& instr) {
    std::vector<PlanOperand> operands;
    for (const Read& read : instr.reads) {
      if (read.absent) {
        operands.emplace_back().absent = true;
        continue;
      }
      At at;
      if (!resolve(read, at)) return false;
      for (std::uint32_t r : instr.results)
        if (overwrites(r, read.value) && !isSamePlace(r, read.value, at)) return false;
      operands.push_back(view(read.value, at));
    }
    for (std::uint32_t r : instr.results) operands.push_back(whole(r));
    const TraceNode& node = trace_.nodes[instr.node];
    writer_.library(lineOf(trace_, instr.node), node.op, std::move(operands), instr.reads.size(), instr.scalars,
                    trace_.attrs(node));
    return true;
  }

  bool addCopy(const Instr& instr) {
    At at;
    if (!resolve(instr.reads[0], at) || overwrites(instr.results[0], instr.reads[0].value)) return false;
    writer_.copy({}, view(instr.reads[0].value, at), whole(instr.results[0]));
    return true;
  }

  bool addWrite(const Instr& instr) {
    At base;
    At value;
    const std::uint32_t result = instr.results[0];
    if (!resolve(instr.reads[0], base) || !resolve(instr.reads[1], value) || !base.isAll(numelOf(meta(result).shape)))
      return false;
    const std::uint32_t written = instr.reads[1].value;
    if (program_.values_[written].write) return coreDims(value.shape) == coreDims(meta(written).shape);
    if (overwrites(result, written)) return false;
    const Window& w = trace_.window(trace_.nodes[instr.node]);
    PlanOperand to = operand(result, w.offset);
    to.shape = Dims(value.shape);
    to.strides = w.strides;
    writer_.copy(lineOf(trace_, instr.node), view(written, value), to);
    return true;
  }

  // ---- regions

  // How the operands of a region move in its space.
  struct Region {
    Dims space;
    std::vector<At> ats;  // of the inputs
    std::vector<Dims> maps;
    std::vector<bool> known;
  };

  [[nodiscard]] bool reduces(const TraceNode& node) const { return facts(node.op).kind == OpKind::Reduction; }
  [[nodiscard]] DimsRef domainOf(const TraceNode& node) const {
    return reduces(node) ? DimsRef(trace_.meta(trace_.operands(node)[0].value).shape)
                         : DimsRef(trace_.results(node)[0].shape);
  }
  [[nodiscard]] Dims resultMap(const Instr& instr, const Member& m) const {
    return reduces(trace_.nodes[m.node]) ? keptMap(m.alignment, instr.begin, instr.end) : m.alignment;
  }

  bool findSpace(const Instr& instr, Dims& space) const {
    space.resize(instr.rank, 0);
    for (const Member& m : instr.members) {
      const Dims core = coreDims(domainOf(trace_.nodes[m.node]));
      if (core.size() != m.alignment.size()) return false;
      for (std::size_t d = 0; d < core.size(); ++d) {
        std::int64_t& size = space[static_cast<std::size_t>(m.alignment[d])];
        if (size != 0 && size != core[d]) return false;
        size = core[d];
      }
    }
    return std::ranges::find(space, 0) == space.end();
  }

  bool visit(const Instr& instr, const Member& m, Region& region) const {
    const TraceNode& node = trace_.nodes[m.node];
    if (reduces(node)) {
      AttrReader attrs(trace_.attrs(node));
      const DimsRef dims = attrs.list();
      if (reductionStages(domainOf(node), dims).size() != 1 ||
          reducedCoreDims(domainOf(node), dims) != std::pair(instr.begin, instr.end))
        return false;
    }
    std::size_t at = 0;
    for (const TraceOperand& o : trace_.operands(node)) {
      if (o.kind != TraceOperand::Kind::Value) continue;
      const ShapeProgram::Source& source = m.sources[at++];
      const Dims map =
          reduces(node) ? m.alignment : operandMap(m.alignment, domainOf(node), trace_.meta(o.value).shape);
      if (source.inside ? !flows(instr, source, o.value, map) : !enters(instr, source.number, o.value, map, region))
        return false;
    }
    return true;
  }

  // From member to member, through a window that broadcasts at most, each dim along that of the space where it was
  // made.
  bool flows(const Instr& instr, const ShapeProgram::Source& source, ValueRef ref, const Dims& map) const {
    const Seen& seen = values_.seen(ref);
    const Seen& made = values_.seen(source.made);
    if (seen.copied || made.copied || seen.root != made.root || !made.isAllOf(trace_.meta(made.root).shape))
      return false;
    const auto window = broadcastMap(made.shape, seen.shape, seen.at);
    if (!window) return false;
    Dims through;
    for (std::size_t d = 0; d < window->size(); ++d)
      if ((*window)[d] >= 0) through.push_back(map[d]);
    return through == resultMap(instr, instr.members[source.number]);
  }

  bool enters(const Instr& instr, std::uint32_t input, ValueRef ref, const Dims& map, Region& region) const {
    At at;
    if (!resolve({instr.inputs[input], ref}, at)) return false;
    if (!region.known[input]) {
      region.known[input] = true;
      region.ats[input] = at;
      region.maps[input] = map;
      return true;
    }
    const At& before = region.ats[input];
    return region.maps[input] == map && before.place.offset == at.place.offset &&
           stridesOver(region.space, map, before.shape, before.place.strides) ==
               stridesOver(region.space, map, at.shape, at.place.strides);
  }

  // The strides of a region's result, of its dims other than 1, and where it begins in its memory.
  [[nodiscard]] Strided storedAt(std::uint32_t result) const {
    const auto& write = program_.values_[result].write;
    if (!write) return {contiguousStrides(coreDims(meta(result).shape)), 0};
    const TraceNode& node = trace_.nodes[*write];
    const Window& w = trace_.window(node);
    return {coreStrides(trace_.meta(trace_.operands(node)[1].value).shape, w.strides), w.offset};
  }

  bool addRegion(const Instr& instr) {
    const std::size_t n = instr.inputs.size();
    Region region{{}, std::vector<At>(n), std::vector<Dims>(n), std::vector<bool>(n)};
    if (!findSpace(instr, region.space)) return false;
    for (const Member& m : instr.members)
      if (!visit(instr, m, region)) return false;
    if (instr.text.kind == "row")
      answers_.push_back(target_.splitsRows(numelOf(DimsRef(region.space).first(instr.begin)),
                                            numelOf(DimsRef(region.space).subspan(instr.begin))));
    std::vector<PlanOperand> operands;
    std::vector<Dims> strides;
    std::int64_t moved = 0;
    for (std::size_t k = 0; k < n; ++k) {
      const At& at = region.ats[k];
      operands.push_back(operand(instr.inputs[k], at.place.offset));
      strides.push_back(stridesOver(region.space, region.maps[k], at.shape, at.place.strides));
      moved += numelOf(at.shape) * static_cast<std::int64_t>(itemSize(operands.back().dtype));
    }
    for (std::size_t r = 0; r < instr.results.size(); ++r) {
      const std::uint32_t result = instr.results[r];
      const Dims map = resultMap(instr, instr.members[instr.resultOf[r]]);
      const Strided to = storedAt(result);
      const Dims over = spread(region.space, map, to.strides);
      const bool part = program_.values_[result].write.has_value();
      if (part && !liesApart(region.space, over)) return false;
      for (std::size_t k = 0; k < n; ++k) {
        if (!overwrites(result, instr.inputs[k])) continue;
        if (part ? region.ats[k].place.offset != to.offset || strides[k] != over
                 : region.maps[k] != map || !isSamePlace(result, instr.inputs[k], region.ats[k]))
          return false;
      }
      operands.push_back(operand(result, to.offset));
      strides.push_back(over);
      moved += bytes(result);
    }
    RegionLaunch launch;
    launch.signature = instr.body;
    if (!layOutRegion(launch, instr.text.kind, instr.begin, instr.end, region.space, std::move(strides))) return false;
    if (!std::ranges::equal(launch.strided, instr.strided, {}, &RegionLaunch::Strided::input)) return false;
    double elements = 0;
    for (const Member& m : instr.members) elements += static_cast<double>(numelOf(domainOf(trace_.nodes[m.node])));
    const bool same = hasSameAccesses(launch.signature, instr.body);
    plan_.explanation +=
        regionText(instr.text, region.space, moved, elements, same ? instr.bodyText : launch.signature.text());
    writer_.region(lineOf(trace_, instr.node), launch, region.space, std::move(operands), instr.scalars);
    return true;
  }

  // Is all of the value what leaves?
  bool leaves(const Read& read, ValueRef ref) const {
    At at;
    return read.ref == ref && resolve(read, at) && at.isAll(numelOf(meta(read.value).shape));
  }

  const ShapeProgram& program_;
  const Trace& trace_;
  const Target& target_;
  TraceValues values_;
  Plan& plan_;
  PlanWriter writer_;
  std::vector<MemoryLife> memories_;
  std::vector<std::uint32_t> buffers_;  // of the values
  ShapeProgram::Answers answers_;
};

std::shared_ptr<Plan> ShapeProgram::planFor(const Trace& trace, const std::vector<TraceOutput>& outputs,
                                            Answers& answers) const {
  auto plan = std::make_shared<Plan>();
  ShapeRun run(*this, trace, *plan);
  if (!run.run(outputs)) return nullptr;
  answers = run.answers();
  plan->explanation += "  no pass: what they decided for other sizes holds for these\n";
  return plan;
}

std::shared_ptr<Plan> ShapeProgram::planFor(const Trace& trace, const std::vector<TraceOutput>& outputs) const {
  Answers answers;
  std::shared_ptr<Plan> plan = planFor(trace, outputs, answers);
  return answers == answers_ ? plan : nullptr;
}

}  // namespace tandem::passes
