#include "runtime/device/cuda/sequence.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/device/cuda/gpu.h"
#include "runtime/device/cuda/graph.h"
#include "runtime/device/cuda/source.h"

namespace tandem::cuda {
namespace {

// The first run has code compiled and loaded, which cannot be captured.
constexpr int kRunsBefore = 1;
// Fewer launches than these are no slower one by one.
constexpr std::size_t kLeastLaunches = 4;
// A plan whose work is another one each time is not captured again and again.
constexpr int kMostChanges = 4;
constexpr std::size_t kMostKept = 128;

/// What is queued is not what was captured, or the driver refuses to set it in the graph.
struct Changed {
  bool refused = false;
};

constinit thread_local Tape* current = nullptr;

class Current {
 public:
  explicit Current(Tape& tape) { current = &tape; }
  ~Current() { current = nullptr; }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
};

/// Chooses the stream of this thread's work for a while.
class Chosen {
 public:
  Chosen(Gpu& gpu, CudaStream& stream) : gpu_(gpu), before_(gpu.setStream(stream)) {}
  ~Chosen() { gpu_.setStream(before_); }
  Chosen(const Chosen&) = delete;
  Chosen& operator=(const Chosen&) = delete;

 private:
  Gpu& gpu_;
  CudaStream& before_;
};

bool equal(const Grid& a, const Grid& b) {
  return a.blocks == b.blocks && a.threads == b.threads && a.sharedBytes == b.sharedBytes;
}

std::size_t sizeOf(std::span<const Parameter> parameters) {
  std::size_t bytes = 0;
  for (const Parameter& p : parameters) bytes += p.bytes;
  return bytes;
}

/// Copies parameters to where they are kept; false where they were the same.
bool keep(std::span<const Parameter> parameters, char* kept) {
  bool moved = false;
  for (const Parameter& p : parameters) {
    if (std::memcmp(kept, p.at, p.bytes) != 0) {
      std::memcpy(kept, p.at, p.bytes);
      moved = true;
    }
    kept += p.bytes;
  }
  return moved;
}

}  // namespace

Tape* Tape::now() { return current; }

const Tape::Entry& Tape::next(Kind kind) {
  if (at_ == entries_.size() || entries_[at_].kind != kind) throw Changed{};
  return entries_[at_++];
}

bool Tape::launch(const Function& function, FunctionHandle handle, const Grid& grid,
                  std::span<const Parameter> parameters) {
  if (!follows_) {
    entries_.push_back({Kind::Launch, &function, nullptr, grid, nullptr, nullptr, 0, {}});
    entries_.back().content.resize(sizeOf(parameters));
    keep(parameters, entries_.back().content.data());
    return false;
  }
  auto& entry = const_cast<Entry&>(next(Kind::Launch));
  if (entry.function != &function || !equal(entry.grid, grid) || entry.content.size() != sizeOf(parameters))
    throw Changed{};
  if (!keep(parameters, entry.content.data())) return true;
  SmallVector<void*, 16> places;
  for (const Parameter& p : parameters) places.push_back(const_cast<void*>(p.at));
  KernelNodeParameters to{};
  to.function = handle;
  std::ranges::copy(grid.blocks, to.grid);
  std::ranges::copy(grid.threads, to.block);
  to.sharedBytes = grid.sharedBytes;
  to.parameters = places.data();
  if (driver().graphExecKernelNodeSetParams(graph_, entry.node, &to) != kSuccess) throw Changed{true};
  return true;
}

void Tape::launched(CudaStream& stream) {
  if (follows_ || entries_.empty()) return;
  int status = 0;
  const GraphNodeHandle* last = nullptr;
  std::size_t count = 0;
  check(driver().streamGetCaptureInfo(stream.raw(), &status, nullptr, nullptr, &last, &count), "capturing a plan");
  if (count != 1) fail<Error>("a launch was captured as ", count, " places of a graph");
  entries_.back().node = *last;
}

bool Tape::move(const void* to, const void* from, std::size_t bytes) {
  if (!follows_) {
    entries_.push_back({Kind::Move, nullptr, nullptr, {}, to, from, bytes, {}});
    return false;
  }
  const Entry& entry = next(Kind::Move);
  if (entry.to != to || entry.from != from || entry.bytes != bytes) throw Changed{};
  return true;
}

bool Tape::copyFromHost(const void* to, const void* from, std::size_t bytes) {
  const char* first = static_cast<const char*>(from);
  if (!follows_) {
    entries_.push_back({Kind::CopyFromHost, nullptr, nullptr, {}, to, nullptr, bytes, {first, first + bytes}});
    return false;
  }
  const Entry& entry = next(Kind::CopyFromHost);
  if (entry.to != to || entry.bytes != bytes || std::memcmp(entry.content.data(), from, bytes) != 0) throw Changed{};
  return true;
}

ForeignCall Tape::foreign(std::span<const void* const> operands) {
  const std::size_t number = foreign_++;
  if (moving_->size() == number) moving_->push_back(0);
  std::uint64_t& moving = (*moving_)[number];
  const std::size_t bytes = operands.size_bytes();
  if (!follows_) {
    entries_.push_back({Kind::Foreign, nullptr, nullptr, {}, nullptr, nullptr, bytes, std::vector<char>(bytes)});
    std::memcpy(entries_.back().content.data(), operands.data(), bytes);
    return {moving, false};
  }
  const Entry& entry = next(Kind::Foreign);
  if (entry.bytes != bytes) throw Changed{};
  const std::uint64_t known = moving;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const bool stays = std::memcmp(entry.content.data() + k * sizeof(void*), &operands[k], sizeof(void*)) == 0;
    if (stays || (known >> k & 1) != 0) continue;
    moving |= std::uint64_t{1} << k;
    moved_ = true;  // what else moved shows behind it
  }
  return {known, true};
}

void* Tape::allocate(std::size_t bytes) {
  if (!follows_) {
    entries_.push_back({Kind::Memory, nullptr, nullptr, {}, nullptr, nullptr, bytes, {}});
    return nullptr;
  }
  const Entry& entry = next(Kind::Memory);
  if (entry.bytes != bytes) throw Changed{};
  return const_cast<void*>(entry.to);
}

void Tape::allocated(void* memory) { entries_.back().to = memory; }

bool Tape::deallocate() { return follows_; }

bool Tape::expect(const std::shared_ptr<const Expected>& expected) {
  if (follows_) expected_.push_back(expected);
  return follows_;
}

void Tape::wait() {
  if (follows_) throw Changed{};
}

Sequence::Sequence(Gpu& gpu) : gpu_(gpu) {}
Sequence::~Sequence() = default;

void Sequence::run(FunctionRef<void()> queue) {
  CudaStream& stream = gpu_.stream();
  const std::unique_lock lock(mutex_, std::try_to_lock);
  // Another thread is at it, or somebody captures the stream for a graph of their own.
  if (!lock.owns_lock() || refused_ || current != nullptr || launchesBlock() || stream.isCapturing()) return queue();
  if (runs_++ < kRunsBefore) return queue();
  if (graph_ != nullptr) {
    if (follow(stream, queue)) return;
    graph_.reset();
    refused_ = refused_ || ++changes_ > kMostChanges;
    if (refused_) return queue();
  }
  record(stream, queue);
}

void Sequence::record(CudaStream& stream, FunctionRef<void()> queue) {
  tape_ = Tape();
  tape_.moving_ = &moving_;
  try {
    if (capturing_ == nullptr) capturing_ = std::make_unique<CudaStream>(gpu_);
    beginCapture(*capturing_);
  } catch (const Error&) {
    // An error of earlier work comes again where this is queued.
    refused_ = true;
    return queue();
  }
  try {
    const Chosen chosen(gpu_, *capturing_);
    const Current here(tape_);
    queue();
  } catch (...) {
    refused_ = true;
  }
  std::unique_ptr<GpuGraph> graph;
  try {
    graph = endCapture(*capturing_);
  } catch (const Error&) {
    refused_ = true;
  }
  // Nothing has been done yet: an error of the plan's own comes again.
  if (refused_) return queue();
  graph_.reset(static_cast<CudaGraph*>(graph.release()));
  tape_.graph_ = graph_->handle();
  const auto launches =
      std::ranges::count_if(tape_.entries_, [](const Tape::Entry& e) { return e.kind == Tape::Kind::Launch; });
  const bool launched = graph_->tryLaunch(stream) == kSuccess;
  if (!launched || static_cast<std::size_t>(launches) < kLeastLaunches) {
    refused_ = true;
    graph_.reset();
  }
  if (!launched) queue();
}

bool Sequence::follow(CudaStream& stream, FunctionRef<void()> queue) {
  tape_.at_ = 0;
  tape_.follows_ = true;
  tape_.expected_.clear();
  tape_.foreign_ = 0;
  tape_.moved_ = false;
  try {
    const Current here(tape_);
    queue();
  } catch (const Changed& changed) {
    refused_ = changed.refused;
    return false;
  }
  if (tape_.moved_ || tape_.at_ != tape_.entries_.size()) return false;
  if (graph_->tryLaunch(stream) != kSuccess) {
    refused_ = true;
    return false;
  }
  for (auto& e : std::exchange(tape_.expected_, {})) stream.expect(std::move(e));
  return true;
}

void Sequences::run(std::uint64_t plan, FunctionRef<void()> queue) {
  std::shared_ptr<Sequence> sequence;
  std::shared_ptr<Sequence> dropped;  // outside of the lock: it waits for its work
  {
    const std::lock_guard lock(mutex_);
    if (const auto it = places_.find(plan); it != places_.end()) {
      kept_.splice(kept_.begin(), kept_, it->second);
    } else {
      kept_.push_front({plan, std::make_shared<Sequence>(gpu_)});
      places_[plan] = kept_.begin();
      if (kept_.size() > kMostKept) {
        dropped = std::move(kept_.back().sequence);
        places_.erase(kept_.back().plan);
        kept_.pop_back();
      }
    }
    sequence = kept_.front().sequence;
  }
  sequence->run(queue);
}

}  // namespace tandem::cuda
