"""How tensors are shown, as in PyTorch: four digits, scientific where magnitudes differ much, summarised when large."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tandem import _C

__all__ = ["set_printoptions"]


@dataclass
class _Options:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_options = PRINT_OPTS = _Options()
_PROFILES = {"default": _Options(), "short": _Options(2, 1000, 2), "full": _Options(4, math.inf)}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """How tensors are shown.

    Args:
        precision: digits after the point (4).
        threshold: more elements than this are summarised (1000).
        edgeitems: elements shown at each end of a summarised dim (3).
        linewidth: characters a line (80).
        profile: `default`, `short` or `full` to start from.
        sci_mode: always (True) or never (False) scientific; None decides by the values.

    >>> import tandem
    >>> tandem.set_printoptions(precision=2)
    >>> tandem.tensor([0.125])
    tensor([0.12])
    >>> tandem.set_printoptions(profile="default")
    """
    if profile is not None:
        _options.__dict__.update(_PROFILES[profile].__dict__)
    for name, value in (("precision", precision), ("threshold", threshold), ("edgeitems", edgeitems),
                        ("linewidth", linewidth)):  # fmt: skip
        if value is not None:
            setattr(_options, name, value)
    _options.sci_mode = sci_mode


class _Formatter:
    """Formats every number of one tensor alike: same width, same notation."""

    def __init__(self, values: list[Any], floating: bool):
        self.floating = floating
        self.int_mode = True
        self.sci_mode = False
        self.width = 1
        if not floating:
            self.width = max([len(str(v)) for v in values], default=1)
            return
        finite = [v for v in values if math.isfinite(v) and v != 0]
        if not finite:
            return
        largest, smallest = max(map(abs, finite)), min(map(abs, finite))
        self.int_mode = all(v == int(v) for v in finite)
        self.sci_mode = largest / smallest > 1000.0 or largest > 1.0e8
        if not self.int_mode:
            self.sci_mode |= smallest < 1.0e-4
        if _options.sci_mode is not None:
            self.sci_mode = _options.sci_mode
        # NaN and infinities do not widen the columns.
        self.width = max(len(self._number(v)) for v in finite)

    @staticmethod
    def _special(v: float) -> str:
        return "nan" if v != v else "inf" if v > 0 else "-inf"

    def _number(self, v: Any) -> str:
        if not self.floating:
            return str(v)
        if not math.isfinite(v):
            return self._special(v)
        if self.sci_mode:
            return f"{v:.{_options.precision}e}"
        if self.int_mode:
            return f"{v:.0f}."
        return f"{v:.{_options.precision}f}"

    def __call__(self, v: Any) -> str:
        return self._number(v).rjust(self.width)


def _summarised(t: _C.Tensor) -> _C.Tensor:
    """The elements that a summary shows, as a smaller tensor."""
    edge = _options.edgeitems
    for d in range(t.dim()):
        n = t.shape[d]
        if n > 2 * edge:
            t = _C.cat([t.narrow(d, 0, edge), t.narrow(d, n - edge, edge)], d)
    return t


def _leaves(nested: Any) -> list[Any]:
    if not isinstance(nested, list):
        return [nested]
    return [leaf for part in nested for leaf in _leaves(part)]


def _rows(nested: Any, shape: tuple[int, ...], indent: int, show: _Formatter, summary: bool) -> str:
    if not shape:
        return show(nested)
    edge = _options.edgeitems
    cut = summary and shape[0] > 2 * edge
    if len(shape) == 1:
        per_line = max(1, (_options.linewidth - indent) // (show.width + 2))
        items = [show(v) for v in nested]
        if cut:
            items.insert(edge, " ...")
        lines = [items[i : i + per_line] for i in range(0, len(items), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(", ".join(line) for line in lines) + "]"
    parts = [_rows(v, shape[1:], indent + 1, show, summary) for v in nested]
    if cut:
        parts.insert(edge, "...")
    return "[" + ("," + "\n" * (len(shape) - 1) + " " * (indent + 1)).join(parts) + "]"


def _body(t: _C.Tensor, indent: int) -> str:
    summary = t.numel() > _options.threshold
    shown = _summarised(t) if summary else t
    nested = shown.tolist()
    show = _Formatter(_leaves(nested), t.dtype.is_floating_point)
    return _rows(nested, tuple(t.shape), indent, show, summary)


def text(t: _C.Tensor) -> str:
    axes = _C._batch_axes(t)
    if axes:
        shown = _C._batch_out(t, 0, axes[-1])
        return f"BatchedTensor(lvl={len(axes)}, bdim=0, value=\n    {text(shown)}\n)"
    """`tensor([1., 2.])`, with device, dtype, history and size where they are not obvious."""
    with _Quiet():
        plain = t.detach()
        prefix = "tensor(" if type(t).__name__ in ("Tensor", "Parameter", "Buffer") else f"{type(t).__name__}("
        obvious = (_C.get_default_dtype(), _C.int64, _C.bool)
        suffixes = [] if t.is_cpu else [f"device='{t.device}'"]
        if t.is_meta or t.numel() == 0:
            body = "..." if t.is_meta else "[]"
            if t.is_meta or t.dim() != 1:
                suffixes.append(f"size={tuple(t.shape)}")
            if t.dtype is not _C.get_default_dtype():
                suffixes.append(f"dtype={t.dtype}")
        else:
            body = _body(plain, len(prefix))
            if t.dtype not in obvious:
                suffixes.append(f"dtype={t.dtype}")
        if t.grad_fn is not None:
            suffixes.append(f"grad_fn=<{t.grad_fn.name()}>")
        elif t.requires_grad:
            suffixes.append("requires_grad=True")
    out = prefix + body
    # As PyTorch counts it: two characters are kept free.
    line = len(out) - out.rfind("\n") + 1
    for suffix in suffixes:
        if line + len(suffix) + 2 > _options.linewidth:
            out += ",\n" + " " * len(prefix) + suffix
            line = len(prefix) + len(suffix)
        else:
            out += ", " + suffix
            line += len(suffix) + 2
    return out + ")"


def _tensor_str(self: _C.Tensor, indent: int) -> str:
    """The elements in brackets, lines after the first behind `indent` spaces."""
    return _body(self, indent)


class _Quiet:
    """No history for what is computed to show a tensor."""

    def __enter__(self) -> None:
        self.before = _C.is_grad_enabled()
        _C._set_grad_enabled(False)

    def __exit__(self, *exc: object) -> None:
        _C._set_grad_enabled(self.before)
