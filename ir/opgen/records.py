"""Reads the operation records: llvm-tblgen's JSON to Python objects, with every check that makes the build fail."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import tempfile
import textwrap
from dataclasses import dataclass, field
from typing import NamedTuple


class ParamType(NamedTuple):
    """What a type that records name is elsewhere."""

    cpp: str  # a parameter of a C++ operation function
    spec: str  # how the Python bindings parse it
    stub: str  # its annotation in the stubs


TENSOR_TYPES = ("Tensor", "Tensor?", "Tensor[]", "Operand", "Operand?", "Scalar")
PARAM_TYPES = {
    "Tensor": ParamType("const Tensor&", "Tensor", "Tensor"),
    "Tensor?": ParamType("const Tensor&", "OptionalTensor", "Tensor | None"),
    "Tensor[]": ParamType("std::span<const Tensor>", "TensorList", "Sequence[Tensor]"),
    "Operand": ParamType("const Operand&", "Operand", "Tensor | Number"),
    "Scalar": ParamType("Scalar", "Scalar", "Number"),
    "Operand?": ParamType("const std::optional<Operand>&", "Operand", "Tensor | Number | None"),
    "int": ParamType("std::int64_t", "Int", "_int"),
    "int?": ParamType("std::optional<std::int64_t>", "OptionalInt", "_int | None"),
    "int[]": ParamType("DimsRef", "IntList", "Sequence[_int] | _int"),
    "int[]?": ParamType("const std::optional<Dims>&", "OptionalIntList", "_int | Sequence[_int] | None"),
    "int[2]": ParamType("DimsRef", "IntList2", "_int | Sequence[_int]"),
    "int[2]?": ParamType("const std::optional<Dims>&", "IntList2", "_int | Sequence[_int] | None"),
    "bool": ParamType("bool", "Bool", "_bool"),
    "bool?": ParamType("std::optional<bool>", "OptionalBool", "_bool | None"),
    "dtype": ParamType("DType", "OptionalDType", "_dtype"),
    "dtype?": ParamType("std::optional<DType>", "OptionalDType", "_dtype | None"),
    "dims": ParamType("const std::optional<Dims>&", "OptionalIntList", "_int | Sequence[_int] | None"),
    "str": ParamType("std::string_view", "Str", "_str"),
    "str?": ParamType("std::optional<std::string_view>", "OptionalStr", "_str | None"),
    "float": ParamType("double", "Float", "_float"),
    "float?": ParamType("std::optional<double>", "OptionalFloat", "_float | None"),
    "Scalar?": ParamType("std::optional<Scalar>", "OptionalScalar", "Number | None"),
    "generator?": ParamType("Generator*", "Generator", "_Generator | None"),
}


class FactoryKeyword(NamedTuple):
    name: str
    spec: str
    stub: str
    default: str


# What factories take beside the parameters of their record; `memory_format` only those that have a tensor to look at.
FACTORY = (
    FactoryKeyword("layout", "Any", "Any", "None"),
    FactoryKeyword("device", "Device", "_Device", "None"),
    FactoryKeyword("requires_grad", "Bool", "_bool", "False"),
    FactoryKeyword("pin_memory", "Any", "_bool", "False"),
    FactoryKeyword("memory_format", "Any", "Any", "None"),
)


class RecordError(Exception):
    pass


@dataclass
class Param:
    name: str
    type: str
    default: str | None
    keyword_only: bool


@dataclass
class Call:
    """A dag: a call of `fn`. Arguments are nested calls, parameter names (`$x` as "$x"), ints or literals (str)."""

    fn: str
    args: list


@dataclass
class Op:
    name: str
    kind: str
    params: list[Param]
    record: dict
    where: str
    body: list[Call] = field(default_factory=list)
    grads: list[Call] | None = None
    has_derivative: bool = False
    # What users read of it.
    example: str = ""
    inplace_example: str = ""
    shapes: str = ""
    accepts: str = ""
    gives: str = ""
    raises: list[tuple[str, str, str]] = field(default_factory=list)
    gradient: bool = True

    def __getattr__(self, key: str):
        try:
            return self.record[key]
        except KeyError:
            raise AttributeError(key) from None

    @property
    def composite(self) -> bool:
        return self.kind == "Composite"

    @property
    def coded(self) -> bool:
        """Has an op code: is a node of traces or tapes."""
        return not self.composite or bool(self.rule)

    @property
    def operands(self) -> list[Param]:
        """The parameters that are operands of a primitive, in order."""
        return [p for p in self.params if p.type in TENSOR_TYPES]

    @property
    def attrs(self) -> list[Param]:
        return [p for p in self.params if p.type not in TENSOR_TYPES]

    @property
    def code(self) -> str:
        """The enumerator: the name, kept out of the way of C++ keywords."""
        return self.name + "_" if self.name in ("and", "or", "not", "xor") else self.name


def parse_params(text: str, where: str) -> list[Param]:
    params, keyword_only = [], False
    for part in filter(None, (p.strip() for p in re.split(r",(?![^\[]*\])", text))):
        if part == "*":
            keyword_only = True
            continue
        m = re.fullmatch(r"(\S+) (\w+)(?:=(.+))?", part)
        if not m or m[1] not in PARAM_TYPES:
            raise RecordError(f"{where}: cannot read the parameter `{part}`")
        params.append(Param(m[2], m[1], m[3], keyword_only))
    return params


def parse_dag(d: dict) -> Call:
    args: list = []
    for value, name in d["args"]:
        if value is None:
            args.append("$" + name)
        elif isinstance(value, dict):
            args.append(parse_dag(value))
        else:
            args.append(value)
    return Call(d["operator"]["def"], args)


@dataclass
class ByHand:
    """The docstring of a binding that is written by hand."""

    owner: str  # function, method, property
    name: str
    params: str
    text: str


def functions_called(folder: pathlib.Path) -> set[str]:
    """The names that dags in the records of `folder` call."""
    called: set[str] = set()
    for path in folder.glob("*.td"):
        text = re.sub(r"\[\{.*?\}\]|//[^\n]*|\"[^\"\n]*\"", "", path.read_text(), flags=re.S)
        called |= set(re.findall(r"\(([a-z]\w*)(?=[ )])", text))
    return called


def dump(tblgen: str, path: str) -> dict:
    """All records as llvm-tblgen's JSON. Names that dags call must be declared before they are called."""
    records = pathlib.Path(path)
    with tempfile.TemporaryDirectory() as made:
        names = ", ".join(f'"{name}"' for name in sorted(functions_called(records.parent / "ops")))
        (pathlib.Path(made) / "functions.td").write_text(f'foreach n = [{names}] in def ""#n : Fn;\n')
        command = [tblgen, "--dump-json", "-I", str(records.parent), "-I", made, path]
        out = subprocess.run(command, capture_output=True, text=True)
    if out.returncode:
        raise RecordError(out.stderr)
    return json.loads(out.stdout)


def load(tblgen: str, path: str) -> tuple[list[Op], list[ByHand]]:
    data = dump(tblgen, path)
    ops: dict[str, Op] = {}
    for name in data["!instanceof"]["Op"]:
        r = data[name]
        where = r["!locs"][0]
        if r["name"] in ops:
            raise RecordError(f"{where}: a second record of `{r['name']}`")
        op = Op(r["name"], r["kind"], parse_params(r["params"], where), r, where)
        op.body = [parse_dag(d) for d in r["body"]]
        op.has_derivative = bool(r["derivative"] or r["rule"] or not (r["differentiable"] or op.composite))
        if op.has_derivative:
            op.grads = [parse_dag(d) for d in r["derivative"]]
        read_documentation(op, data)
        ops[op.name] = op
    for op in ops.values():
        check(op)
    found = [data[name] for name in data["!instanceof"].get("ByHand", [])]
    by_hand = [ByHand(d["owner"], d["name"], d["params"], d["text"].strip("\n")) for d in found]
    return sorted(ops.values(), key=lambda o: o.name), sorted(by_hand, key=lambda b: (b.owner, b.name))


# By kind or dtype rule; the record may say otherwise.
GIVES = {"Compare": "Bool", "Logical": "Bool", "Select": "Promote", "Index": "Int64"}


def read_documentation(op: Op, data: dict) -> None:
    """What users read of an operation: from its kind and rules, and from what its record says beside them."""
    if op.kind in ("Pointwise", "Random", "Creation"):
        op.shapes = "Broadcast" if len(op.operands) > 1 else "Same"
    elif op.kind == "Reduction":
        op.shapes = "Reduced"
    if op.types not in ("Rule", "Raw", "Explicit"):
        op.accepts, op.gives = op.domain, GIVES.get(op.types, op.types)
    record = op.record
    op.shapes = record["shapes"] or op.shapes
    op.accepts = record["accepts"] or op.accepts
    op.gives = record["gives"] or op.gives
    op.example = textwrap.dedent(record["example"]).strip("\n")
    op.inplace_example = textwrap.dedent(record["inPlaceExample"]).strip("\n")
    for r in (data[raised["def"]] for raised in record["raises"]):
        op.raises.append((r["error"], r["when"], r["provocation"]))
    op.gradient = (
        bool(record["differentiable"] and op.operands) and not op.factory and op.gives not in ("Bool", "Int64")
    )
    op.gradient &= op.accepts not in ("Integer", "Integral") and (op.composite or bool(op.grads or op.rule))


def check(op: Op) -> None:
    def bad(what: str):
        raise RecordError(f"{op.where}: `{op.name}` {what}")

    if not op.summary:
        bad("has no summary")
    if not op.samples:
        bad("has no samples")
    if visible(op):
        for what, known in (
            ("example", op.example),
            ("statement of shapes", op.shapes),
            ("statement of dtypes", op.gives),
        ):
            if not known:
                bad(f"has no {what} (`example`, `shapes`, `accepts` and `gives` in its record)")
    if op.numResults > 8:
        bad("has more results than ir/schema/op_table.h allows")
    if op.kind in ("Pointwise", "Random", "Creation") and not op.update and len(op.body) != op.numResults:
        bad(f"has {len(op.body)} bodies for {op.numResults} results")
    if op.kind == "Reduction" and op.combine not in ("Sum", "Prod", "Max", "Min", "Any", "All"):
        bad("has no combiner")
    if op.kind == "Library" and not op.shape:
        bad("has no shape rule")
    if op.update and (op.body or op.has_derivative):
        bad("is an update: its bodies are its formula, and it has no derivative")
    if not op.composite and not op.update and not op.has_derivative:
        bad("has no derivative statement (`derivative`, `rule` or `differentiable = 0`)")
    if op.composite and op.has_derivative and not op.rule:
        bad("is composite: its derivative follows from what it is made of, or is a `rule` for the whole")
    if op.grads and (op.rule or not op.differentiable):
        bad("has a derivative and a rule, or one though it is not differentiable")
    if op.batching and op.kind != "Library":
        bad("is no library operation: its batching follows from its kind")
    if op.grads and len(op.grads) != len(op.operands):
        bad(f"has {len(op.grads)} derivatives for {len(op.operands)} operands")
    names = {p.name for p in op.params} | {"index", "type"}
    for call in op.body:
        check_names(op, call, names, bad)
    for call in op.grads or []:
        check_names(op, call, names | {"g", "out"}, bad)


def check_names(op: Op, call: Call, names: set[str], bad) -> None:
    for a in call.args:
        if isinstance(a, Call):
            check_names(op, a, names, bad)
        elif isinstance(a, str) and a.startswith("$") and a[1:] not in names:
            bad(f"uses the unknown name {a}")


def uses(call: Call) -> set[str]:
    """The `$names` a dag reads."""
    found: set[str] = set()
    for a in call.args:
        if isinstance(a, Call):
            found |= uses(a)
        elif isinstance(a, str) and a.startswith("$"):
            found.add(a[1:])
    return found


def visible(op: Op) -> bool:
    return "hidden" not in op.forms


def plainness(op: Op) -> tuple[int, str]:
    """Forms of one name are tried in this order: those with fewer parameters first."""
    return len(op.params), op.name


def by_name(ops: list[Op]) -> dict[str, list[Op]]:
    """The visible records of each Python name, in the order of names."""
    groups: dict[str, list[Op]] = {}
    for op in sorted(filter(visible, ops), key=lambda o: (o.python, *plainness(o))):
        groups.setdefault(op.python, []).append(op)
    return groups
