// What the reader of saved programs asks of library calls: that there is a statement for each operation, and what the
// functions could not take.
#include <gtest/gtest.h>

#include "ir/schema/library_call.h"
#include "runtime/base/attrs.h"
#include "runtime/base/error.h"

namespace tandem {
namespace {

TensorMeta meta(Dims shape, DType dtype = DType::Float32) {
  TensorMeta m;
  m.shape = std::move(shape);
  m.dtype = dtype;
  return m;
}
constexpr DType kLong = DType::Int64;

struct Row {
  const char* op;
  std::vector<TensorMeta> inputs, outputs;
  std::vector<std::int64_t> attrs;
  std::size_t numbers = 0;

  [[nodiscard]] bool taken() const {
    try {
      checkLibraryCall({op, inputs, outputs, attrs, numbers});
      return true;
    } catch (const InternalError&) {
      throw;
    } catch (const Error&) {
      return false;
    }
  }
};

TEST(LibraryCall, EveryOperationSaysWhatItNeeds) {
  for (int k = 0; k < numOps(); ++k) {
    const OpFacts& op = facts(static_cast<OpCode>(k));
    EXPECT_TRUE(!isLibrary(op.kind) || schema::hasRequirements(op.name)) << op.name;
  }
}

TEST(LibraryCall, TakesWhatFits) {
  const std::vector<Row> rows{
      {"conv2d_plain", {meta({1, 2, 5, 5}), meta({3, 2, 3, 3})}, {meta({1, 3, 3, 3})}, {2, 1, 1, 2, 0, 0, 2, 1, 1, 1}},
      {"conv2d_plain",
       {meta({1, 2, 5, 5}), meta({3, 2, 3, 3})},
       {meta({1, 3, 3, 3})},
       {2, 1, 1, 2, 0, 0, 2, 1, 1, 1, 0, 1}},
      // Channels last, and a result that is wider than the operands.
      {"conv2d_plain",
       {meta({1, 2, 5, 5}, DType::Float16), meta({3, 2, 3, 3}, DType::Float16)},
       {meta({1, 3, 3, 3})},
       {2, 1, 1, 2, 0, 0, 2, 1, 1, 1, 0, 1, 1, 1}},
      {"conv2d_input_grad",
       {meta({1, 3, 3, 3}), meta({3, 2, 3, 3})},
       {meta({1, 5, 5, 2})},
       {4, 1, 2, 5, 5, 2, 1, 1, 2, 0, 0, 2, 1, 1, 1, 0, 1, 1}},
      // The flag of later versions, and a program of an earlier one, which lacks it.
      {"matmul_plain", {meta({2, 3}), meta({3, 4})}, {meta({2, 4})}, {1}},
      {"matmul_plain", {meta({2, 3}), meta({3, 4})}, {meta({2, 4})}, {0, 1}},
      {"matmul_plain", {meta({2, 3}), meta({3, 4})}, {meta({2, 4})}, {}},
      {"matmul_plain",
       {meta({2, 3}, DType::Float16), meta({3, 4}, DType::Float16), meta({4}, DType::Float16)},
       {meta({2, 4}, DType::Float16)},
       {0, 0}},
      {"max_pool_grad", {meta({2, 2}), meta({2, 2}, kLong)}, {meta({2, 4})}, {1, 4}},
      {"max_pool_grad", {meta({3, 2, 2}), meta({3, 2, 2}, kLong)}, {meta({3, 4, 2})}, {1, 4, 1}},
      {"take_pieces", {meta({3, 4})}, {meta({3, 4})}, {1, 4, 1, 3, -1, 4}},
      {"window_write", {meta({3, 4}), meta({2})}, {meta({3, 4})}, {2, 2, 2, 2, 4, 1, 1}},
      {"index_get", {meta({3, 4}), meta({5}, kLong)}, {meta({3, 5})}, {1, 0}},
      {"argmax", {meta({3, 4})}, {meta({3}, kLong)}, {1, 1, 0}},
      {"gamma_draw", {meta({3}, DType::Float64)}, {meta({3}, DType::Float64)}, {}, 2},
  };
  for (const Row& row : rows) EXPECT_TRUE(row.taken()) << row.op;
}

// One thing wrong in each that a function would read or write outside of its memory for, or divide by.
TEST(LibraryCall, RefusesWhatFunctionsBelieve) {
  const std::vector<Row> rows{
      // Groups, a stride of 0, lists that are too short, an output of another size.
      {"conv2d_plain", {meta({1, 2, 5, 5}), meta({3, 2, 3, 3})}, {meta({1, 3, 3, 3})}, {2, 1, 1, 2, 0, 0, 2, 1, 1, 0}},
      {"conv2d_plain", {meta({1, 2, 5, 5}), meta({3, 2, 3, 3})}, {meta({1, 3, 3, 3})}, {2, 0, 1, 2, 0, 0, 2, 1, 1, 1}},
      {"conv2d_plain", {meta({1, 2, 5, 5}), meta({3, 2, 3, 3})}, {meta({1, 3, 3, 3})}, {1, 1, 2, 0, 0, 2, 1, 1, 1}},
      {"conv2d_plain", {meta({1, 2, 5, 5}), meta({3, 2, 3, 3})}, {meta({1, 3, 4, 4})}, {2, 1, 1, 2, 0, 0, 2, 1, 1, 1}},
      // A flag that is no bool, more than there are.
      {"matmul_plain", {meta({2, 3}), meta({3, 4})}, {meta({2, 4})}, {2}},
      {"matmul_plain", {meta({2, 3}), meta({3, 4})}, {meta({2, 4})}, {0, 2}},
      {"matmul_plain", {meta({2, 3}), meta({3, 4})}, {meta({2, 4})}, {0, 0, 0}},
      // A bias of another size or dtype, of what is not rounded; more than one.
      {"matmul_plain",
       {meta({2, 3}, DType::Float16), meta({3, 4}, DType::Float16), meta({3}, DType::Float16)},
       {meta({2, 4}, DType::Float16)},
       {0, 0}},
      {"matmul_plain",
       {meta({2, 3}, DType::Float16), meta({3, 4}, DType::Float16), meta({4})},
       {meta({2, 4}, DType::Float16)},
       {0, 0}},
      {"matmul_plain",
       {meta({2, 3}, DType::Float16), meta({3, 4}, DType::Float16), meta({4}, DType::Float16)},
       {meta({2, 4})},
       {0, 1}},
      {"matmul_plain", {meta({2, 3}), meta({3, 4}), meta({4})}, {meta({2, 4})}, {0, 0}},
      {"matmul_plain",
       {meta({2, 3}, DType::Float16), meta({3, 4}, DType::Float16), meta({4}, DType::Float16),
        meta({4}, DType::Float16)},
       {meta({2, 4}, DType::Float16)},
       {0, 0}},
      // Attributes that are missing although their parameters have defaults.
      {"argmax", {meta({3, 4})}, {meta({3}, kLong)}, {1, 1}},
      {"argmax", {meta({3, 4})}, {meta({}, kLong)}, {0}},
      {"sort", {meta({3, 4})}, {meta({3, 4}), meta({3, 4}, kLong)}, {1, 0}},
      {"topk", {meta({3, 4})}, {meta({3, 2}), meta({3, 2}, kLong)}, {2, 1, 1}},
      {"index_get", {meta({3, 4}), meta({5}, kLong)}, {meta({3, 5})}, {1}},
      // The shape of an input that the gradient is not of.
      {"conv2d_input_grad",
       {meta({1, 3, 3, 3}), meta({3, 2, 3, 3})},
       {meta({1, 2, 6, 6})},
       {4, 1, 2, 6, 6, 2, 1, 1, 2, 0, 0, 2, 1, 1, 1}},
      // Windows behind the input, an index for fewer elements, integers divided by what overflows or by 0 of their
      // type.
      {"max_pool_values", {meta({4})}, {meta({9})}, {1, 2, 1, 2, 1, 0, 1, 1, 1, 9}},
      {"max_pool_grad", {meta({2, 2}), meta({2}, kLong)}, {meta({2, 4})}, {1, 4}},
      // Channels that come last, of what has none.
      {"max_pool_grad", {meta({2, 2}), meta({2, 2}, kLong)}, {meta({4, 2})}, {1, 4, 1}},
      {"avg_pool_plain", {meta({4}, kLong)}, {meta({2}, kLong)}, {1, 2, 1, 2, 1, 0, 1, 2, 0, -1}},
      {"avg_pool_plain", {meta({4}, DType::UInt8)}, {meta({2}, DType::UInt8)}, {1, 2, 1, 2, 1, 0, 1, 2, 0, 256}},
      {"avg_pool_grad", {meta({2}, kLong)}, {meta({4}, kLong)}, {1, 4, 1, 2, 1, 2, 1, 0, 1, 2, 0, 0}},
      {"unfold_windows", {meta({1, 1, 2, 2})}, {meta({1, 9, 1})}, {2, 3, 3, 2, 1, 1, 2, 0, 0, 2, 1, 1}},
      {"fold_windows", {meta({1, 4, 5})}, {meta({1, 1, 3, 3})}, {2, 3, 3, 2, 2, 2, 2, 1, 1, 2, 0, 0, 2, 1, 1}},
      // A piece outside, more pieces than numbers, a window outside, a value that does not broadcast.
      {"take_pieces", {meta({3, 4})}, {meta({3, 4})}, {1, 4, 1, 4, -1, 4}},
      {"take_pieces", {meta({3, 4})}, {meta({3, 4})}, {1, 4, 9, 3, -1, 4}},
      {"window_write", {meta({3, 4}), meta({2})}, {meta({3, 4})}, {2, 2, 2, 2, 4, 1, 7}},
      {"window_write", {meta({3, 4}), meta({3})}, {meta({3, 4})}, {2, 2, 2, 2, 4, 1, 1}},
      // Dims without an index, indices of different shapes, several elements of a number, a scalar's places.
      {"index_get", {meta({3, 4}), meta({5}, kLong)}, {meta({3, 5})}, {2, 0}},
      {"index_get", {meta({3, 4}), meta({5}, kLong), meta({2}, kLong)}, {meta({5})}, {0, 0}},
      {"index_select", {meta({}), meta({5}, kLong)}, {meta({})}, {0}},
      {"index_put_plain", {meta({3, 4}), meta({7, 4}), meta({5}, kLong)}, {meta({3, 4})}, {0, 0, 0}},
      {"scatter_plain", {meta({3}), meta({}, kLong), meta({0})}, {meta({3})}, {0}},
      {"gather", {meta({3, 4}), meta({5, 4}, kLong)}, {meta({5, 4})}, {1}},
      // Elements of another size.
      {"cat_plain", {meta({3}, DType::Float64), meta({3})}, {meta({6}, DType::Float64)}, {0}},
      {"nonzero_rows", {meta({3}), meta({}, kLong)}, {meta({2, 1}, kLong)}, {2}},
      {"zeta_plain", {meta({3}), meta({3})}, {meta({3})}, {}},
      // Bags without offsets, several factors, factors of another shape, means of integers.
      {"bag_sum", {meta({3, 4}), meta({5}, kLong)}, {meta({2, 4}), meta({2}, kLong)}, {-1, 0, 0, 0}},
      {"bag_sum",
       {meta({3, 4}), meta({2, 5}, kLong), meta({2, 5}), meta({2, 5})},
       {meta({2, 4}), meta({2}, kLong)},
       {-1, 0, 0, 0}},
      {"bag_sum", {meta({3, 4}), meta({2, 5}, kLong), meta({5, 2})}, {meta({2, 4}), meta({2}, kLong)}, {-1, 0, 0, 0}},
      {"bag_sum", {meta({3, 4}, kLong), meta({2, 5}, kLong)}, {meta({2, 4}, kLong), meta({2}, kLong)}, {-1, 0, 1, 0}},
      {"bag_max", {meta({3, 4}), meta({2, 5}, kLong), meta({2, 5})}, {meta({2, 4}), meta({2, 4}, kLong)}, {-1, 0}},
      {"class_indices", {meta({3}, DType::Int8)}, {meta({3}, DType::Int8)}, {5, -100}},
      {"search_rows", {meta({2, 3}), meta({3, 3})}, {meta({3, 3}, kLong)}, {0}},
      {"solve_plain", {meta({2, 3, 3}), meta({4, 3, 3})}, {meta({4, 3, 3})}, {}},
      // Heads that cannot be shared, a mask of other rows, no batch.
      {"attention_plain",
       {meta({1, 3, 4, 5}), meta({1, 2, 4, 5}), meta({1, 2, 4, 5})},
       {meta({1, 3, 4, 5}), meta({1, 3, 4, 2})},
       {0, 0},
       2},
      {"attention_plain",
       {meta({1, 2, 4, 5}), meta({1, 2, 4, 5}), meta({1, 2, 4, 5}), meta({1, 1, 4, 4})},
       {meta({1, 2, 4, 5}), meta({1, 2, 4, 2})},
       {0, 1},
       2},
      {"resample", {meta({0, 3})}, {meta({4, 3})}, {0, 4, 0, 0}, 1},
      // A grid of another batch, of two numbers a place for a volume; a cubic volume; a gradient of other places.
      {"grid_sample_plain", {meta({1, 2, 4, 4}), meta({2, 3, 3, 2})}, {meta({1, 2, 3, 3})}, {0, 0, 0}},
      {"grid_sample_plain", {meta({1, 2, 4, 4, 4}), meta({1, 3, 3, 3, 2})}, {meta({1, 2, 3, 3, 3})}, {0, 0, 0}},
      {"grid_sample_plain", {meta({1, 2, 4, 4, 4}), meta({1, 3, 3, 3, 3})}, {meta({1, 2, 3, 3, 3})}, {2, 0, 0}},
      {"grid_sample_input_grad", {meta({1, 2, 3, 4}), meta({1, 3, 3, 2})}, {meta({1, 2, 4, 4})}, {2, 4, 4, 0, 0, 0}},
      {"grid_sample_grid_grad",
       {meta({1, 2, 3, 4}), meta({1, 2, 4, 4}), meta({1, 3, 3, 2})},
       {meta({1, 3, 3, 2})},
       {0, 0, 0}},
      {"multilabel_margins", {meta({2, 3}), meta({2, 4}, kLong)}, {meta({2}), meta({2, 3})}, {}},
      // Numbers that a call lacks.
      {"gamma_draw", {meta({3}, DType::Float64)}, {meta({3}, DType::Float64)}, {}, 1},
      {"add", {meta({3}), meta({3})}, {meta({3})}, {}},
  };
  for (std::size_t k = 0; k < rows.size(); ++k) EXPECT_FALSE(rows[k].taken()) << rows[k].op << ", row " << k;
}

}  // namespace
}  // namespace tandem
