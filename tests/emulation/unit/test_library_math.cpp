// What programs cannot ask for of the functions that compute, since composites give them only what is right.
#include <array>

#include "runtime/lib/cuda/table.h"
#include "tests/emulation/unit/cuda_test_util.h"

namespace tandem::cuda::test {
namespace {

TEST(LibraryMath, WrongPlacesOfMaximaAreNamed) {
  const Block grad(4 * sizeof(float));
  const Block indices(4 * sizeof(std::int64_t));
  const Block out(9 * sizeof(float));
  grad.set<float>({1, 2, 3, 4});
  const std::array inputs{ArrayView{grad.data(), DType::Float32, {1, 2, 2}, {4, 2, 1}},
                          ArrayView{indices.data(), DType::Int64, {1, 2, 2}, {4, 2, 1}}};
  const std::array outputs{ArrayView{out.data(), DType::Float32, {1, 3, 3}, {9, 3, 1}}};
  const std::int64_t attrs[] = {2, 3, 3};
  const LibraryCall call{inputs, outputs, attrs, {}, "model.py:7"};
  Stream& stream = device().stream();
  for (const std::int64_t wrong : {std::int64_t{9}, std::int64_t{-1}}) {
    indices.set<std::int64_t>({0, wrong, 3, 0});
    const std::string said = errorOf<IndexError>([&] {
      inCall(stream, call, findFunction("max_pool_grad"));
      stream.synchronize();
    });
    EXPECT_TRUE(has(said, "an index lies outside of the input, which has 9 elements")) << said;
    EXPECT_TRUE(has(said, "model.py:7")) << said;
  }
  indices.set<std::int64_t>({0, 8, 3, 0});
  inCall(stream, call, findFunction("max_pool_grad"));
  EXPECT_EQ(out.get<float>(9), (std::vector<float>{5, 0, 0, 3, 0, 0, 0, 0, 2}));
}

TEST(LibraryMath, EachFunctionOfTheRecordsIsThere) {
  for (const char* op : {"matmul_plain",
                         "pack_matrix",
                         "matmul_packed",
                         "conv2d_plain",
                         "conv2d_input_grad",
                         "conv2d_weight_grad",
                         "avg_pool_plain",
                         "avg_pool_grad",
                         "max_pool_plain",
                         "max_pool_grad",
                         "max_pool_values",
                         "fold_windows",
                         "unfold_windows",
                         "grid_sample_plain",
                         "grid_sample_input_grad",
                         "grid_sample_grid_grad",
                         "multilabel_margins",
                         "resample",
                         "resample_grad",
                         "attention_plain",
                         "attention_keep",
                         "attention_grad",
                         "sort",
                         "topk",
                         "kthvalue",
                         "median_dim",
                         "nanmedian_dim",
                         "mode",
                         "lex_order",
                         "gammainc_plain",
                         "gamma_cdf_slope_plain",
                         "zeta_plain",
                         "orthogonal_polynomial_plain",
                         "cholesky_plain",
                         "householder_product_plain",
                         "ldl_plain",
                         "ldl_solve_plain",
                         "lu_order",
                         "lu_plain",
                         "lu_solve_plain",
                         "qr_plain",
                         "geqrf",
                         "svd_plain",
                         "svdvals_plain",
                         "eigh_plain",
                         "eigvalsh_plain",
                         "solve_plain",
                         "triangular_solve_plain",
                         "matrix_exp_plain"})
    EXPECT_NE(findFunction(op), nullptr) << op;
  EXPECT_TRUE(unknownFunctions().empty());
}

}  // namespace
}  // namespace tandem::cuda::test
