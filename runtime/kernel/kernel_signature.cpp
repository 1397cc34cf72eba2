#include "runtime/kernel/kernel_signature.h"

#include <sstream>
#include <string_view>

#include "runtime/base/hash.h"
#include "runtime/kernel/kernel_symbol.h"

namespace tandem {

namespace {

std::string_view shortName(DType t) {
  constexpr std::string_view names[kNumDTypes] = {"bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"};
  return names[static_cast<int>(t)];
}
std::string_view accessName(Access a) {
  constexpr std::string_view names[] = {"unit", "strided", "zero", "framed"};
  return names[static_cast<int>(a)];
}

class ByteWriter {
 public:
  void u8(std::uint64_t v) { bytes += static_cast<char>(v); }
  void u16(std::uint64_t v) {
    u8(v & 0xff);
    u8(v >> 8);
  }
  std::string bytes;
};

// Counts come before what they count, so that no two signatures share their bytes.
template <class WriteOp>
std::string write(const KernelSignature& s, WriteOp writeOp) {
  ByteWriter w;
  w.bytes.reserve(16 + 2 * s.inputs.size() + s.scalars.size() + 24 * s.steps.size() + 4 * s.outputs.size());
  // In files and bytes a Row kernel of the trailing order, and one that reduces two dims.
  const bool isShort = s.kind == KernelKind::Short, leading = s.kind == KernelKind::Leading;
  w.u8(static_cast<std::uint8_t>(isShort || leading ? KernelKind::Row : s.kind));
  w.u8(s.outerRank);
  w.u8(leading ? 2 : s.reducedRank);
  w.u8((s.trailing || isShort ? 1 : 0) | (s.toMemory ? 2 : 0));
  w.u16(s.inputs.size());
  for (const KernelOperand& input : s.inputs) {
    w.u8(static_cast<std::uint8_t>(input.dtype));
    w.u8(static_cast<std::uint8_t>(input.access));
  }
  w.u16(s.scalars.size());
  for (DType scalar : s.scalars) w.u8(static_cast<std::uint8_t>(scalar));
  w.u16(s.steps.size());
  for (const KernelStep& step : s.steps) {
    writeOp(w, step.op);
    w.u8(static_cast<std::uint8_t>(step.dtype));
    w.u8(static_cast<std::uint8_t>(step.kind));
    w.u8(step.result);
    w.u16(step.operands.size());
    for (std::uint16_t operand : step.operands) w.u16(operand);
  }
  w.u16(s.outputs.size());
  for (const KernelOutput& output : s.outputs) {
    w.u8(static_cast<std::uint8_t>(output.operand.dtype));
    w.u8(static_cast<std::uint8_t>(output.operand.access));
    w.u16(output.value);
  }
  return std::move(w.bytes);
}

}  // namespace

std::string KernelSignature::bytes() const {
  return write(*this, [](ByteWriter& w, OpCode op) { w.u16(static_cast<std::uint16_t>(op)); });
}

// Files have these hashes: what is written, the numbers of the enumerations and the hash stay what they are.
std::string kernelSymbol(const KernelSignature& signature, std::string_view architecture) {
  const std::string named = write(signature, [](ByteWriter& w, OpCode op) {
    const std::string_view name = opName(op);
    w.u16(name.size());
    w.bytes += name;
  });
  return "k" + Hash128{}.add(named).add(architecture).hex();
}

std::string sourceSymbol(std::string_view text, std::string_view architecture) {
  return "s" + Hash128{}.add(text).add(architecture).hex();
}

std::string KernelSignature::text() const {
  std::ostringstream s;
  constexpr std::string_view kinds[] = {"row", "column", "partial", "short", "leading", "list"};
  if (trailing) s << "trailing ";
  if (toMemory) s << "to memory ";
  s << kinds[static_cast<int>(kind)] << static_cast<int>(outerRank);
  if (reducedRank != 1) s << " over " << static_cast<int>(reducedRank);
  s << '(';
  const char* separator = "";
  for (const KernelOperand& input : inputs) {
    s << separator << shortName(input.dtype) << ':' << accessName(input.access);
    separator = ", ";
  }
  for (DType scalar : scalars) {
    s << separator << shortName(scalar);
    separator = ", ";
  }
  s << ") {";
  std::size_t id = inputs.size() + scalars.size();
  separator = " ";
  for (const KernelStep& step : steps) {
    s << separator << 'v' << id++ << " = ";
    if (step.kind == KernelStep::Kind::Index) {
      s << "index";
    } else {
      if (step.kind == KernelStep::Kind::Reduce) s << "reduce ";
      s << opName(step.op);
      if (step.result != 0) s << '#' << static_cast<int>(step.result);
      s << ' ' << shortName(step.dtype);
    }
    for (std::uint16_t operand : step.operands) s << " v" << operand;
    separator = "; ";
  }
  s << " } ->";
  separator = " ";
  for (const KernelOutput& output : outputs) {
    s << separator << 'v' << output.value << ':' << shortName(output.operand.dtype) << ':'
      << accessName(output.operand.access);
    separator = ", ";
  }
  return s.str();
}

}  // namespace tandem
