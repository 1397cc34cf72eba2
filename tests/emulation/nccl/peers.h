// The connections of one rank with all others: local sockets, which end with their process.
//
//   - Ranks know each other by a text. Each listens under it and its number, and calls those of lower number.
//   - What arrives is read at once by a thread and kept, so that nobody waits with sending.
//   - A message goes when its sender's stream has come to it. It is done there when the receiver has taken it: that
//     stream waits for an answer, as NCCL's larger messages do.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tandem::emulation {

class Peers {
 public:
  enum class Kind : std::uint32_t { Hello, Data, Taken, Wanted, Farewell };
  struct Message {
    std::uint64_t number = 0;  // among those from one rank to another
    int type = 0;
    std::vector<char> bytes;
  };
  /// Called on the thread that reads.
  using Arrived = std::function<void(int rank, Kind kind, std::uint64_t number)>;

  Peers(std::string name, int rank, int size, Arrived arrived);
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  /// Are all connections there?
  [[nodiscard]] bool isConnected() const { return connected_.load(); }
  /// What went wrong, of which the connections are of no use any more; empty where nothing did.
  [[nodiscard]] std::string failure() const;
  /// Another reason. The first one counts.
  void fail(const std::string& why);

  void send(int rank, Kind kind, std::uint64_t number, int type = 0, const void* bytes = nullptr, std::size_t size = 0);
  /// Is the message there?
  [[nodiscard]] bool has(int rank, std::uint64_t number) const;
  Message take(int rank, std::uint64_t number);
  /// Has the receiver taken it?
  [[nodiscard]] bool isTaken(int rank, std::uint64_t number) const;

  /// Tells all that this rank leaves with everything done.
  void sayFarewell();
  /// Ends the threads and closes the connections.
  void close();

 private:
  struct Peer {
    int socket = -1;
    bool left = false;
    std::uint64_t taken = 0;
    std::deque<Message> messages;
    std::mutex sending;
  };
  void connect();
  void read();
  bool readFrom(int rank);

  const std::string name_;
  const int rank_, size_;
  const Arrived arrived_;
  std::vector<std::unique_ptr<Peer>> peers_;
  int listener_ = -1;
  std::atomic<bool> connected_{false}, closed_{false};
  mutable std::mutex mutex_;  // over messages, and the text
  std::string failure_;
  std::thread thread_;
};

}  // namespace tandem::emulation
