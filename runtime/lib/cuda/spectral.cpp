// Eigenvalues of symmetric matrices and singular values: those of runtime/lib/linalg, by cuSOLVER; by the CPU
// where it is missing. Signs of vectors are those that cuSOLVER finds.
#include <algorithm>

#include "runtime/base/attrs.h"
#include "runtime/base/error.h"
#include "runtime/device/cuda/survey.h"
#include "runtime/lib/cuda/cusolver.h"
#include "runtime/lib/cuda/linalg.h"
#include "runtime/lib/cuda/operands.h"
#include "runtime/lib/cuda/table.h"
#include "runtime/lib/cuda/texts.h"
#include "runtime/lib/expectation_errors.h"

namespace tandem::cuda::lib {
namespace {

constexpr Source kSpectral("spectral", kSpectralText);

/// Where the elements of matrices are, of a number of elements each; strides in elements.
struct Lie {
  std::int64_t row, column, each;
};

/// A view of the matrices at `data`, a batch as `like` is.
ArrayView matricesAt(void* data, const ArrayView& like, const Lie& lie) {
  ArrayView view{data, like.dtype, like.shape, like.strides};
  const std::size_t r = like.shape.size();
  view.strides[r - 1] = lie.column;
  view.strides[r - 2] = lie.row;
  std::int64_t stride = lie.each;
  for (std::size_t d = r - 2; d-- > 0;) {
    view.strides[d] = stride;
    stride *= like.shape[d];
  }
  return view;
}

std::size_t bytesOf(DType t, std::int64_t elements) { return static_cast<std::size_t>(elements) * itemSize(t); }

/// Finite matrices for cuSOLVER, what it says of each, and which were left out.
class Factoring {
 public:
  /// `lie`: of the copy that it is given, which has a place for every element.
  Factoring(const ArrayView& a, const Lie& lie)
      : dtype_(a.dtype), count_(numelOf(DimsRef(a.shape).first(a.shape.size() - 2))),
        matrices_(bytesOf(a.dtype, a.numel())), numbers_(static_cast<std::size_t>(2 * count_) * sizeof(std::int32_t)) {
    cuda::copyArray(a, matricesAt(matrices_.as(), a, lie));
    launch(kernel("leaveOut"), blocks(count_, 256), matrices_.as(), lie.each, wrong(), count_);
  }
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] void* matrices() const { return matrices_.as(); }
  [[nodiscard]] std::int32_t* info() const { return numbers_.as<std::int32_t>(); }
  /// Results are NaN of matrices that were left out.
  void finish(const ArrayView& results) const {
    if (results.numel() == 0) return;
    launch(kernel("makeNan"), elementwise(results.numel()), results.data, results.numel() / count_, wrong(), count_);
  }
  void report(const LibraryCall& call, const char* op, const char* values) const {
    const bool batched = call.inputs[0].shape.size() > 2;
    Fault* where = expectNoFault(call, [op, values, batched](const long long* numbers) {
      if (numbers[1] < 0) fail<InternalError>(op, ": cuSOLVER refuses its argument ", -numbers[1]);
      fail<LinAlgError>(op, ": ", batchElement(batched, numbers[0]), "The algorithm failed to converge because the ",
                        "input matrix is ill-conditioned or has too many repeated ", values,
                        " (error code: ", numbers[1], ").");
    });
    launch(kernel("reportInfo"), elementwise(count_), info(), count_, where);
  }

 private:
  [[nodiscard]] const Function& kernel(const char* name) const {
    return kSpectral.kernel(name, {{"ELEMENT", typeName(dtype_)}});
  }
  [[nodiscard]] std::int32_t* wrong() const { return info() + count_; }

  DType dtype_;
  std::int64_t count_;
  Workspace matrices_, numbers_;
};

/// `vectors` may be null.
void eigenvalues(const LibraryCall& call, const ArrayView& values, const ArrayView* vectors) {
  if (values.numel() == 0) return;
  const ArrayView& a = call.inputs[0];
  const std::int64_t n = a.shape.back();
  // A triangle of rows in memory is the other one of columns.
  const bool upper = !AttrReader(call.attrs).boolean();
  const Factoring factoring(a, {n, 1, n * n});
  factor(Eigenproblem{"linalg.eigh", a.dtype, n, factoring.count(), upper, vectors != nullptr, factoring.matrices(),
                      values.data, factoring.info()});
  factoring.finish(values);
  if (vectors != nullptr) {
    cuda::copyArray(matricesAt(factoring.matrices(), *vectors, {1, n, n * n}), *vectors);
    factoring.finish(*vectors);
  }
  factoring.report(call, "linalg.eigh", "eigenvalues");
}

/// `u` and `vh` may be null, both.
void singularValues(const LibraryCall& call, const ArrayView& s, const ArrayView* u, const ArrayView* vh, bool full) {
  const ArrayView& a = call.inputs[0];
  if (a.numel() == 0) {
    // Vectors of matrices without elements are unit vectors.
    if (u != nullptr) makeIdentities(*u), makeIdentities(*vh);
    return;
  }
  const std::size_t r = a.shape.size();
  const std::int64_t rows = a.shape[r - 2];
  const std::int64_t columns = a.shape[r - 1];
  const std::int64_t size = rows * columns;
  SingularProblem p{"linalg.svd", a.dtype, columns, rows,   numelOf(DimsRef(a.shape).first(r - 2)),
                    u != nullptr, full,    nullptr, s.data, nullptr,
                    nullptr,      nullptr};
  const SingularMethod method = methodFor(p);
  const bool ofBatches = method == SingularMethod::JacobiOfBatches;
  const bool jacobi = method != SingularMethod::Qr;
  // Rows in memory are columns of the transposed matrix, which is factored as it lies where it may.
  const bool asItIs = !ofBatches && rows > columns;
  if (asItIs) std::swap(p.rows, p.columns);
  const Factoring factoring(a, asItIs ? Lie{1, rows, size} : Lie{columns, 1, size});
  p.matrices = factoring.matrices(), p.info = factoring.info();
  const std::int64_t lefts = p.rows * (full || ofBatches ? p.rows : p.columns);
  const std::int64_t rights = p.columns * p.columns;
  // Jacobi's method of batches writes vectors also where none are wanted.
  const bool writesVectors = p.wantsVectors || ofBatches;
  const Workspace left(writesVectors ? bytesOf(a.dtype, lefts * p.count) : 0);
  const Workspace right(writesVectors ? bytesOf(a.dtype, rights * p.count) : 0);
  if (writesVectors) p.left = left.as(), p.right = right.as();
  factor(p);
  factoring.finish(s);
  if (p.wantsVectors) {
    const ArrayView& ofLeft = asItIs ? *u : *vh;
    const ArrayView& ofRight = asItIs ? *vh : *u;
    const Lie across{1, p.rows, lefts}, along{p.rows, 1, lefts};
    const Lie rightAcross{1, p.columns, rights}, rightAlong{p.columns, 1, rights};
    cuda::copyArray(matricesAt(p.left, ofLeft, asItIs ? across : along), ofLeft);
    // What is transposed, by the order of the problem or of what was found of it, lies along rows.
    cuda::copyArray(matricesAt(p.right, ofRight, asItIs != jacobi ? rightAcross : rightAlong), ofRight);
    factoring.finish(*u);
    factoring.finish(*vh);
  }
  factoring.report(call, "linalg.svd", "singular values");
}

/// False: the call was made on the host. A survey notes what both ways need.
bool isForDevice(std::string_view op, const LibraryCall& call) {
  const bool isSurvey = Survey::now() != nullptr;
  if (!isSurvey && cusolverMissing().empty()) return true;
  callOnHost(op, call, isSurvey ? std::string() : cusolverMissing());
  return isSurvey;
}

}  // namespace

void svd(const LibraryCall& call) {
  if (!isForDevice("svd_plain", call)) return;
  singularValues(call, call.outputs[1], &call.outputs[0], &call.outputs[2], AttrReader(call.attrs).boolean());
}
void svdvals(const LibraryCall& call) {
  if (isForDevice("svdvals_plain", call)) singularValues(call, call.outputs[0], nullptr, nullptr, false);
}
void eigh(const LibraryCall& call) {
  if (isForDevice("eigh_plain", call)) eigenvalues(call, call.outputs[0], &call.outputs[1]);
}

void eigvalsh(const LibraryCall& call) {
  if (isForDevice("eigvalsh_plain", call)) eigenvalues(call, call.outputs[0], nullptr);
}

namespace {
const Registered here{{"svd", &svd}, {"svdvals", &svdvals}, {"eigh", &eigh}, {"eigvalsh", &eigvalsh}};
}  // namespace

}  // namespace tandem::cuda::lib
