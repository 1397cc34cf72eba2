// Loops of kernels that store an element a point and reduce nothing: over a space without rows, every thread takes
// vectors of elements in strides of the grid, over rows it takes pieces of them.
#include <vector>

#include "codegen/cuda/kernel_text.h"
#include "runtime/base/error.h"

namespace tandem::codegen::cuda {

namespace {

/// What is the same for all elements and takes more statements than this is computed once in a block.
constexpr std::size_t kDearAhead = 100;

class ElementLoops {
 public:
  explicit ElementLoops(KernelText& kernel) : k_(kernel), b_(kernel.b), schedule_(kernel.schedule) {}

  void write() { k_.signature.outerRank == 0 ? writeElements() : writeChunks(); }

 private:
  void writeElements() {
    TANDEM_CHECK(schedule_.stages() == 1 && schedule_.reductions(0).empty(),
                 "a reduction in a kernel without rows: ", k_.signature.text());
    b_.startAhead();
    k_.enterRow({}, "");
    k_.computeUniform(0);
    const std::vector<std::size_t> outputs = schedule_.outputs(0);
    const int width = k_.widthFor(outputs);
    b_.statement("const long long threads = (long long)gridDim.x * blockDim.x");
    b_.open(strcat("for (long long i = begin + ((long long)blockIdx.x * blockDim.x + threadIdx.x) * ", width,
                   "; i < end; i += threads * ", width, ")"));
    b_.statement(strcat("const long long count = least(end - i, ", width, ")"));
    k_.computeAndStore(outputs, "i", "count", width);
    b_.close();
    const bool isDear = b_.statementsAhead() > kDearAhead;
    const auto shared =
        k_.signature.kind == KernelKind::List ? TextBuilder::Ahead::Repeated : TextBuilder::Ahead::Shared;
    b_.endAhead(isDear ? shared : TextBuilder::Ahead::Each);
  }

  /// Rows without reductions: every thread takes a chunk of one. Quotients of 64 bits would take as many registers as
  /// all else: a space that needs them is walked by single elements.
  void writeChunks() {
    b_.statement("const long long threads = (long long)gridDim.x * blockDim.x");
    b_.open("if (((end * n) >> 32) == 0)");
    k_.countShort(true);
    writeChunks(widthInRow(schedule_.outputs(schedule_.storeStage())));
    b_.close();
    b_.open("else");
    k_.countShort(false);
    writeChunks(1);
    b_.close();
  }
  void writeChunks(int width) {
    const std::vector<std::size_t> outputs = schedule_.outputs(schedule_.storeStage());
    b_.statement(strcat("const long long chunks = (n + ", width - 1, ") / ", width));
    b_.open(
        "for (long long unit = begin * chunks + (long long)blockIdx.x * blockDim.x + threadIdx.x; unit < end * chunks; "
        "unit += threads)");
    b_.statement("const long long row = " + k_.quotient("unit", "chunks"));
    b_.statement(strcat("const long long i = (unit - row * chunks) * ", width));
    b_.statement(strcat("const long long count = least(n - i, ", width, ")"));
    k_.enterRow(k_.splitOuter("row"), "");
    b_.statement("const long long base = row * n");
    k_.setIndexBase("base");
    for (int stage = 0; stage < schedule_.stages(); ++stage) k_.computeUniform(stage);
    b_.startAhead();
    k_.computeAndStore(outputs, "i", "count", width);
    b_.endAhead(TextBuilder::Ahead::Each);
    b_.close();
  }

  /// The width is wanted before the row is entered, on whose values it depends: these are written to be forgotten.
  int widthInRow(const std::vector<std::size_t>& outputs) {
    const TextBuilder before = b_;
    k_.enterRow(k_.splitOuter("row"), "");
    for (int stage = 0; stage < schedule_.stages(); ++stage) k_.computeUniform(stage);
    b_.startAhead();
    const int width = k_.widthFor(outputs);
    b_ = before;
    return width;
  }

  KernelText& k_;
  TextBuilder& b_;
  const Schedule& schedule_;
};

}  // namespace

void writeElementLoops(KernelText& kernel) { ElementLoops(kernel).write(); }

}  // namespace tandem::codegen::cuda
