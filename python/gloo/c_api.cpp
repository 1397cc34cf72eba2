// The functions of libtandem_gloo.so, which Python opens by ctypes (python/tandem/distributed/_gloo.py). A result of 0
// is success, or a null pointer failure; `tandem_gloo_error` says why the last call on this thread failed.
#include <cstring>

#include "python/gloo/group.h"

namespace tandem::distributed {
namespace {

thread_local std::string lastError;

/// 0, or the number of the kind of failure.
template <class F>
int guarded(F&& body) noexcept {
  try {
    body();
    return 0;
  } catch (const Failure& f) {
    lastError = f.what();
    return static_cast<int>(f.kind);
  } catch (const std::exception& e) {
    lastError = e.what();
    return static_cast<int>(Failure::Kind::Lost);
  }
}

Group& groupOf(void* group) { return *static_cast<Group*>(group); }
Message& messageOf(void* message) { return *static_cast<Message*>(message); }

}  // namespace
}  // namespace tandem::distributed

#define TANDEM_GLOO extern "C" [[gnu::visibility("default")]]

using namespace tandem::distributed;

TANDEM_GLOO const char* tandem_gloo_error() { return lastError.c_str(); }

TANDEM_GLOO void* tandem_gloo_open(const char* host, const char* interface, int rank, int size, std::int64_t timeout) {
  void* group = nullptr;
  guarded([&] { group = new Group(host, interface, rank, size, Milliseconds(timeout)); });
  return group;
}

/// The length of the address, of which at most `capacity` bytes are written; -1 for failure.
TANDEM_GLOO std::int64_t tandem_gloo_address(void* group, int peer, char* out, std::int64_t capacity) {
  std::int64_t length = -1;
  guarded([&] {
    const std::vector<char> bytes = groupOf(group).address(peer);
    length = static_cast<std::int64_t>(bytes.size());
    std::memcpy(out, bytes.data(), static_cast<std::size_t>(std::min(length, capacity)));
  });
  return length;
}

TANDEM_GLOO int tandem_gloo_connect(void* group, int peer, const char* address, std::int64_t length) {
  return guarded([&] { groupOf(group).connect(peer, std::vector<char>(address, address + length)); });
}

TANDEM_GLOO int tandem_gloo_exchange(void* group, std::uint64_t tag, void* out, const std::int64_t* outOffsets,
                                     const std::int64_t* outBytes, void* in, const std::int64_t* inOffsets,
                                     const std::int64_t* inBytes, int texts, std::int64_t timeout) {
  return guarded([&] {
    groupOf(group).exchange(tag, {static_cast<char*>(out), outOffsets, outBytes},
                            {static_cast<char*>(in), inOffsets, inBytes}, texts != 0, Milliseconds(timeout));
  });
}

TANDEM_GLOO void* tandem_gloo_send(void* group, int peer, std::uint32_t tag, const char* what, void* memory,
                                   std::int64_t bytes) {
  void* message = nullptr;
  guarded([&] { message = groupOf(group).send(peer, tag, what, memory, static_cast<std::size_t>(bytes)).release(); });
  return message;
}

TANDEM_GLOO void* tandem_gloo_receive(void* group, const int* peers, int count, std::uint32_t tag, const char* what,
                                      void* memory, std::int64_t bytes) {
  void* message = nullptr;
  guarded([&] {
    message = groupOf(group)
                  .receive(std::vector<int>(peers, peers + count), tag, what, memory, static_cast<std::size_t>(bytes))
                  .release();
  });
  return message;
}

/// -1 where the message has not arrived within `timeout`.
TANDEM_GLOO int tandem_gloo_wait(void* message, std::int64_t timeout) {
  bool arrived = true;
  const int failed = guarded([&] { arrived = messageOf(message).wait(Milliseconds(timeout)); });
  return arrived ? failed : -1;
}

/// The rank at the other end, once the message has arrived.
TANDEM_GLOO int tandem_gloo_peer(void* message) { return messageOf(message).peer(); }

TANDEM_GLOO void tandem_gloo_release(void* message) { delete &messageOf(message); }

TANDEM_GLOO void tandem_gloo_abort(void* group, const char* why) { groupOf(group).abort(why); }

TANDEM_GLOO void tandem_gloo_close(void* group) { delete &groupOf(group); }
