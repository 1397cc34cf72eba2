"""Random programs of views, in-place writes, draws and arithmetic, with derivatives, as saved programs: here, and by
the C functions in another process."""

from __future__ import annotations

from conftest import bits
from exporting import TARGET, Jobs
from hypothesis import given
from programs import arguments_of, differences, examples, execute, forward, inputs, programs, with_derivatives

import tandem
from tandem.export import Entry, entries


def exported(program, shapes, order):
    buffer = tandem.ones(3)
    run = forward(program, buffer)

    def whole(xs, state):
        return with_derivatives(run(xs, state), xs, order)

    return entries(forward=Entry(whole, arguments_of(shapes), training=True), targets=[TARGET])


def run_once(program, shapes):
    """Results, the argument that was written and the captured tensor, from the state of the file on."""
    fork = program.fork()
    xs, state = arguments_of(shapes)
    results = fork.run("forward", xs, state)
    return [*results, state, fork.state_dict.get("buffer", tandem.ones(3))]


def compare(program, shapes, order):
    expected = execute("eager", program, shapes, order)
    if expected == "refused":
        return
    saved = exported(program, shapes, order)
    for _ in range(2):
        found = differences([bits(t) for t in run_once(saved, shapes)], expected)
        assert found is None, found


@examples(60)
@given(program=programs, shapes=inputs)
def test_values(program, shapes):
    compare(program, shapes, 0)


@examples(60)
@given(program=programs, shapes=inputs)
def test_second_derivatives(program, shapes):
    compare(program, shapes, 2)


def test_in_c(tmp_path):
    jobs = Jobs(tmp_path)

    @examples(100)
    @given(program=programs, shapes=inputs)
    def collect(program, shapes):
        if execute("eager", program, shapes, 1) == "refused":
            return
        saved = exported(program, shapes, 1)
        results = run_once(saved, shapes)[:-2]
        xs, state = arguments_of(shapes)
        jobs.add(saved, "forward", [*xs, state], results)

    collect()
    assert len(jobs.jobs) > 50
    assert jobs.run() == []
