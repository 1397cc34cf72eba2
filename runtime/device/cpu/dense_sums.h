// Sums over dims of which another than the last one is dense, as all elements of a transposed matrix: each lane of the
// order is added for elements side by side in memory at a time, in registers, so that nothing is transposed or copied.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/lib/library.h"

namespace tandem::cpu {

/// Rows whose dims from `kept` on are reduced, in the order of one class.
class DenseSums {
 public:
  DenseSums(const ArrayView& rows, std::size_t kept, bool trailing);
  /// Of others blocks of the order begin or end in the midst of what lies side by side, or many of it are one block.
  [[nodiscard]] bool suits() const { return vectors_ > 0; }
  /// The sums of all blocks of every row, in the dtype that the elements are added in.
  void run(void* partials) const;

 private:
  template <class T, class C>
  void runAs(C* partials) const;
  void fillOffsets(std::int64_t part, std::int64_t* offsets) const;

  ArrayView rows_;
  std::size_t kept_;
  std::int64_t lanes_, block_;
  // The reduced dims: those before the dense one, it, and those behind it.
  Dims before_, beforeStrides_, behind_, behindStrides_;
  std::int64_t dense_ = 0, length_ = 0;
  std::int64_t together_ = 0;  // of the dense dim's steps, in one block
  std::int64_t parts_ = 0;     // blocks of one of its steps
  std::int64_t vectors_ = 0;   // of its elements, at a time
};

}  // namespace tandem::cpu
