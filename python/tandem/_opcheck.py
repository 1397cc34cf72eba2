"""`tandem.library.opcheck`: does an operation do what its definition says?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tandem import _C, testing
from tandem._compile import compile as compiled
from tandem.autograd import grad
from tandem.utils._pytree import tree_leaves, tree_map

if TYPE_CHECKING:
    from tandem.library import CustomOpDef

Tensor = _C.Tensor


class _Call:
    """An operation, and the arguments to try it on."""

    def __init__(
        self, op: CustomOpDef, args: tuple[Any, ...], kwargs: dict[str, Any], rtol: float | None, atol: float | None
    ) -> None:
        self.op, self.args, self.kwargs, self.rtol, self.atol = op, args, kwargs, rtol, atol

    def fresh(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Copies of the arguments."""

        def copied(x: Any) -> Any:
            return x.detach().clone().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x

        return tree_map(copied, (self.args, self.kwargs))

    def run(self, function: Callable[..., Any]) -> tuple[list[Any], list[Any]]:
        """Results on copies of the arguments, and the gradients of their sum where there are some."""
        args, kwargs = self.fresh()
        results = tree_leaves(function(*args, **kwargs))
        inputs = [t for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor) and t.requires_grad]
        sums = [r.sum() for r in results if isinstance(r, Tensor) and r.requires_grad]
        return results, list(grad(sums, inputs, allow_unused=True)) if sums and self.op._backward else []

    def test_schema(self) -> None:
        """An argument changes, or is a result's memory, only if the operation says that it changes it."""
        args, kwargs = self.fresh()
        given = self.op._signature.bind(*args, **kwargs).arguments if self.op._signature else {}
        tensors = {n: t for n, t in given.items() if isinstance(t, Tensor) and n not in self.op._mutates}
        before = {n: t.detach().clone() for n, t in tensors.items()}
        results = [r for r in tree_leaves(self.op(*args, **kwargs)) if isinstance(r, Tensor) and r.numel()]
        for name, t in tensors.items():
            if not t.detach().nan_to_num().equal(before[name].nan_to_num()):
                raise RuntimeError(f"Argument {name} is not defined as mutable but was mutated")
            if any(r.untyped_storage().data_ptr() == t.untyped_storage().data_ptr() for r in results):
                raise RuntimeError(f"Argument {name} is not defined to alias output but was aliasing")

    def test_autograd_registration(self) -> None:
        """The derivative, where one is registered, can be taken."""
        self.run(self.op)

    def test_faketensor(self) -> None:
        """The fake function gives the shapes and dtypes of the results."""
        if self.op._fake is None:
            raise RuntimeError(f"There was no fake impl registered for {self.op}")
        args, kwargs = self.fresh()
        real, fake = (
            [(r.shape, r.dtype) if isinstance(r, Tensor) else type(r) for r in tree_leaves(f(*args, **kwargs))]
            for f in (self.op, self.op._fake)
        )
        if real != fake:
            raise RuntimeError(f"the fake function of {self.op} says {fake} of results that are {real}")

    def test_aot_dispatch_dynamic(self) -> None:
        """A compiled call has the results and gradients of a plain one."""
        for ours, theirs in zip(self.run(compiled(lambda *a, **k: self.op(*a, **k))), self.run(self.op), strict=True):
            testing.assert_close(ours, theirs, rtol=self.rtol, atol=self.atol, equal_nan=True)


TESTS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


def opcheck(
    op: CustomOpDef | str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = TESTS,
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, str | Exception]:
    """Try on arguments whether an operation of `custom_op` does what its definition says.

    The tests: "test_schema" (arguments change or are returned only where `mutates_args` says so),
    "test_autograd_registration" (a registered derivative can be taken), "test_faketensor" (what `register_fake` got
    gives the shapes and dtypes of the results), "test_aot_dispatch_dynamic" (compiled calls have the same results and
    gradients). Returns "SUCCESS", or what was raised, for each; the first is raised with `raise_exception`.

    >>> import tandem
    >>> @tandem.library.custom_op("docs::triple", mutates_args=())
    ... def triple(x: tandem.Tensor) -> tandem.Tensor:
    ...     return x * 3
    >>> _ = triple.register_fake(lambda x: tandem.empty_like(x))
    >>> set(tandem.library.opcheck(triple, (tandem.ones(2),)).values())
    {'SUCCESS'}
    """
    from tandem.library import _found

    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    if unknown := set(names) - set(TESTS):
        raise ValueError(f"opcheck: there is no test {sorted(unknown)}; the tests are {', '.join(TESTS)}")
    call = _Call(_found(op), args, kwargs or {}, rtol, atol)
    outcomes: dict[str, str | Exception] = {}
    for name in names:
        try:
            getattr(call, name)()
            outcomes[name] = "SUCCESS"
        except Exception as e:
            if raise_exception:
                raise RuntimeError(f"opcheck({call.op}, ...): {name} failed with {e}") from e
            outcomes[name] = e
    return outcomes
