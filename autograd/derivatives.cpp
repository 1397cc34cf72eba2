// The derivative functions of all operations, generated from their records.
#include <cmath>

#include "autograd/op_node.h"
#include "autograd/rule_context.h"
#include "autograd/rules/rules.h"
#include "eager/ops.h"

namespace tandem {
#include "autograd/derivatives.inc"
}  // namespace tandem
