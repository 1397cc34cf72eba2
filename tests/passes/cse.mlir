// RUN: td-opt --td-cse -split-input-file %s | FileCheck %s

// CHECK-LABEL: @copies
// CHECK-COUNT-1: td.pointwise<exp>
// CHECK-NOT: td.pointwise<exp>
// Copies stay: two memories are wanted.
// CHECK: td.copy
// CHECK: td.copy
func.func @copies(%x: tensor<4xf32>) {
  %0 = td.pointwise<exp>(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = td.pointwise<exp>(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = td.copy %0 : tensor<4xf32>
  %3 = td.copy %1 : tensor<4xf32>
  td.return %2, %3 into [-1, -1] : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @chains
// What becomes equal when its operands are one is one too.
// CHECK: %[[E:.*]] = td.pointwise<exp>(%arg0)
// CHECK-NEXT: %[[N:.*]] = td.pointwise<neg>(%[[E]])
// CHECK-NEXT: td.pointwise<add>(%[[N]], %[[N]])
func.func @chains(%x: tensor<4xf32>) {
  %0 = td.pointwise<exp>(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = td.pointwise<exp>(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = td.pointwise<neg>(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = td.pointwise<neg>(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %4 = td.pointwise<add>(%2, %3) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  td.return %4 into [-1] : tensor<4xf32>
}

// -----

// CHECK-LABEL: @attributes
// Operation, attributes and windows tell values apart.
// CHECK: %[[A:.*]] = td.reduce<sum>(%arg0) [1, 1, 0, 0]
// CHECK: %[[B:.*]] = td.reduce<sum>(%arg0) [1, 0, 0, 0]
// CHECK: %[[C:.*]] = td.reduce<amax>(%arg0) [1, 1, 0]
// CHECK: %[[D:.*]] = td.window %arg0 strides [4] offset 0
// CHECK: %[[E:.*]] = td.window %arg0 strides [4] offset 1
// CHECK-NOT: td.window
// CHECK: td.return %[[A]], %[[B]], %[[C]], %[[D]], %[[E]], %[[E]]
func.func @attributes(%x: tensor<4x4xf32>) {
  %0 = td.reduce<sum>(%x) [1, 1, 0, 0] : (tensor<4x4xf32>) -> tensor<4xf32>
  %1 = td.reduce<sum>(%x) [1, 0, 0, 0] : (tensor<4x4xf32>) -> tensor<4xf32>
  %2 = td.reduce<amax>(%x) [1, 1, 0] : (tensor<4x4xf32>) -> tensor<4xf32>
  %3 = td.window %x strides [4] offset 0 : tensor<4x4xf32> -> tensor<4xf32>
  %4 = td.window %x strides [4] offset 1 : tensor<4x4xf32> -> tensor<4xf32>
  %5 = td.window %x strides [4] offset 1 : tensor<4x4xf32> -> tensor<4xf32>
  td.return %0, %1, %2, %3, %4, %5 into [-1, -1, -1, -1, -1, -1] : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @draws
// Two draws have two offsets, which are two slots.
// CHECK-COUNT-2: td.random<uniform_plain>
// CHECK-NOT: td.random
func.func @draws() {
  %seed = td.slot 0 : i64
  %first = td.slot 1 : i64
  %again = td.slot 1 : i64
  %second = td.slot 2 : i64
  %0 = td.random<uniform_plain>(%seed, %first) [1, 4, 8] : (i64, i64) -> tensor<4xf32>
  %1 = td.random<uniform_plain>(%seed, %again) [1, 4, 8] : (i64, i64) -> tensor<4xf32>
  %2 = td.random<uniform_plain>(%seed, %second) [1, 4, 8] : (i64, i64) -> tensor<4xf32>
  td.return %0, %1, %2 into [-1, -1, -1] : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @lines
// Where in the program an operation stands makes no difference.
// CHECK-COUNT-1: td.pointwise<exp>
// CHECK-NOT: td.pointwise
func.func @lines(%x: tensor<4xf32>) {
  %0 = td.pointwise<exp>(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("model.py:3")
  %1 = td.pointwise<exp>(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("model.py:7")
  td.return %0, %1 into [-1, -1] : tensor<4xf32>, tensor<4xf32>
}
