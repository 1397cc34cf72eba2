// Between plain data and flatbuffers.
#include <algorithm>
#include <array>
#include <type_traits>

#include "runtime/base/error.h"
#include "runtime/program/manifest_generated.h"
#include "runtime/program/program_data.h"

namespace tandem::program {
namespace {

using flatbuffers::Offset;
using flatbuffers::Vector;

// The runtime's enumerations may change their numbers, the file's may not.
static_assert(static_cast<int>(wire::DType::Float64) == static_cast<int>(DType::Float64));
static_assert(static_cast<int>(wire::NumberKind::Float) == static_cast<int>(Scalar::Kind::Float));
static_assert(static_cast<int>(wire::Access::Framed) == static_cast<int>(Access::Framed));
static_assert(static_cast<int>(wire::KernelKind::Partial) == static_cast<int>(KernelKind::Partial));
static_assert(static_cast<int>(wire::StepKind::Index) == static_cast<int>(KernelStep::Kind::Index));
static_assert(static_cast<int>(wire::BufferKind::Temporary) == static_cast<int>(PlanBuffer::Kind::Temporary));
static_assert(static_cast<int>(wire::SlotSource::Tanh) == static_cast<int>(ScalarSlot::Source::Tanh));
static_assert(static_cast<int>(wire::InstructionKind::Copy) == static_cast<int>(PlanInstr::Kind::Copy));
static_assert(static_cast<int>(wire::StateKind::Other) == static_cast<int>(StateData::Kind::Other));
static_assert(static_cast<int>(wire::Freedom::Fixed) == static_cast<int>(NumberData::Freedom::Fixed));
static_assert(static_cast<int>(wire::Origin::Nothing) == static_cast<int>(PlaceData::Origin::Nothing));

template <class To, class From>
To as(From value) {
  return static_cast<To>(value);
}

// ---- writing

class Writer {
 public:
  std::string write(const ProgramData& d) {
    const auto producer = text(d.producer);
    const auto device = d.device.empty() ? Offset<flatbuffers::String>() : text(d.device);
    const auto manifest = wire::CreateManifest(
        b_, kMajor, d.minor, producer, texts(d.targets), each(d.kernels, &Writer::kernel),
        each(d.memories, &Writer::memory), each(d.state, &Writer::state), each(d.entries, &Writer::entry),
        each(d.members, &Writer::member), each(d.notes, &Writer::note), d.seed, d.draws, bytes(d.weightsHeader),
        each(d.sources, &Writer::source), device);
    wire::FinishManifestBuffer(b_, manifest);
    return {reinterpret_cast<const char*>(b_.GetBufferPointer()), b_.GetSize()};
  }

 private:
  Offset<flatbuffers::String> text(std::string_view s) { return b_.CreateSharedString(s.data(), s.size()); }
  Offset<Vector<Offset<flatbuffers::String>>> texts(const std::vector<std::string>& all) {
    std::vector<Offset<flatbuffers::String>> made;
    made.reserve(all.size());
    for (const std::string& s : all) made.push_back(text(s));
    return b_.CreateVector(made);
  }
  template <class T, class U>
  Offset<Vector<Offset<U>>> each(const std::vector<T>& values, Offset<U> (Writer::*one)(const T&)) {
    std::vector<Offset<U>> made;
    made.reserve(values.size());
    for (const T& v : values) made.push_back((this->*one)(v));
    return b_.CreateVector(made);
  }
  Offset<Vector<std::uint8_t>> bytes(std::string_view s) {
    return b_.CreateVector(reinterpret_cast<const std::uint8_t*>(s.data()), s.size());
  }
  Offset<Vector<std::int64_t>> list(DimsRef values) { return b_.CreateVector(values.data(), values.size()); }

  Offset<wire::Step> step(const KernelStep& s) {
    return wire::CreateStep(b_, text(opName(s.op)), as<wire::DType>(s.dtype), as<wire::StepKind>(s.kind), s.result,
                            b_.CreateVector(s.operands.data(), s.operands.size()));
  }
  Offset<wire::Kernel> kernel(const KernelData& k) {
    const KernelSignature& s = k.signature;
    std::vector<wire::Operand> inputs;
    for (const KernelOperand& o : s.inputs) inputs.emplace_back(as<wire::DType>(o.dtype), as<wire::Access>(o.access));
    std::vector<std::uint8_t> scalars;
    for (DType t : s.scalars) scalars.push_back(as<std::uint8_t>(t));
    std::vector<wire::Output> outputs;
    for (const KernelOutput& o : s.outputs)
      outputs.emplace_back(as<wire::DType>(o.operand.dtype), as<wire::Access>(o.operand.access), o.value);
    const auto steps = each(s.steps, &Writer::step);
    const auto types = b_.CreateVector(scalars);
    // Readers that know no Short or Leading kernels take them as Row kernels that they never launch.
    const bool isShort = s.kind == KernelKind::Short, leading = s.kind == KernelKind::Leading;
    const auto kind = as<wire::KernelKind>(isShort || leading ? KernelKind::Row : s.kind);
    return wire::CreateKernel(b_, kind, s.outerRank, leading ? 2 : s.reducedRank, s.trailing || isShort,
                              b_.CreateVectorOfStructs(inputs), Offset<Vector<wire::DType>>(types.o), steps,
                              b_.CreateVectorOfStructs(outputs), texts(k.symbols));
  }
  Offset<wire::Source> source(const SourceData& s) { return wire::CreateSource(b_, text(s.name), texts(s.symbols)); }
  Offset<wire::View> view(const PlanOperand& o) {
    return wire::CreateView(b_, o.buffer, o.byteOffset, as<wire::DType>(o.dtype), o.absent, list(o.shape),
                            list(o.strides));
  }
  Offset<wire::Instruction> instruction(const PlanInstr& i) {
    const auto kind = i.strided ? wire::InstructionKind::StridedKernel : as<wire::InstructionKind>(i.kind);
    return wire::CreateInstruction(b_, kind, i.function, i.numInputs,
                                   each(i.operands, &Writer::view), b_.CreateVector(i.scalars), list(i.attrs),
                                   list(i.args), text(i.line));
  }
  Offset<wire::Plan> plan(const Plan& p, const std::vector<std::uint32_t>& kernels) {
    std::vector<wire::Buffer> buffers;
    for (const PlanBuffer& x : p.buffers)
      buffers.emplace_back(as<wire::BufferKind>(x.kind), x.index, x.arenaOffset, x.bytes);
    std::vector<wire::Slot> slots;
    for (const ScalarSlot& s : p.slots)
      slots.emplace_back(as<wire::SlotSource>(s.source), as<wire::NumberKind>(s.value.kind), s.a, s.b, s.value.bits());
    const auto instructions = each(p.instrs, &Writer::instruction);
    return wire::CreatePlan(b_, b_.CreateVectorOfStructs(buffers), b_.CreateVectorOfStructs(slots), instructions,
                            b_.CreateVector(kernels), texts(p.library), p.arenaBytes, p.numInputs, p.numOutputs,
                            p.numRandom, b_.CreateString(p.explanation));
  }
  static wire::Place place(const PlaceData& p) { return {as<wire::Origin>(p.origin), p.index, p.offset}; }
  Offset<wire::Argument> argument(const ArgumentData& a) {
    return wire::CreateArgument(b_, text(a.name), as<wire::DType>(a.dtype), list(a.shape), a.changes, a.onHost);
  }
  Offset<wire::Number> number(const NumberData& n) {
    return wire::CreateNumber(b_, text(n.name), as<wire::NumberKind>(n.value.kind), n.value.bits(),
                              as<wire::Freedom>(n.freedom));
  }
  Offset<wire::Result> result(const ResultData& r) {
    const wire::Place at = place(r.place);
    return wire::CreateResult(b_, text(r.name), as<wire::DType>(r.dtype), list(r.shape), list(r.strides), &at);
  }
  Offset<wire::Size> size(const SizeData& s) { return wire::CreateSize(b_, text(s.name), s.least, s.most, s.example); }
  Offset<wire::SizeFunction> function(const SizeFunction& f) {
    std::vector<wire::Along> along;
    for (const SizeFunction::Along& a : f.along) along.emplace_back(a.period, a.degree);
    return wire::CreateSizeFunction(b_, b_.CreateVectorOfStructs(along), list(f.coefficients));
  }
  Offset<Vector<const wire::SizedDim*>> sizedDims(const std::vector<SizedDim>& all) {
    std::vector<wire::SizedDim> out;
    for (const SizedDim& d : all) out.emplace_back(d.tensor, d.dim, d.size, d.factor, d.add);
    return b_.CreateVectorOfStructs(out);
  }
  // NOLINTNEXTLINE(misc-no-recursion): a form has no others
  Offset<wire::Entry> entry(const EntryData& e) {
    std::vector<wire::Place> inputs;
    for (const PlaceData& p : e.inputs) inputs.push_back(place(p));
    std::vector<wire::Choice> choice;
    for (const ChoiceData& c : e.choice) choice.emplace_back(c.form, c.count);
    std::vector<wire::Varying> varying;
    for (const VaryingData& v : e.varying) varying.emplace_back(v.position, v.function);
    std::vector<wire::Bound> bounds;
    for (const BoundData& b : e.bounds) bounds.emplace_back(b.slot, b.most);
    return wire::CreateEntry(
        b_, text(e.name), each(e.arguments, &Writer::argument), each(e.numbers, &Writer::number),
        each(e.results, &Writer::result), b_.CreateVectorOfStructs(inputs), b_.CreateVector(e.fresh),
        plan(e.plan, e.kernels), b_.CreateString(e.tree), each(e.sizes, &Writer::size), sizedDims(e.bound),
        sizedDims(e.given), b_.CreateVectorOfStructs(choice), each(e.others, &Writer::entry), list(e.firsts),
        each(e.functions, &Writer::function), b_.CreateVectorOfStructs(varying), b_.CreateVectorOfStructs(bounds));
  }
  Offset<wire::Memory> memory(const MemoryData& m) {
    return wire::CreateMemory(b_, text(m.name), m.offset, m.bytes, m.changes);
  }
  Offset<wire::State> state(const StateData& s) {
    return wire::CreateState(b_, text(s.name), as<wire::StateKind>(s.kind), s.memory, s.offset,
                             as<wire::DType>(s.dtype), list(s.shape), list(s.strides));
  }
  Offset<wire::Member> member(const MemberData& m) { return wire::CreateMember(b_, text(m.name), bytes(m.sha256)); }
  Offset<wire::Note> note(const std::pair<std::string, std::string>& n) {
    return wire::CreateNote(b_, text(n.first), b_.CreateString(n.second));
  }

  flatbuffers::FlatBufferBuilder b_;
};

// ---- reading

template <class... Args>
[[noreturn]] void bad(const Args&... args) {
  fail<ValueError>("a saved program's manifest is damaged: ", args...);
}

/// Tables and lists may stand in many places of a manifest, of which a small one could then say more than fits into
/// memory: what is made of it may be so many times its bytes, a few of which every part has.
class Allowance {
 public:
  explicit Allowance(std::size_t bytes) : outer_(current_), left_(16 * bytes) { current_ = this; }
  ~Allowance() { current_ = outer_; }
  Allowance(const Allowance&) = delete;
  Allowance& operator=(const Allowance&) = delete;
  static void take(std::size_t bytes) {
    if (bytes > current_->left_) bad("parts of it are there many times");
    current_->left_ -= bytes;
  }

 private:
  static inline thread_local Allowance* current_ = nullptr;
  Allowance* outer_;
  std::size_t left_;
};

/// A number of the file as the runtime's enumeration, which has values up to `last`.
template <class To, class From>
To checked(From value, From last) {
  if (as<int>(value) > as<int>(last)) bad("an enumeration has the value ", as<int>(value));
  return static_cast<To>(value);
}
DType dtype(wire::DType t) { return checked<DType>(t, wire::DType::MAX); }

std::string text(const flatbuffers::String* s) {
  if (s == nullptr) return {};
  Allowance::take(s->size());
  return s->str();
}

std::string binary(const Vector<std::uint8_t>* values) {
  if (values == nullptr) return {};
  Allowance::take(values->size());
  return {values->begin(), values->end()};
}

std::vector<std::string> texts(const Vector<Offset<flatbuffers::String>>* values) {
  std::vector<std::string> out;
  if (values == nullptr) return out;
  Allowance::take(values->size() * sizeof(out[0]));
  for (const auto* s : *values) out.push_back(text(s));
  return out;
}

/// The verifier looks at where lists begin, not at their elements.
template <class T>
void checkAligned(const Vector<T>* values, std::size_t alignment) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(values->Data()) % alignment == 0;
  if (values->size() != 0 && !aligned) bad("a list is not aligned");
}

template <class T>
auto list(const Vector<T>* values) {
  std::vector<std::remove_cvref_t<decltype(values->Get(0))>> out;
  if (values == nullptr) return out;
  Allowance::take(values->size() * sizeof(*values->data()));
  checkAligned(values, sizeof(*values->data()));
  out.assign(values->begin(), values->end());
  return out;
}
Dims dims(const Vector<std::int64_t>* values) {
  Dims out;
  if (values == nullptr) return out;
  Allowance::take(values->size() * sizeof(std::int64_t));
  checkAligned(values, sizeof(std::int64_t));
  out.append(values->data(), values->data() + values->size());
  return out;
}

/// `one(value)` of each.
template <class T, class F>
auto each(const Vector<T>* values, F one) {
  std::vector<decltype(one(values->Get(0)))> out;
  if (values == nullptr) return out;
  Allowance::take(values->size() * sizeof(out[0]));
  if constexpr (std::is_pointer_v<T>) checkAligned(values, alignof(std::remove_pointer_t<T>));
  out.reserve(values->size());
  for (const auto* v : *values) out.push_back(one(v));
  return out;
}

Scalar scalar(wire::NumberKind kind, std::int64_t bits) {
  switch (checked<Scalar::Kind>(kind, wire::NumberKind::MAX)) {
  case Scalar::Kind::Bool:
    return bits != 0;
  case Scalar::Kind::Int:
    return bits;
  case Scalar::Kind::Float:
    return std::bit_cast<double>(bits);
  }
  return {};
}

KernelStep step(const wire::Step* s) {
  KernelStep out{};
  out.kind = checked<KernelStep::Kind>(s->kind(), wire::StepKind::MAX);
  const std::optional<OpCode> op = opNamed(s->operation() == nullptr ? "" : s->operation()->string_view());
  if (!op)
    fail<NotImplementedError>("a saved program uses the operation `", text(s->operation()),
                              "`, which this version of Tandem does not have");
  out.op = *op;
  out.dtype = dtype(s->dtype());
  out.result = s->result();
  for (std::uint16_t v : list(s->operands())) out.operands.push_back(v);
  return out;
}

KernelData kernel(const wire::Kernel* k) {
  KernelData out;
  KernelSignature& s = out.signature;
  s.kind = checked<KernelKind>(k->kind(), wire::KernelKind::MAX);
  s.outerRank = k->outer_rank();
  s.reducedRank = k->reduced_rank();
  s.trailing = k->trailing();
  if (s.kind == KernelKind::Row && s.trailing) {
    s.kind = KernelKind::Short;
    s.trailing = false;
  } else if (s.kind == KernelKind::Row && s.reducedRank == 2) {
    s.kind = KernelKind::Leading;
    s.reducedRank = 1;
  }
  s.inputs = each(k->inputs(), [](const wire::Operand* o) {
    return KernelOperand{dtype(o->dtype()), checked<Access>(o->access(), wire::Access::MAX)};
  });
  for (auto t : list(k->scalars())) s.scalars.push_back(dtype(static_cast<wire::DType>(t)));
  s.steps = each(k->steps(), step);
  s.outputs = each(k->outputs(), [](const wire::Output* o) {
    return KernelOutput{{dtype(o->dtype()), checked<Access>(o->access(), wire::Access::MAX)}, o->value()};
  });
  out.symbols = texts(k->symbols());
  return out;
}

PlanOperand view(const wire::View* v) {
  PlanOperand out;
  out.buffer = v->buffer();
  out.byteOffset = v->offset();
  out.dtype = dtype(v->dtype());
  out.shape = dims(v->shape());
  out.strides = dims(v->strides());
  out.absent = v->absent();
  return out;
}

PlanInstr instruction(const wire::Instruction* i) {
  PlanInstr out{};
  out.strided = i->kind() == wire::InstructionKind::StridedKernel;
  out.kind = out.strided ? PlanInstr::Kind::Kernel : checked<PlanInstr::Kind>(i->kind(), wire::InstructionKind::MAX);
  out.function = i->function();
  out.numInputs = i->inputs();
  out.operands = each(i->operands(), view);
  out.scalars = list(i->scalars());
  out.attrs = list(i->attributes());
  out.args = list(i->arguments());
  out.line = text(i->line());
  return out;
}

PlaceData place(const wire::Place* p) {
  if (p == nullptr) bad("a result is nowhere");
  return {checked<PlaceData::Origin>(p->origin(), wire::Origin::MAX), p->index(), p->offset()};
}

void readPlan(const wire::Plan* p, const std::vector<KernelData>& kernels, EntryData& entry) {
  if (p == nullptr) bad("the entry ", entry.name, " has no plan");
  Plan& out = entry.plan;
  out.buffers = each(p->buffers(), [](const wire::Buffer* b) {
    return PlanBuffer{checked<PlanBuffer::Kind>(b->kind(), wire::BufferKind::MAX), b->index(), b->arena_offset(),
                      b->bytes()};
  });
  out.slots = each(p->slots(), [](const wire::Slot* s) {
    return ScalarSlot{checked<ScalarSlot::Source>(s->source(), wire::SlotSource::MAX), scalar(s->kind(), s->bits()),
                      s->a(), s->b()};
  });
  out.instrs = each(p->instructions(), instruction);
  entry.kernels = list(p->kernels());
  for (const std::uint32_t k : entry.kernels) {
    if (k >= kernels.size()) bad("a plan names kernel ", k, " of ", kernels.size());
    out.kernels.push_back(kernels[k].signature);
  }
  out.library = texts(p->library());
  out.arenaBytes = p->arena_bytes();
  out.numInputs = p->inputs();
  out.numOutputs = p->outputs();
  if (p->draws() > 0xffffffffU) bad("a plan draws ", p->draws(), " times");
  out.numRandom = as<std::uint32_t>(p->draws());
  out.explanation = text(p->explanation());
}

SizedDim sizedDim(const wire::SizedDim* d) { return {d->tensor(), d->dim(), d->size(), d->factor(), d->add()}; }

SizeFunction function(const wire::SizeFunction* f) {
  return {each(f->along(), [](const wire::Along* a) { return SizeFunction::Along{a->period(), a->degree()}; }),
          list(f->coefficients())};
}

// NOLINTNEXTLINE(misc-no-recursion): forms have no others
EntryData entry(const wire::Entry* e, const std::vector<KernelData>& kernels, bool isForm = false) {
  EntryData out;
  out.name = text(e->name());
  out.arguments = each(e->arguments(), [](const wire::Argument* a) {
    return ArgumentData{text(a->name()), dtype(a->dtype()), dims(a->shape()), a->changes(), a->on_host()};
  });
  out.numbers = each(e->numbers(), [](const wire::Number* n) {
    return NumberData{text(n->name()), scalar(n->kind(), n->bits()),
                      checked<NumberData::Freedom>(n->freedom(), wire::Freedom::MAX)};
  });
  out.results = each(e->results(), [](const wire::Result* r) {
    return ResultData{text(r->name()), dtype(r->dtype()), dims(r->shape()), dims(r->strides()), place(r->place())};
  });
  out.inputs = each(e->inputs(), place);
  out.fresh = list(e->fresh());
  readPlan(e->plan(), kernels, out);
  out.tree = text(e->tree());
  out.sizes = each(e->sizes(),
                   [](const wire::Size* s) { return SizeData{text(s->name()), s->least(), s->most(), s->example()}; });
  out.bound = each(e->bound(), sizedDim);
  out.given = each(e->given(), sizedDim);
  out.choice = each(e->choice(), [](const wire::Choice* c) { return ChoiceData{c->form(), c->count()}; });
  if (isForm && e->others() != nullptr && e->others()->size() != 0) bad("a form of an entry has forms");
  out.others = each(e->others(), [&](const wire::Entry* form) { return entry(form, kernels, true); });
  out.firsts = list(e->firsts());
  out.functions = each(e->functions(), function);
  out.varying = each(e->varying(), [](const wire::Varying* v) { return VaryingData{v->position(), v->function()}; });
  out.bounds = each(e->bounds(), [](const wire::Bound* b) { return BoundData{b->slot(), b->most()}; });
  return out;
}

}  // namespace

std::string encodePlan(const Plan& plan) {
  ProgramData data;
  EntryData& e = data.entries.emplace_back();
  for (const KernelSignature& s : plan.kernels) {
    e.kernels.push_back(static_cast<std::uint32_t>(data.kernels.size()));
    data.kernels.push_back({s, {}});
  }
  e.plan = plan;
  return encodeManifest(data);
}

Plan decodePlan(std::string_view bytes) {
  ProgramData data = decodeManifest(bytes);
  if (data.entries.size() != 1) bad("it has ", data.entries.size(), " plans");
  Plan plan = std::move(data.entries[0].plan);
  addSpaces(plan);
  return plan;
}

void addSpaces(Plan& plan) {
  for (PlanInstr& i : plan.instrs) {
    if (i.kind != PlanInstr::Kind::Kernel) continue;
    if (i.function >= plan.kernels.size()) bad("a plan launches kernel ", i.function, " of ", plan.kernels.size());
    const KernelSignature& s = plan.kernels[i.function];
    const ArgLayout layout(s);
    if (i.args.size() != layout.size()) bad("a kernel has ", i.args.size(), " arguments of ", layout.size());
    i.space = wholeSpace(s.kind, layout, i.args.data());
  }
}

std::string encodeManifest(const ProgramData& data) { return Writer().write(data); }

ProgramData decodeManifest(std::string_view bytes) {
  // Numbers are read where they lie, which in a file is at multiples of 64.
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(std::int64_t) != 0)
    return decodeManifest(std::string(bytes));
  const auto* begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
  flatbuffers::Verifier verifier(begin, bytes.size(), 64, static_cast<flatbuffers::uoffset_t>(bytes.size() / 8));
  if (bytes.size() < 8 || !wire::ManifestBufferHasIdentifier(begin)) bad("it is none");
  if (!wire::VerifyManifestBuffer(verifier)) bad("its offsets do not fit");
  const Allowance allowance(bytes.size());
  const wire::Manifest* m = wire::GetManifest(begin);
  if (m->major() != kMajor)
    fail<ValueError>("the saved program has format ", m->major(), ".", m->minor(), "; this version of Tandem reads ",
                     kMajor, ".x");
  ProgramData out;
  out.minor = std::min(m->minor(), kMinor);
  out.producer = text(m->producer());
  out.targets = texts(m->targets());
  out.kernels = each(m->kernels(), kernel);
  out.memories = each(m->memories(), [](const wire::Memory* x) {
    return MemoryData{text(x->name()), x->offset(), x->bytes(), x->changes()};
  });
  out.state = each(m->state(), [](const wire::State* s) {
    return StateData{checked<StateData::Kind>(s->kind(), wire::StateKind::MAX),
                     text(s->name()),
                     s->memory(),
                     s->offset(),
                     dtype(s->dtype()),
                     dims(s->shape()),
                     dims(s->strides())};
  });
  out.entries = each(m->entries(), [&](const wire::Entry* e) { return entry(e, out.kernels); });
  out.members =
      each(m->members(), [](const wire::Member* x) { return MemberData{text(x->name()), binary(x->sha256())}; });
  out.notes = each(m->notes(), [](const wire::Note* n) { return std::pair(text(n->key()), text(n->value())); });
  out.seed = m->seed();
  out.draws = m->draws();
  out.weightsHeader = binary(m->weights_header());
  out.device = text(m->device());
  out.sources =
      each(m->sources(), [](const wire::Source* s) { return SourceData{text(s->name()), texts(s->symbols())}; });
  return out;
}

}  // namespace tandem::program
