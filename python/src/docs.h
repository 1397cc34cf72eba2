// The docstrings of names that are bound by hand, from ir/ops/by_hand_*.td: `doc::method_item`. Those of functions and
// methods begin with the signature, in the form that Python reads it from.
#pragma once

namespace tandem::python::doc {

#include "python/docs_by_hand.inc"

}  // namespace tandem::python::doc
