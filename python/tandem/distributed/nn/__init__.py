"""Collective operations with derivatives; see `functional`."""

from tandem._stand_in import lacking_classes
from tandem.distributed.nn.functional import all_gather, all_reduce

__all__ = ["all_gather", "all_reduce"]

globals().update(lacking_classes(__name__, "RemoteModule"))
