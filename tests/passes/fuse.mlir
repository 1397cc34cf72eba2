// RUN: td-opt --td-fuse -split-input-file %s | FileCheck %s
// RUN: env TANDEM_DISABLE=fuse td-opt --td-pipeline -split-input-file %s | FileCheck %s --check-prefix OFF
//
// Parts that this pass uses and that are tested here: clusters.cpp (what may be in one region), linear_order.cpp (that no
// region waits for itself), windows.cpp (how an operand runs along the space), recompute.cpp (@recomputed to
// @taken_back, @saved, @taken_back_in_part). Left out, every operation is a region of its own.

// CHECK-LABEL: @softmax
// CHECK-COUNT-1: td.region "row" [4, 8] reduce[1, 2]
// CHECK-NOT: td.region
// OFF-LABEL: func.func @softmax
// OFF-COUNT-5: td.region
// OFF-NOT: td.region
// OFF: td.return
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
  %1 = td.library<matmul_plain>(%0, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
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

// -----

// CHECK-LABEL: @recomputed
// Two finished numbers a row are less than the centred rows: the reader of another shape centres them again.
// CHECK: %[[S:.*]]:2 = td.region "row" [64, 4, 256] reduce[1, 3] (%arg0)
// CHECK: td.region "pointwise" [64, 4, 256] {{.*}} (%arg0, %[[S]]#0, %[[S]]#1, %arg1)
// CHECK: td.pointwise<sub>
// CHECK-NOT: td.region
func.func @recomputed(%x: tensor<64x4x256xf32>, %w: tensor<4x1xf32>) {
  %0 = td.reduce<sum>(%x) [2, 1, 2, 1, 0] : (tensor<64x4x256xf32>) -> tensor<64x1x1xf32>
  %1 = td.pointwise<sub>(%x, %0) : (tensor<64x4x256xf32>, tensor<64x1x1xf32>) -> tensor<64x4x256xf32>
  %2 = td.pointwise<square>(%1) : (tensor<64x4x256xf32>) -> tensor<64x4x256xf32>
  %3 = td.reduce<sum>(%2) [2, 1, 2, 1, 0] : (tensor<64x4x256xf32>) -> tensor<64x1x1xf32>
  %4 = td.pointwise<mul>(%1, %3) : (tensor<64x4x256xf32>, tensor<64x1x1xf32>) -> tensor<64x4x256xf32>
  %5 = td.pointwise<mul>(%4, %w) : (tensor<64x4x256xf32>, tensor<4x1xf32>) -> tensor<64x4x256xf32>
  td.return %5 into [-1] : tensor<64x4x256xf32>
}

// -----

// CHECK-LABEL: @stored
// Two operands as large as their sum, which has one reader: it is stored.
// CHECK: %[[S:.*]] = td.region "row" {{.*}} (%arg0, %arg1)
// CHECK: td.region "pointwise" {{.*}} (%[[S]], %arg2)
func.func @stored(%x: tensor<64x4x256xf32>, %y: tensor<64x4x256xf32>, %w: tensor<4x1xf32>) {
  %0 = td.pointwise<add>(%x, %y) : (tensor<64x4x256xf32>, tensor<64x4x256xf32>) -> tensor<64x4x256xf32>
  %1 = td.reduce<sum>(%0) [2, 1, 2, 1, 0] : (tensor<64x4x256xf32>) -> tensor<64x1x1xf32>
  %2 = td.pointwise<mul>(%0, %1) : (tensor<64x4x256xf32>, tensor<64x1x1xf32>) -> tensor<64x4x256xf32>
  %3 = td.pointwise<mul>(%2, %w) : (tensor<64x4x256xf32>, tensor<4x1xf32>) -> tensor<64x4x256xf32>
  td.return %3 into [-1] : tensor<64x4x256xf32>
}

// -----

// CHECK-LABEL: @strided_rows
// Rows whose dims lie in another order are read through contiguous memory; that makes no region of its own.
// CHECK: %[[W:.*]] = td.window %arg0
// CHECK: td.region "row" [64, 4, 256] reduce[1, 3] (%[[W]], %arg1)
// CHECK: td.pointwise<mul>
// CHECK-NOT: td.region
func.func @strided_rows(%x: tensor<64x256x4xf32>, %y: tensor<64x4x256xf32>) {
  %0 = td.window %x strides [1024, 1, 4] offset 0 : tensor<64x256x4xf32> -> tensor<64x4x256xf32>
  %1 = td.pointwise<mul>(%0, %y) : (tensor<64x4x256xf32>, tensor<64x4x256xf32>) -> tensor<64x4x256xf32>
  %2 = td.reduce<sum>(%1) [2, 1, 2, 1, 0] : (tensor<64x4x256xf32>) -> tensor<64x1x1xf32>
  td.return %2 into [-1] : tensor<64x1x1xf32>
}

// -----

// CHECK-LABEL: @taken_back
// The reader sums along the dims in which %w moves by more than one stride: it cannot read %w, and gets the product.
// CHECK: %[[P:.*]] = td.region "pointwise" [64, 4, 256]
// CHECK: td.pointwise<mul>
// CHECK: td.region "row" [64, 4, 256] reduce[1, 3] (%[[P]])
// CHECK-NOT: td.pointwise<mul>
func.func @taken_back(%x: tensor<64x4x256xf32>, %w: tensor<4x1xf32>) {
  %0 = td.pointwise<mul>(%x, %w) : (tensor<64x4x256xf32>, tensor<4x1xf32>) -> tensor<64x4x256xf32>
  %1 = td.reduce<sum>(%0) [2, 1, 2, 1, 0] : (tensor<64x4x256xf32>) -> tensor<64x1x1xf32>
  td.return %1 into [-1] : tensor<64x1x1xf32>
}

// -----

// CHECK-LABEL: @not_split
// The same where the first reader sums nothing: a copy of the product would keep it, and all that follows, out of that
// region.
// CHECK: %[[P:.*]]:2 = td.region "pointwise" [64, 4, 256] {{.*}} (%arg0, %arg1, %arg2)
// CHECK: td.region "row" [64, 4, 256] reduce[1, 3] (%[[P]]#0, %[[P]]#1)
// CHECK-NOT: td.region
func.func @not_split(%x: tensor<64x4x256xf32>, %w: tensor<4x1xf32>, %r: tensor<64x1x1xf32>) {
  %0 = td.pointwise<mul>(%x, %w) : (tensor<64x4x256xf32>, tensor<4x1xf32>) -> tensor<64x4x256xf32>
  %1 = td.pointwise<add>(%0, %r) : (tensor<64x4x256xf32>, tensor<64x1x1xf32>) -> tensor<64x4x256xf32>
  %2 = td.reduce<sum>(%0) [2, 1, 2, 1, 0] : (tensor<64x4x256xf32>) -> tensor<64x1x1xf32>
  %3 = td.pointwise<sub>(%1, %2) : (tensor<64x4x256xf32>, tensor<64x1x1xf32>) -> tensor<64x4x256xf32>
  %4 = td.reduce<sum>(%3) [2, 1, 2, 1, 0] : (tensor<64x4x256xf32>) -> tensor<64x1x1xf32>
  %5 = td.pointwise<sub>(%3, %4) : (tensor<64x4x256xf32>, tensor<64x1x1xf32>) -> tensor<64x4x256xf32>
  td.return %5 into [-1] : tensor<64x4x256xf32>
}

// -----

// CHECK-LABEL: @frames
// A frame is read by each region by itself; what stands in it must be complete.
// CHECK: %[[V:.*]] = td.region "pointwise" [16384] {{.*}} (%arg0)
// CHECK: td.region "row" [64, 1024] reduce[1, 2] (%[[V]], %arg1)
// CHECK: td.frame
// CHECK: td.region "column" [64, 1024] reduce[0, 1] (%[[V]], %arg1)
// CHECK: td.frame
func.func @frames(%x: tensor<16384xf32>, %f: tensor<f32>) {
  %0 = td.pointwise<exp>(%x) : (tensor<16384xf32>) -> tensor<16384xf32>
  %1 = td.frame %0 in %f begin 5 : tensor<16384xf32> in tensor<f32> -> tensor<64x1024xf32>
  %2 = td.reduce<sum>(%1) [1, 1, 1, 0] : (tensor<64x1024xf32>) -> tensor<64x1xf32>
  %3 = td.reduce<sum>(%1) [1, 0, 1, 0] : (tensor<64x1024xf32>) -> tensor<1x1024xf32>
  td.return %2, %3 into [-1, -1] : tensor<64x1xf32>, tensor<1x1024xf32>
}

// -----

// CHECK-LABEL: @saved
// What the backward makes of a result that is there anyway is made there, not kept from the forward.
// CHECK: %[[T:.*]] = td.region "pointwise" [256, 256] {{.*}} (%arg0)
// CHECK-NOT: td.pointwise<square>
// CHECK: %[[M:.*]] = td.library
// CHECK: td.region "pointwise" [256, 256] {{.*}} (%[[T]], %[[M]])
// CHECK: td.pointwise<square>
func.func @saved(%x: tensor<256x256xf32>, %w: tensor<256x256xf32>) {
  %0 = td.pointwise<tanh>(%x) : (tensor<256x256xf32>) -> tensor<256x256xf32>
  %1 = td.pointwise<square>(%0) : (tensor<256x256xf32>) -> tensor<256x256xf32>
  %2 = td.library<matmul_plain>(%0, %w) : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %3 = td.pointwise<mul>(%2, %1) : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  td.return %3 into [-1] : tensor<256x256xf32>
}

// -----

// CHECK-LABEL: @taken_back_in_part
// The sum cannot read %w; what was copied for the copy that was taken back goes too.
// CHECK: %[[P:.*]] = td.region "pointwise" [64, 4, 256]
// CHECK: td.pointwise<mul>
// CHECK: td.pointwise<add>
// CHECK: td.region "row" [64, 4, 256] reduce[1, 3] (%[[P]])
// CHECK-NOT: td.pointwise
func.func @taken_back_in_part(%x: tensor<64x4x256xf32>, %w: tensor<4x1xf32>) {
  %0 = td.pointwise<mul>(%x, %x) : (tensor<64x4x256xf32>, tensor<64x4x256xf32>) -> tensor<64x4x256xf32>
  %1 = td.pointwise<add>(%0, %w) : (tensor<64x4x256xf32>, tensor<4x1xf32>) -> tensor<64x4x256xf32>
  %2 = td.reduce<sum>(%1) [2, 1, 2, 1, 0] : (tensor<64x4x256xf32>) -> tensor<64x1x1xf32>
  td.return %2 into [-1] : tensor<64x1x1xf32>
}

// -----

// CHECK-LABEL: @siblings
// Two readers of one large value share the pass over it; to read a small one twice costs less than another kernel.
// CHECK: td.region "row" [64, 256] reduce[1, 2] (%arg0)
// CHECK: td.reduce<sum>
// CHECK: td.reduce<amax>
// CHECK: td.region "row" [4, 8] reduce[1, 2] (%arg1)
// CHECK: td.region "row" [4, 8] reduce[1, 2] (%arg1)
func.func @siblings(%x: tensor<64x256xf32>, %s: tensor<4x8xf32>) {
  %0 = td.reduce<sum>(%x) [1, 1, 0, 0] : (tensor<64x256xf32>) -> tensor<64xf32>
  %1 = td.reduce<amax>(%x) [1, 1, 0] : (tensor<64x256xf32>) -> tensor<64xf32>
  %2 = td.reduce<sum>(%s) [1, 1, 0, 0] : (tensor<4x8xf32>) -> tensor<4xf32>
  %3 = td.reduce<amax>(%s) [1, 1, 0] : (tensor<4x8xf32>) -> tensor<4xf32>
  td.return %0, %1, %2, %3 into [-1, -1, -1, -1] : tensor<64xf32>, tensor<64xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @other_dims
// Sums along other dims are other kinds of kernel, even of one large value.
// CHECK: td.region "row" [64, 256] reduce[1, 2] (%arg0)
// CHECK: td.region "column" [64, 256] reduce[0, 1] (%arg0)
func.func @other_dims(%x: tensor<64x256xf32>) {
  %0 = td.reduce<sum>(%x) [1, 1, 0, 0] : (tensor<64x256xf32>) -> tensor<64xf32>
  %1 = td.reduce<sum>(%x) [1, 0, 0, 0] : (tensor<64x256xf32>) -> tensor<256xf32>
  td.return %0, %1 into [-1, -1] : tensor<64xf32>, tensor<256xf32>
}

// -----

// CHECK-LABEL: @broadcast_back
// A window that only broadcasts is copied into the region; a row's result may leave beside the elements.
// CHECK: %[[R:.*]]:2 = td.region "row" [4, 8] reduce[1, 2] (%arg0)
// CHECK: %[[S:.*]] = td.reduce<sum>
// CHECK-NEXT: %[[B:.*]] = td.window %[[S]] strides [1, 0]
// CHECK-NEXT: %[[D:.*]] = td.pointwise<sub>(%{{.*}}, %[[B]])
// CHECK-NEXT: td.yield %[[S]], %[[D]]
// CHECK-NOT: td.window
// CHECK: td.return %[[R]]#1, %[[R]]#0
func.func @broadcast_back(%x: tensor<4x8xf32>) {
  %0 = td.reduce<sum>(%x) [1, 1, 0, 0] : (tensor<4x8xf32>) -> tensor<4xf32>
  %1 = td.window %0 strides [1, 0] offset 0 : tensor<4xf32> -> tensor<4x8xf32>
  %2 = td.pointwise<sub>(%x, %1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  td.return %2, %0 into [-1, -1] : tensor<4x8xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @two_ways
// One value may run along two dims of the space: it is two inputs. A scalar that is read twice is one.
// CHECK: td.region "pointwise" [8, 8] {{.*}} (%arg0, %{{.*}}, %[[S:.*]]) {
// CHECK: maps = [array<i64: 1>, array<i64: 0, 1>, array<i64>, array<i64: 0, 1>]
func.func @two_ways(%x: tensor<8xf32>) {
  %s = td.slot 0 : f64
  %0 = td.window %x strides [1, 0] offset 0 : tensor<8xf32> -> tensor<8x8xf32>
  %1 = td.pointwise<add>(%x, %0) : (tensor<8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = td.pointwise<mul>(%1, %s) : (tensor<8x8xf32>, f64) -> tensor<8x8xf32>
  %3 = td.pointwise<add>(%2, %s) : (tensor<8x8xf32>, f64) -> tensor<8x8xf32>
  td.return %3 into [-1] : tensor<8x8xf32>
}

// -----

// CHECK-LABEL: @draws
// A column kernel walks in an order of its own, and random numbers go by the element's place: they are stored for it.
// CHECK: %[[R:.*]]:2 = td.region "pointwise" [64, 256]
// CHECK: td.random<uniform_plain>
// CHECK: td.pointwise<lt>
// CHECK: td.region "column" [64, 256] reduce[0, 1] (%[[R]]#0)
func.func @draws(%p: tensor<64x1xf32>) {
  %seed = td.slot 0 : i64
  %offset = td.slot 1 : i64
  %0 = td.random<uniform_plain>(%seed, %offset) [2, 64, 256, 8] : (i64, i64) -> tensor<64x256xf32>
  %1 = td.pointwise<lt>(%0, %p) : (tensor<64x256xf32>, tensor<64x1xf32>) -> tensor<64x256xi1>
  %2 = td.reduce<sum>(%0) [1, 0, 0, 0] : (tensor<64x256xf32>) -> tensor<256xf32>
  td.return %1, %2 into [-1, -1] : tensor<64x256xi1>, tensor<256xf32>
}

// -----

// CHECK-LABEL: @no_kernel_walks_it
// Seven dims that do not merge are more than a kernel walks: the operand becomes dense first.
// CHECK: %[[W:.*]] = td.window %arg0
// CHECK: %[[C:.*]] = td.copy %[[W]]
// CHECK: td.region "pointwise" {{.*}} (%[[C]])
func.func @no_kernel_walks_it(%x: tensor<3x3x3x3x3x3x3xf32>) {
  %0 = td.window %x strides [1, 3, 9, 27, 81, 243, 729] offset 0 : tensor<3x3x3x3x3x3x3xf32> -> tensor<3x3x3x3x3x3x3xf32>
  %1 = td.pointwise<exp>(%0) : (tensor<3x3x3x3x3x3x3xf32>) -> tensor<3x3x3x3x3x3x3xf32>
  td.return %1 into [-1] : tensor<3x3x3x3x3x3x3xf32>
}

// -----

// CHECK-LABEL: @largest_first
// The large value between exp and the row sum is worth more than the small one between the sum and what reads it.
// CHECK: td.region "row" [64, 256] reduce[1, 2]
// CHECK: td.pointwise<exp>
// CHECK: td.reduce<sum>
// CHECK: td.region "column" [64, 256] reduce[0, 1]
func.func @largest_first(%x: tensor<64x256xf32>) {
  %0 = td.pointwise<exp>(%x) : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %1 = td.reduce<sum>(%0) [1, 1, 1, 0] : (tensor<64x256xf32>) -> tensor<64x1xf32>
  %2 = td.reduce<sum>(%0) [1, 0, 1, 0] : (tensor<64x256xf32>) -> tensor<1x256xf32>
  td.return %1, %2 into [-1, -1] : tensor<64x1xf32>, tensor<1x256xf32>
}
