// A shape program: the plan of one trace as a function of its sizes. It is read off a program that the passes have
// placed (recordShapeProgram); for another trace of the same structure, which differs in sizes alone, it writes the
// plan that these decisions give, without a pass and in microseconds:
//
//   kept             which operations share a kernel, what runs when, which values share a memory
//   computed anew    windows, the spaces of kernels and how operands move in them, library operands, the arena
//
// Nothing is taken for granted of the other sizes. Each step is checked on them: that operands read what they read
// before (trace_values.h), that the dims of what shares a kernel are still the same, that what is overwritten may be.
// Where a check fails there is no plan, and the passes make one. So do sizes of which the target would have other
// things fused (few long rows, values that no longer stay in a cache).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/trace/trace.h"
#include "passes/arena.h"
#include "passes/plan_text.h"
#include "runtime/kernel/kernel_signature.h"

namespace tandem::passes {

/// What traces that differ in sizes alone have in common: operations, operands, dtypes, ranks, which dims are 1, where
/// results go. Nothing where a value is empty: other rules hold then.
std::optional<Hash128> structureOf(const Trace& trace, const std::vector<TraceOutput>& outputs);

class ShapeProgram {
 public:
  /// The plan of a trace of the structure; null where a check fails.
  [[nodiscard]] std::shared_ptr<Plan> planFor(const Trace& trace, const std::vector<TraceOutput>& outputs) const;
  [[nodiscard]] std::size_t numInstrs() const { return instrs_.size(); }

 private:
  friend class ShapeRecorder;
  friend class ShapeRun;

  /// A value in memory: what `ref` is in the trace. A `copy` holds what a window shows, others what a node makes.
  struct Value {
    ValueRef ref;
    bool copy = false;
    std::uint32_t memory = 0;
    std::optional<std::uint32_t> write;  // the node of the write in whose window a region stores it
  };
  /// `value` read as what `ref` is in the trace.
  struct Read {
    std::uint32_t value = 0;
    ValueRef ref;
    bool absent = false;
  };
  /// Where an operand in a region comes from: input `number` of the region, or its member `number`, which makes `made`.
  struct Source {
    bool inside = false;
    std::uint32_t number = 0;
    ValueRef made;
  };
  struct Member {
    std::uint32_t node = 0;
    Dims alignment;               // the dims of the space that those of the operation, other than of size 1, run along
    std::vector<Source> sources;  // of the node's operands that are values
  };
  struct Instr {
    enum class Kind : std::uint8_t { Region, Library, Copy, Write } kind = Kind::Library;
    std::uint32_t node = 0;               // whose line errors name: the last member of a region; not of a copy
    std::vector<Read> reads;              // Region: none; Write: the base, then what is written
    std::vector<std::uint32_t> inputs;    // Region: values
    std::vector<std::uint32_t> results;   // values
    std::vector<std::uint32_t> scalars;   // slots
    std::vector<Member> members;          // Region
    std::vector<std::uint32_t> resultOf;  // Region: of each result the member that makes it
    KernelSignature body;                 // Region: of which accesses are computed anew
    std::string bodyText;                 // as long as they are the same
    std::vector<std::size_t> strided;     // Region: inputs that are read through contiguous memory
    RegionText text;
    std::size_t rank = 0;  // of the space, of which the dims [begin, end) are reduced
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  /// The answers on which what is fused depends, of a target.
  using Answers = std::vector<bool>;
  std::shared_ptr<Plan> planFor(const Trace& trace, const std::vector<TraceOutput>& outputs, Answers& answers) const;

  std::vector<Value> values_;
  std::vector<MemoryLife> memories_;
  std::vector<Instr> instrs_;
  std::vector<Read> outputs_;          // of the trace, in order
  std::vector<std::uint32_t> shared_;  // values that several regions read
  std::vector<std::uint32_t> made_;    // values that a region makes and others read
  Answers answers_;
};

}  // namespace tandem::passes
