// grid_sample: it is linear in its input, whose derivative is the transpose; that by the grid is a function of its own,
// the derivatives of which are those of the derivative of what is stated here in elementwise operations and gathers, so
// that every order follows.
#include <vector>

#include "autograd/functional.h"
#include "autograd/rule_context.h"
#include "autograd/rules/rules.h"
#include "eager/helpers.h"
#include "eager/ops.h"

namespace tandem::rules {
namespace {

// Numbers of modes and paddings, as the attributes have them.
constexpr std::int64_t kBilinear = 0;
constexpr std::int64_t kNearest = 1;
constexpr std::int64_t kZeros = 0;
constexpr std::int64_t kReflection = 2;

struct Attrs {
  std::int64_t mode, padding;
  bool alignCorners;
  explicit Attrs(AttrReader a) : mode(a.integer()), padding(a.integer()), alignCorners(a.boolean()) {}
};

/// Places read along one dim: the coordinate and the size of the dim.
class Axis {
 public:
  /// `unknown`: where NaN is brought.
  Axis(std::int64_t size, std::int64_t padding, bool alignCorners, std::int64_t unknown)
      : size_(size), padding_(padding), alignCorners_(alignCorners), unknown_(unknown) {}

  /// From [-1, 1] to element positions.
  [[nodiscard]] Tensor position(const Tensor& x) const {
    auto n = static_cast<double>(size_);
    return alignCorners_ ? ops::mul(ops::add(x, 1), (n - 1) / 2)
                         : ops::div(ops::sub(ops::mul(ops::add(x, 1), n), 1), 2);
  }
  /// Positions outside brought inside, as the padding mode says.
  [[nodiscard]] Tensor bounded(const Tensor& x) const {
    if (padding_ == kZeros) return x;
    Tensor in = padding_ == kReflection ? reflected(x) : x;
    // A place on the border itself has no slope there.
    in = ops::where(ops::isnan(in), unknown_, in);
    return ops::where(ops::le(in, 0), 0, ops::where(ops::ge(in, size_ - 1), size_ - 1, in));
  }
  /// Is the whole position `i` inside? False for NaN.
  [[nodiscard]] Tensor inside(const Tensor& i) const { return ops::within(i, 0, size_ - 1); }
  [[nodiscard]] std::int64_t size() const { return size_; }

 private:
  [[nodiscard]] Tensor reflected(const Tensor& x) const {
    double low = alignCorners_ ? 0 : -0.5;
    double span = alignCorners_ ? static_cast<double>(size_ - 1) : static_cast<double>(size_);
    if (span == 0) return ops::mul(x, 0);
    Tensor away = ops::abs(ops::sub(x, low));
    Tensor extra = ops::fmod(away, span);
    Tensor odd = ops::ne(ops::fmod(ops::floor(ops::div(ops::detached(away), span)), 2), 0);
    return ops::add(ops::where(odd, ops::sub(span, extra), extra), low);
  }

  std::int64_t size_;
  std::int64_t padding_;
  bool alignCorners_;
  std::int64_t unknown_;
};

/// Whole positions along one dim with their weights.
struct Tap {
  Tensor place;
  Tensor weight;  // undefined: 1
};

std::vector<Tap> tapsAlong(const Axis& axis, const Tensor& coordinate, std::int64_t mode) {
  Tensor x = axis.position(coordinate);
  if (mode == kNearest) return {{ops::round_even(axis.bounded(x)), Tensor()}};
  if (mode == kBilinear) {
    x = axis.bounded(x);
    Tensor low = ops::floor(ops::detached(x));
    return {{low, ops::sub(ops::add(low, 1), x)}, {ops::add(low, 1), ops::sub(x, low)}};
  }
  // Keys' cubic convolution with slope -0.75; every tap is brought inside by itself.
  Tensor low = ops::floor(ops::detached(x));
  Tensor t = ops::sub(x, low);
  auto near = [](const Tensor& d) { return ops::add(ops::mul(ops::mul(ops::sub(ops::mul(1.25, d), 2.25), d), d), 1); };
  auto far = [](const Tensor& d) {
    return ops::add(ops::mul(ops::sub(ops::mul(ops::add(ops::mul(-0.75, d), 3.75), d), 6), d), 3);
  };
  std::vector<Tap> taps;
  for (int k = -1; k <= 2; ++k) {
    Tensor distance = k <= 0 ? ops::sub(t, k) : ops::sub(k, t);
    taps.push_back(
        {ops::round_even(axis.bounded(ops::add(low, k))), k == 0 || k == 1 ? near(distance) : far(distance)});
  }
  return taps;
}

/// grid_sample in steps.
Tensor sampled(const Tensor& input, const Tensor& grid, const Attrs& attrs) {
  const auto [mode, padding, alignCorners] = attrs;
  const std::int64_t n = input.dim() - 2;
  std::int64_t batch = input.size(0);
  std::int64_t channels = input.size(1);
  std::int64_t places = grid.numel() / std::max<std::int64_t>(batch * n, 1);
  Dims out{batch, channels};
  for (std::int64_t d = 0; d < n; ++d) out.push_back(grid.size(1 + d));
  std::vector<Axis> axes;
  std::vector<std::vector<Tap>> taps;
  for (std::int64_t d = 0; d < n; ++d) {
    // As in PyTorch, whose images clip NaN to the first position and volumes to the last.
    axes.emplace_back(input.size(2 + d), padding, alignCorners, n == 2 ? 0 : input.size(2 + d) - 1);
    // The grid names the last dim first.
    taps.push_back(
        tapsAlong(axes.back(), ops::reshape(ops::select(grid, -1, n - 1 - d), Dims{batch, 1, places}), mode));
  }
  Tensor planes = ops::reshape(input, Dims{batch, channels, -1});
  std::int64_t combinations = 1;
  for (const auto& t : taps) combinations *= static_cast<std::int64_t>(t.size());
  Tensor sum;
  Tensor nowhere;  // NaN where the grid is no place: infinite or NaN
  for (std::int64_t c = 0; c < combinations; ++c) {
    Tensor index;
    Tensor inside;
    Tensor weight;
    std::int64_t rest = c;
    for (std::size_t d = taps.size(); d-- > 0;) {
      const Tap& tap = taps[d][static_cast<std::size_t>(rest) % taps[d].size()];
      rest /= static_cast<std::int64_t>(taps[d].size());
      if (tap.weight.defined()) weight = weight.defined() ? ops::mul(weight, tap.weight) : tap.weight;
      Tensor in = axes[d].inside(tap.place);
      inside = inside.defined() ? ops::logical_and(inside, in) : in;
    }
    for (std::size_t d = 0; d < taps.size(); ++d) {
      std::int64_t behind = 1;
      for (std::size_t e = d + 1; e < taps.size(); ++e) behind *= static_cast<std::int64_t>(taps[e].size());
      const Tap& tap = taps[d][static_cast<std::size_t>(c / behind) % taps[d].size()];
      Tensor whole = ops::toDType(ops::where(inside, ops::detached(tap.place), 0), DType::Int64);
      index = index.defined() ? ops::add(ops::mul(index, axes[d].size()), whole) : whole;
    }
    Tensor read = ops::gather(planes, 2, ops::expand(index, Dims{batch, channels, places}));
    Tensor part = ops::where(inside, weight.defined() ? ops::mul(read, weight) : read, 0.0);
    sum = sum.defined() ? ops::add(sum, part) : part;
    if (c == 0) nowhere = weight;
  }
  // As in PyTorch, where volumes have zeros instead.
  if (padding == kZeros && n == 2 && nowhere.defined()) sum = ops::where(ops::isnan(nowhere), nowhere, sum);
  return ops::reshape(sum, out);
}

DimsRef spatialSizes(DimsRef image) { return image.subspan(2); }

}  // namespace

void gridSample(RuleContext& c) {
  if (!c.hasGrad()) return;
  const Attrs a(c.attrs());
  if (c.needs(0))
    c.set(0, ops::grid_sample_input_grad(c.grad(), c.input(1), spatialSizes(c.inputShape(0)), a.mode, a.padding,
                                         a.alignCorners));
  if (c.needs(1))
    c.set(1, ops::grid_sample_grid_grad(c.grad(), c.input(0), c.input(1), a.mode, a.padding, a.alignCorners));
}

void affineGrid(RuleContext& c) {
  AttrReader a = c.attrs();
  const DimsRef size = a.list();
  const Tensor base = ops::affine_grid_base(c.grad(), size, a.boolean());
  const Tensor grad = ops::reshape(c.grad(), Dims{size[0], -1, c.grad().size(-1)});
  c.set(0, ops::matmul(ops::transpose(grad, 1, 2), base));
}

// Operands (grad, grid).
void gridSampleInputGrad(RuleContext& c) {
  if (!c.hasGrad()) return;
  AttrReader r = c.attrs();
  r.list();
  const Attrs a(r);
  if (c.needs(0)) c.set(0, ops::grid_sample_plain(c.grad(), c.input(1), a.mode, a.padding, a.alignCorners));
  if (c.needs(1))
    c.set(1, ops::grid_sample_grid_grad(c.input(0), c.grad(), c.input(1), a.mode, a.padding, a.alignCorners));
}

// Operands (grad, input, grid).
void gridSampleGridGrad(RuleContext& c) {
  if (!c.hasGrad()) return;
  const Attrs a(c.attrs());
  const Tensor at[] = {c.input(0), c.input(1), c.input(2)};
  const auto gridGrad = [&](std::span<const Tensor> x) {
    const Tensor& grad = x[0];
    const Tensor& input = x[1];
    const auto read = [&](std::span<const Tensor> grid) { return std::vector{sampled(input, grid[0], a)}; };
    return autograd::vjp(read, x.subspan(2)).map({&grad, 1});
  };
  const std::vector<Tensor> grads = autograd::vjp(gridGrad, at).map({&c.grad(), 1});
  for (int i = 0; i < 3; ++i)
    if (c.needs(i)) c.set(i, grads[static_cast<std::size_t>(i)]);
}

}  // namespace tandem::rules
