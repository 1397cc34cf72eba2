"""Functions of `nn.functional` about shape and neighbourhood: padding, pooling, lookup, norms, layouts.

All are compositions of differentiable operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tandem
from tandem import Tensor


def pair(value: Any, what: str = "value") -> tuple[int, int]:
    """An int or a sequence of one or two ints as a pair."""
    if isinstance(value, (tuple, list)):
        if len(value) == 1:
            return value[0], value[0]
        if len(value) != 2:
            raise RuntimeError(f"{what} should be an int or a pair, got {value}")
        return tuple(value)
    return value, value


# --- padding --------------------------------------------------------------------------------------------------------


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Pad the last dimensions: `pad` holds (before, after) of the last dimension, then of the one before it, and so on.

    Modes: "constant" (of `value`, 0 by default; negative pads crop), "reflect", "replicate", "circular".

    Example:
        >>> import tandem
        >>> tandem.nn.functional.pad(tandem.ones(2), (1, 2)).tolist()
        [0.0, 1.0, 1.0, 0.0, 0.0]
    """
    pad = list(pad)
    if len(pad) % 2:
        raise RuntimeError(f"Padding length must be divisible by 2, but got padding of length {len(pad)}")
    if len(pad) // 2 > input.dim():
        raise RuntimeError(f"pad: padding length {len(pad)} is too large for an input of {input.dim()} dimensions")
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise ValueError(f"Unrecognised padding mode {mode}")
    if mode != "constant" and value not in (None, 0, 0.0):
        raise ValueError(f'Padding mode "{mode}" doesn\'t take in value argument')
    for i in range(len(pad) // 2):
        before, after = pad[2 * i], pad[2 * i + 1]
        if before or after:
            dim = input.dim() - 1 - i
            if mode == "constant":
                input = _pad_constant(input, dim, before, after, 0.0 if value is None else value)
            else:
                input = _pad_by_index(input, dim, before, after, mode)
    return input


def _pad_constant(x: Tensor, dim: int, before: int, after: int, value: float) -> Tensor:
    size = x.shape[dim]
    if size + before + after < 0 or -before > size or -after > size:
        raise RuntimeError(
            f"pad: the input of {list(x.shape)} with padding {before} and {after} in dimension {dim} would have a "
            "negative size"
        )
    start, stop = max(0, -before), size - max(0, -after)
    if (start, stop) != (0, size):
        x = x.narrow(dim, start, stop - start)
    parts = [x]
    for count, at_front in ((before, True), (after, False)):
        if count > 0:
            shape = list(x.shape)
            shape[dim] = count
            filled = tandem.full(shape, value, dtype=x.dtype, device=x.device)
            parts = [filled, *parts] if at_front else [*parts, filled]
    return tandem.cat(parts, dim) if len(parts) > 1 else x


def _pad_by_index(x: Tensor, dim: int, before: int, after: int, mode: str) -> Tensor:
    size = x.shape[dim]
    limit = size - 1 if mode == "reflect" else size
    if mode != "replicate" and max(before, after) > limit or (size == 0):
        raise RuntimeError(
            f"Padding size should be at most {limit} in mode {mode}, but got padding ({before}, {after}) at dimension "
            f"{dim} of input {list(x.shape)}"
        )
    places = range(-before, size + after)
    if mode == "circular":
        source = [i % size for i in places]
    elif mode == "replicate":
        source = [min(max(i, 0), size - 1) for i in places]
    else:
        source = [abs(i) if i < size else 2 * (size - 1) - i for i in places]
    index = tandem.tensor(source, dtype=tandem.int64, device=x.device)
    return x[(slice(None),) * dim + (index,)]


# --- pooling --------------------------------------------------------------------------------------------------------


def avg_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Mean over windows of [N, C, H, W] or [C, H, W]; padded places count as zeros if `count_include_pad`."""
    if input.dim() not in (3, 4):
        raise RuntimeError(f"avg_pool2d: Expected 3D or 4D input, but got {list(input.shape)}")
    if divisor_override == 0:
        raise RuntimeError("avg_pool2d: divisor must be not zero")
    kernel = pair(kernel_size, "kernel_size")
    step = kernel if stride is None or stride in ([], ()) else pair(stride, "stride")
    edge = pair(padding, "padding")
    sizes = tuple(input.shape[-2:])
    outs, extra = [], []
    for size, k, s, p in zip(sizes, kernel, step, edge, strict=True):
        if p * 2 > k:
            raise RuntimeError(f"avg_pool2d: pad should be at most half of kernel size, but got pad={p} and kernel={k}")
        span = size + 2 * p - k
        count = (-(-span // s) if ceil_mode else span // s) + 1
        if ceil_mode and (count - 1) * s >= size + p:
            count -= 1  # the last window must start inside the input or its left padding
        if count <= 0:
            raise RuntimeError(f"avg_pool2d: the kernel {kernel} is larger than the padded input {list(input.shape)}")
        outs.append(count)
        extra.append(max(0, (count - 1) * s + k - (size + 2 * p)))

    lead = list(input.shape[:-2])
    x = input.reshape([-1, 1, *sizes])
    x = pad(x, (edge[1], edge[1] + extra[1], edge[0], edge[0] + extra[0]))
    ones = tandem.ones([1, 1, *kernel], dtype=input.dtype, device=input.device)
    total = tandem._C._nn.conv2d(x, ones, None, step)[:, :, : outs[0], : outs[1]]
    if divisor_override is not None:
        total = total / divisor_override
    else:
        rows, cols = (
            _window_counts(size, k, s, p, count, count_include_pad)
            for size, k, s, p, count in zip(sizes, kernel, step, edge, outs, strict=True)
        )
        if len(set(rows)) == 1 and len(set(cols)) == 1:
            total = total / (rows[0] * cols[0])
        else:
            counts = tandem.tensor([[r * c for c in cols] for r in rows], dtype=input.dtype, device=input.device)
            total = total / counts
    return total.reshape([*lead, *outs])


def _window_counts(size: int, k: int, s: int, p: int, count: int, include_pad: bool) -> list[int]:
    """How many places each window averages over; what `ceil_mode` adds beyond the padding never counts."""
    low, high = (-p, size + p) if include_pad else (0, size)
    return [min(i * s - p + k, high) - max(i * s - p, low) for i in range(count)]


def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Mean over windows of [N, C, L] or [C, L]."""
    kernel, edge = _single(kernel_size), _single(padding)
    step = kernel if stride is None else _single(stride)
    pooled = avg_pool2d(input.unsqueeze(-2), (1, kernel), (1, step), (0, edge), ceil_mode, count_include_pad)
    return pooled.squeeze(-2)


def max_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Largest value of windows of [N, C, L] or [C, L]."""
    kernel, edge, spread = _single(kernel_size), _single(padding), _single(dilation)
    step = kernel if stride is None else _single(stride)
    pool = tandem._C._nn.max_pool2d_with_indices if return_indices else tandem._C._nn.max_pool2d
    pooled = pool(input.unsqueeze(-2), (1, kernel), (1, step), (0, edge), (1, spread), ceil_mode)
    return tuple(p.squeeze(-2) for p in pooled) if return_indices else pooled.squeeze(-2)


def _single(value: Any) -> int:
    return value[0] if isinstance(value, (tuple, list)) else value


def _adaptive_windows(size: int, out: int) -> list[tuple[int, int]]:
    return [(i * size // out, -(-(i + 1) * size // out)) for i in range(out)]


def _adaptive_sizes(input: Tensor, output_size: Any, name: str) -> tuple[int, int]:
    if input.dim() not in (3, 4):
        raise RuntimeError(f"{name}: Expected 3D or 4D tensor, but got {list(input.shape)}")
    wanted = pair(output_size, "output_size")
    height, width = (have if want is None else want for want, have in zip(wanted, input.shape[-2:], strict=True))
    return height, width


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Mean over windows chosen so that the result has the spatial size `output_size`; None keeps a size."""
    for dim, out in zip((-2, -1), _adaptive_sizes(input, output_size, "adaptive_avg_pool2d"), strict=True):
        size = input.shape[dim]
        if out == size:
            continue
        if out and size % out == 0:
            at = input.dim() + dim
            split = [*input.shape[:at], out, size // out, *input.shape[at + 1 :]]
            input = input.reshape(split).mean(at + 1)
        else:
            means = [input.narrow(dim, a, b - a).mean(dim, keepdim=True) for a, b in _adaptive_windows(size, out)]
            input = tandem.cat(means, dim)
    return input


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Mean over windows of [N, C, L] or [C, L] chosen so that the result has length `output_size`."""
    return adaptive_avg_pool2d(input.unsqueeze(-2), (1, _single(output_size))).squeeze(-2)


def adaptive_max_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Largest value of windows chosen so that the result has the spatial size `output_size`."""
    outs = _adaptive_sizes(input, output_size, "adaptive_max_pool2d")
    rows = []
    for top, bottom in _adaptive_windows(input.shape[-2], outs[0]):
        band = input.narrow(-2, top, bottom - top)
        cells = [
            band.narrow(-1, left, right - left).flatten(-2).max(-1)[0]
            for left, right in _adaptive_windows(input.shape[-1], outs[1])
        ]
        rows.append(tandem.stack(cells, -1))
    return tandem.stack(rows, -2)


# --- convolution in one dimension -----------------------------------------------------------------------------------


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution of [N, C, L] or [C, L] with [out, C / groups, K]: a two-dimensional one with one row."""
    if input.dim() not in (2, 3):
        raise RuntimeError(f"conv1d: Expected 2D (unbatched) or 3D (batched) input, but got {list(input.shape)}")
    edge = padding if isinstance(padding, str) else (0, _single(padding))
    spread = (1, _single(dilation))
    out = tandem._C._nn.conv2d(
        input.unsqueeze(-2), weight.unsqueeze(-2), bias, (1, _single(stride)), edge, spread, groups
    )
    return out.squeeze(-2)


# --- layouts --------------------------------------------------------------------------------------------------------


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """[..., C r², H, W] to [..., C, H r, W r]."""
    *lead, channels, height, width = input.shape
    r = upscale_factor
    if channels % (r * r):
        raise RuntimeError(
            f"pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={channels} is not divisible by {r * r}"
        )
    n = len(lead)
    x = input.reshape([*lead, channels // (r * r), r, r, height, width])
    x = x.permute([*range(n), n, n + 3, n + 1, n + 4, n + 2])
    return x.reshape([*lead, channels // (r * r), height * r, width * r])


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """[..., C, H r, W r] to [..., C r², H, W]."""
    *lead, channels, height, width = input.shape
    r = downscale_factor
    if height % r or width % r:
        raise RuntimeError(f"pixel_unshuffle: the size ({height}, {width}) is not divisible by {r}")
    n = len(lead)
    x = input.reshape([*lead, channels, height // r, r, width // r, r])
    x = x.permute([*range(n), n, n + 2, n + 4, n + 1, n + 3])
    return x.reshape([*lead, channels * r * r, height // r, width // r])


def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Windows of [N, C, H, W] (or [C, H, W]) as columns: [N, C kh kw, L]."""
    if input.dim() == 3:
        return unfold(input.unsqueeze(0), kernel_size, dilation, padding, stride).squeeze(0)
    if input.dim() != 4:
        raise RuntimeError(f"unfold: Expected 3D or 4D input, but got {list(input.shape)}")
    kernel, spread, edge, step = (pair(v) for v in (kernel_size, dilation, padding, stride))
    x = pad(input, (edge[1], edge[1], edge[0], edge[0]))
    outs = [(n - d * (k - 1) - 1) // s + 1 for n, k, d, s in zip(x.shape[-2:], kernel, spread, step, strict=True)]
    if min(outs) < 1:
        raise RuntimeError(f"unfold: the kernel {kernel} is larger than the padded input {list(x.shape)}")
    columns = []
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            top, left = i * spread[0], j * spread[1]
            bottom, right = top + (outs[0] - 1) * step[0] + 1, left + (outs[1] - 1) * step[1] + 1
            columns.append(x[:, :, top : bottom : step[0], left : right : step[1]])
    stacked = tandem.stack(columns, 2)
    batch, channels = input.shape[0], input.shape[1]
    return stacked.reshape([batch, channels * kernel[0] * kernel[1], outs[0] * outs[1]])


def interpolate_nearest(input: Tensor, sizes: Sequence[int]) -> Tensor:
    """Nearest-neighbour resampling of the trailing dimensions to `sizes`."""
    for i, out in enumerate(sizes):
        dim = input.dim() - len(sizes) + i
        size = input.shape[dim]
        if out != size:
            source = [min(int(j * (size / out)), size - 1) for j in range(out)]
            index = tandem.tensor(source, dtype=tandem.int64, device=input.device)
            input = input[(slice(None),) * dim + (index,)]
    return input


# --- lookup and norms -----------------------------------------------------------------------------------------------


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of `weight` [V, D] at the integers `input` (any shape S): [*S, D].

    The row `padding_idx` gets no gradient. With `max_norm`, looked-up rows longer than it are scaled down in place
    first. Gradients are dense: `sparse=True` raises ValueError.
    """
    if sparse:
        raise ValueError("embedding: gradients are dense here; pass sparse=False")
    if weight.dim() != 2:
        raise RuntimeError(f"'weight' must be 2-D, got {list(weight.shape)}")
    if input.dtype not in (tandem.int32, tandem.int64):
        raise RuntimeError(f"embedding: expected indices of dtype int32 or int64, got {input.dtype}")
    if padding_idx is not None:
        rows = weight.shape[0]
        if not -rows <= padding_idx < rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= rows
    if max_norm is not None:
        with tandem.no_grad():
            flat = input.reshape(-1)
            rows_used = weight[flat]
            lengths = tandem.norm(rows_used, norm_type, -1, keepdim=True)
            scale = tandem.where(lengths > max_norm, max_norm / (lengths + 1e-7), 1.0)
            weight[flat] = rows_used * scale
    out = weight[input]
    if padding_idx is not None and weight.requires_grad:
        out = tandem.where((input == padding_idx).unsqueeze(-1), out.detach(), out)
    if scale_grad_by_freq and out.requires_grad:
        counts = tandem._C._nn.one_hot(input.reshape(-1).to(tandem.int64), weight.shape[0]).sum(0)[input]
        out.register_hook(lambda g: g / counts.unsqueeze(-1).to(g.dtype))
    return out


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """input / sqrt(mean of squares over the trailing `normalized_shape` + eps) * weight.

    `eps` defaults to the dtype's machine epsilon. float16 and bfloat16 are computed in float32.
    """
    shape = list(normalized_shape)
    if list(input.shape[input.dim() - len(shape) :]) != shape or not shape:
        raise RuntimeError(
            f"rms_norm: Given normalized_shape={shape}, expected input with shape [*, {shape}], but got "
            f"{list(input.shape)}"
        )
    half = input.dtype in (tandem.float16, tandem.bfloat16)
    x = input.to(tandem.float32) if half else input
    least = tandem.finfo(x.dtype).eps if eps is None else eps
    out = x * tandem.rsqrt((x * x).mean(list(range(-len(shape), 0)), keepdim=True) + least)
    if weight is not None:
        out = out * weight
    return out.to(input.dtype) if half else out


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Normalise [N, C, ...] over each of `num_groups` groups of channels, then scale and shift each channel."""
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    channels = input.shape[1]
    if channels % num_groups:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={num_groups}"
        )
    x = input.reshape([input.shape[0], num_groups, -1])
    x = tandem._C._nn.layer_norm(x, [x.shape[-1]], None, None, eps).reshape(list(input.shape))
    return _per_channel(x, weight, bias)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise each channel of [N, C, ...] by its batch's mean and variance, or by the running ones if not `training`.

    While training, the running values move towards the batch's by `momentum` (the variance there being unbiased).
    """
    shape = [1, -1] + [1] * (input.dim() - 2)
    if training:
        count = input.numel() // input.shape[1]
        if count <= 1:
            raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
        dims = [0, *range(2, input.dim())]
        mean = input.mean(dims, keepdim=True)
        centred = input - mean
        var = (centred * centred).mean(dims, keepdim=True)
        with tandem.no_grad():
            for running, value in ((running_mean, mean), (running_var, var * (count / (count - 1)))):
                if running is not None:
                    running.mul_(1 - momentum).add_(value.detach().reshape(-1) * momentum)
    else:
        if running_mean is None or running_var is None:
            raise ValueError("Expected running_mean and running_var to be defined when training=False")
        centred, var = input - running_mean.reshape(shape), running_var.reshape(shape)
    return _per_channel(centred * tandem.rsqrt(var + eps), weight, bias)


def _per_channel(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    shape = [1, -1] + [1] * (x.dim() - 2)
    if weight is not None:
        x = x * weight.reshape(shape)
    return x if bias is None else x + bias.reshape(shape)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query @ key^T * scale + mask) @ value: [..., L, E], [..., S, E], [..., S, V] to [..., L, V].

    A boolean mask [..., L, S] is True where attention is allowed; a row without any gives zeros. `is_causal` allows
    places up to the row's own. `enable_gqa` repeats the heads (dimension -3) of key and value to those of query.
    `scale` is 1 / sqrt(E) by default.
    """
    if is_causal and attn_mask is not None:
        raise RuntimeError("scaled_dot_product_attention: attn_mask has to be None when is_causal=True")
    if enable_gqa:
        key, value = (_repeat_heads(x, query.shape[-3]) for x in (key, value))
    if is_causal:
        rows = tandem.arange(query.shape[-2], device=query.device).reshape(-1, 1)
        attn_mask = tandem.arange(key.shape[-2], device=query.device) <= rows
    scores = tandem.matmul(query, key.transpose(-2, -1)) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if attn_mask is None:
        weights = tandem.softmax(scores, -1)
    else:
        boolean = attn_mask.dtype == tandem.bool
        scores = tandem.where(attn_mask, scores, float("-inf")) if boolean else scores + attn_mask
        live = (attn_mask if boolean else attn_mask > float("-inf")).any(-1, keepdim=True)
        weights = tandem.where(live, tandem.softmax(tandem.where(live, scores, 0.0), -1), 0.0)
    if dropout_p > 0.0:
        weights = tandem._C._nn.dropout(weights, dropout_p, True)
    return tandem.matmul(weights, value)


def _repeat_heads(x: Tensor, heads: int) -> Tensor:
    have = x.shape[-3]
    if heads % have:
        raise RuntimeError(f"scaled_dot_product_attention: {heads} heads of query are no multiple of {have}")
    if heads == have:
        return x
    *lead, _, length, width = x.shape
    repeated = x.unsqueeze(-3).expand([*lead, have, heads // have, length, width])
    return repeated.reshape([*lead, heads, length, width])


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """y[..., o] = input1 · weight[o] · input2 + bias[o]; `weight` is [O, D1, D2]."""
    outs, first, second = weight.shape
    if input1.shape[-1] != first or input2.shape[-1] != second:
        raise RuntimeError(
            f"bilinear: inputs of {list(input1.shape)} and {list(input2.shape)} do not fit weight {list(weight.shape)}"
        )
    lead = list(input1.shape[:-1])
    a, b = input1.reshape(-1, 1, first), input2.reshape(-1, 1, second)
    mixed = tandem.matmul(a, weight.permute([1, 0, 2]).reshape(first, outs * second)).reshape(-1, outs, second)
    out = (mixed * b).sum(-1).reshape([*lead, outs])
    return out if bias is None else out + bias
