"""Saved programs by the C functions of the library that Python's loader is, in this process."""

from __future__ import annotations

import ctypes

from devices import libraries


class Options(ctypes.Structure):
    _fields_ = [("signed_by", ctypes.c_char_p), ("verify", ctypes.c_int), ("device", ctypes.c_char_p)]


class Memory(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_kind", ctypes.c_int32), ("device_index", ctypes.c_int32)]


class RunOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("stream", ctypes.c_void_p), ("later", ctypes.c_size_t)]


class CProgram:
    """A program and a context; on a GPU where nothing else is said."""

    def __init__(self, path: str, device: bytes | None = b"cuda"):
        self.library = library = ctypes.CDLL(str(libraries() / "libtandem_runtime.so"))
        library.tandem_error_text.restype = library.tandem_program_target.restype = ctypes.c_char_p
        for name in ("program_open", "context_create", "run", "run_on", "wait"):
            getattr(library, f"tandem_{name}").restype = ctypes.c_void_p
        self.program, self.context = ctypes.c_void_p(), ctypes.c_void_p()
        options = Options(None, 0, device)
        self.check(library.tandem_program_open(path.encode(), ctypes.byref(options), ctypes.byref(self.program)))
        self.check(library.tandem_context_create(self.program, ctypes.byref(self.context)))

    def check(self, error) -> None:
        if error:
            text = self.library.tandem_error_text(ctypes.c_void_p(error)).decode()
            self.library.tandem_error_free(ctypes.c_void_p(error))
            raise RuntimeError(text)

    def run_on(self, arguments, results, options, entry: int = 0) -> None:
        def places(tensors):
            return (Memory * len(tensors))(*[Memory(t.data_ptr(), 1 if t.is_cpu else 2, 0) for t in tensors])

        options = options and ctypes.byref(options)
        number = ctypes.c_size_t(entry)
        self.check(self.library.tandem_run_on(self.context, number, places(arguments), None, places(results), options))

    def close(self) -> None:
        self.library.tandem_context_free(self.context)
        self.library.tandem_program_close(self.program)
