// Loops of Row, Partial and Leading kernels. The order of a reduction over a row of n elements (the trailing class):
//
//   level 1  blocks of 4096 elements; element i of a block goes to lane i mod 32, in order; the lanes of a block are
//            combined by halving into the block's partial result
//   level 2  the partial of block b goes to second-level lane b mod 32, 4096 partials to a block of the next level
//   level 3  likewise over blocks of partials
//
// A level over one value changes nothing, so a row within one block is just its lanes, and a Row kernel over the
// results of a Partial kernel continues at level 2 with the same bits. 32 lanes are lanes()-wide vectors times
// `vectors`, kept in registers where the body is cheap, else in memory, which emits the body once instead of `vectors`
// times; the last, partly filled vectors of a block always go through memory.
//
// A Leading kernel has the order of column_kernel.cpp: blocks of 1024 and 8 lanes of both levels. These are one vector,
// to which an addition waits for the one before: some rows are reduced at once.
#include "codegen/cpu/kernel_frame.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"
#include "runtime/device/cpu/reduction_levels.h"

namespace tandem::codegen {

namespace {

/// Rows of up to so many elements are worked on in groups of so many.
constexpr std::int64_t kShortRow = 256;
constexpr std::int64_t kGroupRows = 16;
/// Of a group, or of one row, kept in scratch from one pass to later ones.
constexpr std::int64_t kKeptElements = kShortRow * kGroupRows;
/// Rows of one vector of lanes that are reduced at once; a power of two.
constexpr std::int64_t kRowsAtOnce = 4;

class RowLoops {
 public:
  explicit RowLoops(KernelFrame& frame)
      : f_(frame), b_(frame.b), schedule_(frame.schedule), leading_(frame.signature.kind == KernelKind::Leading),
        lanes_(leading_ ? kLeadingLanes : kTrailingLanes), block_(leading_ ? kLeadingBlock : kTrailingBlock),
        vectors_(static_cast<int>(lanes_) / frame.lanes) {}

  void emit() {
    const KernelSignature& s = f_.signature;
    f_.computeConstants();
    if (s.kind == KernelKind::Row && s.outerRank == 0) {
      TANDEM_CHECK(schedule_.stages() == 1 && schedule_.reductions(0).empty(),
                   "a reduction in a kernel without rows: ", s.text());
      indexBase_ = f_.i64(0);
      f_.enterRow({}, {});
      f_.computeUniform(0);
      return emitPointwise(0, f_.begin, f_.end, {});
    }
    // Sizes may be zero where there is nothing to do, and are divided by.
    f_.when(f_.less(f_.begin, f_.end), [&] { s.kind == KernelKind::Partial ? emitPartial() : emitRows(); });
  }

 private:
  using Values = KernelFrame::Values;

  /// Everything one reduction keeps while its stage runs.
  struct Running {
    std::size_t id;  // of the reduce step
    std::size_t operand;
    Reduction reduction;
    mlir::Value lanes;   // scratch: the lanes of level 1
    mlir::Value levels;  // scratch of the levels above
  };
  /// Where a reduction's results for the rows of a group are kept from its pass to later ones.
  struct Saved {
    std::size_t id;
    int stage;
    Reduction reduction;
    mlir::Value results;
  };
  /// A value of the elements that one pass computes and later ones take from memory: from the memory of an output, or
  /// from scratch, where it stands row after row of a group. A row that is too long for scratch computes it again.
  struct Kept {
    std::size_t value;
    int stage;
    std::optional<std::size_t> output;
    mlir::Value scratch;
  };

  /// Rows of several passes go through them in groups, each pass over the whole group before the next one: in a short
  /// row every pass waits for the result of the one before, and the passes of other rows fill that time (log_softmax
  /// over rows of 16 took twice as long row by row). A group is a single row where rows are long.
  void emitRows() {
    std::vector<int> passes;
    for (int stage = 0; stage < schedule_.stages(); ++stage) {
      if (!schedule_.reductions(stage).empty() || stage == schedule_.storeStage()) passes.push_back(stage);
    }
    if (passes.size() < 2) {
      if (leading_ && onlyReduces(passes[0])) return emitRowsAtOnce(passes[0]);
      return emitWholeRows(f_.begin, firstIndices(f_.begin));
    }
    for (int stage : passes) {
      for (std::size_t id : schedule_.reductions(stage)) {
        const Reduction reduction = reductionOf(id);
        const auto size = static_cast<std::int64_t>(itemSize(reduction.type()));
        saved_.push_back({id, stage, reduction, f_.scratch(size * kGroupRows)});
      }
    }
    const mlir::Value isShort = f_.less(f_.inner, f_.i64(kShortRow + 1));
    const mlir::Value height = mlir::arith::SelectOp::create(f_.ops, b_.loc(), isShort, f_.i64(kGroupRows), f_.i64(1));
    const mlir::Value rows = f_.sub(f_.end, f_.begin);
    const mlir::Value groups = f_.divide(f_.add(rows, f_.sub(height, f_.i64(1))), height);
    f_.loop(f_.i64(0), groups, 1, firstIndices(f_.begin), [&](mlir::Value group, mlir::ValueRange indices) {
      const mlir::Value first = f_.add(f_.begin, f_.mul(group, height));
      const mlir::Value last = f_.minimum(f_.end, f_.add(first, height));
      Values next;
      // What follows the last pass concerns one value a row, and waits for its result.
      for (std::size_t p = 0; p <= passes.size(); ++p) {
        const int from = p == 0 ? 0 : passes[p - 1] + 1;
        const int to = p == passes.size() ? schedule_.stages() : passes[p] + 1;
        if (p == passes.size() && !storesRowResults()) break;
        next = emitPasses(first, last, indices, [&] {
          inGroup_ = f_.sub(row_, first);
          for (const Saved& s : saved_) {
            if (s.stage >= from) continue;
            const mlir::Value result = f_.loadAt(placeOf(s), b_.registerType(s.reduction.type()), s.reduction.type());
            f_.setValue(s.id, s.reduction.leave(b_, {result, s.reduction.type()}));
          }
          for (int stage = 0; stage < from; ++stage) f_.computeUniform(stage);
          for (int stage = from; stage < to; ++stage) emitStage(stage);
          if (p == passes.size()) storeRowResults();
        });
      }
      return next;
    });
  }

  /// The rows from `from` on, one after another; `indices` are those of the first.
  void emitWholeRows(mlir::Value from, mlir::ValueRange indices) {
    emitPasses(from, f_.end, indices, [&] {
      for (int stage = 0; stage < schedule_.stages(); ++stage) emitStage(stage);
      storeRowResults();
    });
  }

  /// Is `stage` a cheap body that stores no elements? To count it the first row is entered.
  bool onlyReduces(int stage) {
    if (schedule_.reductions(stage).size() != 1 || !schedule_.outputs(stage).empty()) return false;
    enter(f_.begin, firstIndices(f_.begin), stage);
    return f_.cost(schedule_.varyingBehind(schedule_.targets(stage), {}), {}) <= kCheapBody;
  }

  void emitRowsAtOnce(int stage) {
    const std::vector<std::size_t> ids = schedule_.varyingBehind(schedule_.targets(stage), {});
    const Reduction reduction = reductionOf(schedule_.reductions(stage)[0]);
    std::vector<Running> running;
    while (running.size() < kRowsAtOnce) running.push_back(start(stage)[0]);
    const mlir::Value whole = f_.add(f_.begin, f_.roundDown(f_.sub(f_.end, f_.begin), kRowsAtOnce));
    const Values behind =
        f_.loop(f_.begin, whole, kRowsAtOnce, firstIndices(f_.begin), [&](mlir::Value row, mlir::ValueRange first) {
          Values outer(first.begin(), first.end());
          std::vector<KernelFrame::Row> rows;
          Values bases;
          for (std::int64_t u = 0; u < kRowsAtOnce; ++u) {
            enter(f_.add(row, f_.i64(u)), outer, stage);
            rows.push_back(f_.row());
            bases.push_back(indexBase_);
            outer = nextIndices(outer);
          }
          auto accumulateAll = [&](const Point& point, mlir::ValueRange lanes) {
            Values next;
            for (std::size_t u = 0; u < rows.size(); ++u) {
              f_.returnTo(rows[u]);
              f_.computeAt(point, ids, bases[u]);
              next.push_back(accumulate(point, running[u], {lanes[u], reduction.type()}).value);
            }
            return next;
          };
          const Values results = overBlocks(running, [&](mlir::Value from, mlir::Value to) {
            const mlir::Value tail = f_.add(from, f_.roundDown(f_.sub(to, from), lanes_));
            Values lanes(kRowsAtOnce, reduction.identity(b_, f_.lanes).value);
            lanes = f_.loop(from, tail, lanes_, lanes, [&](mlir::Value at, mlir::ValueRange state) {
              return accumulateAll({at, {}, {}, {}}, state);
            });
            lanes = f_.loop(tail, to, lanes_, lanes, [&](mlir::Value at, mlir::ValueRange state) {
              return accumulateAll(partial(at, to), state);
            });
            Values partials;
            for (mlir::Value v : lanes) partials.push_back(reduction.halve(b_, {{v, reduction.type()}}).value);
            return partials;
          });
          for (std::size_t u = 0; u < rows.size(); ++u) {
            f_.returnTo(rows[u]);
            f_.setValue(running[u].id, reduction.leave(b_, {results[u], reduction.type()}));
            for (int s = stage + 1; s < schedule_.stages(); ++s) f_.computeUniform(s);
            storeRowResults();
          }
          return outer;
        });
    emitWholeRows(whole, behind);
  }

  /// The outer indices of a row, which are counted along instead of divided out of every row's number; none where that
  /// number is the index.
  Values firstIndices(mlir::Value row) { return f_.layout.outerRank > 1 ? f_.splitOuter(row) : Values{}; }

  /// Calls `body` at each of the rows [from, to), entered; `indices` are those of the first. Returns those behind them.
  Values emitPasses(mlir::Value from, mlir::Value to, mlir::ValueRange indices, const std::function<void()>& body) {
    return f_.loop(from, to, 1, indices, [&](mlir::Value row, mlir::ValueRange outer) {
      enter(row, outer);
      body();
      return nextIndices(outer);
    });
  }

  /// `outer` is the indices of the row. Also computes what is uniform in it, up to `stage`.
  void enter(mlir::Value row, mlir::ValueRange outer, int stage = -1) {
    row_ = row;
    f_.enterRow(outer.empty() ? mlir::ValueRange(row) : outer, {});
    indexBase_ = f_.mul(row, f_.inner);
    for (int s = 0; s <= stage; ++s) f_.computeUniform(s);
  }

  Values nextIndices(mlir::ValueRange outer) {
    Values next(outer.begin(), outer.end());
    mlir::Value carry = f_.i64(1);
    for (std::size_t d = next.size(); d-- > 0;) {
      next[d] = f_.add(next[d], carry);
      if (d == 0) break;
      const mlir::Value wraps = f_.equal(next[d], f_.argument(f_.layout.outerSize(static_cast<int>(d))));
      next[d] = mlir::arith::SelectOp::create(f_.ops, b_.loc(), wraps, f_.i64(0), next[d]);
      carry = mlir::arith::ExtUIOp::create(f_.ops, b_.loc(), f_.ops.getI64Type(), wraps);
    }
    return next;
  }

  void emitStage(int stage) {
    f_.computeUniform(stage);
    const bool reduces = !schedule_.reductions(stage).empty();
    if (!reduces && stage != schedule_.storeStage()) return;
    const std::vector<Kept> taken = takenBy(stage);
    keepFrom(stage);
    auto emit = [&](const std::vector<Kept>& of) {
      if (reduces) return emitReductions(stage, of);
      emitPointwise(stage, f_.i64(0), f_.inner, of);
      return Values{};
    };
    std::vector<Kept> inOutputs = taken;
    llvm::erase_if(inOutputs, [](const Kept& k) { return !k.output; });
    const Values results = inOutputs.size() == taken.size()
                               ? emit(taken)
                               : f_.choose(fitsScratch(), [&] { return emit(taken); }, [&] { return emit(inOutputs); });
    if (reduces) setResults(stage, results);
  }

  bool storesRowResults() const {
    return llvm::any_of(f_.signature.outputs, [](const KernelOutput& o) { return o.operand.access == Access::Zero; });
  }
  /// The outputs with one element a row.
  void storeRowResults() {
    for (std::size_t o = 0; o < f_.signature.outputs.size(); ++o) {
      if (f_.signature.outputs[o].operand.access != Access::Zero) continue;
      f_.storeScalar(o, f_.rowBase(f_.signature.inputs.size() + o), f_.value(f_.signature.outputs[o].value));
    }
  }

  void emitPointwise(int stage, mlir::Value from, mlir::Value to, const std::vector<Kept>& taken) {
    const std::vector<std::size_t> outputs = schedule_.outputs(stage);
    const std::vector<std::size_t> ids = schedule_.varyingBehind(schedule_.targets(stage), valuesOf(taken));
    auto load = [&](const Point& point) { loadKept(taken, point); };
    f_.overRange(from, to, f_.cost(ids, load), [&](const Point& point) {
      load(point);
      f_.computeAt(point, ids, indexBase_);
      for (std::size_t o : outputs) f_.storeOutput(o, point);
    });
  }

  static std::vector<std::size_t> valuesOf(const std::vector<Kept>& kept) {
    std::vector<std::size_t> values;
    for (const Kept& k : kept) values.push_back(k.value);
    return values;
  }
  /// Of what earlier passes kept, what the pass of `stage` starts from.
  std::vector<Kept> takenBy(int stage) const {
    std::vector<Kept> taken;
    for (const Kept& k : kept_) {
      std::vector<std::size_t> others = valuesOf(kept_);
      llvm::erase(others, k.value);
      if (llvm::is_contained(schedule_.varyingBehind(schedule_.targets(stage), others), k.value)) taken.push_back(k);
    }
    return taken;
  }
  /// Decides what the pass of `stage`, whose uniform values are there, keeps for later ones.
  void keepFrom(int stage) {
    const std::optional<Schedule::Carried>& carried = schedule_.carried();
    const std::vector<std::size_t> values = f_.worthKeeping(stage, valuesOf(kept_));
    if (carried && llvm::is_contained(values, carried->value)) {
      kept_.push_back({carried->value, stage, carried->output, {}});
      return;
    }
    for (std::size_t id : values) {
      const auto size = static_cast<std::int64_t>(itemSize(schedule_.value(id).dtype));
      kept_.push_back({id, stage, {}, f_.scratch((kKeptElements + f_.lanes) * size)});
    }
  }
  mlir::Value fitsScratch() { return f_.less(f_.inner, f_.i64(kKeptElements + 1)); }
  mlir::Value placeOf(const Kept& k, const Point& point) {
    const mlir::Value place = f_.add(f_.mul(inGroup_, f_.inner), point.i);
    const mlir::Value inside =
        mlir::arith::SelectOp::create(f_.ops, b_.loc(), fitsScratch(), place, f_.i64(kKeptElements));
    return f_.address(k.scratch, f_.memoryType(schedule_.value(k.value).dtype), inside);
  }
  void storeKept(int stage, const Point& point) {
    for (const Kept& k : kept_) {
      if (k.stage != stage) continue;
      if (k.output) {
        f_.storeAsOutput(*k.output, k.value, point);
      } else {
        // Whole vectors: the next row's values come after these.
        f_.storeAt(placeOf(k, point), b_.toVector(f_.value(k.value)).value, schedule_.value(k.value).dtype);
      }
    }
  }
  void loadKept(const std::vector<Kept>& taken, const Point& point) {
    for (const Kept& k : taken) {
      if (k.output) {
        f_.loadFromOutput(*k.output, k.value, point);
      } else {
        const DType t = schedule_.value(k.value).dtype;
        f_.setValue(k.value,
                    {f_.loadAt(placeOf(k, point), mlir::VectorType::get({f_.lanes}, b_.registerType(t)), t), t});
      }
    }
  }

  const KernelStep& stepOf(std::size_t id) const { return f_.signature.steps[id - schedule_.firstStep()]; }
  Reduction reductionOf(std::size_t id) const { return {combinerOf(stepOf(id).op), stepOf(id).dtype}; }

  std::vector<Running> start(int stage) {
    std::vector<Running> running;
    for (std::size_t id : schedule_.reductions(stage)) {
      const Reduction reduction = reductionOf(id);
      const auto size = static_cast<std::int64_t>(itemSize(reduction.type()));
      const std::int64_t levels = leading_ ? lanes_ : kLevelsLength;
      running.push_back({id, stepOf(id).operands[0], reduction, f_.scratch(size * lanes_), f_.scratch(size * levels)});
    }
    return running;
  }

  /// The results of the reductions of `stage` as registers hold them.
  Values emitReductions(int stage, const std::vector<Kept>& taken) {
    const std::vector<Running> running = start(stage);
    return overBlocks(running,
                      [&](mlir::Value from, mlir::Value to) { return emitBlock(stage, from, to, running, taken); });
  }
  /// The results of `reduceBlock`, called with the elements of a block: their partial results.
  Values overBlocks(const std::vector<Running>& running,
                    const std::function<Values(mlir::Value, mlir::Value)>& reduceBlock) {
    const mlir::Value blocks = f_.divide(f_.add(f_.inner, f_.i64(block_ - 1)), f_.i64(block_));
    const mlir::Value several = f_.less(f_.i64(1), blocks);
    Values results;
    for (const Running& r : running) results.push_back(r.reduction.ofNothing(b_).value);
    return f_.loop(f_.i64(0), blocks, 1, results, [&](mlir::Value block, mlir::ValueRange) {
      const auto [from, to] = elementsOf(block);
      const Values partials = reduceBlock(from, to);
      return f_.choose(
          several,
          [&] {
            Values sums;
            for (std::size_t k = 0; k < running.size(); ++k) {
              const Running& r = running[k];
              sums.push_back(throughLevels(r, {partials[k], r.reduction.type()}, block, blocks).value);
            }
            return sums;
          },
          [&] { return partials; });
    });
  }
  void setResults(int stage, const Values& results) {
    const std::vector<std::size_t>& ids = schedule_.reductions(stage);
    for (std::size_t k = 0; k < ids.size(); ++k) {
      const Reduction reduction = reductionOf(ids[k]);
      f_.setValue(ids[k], reduction.leave(b_, {results[k], reduction.type()}));
      for (const Saved& s : saved_) {
        if (s.id == ids[k]) f_.storeAt(placeOf(s), results[k], s.reduction.type());
      }
    }
  }

  mlir::Value placeOf(const Saved& s) { return f_.address(s.results, f_.memoryType(s.reduction.type()), inGroup_); }

  std::pair<mlir::Value, mlir::Value> elementsOf(mlir::Value block) {
    const mlir::Value from = f_.mul(block, f_.i64(block_));
    return {from, f_.minimum(f_.inner, f_.add(from, f_.i64(block_)))};
  }

  /// Level 1 over one block of the row: the block's partial results. Also stores what the stage stores.
  Values emitBlock(int stage, mlir::Value from, mlir::Value to, const std::vector<Running>& running,
                   const std::vector<Kept>& taken) {
    const std::vector<std::size_t> outputs = schedule_.outputs(stage);
    const std::vector<std::size_t> ids = schedule_.varyingBehind(schedule_.targets(stage), valuesOf(taken));

    auto compute = [&](const Point& point) {
      loadKept(taken, point);
      f_.computeAt(point, ids, indexBase_);
    };
    auto store = [&](const Point& point) {
      storeKept(stage, point);
      for (std::size_t o : outputs) f_.storeOutput(o, point);
    };
    const std::size_t cost = f_.cost(ids, [&](const Point& point) { loadKept(taken, point); });
    const bool inRegisters = cost <= kCheapBody && running.size() <= 2;

    auto throughMemory = [&](const Point& point) {
      compute(point);
      const mlir::Value lane = remainderOf(f_.sub(point.i, from), lanes_);
      for (const Running& r : running) {
        const mlir::Value at = f_.address(r.lanes, f_.memoryType(r.reduction.type()), lane);
        storeLanes(at, r, accumulate(point, r, loadLanes(at, r)));
      }
      store(point);
    };
    auto vectorAt = [&](const Running& r, int v) {
      return f_.address(r.lanes, f_.memoryType(r.reduction.type()), f_.i64(std::int64_t{v} * f_.lanes));
    };
    auto loadAll = [&] {
      Values lanes;
      for (const Running& r : running) {
        for (int v = 0; v < vectors_; ++v) lanes.push_back(loadLanes(vectorAt(r, v), r).value);
      }
      return lanes;
    };
    auto storeAll = [&](mlir::ValueRange lanes) {
      std::size_t at = 0;
      for (const Running& r : running) {
        for (int v = 0; v < vectors_; ++v) storeLanes(vectorAt(r, v), r, {lanes[at++], r.reduction.type()});
      }
    };

    auto wholeBlock = [&] {
      Values lanes;
      for (const Running& r : running) {
        for (int v = 0; v < vectors_; ++v) lanes.push_back(r.reduction.identity(b_, f_.lanes).value);
      }
      if (inRegisters) {
        const mlir::Value whole = f_.add(from, f_.roundDown(f_.sub(to, from), lanes_));
        lanes = f_.loop(from, whole, lanes_, lanes, [&](mlir::Value at, mlir::ValueRange state) {
          Values next(state.begin(), state.end());
          for (int v = 0; v < vectors_; ++v) {
            const Point point{f_.add(at, f_.i64(std::int64_t{v} * f_.lanes)), {}, {}, {}};
            compute(point);
            for (std::size_t k = 0; k < running.size(); ++k) {
              mlir::Value& slot = next[k * vectors_ + v];
              slot = accumulate(point, running[k], {slot, running[k].reduction.type()}).value;
            }
            store(point);
          }
          return next;
        });
        lanes = f_.choose(
            f_.less(whole, to),
            [&] {
              storeAll(lanes);
              f_.loop(whole, to, f_.lanes, [&](mlir::Value at) { throughMemory(partial(at, to)); });
              return loadAll();
            },
            [&] { return lanes; });
      } else {
        storeAll(lanes);
        f_.overRange(from, to, cost, throughMemory);
        lanes = loadAll();
      }

      Values partials;
      for (std::size_t k = 0; k < running.size(); ++k) {
        std::vector<Val> mine;
        for (int v = 0; v < vectors_; ++v) mine.push_back({lanes[k * vectors_ + v], running[k].reduction.type()});
        partials.push_back(running[k].reduction.halve(b_, mine).value);
      }
      return partials;
    };
    if (f_.signature.kind == KernelKind::Partial || cost > kDearBody) return wholeBlock();
    // A row that one vector holds, or several and not one: every lane has an element or none, and all stays in
    // registers. A vector that has none is left out, and one that has all is moved whole: to go by a mask takes longer,
    // and to go through memory where there is no mask several times as long.
    auto vectorOfRow = [&](const Point& point) {
      compute(point);
      Values lanes;
      for (const Running& r : running) {
        const Val value = b_.toVector(r.reduction.enter(b_, f_.value(r.operand)));
        const Val none = r.reduction.identity(b_, f_.lanes);
        lanes.push_back(point.count ? b_.select({point.mask, DType::Bool}, value, none).value : value.value);
      }
      store(point);
      return lanes;
    };
    auto noElements = [&] {
      Values lanes;
      for (const Running& r : running) lanes.push_back(r.reduction.identity(b_, f_.lanes).value);
      return lanes;
    };
    auto shortRow = [&](int vectors) {
      std::vector<std::vector<Val>> lanes(running.size());
      for (int v = 0; v < vectors; ++v) {
        const mlir::Value first = f_.i64(std::int64_t{v} * f_.lanes);
        auto some = [&] {
          Point point = partial(f_.add(from, first), f_.add(from, f_.inner));
          point.full = f_.less(f_.i64(std::int64_t{v + 1} * f_.lanes - 1), f_.inner);
          return vectorOfRow(point);
        };
        const Values mine = vectors == 1 ? some()
                            : v == 0     ? vectorOfRow({f_.add(from, first), {}, {}, {}})
                                         : f_.choose(f_.less(first, f_.inner), some, noElements);
        for (std::size_t k = 0; k < running.size(); ++k) lanes[k].push_back({mine[k], running[k].reduction.type()});
      }
      Values partials;
      for (std::size_t k = 0; k < running.size(); ++k)
        partials.push_back(running[k].reduction.halve(b_, lanes[k]).value);
      return partials;
    };
    auto fits = [&](std::int64_t lanes) { return f_.less(f_.inner, f_.i64(lanes + 1)); };
    auto longer = [&] {
      return inRegisters && vectors_ > 1 ? f_.choose(
                                               fits(lanes_), [&] { return shortRow(vectors_); }, wholeBlock)
                                         : wholeBlock();
    };
    return f_.choose(fits(f_.lanes), [&] { return shortRow(1); }, longer);
  }

  /// The lanes with one vector of elements more, which have been computed.
  Val accumulate(const Point& point, const Running& r, Val lanes) {
    const Val value = b_.toVector(r.reduction.enter(b_, f_.value(r.operand)));
    const Val next = r.reduction.accumulate(b_, lanes, value);
    return point.count ? b_.select({point.mask, DType::Bool}, next, lanes) : next;
  }

  Point partial(mlir::Value at, mlir::Value to) {
    return f_.partialPoint(at, f_.minimum(f_.sub(to, at), f_.i64(f_.lanes)));
  }

  Val loadLanes(mlir::Value at, const Running& r) {
    const DType t = r.reduction.type();
    return {f_.loadAt(at, mlir::VectorType::get({f_.lanes}, b_.registerType(t)), t), t};
  }
  void storeLanes(mlir::Value at, const Running& r, Val lanes) { f_.storeAt(at, lanes.value, r.reduction.type()); }

  void emitPartial() {
    const mlir::Value blocks = f_.divide(f_.add(f_.inner, f_.i64(kTrailingBlock - 1)), f_.i64(kTrailingBlock));
    f_.loop(f_.begin, f_.end, 1, [&](mlir::Value unit) {
      const mlir::Value row = f_.divide(unit, blocks);
      const mlir::Value block = f_.remainder(unit, blocks);
      f_.enterRow(f_.splitOuter(row), {});
      indexBase_ = f_.mul(row, f_.inner);
      f_.computeUniform(0);
      const std::vector<Running> running = start(0);
      const auto [from, to] = elementsOf(block);
      const Values partials = emitBlock(0, from, to, running, {});
      for (std::size_t k = 0; k < running.size(); ++k) {
        f_.setValue(running[k].id, running[k].reduction.leave(b_, {partials[k], running[k].reduction.type()}));
      }
      for (std::size_t o = 0; o < f_.signature.outputs.size(); ++o) {
        const std::size_t k = f_.signature.inputs.size() + o;
        const std::size_t value = f_.signature.outputs[o].value;
        TANDEM_CHECK(schedule_.isReduce(value), "output ", o, " of a Partial kernel is no reduction");
        const bool strided = f_.operand(k).access == Access::Strided;
        const mlir::Value offset = strided ? f_.mul(block, f_.argument(f_.layout.innerStride(k))) : block;
        f_.storeScalar(o, f_.address(f_.rowBase(k), f_.memoryType(f_.operand(k).dtype), offset), f_.value(value));
      }
    });
  }

  /// Hands a block's partial to the levels above: the result after the last block.
  Val throughLevels(const Running& r, Val partial, mlir::Value block, mlir::Value blocks) {
    const DType t = r.reduction.type();
    const mlir::Type element = b_.registerType(t);
    if (leading_) {
      f_.when(f_.equal(block, f_.i64(0)), [&] { storeLanes(r.levels, r, r.reduction.identity(b_, f_.lanes)); });
      const mlir::Value lane = f_.address(r.levels, f_.memoryType(t), remainderOf(block, lanes_));
      f_.storeAt(lane, r.reduction.combine(b_, {f_.loadAt(lane, element, t), t}, partial).value, t);
      return r.reduction.halve(b_, {loadLanes(r.levels, r)});
    }
    const mlir::Value at = f_.address(r.levels, element, f_.i64(kLevelsValue));
    f_.storeAt(at, partial.value, t);
    f_.callImport(r.reduction.importName("levels"), {r.levels, block, blocks});
    return {f_.loadAt(at, element, t), t};
  }

  mlir::Value remainderOf(mlir::Value a, std::int64_t powerOfTwo) {
    return mlir::arith::AndIOp::create(f_.ops, b_.loc(), a, f_.i64(powerOfTwo - 1));
  }

  KernelFrame& f_;
  VectorBuilder& b_;
  const Schedule& schedule_;
  const bool leading_;
  const std::int64_t lanes_, block_;  // of the class
  const int vectors_;                 // of the lanes
  mlir::Value row_;
  mlir::Value indexBase_;
  std::vector<Saved> saved_;
  mlir::Value inGroup_;  // the row's number in its group
  std::vector<Kept> kept_;
};

}  // namespace

void emitRowLoops(KernelFrame& frame) { RowLoops(frame).emit(); }

}  // namespace tandem::codegen
