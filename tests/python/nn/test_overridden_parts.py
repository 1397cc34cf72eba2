"""Parts of layers and schedules that subclasses call or put others in the place of, by PyTorch's names of them."""

from __future__ import annotations

import pytest
from conftest import assert_same_bits

import tandem
from tandem import nn
from tandem.nn import functional as F


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("padding_mode", ["zeros", "circular"])
def test_a_convolution_by_other_weights(dims, padding_mode):
    kind, function = getattr(nn, f"Conv{dims}d"), getattr(F, f"conv{dims}d")

    class Halved(kind):
        def _conv_forward(self, input, weight, bias):
            return super()._conv_forward(input, weight / 2, bias)

    layer = Halved(2, 3, 3, padding=1, padding_mode=padding_mode)
    x = tandem.randn(1, 2, *(5,) * dims)
    padded = F.pad(x, (1,) * 2 * dims, "constant" if padding_mode == "zeros" else padding_mode)
    assert_same_bits(layer(x), function(padded, layer.weight / 2, layer.bias))
    assert_same_bits(tandem.compile(layer)(x), layer(x))
    assert_same_bits(layer._conv_forward(x, layer.weight * 2, None), kind._conv_forward(layer, x, layer.weight, None))


def test_padding_as_functions_take_it():
    assert nn.Conv2d(1, 1, (3, 4), padding=(1, 2))._reversed_padding_repeated_twice == [2, 2, 1, 1]
    assert nn.Conv2d(1, 1, (3, 4), padding="same")._reversed_padding_repeated_twice == [1, 2, 1, 1]
    one = nn.Conv2d(1, 1, (3, 3), stride=[1], padding=[1], dilation=[1])
    assert one._reversed_padding_repeated_twice == [1, 1] and one(tandem.zeros(1, 4, 4)).shape == (1, 4, 4)


@pytest.mark.parametrize("name", ["BatchNorm1d", "InstanceNorm1d"])
def test_a_norm_that_checks_its_input_itself(name):
    kind = getattr(nn, name)

    class Any(kind):
        def _check_input_dim(self, input):
            if input.dim() == 5:
                raise ValueError("five")

    x = tandem.randn(2, 3, 4, 5)
    assert_same_bits(Any(3)(x), getattr(nn, name.replace("1", "2"))(3)(x))
    with pytest.raises(ValueError, match="five"):
        Any(3)(x[None])
    with pytest.raises(ValueError, match=r"expected 2D or 3D input \(got 4D input\)"):
        kind(3)._check_input_dim(x)


def test_blocks_of_a_transformer():
    class Encoder(nn.TransformerEncoderLayer):
        def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
            return x * 2

        def _ff_block(self, x):
            return super()._ff_block(x) * 0

    class Decoder(nn.TransformerDecoderLayer):
        def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
            return mem

    x, memory = tandem.randn(2, 3, 4), tandem.randn(2, 3, 4)
    encoder = Encoder(4, 2, 8, dropout=0.0)
    assert_same_bits(encoder(x), encoder.norm2(encoder.norm1(x + x * 2)))
    decoder = Decoder(4, 2, 8, dropout=0.0)
    y = decoder.norm1(x + decoder._sa_block(x, None, None))
    y = decoder.norm2(y + memory)
    assert_same_bits(decoder(x, memory), decoder.norm3(y + decoder._ff_block(y)))


def test_a_schedule_that_says_when_it_lowers_rates():
    seen = []

    class Told(tandem.optim.lr_scheduler.ReduceLROnPlateau):
        def _reduce_lr(self, epoch):
            seen.append(epoch)
            super()._reduce_lr(epoch)

    optimizer = tandem.optim.SGD([nn.Parameter(tandem.zeros(1))], lr=1.0)
    schedule = Told(optimizer, patience=1)
    for _ in range(4):
        schedule.step(1.0)
    assert seen == [3] and optimizer.param_groups[0]["lr"] == 0.1
    schedule._reset()
    assert schedule.num_bad_epochs == 0 and schedule.best == float("inf")
