// Shape and dtype rules: pure functions from operand metas and attributes to result metas, shared by eager, recorders
// and verifiers. Each throws an error that names the operation, its shapes and dtypes. Parameters are those of the
// record, in its order.
#pragma once

#include "ir/schema/op_table.h"

namespace tandem::rules {

#define TANDEM_META_RULE(name)                                                                                         \
  void name(const OpFacts& op, std::span<const TensorMeta> operands, std::span<const std::int64_t> attrs,              \
            std::span<TensorMeta> results)

TANDEM_META_RULE(pointwise);    // broadcast of all operands
TANDEM_META_RULE(subtraction);  // likewise, of no bools
TANDEM_META_RULE(selection);    // likewise, the first a condition
TANDEM_META_RULE(reduction);    // dims..., keepdim, [dtype]
TANDEM_META_RULE(creation);     // size, dtype
TANDEM_META_RULE(sameAsInput);
TANDEM_META_RULE(sameAsLast);
TANDEM_META_RULE(cholesky);
TANDEM_META_RULE(triangularSolve);
TANDEM_META_RULE(packMatrix);
TANDEM_META_RULE(matmulPacked);
TANDEM_META_RULE(choleskyFactors);
TANDEM_META_RULE(luFactors);
TANDEM_META_RULE(luOrder);
TANDEM_META_RULE(leastSquares);
TANDEM_META_RULE(luSolve);
TANDEM_META_RULE(ldlFactors);
TANDEM_META_RULE(ldlSolve);
TANDEM_META_RULE(qrFactors);
TANDEM_META_RULE(geqrf);
TANDEM_META_RULE(svdFactors);
TANDEM_META_RULE(singularValues);
TANDEM_META_RULE(eighFactors);
TANDEM_META_RULE(eigenvalues);
TANDEM_META_RULE(matmul);  // [..., M, K] x [..., K, N], equal batch dims
TANDEM_META_RULE(windowWrite);
TANDEM_META_RULE(conv2d);
TANDEM_META_RULE(conv2dInputGrad);
TANDEM_META_RULE(conv2dWeightGrad);
TANDEM_META_RULE(maxPool);
TANDEM_META_RULE(maxPoolValues);
TANDEM_META_RULE(avgPool);
TANDEM_META_RULE(maxPoolGrad);
TANDEM_META_RULE(avgPoolGrad);
TANDEM_META_RULE(unfoldWindows);
TANDEM_META_RULE(foldWindows);
TANDEM_META_RULE(resample);
TANDEM_META_RULE(multilabelMargins);
TANDEM_META_RULE(gridSample);
TANDEM_META_RULE(gridSampleInputGrad);
TANDEM_META_RULE(gridSampleGridGrad);
TANDEM_META_RULE(attention);
TANDEM_META_RULE(attentionGrad);
TANDEM_META_RULE(attentionKeep);
TANDEM_META_RULE(gather);
TANDEM_META_RULE(scatter);
TANDEM_META_RULE(indexSelect);
TANDEM_META_RULE(indexAdd);
TANDEM_META_RULE(bagSum);
TANDEM_META_RULE(bagMax);
TANDEM_META_RULE(takePieces);
TANDEM_META_RULE(indexGet);
TANDEM_META_RULE(indexPut);
TANDEM_META_RULE(valuesAndIndices);
TANDEM_META_RULE(maxDim);
TANDEM_META_RULE(kthvalue);
TANDEM_META_RULE(argReduce);
TANDEM_META_RULE(topk);
TANDEM_META_RULE(cat);
TANDEM_META_RULE(randperm);
TANDEM_META_RULE(nonzeroRows);
TANDEM_META_RULE(searchRows);
TANDEM_META_RULE(lexOrder);

#undef TANDEM_META_RULE

}  // namespace tandem::rules
