#include "tests/emulation/nccl/peers.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <poll.h>
#include <unistd.h>
#include <utility>

#include <sys/socket.h>
#include <sys/un.h>

namespace tandem::emulation {
namespace {

struct Heading {
  Peers::Kind kind;
  std::int32_t type;
  std::uint64_t number;
  std::uint64_t bytes;
};

constexpr int kPoll = 20;  // milliseconds
constexpr auto kRetry = std::chrono::milliseconds(2);

/// Of the kernel's own namespace, in which nothing stays.
socklen_t addressOf(const std::string& name, int rank, sockaddr_un& address) {
  const std::string text = name + "-" + std::to_string(rank);
  address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, text.data(), std::min(text.size(), sizeof address.sun_path - 1));
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
}

bool writeAll(int socket, const void* data, std::size_t n) {
  const auto* at = static_cast<const char*>(data);
  while (n > 0) {
    const ssize_t done = ::send(socket, at, n, MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    at += done;
    n -= static_cast<std::size_t>(done);
  }
  return true;
}

bool readAll(int socket, void* data, std::size_t n) {
  auto* at = static_cast<char*>(data);
  while (n > 0) {
    const ssize_t done = ::recv(socket, at, n, 0);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    at += done;
    n -= static_cast<std::size_t>(done);
  }
  return true;
}

}  // namespace

Peers::Peers(std::string name, int rank, int size, Arrived arrived)
    : name_(std::move(name)), rank_(rank), size_(size), arrived_(std::move(arrived)) {
  for (int r = 0; r < size_; ++r) peers_.push_back(std::make_unique<Peer>());
  thread_ = std::thread([this] {
    connect();
    if (isConnected()) read();
  });
}

Peers::~Peers() { close(); }

std::string Peers::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Peers::fail(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (failure_.empty()) failure_ = why;
}

void Peers::connect() {
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  socklen_t length = addressOf(name_, rank_, address);
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0 || ::listen(listener_, size_) != 0)
    return fail("rank " + std::to_string(rank_) + " is there already, or cannot listen: " + std::strerror(errno));
  for (int r = 0; r < rank_; ++r) {
    const int called = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    length = addressOf(name_, r, address);
    while (::connect(called, reinterpret_cast<sockaddr*>(&address), length) != 0) {
      if (closed_) return static_cast<void>(::close(called));
      std::this_thread::sleep_for(kRetry);
    }
    peers_[static_cast<std::size_t>(r)]->socket = called;
    send(r, Kind::Hello, static_cast<std::uint64_t>(rank_), size_);
  }
  for (int missing = size_ - 1 - rank_; missing > 0;) {
    pollfd waiting{listener_, POLLIN, 0};
    if (closed_) return;
    if (::poll(&waiting, 1, kPoll) <= 0) continue;
    const int caller = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    Heading hello{};
    if (caller < 0 || !readAll(caller, &hello, sizeof hello)) continue;
    const int r = static_cast<int>(hello.number);
    if (hello.kind != Kind::Hello || hello.type != size_ || r <= rank_ || r >= size_ ||
        peers_[static_cast<std::size_t>(r)]->socket >= 0) {
      return fail("rank " + std::to_string(r) + " of " + std::to_string(hello.type) + " calls rank " +
                  std::to_string(rank_) + " of " + std::to_string(size_));
    }
    peers_[static_cast<std::size_t>(r)]->socket = caller;
    --missing;
  }
  connected_ = true;
}

void Peers::send(int rank, Kind kind, std::uint64_t number, int type, const void* bytes, std::size_t size) {
  Peer& peer = *peers_[static_cast<std::size_t>(rank)];
  const Heading heading{kind, type, number, size};
  const std::lock_guard lock(peer.sending);
  const bool sent = writeAll(peer.socket, &heading, sizeof heading) && writeAll(peer.socket, bytes, size);
  // To a rank that has left nothing needs to be said; that one was lost its reader says.
  static_cast<void>(sent);
}

void Peers::read() {
  while (!closed_) {
    std::vector<pollfd> sockets;
    std::vector<int> ranks;
    for (int r = 0; r < size_; ++r) {
      const Peer& peer = *peers_[static_cast<std::size_t>(r)];
      if (peer.socket < 0 || peer.left) continue;
      sockets.push_back({peer.socket, POLLIN, 0});
      ranks.push_back(r);
    }
    if (::poll(sockets.data(), sockets.size(), kPoll) <= 0) continue;
    for (std::size_t i = 0; i < sockets.size(); ++i) {
      if (sockets[i].revents == 0 || readFrom(ranks[i]) || closed_) continue;
      Peer& peer = *peers_[static_cast<std::size_t>(ranks[i])];
      if (!std::exchange(peer.left, true)) fail("the connection to rank " + std::to_string(ranks[i]) + " broke");
    }
  }
}

bool Peers::readFrom(int rank) {
  Peer& peer = *peers_[static_cast<std::size_t>(rank)];
  Heading heading{};
  if (!readAll(peer.socket, &heading, sizeof heading)) return false;
  Message message{heading.number, heading.type, std::vector<char>(heading.bytes)};
  if (!readAll(peer.socket, message.bytes.data(), message.bytes.size())) return false;
  {
    const std::lock_guard lock(mutex_);
    if (heading.kind == Kind::Data) peer.messages.push_back(std::move(message));
    if (heading.kind == Kind::Taken) peer.taken = std::max(peer.taken, heading.number + 1);
    if (heading.kind == Kind::Farewell) peer.left = true;
  }
  arrived_(rank, heading.kind, heading.number);
  return true;
}

bool Peers::has(int rank, std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const auto& messages = peers_[static_cast<std::size_t>(rank)]->messages;
  return std::ranges::find(messages, number, &Message::number) != messages.end();
}

Peers::Message Peers::take(int rank, std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  auto& messages = peers_[static_cast<std::size_t>(rank)]->messages;
  const auto it = std::ranges::find(messages, number, &Message::number);
  Message found = std::move(*it);
  messages.erase(it);
  return found;
}

bool Peers::isTaken(int rank, std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  return peers_[static_cast<std::size_t>(rank)]->taken > number;
}

void Peers::sayFarewell() {
  for (int r = 0; r < size_; ++r)
    if (r != rank_) send(r, Kind::Farewell, 0);
}

void Peers::close() {
  if (closed_.exchange(true)) return;
  // Who sends at the moment is let go.
  for (const auto& peer : peers_)
    if (peer->socket >= 0) ::shutdown(peer->socket, SHUT_RDWR);
  thread_.join();
  for (const auto& peer : peers_)
    if (peer->socket >= 0) ::close(std::exchange(peer->socket, -1));
  if (listener_ >= 0) ::close(std::exchange(listener_, -1));
}

}  // namespace tandem::emulation
