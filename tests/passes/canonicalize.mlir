// RUN: td-opt --td-canonicalize -split-input-file %s | FileCheck %s
// RUN: env TANDEM_DISABLE=canonicalize,cse,fuse,make_in_place,plan_memory td-opt --td-pipeline -split-input-file %s \
// RUN:   | FileCheck %s --check-prefix OFF
//
// How windows compose is passes/windows.cpp, a part that this pass uses.
// Left out it still does what later passes rely on: windows of windows and reductions, but nothing else.

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

// CHECK-LABEL: @composed
// Each step of the outer window stays within one dim of the inner one; or runs through several that merge.
func.func @composed(%x: tensor<4x6x8xf32>) {
  // CHECK: %[[A:.*]] = td.window %arg0 strides [8, 48, 2] offset 9 : tensor<4x6x8xf32> -> tensor<5x3x4xf32>
  // CHECK: %[[B:.*]] = td.window %arg0 strides [8, 1] offset 4 : tensor<4x6x8xf32> -> tensor<24x4xf32>
  // CHECK: %[[C:.*]] = td.window %arg0 strides [48, 1] offset 0 : tensor<4x6x8xf32> -> tensor<0x4xf32>
  // CHECK: td.return %[[A]], %[[B]], %[[C]]
  // OFF-LABEL: func.func @composed
  // OFF-NOT: td.window %0
  // OFF: td.return
  %0 = td.window %x strides [8, 48, 1] offset 0 : tensor<4x6x8xf32> -> tensor<6x4x8xf32>
  %1 = td.window %0 strides [32, 8, 2] offset 33 : tensor<6x4x8xf32> -> tensor<5x3x4xf32>
  %2 = td.window %x strides [48, 8, 1] offset 4 : tensor<4x6x8xf32> -> tensor<4x6x4xf32>
  %3 = td.window %2 strides [4, 1] offset 0 : tensor<4x6x4xf32> -> tensor<24x4xf32>
  %4 = td.window %0 strides [8, 1] offset 0 : tensor<6x4x8xf32> -> tensor<0x4xf32>
  td.return %1, %3, %4 into [-1, -1, -1] : tensor<5x3x4xf32>, tensor<24x4xf32>, tensor<0x4xf32>
}

// -----

// CHECK-LABEL: @one_copy
// What does not compose reads a copy: over the end of a row, and across rows. One copy serves both.
func.func @one_copy(%x: tensor<4x6x8xf32>) {
  // CHECK: %[[W:.*]] = td.window %arg0 strides [48, 8, 1] offset 4
  // CHECK-NEXT: %[[C:.*]] = td.copy %[[W]]
  // CHECK-NOT: td.copy
  // CHECK-DAG: td.window %[[C]] strides [1] offset 20
  // CHECK-DAG: td.window %[[C]] strides [5] offset 3
  %0 = td.window %x strides [48, 8, 1] offset 4 : tensor<4x6x8xf32> -> tensor<4x6x4xf32>
  %1 = td.window %0 strides [1] offset 20 : tensor<4x6x4xf32> -> tensor<8xf32>
  %2 = td.window %0 strides [5] offset 3 : tensor<4x6x4xf32> -> tensor<2xf32>
  td.return %1, %2 into [-1, -1] : tensor<8xf32>, tensor<2xf32>
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

// CHECK-LABEL: @conversions_stay
// To another dtype; and a clone of a strided window, which is how programs make operands of library calls contiguous.
func.func @conversions_stay(%x: tensor<4x6xf32>) {
  // CHECK: td.pointwise<to>(%arg0)
  // CHECK: %[[T:.*]] = td.window %arg0 strides [1, 6]
  // CHECK: td.pointwise<clone>(%[[T]])
  %0 = td.pointwise<to>(%x) [9] : (tensor<4x6xf32>) -> tensor<4x6xf64>
  %1 = td.window %x strides [1, 6] offset 0 : tensor<4x6xf32> -> tensor<6x4xf32>
  %2 = td.pointwise<clone>(%1) : (tensor<6x4xf32>) -> tensor<6x4xf32>
  td.return %0, %2 into [-1, -1] : tensor<4x6xf64>, tensor<6x4xf32>
}

// -----

// CHECK-LABEL: @dead_chain
// From the last to the first, library calls too.
func.func @dead_chain(%x: tensor<4x4xf32>) {
  // CHECK-NEXT: td.return %arg0
  // OFF-LABEL: func.func @dead_chain
  // OFF: td.library
  %0 = td.pointwise<exp>(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = td.library<matmul_plain>(%0, %0) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  td.return %x into [-1] : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: @groups
// Two groups of dims: the innermost first.
func.func @groups(%x: tensor<4x6x8xf16>) {
  // CHECK: %[[A:.*]] = td.reduce<sum>(%arg0) [1, 2, 1, 1, 8] : (tensor<4x6x8xf16>) -> tensor<4x6x1xf32>
  // CHECK: %[[B:.*]] = td.reduce<sum>(%[[A]]) [1, 0, 1, 1, 6] : (tensor<4x6x1xf32>) -> tensor<1x6x1xf16>
  // CHECK: td.window %[[B]] strides [1] offset 0 : tensor<1x6x1xf16> -> tensor<6xf16>
  // OFF-LABEL: func.func @groups
  // OFF-COUNT-2: td.reduce<sum>
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

// CHECK-LABEL: @of_one_element
// A conversion to the result's dtype; any and all ask whether the element is nonzero.
func.func @of_one_element(%x: tensor<4x1xf32>, %y: tensor<4x1xi32>) {
  // CHECK: %[[A:.*]] = td.pointwise<to>(%arg0) [0] : (tensor<4x1xf32>) -> tensor<4x1xi1>
  // CHECK: td.window %[[A]] strides [1] offset 0 : tensor<4x1xi1> -> tensor<4xi1>
  // CHECK: %[[B:.*]] = td.pointwise<to>(%arg1) [5] : (tensor<4x1xi32>) -> tensor<4x1xi64>
  // CHECK: td.window %[[B]] strides [1] offset 0 : tensor<4x1xi64> -> tensor<4xi64>
  %0 = td.reduce<any>(%x) [1, 1, 0] : (tensor<4x1xf32>) -> tensor<4xi1>
  %1 = td.reduce<sum>(%y) [1, 1, 0, 0] : (tensor<4x1xi32>) -> tensor<4xi64>
  td.return %0, %1 into [-1, -1] : tensor<4xi1>, tensor<4xi64>
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

// CHECK-LABEL: @part_of_a_scaled_value
// Scalars have no part.
func.func @part_of_a_scaled_value(%x: tensor<4x6xf32>) {
  // CHECK: %[[S:.*]] = td.slot 0
  // CHECK: %[[W:.*]] = td.window %arg0 strides [6, 1] offset 6
  // CHECK: td.pointwise<mul>(%[[W]], %[[S]]) : (tensor<2x6xf32>, f64) -> tensor<2x6xf32>
  %s = td.slot 0 : f64
  %0 = td.pointwise<mul>(%x, %s) : (tensor<4x6xf32>, f64) -> tensor<4x6xf32>
  %1 = td.window %0 strides [6, 1] offset 6 : tensor<4x6xf32> -> tensor<2x6xf32>
  td.return %1 into [-1] : tensor<2x6xf32>
}

// -----

// CHECK-LABEL: @all_of_it
// All of a value in another order is no part of it.
func.func @all_of_it(%x: tensor<4x6xf32>) {
  // CHECK: %[[E:.*]] = td.pointwise<exp>(%arg0)
  // CHECK: td.window %[[E]] strides [1, 6]
  %0 = td.pointwise<exp>(%x) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = td.window %0 strides [1, 6] offset 0 : tensor<4x6xf32> -> tensor<6x4xf32>
  td.return %1 into [-1] : tensor<6x4xf32>
}

// -----

// CHECK-LABEL: @whole_writes
// A write of no elements is the base. A write of a whole value is that value: in the shape of the base, as the window
// that it is, or, where that is strided, as a contiguous clone.
func.func @whole_writes(%x: tensor<4x6xf32>, %none: tensor<0x6xf32>, %flat: tensor<24xf32>, %more: tensor<10x6xf32>,
                        %turned: tensor<6x4xf32>) {
  // CHECK: %[[A:.*]] = td.window %arg2 strides [6, 1] offset 0 : tensor<24xf32> -> tensor<4x6xf32>
  // CHECK: %[[B:.*]] = td.window %arg3 strides [6, 1] offset 12
  // CHECK: %[[T:.*]] = td.window %arg4 strides [1, 4]
  // CHECK: %[[C:.*]] = td.pointwise<clone>(%[[T]])
  // CHECK-NOT: td.write
  // CHECK: td.return %arg0, %[[A]], %[[B]], %[[C]]
  // OFF-LABEL: func.func @whole_writes
  // OFF-COUNT-4: td.write
  %0 = td.write %none into %x strides [6, 1] offset 0 : tensor<0x6xf32> into tensor<4x6xf32>
  %1 = td.write %flat into %x strides [1] offset 0 : tensor<24xf32> into tensor<4x6xf32>
  %part = td.window %more strides [6, 1] offset 12 : tensor<10x6xf32> -> tensor<4x6xf32>
  %2 = td.write %part into %x strides [6, 1] offset 0 : tensor<4x6xf32> into tensor<4x6xf32>
  %t = td.window %turned strides [1, 4] offset 0 : tensor<6x4xf32> -> tensor<4x6xf32>
  %3 = td.write %t into %x strides [6, 1] offset 0 : tensor<4x6xf32> into tensor<4x6xf32>
  td.return %0, %1, %2, %3 into [-1, -1, -1, -1] : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

// CHECK-LABEL: @frame_in_an_expanded_element
// The repeated element may be a clone of an expanded one; what stands in it is contiguous.
func.func @frame_in_an_expanded_element(%x: tensor<6x2xf32>, %y: tensor<f32>) {
  // CHECK: %[[T:.*]] = td.window %arg0 strides [1, 2]
  // CHECK: %[[V:.*]] = td.pointwise<clone>(%[[T]])
  // CHECK: %[[F:.*]] = td.frame %[[V]] in %arg1 begin 6 : tensor<2x6xf32> in tensor<f32> -> tensor<4x6xf32>
  // A window on a part of a frame is no frame.
  // CHECK: td.window %[[F]] strides [1] offset 6
  %0 = td.window %y strides [0, 0] offset 0 : tensor<f32> -> tensor<4x6xf32>
  %1 = td.pointwise<clone>(%0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %t = td.window %x strides [1, 2] offset 0 : tensor<6x2xf32> -> tensor<2x6xf32>
  %2 = td.write %t into %1 strides [6, 1] offset 6 : tensor<2x6xf32> into tensor<4x6xf32>
  %3 = td.window %2 strides [1] offset 6 : tensor<4x6xf32> -> tensor<12xf32>
  td.return %2, %3 into [-1, -1] : tensor<4x6xf32>, tensor<12xf32>
}

// -----

// CHECK-LABEL: @no_frame_in_a_repeated_row
func.func @no_frame_in_a_repeated_row(%x: tensor<2x6xf32>, %y: tensor<6xf32>) {
  // CHECK: td.write %arg0
  %0 = td.window %y strides [0, 1] offset 0 : tensor<6xf32> -> tensor<4x6xf32>
  %1 = td.write %x into %0 strides [6, 1] offset 6 : tensor<2x6xf32> into tensor<4x6xf32>
  td.return %1 into [-1] : tensor<4x6xf32>
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

// -----

// CHECK-LABEL: @turned_write_of_a_product
// What a library call computes has the order that it has.
func.func @turned_write_of_a_product(%x: tensor<4x6xf32>, %y: tensor<6x4xf32>, %w: tensor<4x4xf32>) {
  // CHECK: %[[P:.*]] = td.library<matmul_plain>
  // CHECK: td.write %[[P]] into %arg0 strides [1, 6] offset 0
  %0 = td.library<matmul_plain>(%y, %w) : (tensor<6x4xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
  %1 = td.write %0 into %x strides [1, 6] offset 0 : tensor<6x4xf32> into tensor<4x6xf32>
  td.return %1 into [0] : tensor<4x6xf32>
}

// -----

// CHECK-LABEL: @reduced_in_another_order
// What a sum alone reads is computed in the order of its rows where these do not merge in the order in which it would lie.
// CHECK: %[[X:.*]] = td.window %arg0 strides [8192, 1, 64]
// CHECK: %[[E:.*]] = td.pointwise<exp>(%[[X]])
// CHECK: td.reduce<sum>(%[[E]])
func.func @reduced_in_another_order(%x: tensor<2x128x64xf32>) {
  %0 = td.pointwise<exp>(%x) : (tensor<2x128x64xf32>) -> tensor<2x128x64xf32>
  %1 = td.window %0 strides [8192, 1, 64] offset 0 : tensor<2x128x64xf32> -> tensor<2x64x128xf32>
  %2 = td.reduce<sum>(%1) [2, 1, 2, 1, 0] : (tensor<2x64x128xf32>) -> tensor<2x1x1xf32>
  td.return %2 into [-1] : tensor<2x1x1xf32>
}

// CHECK-LABEL: @rows_that_merge
// CHECK: %[[E:.*]] = td.pointwise<exp>(%arg0)
// CHECK: %[[X:.*]] = td.window %[[E]]
// CHECK: td.reduce<sum>(%[[X]])
func.func @rows_that_merge(%x: tensor<2x128x64xf32>) {
  %0 = td.pointwise<exp>(%x) : (tensor<2x128x64xf32>) -> tensor<2x128x64xf32>
  %1 = td.window %0 strides [8192, 1, 64] offset 0 : tensor<2x128x64xf32> -> tensor<2x64x128xf32>
  %2 = td.reduce<sum>(%1) [1, 2, 1, 0] : (tensor<2x64x128xf32>) -> tensor<2x64x1xf32>
  td.return %2 into [-1] : tensor<2x64x1xf32>
}
