// RUN: td-opt --td-print-kernels=cuda=1 -split-input-file %s | FileCheck %s
// The CUDA C++ of kernels: the steps of a body as they are written, and the order of every sum.

// Elements: four of a thread at a time, 16 bytes where they are aligned, in strides of the grid. All loads before the
// body, all stores behind it; nothing is contracted in the text, and NVRTC is told not to. Registers for eight blocks on a
// multiprocessor are tried first.
// CHECK: // row0(f32:unit, f32:unit, f32:unit) { v3 = mul f32 v0 v1; v4 = add f32 v3 v2 } -> v4:f32:unit
// CHECK: struct Args { long long at[9]; };
// CHECK: extern "C" __global__ void __launch_bounds__(256, 8) kernel(const __grid_constant__ Args args, long long begin, long long end) {
// CHECK: const float* const in0 = (const float*)args.at[1];
// CHECK: float* const out0 = (float*)args.at[7];
// CHECK: for (long long i = begin + ((long long)blockIdx.x * blockDim.x + threadIdx.x) * 4; i < end; i += threads * 4) {
// CHECK: const long long count = least(end - i, 4);
// CHECK: const bool [[W:whole[0-9]+]] = count == 4 && aligned<4>(in0) && {{.*}} && aligned<4>(out0);
// CHECK-COUNT-3: load<4>(x{{[0-9]+}}, in{{[0-2]}} + i, count, [[W]]);
// CHECK: for (int e = 0; e < 4; ++e) {
// CHECK: const float [[P:v[0-9]+]] = v{{[0-9]+}} * v{{[0-9]+}};
// CHECK-NEXT: const float [[S:v[0-9]+]] = [[P]] + v{{[0-9]+}};
// CHECK-NEXT: [[Y:y[0-9]+]][e] = [[S]];
// CHECK-NEXT: }
// CHECK-NEXT: store<4>([[Y]], out0 + i, count, [[W]]);
// CHECK: func.func @steps
func.func @steps(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>, %z: tensor<8x8xf32>) {
  %0 = td.pointwise<mul>(%x, %y) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = td.pointwise<add>(%0, %z) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  td.return %1 into [-1] : tensor<8x8xf32>
}

// -----

// Half types are computed in float32 and rounded after every step; 16 bytes are eight of them.
// CHECK: // row0(f16:unit, f16:unit)
// CHECK: unsigned short x{{[0-9]+}}[8];
// CHECK: const float [[A:v[0-9]+]] = halfValue(x{{[0-9]+}}[e]);
// CHECK: const float [[B:v[0-9]+]] = halfValue(x{{[0-9]+}}[e]);
// CHECK: const float [[P:v[0-9]+]] = [[A]] * [[B]];
// CHECK-NEXT: const float [[R:v[0-9]+]] = halfValue(halfBits([[P]]));
// CHECK-NEXT: const float [[S:v[0-9]+]] = [[R]] + [[B]];
// CHECK: = halfBits(
// CHECK: func.func @half
func.func @half(%x: tensor<64xf16>, %y: tensor<64xf16>) {
  %0 = td.pointwise<mul>(%x, %y) : (tensor<64xf16>, tensor<64xf16>) -> tensor<64xf16>
  %1 = td.pointwise<add>(%0, %y) : (tensor<64xf16>, tensor<64xf16>) -> tensor<64xf16>
  td.return %1 into [-1] : tensor<64xf16>
}

// -----

// What is the same for all elements is computed before the loop: what is dear by one thread of a block, which shares the
// result.
// CHECK: // row0(f64:zero, f64:unit)
// CHECK: __shared__ double shared_[[P:v[0-9]+]];
// CHECK-NEXT: if (threadIdx.x == 0) {
// CHECK-NEXT: const double v{{[0-9]+}} = in0[0];
// CHECK: const double [[P]] = {{.*}};
// CHECK-NEXT: shared_[[P]] = [[P]];
// CHECK-NEXT: }
// CHECK-NEXT: __syncthreads();
// CHECK-NEXT: const double [[P]] = shared_[[P]];
// CHECK: for (long long i =
// CHECK: for (int e = 0; e < 4; ++e) {
// CHECK-NEXT: const double [[X:v[0-9]+]] = x{{[0-9]+}}[e];
// CHECK-NEXT: = [[X]] * [[P]];
// CHECK: func.func @uniform
func.func @uniform(%x: tensor<64xf64>, %r: tensor<f64>) {
  %0 = td.pointwise<pow>(%r, %r) : (tensor<f64>, tensor<f64>) -> tensor<f64>
  %1 = td.pointwise<mul>(%x, %0) : (tensor<64xf64>, tensor<f64>) -> tensor<64xf64>
  td.return %1 into [-1] : tensor<64xf64>
}

// -----

// Along a row: a warp's 32 lanes are those of the order, element i goes to lane i mod 32, and they combine by halves.
// Eight elements of a lane are read before the first is added. The results of blocks of 4096 go through shared memory to
// the lanes of levels 2 and 3.
// CHECK: // row1(f32:unit) { v1 = reduce sum f32 v0 }
// CHECK: const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
// CHECK: const long long blocks = (n + 4095) / 4096;
// CHECK: for (long long round = 0; round < blocks; round += 32) {
// CHECK: for (long long block = round + warp; block < least(blocks, round + 32); block += warps) {
// CHECK: float [[A:v[0-9]+]] = (-0.0f);
// CHECK: const int count = (int)least(n - first, 4096);
// CHECK: for (; e + 224 < count; e += 256) {
// CHECK: x{{[0-9]+}}[u] = row0[i];
// CHECK: [[N:v[0-9]+]] = [[A]] + v{{[0-9]+}};
// CHECK-NEXT: [[A]] = [[N]];
// CHECK: if (e < count) {
// CHECK: if (e + 32 * u < count) {
// CHECK: if (e + 32 * u < count) {
// CHECK: [[M:v[0-9]+]] = [[A]] + v{{[0-9]+}};
// CHECK-NEXT: [[A]] = [[M]];
// CHECK: for (int h = 16; h > 0; h /= 2) {
// CHECK: const float [[O:v[0-9]+]] = shuffleDown([[A]], h);
// CHECK-NEXT: const float [[H:v[0-9]+]] = [[A]] + [[O]];
// CHECK: [[A]] = fromFirst([[A]]);
// CHECK: if (warps > 1) __syncthreads(); else __syncwarp();
// CHECK: if (blocks > 1 && ((round + 32) % 4096 == 0 || round + 32 >= blocks)) {
// CHECK: if (lane == round / 4096 % 32) {
// CHECK: if (threadIdx.x == 0) {
// CHECK: func.func @row
func.func @row(%x: tensor<8x100xf32>) {
  %0 = td.reduce<sum>(%x) [1, 1, 0, 0] : (tensor<8x100xf32>) -> tensor<8xf32>
  td.return %0 into [-1] : tensor<8xf32>
}

// -----

// Down columns: 32 of them side by side, and 8 lanes, row r of a block of 1024 in lane r mod 8.
// CHECK: // column0(f32:unit) { v1 = reduce sum f32 v0 }
// CHECK: const long long blocks = (rows + 1023) / 1024;
// CHECK: const int lane = threadIdx.y;
// CHECK: __shared__ double lines[8][32];
// CHECK: for (long long r = block * 1024 + lane; r < to; r += 8) {
// CHECK: for (int h = 4; h > 0; h /= 2) {
// CHECK: if (lane < h) {
// CHECK: if (blocks > 1 && lane == block % 8) {
// CHECK: if (here && lane == 0) {
// CHECK: func.func @column
func.func @column(%x: tensor<100x64xf32>) {
  %0 = td.reduce<sum>(%x) [1, 0, 0, 0] : (tensor<100x64xf32>) -> tensor<64xf32>
  td.return %0 into [-1] : tensor<64xf32>
}
