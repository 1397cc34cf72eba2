// RUN: td-opt --td-fold-conversions -split-input-file %s | FileCheck %s
// Dtypes are attributes by number: bool 0, uint8 1, int8 2, int16 3, int32 4, int64 5, float16 6, float32 8, float64 9.

// CHECK-LABEL: @through_a_wider_one
// A mask that was made long is read as a mask; the long one goes when nothing else reads it.
// CHECK-NEXT: %[[F:.*]] = td.pointwise<to>(%arg0) [8] : (tensor<4xi1>) -> tensor<4xf32>
// CHECK-NEXT: td.return %[[F]]
func.func @through_a_wider_one(%x: tensor<4xi1>) {
  %0 = td.pointwise<to>(%x) [5] : (tensor<4xi1>) -> tensor<4xi64>
  %1 = td.pointwise<to>(%0) [8] : (tensor<4xi64>) -> tensor<4xf32>
  td.return %1 into [-1] : tensor<4xf32>
}

// -----

// CHECK-LABEL: @there_and_back
// CHECK-NEXT: td.return %arg0
func.func @there_and_back(%x: tensor<4xi32>) {
  %0 = td.pointwise<to>(%x) [5] : (tensor<4xi32>) -> tensor<4xi64>
  %1 = td.pointwise<to>(%0) [4] : (tensor<4xi64>) -> tensor<4xi32>
  td.return %1 into [-1] : tensor<4xi32>
}

// -----

// CHECK-LABEL: @read_by_others
// CHECK: %[[W:.*]] = td.pointwise<to>(%arg0) [8]
// CHECK: %[[D:.*]] = td.pointwise<to>(%arg0) [9]
// CHECK: td.return %[[W]], %[[D]]
func.func @read_by_others(%x: tensor<4xf16>) {
  %0 = td.pointwise<to>(%x) [8] : (tensor<4xf16>) -> tensor<4xf32>
  %1 = td.pointwise<to>(%0) [9] : (tensor<4xf32>) -> tensor<4xf64>
  td.return %0, %1 into [-1, -1] : tensor<4xf32>, tensor<4xf64>
}

// -----

// CHECK-LABEL: @loses_values
// int32 is more than float32 holds; uint8 is not what int8 was.
// CHECK: td.pointwise<to>(%arg0) [8]
// CHECK: td.pointwise<to>(%{{.*}}) [9] : (tensor<4xf32>)
// CHECK: td.pointwise<to>(%arg1) [1]
// CHECK: td.pointwise<to>(%{{.*}}) [4] : (tensor<4xui8>)
func.func @loses_values(%x: tensor<4xi32>, %y: tensor<4xi8>) {
  %0 = td.pointwise<to>(%x) [8] : (tensor<4xi32>) -> tensor<4xf32>
  %1 = td.pointwise<to>(%0) [9] : (tensor<4xf32>) -> tensor<4xf64>
  %2 = td.pointwise<to>(%y) [1] : (tensor<4xi8>) -> tensor<4xui8>
  %3 = td.pointwise<to>(%2) [4] : (tensor<4xui8>) -> tensor<4xi32>
  td.return %1, %3 into [-1, -1] : tensor<4xf64>, tensor<4xi32>
}

// -----

// CHECK-LABEL: @looks_exact
// A half type is rounded from what it is computed of; an integer of a float depends on the float where it is too large;
// a float that went to a wider one and came back has no signalling NaNs.
// CHECK: td.pointwise<to>(%arg0) [9]
// CHECK: td.pointwise<to>(%{{.*}}) [6] : (tensor<4xf64>)
// CHECK: td.pointwise<to>(%arg1) [8]
// CHECK: td.pointwise<to>(%{{.*}}) [4] : (tensor<4xf32>)
// CHECK: td.pointwise<to>(%arg2) [9]
// CHECK: td.pointwise<to>(%{{.*}}) [8] : (tensor<4xf64>)
func.func @looks_exact(%x: tensor<4xi32>, %y: tensor<4xf16>, %z: tensor<4xf32>) {
  %0 = td.pointwise<to>(%x) [9] : (tensor<4xi32>) -> tensor<4xf64>
  %1 = td.pointwise<to>(%0) [6] : (tensor<4xf64>) -> tensor<4xf16>
  %2 = td.pointwise<to>(%y) [8] : (tensor<4xf16>) -> tensor<4xf32>
  %3 = td.pointwise<to>(%2) [4] : (tensor<4xf32>) -> tensor<4xi32>
  %4 = td.pointwise<to>(%z) [9] : (tensor<4xf32>) -> tensor<4xf64>
  %5 = td.pointwise<to>(%4) [8] : (tensor<4xf64>) -> tensor<4xf32>
  td.return %1, %3, %5 into [-1, -1, -1] : tensor<4xf16>, tensor<4xi32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @half_types_come_back
// A half type that was computed here holds no signalling NaN, which an argument may.
// CHECK: %[[N:.*]] = td.pointwise<neg>(%arg0)
// CHECK-NOT: td.pointwise<to>(%{{.*}}) [6] : (tensor<4xf32>)
// CHECK: %[[W:.*]] = td.pointwise<to>(%arg1) [8]
// CHECK: %[[B:.*]] = td.pointwise<to>(%[[W]]) [6]
// CHECK: td.return %[[N]], %[[B]]
func.func @half_types_come_back(%x: tensor<4xf16>, %y: tensor<4xf16>) {
  %0 = td.pointwise<neg>(%x) : (tensor<4xf16>) -> tensor<4xf16>
  %1 = td.pointwise<to>(%0) [8] : (tensor<4xf16>) -> tensor<4xf32>
  %2 = td.pointwise<to>(%1) [6] : (tensor<4xf32>) -> tensor<4xf16>
  %3 = td.pointwise<to>(%y) [8] : (tensor<4xf16>) -> tensor<4xf32>
  %4 = td.pointwise<to>(%3) [6] : (tensor<4xf32>) -> tensor<4xf16>
  td.return %2, %4 into [-1, -1] : tensor<4xf16>, tensor<4xf16>
}
