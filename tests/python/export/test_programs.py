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


def test_sizes(tmp_path):
    """Programs whose sizes calls choose: the dims of one size among the inputs are one `Dim`."""
    jobs = Jobs(tmp_path)
    compared = 0

    @examples(80)
    @given(program=programs, shapes=inputs)
    def check(program, shapes):
        nonlocal compared
        found = [size for shape in shapes for size in shape]
        if not found or execute("eager", program, shapes, 1) == "refused":
            return
        least, most = max(found[0] - 1, 0), found[0] + 2
        n = tandem.export.Dim("n", min=least, max=most)
        spec = ([tuple([n if size == found[0] else None for size in shape]) for shape in shapes], None)
        run = forward(program, tandem.ones(3))

        def whole(xs, state):
            return with_derivatives(run(xs, state), xs, 1)

        try:
            saved = entries(
                forward=Entry(whole, arguments_of(shapes), training=True, dynamic_shapes=spec), targets=[TARGET]
            )
        except Exception as error:
            # A step that does not fit is left out: the function then gives other things, or refuses some sizes.
            assert "n = " in str(error), error
            return
        compared += 1
        for size in range(least, most + 1):
            other = [tuple([size if s == found[0] else s for s in shape]) for shape in shapes]
            results = run_once(saved, other)
            wrong = differences([bits(t) for t in results], execute("eager", program, other, 1))
            assert wrong is None, (size, wrong)
            if len(jobs.jobs) < 100:
                xs, state = arguments_of(other)
                jobs.add(saved, "forward", [*xs, state], results[:-2], sizes=(size,))

    check()
    assert compared > 20, compared
    assert jobs.run() == []


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
