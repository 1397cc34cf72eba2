"""Writes the C++ that follows from the records: op codes, op table, operation functions, scalar bodies, derivatives."""

from __future__ import annotations

from dataclasses import replace

from records import PARAM_TYPES, Call, Op, Param, RecordError, uses

HEAD = "// Generated from the operation records (ir/ops). Do not edit.\n"
WRITERS = {
    "int": "integer",
    "int[]": "list",
    "int[2]": "list",
    "bool": "boolean",
    "dtype": "dtype",
    "dtype?": "optionalDType",
    "int?": "optionalInteger",
    "dims": "list",
}


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
    if p.default in ("True", "False"):
        return p.default.lower()
    return p.default.replace("'", '"')


def declaration(op: Op, defaults: bool) -> str:
    tail = len(op.params)
    while tail > 0 and cpp_default(op.params[tail - 1]) is not None:
        tail -= 1
    parts = []
    for i, p in enumerate(op.params):
        text = f"{PARAM_TYPES[p.type].cpp} {p.name}_"
        parts.append(text + (f" = {cpp_default(p)}" if defaults and i >= tail else ""))
    return f"{result_type(op)} {op.code}({', '.join(parts)})"


def op_code(ops: list[Op]) -> str:
    rows = "".join(f"  {op.code},\n" for op in ops if op.coded)
    return (
        f'{HEAD}#pragma once\n\n#include "runtime/base/op_code.h"\n\nnamespace tandem {{\n'
        f"enum class OpCode : std::uint16_t {{\n{rows}}};\n}}  // namespace tandem\n"
    )


def result_mask(op: Op, read: set[str]) -> int:
    return sum(1 << i for i in range(op.numResults) if (f"out{i}" if i else "out") in read)


def saves(op: Op) -> tuple[int, int]:
    read = {s.split("@")[0] for s in op.saves}
    for g in op.grads or []:
        read |= uses(g)
    inputs = sum(1 << i for i, p in enumerate(op.operands) if p.name in read)
    # The elements of a Tensor[] are operands from its place on, as many as there are.
    for i, p in enumerate(op.operands):
        if p.type == "Tensor[]" and p.name in read:
            inputs |= (0xFFFFFFFF << i) & 0xFFFFFFFF
    return inputs, result_mask(op, read)


def reads_for(op: Op) -> tuple[list[int], list[int]]:
    """For each of the first four operands, the operands and the results that its own derivative reads, as masks. A rule
    says `name@i` for a value that only the derivative of operand i reads."""
    names = [p.name for p in op.operands]
    operands, results = [], []
    for i in range(4):
        if op.rule:
            read = {s.split("@")[0] for s in op.saves if "@" not in s or s.endswith(f"@{i}")}
        else:
            read = uses(op.grads[i]) if op.grads and i < len(op.grads) else set()
        operands.append(sum(1 << k for k, n in enumerate(names) if n in read))
        results.append(result_mask(op, read))
    return operands, results


def masks(values: list[int]) -> str:
    return f"{{{', '.join(f'{m}u' for m in values)}}}"


def meta_rule(op: Op) -> str:
    if op.kind in ("View", "Composite"):
        return "nullptr"
    by_kind = {"Pointwise": "pointwise", "Reduction": "reduction", "Random": "creation", "Creation": "creation"}
    return "&rules::" + (op.shape or by_kind[op.kind])


# Functions of codegen/math that are an instruction or two.
SHORT = set("abs add and_ cast eq ge gt le lt maximum minimum mul ne neg not_ or_ relu select square sub xor_".split())


def is_short(call: Call) -> bool:
    return call.fn in SHORT and all(is_short(a) for a in call.args if isinstance(a, Call))


def op_table(ops: list[Op]) -> str:
    rows = []
    for op in ops:
        if not op.coded:
            continue
        ins, outs = saves(op)
        differentiable = bool(op.grads or op.rule)
        index = any("index" in uses(b) for b in op.body)
        operands, results = reads_for(op)
        cheap = op.kind == "Pointwise" and bool(op.body) and all(is_short(b) for b in op.body)
        random = any(p.name == "seed" for p in op.params[:1])
        rows.append(
            f'{{OpCode::{op.code}, "{op.name}", OpKind::{op.kind}, DTypeRule::{op.types}, OpDomain::{op.domain}, '
            f"{op.numResults}, {str(random).lower()}, {str(index).lower()}, {str(differentiable).lower()}, "
            f"{str(cheap).lower()}, {str(bool(op.updates)).lower()}, {str(bool(op.wideNumbers)).lower()}, "
            f"OpPartial::{op.partial}, {ins}u, {outs}u, {meta_rule(op)}, "
            f"{masks(operands)}, {masks(results)}}},\n"
        )
    return HEAD + "".join(rows)


def library_table(ops: list[Op]) -> str:
    return HEAD + "".join(f"X({op.name}, {op.function})\n" for op in ops if op.kind == "Library")


def batch_rules(ops: list[Op]) -> str:
    """How library operations run inside vmap, which word of their attributes is `dim`, and whether it may be None."""
    rows = []
    for op in ops:
        if op.batching:
            names = [p.name for p in op.attrs]
            dim = names.index("dim") if "dim" in names else -1
            optional = str(dim >= 0 and op.attrs[dim].type == "int?").lower()
            rows.append(f"case OpCode::{op.code}: return {{&batch_rules::{op.batching}, {dim}, {optional}}};\n")
    return HEAD + "".join(rows)


def ops_header(ops: list[Op]) -> str:
    lines = []
    for op in ops:
        lines.append(f"/// {op.summary}\n{declaration(op, True)};\n")
    return (
        f"{HEAD}#pragma once\n\n#include <array>\n#include <optional>\n#include <span>\n#include <string_view>\n"
        f'#include <vector>\n\n#include "eager/generator.h"\n#include "eager/tensor.h"\n\nnamespace tandem::ops {{\n'
        f"{''.join(lines)}}}  // namespace tandem::ops\n"
    )


def primitive_body(op: Op) -> str:
    writes = ""
    for p in op.attrs:
        if p.type not in WRITERS:
            raise RecordError(f"{op.where}: `{op.name}` is a primitive and cannot have an attribute of type {p.type}")
        value = f"{p.name}_"
        if p.type == "dims":
            value = f"reductionDims({op.params[0].name}_, {p.name}_)"
        elif p.name == "dim" and op.kind == "Library" and op.params[0].type == "Tensor":
            wrap = f"wrapDim({'*' if p.type == 'int?' else ''}dim_, {op.params[0].name}_.dim())"
            value = f"dim_ ? std::optional({wrap}) : std::nullopt" if p.type == "int?" else wrap
        writes += f"  w.{WRITERS[p.type]}({value});\n"
    variadic = any(p.type == "Tensor[]" for p in op.operands)
    if variadic:
        fill = "  std::vector<Operand> v;\n"
        for p in op.operands:
            fill += (
                f"  for (const Tensor& t : {p.name}_) v.push_back(t);\n"
                if p.type == "Tensor[]"
                else f"  v.push_back({p.name}_);\n"
            )
        operands = "v"
    else:
        # The generator's state is supplied by the dispatcher.
        own = without_state(op).operands
        fill = (
            f"  const Operand v[] = {{{', '.join(p.name + '_' for p in own)}}};\n"
            if own
            else "  const std::span<const Operand> v;\n"
        )
        operands = "v"
    attrs = "w.span()" if writes else "{}"
    # No dims are all dims, but of `all` and `any`, which then tell of each element.
    if op.combine in ("All", "Any"):
        fill = f"  if (dim_ && dim_->empty()) return to({op.params[0].name}_, DType::Bool);\n{fill}"
    head = fill + (f"  AttrWriter w;\n{writes}" if writes else "")
    if op.numResults > 1:
        return (
            f"{head}  std::array<Tensor, {op.numResults}> r;\n"
            f"  applyMulti(OpCode::{op.code}, {operands}, {attrs}, r);\n  return r;\n"
        )
    return f"{head}  return apply(OpCode::{op.code}, {operands}, {attrs});\n"


def without_state(op: Op) -> Op:
    """Callers of random operations do not pass the generator's state."""
    return replace(op, params=op.params[2:]) if op.params and op.params[0].name == "seed" else op


def ops_source(ops: list[Op]) -> str:
    out = []
    for op in ops:
        if op.kind not in ("Composite", "View"):
            body = primitive_body(op)
            out.append(f"{declaration(without_state(op), False)} {{\n{body}}}\n")
    return HEAD + "".join(out)


def body_expr(op: Op, node) -> str:
    if isinstance(node, Call):
        return f"math::{node.fn}(b, {', '.join(body_expr(op, a) for a in node.args)})"
    if isinstance(node, int):
        return f"b.cst(v[0], {node})"
    if not node.startswith("$"):
        return f"b.cst(v[0], {float(node)!r})"
    if node == "$type":
        return "type"
    if node == "$index":
        return f"v[{len(op.operands)}]"
    return f"v[{[p.name for p in op.operands].index(node[1:])}]"


def formula(op: Op, element: str, number: str) -> str:
    """A call of an update's formula: operands `v[i]` wrapped as elements of tensors or as numbers."""
    args = (element if p.type == "Tensor" else number for p in op.operands)
    return f"updates::{op.update}({', '.join(a.format(f'v[{i}]') for i, a in enumerate(args))})"


def updates(ops: list[Op]) -> str:
    """The formulas of the updates over tensors, for the steps that are differentiated."""
    cases = ""
    for op in ops:
        if op.update:
            cases += f"  case OpCode::{op.code}: return values({formula(op, 'element({})', 'number({})')});\n"
    return f"{HEAD}{cases}"


def bodies(ops: list[Op]) -> str:
    cases, reduces = [], []
    for op in ops:
        if op.kind == "Reduction":
            reduces.append(f"    case OpCode::{op.code}: return ReduceKind::{op.combine};\n")
        if op.update:
            cases.append(
                f"    case OpCode::{op.code}: return {formula(op, 'math::element(b, {})', 'math::number(b, {})')}"
            )
            cases.append("[static_cast<std::size_t>(result)].v;\n")
        if not op.body:
            continue
        if len(op.body) == 1:
            cases.append(f"    case OpCode::{op.code}: return {body_expr(op, op.body[0])};\n")
        else:
            inner = "".join(f"        case {i}: return {body_expr(op, d)};\n" for i, d in enumerate(op.body))
            cases.append(f"    case OpCode::{op.code}:\n      switch (result) {{\n{inner}      }}\n      break;\n")
    return (
        f'{HEAD}#pragma once\n\n#include <span>\n\n#include "codegen/math/math.h"\n#include "ir/schema/op_code.h"\n'
        f'#include "runtime/base/error.h"\n\nnamespace tandem {{\n\n'
        f"/// Result `result` of a pointwise operation on `v`, its operands in the record's order (and the index).\n"
        f"/// `type` is the dtype computed in.\n"
        f"template <class B>\ntypename B::V emitBody(B& b, OpCode op, [[maybe_unused]] int result, "
        f"[[maybe_unused]] DType type,\n                       std::span<const typename B::V> v) {{\n  switch (op) {{\n"
        f"{''.join(cases)}    default: break;\n  }}\n"
        f'  fail<InternalError>("operation ", static_cast<int>(op), " has no scalar body");\n}}\n\n'
        f"enum class ReduceKind {{ Sum, Prod, Max, Min, Any, All }};\n"
        f"inline ReduceKind reduceKind(OpCode op) {{\n  switch (op) {{\n{''.join(reduces)}    default: break;\n  }}\n"
        f'  fail<InternalError>("operation ", static_cast<int>(op), " is no reduction");\n}}\n\n'
        f"}}  // namespace tandem\n"
    )


def grad_expr(op: Op, node) -> str:
    if isinstance(node, Call):
        if node.fn == "identity":
            return grad_expr(op, node.args[0])
        return f"ops::{node.fn}({', '.join(grad_expr(op, a) for a in node.args)})"
    if isinstance(node, int):
        return str(node)
    if not node.startswith("$"):
        return "NAN" if node == "NAN" else repr(float(node)) if len(node) < 18 else node
    if node == "$g":
        return "c.grad()"
    if node == "$out":
        return "c.output(0)"
    names = [p.name for p in op.operands]
    if node[1:] in names:
        i = names.index(node[1:])
        return f"c.{'input' if op.operands[i].type == 'Tensor' else 'operand'}({i})"
    raise RecordError(f"{op.where}: the derivative of `{op.name}` reads the attribute {node}; write a Rule")


def has_steps(node) -> bool:
    """Is a derivative more than one operation?"""
    return isinstance(node, Call) and any(isinstance(a, Call) and a.fn != "identity" for a in node.args)


def derivatives(ops: list[Op]) -> str:
    fns, cases, steps = [], [], []
    for op in ops:
        if op.rule:
            cases.append(f"    case OpCode::{op.code}: return &rules::{op.rule};\n")
        elif op.grads:
            lines = ""
            for i, g in enumerate(op.grads):
                if g.fn != "none":
                    lines += f"  if (c.needs({i})) c.set({i}, {grad_expr(op, g)});\n"
            name = " c" if lines else ""
            fns.append(f"void d_{op.name}(RuleContext&{name}) {{\n{lines}}}\n")
            cases.append(f"    case OpCode::{op.code}: return &d_{op.name};\n")
            if op.kind == "Pointwise" and any(has_steps(g) for g in op.grads):
                steps.append(f"    case OpCode::{op.code}:\n")
    return (
        f"{HEAD}{''.join(fns)}\nDerivativeFn derivativeOf(OpCode op) {{\n  switch (op) {{\n{''.join(cases)}"
        f"    default: return nullptr;\n  }}\n}}\n\n"
        f"bool derivativeHasSteps(OpCode op) {{\n  switch (op) {{\n{''.join(steps)}      return true;\n"
        f"    default: return false;\n  }}\n}}\n"
    )
