"""Attention of several heads and transformers."""

import math

import numpy as np
import pytest
from arrays import array, close, tensor
from conftest import assert_same_bits, run_in
from test_recurrent import double

import tandem
from tandem import nn
from tandem.nn import functional as F


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(module, q, k, v, mask=0.0):
    """[N, L, E] for [N, L, E], [N, S, kdim], [N, S, vdim]: outputs and weights of each head."""
    e, heads = module.embed_dim, module.num_heads
    bias = np.zeros(3 * e) if module.in_proj_bias is None else module.in_proj_bias.detach().numpy()
    if module.in_proj_weight is not None:
        weights = np.split(module.in_proj_weight.detach().numpy(), 3)
    else:
        weights = [getattr(module, f"{n}_proj_weight").detach().numpy() for n in "qkv"]
    q, k, v = (
        (x @ w.T + b).reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)
        for x, w, b in zip((q, k, v), weights, np.split(bias, 3), strict=True)
    )
    p = softmax(q @ k.swapaxes(-1, -2) / math.sqrt(e // heads) + mask)
    out = (p @ v).swapaxes(1, 2).reshape(q.shape[0], -1, e) @ module.out_proj.weight.detach().numpy().T
    return out + (0 if module.out_proj.bias is None else module.out_proj.bias.detach().numpy()), p


@pytest.mark.parametrize("options", [{}, {"bias": False}, {"kdim": 3, "vdim": 5}])
@pytest.mark.parametrize("need_weights", [True, False])
def test_attention(options, need_weights):
    module = double(nn.MultiheadAttention(4, 2, batch_first=True, **options))
    k, v = options.get("kdim", 4), options.get("vdim", 4)
    q, k, v = array(2, 3, 4), array(2, 5, k, seed=1), array(2, 5, v, seed=2)
    want, weights = attention(module, q, k, v)
    out, got = module(tensor(q), tensor(k), tensor(v), need_weights=need_weights)
    close(out, want)
    if need_weights:
        close(got, weights.mean(1))
        heads = module(tensor(q), tensor(k), tensor(v), average_attn_weights=False)[1]
        close(heads, weights)
    else:
        assert got is None


@pytest.mark.parametrize("need_weights", [True, False])
def test_masks(need_weights):
    module = double(nn.MultiheadAttention(4, 2))
    x = array(3, 2, 4)
    hidden = np.triu(np.ones((3, 3), bool), 1)
    padding = np.array([[False, False, False], [False, False, True]])
    mask = np.where(hidden[None, None] | padding[:, None, None], -np.inf, 0.0)
    rows = x.swapaxes(0, 1)
    want, _ = attention(module, rows, rows, rows, mask)
    t, pad = tensor(x), tandem.from_numpy(padding)
    causal = nn.Transformer.generate_square_subsequent_mask(3, dtype=tandem.float64)
    for given in (tandem.from_numpy(hidden), causal):
        out = module(t, t, t, attn_mask=given, key_padding_mask=pad, need_weights=need_weights)[0]
        close(out, want.swapaxes(0, 1))
    hint = module(t, t, t, attn_mask=causal, is_causal=True, need_weights=need_weights)[0]
    close(hint, module(t, t, t, attn_mask=causal, need_weights=need_weights)[0].detach().numpy())
    one = module(t[:, 0], t[:, 0], t[:, 0], attn_mask=causal)[0]
    close(one, module(t, t, t, attn_mask=causal)[0][:, 0].detach().numpy())


def test_appended_keys():
    x = array(2, 3, 4)
    t = tensor(x)
    module = double(nn.MultiheadAttention(4, 2, batch_first=True, add_zero_attn=True))
    weights = module(t, t, t)[1]
    assert weights.shape == (2, 3, 4)
    close(weights.sum(-1), np.ones((2, 3)))
    module = double(nn.MultiheadAttention(4, 2, batch_first=True, add_bias_kv=True))
    assert list(module.state_dict())[:4] == ["in_proj_weight", "in_proj_bias", "bias_k", "bias_v"]
    close(module(t, t, t)[0], module(t, t, t, need_weights=False)[0].detach().numpy())


def test_attention_errors():
    module = nn.MultiheadAttention(4, 2)
    x = tandem.zeros(3, 2, 4)
    with pytest.raises(AssertionError, match="embed_dim must be divisible by num_heads"):
        nn.MultiheadAttention(4, 3)
    with pytest.raises(AssertionError, match="was expecting embedding dimension of 4, but got 5"):
        module(tandem.zeros(3, 2, 5), x, x)
    with pytest.raises(RuntimeError, match="Need attn_mask if specifying the is_causal hint."):
        module(x, x, x, is_causal=True)
    with pytest.raises(RuntimeError, match="The shape of the 2D attn_mask is"):
        module(x, x, x, attn_mask=tandem.zeros(2, 2))
    with pytest.raises(AssertionError, match="query should be unbatched 2D or batched 3D tensor but received 4-D"):
        module(tandem.zeros(1, 3, 2, 4), x, x)


@pytest.mark.parametrize("norm_first", [False, True])
def test_encoder_layer_is_made_of_its_parts(norm_first):
    layer = double(nn.TransformerEncoderLayer(4, 2, 8, activation="gelu", norm_first=norm_first)).eval()
    x = tensor(array(3, 2, 4))

    def attend(y):
        return layer.self_attn(y, y, y)[0]

    def feed(y):
        return layer.linear2(F.gelu(layer.linear1(y)))

    if norm_first:
        y = x + attend(layer.norm1(x))
        want = y + feed(layer.norm2(y))
    else:
        y = layer.norm1(x + attend(x))
        want = layer.norm2(y + feed(y))
    close(layer(x), want.detach().numpy())


def test_decoder_layer_is_made_of_its_parts():
    layer = double(nn.TransformerDecoderLayer(4, 2, 8)).eval()
    x, memory = tensor(array(3, 2, 4)), tensor(array(5, 2, 4, seed=1))
    mask = nn.Transformer.generate_square_subsequent_mask(3, dtype=tandem.float64)
    y = layer.norm1(x + layer.self_attn(x, x, x, attn_mask=mask)[0])
    y = layer.norm2(y + layer.multihead_attn(y, memory, memory)[0])
    want = layer.norm3(y + layer.linear2(tandem.relu(layer.linear1(y))))
    close(layer(x, memory, tgt_mask=mask), want.detach().numpy())
    close(layer(x, memory, tgt_mask=mask, tgt_is_causal=True), want.detach().numpy())


def test_stacks_and_names():
    model = nn.Transformer(4, 2, 2, 1, 8, dropout=0.0)
    names = list(model.state_dict())
    assert names[:4] == [f"encoder.layers.0.self_attn.{n}" for n in ("in_proj_weight", "in_proj_bias",
                                                                     "out_proj.weight", "out_proj.bias")]  # fmt: skip
    assert names[-4:] == [
        "decoder.layers.0.norm3.weight",
        "decoder.layers.0.norm3.bias",
        "decoder.norm.weight",
        "decoder.norm.bias",
    ]
    src, tgt = tandem.randn(5, 2, 4), tandem.randn(3, 2, 4)
    memory = src
    for layer in model.encoder.layers:
        memory = layer(memory)
    want = model.decoder.norm(model.decoder.layers[0](tgt, model.encoder.norm(memory)))
    assert_same_bits(model(src, tgt).detach(), want.detach())
    assert "(0-1): 2 x TransformerEncoderLayer(" in repr(model)
    with pytest.raises(RuntimeError, match="the batch number of src and tgt must be equal"):
        model(src, tandem.zeros(3, 1, 4))


def test_modes(mode):
    def make():
        tandem.manual_seed(1)
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        return layer, tandem.randn(2, 5, 8)

    def step(layer):
        def run(x):
            layer.zero_grad()
            loss = (layer(x) ** 2).sum()
            loss.backward()
            return loss.detach(), *(p.grad for p in layer.parameters())

        return run

    layer, x = make()
    tandem.manual_seed(2)
    expected = [t.clone() for t in step(layer)(x)]
    layer, x = make()
    run = step(layer)
    if mode == "compiled":
        run = tandem.compile(run)
        run(x)
        tandem.manual_seed(2)
        got = run(x)
    else:
        tandem.manual_seed(2)
        got = run_in(mode, run, x)
    for a, b in zip(got, expected, strict=True):
        assert_same_bits(a, b)


def test_gradients():
    layer = double(nn.TransformerEncoderLayer(4, 2, 4, dropout=0.0, activation="gelu"))
    x = tensor(array(3, 1, 4), grad=True)
    assert tandem.autograd.gradcheck(layer, (x,))
    assert tandem.autograd.gradgradcheck(layer, (x,), fast_mode=True)
