// RUN: td-opt --td-canonicalize -split-input-file %s | FileCheck %s

// CHECK-LABEL: @windows
// A window of a window is one window; the whole of a value is the value; dead code goes.
func.func @windows(%x: tensor<4x6xf32>) {
  %0 = td.window %x strides [1, 6] offset 0 : tensor<4x6xf32> -> tensor<6x4xf32>
  %1 = td.window %0 strides [4] offset 2 : tensor<6x4xf32> -> tensor<6xf32>
  %2 = td.window %x strides [6, 1] offset 0 : tensor<4x6xf32> -> tensor<4x6xf32>
  %dead = td.pointwise<exp>(%x) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK-NEXT: %[[W:.*]] = td.window %arg0 strides [1] offset 12 : tensor<4x6xf32> -> tensor<6xf32>
  // CHECK-NEXT: td.return %[[W]], %arg0
  td.return %1, %2 into [-1, -1] : tensor<6xf32>, tensor<4x6xf32>
}

// -----

// CHECK-LABEL: @flattened
// A flattened transpose has no strides: it is copied first.
func.func @flattened(%x: tensor<4x6xf32>) {
  %0 = td.window %x strides [1, 6] offset 0 : tensor<4x6xf32> -> tensor<6x4xf32>
  // CHECK: %[[T:.*]] = td.window %arg0 strides [1, 6]
  // CHECK: %[[C:.*]] = td.copy %[[T]]
  // CHECK: td.window %[[C]] strides [1] offset 0 : tensor<6x4xf32> -> tensor<24xf32>
  %1 = td.window %0 strides [1] offset 0 : tensor<6x4xf32> -> tensor<24xf32>
  td.return %1 into [-1] : tensor<24xf32>
}

// -----

// CHECK-LABEL: @conversions
func.func @conversions(%x: tensor<4x6xf32>) {
  %0 = td.pointwise<to>(%x) [8] : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = td.pointwise<clone>(%0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK-NEXT: td.return %arg0
  td.return %1 into [-1] : tensor<4x6xf32>
}

// -----

// CHECK-LABEL: @groups
// Two groups of dims: the innermost first.
func.func @groups(%x: tensor<4x6x8xf16>) {
  // CHECK: %[[A:.*]] = td.reduce<sum>(%arg0) [1, 2, 1, 1, 8] : (tensor<4x6x8xf16>) -> tensor<4x6x1xf32>
  // CHECK: %[[B:.*]] = td.reduce<sum>(%[[A]]) [1, 0, 1, 1, 6] : (tensor<4x6x1xf32>) -> tensor<1x6x1xf16>
  // CHECK: td.window %[[B]] strides [1] offset 0 : tensor<1x6x1xf16> -> tensor<6xf16>
  %0 = td.reduce<sum>(%x) [2, 0, 2, 0, 0] : (tensor<4x6x8xf16>) -> tensor<6xf16>
  td.return %0 into [-1] : tensor<6xf16>
}

// -----

// CHECK-LABEL: @nothing
// No element gives the identity, one element itself.
func.func @nothing(%x: tensor<4x0xf32>, %y: tensor<4x1xf32>) {
  // CHECK: td.constant 0
  // CHECK: td.pointwise<full_value>
  %0 = td.reduce<sum>(%x) [1, 1, 0, 0] : (tensor<4x0xf32>) -> tensor<4xf32>
  // CHECK: td.window %arg1 strides [1] offset 0 : tensor<4x1xf32> -> tensor<4xf32>
  %1 = td.reduce<amax>(%y) [1, 1, 0] : (tensor<4x1xf32>) -> tensor<4xf32>
  td.return %0, %1 into [-1, -1] : tensor<4xf32>, tensor<4xf32>
}
