"""`tandem.__future__`: what conversions of modules and `load_state_dict` do to the objects of parameters.

By default conversions (`Module.to`, `double` ...) give the parameters that there are other elements, and
`load_state_dict` copies into them.
"""

from __future__ import annotations

_overwrite = False
_swap = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether conversions of modules put new parameters in the place of those that there were.

    >>> import tandem
    >>> layer = tandem.nn.Linear(2, 2)
    >>> before = layer.weight
    >>> tandem.__future__.set_overwrite_module_params_on_conversion(True)
    >>> layer.double().weight is before
    False
    >>> tandem.__future__.set_overwrite_module_params_on_conversion(False)
    """
    global _overwrite
    _overwrite = value


def get_overwrite_module_params_on_conversion() -> bool:
    """What `set_overwrite_module_params_on_conversion` said last; False before."""
    return _overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Whether parameters are swapped (`utils.swap_tensors`) with what becomes of them: by conversions of modules with
    the converted ones, by `load_state_dict` with what `Tensor.module_load` gives.

    RuntimeError from those where something else refers to a parameter weakly.

    >>> import tandem
    >>> layer = tandem.nn.Linear(2, 2)
    >>> before = layer.weight
    >>> tandem.__future__.set_swap_module_params_on_conversion(True)
    >>> layer.double().weight is before, before.dtype
    (True, tandem.float64)
    >>> tandem.__future__.set_swap_module_params_on_conversion(False)
    """
    global _swap
    _swap = value


def get_swap_module_params_on_conversion() -> bool:
    """What `set_swap_module_params_on_conversion` said last; False before."""
    return _swap
