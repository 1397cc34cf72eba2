"""backward, grad, modes, custom Functions, versions, anomaly mode, long chains and threads."""

import gc
import threading
import weakref

import pytest
from conftest import run_in

import tandem


def leaf(*values):
    return tandem.tensor(list(values), requires_grad=True)


# ---- backward and grad ----


def test_backward_accumulates():
    x = leaf(1.0, 2.0)
    for k in (1, 2):
        (x * x).sum().backward()
        assert x.grad.tolist() == [2.0 * k, 4.0 * k]
    x.grad = None
    (x * 3).backward(tandem.tensor([1.0, 10.0]))
    assert x.grad.tolist() == [3, 30]


def test_backward_of_several_roots_into_chosen_leaves():
    x, y = leaf(1.0), leaf(2.0)
    tandem.autograd.backward([x * y, y * y], [tandem.ones(1), tandem.full((1,), 2.0)], inputs=[y])
    assert x.grad is None and y.grad.tolist() == [9]


def test_backward_through_the_same_graph_twice():
    x = leaf(1.0)
    y = (x * x).exp()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()


def test_grad():
    x, y, z = leaf(2.0), leaf(3.0), leaf(1.0)
    gx, gy = tandem.autograd.grad(x * x * y, [x, y])
    assert (gx.item(), gy.item(), x.grad) == (12, 4, None)
    assert tandem.autograd.grad(x * y, (x, z), allow_unused=True)[1] is None
    assert tandem.autograd.grad(x * y, (x, z), materialize_grads=True)[1].tolist() == [0]
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        tandem.autograd.grad(x * y, (x, z))
    (only,) = tandem.autograd.grad((x * y).sum(), x)
    assert only.item() == 3


def test_higher_orders():
    x = leaf(0.5)
    y = x.sin().sum()
    for expected in (x.cos(), -x.sin(), -x.cos()):
        (y,) = tandem.autograd.grad(y.sum(), x, create_graph=True)
        assert y.item() == pytest.approx(expected.item(), rel=1e-6)


def test_gradients_of_views_and_writes():
    x = leaf(1.0, 2.0, 3.0, 4.0)
    y = (x * 2).reshape(2, 2)
    y[0].mul_(x[:2])
    y.t()[1].add_(10)
    y.sum().backward()
    assert x.grad.tolist() == [4, 8, 2, 2]


# ---- leaves, flags, .data ----


def test_flags():
    x = leaf(1.0)
    y = x * 2
    assert (x.is_leaf, x.requires_grad, x.grad_fn) == (True, True, None)
    assert (y.is_leaf, y.requires_grad, y.grad_fn.name()) == (False, True, "MulBackward0")
    assert not y.detach().requires_grad and y.detach().data_ptr() == y.data_ptr()
    assert y.grad_fn == y.grad_fn and y.grad_fn.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"
    assert y.grad_fn.next_functions[0][0].variable is x
    y.detach_()
    assert y.is_leaf and not y.requires_grad
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
        (x * 2).requires_grad_(False)


def test_retain_grad():
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    (y * 3).sum().backward()
    assert y.retains_grad and y.grad.tolist() == [3]


def test_data():
    x = leaf(1.0, 2.0)
    version = x._version
    x.data.mul_(5)
    assert x.tolist() == [5, 10] and x._version == version and not x.data.requires_grad
    x.data = tandem.zeros(2)
    assert x.tolist() == [0, 0] and x.requires_grad
    (x + 1).sum().backward()
    assert x.grad.tolist() == [1, 1]


def test_saved_values_that_were_written():
    x = leaf(1.0, 2.0)
    y = x.exp()
    z = y * y
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_leaves_cannot_be_written():
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place"):
        x[0] = 1
    with tandem.no_grad():
        x.add_(1)
    assert x.item() == 2


# ---- modes ----


def test_no_grad_in_its_forms():
    x = leaf(1.0)

    @tandem.no_grad()
    def decorated():
        return x * 2

    @tandem.no_grad
    def plain():
        return x * 2

    @tandem.no_grad()
    def generator():
        yield x * 2
        with tandem.enable_grad():
            yield x * 2

    with tandem.no_grad():
        assert not (x * 2).requires_grad
        with tandem.enable_grad():
            assert (x * 2).requires_grad
        assert not tandem.is_grad_enabled()
    assert not decorated().requires_grad and not plain().requires_grad
    seen = []
    for y in generator():
        seen.append(y.requires_grad)
        assert (x * 2).requires_grad
    assert seen == [False, True]
    with tandem.set_grad_enabled(False):
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad


def test_modes_end_with_errors():
    with pytest.raises(ZeroDivisionError), tandem.no_grad():
        raise ZeroDivisionError
    assert tandem.is_grad_enabled()


def test_inference_mode():
    x = leaf(1.0)
    with tandem.inference_mode():
        y = x * 2
        assert tandem.is_inference_mode_enabled() and not tandem.is_grad_enabled()
        with tandem.inference_mode(False):
            assert (x * 2).requires_grad
    assert y.is_inference() and not y.requires_grad
    with pytest.raises(RuntimeError, match="[Ii]nference tensors cannot be saved for backward"):
        x * y


def test_modes_belong_to_their_thread():
    seen = []
    with tandem.no_grad():
        t = threading.Thread(target=lambda: seen.append(tandem.is_grad_enabled()))
        t.start()
        t.join()
    assert seen == [True]


# ---- custom Functions ----


class Cube(tandem.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale=1.0):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return x * x * x * scale

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        assert ctx.needs_input_grad == (True, False)
        return 3 * x * x * g * ctx.scale, None


def test_function_to_second_order():
    x = leaf(2.0)
    (d,) = tandem.autograd.grad(Cube.apply(x, 2.0), x, create_graph=True)
    (dd,) = tandem.autograd.grad(d, x)
    assert (d.item(), dd.item()) == (24, 24)
    y = Cube.apply(x, 1.0)
    assert y.grad_fn.name() == "CubeBackward" and y.grad_fn.saved_tensors[0] is x
    with tandem.no_grad():
        assert not Cube.apply(x).requires_grad


def test_function_with_setup_context():
    class Product(tandem.autograd.Function):
        @staticmethod
        def forward(a, b):
            return a * b

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g * b, g * a

    a, b = leaf(2.0), leaf(3.0)
    Product.apply(a, b).backward()
    assert (a.grad.item(), b.grad.item()) == (3, 2)


def test_function_of_several_outputs():
    class Split(tandem.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            place = x.argmax()
            ctx.mark_non_differentiable(place)
            return x * 2, x * 3, place

        @staticmethod
        def backward(ctx, g2, g3, _):
            assert g3 is None
            return g2 * 2

    x = leaf(1.0, 5.0)
    a, b, place = Split.apply(x)
    assert b.requires_grad and not place.requires_grad and place.item() == 1
    a.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_function_that_writes_its_input():
    class AddOne(tandem.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.add_(1)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 7

    x = leaf(1.0)
    y = x * 2
    z = AddOne.apply(y)
    assert z is y
    z.sum().backward()
    assert x.grad.item() == 14


def test_function_errors():
    class Wrong(tandem.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, g):
            return g

    class Once(tandem.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @tandem.autograd.once_differentiable
        def backward(ctx, g):
            return g * 2

    class More(tandem.autograd.Function):
        @staticmethod
        def forward(ctx, x, surplus):
            ctx.surplus = surplus
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return (g, None, *ctx.surplus)

    x = leaf(1.0)
    with pytest.raises(RuntimeError, match="WrongBackward returned an incorrect number of gradients"):
        Wrong.apply(x, leaf(1.0)).backward()
    for surplus in ([x], [None, x], [x, None, x] * 100):
        with pytest.raises(
            RuntimeError, match=rf"incorrect number of gradients \(expected 2, got {len(surplus) + 2}\)"
        ):
            More.apply(x, surplus).backward()
    More.apply(x, [None] * 3).backward()
    (d,) = tandem.autograd.grad(Once.apply(x * x) ** 2, x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        d.backward()
    with pytest.raises(TypeError, match="can only save variables"):
        tandem.autograd.FunctionCtx().save_for_backward(1)


def test_function_contexts_are_freed():
    alive = []

    class Keep(tandem.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.save_for_backward(x, y)
            alive.append(weakref.ref(ctx))
            return y

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[1]

    x = leaf(1.0)
    y = Keep.apply(x)
    y.backward()
    assert x.grad.item() == 2
    del y
    gc.collect()
    assert alive[0]() is None


# ---- anomaly mode, long chains, threads ----


def test_anomaly_mode_names_the_forward_line():
    x = leaf(0.0)
    with tandem.autograd.detect_anomaly():
        y = x.sqrt() * 0  # the line
        with pytest.raises(RuntimeError, match=r"nan(.|\n)*test_autograd\.py"):
            y.sum().backward()
    assert tandem._C._anomaly()[0] is False


def test_anomaly_mode_keeps_the_exceptions_of_programs():
    class Own(Exception):
        pass

    class Fails(tandem.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise Own("of the program")

    with tandem.autograd.detect_anomaly(), pytest.raises(Own, match="^of the program$"):
        Fails.apply(leaf(1.0)).sum().backward()


def test_a_chain_of_a_million_nodes():
    x = leaf(1.0)
    y = x
    for _ in range(1_000_000):
        y = y + 0.0
    y.backward()
    assert x.grad.item() == 1
    y = x
    for _ in range(100_000):
        y = y + 0.0
    del y  # a graph that was never run is freed too


def test_backward_from_several_threads():
    x = tandem.ones(50, requires_grad=True)
    errors = []

    def work():
        try:
            for _ in range(50):
                w = tandem.ones(50, requires_grad=True)
                (g,) = tandem.autograd.grad(((x * w).tanh() * x).sum(), w)
                assert g.shape == (50,)
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors


def test_no_grad_generators_pass_on_what_is_thrown():
    log = []

    @tandem.no_grad()
    def generator():
        try:
            yield tandem.is_grad_enabled()
        except ValueError as error:
            log.append((str(error), tandem.is_grad_enabled()))
            yield "caught"
        return "done"

    running = generator()
    assert next(running) is False and tandem.is_grad_enabled()
    assert running.throw(ValueError("thrown")) == "caught" and tandem.is_grad_enabled()
    with pytest.raises(StopIteration, match="done"):
        next(running)
    assert log == [("thrown", False)]
    again = generator()
    next(again)
    with pytest.raises(KeyError):
        again.throw(KeyError("not caught"))
    assert tandem.is_grad_enabled()


def test_views_are_inference_tensors_where_their_base_is(mode):
    with tandem.inference_mode():
        x = tandem.ones(3)
    plain = tandem.ones(3)

    def windows(t):
        return t[1:], t.view(3, 1), t.detach(), t.expand(2, 3)

    assert [v.is_inference() for v in run_in(mode, windows, x)] == [True] * 4
    with tandem.inference_mode():
        assert [v.is_inference() for v in run_in(mode, windows, plain)] == [False] * 4
        assert (plain + 1).is_inference()
    assert not (x + 1).is_inference() and not x.clone().is_inference()
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        x[1:].add_(1)


def test_a_leaf_whose_hooks_refer_to_it_is_collected():
    """As an optimizer that steps in a hook of its own parameters."""

    def leaf(run):
        x = tandem.ones(3, requires_grad=True)
        x.register_hook(lambda g: g * x.detach())
        x.register_post_accumulate_grad_hook(lambda t: (x.grad.zero_(), None)[1])
        if run:
            (x * 2).sum().backward()
            assert x.grad.tolist() == [0, 0, 0]
        return weakref.ref(x)

    for run in (False, True):
        seen = leaf(run)
        gc.collect()
        assert seen() is None


def test_hooks_of_a_leaf_in_a_live_graph_stay():
    def graph():
        x = tandem.ones(3, requires_grad=True)
        x.register_hook(lambda g: called.append(x.sum().item()))
        return (x * 2).sum()

    called = []
    y = graph()
    gc.collect()
    y.backward()
    assert called == [3.0]


REFUSED = {
    "floor_divide": lambda x: x // 2,
    "reflected": lambda x: 2 // x,
    "in place": lambda x: (x * 1).floor_divide_(2),
    "heaviside": lambda x: tandem.heaviside(x, tandem.ones(2)),
    "values": lambda x: tandem.heaviside(tandem.zeros(2), x),
    "geqrf": lambda x: tandem.geqrf(x.expand(2, 2))[0],
}


@pytest.mark.parametrize("name", REFUSED)
def test_derivatives_that_are_not_implemented(name, mode):
    """An error, no silent zero; what needs none of them goes on."""
    x = tandem.tensor([1.0, 2.0], requires_grad=True)
    result = REFUSED[name](x)
    assert result.requires_grad and not REFUSED[name](x.detach()).requires_grad
    what = name if name in ("heaviside", "geqrf") else "heaviside" if name == "values" else "floor_divide"

    def run():
        return tandem.autograd.grad((REFUSED[name](x) * x).sum(), x)

    with pytest.raises(RuntimeError, match=f"derivative for {what} is not implemented"):
        run_in(mode, run)
    with pytest.raises(RuntimeError, match=f"derivative for {what} is not implemented"):
        tandem.func.grad(lambda z: REFUSED[name](z).sum())(tandem.ones(2))
    with tandem.no_grad():
        assert not REFUSED[name](x).requires_grad


def test_draws_pass_zeros_on(mode):
    """To the parameters, of which they are no function."""
    x = tandem.tensor([0.25, 0.5], requires_grad=True)
    for draw in (
        lambda: tandem.bernoulli(x),
        lambda: tandem.poisson(x),
        lambda: tandem.normal(x, 1.0),
        lambda: tandem.normal(x, x),
        lambda: tandem.normal(1.0, x),
    ):
        assert draw().requires_grad
        assert run_in(mode, lambda draw=draw: tandem.autograd.grad(draw().sum(), x)[0]).tolist() == [0, 0]


def test_slopes_of_nextafter(mode):
    x = tandem.tensor([1.0, 2.0, float("nan")], requires_grad=True)
    y = tandem.tensor([1.0, 3.0, 1.0], requires_grad=True)
    grads = run_in(mode, lambda: tandem.autograd.grad(tandem.nextafter(x, y).sum(), (x, y)))
    assert [g.tolist() for g in grads] == [[0, 1, 1], [0, 0, 0]]


def test_functions_are_not_called_as_objects():
    class Double(tandem.autograd.function.InplaceFunction):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = tandem.ones(2, requires_grad=True)
    Double.apply(x.clone()).sum().backward()
    assert x.grad.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        Double.apply(x)
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        made = Double(inplace=True)
    with pytest.raises(RuntimeError, match="Legacy autograd function with non-static forward method is deprecated"):
        made(x)


def test_mark_dirty_is_for_arguments():
    class Careless(tandem.autograd.Function):
        @staticmethod
        def forward(ctx, x, written):
            y = x * 2
            ctx.mark_dirty(*((x,) if written else (y,)))
            return y

        @staticmethod
        def backward(ctx, g):
            return g * 2, None

    x = tandem.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="Careless: mark_dirty was given a tensor that is no argument"):
        Careless.apply(x, False).sum().backward()
    assert x.grad.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="marked as dirty .* were not returned as output"):
        Careless.apply(x.clone(), True)


def test_views_in_place_are_writes():
    with tandem.inference_mode():
        x = tandem.ones(2, 3)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
        x.t_()
    y = tandem.ones(2, 3, requires_grad=True).clone()
    with tandem.no_grad():
        view = y[:1]
    with pytest.raises(RuntimeError, match="created in no_grad mode"):
        view.squeeze_(0)
    with pytest.raises(RuntimeError, match="multiple views"):
        y.split(1)[0].squeeze_(0)
    assert y.t_().shape == (3, 2)
