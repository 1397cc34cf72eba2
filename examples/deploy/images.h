// Reading grey images: IDX files, as MNIST and Fashion-MNIST are made of, and binary PGM files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

/// Bytes, and the sizes of the array that they are.
struct Bytes {
  std::vector<std::size_t> shape;
  std::vector<std::uint8_t> data;
  /// The part that belongs to index `i` of the first dim.
  [[nodiscard]] std::vector<std::uint8_t> at(std::size_t i) const { return range(i, i + 1); }
  [[nodiscard]] std::vector<std::uint8_t> range(std::size_t begin, std::size_t end) const {
    if (shape.empty() || begin > end || end > shape[0]) throw std::runtime_error("there are not so many images");
    const std::size_t size = data.size() / shape[0];
    return {data.begin() + static_cast<std::ptrdiff_t>(begin * size),
            data.begin() + static_cast<std::ptrdiff_t>(end * size)};
  }
};

/// An IDX file of bytes, not compressed: two zero bytes, 8, the rank, big-endian sizes, the elements.
inline Bytes readIdx(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<std::uint8_t> all(std::istreambuf_iterator<char>(file), {});
  if (all.size() < 4 || all[0] != 0 || all[1] != 0 || all[2] != 8)
    throw std::runtime_error(path + " is no IDX file of bytes");
  const std::size_t head = 4 + 4 * std::size_t{all[3]};
  std::size_t count = 1;
  Bytes bytes;
  for (std::size_t at = 4; at < head && head <= all.size(); at += 4) {
    bytes.shape.push_back(std::size_t{all[at]} << 24 | std::size_t{all[at + 1]} << 16 | std::size_t{all[at + 2]} << 8 |
                          all[at + 3]);
    count *= bytes.shape.back();
  }
  if (head > all.size() || all.size() - head != count || count == 0)
    throw std::runtime_error(path + " is not as long as it says");
  bytes.data.assign(all.begin() + static_cast<std::ptrdiff_t>(head), all.end());
  return bytes;
}

/// A PGM file of the kind P5 with one byte a pixel and no comments.
inline Bytes readPgm(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string kind;
  std::size_t width = 0, height = 0, most = 0;
  file >> kind >> width >> height >> most;
  file.get();
  if (!file || kind != "P5" || most != 255 || width > 1 << 14 || height > 1 << 14)
    throw std::runtime_error(path + " is no PGM file of bytes");
  Bytes bytes{{height, width}, std::vector<std::uint8_t>(width * height)};
  file.read(reinterpret_cast<char*>(bytes.data.data()), static_cast<std::streamsize>(bytes.data.size()));
  if (!file) throw std::runtime_error(path + " is not as long as it says");
  return bytes;
}
