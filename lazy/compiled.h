// A traced function: what one signature of a `@tandem.compile`d function became. `Tracer` (lazy/tracer.h) records a run
// of the function's body and makes it; `CompiledTrace::run` then does a call without Python.
//
//   inputs    where each input of the plan's memory is found at a call: an argument, a captured tensor, or the `.grad`
//             of one
//   made      the tensors that a call makes or hands on: fresh memory, windows on inputs, inputs themselves. Results,
//             `.grad` attributes and the tape name them by number, so that what was one tensor is one again
//   effects   in-place writes to inputs are done by the plan; `.grad` attributes that the body set are set again
//   history   when a result requires a gradient, the body's own tape nodes are made for each call (autograd/template.h)
//
// Captured tensors are not owned: whoever keeps the trace sees to it, by its guards, that they are there at a call.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "autograd/template.h"
#include "eager/generator.h"
#include "eager/tensor.h"
#include "lazy/call_numbers.h"
#include "lazy/placed.h"
#include "runtime/base/index_table.h"
#include "runtime/plan/plan.h"

namespace tandem::lazy {

/// A tensor that exists before a call: an argument, by number, or a captured one.
struct OuterTensor {
  std::int32_t argument = -1;
  TensorImpl* captured = nullptr;
  friend bool operator==(const OuterTensor&, const OuterTensor&) = default;
};

struct CompiledTrace {
  struct Source {
    OuterTensor outer;
    Ref<TensorImpl> constant;  // the trace's own memory
    bool grad = false;         // the `.grad` of that tensor
    bool whole = false;        // its storage from the start, else from the tensor's own offset
    std::int64_t shift = 0;    // and so many elements on
    std::size_t bytes = 0;     // of its memory that the plan may reach
    bool written = false;      // by the function
    std::uint32_t writes = 0;  // how far the version of the storage advances; not by writes through `.data`
    /// Of a tensor on the CPU that the plan reads on its device: the copies there.
    std::shared_ptr<Placed> placed;
    /// Of a captured tensor: its memory, which is compared and not owned. Null where a call brings its own.
    const Storage* memory = nullptr;
  };
  struct Fresh {
    std::size_t bytes = 0;
    std::uint32_t version = 0;
  };
  /// A tensor that a call makes, or hands on.
  struct Made {
    enum class Kind : std::uint8_t { Fresh, Input, Outer, Empty } kind = Kind::Fresh;
    std::uint32_t index = 0;  // of the fresh memory or the input; of what has no elements the version
    OuterTensor outer;
    Dims shape;
    Dims strides;
    std::int64_t offset = 0;  // from the start of the memory
    DType dtype = DType::Float32;
    bool requiresGrad = false;
    bool countsAlone = false;  // its writes, as what `.data` gives does
    bool inference = false;
    ViewOrigin origin = ViewOrigin::Plain;
    std::int32_t base = -1;  // the made tensor that it is a view of
    Ref<const BatchDims> batch;
  };
  struct SetGrad {
    OuterTensor outer;
    std::int32_t value = -1;  // among `made`; -1: none
    bool dropped = false;     // the body left one (Tracer::dropGrads)
  };
  struct GradGuard {
    OuterTensor outer;
    bool defined = false;
    DType dtype = DType::Float32;
    Dims shape, strides;
    bool requiresGrad = false;
    /// The input whose memory it lies in, where that is another tensor's, and how many elements behind that tensor.
    std::int32_t within = -1;
    std::int64_t shift = 0;
  };

  std::shared_ptr<Plan> plan;
  std::vector<Source> inputs;
  IndexTable<const void*> memories;  // those of the sources that have one
  std::vector<Fresh> fresh;
  std::vector<Made> made;             // bases before their views
  std::vector<std::int32_t> results;  // among `made`; -1: none
  bool writesInputs = false;          // any of them
  /// Arguments that `.data` made and the function writes to, and how far the version of each advances.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ownWrites;
  bool resultsAreMade = false;  // each of `made` in its order
  std::vector<SetGrad> grads;
  std::vector<GradGuard> gradGuards;
  std::vector<ScalarSlot> slots;  // of the trace
  /// Scalar arguments whose values the function asked for, and what they were.
  std::vector<std::pair<std::uint32_t, Scalar>> guardedScalars;
  /// Slots of numbers that a dtype had to hold, and the largest that it holds.
  CallNumbers::Bounds boundedScalars;
  CallNumbers numbers;
  /// The sizes that depend on data which it was traced for; a run that meets others throws SizeChanged.
  std::vector<std::int64_t> sizes;

  bool differentiable = false;
  TapeTemplate tape;
  std::vector<OuterTensor> tapeInputs;
  /// Tape inputs that a call makes itself, as by `x.detach().requires_grad_()`, and which of `made` they are.
  std::vector<std::pair<std::uint32_t, std::int32_t>> tapeLeaves;
  std::vector<Made> tapeSaved;            // as TapeTemplate::saved; inputs themselves by OuterTensor
  std::vector<std::int32_t> tapeOutputs;  // among `made`

  /// Leaves the generator as the function does.
  void advance(Generator& g) const;
  /// Do the `.grad` attributes look as they did when it was traced, and is no memory shared that was not?
  [[nodiscard]] bool fits(std::span<const Tensor> arguments) const;
  /// Calls `visit` with the tensor of every input of a call, constants left out.
  template <class F>
  void visitInputs(std::span<const Tensor> arguments, F&& visit) const {
    for (const auto& s : inputs)
      if (!s.constant) visit(inputOf(s, arguments));
  }
  /// Calls `visit` with every tensor whose `.grad` a call reads or sets.
  template <class F>
  void visitGrads(std::span<const Tensor> arguments, F&& visit) const {
    for (const auto& g : gradGuards) visit(tensorAt(g.outer, arguments));
    for (const auto& g : grads) visit(tensorAt(g.outer, arguments));
  }
  /// Calls `visit` with every captured tensor, once or more often.
  template <class F>
  void visitCaptured(F&& visit) const {
    auto one = [&](const OuterTensor& p) {
      if (p.captured != nullptr) visit(p.captured);
    };
    for (const auto& s : inputs) one(s.outer);
    for (const auto& m : made) one(m.outer);
    for (const auto& m : tapeSaved) one(m.outer);
    for (const auto& g : grads) one(g.outer);
    for (const auto& g : gradGuards) one(g.outer);
    for (const auto& p : tapeInputs) one(p);
  }
  /// Does a call write memory that two of its inputs look at by storages of their own, as two that NumPy's array was
  /// given to? The plan takes their elements for different ones.
  [[nodiscard]] bool writesForeign(std::span<const Tensor> arguments) const;
  /// One call. `scalars` are the run-time scalar arguments. Results in the order they were returned.
  [[nodiscard]] std::vector<Tensor> run(std::span<const Tensor> arguments, std::span<const Scalar> scalars) const;

  /// The tensor that `p` is in a call.
  static TensorImpl* tensorAt(const OuterTensor& p, std::span<const Tensor> arguments) {
    return p.argument >= 0 ? arguments[static_cast<std::size_t>(p.argument)].impl() : p.captured;
  }
  /// The tensor that a call finds for an input that is no constant.
  static TensorImpl* inputOf(const Source& s, std::span<const Tensor> arguments);
};

}  // namespace tandem::lazy
