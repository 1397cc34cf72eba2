// Recurrent networks, made of other operations in C++ (eager/composites/recurrent.cpp).

def RecurrentSequence : Composite<"recurrent_sequence", "Tensor gates, Tensor hidden, Tensor? cell, Tensor weight, Tensor? bias, Tensor? projection, int[] batch_sizes, int kind, bool reverse"> {
  let summary = "The steps of one layer in one direction over packed rows: states, cell states, products of states and weight, outputs before the projection.";
  let numResults = 4; let results = "(Tensor, Tensor, Tensor, Tensor)"; let forms = ["hidden"]; let samples = "none";
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
