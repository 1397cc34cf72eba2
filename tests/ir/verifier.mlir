// RUN: td-opt %s -split-input-file -verify-diagnostics
// Errors name the operation and what is wrong with it.

func.func @shape(%x: tensor<4x8xf32>, %y: tensor<5xf32>) {
  // expected-error @+1 {{add}}
  %0 = td.pointwise<add>(%x, %y) : (tensor<4x8xf32>, tensor<5xf32>) -> tensor<4x8xf32>
  td.return %x into [-1] : tensor<4x8xf32>
}

// -----

func.func @result(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{result 0 should have the shape [4, 8], not [4]}}
  %0 = td.pointwise<exp>(%x) : (tensor<4x8xf32>) -> tensor<4xf32>
  td.return %x into [-1] : tensor<4x8xf32>
}

// -----

func.func @kind(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{cannot hold the operation `sum`, which is of another kind}}
  %0 = td.pointwise<sum>(%x) [0, 0, 0] : (tensor<4x8xf32>) -> tensor<f32>
  td.return %x into [-1] : tensor<4x8xf32>
}

// -----

func.func @window(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{reaches elements 1 to 32 of 32}}
  %0 = td.window %x strides [8, 1] offset 1 : tensor<4x8xf32> -> tensor<4x8xf32>
  td.return %x into [-1] : tensor<4x8xf32>
}

// -----

func.func @into(%x: tensor<4xf32>) {
  %0 = td.pointwise<exp>(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @+1 {{names argument 0 twice}}
  td.return %0, %0 into [0, 0] : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @unknown(%x: tensor<4xf32>) {
  // expected-error @+1 {{no operation is called `frobnicate`}}
  %0 = td.pointwise<frobnicate>(%x) : (tensor<4xf32>) -> tensor<4xf32>
  td.return %x into [-1] : tensor<4xf32>
}
