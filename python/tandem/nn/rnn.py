"""Recurrent layers (`RNN`, `LSTM`, `GRU`) and their cells.

Parameters are named and ordered as in PyTorch: `weight_ih_l0`, `weight_hh_l0`, `bias_ih_l0`, `bias_hh_l0`, then the
same with `_reverse` in two directions, then those of layer 1. The gates of one weight lie one above the other: input,
forget, cell, output of an LSTM; reset, update, new of a GRU. All start uniform within 1 / sqrt(hidden_size).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import tandem
from tandem import Tensor
from tandem.nn import init
from tandem.nn.module import Module
from tandem.nn.parameter import Parameter
from tandem.nn.utils.rnn import PackedSequence

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _permuted(state: Tensor, order: Tensor | None, dim: int = 1) -> Tensor:
    return state if order is None else state.index_select(dim, order)


class RNNBase(Module):
    """What recurrent layers share: their parameters, checks of shapes, and the forward of one state.

    `mode` is "RNN_TANH", "RNN_RELU", "LSTM" or "GRU".
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}",
                stacklevel=3,
            )
        if not isinstance(hidden_size, int):
            raise TypeError(f"hidden_size should be of type int, got: {type(hidden_size).__name__}")
        for name, size in (("hidden_size", hidden_size), ("num_layers", num_layers)):
            if size <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._flat_weights_names: list[str] = []
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse") if bidirectional else ("",):
                self._add_weights(layer, suffix, device, dtype)
        self.reset_parameters()

    def _add_weights(self, layer: int, suffix: str, device: Any, dtype: Any) -> None:
        rows = _GATES[self.mode] * self.hidden_size
        state = self.proj_size or self.hidden_size
        width = self.input_size if layer == 0 else state * (2 if self.bidirectional else 1)
        shapes: dict[str, tuple[int, ...]] = {
            f"weight_ih_l{layer}{suffix}": (rows, width),
            f"weight_hh_l{layer}{suffix}": (rows, state),
        }
        if self.bias:
            shapes |= {f"bias_ih_l{layer}{suffix}": (rows,), f"bias_hh_l{layer}{suffix}": (rows,)}
        if self.proj_size:
            shapes[f"weight_hr_l{layer}{suffix}"] = (self.proj_size, self.hidden_size)
        for name, shape in shapes.items():
            setattr(self, name, Parameter(tandem.empty(shape, device=device, dtype=dtype)))
        self._flat_weights_names += shapes
        self._all_weights.append(list(shapes))

    @property
    def _flat_weights(self) -> list[Tensor]:
        return [getattr(self, name) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Nothing: weights need not lie side by side in memory here."""

    def reset_parameters(self) -> None:
        """Draw initial values anew."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def check_input(self, input: Tensor, batch_sizes: Any) -> None:
        """RuntimeError unless `input` has the right number of dims and features."""
        if input.dtype != self._flat_weights[0].dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({self._flat_weights[0].dtype}). "
                f"Convert input: input.to({self._flat_weights[0].dtype}), or convert model: model.to({input.dtype})"
            )
        dims = 2 if batch_sizes is not None else 3
        if input.dim() != dims:
            raise RuntimeError(f"input must have {dims} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Any) -> tuple[int, int, int]:
        """The shape of the initial state for an input."""
        if batch_sizes is not None:
            batch = int(batch_sizes[0])
        else:
            batch = input.size(0) if self.batch_first else input.size(1)
        count = self.num_layers * (2 if self.bidirectional else 1)
        return count, batch, self.proj_size or self.hidden_size

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Any) -> tuple[int, int, int]:
        """The shape of the initial cell state of an LSTM for an input."""
        count, batch, _ = self.get_expected_hidden_size(input, batch_sizes)
        return count, batch, self.hidden_size

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """RuntimeError unless the state has the expected shape."""
        if tuple(hx.shape) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.shape)))

    def _unpacked_input(self, input: Any) -> tuple[Tensor, PackedSequence | None, bool]:
        """Rows and the `PackedSequence` they come from, or a padded batch; and whether there was a batch dim."""
        if isinstance(input, PackedSequence):
            return input.data, input, True
        if input.dim() not in (2, 3):
            raise ValueError(f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        batched = input.dim() == 3
        return (input if batched else input.unsqueeze(0 if self.batch_first else 1)), None, batched

    def _wanted_state(self, hx: Tensor, batched: bool, order: Tensor | None) -> Tensor:
        """An initial state as the layers take it: with a batch dim, sequences in the packed order."""
        if hx.dim() != (3 if batched else 2):
            raise RuntimeError(
                f"For {'batched 3-D' if batched else 'unbatched 2-D'} input, hx should also be "
                f"{'3-D' if batched else '2-D'} but got {hx.dim()}-D tensor"
            )
        return _permuted(hx, order) if batched else hx.unsqueeze(1)

    def _zero_state(self, shape: tuple[int, int, int], like: Tensor) -> Tensor:
        return tandem.zeros(shape, dtype=like.dtype, device=like.device)

    def _run(self, function: Callable[..., Any], data: Tensor, packed: PackedSequence | None, hx: Any) -> Any:
        options = (self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        if packed is None:
            return function(data, hx, self._flat_weights, *options, self.batch_first)
        return function(data, packed.counts(), hx, self._flat_weights, *options)

    def _finished(
        self, output: Tensor, states: list[Tensor], packed: PackedSequence | None, batched: bool
    ) -> tuple[Any, list[Tensor]]:
        """Output and states in the form of the input."""
        if packed is not None:
            return packed.with_data(output), [_permuted(s, packed.unsorted_indices) for s in states]
        if not batched:
            return output.squeeze(0 if self.batch_first else 1), [s.squeeze(1) for s in states]
        return output, states

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        data, packed, batched = self._unpacked_input(input)
        sizes, order = (None, None) if packed is None else (packed.counts(), packed.sorted_indices)
        expected = self.get_expected_hidden_size(data, sizes)
        if hx is None:
            hx = self._zero_state(expected, data)
        else:
            hx = self._wanted_state(hx, batched, order)
        self.check_input(data, sizes)
        self.check_hidden_size(hx, expected)
        function = {"RNN_TANH": tandem.rnn_tanh, "RNN_RELU": tandem.rnn_relu, "GRU": tandem.gru}[self.mode]
        output, state = self._run(function, data, packed, hx)
        output, (state,) = self._finished(output, [state], packed, batched)
        return output, state

    def extra_repr(self) -> str:
        shown = f"{self.input_size}, {self.hidden_size}"
        defaults = dict(proj_size=0, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False)
        for name, default in defaults.items():
            value = getattr(self, name)
            if value != default:
                shown += f", {name}={value}"
        return shown


class RNN(RNNBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu, in `num_layers` layers (Elman 1990).

    Takes [T, B, input_size] ([B, T, input_size] if `batch_first`, no B without a batch) or a `PackedSequence`, and an
    initial state [layers * directions, B, hidden_size], zeros when None. Returns the last layer's outputs at all steps,
    [T, B, directions * hidden_size], and the last states.

    Example:
        >>> import tandem
        >>> output, state = tandem.nn.RNN(3, 5, nonlinearity="relu")(tandem.zeros(7, 2, 3))
        >>> output.shape, state.shape
        (tandem.Size([7, 2, 5]), tandem.Size([1, 2, 5]))
    """

    def __init__(self, input_size: int, hidden_size: int, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        nonlinearity = args[1] if len(args) > 1 else kwargs.pop("nonlinearity", "tanh")
        modes = {"tanh": "RNN_TANH", "relu": "RNN_RELU"}
        if nonlinearity not in modes:
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(modes[nonlinearity], input_size, hidden_size, *args[:1], *args[2:], **kwargs)
        self.nonlinearity = nonlinearity


class GRU(RNNBase):
    """Gated recurrent units in `num_layers` layers (Cho et al. 2014).

    r, z = sigmoid(W x + b + U h + c) for each; n = tanh(W x + b + r * (U h + c)); h' = (1 - z) * n + z * h.
    Arguments and results as of `RNN`.

    Example:
        >>> import tandem
        >>> output, state = tandem.nn.GRU(3, 5, num_layers=2, batch_first=True)(tandem.zeros(2, 7, 3))
        >>> output.shape, state.shape
        (tandem.Size([2, 7, 5]), tandem.Size([2, 2, 5]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory in `num_layers` layers (Hochreiter and Schmidhuber 1997).

    i, f, o = sigmoid(W x + b + U h + c) for each; g = tanh of the like; c' = f * c + i * g; h' = o * tanh(c'), times a
    matrix [proj_size, hidden_size] if `proj_size` is not 0. Arguments as of `RNN`, but the state is a pair of h and c;
    returns the outputs and the pair of last states.

    Example:
        >>> import tandem
        >>> output, (h, c) = tandem.nn.LSTM(3, 5, bidirectional=True)(tandem.zeros(7, 2, 3))
        >>> output.shape, h.shape
        (tandem.Size([7, 2, 10]), tandem.Size([2, 2, 5]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        data, packed, batched = self._unpacked_input(input)
        sizes, order = (None, None) if packed is None else (packed.counts(), packed.sorted_indices)
        hidden = self.get_expected_hidden_size(data, sizes)
        cell = self.get_expected_cell_size(data, sizes)
        if hx is None:
            hx = (self._zero_state(hidden, data), self._zero_state(cell, data))
        else:
            if not batched and (hx[0].dim() != 2 or hx[1].dim() != 2):
                raise RuntimeError(
                    "For unbatched 2-D input, hx and cx should also be 2-D but got "
                    f"({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
                )
            if batched and (hx[0].dim() != 3 or hx[1].dim() != 3):
                raise RuntimeError(
                    "For batched 3-D input, hx and cx should also be 3-D but got "
                    f"({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
                )
            hx = (self._wanted_state(hx[0], batched, order), self._wanted_state(hx[1], batched, order))
        self.check_input(data, sizes)
        self.check_hidden_size(hx[0], hidden, "Expected hidden[0] size {}, got {}")
        self.check_hidden_size(hx[1], cell, "Expected hidden[1] size {}, got {}")
        output, *states = self._run(tandem.lstm, data, packed, hx)
        output, states = self._finished(output, states, packed, batched)
        return output, (states[0], states[1])


class RNNCellBase(Module):
    """What cells share: `weight_ih` [gates * hidden, input], `weight_hh` [gates * hidden, hidden], and their biases."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(tandem.empty(rows, input_size, device=device, dtype=dtype))
        self.weight_hh = Parameter(tandem.empty(rows, hidden_size, device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            value = Parameter(tandem.empty(rows, device=device, dtype=dtype)) if bias else None
            self.register_parameter(name, value)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw initial values anew."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _batched(self, what: str, x: Tensor) -> Tensor:
        if x.dim() not in (1, 2):
            raise ValueError(f"{type(self).__name__}: Expected {what} to be 1D or 2D, got {x.dim()}D instead")
        return x.unsqueeze(0) if x.dim() == 1 else x

    def _step(self, function: Callable[..., Tensor], input: Tensor, hx: Tensor | None) -> Tensor:
        x = self._batched("input", input)
        if hx is None:
            hx = tandem.zeros(x.shape[0], self.hidden_size, dtype=x.dtype, device=x.device)
        state = function(x, self._batched("hidden", hx), self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return state.squeeze(0) if input.dim() == 1 else state

    def extra_repr(self) -> str:
        shown = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            shown += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            shown += f", nonlinearity={self.nonlinearity}"
        return shown


class RNNCell(RNNCellBase):
    """One step of `RNN`: [B, input_size] and a state [B, hidden_size] (zeros when None) to the next state.

    Example:
        >>> import tandem
        >>> tandem.nn.RNNCell(3, 5)(tandem.zeros(2, 3)).shape
        tandem.Size([2, 5])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(tandem.rnn_tanh_cell if self.nonlinearity == "tanh" else tandem.rnn_relu_cell, input, hx)


class LSTMCell(RNNCellBase):
    """One step of `LSTM`: [B, input_size] and a pair of states [B, hidden_size] (zeros when None) to the next pair.

    Example:
        >>> import tandem
        >>> h, c = tandem.nn.LSTMCell(3, 5)(tandem.zeros(2, 3))
        >>> h.shape
        tandem.Size([2, 5])
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        x = self._batched("input", input)
        if hx is None:
            zeros = tandem.zeros(x.shape[0], self.hidden_size, dtype=x.dtype, device=x.device)
            hx = (zeros, zeros)
        else:
            hx = (self._batched("hx[0]", hx[0]), self._batched("hx[1]", hx[1]))
        h, c = tandem.lstm_cell(x, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return (h.squeeze(0), c.squeeze(0)) if input.dim() == 1 else (h, c)


class GRUCell(RNNCellBase):
    """One step of `GRU`: [B, input_size] and a state [B, hidden_size] (zeros when None) to the next state.

    Example:
        >>> import tandem
        >>> tandem.nn.GRUCell(3, 5)(tandem.zeros(2, 3)).shape
        tandem.Size([2, 5])
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(tandem.gru_cell, input, hx)
