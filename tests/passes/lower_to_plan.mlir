// RUN: td-opt --td-pipeline %s | FileCheck %s

// CHECK: plan: 2 inputs, 1 outputs, 3 instructions
// CHECK-NEXT: kernel row0(f32:unit, f64) { v2 = to f32 v1; v3 = mul f32 v0 v2 } -> v3:f32:unit i0 -> t0 scalars s0 units 64
// CHECK-NEXT: library matmul_plain t0, i1 -> t256
// CHECK-NEXT: kernel row1(f32:unit) { v1 = reduce sum f32 v0 } -> v1:f32:zero t256 -> o0 units 8
func.func @main(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) {
  %s = td.slot 0 : f64
  %0 = td.pointwise<mul>(%x, %s) : (tensor<8x8xf32>, f64) -> tensor<8x8xf32>
  %1 = td.library<matmul_plain>(%0, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = td.reduce<sum>(%1) [1, 1, 0, 0] : (tensor<8x8xf32>) -> tensor<8xf32>
  td.return %2 into [-1] : tensor<8xf32>
}
