#include "runtime/device/cuda/nccl.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/shared_library.h"
#include "runtime/device/cuda/copies.h"
#include "runtime/device/cuda/gpu.h"

namespace tandem::cuda {
namespace {

constexpr auto kPoll = std::chrono::microseconds(100);
constexpr auto kMostFarewell = std::chrono::seconds(10);  // for others to have what was sent

struct Opened {
  nccl::Library library;
  std::string missing;  // why it cannot be used
};

std::string open(nccl::Library& l) {
  constexpr std::array<const char*, 1> kNames{"libnccl.so.2"};
  std::string why;
  void* object = openSharedLibrary("TANDEM_NCCL", kNames, why);
  if (object == nullptr)
    return strcat("NCCL (libnccl.so.2) cannot be opened: ", why,
                  "; install the wheel nvidia-nccl-cu13, or let TANDEM_NCCL name the library");
#define X(result, member, symbol, parameters) {#symbol, &l.member},
  const SharedFunction functions[] = {TANDEM_NCCL(X)};
#undef X
  if (const std::string lacking = findFunctions(object, functions); !lacking.empty())
    return strcat("NCCL ", lacking, ": version 2.18 or newer is needed");
  int version = 0;
  if (const int result = l.getVersion(&version); result != nccl::kSuccess)
    return strcat("NCCL does not tell its version: ", l.getErrorString(result));
  if (version < nccl::kOldest) return strcat("NCCL has version ", version, ": 2.18 or newer is needed");
  return "";
}

const Opened& opened() {
  static const Opened* const o = [] {  // never destroyed: threads may use it while the process ends
    auto* const made = new Opened;
    made->missing = open(made->library);
    return made;
  }();
  return *o;
}

const nccl::Library& library() {
  if (!opened().missing.empty()) fail<Error>(opened().missing);
  return opened().library;
}

}  // namespace

int ncclVersion() {
  int version = 0;
  if (opened().missing.empty()) opened().library.getVersion(&version);
  return version;
}

const std::string& ncclMissing() { return opened().missing; }

std::string ncclId() {
  nccl::UniqueId id{};
  if (const int result = library().getUniqueId(&id); result != nccl::kSuccess)
    fail<Error>("NCCL: making the identity of a group: ", library().getErrorString(result));
  return {id.bytes, sizeof id.bytes};
}

NcclCommunicator::NcclCommunicator(Gpu& gpu, const std::string& id, int rank, int size, FunctionRef<bool()> isGivenUp)
    : gpu_(gpu), rank_(rank), stream_(gpu) {
  const nccl::Library& l = library();
  nccl::UniqueId known{};
  if (id.size() != sizeof known.bytes) fail<Error>("NCCL: the identity of a group has ", id.size(), " bytes");
  std::memcpy(known.bytes, id.data(), sizeof known.bytes);
  gpu_.use();
  nccl::Config config;
  int result = nccl::kSuccess;
  {
    const std::lock_guard lock(mutex_);
    result = l.connect(&handle_, size, known, rank, &config);
  }
  try {
    finish(result, "connecting the ranks", isGivenUp);
  } catch (const Error&) {
    abort();
    throw;
  }
}

NcclCommunicator::~NcclCommunicator() { abort(); }

std::string NcclCommunicator::textOf(int result, const char* what) const {
  const nccl::Library& l = library();
  const char* more = handle_ == nullptr ? nullptr : l.getLastError(handle_);
  std::string text = strcat("NCCL: ", what, ": ", l.getErrorString(result));
  if (more != nullptr && *more != '\0') text += strcat(" (", more, ")");
  return text;
}

void NcclCommunicator::finish(int result, const char* what, FunctionRef<bool()> isGivenUp) {
  const nccl::Library& l = library();
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (handle_ == nullptr && result == nccl::kInProgress) fail<Error>("NCCL: ", what, ": given up");
      if (result == nccl::kInProgress) {
        int state = nccl::kSuccess;
        const int asked = l.getAsyncError(handle_, &state);
        result = asked == nccl::kSuccess ? state : asked;
      }
      if (result == nccl::kSuccess) return;
      if (result != nccl::kInProgress) fail<Error>(textOf(result, what));
    }
    if (isGivenUp()) fail<Error>("NCCL: ", what, ": given up");
    std::this_thread::sleep_for(kPoll);
  }
}

void NcclCommunicator::copyOwn(std::span<const Part> sends, std::span<const Part> receives) {
  const auto isOwn = [this](const Part& p) { return p.rank == rank_; };
  const auto from = std::ranges::find_if(sends, isOwn);
  const auto to = std::ranges::find_if(receives, isOwn);
  TANDEM_CHECK((from == sends.end()) == (to == receives.end()), "a rank sends itself what it does not receive");
  if (from == sends.end() || from->memory == to->memory) return;
  TANDEM_CHECK(from->bytes == to->bytes, "a rank sends itself another length than it receives");
  copyWithin(to->memory, from->memory, from->bytes, stream_);
}

void NcclCommunicator::exchange(std::span<const Part> sends, std::span<const Part> receives) {
  const nccl::Library& l = library();
  gpu_.use();
  copyOwn(sends, receives);
  int result = nccl::kSuccess;
  {
    const std::lock_guard lock(mutex_);
    if (handle_ == nullptr) fail<Error>("NCCL: the communicator was given up");
    auto keep = [&result](int one) {
      if (result == nccl::kSuccess || result == nccl::kInProgress) result = one;
    };
    keep(l.groupStart());
    for (const Part& p : sends)
      if (p.rank != rank_) keep(l.send(p.memory, p.bytes, nccl::kBytes, p.rank, handle_, stream_.raw()));
    for (const Part& p : receives)
      if (p.rank != rank_) keep(l.receive(p.memory, p.bytes, nccl::kBytes, p.rank, handle_, stream_.raw()));
    // The group is ended in any case, or the thread would be in it for ever.
    const int ended = l.groupEnd();
    if (result == nccl::kSuccess || result == nccl::kInProgress) result = ended;
  }
  finish(result, "queueing an exchange", [] { return false; });
}

std::string NcclCommunicator::failure() {
  const std::lock_guard lock(mutex_);
  if (handle_ == nullptr) return "";
  int state = nccl::kSuccess;
  const int asked = library().getAsyncError(handle_, &state);
  const int result = asked == nccl::kSuccess ? state : asked;
  return result == nccl::kSuccess || result == nccl::kInProgress ? "" : textOf(result, "an exchange");
}

void NcclCommunicator::abort() noexcept {
  const std::lock_guard lock(mutex_);
  if (handle_ == nullptr) return;
  try {
    gpu_.use();
    library().abort(std::exchange(handle_, nullptr));
  } catch (const Error&) {
    handle_ = nullptr;  // in a forked process it is not ours
  }
}

void NcclCommunicator::close() noexcept {
  try {
    stream_.wait();
    gpu_.use();
    {
      const std::lock_guard lock(mutex_);
      if (handle_ == nullptr) return;
      if (library().finalize(handle_) == nccl::kSuccess) {
        library().destroy(std::exchange(handle_, nullptr));
        return;
      }
    }
    const auto deadline = std::chrono::steady_clock::now() + kMostFarewell;
    finish(nccl::kInProgress, "ending", [&] { return std::chrono::steady_clock::now() > deadline; });
    const std::lock_guard lock(mutex_);
    if (handle_ != nullptr) library().destroy(std::exchange(handle_, nullptr));
  } catch (const Error&) {
    abort();
  }
}

}  // namespace tandem::cuda
