// RUN: td-opt %s | td-opt - | FileCheck %s
// What is printed can be read again and means the same.

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x3xf32>, %i: tensor<4xi64>) {
  // CHECK: %[[S:.*]] = td.slot 0 : f64
  %s = td.slot 0 : f64
  // CHECK: td.constant 1
  %c = td.constant 1
  // CHECK: td.absent
  %none = td.absent
  // CHECK: td.pointwise<mul>(%{{.*}}, %[[S]]) : (tensor<4x8xf32>, f64) -> tensor<4x8xf32>
  %y = td.pointwise<mul>(%x, %s) : (tensor<4x8xf32>, f64) -> tensor<4x8xf32>
  // CHECK: td.pointwise<to>(%{{.*}}) [4] : (tensor<4x8xf32>) -> tensor<4x8xi32>
  %t = td.pointwise<to>(%y) [4] : (tensor<4x8xf32>) -> tensor<4x8xi32>
  // CHECK: td.reduce<sum>(%{{.*}}) [1, 1, 0, 0] : (tensor<4x8xf32>) -> tensor<4xf32>
  %r = td.reduce<sum>(%y) [1, 1, 0, 0] : (tensor<4x8xf32>) -> tensor<4xf32>
  // CHECK: td.library<matmul_plain>(%{{.*}}, %{{.*}}) : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %m = td.library<matmul_plain>(%y, %w) : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  // CHECK: td.window %{{.*}} strides [1, 3] offset 0 : tensor<4x3xf32> -> tensor<3x4xf32>
  %v = td.window %m strides [1, 3] offset 0 : tensor<4x3xf32> -> tensor<3x4xf32>
  // CHECK: td.write %{{.*}} into %{{.*}} strides [8] offset 1 : tensor<4xf32> into tensor<4x8xf32>
  %z = td.write %r into %x strides [8] offset 1 : tensor<4xf32> into tensor<4x8xf32>
  // CHECK: td.return %{{.*}}, %{{.*}}, %{{.*}} into [-1, 0, -1] : tensor<3x4xf32>, tensor<4x8xf32>, tensor<4x8xi32>
  td.return %v, %z, %t into [-1, 0, -1] : tensor<3x4xf32>, tensor<4x8xf32>, tensor<4x8xi32>
}
