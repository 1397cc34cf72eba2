"""`tandem.distributions.transforms`: invertible functions with the logarithm of their Jacobian's determinant."""

from tandem.distributions._functions import *  # noqa: F403
from tandem.distributions._matrix_transforms import *  # noqa: F403
from tandem.distributions._private_names import _clipped_sigmoid  # noqa: F401
from tandem.distributions._transform import *  # noqa: F403
from tandem.distributions._transform import _InverseTransform as _InverseTransform
