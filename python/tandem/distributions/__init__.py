"""`tandem.distributions`: probability distributions, their transforms, and divergences between them."""

from tandem import _missing as _missing  # noqa: E402
from tandem.distributions import constraints as constraints
from tandem.distributions import kl_more as _kl_more  # noqa: E402, F401
from tandem.distributions import transforms as transforms
from tandem.distributions.categorical import *  # noqa: F403
from tandem.distributions.circular import *  # noqa: F403
from tandem.distributions.constraint_registry import biject_to as biject_to
from tandem.distributions.constraint_registry import transform_to as transform_to
from tandem.distributions.discrete import *  # noqa: F403
from tandem.distributions.distribution import Distribution as Distribution
from tandem.distributions.distribution import ExponentialFamily as ExponentialFamily
from tandem.distributions.gamma import *  # noqa: F403
from tandem.distributions.independent import *  # noqa: F403
from tandem.distributions.kl import kl_divergence as kl_divergence
from tandem.distributions.kl import register_kl as register_kl
from tandem.distributions.matrices import *  # noqa: F403
from tandem.distributions.multivariate_normal import *  # noqa: F403
from tandem.distributions.normal import *  # noqa: F403
from tandem.distributions.power_laws import *  # noqa: F403
from tandem.distributions.relaxed import *  # noqa: F403
from tandem.distributions.transformed_distribution import *  # noqa: F403
from tandem.distributions.transforms import *  # noqa: F403

# The classes and functions, not the modules.
globals()["__all__"] = sorted(
    {name for name, value in globals().items() if isinstance(value, type) and name != "LogitRelaxedBernoulli"}
    | {"biject_to", "identity_transform", "kl_divergence", "register_kl", "transform_to"}
)

_missing.explain_missing_names()
