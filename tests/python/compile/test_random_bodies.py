"""Random bodies over Python's objects (tables/bodies.py): compiled and recorded calls are eager's."""

from __future__ import annotations

import pytest
from bodies import Program, recorded

import tandem

pytestmark = pytest.mark.filterwarnings("ignore")


def differs(seeds, wrap):
    for seed in seeds:
        program = Program(seed)
        expected, found = program.run(lambda f: f), program.run(wrap)
        if expected != found:
            at = next(k for k, pair in enumerate(zip(expected, found, strict=False)) if pair[0] != pair[1])
            return f"program {seed}\n{program}\neager: {expected[at]}\nelse:  {found[at]}"
    return None


@pytest.mark.parametrize("first", range(0, 400, 50))
def test_compiled(first):
    assert differs(range(first, first + 50), tandem.compile) is None


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_recorded(first):
    assert differs(range(first, first + 50), recorded) is None


@pytest.mark.slow
@pytest.mark.parametrize("first", range(10_000, 20_000, 500))
def test_many(first):
    assert differs(range(first, first + 500), tandem.compile) is None
