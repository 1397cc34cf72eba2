// RUN: td-opt --td-make-in-place -split-input-file %s | FileCheck %s
// RUN: env TANDEM_DISABLE=make_in_place td-opt --td-pipeline -split-input-file %s | FileCheck %s --check-prefix OFF
//
// Parts that this pass uses and that are tested here: ordering.cpp (what must stand before what: @reader_first,
// @read_later, @may_fail, @into_input; which operation may overwrite what it reads: @transposed_into_itself, @updates,
// @product_into_its_operand), linear_order.cpp, direct_writes.cpp (what a kernel stores in a part: @stored_there and
// those after it). Left out, everything is copied.

// CHECK-LABEL: @reader_first
// The reader of the old value moves before the write.
// OFF-LABEL: func.func @reader_first
// OFF: td.copy
// OFF: td.write
func.func @reader_first(%x: tensor<4xf32>, %v: tensor<2xf32>) {
  // CHECK: td.library<matmul_plain>
  // CHECK-NOT: td.copy
  // CHECK: td.write
  %0 = td.write %v into %x strides [1] offset 0 : tensor<2xf32> into tensor<4xf32>
  %1 = td.window %x strides [2, 1] offset 0 : tensor<4xf32> -> tensor<2x2xf32>
  %2 = td.library<matmul_plain>(%1, %1) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  td.return %0, %2 into [0, -1] : tensor<4xf32>, tensor<2x2xf32>
}

// -----

// CHECK-LABEL: @fresh
// The input keeps its content: the write happens in a copy.
func.func @fresh(%x: tensor<4xf32>, %v: tensor<2xf32>) {
  // CHECK: %[[C:.*]] = td.copy %arg0
  // CHECK: td.write %arg1 into %[[C]]
  %0 = td.write %v into %x strides [1] offset 0 : tensor<2xf32> into tensor<4xf32>
  td.return %0 into [-1] : tensor<4xf32>
}

// -----

// CHECK-LABEL: @exchange
// Two inputs exchange contents through copies.
func.func @exchange(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  // CHECK-COUNT-4: td.copy
  td.return %y, %x into [0, 1] : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @reshape_leaves
// All of a value in another shape lies where the value does; only what leaves twice, or in another order, is copied.
func.func @reshape_leaves(%a: tensor<2x2xf32>) {
  // CHECK: %[[V:.*]] = td.library<matmul_plain>
  // CHECK: %[[W:.*]] = td.window %[[V]] strides [1]
  // CHECK: %[[U:.*]] = td.library<matmul_plain>
  // CHECK: %[[T:.*]] = td.window %[[U]] strides [1, 2]
  // CHECK: %[[C:.*]] = td.copy %[[V]]
  // CHECK: %[[D:.*]] = td.copy %[[T]]
  // CHECK-NOT: td.copy
  // CHECK: td.return %[[W]], %[[C]], %[[D]]
  %0 = td.library<matmul_plain>(%a, %a) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = td.window %0 strides [1] offset 0 : tensor<2x2xf32> -> tensor<4xf32>
  %2 = td.library<matmul_plain>(%a, %0) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = td.window %2 strides [1, 2] offset 0 : tensor<2x2xf32> -> tensor<2x2xf32>
  td.return %1, %0, %3 into [-1, -1, -1] : tensor<4xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

// CHECK-LABEL: @reshape_into_input
// A reshape that becomes an input's content is computed right there; an input's new state that leaves too is copied.
func.func @reshape_into_input(%a: tensor<2x2xf32>, %x: tensor<4xf32>, %y: tensor<2x2xf32>, %v: tensor<2xf32>) {
  // CHECK: %[[V:.*]] = td.library<matmul_plain>
  // CHECK: %[[W:.*]] = td.window %[[V]] strides [1]
  // CHECK: %[[S:.*]] = td.write %arg3 into %arg2
  // CHECK: %[[R:.*]] = td.window %[[S]] strides [1]
  // CHECK: %[[C:.*]] = td.copy %[[R]]
  // CHECK-NOT: td.copy
  // CHECK: td.return %[[W]], %[[S]], %[[C]]
  %0 = td.library<matmul_plain>(%a, %a) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = td.window %0 strides [1] offset 0 : tensor<2x2xf32> -> tensor<4xf32>
  %2 = td.write %v into %y strides [1] offset 0 : tensor<2xf32> into tensor<2x2xf32>
  %3 = td.window %2 strides [1] offset 0 : tensor<2x2xf32> -> tensor<4xf32>
  td.return %1, %2, %3 into [1, 2, -1] : tensor<4xf32>, tensor<2x2xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @input_leaves
// An input that leaves is copied, and so is a part of a value. An input that stays itself is not touched.
func.func @input_leaves(%x: tensor<4xf32>, %a: tensor<2x2xf32>) {
  // CHECK: %[[P:.*]] = td.window {{.*}} offset 2
  // CHECK: %[[X:.*]] = td.copy %arg0
  // CHECK: %[[C:.*]] = td.copy %[[P]]
  // CHECK: td.return %[[X]], %[[C]], %arg0
  %0 = td.library<matmul_plain>(%a, %a) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = td.window %0 strides [1] offset 2 : tensor<2x2xf32> -> tensor<2xf32>
  td.return %x, %1, %x into [-1, -1, 0] : tensor<4xf32>, tensor<2xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @chain
// One write after another happens in one memory.
func.func @chain(%x: tensor<4xf32>, %v: tensor<2xf32>) {
  // CHECK-NEXT: %[[A:.*]] = td.write %arg1 into %arg0
  // CHECK-NEXT: %[[B:.*]] = td.write %arg1 into %[[A]]
  // CHECK-NEXT: td.return %[[B]] into [0]
  %0 = td.write %v into %x strides [1] offset 0 : tensor<2xf32> into tensor<4xf32>
  %1 = td.write %v into %0 strides [1] offset 2 : tensor<2xf32> into tensor<4xf32>
  td.return %1 into [0] : tensor<4xf32>
}

// -----

// CHECK-LABEL: @fork
// Of two writes to one value the one that does not end in the input gets a copy, made before the other.
func.func @fork(%x: tensor<4xf32>, %v: tensor<2xf32>) {
  // CHECK: %[[A:.*]] = td.write %arg1 into %arg0
  // CHECK: %[[C:.*]] = td.copy %[[A]]
  // CHECK-NOT: td.copy
  // CHECK-DAG: %[[F:.*]] = td.write %arg1 into %[[C]] strides [1] offset 1
  // CHECK-DAG: %[[I:.*]] = td.write %arg1 into %[[A]] strides [1] offset 2
  // CHECK: td.return %[[I]], %[[F]]
  %0 = td.write %v into %x strides [1] offset 0 : tensor<2xf32> into tensor<4xf32>
  %1 = td.write %v into %0 strides [1] offset 2 : tensor<2xf32> into tensor<4xf32>
  %2 = td.write %v into %0 strides [1] offset 1 : tensor<2xf32> into tensor<4xf32>
  td.return %1, %2 into [0, -1] : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @base_is_a_window
// A window has memory of its own only as a copy.
func.func @base_is_a_window(%x: tensor<4x4xf32>, %v: tensor<2xf32>) {
  // CHECK: %[[W:.*]] = td.window %arg0 strides [1, 4]
  // CHECK: %[[C:.*]] = td.copy %[[W]]
  // CHECK: td.write %arg1 into %[[C]]
  %0 = td.window %x strides [1, 4] offset 0 : tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = td.write %v into %0 strides [1] offset 0 : tensor<2xf32> into tensor<4x4xf32>
  td.return %1 into [-1] : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: @write_of_itself
// A value that is read from the memory that is written is copied first.
func.func @write_of_itself(%x: tensor<4xf32>) {
  // CHECK: %[[W:.*]] = td.window %arg0
  // CHECK: %[[C:.*]] = td.copy %[[W]]
  // CHECK: td.write %[[C]] into %arg0 strides [1] offset 1
  %0 = td.window %x strides [1] offset 0 : tensor<4xf32> -> tensor<3xf32>
  %1 = td.write %0 into %x strides [1] offset 1 : tensor<3xf32> into tensor<4xf32>
  td.return %1 into [0] : tensor<4xf32>
}

// -----

// CHECK-LABEL: @read_later
// What reads the old value needs the new one too, and so cannot stand before the write: the write goes to a copy, and
// the copy's content into the input at the end.
func.func @read_later(%x: tensor<4xf32>, %v: tensor<2xf32>) {
  // CHECK: %[[C:.*]] = td.copy %arg0
  // CHECK: %[[N:.*]] = td.write %arg1 into %[[C]]
  // CHECK: td.library
  // CHECK: %[[E:.*]] = td.copy %[[N]]
  // CHECK: td.return %[[E]]
  %1 = td.write %v into %x strides [1] offset 1 : tensor<2xf32> into tensor<4xf32>
  %n = td.window %1 strides [2, 1] offset 0 : tensor<4xf32> -> tensor<2x2xf32>
  %o = td.window %x strides [2, 1] offset 0 : tensor<4xf32> -> tensor<2x2xf32>
  %2 = td.library<matmul_plain>(%n, %o) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  td.return %1, %2 into [0, -1] : tensor<4xf32>, tensor<2x2xf32>
}

// -----

// CHECK-LABEL: @may_fail
// A library call that reads indices may raise an error: nothing that others can see is written before.
func.func @may_fail(%x: tensor<4xf32>, %v: tensor<2xf32>, %i: tensor<2xi64>, %t: tensor<8xf32>) {
  // CHECK-NEXT: td.library<gather>
  // CHECK-NEXT: td.write %arg1 into %arg0
  %0 = td.write %v into %x strides [1] offset 0 : tensor<2xf32> into tensor<4xf32>
  %1 = td.library<gather>(%t, %i) [0] : (tensor<8xf32>, tensor<2xi64>) -> tensor<2xf32>
  td.return %0, %1 into [0, -1] : tensor<4xf32>, tensor<2xf32>
}

// -----

// CHECK-LABEL: @matrix_without_factor
// So may one that factors a matrix, whatever its operands are.
func.func @matrix_without_factor(%x: tensor<4xf32>, %v: tensor<2xf32>, %a: tensor<3x3xf32>) {
  // CHECK-NEXT: td.library<cholesky_plain>
  // CHECK-NEXT: td.write %arg1 into %arg0
  %0 = td.write %v into %x strides [1] offset 0 : tensor<2xf32> into tensor<4xf32>
  %1:2 = td.library<cholesky_plain>(%a) [1] : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<i32>)
  td.return %0, %1#0 into [0, -1] : tensor<4xf32>, tensor<3x3xf32>
}

// -----

// CHECK-LABEL: @into_input
// Elements are computed right into the input that they are of, once all others have read it.
// CHECK: %[[P:.*]] = td.library<matmul_plain>
// CHECK: %[[E:.*]] = td.region
// CHECK-NOT: td.copy
// CHECK: td.return %[[E]], %[[P]]
// OFF-LABEL: func.func @into_input
// OFF: td.copy
func.func @into_input(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) {
  %0 = td.region "pointwise" [4, 4] reduce[2, 2] (%x) {
  ^bb0(%a: tensor<4x4xf32>):
    %e = td.pointwise<exp>(%a) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    td.yield %e : tensor<4x4xf32>
  } {maps = [array<i64: 0, 1>, array<i64: 0, 1>]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = td.library<matmul_plain>(%x, %y) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  td.return %0, %1 into [0, -1] : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// CHECK-LABEL: @transposed_into_itself
// Elements that are read elsewhere than they are written do not go into the memory that they are read from.
// CHECK: %[[E:.*]] = td.region
// CHECK: %[[C:.*]] = td.copy %[[E]]
// CHECK: td.return %[[C]]
func.func @transposed_into_itself(%x: tensor<4x4xf32>) {
  %t = td.window %x strides [1, 4] offset 0 : tensor<4x4xf32> -> tensor<4x4xf32>
  %0 = td.region "pointwise" [4, 4] reduce[2, 2] (%t) {
  ^bb0(%a: tensor<4x4xf32>):
    %e = td.pointwise<exp>(%a) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    td.yield %e : tensor<4x4xf32>
  } {maps = [array<i64: 0, 1>, array<i64: 0, 1>]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  td.return %0 into [0] : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: @updates
// A library operation that updates its first operand may do so where that is, unless it reads it elsewhere too.
// CHECK-DAG: %[[A:.*]] = td.library<scatter_add>(%arg0, %arg1, %arg2)
// CHECK-DAG: %[[B:.*]] = td.library<scatter_add>(%arg3, %arg1, %{{.*}})
// CHECK: %[[C:.*]] = td.copy %[[B]]
// CHECK: td.return %[[A]], %[[C]]
func.func @updates(%x: tensor<8xf32>, %i: tensor<2xi64>, %v: tensor<2xf32>, %y: tensor<8xf32>) {
  %0 = td.library<scatter_add>(%x, %i, %v) [0] : (tensor<8xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<8xf32>
  %w = td.window %y strides [1] offset 0 : tensor<8xf32> -> tensor<2xf32>
  %1 = td.library<scatter_add>(%y, %i, %w) [0] : (tensor<8xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<8xf32>
  td.return %0, %1 into [0, 3] : tensor<8xf32>, tensor<8xf32>
}

// -----

// CHECK-LABEL: @product_into_its_operand
// CHECK: %[[P:.*]] = td.library<matmul_plain>
// CHECK: %[[C:.*]] = td.copy %[[P]]
// CHECK: td.return %[[C]]
func.func @product_into_its_operand(%x: tensor<4x4xf32>) {
  %0 = td.library<matmul_plain>(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  td.return %0 into [0] : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: @stored_there
// The region that makes what is written to a part stores it there, also where it reads that part itself.
// OFF-LABEL: func.func @stored_there
// OFF-NOT: td.direct
func.func @stored_there(%x: tensor<6xf32>, %y: tensor<3xf32>) {
  // CHECK: td.write %{{.*}} into %arg0 strides [2] offset 1 {td.direct}
  %0 = td.window %x strides [2] offset 1 : tensor<6xf32> -> tensor<3xf32>
  %1 = td.region "pointwise" [3] reduce[1, 1] (%0, %y) {
  ^bb0(%a: tensor<3xf32>, %b: tensor<3xf32>):
    %3 = td.pointwise<mul>(%a, %b) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    td.yield %3 : tensor<3xf32>
  } {maps = [array<i64: 0>, array<i64: 0>, array<i64: 0>]} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %2 = td.write %1 into %x strides [2] offset 1 : tensor<3xf32> into tensor<6xf32>
  td.return %2 into [0] : tensor<6xf32>
}

// -----

// CHECK-LABEL: @neighbours_stay
// A region that reads the memory at other places than it writes has a result of its own.
func.func @neighbours_stay(%x: tensor<6xf32>) {
  // CHECK-NOT: td.direct
  %0 = td.window %x strides [1] offset 1 : tensor<6xf32> -> tensor<3xf32>
  %1 = td.region "pointwise" [3] reduce[1, 1] (%0) {
  ^bb0(%a: tensor<3xf32>):
    %3 = td.pointwise<exp>(%a) : (tensor<3xf32>) -> tensor<3xf32>
    td.yield %3 : tensor<3xf32>
  } {maps = [array<i64: 0>, array<i64: 0>]} : (tensor<3xf32>) -> tensor<3xf32>
  %2 = td.write %1 into %x strides [1] offset 2 : tensor<3xf32> into tensor<6xf32>
  td.return %2 into [0] : tensor<6xf32>
}

// -----

// CHECK-LABEL: @base_of_the_same_region
// A region cannot make a value and store into a part of it.
func.func @base_of_the_same_region(%x: tensor<6xf32>) {
  // CHECK-NOT: td.direct
  %0:2 = td.region "pointwise" [6] reduce[1, 1] (%x) {
  ^bb0(%a: tensor<6xf32>):
    %3 = td.pointwise<exp>(%a) : (tensor<6xf32>) -> tensor<6xf32>
    %4 = td.pointwise<sin>(%a) : (tensor<6xf32>) -> tensor<6xf32>
    td.yield %3, %4 : tensor<6xf32>, tensor<6xf32>
  } {maps = [array<i64: 0>, array<i64: 0>, array<i64: 0>]} : (tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>)
  %2 = td.write %0#0 into %0#1 strides [1] offset 0 : tensor<6xf32> into tensor<6xf32>
  td.return %2 into [-1] : tensor<6xf32>
}

// -----

// CHECK-LABEL: @old_value_is_read_by_what_needs_the_new
// The old content is read after the write's value is there: the write happens in a copy, and so does the region's store.
func.func @old_value_is_read_by_what_needs_the_new(%x: tensor<6xf32>, %y: tensor<3xf32>) {
  // CHECK: %[[C:.*]] = td.copy %arg0
  // CHECK: td.write %{{.*}} into %[[C]] strides [1] offset 0 {td.direct}
  %0 = td.region "pointwise" [3] reduce[1, 1] (%y) {
  ^bb0(%a: tensor<3xf32>):
    %3 = td.pointwise<exp>(%a) : (tensor<3xf32>) -> tensor<3xf32>
    td.yield %3 : tensor<3xf32>
  } {maps = [array<i64: 0>, array<i64: 0>]} : (tensor<3xf32>) -> tensor<3xf32>
  %1 = td.write %0 into %x strides [1] offset 0 : tensor<3xf32> into tensor<6xf32>
  td.return %1, %x into [-1, -1] : tensor<6xf32>, tensor<6xf32>
}
