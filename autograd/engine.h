// The engine: runs the tape backwards.
//
// One loop, no recursion: a heap holds the nodes that received a cotangent, by sequence; the highest runs and hands its
// gradients to the nodes its edges lead to. Cotangents of one result are added in the order they arrive, which is
// therefore the same for every run of the same program: the rule that eager, compiled functions and their replays
// share. Leaves have the lowest sequence and so come last: a leaf's total is added to its `.grad` once. Those with
// hooks come as soon as nothing more can arrive, so that the hooks work beside the rest of the backward.
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <vector>

#include "autograd/node.h"

namespace tandem {

struct EngineRun {
  std::span<const Edge> roots;
  std::span<const Tensor> cotangents;  // one a root, in its shape and dtype
  bool keepGraph = false;
  bool createGraph = false;
  /// Where to stop and what to return. When there are any, only what leads to them runs.
  std::span<const Edge> captures;
  /// Adds to `.grad` of leaves: of all reached, or of those among the captures.
  bool accumulate = true;
};

/// The totals at the captures, undefined where nothing arrived. Safe in several threads at once, and inside hooks.
std::vector<Tensor> runEngine(const EngineRun& run);

/// Was a hook of a leaf ever registered? While none was nobody looks for leaves that have one.
extern std::atomic<bool> leafHooksUsed;

/// Calls `callback` once the backward that runs on this thread, the innermost, has ended without an error; Error where
/// none runs. Callbacks run in the order they came, and may queue more.
void callAtEndOfRun(std::function<void()> callback);

/// `g` summed over what was broadcast and converted, to the shape and dtype of `meta`; `at` names who made it.
Tensor conform(const Tensor& g, const ResultMeta& meta, const Node& from, std::size_t at);

/// The number of the backward that runs on this thread (the innermost; 0: none), and which of the nodes it runs.
std::uint64_t currentRun();
std::vector<bool> reachedByCurrentRun(std::span<const Node* const> nodes);
/// Do all backwards that run on this thread go to every leaf, rather than to tensors that were named?
bool runsReachAllLeaves();

/// What `backward` says inside vmap.
[[noreturn]] void failInsideTransform();

/// Adds `g` to the leaf's `.grad`, as the engine does at the end.
void accumulateGrad(const Tensor& leaf, Tensor g, bool createGraph);

}  // namespace tandem
