// RUN: td-opt --td-pipeline -split-input-file %s | FileCheck %s
// The last pass needs what all others make. Operands are inputs (i), outputs (o) and the arena (t), with byte offsets.

// A region is a kernel, a library operation a call; run-time scalars are slots.
// CHECK: plan: 2 inputs, 1 outputs, 3 instructions
// CHECK-NEXT: kernel row0(f32:unit, f64) { v2 = to f32 v1; v3 = mul f32 v0 v2 } -> v3:f32:unit i0 -> t0 scalars s0 units 64
// CHECK-NEXT: library matmul_plain t0, i1 -> t256
// CHECK-NEXT: kernel row1(f32:unit) { v1 = reduce sum f32 v0 } -> v1:f32:zero t256 -> o0 units 8
func.func @main(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) {
  %s = td.slot 0 : f64
  %0 = td.pointwise<mul>(%x, %s) : (tensor<8x8xf32>, f64) -> tensor<8x8xf32>
  %1 = td.library<matmul_plain>(%0, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = td.reduce<sum>(%1) [1, 1, 0, 0] : (tensor<8x8xf32>) -> tensor<8xf32>
  td.return %2 into [-1] : tensor<8xf32>
}

// -----

// A contiguous part and what is transposed are plain copies; other windows are read by a kernel; nothing is nothing.
// CHECK: plan: 2 inputs, 4 outputs, 3 instructions
// CHECK-DAG: copy i0 -> o1
// CHECK-DAG: copy i0+32 -> o2
// CHECK-DAG: kernel {{.*}}clone{{.*}} i0+8 -> o0 units 4
func.func @copies(%x: tensor<8x8xf32>, %none: tensor<0x4xf32>) {
  %0 = td.window %x strides [16, 1] offset 2 : tensor<8x8xf32> -> tensor<4x4xf32>
  %1 = td.window %x strides [1, 8] offset 0 : tensor<8x8xf32> -> tensor<8x8xf32>
  %2 = td.window %x strides [8, 1] offset 8 : tensor<8x8xf32> -> tensor<3x8xf32>
  td.return %0, %1, %2, %none into [-1, -1, -1, -1] : tensor<4x4xf32>, tensor<8x8xf32>, tensor<3x8xf32>, tensor<0x4xf32>
}

// -----

// A write copies into a part of its base's memory: rows plainly, a column by a strided kernel.
// CHECK: plan: 3 inputs, 0 outputs, 2 instructions
// CHECK-NEXT: copy i1 -> i0+64
// CHECK-NEXT: kernel {{.*}}clone{{.*}}:strided i2 -> i0+12 units 8
func.func @writes(%x: tensor<8x8xf32>, %rows: tensor<2x8xf32>, %column: tensor<8xf32>) {
  %0 = td.write %rows into %x strides [8, 1] offset 16 : tensor<2x8xf32> into tensor<8x8xf32>
  %1 = td.write %column into %0 strides [8] offset 3 : tensor<8xf32> into tensor<8x8xf32>
  td.return %1 into [0] : tensor<8x8xf32>
}

// -----

// Slots keep their numbers, in the order in which the kernel reads them; an integer that a pass brought in is one more.
// CHECK: plan: 1 inputs, 2 outputs, 2 instructions
// CHECK-DAG: kernel {{.*}}mul f32{{.*}}add f32{{.*}} i0 -> o0 scalars s3 s1 units 8
// CHECK-DAG: kernel {{.*}}full_plain{{.*}} -> o1 scalars s0 units 4
func.func @slots(%x: tensor<8xf32>) {
  %a = td.slot 3 : f64
  %b = td.slot 1 : f64
  %0 = td.pointwise<mul>(%x, %a) : (tensor<8xf32>, f64) -> tensor<8xf32>
  %1 = td.pointwise<add>(%0, %b) : (tensor<8xf32>, f64) -> tensor<8xf32>
  %none = td.window %x strides [0, 1] offset 0 : tensor<8xf32> -> tensor<4x0xf32>
  %2 = td.reduce<sum>(%none) [1, 1, 0, 0] : (tensor<4x0xf32>) -> tensor<4xf32>
  td.return %1, %2 into [-1, -1] : tensor<8xf32>, tensor<4xf32>
}

// -----

// A frame's value is an operand that its kernel finds by place, the repeated element one that is broadcast.
// CHECK: kernel {{.*}}(f32:framed, f32:zero) {{.*}} i0, i1 -> o0 units 64
func.func @frame(%x: tensor<4x8xf32>, %f: tensor<f32>) {
  %0 = td.frame %x in %f begin 8 : tensor<4x8xf32> in tensor<f32> -> tensor<64xf32>
  %1 = td.pointwise<exp>(%0) : (tensor<64xf32>) -> tensor<64xf32>
  td.return %1 into [-1] : tensor<64xf32>
}

// -----

// Few long rows are one kernel: that they are cut into blocks is the launch's business.
// CHECK: plan: 1 inputs, 1 outputs, 1 instructions, arena 0 bytes
// CHECK-NEXT: kernel {{.*}} i0 -> o0 units 2
func.func @long_rows(%x: tensor<2x1000000xf32>) {
  %0 = td.reduce<sum>(%x) [1, 1, 0, 0] : (tensor<2x1000000xf32>) -> tensor<2xf32>
  td.return %0 into [-1] : tensor<2xf32>
}
