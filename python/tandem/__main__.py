"""`python -m tandem script.py [args]`: run a script that says `import torch` on Tandem. The commands for saved
programs, `inspect`, `run` and `bench`, are in `export/_commands.py`.

The script runs as `python script.py [args]` would run it: as `__main__`, with its `sys.argv`, its folder first in
`sys.path`, and its own tracebacks.
"""

from __future__ import annotations

import builtins
import io
import os
import runpy
import sys
from importlib.machinery import SourceFileLoader
from types import CodeType, ModuleType, TracebackType
from typing import Any

import tandem

USAGE = """\
usage: python -m tandem script.py [args]       run a script that says `import torch` on Tandem
       python -m tandem -m module [args]       run a module likewise
       python -m tandem inspect file           show what is in a program that tandem.export saved
       python -m tandem run file [inputs]      run one of its entries
       python -m tandem bench file             measure one
       python -m tandem --version
"""


def without_our_frames(trace: TracebackType | None, code: CodeType | None) -> TracebackType | None:
    """The part of a traceback that begins in the script."""
    while trace is not None and trace.tb_frame.f_code is not code:
        trace = trace.tb_next
    return trace


def run_script(path: str) -> None:
    """Run the script at `path` as `__main__`."""
    full = os.path.abspath(path)
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.path.dirname(os.path.realpath(full))
    main = ModuleType("__main__")
    main.__dict__.update(__file__=full, __cached__=None, __annotations__={}, __builtins__=builtins)
    main.__loader__ = SourceFileLoader("__main__", full)
    code: CodeType | None = None
    try:
        with io.open_code(full) as file:
            code = compile(file.read(), full, "exec", dont_inherit=True)
        sys.modules["__main__"] = main
        exec(code, main.__dict__)
    except BaseException:
        # The interpreter ends the program, as it would without us: only what it shows is cut.
        hook = sys.excepthook

        def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> Any:
            own = without_our_frames(trace, code)
            return hook(kind, error.with_traceback(own), own)

        sys.excepthook = show
        raise


def main() -> None:
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE, end="", file=sys.stdout if arguments else sys.stderr)
        sys.exit(0 if arguments else 2)
    if arguments[0] == "--version":
        print(f"tandem {tandem.__version__}")
        sys.exit()
    if arguments[0] in ("inspect", "run", "bench"):
        from tandem.export import _commands

        sys.exit(_commands.main(arguments[0], arguments[1:]))
    tandem.install_as_torch()
    if arguments[0] == "-m":
        if len(arguments) < 2:
            sys.exit("python -m tandem: -m needs the name of a module")
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return
    if not os.path.isfile(arguments[0]):
        sys.exit(f"python -m tandem: can't open file '{os.path.abspath(arguments[0])}': no such file")
    sys.argv = arguments
    run_script(arguments[0])


if __name__ == "__main__":
    main()
