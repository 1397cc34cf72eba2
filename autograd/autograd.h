// Reverse-mode differentiation, as the layers above see it. Behaves as PyTorch's: same defaults, same messages.
//
//   backward, grad      run the tape (autograd/engine.h)
//   requires_grad … hooks   what hangs on a tensor (autograd/meta.h)
//   FunctionNode        a user's own derivative (autograd/function.h)
//   anomaly mode        errors in a backward name the forward line
//
// Locks: `backward` and `grad` run operations and hooks. A caller that holds a lock which those take (Python's GIL)
// releases it around the call. Hooks and functions stored here may be destroyed on any thread.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autograd/node.h"
#include "eager/memory_format.h"
#include "eager/tensor.h"

namespace tandem::autograd {

/// Registers the tape with `eager` (idempotent). Called once when the library is loaded.
void install();

struct RunOptions {
  std::optional<bool> retainGraph;  // default: createGraph
  bool createGraph = false;
};

/// Adds to `.grad` of the leaves (of `inputs` only, when there are any) the gradient of `roots`, each weighted by its
/// entry of `cotangents`. An undefined cotangent, or an empty list, stands for 1 and needs a root of one element.
void backward(std::span<const Tensor> roots, std::span<const Tensor> cotangents = {}, RunOptions options = {},
              std::span<const Tensor> inputs = {});

struct GradOptions : RunOptions {
  bool allowUnused = false;
  bool materializeGrads = false;  // zeros instead of undefined; implies allowUnused
};
/// The gradients themselves, one an input; `.grad` stays as it is. Undefined where an input was not used.
std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                         std::span<const Tensor> cotangents = {}, GradOptions options = {});

// ---- what hangs on a tensor -------------------------------------------------------------------------------------

/// `requires_grad`, after bringing a view whose base was written up to date.
bool requiresGrad(const Tensor& t);
/// Error for non-leaves (when turned off) and for dtypes without derivatives.
void setRequiresGrad(const Tensor& t, bool on);
bool isLeaf(const Tensor& t);
/// Null for leaves.
Ref<Node> gradFn(const Tensor& t);
/// Which result of `gradFn` this is.
int outputNr(const Tensor& t);
/// `.grad`; undefined for None.
Tensor gradOf(const Tensor& t);
/// Undefined for None. Error unless shape and dtype are the tensor's.
void setGrad(const Tensor& t, const Tensor& g);
/// The same storage and version counter, without history.
Tensor detach(const Tensor& t);
/// Cuts the history of `t` itself; Error for views.
void detachInPlace(const Tensor& t);
/// Keeps the cotangent of a non-leaf in `.grad`.
void retainGrad(const Tensor& t);
bool retainsGrad(const Tensor& t);
/// Writes to this tensor's storage so far, as `_version`.
std::int64_t versionOf(const Tensor& t);

/// `t.set_data(other)` of PyTorch (`t.data = other`): the tensor becomes a window on other's storage, and keeps its
/// place in the graph and its hooks.
void setData(const Tensor& t, const Tensor& other);
/// `t`, which `view` is a view of, becomes it: its window and its history.
void becomeView(const Tensor& t, const Tensor& view);
/// `t`, which asks for no gradient, in another size: the same memory as far as it reaches, else a larger copy of it,
/// which is an error where others than tensors look at the memory. With a format (not Preserve) laid out in it.
void resize(const Tensor& t, DimsRef size, std::optional<MemoryFormat> format = {});

// ---- hooks --------------------------------------------------------------------------------------------------------

/// Called with the total cotangent of `t`; a defined result replaces it. Returns the number to remove it by.
std::uint64_t registerHook(const Tensor& t, TensorHook hook);
/// Called with the leaf after its `.grad` was added to.
std::uint64_t registerPostAccumulateHook(const Tensor& t, LeafHook hook);
/// Before a node runs, with the cotangents of its results; may replace them.
std::uint64_t registerNodePreHook(Node& node, NodeHook hook);
/// After a node ran, with (gradients of its operands, cotangents of its results); may replace the former.
std::uint64_t registerNodeHook(Node& node, NodePostHook hook);
/// Removes a hook of any kind; unknown numbers are ignored.
void removeHook(const Tensor& t, std::uint64_t id);
void removeNodeHook(Node& node, std::uint64_t id);

// ---- anomaly mode ---------------------------------------------------------------------------------------------------

/// Nodes made while it is on remember the user's line; an error in their derivative, or (`checkNan`) a NaN that it
/// gives, names it.
void setAnomalyMode(bool on, bool checkNan = true);
bool anomalyMode();
bool anomalyChecksNan();
/// Where in the user's program we are; set by the Python layer.
void setLineProvider(std::function<std::string()> provider);

}  // namespace tandem::autograd
