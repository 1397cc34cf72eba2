"""Threads of a block on the emulated GPU: barriers, shuffles, votes, shared memory, atomics, and wrong uses of them."""

import ctypes
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
import stand_ins

SUM = """
extern "C" __global__ void __launch_bounds__(256) sum(float* out, const float* in, int n) {
  __shared__ float part[32];
  float s = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += in[i];
  for (int d = 16; d > 0; d /= 2) s += __shfl_down_sync(0xffffffffu, s, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x < 32) {
    s = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0.0f;
    for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(0xffffffffu, s, d);
    if (threadIdx.x == 0) out[blockIdx.x] = s;
  }
}
"""


@pytest.mark.parametrize("order", ["forwards", "backwards"])
@pytest.mark.parametrize("threads", [32, 64, 256])
def test_sum(gpu, threads, order, monkeypatch):
    monkeypatch.setenv("TANDEM_EMULATED_ORDER", order)
    x = np.arange(5000, dtype=np.float32)
    out = gpu.over(SUM, "sum", x, out=((3,), np.float32), n=5000, threads=threads, blocks=3)
    assert out.sum() == x.sum()


def test_reading_before_a_barrier_reads_nan(gpu):
    text = """
    extern "C" __global__ void next(float* out, int n) {
      __shared__ float s[64];
      s[threadIdx.x] = threadIdx.x;
      BARRIER
      out[threadIdx.x] = s[(threadIdx.x + 1) % 64];
    }"""
    expected = (np.arange(64) + 1) % 64
    assert (gpu.over(text, "next", out=((64,), np.float32), options=["-DBARRIER=__syncthreads();"]) == expected).all()
    assert np.isnan(gpu.over(text, "next", out=((64,), np.float32), options=["-DBARRIER="])[:63]).all()


def test_static_shared_memory_is_of_each_block(gpu):
    text = """
    template <class T, int N> __device__ T* place() { __shared__ T array[N]; return array; }
    extern "C" __global__ void blocks(int* out, int n) {
      __shared__ int first;
      int* more = place<int, 4>();
      double* other = place<double, 2>();
      out[blockIdx.x * 64 + threadIdx.x] = threadIdx.x == 0 && first == -1 && more[3] == -1 && other[1] != other[1];
      first = more[3] = 7;
      other[1] = 1;
    }"""
    out = gpu.over(text, "blocks", out=((128,), np.int32), blocks=2)
    assert out[0] == 1 and out[64] == 1 and out.sum() == 2


def test_shared_memory_of_several_kernels(gpu):
    """Each kernel has 48 KiB of its own."""
    text = """
    extern "C" __global__ void first(int* out, int n) { __shared__ int s[10000]; s[9999] = n; out[0] = s[9999]; }
    extern "C" __global__ void second(int* out, int n) { __shared__ int s[10000]; s[9999] = n; out[0] = s[9999] + 1; }
    extern "C" __global__ void third(int* out, int n) { __shared__ int s[N]; s[0] = n; out[0] = s[0]; }"""
    assert gpu.over(text, "second", out=((1,), np.int32), options=["-DN=1"]) == 2
    value = ctypes.c_int()
    gpu.call("cuFuncGetAttribute", ctypes.byref(value), 1, gpu.kernels(text, "first", options=["-DN=1"]))
    assert value.value == 40000
    with pytest.raises(stand_ins.DriverError, match="the __shared__ variables of third have more than 48 KiB"):
        gpu.kernels(text, "third", options=["-DN=12289"])


def test_dynamic_shared_memory(gpu):
    text = """
    extern __shared__ __align__(16) unsigned char outer[];
    template <class T> __device__ void turn(T* x) {
      extern __shared__ T places[];
      places[threadIdx.x] = x[threadIdx.x];
      __syncthreads();
      x[threadIdx.x] = places[blockDim.x - 1 - threadIdx.x];
      __syncthreads();
    }
    extern "C" __global__ void turns(double* out, const double* in, int n) {
      extern __shared__ __align__(16) double rows[][2];
      out[threadIdx.x] = in[threadIdx.x];
      turn(out);
      rows[threadIdx.x / 2][threadIdx.x % 2] = out[threadIdx.x];
      __syncthreads();
      double* all = reinterpret_cast<double*>(&outer[0]);
      out[threadIdx.x] = all[threadIdx.x] + n;
    }"""
    x = np.arange(64.0)
    assert (gpu.over(text, "turns", x, out=((64,), np.float64), n=1, shared=512) == x[::-1] + 1).all()


def test_dims(gpu):
    text = """
    extern "C" __global__ void where(int* out, int n) {
      int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
      int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
      dim3 size = blockDim;
      out[block * size.x * size.y * size.z + thread] = block * 1000 + thread + warpSize - 32;
    }"""
    out = gpu.over(text, "where", out=((8, 24), np.int32), blocks=(2, 2, 2), threads=(2, 3, 4))
    assert (out == np.arange(8)[:, None] * 1000 + np.arange(24)).all()


SHUFFLES = """
extern "C" __global__ void all(long long* out, int n) {
  int lane = threadIdx.x;
  long long* at = out + lane;
  at[352] = __activemask();  // none has returned yet
  at[0] = __shfl_sync(~0u, lane * 3, 5);
  at[32] = __shfl_sync(~0u, (unsigned)lane, lane + 1, 8);
  at[64] = __shfl_up_sync(~0u, (long long)lane << 40, 2) >> 40;
  at[96] = __shfl_down_sync(~0u, (double)lane, 3, 16);
  at[128] = __shfl_xor_sync(~0u, (float)lane, 5);
  at[160] = __shfl_xor_sync(~0u, (unsigned long long)lane, 12, 8);
  at[192] = __ballot_sync(~0u, lane % 3 == 0);
  at[224] = __any_sync(~0u, lane == 31) + 2 * __all_sync(~0u, lane < 32);
  at[224] += 4 * __any_sync(~0u, 0) + 8 * __all_sync(~0u, lane);
  at[256] = __reduce_add_sync(~0u, lane) + __reduce_max_sync(~0u, -lane);
  at[288] = __match_any_sync(~0u, lane % 4);
  if (lane < 16) at[320] = __shfl_sync(0xffff, lane, lane ^ 1);
  else at[320] = __shfl_sync(0xffff0000, lane, lane ^ 2);
  __syncwarp();
}
"""


def test_shuffles_and_votes(gpu):
    lane = np.arange(32)
    expected = np.array(
        [
            np.full(32, 15),
            lane // 8 * 8 + (lane + 1) % 8,
            np.where(lane < 2, lane, lane - 2),
            np.where(lane % 16 + 3 < 16, lane + 3, lane),
            lane ^ 5,
            # Lanes of a later part of the warp are not read, those of an earlier one are.
            np.where((lane ^ 12) <= (lane | 7), lane ^ 12, lane),
            np.full(32, sum(1 << i for i in range(0, 32, 3))),
            np.full(32, 1 + 2),
            np.full(32, 31 * 16),
            [sum(1 << i for i in range(k % 4, 32, 4)) for k in range(32)],
            np.where(lane < 16, lane ^ 1, lane ^ 2),
            np.full(32, 0xFFFFFFFF),
        ]
    )
    assert (gpu.over(SHUFFLES, "all", out=((12, 32), np.int64), threads=32) == expected).all()


def test_votes_of_blocks(gpu):
    text = """
    extern "C" __global__ void votes(int* out, int n) {
      int t = threadIdx.x;
      out[t] = __syncthreads_count(t % 3 == 0) * 100 + __syncthreads_or(t == 5) * 10 + __syncthreads_and(t < 40);
    }"""
    assert (gpu.over(text, "votes", out=((40,), np.int32), threads=40) == 14 * 100 + 11).all()


def test_blocks_whose_last_warp_is_not_full(gpu):
    text = """
    extern "C" __global__ void down(int* out, int n) {
      out[threadIdx.x] = __shfl_xor_sync(~0u, (int)threadIdx.x, 1) + (__ballot_sync(~0u, 1) == 0xff) * 100;
    }"""
    lane = np.arange(40)
    out = gpu.over(text, "down", out=((40,), np.int32), threads=40)
    assert (out == (lane ^ 1) + 100 * (lane >= 32)).all()


ATOMICS = """
extern "C" __global__ void atomics(unsigned long long* out, int n) {
  int* i = (int*)&out[0];
  unsigned* u = (unsigned*)&out[1];
  unsigned long long* l = &out[2];
  float* f = (float*)&out[3];
  double* d = (double*)&out[4];
  long long* s = (long long*)&out[5];
  int t = threadIdx.x;
  atomicAdd(i, t);
  atomicSub(i, 1);
  atomicMax(u, (unsigned)t * 2);
  atomicAdd(l, 1ULL << 33);
  atomicAdd(f, 0.5f);
  atomicAdd_system(d, 0.25);
  atomicMin(s, -(long long)t);
  atomicOr(&out[6], 1ULL << (t & 63));
  atomicXor((unsigned*)&out[7], 1u << (t & 31));
  if (atomicCAS(&out[8], 0ULL, 1ULL) == 0) out[9] = 1000 + t;
  atomicInc((unsigned*)&out[10], 9);
  atomicExch((float*)&out[11], (float)t);
  unsigned short* h = (unsigned short*)&out[12];
  atomicCAS(h, (unsigned short)0, (unsigned short)77);
  atomicAnd((int*)&out[13], ~(1 << (t & 31)));
}
"""


def test_atomics(gpu):
    out = gpu.array(np.zeros(14, np.uint64))
    gpu.launch(gpu.kernels(ATOMICS, "atomics"), 1, 64, out, 0)
    got = out.numpy()
    words = got.view(np.uint32)
    assert words[0] == 63 * 32 - 64
    assert words[2] == 126
    assert got[2] == 64 << 33
    assert got.view(np.float32)[6] == 32
    assert got.view(np.float64)[4] == 16
    assert got.view(np.int64)[5] == -63
    assert got[6] == 2**64 - 1
    assert words[14] == 0
    assert got[8] == 1 and got[9] == 1000
    assert words[20] == 64 % 10
    assert got.view(np.float32)[22] == 63
    assert got[12] == 77
    assert words[26] == 0


def test_struct_parameters(gpu):
    text = """
    struct View { void* data; long long n; int rank; float scale; double more[20]; };
    extern "C" __global__ void scale(const __grid_constant__ View out, View in, bool twice, double add, char small) {
      for (int i = threadIdx.x; i < out.n; i += blockDim.x)
        ((float*)out.data)[i] = ((float*)in.data)[i] * in.scale * (twice ? 2 : 1) + (float)add + small + in.more[19];
    }"""
    view = np.dtype([("data", "u8"), ("n", "i8"), ("rank", "i4"), ("scale", "f4"), ("more", "f8", 20)])
    x = gpu.array(np.arange(100, dtype=np.float32))
    y = gpu.empty((100,), np.float32)
    views = [np.array([(a.address, 100, 1, 3, [0.5] * 20)], view)[0] for a in (y, x)]
    gpu.launch(gpu.kernels(text, "scale"), 1, 32, *views, np.bool_(True), np.float64(0.25), np.int8(-1))
    assert (y.numpy() == np.arange(100) * 6 - 0.25).all()


def test_recursion_and_big_frames(gpu):
    text = """
    __device__ int depth(int n) { volatile int a[8]; a[0] = n; return n == 0 ? 0 : 1 + depth(a[0] - 1); }
    extern "C" __global__ void deep(int* out, int n) {
      int local[2000];
      for (int i = 0; i < 2000; ++i) local[i] = i + threadIdx.x;
      __syncthreads();
      out[threadIdx.x] = depth(n) + local[1999];
    }"""
    out = gpu.over(text, "deep", out=((64,), np.int32), n=500)
    assert (out == 500 + 1999 + np.arange(64)).all()


# ---- what is wrong, each in a process of its own: a device on which a kernel failed is lost


def failing(text, launch="gpu.launch(kernel, 1, 64, out)", setting=""):
    """What the driver says of a kernel `wrong(int* out)`."""
    program = f'''
import os
{setting}
import numpy as np
import stand_ins
gpu = stand_ins.Gpu()
out = gpu.array(np.zeros(64, np.int32))
kernel = gpu.kernels("""{text}""", "wrong")
{launch}
for attempt in range(2):
    try:
        gpu.synchronize()
    except stand_ins.DriverError as e:
        print(e)
'''
    here = pathlib.Path(__file__).parent
    done = subprocess.run([sys.executable, "-c", program], cwd=here, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 2, done.stdout + done.stderr  # also the second time: the device is lost
    return lines[0]


def wrong(body, **others):
    return failing(f'extern "C" __global__ void wrong(int* out) {{ int t = threadIdx.x; {body} }}', **others)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "if (t < 10) __syncthreads();",
            "719.*kernel wrong.*threads 0-9 wait for all others at line 1; threads 10-63 have returned",
        ),
        ("if (t >= 10) __syncthreads();", "719.*kernel wrong.*__syncthreads at line 1 is not reached by threads 0-9"),
        (
            "if (t < 32) {\n __syncthreads(); } else {\n __syncthreads(); }",
            "at different barriers.*at line 2.*at line 3",
        ),
        (
            "if (t != 3) out[t] = __shfl_sync(~0u, t, 0);",
            "no thread can go on.* 0-2, 4-31 wait.*0xffffffff at line 1",
        ),
        ("out[t] = t < 8 ? __shfl_sync(0xff, t, 9) : 0;", "lane 0 reads lane 9 at line 1, which takes no part"),
        ("if (t < 8) out[t] = __shfl_down_sync(0xf0, t, 1);", "lacks the lane itself"),
        ("if (t < 32) { if (t == 0) __syncwarp(); else __syncthreads(); }", "no thread can go on.* 1-31 wait for all"),
        ("if (t == 7) __trap();", r"719.*thread \(7, 0, 0\): __trap"),
        ("out[t] = 5 / (t - 9);", r"719.*thread \(9, 0, 0\): an integer was divided by 0.*\(test.cu:1\)"),
        ("if (t == 5) *(int*)0 = 1;", r"700.*thread \(5, 0, 0\): a memory access failed"),
        (
            "\n\n out[t + 1000] = 1;",
            r"700.*access failed \(test.cu:3\).*behind the end of a block of 512 bytes",
        ),
        ("__syncthreads(); out[t - 5000] = t;", "700.*a memory access failed"),
        (
            "*(float4*)(out + t * 4 + 1) = make_float4(t, 0, 0, 0);",
            r"719.*thread \(0, 0, 0\): an access that is not aligned",
        ),
        ("int2 v = *(int2*)(out + t % 2); out[t] = v.x;", r"719.*thread \(1, 0, 0\): an access that is not aligned"),
        ("out[t] = 1 << t;", r"719.*thread \(32, 0, 0\):.* a shift by the width"),
        ("out[t] = (int)(t * 1e8f);", r"719.*thread \(22, 0, 0\):.* converted to an integer"),
    ],
)
def test_wrong_kernels(body, said):
    line = wrong(body)
    assert re.search(said, line), line


def test_stacks_that_are_full():
    text = """
    __device__ int deep(int n) { volatile int a[1000]; a[n % 1000] = n; return n == 0 ? 0 : deep(n - 1) + a[n % 1000]; }
    extern "C" __global__ void wrong(int* out) { __syncthreads(); out[threadIdx.x] = deep(1 << 20); }"""
    assert "its stack is full" in failing(text)


def test_a_freed_block_cannot_be_touched():
    launch = "gpu.call('cuMemFree_v2', out.address)\ngpu.launch(kernel, 1, 64, out)"
    assert "700" in wrong("out[t] = 1;", launch=launch)


def test_memory_of_another_device():
    launch = (
        "other = stand_ins.Gpu(1)\nfar = other.array(np.zeros(64, np.int32))\ngpu.use()\ngpu.launch(kernel, 1, 64, far)"
    )
    assert "of another device" in wrong("out[t] = 1;", launch=launch)
