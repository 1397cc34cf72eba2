// The history of a traced function, as a form that each call fills in: how a compiled function keeps its own tape.
//
//   extractTemplate   once, after tracing: walks from the outputs' histories to the inputs' and writes down the nodes
//   instantiate       at each call: makes the nodes, with contiguous sequence numbers, and gives the outputs their
//                     history. So the engine meets a compiled call exactly as it would meet the eager one
//
// Flat arrays, one entry after another in node order, so that a call walks each once.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "autograd/function.h"
#include "autograd/op_node.h"
#include "autograd/recomputed.h"

namespace tandem {

struct TapeTemplate {
  /// Where a gradient goes, or where an output's history is.
  struct Target {
    /// Fixed: a node whose saved tensors were released while tracing. Whoever runs it gets the error that eager gives,
    /// so every call leads to the traced one.
    enum class Kind : std::uint8_t { None, Node, Input, Fixed } kind = Kind::None;
    std::uint32_t index = 0;   // of the node, of the input, or among `fixed`
    std::uint32_t result = 0;  // of the node
  };
  struct Prototype {
    OpCode op{};
    OpNode::Layout layout;
    std::int32_t function = -1;  // a user's Function: its place in `functions`
  };
  /// Edges as those of operations; behind the references to its saved tensors stand those to attributes of its context.
  struct Function {
    FunctionCall call;
    std::uint32_t edges = 0;
    std::uint32_t saved = 0;
    std::uint32_t attributes = 0;
  };
  /// Hooks that the body registered on results of a node, or on the node.
  struct Hooks {
    std::uint32_t node = 0;
    std::vector<HookList<TensorHook>> tensorHooks;
    HookList<NodeHook> preHooks;
    HookList<NodePostHook> postHooks;
  };
  struct SavedRef {
    static constexpr std::uint32_t kNothing = ~0U;
    std::uint32_t id = 0;  // index into `saved`; kNothing where no tensor was saved
    SavedTensor::Kind kind = SavedTensor::Kind::Operand;
    std::uint16_t index = 0;
  };
  /// A tensor that the derivatives need: distinct by storage, window and version.
  struct Saved {
    /// As it was traced. For the caller to find the value by; may be dropped afterwards.
    Tensor traced;
    /// It is this input itself; -1: a value computed inside, or another window of an input.
    std::int32_t input = -1;
    /// Writes to its storage between the save and the end of the trace: more than 0 makes the backward complain.
    std::uint32_t writtenSince = 0;
    /// The backward makes it again: the number of a value of `recipe`. -1: it is kept.
    std::int32_t again = -1;
  };

  std::vector<Prototype> nodes;  // by increasing sequence
  bool large = false;            // large enough for its backward to run fused
  std::vector<Target> edges;
  std::vector<ResultMeta> results;
  std::vector<SavedRef> savedRefs;
  std::vector<OpNode::OperandSlot> operands;
  std::vector<ResultMeta> metas;
  std::vector<std::int64_t> attrs;
  std::vector<std::string> lines;  // by node; empty outside anomaly mode
  std::vector<Saved> saved;
  std::shared_ptr<const Recipe> recipe;  // null where all that is saved is kept
  std::vector<std::uint32_t> kept;       // among `saved`: what the recipe makes others of
  std::vector<std::int32_t> numbers;     // the slots that it reads
  std::vector<Ref<Node>> traced;         // by node, as it was traced; may be dropped
  std::vector<Target> outputs;
  std::vector<bool> retained;  // by output: its gradient is kept
  std::vector<Ref<Node>> fixed;
  std::vector<Function> functions;
  std::vector<Hooks> hooks;
};

/// `inputs`: the traced inputs, and `inputEdges` their gradient edges as they were before the function ran (an input
/// may be written). `firstSequence`: taken before it ran; a node older than that came from outside. False, with the
/// reason, where the history cannot be rebuilt: it reaches a tensor that is no input.
bool extractTemplate(std::span<const Tensor> outputs, std::span<const Tensor> inputs, std::span<const Edge> inputEdges,
                     std::uint64_t firstSequence, TapeTemplate& out, std::string& reason);

/// `inputs` and `outputs` of one call, in the template's order; `inputEdges` as above; `saved[i]` the tensor for
/// `t.saved[i]`: the input itself where it is one, none where it is made again, else a tensor without history of its
/// own (for several entries of one storage, windows of one storage), whose storage's version counts the writes of the
/// call. `slots` are the values of run-time scalars. Outputs without a history are left alone.
void instantiate(const TapeTemplate& t, std::span<const Edge> inputEdges, std::span<const Tensor> saved,
                 std::span<const Scalar> slots, std::span<const Tensor> outputs);

/// Has the traced nodes make again what the template says, of what is kept for it: those of the call that was traced.
void keepLess(TapeTemplate& t, std::span<const Scalar> slots);

}  // namespace tandem
