"""`tandem.distributions.transforms`: invertible functions with the logarithm of their Jacobian's determinant."""

from tandem.distributions import _functions, _transform
from tandem.distributions._functions import *  # noqa: F403
from tandem.distributions._transform import *  # noqa: F403

__all__ = [*_functions.__all__, *_transform.__all__]
