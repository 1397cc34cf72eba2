"""Docstrings of operations: every name has a signature, shapes, dtypes, errors and an example, and the examples run."""

from __future__ import annotations

import doctest
import inspect
import types

import numpy as np
import pytest
from operations import OWNERS, VISIBLE, Typed
from samples import samples

import tandem

OWNED = {owner.__name__ if inspect.ismodule(owner) else "tandem.Tensor": owner for _, owner in OWNERS}
FROM_RECORDS = {n + ending for op in VISIBLE.values() for n in (op.python, *op.aliases) for ending in ("", "_")}


def bound_in(owner: object) -> dict[str, object]:
    """The public names of an owner that are bound in C++, from records or by hand."""
    kinds = (types.BuiltinFunctionType, types.MethodDescriptorType, types.GetSetDescriptorType)
    return {n: f for n, f in vars(owner).items() if isinstance(f, kinds) and not n.startswith("_")}


def examples_of(documented: dict[str, object]) -> list[doctest.DocTest]:
    """One test for each different session among the docstrings."""
    parser, known, tests = doctest.DocTestParser(), set(), []
    for name, f in documented.items():
        found = parser.get_examples(f.__doc__)
        key = tuple((e.source, e.want) for e in found)
        if found and key not in known:
            known.add(key)
            names = {"tandem": tandem, "F": tandem.nn.functional}
            tests.append(doctest.DocTest(found, names, name, None, 0, f.__doc__))
    return tests


def run(tests: list[doctest.DocTest]) -> None:
    said: list[str] = []
    runner = doctest.DocTestRunner(verbose=False)
    for test in tests:
        tandem.manual_seed(0)
        runner.run(test, out=said.append)
    assert not runner.failures, "".join(said)


@pytest.mark.parametrize("owner", OWNED)
def test_examples(owner):
    tests = examples_of(bound_in(OWNED[owner]))
    assert tests
    run(tests)


@pytest.mark.parametrize("owner", OWNED)
def test_every_name_is_described(owner):
    lacking = {}
    for name, f in bound_in(OWNED[owner]).items():
        parts = [">>> "] + (["Shapes: ", "Dtypes: ", "Raises: "] if name in FROM_RECORDS else [])
        missing = [part for part in parts if part not in (f.__doc__ or "")]
        if not isinstance(f, types.GetSetDescriptorType) and not f.__text_signature__:
            missing.append("signature")
        if missing:
            lacking[name] = missing
    assert lacking == {}


def test_lines_fit_a_page():
    for owner in OWNED.values():
        for name, f in bound_in(owner).items():
            for line in f.__doc__.split("\n"):
                assert len(line) <= 120 and "\\n" not in line, f"{name}: {line}"


@pytest.mark.parametrize("name", VISIBLE)
def test_signatures_bind_what_calls_take(name):
    op = VISIBLE[name]
    signature = inspect.signature(op.call)
    if len([o for o in VISIBLE.values() if (o.python, o.call) == (op.python, op.call)]) > 1:
        pytest.skip("several forms: each is listed with its own names")
    variadic = [p.name for p in signature.parameters.values() if p.kind is p.VAR_POSITIONAL]
    rows = [(args, kwargs) for dtype in ("float32", "int64") for args, kwargs in samples(op, dtype)]
    for args, kwargs in rows:
        signature.bind(*args, **{k: v for k, v in kwargs.items() if k not in variadic})


@pytest.mark.parametrize("owner", OWNED)
def test_signatures_name_keywords(owner):
    """What a signature names can be given by that name."""
    self = (tandem.ones(2),) if OWNED[owner] is tandem.Tensor else ()
    for name, f in bound_in(OWNED[owner]).items():
        if isinstance(f, types.GetSetDescriptorType):
            continue
        for p in inspect.signature(f).parameters.values():
            if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
                try:
                    f(*self, **{p.name: object()})
                except Exception as e:
                    assert "keyword" not in str(e), f"{name}({p.name}=): {e}"


def test_help_shows_signatures():
    assert str(inspect.signature(tandem.sum)) == "(input, dim=None, keepdim=False, *, dtype=None, out=None)"
    assert str(inspect.signature(tandem.Tensor.sum)) == "(self, /, dim=None, keepdim=False, *, dtype=None)"
    assert str(inspect.signature(tandem.Tensor.permute)) == "(self, /, *dims)"
    assert str(inspect.signature(tandem.permute)) == "(input, dims)"
    assert str(inspect.signature(tandem.add)) == "(input, other, *, alpha=1, out=None)"
    assert str(inspect.signature(tandem.max)) == "(input, dim=None, keepdim=False, *, other=None, out=None)"
    assert str(inspect.signature(tandem.tensor_split)) == "(input, sections, dim=0)"
    assert inspect.signature(tandem.arange).parameters["step"].default == 1
    assert tandem.sum.__doc__.startswith("Sum over `dim`")
    assert str(inspect.signature(tandem.Tensor.uniform_)) == "(self, /, from_=0.0, to=1.0, *, generator=None)"
    assert tandem.zeros(2).uniform_(from_=2.0, to=2.0).tolist() == [2.0, 2.0]


def test_sessions_print_what_they_say_in_lazy_mode():
    """The same text comes out where operations are recorded."""
    doc = tandem.cumsum.__doc__
    with tandem.lazy():
        run([doctest.DocTestParser().get_doctest(doc, {"tandem": tandem}, "cumsum", None, 0)])


# ---- what the docstrings state, provoked ----------------------------------------------------------------------------

DTYPES = ("float32", "float64", "bfloat16", "float16", "int64", "int32", "int16", "uint8", "bool")
ACCEPTED = {
    "Any": DTYPES,
    "Number": DTYPES[:-1],
    "Floating": DTYPES[:4],
    "FloatingOrInt64": DTYPES[:5],
    "Wide": DTYPES[:2],
    "Integer": DTYPES[4:-1],
    "Integral": DTYPES[4:],
}
FIXED = {"Bool": "bool", "Int64": "int64", "Float64": "float64"}


def stated_result(op, dtype: str) -> str | None:
    """The dtype of the first result for operands of `dtype`; None where words say it."""
    floating = dtype in DTYPES[:4]
    if op.gives in ("First", "FirstAndIndices", "Promote"):
        return dtype
    if op.gives in ("Float", "Sum"):
        return dtype if floating else "float32" if op.gives == "Float" else "int64"
    return FIXED.get(op.gives)


def typed(op, dtype: str) -> list[Typed]:
    """Samples whose tensors are all of the dtype, without numbers and without `dtype=`."""
    rows = [Typed.of(op, s, dtype, "contiguous") for s in samples(op, dtype)]
    types_of = dict(zip((p[0] for p in op.params), (p[1] for p in op.params)))
    plain = []
    for row in rows:
        given = dict(zip(types_of, row.args)) | row.kwargs
        numbers = [v for n, v in given.items() if types_of.get(n, "").rstrip("?") in ("Operand", "Scalar")]
        if row.tensors and all(str(t.dtype) == f"tandem.{dtype}" for t in row.tensors) and "dtype" not in given:
            plain += [] if any(not isinstance(v, tandem.Tensor) and v is not None for v in numbers) else [row]
    # Numbers that stand for themselves where none is given make bool an int64.
    return [] if dtype == "bool" and "Scalar" in types_of.values() else plain


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", VISIBLE)
def test_stated_dtypes(name):
    op = VISIBLE[name]
    for dtype in DTYPES:
        outcomes = []
        for row in typed(op, dtype)[:6]:
            try:
                outcomes.append(str(row.run()[0].dtype).removeprefix("tandem."))
            except (RuntimeError, ValueError):
                outcomes.append("refused")
        if op.kind == "Reduction" and op.types == "Logical" and dtype == "uint8":
            assert set(outcomes) == {"uint8"}
        elif name == "hardtanh" and dtype == "uint8":
            assert "refused" in outcomes  # the lower limit is -1
        elif dtype not in ACCEPTED[op.accepts]:
            assert not outcomes or "refused" in outcomes, f"{dtype} is taken"
        elif want := stated_result(op, dtype):
            assert set(outcomes) <= {want}, dtype


@pytest.mark.parametrize("name", VISIBLE)
def test_stated_shapes(name):
    op = VISIBLE[name]
    if op.shapes not in ("Same", "Broadcast", "Scalar", "Reduced"):
        return
    for sample in samples(op, "int64" if op.accepts in ("Integer", "Integral") else "float32"):
        row = Typed.of(op, sample, "float32" if op.accepts not in ("Integer", "Integral") else "int64", "contiguous")
        shapes = [tuple(t.shape) for t in row.tensors]
        got = tuple(row.run()[0].shape)
        if op.shapes == "Same":
            assert got == shapes[0]
        elif op.shapes == "Broadcast":
            assert got == np.broadcast_shapes(*shapes)
        elif op.shapes == "Scalar":
            assert got == ()
        else:
            names = [p[0] for p in op.params]
            given = dict(zip(names, row.args)) | row.kwargs
            default = next(p[2] for p in op.params if p[0] == "dim")
            dim = given.get("dim", int(default) if default not in (None, "None") else None)
            rank = len(shapes[0])
            dims = range(rank) if dim is None or dim in ((), []) else [dim] if isinstance(dim, int) else dim
            gone = {d % max(rank, 1) for d in dims}
            keep = given.get("keepdim", False)
            assert got == tuple(1 if i in gone else n for i, n in enumerate(shapes[0]) if keep or i not in gone)


def passes_on(results, tensors):
    """Is a gradient passed on that is not zero everywhere? None where it is. No where asking for one is an error."""
    try:
        for r in results:
            if r.requires_grad:
                r.sum().backward(retain_graph=True)
    except RuntimeError as e:
        return False if "is not implemented" in str(e) else True
    return any(r.requires_grad for r in results) and (any(t.grad is not None and t.grad.any() for t in tensors) or None)


@pytest.mark.parametrize("name", VISIBLE)
def test_stated_gradients(name):
    op = VISIBLE[name]
    floats = [r for s in samples(op, "float32") for r in [Typed.of(op, s, "float32", "contiguous")]]
    outcomes = set()
    for row in floats if op.accepts not in ("Integer", "Integral") else []:
        tensors = [t.detach().clone().requires_grad_() if t.is_floating_point() else t for t in row.tensors]
        if any(t.requires_grad for t in tensors):
            outcomes.add(passes_on(row.run(tensors), tensors))
    outcomes.discard(None)
    if outcomes:
        assert (True in outcomes) == op.gradient


def test_stated_errors():
    """Each error that a record names is raised by what it says provokes it."""
    missed = []
    for op in VISIBLE.values():
        for error, when, provocation in op.raises:
            kinds = {"RuntimeError": RuntimeError, "IndexError": IndexError, "ValueError": ValueError}
            try:
                eval(provocation, {"tandem": tandem, "F": tandem.nn.functional})
                missed.append((op.name, when))
            except kinds[error]:
                pass
    assert missed == []


@pytest.mark.parametrize("name", VISIBLE)
def test_stated_errors_of_dims_and_shapes(name):
    op = VISIBLE[name]
    names = [p[0] for p in op.params]
    dtype = "int64" if op.accepts in ("Integer", "Integral") else "float32"
    rows = [Typed.of(op, s, dtype, "contiguous") for s in samples(op, dtype)]
    doc = op.call.__doc__ or ""
    for row in rows[:3]:
        given = dict(zip(names, row.args)) | row.kwargs
        if "`dim` is out of range" in doc and "dim" in given and row.tensors[0].dim() > 0:
            far = (*given["dim"][:-1], 7) if isinstance(given["dim"], (tuple, list)) else 7
            with pytest.raises(IndexError):
                op.call(**(given | {"dim": far}))
        if op.shapes == "Broadcast" and len(row.tensors) > 1:
            with pytest.raises(RuntimeError):
                row.run([tandem.ones(2 + i, 7 + i).to(t.dtype) for i, t in enumerate(row.tensors)])
    if not inspect.isfunction(op.call):
        with pytest.raises(TypeError):
            op.call(*[object() for _ in op.params])


IN_PLACE = [name for name, op in VISIBLE.items() if "inplace" in op.forms]


@pytest.mark.parametrize("name", IN_PLACE)
def test_stated_errors_in_place(name):
    op = VISIBLE[name]
    dtype = "int64" if op.accepts in ("Integer", "Integral") else "float32"
    rows = [Typed.of(op, s, dtype, "contiguous") for s in samples(op, dtype)]
    method = getattr(tandem.Tensor, op.python + "_")
    for row in [r for r in rows if isinstance(r.args[0], tandem.Tensor) and r.args[0].is_floating_point()][:3]:
        with pytest.raises(RuntimeError, match="leaf|shape"):
            method(row.args[0].clone().requires_grad_(), *row.args[1:], **row.kwargs)
    if op.shapes == "Broadcast" and len([p for p in op.params if p[1] in ("Tensor", "Operand")]) == 2:
        with pytest.raises(RuntimeError):
            method(tandem.ones(2, 1).to(getattr(tandem, dtype)), tandem.ones(2, 3).to(getattr(tandem, dtype)))
