// A plan: what a graph was compiled to. Flat instructions over buffers, plain data but for the resolved kernels and
// functions; run many times, by any number of threads at once.
//
//   buffers   inputs (memory the caller gives), outputs (memory the plan allocates for the caller), temporaries (places
//             in one arena, laid out by lifetime)
//   slots     run-time scalars: constants, arguments of the call, the random generator's state, and double arithmetic
//             on those
//   instrs    in order; each a kernel launch, a library call or a copy
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/intrusive.h"
#include "runtime/base/scalar.h"
#include "runtime/device/device.h"
#include "runtime/device/executor.h"
#include "runtime/memory/storage.h"

namespace tandem {

struct PlanBuffer {
  enum class Kind : std::uint8_t { Input, Output, Temporary } kind;
  std::uint32_t index = 0;        // which input or output
  std::uint64_t arenaOffset = 0;  // of a temporary, 64-byte aligned
  std::uint64_t bytes = 0;
};

/// A run-time scalar. Slots are evaluated in order at the start of a run; `a` and `b` name earlier slots.
struct ScalarSlot {
  enum class Source : std::uint8_t {
    Constant,   // value
    Argument,   // the call's scalar argument number `a`
    RngSeed,    // the generator's seed
    RngOffset,  // the generator's offset at entry plus `a`
    Add,
    Sub,
    Mul,
    Div,
    Pow,
    Neg,
    FloorDiv,
    Mod,  // on a, b: Python's float (or int) arithmetic
    Sqrt,
    Exp,
    Log,
    Sin,
    Cos,
    Tanh,  // of a, as Python's module math
  };
  Source source = Source::Constant;
  Scalar value;  // a constant's value; of others what it was while tracing
  std::int32_t a = -1;
  std::int32_t b = -1;

  /// Of other slots: `a` and perhaps `b` are their numbers.
  bool isComputed() const { return source >= Source::Add; }
};

/// Memory as an instruction sees it.
struct PlanOperand {
  std::uint32_t buffer = 0;
  std::uint64_t byteOffset = 0;
  DType dtype = DType::Float32;
  // Of library calls, copies, and those inputs of kernels that are read through contiguous memory.
  Dims shape;
  Dims strides;  // in elements
  bool absent = false;
};

struct PlanInstr {
  enum class Kind : std::uint8_t { Kernel, Library, Copy } kind;
  std::uint32_t function = 0;         // index into Plan::kernels or Plan::library
  std::vector<PlanOperand> operands;  // inputs, then outputs (Copy: from, to)
  std::uint32_t numInputs = 0;
  std::vector<std::uint32_t> scalars;  // slots
  std::vector<std::int64_t> attrs;     // Library
  std::vector<std::int64_t> args;      // Kernel: the argument block; pointers and scalars are filled in at run time
  LaunchSpace space;                   // Kernel
  bool strided = false;                // Kernel: are inputs read through contiguous memory? Those have strides
  std::string line;                    // the user's line, `file:line`, for errors
};

/// A place in the resolved argument blocks or views that a run fills in.
struct PlanPatch {
  std::uint32_t at = 0;
  std::uint32_t source = 0;      // a buffer or a slot
  std::uint64_t byteOffset = 0;  // of a pointer into its buffer
  DType dtype = DType::Int64;    // of a scalar: Int64 or Float64
};

struct Plan {
  Device device;  // where all buffers are and all instructions run
  std::vector<PlanBuffer> buffers;
  std::vector<ScalarSlot> slots;
  std::vector<PlanInstr> instrs;
  std::vector<KernelSignature> kernels;
  std::vector<std::string> library;  // names, see libraryFunction
  std::uint64_t arenaBytes = 0;
  std::uint32_t numInputs = 0;
  std::uint32_t numOutputs = 0;
  std::uint32_t numRandom = 0;  // the generator's offset advances by this
  std::string explanation;      // what the passes did, for explain()
  /// Of each instruction how many from it on are a list (ir/trace/plan_lists.h); empty where nobody looked for them.
  std::vector<std::uint32_t> lists;

  // resolved by `resolvePlan`
  std::uint64_t number = 0;           // of what is resolved, no two alike in a process
  std::size_t firstChange = 0;        // the first instruction that writes to an input
  bool checksSizes = false;           // and waits for what it finds: sizes that depend on data
  std::int64_t elements = 0;          // that the instructions go through, together
  std::vector<const Kernel*> loaded;  // the kernels
  std::vector<LibraryFn> libraryFns;
  std::vector<std::int64_t> blocks;       // the argument blocks of all kernels, one behind the other
  std::vector<ArrayView> views;           // the operands of all library calls, likewise
  std::vector<std::uint32_t> starts;      // of an instruction's block in `blocks`
  std::vector<std::uint32_t> viewStarts;  // of its views in `views`
  std::vector<PlanPatch> pointerPatches;  // into blocks
  std::vector<PlanPatch> scalarPatches;   // into blocks
  std::vector<PlanPatch> viewPatches;     // into views
};

/// Looks up the plan's kernels (compiling in parallel what the caches lack) and library functions, and lays out what
/// runs copy and patch. With `module` kernels are looked up there and nothing is compiled. InternalError where the plan
/// contradicts itself, or the module lacks a kernel.
void resolvePlan(Plan& plan, const KernelModule* module = nullptr);
/// What the plan launches, for its executor. The kernels must be loaded.
std::vector<LaunchPreview> launchesOf(const Plan& plan);

struct PlanRun {
  std::span<void* const> inputs;      // one pointer an input buffer
  std::span<void* const> outputs;     // one pointer an output buffer, allocated by the caller
  std::span<const Scalar> arguments;  // scalar arguments
  std::int64_t seed = 0;
  std::int64_t offset = 0;
  /// The slots of the trace that is run: a plan serves all traces of one structure, whose constants differ. Empty: the
  /// plan's own.
  std::span<const ScalarSlot> slots;
};
/// What a run works in: it remembers what the last run was made of, so that the next one of the same plan changes only
/// what moved. Of one thread at a time.
struct PlanWorkspace {
  std::uint64_t plan = 0;    // whose blocks and views these are; 0: of none
  std::vector<char*> bases;  // one a buffer
  std::vector<char> moved;   // of a buffer: is it elsewhere than the last time?
  std::vector<Scalar> slots;
  std::vector<std::int64_t> blocks;
  std::vector<ArrayView> views;
};

/// The operands that an instruction writes. Of a plan that nobody checked, too.
std::span<const PlanOperand> writtenBy(const Plan& plan, const PlanInstr& instr);

/// Memory ran out in the middle of a run, after it had changed what others can see: it cannot be made again.
class UnfinishedRun : public OutOfMemoryError {
 public:
  using OutOfMemoryError::OutOfMemoryError;
};

/// Runs the instructions in order. Errors of library calls (index checks) carry the instruction's line.
void runPlan(const Plan& plan, const PlanRun& run);
/// In memory of the caller's: an arena of the plan's `arenaBytes`, 64-byte aligned, on the plan's device.
void runPlan(const Plan& plan, const PlanRun& run, void* arena, PlanWorkspace& work);

}  // namespace tandem
