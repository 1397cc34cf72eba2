// cuDNN's graph API, of a library that is opened when the first operation needs it: $TANDEM_CUDNN, else libcudnn.so.9
// in the system or in the wheel nvidia-cudnn. The declarations are our own (cudnn_functions.h).
//
// An operation is described, of the engines that the library offers for it one is chosen, and made an execution plan,
// which runs any number of times. The choice is a function of the operation, the device and the library: engines are
// asked for in the library's order, and the first is taken that serves and whose numerical notes are allowed.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"
#include "runtime/lib/cuda/cudnn_functions.h"

namespace tandem::cuda::cudnn {

/// Null where there is none. Error where $TANDEM_CUDNN names what cannot be opened, or is not cuDNN 9.
const Library* library();

/// Error with the library's text where a call failed.
void check(int status, std::string_view what);

/// The handle of a device and its streams: one thread at a time, which holds the mutex, has plans made or queues work.
struct Context {
  std::mutex mutex;
  Handle handle = nullptr;
};
/// That of a device, which is the current one of the driver. Lives as long as the process.
Context& contextOf(int ordinal);

class Descriptor {
 public:
  explicit Descriptor(DescriptorKind kind);
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  void set(AttributeName name, AttributeType type, std::int64_t count, const void* values);
  template <class T>
  void set(AttributeName name, AttributeType type, const T& value) {
    set(name, type, 1, static_cast<const void*>(&value));
  }
  void set(AttributeName name, DimsRef values) { set(name, kInt64Type, std::ssize(values), values.data()); }
  void set(AttributeName name, const Descriptor& other) { set(name, kDescriptorType, other.handle_); }
  /// How many values there are, of which at most `most` are written.
  std::int64_t get(AttributeName name, AttributeType type, std::int64_t most, void* values) const;

  void finalize(std::string_view what) { check(tryFinalize(), what); }
  /// The library's status.
  int tryFinalize();
  [[nodiscard]] DescriptorHandle handle() const { return handle_; }

 private:
  DescriptorHandle handle_ = nullptr;
};

/// A contiguous tensor in memory that is aligned to kForeignAlignment.
Descriptor describeTensor(std::int64_t id, DType dtype, DimsRef shape);
/// Has it a type for that dtype which we use? All but float64.
bool hasType(DType t);
DataType typeOf(DType t);

/// A tensor of an operation, by its number in the description, and where it is.
struct Bound {
  std::int64_t id;
  const void* data;
};

class ExecutionPlan {
 public:
  /// The last descriptor is that of the plan; the others are what it stands on.
  ExecutionPlan(std::vector<Descriptor> parts, std::size_t workspaceBytes)
      : parts_(std::move(parts)), workspaceBytes_(workspaceBytes) {}
  ~ExecutionPlan() {
    while (!parts_.empty()) parts_.pop_back();  // the last one stands on the others
  }
  ExecutionPlan(const ExecutionPlan&) = delete;
  ExecutionPlan& operator=(const ExecutionPlan&) = delete;
  [[nodiscard]] std::size_t workspaceBytes() const { return workspaceBytes_; }
  /// Queues it.
  void run(Context& context, StreamHandle stream, std::span<const Bound> tensors, void* workspace) const;

 private:
  std::vector<Descriptor> parts_;
  std::size_t workspaceBytes_;
};

/// Operations that are computed at once, and the descriptors that they stand on and are.
struct Operations {
  std::vector<Descriptor> parts;
  std::vector<DescriptorHandle> operations;
};

/// The plan of operations on tensors of the dtype, whose sums are in float32, with at most so much workspace; null
/// where no engine serves. Engines add in a fixed order, multiply and add what the operations say (so that an infinity
/// or a NaN reaches what it should), and round operands of float32 to TF32 only where `allowsTf32`. With the context's
/// mutex.
std::unique_ptr<const ExecutionPlan> choosePlan(Context& context, Operations operations, DType dtype, bool allowsTf32,
                                                std::size_t mostWorkspace);

/// Engines may need copies of operands in an order of their own, beside what takes this much.
constexpr std::size_t kMostWorkspaceBytes = std::size_t{256} << 20;

/// Plans of all devices by what they compute; null where no engine serves. For statics that are never destroyed:
/// threads may compute while the process ends.
template <class Key>
class PlanCache {
 public:
  /// Makes it by `choose` where it is not there. What that throws is thrown, and nothing known then.
  template <class F>
  std::shared_ptr<const ExecutionPlan> find(const Key& key, F choose) {
    const std::lock_guard lock(mutex_);
    if (const auto it = made_.find(key); it != made_.end()) return it->second;
    // Which are in use does not matter to a graph that was captured, which keeps its own; queued work is waited for.
    if (made_.size() >= kMost && driver().ctxSynchronize() == cuda::kSuccess) made_.clear();
    std::shared_ptr<const ExecutionPlan> plan = choose(key);
    made_.emplace(key, plan);
    return plan;
  }

 private:
  static constexpr std::size_t kMost = 4096;
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<const ExecutionPlan>> made_;
};

}  // namespace tandem::cuda::cudnn
