// Transforms of functions of tensors. Two, of which the others are made (python/tandem/func):
//
//   vjp         f at a point, and the map from cotangents of its outputs to cotangents of its inputs
//   linearize   f at a point, and the map from tangents of its inputs to tangents of its outputs
//
// Both run f once, on fresh tensors equal to the primals, and then only the tape. The pushforward is the pullback
// differentiated by its cotangents, in which it is linear: so it is right to every order, and no operation states a
// forward derivative. They nest in any way, with one another and with vmap (eager/batch.h): a cotangent with hidden
// dims is many cotangents at once.
//
// Results have a history exactly where something outside f that requires a gradient led to them, in the caller's grad
// mode. Inside f grad mode is on.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "autograd/node.h"
#include "eager/tensor.h"

namespace tandem::autograd {

/// Several tensors to several tensors.
using TensorFunction = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

struct Transformed {
  std::vector<Tensor> outputs;
  /// The pullback or the pushforward; may be called any number of times, with fewer arguments than there are (the
  /// rest, and undefined ones, are zero). Shapes and dtypes are checked. Every result is defined.
  TensorFunction map;
};

/// Error unless all primals are floating point. `frozen`: f must not write them in place, as leaves.
Transformed vjp(const TensorFunction& f, std::span<const Tensor> primals, bool frozen = false);
Transformed linearize(const TensorFunction& f, std::span<const Tensor> primals);
/// Is this the node of a point that must not be written?
bool isFrozenPoint(const Node& node);

/// A fresh tensor equal to `x`, where a derivative by it can stop; what is computed from it passes gradients on to `x`
/// if `connected` and it requires one.
Tensor differentiationPoint(const Tensor& x, bool connected);
/// A tensor with the history of a new point, which keeps it when the point is written in place: derivatives by the
/// anchor are those by what the point was.
Tensor anchorOf(const Tensor& point);
/// No one will ask for derivatives by this point, given as its anchor, any more.
void closePoint(const Tensor& point);
/// Takes that back.
void openPoint(const Tensor& point);
/// The tangents of `outputs` when `points` (their anchors) move along `tangents`: one each, undefined where an output
/// does not depend on any.
std::vector<Tensor> pushForward(std::span<const Tensor> outputs, std::span<const Tensor> points,
                                std::span<const Tensor> tangents);
/// An alias of `output` with its history where that leads to more than `points` (their anchors) and grad mode is on.
Tensor primalOf(const Tensor& output, std::span<const Tensor> points);

}  // namespace tandem::autograd
