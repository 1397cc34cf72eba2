"""Writes the C++ that follows from the records: op codes, op table, operation functions, scalar bodies, derivatives."""

from __future__ import annotations

from collections.abc import Callable

from records import Call, Op, Param, RecordError, Records, uses

HEAD = "// Generated from the operation records (ir/ops). Do not edit.\n"


def rows(text: Callable[[Op], str]) -> Callable[[Records], str]:
    """A file of what `text` says of each operation, which may be nothing."""
    return lambda records: HEAD + "".join(text(op) for op in records.ops)


def flag(value: object) -> str:
    return str(bool(value)).lower()


def result_type(op: Op) -> str:
    if op.results in ("Tensor[]", "Tensor or Tensor[]"):
        return "std::vector<Tensor>"
    return f"std::array<Tensor, {op.numResults}>" if op.numResults > 1 else "Tensor"


def cpp_default(p: Param) -> str | None:
    if p.default is None:
        return None
    if p.type == "int[2]":
        return f"Dims(2, {p.default})"
    if p.type == "int[]" and p.default != "None":
        listed = p.default.strip("[]")
        return f"Dims{{{listed}}}" if p.default.startswith("[") else f"Dims(1, {listed})"
    if p.default == "None":
        return "nullptr" if p.type == "generator?" else "{}"
    return p.default.lower() if p.default in ("True", "False") else p.default.replace("'", '"')


def passed(op: Op) -> list[Param]:
    """The parameters that callers pass: not the generator's state, which the dispatcher supplies."""
    return op.params[2:] if op.draws else op.params


def declaration(op: Op, defaults: bool) -> str:
    parts, optional = [], defaults
    for p in reversed(passed(op)):
        optional = optional and p.default is not None
        parts.append(f"{p.facts.cpp} {p.name}_" + (f" = {cpp_default(p)}" if optional else ""))
    return f"{result_type(op)} {op.code}({', '.join(reversed(parts))})"


def op_code(records: Records) -> str:
    rows = "".join(f"  {op.code},\n" for op in records.ops if op.coded)
    return (
        f'{HEAD}#pragma once\n\n#include "runtime/base/op_code.h"\n\nnamespace tandem {{\n'
        f"enum class OpCode : std::uint16_t {{\n{rows}}};\n}}  // namespace tandem\n"
    )


def read_by(op: Op, i: int) -> set[str]:
    """The operands and results that the derivative of operand i reads. A rule says `name@i` for a value that only this
    derivative reads."""
    if op.rule:
        return {s.split("@")[0] for s in op.saves if "@" not in s or s.endswith(f"@{i}")}
    return uses(op.grads[i]) if i < len(op.grads) else set()


def operand_mask(op: Op, read: set[str], whole_lists: bool = False) -> int:
    """A bit an operand; with `whole_lists` all elements of a Tensor[] have one, from its place on."""
    mask = 0
    for i, p in enumerate(op.operands):
        if p.name in read:
            mask |= 0xFFFFFFFF << i & 0xFFFFFFFF if whole_lists and p.type == "Tensor[]" else 1 << i
    return mask


def result_mask(op: Op, read: set[str]) -> int:
    return sum(1 << i for i in range(op.numResults) if (f"out{i}" if i else "out") in read)


# Functions of codegen/math that are an instruction or two.
SHORT = set("abs add and_ cast eq ge gt le lt maximum minimum mul ne neg not_ or_ relu select square sub xor_".split())


def is_short(call: Call) -> bool:
    return call.fn in SHORT and all(is_short(a) for a in call.args if isinstance(a, Call))


def table_row(op: Op) -> str:
    if not op.coded:
        return ""
    each = [read_by(op, i) for i in range(4)]
    read = set().union(*(read_by(op, i) for i in range(len(op.grads))), (s.split("@")[0] for s in op.saves))
    index = any("index" in uses(b) for b in op.body)
    cheap = op.kind == "Pointwise" and op.body and all(is_short(b) for b in op.body)
    rule = "nullptr" if op.composite or op.kind == "View" else f"&rules::{op.shape}"
    return (
        f'{{OpCode::{op.code}, "{op.name}", OpKind::{op.kind}, DTypeRule::{op.types}, OpDomain::{op.domain}, '
        f"{op.numResults}, {flag(op.draws)}, {flag(index)}, {flag(op.grads or op.rule)}, {flag(cheap)}, "
        f"{flag(op.kind == 'Scatter')}, {flag(op.wideNumbers)}, OpPartial::{op.partial}, "
        f"OpFailure::{op.failure}, OpRole::{op.role}, {operand_mask(op, read, whole_lists=True)}u, "
        f"{result_mask(op, read)}u, {rule}, {{{', '.join(f'{operand_mask(op, r)}u' for r in each)}}}, "
        f"{{{', '.join(f'{result_mask(op, r)}u' for r in each)}}}}},\n"
    )


def batch_rule(op: Op) -> str:
    """How a library operation runs inside vmap, which word of its attributes is `dim`, and whether it may be None."""
    dim = next((i for i, p in enumerate(op.attrs) if p.name == "dim"), -1)
    optional = flag(dim >= 0 and op.attrs[dim].type == "int?")
    rule = f"case OpCode::{op.code}: return {{&batch_rules::{op.batching}, {dim}, {optional}}};\n"
    return rule if op.batching else ""


def ops_header(records: Records) -> str:
    lines = "".join(f"/// {op.summary}\n{declaration(op, True)};\n" for op in records.ops)
    return (
        f"{HEAD}#pragma once\n\n#include <array>\n#include <optional>\n#include <span>\n#include <string_view>\n"
        f'#include <vector>\n\n#include "eager/generator.h"\n#include "eager/tensor.h"\n\nnamespace tandem::ops {{\n'
        f"{lines}}}  // namespace tandem::ops\n"
    )


def written(op: Op, p: Param) -> str:
    """The value of an attribute, as the table has it."""
    if not p.facts.writer:
        raise RecordError(f"`{op.name}` is a primitive and cannot have an attribute of type {p.type}")
    if p.type in ("dim", "dims"):
        call = f'namedDims("{op.name}", ' if op.combine in ("Max", "Min") else "reductionDims("
        return f"{call}{op.params[0].name}_, {p.name}_)"
    if p.name == "dim" and op.library and op.params[0].type == "Tensor":
        wrap = f"wrapDim({'*' if p.type == 'int?' else ''}dim_, {op.params[0].name}_.dim())"
        return f"dim_ ? std::optional({wrap}) : std::nullopt" if p.type == "int?" else wrap
    return f"{p.name}_"


def primitive(op: Op) -> str:
    if op.kind in ("Composite", "View"):
        return ""
    own = [p for p in passed(op) if p.facts.operand]
    writes = "".join(f"  w.{p.facts.writer}({written(op, p)});\n" for p in op.attrs)
    if any(p.type == "Tensor[]" for p in own):
        head = "  std::vector<Operand> v;\n"
        each = {"Tensor[]": "  for (const Tensor& t : {0}_) v.push_back(t);\n"}
        head += "".join(each.get(p.type, "  v.push_back({0}_);\n").format(p.name) for p in own)
    else:
        listed = ", ".join(p.name + "_" for p in own)
        head = f"  const Operand v[] = {{{listed}}};\n" if own else "  const std::span<const Operand> v;\n"
    # No dims are all dims, but of `all` and `any`, which then tell of each element.
    if op.combine in ("All", "Any"):
        head = f"  if (dim_ && dim_->empty()) return flagsOf({op.params[0].name}_);\n{head}"
    head = f"{declaration(op, False)} {{\n{head}" + (f"  AttrWriter w;\n{writes}" if writes else "")
    v = f"std::span(v).first({len(own)} - !{own[-1].name}_.defined())" if own and own[-1].type == "Tensor?" else "v"
    call = f"(OpCode::{op.code}, {v}, {'w.span()' if writes else '{}'}"
    if op.numResults > 1:
        return f"{head}  std::array<Tensor, {op.numResults}> r;\n  applyMulti{call}, r);\n  return r;\n}}\n"
    return f"{head}  return apply{call});\n}}\n"


def body_expr(op: Op, node: Call | int | str) -> str:
    if isinstance(node, Call):
        return f"math::{node.fn}(b, {', '.join(body_expr(op, a) for a in node.args)})"
    if isinstance(node, int):
        return f"b.cst(v[0], {node})"
    if not node.startswith("$"):
        return f"b.cst(v[0], {float(node)!r})"
    special = {"$dtype": "dtype", "$type": "computeType(dtype)", "$index": f"v[{len(op.operands)}]"}
    return special.get(node) or f"v[{[p.name for p in op.operands].index(node[1:])}]"


def formula(op: Op, element: str, number: str) -> str:
    """A call of an update's formula: operands `v[i]` wrapped as elements of tensors or as numbers."""
    args = (element if p.type == "Tensor" else number for p in op.operands)
    return f"updates::{op.update}({', '.join(a.format(f'v[{i}]') for i, a in enumerate(args))})"


def body_case(op: Op) -> str:
    """A case of emitBody (codegen/scalar_bodies.h)."""
    exprs = [body_expr(op, d) for d in op.body]
    if op.update:
        call = formula(op, "math::element(b, {})", "math::number(b, {})")
        exprs = [f"{call}[static_cast<std::size_t>(result)].v"]
    if len(exprs) == 1:
        return f"    case OpCode::{op.code}: return {exprs[0]};\n"
    inner = "".join(f"        case {i}: return {e};\n" for i, e in enumerate(exprs))
    return f"    case OpCode::{op.code}:\n      switch (result) {{\n{inner}      }}\n      break;\n" if exprs else ""


def grad_expr(op: Op, node: Call | int | str) -> str:
    if isinstance(node, Call):
        args = [grad_expr(op, a) for a in node.args]
        return args[0] if node.fn == "identity" else f"ops::{node.fn}({', '.join(args)})"
    if isinstance(node, int):
        return str(node)
    if not node.startswith("$"):
        return "NAN" if node == "NAN" else repr(float(node)) if len(node) < 18 else node
    special = {"$g": "c.grad()", "$out": "c.output(0)"}
    for i, p in enumerate(op.operands):
        special["$" + p.name] = f"c.{'input' if p.type == 'Tensor' else 'operand'}({i})"
    if node not in special:
        raise RecordError(f"the derivative of `{op.name}` reads the attribute {node}; write a Rule")
    return special[node]


def has_steps(call: Call) -> bool:
    """Is a derivative more than one operation?"""
    return any(isinstance(a, Call) and a.fn != "identity" for a in call.args)


def derivatives(records: Records) -> str:
    fns, cases, steps = [], [], []
    for op in records.ops:
        if op.rule:
            cases.append(f"    case OpCode::{op.code}: return &rules::{op.rule};\n")
        elif op.grads:
            passed_on = [(i, grad_expr(op, g)) for i, g in enumerate(op.grads) if g.fn != "none"]
            lines = "".join(f"  if (c.needs({i})) c.set({i}, {text});\n" for i, text in passed_on)
            fns.append(f"void d_{op.name}(RuleContext&{' c' if lines else ''}) {{\n{lines}}}\n")
            cases.append(f"    case OpCode::{op.code}: return &d_{op.name};\n")
            if op.kind == "Pointwise" and any(has_steps(g) for g in op.grads):
                steps.append(f"    case OpCode::{op.code}:\n")
    return (
        f"{HEAD}{''.join(fns)}\nDerivativeFn derivativeOf(OpCode op) {{\n  switch (op) {{\n{''.join(cases)}"
        f"    default: return nullptr;\n  }}\n}}\n\n"
        f"bool derivativeHasSteps(OpCode op) {{\n  switch (op) {{\n{''.join(steps)}      return true;\n"
        f"    default: return false;\n  }}\n}}\n"
    )


op_table = rows(table_row)
op_names = rows(lambda op: f'"{op.name}",\n' if op.coded else "")
library_table = rows(lambda op: f'X({op.name}, {op.plain}, "{op.record.params}")\n' if op.library else "")
batch_rules = rows(batch_rule)
ops_source = rows(primitive)
bodies = rows(body_case)
combiners = rows(lambda op: f"  case OpCode::{op.code}: return Combine::{op.combine};\n" if op.combine else "")
# The formulas of the updates over tensors, for the steps that are differentiated.
over_tensors = "  case OpCode::{}: return values({});\n".format
updates = rows(lambda op: over_tensors(op.code, formula(op, "element({})", "number({})")) if op.update else "")
