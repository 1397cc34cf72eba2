// The number of an operation. Opaque in the runtime; the enumerators are generated from the records
// (ir/schema/op_code.h), which the runtime does not know. Numbers change when an operation is added; names do not, so
// that what is written to files has those.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tandem {

enum class OpCode : std::uint16_t;
std::string_view opName(OpCode op);
/// Nothing where no operation has the name.
std::optional<OpCode> opNamed(std::string_view name);

}  // namespace tandem
