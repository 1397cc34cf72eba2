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
#include <algorithm>

#include "codegen/cpu/kernel_frame.h"
#include "runtime/base/error.h"
#include "runtime/device/cpu/reduction_levels.h"

namespace tandem::codegen {

namespace {

/// How many rows of one lane a cheap body takes in at once.
constexpr std::int64_t kRowsAtOnce = 4;
/// Up to so many rows are combined in registers, column by column, if their body is light: the trips of the lanes to
/// memory would take longer.
constexpr std::int64_t kFewRows = 64;

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
    from_ = begin_ = from;
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
    auto beginBlock = [&](mlir::Value block) {
      for (const Running* r : running) {
        const mlir::Value lines = f_.address(r->lines, f_.memoryType(r->reduction.type()), f_.sub(begin_, from_));
        f_.callImport(r->reduction.importName(lanes_.import), {lines, f_.sub(to_, begin_), block, blocks_, rows_});
      }
    };
    // Rows `rows`, all of one lane, in this order.
    auto addRows = [&](const std::vector<mlir::Value>& rows, mlir::Value lane) {
      std::vector<KernelFrame::Row> entered;
      std::vector<mlir::Value> indexBases;
      for (mlir::Value row : rows) {
        enter(stage, outer, row);
        entered.push_back(f_.row());
        indexBases.push_back(f_.mul(f_.add(f_.mul(outerLinear, rows_), row), f_.inner));
      }
      overColumns(
          ids,
          [&](const Point& point) {
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
            for (std::size_t k = 0; k < running.size(); ++k)
              store(place(*running[k], lane, point), *running[k], sums[k]);
          },
          rows.size());
    };
    const bool apart = running.size() > 1 || running[0]->reduction.isProduct();
    if (!apart && costOfRow(stage, outer, ids) <= kCheapBody) {
      const mlir::Value some = f_.less(f_.i64(0), rows_), few = f_.less(rows_, f_.i64(kFewRows + 1));
      begin_ = f_.choose(
          mlir::arith::AndIOp::create(f_.ops, b_.loc(), some, few),
          [&] { return KernelFrame::Values{addFewRows(stage, outerLinear, outer, ids, *running[0])}; },
          [&] { return KernelFrame::Values{from_}; })[0];
    }
    f_.when(f_.less(begin_, to_), [&] { emitBlocks(stage, outer, ids, beginBlock, addRows); });
    begin_ = from_;
  }

  void enter(int stage, mlir::ValueRange outer, mlir::Value row) {
    f_.enterRow(outer, row);
    for (int s = 0; s <= stage; ++s) f_.computeUniform(s);
  }
  /// Emitted for nothing, as KernelFrame::cost() does: there may be no row to enter.
  std::size_t costOfRow(int stage, mlir::ValueRange outer, const std::vector<std::size_t>& ids) {
    mlir::Block block;
    mlir::OpBuilder::InsertionGuard guard(f_.ops);
    f_.ops.setInsertionPointToStart(&block);
    enter(stage, outer, f_.i64(0));
    return cost(ids);
  }

  /// The one block of a few rows in whole vectors of columns, its lanes combined as reduction_levels.cpp does: those 8
  /// apart first, in registers, and where there are more than 8 the results of these. Returns the first column that is
  /// left.
  mlir::Value addFewRows(int stage, mlir::Value outerLinear, mlir::ValueRange outer,
                         const std::vector<std::size_t>& ids, const Running& r) {
    const mlir::Value whole = f_.add(from_, f_.roundDown(f_.sub(to_, from_), f_.lanes));
    const DType t = r.reduction.type();
    auto overVectors = [&](const std::function<Val(const Point&)>& sum, mlir::Value line) {
      f_.loop(from_, whole, f_.lanes, [&](mlir::Value column) {
        const Point point{column, {}, {}, {}};
        store(place(r, line, point), r, sum(point));
      });
    };
    auto halved = [&](std::vector<mlir::Value>& lanes) -> Val {
      for (std::size_t half = lanes.size() / 2; half > 0; half /= 2)
        for (std::size_t j = 0; j < half; ++j)
          lanes[j] = r.reduction.combine(b_, {lanes[j], t}, {lanes[j + half], t}).value;
      return {lanes[0], t};
    };
    auto lane = [&](const Point& point, mlir::Value first) {
      const KernelFrame::Values none{r.reduction.identity(b_, f_.lanes).value};
      return f_.loop(first, rows_, lanes_.count, none, [&](mlir::Value row, mlir::ValueRange sum) {
        enter(stage, outer, row);
        loadResults(ids, point);
        f_.computeAt(point, ids, f_.mul(f_.add(f_.mul(outerLinear, rows_), row), f_.inner));
        const Val value = b_.toVector(r.reduction.enter(b_, f_.value(r.operand)));
        return KernelFrame::Values{r.reduction.combine(b_, {sum[0], t}, value).value};
      })[0];
    };
    const mlir::Value result = f_.i64(lanes_.result());
    // As many lanes as the leading class has, of which the others are none or have no row.
    auto sumFew = [&] {
      overVectors(
          [&](const Point& point) {
            std::vector<mlir::Value> lanes;
            for (std::int64_t j = 0; j < kLeadingLanes; ++j) lanes.push_back(lane(point, f_.i64(j)));
            return halved(lanes);
          },
          result);
    };
    auto sumMany = [&] {
      f_.loop(f_.i64(0), f_.i64(kLeadingLanes), 1, [&](mlir::Value first) {
        overVectors(
            [&](const Point& point) {
              std::vector<mlir::Value> lanes;
              for (std::int64_t j = 0; j < lanes_.count; j += kLeadingLanes)
                lanes.push_back(lane(point, f_.add(first, f_.i64(j))));
              return halved(lanes);
            },
            first);
      });
      overVectors(
          [&](const Point& point) {
            std::vector<mlir::Value> lanes;
            for (std::int64_t j = 0; j < kLeadingLanes; ++j) lanes.push_back(load(place(r, f_.i64(j), point), r).value);
            return halved(lanes);
          },
          result);
    };
    if (lanes_.count == kLeadingLanes) {
      sumFew();
    } else {
      f_.when(f_.less(rows_, f_.i64(kLeadingLanes + 1)), sumFew);
      f_.when(f_.less(f_.i64(kLeadingLanes), rows_), sumMany);
    }
    return whole;
  }

  template <class Begin, class Add>
  void emitBlocks(int stage, mlir::ValueRange outer, const std::vector<std::size_t>& ids, Begin beginBlock,
                  Add addRows) {
    f_.loop(f_.i64(0), blocks_, 1, [&](mlir::Value block) {
      beginBlock(block);
      const mlir::Value last = f_.minimum(rows_, f_.mul(f_.add(block, f_.i64(1)), f_.i64(lanes_.block)));
      mlir::Value first = f_.mul(block, f_.i64(lanes_.block));
      // Four rows of a lane at once spare its accumulators three of four trips to memory.
      enter(stage, outer, first);
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

  /// The tile's columns, the last ones masked, in `rows` rows at once. Scratch needs no mask: its lines are as long as
  /// whole vectors.
  void overColumns(const std::vector<std::size_t>& ids, const std::function<void(const Point&)>& body,
                   std::size_t rows = 1) {
    // A product takes many instructions, of which few run.
    const bool product =
        std::any_of(running_.begin(), running_.end(), [](const Running& r) { return r.reduction.isProduct(); });
    f_.overRange(begin_, to_, std::max(cost(ids) * rows, product ? kLightBody + 1 : 0), body);
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
  // The columns of the tile, and the first of them that overColumns takes.
  mlir::Value from_;
  mlir::Value to_;
  mlir::Value begin_;
};

}  // namespace

void emitColumnLoops(KernelFrame& frame) { ColumnLoops(frame).emit(); }

}  // namespace tandem::codegen
