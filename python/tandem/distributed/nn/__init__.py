"""Collective operations with derivatives; see `functional`."""

from tandem._stand_in import lacking_classes
from tandem.distributed.nn import functional
from tandem.distributed.nn.functional import *  # noqa: F403

__all__ = list(functional.__all__)

globals().update(lacking_classes(__name__, "RemoteModule"))
