// The text of a kernel around its loops: arguments, the addresses of its operands, loads, stores, and the computation
// of the body's values at a point. row_text.cpp, column_text.cpp and across_text.cpp write the loops on it.
//
//   extern "C" __global__ void SYMBOL(const __grid_constant__ Args args, long long begin, long long end)
//
// `Args` is the argument block of the signature (runtime/kernel/kernel_signature.h) by value, [begin, end) its units.
// Which threads take which units follows from the launch (runtime/device/cuda/launch_shape.h); any launch of the shape
// that a kernel's kind has gives the same bits:
//   elementwise and rows without reductions   threads along x, in strides of the grid
//   rows with reductions, Partial             x: warps of one row (a block of a row), y: rows, in strides of the grid
//   Column                                    x: 32 columns, y: the lanes of the order
//   Short                                     x: 32 rows, y: eight threads of a row
//   List                                      as the kernel of an entry, and entries along the grid's y
#pragma once

#include <string>
#include <vector>

#include "codegen/combiner.h"
#include "codegen/cuda/text_builder.h"
#include "runtime/kernel/kernel_signature.h"
#include "runtime/kernel/schedule.h"

namespace tandem::codegen::cuda {

/// The whole text of a kernel, without the prelude.
std::string kernelText(const KernelSignature& signature, const std::string& symbol);

class KernelText {
 public:
  /// Opens the function; what is written next stands in its body.
  KernelText(const KernelSignature& signature, const std::string& symbol);
  /// Closes it: the text.
  std::string finish();

  using Names = std::vector<std::string>;

  /// An entry of the argument block.
  [[nodiscard]] static std::string argument(std::size_t at) { return "args.at[" + std::to_string(at) + "]"; }
  [[nodiscard]] const KernelOperand& operand(std::size_t k) const;
  /// Is operand k, an input or output that moves with the inner index, contiguous along it?
  [[nodiscard]] bool isUnit(std::size_t k) const { return operand(k).access == Access::Unit; }

  /// The outer indices of a linear one.
  Names splitOuter(const std::string& linear);
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

  /// Computes varying values (from Schedule::varyingBehind) at inner index `i`, reading inputs one element each.
  void computeAt(const std::string& i, const std::vector<std::size_t>& ids);
  /// Stores output number `o` at inner index `i`.
  void storeOutput(std::size_t o, const std::string& i);
  /// Computes and stores `outputs` at elements [i, i + count) of the row, `width` of them at most.
  void computeAndStore(const std::vector<std::size_t>& outputs, const std::string& i, const std::string& count,
                       int width);
  /// For loops that move elements themselves: what an element of operand k is in memory, where its row begins, the
  /// value of what was there, and what is there for output `o`.
  [[nodiscard]] const char* memoryType(std::size_t k) const;
  std::string rowOf(std::size_t k, const Names& outer);
  Text fromMemory(const std::string& memory, DType t);
  std::string toMemory(std::size_t o);
  /// How many elements of these outputs a thread best takes at once.
  int widthFor(const std::vector<std::size_t>& outputs);
  /// How many statements the computation of `ids` at a point takes.
  std::size_t cost(const std::vector<std::size_t>& ids);
  /// The linear index of inner index 0 of the row, for bodies that know their place.
  void setIndexBase(std::string base) { indexBase_ = std::move(base); }

  const KernelSignature& signature;
  const Schedule schedule;
  const ArgLayout layout;
  TextBuilder b;

 private:
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
  std::vector<std::size_t> behind(const std::vector<std::size_t>& outputs) const;

  std::string indexBase_;
  std::vector<std::string> bases_;  // of operands, where the row is
  struct Frame {
    std::string place, count, elsewhere;
  };
  std::vector<Frame> frames_;
  std::vector<Text> values_;
};

/// One reduction of a stage, and the names of what its loops keep for it.
struct Running {
  std::size_t id;  // of the step
  std::size_t operand;
  Combiner combiner;
  std::string lanes{};   // of level 1
  std::string second{};  // of level 2
  std::string total{};   // the result, in every thread that shares a row or column
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

/// Write the loops of a Row or Partial, a Column, and a Short kernel.
void writeRowLoops(KernelText& kernel);
void writeColumnLoops(KernelText& kernel);
void writeAcrossLoops(KernelText& kernel);

}  // namespace tandem::codegen::cuda
