// Loops of Column kernels: reductions over a dim that is not the innermost. The order over R reduced rows (the leading
// class), for every column by itself:
//
//   level 1  blocks of 1024 rows; row r of a block goes to lane r mod 8, in order; a block's lanes combine by halving
//   level 2  the partial of block b goes to second-level lane b mod 8, in order; these combine by halving
//
// Columns are taken in tiles whose accumulators stay in the first-level cache while the rows of the tile are walked in
// memory order. The width of a tile and of vectors touches no column's order.
#include "codegen/cpu/kernel_frame.h"
#include "runtime/base/error.h"

namespace tandem::codegen {

namespace {

constexpr std::int64_t kTile = 256;

class ColumnLoops {
 public:
  explicit ColumnLoops(KernelFrame& frame) : f_(frame), b_(frame.b), schedule_(frame.schedule) {}

  void emit() {
    f_.computeConstants();
    rows_ = f_.argument(f_.layout.reducedSize());
    blocks_ = f_.divide(f_.add(rows_, f_.i64(kLeadingBlock - 1)), f_.i64(kLeadingBlock));
    several_ = f_.less(f_.i64(1), blocks_);
    for (int stage = 0; stage < schedule_.stages(); ++stage) {
      for (std::size_t id : schedule_.reductions(stage)) {
        const KernelStep& step = f_.signature.steps[id - schedule_.firstStep()];
        const Reduction reduction(combinerOf(step.op), step.dtype);
        const std::int64_t line = kTile * static_cast<std::int64_t>(itemSize(reduction.type()));
        running_.push_back({id, step.operands[0], stage, reduction, f_.scratch(kLeadingLanes * line),
                            f_.scratch(kLeadingLanes * line), f_.scratch(line)});
      }
    }
    // Sizes may be zero where there is nothing to do, and are divided by.
    f_.when(f_.less(f_.begin, f_.end), [&] {
      const mlir::Value first = f_.divide(f_.begin, f_.inner);
      const mlir::Value last = f_.divide(f_.sub(f_.end, f_.i64(1)), f_.inner);
      f_.loop(first, f_.add(last, f_.i64(1)), 1, [&](mlir::Value outer) {
        const mlir::Value before = f_.mul(outer, f_.inner);
        const mlir::Value from = mlir::arith::MaxSIOp::create(f_.ops, b_.loc(), f_.sub(f_.begin, before), f_.i64(0));
        const mlir::Value to = f_.minimum(f_.sub(f_.end, before), f_.inner);
        f_.loop(from, to, kTile,
                [&](mlir::Value column) { emitTile(outer, column, f_.minimum(to, f_.add(column, f_.i64(kTile)))); });
      });
    });
  }

 private:
  /// One reduction and its scratch: lines of kTile columns.
  struct Running {
    std::size_t id;
    std::size_t operand;
    int stage;
    Reduction reduction;
    mlir::Value lanes;   // 8 lines
    mlir::Value level2;  // 8 lines
    mlir::Value result;  // 1 line
  };

  void emitTile(mlir::Value outerLinear, mlir::Value from, mlir::Value to) {
    const KernelFrame::Values outer = f_.splitOuter(outerLinear);
    from_ = from;
    to_ = to;
    for (int stage = 0; stage < schedule_.stages(); ++stage) {
      std::vector<const Running*> now;
      for (const Running& r : running_) {
        if (r.stage == stage) now.push_back(&r);
      }
      if (!now.empty()) emitReductions(stage, outerLinear, outer, now);
    }
    emitOutputs(outer);
  }

  void emitReductions(int stage, mlir::Value outerLinear, mlir::ValueRange outer,
                      const std::vector<const Running*>& running) {
    for (const Running* r : running) {
      fill(r->result, 1, *r, b_.widen(r->reduction.ofNothing(b_), f_.lanes));
      f_.when(several_, [&] { fill(r->level2, kLeadingLanes, *r, r->reduction.identity(b_, f_.lanes)); });
    }
    std::vector<std::size_t> targets;
    for (const Running* r : running) targets.push_back(r->operand);
    const std::vector<std::size_t> ids = schedule_.varyingBehind(targets);
    f_.loop(f_.i64(0), blocks_, 1, [&](mlir::Value block) {
      for (const Running* r : running) fill(r->lanes, kLeadingLanes, *r, r->reduction.identity(b_, f_.lanes));
      const mlir::Value first = f_.mul(block, f_.i64(kLeadingBlock));
      const mlir::Value last = f_.minimum(rows_, f_.add(first, f_.i64(kLeadingBlock)));
      f_.loop(first, last, 1, [&](mlir::Value row) {
        f_.enterRow(outer, row);
        for (int s = 0; s <= stage; ++s) f_.computeUniform(s);
        const mlir::Value indexBase = f_.mul(f_.add(f_.mul(outerLinear, rows_), row), f_.inner);
        const mlir::Value lane = lowBits(row, kLeadingLanes);
        overColumns(ids, [&](const Point& point) {
          loadResults(ids, point);
          f_.computeAt(point, ids, indexBase);
          for (const Running* r : running) {
            const mlir::Value at = place(r->lanes, lane, point, *r);
            const Val value = b_.toVector(r->reduction.enter(b_, f_.value(r->operand)));
            store(at, *r, r->reduction.combine(b_, load(at, *r), value));
          }
        });
      });
      for (const Running* r : running) endBlock(*r, block);
    });
    f_.when(several_, [&] {
      for (const Running* r : running) {
        overVectors([&](const Point& point) {
          store(place(r->result, f_.i64(0), point, *r), *r, combined(r->level2, point, *r));
        });
      }
    });
  }

  void endBlock(const Running& r, mlir::Value block) {
    overVectors([&](const Point& point) {
      const Val partial = combined(r.lanes, point, r);
      f_.choose(
          several_,
          [&] {
            const mlir::Value at = place(r.level2, lowBits(block, kLeadingLanes), point, r);
            store(at, r, r.reduction.combine(b_, load(at, r), partial));
            return KernelFrame::Values{};
          },
          [&] {
            store(place(r.result, f_.i64(0), point, r), r, partial);
            return KernelFrame::Values{};
          });
    });
  }

  void emitOutputs(mlir::ValueRange outer) {
    std::vector<std::size_t> targets;
    for (const KernelOutput& output : f_.signature.outputs) targets.push_back(output.value);
    const std::vector<std::size_t> ids = schedule_.varyingBehind(targets);
    for (std::size_t id : ids) {
      TANDEM_CHECK(id >= schedule_.firstStep(),
                   "an output of a Column kernel reads an input past the reduction: ", f_.signature.text());
    }
    f_.enterOutputs(outer);
    overColumns(ids, [&](const Point& point) {
      loadResults(ids, point);
      f_.computeAt(point, ids, f_.i64(0));
      for (std::size_t o = 0; o < f_.signature.outputs.size(); ++o) f_.storeOutput(o, point);
    });
  }

  /// Results of earlier reductions at a point.
  void loadResults(const std::vector<std::size_t>& ids, const Point& point) {
    for (std::size_t id : ids) {
      for (const Running& r : running_) {
        if (r.id != id) continue;
        f_.setValue(id, r.reduction.leave(b_, load(place(r.result, f_.i64(0), point, r), r)));
      }
    }
  }

  /// The tile's columns, the last ones masked.
  void overColumns(const std::vector<std::size_t>& ids, const std::function<void(const Point&)>& body) {
    const std::size_t cost = f_.cost(ids, [&](const Point& point) { loadResults(ids, point); });
    f_.overRange(from_, to_, cost > kDearBody, body);
  }
  /// Whole vectors that cover the tile's columns: for scratch, whose lines are long enough.
  void overVectors(const std::function<void(const Point&)>& body) {
    f_.loop(from_, to_, f_.lanes, [&](mlir::Value i) { body({i, {}, {}, {}}); });
  }

  void fill(mlir::Value lines, std::int64_t count, const Running& r, Val value) {
    overVectors([&](const Point& point) {
      for (std::int64_t line = 0; line < count; ++line) store(place(lines, f_.i64(line), point, r), r, value);
    });
  }

  Val combined(mlir::Value lines, const Point& point, const Running& r) {
    std::vector<Val> lanes;
    for (std::int64_t lane = 0; lane < kLeadingLanes; ++lane) {
      lanes.push_back(load(place(lines, f_.i64(lane), point, r), r));
    }
    return r.reduction.halveAcross(b_, lanes);
  }

  mlir::Value place(mlir::Value lines, mlir::Value line, const Point& point, const Running& r) {
    const mlir::Value offset = f_.add(f_.mul(line, f_.i64(kTile)), f_.sub(point.i, from_));
    return f_.address(lines, f_.memoryType(r.reduction.type()), offset);
  }
  Val load(mlir::Value at, const Running& r) {
    const DType t = r.reduction.type();
    return {f_.loadAt(at, mlir::VectorType::get({f_.lanes}, b_.registerType(t)), t), t};
  }
  void store(mlir::Value at, const Running& r, Val value) { f_.storeAt(at, value.value, r.reduction.type()); }

  mlir::Value lowBits(mlir::Value a, std::int64_t powerOfTwo) {
    return mlir::arith::AndIOp::create(f_.ops, b_.loc(), a, f_.i64(powerOfTwo - 1));
  }

  KernelFrame& f_;
  VectorBuilder& b_;
  const Schedule& schedule_;
  std::vector<Running> running_;
  mlir::Value rows_;
  mlir::Value blocks_;
  mlir::Value several_;
  mlir::Value from_;
  mlir::Value to_;
};

}  // namespace

void emitColumnLoops(KernelFrame& frame) { ColumnLoops(frame).emit(); }

}  // namespace tandem::codegen
