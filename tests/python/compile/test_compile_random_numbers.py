"""Random expressions over numbers that differ between calls, a float argument and what is read of a tensor, in the
interpreter's own functions and containers: compiled calls give what eager ones give, errors included."""

from __future__ import annotations

import functools  # noqa: F401  (expressions name it)
import itertools  # noqa: F401
import math  # noqa: F401
import operator  # noqa: F401
import random

import pytest

import tandem


class Thing:
    """An object whose operators, truth, length and items are made of a number."""

    def __init__(self, v):
        self.v = v

    def __lt__(self, other):
        return self.v < other.v

    def __bool__(self):
        return bool(self.v > 1)

    def __len__(self):
        return int(self.v) & 3

    def __float__(self):
        return self.v * 1.0

    def __add__(self, other):
        return Thing(self.v + (other.v if isinstance(other, Thing) else other))

    def __call__(self, x):
        return self.v * x

    def __getitem__(self, i):
        return self.v + i

    def __iter__(self):
        return iter([self.v, self.v * 2])

    def __contains__(self, x):
        return x == self.v

    def __eq__(self, other):
        return isinstance(other, Thing) and self.v == other.v

    def __hash__(self):
        return hash(self.v)

    @property
    def more(self):
        return self.v + 1


# `@` stands for a smaller expression.
FORMS = """
@ + @
@ * @
@ - @
-@
abs(@)
round(@, 1)
divmod(@, 2)[1]
float(@)
int(@)
bool(@) * 1
max(@, @)
min([@, @, @])
sorted([@, @, @])[1]
sorted([(@, 1), (@, 2)])[0][1]
sorted([1, 2, 3], key=lambda v: v * @)[0]
sum([@, @])
sum(v * @ for v in (@, @))
math.fsum([@, @])
@ if @ > @ else @
@ or @
@ and @
(@ == @) * 1
([@] == [@]) * 1
((@, 1) < (@, 2)) * 1
(@ in [@, 1.0]) * 1
([@][0] is None) * 1
len({@, @, 1.0})
len({@: 1, @: 2})
len({(@, 1), (@, 1)})
{1.0: 5, 2.0: 6}.get(@, @)
{"a": @}["a"]
dict(zip("ab", [@, @]))["b"]
[@, @, @][2]
[1, 2, 3, 4][int(@) % 4]
[*(@, @), @][1]
[v for v in (@, @) if v > @].__len__()
(lambda items: (items.append(@), items[-1])[1])([])
next(iter([@]))
list(reversed([@, @]))[0]
list(zip([@], [@]))[0][1]
list(map(lambda v: v * @, [@, @]))[1]
max(map(lambda v: v - @, [@, @]))
len(list(filter(lambda v: v - @, [@, @])))
list(itertools.accumulate([@, @]))[-1]
functools.reduce(lambda a, b: a + b * @, [@, @])
functools.partial(max, @)(@)
operator.add(@, @)
operator.itemgetter(1)([@, @])
any([@, @]) * 1
all(map(lambda v: v + @, [@, 1])) * 1
hash((@, 1)) % 7
len(str(@))
len(range(int(@) % 5))
(type(@) is float) * 1
isinstance(@, int) * 1
(lambda a, b=2.0: a + b)(@)
(lambda *a: a[-1])(@, @)
(lambda **a: a["q"])(q=@)
Thing(@).v
Thing(@).more
1 if Thing(@) else @
len(Thing(@))
Thing(@)(@)
(Thing(@) + @).v
sum([Thing(@), Thing(@)], Thing(0)).v
Thing(@)[1]
sum(Thing(@))
(@ in Thing(@)) * 1
len({Thing(@), Thing(@)})
sorted([Thing(@), Thing(@)])[0].v
math.sin(Thing(@))
tandem.tensor([@, 1.0]).sum().item()
(tandem.ones(2) * @).sum().item()
(x * @).max().item()
x[int(@) % 2].item()
""".strip().splitlines()


def expression(r, depth):
    if depth == 0 or r.random() < 0.12:
        return r.choice(["n", "a", "n", "a", "2", "1.5", "0"])
    parts = r.choice(FORMS).split("@")
    return "(" + parts[0] + "".join(expression(r, depth - 1) + p for p in parts[1:]) + ")"


def told(f, x, n):
    try:
        scaled, handed_on = f(x, n)
    except Exception as e:
        return type(e).__name__, str(e)
    return scaled.tolist(), type(handed_on).__name__, repr(handed_on)


@pytest.mark.parametrize("another", ["n * 2.0", "x.sum().item()", "(x > 1).sum().item()"])
@pytest.mark.parametrize("seed", range(60))
def test_random_expressions(seed, another):
    r = random.Random(seed)
    handed_on = "a" if "x" in another else "1"
    source = f"lambda x, n: (lambda a: (x * {expression(r, r.choice([1, 1, 2, 3]))}, {handed_on}))({another})"
    body = eval(source, globals())
    compiled = tandem.compile(body)
    for n in (1.0, 2.0, 1.5, -1.0, 0.0, 3.25, 1.0):
        for values in ([n - 0.5, 0.5], [n, 2.0]):
            x = tandem.tensor(values)
            assert told(compiled, x, n) == told(body, x, n), source
