"""Versions of the containers that a compiled function guards (modules, optimizers).

A compiled function remembers which containers it read and their `_version`. One process-wide epoch, bumped with every
change, lets it skip looking at the containers at all while nothing changed anywhere.
"""

from __future__ import annotations

import tandem


def bump(container: object) -> None:
    """Record that `container` changed: increments its `_version` and the process-wide epoch."""
    attributes = container.__dict__
    attributes["_version"] = attributes.get("_version", 0) + 1
    tandem._C._bump_epoch()
