"""`tandem.jit.trace`, `save` and `load`, and names of torch.export."""

from __future__ import annotations

import copy
import io

import pytest
from conftest import assert_same_bits

import tandem
from tandem import nn


@pytest.fixture
def model():
    tandem.manual_seed(3)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).eval()


@pytest.mark.parametrize("examples", [lambda x: x, lambda x: (x,), lambda x: [x]])
def test_trace(model, tmp_path, examples):
    x = tandem.randn(2, 3)
    traced = tandem.jit.trace(model, examples(x))
    expected = model(x).detach()
    tandem.jit.save(traced, tmp_path / "a.pt")
    traced.save(tmp_path / "b.pt")
    file = io.BytesIO()
    tandem.jit.save(traced, file)
    file.seek(0)
    for again in (traced, *map(tandem.jit.load, (tmp_path / "a.pt", str(tmp_path / "b.pt"), file))):
        assert isinstance(again, nn.Module)
        result = again.eval()(x)
        assert_same_bits(result, expected)
        assert not result.requires_grad
        for name, value in model.state_dict().items():
            assert_same_bits(again.state_dict()[name], value)


def test_arguments(tmp_path):
    def f(x, *, scale):
        return x * scale

    x = tandem.ones(2)
    traced = tandem.jit.trace(f, (x,), check_trace=False, strict=False, example_kwarg_inputs={"scale": x})
    assert traced(x, scale=x * 3).tolist() == [3, 3]
    assert tandem.jit.trace(lambda: x * 2)().tolist() == [2, 2]
    assert tandem.jit.trace(f, example_kwarg_inputs={"x": x, "scale": x})(x=x, scale=x).tolist() == [1, 1]
    program = tandem.export.export(tandem.relu, (x,), notes={"labels": "cat dog"})
    tandem.jit.save(program, tmp_path / "p.pt")
    extra = {"labels": "", "absent": None}
    tandem.jit.load(tmp_path / "p.pt", tandem.device("cpu"), extra)
    assert extra == {"labels": "cat dog", "absent": ""}


def test_extra_files(tmp_path):
    x = tandem.ones(2)
    secret, public = tandem.export.generate_key()
    path = tmp_path / "p.pt"
    tandem.export.export(tandem.relu, (x,), notes={"license": "CC0", "labels": "cat"}).save(path)
    tandem.export.sign(path, secret)
    signed = tandem.export.load(path, require_signature=public)
    for save in (
        lambda f: tandem.export.save(
            signed, f, extra_files={"labels": b"cat dog", "more": "\u00e4"}, pickle_protocol=2
        ),
        lambda f: tandem.jit.save(signed.module(), f, {"labels": "cat dog", "more": "\u00e4"}),
    ):
        file = io.BytesIO()
        save(file)
        file.seek(0)
        found = {"license": "", "labels": "", "absent": ""}
        program = tandem.export.load(file, extra_files=found, expected_opset_version=None)
        assert found == {"license": "CC0", "labels": "cat dog", "absent": ""}
        assert program.notes == {"license": "CC0", "labels": "cat dog", "more": "\u00e4"}
        assert program(-x).tolist() == [0, 0]
        file.seek(0)
        with pytest.raises(ValueError, match="not signed"):  # what was signed had other notes
            tandem.export.load(file, require_signature=public)


def test_names_of_exported_programs():
    """What scripts for PyTorch's ExportedProgram read."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.table = nn.BatchNorm1d(3), tandem.ones(3)

        def forward(self, x, *, y):
            return {"out": self.norm(x) + y * self.table}

    n = tandem.export.Dim("n", min=2, max=4)
    x = tandem.rand(3, 3)
    program = tandem.export.export(
        Model(), (x,), {"y": x}, dynamic_shapes={"x": {0: n}, "y": {0: n}}, strict=False,
        preserve_module_call_signature=(), prefer_deferred_runtime_asserts_over_guards=True,
    )  # fmt: skip
    signature = program.graph_signature
    assert isinstance(signature, tandem.export.ExportGraphSignature)
    assert signature.user_inputs == ("x", "y") and signature.user_outputs == ("out",)
    assert signature.inputs_to_parameters == {"norm.weight": "norm.weight", "norm.bias": "norm.bias"}
    buffers = {f"norm.{name}" for name in ("running_mean", "running_var", "num_batches_tracked")}
    assert signature.inputs_to_buffers.keys() == signature.buffers_to_mutate.keys() == buffers
    assert signature.lifted_tensor_constants == ("table",) and list(program.constants) == ["table"]
    assert program.range_constraints == {"n": (2, 4)}
    assert program.module().graph == program.graph
    assert program.run_decompositions() is program and program.validate() is None
    for use, message in (
        (lambda: program.run_decompositions({"op": None}), "decomp_table"),
        (lambda: program.graph_module, "graph_module: .*`graph`"),
        (lambda: program.example_inputs, "example_inputs"),
        (lambda: tandem.export.draft_export(Model(), (x,)), "export.draft_export is not part of"),
        (lambda: tandem.export.ShapesCollection(), "export.ShapesCollection is not part of"),
    ):
        with pytest.raises(NotImplementedError, match=message):
            use()
    with pytest.raises(TypeError, match="expected an ExportedProgram, got Model"):
        tandem.export.save(Model(), io.BytesIO())
    with pytest.raises(TypeError, match="expected a path or an open binary file, got int"):
        tandem.export.load(5)


def test_scripted_modules_are_known_and_saved_whole(model, tmp_path):
    assert not isinstance(model, tandem.jit.ScriptModule)
    scripted = tandem.jit.script(model)
    assert scripted is model and isinstance(copy.deepcopy(scripted), tandem.jit.ScriptModule)
    x = tandem.ones(2, 3)
    assert isinstance(tandem.jit.trace(model, x), tandem.jit.ScriptModule)
    file = io.BytesIO()
    for to in (tmp_path / "a.pt", file):
        tandem.jit.save(scripted, to, _extra_files={"note": "kept"})
        if to is file:
            file.seek(0)
        notes = {"note": "", "other": ""}
        back = tandem.jit.load(to, _extra_files=notes)
        assert isinstance(back, tandem.jit.ScriptModule) and type(back) is type(model)
        assert notes == {"note": "kept", "other": ""}
        assert tandem.equal(back.eval()(x), model.eval()(x)) and back(x).requires_grad


def test_refused(model, tmp_path):
    x = tandem.ones(2, 3)
    with pytest.raises(tandem.DataReadError, match=r"test_jit.py:\d+"):
        tandem.jit.trace(lambda x: x if x.sum() > 0 else -x, x)
    traced = tandem.jit.trace(model, x)
    with pytest.raises(ValueError, match=r"expected input to be float32 \[2, 3\], got float32 \[4, 3\]"):
        traced(tandem.ones(4, 3))
    with pytest.raises(TypeError, match=r"expected what jit.trace, jit.script .* gave, got Sequential: trace it"):
        tandem.jit.save(model, tmp_path / "a.pt")
    for extra, message in (({"labels": 5}, "labels: expected a text, got int"), ({"a": b"\xff"}, "a is no text")):
        with pytest.raises((TypeError, ValueError), match=message):
            tandem.jit.save(traced, tmp_path / "a.pt", extra)
    traced.save(tmp_path / "a.pt")
    with pytest.raises(NotImplementedError, match="runs on the CPU or on a GPU, not on meta"):
        tandem.jit.load(tmp_path / "a.pt", "meta")
    assert tandem.export.export(model, (x,), dynamic_shapes=None, strict=False).entries == ["forward"]
