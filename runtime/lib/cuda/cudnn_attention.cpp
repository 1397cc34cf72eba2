#include "runtime/lib/cuda/cudnn_attention.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/device/cuda/gpu.h"
#include "runtime/device/cuda/survey.h"
#include "runtime/lib/cuda/cudnn_graph.h"
#include "runtime/lib/cuda/foreign.h"
#include "runtime/lib/cuda/operands.h"
#include "runtime/lib/cuda/texts.h"

namespace tandem::cuda {
namespace {

const Source& source() {
  static const std::string text = std::string(kElementaryText) + kCudnnAttentionText;
  static const Source all("cudnn_attention", text.c_str());
  return all;
}

// Before it engines took another number for what a causal row does not see.
constexpr std::size_t kOldestVersion = 91000;
// Later kinds of GPUs have engines of the backward that need be told to add in a fixed order.
constexpr int kLatestMajorOfGrad = 9;

enum Number : std::int64_t {
  kQuery = 1,
  kKey,
  kValue,
  kOutput,
  kSums,
  kScale,
  kMask,
  kUnseen,
  kOutputGrad,
  kQueryGrad,
  kKeyGrad,
  kValueGrad,
  kRowProducts,
  kOne
};

/// In elements, of the four dims.
using Strides = std::array<std::int64_t, 4>;
Strides stridesOf(DimsRef strides) { return {strides[0], strides[1], strides[2], strides[3]}; }
Strides contiguous(const Dims& shape) { return stridesOf(contiguousStrides(shape)); }

/// From the first element to behind the last one.
std::int64_t extentOf(const Dims& shape, const Strides& strides) {
  std::int64_t extent = 1;
  for (std::size_t d = 0; d < 4; ++d) extent += (shape[d] - 1) * strides[d];
  return extent;
}

/// The strides of an operand that the library can take as it lies: contiguous, or of dense rows that begin at multiples
/// of kForeignAlignment bytes, in any order, and do not overlap. Those of dims of size 1 do not matter and are made the
/// same for all. None where it takes a copy.
std::optional<Strides> asItLies(const ArrayView& x, DType half) {
  if (x.dtype != half) return {};
  if (x.contiguous()) return contiguous(x.shape);
  Strides strides = stridesOf(x.strides);
  for (std::size_t d = 4; d-- > 0;)
    if (x.shape[d] == 1) strides[d] = d == 3 ? 1 : strides[d + 1] * x.shape[d + 1];
  std::array<std::size_t, 4> order{0, 1, 2, 3};
  std::ranges::sort(order, {}, [&](std::size_t d) { return std::pair(strides[d], x.shape[d]); });
  const std::int64_t step = kForeignAlignment / static_cast<std::int64_t>(itemSize(half));
  std::int64_t extent = 1;
  for (const std::size_t d : order) {
    const bool isStep = d == 3 ? strides[d] == 1 : strides[d] % step == 0;
    if (!isStep || (x.shape[d] != 1 && strides[d] < extent)) return {};
    extent += (x.shape[d] - 1) * strides[d];
  }
  return strides;
}
/// Those that the library gets it with.
Strides layoutOf(const ArrayView& x, DType half) { return asItLies(x, half).value_or(contiguous(x.shape)); }

struct Key {
  int ordinal;
  bool backward;
  DType dtype;
  std::int64_t batch, heads, sharedHeads, rows, keys, width, valueWidth;
  std::int64_t maskBatch, maskHeads;  // 0: no mask
  bool causal;
  Strides queryStrides, keyStrides, valueStrides, outputStrides, gradStrides;
  std::array<Strides, 3> results;  // of the backward, which has a head of keys for each head of queries
  friend auto operator<=>(const Key&, const Key&) = default;

  [[nodiscard]] Dims query() const { return {batch, heads, rows, width}; }
  [[nodiscard]] Dims key() const { return {batch, sharedHeads, keys, width}; }
  [[nodiscard]] Dims value() const { return {batch, sharedHeads, keys, valueWidth}; }
  [[nodiscard]] Dims output() const { return {batch, heads, rows, valueWidth}; }
  [[nodiscard]] Dims scores() const { return {batch, heads, rows, keys}; }
  [[nodiscard]] Dims sums() const { return {batch, heads, rows, 1}; }
  [[nodiscard]] Dims keyGrad() const { return {batch, heads, keys, width}; }
  [[nodiscard]] Dims valueGrad() const { return {batch, heads, keys, valueWidth}; }
  [[nodiscard]] Dims mask() const { return {maskBatch, maskHeads, rows, keys}; }
};

/// The description of attention.
class Description {
 public:
  explicit Description(const Key& key) : key_(key), type_(cudnn::typeOf(key.dtype)) {}

  cudnn::Operations forward() && {
    const Tensor query = memory(kQuery, key_.query(), key_.queryStrides);
    const Tensor scores = seen(added(scaled(product(query, turned(kKey, key_.key(), key_.keyStrides)))));
    const Tensor largest = build_.between(cudnn::kFloat32, key_.sums());
    build_.reduce(cudnn::kMaximum, scores, largest);
    const Tensor exponentials = of(cudnn::kExp, of(cudnn::kSubtract, scores, largest));
    const Tensor sum = build_.between(cudnn::kFloat32, key_.sums());
    build_.reduce(cudnn::kSum, exponentials, sum);
    const Tensor logarithm = build_.between(cudnn::kFloat32, key_.sums());
    build_.apply(cudnn::kLog, sum, logarithm);
    build_.apply(cudnn::kAdd, largest, logarithm, build_.inMemory(kSums, cudnn::kFloat32, key_.sums()));
    const Tensor probabilities = build_.between(type_, key_.scores());
    build_.apply(cudnn::kDivide, exponentials, sum, probabilities);
    build_.multiply(probabilities, memory(kValue, key_.value(), key_.valueStrides),
                    memory(kOutput, key_.output(), key_.outputStrides));
    return std::move(build_).finish();
  }

  /// As the rule of attention says (autograd/rules/attention.cpp), a head of keys for each head of queries.
  cudnn::Operations backward() && {
    const Tensor query = memory(kQuery, key_.query(), key_.queryStrides);
    const Tensor grad = memory(kOutputGrad, key_.output(), key_.gradStrides);
    const Tensor rowProducts = productsOfRows(grad);
    const Tensor keyTurned = turned(kKey, key_.key(), key_.keyStrides);
    const Tensor scores = added(scaled(product(query, keyTurned)));
    const Tensor sums = build_.inMemory(kSums, cudnn::kFloat32, key_.sums());
    const Tensor probabilities = of(cudnn::kExp, seen(of(cudnn::kSubtract, scores, sums)));
    build_.multiply(turnedScores(probabilities), grad, memory(kValueGrad, key_.valueGrad(), key_.results[2]));
    const Tensor centred =
        of(cudnn::kSubtract, product(grad, turned(kValue, key_.value(), key_.valueStrides)), rowProducts);
    const Tensor scoreGrad = build_.between(type_, key_.scores());
    build_.apply(cudnn::kMultiply, of(cudnn::kMultiply, centred, probabilities), *scale_, scoreGrad);
    build_.multiply(turnedScores(scoreGrad), query, memory(kKeyGrad, key_.keyGrad(), key_.results[1]));
    const Tensor key = build_.between(type_, key_.key(), key_.keyStrides);
    build_.reshape(keyTurned, key);
    build_.multiply(scoreGrad, key, memory(kQueryGrad, key_.query(), key_.results[0]));
    return std::move(build_).finish();
  }

 private:
  using Tensor = cudnn::GraphBuilder::Tensor;

  Tensor memory(std::int64_t id, const Dims& shape, DimsRef strides) {
    return build_.inMemory(id, type_, shape, strides);
  }
  /// With its last two dims swapped.
  Tensor turned(std::int64_t id, const Dims& shape, Strides strides) {
    std::swap(strides[2], strides[3]);
    return build_.inMemory(id, type_, Dims{shape[0], shape[1], shape[3], shape[2]}, strides);
  }
  Tensor turnedScores(Tensor x) {
    const Dims shape{key_.batch, key_.heads, key_.keys, key_.rows};
    Dims strides = contiguousStrides(key_.scores());
    std::swap(strides[2], strides[3]);
    const Tensor y = build_.between(type_, shape, strides);
    build_.reshape(x, y);
    return y;
  }
  Tensor score() { return build_.between(cudnn::kFloat32, key_.scores()); }
  Tensor product(Tensor a, Tensor b) {
    const Tensor c = score();
    build_.multiply(a, b, c);
    return c;
  }
  Tensor of(cudnn::PointwiseMode mode, Tensor x) {
    const Tensor y = score();
    build_.apply(mode, x, y);
    return y;
  }
  Tensor of(cudnn::PointwiseMode mode, Tensor x, Tensor b) {
    const Tensor y = score();
    build_.apply(mode, x, b, y);
    return y;
  }
  Tensor scaled(Tensor scores) {
    const Dims one{1, 1, 1, 1};
    scale_ = build_.inMemory(kScale, cudnn::kFloat32, one);
    return of(cudnn::kMultiply, scores, *scale_);
  }
  Tensor added(Tensor scores) {
    if (key_.maskBatch == 0) return scores;
    return of(cudnn::kAdd, scores, build_.inMemory(kMask, cudnn::kFloat32, key_.mask()));
  }
  /// -infinity where a causal row does not see.
  Tensor seen(Tensor scores) {
    if (!key_.causal) return scores;
    const Tensor row = score();
    const Tensor column = score();
    build_.indexAlong(2, scores, row);
    build_.indexAlong(3, scores, column);
    const Tensor sees = build_.between(cudnn::kBoolean, key_.scores());
    build_.apply(cudnn::kGreaterOrEqual, row, column, sees);
    const Tensor y = score();
    build_.select(sees, scores, build_.number(kUnseen), y);
    return y;
  }
  /// The sum of each row's products of the output and its cotangent, which an engine keeps in memory.
  Tensor productsOfRows(Tensor grad) {
    const Tensor products = build_.between(cudnn::kFloat32, key_.output());
    build_.apply(cudnn::kMultiply, grad, memory(kOutput, key_.output(), key_.outputStrides), products);
    const Tensor sums = build_.between(cudnn::kFloat32, key_.sums());
    build_.reduce(cudnn::kSum, products, sums);
    const Tensor kept = build_.inMemory(kRowProducts, cudnn::kFloat32, key_.sums());
    build_.apply(cudnn::kMultiply, sums, build_.number(kOne), kept);
    return kept;
  }

  Key key_;
  cudnn::DataType type_;
  cudnn::GraphBuilder build_;
  std::optional<Tensor> scale_;
};

std::shared_ptr<const cudnn::ExecutionPlan> choose(const Key& key) {
  std::size_t elements = 0;
  for (const Dims& shape : {key.query(), key.key(), key.value(), key.output()})
    elements += static_cast<std::size_t>(numelOf(shape));
  try {
    cudnn::Context& context = cudnn::contextOf(key.ordinal);
    const std::lock_guard lock(context.mutex);
    Description description(key);
    return cudnn::choosePlan(context,
                             key.backward ? std::move(description).backward() : std::move(description).forward(),
                             key.dtype, false, cudnn::kMostWorkspaceBytes + 2 * elements * itemSize(key.dtype));
  } catch (const Error& e) {
    fail<Error>(key.backward ? "attention_grad" : "attention", " of query ", shapeText(key.query()), " and key ",
                shapeText(key.key()), " in ", dtypeName(key.dtype), ": ", e.what(),
                " (without `tandem.backends.cudnn.enabled` kernels of Tandem's own compute it)");
  }
}

/// What both directions have of it.
Key keyOf(const AttentionOperands& o, int ordinal) {
  const Dims &q = o.query.shape, &k = o.key.shape;
  Key key{};
  key.ordinal = ordinal;
  key.dtype = o.half;
  key.batch = q[0], key.heads = q[1], key.sharedHeads = k[1];
  key.rows = q[2], key.keys = k[2], key.width = q[3], key.valueWidth = o.value.shape[3];
  key.causal = o.causal;
  key.queryStrides = layoutOf(o.query, o.half);
  key.keyStrides = layoutOf(o.key, o.half);
  key.valueStrides = layoutOf(o.value, o.half);
  if (o.mask == nullptr) return key;
  // Examples and heads that have one mask share it in memory, too.
  key.maskBatch = o.mask->strides[0] == 0 ? 1 : key.batch;
  key.maskHeads = o.mask->strides[1] == 0 ? 1 : key.heads;
  return key;
}
Key forwardKey(const AttentionOperands& o, const ArrayView& out, int ordinal) {
  Key key = keyOf(o, ordinal);
  key.outputStrides = o.mask == nullptr ? layoutOf(out, o.half) : contiguous(key.output());
  return key;
}
Key backwardKey(const AttentionOperands& o, const ArrayView& grad, const ArrayView& output,
                std::span<const ArrayView> results, int ordinal) {
  Key key = keyOf(o, ordinal);
  key.backward = true;
  key.outputStrides = layoutOf(output, o.half);
  key.gradStrides = layoutOf(grad, o.half);
  const bool shared = key.heads != key.sharedHeads;
  key.results = {layoutOf(results[0], o.half), shared ? contiguous(key.keyGrad()) : layoutOf(results[1], o.half),
                 shared ? contiguous(key.valueGrad()) : layoutOf(results[2], o.half)};
  return key;
}
/// Of operands and results that are contiguous.
Key contiguous(Key key) {
  key.queryStrides = contiguous(key.query());
  key.keyStrides = contiguous(key.key());
  key.valueStrides = contiguous(key.value());
  key.outputStrides = contiguous(key.output());
  if (!key.backward) return key;
  key.gradStrides = key.outputStrides;
  key.results = {contiguous(key.query()), contiguous(key.keyGrad()), contiguous(key.valueGrad())};
  return key;
}

/// The mask as cuDNN gets it, and which rows see something.
class Mask {
 public:
  Mask(const ArrayView& mask, const Key& key)
      : numbers_(static_cast<std::size_t>(numelOf(key.mask())) * sizeof(float)),
        alive_(static_cast<std::size_t>(key.maskBatch * key.maskHeads * key.rows)) {
    const bool isBool = mask.dtype == DType::Bool;
    const ArrayView one{mask.data, mask.dtype, key.mask(), mask.strides};
    View seen = view(one);  // whose dims of size 1 are there
    launch(source().kernel("prepareMask", {{"MASK", typeName(mask.dtype)},
                                           {"IS_BOOL", isBool ? "1" : "0"},
                                           {"HALF", typeName(key.dtype)},
                                           {"OUT", "float"}}),
           blocks(key.maskBatch * key.maskHeads * key.rows, 128), seen, numbers_.as(), alive_.as());
  }
  [[nodiscard]] const void* numbers() const { return numbers_.as(); }
  [[nodiscard]] const void* alive() const { return alive_.as(); }

 private:
  Workspace numbers_, alive_;
};

/// The struct Rows of the text.
struct Rows {
  const void* alive;
  std::int64_t batch, heads, rows, aliveBatch, aliveHeads;
};
Rows rowsOf(const Key& key, const std::optional<Mask>& mask) {
  return {
      mask ? mask->alive() : nullptr,  key.batch, key.heads, key.rows, key.maskBatch > 1 ? key.maskHeads * key.rows : 0,
      key.maskHeads > 1 ? key.rows : 0};
}

const Function& kernel(const char* name, DType half, DType out = DType::Float32) {
  return source().kernel(name, {{"MASK", "truth"}, {"IS_BOOL", "1"}, {"HALF", typeName(half)}, {"OUT", typeName(out)}});
}

std::size_t bytesOf(const Dims& shape, DType dtype) {
  return static_cast<std::size_t>(numelOf(shape)) * itemSize(dtype);
}

/// Which operands of a call, then which of its results, lie elsewhere each time: a bit each.
class Moving {
 public:
  explicit Moving(const ForeignCall& call) : bits_(call.moving) {}
  bool next() { return (std::exchange(bits_, bits_ >> 1) & 1) != 0; }

 private:
  std::uint64_t bits_;
};

/// An operand in the half type with the plan's strides: where it is, or a copy. Which strides these are does not depend
/// on where it lies: a graph that is replayed keeps the plan.
class HalfOperand {
 public:
  HalfOperand(const ArrayView& x, DType half, const Strides& strides, bool moves) : data_(x.data) {
    const bool stays = !moves && isAligned(x.data) && Survey::now() == nullptr;  // which notes what a copy needs
    if (stays && asItLies(x, half) == strides) return;
    copy_.emplace(static_cast<std::size_t>(extentOf(x.shape, strides)) * itemSize(half));
    const ArrayView to{copy_->as(), half, x.shape, Dims(strides.begin(), strides.end())};
    // By a kernel, which a graph can be told where its operand lies.
    if (x.dtype == half)
      copyByKernel(x, to);
    else
      copyArray(x, to);
    data_ = copy_->as();
  }
  [[nodiscard]] const void* data() const { return data_; }

 private:
  const void* data_;
  std::optional<Workspace> copy_;
};

/// A result as cuDNN writes it, in the half type, with the plan's strides: where it is to be, or in memory from which a
/// kernel brings it there.
class HalfResult {
 public:
  HalfResult(const ArrayView& to, const Dims& shape, DType half, const Strides& strides, bool isFinal, bool moves)
      : to_(to) {
    const bool surveyed = Survey::now() != nullptr;  // which notes what either needs
    const bool isHere = isFinal && asItLies(to, half) == strides;
    if (isHere) here_.emplace(to, moves || surveyed);
    if (!isHere || surveyed) memory_.emplace(bytesOf(shape, half));
  }
  [[nodiscard]] void* data() const { return here_ ? here_->data() : memory_->as(); }
  /// `bring` queues what is to be done with memory that is not the result's.
  template <class Bring>
  void finish(Bring bring) const {
    if (here_) here_->finish();
    if (memory_) bring(memory_->as(), to_);
  }

 private:
  const ArrayView& to_;
  std::optional<ForeignResult> here_;
  std::optional<Workspace> memory_;
};

/// What both directions are made of: the plan, operands in the half type, and numbers of the host.
class Work {
 public:
  Work(const AttentionOperands& o, const Key& key, std::shared_ptr<const cudnn::ExecutionPlan> plan,
       const ForeignCall& call, Moving& moving)
      : problem_(key), plan_(std::move(plan)), call_(call), query_(o.query, o.half, key.queryStrides, moving.next()),
        key_(o.key, o.half, key.keyStrides, moving.next()), value_(o.value, o.half, key.valueStrides, moving.next()) {
    // By a kernel, whose arguments a graph can be told: plans are kept whatever a number is.
    launch(kernel("writeNumber", o.half), Grid{}, static_cast<float>(o.scale), scale_.as());
    if (o.mask != nullptr) mask_.emplace(*o.mask, key);
    bind(kQuery, query_.data());
    bind(kKey, key_.data());
    bind(kValue, value_.data());
    bind(kScale, scale_.as());
    if (mask_) bind(kMask, mask_->numbers());
    if (key.causal) bind(kUnseen, &unseen_);
  }
  void bind(std::int64_t id, const void* data) { tensors_.push_back({id, data}); }
  void run(CudaStream& stream) {
    const Workspace workspace(plan_->workspaceBytes());
    if (call_.isInGraph) return;
    stream.keep(std::const_pointer_cast<cudnn::ExecutionPlan>(plan_));  // a graph launches what the plan owns
    plan_->run(cudnn::contextOf(problem_.ordinal), stream.raw(), tensors_, workspace.as());
  }
  [[nodiscard]] const std::optional<Mask>& mask() const { return mask_; }

 private:
  Key problem_;
  std::shared_ptr<const cudnn::ExecutionPlan> plan_;
  ForeignCall call_;
  HalfOperand query_, key_, value_;
  std::optional<Mask> mask_;
  Workspace scale_{sizeof(float)};
  float unseen_ = -std::numeric_limits<float>::infinity();
  std::vector<cudnn::Bound> tensors_;
};

/// Null where our own kernels are to do it. Where no engine takes operands as they lie, `key` becomes that of copies.
std::shared_ptr<const cudnn::ExecutionPlan> planOf(Key& key) {
  static auto* const plans = new cudnn::PlanCache<Key>;
  auto plan = plans->find(key, choose);
  const Key copied = contiguous(key);
  if (plan != nullptr || copied == key) return plan;
  plan = plans->find(copied, choose);
  if (plan != nullptr) key = copied;
  return plan;
}

/// Notes for a survey what is queued beside cuDNN's work, which may be there where the program runs.
bool canAsk() {
  if (Survey::now() != nullptr) return true;
  return cudnn::library() != nullptr && cudnn::library()->version() >= kOldestVersion;
}

}  // namespace

bool cudnnAttention(const AttentionOperands& o, const ArrayView& out, const ArrayView& stats) {
  if (!canAsk()) return false;
  CudaStream& stream = Queueing::now().stream();
  const bool surveyed = Survey::now() != nullptr;
  if (!surveyed) stream.gpu().use();  // whose handle is made, and whose work is queued
  Key key = forwardKey(o, out, stream.gpu().ordinal());
  const auto plan = surveyed ? nullptr : planOf(key);
  if (!surveyed && plan == nullptr) return false;
  const void* operands[] = {o.query.data, o.key.data, o.value.data, out.data};
  const ForeignCall call = foreignCall(operands);
  Moving moving(call);
  Work work(o, key, plan, call, moving);
  const HalfResult result(out, key.output(), o.half, key.outputStrides, !work.mask(), moving.next());
  const Workspace sums(bytesOf(key.sums(), DType::Float32));
  work.bind(kOutput, result.data());
  work.bind(kSums, sums.as());
  if (!surveyed) work.run(stream);
  const Rows rows = rowsOf(key, work.mask());
  launch(kernel("finishStats", o.half), elementwise(numelOf(key.sums())), rows, sums.as(), stats.data);
  result.finish([&](void* from, const ArrayView& to) {
    launch(kernel("finishOutput", o.half, to.dtype), elementwise(to.numel()), rows, from, view(to));
  });
  return !surveyed;
}

bool cudnnAttentionGrad(const AttentionOperands& o, const ArrayView& grad, const ArrayView& output,
                        const ArrayView& stats, std::span<const ArrayView> results) {
  CudaStream& stream = Queueing::now().stream();
  if (!canAsk() || stream.gpu().properties().major > kLatestMajorOfGrad) return false;
  const bool surveyed = Survey::now() != nullptr;
  if (!surveyed) stream.gpu().use();
  Key key = backwardKey(o, grad, output, results, stream.gpu().ordinal());
  const auto plan = surveyed ? nullptr : planOf(key);
  if (!surveyed && plan == nullptr) return false;
  const void* operands[] = {o.query.data, o.key.data,      o.value.data,    grad.data,
                            output.data,  results[0].data, results[1].data, results[2].data};
  const ForeignCall call = foreignCall(operands);
  Moving moving(call);
  Work work(o, key, plan, call, moving);
  const HalfOperand outputGrad(grad, o.half, key.gradStrides, moving.next());
  const HalfOperand was(output, o.half, key.outputStrides, moving.next());
  const Workspace sums(bytesOf(key.sums(), DType::Float32));
  const Workspace rowProducts(bytesOf(key.sums(), DType::Float32));
  launch(kernel("sumsOfStats", o.half), elementwise(numelOf(key.sums())), view(stats), sums.as());
  const bool shared = key.heads != key.sharedHeads;
  const HalfResult queryGrad(results[0], key.query(), o.half, key.results[0], true, moving.next());
  const HalfResult keyGrad(results[1], key.keyGrad(), o.half, key.results[1], !shared, moving.next());
  const HalfResult valueGrad(results[2], key.valueGrad(), o.half, key.results[2], !shared, moving.next());
  const float one = 1;
  work.bind(kOutputGrad, outputGrad.data());
  work.bind(kOutput, was.data());
  work.bind(kSums, sums.as());
  work.bind(kRowProducts, rowProducts.as());
  work.bind(kOne, &one);
  work.bind(kQueryGrad, queryGrad.data());
  work.bind(kKeyGrad, keyGrad.data());
  work.bind(kValueGrad, valueGrad.data());
  if (!surveyed) work.run(stream);
  for (const HalfResult* result : {&queryGrad, &keyGrad, &valueGrad})
    result->finish([&](void* from, const ArrayView& to) {
      launch(kernel("sumGroups", o.half, to.dtype), elementwise(to.numel()), key.heads / to.shape[1], from, view(to));
    });
  return !surveyed;
}

}  // namespace tandem::cuda
