// The text of a kernel around its loops: arguments, the addresses of its operands, loads, stores, and the computation
// of the body's values at a point. element_text.cpp, row_text.cpp, column_text.cpp and across_text.cpp write the loops
// on it.
//
//   extern "C" __global__ void SYMBOL(const __grid_constant__ Args args, long long begin, long long end)
//
// `Args` is the argument block of the signature (runtime/kernel/kernel_signature.h) by value, [begin, end) its units,
// of which a launch takes all: begin is 0. Which threads take which units follows from the launch
// (runtime/device/cuda/launch_shape.h); any launch of the shape that a kernel's kind has gives the same bits:
//   elementwise and rows without reductions   threads along x, in strides of the grid
//                                             (a block of elements first computes what all of them share)
//   rows with reductions, Partial             x: warps of one row (a block of a row), y: rows, in strides of the grid;
//                                             what shared memory there is besides (row_text.cpp)
//   Column                                    x: 32 columns, y: the lanes of the order
//   Short                                     x: 32 rows, y: eight threads of a row
//   List                                      as the kernel of an entry, and entries along the grid's y
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "codegen/combiner.h"
#include "codegen/cuda/text_builder.h"
#include "runtime/kernel/kernel_signature.h"
#include "runtime/kernel/schedule.h"

namespace tandem::codegen::cuda {

/// The functions of a kernel: its own, and of a kernel that keeps rows (runtime/device/cuda/kept_rows.h) one for brief
/// rows, which stay in registers.
enum class Entry : std::uint8_t { Whole, Brief };
/// The name of one.
std::string entryName(const std::string& symbol, Entry entry);

/// How many blocks of a function a multiprocessor is to hold at least, which bounds the registers of a thread. Many
/// threads hide the waiting for memory, but registers that spill cost more than that: there are several bounds to try
/// for each function, one after the other.
struct Tries {
  std::array<std::size_t, 2> of{};  // by Entry
  /// Goes on with a function; false where there is no other bound.
  bool next(const KernelSignature& signature, Entry entry);
  /// The last of each, which bounds nothing.
  static Tries last(const KernelSignature& signature);
};

/// The whole text of a kernel, without the prelude.
std::string kernelText(const KernelSignature& signature, const std::string& symbol, const Tries& tries);

/// Bodies of so few statements cost next to nothing: they wait for memory alone.
inline constexpr std::size_t kCheapest = 6;

class KernelText {
 public:
  /// Opens the function; what is written next stands in its body.
  KernelText(const KernelSignature& signature, std::string symbol, const Tries& tries);
  /// Closes it, and opens another one.
  void nextFunction(Entry entry);
  /// Closes it: the text.
  std::string finish();

  using Names = std::vector<std::string>;

  /// An entry of the argument block.
  [[nodiscard]] static std::string argument(std::size_t at) { return "args.at[" + std::to_string(at) + "]"; }
  [[nodiscard]] const KernelOperand& operand(std::size_t k) const;
  /// Is operand k, an input or output that moves with the inner index, contiguous along it?
  [[nodiscard]] bool isUnit(std::size_t k) const { return operand(k).access == Access::Unit; }
  /// Is a value an input that lies in a frame?
  [[nodiscard]] bool isFramed(std::size_t id) const {
    return id < signature.inputs.size() && operand(id).access == Access::Framed;
  }

  /// The outer indices of a linear one.
  Names splitOuter(const std::string& linear);
  /// Are numbers of the space known to be below 2^32 from here on?
  void countShort(bool isShort) { divide_ = isShort ? "divideShort(" : "divide("; }
  /// a / b of such numbers.
  [[nodiscard]] std::string quotient(const std::string& a, const std::string& b) const {
    return divide_ + a + ", " + b + ")";
  }
  /// Sets where inputs are read and outputs written from here on, and loads the row-uniform inputs. `reduced` (Column)
  /// is empty for none.
  void enterRow(const Names& outer, const std::string& reduced);
  /// Sets where outputs are written, and reads no input.
  void enterOutputs(const Names& outer);

  /// Values made of scalars alone; then the other row-uniform ones of a stage. Results of reductions come by setValue.
  void computeConstants();
  void computeUniform(int stage);
  void setValue(std::size_t id, Text value) { values_[id] = std::move(value); }
  [[nodiscard]] const Text& value(std::size_t id) const { return values_[id]; }

  /// Where the row of input k begins, which does not lie in a frame.
  [[nodiscard]] const std::string& row(std::size_t k) const { return bases_[k]; }
  /// Has input k be read from `row` instead, and a varying value be read from there instead of computed, until the next
  /// row is entered.
  void readFrom(std::size_t k, std::string row) { bases_[k] = std::move(row); }
  void carryIn(std::size_t id, std::string row);
  /// The varying values that `targets` depend on and that are computed or read for them, in order.
  [[nodiscard]] std::vector<std::size_t> behind(const std::vector<std::size_t>& targets) const;
  /// Is a value of `behind` read where it is, as inputs are?
  [[nodiscard]] bool isRead(std::size_t id) const { return id < signature.inputs.size() || !carried_[id].empty(); }
  /// Computes varying values (from `behind`) at inner index `i`, reading inputs one element each, or having read them:
  /// where several are read before any is computed of, they are in arrays, by value.
  using Arrays = std::vector<std::string>;
  void computeAt(const std::string& i, const std::vector<std::size_t>& ids, const Arrays& arrays = {},
                 const std::string& at = "");
  Arrays declareArrays(const std::vector<std::size_t>& ids, int each);
  void readInto(const Arrays& arrays, const std::vector<std::size_t>& ids, const std::string& at, const std::string& i);
  /// Stores output number `o` at inner index `i`.
  void storeOutput(std::size_t o, const std::string& i);
  /// Computes and stores `outputs` at elements [i, i + count) of the row, `width` of them at most, i a multiple of it:
  /// elements are aligned where rows are.
  void computeAndStore(const std::vector<std::size_t>& outputs, const std::string& i, const std::string& count,
                       int width) {
    computeInto(placesOf(outputs), i, count, width);
  }
  /// The same of a varying value, into `row`.
  void computeAndCarry(std::size_t id, const std::string& row, const std::string& i, const std::string& count,
                       int width) {
    computeInto({{id, cudaType(computeType(schedule.value(id).dtype)), row}}, i, count, width);
  }
  /// For loops that move elements themselves: what an element of operand k is in memory, where its row begins, the
  /// value of what was there, and what is there for output `o`.
  [[nodiscard]] const char* memoryType(std::size_t k) const;
  std::string rowOf(std::size_t k, const Names& outer);
  Text fromMemory(const std::string& memory, DType t, bool uniform = false);
  std::string toMemory(std::size_t o);
  /// How many elements of these outputs a thread best takes at once.
  int widthFor(const std::vector<std::size_t>& outputs) { return widthOf(placesOf(outputs)); }
  int widthToCarry(std::size_t id) { return widthOf({{id, cudaType(computeType(schedule.value(id).dtype)), ""}}); }
  /// Do these read elements of 4 bytes or more?
  [[nodiscard]] bool readsWide(const std::vector<std::size_t>& ids) const;
  /// How many statements the computation of `ids` at a point takes.
  std::size_t cost(const std::vector<std::size_t>& ids);
  /// The linear index of inner index 0 of the row, for bodies that know their place.
  void setIndexBase(std::string base) { indexBase_ = std::move(base); }

  const KernelSignature& signature;
  const Schedule schedule;
  const ArgLayout layout;
  TextBuilder b;

 private:
  void openFunction(Entry entry);
  /// Of a List kernel: opens the loop over entries, in which `begin`, `end` and `n` are those of one.
  void enterEntry();
  void readPointer(std::size_t k, const std::string& from);
  void readScalar(std::size_t j, std::size_t at);
  [[nodiscard]] std::string name(std::size_t k) const;
  /// How many elements from its pointer operand k is at these indices; empty for none.
  std::string offset(std::size_t k, const Names& outer, const std::string& reduced);
  [[nodiscard]] std::string place(std::size_t k, const std::string& i) const;
  std::string framedElement(std::size_t k, const std::string& i);
  Text computeStep(std::size_t id);
  /// What elements of a value that is read are where they lie, and one of them.
  [[nodiscard]] const char* typeThere(std::size_t id) const;
  std::string elementThere(std::size_t id, const std::string& i);
  Text valueOf(std::size_t id, const std::string& element);
  /// Where the elements of a row of a value go: an output's, or an array of their own.
  struct Place {
    std::size_t value;
    std::string type;
    std::string row;
    std::optional<std::size_t> output{};
  };
  std::vector<Place> placesOf(const std::vector<std::size_t>& outputs) const;
  std::vector<std::size_t> behind(const std::vector<Place>& places) const;
  int widthOf(const std::vector<Place>& places);
  void computeInto(const std::vector<Place>& places, const std::string& i, const std::string& count, int width);

  const std::string symbol_;
  const Tries tries_;
  std::string indexBase_;
  std::string divide_ = "divide(";
  std::vector<std::string> bases_;  // of operands, where the row is
  struct Frame {
    std::string place, count, elsewhere;
  };
  std::vector<Frame> frames_;
  std::vector<std::string> carried_;  // of values, where they are read
  std::vector<Text> values_;
};

/// One reduction of a stage, and the names of what its loops keep for it.
struct Running {
  std::size_t id;  // of the step
  std::size_t operand;
  Combiner combiner;
  bool isExtreme = false;  // found by the instruction for it (row_text.cpp)
  std::string lanes{};     // of level 1
  std::string second{};    // of level 2
  std::string total{};     // the result, in every thread that shares a row or column
};
/// Those of a stage, without names.
std::vector<Running> reductionsOf(const KernelText& kernel, int stage);
/// Has their results be the values of their steps.
void finish(KernelText& kernel, const std::vector<Running>& running);

/// The identity of a reduction, and what reducing no element gives.
Text identity(TextBuilder& b, const Combiner& combiner);
Text ofNothing(TextBuilder& b, const Combiner& combiner);
/// `from` of `lanes` lanes of 32 columns each, by halving, into `to` of every lane: over `memory`, lines of `width`.
void halveLanes(TextBuilder& b, const Combiner& combiner, int lanes, const std::string& memory, int width,
                const std::string& from, const std::string& to);

/// Write the loops of kernels of elements, a Row or Partial, a Column, and a Short kernel.
void writeElementLoops(KernelText& kernel);
void writeRowLoops(KernelText& kernel);
void writeColumnLoops(KernelText& kernel);
void writeAcrossLoops(KernelText& kernel);

}  // namespace tandem::codegen::cuda
