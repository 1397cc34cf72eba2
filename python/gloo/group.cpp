#include "python/gloo/group.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <unistd.h>
#include <utility>

#include <gloo/transport/tcp/device.h>

namespace tandem::distributed {
namespace {

// The highest byte of a slot, by which Gloo tells what is on its way between two ranks apart.
constexpr std::uint64_t kExchange = std::uint64_t{1} << 56;
constexpr std::uint64_t kHeading = std::uint64_t{2} << 56;
constexpr std::uint64_t kBytes = std::uint64_t{3} << 56;
constexpr std::uint64_t kProbe = std::uint64_t{4} << 56;
constexpr std::uint64_t kLastWords = std::uint64_t{5} << 56;
/// Bytes of last words, and how long a rank tries to say them.
constexpr std::size_t kWords = 240;
constexpr Milliseconds kFarewell(200);
/// Gloo waits five times as long for a connection as it is told.
constexpr int kGloosPatience = 5;
/// For waits that `abort` ends.
constexpr Milliseconds kForever = std::chrono::hours(24 * 365);

Milliseconds until(Clock::time_point deadline) {
  return std::max(Milliseconds(1), std::chrono::duration_cast<Milliseconds>(deadline - Clock::now()));
}

std::string inSeconds(Milliseconds time) {
  std::string text = std::to_string(static_cast<double>(time.count()) / 1000);
  text.resize(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + " s";
}

/// A device has a thread, which moves the bytes of all groups. It lives as long as the process; a child of `fork`,
/// which has no such thread, makes another one.
std::shared_ptr<gloo::transport::Device> deviceAt(const std::string& host, const std::string& interface) {
  struct Devices {
    std::mutex mutex;
    pid_t process = 0;
    std::map<std::pair<std::string, std::string>, std::shared_ptr<gloo::transport::Device>> made;
  };
  static auto* devices = new Devices;
  std::scoped_lock guard(devices->mutex);
  if (std::exchange(devices->process, ::getpid()) != ::getpid() && !devices->made.empty()) {
    auto* left = new decltype(devices->made);  // the parent's, whose threads cannot be joined here
    left->swap(devices->made);
  }
  auto& device = devices->made[{host, interface}];
  if (!device) {
    gloo::transport::tcp::attr where(host.c_str());
    where.iface = interface;
    device = gloo::transport::tcp::CreateDevice(where);
  }
  return device;
}

std::size_t extentOf(const Layout& layout, int size) {
  std::int64_t extent = 0;
  for (int r = 0; r < size; ++r) extent = std::max(extent, layout.offsets[r] + layout.bytes[r]);
  return static_cast<std::size_t>(extent);
}

}  // namespace

Group::Group(const std::string& host, const std::string& interface, int rank, int size, Milliseconds timeout)
    : rank_(rank), size_(size), device_(deviceAt(host, interface)), context_(device_->createContext(rank, size)),
      sent_(static_cast<std::size_t>(size)), words_(static_cast<std::size_t>(size) * kWords, 0),
      wordsBuffers_(static_cast<std::size_t>(size)) {
  context_->setTimeout(std::max(Milliseconds(1), timeout / kGloosPatience));
  for (int r = 0; r < size; ++r)
    if (r != rank) context_->createPair(r);
}

std::vector<char> Group::address(int peer) { return context_->getPair(peer)->address().bytes(); }

void Group::connect(int peer, const std::vector<char>& address) {
  context_->getPair(peer)->connect(address);
  auto& words = wordsBuffers_[static_cast<std::size_t>(peer)];
  words = buffer(&words_[static_cast<std::size_t>(peer) * kWords], kWords);
  words->recv(peer, kLastWords, 0, kWords);
}

void Group::check() {
  std::scoped_lock guard(mutex_);
  if (failed_) throw Failure(*failed_);
}

void Group::abort(const std::string& why) noexcept {
  {
    std::scoped_lock guard(mutex_);
    if (failed_) return;
    failed_.emplace(Failure::Kind::Lost, why);
  }
  const auto deadline = Clock::now() + kFarewell;
  std::vector<char> text(kWords, 0);
  why.copy(text.data(), kWords - 1);
  auto words = buffer(text.data(), kWords);
  int sends = 0;
  for (int r = 0; r < size_; ++r) {
    if (r == rank_) continue;
    try {
      words->send(r, kLastWords, 0, kWords);
      ++sends;
    } catch (const std::exception&) {
      continue;  // it is the one that is lost
    }
  }
  // A wait that runs out of time closes all connections of its context and ends all other waits.
  try {
    for (; sends > 0; --sends) words->waitSend(nullptr, until(deadline));
  } catch (const std::exception&) {
    sends = 0;
  }
  try {
    words->waitRecv(nullptr, Milliseconds(1));
  } catch (const std::exception&) {
    sends = 0;
  }
  // A wait for any rank belongs to no connection, and is not ended by their closing.
  std::scoped_lock guard(mutex_);
  for (Message* m : messages_) {
    m->headingBuffer_->abortWaitRecv();
    m->headingBuffer_->abortWaitSend();
  }
}

std::string Group::lost() {
  std::vector<std::string> silent;
  std::string gaveUp;
  char nothing = 0;
  auto probe = buffer(&nothing, 1);
  for (int r = 0; r < size_; ++r) {
    if (r == rank_) continue;
    try {
      context_->getPair(r)->recv(probe.get(), kProbe, 0, 1);
      continue;
    } catch (const std::exception&) {
      nothing = 0;
    }
    const auto k = static_cast<std::size_t>(r);
    try {
      wordsBuffers_[k]->waitRecv(nullptr, Milliseconds(1));
      words_[(k + 1) * kWords - 1] = 0;
      gaveUp = "rank " + std::to_string(r) + " gave up: " + &words_[k * kWords];
    } catch (const std::exception&) {
      silent.push_back(std::to_string(r));
    }
  }
  if (silent.empty()) return gaveUp;
  std::string ranks = silent[0];
  for (std::size_t i = 1; i < silent.size(); ++i) ranks += ", " + silent[i];
  return silent.size() == 1 ? "the connection to rank " + ranks + " was closed: its process has ended or left the group"
                            : "the connections to ranks " + ranks + " were closed: they have ended or left the group";
}

void Group::fail(const std::exception& error, Clock::time_point deadline, const std::string& late) {
  const bool isLate = Clock::now() >= deadline;
  std::scoped_lock guard(failing_);
  check();
  std::string text = isLate ? late : lost();
  if (text.empty()) text = error.what();
  abort(text);
  throw Failure(isLate ? Failure::Kind::TimedOut : Failure::Kind::Lost, text);
}

void Group::exchange(std::uint64_t tag, const Layout& out, const Layout& in, bool texts, Milliseconds timeout) {
  check();
  const auto deadline = Clock::now() + timeout;
  const std::uint64_t slot = kExchange | tag;
  auto leaving = buffer(out.memory, extentOf(out, size_)), arriving = buffer(in.memory, extentOf(in, size_));
  int sends = 0, receives = 0;
  try {
    // Each rank begins with the one after it, so that not all send to one at a time.
    for (int k = 1; k < size_; ++k) {
      const int r = (rank_ + k) % size_;
      if (in.bytes[r] == 0) continue;
      arriving->recv(r, slot, static_cast<std::size_t>(in.offsets[r]), static_cast<std::size_t>(in.bytes[r]));
      ++receives;
    }
    for (int k = 1; k < size_; ++k) {
      const int r = (rank_ + k) % size_;
      if (out.bytes[r] == 0) continue;
      leaving->send(r, slot, static_cast<std::size_t>(out.offsets[r]), static_cast<std::size_t>(out.bytes[r]));
      ++sends;
    }
    if (const auto own = static_cast<std::size_t>(std::min(in.bytes[rank_], out.bytes[rank_])); own != 0)
      std::memmove(in.memory + in.offsets[rank_], out.memory + out.offsets[rank_], own);
    const Deadlines::Guard limit(deadlines_, deadline, [&] {
      arriving->abortWaitRecv();
      leaving->abortWaitSend();
    });
    bool done = true;
    for (; done && receives > 0; --receives) done = arriving->waitRecv(nullptr, kForever);
    for (; done && sends > 0; --sends) done = leaving->waitSend(nullptr, kForever);
    if (!done) throw std::runtime_error("timeout");
  } catch (const std::exception& e) {
    std::string absent;
    for (int r = 0; texts && r < size_; ++r)
      if (in.memory[in.offsets[r]] == 0) absent += (absent.empty() ? "" : ", ") + std::to_string(r);
    const std::string who = absent.empty()                          ? "a rank"
                            : absent.find(',') == std::string::npos ? "rank " + absent
                                                                    : "ranks " + absent;
    fail(e, deadline, who + " did not take part within " + inSeconds(timeout));
  }
}

std::unique_ptr<Message> Group::send(int peer, std::uint32_t tag, const std::string& what, void* memory,
                                     std::size_t bytes) {
  auto message = std::make_unique<Message>(*this, what, memory, bytes);
  message->peer_ = peer;
  Message::Heading& h = message->heading_;
  h.sequence = sent_[static_cast<std::size_t>(peer)]++;
  h.bytes = bytes;
  what.copy(h.what, sizeof h.what - 1);
  try {
    message->headingBuffer_->send(peer, kHeading | tag, 0, sizeof h);
    if (bytes != 0) message->bytesBuffer_->send(peer, kBytes | h.sequence, 0, bytes);
  } catch (const std::exception& e) {
    fail(e, Clock::time_point::max(), "");
  }
  message->start(&Message::sendBytes);
  return message;
}

std::unique_ptr<Message> Group::receive(const std::vector<int>& peers, std::uint32_t tag, const std::string& what,
                                        void* memory, std::size_t bytes) {
  auto message = std::make_unique<Message>(*this, what, memory, bytes);
  try {
    if (peers.size() == 1)
      message->headingBuffer_->recv(peers[0], kHeading | tag, 0, sizeof message->heading_);
    else
      message->headingBuffer_->recv(peers, kHeading | tag, 0, sizeof message->heading_);
  } catch (const std::exception& e) {
    fail(e, Clock::time_point::max(), "");
  }
  message->start(&Message::receiveBytes);
  return message;
}

Message::Message(Group& group, std::string what, void* memory, std::size_t bytes)
    : group_(group), what_(std::move(what)), memory_(memory), bytes_(bytes),
      headingBuffer_(group.buffer(&heading_, sizeof heading_)), bytesBuffer_(group.buffer(memory, bytes)) {
  what_.resize(std::min(what_.size(), sizeof heading_.what - 1));
  std::scoped_lock guard(group.mutex_);
  if (group.failed_) throw Failure(*group.failed_);
  group.messages_.insert(this);
}

Message::~Message() {
  if (thread_.joinable()) thread_.join();
  std::scoped_lock guard(group_.mutex_);
  group_.messages_.erase(this);
}

void Message::start(void (Message::*work)()) {
  thread_ = std::thread([this, work] {
    std::optional<Failure> failed;
    try {
      try {
        (this->*work)();
      } catch (const Failure&) {
        throw;
      } catch (const std::exception& e) {
        group_.fail(e, Clock::time_point::max(), "");
      }
    } catch (const Failure& f) {
      failed = f;
    }
    std::scoped_lock guard(mutex_);
    failed_ = failed;
    done_ = true;
    changed_.notify_all();
  });
}

bool Message::wait(Milliseconds timeout) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, timeout, [this] { return done_; })) return false;
  if (failed_) throw Failure(*failed_);
  return true;
}

void Message::sendBytes() {
  if (!headingBuffer_->waitSend(nullptr, kForever)) throw std::runtime_error("the wait was cut off");
  if (bytes_ != 0) bytesBuffer_->waitSend(nullptr, kForever);
}

void Message::receiveBytes() {
  if (!headingBuffer_->waitRecv(&peer_, kForever)) throw std::runtime_error("the wait was cut off");
  heading_.what[sizeof heading_.what - 1] = 0;
  const bool fits = heading_.bytes == bytes_ && what_ == heading_.what;
  // What does not fit is taken all the same, so that its sender goes on.
  std::vector<char> aside(fits ? 0 : heading_.bytes);
  if (!fits) bytesBuffer_ = group_.buffer(aside.data(), aside.size());
  if (heading_.bytes != 0) {
    bytesBuffer_->recv(peer_, kBytes | heading_.sequence, 0, heading_.bytes);
    bytesBuffer_->waitRecv(nullptr, kForever);
  }
  if (!fits)
    throw Failure(Failure::Kind::Differs,
                  "rank " + std::to_string(peer_) + " sent " + heading_.what + ", this rank receives " + what_);
}

}  // namespace tandem::distributed
