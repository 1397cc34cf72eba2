"""`tandem.backends`: what programs ask about libraries and devices, and the flags they set for them.

Flags of libraries can be set and read. Results depend on those alone that allow TF32 on GPUs, or choose a
library there: `cuda.matmul.allow_tf32`, `cudnn.allow_tf32` and `cudnn.enabled`.
"""

from tandem.backends import cpu as cpu
from tandem.backends import cuda as cuda
from tandem.backends import cudnn as cudnn
from tandem.backends import mkl as mkl
from tandem.backends import mkldnn as mkldnn
from tandem.backends import mps as mps
from tandem.backends import openmp as openmp
from tandem.backends import opt_einsum as opt_einsum
