// The number of an operation. Opaque in the runtime; the enumerators are generated from the records
// (ir/schema/op_code.h), which the runtime does not know.
#pragma once

#include <cstdint>

namespace tandem {
enum class OpCode : std::uint16_t;
}  // namespace tandem
