// Memory between the GPUs of several processes, by NCCL, which is found when the first group needs it: $TANDEM_NCCL,
// else libnccl.so.2 in the system or in the wheel nvidia-nccl.
//
// Of NCCL only sends and receives are used: its reductions add in an order of their own. Calls of a communicator do not
// block (`blocking = 0`), so that setting it up and queueing can be given up while another rank does not come.
#pragma once

#include <mutex>

#include "runtime/base/function_ref.h"
#include "runtime/device/cuda/nccl_functions.h"
#include "runtime/device/cuda/stream.h"
#include "runtime/device/gpu_control.h"

namespace tandem::cuda {

/// 0 where there is none.
int ncclVersion();
/// Why there is no NCCL; empty where there is.
const std::string& ncclMissing();
/// Error where there is none.
std::string ncclId();

class NcclCommunicator final : public GpuCommunicator {
 public:
  /// Error where NCCL is missing or fails, and when `isGivenUp`.
  NcclCommunicator(Gpu& gpu, const std::string& id, int rank, int size, FunctionRef<bool()> isGivenUp);
  ~NcclCommunicator() override;

  Stream& stream() override { return stream_; }
  void exchange(std::span<const Part> sends, std::span<const Part> receives) override;
  std::string failure() override;
  void abort() noexcept override;
  void close() noexcept override;

 private:
  /// Polls until what was called is no longer in progress.
  void finish(int result, const char* what, FunctionRef<bool()> isGivenUp);
  [[nodiscard]] std::string textOf(int result, const char* what) const;
  void copyOwn(std::span<const Part> sends, std::span<const Part> receives);

  Gpu& gpu_;
  const int rank_;
  CudaStream stream_;
  std::mutex mutex_;  // over each call
  nccl::Handle handle_ = nullptr;
};

}  // namespace tandem::cuda
