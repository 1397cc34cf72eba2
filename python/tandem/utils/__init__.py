"""`tandem.utils`: loading data, checkpointing, hooks, exchange of memory."""

from __future__ import annotations

from tandem import _C as _C
from tandem import _missing as _missing  # noqa: E402
from tandem.utils import checkpoint as checkpoint
from tandem.utils import data as data
from tandem.utils import dlpack as dlpack
from tandem.utils import hooks as hooks

_missing.explain_missing_names()


def swap_tensors(t1: _C.Tensor, t2: _C.Tensor) -> None:
    """Makes each of two objects what the other is: values, dtype, shape, history, class and attributes.

    Whoever holds one of the objects sees the other's values from then on; graphs that were made keep theirs.

    RuntimeError where there is a weak reference to one of them, or a class of them has slots that the other's lacks.

    >>> import tandem
    >>> a, b = tandem.ones(2), tandem.arange(3)
    >>> tandem.utils.swap_tensors(a, b)
    >>> a, b
    (tensor([0, 1, 2]), tensor([1., 1.]))
    """
    _C._swap_tensors(t1, t2)
