#include "runtime/program/state_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "runtime/base/error.h"
#include "runtime/base/new_file.h"
#include "runtime/program/safetensors.h"

namespace tandem::program {
namespace {

/// Elements in row-major order.
std::string elementsOf(const Context& context, std::size_t number) {
  std::string bytes(bytesOf(context.program().data().state[number]), '\0');
  context.getState(number, bytes.data());
  return bytes;
}

}  // namespace

void saveState(const Context& context, const std::string& path) {
  const std::vector<StateData>& state = context.program().data().state;
  std::vector<TensorRange> tensors;
  std::uint64_t at = 0;
  for (const StateData& s : state) {
    tensors.push_back({s.name, s.dtype, s.shape, at, at + bytesOf(s)});
    at += bytesOf(s);
  }
  const std::string header = safetensorsHeader(tensors);
  NewFile file(path);
  file.write(header);
  for (std::size_t k = 0; k < state.size(); ++k) file.write(elementsOf(context, k));
  file.finish();
}

void loadState(Context& context, const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) fail<ValueError>(path, ": ", std::strerror(errno));
  const std::string file{std::istreambuf_iterator<char>(in), {}};
  const Safetensors found = readSafetensors(file);
  const ProgramData& program = context.program().data();
  std::vector<std::size_t> numbers;
  for (const TensorRange& t : found.tensors) {
    const auto known = std::ranges::find(program.state, t.name, &StateData::name);
    if (known == program.state.end()) fail<ValueError>(path, ": the program has no tensor called `", t.name, "`");
    if (t.dtype != known->dtype || !(t.shape == known->shape))
      fail<ValueError>(path, ": `", t.name, "` is ", dtypeName(t.dtype), " ", shapeText(t.shape), ", and ",
                       dtypeName(known->dtype), " ", shapeText(known->shape), " in the program");
    numbers.push_back(static_cast<std::size_t>(known - program.state.begin()));
    const bool changes = program.memories[known->memory].changes;
    if (!changes && elementsOf(context, numbers.back()) != found.bytes.substr(t.begin, t.end - t.begin))
      fail<ValueError>(path, ": `", t.name, "` has other elements, and no entry of the program changes it");
  }
  for (std::size_t k = 0; k < numbers.size(); ++k)
    if (program.memories[program.state[numbers[k]].memory].changes)
      context.setState(numbers[k], found.bytes.data() + found.tensors[k].begin);
}

}  // namespace tandem::program
