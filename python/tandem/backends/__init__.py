"""`tandem.backends`: what programs ask about libraries and devices, and the flags they set for them.

This build computes on CPUs. Flags that steer other devices can be set and read; nothing depends on them.
"""

from tandem.backends import cuda as cuda
from tandem.backends import cudnn as cudnn
from tandem.backends import mkl as mkl
from tandem.backends import mkldnn as mkldnn
from tandem.backends import mps as mps
from tandem.backends import openmp as openmp
