"""`tandem.backends.openmp`: Tandem has a thread pool of its own instead (`tandem.set_num_threads`)."""

from tandem._no_device import is_available as is_available
