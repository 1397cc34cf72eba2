// A stand-in for NCCL: those of its functions that runtime/device/cuda/nccl.cpp calls. Ranks are processes of one
// machine, which may have one (emulated) GPU each. Memory goes through page-locked memory of the host and local sockets
// (peers.h), by work of the stream, which is late as all work of the driver's stand-in ($TANDEM_CUDA_DRIVER): a rank
// whose message another one waits for does its work up to it.
//
// It is strict. A wrong handle, rank, type or address, a group that is not begun, two streams in a group are errors; a
// message that is not as long or of another type than its receiver expects is an asynchronous error of the receiver,
// whose stream then stays where it is until the communicator is aborted, as NCCL's does. So it does when a rank is
// lost. Calls do not block: what they do is in progress for some time. $TANDEM_NCCL_LOG names a file to which it adds a
// line a group.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "runtime/device/cuda/nccl_functions.h"
#include "tests/emulation/nccl/peers.h"

namespace {

namespace cuda = tandem::cuda;
namespace nccl = tandem::cuda::nccl;
using tandem::emulation::Peers;

constexpr int kTypes = 12;  // ncclNumTypes without the 8-bit floats
constexpr std::size_t kWidths[kTypes] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

/// Of the driver of the process.
template <class F>
F symbolOf(const char* name) {
  static void* const object = [] {
    const char* path = std::getenv("TANDEM_CUDA_DRIVER");
    return path == nullptr ? nullptr : ::dlopen(path, RTLD_NOW);
  }();
  return object == nullptr ? nullptr : reinterpret_cast<F>(::dlsym(object, name));
}
struct Driver : cuda::Driver {
  Driver() {
#define X(member, symbol, parameters) member = symbolOf<decltype(member)>(#symbol);
    TANDEM_CUDA_DRIVER(X)
#undef X
  }
  int (*wait)(cuda::StreamHandle, int (*)(void*), void*) = symbolOf<decltype(wait)>("tandemEmulatedWait");
};
const Driver& openDriver() {
  static const Driver* const d = new Driver;
  return *d;
}

/// Page-locked memory, used again and never given back: the driver would wait for all work then.
class Staging {
 public:
  char* take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    for (auto it = free_.lower_bound(bytes); it != free_.end() && it->first <= 2 * bytes;) {
      char* memory = it->second;
      sizes_[memory] = it->first;
      free_.erase(it);
      return memory;
    }
    void* memory = nullptr;
    if (openDriver().memHostAlloc(&memory, bytes, 0) != cuda::kSuccess) return nullptr;
    sizes_[static_cast<char*>(memory)] = bytes;
    return static_cast<char*>(memory);
  }
  void give(char* memory) {
    const std::lock_guard lock(mutex_);
    free_.emplace(sizes_[memory], memory);
  }

 private:
  std::mutex mutex_;
  std::multimap<std::size_t, char*> free_;
  std::map<char*, std::size_t> sizes_;
};
Staging& staging() {
  static auto* const s = new Staging;
  return *s;
}

struct Transfer {
  bool sends;
  void* memory;
  std::size_t bytes;
  int type;
  int rank;
  std::uint64_t number;  // among those to the rank, or from it
  char* staged = nullptr;
};

struct Communicator;

/// What is done at the same time.
struct Batch {
  std::shared_ptr<Communicator> communicator;
  cuda::StreamHandle stream;
  std::vector<Transfer> transfers;
  cuda::EventHandle event = nullptr;  // behind it
  bool isQueued = false;              // with the communicator's mutex
  std::atomic<bool> isDone{false};
};

struct Communicator {
  Communicator(const std::string& name, int rank, int size)
      : sent(static_cast<std::size_t>(size)), received(static_cast<std::size_t>(size)),
        peers(name, rank, size,
              [this](int from, Peers::Kind kind, std::uint64_t number) { arrived(from, kind, number); }) {
    openDriver().ctxGetCurrent(&context);
    worker = std::thread([this] { work(); });
  }

  /// The stream of the transfer that another rank waits for is done up to it, now or when it has been queued.
  void arrived(int rank, Peers::Kind kind, std::uint64_t number) {
    if (kind != Peers::Kind::Wanted && kind != Peers::Kind::Data) return;
    const std::lock_guard lock(mutex);
    wanted.push_back({kind == Peers::Kind::Wanted, rank, number});
    changed.notify_all();
  }

  void work() {
    openDriver().ctxSetCurrent(context);
    std::unique_lock lock(mutex);
    while (!ends) {
      cuda::EventHandle event = nullptr;
      std::shared_ptr<Batch> batch;
      std::erase_if(wanted, [&](const Wish& w) {
        for (const auto& b : batches) {
          for (const Transfer& t : b->transfers) {
            if (t.sends != w.sends || t.rank != w.rank || t.number != w.number) continue;
            if (!b->isQueued || batch != nullptr) return b->isDone.load();
            if (!b->isDone) batch = b;
            return true;
          }
        }
        // It was done before, or is to be queued.
        return w.number < (w.sends ? sent : received)[static_cast<std::size_t>(w.rank)];
      });
      if (batch != nullptr) event = batch->event;
      if (event == nullptr) {
        changed.wait(lock);
        continue;
      }
      lock.unlock();
      openDriver().eventSynchronize(event);
      lock.lock();
    }
  }

  /// From the thread of a caller: what is done is given back.
  void clean() {
    const std::lock_guard lock(mutex);
    std::erase_if(batches,
                  [](const auto& b) { return b->isDone && openDriver().eventDestroy(b->event) == cuda::kSuccess; });
  }

  struct Wish {
    bool sends;
    int rank;
    std::uint64_t number;
  };
  cuda::ContextHandle context = nullptr;
  std::atomic<bool> isAborted{false};
  std::atomic<int> progress{0};  // questions that are answered by `in progress`
  bool isFinalized = false;
  std::mutex mutex;  // over what follows
  std::condition_variable changed;
  std::vector<std::shared_ptr<Batch>> batches;
  std::vector<std::uint64_t> sent, received;  // so far, by rank
  std::vector<Wish> wanted;
  bool ends = false;
  std::thread worker;
  Peers peers;  // the last: its thread calls `arrived`
};

/// Those that live.
struct Registry {
  std::mutex mutex;
  std::map<nccl::Handle, std::shared_ptr<Communicator>> all;
};
Registry& registry() {
  static auto* const r = new Registry;
  return *r;
}
std::shared_ptr<Communicator> find(nccl::Handle handle) {
  const std::lock_guard lock(registry().mutex);
  const auto it = registry().all.find(handle);
  return it == registry().all.end() ? nullptr : it->second;
}
std::shared_ptr<Communicator> forget(nccl::Handle handle) {
  const std::lock_guard lock(registry().mutex);
  const auto it = registry().all.find(handle);
  if (it == registry().all.end()) return nullptr;
  std::shared_ptr<Communicator> found = it->second;
  registry().all.erase(it);
  return found;
}

void end(Communicator& c) {
  c.peers.close();
  {
    const std::lock_guard lock(c.mutex);
    c.ends = true;
    c.changed.notify_all();
  }
  // What it waits for is let go by isAborted, or done.
  c.worker.join();
}

// ---- the work of a stream

Batch& batchOf(void* data) { return *static_cast<Batch*>(data); }

void post(void* data) {
  Batch& batch = batchOf(data);
  Peers& peers = batch.communicator->peers;
  for (const Transfer& t : batch.transfers) {
    if (t.sends)
      peers.send(t.rank, Peers::Kind::Data, t.number, t.type, t.staged, t.bytes);
    else
      peers.send(t.rank, Peers::Kind::Wanted, t.number);
  }
}

int isThere(void* data) {
  Batch& batch = batchOf(data);
  if (batch.communicator->isAborted) return 1;
  for (const Transfer& t : batch.transfers)
    if (!t.sends && !batch.communicator->peers.has(t.rank, t.number)) return 0;
  return 1;
}

void take(void* data) {
  Batch& batch = batchOf(data);
  if (batch.communicator->isAborted) return;
  Peers& peers = batch.communicator->peers;
  for (const Transfer& t : batch.transfers) {
    if (t.sends) continue;
    const Peers::Message message = peers.take(t.rank, t.number);
    if (message.type != t.type || message.bytes.size() != t.bytes) {
      peers.fail("message " + std::to_string(t.number) + " from rank " + std::to_string(t.rank) + " has " +
                 std::to_string(message.bytes.size()) + " bytes of type " + std::to_string(message.type) + ", and " +
                 std::to_string(t.bytes) + " of type " + std::to_string(t.type) + " are expected");
      continue;
    }
    if (t.bytes != 0) std::memcpy(t.staged, message.bytes.data(), t.bytes);
    peers.send(t.rank, Peers::Kind::Taken, t.number);
  }
}

/// Never, where a message did not fit or a rank is lost that has not taken what it was sent.
int isOver(void* data) {
  Batch& batch = batchOf(data);
  if (batch.communicator->isAborted) return 1;
  const std::string failure = batch.communicator->peers.failure();
  if (failure.starts_with("message")) return 0;
  for (const Transfer& t : batch.transfers)
    if (t.sends && !batch.communicator->peers.isTaken(t.rank, t.number)) return 0;
  return 1;
}

void finish(void* data) {
  Batch& batch = batchOf(data);
  for (const Transfer& t : batch.transfers)
    if (t.staged != nullptr) staging().give(t.staged);
  batch.isDone = true;
}

void log(const Batch& batch) {
  const char* path = std::getenv("TANDEM_NCCL_LOG");
  std::FILE* file = path == nullptr ? nullptr : std::fopen(path, "a");
  if (file == nullptr) return;
  std::string line = "rank " + std::to_string(batch.communicator->peers.rank()) + ":";
  for (const Transfer& t : batch.transfers)
    line += std::string(t.sends ? " to " : " from ") + std::to_string(t.rank) + " " + std::to_string(t.bytes);
  std::fprintf(file, "%s\n", line.c_str());
  std::fclose(file);
}

void number(Communicator& c, const std::shared_ptr<Batch>& batch) {
  const std::lock_guard lock(c.mutex);
  for (Transfer& t : batch->transfers) t.number = (t.sends ? c.sent : c.received)[static_cast<std::size_t>(t.rank)]++;
  c.batches.push_back(batch);
}

int queue(const std::shared_ptr<Batch>& batch) {
  const Driver& d = openDriver();
  Communicator& c = *batch->communicator;
  c.clean();
  number(c, batch);
  bool good = d.eventCreate(&batch->event, cuda::kEventDisableTiming) == cuda::kSuccess;
  const auto address = [](const void* p) { return reinterpret_cast<cuda::DevicePointer>(p); };
  for (Transfer& t : batch->transfers) {
    if (t.bytes == 0) continue;
    t.staged = staging().take(t.bytes);
    if (t.sends)
      good = good && d.memcpyDtoHAsync(t.staged, address(t.memory), t.bytes, batch->stream) == cuda::kSuccess;
  }
  void* data = batch.get();
  good = good && d.launchHostFunc(batch->stream, post, data) == cuda::kSuccess;
  good = good && d.wait(batch->stream, isThere, data) == cuda::kSuccess;
  good = good && d.launchHostFunc(batch->stream, take, data) == cuda::kSuccess;
  for (const Transfer& t : batch->transfers)
    if (!t.sends && t.bytes != 0)
      good = good && d.memcpyHtoDAsync(address(t.memory), t.staged, t.bytes, batch->stream) == cuda::kSuccess;
  good = good && d.wait(batch->stream, isOver, data) == cuda::kSuccess;
  good = good && d.launchHostFunc(batch->stream, finish, data) == cuda::kSuccess;
  good = good && d.eventRecord(batch->event, batch->stream) == cuda::kSuccess;
  log(*batch);
  const std::lock_guard lock(c.mutex);
  batch->isQueued = true;
  c.changed.notify_all();
  c.progress = 2;
  return good ? nccl::kInProgress : nccl::kUnhandledCudaError;
}

// ---- groups, which are of a thread

struct Group {
  int depth = 0;
  int wrong = nccl::kSuccess;
  std::vector<std::shared_ptr<Batch>> batches;  // one a communicator
};
thread_local Group group;

int endGroup() {
  const Group ended = std::exchange(group, {});
  if (ended.wrong != nccl::kSuccess) return ended.wrong;
  int result = nccl::kSuccess;
  for (const auto& batch : ended.batches) {
    const int one = queue(batch);
    if (result == nccl::kSuccess || result == nccl::kInProgress) result = one;
  }
  return result;
}

int add(nccl::Handle handle, const Transfer& transfer, std::size_t count, cuda::StreamHandle stream) {
  const std::shared_ptr<Communicator> c = find(handle);
  const auto refuse = [](int result) {
    if (group.depth > 0) group.wrong = result;
    return result;
  };
  if (c == nullptr || transfer.type < 0 || transfer.type >= kTypes) return refuse(nccl::kInvalidArgument);
  if (transfer.rank < 0 || transfer.rank >= c->peers.size()) return refuse(nccl::kInvalidArgument);
  if (transfer.rank == c->peers.rank() || !c->peers.isConnected()) return refuse(nccl::kInvalidUsage);
  if (transfer.memory == nullptr && count != 0) return refuse(nccl::kInvalidArgument);
  std::shared_ptr<Batch> batch;
  for (const auto& known : group.batches)
    if (known->communicator == c) batch = known;
  if (batch == nullptr) {
    batch = std::make_shared<Batch>();
    batch->communicator = c;
    batch->stream = stream;
    group.batches.push_back(batch);
  }
  if (batch->stream != stream) return refuse(nccl::kInvalidUsage);
  batch->transfers.push_back(transfer);
  batch->transfers.back().bytes = count * kWidths[transfer.type];
  return group.depth > 0 ? static_cast<int>(nccl::kSuccess) : endGroup();
}

}  // namespace

namespace tandem::cuda::nccl {
// The functions as nccl_functions.h has them: a definition with other parameters does not compile.
extern "C" {
#define X(result, member, symbol, parameters) [[gnu::visibility("default")]] result symbol parameters;
TANDEM_NCCL(X)
#undef X

int ncclGetVersion(int* version) {
  *version = 22304;
  return kSuccess;
}

int ncclGetUniqueId(UniqueId* id) {
  std::random_device source;
  *id = {};
  std::snprintf(id->bytes, sizeof id->bytes, "tandem-nccl-%d-%08x%08x", static_cast<int>(::getpid()), source(),
                source());
  return kSuccess;
}

int ncclCommInitRankConfig(Handle* handle, int ranks, UniqueId id, int rank, Config* config) {
  *handle = nullptr;
  if (rank < 0 || rank >= ranks || std::strncmp(id.bytes, "tandem-nccl-", 12) != 0) return kInvalidArgument;
  if (config->size != sizeof(Config) || config->magic != Config{}.magic || config->version < kOldest)
    return kInvalidUsage;
  if (config->blocking != 0) return kInvalidUsage;  // of this nothing was tried
  ContextHandle context = nullptr;
  if (openDriver().ctxGetCurrent == nullptr || openDriver().ctxGetCurrent(&context) != 0 || context == nullptr)
    return kUnhandledCudaError;
  auto made = std::make_shared<Communicator>(id.bytes, rank, ranks);
  *handle = reinterpret_cast<Handle>(made.get());
  const std::lock_guard lock(registry().mutex);
  registry().all.emplace(*handle, std::move(made));
  return kInProgress;
}

int ncclCommGetAsyncError(Handle handle, int* result) {
  const std::shared_ptr<Communicator> c = find(handle);
  if (c == nullptr) return kInvalidArgument;
  if (const std::string failure = c->peers.failure(); !failure.empty())
    *result = failure.starts_with("message") ? kInvalidUsage : kRemoteError;
  else if (!c->peers.isConnected())
    *result = kInProgress;
  else
    *result = c->progress.load() > 0 ? kInProgress : kSuccess;
  if (*result == kInProgress) --c->progress;
  return kSuccess;
}

int ncclCommFinalize(Handle handle) {
  const std::shared_ptr<Communicator> c = find(handle);
  if (c == nullptr) return kInvalidArgument;
  if (c->isFinalized) return kInvalidUsage;
  c->isFinalized = true;
  c->progress = 2;
  if (c->peers.isConnected()) c->peers.sayFarewell();
  return kInProgress;
}

int ncclCommDestroy(Handle handle) {
  const std::shared_ptr<Communicator> c = forget(handle);
  if (c == nullptr) return kInvalidArgument;
  c->isAborted = !c->isFinalized;
  c->clean();
  end(*c);
  return kSuccess;
}

int ncclCommAbort(Handle handle) {
  const std::shared_ptr<Communicator> c = forget(handle);
  if (c == nullptr) return kInvalidArgument;
  c->isAborted = true;
  end(*c);
  return kSuccess;
}

const char* ncclGetErrorString(int result) {
  switch (result) {
  case kSuccess:
    return "no error";
  case kUnhandledCudaError:
    return "unhandled cuda error";
  case kInvalidArgument:
    return "invalid argument";
  case kInvalidUsage:
    return "invalid usage";
  case kRemoteError:
    return "remote process exited or there was a network error";
  case kInProgress:
    return "NCCL operation in progress";
  default:
    return "internal error";
  }
}

const char* ncclGetLastError(Handle handle) {
  thread_local std::string text;
  const std::shared_ptr<Communicator> c = find(handle);
  text = c == nullptr ? "" : c->peers.failure();
  return text.c_str();
}

int ncclGroupStart() {
  ++group.depth;
  return kSuccess;
}

int ncclGroupEnd() {
  if (group.depth == 0) return kInvalidUsage;
  return --group.depth > 0 ? static_cast<int>(kSuccess) : endGroup();
}

int ncclSend(const void* memory, std::size_t count, int type, int rank, Handle handle, StreamHandle stream) {
  return add(handle, {true, const_cast<void*>(memory), 0, type, rank, 0}, count, stream);
}

int ncclRecv(void* memory, std::size_t count, int type, int rank, Handle handle, StreamHandle stream) {
  return add(handle, {false, memory, 0, type, rank, 0}, count, stream);
}

}  // extern "C"
}  // namespace tandem::cuda::nccl
