#include "codegen/cuda/kernel_text.h"

#include <algorithm>
#include <span>
#include <utility>

#include "codegen/cuda/bodies.h"
#include "runtime/base/error.h"
#include "runtime/device/cuda/kept_rows.h"
#include "runtime/device/cuda/launch_shape.h"

namespace tandem::codegen::cuda {

namespace {

/// Elements of a thread at once: 16 bytes of the widest operand, this many at least.
constexpr int kLeastWidth = 4;
/// Bodies of more statements than this, and of more for a byte that is read or written, are written for one element:
/// they do not wait for memory, and unrolled they would cost more to compile, and more registers.
constexpr std::size_t kDearBody = 130;
constexpr std::size_t kDearByte = 4;
constexpr std::size_t kMostUnrolled = 500;
/// Bytes of all elements that a thread has read, or is to write: 48 registers.
constexpr std::size_t kMostHeld = 192;

/// What an element is in memory: half types their bits, bool a byte.
const char* typeInMemory(DType t) {
  if (t == DType::Bool) return "unsigned char";
  return isHalf(t) ? "unsigned short" : cudaType(t);
}

}  // namespace

namespace {

/// Of more operands than these the first bounds are not worth trying: each has an address, and elements on their way.
constexpr std::size_t kSeveral = 5;
constexpr std::size_t kMany = 12;
/// The bounds to try of a function, most blocks first.
std::span<const int> bounds(const KernelSignature& s, Entry entry) {
  // Of a brief row a lane holds eight elements of each input.
  const auto moving =
      std::ranges::count_if(s.inputs, [](const KernelOperand& input) { return input.access != Access::Zero; });
  static constexpr int kElements[] = {8, 5, 1};
  static constexpr int kOfSeveral[] = {5, 1};
  static constexpr int kRows[] = {2, 1};
  static constexpr int kLists[] = {5, 4, 1};
  static constexpr int kBrief[] = {5, 3, 1};
  static constexpr int kOne[] = {1};
  if (entry == Entry::Brief) return std::span<const int>(kBrief).subspan(moving > 4 ? 2 : moving > 2 ? 1 : 0);
  if (s.kind == KernelKind::Column || s.kind == KernelKind::Short) return kOne;
  if (s.kind == KernelKind::List) return kLists;
  if (tandem::cuda::isByRows(s)) return moving > 4 ? std::span<const int>(kOne) : kRows;
  const std::size_t operands = s.inputs.size() + s.outputs.size();
  if (operands > kMany) return kOne;
  return operands > kSeveral ? std::span<const int>(kOfSeveral) : kElements;
}

unsigned threadsOf(const KernelSignature& s, Entry entry) {
  return entry == Entry::Brief ? 32 * tandem::cuda::kBriefRows : tandem::cuda::mostThreads(s);
}

}  // namespace

std::string entryName(const std::string& symbol, Entry entry) {
  return entry == Entry::Brief ? symbol + tandem::cuda::kBriefSuffix : symbol;
}

bool Tries::next(const KernelSignature& signature, Entry entry) {
  std::size_t& at = of[static_cast<std::size_t>(entry)];
  if (at + 1 == bounds(signature, entry).size()) return false;
  ++at;
  return true;
}

Tries Tries::last(const KernelSignature& signature) {
  Tries tries;
  for (const Entry entry : {Entry::Whole, Entry::Brief})
    tries.of[static_cast<std::size_t>(entry)] = bounds(signature, entry).size() - 1;
  return tries;
}

std::string kernelText(const KernelSignature& signature, const std::string& symbol, const Tries& tries) {
  KernelText kernel(signature, symbol, tries);
  switch (signature.kind) {
  case KernelKind::Row:
  case KernelKind::Partial:
  case KernelKind::List:
    tandem::cuda::isByRows(signature) ? writeRowLoops(kernel) : writeElementLoops(kernel);
    break;
  case KernelKind::Column:
    writeColumnLoops(kernel);
    break;
  case KernelKind::Short:
    writeAcrossLoops(kernel);
    break;
  case KernelKind::Leading:
    fail<InternalError>("a kernel of the CPU: ", signature.text());
  }
  return kernel.finish();
}

std::vector<Running> reductionsOf(const KernelText& kernel, int stage) {
  std::vector<Running> running;
  for (const std::size_t id : kernel.schedule.reductions(stage)) {
    const KernelStep& step = kernel.signature.steps[id - kernel.schedule.firstStep()];
    running.push_back({id, step.operands[0], {combinerOf(step.op), step.dtype}});
  }
  return running;
}

void finish(KernelText& kernel, const std::vector<Running>& running) {
  for (const Running& r : running) kernel.setValue(r.id, r.combiner.leave(kernel.b, {r.total, r.combiner.type()}));
}

Text identity(TextBuilder& b, const Combiner& combiner) {
  if (combiner.isIntegral()) return b.intConstant(combiner.type(), combiner.identityBits());
  return b.constant(combiner.type(), combiner.identityValue());
}

Text ofNothing(TextBuilder& b, const Combiner& combiner) {
  return combiner.isIntegral() ? identity(b, combiner) : b.constant(combiner.type(), combiner.valueOfNothing());
}

void halveLanes(TextBuilder& b, const Combiner& combiner, int lanes, const std::string& memory, int width,
                const std::string& from, const std::string& to) {
  const char* type = cudaType(combiner.type());
  b.open("");
  b.statement(strcat(type, "(*const at)[", width, "] = (", type, "(*)[", width, "])", memory));
  b.statement(strcat("at[lane][threadIdx.x] = ", from));
  b.statement("__syncthreads()");
  b.line("#pragma unroll");
  b.open(strcat("for (int h = ", lanes / 2, "; h > 0; h /= 2)"));
  b.open("if (lane < h)");
  const Text mine = b.let(combiner.type(), "at[lane][threadIdx.x]");
  const Text other = b.let(combiner.type(), "at[lane + h][threadIdx.x]");
  b.statement("at[lane][threadIdx.x] = " + combiner.combine(b, mine, other).code);
  b.close();
  b.statement("__syncthreads()");
  b.close();
  b.statement(to + " = at[0][threadIdx.x]");
  b.statement("__syncthreads()");
  b.close();
}

KernelText::KernelText(const KernelSignature& signature, std::string symbol, const Tries& tries)
    : signature(signature), schedule(signature), layout(signature), symbol_(std::move(symbol)), tries_(tries),
      bases_(layout.operands), frames_(signature.inputs.size()), carried_(schedule.numValues()),
      values_(schedule.numValues()) {
  b.line("// " + signature.text());
  const std::size_t size = signature.kind == KernelKind::List ? ListLayout::kSize : layout.size();
  b.statement(strcat("struct Args { long long at[", std::max<std::size_t>(size, 1), "]; }"));
  openFunction(Entry::Whole);
}

void KernelText::openFunction(Entry entry) {
  b.open(strcat("extern \"C\" __global__ void __launch_bounds__(", threadsOf(signature, entry), ", ",
                bounds(signature, entry)[tries_.of[static_cast<std::size_t>(entry)]], ") ", entryName(symbol_, entry),
                "(const __grid_constant__ Args args, long long begin, long long end)"));
  if (signature.kind == KernelKind::List) {
    enterEntry();
    return;
  }
  for (std::size_t k = 0; k < layout.operands; ++k) readPointer(k, argument(layout.pointer(k)));
  b.statement("const long long n = " + argument(layout.innerSize()));
  for (std::size_t j = 0; j < layout.scalars; ++j) readScalar(j, layout.scalar(j));
  computeConstants();
}

void KernelText::nextFunction(Entry entry) {
  b.close();
  openFunction(entry);
}

void KernelText::enterEntry() {
  const ListLayout list(signature);
  TANDEM_CHECK(signature.outerRank <= 1, "a list of several rows each: ", signature.text());
  for (std::size_t j = 0; j < list.scalars; ++j) readScalar(j, j);
  computeConstants();
  b.open("for (long long entry = begin + blockIdx.y; entry < end; entry += gridDim.y)");
  b.statement(strcat("const int own = ", list.entry(0), " + (int)entry * ", list.perEntry));
  b.statement("const long long n = args.at[own]");
  b.statement(strcat("const long long begin = 0, end = ", signature.outerRank == 0 ? "n" : "1"));
  for (std::size_t k = 0; k < layout.operands; ++k) readPointer(k, strcat("args.at[own + ", 1 + k, "]"));
}

void KernelText::readPointer(std::size_t k, const std::string& from) {
  const bool input = k < signature.inputs.size();
  if (input && !schedule.value(k).needed) return;
  const std::string type = strcat(input ? "const " : "", memoryType(k), "*");
  b.statement(strcat(type, " const ", name(k), " = (", type, ")", from));
}

void KernelText::readScalar(std::size_t j, std::size_t at) {
  const DType t = signature.scalars[j];
  const std::string bits = argument(at);
  values_[signature.inputs.size() + j] = {t == DType::Int64 ? bits : "__longlong_as_double(" + bits + ")", t, true};
}

std::string KernelText::finish() {
  if (signature.kind == KernelKind::List) b.close();
  b.close();
  return b.text();
}

const KernelOperand& KernelText::operand(std::size_t k) const {
  const std::size_t inputs = signature.inputs.size();
  return k < inputs ? signature.inputs[k] : signature.outputs[k - inputs].operand;
}

std::string KernelText::name(std::size_t k) const {
  const std::size_t inputs = signature.inputs.size();
  return k < inputs ? "in" + std::to_string(k) : "out" + std::to_string(k - inputs);
}

KernelText::Names KernelText::splitOuter(const std::string& linear) {
  Names indices(static_cast<std::size_t>(layout.outerRank));
  std::string rest = linear;
  for (int d = layout.outerRank; d-- > 0;) {
    if (d == 0) {
      indices[0] = rest;
      break;
    }
    const std::string size = argument(layout.outerSize(d));
    const std::string quotient = b.number(this->quotient(rest, size));
    indices[static_cast<std::size_t>(d)] = b.number(strcat(rest, " - ", quotient, " * ", size));
    rest = quotient;
  }
  return indices;
}

std::string KernelText::offset(std::size_t k, const Names& outer, const std::string& reduced) {
  if (signature.kind == KernelKind::List) return {};  // one row
  std::string sum;
  auto move = [&](const std::string& index, const std::string& stride) {
    sum += strcat(sum.empty() ? "" : " + ", index, " * ", stride);
  };
  for (int d = 0; d < static_cast<int>(outer.size()); ++d)
    move(outer[static_cast<std::size_t>(d)], argument(layout.outerStride(k, d)));
  if (layout.column && !reduced.empty()) {
    std::string rest = reduced;
    if (layout.reducedRank > 1) rest = b.number(strcat(reduced, " + ", argument(layout.firstReduced())));
    for (int d = layout.reducedRank; d-- > 1;) {
      const std::string size = argument(layout.reducedDim(d));
      const std::string quotient = b.number(this->quotient(rest, size));
      move(strcat("(", rest, " - ", quotient, " * ", size, ")"), argument(layout.reducedStride(k, d)));
      rest = quotient;
    }
    move(rest, argument(layout.reducedStride(k)));
  }
  return sum;
}

void KernelText::enterRow(const Names& outer, const std::string& reduced) {
  carried_.assign(carried_.size(), "");
  std::size_t frames = 0;
  for (std::size_t k = 0; k < signature.inputs.size(); ++k) {
    const bool framed = isFramed(k);
    const std::size_t frame = layout.frame(framed ? frames++ : 0);
    if (!schedule.value(k).needed) continue;
    const std::string at = offset(k, outer, reduced);
    if (framed) {
      const std::string behind = offset(k + 1, outer, reduced);
      const std::string elsewhere = b.fresh("elsewhere");
      b.statement(
          strcat("const ", memoryType(k), " ", elsewhere, " = ", name(k + 1), "[", behind.empty() ? "0" : behind, "]"));
      frames_[k] = {b.number(strcat(at.empty() ? "0" : at, " - ", argument(frame))), argument(frame + 1), elsewhere};
      continue;
    }
    bases_[k] = name(k);
    if (!at.empty()) {
      bases_[k] = b.fresh("row");
      b.statement(strcat("const ", memoryType(k), "* const ", bases_[k], " = ", name(k), " + ", at));
    }
    if (operand(k).access == Access::Zero) values_[k] = fromMemory(bases_[k] + "[0]", operand(k).dtype, true);
  }
  if (!layout.column) enterOutputs(outer);
}

void KernelText::enterOutputs(const Names& outer) {
  for (std::size_t k = signature.inputs.size(); k < layout.operands; ++k) bases_[k] = rowOf(k, outer);
}

const char* KernelText::memoryType(std::size_t k) const { return typeInMemory(operand(k).dtype); }

std::string KernelText::rowOf(std::size_t k, const Names& outer) {
  const std::string at = offset(k, outer, "");
  if (at.empty()) return name(k);
  std::string row = b.fresh("row");
  const char* const only = k < signature.inputs.size() ? "const " : "";
  b.statement(strcat(only, memoryType(k), "* const ", row, " = ", name(k), " + ", at));
  return row;
}

Text KernelText::fromMemory(const std::string& memory, DType t, bool uniform) {
  if (t == DType::Bool) return b.let(t, memory + " != 0", uniform);
  if (!isHalf(t)) return b.let(t, memory, uniform);
  return b.let(DType::Float32, strcat(t == DType::Float16 ? "halfValue(" : "bfloatValue(", memory, ")"), uniform);
}

/// The value of output `o` as memory has it. Bits of a half type round, which changes no value that is one already.
std::string KernelText::toMemory(std::size_t o) {
  const KernelOutput& output = signature.outputs[o];
  const Text& value = values_[output.value];
  const DType to = output.operand.dtype;
  const DType from = schedule.value(output.value).dtype;
  TANDEM_CHECK(from == to || (isHalf(to) && from == DType::Float32) || (to == DType::UInt8 && from == DType::Bool),
               "output ", o, " stores ", dtypeName(from), " as ", dtypeName(to), " in ", signature.text());
  if (isHalf(to)) return strcat(to == DType::Float16 ? "halfBits(" : "bfloatBits(", value.code, ")");
  return value.code;
}

std::string KernelText::place(std::size_t k, const std::string& i) const {
  switch (operand(k).access) {
  case Access::Unit:
    return strcat(bases_[k], "[", i, "]");
  case Access::Strided:
    return strcat(bases_[k], "[", i, " * ", argument(layout.innerStride(k)), "]");
  default:
    return bases_[k] + "[0]";
  }
}

// A framed input at inner index i, as memory has it: its own element, or the one that stands for all others.
std::string KernelText::framedElement(std::size_t k, const std::string& i) {
  const Frame& frame = frames_[k];
  const std::string at = b.number(strcat(frame.place, " + ", i));
  return strcat(at, " >= 0 && ", at, " < ", frame.count, " ? ", name(k), "[", at, "] : ", frame.elsewhere);
}

Text KernelText::computeStep(std::size_t id) {
  const KernelStep& step = signature.steps[id - schedule.firstStep()];
  if (step.kind == KernelStep::Kind::Index) return b.index();
  std::vector<Text> operands;
  for (std::uint16_t operand : step.operands) operands.push_back(values_[operand]);
  const Text result = emitOperation(b, step.op, step.result, step.dtype, operands);
  TANDEM_CHECK(result.type == computeType(step.dtype), "step v", id, " computes ", dtypeName(result.type),
               ", its dtype is ", dtypeName(step.dtype), " in ", signature.text());
  return isHalf(step.dtype) ? b.roundToHalf(result, step.dtype) : result;
}

void KernelText::computeUniform(int stage) {
  b.setIndex("");
  for (std::size_t id = schedule.firstStep(); id < schedule.numValues(); ++id) {
    const ValueFacts& facts = schedule.value(id);
    if (!facts.needed || facts.constant || !facts.uniform || facts.stage != stage || schedule.isReduce(id)) continue;
    values_[id] = computeStep(id);
  }
}

void KernelText::computeConstants() {
  for (std::size_t id = schedule.firstStep(); id < schedule.numValues(); ++id) {
    if (schedule.value(id).needed && schedule.value(id).constant) values_[id] = computeStep(id);
  }
}

const char* KernelText::typeThere(std::size_t id) const {
  return id < signature.inputs.size() ? memoryType(id) : cudaType(computeType(schedule.value(id).dtype));
}

std::string KernelText::elementThere(std::size_t id, const std::string& i) {
  if (id >= signature.inputs.size()) return strcat(carried_[id], "[", i, "]");
  return isFramed(id) ? "(" + framedElement(id, i) + ")" : place(id, i);
}

Text KernelText::valueOf(std::size_t id, const std::string& element) {
  if (id < signature.inputs.size()) return fromMemory(element, operand(id).dtype);
  return b.let(computeType(schedule.value(id).dtype), element);
}

void KernelText::computeAt(const std::string& i, const std::vector<std::size_t>& ids, const Arrays& arrays,
                           const std::string& at) {
  b.setIndex(indexBase_.empty() ? i : strcat("(", indexBase_, " + ", i, ")"));
  for (std::size_t id : ids) {
    if (schedule.isReduce(id)) continue;  // set by the loops
    if (!isRead(id))
      values_[id] = computeStep(id);
    else
      values_[id] = valueOf(id, arrays.empty() ? elementThere(id, i) : strcat(arrays[id], "[", at, "]"));
  }
}

KernelText::Arrays KernelText::declareArrays(const std::vector<std::size_t>& ids, int each) {
  Arrays arrays(values_.size());
  for (std::size_t id : ids) {
    if (!isRead(id)) continue;
    arrays[id] = b.fresh("x");
    b.statement(strcat(typeThere(id), " ", arrays[id], "[", each, "]"));
  }
  return arrays;
}

void KernelText::readInto(const Arrays& arrays, const std::vector<std::size_t>& ids, const std::string& at,
                          const std::string& i) {
  for (std::size_t id : ids)
    if (isRead(id)) b.statement(strcat(arrays[id], "[", at, "] = ", elementThere(id, i)));
}

void KernelText::storeOutput(std::size_t o, const std::string& i) {
  b.statement(strcat(place(signature.inputs.size() + o, i), " = ", toMemory(o)));
}

void KernelText::carryIn(std::size_t id, std::string row) { carried_[id] = std::move(row); }

std::vector<std::size_t> KernelText::behind(const std::vector<std::size_t>& targets) const {
  std::vector<std::size_t> known;
  for (std::size_t id = schedule.firstStep(); id < carried_.size(); ++id)
    if (!carried_[id].empty()) known.push_back(id);
  std::vector<std::size_t> ids = schedule.varyingBehind(targets, known);
  std::erase_if(known, [&](std::size_t id) {
    const auto starts = [&](std::size_t from) {
      return !isRead(from) && std::ranges::find(signature.steps[from - schedule.firstStep()].operands, id) !=
                                  signature.steps[from - schedule.firstStep()].operands.end();
    };
    return std::ranges::find(targets, id) == targets.end() && std::ranges::none_of(ids, starts);
  });
  ids.insert(ids.end(), known.begin(), known.end());
  std::ranges::sort(ids);
  return ids;
}

std::vector<std::size_t> KernelText::behind(const std::vector<Place>& places) const {
  std::vector<std::size_t> targets;
  for (const Place& place : places) targets.push_back(place.value);
  return behind(targets);
}

std::vector<KernelText::Place> KernelText::placesOf(const std::vector<std::size_t>& outputs) const {
  std::vector<Place> places;
  for (std::size_t o : outputs) {
    const std::size_t k = signature.inputs.size() + o;
    places.push_back({signature.outputs[o].value, memoryType(k), bases_[k], o});
  }
  return places;
}

int KernelText::widthOf(const std::vector<Place>& places) {
  const std::vector<std::size_t> ids = behind(places);
  std::size_t widest = 1;
  std::size_t read = 0;
  std::size_t written = 0;
  bool whole = true;
  auto take = [&](std::size_t bytes, std::size_t& of) {
    widest = std::max(widest, bytes);
    of += bytes;
  };
  auto takeOperand = [&](std::size_t k, std::size_t& of) {
    take(itemSize(operand(k).dtype), of);
    whole = whole && (isUnit(k) || isFramed(k));
  };
  for (std::size_t id : ids) {
    if (id < signature.inputs.size())
      takeOperand(id, read);
    else if (isRead(id))
      take(itemSize(computeType(schedule.value(id).dtype)), read);
  }
  for (const Place& place : places) {
    if (place.output)
      takeOperand(signature.inputs.size() + *place.output, written);
    else
      take(itemSize(computeType(schedule.value(place.value).dtype)), written);
  }
  // Neighbouring threads should touch neighbouring elements of memory that is not contiguous.
  if (!whole) return 1;
  const std::size_t cost = this->cost(ids);
  if (cost > std::max(kDearBody, kDearByte * (read + written))) return 1;
  int width = std::max(static_cast<int>(16 / widest), kLeastWidth);
  while (width > kLeastWidth && cost * static_cast<std::size_t>(width) > kMostUnrolled) width /= 2;
  while (width > 1 && std::max(read, written) * static_cast<std::size_t>(width) > kMostHeld) width /= 2;
  return width;
}

bool KernelText::readsWide(const std::vector<std::size_t>& ids) const {
  return std::ranges::any_of(
      ids, [&](std::size_t id) { return id < signature.inputs.size() && itemSize(operand(id).dtype) >= 4; });
}

// Written for nothing but to be counted.
std::size_t KernelText::cost(const std::vector<std::size_t>& ids) {
  const TextBuilder before = b;
  const std::vector<Text> values = values_;
  computeAt("i", ids);
  const std::size_t count = b.statements() - before.statements();
  b = before;
  values_ = values;
  return count;
}

void KernelText::computeInto(const std::vector<Place>& places, const std::string& i, const std::string& count,
                             int width) {
  const std::vector<std::size_t> ids = behind(places);
  auto inMemory = [&](const Place& place) {
    return place.output ? toMemory(*place.output) : values_[place.value].code;
  };
  if (width == 1) {
    computeAt(i, ids);
    for (const Place& place : places) {
      if (place.output)
        storeOutput(*place.output, i);
      else
        b.statement(strcat(place.row, "[", i, "] = ", values_[place.value].code));
    }
    return;
  }
  // Through arrays in registers: all loads before the body, all stores behind it.
  std::string whole = strcat(count, " == ", width);
  auto row = [&](std::size_t id) { return id < signature.inputs.size() ? bases_[id] : carried_[id]; };
  auto demand = [&](const std::string& row) { whole += strcat(" && aligned<", width, ">(", row, ")"); };
  for (std::size_t id : ids)
    if (isRead(id) && !isFramed(id)) demand(row(id));
  for (const Place& place : places) demand(place.row);
  const std::string isWhole = b.fresh("whole");
  b.statement(strcat("const bool ", isWhole, " = ", whole));
  const Arrays arrays = declareArrays(ids, width);
  for (std::size_t id : ids) {
    if (!isRead(id)) continue;
    if (isFramed(id)) {
      const Frame& frame = frames_[id];
      b.statement(strcat("loadFramed<", width, ">(", arrays[id], ", ", name(id), ", ", frame.place, " + ", i, ", ",
                         frame.count, ", ", frame.elsewhere, ")"));
    } else {
      b.statement(strcat("load<", width, ">(", arrays[id], ", ", row(id), " + ", i, ", ", count, ", ", isWhole, ")"));
    }
  }
  Names written(places.size());
  for (std::size_t j = 0; j < places.size(); ++j) {
    written[j] = b.fresh("y");
    b.statement(strcat(places[j].type, " ", written[j], "[", width, "]"));
  }
  b.line("#pragma unroll");
  b.open(strcat("for (int e = 0; e < ", width, "; ++e)"));
  computeAt(strcat("(", i, " + e)"), ids, arrays, "e");
  for (std::size_t j = 0; j < places.size(); ++j) b.statement(strcat(written[j], "[e] = ", inMemory(places[j])));
  b.close();
  for (std::size_t j = 0; j < places.size(); ++j)
    b.statement(
        strcat("store<", width, ">(", written[j], ", ", places[j].row, " + ", i, ", ", count, ", ", isWhole, ")"));
}

}  // namespace tandem::codegen::cuda
