#include "runtime/lib/convolution/onednn.h"

namespace tandem::lib {

// Neither is destroyed: threads may still end after static destructors have run.
dnnl::engine& dnnlEngine() {
  static auto* engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

dnnl::stream& dnnlStream() {
  static thread_local dnnl::stream stream(dnnlEngine());
  return stream;
}

}  // namespace tandem::lib
