#include "runtime/lib/cuda/cusolver.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/shared_library.h"
#include "runtime/device/cuda/gpu.h"
#include "runtime/device/cuda/sequence.h"
#include "runtime/device/cuda/survey.h"
#include "runtime/lib/cuda/cusolver_functions.h"

namespace tandem::cuda {
namespace {

namespace cs = cusolver;

// The batched routines refuse some tens of thousands of matrices at once.
constexpr std::int64_t kMostAtOnce = 16384;

struct Opened {
  cs::Library functions;
  std::string missing;  // why it cannot be used
};

std::string open(cs::Library& l) {
  static constexpr std::array<const char*, 2> kNames{"libcusolver.so.12", "libcusolver.so.11"};
  std::string why;
  void* object = openSharedLibrary("TANDEM_CUSOLVER", kNames, why);
  if (object == nullptr) return strcat("cuSOLVER cannot be opened: ", why);
#define X(member, symbol, parameters) {#symbol, &l.member},
  const SharedFunction needed[] = {TANDEM_CUSOLVER(X)};
  const SharedFunction batched[] = {TANDEM_CUSOLVER_BATCHED(X)};
#undef X
  if (const std::string lacking = findFunctions(object, needed); !lacking.empty())
    return strcat("cuSOLVER ", lacking, ": a newer one is needed");
  findFunctions(object, batched);  // of later versions: null where it lacks them
  return "";
}

const Opened& opened() {
  static const Opened* const o = [] {  // never destroyed: threads may factor while the process ends
    auto made = std::make_unique<Opened>();
    made->missing = open(made->functions);
    return made.release();
  }();
  return *o;
}
const cs::Library& library() { return opened().functions; }

/// What a stream's calls need of the library, made once. Streams have their own, since a handle has memory of its own.
struct Solver {
  std::mutex mutex;
  cs::Handle handle = nullptr;
  cs::Options options = nullptr;
  cs::Jacobi jacobi = nullptr;
  std::vector<char> hostWorkspace;  // kept, in case that work which is queued reads it
};

/// The current stream's solver for one operation. Error where the stream is captured.
class Solving {
 public:
  explicit Solving(std::string_view op) : op_(op), solver_(ofStream(op)), lock_(solver_.mutex) {
    const cs::Library& l = library();
    if (solver_.handle == nullptr) {
      check(l.create(&solver_.handle), "being set up");
      check(l.setDeterministic(solver_.handle, cs::kDeterministic), "being asked for deterministic results");
      check(l.createOptions(&solver_.options), "being set up");
      check(l.createJacobi(&solver_.jacobi), "being set up");
    }
    check(l.setStream(solver_.handle, Queueing::now().stream().raw()), "being given a stream");
  }
  void check(int status, const char* what) const {
    if (status != cs::kSuccess) fail<Error>(op_, ": cuSOLVER reports status ", status, " on ", what);
  }
  [[nodiscard]] cs::Handle handle() const { return solver_.handle; }
  [[nodiscard]] cs::Options options() const { return solver_.options; }
  [[nodiscard]] cs::Jacobi jacobi() const { return solver_.jacobi; }
  [[nodiscard]] void* hostWorkspace(std::size_t bytes) const {
    if (solver_.hostWorkspace.size() < bytes) solver_.hostWorkspace.resize(bytes);
    return solver_.hostWorkspace.data();
  }

 private:
  static Solver& ofStream(std::string_view op) {
    if (Tape* tape = Tape::now()) tape->wait();
    CudaStream& stream = Queueing::now().stream();
    if (stream.isCapturing())
      fail<Error>(op, ": cuSOLVER may wait for its stream, which a CUDA graph that is being captured does not allow");
    using Solvers = std::map<std::pair<int, StreamHandle>, std::unique_ptr<Solver>>;
    static auto* const mutex = new std::mutex;
    static auto* const solvers = new Solvers;  // never destroyed, nor is a solver, as handles of streams are
    const std::lock_guard lock(*mutex);
    auto& solver = (*solvers)[{stream.gpu().ordinal(), stream.raw()}];
    if (solver == nullptr) solver = std::make_unique<Solver>();
    return *solver;
  }

  std::string_view op_;
  Solver& solver_;
  std::lock_guard<std::mutex> lock_;
};

int typeOf(DType t) { return t == DType::Float64 ? cs::kFloat64 : cs::kFloat32; }

void* at(void* array, std::int64_t i, DType dtype) {
  return array == nullptr ? nullptr : static_cast<char*>(array) + i * static_cast<std::int64_t>(itemSize(dtype));
}

void factorOne(const Solving& s, const Eigenproblem& p, std::int64_t i) {
  const int wanted = p.wantsVectors ? cs::kVectors : cs::kValues;
  const int triangle = p.upper ? cs::kUpper : cs::kLower;
  const int type = typeOf(p.dtype);
  void* a = at(p.matrices, i * p.n * p.n, p.dtype);
  void* values = at(p.values, i * p.n, p.dtype);
  std::size_t device = 0;
  std::size_t host = 0;
  s.check(library().syevdBytes(s.handle(), s.options(), wanted, triangle, p.n, type, a, p.n, type, values, type,
                               &device, &host),
          "being asked for the workspace of syevd");
  const Workspace workspace(device);
  s.check(library().syevd(s.handle(), s.options(), wanted, triangle, p.n, type, a, p.n, type, values, type,
                          workspace.as(), device, s.hostWorkspace(host), host, p.info + i),
          "syevd");
}

void factorSome(const Solving& s, const Eigenproblem& p, std::int64_t first, std::int64_t count) {
  const int wanted = p.wantsVectors ? cs::kVectors : cs::kValues;
  const int triangle = p.upper ? cs::kUpper : cs::kLower;
  const int type = typeOf(p.dtype);
  void* a = at(p.matrices, first * p.n * p.n, p.dtype);
  void* values = at(p.values, first * p.n, p.dtype);
  std::size_t device = 0;
  std::size_t host = 0;
  s.check(library().syevBatchedBytes(s.handle(), s.options(), wanted, triangle, p.n, type, a, p.n, type, values, type,
                                     &device, &host, count),
          "being asked for the workspace of syevBatched");
  const Workspace workspace(device);
  s.check(library().syevBatched(s.handle(), s.options(), wanted, triangle, p.n, type, a, p.n, type, values, type,
                                workspace.as(), device, s.hostWorkspace(host), host, p.info + first, count),
          "syevBatched");
}

/// `vt`: where V^T goes.
void factorByQr(const Solving& s, const SingularProblem& p, std::int64_t i, void* vt) {
  const std::int64_t m = p.rows;
  const std::int64_t n = p.columns;
  const auto job = static_cast<signed char>(!p.wantsVectors ? cs::kNone : p.full ? cs::kFull : cs::kThin);
  const int type = typeOf(p.dtype);
  void* a = at(p.matrices, i * m * n, p.dtype);
  void* values = at(p.values, i * n, p.dtype);
  void* u = at(p.left, i * m * (p.full ? m : n), p.dtype);
  std::size_t device = 0;
  std::size_t host = 0;
  s.check(library().gesvdBytes(s.handle(), s.options(), job, job, m, n, type, a, m, type, values, type, u, m, type, vt,
                               n, type, &device, &host),
          "being asked for the workspace of gesvd");
  const Workspace workspace(device);
  s.check(library().gesvd(s.handle(), s.options(), job, job, m, n, type, a, m, type, values, type, u, m, type, vt, n,
                          type, workspace.as(), device, s.hostWorkspace(host), host, p.info + i),
          "gesvd");
}

/// A matrix of float32 by Jacobi's method in float64: it stops at some tens of the precision, and is still faster than
/// QR.
void factorByJacobi(const Solving& s, const SingularProblem& p, std::int64_t i) {
  const std::int64_t m = p.rows;
  const std::int64_t n = p.columns;
  const std::int64_t lefts = m * (p.full ? m : n);
  const auto bytes = [](std::int64_t elements) { return static_cast<std::size_t>(elements) * sizeof(double); };
  const auto wide = [](const Workspace& memory, std::int64_t elements) {
    return ArrayView{memory.as(), DType::Float64, {elements}, {1}};
  };
  const auto given = [&](void* array, std::int64_t elements) {
    return ArrayView{at(array, i * elements, p.dtype), p.dtype, {elements}, {1}};
  };
  const Workspace a(bytes(m * n)), values(bytes(n)), u(bytes(lefts)), v(bytes(n * n));
  copyArray(given(p.matrices, m * n), wide(a, m * n));
  const int wanted = p.wantsVectors ? cs::kVectors : cs::kValues;
  const int thin = p.full ? 0 : 1;
  const auto rows = static_cast<int>(m);
  const auto columns = static_cast<int>(n);
  int elements = 0;
  s.check(library().gesvdjSize(s.handle(), wanted, thin, rows, columns, a.as<double>(), rows, values.as<double>(),
                               u.as<double>(), rows, v.as<double>(), columns, &elements, s.jacobi()),
          "being asked for the workspace of gesvdj");
  const Workspace workspace(bytes(elements));
  s.check(library().gesvdj(s.handle(), wanted, thin, rows, columns, a.as<double>(), rows, values.as<double>(),
                           u.as<double>(), rows, v.as<double>(), columns, workspace.as<double>(), elements, p.info + i,
                           s.jacobi()),
          "gesvdj");
  std::int32_t info = 0;
  copyToHost(&info, p.info + i, sizeof info);
  if (info > 0) {
    const Workspace turned(static_cast<std::size_t>(n * n) * itemSize(p.dtype));
    factorByQr(s, p, i, turned.as());
    if (!p.wantsVectors) return;
    return copyArray({turned.as(), p.dtype, {n, n}, {1, n}},
                     {at(p.right, i * n * n, p.dtype), p.dtype, {n, n}, {n, 1}});
  }
  copyArray(wide(values, n), given(p.values, n));
  if (!p.wantsVectors) return;
  copyArray(wide(u, lefts), given(p.left, lefts));
  copyArray(wide(v, n * n), given(p.right, n * n));
}

/// By Jacobi's method for batches, whose two dtypes have functions of their own.
template <class T, class Size, class Run>
void factorSomeByJacobi(const Solving& s, const SingularProblem& p, std::int64_t first, std::int64_t count, Size size,
                        Run run) {
  const auto m = static_cast<int>(p.rows);
  const auto n = static_cast<int>(p.columns);
  const int batch = static_cast<int>(count);
  const int wanted = p.wantsVectors ? cs::kVectors : cs::kValues;
  auto part = [&](void* array, std::int64_t each) { return static_cast<T*>(at(array, first * each, p.dtype)); };
  T* a = part(p.matrices, p.rows * p.columns);
  T* values = part(p.values, std::min(p.rows, p.columns));
  T* u = part(p.left, p.rows * p.rows);
  T* v = part(p.right, p.columns * p.columns);
  int elements = 0;
  s.check(size(s.handle(), wanted, m, n, a, m, values, u, m, v, n, &elements, s.jacobi(), batch),
          "being asked for the workspace of gesvdjBatched");
  const Workspace workspace(static_cast<std::size_t>(elements) * sizeof(T));
  s.check(run(s.handle(), wanted, m, n, a, m, values, u, m, v, n, workspace.as<T>(), elements, p.info + first,
              s.jacobi(), batch),
          "gesvdjBatched");
}

}  // namespace

const std::string& cusolverMissing() { return opened().missing; }

void factor(const Eigenproblem& p) {
  if (Survey::now() != nullptr) return;
  const Solving solving(p.op);
  if (p.count == 1 || library().syevBatched == nullptr || library().syevBatchedBytes == nullptr) {
    for (std::int64_t i = 0; i < p.count; ++i) factorOne(solving, p, i);
    return;
  }
  for (std::int64_t i = 0; i < p.count; i += kMostAtOnce) factorSome(solving, p, i, std::min(kMostAtOnce, p.count - i));
}

SingularMethod methodFor(const SingularProblem& p) {
  if (p.count > 1 && std::max(p.rows, p.columns) <= cs::kMostJacobi) return SingularMethod::JacobiOfBatches;
  const bool isAsked = p.dtype == DType::Float32 && std::max(p.rows, p.columns) <= cs::kMostJacobiAlone;
  return isAsked ? SingularMethod::Jacobi : SingularMethod::Qr;
}

void factor(const SingularProblem& p) {
  if (Survey::now() != nullptr) return;
  const Solving solving(p.op);
  const cs::Library& l = library();
  switch (methodFor(p)) {
  case SingularMethod::Qr:
    for (std::int64_t i = 0; i < p.count; ++i)
      factorByQr(solving, p, i, at(p.right, i * p.columns * p.columns, p.dtype));
    return;
  case SingularMethod::Jacobi:
    for (std::int64_t i = 0; i < p.count; ++i) factorByJacobi(solving, p, i);
    return;
  case SingularMethod::JacobiOfBatches:
    for (std::int64_t i = 0; i < p.count; i += kMostAtOnce) {
      const std::int64_t count = std::min(kMostAtOnce, p.count - i);
      if (p.dtype == DType::Float64)
        factorSomeByJacobi<double>(solving, p, i, count, l.dgesvdjSize, l.dgesvdj);
      else
        factorSomeByJacobi<float>(solving, p, i, count, l.sgesvdjSize, l.sgesvdj);
    }
    return;
  }
}

}  // namespace tandem::cuda
