// Saved tensors that outlive writes. Usually a write to what a derivative reads makes that derivative an error when it
// is asked for. Two kinds of code have the right to go on: forward mode, whose tangents are those at the time of each
// operation though they are computed later, and the in-place form of a composite, which reads its operand before it
// writes the result there. While either is at work on a thread, nodes made there are noted, and just before a storage
// is written, what they saved of it is copied: memory is taken where something is overwritten, nowhere else.
#pragma once

#include "autograd/op_node.h"

namespace tandem {

/// Nodes that this thread makes from now on are noted, until the matching end: `lasting` for as long as they live, else
/// until that end. Calls nest.
void beginKeepingSaved(bool lasting);
void endKeepingSaved(bool lasting);
/// Are nodes noted for as long as they live?
bool keepingSaved();

/// After `node` got its saved tensors, or another one in the place of one.
void noteSaved(OpNode& node);
/// Before what `node` saved is dropped.
void forgetSaved(OpNode& node);
/// Before the elements of `storage` change.
void keepSavedOf(const Storage* storage);

class KeepSaved {
 public:
  KeepSaved() { beginKeepingSaved(true); }
  ~KeepSaved() { endKeepingSaved(true); }
  KeepSaved(const KeepSaved&) = delete;
  KeepSaved& operator=(const KeepSaved&) = delete;
};

}  // namespace tandem
