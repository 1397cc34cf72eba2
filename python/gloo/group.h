// A group of processes over Gloo's TCP transport: a connection between every two of its ranks, and bytes between them.
//
//   connecting   each rank makes one end of a pair for every other rank; the caller carries the addresses between them
//   exchange     bytes between all ranks at once: what every collective operation is made of
//   (python/tandem/distributed) Message      bytes from one rank to another, with a heading that says what they are
//
// Gloo ends the process when a message is longer than its receiver expects. What is exchanged is therefore agreed upon
// before (the caller exchanges descriptions of fixed length first), and a message's heading is read before its bytes.
// An exchange waits for all ranks at once, each of which is connected to each: a process that ends is noticed by every
// rank that waits, and named. After a failure a group is of no use: all its connections are closed, which ends the
// waiting of the others. Before that a rank sends them its last words, which say why, so that those who then find
// several connections closed know which one was the first.
//
// Functions may be called on several threads. Reductions are not Gloo's, whose order depends on its algorithm: they are
// made by the caller, in the order of ranks.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gloo/transport/context.h>
#include <gloo/transport/device.h>

#include "python/gloo/deadlines.h"

namespace tandem::distributed {

using Milliseconds = std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// Why an operation did not come to its end.
class Failure : public std::runtime_error {
 public:
  /// Lost: a connection failed. TimedOut: a rank did not take part in time. Differs: a message is not what its receiver
  /// expects; the group stays as it is.
  enum class Kind : std::uint8_t { Lost = 1, TimedOut = 2, Differs = 3 };
  Failure(Kind kind, const std::string& text) : std::runtime_error(text), kind(kind) {}
  Kind kind;
};

/// Where the bytes for each rank, or from each, are in one stretch of memory. Of no bytes nothing is sent.
struct Layout {
  char* memory;
  const std::int64_t* offsets;  // one a rank
  const std::int64_t* bytes;    // one a rank
};

class Message;

/// Outlives its messages.
class Group {
 public:
  /// Listens for the connections of the other ranks, at an address of `host`, or of the network interface if one is
  /// named. `timeout` is for connecting.
  Group(const std::string& host, const std::string& interface, int rank, int size, Milliseconds timeout);
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// Where this rank waits for `peer`, for that rank to connect to.
  [[nodiscard]] std::vector<char> address(int peer);
  /// Connects with `peer`, which has this address for this rank.
  void connect(int peer, const std::vector<char>& address);

  /// Sends each rank its part of `out` and waits for the parts of `in`; what a rank has for itself is copied. All ranks
  /// call it with one `tag`, which no other exchange of the group has, and what one sends is as long as what the other
  /// expects. Of `texts` no part begins with a 0, as all of `in` does before: who did not take part in time is named.
  void exchange(std::uint64_t tag, const Layout& out, const Layout& in, bool texts, Milliseconds timeout);

  /// Posts a message. `what` describes it; the memory stays as it is until the message has gone.
  std::unique_ptr<Message> send(int peer, std::uint32_t tag, const std::string& what, void* memory, std::size_t bytes);
  /// Posts the wish for the next message with this tag of one of `peers`. Messages of a rank with one tag arrive in the
  /// order in which they were posted.
  std::unique_ptr<Message> receive(const std::vector<int>& peers, std::uint32_t tag, const std::string& what,
                                   void* memory, std::size_t bytes);

  /// Closes all connections, which ends what waits for them, here and at the other ranks. From then on every operation
  /// fails with this text.
  void abort(const std::string& why) noexcept;

 private:
  friend class Message;
  /// Fails if the group has.
  void check();
  /// Gives the group up for what an error of Gloo means, of an operation that was to end at a time.
  [[noreturn]] void fail(const std::exception& error, Clock::time_point deadline, const std::string& late);
  /// What is to be said of the connections that have failed.
  std::string lost();
  std::unique_ptr<gloo::transport::UnboundBuffer> buffer(void* memory, std::size_t bytes) {
    return context_->createUnboundBuffer(memory, bytes);
  }

  int rank_, size_;
  std::shared_ptr<gloo::transport::Device> device_;
  std::shared_ptr<gloo::transport::Context> context_;
  std::vector<std::atomic<std::uint64_t>> sent_;  // messages to each rank so far
  std::vector<char> words_;                       // the last of each rank
  std::vector<std::unique_ptr<gloo::transport::UnboundBuffer>> wordsBuffers_;
  Deadlines deadlines_;
  // Of threads that notice a failure one says why: last words are there for one to read.
  std::mutex failing_;
  std::mutex mutex_;  // guards what follows
  std::optional<Failure> failed_;
  std::set<Message*> messages_;  // whose threads may wait
};

/// A message that is on its way. A thread of its own takes it there, since the bytes go only after the heading was
/// read.
class Message {
 public:
  Message(Group& group, std::string what, void* memory, std::size_t bytes);
  /// Waits for the thread: the message has arrived, or the group was given up.
  ~Message();
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  /// Has it arrived within `timeout`? Throws Failure where it did not come to its end.
  bool wait(Milliseconds timeout);
  /// The rank that it comes from, or goes to.
  [[nodiscard]] int peer() const { return peer_; }

 private:
  friend class Group;
  /// What goes before the bytes.
  struct Heading {
    std::uint64_t sequence;  // among the messages from one rank to another; names the bytes
    std::uint64_t bytes;
    char what[240];
  };

  void start(void (Message::*work)());
  void sendBytes();
  void receiveBytes();

  Group& group_;
  Heading heading_{};
  std::string what_;
  void* memory_;
  std::size_t bytes_;
  int peer_ = -1;
  std::unique_ptr<gloo::transport::UnboundBuffer> headingBuffer_, bytesBuffer_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool done_ = false;
  std::optional<Failure> failed_;
  std::thread thread_;
};

}  // namespace tandem::distributed
