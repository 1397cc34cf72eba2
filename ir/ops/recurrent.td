// Recurrent networks, made of other operations in C++ (eager/composites/recurrent.cpp).

def RecurrentSequence : Composite<"recurrent_sequence", "Tensor gates, Tensor hidden, Tensor? cell, Tensor weight, Tensor? bias, Tensor? projection, int[] batch_sizes, int kind, bool reverse"> {
  let summary = "The steps of one layer in one direction over packed rows: states, cell states, what the gates were, outputs before the projection.";
  let numResults = 4; let results = "(Tensor, Tensor, Tensor, Tensor)"; let forms = ["hidden"]; let samples = "none";
}

// One step and its gradients in one pass each, parts of `recurrent_sequence`, which has the derivative. x* are parts of the
// input's products, p* of the state's; the gates i, f, g, o of an LSTM and r, z, n of a GRU are those after sigmoid or tanh.
class StepPass<string n, string p, int count> : Pointwise<n, "Promote", p> {
  let numResults = count; let results = "(" # !interleave(!listsplat("Tensor", count), ", ") # ")"; let forms = ["hidden"]; let samples = "none";
}
def LstmStep : StepPass<"lstm_step", "Tensor xi, Tensor xf, Tensor xg, Tensor xo, Tensor pi, Tensor pf, Tensor pg, Tensor po, Tensor cell", 6> {
  let summary = "The state and cell state after a step, and its gates.";
  dag i = (sigmoid (add $xi, $pi));
  dag f = (sigmoid (add $xf, $pf));
  dag g = (tanh (add $xg, $pg));
  dag o = (sigmoid (add $xo, $po));
  dag next = (add (mul f, $cell), (mul i, g));
  let body = [(mul o, (tanh next)), next, i, f, g, o];
}
def LstmStepGrad : StepPass<"lstm_step_grad", "Tensor i, Tensor f, Tensor g, Tensor o, Tensor cell, Tensor next, Tensor grad, Tensor grad_next", 5> {
  let summary = "Gradients of the sums in the gates, and of the cell state before the step.";
  dag squashed = (tanh $next);
  dag total = (add $grad_next, (mul (mul $grad, $o), (sub 1, (square squashed))));
  let body = [(mul (mul total, $g), (mul $i, (sub 1, $i))), (mul (mul total, $cell), (mul $f, (sub 1, $f))),
              (mul (mul total, $i), (sub 1, (square $g))), (mul (mul $grad, squashed), (mul $o, (sub 1, $o))),
              (mul total, $f)];
}
def GruStep : StepPass<"gru_step", "Tensor xr, Tensor xz, Tensor xn, Tensor pr, Tensor pz, Tensor pn, Tensor hidden", 5> {
  let summary = "The state after a step, its gates, and the state's part of the new one.";
  dag r = (sigmoid (add $xr, $pr));
  dag z = (sigmoid (add $xz, $pz));
  dag n = (tanh (add $xn, (mul r, $pn)));
  let body = [(add n, (mul z, (sub $hidden, n))), r, z, n, (identity $pn)];
}
def GruStepGrad : StepPass<"gru_step_grad", "Tensor r, Tensor z, Tensor n, Tensor pn, Tensor hidden, Tensor grad", 7> {
  let summary = "Gradients of the input's products, of the state's, and of the state but for its products.";
  dag fresh = (mul (mul $grad, (sub 1, $z)), (sub 1, (square $n)));
  dag dr = (mul (mul fresh, $pn), (mul $r, (sub 1, $r)));
  dag dz = (mul (mul $grad, (sub $hidden, $n)), (mul $z, (sub 1, $z)));
  let body = [dr, dz, fresh, dr, dz, (mul fresh, $r), (mul $grad, $z)];
}

class RecurrentLayers<string n, string py, string hx> : Composite<n, "Tensor input, " # hx # " hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first"> { let python = py; let forms = ["function"]; let results = "Tensor[]"; }
class RecurrentPacked<string n, string py, string hx> : Composite<n, "Tensor data, int[] batch_sizes, " # hx # " hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional"> { let python = py; let forms = ["function"]; let results = "Tensor[]"; }
def Lstm : RecurrentLayers<"lstm", "lstm", "Tensor[]"> { let summary = "Long short-term memory (Hochreiter and Schmidhuber 1997) over [T, B, I], or [B, T, I] if batch_first: outputs, last states, last cell states."; }
def LstmPacked : RecurrentPacked<"lstm_packed", "lstm", "Tensor[]"> { let summary = "lstm over packed sequences: rows of all steps, and how many sequences each step has."; }
def Gru : RecurrentLayers<"gru", "gru", "Tensor"> { let summary = "Gated recurrent units (Cho et al. 2014) over [T, B, I], or [B, T, I] if batch_first: outputs, last states."; }
def GruPacked : RecurrentPacked<"gru_packed", "gru", "Tensor"> { let summary = "gru over packed sequences."; }
def RnnTanh : RecurrentLayers<"rnn_tanh", "rnn_tanh", "Tensor"> { let summary = "h' = tanh(W x + b + U h + c) over [T, B, I], or [B, T, I] if batch_first: outputs, last states (Elman 1990)."; }
def RnnTanhPacked : RecurrentPacked<"rnn_tanh_packed", "rnn_tanh", "Tensor"> { let summary = "rnn_tanh over packed sequences."; }
def RnnRelu : RecurrentLayers<"rnn_relu", "rnn_relu", "Tensor"> { let summary = "As rnn_tanh, with relu."; }
def RnnReluPacked : RecurrentPacked<"rnn_relu_packed", "rnn_relu", "Tensor"> { let summary = "rnn_relu over packed sequences."; }

class RecurrentCell<string n> : Composite<n, "Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None"> { let forms = ["function"]; }
def LstmCell : Composite<"lstm_cell", "Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None"> { let summary = "One step of lstm for [B, I] and states [B, H]: new state and cell state."; let forms = ["function"]; let results = "Tensor[]"; }
def GruCell : RecurrentCell<"gru_cell"> { let summary = "One step of gru for [B, I] and states [B, H]."; }
def RnnTanhCell : RecurrentCell<"rnn_tanh_cell"> { let summary = "One step of rnn_tanh for [B, I] and states [B, H]."; }
def RnnReluCell : RecurrentCell<"rnn_relu_cell"> { let summary = "One step of rnn_relu for [B, I] and states [B, H]."; }
