"""Every function of the shim over edge values, beside what CUDA's documentation says of it."""

import itertools
import math

import numpy as np
import pytest

F32, F64 = np.float32, np.float64
I32, U32, I64, U64 = np.int32, np.uint32, np.int64, np.uint64
NAMES = {
    F32: "float",
    F64: "double",
    I32: "int",
    U32: "unsigned",
    I64: "long long",
    U64: "unsigned long long",
}
INTEGERS = {
    I32: [0, 1, -1, 2, 7, -8, 100, 0x12345678, 2**31 - 1, -(2**31), -(2**31) + 1],
    U32: [0, 1, 2, 7, 31, 32, 0x12345678, 0x80000000, 2**32 - 1],
    I64: [0, 1, -1, 2, 7, -8, 2**31, -(2**31) - 1, 2**53 + 1, 2**63 - 1, -(2**63), 0x123456789ABCDEF],
    U64: [0, 1, 2, 7, 2**32, 2**53 + 1, 2**63, 2**64 - 1, 0x123456789ABCDEF],
}
PLAIN = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 3.49999, 1e-10, 1e10, -1e10, math.inf, -math.inf, math.nan]
EDGES = [2.0**31, 2.0**31 - 1, -(2.0**31), -(2.0**31) - 1, 2.0**32, 2.0**32 - 1, 2.0**63, -(2.0**63), 2.0**64, -0.6]
FLOATS = {
    F32: [*PLAIN, *EDGES, 1.1754944e-38, 1e-45, 3.4028235e38, 8388607.5, -8388609.0],
    F64: [
        *PLAIN,
        *EDGES,
        2.0**31 - 0.5,
        2.0**32 - 0.5,
        4503599627370495.5,
        5e-324,
        1.7976931348623157e308,
        1e-300,
        1e300,
    ],
}


def wrap(dtype, value):
    bits = np.dtype(dtype).itemsize * 8
    return np.array([int(value) & (2**bits - 1)], f"u{bits // 8}").view(dtype)[0]


def popcount(v):
    return bin(int(v)).count("1")


def unsigned(v, bits):
    return int(v) & (2**bits - 1)


def leading(v, bits):
    return bits - unsigned(v, bits).bit_length()


def lowest(v, bits):
    u = unsigned(v, bits)
    return (u & -u).bit_length()


def reverse(v, bits):
    return int(f"{int(v):0{bits}b}"[::-1], 2)


def high(a, b, bits):
    return int(a) * int(b) >> bits


def to_integer(dtype, rounding):
    def convert(x):
        bits = np.dtype(dtype).itemsize * 8
        if math.isnan(x):
            return 2 ** (bits - 1) if bits == 64 or isinstance(x, F64) else 0
        info = np.iinfo(dtype)
        if math.isinf(x):
            return info.max if x > 0 else info.min
        exact = float(x)
        whole = {"rn": round, "rz": math.trunc, "rd": math.floor, "ru": math.ceil}[rounding](exact)
        return min(max(whole, int(info.min)), int(info.max))

    return convert


def to_float(rounding):
    def convert(x):
        with np.errstate(over="ignore"):
            near = F32(x)
        exact, got = float(x), float(near)
        if math.isnan(exact) or got == exact or rounding == "rn":
            return near
        up = rounding == "ru" or (rounding == "rz" and exact < 0)
        if up and got < exact:
            return np.nextafter(near, F32(math.inf))
        if not up and got > exact:
            return np.nextafter(near, F32(-math.inf))
        return near

    return convert


def smaller(x, y):
    if math.isnan(x) or math.isnan(y):
        return y if math.isnan(x) else x
    if x == y == 0:
        return x if math.copysign(1, x) < 0 else y
    return min(x, y)


def larger(x, y):
    if math.isnan(x) or math.isnan(y):
        return y if math.isnan(x) else x
    if x == y == 0:
        return y if math.copysign(1, x) < 0 else x
    return max(x, y)


def half_away(x):
    return np.copysign(math.floor(abs(float(x)) + 0.5), x) if abs(x) < 2.0**52 else x


def view(dtype):
    return lambda v: np.array([v]).view(dtype)[0]


def fused(x, y, z):
    """x * y + z, rounded once, of float32: exact in fractions."""
    from fractions import Fraction

    if not all(math.isfinite(float(v)) for v in (x, y, z)):
        with np.errstate(all="ignore"):
            return F32(F64(x) * F64(y) + F64(z))
    exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
    if exact == 0:
        return F32(x * y + z)
    largest = float(np.finfo(F32).max)
    if abs(exact) >= Fraction(largest) + 2**103:  # half a step beyond it
        return F32(math.copysign(math.inf, exact))
    # To nearest, ties to even, among a first guess and its neighbours.
    guess = F32(min(max(float(exact), -largest), largest))
    with np.errstate(over="ignore"):
        near = [np.nextafter(guess, F32(-math.inf)), guess, np.nextafter(guess, F32(math.inf))]
    return min(
        (n for n in near if math.isfinite(n)),
        key=lambda n: (abs(Fraction(float(n)) - exact), int(np.array(n).view(U32)) & 1),
    )


def numeric(function):
    def call(*arguments):
        with np.errstate(all="ignore"):
            return function(*arguments)

    return call


def cases():
    """(expression of a, b, c; type of the result; types of the arguments; reference)."""
    for name, to, of in [
        ("__float_as_int", I32, F32),
        ("__float_as_uint", U32, F32),
        ("__int_as_float", F32, I32),
        ("__uint_as_float", F32, U32),
        ("__double_as_longlong", I64, F64),
        ("__longlong_as_double", F64, I64),
    ]:
        yield f"{name}(a)", to, (of,), view(to)
    yield "__double2hiint(a)", I32, (F64,), lambda a: view(I64)(a) >> 32
    yield "__double2loint(a)", I32, (F64,), lambda a: wrap(I32, view(I64)(a))
    yield "__hiloint2double(a, b)", F64, (I32, I32), lambda a, b: view(F64)(I64((int(a) << 32) | unsigned(b, 32)))
    yield "__popc(a)", I32, (U32,), popcount
    yield "__popcll(a)", I32, (U64,), popcount
    yield "__clz(a)", I32, (I32,), lambda a: leading(a, 32)
    yield "__clzll(a)", I32, (I64,), lambda a: leading(a, 64)
    yield "__ffs(a)", I32, (I32,), lambda a: lowest(a, 32)
    yield "__ffsll(a)", I32, (I64,), lambda a: lowest(a, 64)
    yield "__brev(a)", U32, (U32,), lambda a: reverse(a, 32)
    yield "__brevll(a)", U64, (U64,), lambda a: reverse(a, 64)
    yield "__mulhi(a, b)", I32, (I32, I32), lambda a, b: high(a, b, 32)
    yield "__umulhi(a, b)", U32, (U32, U32), lambda a, b: high(a, b, 32)
    yield "__mul64hi(a, b)", I64, (I64, I64), lambda a, b: high(a, b, 64)
    yield "__umul64hi(a, b)", U64, (U64, U64), lambda a, b: high(a, b, 64)
    yield "__umul24(a, b)", U32, (U32, U32), lambda a, b: (int(a) & 0xFFFFFF) * (int(b) & 0xFFFFFF)
    both = lambda a, b: (int(b) << 32) | int(a)  # noqa: E731
    yield "__funnelshift_l(a, b, c)", U32, (U32, U32, U32), lambda a, b, c: both(a, b) << (int(c) & 31) >> 32
    yield "__funnelshift_r(a, b, c)", U32, (U32, U32, U32), lambda a, b, c: both(a, b) >> (int(c) & 31)
    yield "__funnelshift_lc(a, b, c)", U32, (U32, U32, U32), lambda a, b, c: both(a, b) << min(int(c), 32) >> 32
    yield "__funnelshift_rc(a, b, c)", U32, (U32, U32, U32), lambda a, b, c: both(a, b) >> min(int(c), 32)
    yield (
        "__byte_perm(a, b, c)",
        U32,
        (U32, U32, U32),
        lambda a, b, c: sum((both(a, b) >> 8 * (int(c) >> 4 * i & 7) & 255) << 8 * i for i in range(4)),
    )
    for t in INTEGERS:
        yield "min(a, b)", t, (t, t), min
        yield "max(a, b)", t, (t, t), max
    yield "max(a, b)", U32, (I32, U32), lambda a, b: max(unsigned(a, 32), int(b))
    yield "abs(a)", I32, (I32,), lambda a: abs(int(a))
    yield "llabs(a)", I64, (I64,), lambda a: abs(int(a))

    for t, f in ((F32, "f"), (F64, "")):
        for name, reference in [
            ("floor", np.floor),
            ("ceil", np.ceil),
            ("trunc", np.trunc),
            ("rint", np.rint),
            ("nearbyint", np.rint),
            ("sqrt", np.sqrt),
            ("fabs", np.abs),
        ]:
            yield f"{name}{f}(a)", t, (t,), numeric(reference)
            yield f"{name}(a)", t, (t,), numeric(reference)
        yield f"round{f}(a)", t, (t,), half_away
        yield f"fmin{f}(a, b)", t, (t, t), smaller
        yield f"fmax{f}(a, b)", t, (t, t), larger
        yield "min(a, b)", t, (t, t), smaller
        yield "max(a, b)", t, (t, t), larger
        yield f"fmod{f}(a, b)", t, (t, t), numeric(np.fmod)
        yield f"copysign{f}(a, b)", t, (t, t), np.copysign
        yield f"nextafter{f}(a, b)", t, (t, t), numeric(np.nextafter)
        yield f"ldexp{f}(a, b % 40)", t, (t, I32), numeric(lambda a, b: np.ldexp(a, int(math.fmod(b, 40))))
        yield (
            "isnan(a) + 2 * isinf(a) + 4 * isfinite(a) + 8 * signbit(a)",
            I32,
            (t,),
            lambda a: int(np.isnan(a)) + 2 * int(np.isinf(a)) + 4 * int(np.isfinite(a)) + 8 * int(np.signbit(a)),
        )
        prefix = "__f" if t is F32 else "__d"
        for name, reference in [("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("div", np.divide)]:
            yield f"{prefix}{name}_rn(a, b)", t, (t, t), numeric(reference)
        yield f"{prefix}sqrt_rn(a)", t, (t,), numeric(np.sqrt)
        yield f"{prefix}rcp_rn(a)", t, (t,), numeric(lambda a: a.dtype.type(1) / a)
        # Not contracted, though it could be.
        yield "a * b + a", t, (t, t), numeric(lambda a, b: a * b + a)
        source = NAMES[t]
        for to, name in ((I32, "int"), (U32, "uint"), (I64, "ll"), (U64, "ull")):
            for rounding in ("rn", "rz", "rd", "ru"):
                yield f"__{source}2{name}_{rounding}(a)", to, (t,), to_integer(to, rounding)
        yield f"llrint{f}(a)", I64, (t,), to_integer(I64, "rn")
    for name in ("fmaf", "fma", "__fmaf_rn"):
        yield f"{name}(a, b, c)", F32, (F32, F32, F32), fused
    yield "__saturatef(a)", F32, (F32,), lambda a: F32(0) if math.isnan(a) else F32(min(max(a, 0.0), 1.0)) + F32(0)
    for rounding in ("rn", "rz", "rd", "ru"):
        for source, name in ((F64, "double"), (I32, "int"), (U32, "uint")):
            yield f"__{name}2float_{rounding}(a)", F32, (source,), to_float(rounding)
    for source, name in ((I64, "ll"), (U64, "ull")):
        yield f"__{name}2float_rn(a)", F32, (source,), F32
        yield f"__{name}2double_rn(a)", F64, (source,), F64
    for source, name in ((I32, "int"), (U32, "uint")):
        yield f"__{name}2double_rn(a)", F64, (source,), F64


CASES = list(cases())


def arguments(types):
    choices = [({**INTEGERS, **FLOATS})[t] for t in types]
    with np.errstate(over="ignore"):
        rows = [[t(v) for t, v in zip(types, row, strict=True)] for row in itertools.product(*choices)]
    return rows[:: 1 + len(rows) // 3000]


@pytest.fixture(scope="module")
def kernels(gpu):
    text = ""
    for k, (expression, to, of, _) in enumerate(CASES):
        inputs = "".join(f", const {NAMES[t]}* in{i}" for i, t in enumerate(of))
        reads = " ".join(f"{NAMES[t]} {'abc'[i]} = in{i}[at];" for i, t in enumerate(of))
        text += f"""
extern "C" __global__ void case{k}({NAMES[to]}* out, int n{inputs}) {{
  for (int at = threadIdx.x; at < n; at += blockDim.x) {{ {reads} out[at] = {expression}; }}
}}"""
    return gpu.kernels(text, *[f"case{k}" for k in range(len(CASES))])


@pytest.mark.parametrize("k", range(len(CASES)), ids=[f"{e}:{NAMES[of[0]]}" for e, _, of, _ in CASES])
def test_function(gpu, kernels, k):
    expression, to, of, reference = CASES[k]
    rows = arguments(of)
    inputs = [gpu.array(np.array([r[i] for r in rows], t)) for i, t in enumerate(of)]
    out = gpu.empty((len(rows),), to)
    gpu.launch(kernels[k], 1, 64, out, len(rows), *inputs)
    got = out.numpy()
    for row, value in zip(rows, got, strict=True):
        expected = reference(*row)
        expected = wrap(to, expected) if to in INTEGERS else to(expected)
        same = np.array([expected]).tobytes() == np.array([value]).tobytes()
        both_nan = to in FLOATS and np.isnan(expected) and np.isnan(value)
        assert same or both_nan, f"{expression} of {row}: {value}, not {expected}"


VECTORS = """
template <class V> __device__ int describe() { return sizeof(V) * 100 + alignof(V); }
extern "C" __global__ void vectors(int* out, int n) {
  int k = 0;
  out[k++] = describe<float2>(); out[k++] = describe<float3>(); out[k++] = describe<float4>();
  out[k++] = describe<double2>(); out[k++] = describe<int2>(); out[k++] = describe<int4>();
  out[k++] = describe<uint4>(); out[k++] = describe<longlong2>(); out[k++] = describe<ulonglong2>();
  out[k++] = describe<uchar2>(); out[k++] = describe<uchar4>(); out[k++] = describe<char4>();
  out[k++] = describe<short2>(); out[k++] = describe<ushort4>(); out[k++] = describe<uint3>();
  out[k++] = describe<dim3>(); out[k++] = describe<size_t>();
  float4 f = make_float4(1, 2, 3, 4);
  uint3 u = make_uint3(5, 6, 7);
  double2 d{8, 9};
  out[k++] = (int)(f.x + 10 * f.y + 100 * f.z + 1000 * f.w) + u.z + (int)d.y;
  int4* wide = reinterpret_cast<int4*>(out + 20);
  wide[0] = make_int4(1, 2, 3, 4);
  int4 w = __ldg(wide);
  __stcg(out + k, w.w + __ldcg(out + 21));
}
"""


def test_vectors(gpu):
    out = gpu.over(VECTORS, "vectors", out=((24,), np.int32), threads=1)
    sizes = [808, 1204, 1616, 1616, 808, 1616, 1616, 1616, 1616, 202, 404, 404, 404, 808, 1204, 1204, 808]
    assert list(out[:19]) == [*sizes, 4321 + 7 + 9, 4 + 2]
