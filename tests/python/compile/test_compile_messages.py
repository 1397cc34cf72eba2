"""What is said of a body that runs on every call: which line of the user's made it so."""

from __future__ import annotations

import contextlib
import os
import time

import tandem


def why(body):
    function = tandem.compile(body)
    function(tandem.ones(2))
    return function.explain(tandem.ones(2)).splitlines()[0]


class Unknown(contextlib.ContextDecorator):
    def __enter__(self):
        time.time()

    def __exit__(self, *_):
        return False


def test_the_line_that_is_told_is_none_of_the_standard_library():
    @Unknown()
    def body(x):
        return x * 2

    def variable(x):
        os.environ["TANDEM_NOTHING"] = "1"
        return x * 2

    assert f"{__file__}:" in why(lambda x: body(x))
    assert f"{__file__}:{variable.__code__.co_firstlineno + 1}:" in why(variable)


def test_an_instruction_is_told_by_its_name():
    def body(x):
        class Inside:
            pass

        return x * 2

    assert why(body).endswith("an instruction that is not understood (LOAD_BUILD_CLASS)")
