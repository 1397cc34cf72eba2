"""`tandem.utils.flop_counter`: names that code imports; nothing counts operations of floating-point numbers."""

from __future__ import annotations

from typing import Any

from tandem._stand_in import lacking_class, lacking_function

FlopCounterMode: Any = lacking_class("utils.flop_counter.FlopCounterMode")
register_flop_formula: Any = lacking_function("utils.flop_counter.register_flop_formula")
