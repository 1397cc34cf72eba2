"""`tandem.export` of functions on a GPU that use tensors on the CPU: those that they capture are state of the program,
those that they take are arguments that calls may have on either. What the program gives there is eager's bits there."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from c_program import CProgram
from devices import libraries
from gpu_here import MARKS
from same_bits import assert_same_bits

import tandem
from tandem import Tensor, nn
from tandem.export import Dim, Entry, entries, export, load, save, training_step

pytestmark = MARKS


class Holder(nn.Module):
    """Parameters on the GPU; a table, a number and a parameter on the CPU."""

    def __init__(self, use: Callable[[Holder, Tensor], object]) -> None:
        super().__init__()
        tandem.manual_seed(0)
        self.linear = nn.Linear(3, 3).cuda()
        self.register_buffer("table", tandem.arange(12.0).reshape(4, 3))
        self.scale, self.weight = tandem.tensor(0.5), nn.Parameter(tandem.tensor(3.0))
        self.use = use

    def forward(self, x: Tensor) -> object:
        return self.use(self, x)


USES: dict[str, Callable[[Holder, Tensor], object]] = {
    "copied": lambda m, x: m.linear(x) * m.table.cuda(),
    "number": lambda m, x: m.linear(x) * m.scale,
    "parameter": lambda m, x: m.linear(x) / m.weight,
    "product": lambda m, x: x @ m.table.to(x.device).t(),
    "rows": lambda m, x: x[:2] + m.table[2:].cuda(),
    "with gaps": lambda m, x: x[::2, ::2] + m.table[::2, ::2].cuda(),
    "transposed": lambda m, x: x.t() + m.table.t().to(x.device),
    "expanded": lambda m, x: x + m.table[0].expand(4, 3).to(x.device),
    "converted": lambda m, x: x.half() * m.table.to(x.device, tandem.float16),
    "type": lambda m, x: x.double() - m.table.type_as(x.double()),
    "twice": lambda m, x: x * m.table.cuda() + m.table[1].cuda() + m.scale,
    "results": lambda m, x: (m.table.cuda(), m.table.t().cuda(), x + 1),
    "handed on": lambda m, x: (m.table, x + m.table.cuda()),
    "written": lambda m, x: m.table.cuda().add_(x) * 2,
    "index": lambda m, x: x[tandem.tensor([1, 0])] + m.table[:2].cuda(),
    "filled": lambda m, x: x.clone().fill_(m.scale) + tandem.full_like(x, 2.0).copy_(m.table),
    "nothing": lambda m, x: tandem.cat([x, m.table[:0].cuda()]) + m.table[2:2].to(x.device, tandem.float64).sum(),
    "where": lambda m, x: tandem.where(x > 0, x, m.scale),
}


def each(value: object) -> list[Tensor]:
    return list(value) if isinstance(value, (tuple, list)) else [value]


def assert_bits(found: object, expected: object) -> None:
    for a, b in zip(each(found), each(expected), strict=True):
        assert a.shape == b.shape
        assert_same_bits(a.detach().cpu(), b.detach().cpu())


@pytest.fixture
def x() -> Tensor:
    return tandem.linspace(-1, 1, 12).reshape(4, 3).cuda()


@pytest.fixture
def file(tmp_path):
    return str(tmp_path / "program.tandem")


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_what_is_captured(x, file, use):
    model = Holder(use)
    want = each(model(x))
    table = model.table.clone()
    save(export(model, (x,)), file)
    assert model.table.is_cpu and tandem.equal(model.table, table)
    loaded = load(file, verify=True)
    for _ in range(2):
        results = each(loaded(x))
        assert_bits(results, want)
        assert all(r.is_cuda for r in results)
        for r in results:
            r.zero_()  # is no memory of the program's
    here = load(file, device="cpu")
    for a, b in zip(each(here(x.cpu())), want, strict=True):
        tandem.testing.assert_close(a, b.cpu().detach())
    module = loaded.module().cuda()
    assert all(t.is_cuda for t in module.state_dict().values())


def test_it_is_state_by_name(x, file):
    model = Holder(lambda m, x: x * m.table.cuda()[:, :3] + m.table[::2, 1].cuda().sum() + m.scale)
    save(export(model, (x,)), file)
    for device in ("cuda", "cpu"):
        loaded = load(file, device=device)
        for name, value in {**model.state_dict(), "scale": model.scale}.items():
            if name in loaded.state_dict:
                assert loaded.state_dict[name].device.type == device
                assert_bits(loaded.state_dict[name], value)
        assert {"table", "scale"} <= loaded.state_dict.keys()
        with pytest.raises(ValueError, match="no entry changes table: export the program again"):
            loaded.load_state_dict({"table": model.table * 2})
    assert_bits(load(file)(x), model(x))


def test_what_is_passed(x, file):
    """Calls may have it on the CPU, as the function had it, or on the GPU; others may not be mixed."""

    def f(x: Tensor, table: Tensor, scale: Tensor, y: Tensor) -> Tensor:
        return x * table.to(x.device) * scale + table[1:3].t().to(x.device).sum() - y

    table, scale, y = tandem.arange(12.0).reshape(4, 3), tandem.tensor(2.0), x * 2
    save(export(f, (x, table, scale, y)), file)
    loaded = load(file)
    for t in (table, -table, table.cuda(), table.t().contiguous().t()):
        for s in (scale, scale.cuda()):
            found = loaded(x, t, s, y)
            assert found.is_cuda
            assert_bits(found, f(x, t, s, y))
    assert loaded(x.cpu(), table, scale, y.cpu()).is_cpu
    with pytest.raises(TypeError, match="forward: y is on the CPU, and x on cuda:0: expected all of them on one"):
        loaded(x, table, scale, y.cpu())


def test_sizes_that_calls_choose(file):
    positions = tandem.arange(24.0).reshape(8, 3)

    def f(x: Tensor) -> Tensor:
        return (x + positions[: x.shape[0]].to(x.device)) * tandem.tensor(0.5)

    x = tandem.ones(4, 3, device="cuda")
    save(export(f, (x,), dynamic_shapes=({0: Dim("n", min=1, max=8)},)), file)
    loaded = load(file)
    for n in (1, 3, 8):
        x = tandem.randn(n, 3).cuda()
        assert_bits(loaded(x), f(x))


def test_a_training_step(file):
    """What is on the CPU and not trained goes with the step; what is trained is to be on the GPU."""
    model = Holder(lambda m, x: (m.linear(x + m.table.cuda()) * m.scale).square().mean())
    optimizer = tandem.optim.AdamW(model.linear.parameters(), lr=0.1)

    def step(x: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = model(x)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    x = tandem.linspace(-1, 1, 12).reshape(4, 3).cuda()
    save(training_step(step, (x,)), file)
    loaded = load(file)
    for _ in range(3):
        assert_bits(loaded(x), step(x))
    for name, value in model.linear.named_parameters():
        assert_bits(loaded.state_dict[f"linear.{name}"], value)


def test_entries_share_it(x):
    model = Holder(lambda m, x: x * m.table.cuda())
    program = entries(forward=Entry(model, (x,)), sum=Entry(lambda x: (x + model.table[0].cuda()).sum(), (x,)))
    assert [name for name in program.state_dict if "table" in name] == ["table"]
    assert_bits(program(x), model(x))
    assert_bits(program.run("sum", x), (x + model.table[0].cuda()).sum())


def test_the_c_functions(x, file):
    """Each argument is where its caller has it."""

    def f(x: Tensor, scale: Tensor, rows: Tensor) -> Tensor:
        return x * scale + rows.to(x.device)

    scale, rows = tandem.tensor(3.0), tandem.arange(12.0).reshape(4, 3)
    save(export(f, (x, scale, rows)), file)
    os.environ.setdefault("TANDEM_CUDA", str(libraries().parent / "python/tandem/libtandem_cuda.so"))
    program = CProgram(file, b"cuda")
    for given in ([x, scale, rows], [x, scale.cuda(), rows], [x.cpu(), scale, rows.cuda()]):
        for place in ("cuda", "cpu"):
            result = tandem.empty(4, 3, device=place)
            tandem.cuda.synchronize()
            program.run_on(given, [result], None, entry=0)
            program.check(program.library.tandem_wait(program.context))
            assert_bits(result, f(x, scale, rows))
    program.close()


def test_what_the_function_computes_there_is_refused(x):
    """A program is a plan of one device."""
    model = Holder(lambda m, x: x * (m.scale * 2))
    with pytest.raises(RuntimeError, match="cannot be saved: .*operations on several devices; move the tensors"):
        export(model, (x,))
    counted = Holder(lambda m, x: (m.scale.add_(1), x * 2)[1])
    with pytest.raises(RuntimeError, match="cannot be saved: .*operations on several devices"):
        export(counted, (x,))
