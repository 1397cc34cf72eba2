// A traced function: what one signature of a `@tandem.compile`d function became. `Tracer` records the function's body
// once and makes it; `CompiledTrace::run` then does a call without Python.
//
//   inputs    where each input of the plan's memory is found at a call: an argument, a captured tensor, or the `.grad`
//             of one
//   results   what the function returned, each as a fresh memory, a window on an input, or an argument itself
//   effects   in-place writes to inputs are done by the plan; `.grad` slots that the body set are set again
//   history   when a result requires a gradient, the body's own tape nodes are made for each call (autograd/template.h)
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "autograd/meta.h"
#include "autograd/template.h"
#include "lazy/session.h"

namespace tandem::lazy {

/// A tensor that exists before a call: argument `index`, or a captured one.
struct Place {
  std::int32_t argument = -1;
  Ref<TensorImpl> captured;
};

struct CompiledTrace {
  struct Source {
    Place place;
    bool grad = false;         // the `.grad` of that tensor
    bool whole = false;        // its storage from the start, else from the tensor's own offset
    std::uint32_t writes = 0;  // by the function, to the storage: how far its version advances
  };
  struct Fresh {
    std::size_t bytes = 0;
    std::uint32_t version = 0;
  };
  /// A tensor made by a call.
  struct Made {
    enum class Kind : std::uint8_t { None, Fresh, Input, Argument, Captured } kind = Kind::None;
    std::uint32_t index = 0;  // of the fresh memory, the input or the argument
    Ref<TensorImpl> captured;
    Dims shape;
    Dims strides;
    std::int64_t offset = 0;  // from the start of the memory
    DType dtype = DType::Float32;
    bool requiresGrad = false;
    Ref<const BatchDims> batch;
  };
  struct GradSlot {
    Place place;
    Made value;
  };
  struct GradGuard {
    Place place;
    bool defined = false;
  };

  std::shared_ptr<Plan> plan;
  std::vector<Source> inputs;
  std::vector<Fresh> fresh;
  std::vector<Made> results;
  std::vector<GradSlot> grads;
  std::vector<GradGuard> gradGuards;
  std::vector<ScalarSlot> slots;  // of the trace
  /// Scalar arguments whose values the function asked for, and what they were.
  std::vector<std::pair<std::uint32_t, Scalar>> guardedScalars;
  /// The sizes that depend on data which it was traced for; a run that meets others throws SizeChanged.
  std::vector<std::int64_t> sizes;
  /// What `manual_seed` inside leaves the generator at; nothing where it was not called.
  std::optional<Generator> seeded;

  bool differentiable = false;
  TapeTemplate tape;
  std::vector<Place> tapeInputs;
  std::vector<Made> tapeSaved;    // as TapeTemplate::saved; inputs themselves by Place
  std::vector<Made> tapeOutputs;  // results first, then arguments and captured tensors that got a history

  /// Leaves the generator as the function does.
  void advance(Generator& g) const;
  /// Do the `.grad` slots look as they did when it was traced?
  [[nodiscard]] bool fits(std::span<const Tensor> arguments) const;
  /// One call. `scalars` are the run-time scalar arguments. Results in the order they were returned.
  [[nodiscard]] std::vector<Tensor> run(std::span<const Tensor> arguments, std::span<const Scalar> scalars) const;
};

/// Records one execution of a function. Between construction and `finish` the thread records; when it is destroyed
/// before `finish` everything recorded is forgotten.
class Tracer final : public GradSlotObserver {
 public:
  /// `whole`: storages of arguments to take whole, from an earlier RestartTrace.
  Tracer(std::span<const Tensor> arguments, std::span<Storage* const> whole);
  ~Tracer() override;
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  /// The next run-time scalar argument.
  Scalar scalar(double value);
  /// Ends the recording, compiles, and runs it for the first time: `outputs` become real. Throws Error where the
  /// function cannot be compiled.
  /// `hooksHold`: hooks that the body registered refer to tensors that it computed, which no later call could give
  /// them.
  std::shared_ptr<CompiledTrace> finish(std::span<const Tensor> outputs, std::span<const Scalar> scalars,
                                        bool hooksHold = false);

  void onRead(TensorImpl* tensor) override;
  void onWrite(TensorImpl* tensor) override;
  Session& session() { return *session_; }

 private:
  struct Slot {
    Ref<TensorImpl> tensor;
    bool readFirst = false;
    bool definedAtStart = false;
    bool written = false;
  };
  Slot& slotOf(TensorImpl* tensor);
  Place placeOf(TensorImpl* t) const;
  CompiledTrace::Made describe(const Tensor& t, const std::vector<Content*>& fresh) const;
  void stop();

  std::unique_ptr<Session> session_;
  std::vector<Tensor> arguments_;
  std::vector<Edge> argumentEdges_;
  std::vector<std::uint32_t> versionsBefore_;
  std::vector<Slot> slots_;
  std::vector<std::pair<std::int32_t, Ref<TensorImpl>>> gradInputs_;  // input number, whose grad
  std::uint64_t firstSequence_;
  std::uint32_t numScalars_ = 0;
  Recorder* recorderBefore_;
  GradSlotObserver* observerBefore_;
  bool recording_ = true;
};

}  // namespace tandem::lazy
