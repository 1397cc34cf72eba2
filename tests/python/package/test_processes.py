"""Threads, forked children and several processes: the same bits, one cache, no hang."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import assert_same_bits

import tandem
from tandem import nn

PROGRAM = """
import hashlib, sys
import tandem
tandem.manual_seed(0)
x = tandem.randn(70, 900)
w = tandem.randn(900, 40)
q = tandem.randn(2, 3, 37, 16)
results = [tandem.tanh(x * 2 + 1), x.sum(0), x.sum(1), tandem.softmax(x, -1), x @ w, x.double() @ w.double(),
           (x.double() ** 3).mean(), tandem.nn.functional.scaled_dot_product_attention(q, q, q),
           tandem.compile(lambda x: tandem.nn.functional.gelu(x).amax(1) - x[:, 0])(x)]
digest = hashlib.sha256(b"".join(r.numpy().tobytes() for r in results)).hexdigest()
print(digest, tandem.counters()["kernel_compiles"], tandem.counters()["kernel_cache_hits"])
"""


def start(cache: Path, program: str = PROGRAM, **environment: str) -> subprocess.Popen:
    """A process with a kernel cache of its own."""
    env = {**os.environ, "TANDEM_CACHE_DIR": str(cache), **environment}
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(Path(tandem.__file__).parents[1]), env.get("PYTHONPATH")]))
    return subprocess.Popen(
        [sys.executable, "-c", program], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(process: subprocess.Popen) -> tuple[str, int]:
    """The digest that the program printed, and how many kernels it compiled."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    digest, compiles, _ = out.split()
    return digest, int(compiles)


def entries(cache: Path) -> list[Path]:
    return sorted(p for p in cache.rglob("*") if p.is_file())


# ---- the kernel cache on disk ---------------------------------------------------------------------------------------


def test_a_second_process_finds_the_kernels(tmp_path):
    first, compiled = finish(start(tmp_path))
    again, compiled_again = finish(start(tmp_path))
    assert first == again and compiled_again == 0
    assert compiled == 0 or entries(tmp_path), "compiled kernels are kept"


def test_two_processes_fill_one_cache(tmp_path):
    results = [finish(p) for p in [start(tmp_path) for _ in range(3)]]
    assert len({digest for digest, _ in results}) == 1
    assert finish(start(tmp_path)) == (results[0][0], 0)
    assert not [p for p in entries(tmp_path) if p.suffix != ".o"], "a temporary file was left behind"


@pytest.mark.parametrize("damage", ["truncated", "emptied", "flipped", "header", "longer", "foreign"])
def test_damaged_entries_are_ignored_and_rewritten(tmp_path, damage):
    digest, compiled = finish(start(tmp_path))
    files = entries(tmp_path)
    if not files:
        pytest.skip("every kernel of the program was shipped with the build")
    whole = {f: f.read_bytes() for f in files}
    for i, f in enumerate(files):
        data = bytearray(whole[f])
        if damage == "flipped":
            data[len(data) // 2 + i] ^= 0x40
        elif damage == "header":
            data[10] ^= 1
        f.write_bytes(
            {
                "truncated": bytes(data[: len(data) // 2]),
                "emptied": b"",
                "longer": bytes(data) + b"more",
                "foreign": b"#!/bin/sh\necho no\n" * 40,
            }.get(damage, bytes(data))
        )
    assert finish(start(tmp_path)) == (digest, compiled)
    assert {f: f.read_bytes() for f in files} == whole
    assert finish(start(tmp_path)) == (digest, 0)


def test_a_cache_that_cannot_be_written(tmp_path):
    folder = tmp_path / "cache"
    folder.write_text("a file where the folder should be")
    digest, _ = finish(start(folder))
    assert finish(start(tmp_path / "other"))[0] == digest
    assert finish(start(tmp_path / "off", TANDEM_CACHE="off"))[0] == digest
    assert not (tmp_path / "off").exists()


# ---- fork -----------------------------------------------------------------------------------------------------------

FORK = """
import os, signal, sys
import tandem
from tandem import nn
tandem.set_num_threads(3)
def work():
    tandem.manual_seed(1)
    x = tandem.randn(300, 700, requires_grad=True)
    y = tandem.compile(lambda x: nn.functional.softmax(x @ x.t(), -1).sum(0))(x)
    y.square().sum().backward()
    return x.grad.sum(0).numpy().tobytes()
expected = work()
for _ in range(3):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        status = 1
        try:
            same = work() == expected
            grandchild = os.fork()
            if grandchild == 0:
                os._exit(0 if work() == expected else 1)
            status = 0 if same and os.waitpid(grandchild, 0)[1] == 0 else 1
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert work() == expected
print("same 0 0")
"""


def test_fork_after_compute(tmp_path):
    assert finish(start(tmp_path, FORK))[0] == "same"


def test_multiprocessing_children_compute(tmp_path):
    program = """
import multiprocessing
import tandem
def work(n):
    return tandem.randn(200, 200, generator=tandem.Generator().manual_seed(n)).matmul(tandem.ones(200, 3)).sum().item()
if __name__ == "__main__":
    expected = [work(n) for n in range(4)]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(work, range(4)) == expected
    print("same 0 0")
"""
    assert finish(start(tmp_path, program))[0] == "same"


# ---- threads --------------------------------------------------------------------------------------------------------


def programs():
    """Large enough to be cut into tiles: pointwise, every shape of reduction, rows, products, convolution, sorting."""
    tandem.manual_seed(3)
    x, y = tandem.randn(513, 1021), tandem.randn(1021, 130)
    long = tandem.randn(1_000_003)
    image, kernel = tandem.randn(6, 8, 40, 41), tandem.randn(10, 8, 3, 3)
    w = x.clone().requires_grad_()
    loss = nn.functional.cross_entropy(tandem.tanh(w @ y), tandem.randint(0, 130, (513,)))
    (g,) = tandem.autograd.grad(loss, w)
    return [
        tandem.tanh(x * 1.5 + x.t().contiguous().t()),
        x.sum(),
        x.sum(0),
        x.sum(1),
        x.t().sum(0),
        long.sum(),
        long[::3].mean(),
        x.double().var(1),
        tandem.softmax(x, -1),
        tandem.softmax(x, 0),
        nn.functional.layer_norm(x, (1021,)),
        x.amax(0),
        x.argmax(1),
        x @ y,
        (x.double() @ y.double()),
        x.bfloat16() @ y.bfloat16(),
        nn.functional.conv2d(image, kernel, padding=1),
        nn.functional.max_pool2d(image, 3, 2),
        x.cumsum(1),
        x.sort(1).values,
        x.index_select(1, tandem.randint(0, 1021, (77,))),
        tandem.rand(513, 700),
        tandem.randn(100_001),
        loss.detach(),
        g,
        tandem.zeros(50).index_add(0, tandem.randint(0, 50, (100_000,)), tandem.randn(100_000)),
    ]


def test_any_number_of_threads_gives_the_same_bits():
    results = {}
    for threads in (1, 2, 3):
        tandem.set_num_threads(threads)
        assert tandem.get_num_threads() == threads
        results[threads] = programs()
        with tandem.lazy():
            results[threads, "lazy"] = programs()
    for key, got in results.items():
        for i, (a, b) in enumerate(zip(got, results[1], strict=True)):
            try:
                assert_same_bits(a, b)
            except AssertionError as e:
                raise AssertionError(f"result {i}, {key}: {e}") from None


def test_python_threads_compute_side_by_side():
    import threading

    expected = [t.clone() for t in small_programs()]
    failures = []

    def work():
        try:
            for _ in range(5):
                for a, b in zip(small_programs(), expected, strict=True):
                    assert_same_bits(a, b)
        except BaseException as e:
            failures.append(e)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures, failures[0]


COMPILED = tandem.compile(lambda x: tandem.tanh(x).sum(1) * 2)


def small_programs():
    x = tandem.arange(40_000.0).reshape(200, 200) / 40_000
    w = x.clone().requires_grad_()
    (tandem.sin(w) @ w).sum().backward()
    with tandem.lazy():
        y = tandem.exp(x).mean(0) - x[0]
    return [w.grad, y, COMPILED(x), tandem.softmax(x, 1)]


# Of the library, what is compiled for several instruction sets (runtime/lib/clones.h).
CLONES = """
F = tandem.nn.functional
image = tandem.randn(1, 4, 61, 100, requires_grad=True)
largest, places = F.max_pool2d(image, 3, return_indices=True)
results = [largest, F.max_pool2d(image, 2, stride=1), F.max_pool2d(image.double(), 3, 2, 1), F.avg_pool2d(image, 3),
           F.avg_pool2d(image.double(), 2), F.avg_pool2d(image.half(), 3), F.interpolate(image, scale_factor=1.7),
           F.interpolate(image, size=(37, 211), mode="bilinear", antialias=True)]
sum(r.double().square().sum() for r in results).backward()
results += [places, image.grad, image.detach()[:, :, tandem.arange(60, -1, -1)],
            F.interpolate((image.detach() * 40 + 99).byte(), size=(31, 57), mode="bilinear", antialias=True)]
results = [r.detach() for r in results]
digest"""

# Convolutions: products by windows and by channels, narrow planes, steps, groups, a filter for each channel.
CONVOLUTIONS = """
results = []
for n, c, h, w, o, k, step, pad, groups in (
    (2, 3, 30, 41, 8, 3, 1, 1, 1), (3, 20, 14, 14, 40, 3, 1, 1, 1), (9, 20, 4, 5, 40, 3, 1, 1, 1),
    (2, 1, 28, 28, 16, 5, 1, 2, 1), (2, 33, 15, 16, 35, 3, 2, 1, 1), (2, 18, 9, 9, 18, 3, 1, 1, 18),
    (2, 12, 9, 9, 24, 3, 2, 1, 4), (2, 70, 7, 7, 70, 1, 1, 0, 1),
):
    for dtype in (tandem.float32, tandem.float64):
        x = tandem.randn(n, c, h, w, dtype=dtype, requires_grad=True)
        weight = tandem.randn(o, c // groups, k, k, dtype=dtype, requires_grad=True)
        y = tandem.conv2d(x, weight, None, step, pad, 1, groups)
        y.square().sum().backward()
        results += [y.detach(), x.grad, weight.grad]
digest"""


# Products of half types: few and many rows, sums that are cut, layouts, batches, numbers whose products are subnormal.
HALVES = """
results = []
for dtype in (tandem.bfloat16, tandem.float16):
    for m, k, n in ((2, 70, 90), (8, 33, 40), (40, 32, 9), (129, 300, 65), (300, 31, 257), (20, 5000, 30), (1, 900, 5)):
        for size in (1.0, 1e-19):
            x = (tandem.randn(m, k) * size).to(dtype).requires_grad_()
            y = (tandem.randn(n, k) * size).to(dtype).requires_grad_()
            for z in (x @ y.t(), x.t().contiguous().t() @ y.t().contiguous(), tandem.stack([x, x]) @ y.t()):
                z.float().square().sum().backward()
                results.append(z.detach().float())
            results += [x.grad.float(), y.grad.float()]
    for channels, kernel, options in (
        (20, 3, {"padding": 1}), (20, 1, {}), (3, 7, {"stride": 2, "padding": 3}), (40, 3, {"stride": 2, "groups": 2}),
        (12, 3, {"stride": 3})
    ):
        x = tandem.randn(2, channels, 33, 33, dtype=dtype, requires_grad=True)
        weight = tandem.randn(24, channels // options.get("groups", 1), kernel, kernel, dtype=dtype, requires_grad=True)
        y = tandem.nn.functional.conv2d(x, weight, **options)
        y.float().square().sum().backward()
        results += [r.float() for r in (y.detach(), x.grad, weight.grad)]
    q = tandem.randn(2, 3, 40, 16, dtype=dtype)
    results.append(tandem.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True).float())
    for size in (1.0, 1e-20):
        q, k, v = tandem.randn(2, 2, 90, 40), tandem.randn(2, 2, 300, 40), tandem.randn(2, 2, 300, 33) * size
        q, k, v = (3 * q).to(dtype), k.to(dtype), v.to(dtype)
        for options in ({}, {"attn_mask": tandem.rand(90, 300) < 0.8}):
            results.append(tandem.nn.functional.scaled_dot_product_attention(q, k, v, **options).float())
digest"""


@pytest.mark.parametrize(
    "program",
    [PROGRAM, *(PROGRAM.replace("digest", c, 1) for c in (CLONES, CONVOLUTIONS, HALVES))],
    ids=["kernels", "library", "convolutions", "halves"],
)
def test_the_lesser_instruction_set_gives_the_same_bits(tmp_path, program):
    lesser = start(tmp_path, program, TANDEM_ISA="x86-64-v3")
    assert finish(start(tmp_path, program))[0] == finish(lesser)[0]


def test_programs_that_seed_nothing_draw_other_numbers(tmp_path):
    program = "import tandem; print(tandem.rand(2).tolist(), tandem.initial_seed() < 2**63, tandem.initial_seed())"
    one, two = [start(tmp_path, program).communicate()[0].split() for _ in range(2)]
    assert one[2] == two[2] == "True" and one != two
    assert one[:2] != two[:2] and one[3] != two[3]
    made = "import tandem; print(tandem.Generator().initial_seed())"  # those of programs start alike
    assert [start(tmp_path, made).communicate()[0] for _ in range(2)] == ["67280421310721\n"] * 2


def test_what_is_computed_from_others_is_not_sent():
    x = tandem.ones(1, requires_grad=True)
    dumps = tandem.multiprocessing.ForkingPickler.dumps
    assert len(dumps(x)) > 0 and len(dumps((x * 2).detach())) > 0
    with pytest.raises(RuntimeError, match="non-leaf"):
        dumps(x * 2)
