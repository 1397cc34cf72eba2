// The pieces of `take_pieces`: for each of some adjacent dims, which places of the input its output runs through.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/base/shape.h"

namespace tandem {

/// `count` places of one dim of the input: start, start + step, ...; a step of 0 repeats one place.
struct Piece {
  std::int64_t start, step, count;
};
/// Of one dim, in the order of the output.
using PieceList = std::vector<Piece>;

inline std::int64_t countOf(const PieceList& pieces) {
  std::int64_t n = 0;
  for (const Piece& p : pieces) n += p.count;
  return n;
}

/// As an attribute: for each dim the number of its pieces, then three numbers a piece.
inline Dims packPieces(const std::vector<PieceList>& dims) {
  Dims packed;
  for (const PieceList& pieces : dims) {
    packed.push_back(static_cast<std::int64_t>(pieces.size()));
    for (const Piece& p : pieces) {
      packed.push_back(p.start);
      packed.push_back(p.step);
      packed.push_back(p.count);
    }
  }
  return packed;
}
inline std::vector<PieceList> unpackPieces(DimsRef packed) {
  std::vector<PieceList> dims;
  for (std::size_t at = 0; at < packed.size();) {
    PieceList pieces(static_cast<std::size_t>(packed[at++]));
    for (Piece& p : pieces) {
      p = {packed[at], packed[at + 1], packed[at + 2]};
      at += 3;
    }
    dims.push_back(std::move(pieces));
  }
  return dims;
}

}  // namespace tandem
