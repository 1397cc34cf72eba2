// RUN: td-opt --td-fuse -split-input-file %s | FileCheck %s

// CHECK-LABEL: @softmax
// CHECK-COUNT-1: td.region "row" [4, 8] reduce[1, 2]
// CHECK-NOT: td.region
func.func @softmax(%x: tensor<4x8xf32>) {
  %0 = td.reduce<amax>(%x) [1, 1, 1] : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %1 = td.pointwise<sub>(%x, %0) : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %2 = td.pointwise<exp>(%1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = td.reduce<sum>(%2) [1, 1, 1, 0] : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %4 = td.pointwise<div>(%2, %3) : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  td.return %4 into [-1] : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: @column
// A finished column is stored and read again by the next region.
// CHECK: td.region "column" [4, 8] reduce[0, 1]
// CHECK: td.pointwise<square>
// CHECK: td.reduce<sum>
// CHECK: td.region "pointwise" [4, 8]
func.func @column(%x: tensor<4x8xf32>) {
  %0 = td.pointwise<square>(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = td.reduce<sum>(%0) [1, 0, 1, 0] : (tensor<4x8xf32>) -> tensor<1x8xf32>
  %2 = td.pointwise<sub>(%x, %1) : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
  td.return %2 into [-1] : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: @circle
// Joining both sides of the matmul would close a circle.
// CHECK: td.region "pointwise"
// CHECK: td.library
// CHECK: td.region "pointwise"
func.func @circle(%x: tensor<8x8xf32>) {
  %0 = td.pointwise<exp>(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = td.library<matmul_batched>(%0, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = td.pointwise<add>(%0, %1) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  td.return %2 into [-1] : tensor<8x8xf32>
}

// -----

// CHECK-LABEL: @transposed
// What a window rearranges must be complete first; the reader walks it by strides.
// CHECK: %[[E:.*]] = td.region "pointwise"
// CHECK: %[[W:.*]] = td.window %[[E]] strides [1, 8]
// CHECK: td.region "pointwise" [8, 8] reduce[2, 2] (%[[E]], %[[W]])
func.func @transposed(%x: tensor<8x8xf32>) {
  %0 = td.pointwise<exp>(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = td.window %0 strides [1, 8] offset 0 : tensor<8x8xf32> -> tensor<8x8xf32>
  %2 = td.pointwise<add>(%0, %1) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  td.return %2 into [-1] : tensor<8x8xf32>
}
