"""`tandem.backends.mkl`: Intel's library, which Tandem does without (oneDNN and OpenBLAS do its work)."""

from tandem._no_device import is_available as is_available
