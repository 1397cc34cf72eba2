"""Reads the operation records: llvm-tblgen's JSON to Python objects. What a record must have, ir/facets.td asserts;
what its parameters, names and dags must agree on is checked here. Both make the build fail, with the record's name."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import tempfile
import textwrap
from dataclasses import dataclass
from types import SimpleNamespace as Record
from typing import Any


class RecordError(Exception):
    pass


@dataclass
class Param:
    name: str
    type: str
    default: str | None
    keyword_only: bool
    facts: Record  # of its type: a ParamType of ir/params.td
    taken: Record  # of that which Python takes


@dataclass
class Call:
    """A dag: a call of `fn`. Arguments are nested calls, parameter names (`$x` as "$x"), ints or literals (str)."""

    fn: str
    args: list


@dataclass
class Op:
    """A record: its fields, as in ir/facets.td, and what is read out of them."""

    record: Record
    params: list[Param]
    body: list[Call]
    grads: list[Call]
    library: bool  # run by a function of runtime/lib
    example: str
    inplace_example: str
    raises: list[tuple[str, str, str]]

    def __getattr__(self, key: str) -> Any:
        return getattr(self.record, key)

    @property
    def operands(self) -> list[Param]:
        """The parameters that are operands of a primitive, in order."""
        return [p for p in self.params if p.facts.operand]

    @property
    def attrs(self) -> list[Param]:
        return [p for p in self.params if not p.facts.operand]

    @property
    def positional(self) -> list[Param]:
        return [p for p in self.params if not p.keyword_only]

    def takes_out(self, form: str) -> bool:
        """Do its functions of a form (`function`, `nn`) take `out=`?"""
        return bool(self.takesOut and form in ["function", "linalg", "special", *["nn"] * ("out" in self.forms)])

    @property
    def code(self) -> str:
        """The enumerator: the name, kept out of the way of C++ keywords."""
        return self.name + "_" if self.name in ("and", "or", "not", "xor") else self.name

    @property
    def gradient(self) -> bool:
        """Do users read of gradients?"""
        integers = self.accepts in ("Integer", "Integral") or self.gives in ("Bool", "Int64")
        stated = self.differentiable and self.rule != "refused" and (self.derived or self.composite)
        return bool(stated and self.operands and not self.factory and not integers)

    def optional(self, p: Param) -> bool:
        """May it be left out? A positional one only if all behind it may."""
        needed = [q for q in self.positional if q.default is None and not q.type.endswith("?")]
        behind = not needed or self.params.index(p) > self.params.index(needed[-1])
        return p.default is not None or (p.type.endswith("?") and (p.keyword_only or behind))


def parse_params(text: str, types: dict[str, Record], where: str, tensors: int) -> list[Param]:
    params, keyword = [], False
    for part in filter(None, (p.strip() for p in re.split(r",(?![^\[]*\])", text))):
        if part == "*":
            keyword = True
            continue
        m = re.fullmatch(r"(\S+) (\w+)(?:=(.+))?", part)
        if not m or m[1] not in types:
            raise RecordError(f"{where}: cannot read the parameter `{part}`")
        params.append(Param(m[2], m[1], m[3], keyword, types[m[1]], types["Tensor" if len(params) < tensors else m[1]]))
    return params


def parse_dag(d: dict) -> Call:
    def argument(value: Any, name: str) -> Any:
        return "$" + name if value is None else parse_dag(value) if isinstance(value, dict) else value

    return Call(d["operator"]["def"], [argument(*a) for a in d["args"]])


def dump(tblgen: str, path: str) -> dict:
    """All records as llvm-tblgen's JSON. Names that dags call must be declared before they are called."""
    records = pathlib.Path(path)
    called: set[str] = set()
    for file in (records.parent / "ops").glob("*.td"):
        text = re.sub(r"\[\{.*?\}\]|//[^\n]*|\"[^\"\n]*\"", "", file.read_text(), flags=re.S)
        called |= set(re.findall(r"\(([a-z]\w*)(?=[ )])", text))
    with tempfile.TemporaryDirectory() as made:
        names = ", ".join(f'"{name}"' for name in sorted(called))
        (pathlib.Path(made) / "functions.td").write_text(f'foreach n = [{names}] in def ""#n : Fn;\n')
        command = [tblgen, "--dump-json", "-I", str(records.parent), "-I", made, path]
        out = subprocess.run(command, capture_output=True, text=True)
    if out.returncode:
        raise RecordError(out.stderr)
    return json.loads(out.stdout)


@dataclass
class Records:
    """All that the files are made of."""

    ops: list[Op]
    by_hand: list[Record]  # docstrings of what is bound by hand
    keywords: list[Record]  # of factories
    wording: dict[tuple[str, str], str]  # of a word in a field of the documentation


def load(tblgen: str, path: str) -> Records:
    data = dump(tblgen, path)

    def instances(of: str) -> list[Record]:
        return [Record(**data[name]) for name in data["!instanceof"].get(of, [])]

    types = {t.name: t for t in instances("ParamType")}
    libraries = {r.name for r in instances("Library")}
    ops: dict[str, Op] = {}
    for r in instances("Op"):
        where = getattr(r, "!locs")[0]
        if r.name in ops:
            raise RecordError(f"{where}: a second record of `{r.name}`")
        ops[r.name] = Op(
            record=r,
            params=parse_params(r.params, types, where, r.tensors),
            body=[parse_dag(d) for d in r.body],
            grads=[parse_dag(d) for d in r.derivative],
            library=r.name in libraries,
            example=textwrap.dedent(r.example).strip("\n"),
            inplace_example=textwrap.dedent(r.inPlaceExample).strip("\n"),
            raises=[(d["error"], d["when"], d["provocation"]) for d in (data[e["def"]] for e in r.raises)],
        )
        check(ops[r.name], where)
    return Records(
        sorted(ops.values(), key=lambda o: o.name),
        sorted(instances("ByHand"), key=lambda b: (b.owner, b.name)),
        sorted(instances("FactoryKeyword"), key=lambda k: k.place),
        {(w.about, w.word): w.text for w in instances("Wording")},
    )


def check(op: Op, where: str) -> None:
    def bad(what: str) -> None:
        raise RecordError(f"{where}: `{op.name}` {what}")

    if op.library and not op.shape:
        bad("has no shape rule")
    if op.batching and not op.library:
        bad("is no library operation: its batching follows from its kind")
    if op.grads and len(op.grads) != len(op.operands):
        bad(f"has {len(op.grads)} derivatives for {len(op.operands)} operands")
    # One spelling: forms of one Python name have something behind it, or the namespace before it.
    python = op.python.strip("_")
    if not re.fullmatch(rf"((linalg|special|nn)_)?{python}(_\w+)?", op.name):
        bad(f"is `{op.python}` in Python: one is not the beginning of the other")
    camel = re.sub(r"_(\w)", lambda m: m[1].upper(), op.plain)
    for function in (op.shape, op.rule, op.batching):
        if function.lower() == camel.lower() and function != camel:
            bad(f"is spelt `{function}` in C++: write `{camel}`")
    read = [(call, {"index", "type", "dtype"}) for call in op.body] + [(call, {"g", "out"}) for call in op.grads]
    for call, names in read:
        for name in uses(call) - names - {p.name for p in op.params}:
            bad(f"uses the unknown name ${name}")


def uses(call: Call) -> set[str]:
    """The `$names` a dag reads."""
    found: set[str] = set()
    for a in call.args:
        found |= uses(a) if isinstance(a, Call) else {a[1:]} if isinstance(a, str) and a.startswith("$") else set()
    return found


def by_name(ops: list[Op], form: str = "") -> dict[str, list[Op]]:
    """The visible records of each Python name (that have a form), in the order of names. Forms of one name are tried in
    the order in which they stand here: those with fewer parameters first."""
    groups: dict[str, list[Op]] = {}
    for op in sorted((o for o in ops if o.visible), key=lambda o: (o.python, len(o.params), o.name)):
        if not form or form in op.forms:
            groups.setdefault(op.python, []).append(op)
    return groups


def names_of(members: list[Op]) -> list[str]:
    """The Python names of records that share one: the name, and what it is called besides."""
    return [members[0].python, *sorted({a for o in members for a in o.aliases})]
