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
  // CHECK: td.pointwise<full_plain>
  %0 = td.reduce<sum>(%x) [1, 1, 0, 0] : (tensor<4x0xf32>) -> tensor<4xf32>
  // CHECK: td.window %arg1 strides [1] offset 0 : tensor<4x1xf32> -> tensor<4xf32>
  %1 = td.reduce<amax>(%y) [1, 1, 0] : (tensor<4x1xf32>) -> tensor<4xf32>
  td.return %0, %1 into [-1, -1] : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @part
// Of what one window alone reads only the part is computed, as far up as that goes; %y is broadcast.
// CHECK: %[[X:.*]] = td.window %arg0 strides [1] offset 14
// CHECK: %[[S:.*]] = td.pointwise<mul>(%[[X]], %[[X]]) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK: %[[Y:.*]] = td.window %arg1 strides [0] offset 2
// CHECK: td.pointwise<add>(%[[S]], %[[Y]])
func.func @part(%x: tensor<4x6xf32>, %y: tensor<4x1xf32>) {
  %0 = td.pointwise<mul>(%x, %x) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = td.pointwise<add>(%0, %y) : (tensor<4x6xf32>, tensor<4x1xf32>) -> tensor<4x6xf32>
  %2 = td.window %1 strides [1] offset 14 : tensor<4x6xf32> -> tensor<3xf32>
  td.return %2 into [-1] : tensor<3xf32>
}

// -----

// CHECK-LABEL: @whole_is_read
// The sum reads all of it, and a stretch over the end of a row has no strides in %y.
// CHECK: td.pointwise<add>(%arg0, %arg1)
// CHECK: td.window
// CHECK: %[[P:.*]] = td.pointwise<add>(%arg0, %arg2)
// CHECK: td.window %[[P]]
func.func @whole_is_read(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>, %z: tensor<4x1xf32>) {
  %0 = td.pointwise<add>(%x, %y) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = td.window %0 strides [1] offset 0 : tensor<4x6xf32> -> tensor<3xf32>
  %2 = td.reduce<sum>(%0) [1, 1, 0] : (tensor<4x6xf32>) -> tensor<4xf32>
  %3 = td.pointwise<add>(%x, %z) : (tensor<4x6xf32>, tensor<4x1xf32>) -> tensor<4x6xf32>
  %4 = td.window %3 strides [1] offset 4 : tensor<4x6xf32> -> tensor<4xf32>
  td.return %1, %2, %4 into [-1, -1, -1] : tensor<3xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @frames
// What is written to a stretch of one repeated element is a frame, in whatever shape it is read.
// CHECK: %[[F:.*]] = td.pointwise<full_plain>
// CHECK: td.frame %arg0 in %[[F]] begin 12 : tensor<2x6xf32> in tensor<f32> -> tensor<6x4xf32>
func.func @frames(%x: tensor<2x6xf32>) {
  %n = td.slot 0 : f64
  %0 = td.pointwise<full_plain>(%n) [2, 4, 6, 8] : (f64) -> tensor<4x6xf32>
  %1 = td.write %x into %0 strides [6, 1] offset 12 : tensor<2x6xf32> into tensor<4x6xf32>
  %2 = td.window %1 strides [4, 1] offset 0 : tensor<4x6xf32> -> tensor<6x4xf32>
  td.return %2 into [-1] : tensor<6x4xf32>
}

// -----

// CHECK-LABEL: @no_frames
// A column is no stretch.
// CHECK: td.write
func.func @no_frames(%x: tensor<4xf32>, %y: tensor<f32>) {
  %0 = td.window %y strides [0, 0] offset 0 : tensor<f32> -> tensor<4x6xf32>
  %1 = td.write %x into %0 strides [6] offset 2 : tensor<4xf32> into tensor<4x6xf32>
  td.return %1 into [-1] : tensor<4x6xf32>
}

// -----

// CHECK-LABEL: @turned_write
// What is written across a whole value is computed in the value's order.
func.func @turned_write(%x: tensor<4x6xf32>, %y: tensor<6x4xf32>) {
  %0 = td.window %x strides [1, 6] offset 0 : tensor<4x6xf32> -> tensor<6x4xf32>
  %1 = td.pointwise<exp>(%0) : (tensor<6x4xf32>) -> tensor<6x4xf32>
  %2 = td.pointwise<add>(%1, %y) : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %3 = td.write %2 into %x strides [1, 6] offset 0 : tensor<6x4xf32> into tensor<4x6xf32>
  // CHECK-DAG: %[[E:.*]] = td.pointwise<exp>(%arg0)
  // CHECK-DAG: %[[Y:.*]] = td.window %arg1 strides [1, 4] offset 0 : tensor<6x4xf32> -> tensor<4x6xf32>
  // CHECK: %[[S:.*]] = td.pointwise<add>(%[[E]], %[[Y]]) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK-NEXT: td.return %[[S]] into [0]
  td.return %3 into [0] : tensor<4x6xf32>
}

// -----

// CHECK-LABEL: @turned_write_of_a_part
func.func @turned_write_of_a_part(%x: tensor<4x6xf32>) {
  %0 = td.window %x strides [1, 6] offset 1 : tensor<4x6xf32> -> tensor<3x4xf32>
  %1 = td.pointwise<exp>(%0) : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %2 = td.write %1 into %x strides [1, 6] offset 1 : tensor<3x4xf32> into tensor<4x6xf32>
  // CHECK: %[[P:.*]] = td.window %arg0 strides [6, 1] offset 1 : tensor<4x6xf32> -> tensor<4x3xf32>
  // CHECK: %[[E:.*]] = td.pointwise<exp>(%[[P]]) : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK: td.write %[[E]] into %arg0 strides [6, 1] offset 1
  td.return %2 into [0] : tensor<4x6xf32>
}

// -----

// CHECK-LABEL: @turned_write_that_meets_itself
func.func @turned_write_that_meets_itself(%x: tensor<4x6xf32>, %y: tensor<6x4xf32>) {
  %0 = td.pointwise<exp>(%y) : (tensor<6x4xf32>) -> tensor<6x4xf32>
  // CHECK: td.write {{.*}} strides [1, 5] offset 0
  %1 = td.write %0 into %x strides [1, 5] offset 0 : tensor<6x4xf32> into tensor<4x6xf32>
  td.return %1 into [0] : tensor<4x6xf32>
}
