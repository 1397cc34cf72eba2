// The function around a kernel's loops: its arguments, the addresses of its operands, loads and stores of whole and
// partly filled vectors, stack scratch, and the computation of the body's values at a point. row_kernel.cpp,
// column_kernel.cpp and short_kernel.cpp build the loops on it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "codegen/cpu/reduction.h"
#include "codegen/cpu/vector_builder.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/kernel/kernel_signature.h"
#include "runtime/kernel/schedule.h"

namespace tandem::codegen {

/// The place of a vector in the inner loop: lanes are elements i, i + 1, ... (Short: elements i of as many rows); only
/// the first `count` of them exist where count is set (the end of a row).
struct Point {
  mlir::Value i;
  mlir::Value count;  // i64, or null: all lanes
  mlir::Value mask;   // vector of i1, set with count
  mlir::Value full;   // i1, where count may be all lanes, which is then worth a branch; or null
};

/// Bodies of up to so many operations are worth repeating: a reduction keeps several vectors of lanes in registers.
inline constexpr std::size_t kCheapBody = 40;
/// Bodies of up to so many operations wait for memory: several vectors at a time keep more of its lines on their way.
/// A negation over 16 MiB took 0.82 of its time for it, a conversion to bool 0.76.
inline constexpr std::size_t kLightBody = 32;
inline constexpr int kVectorsAtOnce = 4;  // a power of two
/// A value of more operations than this is worth keeping in memory between two passes, but of all the values of a
/// kernel no more than so many bytes an element: they share the nearest caches with the rows of its operands.
inline constexpr std::size_t kKeptBody = 16;
inline constexpr std::size_t kMostKept = 16;
/// Bodies of more operations than this are emitted once, for whole and partly filled vectors alike: half the compile
/// time, but masked stores, which on AVX2 no later load can be forwarded from (a softmax took 1.5 times as long).
inline constexpr std::size_t kDearBody = 160;

class KernelFrame {
 public:
  /// Opens the function `symbol` in `module`; the builder then stands in its body.
  KernelFrame(mlir::ModuleOp module, const KernelSignature& signature, const std::string& symbol, int lanes);
  /// Closes it.
  void finish();

  // Integers of addresses and loops (i64).
  mlir::Value i64(std::int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value divide(mlir::Value a, mlir::Value b);     // of values not negative
  mlir::Value remainder(mlir::Value a, mlir::Value b);  // likewise
  mlir::Value roundDown(mlir::Value a, std::int64_t powerOfTwo);
  mlir::Value minimum(mlir::Value a, mlir::Value b);
  mlir::Value less(mlir::Value a, mlir::Value b);
  mlir::Value equal(mlir::Value a, mlir::Value b);

  using Values = llvm::SmallVector<mlir::Value>;
  /// for (i = from; i < to; i += step) state = body(i, state); returns the last state.
  Values loop(mlir::Value from, mlir::Value to, std::int64_t step, mlir::ValueRange state,
              const std::function<Values(mlir::Value, mlir::ValueRange)>& body);
  void loop(mlir::Value from, mlir::Value to, std::int64_t step, const std::function<void(mlir::Value)>& body);
  Values choose(mlir::Value condition, const std::function<Values()>& then, const std::function<Values()>& otherwise);
  void when(mlir::Value condition, const std::function<void()>& then);

  /// Calls an import that takes a pointer and i64s, and gives nothing.
  void callImport(const std::string& name, mlir::ValueRange arguments);

  // Memory.
  mlir::Value argument(std::size_t at);
  mlir::Value scratch(std::int64_t bytes);
  mlir::Value address(mlir::Value base, mlir::Type element, mlir::Value index);
  mlir::Value loadAt(mlir::Value address, mlir::Type type, DType element);
  void storeAt(mlir::Value address, mlir::Value value, DType element);
  /// A vector of an output, past the caches if the signature says so.
  void storeWhole(mlir::Value address, mlir::Value vector, DType element);
  /// The type of one element of `t` in memory; half types are their bits.
  mlir::Type memoryType(DType t);

  // Operands: k counts inputs, then outputs.
  const KernelOperand& operand(std::size_t k) const;
  /// How many elements from its pointer operand k is at outer indices `outer` and (Column) reduced index `reduced`,
  /// inner index 0; null for none.
  mlir::Value rowOffset(std::size_t k, mlir::ValueRange outer, mlir::Value reduced);
  mlir::Value rowAddress(std::size_t k, mlir::ValueRange outer, mlir::Value reduced);
  /// Splits a linear outer index by the outer sizes.
  Values splitOuter(mlir::Value linear);
  /// Sets where inputs are read and outputs written from here on, and loads the row-uniform inputs.
  void enterRow(mlir::ValueRange outer, mlir::Value reduced);
  /// Sets where outputs are written, and reads no input.
  void enterOutputs(mlir::ValueRange outer);
  [[nodiscard]] mlir::Value rowBase(std::size_t k) const { return bases_[k]; }
  /// Of a framed input: at which of its elements the row begins (none, where negative or too large), how many it has,
  /// and its value elsewhere as memory has it.
  struct Frame {
    mlir::Value place;
    mlir::Value count;
    mlir::Value elsewhere;
  };
  /// Where rows stand and the values loaded or computed there: to have several rows entered at once.
  struct Row {
    std::vector<mlir::Value> bases;
    std::vector<Frame> frames;
    std::vector<Val> values;
  };
  [[nodiscard]] Row row() const { return {bases_, frames_, values_}; }
  void returnTo(const Row& row) {
    bases_ = row.bases;
    frames_ = row.frames;
    values_ = row.values;
  }
  void storeScalar(std::size_t outputIndex, mlir::Value address, Val value);

  /// Computes the needed values that are made of scalars alone.
  void computeConstants();
  /// Computes the other needed row-uniform values of `stage`. Results of reductions come in by setValue.
  void computeUniform(int stage);
  void setValue(std::size_t id, Val value) { values_[id] = value; }
  [[nodiscard]] const Val& value(std::size_t id) const { return values_[id]; }
  /// Computes varying values (ids in order, from Schedule::varyingBehind) at a point. `indexBase` is the linear index
  /// of inner index 0 of the row.
  void computeAt(const Point& point, const std::vector<std::size_t>& ids, mlir::Value indexBase);
  /// Stores output number `o` at a point.
  void storeOutput(std::size_t o, const Point& point) { storeAsOutput(o, signature.outputs[o].value, point); }
  /// Keeps a value of the output's dtype in its memory for a later pass, and takes it from there.
  void storeAsOutput(std::size_t o, std::size_t id, const Point& point);
  void loadFromOutput(std::size_t o, std::size_t id, const Point& point);
  /// A point whose lanes end after `count` elements, at most all of them; none below 1.
  Point partialPoint(mlir::Value i, mlir::Value count);
  /// A mask of the first `count` lanes, 0 to all.
  mlir::Value firstLanes(mlir::Value count);
  /// Calls `body`, which takes `cost` operations, with points that cover [from, to): a loop over whole vectors and a
  /// partly filled one behind it, which has the body twice; for a light body a loop over several vectors before these;
  /// for a dear one a single loop that tells the last vector apart when it loads and stores.
  void overRange(mlir::Value from, mlir::Value to, std::size_t cost, const std::function<void(const Point&)>& body);
  /// How many operations the computation of `ids` at a point takes; `before` sets values it needs that are loaded
  /// there.
  std::size_t cost(const std::vector<std::size_t>& ids, const std::function<void(const Point&)>& before = {});
  /// Of the values that the pass of `stage` hands on to later ones, those that take more to compute again than to take
  /// from memory, where the values `kept` so far are taken from there too. The pass's uniform values are computed.
  std::vector<std::size_t> worthKeeping(int stage, std::vector<std::size_t> kept);

  const KernelSignature& signature;
  const Schedule schedule;
  const ArgLayout layout;
  mlir::ModuleOp module;
  mlir::OpBuilder ops;
  VectorBuilder b;
  const int lanes;
  mlir::Value begin;
  mlir::Value end;
  mlir::Value inner;  // n

 private:
  Val fromMemory(mlir::Value memory, DType t);
  mlir::Value toMemory(Val value, DType t);
  /// How far the lanes of a vector of operand k are apart; null where they are beside each other in any case.
  mlir::Value laneStride(std::size_t k);
  /// All lanes of operand k from `first` on, `stride` elements apart.
  mlir::Value loadLanes(std::size_t k, mlir::Value first, mlir::Value stride);
  void storeLanes(std::size_t k, mlir::Value first, mlir::Value stride, mlir::Value vector);
  mlir::Value loadVector(std::size_t k, const Point& point);
  mlir::Value loadFramed(std::size_t k, const Point& point);
  void storeVector(std::size_t k, const Point& point, mlir::Value value);
  /// Stores what several vectors' turns gathered of outputs with narrow elements, from inner index i on.
  void storeGathered(mlir::Value i);
  bool masksInMemory(std::size_t k) const;
  Val computeStep(std::size_t id);

  mlir::Block* entry_ = nullptr;
  mlir::Value args_;
  mlir::Value bounce_;  // one vector, through which partly filled vectors pass that have no masked instruction
  std::vector<mlir::Value> argumentCache_;
  std::vector<mlir::Value> bases_;
  std::vector<Frame> frames_;
  std::vector<Val> values_;
  /// In a loop over several vectors: those of each operand with elements narrower than a float32's, which are stored at
  /// once, as full vectors (a comparison of 16 MiB took 0.65 of its time).
  std::vector<Values> gathered_;
};

/// Fill `frame` with the loops of a Row or Partial, a Column, or a Short kernel.
void emitRowLoops(KernelFrame& frame);
void emitColumnLoops(KernelFrame& frame);
void emitShortLoops(KernelFrame& frame);

}  // namespace tandem::codegen
