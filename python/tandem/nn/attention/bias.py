"""`tandem.nn.attention.bias`: masks of attention that are known by their form."""

from __future__ import annotations

import enum
import warnings
from typing import Any

import tandem

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(enum.IntEnum):
    """Which corner the triangle of a causal mask starts from, where there are not as many keys as queries.

    >>> from tandem.nn.attention.bias import CausalVariant
    >>> CausalVariant.LOWER_RIGHT.value
    2
    """

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(tandem.Tensor):
    """A causal mask for `scaled_dot_product_attention`; made by `causal_upper_left` and `causal_lower_right`.

    AssertionError for a `variant` that is none, ValueError beside `is_causal=True`. A warning for a triangle from the
    lower right with more queries than keys: the first queries attend to nothing.

    >>> from tandem.nn.attention.bias import CausalBias, CausalVariant
    >>> CausalBias(CausalVariant.LOWER_RIGHT, 2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> CausalBias:
        """One without elements: attention looks at its form."""
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        return tandem.empty(0).as_subclass(cls)

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        self.variant, self.seq_len_q, self.seq_len_kv = variant, seq_len_q, seq_len_kv
        if seq_len_q > seq_len_kv and variant is CausalVariant.LOWER_RIGHT:
            warnings.warn(
                "Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv!", stacklevel=2
            )

    def _materialize(self, device: Any = None) -> tandem.Tensor:
        """The mask as bools: may the query of the row attend to the key of the column?"""
        all_of = tandem.ones(self.seq_len_q, self.seq_len_kv, dtype=tandem.bool, device=device or "cpu")
        return all_of.tril(self.seq_len_kv - self.seq_len_q if self.variant is CausalVariant.LOWER_RIGHT else 0)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Attention by the form of the mask; all else as of other tensors."""
        if func is tandem.nn.functional.scaled_dot_product_attention:
            return _attention(*args, **(kwargs or {}))
        return super().__torch_function__(func, types, args, kwargs or {})

    def __repr__(self, **options: Any) -> str:
        return repr(self._materialize())


def _attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: CausalBias,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    **rest: Any,
) -> tandem.Tensor:
    if is_causal:
        raise ValueError("CausalBias should not be used with causal=True")
    attend = tandem.nn.functional.scaled_dot_product_attention
    if attn_mask.variant is CausalVariant.UPPER_LEFT or attn_mask.seq_len_q == attn_mask.seq_len_kv:
        return attend(query, key, value, None, dropout_p, True, **rest)
    return attend(query, key, value, attn_mask._materialize(query.device), dropout_p, False, **rest)


def _of_size(name: str, variant: CausalVariant, size: tuple[int, ...]) -> CausalBias:
    if len(size) != 2:
        raise AssertionError(f"{name} only supports 2D tensors")
    return CausalBias(variant, *size)


def causal_upper_left(*size: int) -> CausalBias:
    """The mask of `is_causal=True` for `size`, (queries, keys): query i attends to the first i + 1 keys.

    >>> import tandem.nn.attention.bias
    >>> tandem.nn.attention.bias.causal_upper_left(2, 3)
    tensor([[ True, False, False],
            [ True,  True, False]])
    """
    return _of_size("causal_upper_left", CausalVariant.UPPER_LEFT, size)


def causal_lower_right(*size: int) -> CausalBias:
    """The mask for `size`, (queries, keys), where the queries are the last of the keys' positions.

    >>> import tandem.nn.attention.bias
    >>> tandem.nn.attention.bias.causal_lower_right(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    return _of_size("causal_lower_right", CausalVariant.LOWER_RIGHT, size)
