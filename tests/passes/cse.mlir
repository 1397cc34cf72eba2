// RUN: td-opt --td-cse %s | FileCheck %s

// CHECK-LABEL: @main
// CHECK-COUNT-1: td.pointwise<exp>
// CHECK-NOT: td.pointwise<exp>
// Copies stay: two memories are wanted.
// CHECK: td.copy
// CHECK: td.copy
func.func @main(%x: tensor<4xf32>) {
  %0 = td.pointwise<exp>(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = td.pointwise<exp>(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = td.copy %0 : tensor<4xf32>
  %3 = td.copy %1 : tensor<4xf32>
  td.return %2, %3 into [-1, -1] : tensor<4xf32>, tensor<4xf32>
}
