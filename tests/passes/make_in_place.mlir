// RUN: td-opt --td-make-in-place -split-input-file %s | FileCheck %s

// CHECK-LABEL: @reader_first
// The reader of the old value moves before the write.
func.func @reader_first(%x: tensor<4xf32>, %v: tensor<2xf32>) {
  // CHECK: td.library<matmul_plain>
  // CHECK-NOT: td.copy
  // CHECK: td.write
  %0 = td.write %v into %x strides [1] offset 0 : tensor<2xf32> into tensor<4xf32>
  %1 = td.window %x strides [2, 1] offset 0 : tensor<4xf32> -> tensor<2x2xf32>
  %2 = td.library<matmul_plain>(%1, %1) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
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

// -----

// CHECK-LABEL: @reshape_leaves
// All of a value in another shape lies where the value does; only what leaves twice, or in another order, is copied.
func.func @reshape_leaves(%a: tensor<2x2xf32>) {
  // CHECK: %[[V:.*]] = td.library<matmul_plain>
  // CHECK: %[[W:.*]] = td.window %[[V]] strides [1]
  // CHECK: %[[U:.*]] = td.library<matmul_plain>
  // CHECK: %[[T:.*]] = td.window %[[U]] strides [1, 2]
  // CHECK: %[[C:.*]] = td.copy %[[V]]
  // CHECK: %[[D:.*]] = td.copy %[[T]]
  // CHECK-NOT: td.copy
  // CHECK: td.return %[[W]], %[[C]], %[[D]]
  %0 = td.library<matmul_plain>(%a, %a) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = td.window %0 strides [1] offset 0 : tensor<2x2xf32> -> tensor<4xf32>
  %2 = td.library<matmul_plain>(%a, %0) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = td.window %2 strides [1, 2] offset 0 : tensor<2x2xf32> -> tensor<2x2xf32>
  td.return %1, %0, %3 into [-1, -1, -1] : tensor<4xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

// CHECK-LABEL: @reshape_into_input
// A reshape that becomes an input's content is computed right there; an input's new state that leaves too is copied.
func.func @reshape_into_input(%a: tensor<2x2xf32>, %x: tensor<4xf32>, %y: tensor<2x2xf32>, %v: tensor<2xf32>) {
  // CHECK: %[[V:.*]] = td.library<matmul_plain>
  // CHECK: %[[W:.*]] = td.window %[[V]] strides [1]
  // CHECK: %[[S:.*]] = td.write %arg3 into %arg2
  // CHECK: %[[R:.*]] = td.window %[[S]] strides [1]
  // CHECK: %[[C:.*]] = td.copy %[[R]]
  // CHECK-NOT: td.copy
  // CHECK: td.return %[[W]], %[[S]], %[[C]]
  %0 = td.library<matmul_plain>(%a, %a) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = td.window %0 strides [1] offset 0 : tensor<2x2xf32> -> tensor<4xf32>
  %2 = td.write %v into %y strides [1] offset 0 : tensor<2xf32> into tensor<2x2xf32>
  %3 = td.window %2 strides [1] offset 0 : tensor<2x2xf32> -> tensor<4xf32>
  td.return %1, %2, %3 into [1, 2, -1] : tensor<4xf32>, tensor<2x2xf32>, tensor<4xf32>
}
