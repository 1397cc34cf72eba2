// RUN: td-opt --td-plan-memory %s | FileCheck %s

// The second call's result takes no place of the first, which it reads; the third's takes the first's.
// CHECK-LABEL: @main
// CHECK-SAME: td.arena = 512
// CHECK: td.library{{.*}}td.place = array<i64: 0, 0>
// CHECK: td.library{{.*}}td.place = array<i64: 0, 256>
// CHECK: td.library{{.*}}td.place = array<i64: 0, 0>
// CHECK: td.library{{.*}}td.place = array<i64: 1, 0>
func.func @main(%x: tensor<8x8xf32>) {
  %0 = td.library<matmul_plain>(%x, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = td.library<matmul_plain>(%0, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = td.library<matmul_plain>(%1, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = td.library<matmul_plain>(%2, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  td.return %3 into [-1] : tensor<8x8xf32>
}
