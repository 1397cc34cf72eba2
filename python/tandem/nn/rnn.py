"""Recurrent layers: `RNN`, `LSTM`, `GRU`; their cells are in `rnn_cells.py`, and can be imported from here.

Parameters are named and ordered as in PyTorch: `weight_ih_l0`, `weight_hh_l0`, `bias_ih_l0`, `bias_hh_l0`, then the
same with `_reverse` in two directions, then those of layer 1. The gates of one weight lie one above the other: input,
forget, cell, output of an LSTM; reset, update, new of a GRU. All start uniform within 1 / sqrt(hidden_size).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal, NoReturn

import tandem
from tandem import Tensor
from tandem.nn import init
from tandem.nn.module import Module
from tandem.nn.parameter import Parameter
from tandem.nn.rnn_cells import *  # noqa: F403
from tandem.nn.utils.rnn import PackedSequence
from tandem.types import Device

__all__ = ["GRU", "LSTM", "RNN", "RNNBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _permuted(state: Tensor, order: Tensor | None, dim: int = 1) -> Tensor:
    return state if order is None else state.index_select(dim, order)


def _refuse_projection(options: dict[str, Any]) -> None:
    if "proj_size" in options:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class RNNBase(Module):
    """What recurrent layers share: their parameters, checks of shapes, and the forward of one state.

    Args:
        mode: "RNN_TANH", "RNN_RELU", "LSTM" or "GRU".
        input_size, hidden_size: features of the input and of a state.
        num_layers: each further layer takes the outputs of the one before.
        bias: whether `bias_ih` and `bias_hh` are added.
        batch_first: batched tensors are [B, T, features], not [T, B, features]; states stay as they are.
        dropout: probability of zeroing an output between layers, while training.
        bidirectional: each layer also runs from the end; its outputs are put beside the others.
        proj_size: features that an LSTM's h is projected to; 0 for none.

    ValueError for options out of range, TypeError for a `bias` or `batch_first` that is no bool.

    Example:
        >>> import tandem
        >>> base = tandem.nn.RNNBase("GRU", 3, 5)
        >>> [tuple(w.shape) for w in base.all_weights[0]]
        [(15, 3), (15, 5), (15,), (15,)]
    """

    def __init__(
        self,
        mode: Literal["LSTM", "GRU", "RNN_TANH", "RNN_RELU"],
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Device = None,
        dtype: tandem.dtype | None = None,
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
        for name, size in (("input_size", input_size), ("hidden_size", hidden_size)):
            if not isinstance(size, int):
                raise TypeError(f"{name} should be of type int, got: {type(size).__name__}")
        for name, flag in (("bias", bias), ("batch_first", batch_first)):
            if not isinstance(flag, bool):
                raise TypeError(f"{name} should be of type bool, got: {type(flag).__name__}")
        for name, size in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
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

    def _add_weights(self, layer: int, suffix: str, device: Device, dtype: tandem.dtype | None) -> None:
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

    # Tensors that were put in the parameters' place, as code that changes recurrent weights does.
    _given_weights: list[Tensor] | None = None

    @property
    def _flat_weights(self) -> list[Tensor]:
        if self._given_weights is not None:
            return self._given_weights
        return [getattr(self, name) for name in self._flat_weights_names]

    @_flat_weights.setter
    def _flat_weights(self, weights: list[Tensor]) -> None:
        own = [self._parameters.get(name) for name in self._flat_weights_names]
        same = len(own) == len(weights) and all(a is b for a, b in zip(own, weights, strict=True))
        self.__dict__["_given_weights"] = None if same else list(weights)

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

    def check_input(self, input: Tensor, batch_sizes: Tensor | Sequence[int] | None) -> None:
        """RuntimeError unless `input` has the right number of dims and features."""
        if input.dtype != self._flat_weights[0].dtype and not tandem.is_autocast_enabled(input.device.type):
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

    def get_expected_hidden_size(
        self, input: Tensor, batch_sizes: Tensor | Sequence[int] | None
    ) -> tuple[int, int, int]:
        """The shape of the initial state for an input."""
        if batch_sizes is not None:
            batch = int(batch_sizes[0])
        else:
            batch = input.size(0) if self.batch_first else input.size(1)
        count = self.num_layers * (2 if self.bidirectional else 1)
        return count, batch, self.proj_size or self.hidden_size

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | Sequence[int] | None) -> tuple[int, int, int]:
        """The shape of the initial cell state of an LSTM for an input."""
        count, batch, _ = self.get_expected_hidden_size(input, batch_sizes)
        return count, batch, self.hidden_size

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """RuntimeError unless the state has the expected shape."""
        if tuple(hx.shape) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.shape)))

    def _unpacked_input(self, input: Tensor | PackedSequence) -> tuple[Tensor, PackedSequence | None, bool]:
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

    def _run(
        self, function: Callable[..., Any], data: Tensor, packed: PackedSequence | None, hx: Any
    ) -> tuple[Tensor, ...]:
        options = (self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        if packed is None:
            return function(data, hx, self._flat_weights, *options, self.batch_first)
        return function(data, packed.counts(), hx, self._flat_weights, *options)

    def _finished(
        self, output: Tensor, states: list[Tensor], packed: PackedSequence | None, batched: bool
    ) -> tuple[Tensor | PackedSequence, list[Tensor]]:
        """Output and states in the form of the input."""
        if packed is not None:
            return packed.with_data(output), [_permuted(s, packed.unsorted_indices) for s in states]
        if not batched:
            return output.squeeze(0 if self.batch_first else 1), [s.squeeze(1) for s in states]
        return output, states

    def forward(
        self, input: Tensor | PackedSequence, hx: Tensor | None = None
    ) -> tuple[Tensor | PackedSequence, Tensor]:
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
        steps, state = self._run(function, data, packed, hx)
        output, (state,) = self._finished(steps, [state], packed, batched)
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

    `nonlinearity` is "tanh" or "relu" (ValueError); other arguments as of `RNNBase`, without `proj_size` (ValueError).

    Takes [T, B, input_size] ([B, T, input_size] if `batch_first`, no B without a batch) or a `PackedSequence`, and an
    initial state [layers * directions, B, hidden_size], zeros when None. Returns the last layer's outputs at all steps,
    [T, B, directions * hidden_size], and the last states. RuntimeError or ValueError for other shapes and dtypes.

    Example:
        >>> import tandem
        >>> output, state = tandem.nn.RNN(3, 5, nonlinearity="relu")(tandem.zeros(7, 2, 3))
        >>> output.shape, state.shape
        (tandem.Size([7, 2, 5]), tandem.Size([1, 2, 5]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: Literal["tanh", "relu"] = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Device = None,
        dtype: tandem.dtype | None = None,
        **others: NoReturn,
    ) -> None:
        _refuse_projection(others)
        modes: dict[str, Literal["RNN_TANH", "RNN_RELU"]] = {"tanh": "RNN_TANH", "relu": "RNN_RELU"}
        if nonlinearity not in modes:
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        options = (num_layers, bias, batch_first, dropout, bidirectional)
        super().__init__(modes[nonlinearity], input_size, hidden_size, *options, device=device, dtype=dtype, **others)
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

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Device = None,
        dtype: tandem.dtype | None = None,
        **others: NoReturn,
    ) -> None:
        _refuse_projection(others)
        options = (num_layers, bias, batch_first, dropout, bidirectional)
        super().__init__("GRU", input_size, hidden_size, *options, device=device, dtype=dtype, **others)


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

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Device = None,
        dtype: tandem.dtype | None = None,
    ) -> None:
        options = (num_layers, bias, batch_first, dropout, bidirectional, proj_size)
        super().__init__("LSTM", input_size, hidden_size, *options, device=device, dtype=dtype)

    def forward(  # type: ignore[override]  # a state is a pair
        self, input: Tensor | PackedSequence, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor | PackedSequence, tuple[Tensor, Tensor]]:
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
        steps, *states = self._run(tandem.lstm, data, packed, hx)
        output, states = self._finished(steps, states, packed, batched)
        return output, (states[0], states[1])
