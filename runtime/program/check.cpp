#include "runtime/program/check.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "runtime/base/error.h"
#include "runtime/base/library_check.h"
#include "runtime/kernel/collapse.h"
#include "runtime/program/sizes.h"

namespace tandem::program {
namespace {

constexpr std::size_t kMostDims = 64;
constexpr std::uint64_t kAlignment = 64;
// More than there is of anything: sums and products of a few such numbers are far from overflowing.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 42;
constexpr std::size_t kMostInstructions = std::size_t{1} << 20;

template <class... Args>
[[noreturn]] void bad(const Args&... args) {
  fail<ValueError>("a saved program contradicts itself: ", args...);
}
template <class... Args>
void require(bool holds, const Args&... args) {
  if (!holds) bad(args...);
}

/// Sums and products that may not overflow.
class Bounded {
 public:
  explicit Bounded(std::int64_t v) : value_(v) {}
  Bounded& operator*=(std::int64_t by) {
    require(!__builtin_mul_overflow(value_, by, &value_), "a size overflows");
    return *this;
  }
  Bounded& operator+=(std::int64_t by) {
    require(!__builtin_add_overflow(value_, by, &value_), "a size overflows");
    return *this;
  }
  [[nodiscard]] std::int64_t get() const { return value_; }

 private:
  std::int64_t value_;
};

/// Bytes [first, end) of something.
struct Stretch {
  std::int64_t first = 0;
  std::int64_t end = 0;
};

/// The offsets, in elements, of what a walk over dims touches.
class Reach {
 public:
  void along(std::int64_t size, std::int64_t stride) {
    require(stride <= static_cast<std::int64_t>(kMostBytes) && stride >= -static_cast<std::int64_t>(kMostBytes),
            "a stride is too large");
    if (size == 0) empty_ = true;
    if (size <= 1) return;
    Bounded far(size - 1);
    far *= stride;
    (stride < 0 ? low_ : high_) += far.get();
  }
  /// Where it lies in memory of `bytes`, if it begins at `at` of them; they themselves lie at a multiple of
  /// `alignment`.
  Stretch within(std::uint64_t at, std::uint64_t bytes, DType dtype, const char* what,
                 std::uint64_t alignment = kAlignment) const {
    const auto item = static_cast<std::int64_t>(itemSize(dtype));
    require(bytes <= kMostBytes && at <= bytes, "the place of ", what);
    if (empty_) return {};
    Bounded first(low_.get()), end(high_.get());
    first *= item;
    first += static_cast<std::int64_t>(at);
    end += 1;
    end *= item;
    end += static_cast<std::int64_t>(at);
    require((at | alignment) % static_cast<std::uint64_t>(item) == 0, what, " is not aligned");
    require(first.get() >= 0 && end.get() <= static_cast<std::int64_t>(bytes), what, " reaches bytes ", first.get(),
            " to ", end.get(), " of ", bytes);
    return {first.get(), end.get()};
  }

 private:
  bool empty_ = false;
  Bounded low_{0}, high_{0};
};

std::int64_t checkedNumel(DimsRef shape) {
  require(shape.size() <= kMostDims, "a tensor of ", shape.size(), " dims");
  Bounded n(1);
  bool empty = false;
  for (const std::int64_t size : shape) {
    require(size >= 0, "a size is negative");
    if (size == 0) empty = true;
    n *= std::max<std::int64_t>(size, 1);
  }
  require(n.get() <= static_cast<std::int64_t>(kMostBytes), "a tensor is too large");
  return empty ? 0 : n.get();
}

/// The largest power of two, up to the alignment of memory, that divides an offset.
std::uint64_t alignmentOf(std::uint64_t offset) {
  offset |= kAlignment;
  return offset & -offset;
}

Stretch checkArray(DimsRef shape, DimsRef strides, DType dtype, std::uint64_t at, std::uint64_t bytes, const char* what,
                   std::uint64_t alignment = kAlignment) {
  static_cast<void>(checkedNumel(shape));
  require(shape.size() == strides.size(), what, " has ", shape.size(), " sizes and ", strides.size(), " strides");
  Reach reach;
  for (std::size_t d = 0; d < shape.size(); ++d) reach.along(shape[d], strides[d]);
  return reach.within(at, bytes, dtype, what, alignment);
}

// ---- kernels

void checkSignature(const KernelSignature& s) {
  require(s.kind != KernelKind::Partial || s.reducedRank == 1, "a kernel's kind");
  const bool rows = s.kind == KernelKind::Short || s.kind == KernelKind::Leading;
  require(!rows || (s.reducedRank == 1 && s.outerRank >= 1), "a kernel's kind");
  require(s.outerRank <= kMaxOuterRank && s.reducedRank >= 1 && s.reducedRank <= kMostDims, "a kernel's ranks");
  require(s.inputs.size() + s.outputs.size() <= 4096 && s.scalars.size() <= 4096 && s.steps.size() <= 65535,
          "a kernel's size");
  for (std::size_t k = 0; k < s.inputs.size(); ++k)
    if (s.inputs[k].access == Access::Framed)
      require(k + 1 < s.inputs.size() && s.inputs[k + 1].access != Access::Framed &&
                  s.inputs[k + 1].dtype == s.inputs[k].dtype && s.kind != KernelKind::Column,
              "a framed input without the one behind it");
  for (const DType t : s.scalars) require(t == DType::Int64 || t == DType::Float64, "a number's dtype");
  std::size_t values = s.inputs.size() + s.scalars.size();
  for (const KernelStep& step : s.steps) {
    for (const std::uint16_t v : step.operands) require(v < values, "a step uses what comes after it");
    ++values;
  }
  for (const KernelOutput& o : s.outputs) {
    require(o.value < values, "a kernel's output is no value of it");
    require(o.operand.access != Access::Framed, "a framed output");
  }
}

class PlanCheck {
 public:
  /// `alignments`: of the plan's inputs.
  PlanCheck(const Plan& plan, const EntryData& entry, const std::vector<std::uint64_t>& alignments)
      : plan_(plan), entry_(entry), alignments_(alignments) {}

  void run() {
    require(plan_.numInputs == entry_.inputs.size() && plan_.numOutputs == entry_.fresh.size(),
            "a plan's inputs or outputs");
    require(plan_.arenaBytes <= kMostBytes, "an arena of ", plan_.arenaBytes, " bytes");
    for (const PlanBuffer& b : plan_.buffers) {
      require(b.bytes <= kMostBytes, "a buffer of ", b.bytes, " bytes");
      if (b.kind == PlanBuffer::Kind::Input) require(b.index < plan_.numInputs, "an input");
      if (b.kind == PlanBuffer::Kind::Output)
        require(b.index < plan_.numOutputs && b.bytes <= entry_.fresh[b.index], "an output");
      if (b.kind == PlanBuffer::Kind::Temporary)
        require(b.arenaOffset % 64 == 0 && b.arenaOffset <= plan_.arenaBytes &&
                    b.bytes <= plan_.arenaBytes - b.arenaOffset,
                "a temporary outside the arena");
    }
    slots();
    require(plan_.instrs.size() <= kMostInstructions, "a plan of ", plan_.instrs.size(), " instructions");
    for (const PlanInstr& i : plan_.instrs) instruction(i);
  }

 private:
  void slots() const {
    using Source = ScalarSlot::Source;
    for (const BoundData& b : entry_.bounds) require(b.slot < plan_.slots.size(), "a bound of no number");
    for (std::size_t k = 0; k < plan_.slots.size(); ++k) {
      const ScalarSlot& s = plan_.slots[k];
      if (s.source == Source::Argument)
        require(s.a >= 0 && static_cast<std::size_t>(s.a) < entry_.numbers.size(), "a number that no call gives");
      if (!s.isComputed()) continue;
      require(s.a >= 0 && static_cast<std::size_t>(s.a) < k, "a number made of one behind it");
      const bool ofOne = s.source == Source::Neg || s.source > Source::Mod;
      require((s.b >= 0 || ofOne) && (s.b < 0 || static_cast<std::size_t>(s.b) < k), "a number made of one behind it");
    }
  }

  void instruction(const PlanInstr& i) const {
    for (const PlanOperand& o : i.operands) {
      require(o.absent || o.buffer < plan_.buffers.size(), "an operand");
      static_cast<void>(checkedNumel(o.shape));
    }
    for (const std::uint32_t s : i.scalars) require(s < plan_.slots.size(), "a slot");
    switch (i.kind) {
    case PlanInstr::Kind::Kernel:
      kernel(i);
      break;
    case PlanInstr::Kind::Library:
      library(i);
      break;
    case PlanInstr::Kind::Copy:
      require(i.operands.size() == 2 && !i.operands[0].absent && !i.operands[1].absent &&
                  i.operands[0].dtype == i.operands[1].dtype && i.operands[0].shape == i.operands[1].shape,
              "a copy");
      require(!overlap(array(i.operands[0]), array(i.operands[1])), "a copy of memory onto itself");
      break;
    }
  }

  /// Bytes of the arena, of an output, an argument or a memory.
  struct Memory {
    std::tuple<int, std::uint32_t> which;
    Stretch bytes;
  };
  static bool overlap(const Memory& a, const Memory& b) {
    return a.which == b.which && a.bytes.first < b.bytes.end && b.bytes.first < a.bytes.end;
  }

  [[nodiscard]] Memory array(const PlanOperand& o) const {
    const PlanBuffer& b = plan_.buffers[o.buffer];
    Memory m{{static_cast<int>(b.kind), 0},
             checkArray(o.shape, o.strides, o.dtype, o.byteOffset, b.bytes, "an operand", alignment(b))};
    std::uint64_t at = b.arenaOffset;
    if (b.kind == PlanBuffer::Kind::Output) m.which = {static_cast<int>(b.kind), b.index}, at = 0;
    if (b.kind == PlanBuffer::Kind::Input) {
      const PlaceData& p = entry_.inputs[b.index];
      m.which = {kPlaces + static_cast<int>(p.origin), p.index};
      at = p.offset;
    }
    m.bytes.first += static_cast<std::int64_t>(at);
    m.bytes.end += static_cast<std::int64_t>(at);
    return m;
  }
  static constexpr int kPlaces = 16;  // beside the kinds of buffers

  /// What functions take their operands to be: what the record says, in memory apart from the results, which are
  /// contiguous.
  void library(const PlanInstr& i) const {
    require(i.function < plan_.library.size() && i.numInputs <= i.operands.size(), "a library call");
    std::vector<TensorMeta> metas;
    std::vector<Memory> memory;
    for (const PlanOperand& o : i.operands) {
      metas.push_back({o.shape, o.dtype, false, o.absent});
      memory.push_back(o.absent ? Memory{} : array(o));
      require(!o.absent || (o.shape.empty() && o.strides.empty()), "an operand that is absent has a shape");
    }
    const std::span<const TensorMeta> all(metas);
    TANDEM_CHECK(libraryCheck != nullptr, "the rules of library calls are not linked");
    bool updates = false;
    try {
      updates = libraryCheck(
          {plan_.library[i.function], all.first(i.numInputs), all.subspan(i.numInputs), i.attrs, i.scalars.size()});
    } catch (const NotImplementedError&) {
      throw;
    } catch (const Error& e) {
      bad(e.what());
    }
    for (std::size_t k = i.numInputs; k < i.operands.size(); ++k) {
      const PlanOperand& out = i.operands[k];
      require(isContiguous(out.shape, out.strides), "a result of `", plan_.library[i.function], "` has gaps");
      for (std::size_t j = 0; j < k; ++j) {
        if (i.operands[j].absent || !overlap(memory[j], memory[k])) continue;
        const bool itself = memory[j].bytes.first == memory[k].bytes.first && i.operands[j].strides == out.strides;
        require(updates && j == 0 && itself, "a result of `", plan_.library[i.function], "` lies in an operand");
      }
    }
  }

  [[nodiscard]] std::uint64_t alignment(const PlanBuffer& b) const {
    return b.kind == PlanBuffer::Kind::Input ? alignments_[b.index] : kAlignment;
  }

  /// What the kernel's arguments make it walk over must lie in its operands' buffers.
  void kernel(const PlanInstr& i) const {
    require(i.function < plan_.kernels.size(), "a kernel's number");
    const KernelSignature& s = plan_.kernels[i.function];
    require(s.kind == KernelKind::Row || s.kind == KernelKind::Column,
            "a kernel of partial results or of short rows in a plan");
    const ArgLayout layout(s);
    require(i.args.size() == layout.size() && i.operands.size() == layout.operands &&
                i.scalars.size() == layout.scalars,
            "a kernel's arguments");
    const std::vector<std::int64_t>& args = i.args;
    Bounded points(1);
    auto size = [&](std::size_t at) {
      // What has no elements is no instruction; a sum over none would have results.
      require(args[at] >= 1, "a kernel of no elements");
      points *= args[at];
      return args[at];
    };
    std::vector<std::int64_t> outer;
    for (int d = 0; d < layout.outerRank; ++d) outer.push_back(size(layout.outerSize(d)));
    const std::int64_t n = size(layout.innerSize());
    std::vector<std::int64_t> reduced;
    if (layout.column) reduced = reducedSizes(layout, args, size(layout.reducedSize()));
    require(points.get() <= static_cast<std::int64_t>(kMostBytes), "a kernel's sizes");
    std::size_t frames = 0;
    for (std::size_t k = 0; k < layout.operands; ++k) {
      const bool input = k < s.inputs.size();
      const KernelOperand operand = input ? s.inputs[k] : s.outputs[k - s.inputs.size()].operand;
      const PlanOperand& o = i.operands[k];
      require(!o.absent && o.dtype == operand.dtype, "the dtype of a kernel's operand");
      Reach reach;
      if (operand.access == Access::Framed) {
        const std::int64_t begin = args[layout.frame(frames)];
        const std::int64_t count = args[layout.frame(frames) + 1];
        const auto most = static_cast<std::int64_t>(kMostBytes);
        require(count >= 0 && count <= most && begin >= -most && begin <= most, "a frame");
        ++frames;
        // Elements are found by their place in the whole space, of which those in the frame are read.
        Reach space;
        for (int d = 0; d < layout.outerRank; ++d) space.along(outer[d], args[layout.outerStride(k, d)]);
        reach.along(count, 1);
      } else {
        for (int d = 0; d < layout.outerRank; ++d) reach.along(outer[d], args[layout.outerStride(k, d)]);
        const std::int64_t stride = operand.access == Access::Unit   ? 1
                                    : operand.access == Access::Zero ? 0
                                                                     : args[layout.innerStride(k)];
        reach.along(n, stride);
        for (std::size_t d = 0; d < reduced.size(); ++d)
          reach.along(reduced[d], args[layout.reducedStride(k, static_cast<int>(d))]);
      }
      const PlanBuffer& b = plan_.buffers[o.buffer];
      if (!i.strided || o.shape.empty()) {
        reach.within(o.byteOffset, b.bytes, o.dtype, "a kernel's operand", alignment(b));
        continue;
      }
      // The kernel reads contiguous memory, a piece at a time.
      bool contiguous = input && i.numInputs == s.inputs.size() && operand.access == Access::Unit && !layout.column &&
                        layout.outerRank > 0;
      std::int64_t step = n;
      for (int d = layout.outerRank; d-- > 0; step *= outer[static_cast<std::size_t>(d)])
        contiguous &= outer[static_cast<std::size_t>(d)] == 1 || args[layout.outerStride(k, d)] == step;
      require(contiguous && checkedNumel(o.shape) == points.get(), "a strided input of a kernel");
      static_cast<void>(array(o));
    }
  }

  /// Of each reduced dim how far a walk gets; `count` elements of them together.
  static std::vector<std::int64_t> reducedSizes(const ArgLayout& layout, const std::vector<std::int64_t>& args,
                                                std::int64_t count) {
    if (layout.reducedRank == 1) return {count};
    const std::int64_t first = args[layout.firstReduced()];
    require(first >= 0, "a kernel's first row is negative");
    std::vector<std::int64_t> sizes{0};
    Bounded below(1);
    for (int d = 1; d < layout.reducedRank; ++d) {
      const std::int64_t size = args[layout.reducedDim(d)];
      require(size >= 1, "a reduced dim is empty");
      sizes.push_back(size);
      below *= size;
    }
    Bounded end(first);
    end += count;
    sizes[0] = (end.get() + below.get() - 1) / below.get();
    return sizes;
  }

  const Plan& plan_;
  const EntryData& entry_;
  const std::vector<std::uint64_t>& alignments_;
};

// ---- the program

/// Text that other formats take: not empty, and of UTF-8's sequences (Unicode 15, table 3-7).
bool isName(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i++]);
    if (lead < 0x80) continue;
    if (lead < 0xC2 || lead > 0xF4) return false;
    const int more = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    for (int k = 0; k < more; ++k, ++i) {
      const unsigned char c = i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
      const unsigned char least = k > 0 ? 0x80 : lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
      const unsigned char most = k > 0 ? 0xBF : lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
      if (c < least || c > most) return false;
    }
  }
  return !text.empty();
}

class ProgramCheck {
 public:
  ProgramCheck(const ProgramData& data, std::uint64_t weightBytes) : data_(data), weightBytes_(weightBytes) {}

  void run() const {
    std::set<std::string> signatures;
    for (const KernelData& k : data_.kernels) {
      checkSignature(k.signature);
      require(signatures.insert(k.signature.bytes()).second, "a kernel is there twice");
      require(k.symbols.empty() || k.symbols.size() == data_.targets.size(), "a kernel's symbols");
    }
    std::set<std::string> texts;
    for (const SourceData& s : data_.sources) {
      require(s.symbols.size() == data_.targets.size(), "the symbols of a text");
      for (const std::string& symbol : s.symbols)
        require(symbol.empty() || texts.insert(symbol).second, "a text is there twice");
    }
    for (const MemoryData& m : data_.memories)
      require(m.offset <= weightBytes_ && m.bytes <= weightBytes_ - m.offset, "the memory `", m.name,
              "` lies outside the weights");
    apart();
    unique("tensors of the state", data_.state);
    for (const StateData& s : data_.state) {
      require(s.memory < data_.memories.size(), "the tensor `", s.name, "` is in no memory");
      const MemoryData& m = data_.memories[s.memory];
      checkArray(s.shape, s.strides, s.dtype, s.offset, m.bytes, "a tensor of the state", alignmentOf(m.offset));
    }
    unique("entries", data_.entries);
    for (const EntryData& e : data_.entries) {
      entry(e);
      sizes(e);
    }
  }

  /// Of fixed shapes.
  void entry(const EntryData& e) const {
    unique("arguments", e.arguments);
    std::vector<std::uint64_t> argumentBytes;
    for (const ArgumentData& a : e.arguments)
      argumentBytes.push_back(static_cast<std::uint64_t>(checkedNumel(a.shape)) * itemSize(a.dtype));
    std::uint64_t together = e.plan.arenaBytes;
    for (const std::uint64_t bytes : e.fresh) {
      require(bytes <= kMostBytes && together <= kMostBytes, "a result of ", bytes, " bytes");
      together += bytes;
    }
    auto bytesAt = [&](const PlaceData& p) -> std::uint64_t {
      switch (p.origin) {
      case PlaceData::Origin::Fresh:
        require(p.index < e.fresh.size(), "a place in no output");
        return e.fresh[p.index];
      case PlaceData::Origin::Argument:
        require(p.index < e.arguments.size(), "a place in no argument");
        return argumentBytes[p.index];
      case PlaceData::Origin::Memory:
        require(p.index < data_.memories.size(), "a place in no memory");
        return data_.memories[p.index].bytes;
      case PlaceData::Origin::Nothing:
        return 0;
      }
      return 0;
    };
    auto alignmentAt = [&](const PlaceData& p) {
      return alignmentOf(p.origin == PlaceData::Origin::Memory ? data_.memories[p.index].offset : 0);
    };
    std::vector<std::uint64_t> reachable;   // from each input on
    std::vector<std::uint64_t> alignments;  // of the inputs
    for (const PlaceData& p : e.inputs) {
      require(p.origin == PlaceData::Origin::Argument || p.origin == PlaceData::Origin::Memory, "an input's place");
      const std::uint64_t bytes = bytesAt(p);
      require(p.offset <= bytes, "an input's offset");
      reachable.push_back(bytes - p.offset);
      alignments.push_back(std::min(alignmentAt(p), alignmentOf(p.offset)));
    }
    PlanCheck(e.plan, e, alignments).run();
    const std::vector<bool> written = writtenBuffers(e.plan);
    for (std::size_t k = 0; k < e.plan.buffers.size(); ++k) {
      const PlanBuffer& b = e.plan.buffers[k];
      if (b.kind != PlanBuffer::Kind::Input) continue;
      require(b.bytes <= reachable[b.index], "an input of ", b.bytes, " bytes, of which ", reachable[b.index],
              " are there");
      const PlaceData& p = e.inputs[b.index];
      if (written[k])
        require(p.origin == PlaceData::Origin::Memory ? data_.memories[p.index].changes : e.arguments[p.index].changes,
                "the plan of `", e.name, "` writes to what does not change");
    }
    for (const ResultData& r : e.results) {
      const std::uint64_t bytes =
          bytesAt(r.place);  // which sees that the place is there, before its alignment is asked
      checkArray(r.shape, r.strides, r.dtype, r.place.offset, bytes, "a result", alignmentAt(r.place));
    }
  }

 private:
  /// Memories share no bytes, so that together they are no larger than the weights.
  void apart() const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> all;
    for (const MemoryData& m : data_.memories)
      if (m.bytes > 0) all.emplace_back(m.offset, m.bytes);
    std::ranges::sort(all);
    for (std::size_t k = 1; k < all.size(); ++k)
      require(all[k].first - all[k - 1].first >= all[k - 1].second, "two memories overlap");
  }

  template <class T>
  static void unique(const char* what, const std::vector<T>& all) {
    std::set<std::string_view> names;
    for (const T& one : all) {
      require(isName(one.name), "a name of its ", what, " is empty, or no UTF-8");
      require(names.insert(one.name).second, "two of its ", what, " are called `", one.name, "`");
    }
  }

  // ---- sizes

  static constexpr std::size_t kMostSizes = 8;
  static constexpr std::int64_t kMostSize = std::int64_t{1} << 31;
  static constexpr std::uint64_t kMostCombinations = std::uint64_t{1} << 31;

  /// That for each combination of sizes there is a form, and for each number of a form a value.
  static void sizes(const EntryData& e) {
    require(e.sizes.size() <= kMostSizes, "an entry of ", e.sizes.size(), " sizes");
    unique("sizes", e.sizes);
    std::uint64_t combined = 1;
    for (const SizeData& s : e.sizes) {
      require(s.least >= 0 && s.least <= s.example && s.example <= s.most && s.most <= kMostSize, "the size `", s.name,
              "`");
      combined *= static_cast<std::uint64_t>(s.most - s.least + 1);
      require(combined <= kMostCombinations, "its sizes have too many combinations");
    }
    sizedDims(e, e.bound, e.arguments);
    sizedDims(e, e.given, e.results);
    std::vector<bool> decided(e.sizes.size());
    for (const SizedDim& d : e.bound) {
      require(d.factor != 0, "the formula of a dim");
      decided[d.size] = true;
    }
    for (std::size_t i = 0; i < decided.size(); ++i)
      require(decided[i], "no argument says what `", e.sizes[i].name, "` is");
    std::uint64_t chosen = 0;
    for (const ChoiceData& c : e.choice) {
      require(c.form <= e.others.size(), "a form of an entry");
      chosen += c.count;
    }
    require(chosen == (e.sizes.empty() ? 0 : combined), "the forms of an entry");
    form(e, e);
    for (const EntryData& other : e.others) form(e, other);
  }

  static void sizedDims(const EntryData& e, const std::vector<SizedDim>& dims, const auto& tensors) {
    constexpr std::int64_t kMostAdd = std::int64_t{1} << 60;
    for (const SizedDim& d : dims) {
      require(d.size < e.sizes.size() && d.tensor < tensors.size() && d.dim < tensors[d.tensor].shape.size(),
              "a dim that follows from a size");
      require(d.factor >= -kMostSize && d.factor <= kMostSize && d.add >= -kMostAdd && d.add <= kMostAdd,
              "the formula of a dim");
      require(tensors[d.tensor].shape[d.dim] == d.factor * e.sizes[d.size].example + d.add,
              "a dim is not what its size says");
    }
  }

  static void form(const EntryData& e, const EntryData& form) {
    auto alike = [&](const auto& own, const auto& others, auto same) {
      require(std::ranges::equal(own, others, same), "a form of an entry takes or gives something else");
    };
    alike(e.arguments, form.arguments, [](const ArgumentData& a, const ArgumentData& b) {
      return a.name == b.name && a.dtype == b.dtype && a.shape.size() == b.shape.size() && a.changes == b.changes;
    });
    alike(e.numbers, form.numbers, [](const NumberData& a, const NumberData& b) {
      return a.name == b.name && a.freedom == b.freedom && a.value.kind == b.value.kind &&
             a.value.bits() == b.value.bits();
    });
    alike(e.results, form.results, [](const ResultData& a, const ResultData& b) {
      return a.name == b.name && a.dtype == b.dtype && a.shape.size() == b.shape.size();
    });
    require(form.firsts.size() == e.sizes.size(), "where a form's functions count from");
    for (std::size_t i = 0; i < e.sizes.size(); ++i)
      require(form.firsts[i] >= e.sizes[i].least && form.firsts[i] <= e.sizes[i].most, "a form's first size");
    for (const SizeFunction& f : form.functions) {
      require(!e.sizes.empty() && f.along.size() == e.sizes.size(), "a function of sizes");
      Bounded count(1);
      for (const SizeFunction::Along& a : f.along) {
        require(a.period >= 1 && a.degree <= 8, "a function of sizes");
        count *= a.period;
        count *= std::int64_t{a.degree} + 1;
      }
      require(f.coefficients.size() == static_cast<std::uint64_t>(count.get()), "a function has ",
              f.coefficients.size(), " coefficients of ", count.get());
    }
    std::uint32_t numbers = 0;
    forEachNumber(form, [&](const auto&) { ++numbers; });
    for (std::size_t k = 0; k < form.varying.size(); ++k) {
      const VaryingData& v = form.varying[k];
      require(v.position < numbers && v.function < form.functions.size() &&
                  (k == 0 || v.position > form.varying[k - 1].position),
              "a number that follows from sizes");
    }
  }

  const ProgramData& data_;
  std::uint64_t weightBytes_;
};

}  // namespace

void checkProgram(const ProgramData& data, std::uint64_t weightBytes) { ProgramCheck(data, weightBytes).run(); }
void checkEntry(const ProgramData& data, const EntryData& entry) { ProgramCheck(data, 0).entry(entry); }

std::vector<bool> writtenBuffers(const Plan& plan) {
  std::vector<bool> written(plan.buffers.size());
  for (const PlanInstr& i : plan.instrs)
    for (const PlanOperand& o : writtenBy(plan, i))
      if (!o.absent) written[o.buffer] = true;
  return written;
}

}  // namespace tandem::program
