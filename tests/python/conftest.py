"""What all Python tests share: modes to run a function in, bits to compare, state that no test may leave behind."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from same_bits import assert_rounded as assert_rounded
from same_bits import assert_same_bits as assert_same_bits
from same_bits import bits as bits

import tandem

MODES = ("eager", "lazy", "compiled")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the slow tests too, as TANDEM_SLOW=1 does")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--slow") or os.environ.get("TANDEM_SLOW") or "slow" in config.getoption("markexpr"):
        return
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="slow: run with --slow or TANDEM_SLOW=1"))


def run_in(mode: str, function: Callable[..., Any], *args: Any) -> Any:
    """The result of `function(*args)` in a mode; compiled, that of the second call, which skips the Python body."""
    if mode == "eager":
        return function(*args)
    if mode == "lazy":
        with tandem.lazy():
            return function(*args)
    compiled = tandem.compile(function)
    compiled(*args)
    return compiled(*args)


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    """Each mode in turn, for `run_in`."""
    return request.param


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest) -> int:
    """One thread and two in turn."""
    tandem.set_num_threads(request.param)
    return request.param


@pytest.fixture(autouse=True)
def clean_state():
    """Every test starts from one seed and leaves modes as it found them."""
    tandem.manual_seed(0)
    threads = tandem.get_num_threads()
    yield
    assert tandem.is_grad_enabled(), "a test left grad mode off"
    assert not tandem.is_inference_mode_enabled(), "a test left inference mode on"
    assert tandem.get_default_dtype() is tandem.float32, "a test left another default dtype"
    if tandem.get_num_threads() != threads:
        tandem.set_num_threads(threads)
