// What a saved program says, as plain data: what `manifest.fbs` describes, in the types of the runtime. The export
// makes one, the reader of a file gives one back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/plan/plan.h"

namespace tandem::program {

/// Minor versions: 0; 1 has symbols of kernels that follow from their signatures (kernel_symbol.h), and the
/// hash of the weights' header; 2 may have the code of library functions; 3 has bounds of numbers; 4 says of arguments
/// that they were on the CPU, and may compute numbers by functions of the module math; 5 has kernels of which some
/// inputs are strided.
inline constexpr std::uint16_t kMajor = 1;
inline constexpr std::uint16_t kMinor = 5;

/// A kernel of the plans, or one that launches run in its stead.
struct KernelData {
  KernelSignature signature;
  /// One a target, as in ProgramData, empty where no launch there needs its code; none where none does.
  std::vector<std::string> symbols;
};

/// A text of kernels that library functions launch on a GPU. Whose code it is is in its symbol, a hash of text and
/// target: a version that has another text does not find it, and needs a compiler.
struct SourceData {
  std::string name;                  // for people
  std::vector<std::string> symbols;  // one a target, empty where the code of that has none; of one target no two alike
};

/// Bytes of the weights that tensors of the state lie in. Those that an entry changes belong to each context.
struct MemoryData {
  std::string name;
  std::uint64_t offset = 0;  // in the weights' member
  std::uint64_t bytes = 0;
  bool changes = false;
};

struct StateData {
  enum class Kind : std::uint8_t { Parameter, Buffer, Other } kind = Kind::Other;
  std::string name;
  std::uint32_t memory = 0;
  std::uint64_t offset = 0;  // in bytes
  DType dtype = DType::Float32;
  Dims shape;
  Dims strides;  // in elements
};

struct ArgumentData {
  std::string name;
  DType dtype = DType::Float32;
  Dims shape;
  bool changes = false;  // the entry writes to it
  bool onHost = false;   // it was on the CPU beside tensors on a GPU, where calls may have it, too
};

/// A number that a call may give.
struct NumberData {
  std::string name;
  Scalar value;  // otherwise
  /// Any other, one that is zero if and only if this is, or this alone: what was compiled may depend on it.
  enum class Freedom : std::uint8_t { Any, SameZero, Fixed } freedom = Freedom::Any;
};

struct PlaceData {
  enum class Origin : std::uint8_t { Fresh, Argument, Memory, Nothing } origin = Origin::Nothing;
  std::uint32_t index = 0;
  std::uint64_t offset = 0;  // in bytes
};

struct ResultData {
  std::string name;
  DType dtype = DType::Float32;
  Dims shape;
  Dims strides;
  PlaceData place;
};

/// A size that calls choose, as `batch` in `float32[batch, 784]`: from `least` to `most`.
struct SizeData {
  std::string name;
  std::int64_t least = 0;
  std::int64_t most = 0;
  std::int64_t example = 0;  // that the entry itself is for
};

/// A dim of an argument, or of a result, that follows from a size: it is factor * size + add.
struct SizedDim {
  std::uint32_t tensor = 0;
  std::uint32_t dim = 0;
  std::uint32_t size = 0;
  std::int64_t factor = 1;
  std::int64_t add = 0;
};

/// A number as a function of the sizes n: along size i, n = first + residue + period * k with a residue below the
/// period, and for each combination of residues a polynomial of the k, its terms products of binomials C(k, power).
/// With one size of period 16 and degree 1 there are 32 coefficients: residue 0's constant and slope, residue 1's ...
struct SizeFunction {
  struct Along {
    std::uint32_t period = 1;
    std::uint32_t degree = 0;
  };
  std::vector<Along> along;                // one a size
  std::vector<std::int64_t> coefficients;  // row-major: by residues, then by powers
};

/// The number at a position (sizes.h says how they are counted) is what a function gives.
struct VaryingData {
  std::uint32_t position = 0;
  std::uint32_t function = 0;
};

/// The next `count` combinations of sizes, row-major, have this form: 0 the entry itself, then the others.
struct ChoiceData {
  std::uint32_t form = 0;
  std::uint32_t count = 0;
};

/// What a slot of the plan is at most in magnitude, as a dtype has to hold it that an operation uses it as: of an
/// infinity and NaN that is no bound. A call with a greater one is refused.
struct BoundData {
  std::uint32_t slot = 0;
  double most = 0;
};

struct EntryData {
  std::string name;
  std::vector<ArgumentData> arguments;
  std::vector<NumberData> numbers;
  std::vector<ResultData> results;
  std::vector<PlaceData> inputs;     // of the plan
  std::vector<std::uint64_t> fresh;  // bytes of the plan's outputs
  Plan plan;
  std::vector<std::uint32_t> kernels;  // of the plan, among those of the program
  std::string tree;
  std::vector<BoundData> bounds;

  // Of an entry whose sizes calls choose. It is a form: other sizes change numbers in it. Where a plan has another
  // structure for some sizes there are other forms, each with functions of its own.
  std::vector<SizeData> sizes;
  std::vector<SizedDim> bound;  // dims of arguments; all others are what they are in the example
  std::vector<SizedDim> given;  // dims of results, those that follow from one size like that
  std::vector<ChoiceData> choice;
  std::vector<EntryData> others;
  std::vector<std::int64_t> firsts;  // of this form: from where its functions count, one a size
  std::vector<SizeFunction> functions;
  std::vector<VaryingData> varying;
};

struct MemberData {
  std::string name;
  std::string sha256;  // 32 bytes
};

struct ProgramData {
  std::uint16_t minor = kMinor;  // what is written again stays what it was
  std::string producer;
  std::vector<std::string> targets;
  std::vector<KernelData> kernels;
  std::vector<SourceData> sources;
  std::vector<MemoryData> memories;
  std::vector<StateData> state;
  std::vector<EntryData> entries;
  std::vector<MemberData> members;  // all but the manifest
  std::string weightsHeader;        // SHA-256 of the header of the weights, which has that of their elements
  std::vector<std::pair<std::string, std::string>> notes;
  std::int64_t seed = 0;  // of the random generator, and how many numbers were drawn from it
  std::int64_t draws = 0;
  std::string device;  // the kind that it was made on, where that is not the CPU
};

/// Of the elements of an argument, a result or a tensor of the state.
template <class T>
std::size_t bytesOf(const T& t) {
  return static_cast<std::size_t>(numelOf(t.shape)) * itemSize(t.dtype);
}

/// The manifest's bytes.
std::string encodeManifest(const ProgramData& data);
/// Error saying what is wrong where the bytes are no manifest, or one of a newer major version. What the parts say of
/// each other is not looked at here (check.h).
ProgramData decodeManifest(std::string_view bytes);

/// A plan alone, likewise.
std::string encodePlan(const Plan& plan);
Plan decodePlan(std::string_view bytes);

/// Makes the launch spaces of a plan that was read, which follow from its arguments.
void addSpaces(Plan& plan);

}  // namespace tandem::program
