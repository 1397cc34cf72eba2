"""`tandem.distributions.transforms`: invertible functions with the logarithm of their Jacobian's determinant."""

from tandem.distributions import _functions, _matrix_transforms, _transform
from tandem.distributions._functions import *  # noqa: F403
from tandem.distributions._matrix_transforms import *  # noqa: F403
from tandem.distributions._private_names import _clipped_sigmoid  # noqa: F401
from tandem.distributions._transform import *  # noqa: F403
from tandem.distributions._transform import _InverseTransform as _InverseTransform
from tandem.distributions.distribution import tril_matrix_to_vec as tril_matrix_to_vec
from tandem.distributions.distribution import vec_to_tril_matrix as vec_to_tril_matrix

# Not a definition, of which type checkers would see the empty beginning alone.
globals()["__all__"] = [*_functions.__all__, *_matrix_transforms.__all__, *_transform.__all__]
