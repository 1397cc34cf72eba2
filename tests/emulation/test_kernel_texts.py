"""Kernel texts under NVRTC itself, which needs no GPU: what the generator and the library write for operations compiles
for every architecture that is shipped, and neither elementwise kernels nor reductions across their operands spill
registers."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import devices
import pytest
import stand_ins

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
FEW = (
    "add mul exp erf gelu pow where softmax layer_norm sum prod amax var cumsum sort gather scatter_add index_add "
    "matmul conv2d max_pool2d rand dropout lgamma argmax scaled_dot_product_attention embedding_bag gcd matrix_exp "
    "linalg_cholesky linalg_svd chebyshev_polynomial_t upsample_to searchsorted nn_unfold nonzero_static cross_entropy "
    "index_put unique roll grid_sample multilabel_margin_loss"
).split()

# Kernels that small samples in one layout do not need: of few long rows and columns, which are cut into blocks, columns
# in the order of rows, for operands that lie across, stretches of a larger space, lists, and what is left to us where
# NVIDIA's libraries are not there.
KINDS = """
x = tandem.randn(1 << 17, device='cuda')
for t in (x, x.double(), x.half()):
    t.sum(), t.reshape(-1, 4).sum(0), t.reshape(-1, 64).softmax(0)
    y = t.reshape(512, 256)
    y.t().sum(1), y.t().softmax(1), y.t() * y[:256, :256].repeat(1, 2), y[::2, ::3] + 1, y.t().contiguous()
    y.t().amax(1), y.t().prod(1), (y > 0).t().all(1), y.reshape(32, 16, 256).permute(2, 0, 1)[:, :, :9].sum((1, 2))
def cut(v):
    a = (v[1:3].sin() * 2).sum() + v.square().sum()
    return tandem.autograd.grad(a, v)[0] * 2 + 1
tandem.compile(cut)(tandem.randn(8, 5, device='cuda', requires_grad=True))
tandem.compile(lambda y: (y.t().var(1), (y.t() * 2).sum(1) + y[0]))(y), tandem.randperm(5, device='cuda')
for dtype in (tandem.float32, tandem.float64, tandem.bfloat16):
    z = y.to(dtype)
    for f in (lambda z: z.t().softmax(1), lambda z: tandem.nn.functional.layer_norm(z.t(), (512,), z.view(-1)[:512]),
              lambda z: z.reshape(32, 16, 256).permute(0, 2, 1).log_softmax(2)):
        tandem.compile(f)(z)
for dtype in (tandem.float32, tandem.float64, tandem.bfloat16, tandem.bool):
    z, w = (y > 0).to(dtype), (y > 1).reshape(256, 512).to(dtype)
    z.logical_xor(w.t()), tandem.where(z > 0, z, w.t()), tandem.empty_like(w).t().copy_(z)
    tandem.compile(lambda z, w: ((z.float() * w.t() + 1).exp().sin(), z == w.t()))(z, w)
for dtype in (tandem.float32, tandem.bfloat16):
    w = [tandem.ones(9, device='cuda', dtype=dtype, requires_grad=True) for _ in range(3)]
    for p in w:
        p.grad = tandem.ones_like(p)
    for kind in 'SGD Adam NAdam RAdam Adadelta'.split():
        getattr(tandem.optim, kind)(w, lr=0.1).step()
    tandem.nn.utils.clip_grad_norm_(w, 1.0), tandem._C._any_infinite([p.grad for p in w])
tandem.igamma(x[:4] ** 2, x[:4] ** 2)
unit = tandem.eye(3, device='cuda')
tandem.linalg.lu_factor(unit), tandem.linalg.qr(unit), tandem.linalg.cholesky(unit), tandem.linalg.solve(unit, unit)
tandem.nn.functional.cross_entropy(y[:4, :4].float(), tandem.arange(4, device='cuda'))
for dtype in (tandem.float32, tandem.bfloat16):
    w = tandem.randn(2, 2, 3, 3, device='cuda', dtype=dtype, requires_grad=True)
    tandem.nn.functional.conv2d(w, w).sum().backward()
    w[0, 0] @ w[0, 1]
    h = tandem.randn(1, 1, 4, 8, device='cuda', dtype=dtype, requires_grad=True)
    tandem.nn.functional.scaled_dot_product_attention(h, h, h).sum().backward()
tandem.cuda.synchronize()
"""
GENERATED = re.compile(r"^// (?:trailing )?(?:row|column|partial|short|list)\d(?: over \d)?(?=\()", re.MULTILINE)


def nvrtc() -> str | None:
    """The library of the wheel nvidia-cuda-nvrtc, or of the system."""
    for folder in map(Path, sys.path):
        for found in sorted(folder.glob("nvidia/*/lib/libnvrtc.so.*")):
            return str(found)
    return None


OPERATIONS = """
import itertools, sys, tandem
from operations import VISIBLE, Typed, dtypes
from references import UNSPECIFIED
from samples import samples
from devices import all_there, emulate
emulate()
for name in sys.argv[1:] or VISIBLE:
    op = VISIBLE[name]
    if name in UNSPECIFIED:
        continue
    for dtype in dtypes(op):
        for sample in itertools.islice(samples(op, dtype), 2):
            row = Typed.of(op, sample, dtype, 'contiguous')
            moved = all_there((row.args, row.kwargs), tandem.device('cuda'))
            if row.tensors:
                Typed(op, *moved, dtype, 'contiguous').run()
q = tandem.randn(1, 2, 8, 16, device='cuda').half()  # cuDNN takes it
tandem.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True).sum().item()
for a in (tandem.eye(3, device='cuda'), tandem.ones(2, 3, 3, device='cuda'), tandem.ones(2, 40, 3, device='cuda')):
    tandem.linalg.svd(a), tandem.linalg.eigh(a[..., :3, :])
tandem.cuda.synchronize()
"""


def texts(folder: Path, names: list[str]) -> list[Path]:
    """What the table's operations of these names, and the kinds, have compiled on the emulated device, in processes of
    their own."""
    alone = {"TANDEM_CUBLASLT": "", "TANDEM_CUDNN": "", "TANDEM_CUSOLVER": ""}
    stand_ins.dumped(folder, OPERATIONS, *names)
    return stand_ins.dumped(folder, "import tandem\n" + KINDS, **alone)


def kind_of(file: Path) -> str:
    """`row1`, `trailing column0`, and whether operands are framed; of a library's text its name."""
    text = file.read_text()
    head = GENERATED.search(text)
    if head is None:
        return file.name.partition(".")[0]
    line = text[head.start() :].partition("\n")[0]
    return head.group()[3:] + (", framed" if ":framed" in line else "")


def by_kind(files: list[Path]) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for file in files:
        found.setdefault(kind_of(file), []).append(file)
    return found


def compile_all(files: list[Path], architectures: tuple[str, ...]) -> None:
    """Of texts that spill registers with the bounds that are tried first, those without any must not."""
    library = nvrtc()
    assert library is not None
    compiler = stand_ins.Compiler(library)
    for file in files:
        text = file.read_text()
        for architecture in architectures:
            options = ["--ftz=false", "--prec-div=true", "--prec-sqrt=true", "--ptxas-options=-v"]
            for tried in (text, re.sub(r"(__launch_bounds__\(\d+), \d+\)", r"\1, 1)", text)):
                compiler.compile(tried, *options, name=file.name, architecture=architecture)
                spills = [int(n) for n in re.findall(r"(\d+) bytes spill", compiler.log)]
                if not any(spills):
                    break
            head = GENERATED.search(text)
            elementwise = head is not None and " reduce " not in text[head.start() :].partition("\n")[0]
            must_not = elementwise or "// trailing column" in text or "// short" in text
            assert not (must_not and any(spills)), f"{file.name} for {architecture} spills:\n{compiler.log}"


def test_texts_are_such_as_every_nvrtc_takes():
    """That of CUDA 13.0 takes a generic lambda for a function of the host; later ones, which the test below may find,
    do not."""
    for path in [*(stand_ins.ROOT / "runtime/lib").rglob("*.cu"), *(stand_ins.ROOT / "codegen/cuda").glob("*.cu")]:
        assert not re.search(r"\]\s*\([^()]*\bauto\b", path.read_text()), path


needed = pytest.mark.skipif(nvrtc() is None, reason="the wheel nvidia-cuda-nvrtc is not installed")


@needed
def test_texts_of_some_operations(tmp_path):
    """Some of each kind of generated kernel and of each text of the library."""
    kinds = by_kind(texts(tmp_path, FEW))
    written = {path.stem for path in (stand_ins.ROOT / "runtime/lib/cuda").glob("*.cu")} - {
        "common",
        "combine",
        "matrices",
    }
    assert written <= kinds.keys() and len(kinds["row0"]) > 80
    generated = {"row0", "row1", "row2", "column0", "column1", "partial1", "row0, framed"}
    assert generated | {"trailing column0", "trailing column0 over 2", "short1", "short2"} <= kinds.keys()
    for k, (kind, files) in enumerate(sorted(kinds.items())):
        if kind in written:
            compile_all(files[:1], ARCHITECTURES[k % 3 :][:1])
        else:
            compile_all(files[:: -(-len(files) // 3)], ARCHITECTURES)


STEP = """
import tandem
w = [tandem.ones(300000, device='cuda', requires_grad=True) for _ in range(2)]
for p in w:
    p.grad = tandem.ones_like(p)
step = tandem.optim.AdamW(w).step
step(), tandem.compile(lambda: step())()
tandem.cuda.synchronize()
"""


@needed
def test_steps_of_optimizers_move_vectors(tmp_path):
    """Their powers of rates, some 300 statements in float64, are computed once in a block and not counted for each
    element; three blocks at least are active on a multiprocessor of 65,536 registers."""
    files = [file for file in stand_ins.dumped(tmp_path, STEP) if "adam_update" in file.read_text()]
    assert len(files) >= 2
    compiler = stand_ins.Compiler(nvrtc())
    for file in files:
        text = file.read_text()
        head = GENERATED.search(text)
        operands = text[head.start() :].partition("\n")[0].count(":unit")
        assert len(re.findall(r"^ +(?:load|store)<4>\(", text, re.MULTILINE)) == operands
        assert "if (threadIdx.x == 0) {" in text
        compiler.compile(text, "--ptxas-options=-v", name=file.name)
        assert int(re.search(r"Used (\d+) registers", compiler.log)[1]) <= 80


@needed
@pytest.mark.skipif(not devices.SLOW, reason="slow: run with TANDEM_SLOW=1")
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_texts_of_all_operations(tmp_path, architecture):
    compile_all(texts(tmp_path, []), (architecture,))
