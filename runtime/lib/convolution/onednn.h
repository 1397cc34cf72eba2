// What every use of oneDNN shares. The library runs on OpenMP, which we do not want: a pool of its own, hanging in
// forked children. So each call is made single-threaded, inside tiles of our pool.
#pragma once

#include <dnnl.hpp>
#include <omp.h>

#include "runtime/lib/convolution/onednn_functions.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {

/// One OpenMP thread for the life of this object, whatever the program has set. oneDNN chooses implementations by the
/// number of threads: primitives are both created and executed under it.
class OneOpenMpThread {
 public:
  OneOpenMpThread() : before_(omp_get_max_threads()) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~OneOpenMpThread() {
    if (before_ != 1) omp_set_num_threads(before_);
  }
  OneOpenMpThread(const OneOpenMpThread&) = delete;
  OneOpenMpThread& operator=(const OneOpenMpThread&) = delete;

 private:
  int before_;
};

dnnl::engine& dnnlEngine();
/// The stream of this thread.
dnnl::stream& dnnlStream();

/// Calls `f` with the library open, and its errors become ours. All use of oneDNN is inside.
template <class F>
decltype(auto) withOneDnn(const char* what, F&& f) {
  needOneDnn(what);
  try {
    return f();
  } catch (const dnnl::error& e) {
    if (e.status == dnnl_out_of_memory) fail<OutOfMemoryError>(what, ": out of memory");
    fail<InternalError>(what, ": oneDNN: ", e.what());
  }
}

}  // namespace tandem::lib
