"""Distributions, transforms and constraints, linear algebra, comparison of results, and top-level names."""

from collections.abc import Sequence

import tandem
import tandem.distributions as D
from tandem import Tensor, linalg, special


class Shifted(D.Distribution):
    """A distribution of one's own."""

    arg_constraints = {"loc": D.constraints.real}
    support = D.constraints.real

    def __init__(self, loc: Tensor) -> None:
        self.loc = loc
        super().__init__(loc.shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.loc + tandem.rand(self._extended_shape(sample_shape))


def elbo(mean: Tensor, scale: Tensor) -> Tensor:
    q = D.Normal(mean, scale)
    z: Tensor = q.rsample((8,))
    prior = D.Normal(0.0, 1.0)
    return (prior.log_prob(z) - q.log_prob(z)).mean() - D.kl_divergence(q, prior).mean()


def main() -> None:
    tandem.manual_seed(0)
    mean, scale = tandem.zeros(3, requires_grad=True), tandem.ones(3, requires_grad=True)
    elbo(mean, scale).backward()
    policy = D.Categorical(logits=tandem.zeros(2, 4))
    action: Tensor = policy.sample()
    shape: tandem.Size = policy.batch_shape
    event = D.Independent(D.Normal(tandem.zeros(2, 3), 1.0), 1)
    wider = event.expand((5, 2))
    flow = D.TransformedDistribution(D.Normal(0.0, 1.0), [D.ExpTransform(), D.AffineTransform(0.0, 2.0)])
    gaussian = D.MultivariateNormal(tandem.zeros(2), covariance_matrix=tandem.eye(2))
    ok: bool = bool(D.constraints.positive.check(flow.sample((4,))).all())
    log_p: Tensor = policy.log_prob(action) + policy.entropy()
    norm: Tensor = linalg.norm(gaussian.sample((3,)), dim=-1)
    limit: float = tandem.finfo(tandem.float32).eps
    dtypes: list[tandem.dtype] = [tandem.float, tandem.long, tandem.bool, tandem.bfloat16]
    tandem.testing.assert_close(special.expit(tandem.zeros(2)), tandem.sigmoid(tandem.zeros(2)), rtol=0.0, atol=limit)
    sums: Tensor = tandem.einsum("ij,kj->ik", tandem.ones(2, 3), tandem.ones(4, 3))
    pairs: Tensor = tandem.tensordot(tandem.ones(2, 3), tandem.ones(3, 2), dims=1)
    (places,) = tandem.nonzero(tandem.tensor([0.0, 1.0]), as_tuple=True)
    assert ok and mean.grad is not None and wider.batch_shape == (5, 2) and shape == (2,)
    assert Shifted(tandem.zeros(2)).sample((3,)).shape == (3, 2) and tandem.inf > limit and len(dtypes) == 4
    assert log_p.shape == (2,) and norm.shape == (3,) and sums.shape == (2, 4) and pairs.shape == (2, 2)
    with tandem.random.fork_rng():
        tandem.rand(2)
    assert places.tolist() == [1] and not tandem.cuda.is_available()


if __name__ == "__main__":
    main()
