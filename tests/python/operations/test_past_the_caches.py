"""Elementwise kernels over arrays that no cache holds write past the caches: the same bits, wherever results lie."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import tandem
from tandem import Tensor

BYTES = 66 << 20  # of all operands, from 64 MiB on (runtime/device/cpu/launch.cpp)

CASES: dict[str, tuple[str, int, Callable[[Tensor], Tensor]]] = {
    "float32": ("float32", 8, lambda x: x * 3 + 1),
    "float64": ("float64", 16, lambda x: -x),
    "bfloat16": ("bfloat16", 4, lambda x: x * 0.3),
    "float16": ("float16", 4, lambda x: x + 0.1),
    "int8": ("int8", 2, lambda x: x + 3),
    "int64": ("int64", 16, lambda x: x * 5),
    "comparison": ("float32", 5, lambda x: x > 0.25),
    "narrower": ("float32", 6, lambda x: x.to(tandem.bfloat16)),
    "wider": ("bfloat16", 6, lambda x: x.to(tandem.float32)),
    "dear": ("float32", 8, lambda x: tandem.nn.functional.gelu(x)),
    "two operands": ("float32", 12, lambda x: x + x.flip(0)),
}


def values(dtype: str, n: int) -> Tensor:
    tandem.manual_seed(0)
    x = tandem.randint(-100, 100, (n,))
    return x.to(getattr(tandem, dtype)) if dtype.startswith("int") else (x / 64).to(getattr(tandem, dtype))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_results_are_those_of_parts(name: str, threads: int) -> None:
    dtype, bytes_each, f = CASES[name]
    n = BYTES // bytes_each + 13  # the last vector is not whole
    x = values(dtype, n)
    other = x.flip(0)
    g = f if name != "two operands" else lambda part: part + other[: len(part)]
    before = tandem.get_num_threads()
    tandem.set_num_threads(threads)
    try:
        whole = g(x)
    finally:
        tandem.set_num_threads(before)
    cut = n // 3
    assert tandem.equal(whole[:cut], g(x[:cut]))
    if name != "two operands":
        assert tandem.equal(whole[cut:], f(x[cut:]))
        with tandem.lazy():
            recorded = f(x)
        assert tandem.equal(recorded, whole)
        assert tandem.equal(tandem.compile(f)(x), whole)


@pytest.mark.parametrize("offset", [0, 1, 16])
def test_results_in_the_middle_of_memory(offset: int) -> None:
    n = BYTES // 8
    x = values("float32", n)
    memory = tandem.full((n + 32,), 7.0)
    tandem.add(x, 1, out=memory[offset : offset + n])
    assert tandem.equal(memory[offset : offset + n], x + 1)
    assert bool((memory[:offset] == 7).all()) and bool((memory[offset + n :] == 7).all())


def test_in_place_and_over_an_operand() -> None:
    n = BYTES // 8
    x = values("float32", n)
    expected = x[: n // 4] * 2
    y = x.clone()
    y.mul_(2)
    assert tandem.equal(y[: n // 4], expected)
    tandem.mul(x, 2, out=x)
    assert tandem.equal(x, y)
