"""Writes the types of the extension module, for type checkers: `core.pyi` with what the records add to it."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterable

from records import Op, Param, Record, Records, by_name, names_of

CORE = pathlib.Path(__file__).with_name("core.pyi")
# An import may be one that no record needs.
NAMESPACE = """# Types of tandem._C._{form}, from the records (ir/ops).
from collections.abc import Sequence
from typing import Any, NamedTuple, overload

from tandem._C import Number, Tensor, _bool, _Device, _dtype, _float, _Generator, _int, _str

"""


def factory_keywords(records: Records, op: Op) -> list[Record]:
    """Those that a factory takes: the last one only if it takes a format."""
    return records.keywords[: None if op.takesFormat else -1] if op.factory else []


def parameter(op: Op, p: Param) -> str:
    default = "..." if p.type == "dim" else "None" if p.default is None and op.optional(p) else p.default
    return f"{p.name}: {p.taken.annotation}" + ("" if default is None else f" = {default}")


def parameters(records: Records, op: Op, method: bool, out: bool = False, varargs: bool = False) -> str:
    """The parameters of one form; with `varargs` the last positional one as `*name`."""
    parts = [parameter(op, p) for p in op.positional]
    if method:
        parts[0] = "self"
    if varargs:
        last = op.positional[-1]
        parts[-1] = f"*{last.name}: {'Tensor' if last.type == 'Tensor[]' else '_int'}"
    keywords = [parameter(op, p) for p in op.params if p.keyword_only]
    keywords += [f"{k.name}: {k.annotation} = {k.default}" for k in factory_keywords(records, op)]
    if out:
        keywords.append(f"out: {'Sequence[Tensor]' if op.numResults > 1 else 'Tensor'} | None = None")
    return ", ".join([*parts, *["*"] * bool(keywords and not varargs), *keywords])


def has_varargs(op: Op, method: bool) -> bool:
    """May the last positional parameter be given one by one (python/src/arg_parser.h)?"""
    return len(op.positional) > int(method) and (op.oneByOne or op.positional[-1].type == "int[]")


def result_name(fields: Iterable[str]) -> str:
    return "_" + "".join(field.title().replace("_", "") for field in fields)


def result(op: Op) -> str:
    simple = {"Tensor": "Tensor", "Tensor[]": "tuple[Tensor, ...]", "Tensor or Tensor[]": "Any"}
    several = result_name(op.fields) if op.fields else f"tuple[{', '.join(['Tensor'] * op.numResults)}]"
    return simple.get(op.results, several)


def declarations(
    records: Records, form: str, ops: list[Op], method: bool = False, inplace: bool = False, hidden: Iterable[str] = ()
) -> list[str]:
    """All names of a form, but those that are `hidden`; several forms of one name are overloads."""
    indent = "    " * method
    names = {name + "_" * inplace: members for members in by_name(ops, form).values() for name in names_of(members)}
    lines = []
    for name in sorted(names.keys() - set(hidden)):
        forms = []
        for op in names[name]:
            returns = "Tensor" if inplace else result(op)
            out = op.takes_out(form) and not inplace
            for varargs in [False, True][: 1 + has_varargs(op, method)]:
                forms.append(f"{indent}def {name}({parameters(records, op, method, out, varargs)}) -> {returns}")
        lines += [f"{indent}@overload\n" * (len(forms) > 1) + f"{text}: ...\n" for text in forms]
    return lines


def named_tuples(ops: list[Op]) -> str:
    named = {tuple(o.fields) for o in ops if o.results.startswith("(") and o.fields}
    return "".join(
        f"class {result_name(fields)}(NamedTuple):\n" + "".join(f"    {f}: Tensor\n" for f in fields) + "\n"
        for fields in sorted(named)
    )


def core(records: Records) -> str:
    text = CORE.read_text()
    by_hand = {line.split("(")[0].split()[1] for line in text.splitlines() if line.startswith("    def ")}
    methods = declarations(records, "method", records.ops, True, hidden=by_hand)
    methods += declarations(records, "inplace", records.ops, True, True, by_hand)
    methods += declarations(records, "inview", records.ops, True, True, by_hand)
    functions = named_tuples(records.ops) + "".join(declarations(records, "function", records.ops))
    text = text.replace("    # the methods of the records\n", "".join(methods))
    return text.replace("# the functions of the records\n", functions)


def namespace(form: str) -> Callable[[Records], str]:
    def text(records: Records) -> str:
        chosen = [o for o in records.ops if form in o.forms]
        lines = declarations(records, form, chosen)
        if form == "nn":
            lines += declarations(records, form, [o for o in chosen if "inplace" in o.forms], inplace=True)
        return NAMESPACE.format(form=form) + named_tuples(chosen) + "".join(lines)

    return text
