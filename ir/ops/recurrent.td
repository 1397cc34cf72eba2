// Recurrent networks, made of other operations in C++ (eager/composites/recurrent_layers.cpp).

def : Composite<"recurrent_sequence",
    "Tensor gates, Tensor hidden, Tensor? cell, Tensor weight, Tensor? bias, Tensor? projection, int[] batch_sizes, "
    "int kind, bool reverse"> {
  let results = "(Tensor, Tensor, Tensor, Tensor)";
  let numResults = 4;
  let forms = ["hidden"];
  let rule = "recurrentSequence";
  let saves = ["hidden", "cell", "weight", "projection", "out", "out1", "out2", "out3"];
  let summary = "The steps of one layer in one direction over packed rows: states, cell states, what the gates were, "
                "outputs before the projection.";
  let samples = "none";
}

// One step and its gradients in one pass each, parts of `recurrent_sequence`, which has the derivative. x* are parts of
// the input's products, p* of the state's; the gates i, f, g, o of an LSTM and r, z, n of a GRU are those after sigmoid
// or tanh.
class StepPass<string n, string p, int count> : Pointwise<n, "Promote", p> {
  let results = "(" # !interleave(!listsplat("Tensor", count), ", ") # ")";
  let numResults = count;
  let forms = ["hidden"];
  let samples = "none";
}

def : StepPass<"lstm_step",
    "Tensor xi, Tensor xf, Tensor xg, Tensor xo, Tensor pi, Tensor pf, Tensor pg, Tensor po, Tensor cell",
    6> {
  dag i = (sigmoid (add $xi, $pi));
  dag f = (sigmoid (add $xf, $pf));
  dag g = (tanh (add $xg, $pg));
  dag o = (sigmoid (add $xo, $po));
  dag next = (add (mul f, $cell), (mul i, g));
  let body = [(mul o, (tanh next)), next, i, f, g, o];
  let differentiable = 0;
  let summary = "The state and cell state after a step, and its gates.";
}

def : StepPass<"lstm_step_grad",
    "Tensor i, Tensor f, Tensor g, Tensor o, Tensor cell, Tensor next, Tensor grad, Tensor grad_next",
    5> {
  dag squashed = (tanh $next);
  dag total = (add $grad_next, (mul (mul $grad, $o), (sub 1, (square squashed))));
  let body = [(mul (mul total, $g), (mul $i, (sub 1, $i))),
              (mul (mul total, $cell), (mul $f, (sub 1, $f))),
              (mul (mul total, $i), (sub 1, (square $g))),
              (mul (mul $grad, squashed), (mul $o, (sub 1, $o))),
              (mul total, $f)];
  let differentiable = 0;
  let summary = "Gradients of the sums in the gates, and of the cell state before the step.";
}

def : StepPass<"gru_step",
    "Tensor xr, Tensor xz, Tensor xn, Tensor pr, Tensor pz, Tensor pn, Tensor hidden",
    5> {
  dag r = (sigmoid (add $xr, $pr));
  dag z = (sigmoid (add $xz, $pz));
  dag n = (tanh (add $xn, (mul r, $pn)));
  let body = [(add n, (mul z, (sub $hidden, n))), r, z, n, (identity $pn)];
  let differentiable = 0;
  let summary = "The state after a step, its gates, and the state's part of the new one.";
}

def : StepPass<"gru_step_grad", "Tensor r, Tensor z, Tensor n, Tensor pn, Tensor hidden, Tensor grad", 7> {
  dag fresh = (mul (mul $grad, (sub 1, $z)), (sub 1, (square $n)));
  dag dr = (mul (mul fresh, $pn), (mul $r, (sub 1, $r)));
  dag dz = (mul (mul $grad, (sub $hidden, $n)), (mul $z, (sub 1, $z)));
  let body = [dr, dz, fresh, dr, dz, (mul fresh, $r), (mul $grad, $z)];
  let differentiable = 0;
  let summary = "Gradients of the input's products, of the state's, and of the state but for its products.";
}

class RecurrentLayers<string n, string py, string hx> : Composite<n,
    "Tensor input, " # hx #
    " hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool "
    "batch_first"> {
  let python = py;
  let results = "Tensor[]";
  let mixedPrecision = "Lower";
  let forms = ["function"];
}

def : RecurrentLayers<"lstm", "lstm", "Tensor[]"> {
  let summary = "Long short-term memory (Hochreiter and Schmidhuber 1997) over [T, B, I], or [B, T, I] if "
                "batch_first: outputs, last states, last cell states.";
  let shapes = "`input` [T, B, I] ([B, T, I] if batch_first), states [layers * directions, B, H]; outputs [T, B, "
               "directions * H], states as given";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> state = (tandem.zeros(1, 3, 5), tandem.zeros(1, 3, 5))
    >>> weights = [tandem.zeros(20, 4), tandem.zeros(20, 5), tandem.zeros(20), tandem.zeros(20)]
    >>> output, h, c = tandem.lstm(tandem.ones(7, 3, 4), state, weights, True, 1, 0., False, False, False)
    >>> output.shape, h.shape, c.shape
    (tandem.Size([7, 3, 5]), tandem.Size([1, 3, 5]), tandem.Size([1, 3, 5]))
  }];
}

class RecurrentPacked<string n, string py, string hx> : Composite<n,
    "Tensor data, int[] batch_sizes, " # hx #
    " hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional"> {
  let python = py;
  let results = "Tensor[]";
  let mixedPrecision = "Lower";
  let forms = ["function"];
}

def : RecurrentPacked<"lstm_packed", "lstm", "Tensor[]"> {
  let summary = "lstm over packed sequences: rows of all steps, and how many sequences each step has.";
  let shapes = "`data` [sum of `batch_sizes`, I], states [layers * directions, B, H]; outputs [sum of `batch_sizes`, "
               "directions * H], states as given";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> state = (tandem.zeros(1, 3, 5), tandem.zeros(1, 3, 5))
    >>> weights = [tandem.zeros(20, 4), tandem.zeros(20, 5), tandem.zeros(20), tandem.zeros(20)]
    >>> data, batch_sizes = tandem.ones(6, 4), (3, 2, 1)
    >>> output, h, c = tandem.lstm(data, batch_sizes, state, weights, True, 1, 0., False, False)
    >>> output.shape, h.shape
    (tandem.Size([6, 5]), tandem.Size([1, 3, 5]))
  }];
}

def : RecurrentLayers<"gru", "gru", "Tensor"> {
  // On a CPU PyTorch's is made of products in low precision and pointwise operations with the state.
  let mixedPrecision = "Promote";
  let gpuMixedPrecision = "Lower";
  let summary = "Gated recurrent units (Cho et al. 2014) over [T, B, I], or [B, T, I] if batch_first: outputs, last "
                "states.";
  let shapes = "`input` [T, B, I] ([B, T, I] if batch_first), states [layers * directions, B, H]; outputs [T, B, "
               "directions * H], states as given";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> weights = [tandem.zeros(15, 4), tandem.zeros(15, 5), tandem.zeros(15), tandem.zeros(15)]
    >>> x, h = tandem.ones(7, 3, 4), tandem.zeros(1, 3, 5)
    >>> output, h = tandem.gru(x, h, weights, True, 1, 0., False, False, False)
    >>> output.shape, h.shape
    (tandem.Size([7, 3, 5]), tandem.Size([1, 3, 5]))
  }];
}

def : RecurrentPacked<"gru_packed", "gru", "Tensor"> {
  // On a CPU PyTorch's is made of products in low precision and pointwise operations with the state.
  let mixedPrecision = "Promote";
  let gpuMixedPrecision = "Lower";
  let summary = "gru over packed sequences.";
  let shapes = "`data` [sum of `batch_sizes`, I], states [layers * directions, B, H]; outputs [sum of `batch_sizes`, "
               "directions * H], states as given";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> weights = [tandem.zeros(15, 4), tandem.zeros(15, 5), tandem.zeros(15), tandem.zeros(15)]
    >>> data, batch_sizes = tandem.ones(6, 4), (3, 2, 1)
    >>> output, h = tandem.gru(data, batch_sizes, tandem.zeros(1, 3, 5), weights, True, 1, 0., False, False)
    >>> output.shape, h.shape
    (tandem.Size([6, 5]), tandem.Size([1, 3, 5]))
  }];
}

def : RecurrentLayers<"rnn_tanh", "rnn_tanh", "Tensor"> {
  let summary = "h' = tanh(W x + b + U h + c) over [T, B, I], or [B, T, I] if batch_first: outputs, last states "
                "(Elman 1990).";
  let shapes = "`input` [T, B, I] ([B, T, I] if batch_first), states [layers * directions, B, H]; outputs [T, B, "
               "directions * H], states as given";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> weights = [tandem.ones(1, 1), tandem.ones(1, 1)]
    >>> x, h = tandem.ones(2, 1, 1), tandem.zeros(1, 1, 1)
    >>> output, h = tandem.rnn_tanh(x, h, weights, False, 1, 0., False, False, False)
    >>> output.flatten(), h.flatten()
    (tensor([0.7616, 0.9427]), tensor([0.9427]))
  }];
}

def : RecurrentPacked<"rnn_tanh_packed", "rnn_tanh", "Tensor"> {
  let summary = "rnn_tanh over packed sequences.";
  let shapes = "`data` [sum of `batch_sizes`, I], states [layers * directions, B, H]; outputs [sum of `batch_sizes`, "
               "directions * H], states as given";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> data, batch_sizes = tandem.ones(2, 1), (1, 1)
    >>> weights = [tandem.ones(1, 1), tandem.ones(1, 1)]
    >>> tandem.rnn_tanh(data, batch_sizes, tandem.zeros(1, 1, 1), weights, False, 1, 0., False, False)[0]
    tensor([[0.7616],
            [0.9427]])
  }];
}

def : RecurrentLayers<"rnn_relu", "rnn_relu", "Tensor"> {
  let summary = "As rnn_tanh, with relu.";
  let shapes = "`input` [T, B, I] ([B, T, I] if batch_first), states [layers * directions, B, H]; outputs [T, B, "
               "directions * H], states as given";
  let accepts = "Number";
  let gives = "Promote";
  let example = [{
    >>> weights = [tandem.ones(1, 1), tandem.ones(1, 1)]
    >>> x, h = tandem.ones(2, 1, 1), tandem.zeros(1, 1, 1)
    >>> output, h = tandem.rnn_relu(x, h, weights, False, 1, 0., False, False, False)
    >>> output.flatten(), h.flatten()
    (tensor([1., 2.]), tensor([2.]))
  }];
}

def : RecurrentPacked<"rnn_relu_packed", "rnn_relu", "Tensor"> {
  let summary = "rnn_relu over packed sequences.";
  let shapes = "`data` [sum of `batch_sizes`, I], states [layers * directions, B, H]; outputs [sum of `batch_sizes`, "
               "directions * H], states as given";
  let accepts = "Number";
  let gives = "Promote";
  let example = [{
    >>> data, batch_sizes = tandem.ones(2, 1), (1, 1)
    >>> weights = [tandem.ones(1, 1), tandem.ones(1, 1)]
    >>> tandem.rnn_relu(data, batch_sizes, tandem.zeros(1, 1, 1), weights, False, 1, 0., False, False)[0]
    tensor([[1.],
            [2.]])
  }];
}

def : Composite<"lstm_cell",
    "Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None"> {
  let results = "Tensor[]";
  // On a CPU PyTorch's is made of products in low precision and pointwise operations with the state.
  let mixedPrecision = "Promote";
  let gpuMixedPrecision = "Lower";
  let forms = ["function"];
  let summary = "One step of lstm for [B, I] and states [B, H]: new state and cell state.";
  let shapes = "`input` [B, I], states [B, H], `w_ih` [gates * H, I], `w_hh` [gates * H, H]; the result is [B, H], of "
               "lstm_cell two such";
  let accepts = "Floating";
  let gives = "Promote";
  let example = [{
    >>> state = (tandem.zeros(1, 1), tandem.zeros(1, 1))
    >>> h, c = tandem.lstm_cell(tandem.ones(1, 1), state, tandem.ones(4, 1), tandem.ones(4, 1))
    >>> h, c
    (tensor([[0.3696]]), tensor([[0.5568]]))
  }];
}

class RecurrentCell<string n> : Composite<n,
    "Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None"> {
  let mixedPrecision = "Lower";
  let forms = ["function"];
}

def : RecurrentCell<"gru_cell"> {
  let takesOut = 0;
  // On a CPU PyTorch's is made of products in low precision and pointwise operations with the state.
  let mixedPrecision = "Promote";
  let gpuMixedPrecision = "Lower";
  let summary = "One step of gru for [B, I] and states [B, H].";
  let shapes = "`input` [B, I], states [B, H], `w_ih` [gates * H, I], `w_hh` [gates * H, H]; the result is [B, H], of "
               "lstm_cell two such";
  let accepts = "Floating";
  let gives = "Promote";
  let example = [{
    >>> tandem.gru_cell(tandem.ones(1, 1), tandem.zeros(1, 1), tandem.ones(3, 1), tandem.ones(3, 1))
    tensor([[0.2048]])
  }];
}

def : RecurrentCell<"rnn_tanh_cell"> {
  let takesOut = 0;
  let summary = "One step of rnn_tanh for [B, I] and states [B, H].";
  let shapes = "`input` [B, I], states [B, H], `w_ih` [gates * H, I], `w_hh` [gates * H, H]; the result is [B, H], of "
               "lstm_cell two such";
  let accepts = "Number";
  let gives = "Float";
  let example = [{
    >>> tandem.rnn_tanh_cell(tandem.ones(1, 1), tandem.zeros(1, 1), tandem.ones(1, 1), tandem.ones(1, 1))
    tensor([[0.7616]])
  }];
}

def : RecurrentCell<"rnn_relu_cell"> {
  let takesOut = 0;
  let summary = "One step of rnn_relu for [B, I] and states [B, H].";
  let shapes = "`input` [B, I], states [B, H], `w_ih` [gates * H, I], `w_hh` [gates * H, H]; the result is [B, H], of "
               "lstm_cell two such";
  let accepts = "Number";
  let gives = "Promote";
  let example = [{
    >>> tandem.rnn_relu_cell(tandem.ones(1, 1), tandem.zeros(1, 1), tandem.ones(1, 1), tandem.ones(1, 1))
    tensor([[1.]])
  }];
}
