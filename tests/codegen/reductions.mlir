// RUN: td-opt --td-print-kernels -split-input-file %s | FileCheck %s
// RUN: td-opt --td-print-kernels=lanes=16 -split-input-file %s | FileCheck %s --check-prefix WIDE
// The order of a sum in the LLVM IR of reduction kernels: it is the same whatever the width of a vector.

// Along a row: blocks of 4096 elements, 32 lanes that start at -0, element i in lane i mod 32. With 8 elements a vector
// that is four accumulators, with 16 two; the lanes are combined as one tree, its halves first.
// CHECK: ; kernel row1(f32:unit) { v1 = reduce sum f32 v0 }
// CHECK: udiv i64 %{{.*}}, 4096
// CHECK: and i64 %{{.*}}, -32
// CHECK: %[[A:.*]] = phi <8 x float> [ splat (float -0.000000e+00), %{{.*}} ], [ %[[AN:.*]], %{{.*}} ]
// CHECK-NEXT: %[[B:.*]] = phi <8 x float> [ splat (float -0.000000e+00), %{{.*}} ], [ %[[BN:.*]], %{{.*}} ]
// CHECK-NEXT: %[[C:.*]] = phi <8 x float> [ splat (float -0.000000e+00), %{{.*}} ], [ %[[CN:.*]], %{{.*}} ]
// CHECK-NEXT: %[[D:.*]] = phi <8 x float> [ splat (float -0.000000e+00), %{{.*}} ], [ %[[DN:.*]], %{{.*}} ]
// CHECK: %[[AN]] = fadd <8 x float> %[[A]], %
// CHECK: %[[BN]] = fadd <8 x float> %[[B]], %
// CHECK: %[[CN]] = fadd <8 x float> %[[C]], %
// CHECK: %[[DN]] = fadd <8 x float> %[[D]], %
// The rest goes to the lanes in which it would stand, under a mask.
// CHECK: @llvm.masked.load.v8f32.p0
// CHECK: select <8 x i1>
// CHECK: %[[A1:.*]] = phi <8 x float> [ %[[A]],
// CHECK-NEXT: %[[B1:.*]] = phi <8 x float> [ %[[B]],
// CHECK-NEXT: %[[C1:.*]] = phi <8 x float> [ %[[C]],
// CHECK-NEXT: %[[D1:.*]] = phi <8 x float> [ %[[D]],
// CHECK: %[[AC:.*]] = fadd <8 x float> %[[A1]], %[[C1]]
// CHECK-NEXT: %[[BD:.*]] = fadd <8 x float> %[[B1]], %[[D1]]
// CHECK-NEXT: %[[AB:.*]] = fadd <8 x float> %[[AC]], %[[BD]]
// CHECK-NEXT: shufflevector <8 x float> %[[AB]], <8 x float> %[[AB]], <4 x i32> <i32 4, i32 5, i32 6, i32 7>
// CHECK: fadd <4 x float>
// CHECK: fadd <2 x float>
// CHECK: fadd float
// Blocks are combined by a counter of levels, as the carries of a binary number.
// CHECK: call void @tandem_levels_sum_float32
// CHECK-NOT: reassoc
// CHECK: func.func @row
// WIDE: udiv i64 %{{.*}}, 4096
// WIDE: and i64 %{{.*}}, -32
// WIDE-COUNT-2: phi <16 x float> [ splat (float -0.000000e+00)
// WIDE-NOT: phi <16 x float> [ splat
// WIDE: fadd <8 x float>
// WIDE: fadd <4 x float>
// WIDE: func.func @row
func.func @row(%x: tensor<8x100xf32>) {
  %0 = td.reduce<sum>(%x) [1, 1, 0, 0] : (tensor<8x100xf32>) -> tensor<8xf32>
  td.return %0 into [-1] : tensor<8xf32>
}

// -----

// Down columns: blocks of 1024 rows, 8 lanes, row i in lane i mod 8; up to 256 columns at a time, four rows of a lane in
// one pass over its accumulators.
// CHECK: ; kernel column0(f32:unit) { v1 = reduce sum f32 v0 }
// CHECK: udiv i64 %{{.*}}, 1024
// CHECK: add i64 %{{.*}}, 256
// CHECK: call void @tandem_columns_sum_float32
// CHECK: icmp slt i64 %{{.*}}, 8
// CHECK: %[[L:.*]] = load <8 x float>
// CHECK: %[[R0:.*]] = load <8 x float>
// CHECK: %[[S0:.*]] = fadd <8 x float> %[[L]], %[[R0]]
// CHECK: %[[R1:.*]] = load <8 x float>
// CHECK: %[[S1:.*]] = fadd <8 x float> %[[S0]], %[[R1]]
// CHECK: %[[S2:.*]] = fadd <8 x float> %[[S1]], %
// CHECK: fadd <8 x float> %[[S2]], %
// CHECK: func.func @column
func.func @column(%x: tensor<100x64xf32>) {
  %0 = td.reduce<sum>(%x) [1, 0, 0, 0] : (tensor<100x64xf32>) -> tensor<64xf32>
  td.return %0 into [-1] : tensor<64xf32>
}
