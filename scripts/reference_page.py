"""Writes the reference page: what `help()` shows of every name that is bound in C++. Its argument is the file."""

from __future__ import annotations

import inspect
import re
import sys
import types
from pathlib import Path

from tandem import _C

# Where users find what each module of the extension has; some of it the package wraps.
OWNERS = {
    "tandem": _C,
    "tandem.Tensor": _C.Tensor,
    "tandem.linalg": _C._linalg,
    "tandem.nn.functional": _C._nn,
    "tandem.special": _C._special,
}
BOUND = (types.BuiltinFunctionType, types.MethodDescriptorType, types.GetSetDescriptorType)


def entry(owner: str, name: str, bound: object) -> list[str]:
    facts, _, session = inspect.getdoc(bound).partition(">>> ")
    call = "" if isinstance(bound, types.GetSetDescriptorType) else str(inspect.signature(bound))
    call = re.sub(r"^\((self, )?/(, )?", "(", call)  # the receiver
    text = [f"## `{owner}.{name}{call}`", "", "```text", facts.rstrip(), "```", ""]
    return [*text, "```python", f">>> {session}", "```", ""] if session else text


def page() -> str:
    lines = ["# Operations", "", "What `help()` shows, which is written from the records in `ir/ops`.", ""]
    for owner, home in OWNERS.items():
        for name, bound in sorted(vars(home).items()):
            if isinstance(bound, BOUND) and ">>> " in (bound.__doc__ or ""):
                lines += entry(owner, name, bound)
    return "\n".join(lines)


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page())
