"""Writes what Python sees of the records: bindings and the table that tests run on."""

from __future__ import annotations

import json
from dataclasses import replace

from cpp import HEAD
from docstrings import docstring, inplace_docstring, literal
from records import FACTORY, PARAM_TYPES, TENSOR_TYPES, Op, Param, RecordError, by_name, visible
from stubs import takes_out

TABLES = {"function": "kFunctions", "method": "kMethods"}
TABLES |= {form: f"k{form.capitalize()}Functions" for form in ("nn", "linalg", "special")}


def getter(i: int, p: Param) -> str:
    d = p.default
    no = d is None or d == "None"
    simple = {
        "Tensor": f"a.tensor({i})",
        "Tensor?": f"a.tensor({i})",
        "Tensor[]": f"a.tensors({i})",
        "Operand": f"a.operand({i})" if no else f"a.operand({i}, Scalar({d}))",
        "Operand?": f"optionalOperand(a, {i})",
        "Scalar": f"a.scalar({i})" if no else f"a.scalar({i}, Scalar({d}))",
        "Scalar?": f"a.optionalScalar({i})",
        "int": f"a.integer({i})" if no else f"a.integer({i}, {d})",
        "int?": f"a.optionalInteger({i})",
        "int[]": f"a.ints({i})" if no else "a.ints({}, {{{}}})".format(i, d.strip("[]")),
        "int[]?": f"a.optionalInts({i})",
        "int[2]": f"a.ints({i})" if no else f"a.ints({i}, {{{d}, {d}}})",
        "int[2]?": f"a.optionalInts({i})",
        "dims": f"a.optionalInts({i})",
        "bool": f"a.boolean({i})" if no else f"a.boolean({i}, {str(d == 'True').lower()})",
        "bool?": f"a.optionalBoolean({i})",
        "dtype": f"a.dtype({i}).value()",
        "dtype?": f"a.dtype({i})",
        "str": f"a.str({i})" if no else 'a.str({}, "{}")'.format(i, d.strip("'")),
        "str?": f"a.optionalStr({i})",
        "float": f"a.number({i})" if no else f"a.number({i}, {d})",
        "float?": f"a.optionalNumber({i})",
        "generator?": f"a.generator({i})",
    }
    return simple[p.type]


def spec(p: Param) -> str:
    optional = p.default is not None or p.type.endswith("?")
    return (
        f'{{"{p.name}", ParamType::{PARAM_TYPES[p.type].spec}, {str(optional).lower()}, {str(p.keyword_only).lower()}}}'
    )


def older_orders(op: Op, form: str) -> list[tuple[str, list[int]]]:
    """Name and places of the parameters for each order in which older programs give them; methods have the tensor in
    front."""
    names = [p.name for p in op.params]
    orders = []
    for k, text in enumerate(op.older):
        given = [name.strip() for name in text.split(",")]
        if unknown := set(given) - set(names):
            raise RecordError(f"{op.where}: `{op.name}` has no parameter {sorted(unknown)[0]}, which `older` names")
        if form != "function":
            given.sort(key=lambda name: name != names[0])
        orders.append((f"{op.name}_{form}_{k}", [names.index(name) for name in given]))
    return orders


def older_tables(op: Op, form: str) -> str:
    """What `rows` of older orders refer to."""
    text = ""
    for name, places in older_orders(op, form):
        specs = ", ".join(spec(replace(op.params[i], default=None, keyword_only=False)) for i in places)
        text += f"static constexpr ParamSpec older_{name}[] = {{{specs}}};\n"
        text += f"static constexpr std::uint8_t places_{name}[] = {{{', '.join(map(str, places))}}};\n"
    return text


def rows(name: str, chosen: list[Op], form: str) -> str:
    """The overloads of a name; those in older orders come last."""
    inplace = form == "inplace"

    def row(o: Op, params: str, places: str) -> str:
        call = f"call_{o.name}_" if inplace else f"call_{o.name}"
        out = str(takes_out(o) and not inplace).lower()
        autocast = "None" if inplace else o.mixedPrecision
        return f'{{"{name}", {params}, {call}, {out}, Autocast::{autocast}{places}}}, '

    text = "".join(row(o, f"params_{o.name}", "") for o in chosen)
    for o in chosen:
        for older, _ in older_orders(o, form):
            text += row(o, f"older_{older}", f", places_{older}")
    return text


def wrapper(op: Op) -> list[str]:
    """Parameter table and caller of one record, and those of its in-place form."""
    specs = [spec(p) for p in op.params]
    if op.factory:
        specs += [f'{{"{n}", ParamType::{t}, true, true}}' for n, t, *_ in FACTORY]
    call = f"ops::{op.code}({', '.join(getter(i, p) for i, p in enumerate(op.params))})"
    if op.factory or op.outSaysDType:
        call = call.replace("a.dtype(", "dtypeOfOut(a, ")
    if op.factory:
        done = f"wrapLeaf(a, {call}, a.boolean({len(op.params) + 2}){', true' if op.keepsOutShape else ''})"
    elif op.results == "Tensor[]":
        done = f"wrap({call})"
    elif op.results == "Tensor or Tensor[]":
        done = f"wrapOneOrMore({call})"
    elif op.numResults > 1:
        fields = ", ".join(f'"{f}"' for f in op.fields)
        name = op.name if op.name.startswith("linalg_") else op.python
        done = f'wrap(a, {call}, "{name}", {{{fields}}})' if op.fields else f"wrap(a, {call})"
    else:
        done = f"wrap(a, {call})"
    operands = ", ".join(getter(i, p) for i, p in enumerate(op.params))
    if op.kind == "Pointwise" and not op.attrs:
        done = f"a.out() != nullptr ? applyOut(a, OpCode::{op.code}, {{{operands}}}) : {done}"
    lines = [f"static constexpr ParamSpec params_{op.name}[] = {{{', '.join(specs)}}};\n"]
    if set(op.forms) & set(TABLES):
        lines.append(f"static PyObject* call_{op.name}(ParsedArgs& a) {{ return {done}; }}\n")
    if "inplace" in op.forms:
        if op.kind == "Pointwise":
            others = ", ".join(getter(i, p) for i, p in enumerate(op.params) if i > 0 and p.type in TENSOR_TYPES)
            check = f'refusePartialOverlap("{op.python}_", a.tensor(0), {{{others}}});\n  ' if others else ""
            body = f"{check}applyInto(a.tensor(0), OpCode::{op.code}, {{{operands}}});"
        else:
            last = "const LastStep last(a.tensor(0)); " if op.updates else ""
            tensors = any(p.type in TENSOR_TYPES or p.type.startswith("Tensor") for p in op.params[1:])
            check = "refuseShared(a, a.tensor(0));\n  " if tensors else ""
            repeats = "" if op.repeats == "Refused" else f", Repeats::{op.repeats}"
            for i, p in enumerate(op.params):
                if repeats and p.name == "accumulate":
                    repeats = f", {getter(i, p)} ? Repeats::Summed : Repeats::{op.repeats}"
            body = f'{check}ops::assignResult("{op.python}", a.tensor(0), [&] {{ {last}return {call}; }}{repeats});'
        lines.append(f"static PyObject* call_{op.name}_(ParsedArgs& a) {{\n  {body}\n  return a.self();\n}}\n")
    if "inview" in op.forms:
        lines.append(
            f"static PyObject* call_{op.name}_(ParsedArgs& a) {{\n"
            f"  autograd::becomeView(a.tensor(0), {call});\n  return a.self();\n}}\n"
        )
    return lines


def bindings(ops: list[Op]) -> str:
    out = [HEAD]
    for op in filter(visible, ops):
        out += wrapper(op)
    tables: dict[str, list[str]] = {t: [] for t in TABLES.values()}
    for name, members in by_name(ops).items():
        for form, table in TABLES.items():
            chosen = [o for o in members if form in o.forms]
            if not chosen:
                continue
            out += [older_tables(o, form) for o in chosen]
            out.append(f"static constexpr Signature sigs_{form}_{name}[] = {{{rows(name, chosen, form)}}};\n")
            names = [name] + sorted({a for o in chosen for a in o.aliases})
            kind = "method" if form == "method" else "function"
            tables[table] += [
                f'    {kind}<sigs_{form}_{name}>("{n}", {literal(docstring(chosen, n, form))}),\n' for n in names
            ]
        chosen = [o for o in members if "inplace" in o.forms or "inview" in o.forms]
        if chosen:
            out += [older_tables(o, "inplace") for o in chosen]
            overloads = rows(f"{name}_", chosen, "inplace")
            out.append(f"static constexpr Signature sigs_inplace_{name}[] = {{{overloads}}};\n")
            names = [name] + sorted({a for o in chosen for a in o.aliases})
            tables["kMethods"] += [
                f'    method<sigs_inplace_{name}>("{n}_", {literal(inplace_docstring(chosen, n, "method"))}),\n'
                for n in names
            ]
            if any("nn" in o.forms for o in chosen):
                doc = literal(inplace_docstring(chosen, name, "nn"))
                tables["kNnFunctions"].append(f'    function<sigs_inplace_{name}>("{name}_", {doc}),\n')
    for table, entries in tables.items():
        out.append(f"static PyMethodDef {table}[] = {{\n{''.join(entries)}    {{nullptr, nullptr, 0, nullptr}}}};\n")
    return "".join(out)


TESTED = ("name", "python", "kind", "types", "samples", "reference", "domain", "forms")
TESTED += ("aliases", "shapes", "accepts", "gives", "gradient", "raises")


def test_table(ops: list[Op]) -> str:
    rows = [
        {field: getattr(o, field) for field in TESTED}
        | {"params": [[p.name, p.type, p.default] for p in o.params]}
        | {"differentiable": bool(o.grads or o.rule or o.composite), "takes_out": takes_out(o)}
        for o in ops
    ]
    return json.dumps(rows, indent=1)
