"""Transforms of functions: derivatives, Jacobians, `vmap`, modules as functions of their parameters."""

import tandem
from tandem import Tensor, nn
from tandem.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    stack_module_state,
    value_and_grad,
    vjp,
    vmap,
)


def energy(x: Tensor, scale: float = 1.0) -> Tensor:
    return (x**3).sum() * scale


def with_aux(x: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    return energy(x), {"twice": x * 2}


def outer(x: Tensor) -> Tensor:
    return x.unsqueeze(0) * x.unsqueeze(1)


def main() -> None:
    x = tandem.tensor([1.0, 2.0])
    g: Tensor = grad(energy)(x, scale=2.0)
    g2, value = grad_and_value(energy)(x)
    value2, _ = value_and_grad(energy, argnums=0)(x)
    (value3, note), _ = value_and_grad(with_aux, has_aux=True)(x)
    twice: Tensor = note["twice"]
    h: Tensor = hessian(energy)(x)
    j: Tensor = jacrev(outer)(x)
    k: Tensor = jacfwd(outer, argnums=0)(x)
    y, pull = vjp(outer, x)
    (cotangent,) = pull(tandem.ones_like(y))
    y2, tangent = jvp(energy, (x,), (tandem.ones(2),))
    y3, push = linearize(energy, x)
    each: Tensor = vmap(energy)(tandem.ones(4, 2))
    per_sample: Tensor = vmap(grad(lambda t: (t * t).sum()), in_dims=0, randomness="same")(tandem.ones(4, 2))
    models = [nn.Linear(2, 1) for _ in range(3)]
    params, buffers = stack_module_state(models)

    def call(p: dict[str, Tensor], b: dict[str, Tensor], t: Tensor) -> Tensor:
        out: Tensor = functional_call(models[0], (p, b), (t,))
        return out

    outs = vmap(call, in_dims=(0, 0, None))(params, buffers, tandem.ones(5, 2))
    assert outs.shape == (3, 5, 1) and each.tolist() == [2.0] * 4 and per_sample.shape == (4, 2)
    assert tandem.equal(j, k) and h.shape == (2, 2) and twice.shape == (2,) and cotangent.shape == (2,)
    assert g.tolist() == [6.0, 24.0] and tandem.equal(g2 * 2, g) and tandem.equal(value, value2)
    assert tandem.equal(y2, y3) and tandem.equal(push(tandem.ones(2)), tangent) and tandem.equal(value3, value)


if __name__ == "__main__":
    main()
