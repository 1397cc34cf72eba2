// Recurrent layers. The input's part of all gates is one product for the whole sequence; `recurrent_sequence` then runs
// the steps. It is taped as a whole, so that its derivative can take the weight's gradient in one product, too
// (autograd/rules/recurrent.cpp).
#include <algorithm>
#include <array>
#include <optional>

#include "eager/batch.h"
#include "eager/composites/recurrent.h"
#include "eager/compute_flags.h"
#include "eager/dispatch.h"
#include "eager/fusion.h"
#include "eager/helpers.h"
#include "eager/ops.h"
#include "eager/recorder.h"
#include "eager/updates.h"
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
  if (parts.empty()) return at(all, 0);  // no sequences
  return parts.size() == 1 ? parts[0] : cat(parts, 0);
}

Tensor gateBlock(const Tensor& gates, std::int64_t k, std::int64_t width) { return narrow(gates, 1, k * width, width); }

StepResults::StepResults(OpCode op, const PackedSteps& steps, std::initializer_list<std::int64_t> places,
                         std::int64_t width, std::span<const Tensor> sources)
    : op_(op), steps_(steps), places_(places), width_(width), dtype_(sources[0].dtype()), results_(places.size()) {
  std::vector<Operand> operands(sources.begin(), sources.end());
  direct_ = recorderFor(operands) == nullptr && !anyBatched(operands);
  std::int64_t count = *std::max_element(places_.begin(), places_.end()) + 1;
  if (direct_)
    for (std::int64_t k = 0; k < count; ++k)
      all_.push_back(makeEmpty(Dims{steps.allRows(), width * std::count(places_.begin(), places_.end(), k)}, dtype_));
  else
    parts_.resize(count, std::vector<Tensor>(steps.count()));
}

std::span<const Tensor> StepResults::run(std::int64_t t, std::initializer_list<Tensor> inputs) {
  const std::vector<Operand> operands(inputs.begin(), inputs.end());
  if (direct_) {
    std::vector<std::int64_t> blocks(all_.size());
    for (std::size_t i = 0; i < places_.size(); ++i) {
      std::int64_t k = places_[i];
      results_[i] = k == kOfItsStep ? makeEmpty(Dims{steps_.rows(t), width_}, dtype_)
                                    : gateBlock(steps_.at(all_[k], t), blocks[k]++, width_);
    }
    applyUpdate(op_, operands, results_);
    return results_;
  }
  applyMulti(op_, operands, {}, results_);
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    std::vector<Tensor> blocks;
    for (std::size_t i = 0; i < places_.size(); ++i)
      if (places_[i] == static_cast<std::int64_t>(k)) blocks.push_back(results_[i]);
    parts_[k][t] = blocks.size() == 1 ? blocks[0] : cat(blocks, 1);
  }
  return results_;
}

Tensor StepResults::all(std::int64_t k) const {
  if (!direct_) return cat(parts_[k], 0);
  return firstSeen(all_[k]);
}

StepProduct::StepProduct(const Tensor& weight, const PackedSteps& steps) : weight_(weight) {
  constexpr std::int64_t fewSteps = 4;
  constexpr std::int64_t smallWeight = 64 * 64;
  bool packs = weight.dtype() == DType::Float32 || weight.dtype() == DType::Float64;
  if (packs && steps.count() >= fewSteps && weight.numel() >= smallWeight && weight.size(1) > 1 && !isBatched(weight))
    packed_ = pack_matrix(weight);
}

Tensor StepProduct::operator()(const Tensor& x) const {
  // Examples of a vmap are rows of one product to `matmul`. A single row reads the matrix once, however it lies.
  if (!packed_.defined() || isBatched(x) || x.size(0) == 1) return matmul(x, weight_);
  return matmul_packed(x, packed_, weight_.size(1), productsAllowTf32(x));
}

std::array<Tensor, 4> recurrent_sequence(const Tensor& gates, const Tensor& hidden, const Tensor& cell,
                                         const Tensor& weight, const Tensor& bias, const Tensor& projection,
                                         DimsRef sizes, std::int64_t kindNumber, bool reverse) {
  auto kind = static_cast<Recurrence>(kindNumber);
  std::array<Tensor, 4> results;
  {
    NoGrad noGrad;
    PackedSteps steps(sizes, reverse);
    std::int64_t width = gates.size(1) / gateCount(kind);
    StepProduct product(transpose(weight, 0, 1), steps);
    bool gated = kind == Recurrence::Lstm || kind == Recurrence::Gru;
    std::vector<Tensor> sources{gates, hidden, weight};
    for (const Tensor* t : {&cell, &bias, &projection})
      if (t->defined()) sources.push_back(*t);
    // Outputs, cell states of an LSTM, gates.
    using Places = std::initializer_list<std::int64_t>;
    std::optional<StepResults> made;
    if (kind == Recurrence::Lstm) made.emplace(OpCode::lstm_step, steps, Places{0, 1, 2, 2, 2, 2}, width, sources);
    if (kind == Recurrence::Gru) made.emplace(OpCode::gru_step, steps, Places{0, 1, 1, 1, 1}, width, sources);
    std::vector<Tensor> states(gated && !projection.defined() ? 0 : sizes.size());
    Tensor state;
    Tensor memory;
    for (std::int64_t i = 0; i < steps.count(); ++i) {
      std::int64_t t = steps.nth(i);
      Tensor h = steps.start(state, hidden, t);
      Tensor x = steps.at(gates, t);
      Tensor p = product(h);
      if (bias.defined()) p = add(p, bias);
      auto xs = [&](std::int64_t k) { return gateBlock(x, k, width); };
      auto ps = [&](std::int64_t k) { return gateBlock(p, k, width); };
      if (kind == Recurrence::Lstm) {
        Tensor c = steps.start(memory, cell, t);
        auto step = made->run(t, {xs(0), xs(1), xs(2), xs(3), ps(0), ps(1), ps(2), ps(3), c});
        state = step[0];
        memory = step[1];
      } else if (kind == Recurrence::Gru) {
        state = made->run(t, {xs(0), xs(1), xs(2), ps(0), ps(1), ps(2), h})[0];
      } else {
        FusedScope fused(h);
        Tensor sum = add(x, p);
        state = kind == Recurrence::Tanh ? tanh(sum) : relu(sum);
      }
      if (projection.defined()) state = matmul(state, transpose(projection, 0, 1));
      if (!states.empty()) states[t] = state;
    }
    Tensor none = makeEmpty(Dims{0}, gates.dtype());
    Tensor outputs = gated ? made->all(0) : none;
    results = {states.empty() ? outputs : cat(states, 0), kind == Recurrence::Lstm ? made->all(1) : none,
               gated ? made->all(kind == Recurrence::Lstm ? 2 : 1) : none, projection.defined() ? outputs : none};
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
