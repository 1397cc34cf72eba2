// RUN: td-opt --td-make-in-place -split-input-file %s | FileCheck %s

// CHECK-LABEL: @reader_first
// The reader of the old value moves before the write.
func.func @reader_first(%x: tensor<4xf32>, %v: tensor<2xf32>) {
  // CHECK: td.library<matmul_batched>
  // CHECK-NOT: td.copy
  // CHECK: td.write
  %0 = td.write %v into %x strides [1] offset 0 : tensor<2xf32> into tensor<4xf32>
  %1 = td.window %x strides [2, 1] offset 0 : tensor<4xf32> -> tensor<2x2xf32>
  %2 = td.library<matmul_batched>(%1, %1) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  td.return %0, %2 into [0, -1] : tensor<4xf32>, tensor<2x2xf32>
}

// -----

// CHECK-LABEL: @fresh
// The input keeps its content: the write happens in a copy.
func.func @fresh(%x: tensor<4xf32>, %v: tensor<2xf32>) {
  // CHECK: %[[C:.*]] = td.copy %arg0
  // CHECK: td.write %arg1 into %[[C]]
  %0 = td.write %v into %x strides [1] offset 0 : tensor<2xf32> into tensor<4xf32>
  td.return %0 into [-1] : tensor<4xf32>
}

// -----

// CHECK-LABEL: @exchange
// Two inputs exchange contents through copies.
func.func @exchange(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  // CHECK-COUNT-4: td.copy
  td.return %y, %x into [0, 1] : tensor<4xf32>, tensor<4xf32>
}
