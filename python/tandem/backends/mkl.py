"""`tandem.backends.mkl`: Intel's library, which Tandem does without: products and factorisations are its own."""

from tandem._no_device import is_available as is_available
