// RUN: td-opt --td-print-kernels -split-input-file %s | FileCheck %s
// RUN: td-opt --td-print-kernels=lanes=16 -split-input-file %s | FileCheck %s --check-prefix WIDE
// The LLVM IR of pointwise kernels, as the generator leaves it: what LLVM is not asked to decide.

// Three loops over the elements: four vectors at a time, one at a time, and a rest under a mask. No step may be
// contracted with another or reassociated: the operations have no fast-math flags, and nothing is an fmuladd or fma.
// CHECK: ; kernel row0(f32:unit, f32:unit, f32:unit) { v3 = mul f32 v0 v1; v4 = add f32 v3 v2 } -> v4:f32:unit
// CHECK-LABEL: define void @kernel(ptr %0, i64 %1, i64 %2)
// CHECK: and i64 %{{.*}}, -32
// CHECK-COUNT-4: = fmul <8 x float> %
// CHECK: add i64 %{{.*}}, 32
// CHECK: and i64 %{{.*}}, -8
// CHECK: %[[A:.*]] = load <8 x float>
// CHECK: %[[B:.*]] = load <8 x float>
// CHECK: %[[C:.*]] = load <8 x float>
// CHECK: %[[P:.*]] = fmul <8 x float> %[[A]], %[[B]]
// CHECK-NEXT: %[[S:.*]] = fadd <8 x float> %[[P]], %[[C]]
// CHECK: store <8 x float> %[[S]]
// CHECK: %[[M:.*]] = icmp sgt <8 x i32> %{{.*}}, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
// CHECK-COUNT-3: @llvm.masked.load.v8f32.p0(ptr align 4 %{{.*}}, <8 x i1> %[[M]]
// CHECK: = fmul <8 x float> %
// CHECK-NEXT: = fadd <8 x float> %
// CHECK: @llvm.masked.store.v8f32.p0(<8 x float> %{{.*}}, ptr align 4 %{{.*}}, <8 x i1> %[[M]])
// CHECK-NOT: fma
// CHECK-NOT: fmuladd
// CHECK: func.func @steps
// WIDE-LABEL: define void @kernel
// WIDE: and i64 %{{.*}}, -64
// WIDE-COUNT-4: = fmul <16 x float> %
// WIDE: and i64 %{{.*}}, -16
// WIDE: @llvm.masked.store.v16f32.p0
// WIDE: func.func @steps
func.func @steps(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>, %z: tensor<8x8xf32>) {
  %0 = td.pointwise<mul>(%x, %y) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = td.pointwise<add>(%0, %z) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  td.return %1 into [-1] : tensor<8x8xf32>
}

// -----

// Half types are computed in float32 and rounded after every step, fused or not.
// CHECK: ; kernel row0(f16:unit, f16:unit)
// CHECK: %[[X:.*]] = fpext <8 x half> %{{.*}} to <8 x float>
// CHECK: %[[Y:.*]] = fpext <8 x half> %{{.*}} to <8 x float>
// CHECK: %[[P:.*]] = fmul <8 x float> %[[X]], %[[Y]]
// CHECK-NEXT: %[[H:.*]] = fptrunc <8 x float> %[[P]] to <8 x half>
// CHECK-NEXT: %[[R:.*]] = fpext <8 x half> %[[H]] to <8 x float>
// CHECK-NEXT: %[[S:.*]] = fadd <8 x float> %[[R]], %[[Y]]
// CHECK-NEXT: fptrunc <8 x float> %[[S]] to <8 x half>
// CHECK: func.func @half
func.func @half(%x: tensor<64xf16>, %y: tensor<64xf16>) {
  %0 = td.pointwise<mul>(%x, %y) : (tensor<64xf16>, tensor<64xf16>) -> tensor<64xf16>
  %1 = td.pointwise<add>(%0, %y) : (tensor<64xf16>, tensor<64xf16>) -> tensor<64xf16>
  td.return %1 into [-1] : tensor<64xf16>
}

// -----

// A run-time scalar is converted and spread over a vector once, before the loops.
// CHECK: ; kernel row0(f32:unit, f64)
// CHECK: fptrunc {{.*}}double{{.*}} to {{.*}}float
// CHECK: br label
// CHECK-NOT: fptrunc
// CHECK: = fmul <8 x float> %
// CHECK: func.func @scaled
func.func @scaled(%x: tensor<64xf32>) {
  %s = td.slot 0 : f64
  %0 = td.pointwise<mul>(%x, %s) : (tensor<64xf32>, f64) -> tensor<64xf32>
  td.return %0 into [-1] : tensor<64xf32>
}

// -----

// What was read and differs in its sign alone is stored without a conversion, and a choice of two constants is made where
// they are narrow; a number that is chosen among numbers of its type is not rounded again.
// CHECK: ; kernel row0(bf16:unit) { v1 = neg bf16 v0 }
// CHECK: define void @kernel
// CHECK: %[[X:.*]] = load <8 x i16>
// CHECK: xor <8 x i16> %[[X]], splat (i16 -32768)
// CHECK-NOT: splat (i32 32767)
// CHECK: func.func @sign
func.func @sign(%x: tensor<64xbf16>) {
  %0 = td.pointwise<neg>(%x) : (tensor<64xbf16>) -> tensor<64xbf16>
  td.return %0 into [-1] : tensor<64xbf16>
}

// -----

// CHECK: ; kernel row0(bf16:unit, bf16:unit)
// CHECK: define void @kernel
// CHECK: select <8 x i1>
// CHECK-NOT: splat (i32 32767)
// CHECK: func.func @choice
func.func @choice(%x: tensor<64xbf16>, %y: tensor<64xbf16>) {
  %0 = td.pointwise<maximum>(%x, %y) : (tensor<64xbf16>, tensor<64xbf16>) -> tensor<64xbf16>
  td.return %0 into [-1] : tensor<64xbf16>
}
