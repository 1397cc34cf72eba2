// Manifests: the first byte of the input says of which seed, the others are a manifest with that seed's other members.
// Half of the changes are of bytes, the others of numbers in what they say, written as a manifest again, so that plans
// come to be that are almost right.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>

#include "tests/fuzz/fuzzing.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace tandem::fuzz {
namespace {

using program::ProgramData;
using Random = std::mt19937_64;

const Seed& seedOf(std::uint8_t number) { return seeds()[number % seeds().size()]; }

/// Changes one number, or one part, of what a manifest says.
class Mutation {
 public:
  Mutation(ProgramData& data, Random& random) : data_(data), random_(random) {}

  void apply() {
    if (data_.entries.empty()) return;
    program::EntryData& e = one(data_.entries);
    if (!e.sizes.empty() && below(3) == 0) return sizes(e);
    switch (below(12)) {
    case 0:
      return place(e);
    case 1:
      return memory();
    case 2:
      return buffer(e.plan);
    case 3:
      return slot(e.plan);
    case 4:
      return order(e.plan);
    case 5:
      change(below(2) == 0 ? e.plan.arenaBytes : e.fresh.empty() ? e.plan.arenaBytes : one(e.fresh));
      return;
    default:
      if (!e.plan.instrs.empty()) instruction(e.plan, one(e.plan.instrs));
    }
  }

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  template <class List>
  typename List::value_type& one(List& values) {
    return values[below(values.size())];
  }
  template <class T>
  void change(T& value) {
    static constexpr std::int64_t kEdges[] = {0,
                                              1,
                                              2,
                                              3,
                                              4,
                                              7,
                                              8,
                                              16,
                                              63,
                                              64,
                                              65,
                                              128,
                                              4096,
                                              1 << 20,
                                              std::int64_t{1} << 31,
                                              std::int64_t{1} << 42,
                                              std::int64_t{1} << 62,
                                              INT64_MAX,
                                              -1,
                                              -2,
                                              -8,
                                              INT64_MIN};
    switch (below(4)) {
    case 0:
      value = static_cast<T>(kEdges[below(std::size(kEdges))]);
      return;
    case 1:
      value = static_cast<T>(static_cast<std::uint64_t>(value) + 1);
      return;
    case 2:
      value = static_cast<T>(static_cast<std::uint64_t>(value) - 1);
      return;
    default:
      value =
          static_cast<T>(below(2) == 0 ? static_cast<std::uint64_t>(value) * 2 : static_cast<std::uint64_t>(value) / 2);
    }
  }
  void change(DType& t) { t = static_cast<DType>(below(kNumDTypes)); }
  template <class List>
  void list(List& values) {
    const std::size_t what = below(8);
    if (what == 0) return values.push_back(static_cast<std::int64_t>(below(4)));
    if (values.empty()) return;
    if (what == 1) return values.resize(values.size() - 1);
    if (what == 2) return std::swap(one(values), one(values));
    change(one(values));
  }

  void place(program::EntryData& e) {
    program::PlaceData* p = nullptr;
    const std::size_t what = below(4);
    if (what == 0 && !e.arguments.empty()) {
      program::ArgumentData& a = one(e.arguments);
      return below(2) == 0 ? list(a.shape) : below(2) == 0 ? change(a.dtype) : void(a.changes = !a.changes);
    }
    if (what == 1 && !e.inputs.empty()) p = &one(e.inputs);
    if (what > 1 && !e.results.empty()) {
      program::ResultData& r = one(e.results);
      switch (below(4)) {
      case 0:
        return list(r.shape);
      case 1:
        return list(r.strides);
      case 2:
        return change(r.dtype);
      default:
        p = &r.place;
      }
    }
    if (p == nullptr) return;
    switch (below(3)) {
    case 0:
      p->origin = static_cast<program::PlaceData::Origin>(below(4));
      return;
    case 1:
      return change(p->index);
    default:
      return change(p->offset);
    }
  }
  void memory() {
    if (data_.memories.empty()) return;
    program::MemoryData& m = one(data_.memories);
    switch (below(4)) {
    case 0:
      return change(m.offset);
    case 1:
      return change(m.bytes);
    case 2:
      m.changes = !m.changes;
      return;
    default:
      if (data_.state.empty()) return;
      program::StateData& s = one(data_.state);
      below(2) == 0 ? change(s.offset) : below(2) == 0 ? list(s.shape) : list(s.strides);
    }
  }
  void buffer(Plan& plan) {
    if (plan.buffers.empty()) return;
    PlanBuffer& b = one(plan.buffers);
    switch (below(4)) {
    case 0:
      b.kind = static_cast<PlanBuffer::Kind>(below(3));
      return;
    case 1:
      return change(b.index);
    case 2:
      return change(b.arenaOffset);
    default:
      return change(b.bytes);
    }
  }
  void slot(Plan& plan) {
    if (plan.slots.empty()) return;
    ScalarSlot& s = one(plan.slots);
    switch (below(4)) {
    case 0:
      s.source = static_cast<ScalarSlot::Source>(below(12));
      return;
    case 1:
      return change(s.a);
    case 2:
      return change(s.b);
    default:
      s.value = below(2) == 0 ? Scalar(static_cast<std::int64_t>(random_())) : Scalar(std::bit_cast<double>(random_()));
    }
  }
  void order(Plan& plan) {
    if (plan.instrs.empty()) return;
    switch (below(4)) {
    case 0:
      return std::swap(one(plan.instrs), one(plan.instrs));
    case 1:
      plan.instrs.erase(plan.instrs.begin() + static_cast<std::ptrdiff_t>(below(plan.instrs.size())));
      return;
    case 2: {
      const PlanInstr again = one(plan.instrs);
      plan.instrs.insert(plan.instrs.begin() + static_cast<std::ptrdiff_t>(below(plan.instrs.size())), again);
      return;
    }
    default:
      if (plan.library.empty()) return;
      static const auto* const names = [] {
        auto* all = new std::vector<std::string>;
        for (const Seed& s : seeds())
          for (const auto& e : program::decodeManifest(s.archive.member(program::kManifest)).entries)
            all->insert(all->end(), e.plan.library.begin(), e.plan.library.end());
        return all;
      }();
      one(plan.library) = (*names)[below(names->size())];
    }
  }
  void instruction(Plan& plan, PlanInstr& i) {
    switch (below(10)) {
    case 0:
      return change(i.function);
    case 1:
      return change(i.numInputs);
    case 2:
      if (!i.scalars.empty()) change(one(i.scalars));
      return;
    case 3:
    case 4:
      return list(i.attrs);
    case 5:
    case 6:
      return list(i.args);
    default:
      if (i.operands.empty()) return;
      operand(plan, one(i.operands));
    }
  }
  void operand(const Plan& plan, PlanOperand& o) {
    switch (below(8)) {
    case 0:
      return change(o.buffer);
    case 1:
      o.buffer = static_cast<std::uint32_t>(below(plan.buffers.size() + 1));
      return;
    case 2:
      return change(o.byteOffset);
    case 3:
      return change(o.dtype);
    case 4:
      o.absent = !o.absent;
      return;
    case 5: {
      // A shape whose strides are those of a contiguous array passes more checks than others.
      list(o.shape);
      o.strides = Dims(o.shape.size(), 1);
      for (std::size_t d = o.shape.size(); d-- > 1;)
        if (__builtin_mul_overflow(o.strides[d], o.shape[d], &o.strides[d - 1])) o.strides[d - 1] = 1;
      return;
    }
    case 6:
      return list(o.shape);
    default:
      return list(o.strides);
    }
  }

  /// What the entry says of its sizes, or one of its forms.
  void sizes(program::EntryData& e) {
    program::EntryData& form = e.others.empty() || below(2) == 0 ? e : one(e.others);
    switch (below(8)) {
    case 0: {
      program::SizeData& s = one(e.sizes);
      return change(below(3) == 0 ? s.least : below(2) == 0 ? s.most : s.example);
    }
    case 1:
      return sizedDim(below(2) == 0 ? e.bound : e.given);
    case 2:
      if (e.choice.empty()) return;
      return change(below(2) == 0 ? one(e.choice).form : one(e.choice).count);
    case 3:
      if (form.firsts.empty()) return;
      return change(one(form.firsts));
    case 4:
      if (form.varying.empty()) return;
      return change(below(2) == 0 ? one(form.varying).position : one(form.varying).function);
    case 5:
      if (&form != &e && !form.plan.instrs.empty()) return instruction(form.plan, one(form.plan.instrs));
      return;
    default:
      if (form.functions.empty()) return;
      program::SizeFunction& f = one(form.functions);
      if (below(4) == 0 && !f.along.empty()) return change(below(2) == 0 ? one(f.along).period : one(f.along).degree);
      if (!f.coefficients.empty()) change(one(f.coefficients));
    }
  }
  void sizedDim(std::vector<program::SizedDim>& dims) {
    if (dims.empty()) return;
    program::SizedDim& d = one(dims);
    switch (below(5)) {
    case 0:
      return change(d.tensor);
    case 1:
      return change(d.dim);
    case 2:
      return change(d.size);
    case 3:
      return change(d.factor);
    default:
      return change(d.add);
    }
  }

  ProgramData& data_;
  Random& random_;
};

std::string_view manifestOf(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data) + 1, size - 1};
}

}  // namespace
}  // namespace tandem::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  using namespace tandem;
  fuzz::Random random(seed);
  if (size < 2 || random() % 4 == 0) return LLVMFuzzerMutate(data, size, most);
  std::size_t made = 0;
  fuzz::attempt([&] {
    program::ProgramData changed = program::decodeManifest(fuzz::manifestOf(data, size));
    for (std::size_t n = 1 + random() % 3; n > 0; --n) fuzz::Mutation(changed, random).apply();
    const std::string bytes = program::encodeManifest(changed);
    if (bytes.size() + 1 > most) return;
    std::memcpy(data + 1, bytes.data(), bytes.size());
    made = bytes.size() + 1;
  });
  return made != 0 ? made : LLVMFuzzerMutate(data, size, most);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tandem;
  if (size < 2) return 0;
  const fuzz::Seed& seed = fuzz::seedOf(data[0]);
  fuzz::attempt([&] {
    const auto manifest = std::make_shared<std::string>(fuzz::manifestOf(data, size));
    program::ProgramData read = program::decodeManifest(*manifest);
    if (!fuzz::isTrusted(read)) return;
    // Hashes are of the seed's members, whatever became of them.
    read.members = program::decodeManifest(seed.archive.member(program::kManifest)).members;
    *manifest = program::encodeManifest(read);
    auto members = seed.archive.members();
    members[std::string(program::kManifest)] = *manifest;
    struct Owner {
      std::shared_ptr<const std::string> file, manifest;
    };
    program::Archive archive(std::move(members), std::make_shared<const Owner>(Owner{seed.file, manifest}));
    fuzz::run(program::Program::open(std::move(archive)));
  });
  return 0;
}
