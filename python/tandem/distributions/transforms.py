"""`tandem.distributions.transforms`: invertible functions with the logarithm of their Jacobian's determinant."""

from tandem.distributions._functions import *  # noqa: F403
from tandem.distributions._matrix_transforms import *  # noqa: F403
from tandem.distributions._private_names import _clipped_sigmoid  # noqa: F401
from tandem.distributions._transform import *  # noqa: F403
from tandem.distributions._transform import _InverseTransform as _InverseTransform
from tandem.distributions.distribution import tril_matrix_to_vec as tril_matrix_to_vec
from tandem.distributions.distribution import vec_to_tril_matrix as vec_to_tril_matrix
