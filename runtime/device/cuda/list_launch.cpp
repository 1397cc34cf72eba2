// One launch for a kernel of many operands, as the parameters of an optimizer: a List kernel
// (runtime/kernel/kernel_signature.h), whose entries come as parameters of the launch, so that there is no table to
// copy or to keep. Long operands are several entries of about the length of the others, so that the thread blocks of a
// launch have about as much to do, and few blocks prepare what all elements need.
#include <algorithm>
#include <array>
#include <optional>

#include "runtime/device/cuda/cuda_kernel.h"
#include "runtime/device/cuda/gpu.h"
#include "runtime/device/cuda/launch_shape.h"
#include "runtime/device/cuda/source.h"

namespace tandem::cuda {
namespace {

/// A reduction of so many elements, which one thread block does, takes longer than a launch.
constexpr std::int64_t kLongRow = std::int64_t{1} << 16;
/// Entries are of so many elements at least, or whole operands, and begin at multiples of that, where vectors of any
/// dtype do. All operands are some kLaunches launches.
constexpr std::int64_t kPiece = std::int64_t{1} << 14;
constexpr std::int64_t kLaunches = 4;
constexpr std::int64_t kElementsABlock = std::int64_t{4} * kElementThreads;

/// Fills the parameters of launches, and launches where they are full.
class ListLaunch {
 public:
  /// `listed` does what `kernel` does.
  ListLaunch(const CudaKernel& kernel, const CudaKernel& listed, std::int64_t elements, CudaStream& stream)
      : kernel_(kernel), listed_(listed), stream_(stream), layout_(kernel.layout), list_(kernel.signature) {
    auto take = [&](const KernelOperand& operand) {
      steps_.push_back(operand.access == Access::Unit ? static_cast<std::int64_t>(itemSize(operand.dtype)) : 0);
    };
    for (const KernelOperand& input : kernel.signature.inputs) take(input);
    for (const KernelOutput& output : kernel.signature.outputs) take(output.operand);
    piece_ = std::max(kPiece, elements / (kLaunches * static_cast<std::int64_t>(list_.mostEntries())));
  }

  void add(const std::int64_t* args) {
    const std::int64_t n = args[layout_.innerSize()];
    const std::int64_t* const scalars = args + layout_.scalar(0);
    if (!std::equal(scalars, scalars + layout_.scalars, at_.begin())) {
      launch();
      std::copy_n(scalars, layout_.scalars, at_.begin());
    }
    // Pieces of one operand are alike.
    const std::int64_t pieces = kernel_.byRows ? 1 : std::max((n + piece_ - 1) / piece_, std::int64_t{1});
    const std::int64_t piece = pieces == 1 ? n : (n / pieces + kPiece - 1) / kPiece * kPiece;
    std::int64_t first = 0;
    do {
      if (entries_ == list_.mostEntries()) launch();
      std::int64_t* entry = at_.data() + list_.entry(entries_++);
      const std::int64_t count = std::min(piece, n - first);
      longest_ = std::max(longest_, count);
      *entry++ = count;
      for (std::size_t k = 0; k < layout_.operands; ++k) *entry++ = args[layout_.pointer(k)] + first * steps_[k];
      first += count;
    } while (first < n);
  }

  void launch() {
    if (entries_ == 0) return;
    std::int64_t begin = 0;
    auto end = static_cast<std::int64_t>(entries_);
    const Parameter parameters[] = {{at_.data(), sizeof at_}, {&begin, sizeof begin}, {&end, sizeof end}};
    const Function& function = listed_.function();  // made before its shape is asked for
    function.launch(stream_, grid(), parameters);
    entries_ = 0;
    longest_ = 0;
  }

 private:
  [[nodiscard]] Grid grid() const {
    Grid grid;
    if (kernel_.byRows) {
      const std::int64_t args[] = {1, longest_};
      grid = launchShape(kernel_, args, {1, longest_});
      grid.threads[1] = 1;
    } else {
      grid.threads = {kElementThreads, 1, 1};
      const auto entries = static_cast<std::int64_t>(entries_);
      grid.blocks[0] =
          static_cast<unsigned>(std::clamp((longest_ + kElementsABlock - 1) / kElementsABlock, std::int64_t{1},
                                           std::max(mostBlocks(listed_, kElementThreads) / entries, std::int64_t{1})));
    }
    grid.blocks[1] = static_cast<unsigned>(entries_);
    return grid;
  }

  const CudaKernel& kernel_;
  const CudaKernel& listed_;
  CudaStream& stream_;
  const ArgLayout& layout_;
  const ListLayout list_;
  SmallVector<std::int64_t, 16> steps_;  // bytes of an element, 0 for operands of one
  std::array<std::int64_t, ListLayout::kSize> at_{};
  std::int64_t piece_;  // elements of an entry, about
  std::size_t entries_ = 0;
  std::int64_t longest_ = 0;
};

}  // namespace

bool isListed(const CudaKernel& kernel, const std::int64_t* args) {
  return !kernel.byRows || args[kernel.layout.innerSize()] < kLongRow;
}

void launchList(const CudaKernel& kernel, std::span<const std::int64_t> args, CudaStream& stream) {
  stream.gpu().use();
  const std::size_t width = kernel.layout.size();
  std::size_t count = 0;
  std::int64_t elements = 0;
  for (std::size_t at = 0; at < args.size(); at += width) {
    if (!isListed(kernel, &args[at])) continue;
    ++count;
    elements += args[at + kernel.layout.innerSize()];
  }
  const CudaKernel* const listed = count > 1 ? kernel.listed() : nullptr;
  std::optional<ListLaunch> list;
  if (listed != nullptr) list.emplace(kernel, *listed, elements, stream);
  for (; !args.empty(); args = args.subspan(width)) {
    if (list && isListed(kernel, args.data()))
      list->add(args.data());
    else
      launchKernel(kernel, args.data(), wholeSpace(KernelKind::Row, kernel.layout, args.data()), stream);
  }
  if (list) list->launch();
}

}  // namespace tandem::cuda
