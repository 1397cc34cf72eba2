// What compileCuda and the processes that compile for it send each other over a socket: texts, each with its length
// before it. A request is a text, its name and an architecture; a reply is what went wrong, the code and the log.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>

#include <sys/socket.h>

namespace tandem::codegen::cuda {

/// Sends or receives all of it; false where the other side has gone.
inline bool sendAll(int socket, const void* bytes, std::size_t count) {
  const auto* at = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t sent = send(socket, at, count, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    count -= static_cast<std::size_t>(sent);
  }
  return true;
}
inline bool receiveAll(int socket, void* bytes, std::size_t count) {
  auto* at = static_cast<char*>(bytes);
  while (count > 0) {
    // NOLINTNEXTLINE(clang-analyzer-unix.BlockInCriticalSection): the lock that is meant was tried for, and not had
    const ssize_t received = recv(socket, at, count, MSG_WAITALL);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return false;
    at += received;
    count -= static_cast<std::size_t>(received);
  }
  return true;
}

inline bool sendText(int socket, std::string_view text) {
  const std::uint64_t size = text.size();
  return sendAll(socket, &size, sizeof size) && sendAll(socket, text.data(), size);
}
inline bool receiveText(int socket, std::string& text) {
  std::uint64_t size = 0;
  if (!receiveAll(socket, &size, sizeof size)) return false;
  text.resize(size);
  return receiveAll(socket, text.data(), size);
}

}  // namespace tandem::codegen::cuda
