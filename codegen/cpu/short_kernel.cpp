// Loops of Short kernels, whose rows have a few elements each. A vector along such a row would have an element in few
// of its lanes, and every row would wait for the tree that combines them. Here lanes are rows: values that a Row kernel
// has once a row are vectors too, and element after element is read from, and written to, as many rows as there are
// lanes. The order of a reduction is that of row_kernel.cpp: 32 lanes combined by halving, of which those past the row
// hold the identity, so that the tree begins with as many as the row's length rounded up to a power of two.
#include <functional>
#include <vector>

#include "codegen/cpu/kernel_frame.h"
#include "runtime/base/error.h"

namespace tandem::codegen {

namespace {

class ShortLoops {
 public:
  explicit ShortLoops(KernelFrame& frame) : f_(frame), b_(frame.b), schedule_(frame.schedule) {}

  void emit() {
    TANDEM_CHECK(f_.layout.outerRank == 1 && kShortRows % f_.lanes == 0, f_.signature.text());
    f_.computeConstants();
    for (int stage = 0; stage < schedule_.stages(); ++stage) {
      for (std::size_t id : schedule_.reductions(stage)) {
        const KernelStep& step = f_.signature.steps[id - schedule_.firstStep()];
        const Reduction reduction(combinerOf(step.op), step.dtype);
        running_.push_back({id, step.operands[0], stage, reduction, places(reduction.type())});
      }
    }
    f_.loop(f_.begin, f_.end, f_.lanes, [&](mlir::Value row) {
      f_.enterRow(row, {});
      for (int stage = 0; stage < schedule_.stages(); ++stage) emitStage(stage);
      for (std::size_t o = 0; o < f_.signature.outputs.size(); ++o) {
        if (isElementwise(o)) continue;
        f_.storeScalar(o, f_.rowBase(f_.signature.inputs.size() + o), f_.value(f_.signature.outputs[o].value));
      }
    });
  }

 private:
  /// A reduction, and where the elements of the rows stand that it combines: those of all lanes, then the next ones.
  struct Running {
    std::size_t id;  // of the reduce step
    std::size_t operand;
    int stage;
    Reduction reduction;
    mlir::Value elements;
  };

  /// A value of the elements that one pass computes and later ones take.
  struct Kept {
    std::size_t value;
    mlir::Value elements;
  };

  bool isElementwise(std::size_t o) const { return f_.signature.outputs[o].operand.access != Access::Zero; }

  void emitStage(int stage) {
    f_.computeUniform(stage);
    std::vector<const Running*> running;
    const std::vector<std::size_t> outputs = schedule_.outputs(stage);
    const std::vector<std::size_t> targets = schedule_.targets(stage);
    if (targets.empty()) return;
    for (const Running& r : running_) {
      if (r.stage == stage) running.push_back(&r);
    }

    // As in a Row kernel, but the values always fit beside each other.
    std::vector<std::size_t> known;
    for (const Kept& k : kept_) known.push_back(k.value);
    const std::vector<std::size_t> ids = schedule_.varyingBehind(targets, known);
    const std::size_t taken = kept_.size();
    for (std::size_t id : f_.worthKeeping(stage, known)) kept_.push_back({id, places(schedule_.value(id).dtype)});
    f_.loop(f_.i64(0), f_.inner, 1, [&](mlir::Value j) {
      const Point point{j, {}, {}, {}};
      for (std::size_t k = 0; k < taken; ++k) {
        const DType t = schedule_.value(kept_[k].value).dtype;
        f_.setValue(kept_[k].value, load(place(kept_[k].elements, j, t), t));
      }
      f_.computeAt(point, ids, {});
      for (const Running* r : running)
        store(place(r->elements, j, r->reduction.type()), r->reduction.enter(b_, f_.value(r->operand)));
      for (std::size_t k = taken; k < kept_.size(); ++k) {
        const Val value = f_.value(kept_[k].value);
        store(place(kept_[k].elements, j, value.type), value);
      }
      for (std::size_t o : outputs) f_.storeOutput(o, point);
    });
    for (const Running* r : running) f_.setValue(r->id, combine(*r));
  }

  Val combine(const Running& r) {
    const DType t = r.reduction.type();
    const mlir::Value filled = powerOfTwoFrom(f_.inner);
    f_.loop(f_.inner, filled, 1,
            [&](mlir::Value j) { store(place(r.elements, j, t), r.reduction.identity(b_, f_.lanes)); });
    for (std::int64_t half = kShortRow / 2; half > 1; half /= 2) {
      f_.when(f_.less(f_.i64(half), filled), [&] {
        for (std::int64_t j = 0; j < half; ++j) {
          const mlir::Value at = place(r.elements, f_.i64(j), t);
          store(at, r.reduction.combine(b_, load(at, t), load(place(r.elements, f_.i64(j + half), t), t)));
        }
      });
    }
    const Val first = load(place(r.elements, f_.i64(0), t), t);
    return r.reduction.leave(b_, r.reduction.combine(b_, first, load(place(r.elements, f_.i64(1), t), t)));
  }

  /// The least power of two that is no smaller, of a row's length.
  mlir::Value powerOfTwoFrom(mlir::Value n) {
    mlir::Value power = f_.i64(kShortRow);
    for (std::int64_t smaller = kShortRow / 2; smaller > 1; smaller /= 2) {
      const mlir::Value fits = f_.less(n, f_.i64(smaller + 1));
      power = mlir::arith::SelectOp::create(f_.ops, b_.loc(), fits, f_.i64(smaller), power);
    }
    return power;
  }

  /// Scratch for one value of every element.
  mlir::Value places(DType t) { return f_.scratch(static_cast<std::int64_t>(itemSize(t)) * f_.lanes * kShortRow); }
  mlir::Value place(mlir::Value elements, mlir::Value j, DType t) {
    return f_.address(elements, mlir::VectorType::get({f_.lanes}, b_.registerType(t)), j);
  }
  Val load(mlir::Value at, DType t) {
    return {f_.loadAt(at, mlir::VectorType::get({f_.lanes}, b_.registerType(t)), t), t};
  }
  void store(mlir::Value at, Val value) { f_.storeAt(at, b_.toVector(value).value, value.type); }

  KernelFrame& f_;
  VectorBuilder& b_;
  const Schedule& schedule_;
  std::vector<Running> running_;
  std::vector<Kept> kept_;
};

}  // namespace

void emitShortLoops(KernelFrame& frame) { ShortLoops(frame).emit(); }

}  // namespace tandem::codegen
