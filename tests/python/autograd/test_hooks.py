"""Hooks of tensors, leaves and nodes: when they are called, and what they may put in place of a gradient."""

import gc
import weakref

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


def test_hooks_after_accumulation_return_nothing():
    for value, error, text in ((3, TypeError, "hook returned 'int'"), (leaf(1.0), RuntimeError, "should return None")):
        x = leaf(1.0)
        x.register_post_accumulate_grad_hook(lambda t, value=value: value)
        with pytest.raises(error, match=text):
            x.sum().backward()


def test_full_backward_hooks_see_one_backward_of_a_call():
    x, y = leaf(1.0), tandem.zeros(1)
    loss = tandem.nn.MSELoss()
    seen = []
    loss.register_full_backward_hook(lambda module, inputs, outputs: seen.append(outputs[0].item()))
    out = loss(x, y)
    (first,) = tandem.autograd.grad(out, x, create_graph=True)
    tandem.autograd.grad(first, x, retain_graph=True)
    assert seen == [1]
    out.backward(tandem.tensor(2.0))
    assert seen == [1, 2]


class Several(tandem.nn.Module):
    def forward(self, a, b, c):
        self.seen = [t.requires_grad for t in (a, b, c)]
        return a * b, b + 1, a.detach(), c


def test_full_backward_hooks_leave_what_needs_no_gradient_as_it_is():
    """A module with a hook computes what it computes without one, gradients of what requires one alone."""
    m, x, y = Several(), leaf(1.0), tandem.tensor([3.0])
    gradients, outputs = [], []
    m.register_full_backward_hook(lambda m, inputs, _: gradients.extend(t.tolist() for t in inputs))
    m.register_full_backward_pre_hook(lambda m, grads: outputs.extend(grads))
    out = m(x, y, tandem.tensor([4]))
    assert m.seen == [True, False, False]
    assert [t.requires_grad for t in out] == [True, False, False, False]
    out[0].sum().backward()
    assert gradients == [[3], [0], [0]] and x.grad.item() == 3 and y.grad is None
    assert outputs[0].item() == 1 and outputs[1:] == [None] * 3

    loss, seen = tandem.nn.MSELoss(), []
    loss.register_full_backward_hook(lambda m, inputs, _: seen.extend(t.item() for t in inputs))
    loss(x, y).backward()
    assert seen == [-4, 0]


def test_a_full_backward_hook_gets_zeros_for_an_input_that_was_not_used():
    class First(tandem.nn.Module):
        def forward(self, a, b):
            return a * 2

    m, x, y, seen = First(), leaf(1.0), leaf(2.0), []
    m.register_full_backward_hook(lambda m, inputs, _: seen.extend(t.item() for t in inputs))
    m(x, y).sum().backward()
    assert seen == [2, 0] and y.grad.item() == 0


def test_nodes_have_the_class_of_their_name():
    x = leaf(1.0)
    y = x.exp()
    assert type(y.grad_fn).__name__ == "ExpBackward0" == y.grad_fn.name()
    end = y.grad_fn.next_functions[0][0]
    assert type(end).__name__ == "AccumulateGrad" and end.name() == "torch::autograd::AccumulateGrad"
    assert type(x.exp().grad_fn) is type(y.grad_fn) and type(x.sin().grad_fn) is not type(y.grad_fn)
    assert isinstance(end, tandem.autograd.graph.Node) and end == (x * 2).grad_fn.next_functions[0][0]
    with pytest.raises(TypeError):
        type(end)()
    assert y.grad_fn.register_hook(lambda *grads: None) is not None
    edge = tandem.autograd.graph.get_gradient_edge(y)
    assert tandem.autograd.grad((y * 3).sum(), edge)[0].item() == 3


def test_gradients_made_of_zeros_can_be_differentiated_again():
    x, a = leaf(0.5), leaf(1.0)
    (by_x,) = tandem.autograd.grad(x * a, x, create_graph=True)
    (second,) = tandem.autograd.grad(by_x, x, create_graph=True, materialize_grads=True)
    assert second.item() == 0 and second.requires_grad
    assert tandem.autograd.grad(second, x, materialize_grads=True)[0].item() == 0
    assert not tandem.autograd.grad(by_x, x, materialize_grads=True)[0].requires_grad


def test_batched_gradients_have_the_shapes_of_their_outputs():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match=r"has a shape of \[3\] and output\[0\] has a shape of \[2\]"):
        tandem.autograd.grad(x * 2, x, tandem.ones(3), is_grads_batched=True)


def test_older_names_of_functions_and_modes():
    class Double(tandem.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            with pytest.warns(DeprecationWarning, match="use 'saved_tensors'"):
                assert len(ctx.saved_variables) == 1
            return g * 2

    Double.apply(leaf(1.0)).backward()
    with pytest.warns(FutureWarning, match="Decorating classes"):
        tandem.no_grad()(Double)


def test_writes_to_inference_tensors_are_not_counted():
    with tandem.inference_mode():
        x = tandem.ones(2)
    tandem.autograd.graph.increment_version([x])


HOOKS_OF_A_NODE = {
    "after": lambda node, y, hook: node.register_hook(hook),
    "before": lambda node, y, hook: node.register_prehook(hook),
    "tensor": lambda node, y, hook: y.register_hook(hook),
}


@pytest.mark.parametrize("kind", HOOKS_OF_A_NODE)
@pytest.mark.parametrize("run", [False, True])
def test_a_node_whose_hooks_refer_to_it_is_collected(kind, run):
    class Marker:
        pass

    def graph():
        x, marker = tandem.ones(2, requires_grad=True), Marker()
        y = x * 2
        node = y.grad_fn
        HOOKS_OF_A_NODE[kind](node, y, lambda *grads: (node, marker, None)[2])
        if run:
            y.sum().backward()
        return weakref.ref(marker)

    seen = graph()
    gc.collect()
    assert seen() is None


def test_hooks_of_a_node_in_a_live_graph_stay():
    def graph():
        y = tandem.ones(2, requires_grad=True) * 2
        node = y.grad_fn
        node.register_hook(lambda *grads: called.append(node.name()))
        return (y * 3).sum()

    called = []
    loss = graph()
    gc.collect()
    loss.backward()
    assert called == ["MulBackward0"]


@pytest.mark.parametrize("kind", ["tensor", "after accumulation", "node", "before node"])
def test_hooks_of_a_leaf_run_as_soon_as_its_gradient_is_complete(kind):
    order = []
    first, last = (tandem.ones(2, requires_grad=True) for _ in range(2))
    y = first.exp()
    y.register_hook(lambda g: order.append("middle"))
    z = y * last

    def note(*given):
        order.append("last")

    node = tandem.autograd.graph.get_gradient_edge(last).node
    {
        "tensor": last.register_hook,
        "after accumulation": last.register_post_accumulate_grad_hook,
        "node": node.register_hook,
        "before node": node.register_prehook,
    }[kind](note)
    z.sum().backward()
    assert order == ["last", "middle"]


def test_callbacks_run_at_the_end_of_the_backward_that_queued_them():
    engine = tandem.autograd.Variable._execution_engine
    order = []

    def more():
        order.append("end")
        engine.queue_callback(lambda: order.append("after the end"))

    def hook(g):
        engine.queue_callback(more)
        assert tandem._C._current_graph_task_id() > 0
        inner = tandem.ones(1, requires_grad=True)
        inner.register_hook(lambda _: engine.queue_callback(lambda: order.append("end inside")))
        with tandem.enable_grad():
            inner.sum().backward()
        order.append("hook")

    x = tandem.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(hook)
    x.register_hook(lambda g: order.append("leaf"))
    y.sum().backward()
    assert order == ["end inside", "hook", "leaf", "end", "after the end"]
    assert tandem._C._current_graph_task_id() == -1
    with pytest.raises(RuntimeError, match="can only be installed during backward pass"):
        engine.queue_callback(more)
    with pytest.raises(TypeError, match="expected a callable, got int"):
        engine.queue_callback(3)


def test_errors_of_callbacks_come_through_and_failed_backwards_call_none():
    engine = tandem.autograd.Variable._execution_engine
    x = tandem.ones(2, requires_grad=True)
    called = []

    def fail():
        called.append(1)
        raise ValueError("at the end")

    y = x * 2
    y.register_hook(lambda g: engine.queue_callback(fail))
    with pytest.raises(ValueError, match="at the end"):
        y.sum().backward()
    assert x.grad.tolist() == [2, 2] and called == [1]
    x.register_hook(lambda g: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        (y * 1).sum().backward()
    assert called == [1]


def test_writes_that_are_not_counted():
    x = tandem.ones(2, requires_grad=True)
    y = x.exp()
    z = y.exp()
    with tandem.autograd._unsafe_preserve_version_counter(y):
        y.data.copy_(y.detach())
        y.detach().mul_(1)
    assert y._version == 0
    z.sum().backward()
    with pytest.raises(RuntimeError, match="negative"):
        tandem._C._set_version(x, -1)


def test_multithreading_is_what_was_said_last():
    say, said = tandem.autograd.set_multithreading_enabled, tandem.autograd.is_multithreading_enabled
    assert said()
    with say(False):
        assert not said()
        say(True)
        assert said()
    assert said()
    say(False)
    assert not said()
    say(True)

    @say(False)
    def inside():
        return said()

    assert said() and not inside() and said()


def test_every_handle_is_of_one_class():
    from tandem.utils.hooks import RemovableHandle

    x = tandem.ones(2, requires_grad=True)
    y = x * 2
    called = []
    handles = [
        x.register_hook(called.append),
        x.register_post_accumulate_grad_hook(called.append),
        y.grad_fn.register_hook(lambda *grads: called.append(grads)),
        y.grad_fn.register_prehook(lambda grads: called.append(grads)),
        tandem.autograd.graph.register_multi_grad_hook((x, y), called.append),
        tandem.nn.Linear(1, 1).register_forward_hook(lambda *args: None),
    ]
    assert all(isinstance(h, RemovableHandle) for h in handles)
    for h in handles:
        with h:
            pass
    y.sum().backward()
    assert called == []
