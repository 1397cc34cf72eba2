"""Writes what Python sees of the records: bindings and the table that tests run on."""

from __future__ import annotations

import json
from dataclasses import replace

from cpp import HEAD, flag
from docstrings import docstring, inplace_docstring, literal
from records import Op, Param, RecordError, Records, by_name, names_of
from stubs import factory_keywords

TABLES = {"function": "kFunctions", "method": "kMethods"}
TABLES |= {form: f"k{form.capitalize()}Functions" for form in ("nn", "linalg", "special")}


def fallback(p: Param) -> str | None:
    """What is taken for an argument that is left out, in C++; nothing where that is the getter's own."""
    d = p.default
    if d is None or d == "None" or p.type.endswith("?") or p.type in ("dim", "dims"):
        return None
    if p.type in ("Operand", "Scalar"):
        return f"Scalar({d})"
    if p.type.startswith("int["):
        return f"{{{d}, {d}}}" if p.type == "int[2]" else f"{{{d.strip('[]')}}}"
    return flag(d == "True") if p.type == "bool" else d.replace("'", '"')


def getter(i: int, p: Param) -> str:
    args = ", ".join(filter(None, [str(i), fallback(p)]))
    return f"a.{p.facts.getter}({args})" + (".value()" if p.type == "dtype" else "")


def spec(p: Param, spread: bool = False) -> str:
    optional = spread or p.default is not None or p.type.endswith("?")
    kind = "TensorArguments" if spread else p.taken.spec
    return f'{{"{p.name}", ParamType::{kind}, {flag(optional)}, {flag(p.keyword_only)}}}'


def older_orders(op: Op, form: str) -> list[tuple[str, list[int]]]:
    """Name and places of the parameters for each order in which older programs give them; methods have the tensor in
    front."""
    names = [p.name for p in op.params]
    orders = []
    for k, text in enumerate(op.older):
        given = [name.strip() for name in text.split(",")]
        if unknown := set(given) - set(names):
            raise RecordError(f"`{op.name}` has no parameter {sorted(unknown)[0]}, which `older` names")
        if form != "function":
            given.sort(key=lambda name: name != names[0])
        orders.append((f"{op.name}_{form}_{k}", [names.index(name) for name in given]))
    return orders


def overloads(variable: str, name: str, chosen: list[Op], form: str) -> str:
    """The table of a name's overloads; those in older orders come last, and refer to tables of their own."""
    inplace = form == "inplace"
    tables, rows, older_rows = "", "", ""
    for op in chosen:
        call = f"call_{op.name}_" if inplace else f"call_{op.name}"
        casts = ("None", "None") if inplace else (op.mixedPrecision, op.gpuMixedPrecision or op.mixedPrecision)
        rest = f"{call}, {flag(op.takes_out(form))}, {{Autocast::{casts[0]}, Autocast::{casts[1]}}}"
        rows += f'{{"{name}", params_{op.name}, {rest}}}, '
        for older, places in older_orders(op, form):
            specs = ", ".join(spec(replace(op.params[i], default=None, keyword_only=False)) for i in places)
            tables += f"static constexpr ParamSpec older_{older}[] = {{{specs}}};\n"
            tables += f"static constexpr std::uint8_t places_{older}[] = {{{', '.join(map(str, places))}}};\n"
            older_rows += f'{{"{name}", older_{older}, {rest}, places_{older}}}, '
    return f"{tables}static constexpr Signature {variable}[] = {{{rows}{older_rows}}};\n"


def written_in_place(op: Op, call: str, operands: str) -> str:
    """The statements of the in-place form."""
    if op.kind == "Pointwise":
        others = ", ".join(getter(i, p) for i, p in enumerate(op.params) if i > 0 and p.facts.operand)
        check = f'refusePartialOverlap("{op.python}_", a.tensor(0), {{{others}}});\n  ' if others else ""
        return f"{check}applyInto(a.tensor(0), OpCode::{op.code}, {{{operands}}});"
    last = "const LastStep last(a.tensor(0)); " if op.kind == "Scatter" else ""
    check = "refuseShared(a, a.tensor(0));\n  " if any(p.facts.operand for p in op.params[1:]) else ""
    repeats = "" if op.repeats == "Refused" else f", Repeats::{op.repeats}"
    for i, p in enumerate(op.params):
        if repeats and p.name == "accumulate":
            repeats = f", {getter(i, p)} ? Repeats::Summed : Repeats::{op.repeats}"
    return f'{check}ops::assignResult("{op.python}", a.tensor(0), [&] {{ {last}return {call}; }}{repeats});'


def wrapper(records: Records, op: Op) -> str:
    """Parameter table and caller of one record, and those of its in-place form."""
    specs = [spec(p, op.oneByOne and p.type == "Tensor[]") for p in op.params]
    specs += [f'{{"{k.name}", ParamType::{k.spec}, true, true}}' for k in factory_keywords(records, op)]
    operands = ", ".join("like" if i == 0 and op.takesFormat else getter(i, p) for i, p in enumerate(op.params))
    own = call = f"ops::{op.code}({operands})"  # in place, and else
    if op.factory or op.outSaysDType:
        own, call = (call.replace("a.dtype(", f"{dtype}(a, ") for dtype in ("dtypeInPlace", "dtypeOfOut"))
    done = f"wrap(a, {call})"
    if op.takesFormat:
        call = f"{'madeLike' if op.operands else 'madeIn'}(a, {len(specs) - 1}, [&](auto&& like) {{ return {call}; }})"
    if op.factory:
        done = f"wrapLeaf(a, {call}, a.boolean({len(op.params) + 2}){', true' if op.keepsOutShape else ''})"
    elif "[]" in op.results:
        done = f"{'wrap' if op.results == 'Tensor[]' else 'wrapOneOrMore'}(a, {call})"
    elif op.numResults > 1 and op.fields:
        name = op.name if op.name.startswith("linalg_") else op.python
        done = f'wrap(a, {call}, "{name}", {{{", ".join(f"{chr(34)}{f}{chr(34)}" for f in op.fields)}}})'
    if op.kind == "Gather" or (op.kind == "Pointwise" and not op.attrs):
        into = "gatherOut" if op.kind == "Gather" else "applyOut"
        done = f"a.out() != nullptr ? {into}(a, OpCode::{op.code}, {{{operands}}}) : {done}"
    text = f"static constexpr ParamSpec params_{op.name}[] = {{{', '.join(specs)}}};\n"
    if set(op.forms) & set(TABLES):
        text += f"static PyObject* call_{op.name}(ParsedArgs& a) {{ {'needOne(a); ' * op.needsOne}return {done}; }}\n"
    inplace = {"inplace": written_in_place(op, own, operands), "inview": f"autograd::becomeView(a.tensor(0), {call});"}
    for form in inplace.keys() & op.forms:
        text += f"static PyObject* call_{op.name}_(ParsedArgs& a) {{\n  {inplace[form]}\n  return a.self();\n}}\n"
    return text


def bindings(records: Records) -> str:
    out = [HEAD, *(wrapper(records, op) for op in records.ops if op.visible)]
    tables: dict[str, list[str]] = {t: [] for t in TABLES.values()}
    for name, members in by_name(records.ops).items():
        for form, table in TABLES.items():
            if chosen := [o for o in members if form in o.forms]:
                out.append(overloads(f"sigs_{form}_{name}", name, chosen, form))
                entry = f"    {'method' if form == 'method' else 'function'}<sigs_{form}_{name}>"
                for n in names_of(chosen):
                    tables[table].append(f'{entry}("{n}", {literal(docstring(records, chosen, n, form))}),\n')
        if chosen := [o for o in members if {"inplace", "inview"} & set(o.forms)]:
            out.append(overloads(f"sigs_inplace_{name}", f"{name}_", chosen, "inplace"))
            places = [("method", n) for n in names_of(chosen)] + [("nn", name)] * any("nn" in o.forms for o in chosen)
            for form, n in places:
                text = literal(inplace_docstring(records, chosen, n, form))
                entry = f"    {'method' if form == 'method' else 'function'}<sigs_inplace_{name}>"
                tables[TABLES[form]].append(f'{entry}("{n}_", {text}),\n')
    for table, entries in tables.items():
        out.append(f"static PyMethodDef {table}[] = {{\n{''.join(entries)}    {{nullptr, nullptr, 0, nullptr}}}};\n")
    return "".join(out)


TESTED = "name python kind types samples reference domain forms aliases shapes accepts gives gradient raises".split()


def test_table(records: Records) -> str:
    rows = [
        {field: getattr(o, field) for field in TESTED}
        | {"params": [[p.name, p.taken.name, p.default] for p in o.params], "takes_out": any(map(o.takes_out, o.forms))}
        | {"differentiable": bool(o.derived or o.composite and o.differentiable) and o.rule != "refused"}
        for o in records.ops
    ]
    return json.dumps(rows, indent=1)
