"""Methods of tensors and functions of the package, called with everyday arguments inside a compiled body: where eager
takes the call, calls run a plan. What reads values, history or memory has none, and is listed."""

from __future__ import annotations

import warnings

import pytest

import tandem
from tandem import linalg, special
from tandem.nn import functional as F

X, Y = tandem.rand(3, 3) + 0.5, tandem.rand(3, 3) + 0.5
PLACES, MASK = tandem.tensor([0, 2, 1]), X > 0.9

OF_METHODS = (
    *((), (0,), (Y,), (PLACES,), (2.0,), (0, PLACES), (0, 1), (0, PLACES, Y), (1, 0, 0), (MASK, 1.0), ((3, 3),)),
    *((tandem.float64,), ("cpu",), (Y, Y), (0, 0, 1)),
)
OF_FUNCTIONS = (
    *((), (X,), (X, Y), (X, 0), (X, PLACES), (X, 2.0), (X, 0, PLACES), (X, Y, Y), (X, 2), (3, 3), (3,), (X, Y, PLACES)),
    *(([X, Y],), (X, [0, 1]), (X, (3,)), (0.0, 1.0, 3), (X, 0.5)),
)

READ_VALUES = {"tolist", "equal", "allclose", "histogram", "histogramdd", "lobpcg", "split_with_sizes_copy"}
READ_MEMORY = {
    *(
        "data_ptr",
        "is_inference",
        "is_pinned",
        "is_set_to",
        "module_load",
        "numpy",
        "pin_memory",
        "set_",
        "share_memory_",
    ),
    *(
        "resize_",
        "resize_as_",
        "storage",
        "storage_offset",
        "untyped_storage",
        "from_dlpack",
        "from_file",
        "to_dlpack",
        "asarray",
    ),
    "slice_inverse",
}
# Of arguments, whose dims the caller sees; and what is a leaf.
CHANGE_ARGUMENTS = {
    "as_strided_",
    "swapaxes_",
    "swapdims_",
    "t_",
    "transpose_",
    "squeeze_",
    "unsqueeze_",
    "requires_grad_",
}
OF_THE_PROCESS = {
    *("counters", "eval", "get_default_device", "get_num_threads", "get_rng_state", "initial_seed", "vmap", "compile"),
    *("is_warn_always_enabled", "load", "manual_seed", "save", "seed", "use_deterministic_algorithms", "export"),
    *("autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache", "install_as_torch"),
}
# In a form that is rare: dims by lists, whose numbers are written into an equation.
RARELY = {"einsum"}
LISTED = RARELY | READ_VALUES | READ_MEMORY | CHANGE_ARGUMENTS | OF_THE_PROCESS


def fresh(o):
    return o.clone() if isinstance(o, tandem.Tensor) else [fresh(x) for x in o] if isinstance(o, list) else o


def without_plan(name, f, *args):
    """Why a call that eager takes has no plan, or nothing."""
    try:
        f(*fresh(list(args)))
    except Exception:
        return None
    text = tandem.compile(f).explain(*fresh(list(args))).splitlines()[0]
    return None if "Calls run the plan" in text else f"{name}: {text}"


def methods():
    for name in dir(tandem.Tensor):
        if name.startswith("_") or name in LISTED:
            continue
        if not callable(getattr(tandem.Tensor, name)):
            if name not in ("grad_fn", "output_nr"):
                yield without_plan(name, lambda x, name=name: (getattr(x, name), x * 2)[1], X)
            continue
        for args in OF_METHODS:
            yield without_plan(name, lambda x, name=name, args=args: getattr(x, name)(*fresh(list(args))), X)


def functions(module):
    for name in dir(module):
        function = getattr(module, name)
        if name.startswith(("_", "set_")) or name in LISTED or isinstance(function, type) or not callable(function):
            continue
        for args in OF_FUNCTIONS:
            yield without_plan(name, lambda *args, function=function: function(*args), *args)


SETTINGS = tandem.channels_last, tandem.contiguous_format, tandem.strided


def with_constants():
    """Constants of the package, and equations, that the body has from outside."""
    last, dense, strided = SETTINGS
    image = tandem.rand(2, 3, 4, 4)
    for f in (
        lambda x: x.to(memory_format=last),
        lambda x: x.contiguous(memory_format=dense),
        lambda x: x.clone(memory_format=last),
        lambda x: x * x.is_contiguous(memory_format=last),
        lambda x: tandem.zeros(3, layout=strided) + x.sum(),
        lambda x: x * 2 if x.layout == strided else x,
        lambda x: tandem.einsum("abij,acij->abc", x, x),
        lambda x: tandem.tensordot(x, x, ([2, 3], [2, 3])),
        lambda x: x.to("cpu", tandem.float64, copy=True),
        lambda x: tandem.finfo(x.dtype).max + x.new_zeros(x.shape, device=x.device),
    ):
        yield without_plan("constants", f, image)


@pytest.mark.parametrize(
    "calls",
    [
        methods,
        with_constants,
        lambda: functions(tandem),
        lambda: functions(F),
        lambda: functions(linalg),
        lambda: functions(special),
    ],
    ids=["Tensor", "constants", "tandem", "nn.functional", "linalg", "special"],
)
def test_calls_run_plans(calls):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [reason for reason in calls() if reason] == []
