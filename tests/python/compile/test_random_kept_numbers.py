"""Random bodies that count, compute with numbers that they find in attributes, items and variables, branch by them and
leave them there, while others put numbers of every kind into these places between the calls: compiled calls give what
eager ones give, and leave it."""

from __future__ import annotations

import math
import random
import re

import pytest

import tandem

# `@` stands for a smaller expression, `~` for what is read of a tensor.
ATOMS = "o.n o.f d['n'] d['f'] l[0] l[1] seen() G n m 2 3 0.5 -1 True".split()
READS = ["x.sum().item()", "(x > 0).sum().item()", "y[0].item()", "h.sum().item()"]
FORMS = """
(@ + @)
(@ - @)
(@ * @)
(@ / (@ + 7.5))
(@ // 3)
(@ % 5)
(@ % 2.5)
(0.9 ** min(@, 50))
-@
+@
float(@)
int(@)
abs(@)
round(@)
(not @) + 1
min(@, @)
max(@, @, 1)
pow(@, 2)
(@) ** 2
divmod(@, 3)[0]
sum([@, @])
[@, @][0]
(@, @)[1]
(lambda q: q * 1.5)(@)
math.sqrt((@) * (@))
math.cos(@)
math.sin(@)
math.tanh(@)
math.exp((@) % 3)
math.log(1.5 + (@) * (@))
(@ // (0.5 + (@) * (@)))
(@ if @ > 2 else @)
(@ if @ else 1)
(1 if @ == @ else @)
((@ < @) * 2)
""".strip().splitlines()
STATEMENTS = """
x = x * @
x = x + @
o.f += ~ * @
o.n += ~
d['f'] = d['f'] + ~ / (@ + 7.5)
d['kept'] = (~ - @) / 3
l[1] = ~ * 2 + ~
out.append(~ + @)
log.append(~)
o.kept = ~ / (1 + ~ * ~)
x = x / (@ + 11.25)
x = @ - x
x = x.add(@, alpha=2)
x = x.sub_(@)
x = tandem.mul(x, @)
x = x.clamp(max=@ + 3)
x = x.masked_fill(x > @, 0.5)
x = tandem.where(x > @, x, x * 0.5)
x = x * tandem.full((2,), @ * 1.0)
x = x * tandem.tensor(@)
x = x[: 2 + int(@) % 2]
x = x * @ if @ > 0 else x - @
y = y + @
y = y * @
y = y // 2 + @
h = h + @
out.append(@)
for k in range(int(@) % 3): x = x + k
o.n += 1
o.n -= 1
o.n = (o.n + 1) % 4
o.n = @
o.n = int(o.n * 2) % 7
o.f *= 0.75
o.f = @
o.kept = @
o.t = x.sum() * @
o.before = o.n
d['n'] += 2
d['n'] = d['n'] - 1
d['f'] = @
d['kept'] = @
l[0] += 1
l[0] = l[0] // 2 + 3
l[1] = @
l[0], l[1] = l[1], l[0]
see(@)
count(1)
log.append(@)
if o.n % 2 == 0: o.f += 0.5
if d['n'] > 4: d['n'] = 0
""".strip().splitlines()

PROGRAM = """
def build(o, d, l, log):
    v = 2
    def seen(): return v
    def see(value):
        nonlocal v
        v = value
    def count(k):
        global G
        G += k
    def body(x, n, m, y, h):
        out = []
        {}
        return x, y, h, out
    return body, seen
"""


class Box:
    pass


def expression(r, depth):
    if depth == 0 or r.random() < 0.25:
        return r.choice(ATOMS)
    parts = r.choice(FORMS).split("@")
    return "".join(part + expression(r, depth - 1) for part in parts[:-1]) + parts[-1]


def program(r):
    def statement():
        parts = r.choice(STATEMENTS).split("@")
        text = "".join(p + expression(r, r.choice([0, 1, 1, 2, 2, 3])) for p in parts[:-1]) + parts[-1]
        return re.sub("~", lambda _: r.choice(READS), text)

    return PROGRAM.format("\n        ".join(statement() for _ in range(r.randint(1, 5))))


def shown(v):
    if isinstance(v, tandem.Tensor):
        return str(v.dtype), v.tolist().__repr__()
    if isinstance(v, (list, tuple)):
        return [shown(item) for item in v]
    if isinstance(v, dict):
        return {k: shown(item) for k, item in v.items()}
    return shown(vars(v)) if isinstance(v, Box) else (type(v).__name__, repr(v))


def told(source, seed, wrap):
    r = random.Random(seed)
    names = {"G": 0, "tandem": tandem, "math": math}
    o, d, items, log = Box(), {"n": 3, "f": 1.25}, [1, 2.5], []
    o.n, o.f = 0, 0.5
    exec(compile(source, f"<program {seed}>", "exec"), names)
    body, seen = names["build"](o, d, items, log)
    call = wrap(body)
    found = []
    for _ in range(9):
        x = tandem.tensor([1.5, -2.0, 0.25])
        n, m = r.choice([1.0, 2.5, -0.5, 3.0]), r.choice([2, 2, 3, 5, -1, 0, 7, True, 10**20])
        try:
            result = shown(call(x, n, m, tandem.tensor([1, 4]), tandem.tensor([0.5], dtype=tandem.float16)))
        except Exception as error:  # noqa: BLE001  (of whatever class)
            result = type(error).__name__
        found.append((result, shown([x, o, d, items, log[-3:], seen(), names["G"]]), len(log)))
        if r.random() < 0.25:
            places = [(vars(o), "n"), (vars(o), "f"), (d, "n"), (d, "f"), (items, 0), (names, "G")]
            others = [0, 5, 2.5, True, 10**20, 2**62, -3, math.nan, math.inf, -0.0, 1e308, None]
            place, key = r.choice(places)
            place[key] = r.choice(others)
    return found


def differs(seeds):
    for seed in seeds:
        source = program(random.Random(seed))
        expected, got = told(source, seed, lambda f: f), told(source, seed, tandem.compile)
        for k, (one, other) in enumerate(zip(expected, got, strict=True)):
            if one != other:
                return f"program {seed}, call {k}\n{source}\neager: {one}\nelse:  {other}"
    return None


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_compiled(first):
    assert differs(range(first, first + 50)) is None


@pytest.mark.slow
@pytest.mark.parametrize("first", range(10_000, 20_000, 500))
def test_many(first):
    assert differs(range(first, first + 500)) is None
