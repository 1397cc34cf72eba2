// The emulated GPU for the tests of runtime/device/cuda, which are linked with the plug-in's objects.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/device/cuda/gpu.h"
#include "runtime/device/cuda/queue.h"
#include "runtime/device/executor.h"
#include "runtime/device/gpu_control.h"

namespace tandem::cuda::test {

/// Of device 0.
Executor& device();
GpuControl& control();
Gpu& theGpu();
/// Warnings that the plug-in said.
std::vector<std::string>& warnings();

/// Memory of the device that is freed at the end.
class Block {
 public:
  explicit Block(std::size_t bytes) : bytes_(bytes), data_(device().allocate(bytes)) {}
  ~Block() { device().deallocate(data_, bytes_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  [[nodiscard]] void* data() const { return data_; }

  template <class T>
  void set(const std::vector<T>& values, Stream& stream = device().stream()) const {
    device().copyFromHost(data_, values.data(), values.size() * sizeof(T), stream);
  }
  template <class T>
  [[nodiscard]] std::vector<T> get(std::size_t n, Stream& stream = device().stream()) const {
    std::vector<T> values(n);
    device().copyToHost(values.data(), data_, n * sizeof(T), stream);
    return values;
  }

 private:
  std::size_t bytes_;
  void* data_;
};

/// Runs `body`, which is written as a library function is, in a call.
void inCall(Stream& stream, const LibraryCall& call, void (*body)(const LibraryCall&));

/// The text of the error that `f` throws, of class E.
template <class E = Error, class F>
std::string errorOf(F&& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  } catch (const std::exception& e) {
    ADD_FAILURE() << "an error of another class: " << e.what();
    return "";
  }
  ADD_FAILURE() << "no error";
  return "";
}
inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace tandem::cuda::test
