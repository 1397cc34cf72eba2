"""Pruning: a parameter becomes the product of what it was, `name_orig`, and a mask of zeros and ones, `name_mask`.

A `BasePruningMethod` gives the mask; its object is a hook before `forward` that computes the product. Several on one
parameter are a `PruningContainer`, each of which prunes what is left by those before it.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Sequence
from typing import Any

import tandem
from tandem import Tensor

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


class BasePruningMethod:
    """Base of ways to prune: a subclass defines `compute_mask(t, default_mask)`.

    `PRUNING_TYPE` says what a further method prunes: "unstructured" single elements, "structured" slices along `dim`,
    "global" anything.

    >>> import tandem
    >>> from tandem.nn.utils import prune
    >>> class Half(prune.BasePruningMethod):
    ...     PRUNING_TYPE = "unstructured"
    ...     def compute_mask(self, t, default_mask):
    ...         mask = default_mask.clone()
    ...         mask.view(-1)[::2] = 0
    ...         return mask
    >>> layer = tandem.nn.Linear(4, 1)
    >>> _ = Half.apply(layer, "bias"), Half.apply(layer, "weight")
    >>> layer.weight_mask
    tensor([[0., 1., 0., 1.]])
    """

    PRUNING_TYPE = ""
    _tensor_name: str

    def __call__(self, module: Any, inputs: Any) -> None:
        """Compute the pruned parameter, before the module's forward."""
        setattr(module, self._tensor_name, self.apply_mask(module))

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask, of the shape of `t`: what `default_mask` and this method keep."""
        raise NotImplementedError(f"{type(self).__name__}.compute_mask")

    def apply_mask(self, module: Any) -> Tensor:
        """The pruned parameter: mask times original."""
        mask, original = (getattr(module, f"{self._tensor_name}_{part}") for part in ("mask", "orig"))
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(
        cls, module: Any, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prune the parameter `name` of a module by the method with these arguments; the method.

        `importance_scores`, of its shape, are ranked in place of its values.
        """
        old = _hooks(module, name)
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        original = getattr(module, name)
        if importance_scores is not None and importance_scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, "
                f"{tuple(original.shape)}, but got {tuple(importance_scores.shape)}"
            )
        scores = original if importance_scores is None else importance_scores
        container = None
        if old:
            key, before = old[0]
            del module._forward_pre_hooks[key]
            container = PruningContainer(before)
            container.add_pruning_method(method)
            default = getattr(module, f"{name}_mask")
        else:
            parameter = module._parameters.pop(name)
            module.register_parameter(f"{name}_orig", parameter)
            default = tandem.ones_like(parameter)
        try:
            mask = (container or method).compute_mask(scores.detach(), default.detach())
        except Exception:
            if old:
                module._forward_pre_hooks[old[0][0]] = old[0][1]
            else:
                module.register_parameter(name, module._parameters.pop(f"{name}_orig"))
            raise
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(container or method)
        return container or method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """A pruned copy of a tensor, ranked by itself or by `importance_scores` of its shape."""
        if importance_scores is not None and importance_scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        scores = t if importance_scores is None else importance_scores
        mask = tandem.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=mask)

    def remove(self, module: Any) -> None:
        """Make the pruned parameter the parameter, for good."""
        name = self._tensor_name
        pruned = self.apply_mask(module).detach()
        original = module._parameters.pop(f"{name}_orig")
        del module._buffers[f"{name}_mask"]
        if name in module.__dict__:
            del module.__dict__[name]
        original.data = pruned
        module.register_parameter(name, original)


class PruningContainer(BasePruningMethod):
    """Methods that prune one parameter one after another.

    >>> import tandem
    >>> from tandem.nn.utils import prune
    >>> layer = tandem.nn.Linear(4, 2)
    >>> _ = prune.random_unstructured(layer, "weight", 2), prune.l1_unstructured(layer, "weight", 3)
    >>> layer.weight_mask.sum().item()
    3.0
    """

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if args:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            methods = method._pruning_methods if isinstance(method, PruningContainer) else (method,)
            for m in methods:
                self.add_pruning_method(m)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Append a method for the same parameter."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method._tensor_name != self._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to "
                f"PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> BasePruningMethod:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The default mask after the last method has pruned what it leaves."""
        method, mask = self._pruning_methods[-1], default_mask.to(dtype=t.dtype)
        kept: Any
        if method.PRUNING_TYPE == "unstructured":
            kept = mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = getattr(method, "dim", 0) % t.dim()
            others = [d for d in range(t.dim()) if d != dim]
            kept = tuple(slice(None) if d != dim else mask.sum(others) != 0 for d in range(t.dim()))
        elif method.PRUNING_TYPE == "global":
            kept = ...
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        result = mask.clone()
        result[kept] = method.compute_mask(t[kept], default_mask=mask[kept]).to(mask.dtype)
        return result


# By PyTorch's names, which pruning methods of users call.
def _validate_pruning_amount_init(amount: Any) -> None:
    """TypeError or ValueError for what is no share in [0, 1] and no number of elements."""
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if isinstance(amount, numbers.Integral):
        if int(amount) < 0:
            raise ValueError(f"amount={amount} should be a non-negative integer")
    elif not 0.0 <= float(amount) <= 1.0:
        raise ValueError(f"amount={amount} should be a float in [0.0, 1.0] or a non-negative integer")


def _validate_pruning_amount(amount: Any, tensor_size: int) -> None:
    """ValueError for more elements than there are."""
    if isinstance(amount, numbers.Integral) and int(amount) > tensor_size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}")


def _compute_nparams_toprune(amount: Any, tensor_size: int) -> int:
    """How many of the elements an amount, a share in [0, 1] or a number, is."""
    return int(amount) if isinstance(amount, numbers.Integral) else round(float(amount) * tensor_size)


def _amount(amount: Any, size: int) -> int:
    _validate_pruning_amount_init(amount)
    _validate_pruning_amount(amount, size)
    return _compute_nparams_toprune(amount, size)


class Identity(BasePruningMethod):
    """Prunes nothing: masks of ones.

    >>> import tandem
    >>> tandem.nn.utils.prune.Identity().prune(tandem.ones(2))
    tensor([1., 1.])
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class _OfElements(BasePruningMethod):
    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _scores(self, t: Tensor) -> Tensor:
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        mask, count = default_mask.clone(), _amount(self.amount, t.numel())
        if count:
            lowest = self._scores(t).reshape(-1).topk(count, largest=False).indices
            mask.view(-1)[lowest] = 0
        return mask


class RandomUnstructured(_OfElements):
    """Prunes `amount` elements (a number, or a share in [0, 1]) at random.

    >>> import tandem
    >>> tandem.nn.utils.prune.RandomUnstructured(0.5).prune(tandem.ones(4)).sum().item()
    2.0
    """

    def _scores(self, t: Tensor) -> Tensor:
        return tandem.rand(t.shape, device=t.device)


class L1Unstructured(_OfElements):
    """Prunes the `amount` elements (a number, or a share in [0, 1]) of the smallest absolute values.

    >>> import tandem
    >>> tandem.nn.utils.prune.L1Unstructured(2).prune(tandem.tensor([1.0, -3.0, 0.5, 2.0]))
    tensor([ 0., -3.,  0.,  2.])
    """

    def _scores(self, t: Tensor) -> Tensor:
        return t.abs()


class _OfSlices(BasePruningMethod):
    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount, self.dim = amount, dim

    def _scores(self, slices: Tensor) -> Tensor:
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if t.dim() <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                f"{tuple(t.shape)} with {t.dim()} dims"
            )
        if not -t.dim() <= self.dim < t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {tuple(t.shape)}")
        count = _amount(self.amount, t.shape[self.dim])
        if count == 0:
            return default_mask
        scores = self._scores(t.movedim(self.dim, 0).reshape(t.shape[self.dim], -1))
        mask = default_mask.clone()
        mask.movedim(self.dim, 0)[scores.topk(count, largest=False).indices] = 0
        return mask


class RandomStructured(_OfSlices):
    """Prunes `amount` slices (a number, or a share in [0, 1]) along `dim` at random.

    >>> import tandem
    >>> tandem.nn.utils.prune.RandomStructured(1, dim=0).prune(tandem.ones(3, 2)).sum().item()
    4.0
    """

    def _scores(self, slices: Tensor) -> Tensor:
        return tandem.rand(slices.shape[0], device=slices.device)


class LnStructured(_OfSlices):
    """Prunes the `amount` slices (a number, or a share in [0, 1]) along `dim` of the smallest n-norms.

    >>> import tandem
    >>> tandem.nn.utils.prune.LnStructured(1, n=2, dim=0).prune(tandem.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[0., 0.],
            [3., 4.]])
    """

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _scores(self, slices: Tensor) -> Tensor:
        return tandem.norm(slices, p=self.n, dim=1)


class CustomFromMask(BasePruningMethod):
    """Prunes what a mask of the parameter's shape has zeros for.

    >>> import tandem
    >>> tandem.nn.utils.prune.CustomFromMask(tandem.tensor([1, 0])).prune(tandem.ones(2))
    tensor([1., 0.])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(f"a mask of shape {tuple(self.mask.shape)} for {tuple(default_mask.shape)}")
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def identity(module: Any, name: str) -> Any:
    """Prune nothing of a parameter; the module, whose parameter has a mask of ones.

    >>> import tandem
    >>> sorted(tandem.nn.utils.prune.identity(tandem.nn.Linear(1, 1), "bias").state_dict())
    ['bias_mask', 'bias_orig', 'weight']
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: float) -> Any:
    """Prune `amount` elements of a parameter at random; the module.

    >>> import tandem
    >>> layer = tandem.nn.utils.prune.random_unstructured(tandem.nn.Linear(4, 1), "weight", 0.5)
    >>> layer.weight_mask.sum().item()
    2.0
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Any, name: str, amount: float, importance_scores: Tensor | None = None) -> Any:
    """Prune the `amount` smallest elements of a parameter; the module.

    >>> import tandem
    >>> layer = tandem.nn.utils.prune.l1_unstructured(tandem.nn.Linear(4, 1), "weight", 3)
    >>> (layer.weight != 0).sum().item()
    1
    """
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: float, dim: int) -> Any:
    """Prune `amount` slices of a parameter along `dim` at random; the module.

    >>> import tandem
    >>> layer = tandem.nn.utils.prune.random_structured(tandem.nn.Linear(4, 3), "weight", 1, dim=0)
    >>> layer.weight_mask.sum().item()
    8.0
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Any, name: str, amount: float, n: Any, dim: int, importance_scores: Tensor | None = None
) -> Any:
    """Prune the `amount` slices of a parameter along `dim` with the smallest n-norms; the module.

    >>> import tandem
    >>> layer = tandem.nn.utils.prune.ln_structured(tandem.nn.Linear(4, 3), "weight", 2, n=2, dim=0)
    >>> layer.weight_mask.sum().item()
    4.0
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Any, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Any, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune several parameters, pairs of module and name, as if they were one, by a method of elements.

    >>> import tandem
    >>> from tandem.nn.utils import prune
    >>> net = tandem.nn.Sequential(tandem.nn.Linear(2, 2), tandem.nn.Linear(2, 1))
    >>> pairs = [(net[0], "weight"), (net[1], "weight")]
    >>> prune.global_unstructured(pairs, prune.L1Unstructured, amount=4)
    >>> sum(int(module.weight_mask.sum()) for module, _ in pairs)
    2
    """
    pairs: Sequence[tuple[Any, str]] = list(parameters) if isinstance(parameters, Iterable) else []
    if not pairs:
        raise TypeError("global_unstructured(): parameters is not an Iterable of pairs of module and name")
    given = {} if importance_scores is None else importance_scores
    scores = [given.get(pair, getattr(*pair)).detach().reshape(-1) for pair in pairs]
    masks = [getattr(m, f"{n}_mask", tandem.ones_like(getattr(m, n))).detach().reshape(-1) for m, n in pairs]
    method: Any = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    method._tensor_name = "together"
    container = PruningContainer(method)
    together = container.compute_mask(tandem.cat(scores), tandem.cat(masks))
    at = 0
    for module, name in pairs:
        parameter = getattr(module, name)
        custom_from_mask(module, name, together[at : at + parameter.numel()].view(parameter.shape))
        at += parameter.numel()


def custom_from_mask(module: Any, name: str, mask: Tensor) -> Any:
    """Prune what `mask`, of the parameter's shape, has zeros for; the module.

    >>> import tandem
    >>> layer = tandem.nn.utils.prune.custom_from_mask(tandem.nn.Linear(1, 2), "bias", tandem.tensor([0, 1]))
    >>> layer.bias[0].item()
    0.0
    """
    CustomFromMask.apply(module, name, mask)
    return module


def _hooks(module: Any, name: str) -> list[tuple[Any, BasePruningMethod]]:
    hooks = module._forward_pre_hooks.items()
    return [(k, h) for k, h in hooks if isinstance(h, BasePruningMethod) and h._tensor_name == name]


def remove(module: Any, name: str) -> Any:
    """Make a pruned parameter a parameter again, with its zeros; the module. ValueError if it is not pruned.

    >>> import tandem
    >>> from tandem.nn.utils import prune
    >>> layer = prune.l1_unstructured(tandem.nn.Linear(4, 1), "weight", 3)
    >>> layer = prune.remove(layer, "weight")
    >>> isinstance(layer.weight, tandem.nn.Parameter), (layer.weight != 0).sum().item()
    (True, 1)
    """
    for key, hook in _hooks(module, name):
        hook.remove(module)
        del module._forward_pre_hooks[key]
        return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Any) -> bool:
    """Is a parameter of the module, or of one in it, pruned?

    >>> import tandem
    >>> layer = tandem.nn.Linear(2, 1)
    >>> from tandem.nn.utils import prune
    >>> prune.is_pruned(layer), prune.is_pruned(prune.identity(layer, "bias"))
    (False, True)
    """
    return any(isinstance(h, BasePruningMethod) for m in module.modules() for h in m._forward_pre_hooks.values())
