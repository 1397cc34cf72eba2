// Recurrent layers. The input's part of all gates is one product for the whole sequence; `recurrent_sequence` then runs
// the steps. It is taped as a whole, so that its derivative can take the weight's gradient in one product, too
// (autograd/rules/recurrent.cpp).
#include "eager/composites/recurrent.h"

#include <array>

#include "eager/dispatch.h"
#include "eager/helpers.h"
#include "eager/ops.h"
#include "eager/recorder.h"
#include "runtime/base/attrs.h"

namespace tandem::ops {

PackedSteps::PackedSteps(DimsRef sizes, bool reverse) : sizes_(sizes), reverse_(reverse) {
  std::int64_t at = 0;
  for (std::int64_t n : sizes) {
    offsets_.push_back(at);
    at += n;
  }
}

Tensor PackedSteps::at(const Tensor& all, std::int64_t t) const { return narrow(all, 0, offsets_[t], sizes_[t]); }

Tensor PackedSteps::start(const Tensor& last, const Tensor& initial, std::int64_t t) const {
  std::int64_t rows = sizes_[t];
  if (!last.defined()) return narrow(initial, 0, 0, rows);
  std::int64_t known = last.size(0);
  if (known >= rows) return narrow(last, 0, 0, rows);
  const std::array<Tensor, 2> parts{last, narrow(initial, 0, known, rows - known)};
  return cat(parts, 0);
}

Tensor PackedSteps::startFrom(const Tensor& all, const Tensor& initial, std::int64_t t) const {
  std::int64_t before = reverse_ ? t + 1 : t - 1;
  return start(before >= 0 && before < count() ? at(all, before) : Tensor(), initial, t);
}

Tensor PackedSteps::starts(const Tensor& all, const Tensor& initial) const {
  if (count() == 1) return startFrom(all, initial, 0);
  std::vector<Tensor> parts;
  if (sizes_.front() == sizes_.back()) {
    std::int64_t rows = sizes_.front();
    parts = {initial, narrow(all, 0, reverse_ ? rows : 0, rows * (count() - 1))};
    if (reverse_) std::swap(parts[0], parts[1]);
  } else {
    for (std::int64_t t = 0; t < count(); ++t) parts.push_back(startFrom(all, initial, t));
  }
  return cat(parts, 0);
}

Tensor PackedSteps::finals(const Tensor& all) const {
  if (reverse_) return at(all, 0);
  std::vector<Tensor> parts;
  std::int64_t done = 0;
  for (std::int64_t t = count() - 1; t >= 0; --t)
    if (sizes_[t] > done) {
      parts.push_back(narrow(all, 0, offsets_[t] + done, sizes_[t] - done));
      done = sizes_[t];
    }
  return parts.size() == 1 ? parts[0] : cat(parts, 0);
}

Tensor gateBlock(const Tensor& gates, std::int64_t k, std::int64_t width) { return narrow(gates, 1, k * width, width); }

namespace {

struct Cell {
  Tensor product;  // of the state and the weight, with its bias
  Tensor output;   // before the projection
  Tensor cell;     // undefined unless Lstm
};

Cell runCell(Recurrence kind, const Tensor& gates, Tensor product, const Tensor& bias, const Tensor& hidden,
             const Tensor& cell) {
  FusedScope fused(hidden);
  if (bias.defined()) product = add(product, bias);
  Tensor sums = add(gates, product);
  if (kind == Recurrence::Tanh) return {product, tanh(sums), {}};
  if (kind == Recurrence::Relu) return {product, relu(sums), {}};
  std::int64_t width = gates.size(1) / gateCount(kind);
  auto sum = [&](std::int64_t k) { return gateBlock(sums, k, width); };
  if (kind == Recurrence::Gru) {
    Tensor reset = sigmoid(sum(0));
    Tensor update = sigmoid(sum(1));
    Tensor fresh = tanh(add(gateBlock(gates, 2, width), mul(reset, gateBlock(product, 2, width))));
    return {product, add(fresh, mul(update, sub(hidden, fresh))), {}};
  }
  Tensor kept = mul(sigmoid(sum(1)), cell);
  Tensor next = add(kept, mul(sigmoid(sum(0)), tanh(sum(2))));
  return {product, mul(sigmoid(sum(3)), tanh(next)), next};
}

Tensor joined(const std::vector<Tensor>& parts) { return parts.empty() ? Tensor() : cat(parts, 0); }

}  // namespace

std::array<Tensor, 4> recurrent_sequence(const Tensor& gates, const Tensor& hidden, const Tensor& cell,
                                         const Tensor& weight, const Tensor& bias, const Tensor& projection,
                                         DimsRef sizes, std::int64_t kindNumber, bool reverse) {
  auto kind = static_cast<Recurrence>(kindNumber);
  std::array<Tensor, 4> results;
  {
    NoGrad noGrad;
    PackedSteps steps(sizes, reverse);
    std::vector<Tensor> states(sizes.size());
    std::vector<Tensor> products(sizes.size());
    std::vector<Tensor> cells(cell.defined() ? sizes.size() : 0);
    std::vector<Tensor> outputs(projection.defined() ? sizes.size() : 0);
    Tensor across = transpose(weight, 0, 1);
    Tensor state;
    Tensor memory;
    for (std::int64_t i = 0; i < steps.count(); ++i) {
      std::int64_t t = steps.nth(i);
      Tensor h = steps.start(state, hidden, t);
      Tensor c = cell.defined() ? steps.start(memory, cell, t) : Tensor();
      Cell made = runCell(kind, steps.at(gates, t), matmul(h, across), bias, h, c);
      products[t] = made.product;
      state = made.output;
      if (cell.defined()) memory = cells[t] = made.cell;
      if (projection.defined()) {
        outputs[t] = state;
        state = matmul(state, transpose(projection, 0, 1));
      }
      states[t] = state;
    }
    Tensor none = makeEmpty(Dims{0}, gates.dtype());
    results = {joined(states), cell.defined() ? joined(cells) : none, joined(products),
               projection.defined() ? joined(outputs) : none};
  }
  AttrWriter attrs;
  attrs.list(sizes);
  attrs.integer(kindNumber);
  attrs.boolean(reverse);
  const Operand operands[] = {gates, hidden, cell, weight, bias, projection};
  tapeWhole(OpCode::recurrent_sequence, operands, attrs.span(), results);
  return results;
}

}  // namespace tandem::ops
