"""`tandem.nn.utils`: work on all parameters or gradients of a model at once; sequences of different lengths; parameters
computed from others.
"""

from tandem.nn.utils import fusion as fusion
from tandem.nn.utils import parametrizations as parametrizations
from tandem.nn.utils import parametrize as parametrize
from tandem.nn.utils import rnn as rnn
from tandem.nn.utils import stateless as stateless
from tandem.nn.utils.clip_grad import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from tandem.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters
from tandem.nn.utils.fusion import fuse_conv_bn_eval, fuse_conv_bn_weights, fuse_linear_bn_eval, fuse_linear_bn_weights
from tandem.nn.utils.memory_format import convert_conv2d_weight_memory_format, convert_conv3d_weight_memory_format
from tandem.nn.utils.skip_init import skip_init
from tandem.nn.utils.spectral_norm import remove_spectral_norm, spectral_norm
from tandem.nn.utils.weight_norm import remove_weight_norm, weight_norm

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "convert_conv2d_weight_memory_format",
    "convert_conv3d_weight_memory_format",
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
    "get_total_norm",
    "parameters_to_vector",
    "remove_spectral_norm",
    "remove_weight_norm",
    "skip_init",
    "spectral_norm",
    "vector_to_parameters",
    "weight_norm",
]
