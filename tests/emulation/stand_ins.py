"""The stand-ins for the CUDA driver and NVRTC, called as C libraries: what tests of them are written with."""

import ctypes
import os
import pathlib
import subprocess
import sys

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARIES = ROOT / "build" / os.environ.get("PRESET", "release") / "lib"
DRIVER = os.environ.get("TANDEM_CUDA_DRIVER", str(LIBRARIES / "libtandem_emulated_driver.so"))
NVRTC = os.environ.get("TANDEM_NVRTC", str(LIBRARIES / "libtandem_emulated_nvrtc.so"))

OUT_OF_MEMORY, INVALID_IMAGE, INVALID_HANDLE, NOT_FOUND, NOT_READY = 2, 200, 400, 500, 600
ILLEGAL_ADDRESS, LAUNCH_FAILED, NOT_PERMITTED = 700, 719, 800
CAPTURE_UNSUPPORTED, CAPTURE_INVALIDATED, CAPTURE_UNJOINED, CAPTURE_ISOLATION = 900, 901, 904, 905
PINNED = 1
HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class CompileError(Exception):
    """Of NVRTC; the text is its log."""


class Compiler:
    """NVRTC, or what stands for it."""

    def __init__(self, path=NVRTC):
        self.library = ctypes.CDLL(path)
        self.log = ""  # what it said of the last text

    def compile(self, text, *options, name="test.cu", architecture="sm_90"):
        """The cubin of a text."""
        program = ctypes.c_void_p()
        library = self.library
        assert library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), name.encode(), 0, None, None) == 0
        try:
            given = [f"--gpu-architecture={architecture}", "--fmad=false", "--std=c++17", *options]
            array = (ctypes.c_char_p * len(given))(*[o.encode() for o in given])
            result = library.nvrtcCompileProgram(program, len(given), array)
            self.log = self._read(program, "ProgramLog").rstrip(b"\0").decode()
            if result != 0:
                raise CompileError(self.log)
            return self._read(program, "PTX" if architecture.startswith("compute") else "CUBIN")
        finally:
            library.nvrtcDestroyProgram(ctypes.byref(program))

    def _read(self, program, what):
        size = ctypes.c_size_t()
        assert getattr(self.library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)) == 0
        buffer = ctypes.create_string_buffer(size.value)
        assert getattr(self.library, f"nvrtcGet{what}")(program, buffer) == 0
        return buffer.raw


def dumped(folder, program, *arguments, **others):
    """The texts that a program in a process of its own compiles for the emulated device."""
    environment = {
        **os.environ, "TANDEM_CUDA_DRIVER": DRIVER, "TANDEM_NVRTC": NVRTC, "TANDEM_CACHE": "off",
        "TANDEM_DUMP": str(folder), "PYTHONPATH": os.pathsep.join(sys.path), **others,
    }  # fmt: skip
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return sorted(pathlib.Path(folder).glob("*.cu"))


class DriverError(Exception):
    def __init__(self, code, text):
        super().__init__(f"{code}: {text}")
        self.code = code


class Array:
    """An array in device memory."""

    def __init__(self, gpu, shape, dtype):
        self.gpu, self.shape, self.dtype = gpu, shape, numpy.dtype(dtype)
        self.bytes = int(numpy.prod(shape)) * self.dtype.itemsize
        self.address = gpu.allocate(max(self.bytes, 1))

    def numpy(self, stream=None):
        out = numpy.empty(self.shape, self.dtype)
        self.gpu.call("cuMemcpyDtoHAsync_v2", out.ctypes.data_as(ctypes.c_void_p), self.address, self.bytes, stream)
        return out


class Gpu:
    """A device, its context current, with a compiler."""

    def __init__(self, ordinal=0):
        self.library = ctypes.CDLL(DRIVER)
        self.compiler = Compiler()
        self.call("cuInit", 0)
        self.ordinal = ordinal
        self.context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), ordinal)
        self.use()

    def use(self):
        self.call("cuCtxSetCurrent", self.context)

    def result(self, name, *arguments):
        """What a function returns. Addresses are given as numbers of 64 bits."""
        given = [ctypes.c_uint64(a) if type(a) is int and a > 0x7FFFFFFF else a for a in arguments]
        return getattr(self.library, name)(*given)

    def call(self, name, *arguments):
        code = self.result(name, *arguments)
        if code != 0:
            text = ctypes.c_char_p()
            self.library.cuGetErrorString(code, ctypes.byref(text))
            raise DriverError(code, f"{name}: {(text.value or b'').decode()}")

    def make(self, name, *arguments):
        """Of a function that makes something, its handle."""
        handle = ctypes.c_void_p()
        self.call(name, ctypes.byref(handle), *arguments)
        return handle

    def allocate(self, count):
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(count))
        return address.value

    def empty(self, shape, dtype):
        return Array(self, shape, dtype)

    def array(self, values, stream=None):
        values = numpy.ascontiguousarray(values)
        out = Array(self, values.shape, values.dtype)
        self.copy_from(out, values.ctypes.data, stream)
        return out

    def copy_from(self, array, address, stream=None):
        self.call("cuMemcpyHtoDAsync_v2", array.address, ctypes.c_void_p(address), ctypes.c_size_t(array.bytes), stream)

    def pinned(self, shape, dtype):
        count = int(numpy.prod(shape)) * numpy.dtype(dtype).itemsize
        memory = self.make("cuMemHostAlloc", ctypes.c_size_t(count), PINNED)
        return numpy.frombuffer((ctypes.c_char * count).from_address(memory.value), dtype).reshape(shape)

    def kernels(self, text, *names, options=(), **others):
        module = self.load(self.compiler.compile(text, *options, **others))
        found = [self.make("cuModuleGetFunction", module, n.encode()) for n in names]
        return found[0] if len(found) == 1 else found

    def load(self, image):
        return self.make("cuModuleLoadData", image)

    def launch(self, kernel, blocks, threads, *arguments, shared=0, stream=None):
        """Arguments are arrays, numbers of ctypes and NumPy, ints for `int`, floats for `float`."""
        kept = [self._argument(a) for a in arguments]
        pointers = (ctypes.c_void_p * (len(kept) + 1))(*[ctypes.addressof(a) for a in kept], None)
        x = (blocks, 1, 1) if type(blocks) is int else (*blocks, 1, 1)[:3]
        y = (threads, 1, 1) if type(threads) is int else (*threads, 1, 1)[:3]
        self.call("cuLaunchKernel", kernel, *x, *y, shared, stream, pointers, None)

    @staticmethod
    def _argument(value):
        if isinstance(value, Array):
            return ctypes.c_uint64(value.address)
        if isinstance(value, numpy.generic):
            return ctypes.create_string_buffer(value.tobytes(), value.itemsize)
        if type(value) is int:
            return ctypes.c_int(value)
        if type(value) is float:
            return ctypes.c_float(value)
        return value

    def stream(self, flags=1):
        return self.make("cuStreamCreateWithPriority", flags, 0)

    def event(self, flags=2):
        return self.make("cuEventCreate", flags)

    def synchronize(self, stream=None):
        self.call("cuStreamSynchronize", stream)

    def over(self, text, kernel, *inputs, out, n=None, threads=64, blocks=1, shared=0, options=()):
        """Runs `kernel(out, inputs..., n)` of a text and returns the output."""
        result = self.empty(*out)
        given = [self.array(i) for i in inputs]
        count = numpy.int32(out[0][0] if n is None else n)
        self.launch(self.kernels(text, kernel, options=options), blocks, threads, result, *given, count, shared=shared)
        self.synchronize()
        return result.numpy()
