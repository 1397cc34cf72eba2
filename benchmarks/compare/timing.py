"""Timing: the minimum over repeats, which is what a machine shared with others disturbs least."""

import time


def seconds_per_call(call, wait=lambda result: result, budget=0.4, shortest=0.01):
    """Best mean time of one call. Loops long enough for the clock (`shortest` s), repeated for about `budget` s.
    `wait` blocks until a result is there, for libraries that return before it is."""
    wait(call())
    loops = 1
    while (elapsed := _timed(call, wait, loops)) < shortest:
        loops = max(2 * loops, int(loops * shortest / max(elapsed, 1e-9)))
    best = elapsed
    for _ in range(min(200, max(4, int(budget / elapsed)))):
        best = min(best, _timed(call, wait, loops))
    return best / loops


def seconds_once(call, wait=lambda result: result):
    """Time of one call that cannot be repeated, such as a first one."""
    return _timed(call, wait, 1)


def _timed(call, wait, loops):
    begin = time.perf_counter()
    for _ in range(loops):
        result = call()
    wait(result)
    return time.perf_counter() - begin
