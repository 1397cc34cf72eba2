// RUN: td-opt --td-plan-memory -split-input-file %s | FileCheck %s
// RUN: env TANDEM_DISABLE=plan_memory td-opt --td-pipeline -split-input-file %s | FileCheck %s --check-prefix OFF
//
// td.place has a kind (0 in the arena, 1 an output, 2 an input) and the offset or number of each result. Which result
// may lie where an operand was is ordering.cpp's `mayOverwrite`. Left out, no part of the arena is used twice.

// The second call's result takes no place of the first, which it reads; the third's takes the first's.
// CHECK-LABEL: @in_turn
// CHECK-SAME: td.arena = 512
// CHECK: td.library{{.*}}td.place = array<i64: 0, 0>
// CHECK: td.library{{.*}}td.place = array<i64: 0, 256>
// CHECK: td.library{{.*}}td.place = array<i64: 0, 0>
// CHECK: td.library{{.*}}td.place = array<i64: 1, 0>
// OFF-LABEL: func.func @in_turn
// OFF-SAME: td.arena = 768
func.func @in_turn(%x: tensor<8x8xf32>) {
  %0 = td.library<matmul_plain>(%x, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = td.library<matmul_plain>(%0, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = td.library<matmul_plain>(%1, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = td.library<matmul_plain>(%2, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  td.return %3 into [-1] : tensor<8x8xf32>
}

// -----

// CHECK-LABEL: @joined_holes
// Holes that meet become one, in which a larger value has room.
// CHECK-SAME: td.arena = 1536
// CHECK: td.place = array<i64: 0, 0>
// CHECK: td.place = array<i64: 0, 1024>
// CHECK: td.place = array<i64: 0, 1280>
// CHECK: td.place = array<i64: 0, 0>
// CHECK: td.place = array<i64: 0, 256>
// CHECK: td.place = array<i64: 1, 0>
func.func @joined_holes(%b: tensor<16x16xf32>, %x: tensor<8x8xf32>) {
  %0 = td.library<matmul_plain>(%b, %b) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = td.library<matmul_plain>(%x, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %w = td.window %0 strides [16, 1] offset 0 : tensor<16x16xf32> -> tensor<8x8xf32>
  %2 = td.library<matmul_plain>(%1, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = td.library<matmul_plain>(%2, %1) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %4 = td.library<matmul_plain>(%b, %b) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %v = td.window %4 strides [16, 1] offset 0 : tensor<16x16xf32> -> tensor<8x8xf32>
  %5 = td.library<matmul_plain>(%3, %v) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  td.return %5 into [-1] : tensor<8x8xf32>
}

// -----

// CHECK-LABEL: @smallest_hole
// Of two holes the smaller one that is large enough.
// CHECK: td.place = array<i64: 0, 0>
// CHECK: td.place = array<i64: 0, 1024>
// CHECK: td.place = array<i64: 0, 1280>
// CHECK: td.place = array<i64: 0, 1536>
// CHECK: td.place = array<i64: 0, 1280>
// CHECK: td.place = array<i64: 0, 0>
func.func @smallest_hole(%b: tensor<16x16xf32>, %x: tensor<8x8xf32>) {
  %0 = td.library<matmul_plain>(%b, %b) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %kept = td.library<matmul_plain>(%x, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = td.library<matmul_plain>(%x, %kept) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %w = td.window %0 strides [16, 1] offset 0 : tensor<16x16xf32> -> tensor<8x8xf32>
  %2 = td.library<matmul_plain>(%1, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = td.library<matmul_plain>(%2, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %4 = td.library<matmul_plain>(%b, %b) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %v = td.window %4 strides [16, 1] offset 0 : tensor<16x16xf32> -> tensor<8x8xf32>
  %5 = td.library<matmul_plain>(%3, %v) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %6 = td.library<matmul_plain>(%5, %kept) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  td.return %6 into [-1] : tensor<8x8xf32>
}

// -----

// CHECK-LABEL: @hole_at_the_end
// What fits in no hole begins where the last one does, if that reaches the end of the arena.
// CHECK-SAME: td.arena = 1280
// CHECK: td.place = array<i64: 0, 0>
// CHECK: td.place = array<i64: 0, 256>
// CHECK: td.place = array<i64: 0, 0>
// CHECK: td.place = array<i64: 0, 256>
func.func @hole_at_the_end(%b: tensor<16x16xf32>, %x: tensor<8x8xf32>) {
  %0 = td.library<matmul_plain>(%x, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = td.library<matmul_plain>(%0, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = td.library<matmul_plain>(%1, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = td.library<matmul_plain>(%b, %b) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %v = td.window %3 strides [16, 1] offset 0 : tensor<16x16xf32> -> tensor<8x8xf32>
  %4 = td.library<matmul_plain>(%2, %v) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  td.return %4 into [-1] : tensor<8x8xf32>
}

// -----

// CHECK-LABEL: @inherits
// A region's result lies where an operand was that nothing reads later, if each element is read where it is written.
// CHECK-SAME: td.arena = 128
// CHECK: td.library{{.*}}td.place = array<i64: 0, 0>
// CHECK: td.region
// CHECK: td.place = array<i64: 0, 0>
// CHECK: td.region
// CHECK: td.place = array<i64: 0, 64>
func.func @inherits(%x: tensor<4x4xf32>) {
  %m = td.library<matmul_plain>(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = td.region "pointwise" [4, 4] reduce[2, 2] (%m) {
  ^bb0(%a: tensor<4x4xf32>):
    %e = td.pointwise<exp>(%a) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    td.yield %e : tensor<4x4xf32>
  } {maps = [array<i64: 0, 1>, array<i64: 0, 1>]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %t = td.window %0 strides [1, 4] offset 0 : tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = td.region "pointwise" [4, 4] reduce[2, 2] (%t) {
  ^bb0(%a: tensor<4x4xf32>):
    %e = td.pointwise<exp>(%a) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    td.yield %e : tensor<4x4xf32>
  } {maps = [array<i64: 0, 1>, array<i64: 0, 1>]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = td.library<matmul_plain>(%1, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  td.return %3 into [-1] : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: @writes
// A write lies where its base does: in the input, in the output, in the arena.
// CHECK: td.write %arg1 into %arg0{{.*}}td.place = array<i64: 2, 0>
// CHECK: td.copy %arg2 {td.place = array<i64: 1, 0>}
// CHECK: td.write{{.*}}offset 2 {td.place = array<i64: 1, 0>}
// CHECK: td.copy %arg2 {td.place = array<i64: 0, 0>}
// CHECK: td.write{{.*}}offset 4 {td.place = array<i64: 0, 0>}
// CHECK: td.library{{.*}}td.place = array<i64: 1, 1>
func.func @writes(%x: tensor<8xf32>, %v: tensor<2xf32>, %y: tensor<8xf32>) {
  %0 = td.write %v into %x strides [1] offset 0 : tensor<2xf32> into tensor<8xf32>
  %c = td.copy %y : tensor<8xf32>
  %1 = td.write %v into %c strides [1] offset 2 : tensor<2xf32> into tensor<8xf32>
  %d = td.copy %y : tensor<8xf32>
  %2 = td.write %v into %d strides [1] offset 4 : tensor<2xf32> into tensor<8xf32>
  %w = td.window %2 strides [4, 1] offset 0 : tensor<8xf32> -> tensor<2x4xf32>
  %t = td.window %2 strides [1, 4] offset 0 : tensor<8xf32> -> tensor<4x2xf32>
  %3 = td.library<matmul_plain>(%w, %t) : (tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<2x2xf32>
  td.return %0, %1, %3 into [0, -1, -1] : tensor<8xf32>, tensor<8xf32>, tensor<2x2xf32>
}

// -----

// CHECK-LABEL: @no_elements
// CHECK-SAME: td.arena = 0
func.func @no_elements(%x: tensor<0x4xf32>, %y: tensor<4x4xf32>) {
  %0 = td.library<matmul_plain>(%x, %y) : (tensor<0x4xf32>, tensor<4x4xf32>) -> tensor<0x4xf32>
  %1 = td.library<matmul_plain>(%0, %y) : (tensor<0x4xf32>, tensor<4x4xf32>) -> tensor<0x4xf32>
  td.return %1 into [-1] : tensor<0x4xf32>
}

// -----

// CHECK-LABEL: @long_rows
// A region whose few rows are long needs no memory beside its result: launches that cut rows have their own.
// CHECK-SAME: td.arena = 0
func.func @long_rows(%x: tensor<2x1000000xf32>) {
  %0 = td.region "row" [2, 1000000] reduce[1, 2] (%x) {
  ^bb0(%a: tensor<2x1000000xf32>):
    %s = td.reduce<sum>(%a) [1, 1, 0, 0] : (tensor<2x1000000xf32>) -> tensor<2xf32>
    td.yield %s : tensor<2xf32>
  } {maps = [array<i64: 0, 1>, array<i64: 0>]} : (tensor<2x1000000xf32>) -> tensor<2xf32>
  td.return %0 into [-1] : tensor<2xf32>
}
