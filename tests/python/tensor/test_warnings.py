# ruff: noqa: E501  (one call a line)
"""Warnings are given where PyTorch 2.13 gives them: for each call how often when it is made twice, and the category.

What is given once in a process is given in a process of its own here.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings

import pytest

import tandem

# fmt: off
CALLS: dict[str, tuple[int, int, str]] = {
    "(T.ones(2, requires_grad=True) ** 2).sum().backward(create_graph=True)": (1, 0, "UserWarning"),
    "T.autograd.grad((p := T.ones(2, requires_grad=True)).sum() * 2, p, create_graph=True)": (0, 0, ""),
    "T.meshgrid(T.ones(2), T.ones(3))": (1, 0, "UserWarning"),
    "T.meshgrid(T.ones(2), T.ones(3), indexing='xy')": (0, 0, ""),
    "T.where(T.tensor([1, 0], dtype=T.uint8), T.ones(2), T.zeros(2))": (1, 0, "UserWarning"),
    "F.softmax(T.ones(2, 2))": (1, 1, "UserWarning"),
    "F.log_softmax(T.ones(2))": (1, 1, "UserWarning"),
    "F.softmin(T.ones(2, 2))": (1, 1, "UserWarning"),
    "F.softmax(T.ones(2, 2), 1)": (0, 0, ""),
    "nn.Softmax()(T.ones(2, 2))": (1, 1, "UserWarning"),
    "F.kl_div(T.zeros(2), T.ones(2))": (1, 1, "UserWarning"),
    "F.kl_div(T.zeros(2), T.ones(2), reduction='batchmean')": (0, 0, ""),
    "F.mse_loss(T.ones(2), T.ones(2), size_average=False)": (1, 1, "UserWarning"),
    "F.cross_entropy(T.ones(2, 2), T.tensor([0, 1]), reduce=True)": (1, 1, "UserWarning"),
    "nn.MSELoss(size_average=True)": (1, 1, "UserWarning"),
    "F.mse_loss(T.ones(2, 1), T.ones(2))": (1, 1, "UserWarning"),
    "F.l1_loss(T.ones(2, 1), T.ones(2))": (1, 1, "UserWarning"),
    "F.smooth_l1_loss(T.ones(2, 1), T.ones(2))": (1, 1, "UserWarning"),
    "F.huber_loss(T.ones(2, 1), T.ones(2))": (1, 1, "UserWarning"),
    "(T.ones(2, requires_grad=True) * 2).grad": (1, 1, "UserWarning"),
    "T.ones(2, requires_grad=True).grad": (0, 0, ""),
    "T.tensor(T.ones(2))": (1, 1, "UserWarning"),
    "T.ones(2).new_tensor(T.ones(2))": (1, 1, "UserWarning"),
    "T.tensor([T.ones(()), T.ones(1)])": (0, 0, ""),
    "T.optim.SGD([(p := T.ones(1, requires_grad=True)), p], lr=1.0)": (1, 1, "UserWarning"),
    "T.optim.lr_scheduler.StepLR(T.optim.SGD([T.ones(1, requires_grad=True)], lr=1.0), 1).step()": (1, 1, "UserWarning"),
    "F.dropout2d(T.ones(2, 2))": (1, 1, "UserWarning"),
    "F.dropout2d(T.ones(2, 2, 2))": (1, 1, "UserWarning"),
    "F.dropout2d(T.ones(2, 2, 2, 2))": (0, 0, ""),
    "F.dropout3d(T.ones(2, 2, 2))": (1, 1, "UserWarning"),
    "nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 1)": (1, 1, "UserWarning"),
    "nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 1, 8, norm_first=True), 1)": (1, 1, "UserWarning"),
    "nn.TransformerEncoder(nn.TransformerEncoderLayer(3, 1, 8, batch_first=True), 1)": (1, 1, "UserWarning"),
    "nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 1)": (0, 0, ""),
    "nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 1, enable_nested_tensor=False)": (0, 0, ""),
    "nn.MultiheadAttention(4, 2)(*[T.ones(1, 1, 4)] * 3, attn_mask=T.zeros(1, 1), key_padding_mask=T.zeros(1, 1, dtype=T.bool))": (1, 1, "UserWarning"),
    "F.upsample(T.ones(1, 1, 4, 4), size=(2, 2))": (1, 1, "UserWarning"),
    "F.upsample_nearest(T.ones(1, 1, 4, 4), size=(2, 2))": (1, 1, "UserWarning"),
    "F.upsample_bilinear(T.ones(1, 1, 4, 4), size=(2, 2))": (1, 1, "UserWarning"),
    "F.grid_sample(T.ones(1, 1, 4, 4), T.zeros(1, 1, 1, 2))": (1, 1, "UserWarning"),
    "F.affine_grid(T.ones(1, 2, 3), (1, 1, 2, 2))": (1, 1, "UserWarning"),
    "F.affine_grid(T.ones(1, 2, 3), (1, 1, 1, 1), align_corners=True)": (1, 1, "UserWarning"),
    "F.affine_grid(T.ones(1, 2, 3), (1, 1, 2, 2), align_corners=True)": (0, 0, ""),
    "nn.init.uniform(T.zeros(2))": (1, 1, "FutureWarning"),
    "nn.utils.clip_grad_norm(T.ones(1, requires_grad=True), 1.0)": (1, 1, "FutureWarning"),
    "nn.utils.weight_norm(nn.Linear(2, 2))": (1, 1, "FutureWarning"),
    "T.std(T.ones(1))": (1, 1, "UserWarning"),
    "T.ones(3, 0).var(1)": (1, 1, "UserWarning"),
    "T.var_mean(T.ones(1))": (1, 1, "UserWarning"),
    "T.var(T.ones(1), correction=0)": (0, 0, ""),
    "T.cov(T.ones(1))": (1, 1, "UserWarning"),
    "T.range(0, 3)": (1, 1, "UserWarning"),
    "T.qr(T.eye(2))": (1, 0, "UserWarning"),
    "T.cholesky(T.eye(2))": (1, 0, "UserWarning"),
    "T.chain_matmul(T.eye(2), T.eye(2))": (1, 0, "UserWarning"),
    "T.ones(2, 3, 4).T": (1, 0, "UserWarning"),
    "T.ones(()).T": (1, 0, "UserWarning"),
    "T.ones(2).T": (0, 0, ""),
    "T.cross(T.ones(3), T.ones(3))": (1, 0, "UserWarning"),
    "T.cross(T.ones(3), T.ones(3), 0)": (0, 0, ""),
    "T.as_tensor([numpy.ones(2)])": (1, 0, "UserWarning"),
    "float(T.ones(1, requires_grad=True))": (1, 0, "UserWarning"),
    "T.ones(1, requires_grad=True).item()": (0, 0, ""),
    "T.ones(2).storage()": (1, 0, "UserWarning"),
    "T.set_default_tensor_type(T.FloatTensor)": (1, 0, "UserWarning"),
    "T.searchsorted(T.arange(6).reshape(2, 3).t(), T.ones(3, 1, dtype=T.int64))": (1, 0, "UserWarning"),
    "T.bucketize(T.arange(6.0)[::2], T.arange(6.0))": (1, 0, "UserWarning"),
    "nn.InstanceNorm1d(2)(T.ones(1, 3, 4))": (1, 1, "UserWarning"),
    "F.conv2d(T.ones(1, 1, 4, 4), T.ones(1, 1, 2, 2), padding='same')": (1, 0, "UserWarning"),
    "F.conv2d(T.ones(1, 1, 4, 4), T.ones(1, 1, 3, 3), padding='same')": (0, 0, ""),
    "F.gumbel_softmax(T.ones(2), eps=1e-3)": (1, 1, "UserWarning"),
    "list(T.utils.data.DataLoader([1], pin_memory=True))": (1, 1, "UserWarning"),
    "T.cuda.amp.autocast()": (2, 2, "FutureWarning"),
    "T.cuda.amp.GradScaler()": (2, 2, "FutureWarning"),
    "T.autograd.detect_anomaly()": (1, 1, "UserWarning"),
    "T.autograd.Variable(T.ones(1), volatile=True)": (1, 1, "UserWarning"),
    "T.distributions.Wishart(T.tensor([1.5]), T.eye(2))": (1, 1, "UserWarning"),
    "T.ones(2, 2)[[[1, 0], [0, 1]]]": (1, 0, "UserWarning"),
    "T.ones(2, 2)[[1, 0]]": (0, 0, ""),
    "T.arange(3)[T.tensor([1, 0, 1], dtype=T.uint8)]": (1, 1, "UserWarning"),
    "T.add(T.ones(2), 1, out=T.ones(3))": (1, 1, "UserWarning"),
    "T.add(T.ones(2), 2, T.ones(2))": (1, 0, "UserWarning"),
    "T.ones(2).sub_(2, T.ones(2))": (1, 0, "UserWarning"),
    "T.addmm(2, T.eye(2), 3, T.eye(2), T.eye(2))": (1, 0, "UserWarning"),
    "T.eye(2).addmm_(2, T.eye(2), T.eye(2))": (1, 0, "UserWarning"),
    "T.addmv(2, T.ones(2), T.eye(2), T.ones(2))": (1, 0, "UserWarning"),
    "T.eye(2).addr(2, 3, T.ones(2), T.ones(2))": (1, 0, "UserWarning"),
    "T.baddbmm(2, T.ones(1, 2, 2), T.ones(1, 2, 2), T.ones(1, 2, 2))": (1, 0, "UserWarning"),
    "T.addbmm(2, T.eye(2), 3, T.ones(1, 2, 2), T.ones(1, 2, 2))": (1, 0, "UserWarning"),
    "T.addcmul(T.ones(2), 2, T.ones(2), T.ones(2))": (1, 0, "UserWarning"),
    "T.ones(2).addcdiv_(2, T.ones(2), T.ones(2))": (1, 0, "UserWarning"),
    "T.ones(3).expand(2, 3).masked_fill_(T.tensor([True, False, True]), 2.0)": (1, 1, "UserWarning"),
    "T.ones(3).expand(2, 3).index_fill_(0, T.tensor([0]), 2.0)": (1, 1, "UserWarning"),
    "T.ones(3).expand(2, 3).index_put_((T.tensor([0]),), T.tensor(2.0))": (1, 1, "UserWarning"),
    "T.ones(3).expand(2, 3).__setitem__(T.tensor([0]), 2.0)": (1, 1, "UserWarning"),
    "T.ones(3).expand(2, 3).triu_()": (0, 0, ""),
    "T.ones(3).expand(2, 3).fill_(1.0)": (0, 0, ""),
    "T.optim.lr_scheduler.StepLR(T.optim.SGD([T.ones(1, requires_grad=True)], lr=1.0), 1).get_lr()": (1, 1, "UserWarning"),
    "T.optim.lr_scheduler.StepLR(T.optim.SGD([T.ones(1, requires_grad=True)], lr=1.0), 1).get_last_lr()": (0, 0, ""),
    "T.optim.lr_scheduler.OneCycleLR(T.optim.SGD([T.ones(1, requires_grad=True)], lr=1.0, momentum=0.9), 1.0, total_steps=3).get_lr()": (1, 1, "UserWarning"),
}
# fmt: on

PROGRAM = """
import json, sys, warnings
import numpy
import tandem as T
from tandem import nn
from tandem.nn import functional as F
seen = {}
for call in json.load(sys.stdin):
    counts, names = [], []
    for _ in range(2):
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            eval(call)
        counts.append(len(given))
        names += [w.category.__name__ for w in given]
    seen[call] = [*counts, names[0] if names else ""]
print(json.dumps(seen))
"""


def test_warnings_are_pytorchs():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=json.dumps(list(CALLS)), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    seen = {call: tuple(given) for call, given in json.loads(done.stdout).items()}
    assert {call: given for call, given in seen.items() if given != CALLS[call]} == {}


def test_no_warning_of_numbers_without_gradients():
    """In `no_grad`, where an optimizer reads a loss, nothing is lost by it."""
    w = tandem.nn.Parameter(tandem.ones(2))
    optimizer = tandem.optim.LBFGS([w], line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = (w - 3).square().sum()
        loss.backward()
        return loss

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.step(closure)
        with tandem.no_grad():
            assert float(w.sum()) == pytest.approx(6)


def test_backward_hooks_without_gradients_of_inputs():
    layer = tandem.nn.Linear(2, 1)
    seen = []
    layer.register_full_backward_hook(lambda module, inputs, outputs: seen.append(inputs))
    with pytest.warns(UserWarning, match="Full backward hook is firing .* since no inputs require gradients"):
        layer(tandem.ones(1, 2)).sum().backward()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        layer(tandem.ones(1, 2, requires_grad=True)).sum().backward()
    assert seen[0] == (None,) and seen[1][0].shape == (1, 2)
