"""`tandem.utils`: loading data, checkpointing, hooks, exchange of memory."""

from tandem import _missing as _missing  # noqa: E402
from tandem.utils import checkpoint as checkpoint
from tandem.utils import data as data
from tandem.utils import dlpack as dlpack
from tandem.utils import hooks as hooks

_missing.explain_missing_names()
