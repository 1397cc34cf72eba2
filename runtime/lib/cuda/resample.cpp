// resample and its transpose. Places and weights are computed on the host, by the CPU's functions, and copied.
#include <bit>
#include <type_traits>
#include <vector>

#include "runtime/base/attrs.h"
#include "runtime/base/error.h"
#include "runtime/lib/cuda/operands.h"
#include "runtime/lib/cuda/table.h"
#include "runtime/lib/cuda/texts.h"
#include "runtime/lib/pool/taps.h"

namespace tandem::cuda::lib {
namespace {

using tandem::lib::byteTapsOf;
using tandem::lib::Interpolation;
using tandem::lib::Taps;
using tandem::lib::tapsOf;

constexpr Source kResample("resample", kResampleText);

/// The struct Slabs of resample.cu.
struct Slabs {
  std::int64_t n, m, inner;
};

/// Of each input position, the output positions that it is a tap of, in order.
template <class C>
Taps<C> transposed(const Taps<C>& taps, std::int64_t in) {
  std::vector<std::vector<std::pair<std::int64_t, C>>> uses(static_cast<std::size_t>(in));
  for (std::size_t o = 0; o + 1 < taps.starts.size(); ++o)
    for (auto k = static_cast<std::size_t>(taps.starts[o]); k < static_cast<std::size_t>(taps.starts[o + 1]); ++k)
      uses[static_cast<std::size_t>(taps.index[k])].emplace_back(static_cast<std::int64_t>(o), taps.weight[k]);
  Taps<C> made;
  for (const auto& all : uses) {
    for (const auto& [o, w] : all) made.add(o, w);
    made.end();
  }
  return made;
}

/// A copy of a list in device memory.
template <class T>
class Listed {
 public:
  explicit Listed(const std::vector<T>& list) : memory_(list.size() * sizeof(T)) {
    if (!list.empty()) copyFromHost(memory_.as(), list.data(), list.size() * sizeof(T));
  }
  [[nodiscard]] void* data() const { return memory_.as(); }

 private:
  Workspace memory_;
};

struct Resampling {
  const Dense x;
  const ArrayView& to;
  AlongDim from, made;
  bool transposed;

  Resampling(const LibraryCall& call, std::int64_t dim, bool transposed)
      : x(call.inputs[0]), to(call.outputs[0]), from(x.view().shape, dim), made(to.shape, dim), transposed(transposed) {
  }
  [[nodiscard]] std::int64_t in() const { return transposed ? made.size : from.size; }
  [[nodiscard]] std::int64_t out() const { return transposed ? from.size : made.size; }
  [[nodiscard]] const Function& kernel(const char* name) const {
    return kResample.kernel(name, {{"ELEMENT", typeName(to.dtype)}, {"COMPUTE", computeName(to.dtype)}});
  }

  template <class C, class... Rest>
  void run(const char* name, const Taps<C>& taps, const Rest&... rest) const {
    const Listed starts(taps.starts);
    const Listed index(taps.index);
    const std::int64_t n = to.numel();
    const Slabs slabs{from.size, made.size, from.inner};
    if constexpr (sizeof...(Rest) == 0) {
      launch(kernel(name), elementwise(n), x.data(), to.data, n, starts.data(), index.data(), slabs);
    } else {
      const Listed weight(taps.weight);
      launch(kernel(name), elementwise(n), x.data(), to.data, n, starts.data(), index.data(), weight.data(), rest...,
             slabs);
    }
  }
};

template <class C>
void weigh(const Resampling& r, Interpolation mode, bool alignCorners, double ratio) {
  const Taps<C> taps = tapsOf<C>(r.in(), r.out(), mode, alignCorners, ratio);
  // The transpose adds to zeros.
  r.run("weigh", r.transposed ? transposed(taps, r.in()) : taps, std::int64_t{r.transposed ? 1 : 0});
}

void resampleEither(const LibraryCall& call, bool transposed) {
  if (call.outputs[0].numel() == 0) return;
  AttrReader attrs(call.attrs);
  const std::int64_t dim = attrs.integer();
  attrs.integer();
  const auto mode = static_cast<Interpolation>(attrs.integer());
  const bool alignCorners = attrs.boolean();
  const auto ratio = std::bit_cast<double>(call.scalars[0]);
  const Resampling r(call, dim, transposed);
  const DType t = r.to.dtype;
  if (t == DType::Float64) {
    weigh<double>(r, mode, alignCorners, ratio);
  } else if (isFloating(t)) {
    weigh<float>(r, mode, alignCorners, ratio);
  } else if (mode <= Interpolation::NearestExact && !transposed) {
    r.run("pick", tapsOf<float>(r.in(), r.out(), mode, alignCorners, ratio));
  } else if (t == DType::UInt8 && !transposed) {
    const auto bytes = byteTapsOf(tapsOf<double>(r.in(), r.out(), mode, alignCorners, ratio));
    r.run("weighBytes", bytes.taps, std::int64_t{bytes.shift});
  } else {
    fail<NotImplementedError>("interpolate not implemented for '", dtypeName(t), "'");
  }
}

}  // namespace

void resample(const LibraryCall& call) { resampleEither(call, false); }
void resample_grad(const LibraryCall& call) { resampleEither(call, true); }

namespace {
const Registered here{{"resample", &resample}, {"resample_grad", &resample_grad}};
}  // namespace

}  // namespace tandem::cuda::lib
