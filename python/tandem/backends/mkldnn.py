"""`tandem.backends.mkldnn`: Intel's oneDNN, which Tandem does without: products and convolutions are its own."""

from tandem._no_device import is_available as is_available
