"""Random bodies over a world of Python's objects, and random changes of that world between calls: what a compiled or a
recorded call gives, and what it leaves, is eager's.

A program is the text of a body, drawn from statements and expressions over the names of body_world.py, and for each
call what is passed and what changes behind it. Every mode has a world of its own, made by the same text.
"""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
from body_texts import CHANGES, EXPRESSIONS, STATEMENTS
from body_world import WORLD
from compiling import attempt, picture

import tandem
from tandem import nn

RESULTS = (
    "x;(x,y);[x,x*2];{'x':x,'i':i};(x,f_);(x,TU);(x,L[0]);Pair(x,i);(x,P);DC(x,i);(x,sl.k);(x,st);x.sum();(x,y.shape);"
    "(x,x);(x,dc.k);(x,OD['a'])"
).split(";")
ARGUMENTS = (
    "T(1,2),T(3,4);T(1,2),T(3,4);w,T(1,2);T(5,6),w;A,A;A,T(0,1);par,T(1,1);R(1,2),T(3,4);w,w;TL[0],T(1,2);buf,buf"
).split(";")
STATE = "L D S DQ OD DD cnt w wv par buf ten TL vals A par.grad sl.t cn.n cn.h dc.k fn.attr o._p".split()


class Program:
    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        lines: list[str] = []
        for _ in range(rng.randint(1, 4)):
            text = rng.choice(STATEMENTS).replace("\\n", "\n").replace("EX", rng.choice(EXPRESSIONS))
            if rng.random() < 0.15:
                text = "if i>2:\n" + "\n".join("    " + line for line in text.split("\n"))
            lines += text.split("\n")
        lines.append("return " + rng.choice(RESULTS))
        self.text = "def body(x, y):\n" + "\n".join("    " + line for line in lines)

        def names(text: str) -> set[str]:
            return set(re.findall(r"\b[A-Za-z_]\w*\b", text)) - set(
                "x y s n i k torch lambda float return if else".split()
            )

        used = names(self.text)
        near = [change for change in CHANGES if names(change) & used] or CHANGES
        self.calls = [
            (
                rng.choice(ARGUMENTS),
                [rng.choice(near if rng.random() < 0.8 else CHANGES) for _ in range(rng.randint(0, 2))],
            )
            for _ in range(rng.randint(3, 7))
        ]

    def __str__(self) -> str:
        return self.text + "".join(f"\n# body({arguments}); {'; '.join(changes)}" for arguments, changes in self.calls)

    def run(self, wrap) -> list[Any]:
        """Pictures of what the calls give, what they leave, and of gradients."""
        tandem.manual_seed(0)
        world: dict[str, Any] = {"torch": tandem, "nn": nn, "np": np, "__name__": "world"}
        world["T"] = lambda *values: tandem.tensor([float(v) for v in values])
        world["R"] = lambda *values: tandem.tensor([float(v) for v in values], requires_grad=True)
        for text in (WORLD, self.text):
            exec(compile(text, "<body>", "exec", dont_inherit=True), world)
        body, seen = wrap(world["body"]), []
        for arguments, changes in self.calls:
            for _ in range(2):
                passed = attempt(eval, arguments, world)
                result = passed if isinstance(passed, Exception) else attempt(body, *passed)
                seen.append(picture(result))
                parts = list(result) if isinstance(result, (tuple, list)) else [result]
                if not isinstance(passed, Exception):
                    seen.append([part is other for part in parts for other in [*passed, *parts]])
                seen.append([(name, picture(attempt(eval, name, world))) for name in STATE])
                if isinstance(result, tandem.Tensor) and result.requires_grad:
                    grads = attempt(tandem.autograd.grad, result.sum(), [world["par"]], allow_unused=True)
                    seen.append(picture(grads))
            seen += [picture(attempt(exec, change, world)) for change in changes]
        return seen


def recorded(body):
    def call(*args):
        with tandem.lazy():
            return body(*args)

    return call
