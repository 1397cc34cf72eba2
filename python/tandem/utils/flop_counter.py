"""`tandem.utils.flop_counter`: how many operations of floating-point numbers a program's products take."""

from __future__ import annotations

import functools
import itertools
import math
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import tandem
from tandem import _C
from tandem._custom_ops import CustomOpDef
from tandem.overrides import TorchFunctionMode
from tandem.utils._pytree import tree_map
from tandem.utils.module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]


class _Product(NamedTuple):
    """A product that a call takes, by the name of PyTorch's operation, and those that its derivative takes."""

    name: str
    flops: int
    derivative: str
    of_gradients: Sequence[tuple[Any, int]]  # of what (an operand, or whether there is a gradient), and how many


#: Formulas of programs, by operation: functions of shapes.
flop_registry: dict[Any, Callable[..., int]] = {}


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """A decorator: a function of the shapes of the arguments, and `out_shape`, says how many operations `targets`
    take, one of `tandem.ops.aten` or several. With `get_raw` it gets the arguments and `out_val`.

    Raises:
        ValueError: what is no operation.
        RuntimeError: there is a formula of it.

    >>> import tandem
    >>> from tandem.utils.flop_counter import FlopCounterMode, register_flop_formula
    >>> @register_flop_formula(tandem.ops.aten.erfinv)
    ... def formula(shape, *, out_shape=None):
    ...     return 10 * shape[0]
    >>> with FlopCounterMode(display=False) as counter:
    ...     x = tandem.zeros(3).erfinv()
    >>> counter.get_total_flops()
    30
    """

    from tandem._aten import Packet  # when it is needed

    def register(formula: Callable[..., int]) -> Callable[..., int]:
        given = formula if get_raw else _of_shapes(formula)
        for target in targets if isinstance(targets, list | tuple) else [targets]:
            if not isinstance(target, Packet | CustomOpDef):
                raise ValueError(
                    f"register_flop_formula(targets): expected each target to be OpOverloadPacket (i.e. "
                    f"torch.ops.mylib.foo), got {target} which is of type {type(target)}"
                )
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = given
        return given

    return register


def _of_shapes(formula: Callable[..., int]) -> Callable[..., int]:
    @functools.wraps(formula)
    def of_values(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        args, kwargs, shape = tree_map(lambda x: x.shape if isinstance(x, _C.Tensor) else x, (args, kwargs, out_val))
        return formula(*args, out_shape=shape, **kwargs)

    return of_values


def _matrices(a: Any, b: Any, sizes: tuple[int, int, int], batch: int, name: str, derivative: str) -> _Product:
    flops = 2 * batch * math.prod(sizes)
    return _Product(name, flops, derivative, ((a, flops), (b, flops)))


def _matmul(a: Any, b: Any) -> Iterator[_Product]:
    if b.dim() < 2 or a.dim() < 1 or (a.dim() == 1 and b.dim() > 2):
        return  # a vector, whose products are not counted
    rows = a.shape[-2] if a.dim() > 1 else 1
    sizes = (rows, a.shape[-1], b.shape[-1])
    if min(a.dim(), b.dim()) <= 2:  # one matrix, with all rows of the other operand
        yield _matrices(a, b, sizes, math.prod(a.shape[:-2]) * math.prod(b.shape[:-2]), "mm", "mm")
    else:
        batch = tandem.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        yield _matrices(a, b, sizes, math.prod(batch), "bmm", "bmm")


def _linear(x: Any, weight: Any, bias: Any = None) -> Iterator[_Product]:
    sizes = (x.numel() // max(x.shape[-1], 1), x.shape[-1], weight.shape[0])
    yield _matrices(x, weight, sizes, 1, "mm" if bias is None else "addmm", "mm")


def _convolution(out: Any, x: Any, weight: Any, groups: int, transposed: bool) -> Iterator[_Product]:
    examples = x.shape[0] if x.dim() == weight.dim() else 1
    places = math.prod((x if transposed else out).shape[2 - weight.dim() :])
    flops = 2 * examples * places * weight.numel()
    gradients = ((x, flops), (weight, flops * groups))
    yield _Product("convolution", flops, "convolution_backward", gradients)


def _attention(q: Any, k: Any, v: Any) -> Iterator[_Product]:
    rows, batch = q.shape[-2], math.prod(q.shape[:-2])
    yield _matrices(q, k, (rows, q.shape[-1], k.shape[-2]), batch, "bmm", "bmm")
    yield _matrices(q.requires_grad or k.requires_grad, v, (rows, k.shape[-2], v.shape[-1]), batch, "bmm", "bmm")


def _einsum(equation: Any, *operands: Any) -> Iterator[_Product]:
    if len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = tuple(operands[0])
    if not isinstance(equation, str) or "." in equation:
        return
    terms, arrow, result = equation.replace(" ", "").partition("->")
    letters = terms.split(",")
    if not arrow:
        result = "".join(c for c in sorted(set(terms) - {","}) if terms.count(c) == 1)
    sizes = {c: n for term, x in zip(letters, operands, strict=True) for c, n in zip(term, x.shape, strict=True)}
    held: tuple[Any, set[str]] = operands[0], set(letters[0])
    for i in range(1, len(operands)):
        later = set(result).union(*letters[i + 1 :])
        left, right = held[1], set(letters[i])
        # What one operand alone has, and nobody asks for later, is summed up before.
        left, right = ({c for c in own if c in other or c in later} for own, other in ((left, right), (right, left)))
        flops = 2 * math.prod(sizes[c] for c in left | right)
        yield _Product("bmm", flops, "bmm", ((held[0], flops), (operands[i], flops)))
        known = any(x is True or (isinstance(x, _C.Tensor) and x.requires_grad) for x in (held[0], operands[i]))
        held = known, (left | right) & later


def _tensordot(a: Any, b: Any, dims: Any = 2) -> Iterator[_Product]:
    of_a = range(a.dim() - dims, a.dim()) if isinstance(dims, int) else dims[0]
    inner = math.prod(a.shape[i] for i in ([of_a] if isinstance(of_a, int) else of_a))
    yield _matrices(a, b, (a.numel() // max(inner, 1), inner, b.numel() // max(inner, 1)), 1, "mm", "mm")


def _recurrent(x: Any, parameters: Sequence[Any], steps: int) -> Iterator[_Product]:
    rows = x.numel() // max(x.shape[-1], 1)
    matrices = [w for w in parameters if w.dim() == 2]
    for i, w in enumerate(matrices):
        flops = 2 * rows * w.numel()
        first = i % 2 == 0 and w.shape[1] == x.shape[-1]
        # The state that comes first has no gradient.
        through = (x if first and i < 4 else True, flops) if i % 2 == 0 else (True, flops - flops // steps)
        yield _Product("addmm", flops, "mm", ((w, flops), through))


def _products(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Iterator[_Product]:
    """The products that a call of an operation of this name takes."""
    name = name.removesuffix("_") if name in ("addmm_", "baddbmm_", "addbmm_") else name
    if name in ("matmul", "mm", "bmm", "__matmul__"):
        second = args[1] if len(args) > 1 else kwargs.get("mat2", kwargs.get("other", kwargs.get("tensor2")))
        yield from _matmul(args[0], second)
    elif name in ("addmm", "baddbmm", "addbmm"):
        a, b = args[1:3] if len(args) > 2 else (kwargs.get("mat1", kwargs.get("batch1")), kwargs["mat2"])
        for product in _matmul(a, b):
            yield product._replace(name=product.name if name == "addbmm" else name)
    elif name == "linear":
        yield from _linear(*args, **kwargs)
    elif name.startswith("conv") and name.rstrip("123d") in ("conv", "conv_transpose"):
        transposed = "transpose" in name
        groups = args[6] if len(args) > 6 else kwargs.get("groups", 1)
        weight = args[1] if len(args) > 1 else kwargs["weight"]
        yield from _convolution(out, args[0], weight, groups, transposed)
    elif name == "scaled_dot_product_attention":
        q, k, v = (*args, *(kwargs[n] for n in ("query", "key", "value")[len(args) :]))[:3]
        yield from _attention(q, k, v)
    elif name == "einsum":
        yield from _einsum(*args)
    elif name == "tensordot":
        yield from _tensordot(args[0], args[1], args[2] if len(args) > 2 else kwargs.get("dims", 2))
    elif name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
        packed = isinstance(args[3], list | tuple)  # (data, sizes of batches, state, parameters, ...)
        parameters = args[3] if packed else args[2]
        steps = len(args[1]) if packed else args[0].shape[1 if args[-1] is True and args[0].dim() == 3 else 0]
        yield from _recurrent(args[0], parameters, max(steps, 1))
    elif name in ("lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"):
        state = args[1][0] if isinstance(args[1], list | tuple) else args[1]
        for x, w in ((args[0], args[2]), (state, args[3])):
            yield from _linear(x, w, True)


class FlopCounterMode(TorchFunctionMode):
    """A block that counts what its products take: a multiplication and an addition for each pair of numbers.

    Matrix products (also of `einsum`, recurrent layers and attention, whose two are counted as `aten.bmm`) and
    convolutions are counted, and those of their derivatives when a backward reaches them, each for the modules whose
    call it belongs to. Products of a matrix and a vector are not, as in PyTorch.

    Args:
        mods: not needed.
        depth: of the table, the levels of modules.
        display: print the table at the end.
        custom_mapping: formulas of more operations; see `register_flop_formula`.

    >>> import tandem
    >>> from tandem.utils.flop_counter import FlopCounterMode
    >>> net = tandem.nn.Sequential(tandem.nn.Linear(3, 4), tandem.nn.Linear(4, 5))
    >>> with FlopCounterMode(display=False) as counter:
    ...     net(tandem.ones(2, 3)).sum().backward()
    >>> counter.get_total_flops(), counter.get_flop_counts()["Sequential.0"]
    (336, {<OpOverloadPacket(op='aten.addmm')>: 48, <OpOverloadPacket(op='aten.mm')>: 48})
    """

    def __init__(
        self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: dict[Any, Any] | None = None
    ) -> None:
        if mods is not None:
            warnings.warn("mods argument is not needed anymore, you can stop passing it", stacklevel=2)
        self.depth, self.display = depth, display
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self._formulas = {
            op: formula if getattr(formula, "_get_raw", False) else _of_shapes(formula)
            for op, formula in (custom_mapping or {}).items()
        }
        self._tracker = ModuleTracker()

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self._tracker.__enter__()
        super().__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        self._tracker.__exit__()
        if self.display:
            print(self.get_table(self.depth))

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = func.__name__
        if name == "backward" and args and isinstance(args[0], _C.Tensor):
            _C._push_mode(self)  # what it computes once more is counted
            try:
                return tandem.autograd.backward(args[0], *args[1:], **kwargs)
            finally:
                _C._pop_mode()
        out = func(*args, **kwargs)
        packet = func if isinstance(func, CustomOpDef) else None
        if packet is None and (self._formulas or flop_registry):
            packet = getattr(tandem.ops.aten, name, None)
        formula = self._formulas.get(packet, flop_registry.get(packet)) if packet is not None else None
        if formula is not None:
            self._add(tuple(self._tracker.parents), packet, formula(*args, **kwargs, out_val=out))
            return out
        for product in _products(name, args, kwargs, out):
            self._count(product, out)
        return out

    def _count(self, product: _Product, out: Any) -> None:
        modules = tuple(self._tracker.parents)
        self._add(modules, getattr(tandem.ops.aten, product.name), product.flops)
        later = sum(
            flops
            for of, flops in product.of_gradients
            if of is True or (isinstance(of, _C.Tensor) and of.requires_grad)
        )
        result = out[0] if isinstance(out, tuple) else out
        if later and result.requires_grad:
            back = getattr(tandem.ops.aten, product.derivative)
            result.register_hook(lambda grad: self._add(modules, back, later))

    def _add(self, modules: Sequence[str], op: Any, flops: int) -> None:
        for module in {*modules, "Global"}:
            self.flop_counts[module][op] += flops

    def get_total_flops(self) -> int:
        """How many there were."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """How many of each operation there were in each module, and in all ("Global")."""
        return {module: dict(counts) for module, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The counts as text, of modules down to a depth."""
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        rows = [("Module", "FLOP", "% Total")]
        for module in sorted(self.flop_counts, key=lambda name: (name != "Global", name)):
            level = 0 if module == "Global" else module.count(".") + 1
            if level > depth:
                continue
            ops = sorted(self.flop_counts[module].items(), key=lambda item: str(item[0]))
            whole = [(module, sum(count for _, count in ops))]
            for at, (name, count) in enumerate(itertools.chain(whole, ((f" - {op}", n) for op, n in ops))):
                share = f"{100 * count / total:.2f}%" if total else "0%"
                rows.append((" " * level + str(name), _short(count), share if at or count else "0%"))
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = ["  ".join([row[0].ljust(widths[0]), row[1].rjust(widths[1]), row[2].rjust(widths[2])]) for row in rows]
        return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def _short(count: int) -> str:
    """A count with three decimals and a letter for thousands."""
    power = min((len(str(count)) - 1) // 3, 4)
    return f"{count / 1000**power:.3f}{' KMBT'[power]}".strip() if power else str(count)
