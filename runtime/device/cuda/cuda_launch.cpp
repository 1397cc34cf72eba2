// How a kernel is launched: grid and block by its kind, whether it is turned to follow the dense dim of operands that
// lie across, and whether few long rows or columns are cut into blocks. None of it changes a bit.
#include <algorithm>
#include <bit>

#include "runtime/base/error.h"
#include "runtime/device/cuda/cuda_kernel.h"
#include "runtime/device/cuda/gpu.h"
#include "runtime/device/cuda/launch_shape.h"
#include "runtime/device/cuda/source.h"
#include "runtime/kernel/split.h"

namespace tandem::cuda {
namespace {

constexpr unsigned kWarp = 32;
constexpr std::int64_t kElementsAThread = 4;  // of dense operands
constexpr std::int64_t kColumnTile = 32;
// Blocks beyond what the device holds at once, in multiples of that: their ends are evened out.
constexpr std::int64_t kWaves = 8;
// Columns, so few that their tiles leave multiprocessors idle, are cut from so many elements on.
constexpr std::int64_t kLeastSplitElements = std::int64_t{1} << 17;

// Of rows that are kept (kept_rows.h): a block takes several short ones up to so many bytes; warps of all rows that a
// multiprocessor holds, and elements of a row for each of its warps.
constexpr std::int64_t kKeptOfBlock = std::int64_t{40} << 10;
constexpr std::int64_t kWarpsOfRows = 48;
constexpr std::int64_t kLeastOfWarp = 512;

std::int64_t ceilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// What rows may take of a multiprocessor.
std::int64_t sharedOf(const GpuProperties& p) {
  return static_cast<std::int64_t>(std::max(p.sharedMemoryPerMultiprocessor, p.sharedMemoryPerBlockOptin));
}

/// What a launch keeps of a row: bytes, and of the rest of a block at most; 0 bytes where it keeps nothing. Such a row
/// has a round of blocks at most.
struct Kept {
  std::int64_t bytes = 0;
  std::int64_t beside = 0;
};
Kept keptRow(const CudaKernel& kernel, const std::int64_t* args) {
  Kept kept;
  std::int64_t rooms = 0;
  for (const KeptInput& input : kernel.kept) {
    const auto [row, room] = keptBytes(input, kernel.layout, args);
    kept.bytes += row;
    rooms += room;
  }
  if (kept.bytes == 0) return kept;
  kept.beside = besideKept(kernel.signature);
  const auto most = static_cast<std::int64_t>(kernel.gpu.properties().sharedMemoryPerBlockOptin);
  if (kept.bytes + kept.beside > most || rowBlocks(args[kernel.layout.innerSize()]) > kTrailingLanes) return {};
  if (kept.bytes + rooms + kept.beside <= most) kept.bytes += rooms;
  return kept;
}

std::int64_t heldByThreads(const GpuProperties& p, unsigned threads) {
  return std::max<std::int64_t>(p.maxThreadsPerMultiprocessor / static_cast<int>(threads), 1);
}
/// How many blocks of a function are active on the device at once, as its registers have it.
std::int64_t activeBlocks(const GpuProperties& p, const Function& function, unsigned threads) {
  // Registers are given out in eights.
  const auto ofBlock = static_cast<std::int64_t>(threads) * std::max((function.registers() + 7) / 8 * 8, 8);
  return std::max(p.multiprocessors, 1) *
         std::clamp<std::int64_t>(p.registersPerMultiprocessor / ofBlock, 1, heldByThreads(p, threads));
}

unsigned gridOf(const CudaKernel& kernel, std::int64_t blocks, unsigned threads) {
  return static_cast<unsigned>(std::clamp<std::int64_t>(blocks, 1, mostBlocks(kernel, threads)));
}

bool isWorthSplitting(const CudaKernel& whole, const LaunchSpace& space) {
  if (!whole.splits) return false;
  const auto [units, length] = space;
  if (whole.signature.kind == KernelKind::Row) return whole.gpu.target().splitsRows(units, length);
  // The blocks of a column must be few enough to be one block of the column of their results.
  const std::int64_t block = columnBlock(whole.signature.trailing);
  return ceilDiv(units, kColumnTile) < whole.gpu.limits().multiprocessors && units * length >= kLeastSplitElements &&
         length > block && length <= block * block;
}

void launchWhole(const CudaKernel& kernel, const std::int64_t* args, const LaunchSpace& space, CudaStream& stream) {
  if (space.units <= 0) return;
  std::int64_t begin = 0;
  std::int64_t end = space.units;
  const Parameter parameters[] = {{args, std::max<std::size_t>(kernel.layout.size(), 1) * sizeof *args},
                                  {&begin, sizeof begin},
                                  {&end, sizeof end}};
  // Made before its shape is asked for.
  const Function& function = kernel.functionOfRows(args[kernel.layout.innerSize()]).function;
  function.launch(stream, launchShape(kernel, args, space), parameters);
}

/// Memory for the partial results of a launch, ordered by the stream.
class Partials : public PartialPlaces {
 public:
  Partials(const KernelSignature& partial, std::int64_t each, CudaStream& stream)
      : PartialPlaces(partial, each), gpu_(stream.gpu()),
        data_(allocateForWork(static_cast<std::size_t>(bytes), stream)) {}
  ~Partials() { deallocateForWork(data_, gpu_); }
  Partials(const Partials&) = delete;
  Partials& operator=(const Partials&) = delete;
  [[nodiscard]] std::int64_t memory() const { return std::bit_cast<std::int64_t>(data_); }

 private:
  Gpu& gpu_;
  void* data_;
};

/// The argument block of the first kernel of columns: `count` blocks from block `first` on, of `length` rows each, are
/// its innermost outer dim.
SplitArgs partialColumnArgs(const CudaKernel& whole, const CudaKernel& partial, const std::int64_t* args,
                            const Partials& partials, std::int64_t blocks, std::int64_t first, std::int64_t count,
                            std::int64_t length) {
  const ArgLayout& from = whole.layout;
  const ArgLayout& to = partial.layout;
  const std::size_t inputs = whole.signature.inputs.size();
  const std::int64_t n = args[from.innerSize()];
  const std::int64_t block = columnBlock(whole.signature.trailing);
  SplitArgs own(to.size());
  const int last = from.outerRank;
  for (int d = 0; d < last; ++d) own[to.outerSize(d)] = args[from.outerSize(d)];
  own[to.outerSize(last)] = count;
  own[to.innerSize()] = n;
  own[to.reducedSize()] = length;
  for (std::size_t k = 0; k < inputs; ++k) {
    const std::int64_t step = args[from.reducedStride(k)];
    const auto size = static_cast<std::int64_t>(itemSize(whole.signature.inputs[k].dtype));
    own[to.pointer(k)] = args[from.pointer(k)] + first * block * step * size;
    own[to.innerStride(k)] = args[from.innerStride(k)];
    own[to.reducedStride(k)] = step;
    for (int d = 0; d < last; ++d) own[to.outerStride(k, d)] = args[from.outerStride(k, d)];
    own[to.outerStride(k, last)] = block * step;
  }
  for (std::size_t k = 0; k < whole.signature.outputs.size(); ++k) {
    const auto size = static_cast<std::int64_t>(itemSize(partial.signature.outputs[k].operand.dtype));
    own[to.pointer(inputs + k)] = partials.memory() + partials.offsets[k] + first * n * size;
    own[to.innerStride(inputs + k)] = 1;
    own[to.outerStride(inputs + k, last)] = n;
    std::int64_t step = blocks * n;
    for (int d = last; d-- > 0;) {
      own[to.outerStride(inputs + k, d)] = step;
      step *= args[from.outerSize(d)];
    }
  }
  for (std::size_t j = 0; j < from.scalars; ++j) own[to.scalar(j)] = args[from.scalar(j)];
  return own;
}

void launchSplit(const CudaKernel& whole, const std::int64_t* args, const LaunchSpace& space, CudaStream& stream) {
  const auto [partial, finish] = whole.split();
  const auto [units, length] = space;
  const bool column = whole.layout.column;
  const std::int64_t block = column ? columnBlock(whole.signature.trailing) : kTrailingBlock;
  const std::int64_t blocks = ceilDiv(length, block);
  const Partials partials(partial->signature, units * blocks, stream);
  if (column) {
    const std::int64_t full = length / block;
    launchWhole(*partial, partialColumnArgs(whole, *partial, args, partials, blocks, 0, full, block).data(),
                {units * full, block}, stream);
    if (const std::int64_t rest = length - full * block; rest > 0)
      launchWhole(*partial, partialColumnArgs(whole, *partial, args, partials, blocks, full, 1, rest).data(),
                  {units, rest}, stream);
  } else {
    launchWhole(*partial, partialRowArgs(whole.signature, args, partials, partials.memory()).data(),
                {units * blocks, block}, stream);
  }
  launchWhole(*finish, finishArgs(whole.signature, finish->signature, args, partials, partials.memory(), blocks).data(),
              {units, blocks}, stream);
}

/// A kernel and the argument block with which it does the work of another one; its own where there is none better.
struct Taken {
  const CudaKernel* kernel;
  const std::int64_t* given;
  LaunchSpace space;
  SmallVector<std::int64_t, 64> own;
  [[nodiscard]] const std::int64_t* args() const { return own.empty() ? given : own.data(); }
};
Taken takenFor(const CudaKernel& kernel, const std::int64_t* args, const LaunchSpace& space) {
  Taken taken{&kernel, args, space, {}};
  if (!kernel.turns) return taken;
  const auto turn = turnOf(kernel.signature, kernel.layout, args);
  if (!turn) return taken;
  const CudaKernel* const turned = kernel.turned(*turn);
  if (turned == nullptr) return taken;
  taken.kernel = turned;
  taken.own = turnedArgs(kernel.signature, *turn, args);
  taken.space = wholeSpace(turned->signature.kind, turned->layout, taken.own.data());
  return taken;
}

}  // namespace

Target targetOf(const GpuProperties& p) {
  Target t;
  t.architecture = p.architecture;
  // A launch costs as much as the work of some ten thousand elements.
  t.fuseFrom = 1024;
  t.leastSharedBytes = std::int64_t{1} << 16;
  t.cachedBytes = static_cast<std::int64_t>(p.l2CacheSize / 4);
  t.mostRecomputed = 8;
  t.leastDear = t.cachedBytes;
  // No operand is copied to be turned: a launch turns (across.h), or what it reads across meets in the second cache.
  t.shortRow = 0;
  t.takesStridedRows = false;
  t.productsAddBias = true;
  t.fewRows = std::max(p.multiprocessors / 2, 1);
  return t;
}

std::int64_t mostBlocks(const CudaKernel& kernel, unsigned threads) {
  const GpuProperties& p = kernel.gpu.properties();
  if (kernel.preparesBlocks()) return activeBlocks(p, kernel.function(), threads);
  return std::max(p.multiprocessors, 1) * heldByThreads(p, threads) * kWaves;
}

Grid launchShape(const CudaKernel& kernel, const std::int64_t* args, const LaunchSpace& space) {
  const std::int64_t n = args[kernel.layout.innerSize()];
  const std::int64_t units = space.units;
  Grid grid;
  if (kernel.signature.kind == KernelKind::Column || kernel.signature.kind == KernelKind::Short) {
    const unsigned lanes = lanesAcross(kernel.signature);
    grid.threads = {kWarp, lanes, 1};
    const std::int64_t parts = reduces(kernel.signature) ? 1 : ceilDiv(n, kWarp);
    grid.blocks[0] = gridOf(kernel, ceilDiv(units, kColumnTile) * parts, kWarp * lanes);
    return grid;
  }
  if (kernel.byRows) {
    const bool isBlock = kernel.signature.kind == KernelKind::Partial;
    if (const auto [function, inRegisters] = kernel.functionOfRows(n); inRegisters) {
      // As many as are active at once: their warps go on to the next row as they are done.
      grid.threads = {kWarp, kBriefRows, 1};
      const std::int64_t most = activeBlocks(kernel.gpu.properties(), function, kWarp * kBriefRows);
      grid.blocks[0] = static_cast<unsigned>(std::clamp<std::int64_t>(ceilDiv(units, kBriefRows), 1, most));
      return grid;
    }
    const auto [kept, beside] = keptRow(kernel, args);
    auto warps = isBlock ? 1 : std::clamp<std::int64_t>(rowBlocks(n), 1, kMostWarps);
    auto rows = warps > 1 ? 1 : n <= 1024 ? kMostRows : kMostRows / 2;
    if (kept > 0) {
      rows = n <= 1024 ? std::clamp<std::int64_t>(kKeptOfBlock / kept, 1, kMostRows) : 1;
      const std::int64_t held = std::max<std::int64_t>(sharedOf(kernel.gpu.properties()) / (kept + beside), 1);
      if (rows == 1)
        warps = std::clamp(std::min(ceilDiv(kWarpsOfRows, held), ceilDiv(n, kLeastOfWarp)), warps,
                           std::int64_t{kMostWarps});
      grid.sharedBytes = static_cast<unsigned>(rows * kept);
    }
    grid.threads = {kWarp * static_cast<unsigned>(warps), static_cast<unsigned>(rows), 1};
    grid.blocks[0] = gridOf(kernel, ceilDiv(units, rows), grid.threads[0] * grid.threads[1]);
    return grid;
  }
  grid.threads = {kElementThreads, 1, 1};
  const bool flat = kernel.layout.outerRank == 0;
  const std::int64_t each = kElementThreads * (kernel.dense ? kElementsAThread : 1);
  grid.blocks[0] = gridOf(kernel, flat ? ceilDiv(units, each) : units * ceilDiv(n, each), kElementThreads);
  return grid;
}

void launchKernel(const CudaKernel& kernel, const std::int64_t* args, const LaunchSpace& space, CudaStream& stream) {
  if (space.units <= 0) return;
  stream.gpu().use();
  const Taken taken = takenFor(kernel, args, space);
  if (isWorthSplitting(*taken.kernel, taken.space))
    return launchSplit(*taken.kernel, taken.args(), taken.space, stream);
  launchWhole(*taken.kernel, taken.args(), taken.space, stream);
}

SmallVector<const CudaKernel*, 2> neededBy(const CudaKernel& kernel, const std::int64_t* args,
                                           const LaunchSpace& space) {
  const Taken taken = takenFor(kernel, args, space);
  if (!isWorthSplitting(*taken.kernel, taken.space)) return {taken.kernel};
  const Split& split = taken.kernel->split();
  return {split.partial, split.finish};
}

}  // namespace tandem::cuda
