"""Cells: one step of the recurrent layers of `rnn.py`; parameters are of the same shapes, gates in the same order."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import tandem
from tandem import Tensor
from tandem.nn import init
from tandem.nn.module import Module
from tandem.nn.parameter import Parameter
from tandem.types import Device

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"]


class RNNCellBase(Module):
    """What cells share: `weight_ih` [gates * hidden, input], `weight_hh` [gates * hidden, hidden], and their biases.

    `num_chunks` is the number of gates. All start uniform within 1 / sqrt(hidden_size).

    Example:
        >>> import tandem
        >>> tandem.nn.RNNCellBase(3, 5, bias=True, num_chunks=4).weight_ih.shape
        tandem.Size([20, 3])
    """

    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Parameter
    bias_hh: Parameter

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Device = None,
        dtype: tandem.dtype | None = None,
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
        nonlinearity: Literal["tanh", "relu"] = "tanh",
        device: Device = None,
        dtype: tandem.dtype | None = None,
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
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Device = None,
        dtype: tandem.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        x = self._batched("input", input)
        if hx is None:
            zeros = tandem.zeros(x.shape[0], self.hidden_size, dtype=x.dtype, device=x.device)
            hx = (zeros, zeros)
        elif isinstance(hx, tandem.Tensor):
            raise TypeError("lstm_cell(): argument 'hx' (position 2) must be tuple of Tensors, not Tensor")
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
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Device = None,
        dtype: tandem.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(tandem.gru_cell, input, hx)
