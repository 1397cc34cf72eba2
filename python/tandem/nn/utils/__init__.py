"""`tandem.nn.utils`: work on all parameters or gradients of a model at once; sequences of different lengths."""

from tandem.nn.utils import rnn as rnn
from tandem.nn.utils.clip_grad import clip_grad_norm_, clip_grad_value_, get_total_norm
from tandem.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters

__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "get_total_norm",
    "parameters_to_vector",
    "vector_to_parameters",
]
