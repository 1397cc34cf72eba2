"""Attention of several heads with its projections: `nn.functional.multi_head_attention_forward` and its masks."""

from __future__ import annotations

import math

import tandem
from tandem import Tensor

__all__ = [
    "multi_head_attention_forward",
]


def none_or_dtype(input: Tensor | None) -> tandem.dtype | None:
    """The dtype of a tensor; None for None."""
    if input is None or isinstance(input, Tensor):
        return None if input is None else input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def canonical_mask(
    mask: Tensor | None,
    mask_name: str,
    other_type: tandem.dtype | None,
    other_name: str,
    target_type: tandem.dtype,
    check_other: bool = True,
) -> Tensor | None:
    """A mask as numbers to add to scores: -inf where a bool mask holds. AssertionError for integers."""
    if mask is None:
        return None
    if mask.dtype is not tandem.bool and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype is not other_type:
        tandem._C._warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.",
            3,
        )
    if mask.is_floating_point():
        return mask
    return tandem.zeros(mask.shape, dtype=target_type, device=mask.device).masked_fill(mask, float("-inf"))


def _check_shapes(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None,
    attn_mask: Tensor | None,
    num_heads: int,
) -> bool:
    """Whether there is a batch dim; RuntimeError for numbers of dims that do not go together."""
    if query.dim() not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D")
    dims, kind = query.dim(), "batched" if query.dim() == 3 else "unbatched"
    if key.dim() != dims or value.dim() != dims:
        raise AssertionError(
            f"For {kind} ({dims}-D) `query`, expected `key` and `value` to be {dims}-D but found {key.dim()}-D and "
            f"{value.dim()}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != dims - 1:
        raise AssertionError(
            f"For {kind} ({dims}-D) `query`, expected `key_padding_mask` to be `None` or {dims - 1}-D but found "
            f"{key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is not None and attn_mask.dim() not in (2, 3):
        raise AssertionError(
            f"For {kind} ({dims}-D) `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found "
            f"{attn_mask.dim()}-D tensor instead"
        )
    if dims == 2 and attn_mask is not None and attn_mask.dim() == 3:
        expected = (num_heads, query.shape[0], key.shape[0])
        if tuple(attn_mask.shape) != expected:
            raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}")
    return dims == 3


def _projected(query: Tensor, key: Tensor, value: Tensor, weight: Tensor, bias: Tensor | None) -> tuple[Tensor, ...]:
    """The three projections of one weight [3E, E]: one product where the inputs are one tensor."""
    linear = tandem.nn.functional.linear
    if query is key and key is value:
        return linear(query, weight, bias).chunk(3, -1)
    weights = weight.chunk(3)
    biases = bias.chunk(3) if bias is not None else (None, None, None)
    return tuple(linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True))


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """softmax(Q K^T / sqrt(E / heads)) V for each head, between linear projections: what `MultiheadAttention` computes.

    Args:
        query, key, value: [L, N, E], [S, N, Ek] and [S, N, Ev] (N may be missing); E is `embed_dim_to_check`, a
            multiple of `num_heads` (AssertionError).
        in_proj_weight, in_proj_bias: the projections one above the other, [3 E, E] and [3 E]; or `q_proj_weight`,
            `k_proj_weight`, `v_proj_weight` with `use_separate_proj_weight`.
        bias_k, bias_v: [1, 1, E], one more key and value, of both or neither; `add_zero_attn` adds one of zeros.
        key_padding_mask, attn_mask: [N, S], and [L, S] or [N * heads, L, S]: True, or -inf, where nothing is
            attended to.
        static_k, static_v: [N * heads, S, E / heads], instead of the projections of `key` and `value`.
        is_causal: a hint that `attn_mask`, which must be given (RuntimeError), is the causal one.

    Returns [L, N, E] and, if `need_weights`, the weights [N, L, S] ([N, heads, L, S] unless averaged), else None.
    AssertionError or RuntimeError for shapes that do not go together.

    Example:
        >>> import tandem
        >>> x, identity = tandem.tensor([[1.0, 0.0], [0.0, 1.0]]), tandem.eye(2)
        >>> output, weights = tandem.nn.functional.multi_head_attention_forward(
        ...     x, x, x, 2, 1, identity.repeat(3, 1), None, None, None, False, 0.0, identity, None
        ... )
        >>> weights
        tensor([[0.6698, 0.3302],
                [0.3302, 0.6698]])
    """
    functional = tandem.nn.functional
    batched = _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        same = query is key, key is value
        query = query.unsqueeze(1)
        key = query if same[0] else key.unsqueeze(1)
        value = key if same[1] else value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, embed = query.shape
    source = key.shape[0]
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    # The hint stands for the mask only where nothing else has to be masked.
    implied = is_causal and key_padding_mask is None and not need_weights
    key_padding_mask = canonical_mask(
        key_padding_mask, "key_padding_mask", none_or_dtype(attn_mask), "attn_mask", query.dtype
    )
    attn_mask = None if implied else canonical_mask(attn_mask, "attn_mask", None, "", query.dtype)
    if embed != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {embed}")
    head = embed // num_heads
    if head * num_heads != embed:
        raise AssertionError(f"embed_dim {embed} not divisible by num_heads {num_heads}")

    if use_separate_proj_weight:
        if tuple(key.shape[:2]) != tuple(value.shape[:2]):
            raise AssertionError(
                f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}"
            )
        if q_proj_weight is None or k_proj_weight is None or v_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is True but one of q, k and v_proj_weight is None")
        biases = (None, None, None) if in_proj_bias is None else in_proj_bias.chunk(3)
        q = functional.linear(query, q_proj_weight, biases[0])
        k = functional.linear(key, k_proj_weight, biases[1])
        v = functional.linear(value, v_proj_weight, biases[2])
    else:
        if tuple(key.shape) != tuple(value.shape):
            raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
        if in_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        q, k, v = _projected(query, key, value, in_proj_weight, in_proj_bias)

    if attn_mask is not None:
        if attn_mask.dim() == 2:
            expected = (length, source)
            if tuple(attn_mask.shape) != expected:
                raise RuntimeError(f"The shape of the 2D attn_mask is {attn_mask.shape}, but should be {expected}.")
            attn_mask = attn_mask.unsqueeze(0)
        elif tuple(attn_mask.shape) != (batch * num_heads, length, source):
            raise RuntimeError(
                f"The shape of the 3D attn_mask is {attn_mask.shape}, but should be "
                f"{(batch * num_heads, length, source)}."
            )

    def appended(mask: Tensor | None) -> Tensor | None:
        return None if mask is None else functional.pad(mask, (0, 1))

    def heads(x: Tensor, static: Tensor | None = None, name: str = "") -> Tensor:
        if static is None:
            return x.reshape(x.shape[0], batch * num_heads, head).transpose(0, 1)
        if static.size(0) != batch * num_heads:
            raise AssertionError(f"expecting {name}.size(0) of {batch * num_heads}, but got {static.size(0)}")
        if static.size(2) != head:
            raise AssertionError(f"expecting {name}.size(2) of {head}, but got {static.size(2)}")
        return static

    if (bias_k is None) != (bias_v is None):
        raise AssertionError("bias_k and bias_v are one more key and value: one of them is None")
    if bias_k is not None and bias_v is not None:
        if static_k is not None or static_v is not None:
            raise AssertionError("bias cannot be added to static key or value.")
        k = tandem.cat([k, bias_k.repeat(1, batch, 1)])
        v = tandem.cat([v, bias_v.repeat(1, batch, 1)])
        attn_mask, key_padding_mask = appended(attn_mask), appended(key_padding_mask)
    q = heads(q)
    k, v = heads(k, static_k, "static_k"), heads(v, static_v, "static_v")
    if add_zero_attn:
        zeros = tandem.zeros(batch * num_heads, 1, head, dtype=k.dtype, device=k.device)
        k, v = tandem.cat([k, zeros], 1), tandem.cat([v, zeros], 1)
        attn_mask, key_padding_mask = appended(attn_mask), appended(key_padding_mask)
    source = k.shape[1]
    if key_padding_mask is not None:
        if tuple(key_padding_mask.shape) != (batch, source):
            raise AssertionError(
                f"expecting key_padding_mask shape of {(batch, source)}, but got {key_padding_mask.shape}"
            )
        padding = key_padding_mask.reshape(batch, 1, 1, source).expand(batch, num_heads, 1, source)
        padding = padding.reshape(batch * num_heads, 1, source)
        attn_mask = padding if attn_mask is None else attn_mask + padding
    dropout = dropout_p if training else 0.0

    if need_weights:
        q, k = q * math.sqrt(1.0 / head), k.transpose(-2, -1)
        scores = tandem.bmm(q, k) if attn_mask is None else tandem.baddbmm(attn_mask, q, k)
        weights = tandem.softmax(scores, -1)
        if dropout > 0.0:
            weights = functional.dropout(weights, dropout)
        output = tandem.bmm(weights, v)
        weights = weights.reshape(batch, num_heads, length, source)
        if average_attn_weights:
            weights = weights.mean(1)
        output = output.transpose(0, 1).reshape(length * batch, embed)
    else:
        weights = None
        if attn_mask is not None:
            one = attn_mask.shape[0] == 1
            attn_mask = attn_mask.unsqueeze(0) if one else attn_mask.reshape(batch, num_heads, -1, source)
        q, k, v = (x.reshape(batch, num_heads, x.shape[1], head) for x in (q, k, v))
        output = functional.scaled_dot_product_attention(q, k, v, attn_mask, dropout, implied)
        output = output.permute(2, 0, 1, 3).reshape(length * batch, embed)
    output = functional.linear(output, out_proj_weight, out_proj_bias).reshape(length, batch, out_proj_weight.shape[0])
    if not batched:
        output = output.squeeze(1)
        weights = None if weights is None else weights.squeeze(0)
    return output, weights
