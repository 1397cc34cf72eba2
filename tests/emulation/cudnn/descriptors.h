// Descriptors of the stand-in for cuDNN's graph API: which attributes each kind has, of which type and how many, as the
// library's documentation says.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/lib/cuda/cudnn_functions.h"

namespace tandem::emulation {

namespace dnn = cuda::cudnn;

/// One attribute that was set.
struct Value {
  int type = 0;
  std::int64_t count = 0;
  std::vector<char> bytes;
};

struct Engine;

struct Descriptor {
  int kind = 0;
  bool finalized = false;
  std::map<int, Value> values;
  const Engine* engine = nullptr;     // of a configuration, and what is made of it
  Descriptor* graph = nullptr;        // likewise
  std::vector<const Engine*> offers;  // of a heuristic

  [[nodiscard]] bool has(int name) const { return values.contains(name); }
  /// What was set. It is there: required attributes are looked for when a descriptor is finalized.
  template <class T>
  [[nodiscard]] std::vector<T> all(int name) const {
    const Value& v = values.at(name);
    const auto* first = reinterpret_cast<const T*>(v.bytes.data());
    return std::vector<T>(first, first + v.count);
  }
  template <class T>
  [[nodiscard]] T one(int name) const {
    return all<T>(name).front();
  }
  [[nodiscard]] Descriptor& part(int name) const { return *one<Descriptor*>(name); }
};

/// Null where it was never made, or is destroyed.
Descriptor* alive(dnn::DescriptorHandle handle);
Descriptor* make(int kind);
/// False where there is no such descriptor.
bool destroy(dnn::DescriptorHandle handle);

/// A status; the texts of errors are kept for the thread.
int setAttribute(Descriptor& d, int name, int type, std::int64_t count, const void* values);
/// Are all there that the kind requires, and the descriptors among them alive?
int checkRequired(const Descriptor& d);
int failed(int status, std::string text);
const std::string& lastError();

}  // namespace tandem::emulation
