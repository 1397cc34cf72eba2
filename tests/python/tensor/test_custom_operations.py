"""`tandem.library`: operations of one's own are what their definitions say, or `opcheck` says what they are not."""

from __future__ import annotations

import pytest

import tandem


def _twice(name, function, fake=tandem.empty_like, backward=lambda ctx, g: g * 2):
    op = tandem.library.custom_op(f"tests::{name}", function, mutates_args=(), schema="(Tensor x) -> Tensor")
    if fake is not None:
        op.register_fake(fake)
    op.register_autograd(backward)
    return op


@pytest.mark.parametrize(
    ("made", "test", "words"),
    [
        (lambda: _twice("right", lambda x: x * 2), None, ""),
        (lambda: _twice("writes", lambda x: x.detach().mul_(2).clone()), "test_schema", "x is not defined as mutable"),
        (lambda: _twice("returns", lambda x: x.view(-1)), "test_schema", "may not alias"),
        (lambda: _twice("no_fake", lambda x: x * 2, None), "test_faketensor", "no fake impl registered"),
        (lambda: _twice("wrong_fake", lambda x: x * 2, lambda x: x[:1]), "test_faketensor", "says"),
        (
            lambda: _twice("fails", lambda x: x * 2, backward=lambda ctx, g: ctx.missing),
            "test_autograd_registration",
            "missing",
        ),
        (lambda: _twice("draws", lambda x: x * tandem.rand(())), "test_aot_dispatch_dynamic", "not close"),
    ],
)
def test_operations_are_checked(made, test, words):
    op, x = made(), tandem.tensor([1.0, 2.0], requires_grad=True)
    outcomes = tandem.library.opcheck(op, (x,), raise_exception=False)
    assert list(outcomes) == [
        "test_schema",
        "test_autograd_registration",
        "test_faketensor",
        "test_aot_dispatch_dynamic",
    ]
    assert x.tolist() == [1.0, 2.0]
    if test is None:
        assert set(outcomes.values()) == {"SUCCESS"}
    else:
        assert words in str(outcomes[test])
        with pytest.raises(RuntimeError, match=f"{test} failed with"):
            tandem.library.opcheck(op, (x,), test_utils=test)


def test_operations_may_change_what_they_say():
    says = "(Tensor(a!) x, Tensor y) -> Tensor"
    op = tandem.library.custom_op("tests::adds", lambda x, y: x.add_(y).clone(), mutates_args=("x",), schema=says)
    assert tandem.library.opcheck(op, (tandem.ones(2),), {"y": tandem.ones(2)}, test_utils="test_schema")
    with pytest.raises(ValueError, match="there is no test"):
        tandem.library.opcheck(op, (), test_utils="test_nothing")


def test_lists_of_tensors_have_derivatives():
    @tandem.library.custom_op("tests::scaled_parts", mutates_args=())
    def scaled_parts(parts: list[tandem.Tensor], factor: float, shift: tandem.Tensor) -> list[tandem.Tensor]:
        return [part * factor + shift for part in parts]

    def backward(ctx, grads):
        assert isinstance(grads, list) and len(grads) == 2
        return [g * ctx.factor for g in grads], None, sum(grads)

    def setup(ctx, inputs, output):
        assert isinstance(inputs[0], list) and isinstance(output, list)
        ctx.factor = inputs[1]

    scaled_parts.register_autograd(backward, setup_context=setup)
    a, b, shift = (tandem.tensor([x], requires_grad=True) for x in (1.0, 2.0, 3.0))
    first, second = parts = scaled_parts([a, b], 4.0, shift)
    assert isinstance(parts, list) and first.item() == 7 and second.item() == 11
    grads = tandem.autograd.grad(first + 10 * second, [a, b, shift])
    assert [g.item() for g in grads] == [4, 40, 11]
    (alone,) = tandem.autograd.grad(sum(scaled_parts([a.detach(), b], 4.0, shift.detach())), [b])
    assert alone.item() == 4


def test_the_context_is_set_up_by_names():
    @tandem.library.custom_op("tests::times_by_name", mutates_args=())
    def times(x: tandem.Tensor, *, factor: float) -> tandem.Tensor:
        return x * factor

    def setup(ctx, inputs, keyword_only_inputs, output):
        ctx.factor = keyword_only_inputs["factor"]

    times.register_autograd(lambda ctx, g: g * ctx.factor, setup_context=setup)
    x = tandem.ones(2, requires_grad=True)
    times(x, factor=3.0).sum().backward()
    assert x.grad.tolist() == [3, 3]


def _cube(name, calls):
    """A cube of NumPy's, with a derivative and a rule of vmap, each of which says when it runs."""

    @tandem.library.custom_op(f"tests::{name}", mutates_args=())
    def cube(x: tandem.Tensor) -> tandem.Tensor:
        return tandem.from_numpy(x.detach().numpy() ** 3)

    def setup(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @cube.register_vmap
    def rule(info, in_dims, x):
        calls.append((info.batch_size, in_dims))
        return cube(x), in_dims[0]

    cube.register_autograd(lambda ctx, g: 3 * ctx.saved_tensors[0] ** 2 * g, setup_context=setup)
    return cube


def test_vmap_calls_the_rule():
    calls = []
    cube, x = _cube("cube_of_examples", calls), tandem.arange(6.0).reshape(2, 3)
    assert tandem.vmap(cube)(x).equal(x**3) and calls == [(2, (0,))]
    assert tandem.vmap(tandem.vmap(cube), in_dims=1, out_dims=1)(x).equal(x**3) and calls[1][0] == 2
    y = x.clone().requires_grad_()
    tandem.vmap(cube)(y).sum().backward()
    assert y.grad.equal(3 * x**2)
    slope = tandem.func.grad(lambda z: cube(z).sum())
    assert tandem.vmap(slope)(x).equal(3 * x**2)
    assert tandem.func.grad(lambda z: tandem.vmap(cube)(z).sum())(x).equal(3 * x**2)


def test_rules_of_vmap_that_hide_the_history():
    """A function that is differentiated within the vmap has the derivative of the operation."""
    cube, x = _cube("cube_without_history", []), tandem.arange(3.0)
    cube.register_vmap(lambda info, in_dims, x: (x.detach() ** 3, in_dims[0]))
    assert tandem.vmap(tandem.func.grad(cube))(x).equal(3 * x**2)


def test_rules_of_vmap_take_lists_and_keywords():
    @tandem.library.custom_op("tests::sums_of_lists", mutates_args=())
    def sums(parts: list[tandem.Tensor], shift: float = 1.0, *, factor: float = 2.0) -> list[tandem.Tensor]:
        return [p * factor + shift for p in parts]

    def rule(info, in_dims, parts, shift, *, factor):
        assert in_dims == ([0, None], None) and shift == 1.0
        return [p * factor + shift for p in parts], [0, None]

    assert tandem.library.register_vmap("tests::sums_of_lists", rule) is rule
    x, y = tandem.arange(2.0), tandem.ones(3)
    first, second = tandem.vmap(lambda a: sums([a, y], factor=3.0), out_dims=[0, None])(x)
    assert first.equal(x * 3 + 1) and second.equal(y * 3 + 1)
    with pytest.raises(RuntimeError, match="two returns"):
        sums.register_vmap(lambda info, in_dims, *args, **options: args[0])
        tandem.vmap(lambda a: sums([a, y])[0])(x)


def test_functions_that_read_values_are_mapped_one_by_one():
    @tandem.library.custom_op("tests::read_values", mutates_args=())
    def read(x: tandem.Tensor, y: tandem.Tensor) -> tuple[tandem.Tensor, tandem.Tensor]:
        return tandem.from_numpy(x.numpy() + 1), tandem.from_numpy(x.numpy() * y.numpy())

    x = tandem.arange(12.0).reshape(2, 3, 2)
    first, second = tandem.vmap(read, in_dims=(0, None), out_dims=(0, 1))(x, x[0])
    assert first.equal(x + 1) and second.equal((x * x[0]).transpose(0, 1))
    assert tandem.vmap(tandem.vmap(read, (0, None)), (0, None))(x, x[0, 0])[1].equal(x * x[0, 0])


def test_writes_that_nothing_sees_are_counted():
    @tandem.library.custom_op("tests::sine_in_place", mutates_args={"x", "others"})
    def sine_(x: tandem.Tensor, others: list[tandem.Tensor], y: tandem.Tensor) -> None:
        x.numpy()[:] = 0

    w = tandem.ones(2, requires_grad=True)
    x, other, y = tandem.ones(2), tandem.ones(2), tandem.ones(2)
    z = w * x
    sine_(x, [other], y)
    assert (x._version, other._version, y._version) == (1, 1, 0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_results_have_memory_of_their_own():
    for i, returned in enumerate((lambda x: x, lambda x: x.view(-1), lambda x: (x + 1,) * 2)):
        with pytest.raises(RuntimeError, match="may not alias"):
            _twice(f"aliases{i}", returned)(tandem.ones(2))


def test_each_device_has_its_function():
    @tandem.library.custom_op("tests::by_device", mutates_args=(), device_types="cpu")
    def by_device(x: tandem.Tensor) -> tandem.Tensor:
        return x + 1

    x = tandem.ones(2, device="meta")
    with pytest.raises(NotImplementedError, match="does not have a kernel registered for meta"):
        by_device(x)
    by_device.register_fake(lambda x: x.new_empty(5))
    assert by_device(x).shape == (5,) and by_device(tandem.ones(2)).tolist() == [2, 2]
    by_device.register_kernel("cpu", lambda x: x + 2)
    assert by_device(tandem.ones(2)).tolist() == [3, 3]
    with by_device.set_kernel_enabled("cpu", enabled=False):
        assert by_device(tandem.ones(2)).tolist() == [2, 2]
    assert by_device(tandem.ones(2)).tolist() == [3, 3]

    @tandem.library.custom_op("tests::made", mutates_args=(), device_types="cpu")
    def made(device: tandem.device) -> tandem.Tensor:
        return tandem.ones(2)

    assert made(device="cpu").tolist() == [1, 1]
    with pytest.raises(NotImplementedError, match="does not have a kernel registered for meta"):
        made("meta")
    with pytest.raises(ValueError, match="without tensor inputs"):

        @tandem.library.custom_op("tests::made_anywhere", mutates_args=(), device_types="cpu")
        def made_anywhere() -> tandem.Tensor:
            return tandem.ones(2)


def test_schemas():
    infer = tandem.library.infer_schema

    def many(
        x: tandem.Tensor, y: tandem.Tensor | None, z: list[tandem.Tensor], n: int = 3, *, d: tandem.dtype = tandem.int8
    ) -> tuple[tandem.Tensor, int]: ...

    arguments = "Tensor(a0!) x, Tensor? y, Tensor(a2!)[] z, SymInt n=3, *, ScalarType d=int8"
    assert infer(many, mutates_args=("x", "z"), op_name="many") == f"many({arguments}) -> (Tensor, SymInt)"
    for options in ({"mutates_args": ("w",)}, {"mutates_args": "x"}, {"mutates_args": ("n",)}):
        with pytest.raises(ValueError, match="mut"):
            infer(many, **options)
    for wrong in (lambda x: x, lambda *x: x):
        with pytest.raises(ValueError, match="infer_schema"):
            infer(wrong, mutates_args=())
    with pytest.raises(ValueError, match="mutates"):
        tandem.library.custom_op("tests::unsaid", lambda x: None, mutates_args=(), schema="(Tensor(a!) x) -> ()")
    for unsaid in (lambda x: x.clone(), lambda: None):
        with pytest.raises(ValueError, match="infer_schema"):
            tandem.library.custom_op("tests::unsaid", unsaid, mutates_args=())

    def hidden(x: tandem.Tensor, *, y: tandem.Tensor) -> tandem.Tensor: ...

    with pytest.raises(NotImplementedError, match="kwarg-only Tensor"):
        tandem.library.custom_op("tests::hidden", hidden, mutates_args=())


def test_libraries_know_what_their_schemas_say():
    library = tandem.library.Library("tests_schemas", "FRAGMENT")
    library.define("scaled(Tensor w, int x = 2, *, int y=3, int z) -> Tensor")
    library.define("scaled.other(Tensor w, Tensor v) -> Tensor")
    library.impl("scaled", lambda w, x, *, y, z: w * x * y * z, "CPU")
    library.impl("scaled.other", lambda w, v: w - v, "CPU")
    op, seen = tandem.ops.tests_schemas.scaled, []
    tandem.library.register_autograd(
        "tests_schemas::scaled",
        lambda ctx, g: g * 24,  # none of the number that was not given
        setup_context=lambda ctx, inputs, keyword_only_inputs, output: seen.extend([inputs[1:], keyword_only_inputs]),
    )
    w = tandem.ones(2, requires_grad=True)
    op(w, z=4).sum().backward()
    assert w.grad.tolist() == [24, 24] and seen == [(2,), {"y": 3, "z": 4}]
    assert op(tandem.ones(1), tandem.ones(1)).item() == 0 and op.other(w=tandem.ones(1), v=tandem.zeros(1)).item() == 1
    assert op.overloads() == ["default", "other"]
    library._destroy()
    assert not hasattr(tandem.ops.tests_schemas, "scaled")
    with pytest.raises(RuntimeError, match="expected a schema"):
        library.define("nothing")


def test_composite_functions_have_the_derivative_of_what_they_call():
    library = tandem.library.Library("tests_composite", "FRAGMENT")
    library.define("product(Tensor x, Tensor y) -> Tensor")
    library.impl("product", lambda x, y: x * y, "CompositeImplicitAutograd")
    x, y = tandem.tensor([3.0], requires_grad=True), tandem.tensor([4.0])
    tandem.ops.tests_composite.product(x, y).backward()
    assert x.grad.item() == 4
    for arguments in ((x,), (x, y, y), (x, 3)):
        with pytest.raises(RuntimeError, match="tests_composite::product"):
            tandem.ops.tests_composite.product(*arguments)


def test_operations_are_defined_once():
    tandem.library.define("tests::once", "(Tensor x) -> Tensor")
    for again in (
        lambda: tandem.library.define("tests::once", "(Tensor x) -> Tensor"),
        lambda: tandem.library.Library("tests", "FRAGMENT").define("once(Tensor x) -> Tensor"),
        lambda: tandem.library.custom_op("tests::once", abs, mutates_args=(), schema="(Tensor x) -> Tensor"),
    ):
        with pytest.raises(RuntimeError, match="multiple times"):
            again()
    for k in (2, 3):  # one of `custom_op` takes the place of another

        @tandem.library.custom_op("tests::replaced", mutates_args=(), tags=tandem.Tag.pointwise)
        def replaced(x: tandem.Tensor, k: int = k) -> tandem.Tensor:
            return x * k

    assert tandem.ops.tests.replaced(tandem.ones(1)).item() == 3 and replaced.tags == [tandem.Tag.pointwise]
    with pytest.raises(RuntimeError, match="multiple times"):
        tandem.library.define("tests::replaced", "(Tensor x) -> Tensor")
    for wrong, error in (
        (lambda: tandem.library.define("tests::wrong", "Tensor x -> Tensor"), ValueError),
        (lambda: tandem.library.define("tests::wrong", 3), TypeError),
        (lambda: tandem.library.register_fake("tests::absent", abs), RuntimeError),
        (lambda: tandem.library.impl("tests::once", "no_device", abs), RuntimeError),
    ):
        with pytest.raises(error):
            wrong()


def test_operations_go_with_their_library():
    whole, ops = tandem.library.Library("tests_gone", "DEF"), tandem.ops.tests_gone
    with pytest.raises(RuntimeError, match="Only a single"):
        tandem.library.Library("tests_gone", "DEF")
    part = tandem.library.Library("tests_gone", "IMPL")
    part.impl("twice", lambda x: x * 2, "CPU")  # before there is one
    assert not hasattr(ops, "twice")
    whole.define("twice(Tensor x) -> Tensor")
    tandem.library.define("tests_gone::thrice", "(Tensor x) -> Tensor", lib=whole)
    assert ops.twice(tandem.ones(1)).item() == 2 and hasattr(ops, "thrice")
    for wrong, error in (
        (lambda: part.define("more(Tensor x) -> Tensor"), RuntimeError),
        (lambda: whole.define("others::more(Tensor x) -> Tensor"), RuntimeError),
        (lambda: whole.define("more(Tensor x) -> Tensor", "NO_WORD"), RuntimeError),
        (lambda: whole.impl("twice", 3, "CPU"), TypeError),
        (lambda: whole.impl("twice", abs, "NoKey"), RuntimeError),
        (lambda: tandem.library.Library("prim", "FRAGMENT"), ValueError),
    ):
        with pytest.raises(error):
            wrong()
    part = None
    with pytest.raises(NotImplementedError, match="kernel"):
        ops.twice(tandem.ones(1))
    whole = None
    assert not hasattr(ops, "twice") and not hasattr(ops, "thrice")
    tandem.library.Library("tests_gone", "DEF")


def test_functions_above_autograd():
    library = tandem.library.Library("tests_above", "FRAGMENT")
    library.define("exp(Tensor x) -> Tensor")
    library.impl("exp", lambda x: x.exp(), "CPU")

    class Twice(tandem.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with tandem._C._AutoDispatchBelowAutograd():
                y = tandem.ops.tests_above.exp(x)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            return 2 * g * ctx.saved_tensors[0]

    library.impl("exp", Twice.apply, "Autograd")
    x = tandem.zeros(2, requires_grad=True)
    tandem.ops.tests_above.exp(x).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_classes_and_modes_are_asked_about_operations():
    @tandem.library.custom_op("tests::asked", mutates_args=())
    def asked(xs: list[tandem.Tensor], *, n: int = 1) -> tandem.Tensor:
        return xs[0] + n

    class Named:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func, types, kwargs

    assert tandem.ops.tests.asked([tandem.ones(1), Named()], n=2) == (asked, (Named,), {"n": 2})

    class Seen(tandem.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    class Kept(tandem.Tensor):
        pass

    seen, x = [], tandem.ones(1)
    with Seen():
        y = asked([x])
    assert seen == [asked] and y.item() == 2 and type(asked([x.as_subclass(Kept)])) is Kept


def test_operations_under_autocast():
    seen = []

    @tandem.library.custom_op("tests::cast", mutates_args=())
    def cast(x: tandem.Tensor, others: list[tandem.Tensor]) -> tandem.Tensor:
        seen.append((x.dtype, *[other.dtype for other in others], tandem.is_autocast_enabled("cpu")))
        return x * 2

    cast.register_autograd(lambda ctx, g: (g * 2, None))
    cast.register_autocast("cpu", tandem.bfloat16)
    x = tandem.ones(1, requires_grad=True)
    with tandem.autocast("cpu", dtype=tandem.float16):
        y = cast(x, [tandem.ones(1), tandem.arange(2), tandem.ones(1, dtype=tandem.float64)])
    y.sum().backward()
    assert seen == [(tandem.bfloat16, tandem.bfloat16, tandem.int64, tandem.float64, False)]
    assert x.grad.dtype is tandem.float32 and x.grad.item() == 2
    assert cast(x, []).dtype is tandem.float32
    with pytest.raises(TypeError):
        cast.register_autocast(3, tandem.bfloat16)
