"""Methods of tensors that are functions of the package too: those that write into their first argument, and a few that
say something about it; and activations that write into it."""

from typing import Any

from tandem import _C
from tandem._functions import _need_tensor

_Tensor = _C.Tensor

abs_ = _Tensor.abs_
acos_ = _Tensor.acos_
acosh_ = _Tensor.acosh_
addmv_ = _Tensor.addmv_
arccos_ = _Tensor.arccos_
arccosh_ = _Tensor.arccosh_
arcsin_ = _Tensor.arcsin_
arcsinh_ = _Tensor.arcsinh_
arctan_ = _Tensor.arctan_
arctanh_ = _Tensor.arctanh_
as_strided_ = _Tensor.as_strided_
asin_ = _Tensor.asin_
asinh_ = _Tensor.asinh_
atan_ = _Tensor.atan_
atanh_ = _Tensor.atanh_
ceil_ = _Tensor.ceil_
clamp_ = _Tensor.clamp_
clamp_max_ = _Tensor.clamp_max_
clamp_min_ = _Tensor.clamp_min_
clip_ = _Tensor.clip_
conj = _Tensor.conj
conj_physical_ = _Tensor.conj_physical_
cos_ = _Tensor.cos_
cosh_ = _Tensor.cosh_
deg2rad_ = _Tensor.deg2rad_
detach = _Tensor.detach
detach_ = _Tensor.detach_
erf_ = _Tensor.erf_
erfc_ = _Tensor.erfc_
exp2_ = _Tensor.exp2_
exp_ = _Tensor.exp_
expm1_ = _Tensor.expm1_
fill_ = _Tensor.fill_
fix_ = _Tensor.fix_
floor_ = _Tensor.floor_
frac_ = _Tensor.frac_
gcd_ = _Tensor.gcd_
get_device = _Tensor.get_device
i0_ = _Tensor.i0_
index_put_ = _Tensor.index_put_
is_conj = _Tensor.is_conj
is_inference = _Tensor.is_inference
is_neg = _Tensor.is_neg
is_nonzero = _Tensor.is_nonzero
is_same_size = _Tensor.is_same_size
is_signed = _Tensor.is_signed
lcm_ = _Tensor.lcm_
ldexp_ = _Tensor.ldexp_
log10_ = _Tensor.log10_
log1p_ = _Tensor.log1p_
log2_ = _Tensor.log2_
log_ = _Tensor.log_
logit_ = _Tensor.logit_
nan_to_num_ = _Tensor.nan_to_num_
neg_ = _Tensor.neg_
negative_ = _Tensor.negative_
rad2deg_ = _Tensor.rad2deg_
reciprocal_ = _Tensor.reciprocal_
relu_ = _Tensor.relu_
resize_as_ = _Tensor.resize_as_
resolve_conj = _Tensor.resolve_conj
resolve_neg = _Tensor.resolve_neg
round_ = _Tensor.round_
rsqrt_ = _Tensor.rsqrt_
sigmoid_ = _Tensor.sigmoid_
sin_ = _Tensor.sin_
sinc_ = _Tensor.sinc_
sinh_ = _Tensor.sinh_
sqrt_ = _Tensor.sqrt_
square_ = _Tensor.square_
tan_ = _Tensor.tan_
tanh_ = _Tensor.tanh_
trunc_ = _Tensor.trunc_
xlogy_ = _Tensor.xlogy_
zero_ = _Tensor.zero_


def conj_physical(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
    """The tensor itself, as all numbers are real, or a copy of it in `out`.

    >>> import tandem
    >>> tandem.conj_physical(tandem.tensor([1.0, -2.0]), out=tandem.empty(2))
    tensor([ 1., -2.])
    """
    _need_tensor("conj_physical", input)
    return input.conj_physical() if out is None else _C.alias_copy(input, out=out)


def celu_(input: _Tensor, alpha: float = 1.0) -> _Tensor:
    """`celu` written into `input`, which is returned.

    >>> import tandem
    >>> tandem.celu_(tandem.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return _C._nn.celu(input, alpha, True)


def selu_(input: _Tensor) -> _Tensor:
    """`selu` written into `input`, which is returned.

    >>> import tandem
    >>> tandem.selu_(tandem.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """
    return _C._nn.selu(input, True)


def threshold_(input: _Tensor, threshold: float, value: float) -> _Tensor:
    """`threshold` written into `input`, which is returned.

    >>> import tandem
    >>> tandem.threshold_(tandem.tensor([-1.0, 2.0]), 0.5, 7.0)
    tensor([7., 2.])
    """
    return _C._nn.threshold(input, threshold, value, True)


def rrelu_(
    input: _Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, generator: Any = None
) -> _Tensor:
    """`rrelu` written into `input`, which is returned; with `training` slopes are drawn, from `generator` if given.

    >>> import tandem
    >>> tandem.rrelu_(tandem.tensor([-24.0, 2.0]))
    tensor([-5.5000,  2.0000])
    """
    if generator is None or not training:
        return _C._nn.rrelu(input, lower, upper, training, True)
    slopes = _C.empty_like(input).uniform_(lower, upper, generator=generator)
    return input.copy_(_C.where(input > 0, input, input * slopes))
