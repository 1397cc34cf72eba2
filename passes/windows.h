// The algebra of windows: strided reads of contiguous values. Nothing here looks at contents, so all of it is exact.
#pragma once

#include <optional>

#include "ir/dialect/td.h"

namespace tandem::passes {

/// Strides over a contiguous value, one a dim of what is read, and where they begin; in elements.
struct Strided {
  Dims strides;
  std::int64_t offset = 0;
};

/// A strided place in a value: what a chain of window operations on it reads.
struct Place : Strided {
  Place(mlir::Value value, Dims strides, std::int64_t offset) : Strided{std::move(strides), offset}, value(value) {}
  Place(mlir::Value value, Strided at) : Strided(std::move(at)), value(value) {}
  mlir::Value value;  // not the result of a window
};

/// All of a value in its own shape: its contiguous strides, offset 0.
bool isWhole(DimsRef valueShape, DimsRef shape, DimsRef strides, std::int64_t offset);

/// A window on the contiguous value that `inner` (of shape innerShape) is, as a window on what `inner` reads. Nothing
/// where no strides say so.
std::optional<Strided> composeWindows(const Strided& inner, DimsRef innerShape, DimsRef shape, DimsRef strides,
                                      std::int64_t offset);
std::optional<Place> composeWindows(const Place& inner, DimsRef innerShape, DimsRef shape, DimsRef strides,
                                    std::int64_t offset);

/// Where the elements of `v` lie: through one window operation at most (canonical form has no longer chains that
/// compose; what does not compose is materialised by canonicalise).
Place placeOf(mlir::Value v);

/// The sizes of dims other than 1.
Dims coreDims(DimsRef shape);
/// The strides of those dims.
Dims coreStrides(DimsRef shape, DimsRef strides);

/// For a window that only broadcasts or adds and drops dims of size 1: for each core dim of the result the core dim of
/// the source, -1 where it is broadcast. Nothing for other windows.
std::optional<Dims> broadcastMap(td::WindowOp window);
std::optional<Dims> broadcastMap(DimsRef source, DimsRef shape, const Strided& window);

/// Strides of the core dims of something over an iteration space, of which each runs along the dim that `map` says.
Dims spread(const Dims& space, const Dims& map, const Dims& strides);

/// The strides of an operand over an iteration space: where it lies, and which dim of the space each of its core dims
/// runs along (`map`).
Dims stridesOver(const Dims& space, const Dims& map, mlir::Value operand);
Dims stridesOver(const Dims& space, const Dims& map, DimsRef shape, DimsRef strides);

}  // namespace tandem::passes
