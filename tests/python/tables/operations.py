"""The operation records as the tests see them: one `Operation` a record, and how to call it on samples.

The table is written by ir/opgen into the build tree (tests/operations.json). It is looked for in $TANDEM_GENERATED,
then in the newest build/*/generated; without a build, opgen writes it to a temporary folder.

A sample (samples.py) holds NumPy arrays: float64 ones stand for any dtype and take the one under test, integers and
bools stay as they are. `Typed` turns a sample into tensors of a dtype and a layout, and back into arrays of what these
tensors hold, which the references (references.py) are computed from.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from window_rows import WINDOW_FLOATS

import tandem

ROOT = Path(__file__).resolve().parents[3]


OWNERS = (
    ("function", tandem),
    ("nn", tandem.nn.functional),
    ("linalg", tandem.linalg),
    ("special", tandem.special),
    ("method", tandem.Tensor),
)


@dataclass(frozen=True)
class Operation:
    name: str
    python: str
    kind: str
    types: str
    samples: str
    reference: str
    domain: str
    forms: tuple[str, ...]
    params: tuple[tuple[str, str, str | None], ...]
    differentiable: bool
    aliases: tuple[str, ...]
    # What its docstring states (ir/facets.td).
    shapes: str
    accepts: str
    gives: str
    gradient: bool
    takes_out: bool
    raises: tuple[tuple[str, str, str], ...]

    @property
    def visible(self) -> bool:
        return "hidden" not in self.forms

    @property
    def call(self) -> Callable[..., Any]:
        """The operation as users reach it: a function, one of nn.functional, or a method."""
        for form, owner in OWNERS:
            if form in self.forms:
                return getattr(owner, self.python)
        if "inplace" in self.forms:
            return getattr(tandem.Tensor, self.python + "_")
        raise AssertionError(f"{self.name} has no public form")


def generated() -> Path:
    """The folder that opgen wrote."""
    if folder := os.environ.get("TANDEM_GENERATED"):
        return Path(folder)
    found = sorted(ROOT.glob("build/*/generated/tests/operations.json"), key=lambda p: p.stat().st_mtime)
    if found:
        return found[-1].parents[1]
    tblgen = shutil.which("llvm-tblgen-22") or "/usr/lib/llvm-22/bin/llvm-tblgen"
    out = tempfile.mkdtemp(prefix="tandem-generated-")
    command = [sys.executable, "ir/opgen/main.py", "--tblgen", tblgen, "--records", "ir/ops.td", "--out", out]
    subprocess.run(command, cwd=ROOT, check=True)
    return Path(out)


def load() -> dict[str, Operation]:
    rows = json.loads((generated() / "tests/operations.json").read_text())
    operations = {}
    for row in rows:
        row["forms"] = tuple(row["forms"])
        row["params"] = tuple(tuple(p) for p in row["params"])
        row["aliases"] = tuple(row["aliases"])
        row["raises"] = tuple(tuple(r) for r in row["raises"])
        operations[row["name"]] = Operation(**row)
    return operations


OPERATIONS = load()
VISIBLE = {name: op for name, op in OPERATIONS.items() if op.visible}

# ---- dtypes ---------------------------------------------------------------------------------------------------------

# A few of each dtype rule: enough that every kind of conversion occurs, few enough to stay quick.
DTYPES = {
    "Promote": ("float32", "float64", "bfloat16", "int64", "uint8"),
    "Float": ("float32", "float64", "float16", "int64", "bool"),
    "Number": ("float32", "float64", "bfloat16", "int64", "bool"),
    "Compare": ("float32", "bfloat16", "int32", "bool"),
    "Logical": ("float32", "int64", "bool"),
    "First": ("float32", "float64", "int8", "bool"),
    "Sum": ("float32", "float64", "bfloat16", "int32", "bool"),
    "Select": ("float32", "float64", "bfloat16", "int64"),
}
INTEGERS = ("int64", "uint8", "int16", "bool")
ANY = ("float32", "float64", "int64")
FLOATING = ("float32", "float64", "bfloat16")
# Of operations that take other dtypes too, those whose samples and references are of floats.
FLOAT_SAMPLES = WINDOW_FLOATS | set(
    "binary_cross_entropy_with_logits corrcoef dropout gaussian_nll_loss hardtanh hinge_embedding_loss huber_loss"
    " linear linspace logspace logsumexp margin_ranking_loss multi_margin_loss multilabel_margin_loss"
    " multilabel_soft_margin_loss nll_loss pairwise_distance poisson_nll_loss relu6 relu_option rnn_relu rnn_relu_cell"
    " rnn_relu_packed rnn_tanh_cell smooth_l1_loss soft_margin_loss softsign tanhshrink threshold triplet_margin_loss"
    " vander".split()
)
# Half types, but not in their references.
WIDE_REFERENCES = ("cov", "histc")
# Relative to 1: samples are of that magnitude.
TOLERANCE = {"float64": 1e-12, "float32": 5e-6, "bfloat16": 3e-2, "float16": 4e-3}


def dtypes(op: Operation) -> tuple[str, ...]:
    if op.samples == "integers":
        return INTEGERS
    if op.accepts == "Integer":
        return INTEGERS[:-1]
    if op.accepts == "Wide" or op.name in WIDE_REFERENCES:
        return FLOATING[:2]
    if op.accepts == "Floating" or op.name in FLOAT_SAMPLES:
        return FLOATING
    return DTYPES.get(op.types, ANY)


def name_of(dtype: tandem.dtype) -> str:
    return str(dtype).rpartition(".")[2]


def result_dtype(op: Operation, dtype: str) -> str | None:
    """The dtype that the rule gives for tensors of `dtype` and no numbers; None where the shape rule decides."""
    floating = dtype in TOLERANCE
    if op.types in ("Promote", "First", "Select"):
        return dtype
    if op.types == "Float":
        return dtype if floating else "float32"
    if op.types == "Number":
        return "int64" if dtype == "bool" else dtype
    if op.types in ("Compare", "Logical"):
        return "bool"
    if op.types == "Sum":
        return dtype if floating else "int64"
    return None


# ---- layouts --------------------------------------------------------------------------------------------------------

LAYOUTS = ("contiguous", "permuted", "strided", "expanded")
# These depend on strides or on the storage itself.
CONTIGUOUS_ONLY = {"view", "view_as", "as_strided", "as_strided_scatter"}


def layouts(op: Operation) -> tuple[str, ...]:
    return LAYOUTS[:1] if op.name in CONTIGUOUS_ONLY else LAYOUTS


def in_dtype(array: np.ndarray, dtype: str) -> np.ndarray:
    """An array of samples in the NumPy type that holds values of `dtype`; bfloat16 travels as float32."""
    if dtype in TOLERANCE:
        return array.astype(np.float32 if dtype == "bfloat16" else dtype)
    if dtype == "bool":
        return array > 0
    whole = np.trunc(array * 3)
    return (np.abs(whole) if dtype == "uint8" else whole).astype(dtype)


def tensor(array: np.ndarray, dtype: str | None, layout: str) -> tandem.Tensor:
    """A tensor of `array` with the strides of a layout; `dtype` None keeps the array's own."""
    typed = np.asarray(array if dtype is None else in_dtype(array, dtype))
    if typed.ndim == 0 or layout == "contiguous":
        made = tandem.from_numpy(typed.copy())
    elif layout == "permuted":
        order = tuple(reversed(range(typed.ndim)))
        made = tandem.from_numpy(np.ascontiguousarray(typed.transpose(order))).permute(order)
    elif layout == "expanded" and dtype is not None and typed.shape[0] > 1:
        made = tandem.from_numpy(typed[:1].copy()).expand(list(typed.shape))
    else:
        room = np.zeros((*typed.shape[:-1], 2 * typed.shape[-1] + 1), typed.dtype)
        room[..., 1::2] = typed
        made = tandem.from_numpy(room)[..., 1::2]
    if dtype != "bfloat16":
        return made
    if layout == "expanded" and 0 in made.stride() and made.numel():
        return made[:1].to(tandem.bfloat16).expand(list(made.shape))
    return made.to(tandem.bfloat16)


def array_of(t: tandem.Tensor) -> np.ndarray:
    """What a tensor holds; floats as float64."""
    t = t.detach()
    return np.asarray((t.to(tandem.float64) if t.is_floating_point() else t).numpy())


def map_leaves(tree: Any, leaf: type, function: Callable[[Any], Any]) -> Any:
    """The same tuples, lists and dicts around other leaves."""
    if isinstance(tree, leaf):
        return function(tree)
    if isinstance(tree, (list, tuple)):
        return type(tree)(map_leaves(t, leaf, function) for t in tree)
    if isinstance(tree, dict):
        return {k: map_leaves(t, leaf, function) for k, t in tree.items()}
    return tree


def leaves(tree: Any, leaf: type = tandem.Tensor) -> list[Any]:
    """The leaves of a type, in order."""
    if isinstance(tree, leaf):
        return [tree]
    if isinstance(tree, dict):
        tree = list(tree.values())
    return [x for t in tree for x in leaves(t, leaf)] if isinstance(tree, (list, tuple)) else []


@dataclass
class Typed:
    """A sample as tensors of one dtype and layout."""

    op: Operation
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    dtype: str
    layout: str

    @classmethod
    def of(cls, op: Operation, sample: tuple[tuple[Any, ...], dict[str, Any]], dtype: str, layout: str) -> Typed:
        def convert(array: np.ndarray) -> tandem.Tensor:
            return tensor(array, dtype if array.dtype == np.float64 else None, layout)

        args, kwargs = (map_leaves(tree, np.ndarray, convert) for tree in sample)
        return cls(op, args, kwargs, dtype, layout)

    @property
    def tensors(self) -> list[tandem.Tensor]:
        return leaves((self.args, self.kwargs))

    def run(self, tensors: list[tandem.Tensor] | None = None) -> list[tandem.Tensor]:
        """All results of the operation, on other tensors if given."""
        args, kwargs = self.args, self.kwargs
        if tensors is not None:
            rest = iter(tensors)
            args, kwargs = map_leaves((args, kwargs), tandem.Tensor, lambda _: next(rest))
        return leaves((self.op.call(*args, **kwargs),))

    def arrays(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments as arrays of what the tensors hold."""
        return map_leaves((self.args, self.kwargs), tandem.Tensor, array_of)

    def __str__(self) -> str:
        def show(t: Any) -> Any:
            return f"{name_of(t.dtype)}{list(t.shape)}"

        args, kwargs = map_leaves((self.args, self.kwargs), tandem.Tensor, show)
        return f"{self.op.name}{args} {kwargs or ''} ({self.dtype}, {self.layout})"
