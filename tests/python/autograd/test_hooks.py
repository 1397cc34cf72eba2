"""Hooks of tensors, leaves and nodes: when they are called, and what they may put in place of a gradient."""

import pytest

import tandem


def leaf(*values):
    return tandem.tensor(list(values), requires_grad=True)


def test_tensor_hooks():
    x = leaf(1.0)
    y = x * 2
    seen = []
    handle = y.register_hook(lambda g: seen.append(g.item()))
    y.register_hook(lambda g: g * 10)
    (y * 3).sum().backward(retain_graph=True)
    assert seen == [3] and x.grad.item() == 60
    handle.remove()
    with x.register_hook(lambda g: g * 0):
        (y * 3).sum().backward(retain_graph=True)
    assert seen == [3] and x.grad.item() == 60
    (y * 3).sum().backward()
    assert x.grad.item() == 120


def test_hook_errors_come_through():
    x = leaf(1.0)
    y = x * 2

    def bad(g):
        raise KeyError("mine")

    y.register_hook(bad)
    with pytest.raises(KeyError, match="mine"):
        y.sum().backward()
    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        tandem.ones(1).register_hook(bad)
    z = leaf(1.0)
    z.register_hook(lambda g: "text")
    with pytest.raises(TypeError, match="expected a Tensor or None"):
        z.sum().backward()


def test_hooks_keep_shape_and_dtype():
    def shorter(g):
        return g[:1]

    def wider(g):
        return g.double()

    def all_of(change):
        return lambda gs: tuple(change(g) for g in gs)

    for change, text in [
        (shorter, r"has changed the size of value \(was \[3\] got \[1\]\)"),
        (wider, r"has changed the type of value \(was float32 got float64\)"),
    ]:
        for where in ("leaf", "result", "before", "after"):
            x = tandem.ones(3).requires_grad_()
            y = x * 2
            if where == "leaf":
                x.register_hook(change)
            elif where == "result":
                y.register_hook(change)
            elif where == "before":
                y.grad_fn.register_prehook(all_of(change))
            else:
                y.grad_fn.register_hook(lambda gs, _, change=change: (change(gs[0]), *gs[1:]))
            with pytest.raises(RuntimeError, match=text):
                y.sum().backward()
            assert x.grad is None
    with pytest.raises(RuntimeError, match="hook 'shorter'"):
        x = tandem.ones(3).requires_grad_()
        x.register_hook(shorter)
        x.sum().backward()


def test_node_and_leaf_hooks():
    x = leaf(1.0)
    y = x * 2
    seen = []
    y.grad_fn.register_prehook(lambda gs: seen.append(("pre", gs[0].item())))
    y.grad_fn.register_hook(lambda ins, outs: seen.append(("post", ins[0].item(), outs[0].item())))
    x.register_post_accumulate_grad_hook(lambda t: seen.append(("leaf", t.grad.item())))
    y.sum().backward()
    assert seen == [("pre", 1), ("post", 2, 1), ("leaf", 2)]


def test_backward_inside_a_hook():
    x, w = leaf(3.0), leaf(2.0)
    y = x * 2

    def hook(g):
        with tandem.enable_grad():
            (w * w).sum().backward()

    y.register_hook(hook)
    y.sum().backward()
    assert (x.grad.item(), w.grad.item()) == (2, 4)


def test_setup_context_is_given_the_arguments_that_were_left_out():
    class Power(tandem.autograd.Function):
        @staticmethod
        def forward(x, exponent=3):
            return x**exponent

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.exponent = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * ctx.exponent * x ** (ctx.exponent - 1), None

    for call, slope in ((lambda x: Power.apply(x), 12), (lambda x: Power.apply(x, 2), 4)):
        x = tandem.tensor(2.0, requires_grad=True)
        call(x).backward()
        assert x.grad.item() == slope


def test_a_function_has_one_backward():
    double = staticmethod(lambda ctx, x: x * 2)
    both = type("Both", (tandem.autograd.Function,), {"forward": double, "backward": double, "vjp": double})
    assert both.apply(tandem.ones(1)).item() == 2
    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp'"):
        both.apply(tandem.ones(1, requires_grad=True))
