#include "eager/fusion.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <utility>

#include "eager/helpers.h"
#include "eager/recorder.h"
#include "ir/schema/reduction_plan.h"
#include "runtime/kernel/launch_builder.h"

namespace tandem {
namespace {

thread_local FusedRecording* recordingOfScopes = nullptr;

}  // namespace

Fusion* fusion = nullptr;

std::int64_t fusedElements(const Tensor& x, const std::optional<Dims>& dims) {
  // Rows that do not merge are copied to the cache in pieces, in the order of the row. Elements beside each other in
  // memory are in one piece where they lie at most so many apart in that order.
  constexpr std::int64_t kFarBehind = 4096;
  const std::int64_t all = x.numel();
  if (x.isContiguous() || !worthFusing(all) || !x.device().isCpu() || activeRecorder != nullptr) return all;
  const auto stages = reductionStages(x.shape(), reductionDims(x, dims));
  if (stages.empty()) return all;
  const auto [begin, end, trailing] = stages[0];
  Dims shape = x.shape(), strides = x.strides();
  auto followed = [&strides](std::size_t fromLast) {
    return strides.size() >= fromLast && std::abs(strides[strides.size() - fromLast]) <= 1;
  };
  if (collapse({trailing ? Walk::Kind::Rows : Walk::Kind::Columns, begin, end, false}, shape, {&strides, 1}))
    return followed(1) || followed(2) ? all : 0;
  if (!trailing) return 0;
  const auto dense = std::ranges::find(x.strides(), 1) - x.strides().begin();
  return dense < x.dim() && numelOf(DimsRef(x.shape()).subspan(dense)) <= kFarBehind * x.shape()[dense] ? all : 0;
}

thread_local constinit std::uint32_t activeTapeGroup = 0;

std::uint32_t newTapeGroup() {
  static std::atomic<std::uint32_t> last{0};
  std::uint32_t number = ++last;
  return number != 0 ? number : ++last;
}

void FusedRecording::begin(std::uint64_t site) {
  if (fusion == nullptr || activeRecorder != nullptr) return;
  recorder_ = activeRecorder = fusion->begin(site);
  activeTapeGroup = newTapeGroup();
}

void FusedRecording::beginInScopes() {
  inScopes_ = true;
  outer_ = std::exchange(recordingOfScopes, this);
}

void FusedRecording::end() { finish(false); }

void FusedRecording::finish(bool failed) {
  if (std::exchange(inScopes_, false)) recordingOfScopes = outer_;
  if (recorder_ == nullptr) return;
  activeRecorder = nullptr;
  activeTapeGroup = 0;
  fusion->end(std::exchange(recorder_, nullptr), failed);
}

FusedRecording::~FusedRecording() { finish(true); }

FusedScope::FusedScope(std::int64_t elements, When when) : exceptions_(std::uncaught_exceptions()) {
  if (when == When::Writes && recordingOfScopes == nullptr) return;
  if (!worthFusing(elements)) return;
  // The composite that the scope stands in, at this size.
  const auto composite = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  (recordingOfScopes != nullptr ? *recordingOfScopes : recording_)
      .begin(siteOf(composite, static_cast<std::uint64_t>(elements)));
}

FusedScope::~FusedScope() noexcept(false) {
  if (std::uncaught_exceptions() == exceptions_) recording_.end();
}

}  // namespace tandem
