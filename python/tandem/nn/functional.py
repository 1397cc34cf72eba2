"""`tandem.nn.functional`: the functions behind the modules, with PyTorch's names and signatures.

Operations that the core has as one record each, activations and losses among them, come straight from it; all others
are compositions of differentiable tensor operations: dropout in `_dropout.py`, attention of several heads in
`_multihead.py`, distances in `_structural.py`. `_windows.py` and `_spatial.py` settle arguments before the core.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec

import tandem
from tandem import Tensor
from tandem._functions import _need_tensor
from tandem.nn import _reduction as _Reduction  # noqa: F401, N812
from tandem.nn._dropout import *  # noqa: F403
from tandem.nn._fractional import *  # noqa: F403
from tandem.nn._multihead import *  # noqa: F403
from tandem.nn._multihead import canonical_mask as _canonical_mask  # noqa: F401
from tandem.nn._multihead import none_or_dtype as _none_or_dtype  # noqa: F401
from tandem.nn._spatial import *  # noqa: F403
from tandem.nn._structural import *  # noqa: F403
from tandem.nn._windows import *  # noqa: F403

_core = tandem._C._nn
_P = ParamSpec("_P")

conv_tbc = tandem.conv_tbc
conv1d = _core.conv1d
conv2d = _core.conv2d
conv3d = _core.conv3d
conv_transpose1d = _core.conv_transpose1d
conv_transpose2d = _core.conv_transpose2d
conv_transpose3d = _core.conv_transpose3d
avg_pool1d = _core.avg_pool1d
avg_pool2d = _core.avg_pool2d
avg_pool3d = _core.avg_pool3d
pad = _core.pad
unfold = _core.unfold
max_unpool = _core.max_unpool
upsample_to = _core.upsample_to
fold = _core.fold
pixel_shuffle = _core.pixel_shuffle
pixel_unshuffle = _core.pixel_unshuffle
channel_shuffle = _core.channel_shuffle
native_channel_shuffle = tandem.native_channel_shuffle
gelu = _core.gelu
layer_norm = _core.layer_norm
rms_norm = _core.rms_norm
local_response_norm = _core.local_response_norm
scaled_dot_product_attention = _core.scaled_dot_product_attention
linear = _core.linear
normalize = _core.normalize
one_hot = _core.one_hot
fractional_max_pool = _core.fractional_max_pool
lp_pool1d = _core.lp_pool1d
lp_pool2d = _core.lp_pool2d
lp_pool3d = _core.lp_pool3d
pdist = _core.pdist
sigmoid = tandem.sigmoid
tanh = tandem.tanh

relu = _core.relu
relu_ = _core.relu_
leaky_relu = _core.leaky_relu
elu = _core.elu
selu = _core.selu
celu = _core.celu
silu = _core.silu
mish = _core.mish
softplus = _core.softplus
logsigmoid = log_sigmoid = _core.logsigmoid
hardtanh = _core.hardtanh
relu6 = _core.relu6
hardsigmoid = _core.hardsigmoid
hardswish = _core.hardswish
softsign = _core.softsign
tanhshrink = _core.tanhshrink
softshrink = _core.softshrink
hardshrink = _core.hardshrink
threshold = _core.threshold
glu = _core.glu
prelu = _core.prelu
rrelu = _core.rrelu

mse_loss = _core.mse_loss
l1_loss = _core.l1_loss
smooth_l1_loss = _core.smooth_l1_loss
huber_loss = _core.huber_loss
binary_cross_entropy = _core.binary_cross_entropy
binary_cross_entropy_with_logits = _core.binary_cross_entropy_with_logits
kl_div = _core.kl_div
poisson_nll_loss = _core.poisson_nll_loss
gaussian_nll_loss = _core.gaussian_nll_loss
hinge_embedding_loss = _core.hinge_embedding_loss
margin_ranking_loss = _core.margin_ranking_loss
soft_margin_loss = _core.soft_margin_loss
cosine_embedding_loss = _core.cosine_embedding_loss
triplet_margin_loss = _core.triplet_margin_loss
multilabel_margin_loss = _core.multilabel_margin_loss
multilabel_soft_margin_loss = _core.multilabel_soft_margin_loss
multi_margin_loss = _core.multi_margin_loss
nll_loss = _core.nll_loss
cross_entropy = _core.cross_entropy
ctc_loss = _core.ctc_loss
cosine_similarity = _core.cosine_similarity
pairwise_distance = _core.pairwise_distance


def _implicit_dim(name: str, input: Tensor, dim: int | None, stacklevel: int) -> int:
    """The dimension that softmax takes when none is given, with a warning."""
    if dim is None:
        tandem._C._warn(
            f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an "
            "argument.",
            stacklevel,
        )
        return 0 if input.dim() in (0, 1, 3) else 1
    return dim


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: tandem.dtype | None = None) -> Tensor:
    """exp(x) / sum(exp(x)) along `dim`: positive numbers whose sum is 1.

    `dim` should be given: None means 0 for tensors of 0, 1 or 3 dims and 1 for all others. Computed in `dtype` if
    given, else in the input's, which is a floating one (NotImplementedError). IndexError for a dim that there is not.

    Example:
        >>> import tandem
        >>> tandem.nn.functional.softmax(tandem.tensor([0.0, 1.0]), 0)
        tensor([0.2689, 0.7311])
    """
    return tandem.softmax(input, _implicit_dim("softmax", input, dim, _stacklevel), dtype=dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: tandem.dtype | None = None
) -> Tensor:
    """x - log(sum(exp(x))) along `dim`, which does not overflow. Arguments and errors as of `softmax`.

    Example:
        >>> import tandem
        >>> tandem.nn.functional.log_softmax(tandem.tensor([0.0, 1000.0]), 0)
        tensor([-1000.,     0.])
    """
    return tandem.log_softmax(input, _implicit_dim("log_softmax", input, dim, _stacklevel), dtype=dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: tandem.dtype | None = None) -> Tensor:
    """exp(-x) / sum(exp(-x)) along `dim`. Arguments and errors as of `softmax`.

    Example:
        >>> import tandem
        >>> tandem.nn.functional.softmin(tandem.tensor([0.0, 1.0]), 0)
        tensor([0.7311, 0.2689])
    """
    return softmax(-input, _implicit_dim("softmin", input, dim, _stacklevel), dtype=dtype)


def _in_place(function: Callable[_P, Tensor], options: str = "") -> Callable[_P, Tensor]:
    """A function with `inplace=True`, named with an underscore; `options` are arguments for its example."""
    name = function.__name__

    def written(*args: _P.args, **kwargs: _P.kwargs) -> Tensor:
        return function(*args, inplace=True, **kwargs)  # type: ignore[arg-type]  # it has the option

    written.__name__ = written.__qualname__ = name + "_"
    written.__doc__ = f"""`{name}` written into `input`, which is returned; other arguments as there.

    RuntimeError for a leaf that requires a gradient.

    Example:
        >>> import tandem
        >>> x = tandem.tensor([-1.0, 2.0])
        >>> tandem.nn.functional.{name}_(x{options}) is x
        True
    """
    return written


leaky_relu_ = _in_place(leaky_relu)
elu_ = _in_place(elu)
selu_ = _in_place(selu)
celu_ = _in_place(celu)
hardtanh_ = _in_place(hardtanh)
threshold_ = _in_place(threshold, ", 0.0, 0.0")
rrelu_ = _in_place(rrelu)


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """`cross_entropy(linear(input, linear_weight, linear_bias), target)`.

    Args:
        input: [F] or [N, F].
        linear_weight: [C, F], or [C, d1, ..., F] for scores [N, C, d1, ...] of an input [N, F].
        target: what `cross_entropy` takes with these scores.
        linear_bias: the sizes of `linear_weight` but the last.
        ignore_index: None is -100; it is for targets that are classes.
        options: None: others make PyTorch compute in pieces, which have no effect here.

    `weight`, `reduction` and `label_smoothing` are those of `cross_entropy`. RuntimeError for other shapes.

    Example:
        >>> import tandem
        >>> x, w = tandem.zeros(1, 3), tandem.ones(2, 3)
        >>> tandem.nn.functional.linear_cross_entropy(x, w, tandem.tensor([1]))
        tensor(0.6931)
    """
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}")
    if linear_weight.dim() > 2 and input.dim() != 2:
        raise RuntimeError(
            f"expected input with dimensionality 2 for linear_weight of shape {list(linear_weight.shape)}, got "
            f"{input.dim()}"
        )
    if linear_weight.shape[-1] != input.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got shapes "
            f"{list(input.shape)} and {list(linear_weight.shape)}"
        )
    if linear_bias is not None and linear_bias.shape != linear_weight.shape[:-1]:
        raise RuntimeError(
            f"expected linear_bias shape {tuple(linear_weight.shape[:-1])}, got {tuple(linear_bias.shape)}"
        )
    flat_bias = None if linear_bias is None else linear_bias.reshape(-1)
    scores = linear(input, linear_weight.reshape(-1, input.shape[-1]), flat_bias)
    scores = scores.reshape([*input.shape[:-1], *linear_weight.shape[:-1]])
    if ignore_index is not None and target.shape == scores.shape:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(
        scores,
        target,
        weight,
        ignore_index=ignored,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), d any function of two tensors [N, ...] to [N].

    Args:
        distance_function: d; the 2-norm of the difference when None.
        margin: greater than 0 (ValueError).
        swap: compare with d(positive, negative) where that is less than d(anchor, negative).
        reduction: "mean", "sum" or "none" (ValueError for others).

    Example:
        >>> import tandem
        >>> def distance(x, y):
        ...     return (x - y).abs().amax(-1)
        >>> a, n = tandem.zeros(1, 2), tandem.full((1, 2), 0.25)
        >>> tandem.nn.functional.triplet_margin_with_distance_loss(a, a, n, distance_function=distance)
        tensor(0.7500)
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "triplet_margin_with_distance_loss: anchor, positive and negative must have the same number of dimensions, "
            f"but got shapes {list(anchor.shape)}, {list(positive.shape)} and {list(negative.shape)}"
        )
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = tandem.minimum(far, distance(positive, negative))
    loss = (near - far + margin).clamp(min=0.0)
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()


def gumbel_softmax(logits: Tensor, tau: float = 1.0, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """softmax((logits + g) / tau) along `dim`, g = -log(-log(uniform)): a relaxed sample of a class (Jang et al. 2016).

    Args:
        logits: [..., C, ...], unnormalised log-probabilities.
        tau: the temperature; the sample is nearer to one-hot the lower it is.
        hard: return a one-hot sample that has the gradient of the soft one.
        eps: unused, as in PyTorch.

    Example:
        >>> import tandem
        >>> tandem.nn.functional.gumbel_softmax(tandem.tensor([0.0, 99.0]), hard=True)
        tensor([0., 1.])
    """
    _need_tensor("gumbel_softmax", logits, "logits")
    if eps != 1e-10:
        tandem._C._warn("`eps` parameter is deprecated and has no effect.", 2)
    uniform = tandem.rand(list(logits.shape), dtype=logits.dtype, device=logits.device)
    tiny = tandem.finfo(logits.dtype).tiny
    noise = -tandem.log((-tandem.log(uniform.clamp(min=tiny))).clamp(min=tiny))
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.argmax(dim, keepdim=True)
    places = tandem.arange(logits.shape[dim], device=logits.device)
    shape: Sequence[int] = [-1 if i == dim % logits.dim() else 1 for i in range(logits.dim())]
    one = (places.reshape(shape) == index).to(logits.dtype)
    return one - soft.detach() + soft


__all__ = [name for name in dir() if not name.startswith("_") and callable(globals()[name])]
__all__ = sorted(set(__all__) - {"Any", "Callable", "ParamSpec", "Sequence", "Tensor"})
