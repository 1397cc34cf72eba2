// Recurrent networks of several layers and directions, and their cells: checks, the input's products, what is joined.
#include <array>
#include <vector>

#include "eager/composites/recurrent.h"
#include "eager/helpers.h"
#include "eager/ops.h"

namespace tandem::ops {
namespace {

using Tensors = std::span<const Tensor>;

struct Weights {
  Tensor input, state, inputBias, stateBias, projection;
};

struct Network {
  const char* name;
  Recurrence kind;
  bool biases;
  std::int64_t layers;
  double dropout;
  bool train;
  bool bidirectional;
};

/// Rows of packed data and the number of sequences at each step.
struct Packed {
  Tensor rows;
  Dims sizes;
};

struct States {
  Tensor outputs;  // of every step, packed
  Tensor hidden;   // after the last step of each sequence
  Tensor cell;
};

/// One layer in one direction. Biases that are only added to each other are added once, to the input's products.
States runLayer(Recurrence kind, const Packed& in, const Weights& w, const Tensor& hidden, const Tensor& cell,
                bool reverse) {
  bool apart = kind == Recurrence::Gru;
  Tensor bias = w.inputBias;
  if (!apart && w.inputBias.defined() && w.stateBias.defined()) bias = add(w.inputBias, w.stateBias);
  if (!apart && !w.inputBias.defined()) bias = w.stateBias;
  Tensor gates = linear(in.rows, w.input, bias);
  if (in.sizes.front() == 0) {
    std::vector<Tensor> of{gates, hidden, w.state};
    for (const Tensor& t : {cell, w.stateBias, w.projection})
      if (t.defined()) of.push_back(t);
    return {constantIn(zeros(Dims{0, hidden.size(1)}, gates.dtype()), of), constantIn(clone(hidden), of),
            cell.defined() ? constantIn(clone(cell), of) : Tensor()};
  }
  auto [states, cells, products, outputs] =
      recurrent_sequence(gates, hidden, cell, w.state, apart ? w.stateBias : Tensor(), w.projection, in.sizes,
                         static_cast<std::int64_t>(kind), reverse);
  PackedSteps steps(in.sizes, reverse);
  return {states, steps.finals(states), cell.defined() ? steps.finals(cells) : Tensor()};
}

/// The parameters of the layers in turn, of the directions of each.
std::vector<Weights> readWeights(const Network& n, Tensors params, bool projects) {
  std::size_t each = (n.biases ? 4 : 2) + (projects ? 1 : 0);
  auto count = static_cast<std::size_t>(n.layers * (n.bidirectional ? 2 : 1));
  if (params.size() != each * count)
    fail(n.name, ": expected ", each * count, " parameters for ", n.layers, " layers, got ", params.size());
  std::vector<Weights> all;
  for (std::size_t i = 0; i < params.size(); i += each) {
    Weights w{params[i], params[i + 1], {}, {}, {}};
    if (n.biases) {
      w.inputBias = params[i + 2];
      w.stateBias = params[i + 3];
    }
    if (projects) w.projection = params[i + each - 1];
    all.push_back(w);
  }
  return all;
}

void checkState(const char* name, const Tensor& state, std::int64_t count, std::int64_t rows, const Tensor& rowsLike) {
  if (state.dim() != 3 || state.size(0) != count || state.size(1) != rows)
    fail(name, ": Expected hidden size (", count, ", ", rows, ", *), got ", shapeText(state.shape()));
  if (state.dtype() != rowsLike.dtype())
    fail(name, ": input and hidden tensors are not the same dtype, found input tensor with ",
         dtypeName(rowsLike.dtype()), " and hidden tensor with ", dtypeName(state.dtype()));
}

struct NetworkResult {
  Tensor outputs;  // packed
  Tensor hidden, cell;
};

NetworkResult runNetwork(const Network& n, Packed in, const Tensor& hidden, const Tensor& cell, Tensors params) {
  std::int64_t directions = n.bidirectional ? 2 : 1;
  // A batch without sequences has steps without rows.
  if (in.sizes.empty() || (in.sizes.back() <= 0 && in.sizes.front() != 0))
    fail(n.name, ": Expected sequence length to be larger than 0 in RNN");
  checkState(n.name, hidden, n.layers * directions, in.sizes.front(), in.rows);
  if (cell.defined()) checkState(n.name, cell, n.layers * directions, in.sizes.front(), in.rows);
  std::vector<Weights> weights = readWeights(n, params, cell.defined() && cell.size(2) != hidden.size(2));
  std::vector<Tensor> lastHidden;
  std::vector<Tensor> lastCell;
  for (std::int64_t layer = 0; layer < n.layers; ++layer) {
    std::vector<Tensor> outputs;
    for (std::int64_t direction = 0; direction < directions; ++direction) {
      std::int64_t i = layer * directions + direction;
      States s = runLayer(n.kind, in, weights[i], select(hidden, 0, i), cell.defined() ? select(cell, 0, i) : Tensor(),
                          direction == 1);
      outputs.push_back(s.outputs);
      lastHidden.push_back(s.hidden);
      if (cell.defined()) lastCell.push_back(s.cell);
    }
    in.rows = outputs.size() == 1 ? outputs[0] : cat(outputs, 1);
    if (n.train && n.dropout > 0 && layer + 1 < n.layers) in.rows = dropout(in.rows, n.dropout, true);
  }
  return {in.rows, stack(lastHidden, 0), cell.defined() ? stack(lastCell, 0) : Tensor()};
}

NetworkResult runPadded(const Network& n, const Tensor& input, const Tensor& hidden, const Tensor& cell, Tensors params,
                        bool batchFirst) {
  if (input.dim() != 3) fail(n.name, ": Expected input to be 3D, got shape ", shapeText(input.shape()));
  Tensor x = batchFirst ? transpose(input, 0, 1) : input;
  std::int64_t steps = x.size(0);
  std::int64_t batch = x.size(1);
  Packed in{reshape(x, Dims{steps * batch, x.size(2)}), Dims(static_cast<std::size_t>(steps), batch)};
  NetworkResult r = runNetwork(n, in, hidden, cell, params);
  r.outputs = view(r.outputs, Dims{steps, batch, r.outputs.size(1)});
  if (batchFirst) r.outputs = transpose(r.outputs, 0, 1);
  return r;
}

/// What a caller may write to: backward reads the states themselves.
Tensor writable(const Tensor& states) { return gradEnabled() && states.requiresGrad() ? clone(states) : states; }

/// The one or two states of a call.
void checkStateCount(const char* name, Tensors hx) {
  if (hx.size() != 2) fail(name, " expects two hidden states");
}

Network network(const char* name, Recurrence kind, bool biases, std::int64_t layers, double dropout, bool train,
                bool bidirectional) {
  return {name, kind, biases, layers, dropout, train, bidirectional};
}

States runCell(Recurrence kind, const char* name, const Tensor& input, const Tensor& hidden, const Tensor& cell,
               const Weights& w) {
  if (input.dim() != 2 || hidden.dim() != 2)
    fail(name, ": expected an input and a state of 2 dims, got ", shapeText(input.shape()), " and ",
         shapeText(hidden.shape()));
  if (input.size(0) != hidden.size(0))
    fail(name, ": Input batch size ", input.size(0), " doesn't match hidden batch size ", hidden.size(0));
  if (w.state.size(0) != gateCount(kind) * hidden.size(1))
    fail(name, ": hidden has inconsistent hidden_size: got ", hidden.size(1), ", expected ",
         w.state.size(0) / gateCount(kind));
  if (cell.defined() && !(cell.shape() == hidden.shape()))
    fail(name, ": both states are to be of shape ", shapeText(hidden.shape()), ", but hx[1] has shape ",
         shapeText(cell.shape()));
  return runLayer(kind, {input, Dims{input.size(0)}}, w, hidden, cell, false);
}

}  // namespace

std::vector<Tensor> lstm(const Tensor& input, Tensors hx, Tensors params, bool biases, std::int64_t layers, double drop,
                         bool train, bool bidirectional, bool batchFirst) {
  checkStateCount("lstm", hx);
  auto r = runPadded(network("lstm", Recurrence::Lstm, biases, layers, drop, train, bidirectional), input, hx[0], hx[1],
                     params, batchFirst);
  return {r.outputs, r.hidden, r.cell};
}
std::vector<Tensor> lstm_packed(const Tensor& data, DimsRef sizes, Tensors hx, Tensors params, bool biases,
                                std::int64_t layers, double drop, bool train, bool bidirectional) {
  checkStateCount("lstm", hx);
  auto r = runNetwork(network("lstm", Recurrence::Lstm, biases, layers, drop, train, bidirectional),
                      {data, Dims(sizes)}, hx[0], hx[1], params);
  return {r.outputs, r.hidden, r.cell};
}

// The others differ in name and kind alone.
#define TANDEM_RECURRENT(function, kind)                                                                               \
  std::vector<Tensor> function(const Tensor& input, const Tensor& hx, Tensors params, bool biases,                     \
                               std::int64_t layers, double drop, bool train, bool bidirectional, bool batchFirst) {    \
    auto r = runPadded(network(#function, kind, biases, layers, drop, train, bidirectional), input, hx, {}, params,    \
                       batchFirst);                                                                                    \
    return {writable(r.outputs), r.hidden};                                                                            \
  }                                                                                                                    \
  std::vector<Tensor> function##_packed(const Tensor& data, DimsRef sizes, const Tensor& hx, Tensors params,           \
                                        bool biases, std::int64_t layers, double drop, bool train,                     \
                                        bool bidirectional) {                                                          \
    auto r = runNetwork(network(#function, kind, biases, layers, drop, train, bidirectional), {data, Dims(sizes)}, hx, \
                        {}, params);                                                                                   \
    return {writable(r.outputs), r.hidden};                                                                            \
  }                                                                                                                    \
  Tensor function##_cell(const Tensor& input, const Tensor& hx, const Tensor& wInput, const Tensor& wState,            \
                         const Tensor& bInput, const Tensor& bState) {                                                 \
    return writable(runCell(kind, #function "_cell", input, hx, {}, {wInput, wState, bInput, bState, {}}).hidden);     \
  }

TANDEM_RECURRENT(gru, Recurrence::Gru)
TANDEM_RECURRENT(rnn_tanh, Recurrence::Tanh)
TANDEM_RECURRENT(rnn_relu, Recurrence::Relu)
#undef TANDEM_RECURRENT

std::vector<Tensor> lstm_cell(const Tensor& input, Tensors hx, const Tensor& wInput, const Tensor& wState,
                              const Tensor& bInput, const Tensor& bState) {
  checkStateCount("lstm_cell", hx);
  States s = runCell(Recurrence::Lstm, "lstm_cell", input, hx[0], hx[1], {wInput, wState, bInput, bState, {}});
  return {writable(s.hidden), writable(s.cell)};
}

}  // namespace tandem::ops
