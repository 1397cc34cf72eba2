// 128-bit content hashes: of trace nodes, plans and kernels (in files: the same for ever). Not cryptographic.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace tandem {

struct Hash128 {
  std::uint64_t lo = 0x9e3779b97f4a7c15ULL;
  std::uint64_t hi = 0xc2b2ae3d27d4eb4fULL;

  friend bool operator==(const Hash128&, const Hash128&) = default;

  Hash128& add(std::uint64_t v) {
    lo = mix(lo ^ v, 0xa0761d6478bd642fULL);
    hi = mix(hi ^ (v + 0x8ebc6af09c88c6e3ULL), 0xe7037ed1a0b428dbULL ^ lo);
    return *this;
  }
  Hash128& add(const Hash128& h) { return add(h.lo).add(h.hi); }
  Hash128& add(std::span<const std::int64_t> values) {
    add(values.size());
    for (auto v : values) add(static_cast<std::uint64_t>(v));
    return *this;
  }
  Hash128& add(std::string_view s) {
    add(s.size());
    for (; s.size() >= 8; s.remove_prefix(8)) {
      std::uint64_t w;
      std::memcpy(&w, s.data(), 8);
      add(w);
    }
    std::uint64_t w = 0;
    std::memcpy(&w, s.data(), s.size());
    return add(w);
  }
  /// 32 hexadecimal digits.
  [[nodiscard]] std::string hex() const {
    static constexpr char digits[] = "0123456789abcdef";
    std::string s(32, '0');
    for (int i = 0; i < 16; ++i) {
      s[15 - i] = digits[(hi >> (4 * i)) & 15];
      s[31 - i] = digits[(lo >> (4 * i)) & 15];
    }
    return s;
  }

 private:
  static std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    Wide p = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(p) ^ static_cast<std::uint64_t>(p >> 64);
  }
};

struct Hash128Hasher {
  std::size_t operator()(const Hash128& h) const { return h.lo ^ h.hi; }
};

}  // namespace tandem
