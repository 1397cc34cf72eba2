// cumsum, cumprod, logcumsumexp, cummax, cummin, linear_recurrence: runtime/lib/order/scan.cpp. A chain is walked in
// the CPU's order by one thread; contiguous lines go through shared memory, so that memory is read in order.
#include <algorithm>
#include <bit>
#include <string>

#include "runtime/lib/cuda/operands.h"
#include "runtime/lib/cuda/table.h"
#include "runtime/lib/cuda/texts.h"

namespace tandem::cuda::lib {
namespace {

enum class Kind { Sum, Product, LogSum, Max, Min, Recurrence };
constexpr unsigned kThreads = 256;
constexpr std::int64_t kMostTogether = 32;
constexpr std::int64_t kTile = 2048;     // as in the text
constexpr std::size_t kChainBytes = 16;  // a value, and of extremes a place
constexpr std::int64_t kFewLines = 1024;

const Source& source() {
  static const std::string text = std::string(kElementaryText) + kScanText;
  static const Source source("scan", text.c_str());
  return source;
}

/// What a chain runs in: sums, products and recurrences of float32 in float64, which is rounded as it is stored.
std::string carryName(Kind kind, DType t) {
  const bool wide = kind == Kind::Sum || kind == Kind::Product || kind == Kind::Recurrence;
  return wide && t == DType::Float32 ? typeName(DType::Float64) : computeName(t);
}

/// Few long lines whose results are the same however they are cut: tiles side by side.
void scanTiles(DType t, const std::string& carry, const std::string& kind, const void* x, const ArrayView& out,
               void* places, const AlongDim& s) {
  const std::initializer_list<Define> defines = {
      {"ELEMENT", typeName(t)}, {"CARRY", carry}, {"KIND", kind}, {"ASSOCIATIVE", "1"}};
  const std::int64_t tiles = (s.size + kTile - 1) / kTile;
  const Workspace memory(static_cast<std::size_t>(s.outer * tiles) * kChainBytes);
  void* chains = memory.as<>();
  const Grid grid = blocks(s.outer * tiles, kThreads);
  launch(source().kernel("chainTiles", defines), grid, x, s.outer, s.size, tiles, chains);
  launch(source().kernel("chainLines", defines), elementwise(s.outer, 32), s.outer, tiles, chains);
  launch(source().kernel("scanTiles", defines), grid, x, s.outer, s.size, tiles, chains, out.data, places);
}

void scan(const LibraryCall& call, Kind kind, std::int64_t dim, bool flip = false) {
  const ArrayView& out = call.outputs[0];
  if (out.numel() == 0) return;
  TANDEM_CHECK(out.dtype == call.inputs[0].dtype, "a scan converts nothing");
  const AlongDim s(out.shape, wrapDim(dim, static_cast<std::int64_t>(out.shape.size())));
  const Dense x(call.inputs[0]);
  std::optional<Dense> factors;
  if (kind == Kind::Recurrence) factors.emplace(call.inputs[1]);
  const void* factorData = factors ? factors->data() : nullptr;
  void* places = kind == Kind::Max || kind == Kind::Min ? call.outputs[1].data : nullptr;
  const DType t = out.dtype;
  const auto number = std::to_string(static_cast<int>(kind));
  const std::initializer_list<Define> defines = {
      {"ELEMENT", typeName(t)}, {"CARRY", carryName(kind, t)}, {"KIND", number}};
  const std::int32_t flipped = flip ? 1 : 0;
  if (s.inner > 1)
    return launch(source().kernel("scanColumns", defines), elementwise(s.outer * s.inner, 64), x.data(), factorData,
                  out.data, places, s.outer, s.size, s.inner, flipped);
  if (!isFloating(t) || places != nullptr)
    if (s.size > kTile && s.outer < kFewLines)
      return scanTiles(t, carryName(kind, t), number, x.data(), out, places, s);
  // Few lines are spread over blocks; one line alone has tiles of its own.
  const std::int64_t share = std::max<std::int64_t>(s.outer / (std::int64_t{2} * limits().multiprocessors), 1);
  const auto together = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(share)));
  const std::int64_t taken = std::min(together, kMostTogether);
  launch(source().kernel("scanRows", defines), blocks((s.outer + taken - 1) / taken, kThreads), x.data(), factorData,
         out.data, places, s.outer, s.size, static_cast<std::int32_t>(taken), flipped);
}

void scan(const LibraryCall& call, Kind kind) { scan(call, kind, AttrReader(call.attrs).integer()); }

}  // namespace

void cumsum(const LibraryCall& call) { scan(call, Kind::Sum); }
void cumprod(const LibraryCall& call) { scan(call, Kind::Product); }
void logcumsumexp(const LibraryCall& call) { scan(call, Kind::LogSum); }
void cummax(const LibraryCall& call) { scan(call, Kind::Max); }
void cummin(const LibraryCall& call) { scan(call, Kind::Min); }
void linear_recurrence(const LibraryCall& call) {
  AttrReader attrs(call.attrs);
  const std::int64_t dim = attrs.integer();
  const bool reverse = attrs.boolean();
  TANDEM_CHECK(call.inputs[0].shape == call.inputs[1].shape && call.inputs[0].dtype == call.inputs[1].dtype,
               "a factor for each term of a recurrence");
  scan(call, Kind::Recurrence, dim, reverse);
}

namespace {

const Registered here{{"cumsum", &cumsum}, {"cumprod", &cumprod}, {"logcumsumexp", &logcumsumexp},
                      {"cummax", &cummax}, {"cummin", &cummin},   {"linear_recurrence", &linear_recurrence}};

}  // namespace

}  // namespace tandem::cuda::lib
