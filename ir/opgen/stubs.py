"""Writes the types of the extension module, for type checkers: `core.pyi` with what the records add to it."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable

from records import FACTORY, PARAM_TYPES, FactoryKeyword, Op, Param, by_name

CORE = pathlib.Path(__file__).with_name("core.pyi")
# An import may be one that no record needs.
NAMESPACE = """# Types of tandem._C._{form}, from the records (ir/ops).
from collections.abc import Sequence
from typing import Any, NamedTuple, overload

from tandem._C import Number, Tensor, _bool, _Device, _dtype, _float, _Generator, _int, _str

"""


def optional_from(op: Op) -> int:
    """The first positional parameter that may be left out."""
    needed = [
        i for i, p in enumerate(op.params) if not p.keyword_only and p.default is None and not p.type.endswith("?")
    ]
    return max(needed, default=-1) + 1


def parameter(op: Op, i: int) -> str:
    p = op.params[i]
    default = p.default
    if default is None and p.type.endswith("?") and (p.keyword_only or i >= optional_from(op)):
        default = "None"
    return f"{p.name}: {PARAM_TYPES[p.type].stub}" + ("" if default is None else f" = {default}")


FACTORIES_WITH_OUT = (
    "zeros ones full empty arange range linspace logspace eye rand randn randint randperm normal".split()
)


def takes_out(op: Op) -> bool:
    return "[]" not in op.results and not op.factory or op.python in FACTORIES_WITH_OUT


def factory_keywords(op: Op) -> tuple[FactoryKeyword, ...]:
    """Those that a factory is said to take."""
    return FACTORY if op.params and op.params[0].type == "Tensor" else FACTORY[:-1]


def parameters(op: Op, method: bool, inplace: bool = False, varargs: bool = False) -> str:
    """The parameters of one form; with `varargs` the last positional one as `*name`."""
    positional = [i for i, p in enumerate(op.params) if not p.keyword_only]
    keyword = [i for i, p in enumerate(op.params) if p.keyword_only]
    parts = [parameter(op, i) for i in positional]
    if method:
        parts[0] = "self"
    if varargs:
        last = op.params[positional[-1]]
        parts[-1] = f"*{last.name}: {'Tensor' if last.type == 'Tensor[]' else '_int'}"
    keywords = [parameter(op, i) for i in keyword]
    if op.factory:
        keywords += [f"{k.name}: {k.stub} = {k.default}" for k in factory_keywords(op)]
    if takes_out(op) and not inplace:
        many = op.numResults > 1
        keywords.append(f"out: {'Sequence[Tensor]' if many else 'Tensor'} | None = None")
    if keywords and not varargs:
        parts.append("*")
    return ", ".join(parts + keywords)


def has_varargs(op: Op, method: bool) -> bool:
    """May the last positional parameter be given one by one (python/src/arg_parser.h)?"""
    positional: list[Param] = [p for p in op.params if not p.keyword_only]
    return len(positional) > int(method) and positional[-1].type in ("int[]", "Tensor[]")


def result_name(fields: Iterable[str]) -> str:
    return "_" + "".join(field.title().replace("_", "") for field in fields)


def result(op: Op) -> str:
    simple = {"Tensor": "Tensor", "Tensor[]": "tuple[Tensor, ...]", "Tensor or Tensor[]": "Any"}
    if op.results in simple:
        return simple[op.results]
    return result_name(op.fields) if op.fields else f"tuple[{', '.join(['Tensor'] * op.numResults)}]"


def declarations(name: str, members: list[Op], indent: str, method: bool, inplace: bool = False) -> list[str]:
    """All forms of one name; several are overloads."""
    forms = []
    for op in members:
        returns = "Tensor" if inplace else result(op)
        forms.append((parameters(op, method, inplace), returns))
        if has_varargs(op, method):
            forms.append((parameters(op, method, inplace, varargs=True), returns))
    overload = f"{indent}@overload\n" if len(forms) > 1 else ""
    return [f"{overload}{indent}def {name}({params}) -> {returns}: ...\n" for params, returns in forms]


def named_tuples(ops: list[Op]) -> str:
    named = {tuple(o.fields) for o in ops if o.results.startswith("(") and o.fields}
    return "".join(
        f"class {result_name(fields)}(NamedTuple):\n" + "".join(f"    {f}: Tensor\n" for f in fields) + "\n"
        for fields in sorted(named)
    )


def names_of(ops: list[Op], form: str) -> list[tuple[str, list[Op]]]:
    """Every Python name of a form with its records, aliases too."""
    names: list[tuple[str, list[Op]]] = []
    for python, members in by_name([o for o in ops if form in o.forms]).items():
        names += [(name, members) for name in {python, *(a for o in members for a in o.aliases)}]
    return sorted(names, key=lambda item: item[0])


def functions(ops: list[Op], form: str) -> list[str]:
    return [line for name, members in names_of(ops, form) for line in declarations(name, members, "", method=False)]


def core(ops: list[Op]) -> str:
    text = CORE.read_text()
    written_by_hand = {line.split("(")[0].split()[1] for line in text.splitlines() if line.startswith("    def ")}
    methods = [
        line
        for name, members in names_of(ops, "method")
        if name not in written_by_hand
        for line in declarations(name, members, "    ", method=True)
    ]
    for name, members in names_of(ops, "inplace") + names_of(ops, "inview"):
        if name + "_" not in written_by_hand:
            methods += declarations(name + "_", members, "    ", method=True, inplace=True)
    text = text.replace("    # the methods of the records\n", "".join(methods))
    return text.replace("# the functions of the records\n", named_tuples(ops) + "".join(functions(ops, "function")))


def namespace(form: str):
    def text(ops: list[Op]) -> str:
        chosen = [o for o in ops if form in o.forms]
        lines = functions(chosen, form)
        if form == "nn":
            for name, members in names_of([o for o in chosen if "inplace" in o.forms], "nn"):
                lines += declarations(name + "_", members, "", method=False, inplace=True)
        return NAMESPACE.format(form=form) + named_tuples(chosen) + "".join(lines)

    return text
