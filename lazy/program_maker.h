// Saving what was compiled: compiled traces become the entries of a program (runtime/program/program_data.h). Captured
// tensors become its state, the memory of each once, under the names that the caller gives. They may be on any device,
// and the file has what they hold.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "eager/tensor.h"
#include "lazy/compiled.h"
#include "lazy/size_fit.h"
#include "runtime/program/program_data.h"
#include "runtime/program/targets.h"

namespace tandem::lazy {

class ProgramMaker {
 public:
  struct NamedTensor {
    std::string name;
    program::StateData::Kind kind;
    Tensor tensor;
  };
  struct Names {
    std::string entry;
    std::vector<std::pair<std::string, Tensor>> arguments;  // in the order that callers pass them
    std::vector<std::string> results;
    std::string tree;
  };

  /// Names of tensors that entries may use. Parameters and buffers of no entry are kept as well, other tensors are not:
  /// the data that a function was tried with is no part of it.
  explicit ProgramMaker(std::vector<NamedTensor> state);
  /// `tensors` and `numbers` are what a call of the trace is given, in the trace's order. Error naming what a file
  /// cannot keep, before anything is added.
  void add(const Names& names, const CompiledTrace& trace, std::span<const Tensor> tensors,
           std::vector<program::NumberData> numbers) {
    data_.entries.push_back(entryOf(names, trace, tensors, std::move(numbers)));
  }
  /// Likewise an entry whose sizes calls choose, from traces for all of their combinations.
  void addTo(SizeFit& fit, const Names& names, const CompiledTrace& trace, std::span<const Tensor> tensors,
             std::vector<program::NumberData> numbers) {
    fit.add(entryOf(names, trace, tensors, std::move(numbers)));
  }
  void add(SizeFit fit) { data_.entries.push_back(std::move(fit).finish()); }

  /// Where the entries were traced.
  [[nodiscard]] Device device() const { return device_; }

  /// The members of the file: weights as they are now, code for each target (compiled unless a cache has it), and
  /// the manifest, which says `notes` of itself.
  struct Members {
    std::string manifest;
    Tensor weights;  // bytes
    program::CodeMembers code;
  };
  [[nodiscard]] Members members(const std::vector<std::string>& targets, std::string producer,
                                std::vector<std::pair<std::string, std::string>> notes) &&;

 private:
  program::EntryData entryOf(const Names& names, const CompiledTrace& trace, std::span<const Tensor> tensors,
                             std::vector<program::NumberData> numbers);
  /// NotImplementedError where entries do not leave gradients as others expect them.
  void checkGradients(const std::string& entry, const CompiledTrace& trace);
  void runsOn(const std::string& entry, Device device);
  void addState(const NamedTensor& s);
  std::uint32_t memoryOf(const Tensor& t, const std::string& name);
  std::uint32_t constantOf(const Tensor& t);
  std::uint32_t kernelOf(const KernelSignature& signature, bool withCode);

  /// Of a tensor with a `.grad`: entries that do something with it, by name.
  struct Gradient {
    std::string reader;     // reads what is there
    std::string asker;      // asks whether one is there, and none was
    std::string forgetter;  // leaves none
    std::string dropper;    // leaves one that none of its own calls looks at
  };

  program::ProgramData data_;
  std::string first_;  // the first entry's name
  Device device_;      // where all of them run
  std::unordered_map<const TensorImpl*, Gradient> gradients_;
  std::vector<NamedTensor> others_;     // which are kept where an entry uses them
  std::vector<Tensor> firsts_;          // of each memory the first tensor that was met
  std::vector<std::size_t> itemSizes_;  // the largest of what is seen in each
  std::unordered_map<const Storage*, std::uint32_t> memories_;
  std::unordered_map<std::string, std::uint32_t> constants_;  // by their bytes, of those that nothing writes to
  std::unordered_map<std::string, std::uint32_t> kernels_;    // by signature
  std::vector<bool> withCode_;
};

}  // namespace tandem::lazy
