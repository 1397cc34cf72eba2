"""Operations of several tensors with one of them on the CPU, in each place: a tensor of no dims goes along to the GPU
of the others, as in PyTorch, or the error names both devices; one of a dim is an error. No result is another than the
CPU's, whatever is done."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import devices
import pytest
from emulated import DEVICE
from operations import VISIBLE, Operation, Typed, dtypes, map_leaves
from references import UNSPECIFIED
from samples import samples

import tandem

# What takes numbers of any dims elementwise: refusing one would be a difference from PyTorch.
ELEMENTWISE = {"gcd", "lcm"} | {name for name in VISIBLE if "_polynomial_" in name}
# Indices, masks, sizes and values that are read where they are, and what only looks at shapes.
TAKES_MORE = (
    "addbmm atleast_1d_list atleast_2d_list atleast_3d_list broadcast_tensors expand_as fill hstack index_put isin "
    "meshgrid narrow_tensor prelu put tensor_split_tensor".split()
)
SEVERAL = [op for name, op in VISIBLE.items() if name not in UNSPECIFIED]


def rows(op: Operation) -> Iterator[tuple[Typed, str]]:
    for dtype in dtypes(op)[: 2 if devices.SLOW else 1]:
        for sample in itertools.islice(samples(op, dtype), 3 if devices.SLOW else 1):
            row = Typed.of(op, sample, dtype, "contiguous")
            if len(row.tensors) > 1:
                yield row, dtype


def run(row: Typed, dtype: str, place: int, here: tandem.Tensor, moved: bool) -> list[tandem.Tensor] | Exception:
    """Results, on the CPU, with `here` in that place, or the error. Errors of values come when the results are read."""
    number = iter(range(len(row.tensors)))

    def take(t: tandem.Tensor) -> tandem.Tensor:
        if next(number) == place:
            return here.clone()
        return devices.there(t.detach(), DEVICE) if moved else t.detach().clone()

    args, kwargs = map_leaves((row.args, row.kwargs), tandem.Tensor, take)
    tandem.manual_seed(3)
    try:
        return [t.cpu() for t in Typed(row.op, args, kwargs, dtype, "contiguous").run()]
    except Exception as e:
        return e
    finally:
        if moved:
            forget_errors()


def forget_errors() -> None:
    try:
        tandem.cuda.synchronize()
    except Exception:
        pass


@pytest.mark.filterwarnings("ignore::UserWarning")  # of targets of another size
@pytest.mark.parametrize("op", SEVERAL, ids=lambda op: op.name)
def test_numbers_on_the_cpu(op):
    for row, dtype in rows(op):
        for place, t in enumerate(row.tensors):
            if all(other.dim() == 0 for k, other in enumerate(row.tensors) if k != place):
                continue
            one = t.detach().reshape(-1)[:1] if t.numel() else tandem.zeros(1, dtype=t.dtype)
            for here in (one.reshape(()), one):
                want, got = run(row, dtype, place, here, False), run(row, dtype, place, here, True)
                what = f"{row}, {here.dim()} dims in place {place}: {got!r}, on the CPU {want!r}"
                if isinstance(got, list):
                    assert isinstance(want, list) and len(got) == len(want), what
                    assert here.dim() == 0 or op.name in TAKES_MORE, what
                    for a, b in zip(got, want, strict=True):
                        assert a.shape == b.shape and a.dtype is b.dtype, what
                        tandem.testing.assert_close(a, b, equal_nan=True, msg=what)
                elif isinstance(want, list):
                    assert "cuda:0" in str(got) and "cpu" in str(got), what
                    assert here.dim() > 0 or not (op.kind == "Pointwise" or op.name in ELEMENTWISE), what
