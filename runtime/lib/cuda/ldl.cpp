// ldl and ldl_solve: runtime/lib/linalg/ldl.cpp, on the CPU. Each step of the pivoting waits for the one before, so
// that a kernel of one matrix would leave a GPU waiting.
#include "runtime/device/cuda/queue.h"
#include "runtime/lib/cuda/table.h"

namespace tandem::cuda::lib {
namespace {
constexpr const char* kWhy = "its pivoting is one chain of steps";
}  // namespace

void ldl(const LibraryCall& call) { callOnHost("ldl_plain", call, kWhy); }
void ldl_solve(const LibraryCall& call) { callOnHost("ldl_solve_plain", call, kWhy); }

namespace {
const Registered here{{"ldl", &ldl}, {"ldl_solve", &ldl_solve}};
}  // namespace

}  // namespace tandem::cuda::lib
