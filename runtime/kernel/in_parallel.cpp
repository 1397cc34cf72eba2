#include "runtime/kernel/in_parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace tandem {

void makeInParallel(std::size_t count, std::size_t most, FunctionRef<void(std::size_t)> make) {
  if (count == 0) return;  // how many processors there are is read from a file
  const std::size_t threads = std::min<std::size_t>({count, std::thread::hardware_concurrency(), most});
  std::atomic<std::size_t> next{0};
  std::exception_ptr error;
  std::mutex errorMutex;
  auto work = [&] {
    for (std::size_t k = next++; k < count; k = next++) {
      try {
        make(k);
      } catch (...) {
        const std::lock_guard lock(errorMutex);
        if (!error) error = std::current_exception();
      }
    }
  };
  std::vector<std::thread> workers;
  for (std::size_t t = 1; t < threads; ++t) workers.emplace_back(work);
  work();
  for (std::thread& worker : workers) worker.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace tandem
