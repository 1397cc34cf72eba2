// Loops of Column kernels: reductions over a dim that is not the innermost. The order over R reduced rows (the leading
// class), for every column by itself:
//
//   level 1  blocks of 1024 rows; row r of a block goes to lane r mod 8, in order; a block's lanes combine by halving
//   level 2  the partial of block b goes to second-level lane b mod 8, in order; these combine by halving
//
// That of the trailing class (row_kernel.cpp) has 32 lanes and blocks of 4096 instead, and as many blocks of level 2.
//
// Columns are taken in tiles whose accumulators stay in the first-level cache while the rows of the tile are walked in
// memory order. The width of a tile and of vectors touches no column's order.
#include "codegen/cpu/kernel_frame.h"
#include "runtime/base/error.h"
#include "runtime/device/cpu/reduction_levels.h"

namespace tandem::codegen {

namespace {

/// How many rows of one lane a cheap body takes in at once.
constexpr std::int64_t kRowsAtOnce = 4;

class ColumnLoops {
 public:
  explicit ColumnLoops(KernelFrame& frame)
      : f_(frame), b_(frame.b), schedule_(frame.schedule), lanes_(columnOrder(frame.signature.trailing)) {}

  void emit() {
    f_.computeConstants();
    rows_ = f_.argument(f_.layout.reducedSize());
    blocks_ = f_.divide(f_.add(rows_, f_.i64(lanes_.block - 1)), f_.i64(lanes_.block));
    for (int stage = 0; stage < schedule_.stages(); ++stage) {
      for (std::size_t id : schedule_.reductions(stage)) {
        const KernelStep& step = f_.signature.steps[id - schedule_.firstStep()];
        const Reduction reduction(combinerOf(step.op), step.dtype);
        const std::int64_t line = lanes_.tile * static_cast<std::int64_t>(itemSize(reduction.type()));
        running_.push_back({id, step.operands[0], stage, reduction, f_.scratch((lanes_.result() + 1) * line)});
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
        f_.loop(from, to, lanes_.tile, [&](mlir::Value column) {
          emitTile(outer, column, f_.minimum(to, f_.add(column, f_.i64(lanes_.tile))));
        });
      });
    });
  }

 private:
  /// One reduction and its scratch, as reduction_levels.h says.
  struct Running {
    std::size_t id;
    std::size_t operand;
    int stage;
    Reduction reduction;
    mlir::Value lines;
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
    std::vector<std::size_t> targets;
    for (const Running* r : running) targets.push_back(r->operand);
    const std::vector<std::size_t> ids = schedule_.varyingBehind(targets);
    const mlir::Value columns = f_.sub(to_, from_);
    auto beginBlock = [&](mlir::Value block) {
      for (const Running* r : running) {
        f_.callImport(r->reduction.importName(lanes_.import), {r->lines, columns, block, blocks_, rows_});
      }
    };
    // Rows `rows`, all of one lane, in this order.
    auto addRows = [&](const std::vector<mlir::Value>& rows, mlir::Value lane) {
      std::vector<KernelFrame::Row> entered;
      std::vector<mlir::Value> indexBases;
      for (mlir::Value row : rows) {
        f_.enterRow(outer, row);
        for (int s = 0; s <= stage; ++s) f_.computeUniform(s);
        entered.push_back(f_.row());
        indexBases.push_back(f_.mul(f_.add(f_.mul(outerLinear, rows_), row), f_.inner));
      }
      overColumns(ids, [&](const Point& point) {
        std::vector<Val> sums;
        for (const Running* r : running) sums.push_back(load(place(*r, lane, point), *r));
        for (std::size_t q = 0; q < rows.size(); ++q) {
          f_.returnTo(entered[q]);
          loadResults(ids, point);
          f_.computeAt(point, ids, indexBases[q]);
          for (std::size_t k = 0; k < running.size(); ++k) {
            const Reduction& reduction = running[k]->reduction;
            sums[k] =
                reduction.accumulate(b_, sums[k], b_.toVector(reduction.enter(b_, f_.value(running[k]->operand))));
          }
        }
        for (std::size_t k = 0; k < running.size(); ++k) store(place(*running[k], lane, point), *running[k], sums[k]);
      });
    };
    f_.loop(f_.i64(0), blocks_, 1, [&](mlir::Value block) {
      beginBlock(block);
      const mlir::Value last = f_.minimum(rows_, f_.mul(f_.add(block, f_.i64(1)), f_.i64(lanes_.block)));
      mlir::Value first = f_.mul(block, f_.i64(lanes_.block));
      // Four rows of a lane at once spare its accumulators three of four trips to memory.
      f_.enterRow(outer, first);
      for (int s = 0; s <= stage; ++s) f_.computeUniform(s);
      if (cost(ids) <= kCheapBody) {
        const mlir::Value groups = f_.add(first, f_.roundDown(f_.sub(last, first), kRowsAtOnce * lanes_.count));
        f_.loop(first, groups, kRowsAtOnce * lanes_.count, [&](mlir::Value group) {
          f_.loop(f_.i64(0), f_.i64(lanes_.count), 1, [&](mlir::Value lane) {
            std::vector<mlir::Value> rows;
            for (std::int64_t q = 0; q < kRowsAtOnce; ++q) {
              rows.push_back(f_.add(f_.add(group, lane), f_.i64(q * lanes_.count)));
            }
            addRows(rows, lane);
          });
        });
        first = groups;
      }
      f_.loop(first, last, 1, [&](mlir::Value row) { addRows({row}, lowBits(row, lanes_.count)); });
    });
    beginBlock(blocks_);
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
        f_.setValue(id, r.reduction.leave(b_, load(place(r, f_.i64(lanes_.result()), point), r)));
      }
    }
  }

  std::size_t cost(const std::vector<std::size_t>& ids) {
    return f_.cost(ids, [&](const Point& point) { loadResults(ids, point); });
  }

  /// The tile's columns, the last ones masked. Scratch needs no mask: its lines are as long as whole vectors.
  void overColumns(const std::vector<std::size_t>& ids, const std::function<void(const Point&)>& body) {
    f_.overRange(from_, to_, cost(ids), body);
  }

  mlir::Value place(const Running& r, mlir::Value line, const Point& point) {
    const mlir::Value offset = f_.add(f_.mul(line, f_.i64(lanes_.tile)), f_.sub(point.i, from_));
    return f_.address(r.lines, f_.memoryType(r.reduction.type()), offset);
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
  const ColumnOrder lanes_;
  std::vector<Running> running_;
  mlir::Value rows_;
  mlir::Value blocks_;
  mlir::Value from_;
  mlir::Value to_;
};

}  // namespace

void emitColumnLoops(KernelFrame& frame) { ColumnLoops(frame).emit(); }

}  // namespace tandem::codegen
