#include "runtime/program/safetensors.h"

#include <algorithm>
#include <cstring>

#include <nlohmann/json.hpp>

#include "runtime/base/error.h"

namespace tandem::program {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kCodes[kNumDTypes] = {"BOOL", "U8", "I8", "I16", "I32", "I64", "F16", "BF16", "F32", "F64"};
constexpr std::uint64_t kMostHeader = 100'000'000;

template <class... Args>
[[noreturn]] void bad(const Args&... what) {
  fail<ValueError>("not a file of tensors: ", what...);
}

TensorRange rangeOf(const std::string& name, const Json& member, std::uint64_t bytes) {
  TensorRange t;
  t.name = name;
  const auto code = member.at("dtype").get<std::string>();
  const auto* const known = std::ranges::find(kCodes, code);
  if (known == std::end(kCodes)) bad("`", name, "` is of dtype ", code);
  t.dtype = static_cast<DType>(known - std::begin(kCodes));
  std::uint64_t size = itemSize(t.dtype);
  for (const auto& dim : member.at("shape")) {
    t.shape.push_back(dim.get<std::int64_t>());
    if (t.shape.back() < 0 || __builtin_mul_overflow(size, static_cast<std::uint64_t>(t.shape.back()), &size))
      bad("the shape of `", name, "`");
  }
  t.begin = member.at("data_offsets").at(0).get<std::uint64_t>();
  t.end = member.at("data_offsets").at(1).get<std::uint64_t>();
  if (t.begin > t.end || t.end > bytes || t.end - t.begin != size) bad("`", name, "` does not fit");
  return t;
}

}  // namespace

std::string safetensorsHeader(std::span<const TensorRange> tensors,
                              std::span<const std::pair<std::string, std::string>> metadata) {
  Json header = Json::object();
  for (const auto& [name, text] : metadata) header["__metadata__"][name] = text;
  for (const TensorRange& t : tensors)
    header[t.name] = {{"dtype", kCodes[static_cast<int>(t.dtype)]},
                      {"shape", std::vector<std::int64_t>(t.shape.begin(), t.shape.end())},
                      {"data_offsets", {t.begin, t.end}}};
  std::string text = header.dump();
  text.resize((text.size() + 8 + 63) / 64 * 64 - 8, ' ');
  const std::uint64_t length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + text;
}

std::string_view safetensorsHeaderOf(std::string_view file) {
  std::uint64_t length = 0;
  if (file.size() < sizeof length) return {};
  std::memcpy(&length, file.data(), sizeof length);
  if (length > kMostHeader || length > file.size() - sizeof length) return {};
  return file.substr(0, sizeof length + length);
}

Safetensors readSafetensors(std::string_view file) {
  const std::string_view header = safetensorsHeaderOf(file);
  if (header.empty()) bad("its header does not fit");
  Safetensors out;
  out.bytes = file.substr(header.size());
  try {
    const Json members = Json::parse(header.substr(sizeof(std::uint64_t)));
    for (const auto& [name, member] : members.items())
      if (name != "__metadata__") out.tensors.push_back(rangeOf(name, member, out.bytes.size()));
  } catch (const Json::exception& e) {
    bad("its header: ", e.what());
  }
  return out;
}

}  // namespace tandem::program
