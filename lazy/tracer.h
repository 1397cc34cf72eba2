// Recording one run of a function, so that later calls need not run it (lazy/compiled.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autograd/meta.h"
#include "eager/generator.h"
#include "lazy/compiled.h"
#include "lazy/session.h"

namespace tandem::lazy {

/// Records one execution of a function. Between construction and `finish` the thread records; when it is destroyed
/// before `finish` everything recorded is forgotten.
class Tracer final : public GradObserver {
 public:
  /// `whole`: storages of arguments to take whole, from an earlier RestartTrace.
  Tracer(std::span<const Tensor> arguments, std::span<Storage* const> whole);
  ~Tracer() override;
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  /// One more argument, which a later call finds elsewhere. Nothing that was recorded uses it yet. RestartTrace where
  /// it is another window on memory that was met before, unless that is taken `whole`.
  void addArgument(const Tensor& t, bool whole);
  /// The next run-time scalar argument.
  Scalar scalar(Scalar value);
  /// Ends the recording of a body whose calls a plan may stand for, compiles it, and, unless it is `dry`, runs it for
  /// the first time: `outputs` become real. After a dry one comes `undo`, and the outputs have no elements. `known`
  /// gives, for a tensor that the body used, one that a later call finds and that has the same memory; null if there is
  /// none. Null, with a reason, where no later call can repeat what the body left behind; what was recorded is then
  /// still to be run (`flush`).
  std::shared_ptr<CompiledTrace> finish(std::span<const Tensor> outputs, std::span<const Scalar> scalars,
                                        const std::function<TensorImpl*(TensorImpl*)>& known, std::string& reason,
                                        bool dry = false);
  /// Before `finish`: sets to None the gradients that the body leaves in tensors whose earlier gradients it did not
  /// look at, and in arguments, which have none before. Later calls of the body see no difference.
  void dropGrads();
  /// Before `finish`: run-time scalars that calls compute for their results, in this order.
  void keepNumbers(std::vector<Scalar> numbers) { numbers_ = std::move(numbers); }
  /// Ends the recording of any other body, and runs what was recorded.
  void flush();
  /// The run failed in `finish`, before anything that others can see was written: takes back `.grad` attributes and
  /// versions.
  void undo();
  /// Calls `visit` with every tensor that a later call brings itself, on memory of its own: arguments, gradients.
  template <class F>
  void visitBrought(F&& visit) const {
    for (const Tensor& t : arguments_) visit(t.impl());
    for (const auto& [number, owner] : gradInputs_)
      visit(session_->inputs()[static_cast<std::size_t>(number)].root.get());
  }

  void onRead(TensorImpl* tensor) override;
  void onWrite(TensorImpl* tensor) override;
  void onLeaf(TensorImpl* tensor) override;
  Session& session() { return *session_; }
  /// Before `finish`: may each call make the nodes of the body's Functions again, as the body would?
  void setFunctionsRepeat(bool repeat) { functionsRepeat_ = repeat; }

 private:
  struct Grad {
    Ref<TensorImpl> tensor;
    Tensor before;  // what was in it
    bool readFirst = false;
    bool definedAtStart = false;
    bool written = false;
    bool dropped = false;
  };
  void take(const Tensor& argument);
  Grad& gradOf(TensorImpl* tensor);
  OuterTensor outerTensor(TensorImpl* t) const;
  /// The first argument on the memory; -1: there is none.
  [[nodiscard]] std::int32_t argumentOn(const Ref<Storage>& memory) const;
  CompiledTrace::Made describe(const Tensor& t, const std::vector<Content*>& fresh) const;
  std::int32_t made(CompiledTrace& c, const Tensor& t, const std::vector<Content*>& fresh);
  void stop();

  // The steps of `finish`.
  /// What is given in, and what of it the tape of a call begins at.
  struct TapeInputs {
    std::vector<Tensor> tensors;
    std::vector<Edge> edges;
    std::size_t outer = 0;  // so many were there before the call; then leaves that the body made
  };
  [[nodiscard]] TapeInputs tapeInputs() const;
  /// Leaves of `leaves_` that are the body's own.
  [[nodiscard]] std::vector<Tensor> ownLeaves() const;
  [[nodiscard]] std::vector<Tensor> withHistory(std::span<const Tensor> outputs, const TapeInputs& inputs) const;
  /// What the history needs is made again by its backward where that takes less than memory does.
  void saveLess(CompiledTrace& c, std::span<const Tensor> outputs, std::span<const Tensor> ends,
                std::span<const Scalar> scalars);
  bool keepTape(CompiledTrace& c, std::span<const Tensor> ends, const TapeInputs& inputs, std::string& reason);
  bool findInputs(CompiledTrace& c, std::span<const TraceOutput> outputs, std::string& reason) const;
  /// Where a call finds the tensor of which an input is a copy on the device.
  bool findPlaced(CompiledTrace::Source& source, const SessionInput& input, std::string& reason) const;
  [[nodiscard]] bool keepGrads(CompiledTrace& c, const std::vector<Content*>& fresh, std::string& reason);
  /// Where the gradient lies that was there at the start; false where that cannot be said.
  [[nodiscard]] bool placeGrad(CompiledTrace::GradGuard& guard, const CompiledTrace& c, const Tensor& grad) const;

  std::unique_ptr<Session> session_;
  std::vector<Tensor> arguments_;
  std::vector<Edge> argumentEdges_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ownVersions_;  // of arguments that `.data` made, before the body
  std::vector<TensorImpl*> made_;                                     // as CompiledTrace::made
  std::function<TensorImpl*(TensorImpl*)> known_;
  std::vector<Grad> grads_;
  std::vector<std::pair<std::int32_t, Ref<TensorImpl>>> gradInputs_;  // input number, whose grad
  std::vector<Tensor> leaves_;                                        // that the body made to require grad
  std::vector<std::pair<std::uint32_t, Tensor>> tapeLeaves_;          // as CompiledTrace::tapeLeaves
  std::uint64_t firstSequence_;
  GeneratorStates generators_;  // before the body
  std::uint32_t numScalars_ = 0;
  std::vector<Scalar> numbers_;  // that calls compute for their results
  Recorder* recorderBefore_;
  GradObserver* observerBefore_;
  bool recording_ = true;
  bool functionsRepeat_ = false;
};

}  // namespace tandem::lazy
