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

inline constexpr std::uint16_t kMajor = 1;
inline constexpr std::uint16_t kMinor = 0;

/// A kernel of the plans, or one that launches run in its stead.
struct KernelData {
  KernelSignature signature;
  std::vector<std::string> symbols;  // one a target, as in ProgramData; none where no launch needs its code
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
};

struct MemberData {
  std::string name;
  std::string sha256;  // 32 bytes
};

struct ProgramData {
  std::string producer;
  std::vector<std::string> targets;
  std::vector<KernelData> kernels;
  std::vector<MemoryData> memories;
  std::vector<StateData> state;
  std::vector<EntryData> entries;
  std::vector<MemberData> members;  // all but the manifest
  std::vector<std::pair<std::string, std::string>> notes;
  std::int64_t seed = 0;  // of the random generator, and how many numbers were drawn from it
  std::int64_t draws = 0;
};

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
