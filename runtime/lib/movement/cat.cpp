// cat: each input is copied into its part of the output.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/clones.h"
#include "runtime/lib/movement/copy_bytes.h"
#include "runtime/lib/movement/window_rows.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

/// Copies Half to 2 * Half bytes by two moves that may overlap, sooner than a call begins; false for other lengths.
template <std::size_t Half>
bool copyTwice(char* to, const char* from, std::size_t bytes) {
  if (bytes < Half || bytes > 2 * Half) return false;
  std::array<char, Half> begin;
  std::array<char, Half> end;
  std::memcpy(begin.data(), from, Half);
  std::memcpy(end.data(), from + bytes - Half, Half);
  std::memcpy(to, begin.data(), Half);
  std::memcpy(to + bytes - Half, end.data(), Half);
  return true;
}

/// What an input has in every block of the output.
struct Run {
  const char* from;
  std::size_t bytes;  // per block
  std::size_t at;     // in the block
};

/// An element, wherever it lies.
template <class T>
struct [[gnu::packed, gnu::may_alias]] Loose {
  T value;
};

/// Blocks of N elements, one of each run; N is 0 for any number.
template <class T, std::size_t N>
TANDEM_INLINED inline void interleave(std::span<const Run> runs, char* out, std::int64_t begin, std::int64_t end) {
  using Element = Loose<T>;
  auto from = [&](std::size_t k) TANDEM_INLINED { return reinterpret_cast<const Element*>(runs[k].from); };
  auto* to = reinterpret_cast<Element*>(out);
  if constexpr (N != 0) {
    std::array<const Element*, N> each;
    for (std::size_t k = 0; k < N; ++k) each[k] = from(k);
    for (std::int64_t i = begin; i < end; ++i)
      for (std::size_t k = 0; k < N; ++k)
        to[i * static_cast<std::int64_t>(N) + static_cast<std::int64_t>(k)] = each[k][i];
  } else {
    constexpr std::int64_t kTile = 256;  // blocks, which stay in the first cache
    const auto n = static_cast<std::int64_t>(runs.size());
    for (; begin < end; begin += kTile)
      for (std::int64_t k = 0; k < n; ++k) {
        const Element* x = from(static_cast<std::size_t>(k));
        for (std::int64_t i = begin; i < std::min(end, begin + kTile); ++i) to[i * n + k] = x[i];
      }
  }
}
template <class T>
void interleaveBlocks(std::span<const Run> runs, char* out, std::int64_t blocks) {
  const auto n = static_cast<std::int64_t>(runs.size());
  parallelFor(blocks, grainOf(n), [&](std::int64_t begin, std::int64_t end) {
    withAvx2([&]() TANDEM_INLINED {
      if (n == 2) return interleave<T, 2>(runs, out, begin, end);
      if (n == 3) return interleave<T, 3>(runs, out, begin, end);
      if (n == 4) return interleave<T, 4>(runs, out, begin, end);
      interleave<T, 0>(runs, out, begin, end);
    });
  });
}
/// Runs of one element each, or of as many bytes; false for others.
bool interleaveRuns(std::span<const Run> runs, char* out, std::int64_t blocks) {
  if (runs.size() < 2 || std::ranges::any_of(runs, [&](const Run& r) { return r.bytes != runs[0].bytes; }))
    return false;
  switch (runs[0].bytes) {
  case 1:
    interleaveBlocks<std::uint8_t>(runs, out, blocks);
    return true;
  case 2:
    interleaveBlocks<std::uint16_t>(runs, out, blocks);
    return true;
  case 4:
    interleaveBlocks<std::uint32_t>(runs, out, blocks);
    return true;
  case 8:
    interleaveBlocks<std::uint64_t>(runs, out, blocks);
    return true;
  default:
    return false;
  }
}

/// Small inputs, or several blocks: each input is one run of memory in every block of the output that ends with the
/// dim.
void joinRuns(std::span<const ArrayView> inputs, const ArrayView& out, std::size_t d) {
  std::vector<Run> runs;
  std::size_t block = 0;
  for (const ArrayView& x : inputs) {
    if (x.numel() == 0) continue;
    std::size_t bytes = static_cast<std::size_t>(numelOf(DimsRef(x.shape).subspan(d))) * itemSize(out.dtype);
    runs.push_back({x.as<char>(), bytes, block});
    block += bytes;
  }
  auto count = static_cast<std::int64_t>(runs.size());
  std::int64_t blocks = numelOf(DimsRef(out.shape).first(d));
  if (interleaveRuns(runs, out.as<char>(), blocks)) return;
  constexpr std::size_t kLarge = 4 * 1024 * 1024;  // bytes
  constexpr std::size_t kLongRun = 512;
  const bool large = static_cast<std::size_t>(blocks) * block > kLarge;
  std::int64_t grain = grainOf(out.numel() / (blocks * count));
  parallelFor(blocks * count, grain, [&](std::int64_t begin, std::int64_t end) {
    auto r = static_cast<std::size_t>(begin % count);
    auto b = static_cast<std::size_t>(begin / count);
    for (std::int64_t i = begin; i < end; ++i) {
      const Run& run = runs[r];
      char* to = out.as<char>() + b * block + run.at;
      const char* from = run.from + b * run.bytes;
      if (!copyTwice<8>(to, from, run.bytes) && !copyTwice<16>(to, from, run.bytes) &&
          !copyTwice<4>(to, from, run.bytes) && !copyTwice<2>(to, from, run.bytes) &&
          !copyTwice<32>(to, from, run.bytes)) {
        if (large && run.bytes >= kLongRun)
          copyBytesToMemory(to, from, run.bytes);
        else
          copyBytes(to, from, run.bytes);
      }
      if (++r == runs.size()) r = 0, ++b;
    }
  });
}

/// An input as rows of the output, and which elements of the output it is.
struct Part {
  WindowRows rows;
  std::int64_t begin, end;
};

/// Large inputs, one behind the other. A thread has the part of the output that it has of other arrays of the size,
/// whichever inputs lie there: what reads the output next finds it in that thread's cache. False, having done nothing,
/// where rows of an input do not suit that.
bool joinLarge(std::span<const ArrayView> inputs, const ArrayView& out) {
  std::vector<Part> parts;
  for (const ArrayView& x : inputs) {
    if (x.numel() == 0) continue;
    const std::int64_t begin = parts.empty() ? 0 : parts.back().end;
    parts.push_back({WindowRows(x, {out.data, out.dtype, x.shape, out.strides}), begin, begin + x.numel()});
    if (!parts.back().rows.suit()) return false;
  }
  const auto size = static_cast<std::int64_t>(itemSize(out.dtype));
  parallelFor(out.numel(), kSerialElements, [&](std::int64_t begin, std::int64_t end) {
    for (auto part = std::ranges::upper_bound(parts, begin, {}, &Part::begin) - 1; begin < end; ++part) {
      const std::int64_t stop = std::min(end, part->end);
      part->rows.write(begin - part->begin, stop - part->begin, out.as<char>() + begin * size,
                       [](std::int64_t, std::int64_t) {});  // nothing lies between them
      begin = stop;
    }
  });
  return true;
}

}  // namespace

void cat(const LibraryCall& call) {
  const ArrayView& out = call.outputs[0];
  if (out.numel() == 0) return;
  std::int64_t dim = wrapDim(AttrReader(call.attrs).integer(), static_cast<std::int64_t>(out.shape.size()));
  auto d = static_cast<std::size_t>(dim);
  bool contiguous = std::ranges::all_of(call.inputs, [](const ArrayView& x) { return x.contiguous(); });
  // Several blocks are written in order, input by input, unless runs are so long that each is shared among threads.
  constexpr std::int64_t kSharedRun = 16 * 1024;  // elements
  const std::int64_t each = out.numel() / static_cast<std::int64_t>(call.inputs.size());
  const std::int64_t blocks = numelOf(DimsRef(out.shape).first(d));
  if (contiguous && (each < kSerialElements || (blocks > 1 && each <= kSharedRun * blocks)))
    return joinRuns(call.inputs, out, d);
  if (blocks == 1 && each >= kSerialElements && joinLarge(call.inputs, out)) return;
  std::int64_t at = 0;
  for (const ArrayView& x : call.inputs) {
    // An empty operand adds nothing; one of shape [0] need not even have the others' rank.
    if (x.numel() == 0) continue;
    ArrayView part{out.as<unsigned char>() + static_cast<std::size_t>(at * out.strides[d]) * itemSize(out.dtype),
                   out.dtype, x.shape, out.strides};
    copyArray(x, part);
    at += x.shape[d];
  }
}

}  // namespace tandem::lib
