// Reading and writing by several index tensors at once, `x[i, j]` and index_put.
#include "eager/advanced_indexing.h"

#include <algorithm>

#include "eager/dispatch.h"
#include "eager/helpers.h"
#include "eager/in_place_form.h"
#include "eager/memory_format.h"
#include "eager/ops.h"
#include "eager/placement.h"

namespace tandem {

namespace {

/// An index where `t` is: those on the CPU go along.
Tensor besides(const Tensor& t, const Tensor& index) {
  if (index.device() == t.device()) [[likely]]
    return index;
  if (!index.device().isCpu())
    fail("indices should be either on cpu or on the same device as the indexed tensor (", deviceName(t.device()), ")");
  return toDevice(index, t.device());
}

/// Integer tensors of one shape in adjacent dims of `t`, from `first` on.
struct Advanced {
  Tensor t;
  std::vector<Tensor> indices;
  std::int64_t first = 0;

  Advanced(const Tensor& input, std::vector<Tensor> given) : t(input) {
    Dims shape;
    std::string shapes;
    bool fit = true;
    std::int64_t last = -1;
    std::int64_t count = 0;
    for (std::size_t d = 0; d < given.size(); ++d) {
      Tensor& index = given[d];
      if (!index.defined()) continue;
      if (isFloating(index.dtype()) || index.dtype() == DType::Bool) {
        fail<IndexError>("tensors used as indices must be long, int, byte or bool tensors");
      }
      index = besides(t, index);
      if (index.dtype() != DType::Int64) index = ops::to(index, DType::Int64);
      if (count == 0) first = static_cast<std::int64_t>(d);
      last = static_cast<std::int64_t>(d);
      ++count;
      shapes += strcat(shapes.empty() ? "" : ", ", shapeText(index.shape()));
      fit = fit && joins(shape, index.shape());
    }
    if (!fit) {
      fail<IndexError>("shape mismatch: indexing tensors could not be broadcast together with shapes ", shapes);
    }
    if (last - first + 1 != count) bringForward(given);
    for (Tensor& index : given) {
      if (index.defined()) indices.push_back(index.shape() == shape ? index : ops::expand(index, shape));
    }
  }

  /// The shape of what is read, and of what can be written.
  [[nodiscard]] Dims shape() const {
    Dims s;
    auto begin = static_cast<std::size_t>(first);
    s.append(t.shape().begin(), t.shape().begin() + begin);
    s.append(indices[0].shape().begin(), indices[0].shape().end());
    s.append(t.shape().begin() + begin + indices.size(), t.shape().end());
    return s;
  }

  /// The dims of what is read in the order in which it is laid out: as for elementwise operations, of `t` with steps of
  /// 0 where it is indexed and of the indices with steps of 0 elsewhere.
  [[nodiscard]] Dims order() const {
    const Dims all = shape();
    const auto begin = static_cast<std::size_t>(first), count = indices[0].shape().size();
    std::vector<Dims> strides(1);
    strides[0].append(t.strides().begin(), t.strides().begin() + begin);
    strides[0].resize(begin + count, 0);
    strides[0].append(t.strides().begin() + begin + indices.size(), t.strides().end());
    for (const Tensor& index : indices) {
      Dims& s = strides.emplace_back(all.size(), 0);
      std::ranges::copy(index.strides(), s.begin() + begin);
    }
    return orderOfStrides(all, strides);
  }

 private:
  // Grows `to` to its broadcast with `shape`; false where they do not fit.
  static bool joins(Dims& to, const Dims& shape) {
    while (to.size() < shape.size()) to.insert(0, 1);
    std::size_t lead = to.size() - shape.size();
    for (std::size_t i = 0; i < shape.size(); ++i) {
      std::int64_t& d = to[lead + i];
      if (d == 1) {
        d = shape[i];
      } else if (shape[i] != 1 && shape[i] != d) {
        return false;
      }
    }
    return true;
  }
  // Where indexed dims are not adjacent, theirs come first in the result, as in NumPy.
  void bringForward(const std::vector<Tensor>& given) {
    Dims order;
    for (std::size_t d = 0; d < given.size(); ++d) {
      if (given[d].defined()) order.push_back(static_cast<std::int64_t>(d));
    }
    for (std::int64_t d = 0; d < t.dim(); ++d) {
      auto at = static_cast<std::size_t>(d);
      if (at >= given.size() || !given[at].defined()) order.push_back(d);
    }
    t = ops::permute(t, order);
    first = 0;
  }
};

/// What `a.t` is with `values` written or added at the indices.
Tensor written(const Advanced& a, const Tensor& values, bool accumulate) {
  Dims shape = a.shape();
  // One number goes along, as beside any operand.
  Tensor v = values.dim() == 0 && values.device().isCpu() ? toDevice(values, a.t.device()) : values;
  if (v.dtype() != a.t.dtype()) v = ops::to(v, a.t.dtype());
  while (v.dim() > static_cast<std::int64_t>(shape.size()) && v.shape()[0] == 1) v = ops::select(v, 0, 0);
  if (!(v.shape() == shape)) {
    const auto spare = static_cast<std::int64_t>(shape.size()) - v.dim();
    bool broadcasts = spare >= 0;
    for (std::int64_t d = 0; broadcasts && d < v.dim(); ++d)
      broadcasts = v.size(d) == 1 || v.size(d) == shape[spare + d];
    if (!broadcasts) {
      fail("shape mismatch: value tensor of shape ", shapeText(v.shape()),
           " cannot be broadcast to indexing result of shape ", shapeText(shape));
    }
    v = ops::expand(v, shape);
  }
  const LastStep last(a.t);
  return ops::index_put_plain(a.t, v, a.indices, a.first, accumulate);
}

}  // namespace

Tensor indexByTensors(const Tensor& t, std::vector<Tensor> indices) {
  const Advanced a(t, std::move(indices));
  if (a.t.isContiguous()) return ops::index_get(a.t, a.indices, a.first);
  // What is laid out in another order than row-major is read in it, if the dims of the indices stay side by side.
  const Dims order = a.order();
  const auto count = static_cast<std::int64_t>(a.indices[0].shape().size());
  const auto taken = static_cast<std::int64_t>(a.indices.size());
  Dims from;
  std::int64_t first = 0;
  auto takeIndexed = [&] {
    first = static_cast<std::int64_t>(from.size());
    for (std::int64_t i = 0; i < taken; ++i) from.push_back(a.first + i);
  };
  bool plain = std::ranges::is_sorted(order);
  if (count == 0) takeIndexed();
  for (std::size_t k = 0; k < order.size(); ++k) {
    const std::int64_t d = order[k];
    if (d < a.first)
      from.push_back(d);
    else if (d >= a.first + count)
      from.push_back(d - count + taken);
    else if (d == a.first)
      takeIndexed();
    else
      plain |= k == 0 || order[k - 1] != d - 1;
  }
  if (plain) return ops::index_get(a.t, a.indices, a.first);
  return ops::permute(ops::index_get(ops::permute(a.t, from), a.indices, first), inverseOf(order));
}

void assignByTensors(const Tensor& t, std::vector<Tensor> indices, const Tensor& values, bool accumulate) {
  Advanced a(t, std::move(indices));
  if (ops::repeatsElements(a.t))
    return ops::assignRepeated("index_put", a.t, written(a, values, accumulate),
                               accumulate ? Repeats::Summed : Repeats::Warned);
  InPlaceForm form(a.t);
  form.end(written(a, values, accumulate));
}

namespace ops {

Tensor index_put(const Tensor& x, std::span<const Tensor> given, const Tensor& values, bool accumulate) {
  if (x.dtype() != values.dtype())
    fail("Index put requires the source and destination dtypes match, got ", dtypeName(x.dtype()),
         " for the destination and ", dtypeName(values.dtype()), " for the source.");
  std::vector<Tensor> indices;
  for (const Tensor& index : given) {
    if (index.dtype() != DType::Bool && index.dtype() != DType::UInt8) {
      indices.push_back(index);
      continue;
    }
    auto first = static_cast<std::int64_t>(indices.size());
    for (std::int64_t d = 0; d < index.dim(); ++d)
      if (first + d >= x.dim() || index.shape()[d] != x.shape()[first + d])
        fail<IndexError>("The shape of the mask ", shapeText(index.shape()), " at index ", d,
                         " does not match the shape of the indexed tensor ", shapeText(x.shape()), " at index ",
                         first + d);
    for (Tensor& column : unbind(nonzero(index), 1)) indices.push_back(std::move(column));
  }
  if (static_cast<std::int64_t>(indices.size()) > x.dim())
    fail<IndexError>("too many indices for tensor of dimension ", x.dim(), " (got ", indices.size(), ")");
  if (indices.empty()) fail<IndexError>("index_put(): expected at least one index");
  // The indexed dims are the first ones, and so adjacent.
  return written(Advanced(x, std::move(indices)), values, accumulate);
}

}  // namespace ops

}  // namespace tandem
