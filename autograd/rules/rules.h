// The derivative rules that records name (`rule` in ir/facets.td), written with public operations only. A rule reads
// what its record saves and sets the gradients that are needed; see autograd/rule_context.h.
#pragma once

namespace tandem {

class RuleContext;

namespace rules {

// arithmetic.cpp
void refused(RuleContext& c);
void remainder(RuleContext& c);
void deviceCopy(RuleContext& c);
void pow(RuleContext& c);
void maximum(RuleContext& c);
void minimum(RuleContext& c);

// reductions.cpp
void sum(RuleContext& c);
void prod(RuleContext& c);
void amaxAmin(RuleContext& c);
void cumsum(RuleContext& c);
void cumprod(RuleContext& c);
void linearRecurrence(RuleContext& c);
void softmaxAlong(RuleContext& c);
void logSoftmaxAlong(RuleContext& c);
void logSoftmaxAt(RuleContext& c);
void rowDistances(RuleContext& c);
void logcumsumexp(RuleContext& c);

// views.cpp
void view(RuleContext& c);
void expand(RuleContext& c);
void permute(RuleContext& c);
void transpose(RuleContext& c);
void select(RuleContext& c);
void slice(RuleContext& c);
void unsqueeze(RuleContext& c);
void squeezeDims(RuleContext& c);
void diagonal(RuleContext& c);
void asStrided(RuleContext& c);
void unfold(RuleContext& c);
void alias(RuleContext& c);
void batchIn(RuleContext& c);
void batchOut(RuleContext& c);
void windowWrite(RuleContext& c);
void pieces(RuleContext& c);
void unbind(RuleContext& c);

// windows.cpp
void maxPool(RuleContext& c);
void maxPoolGrad(RuleContext& c);
void avgPool(RuleContext& c);
void avgPoolGrad(RuleContext& c);
void unfoldWindows(RuleContext& c);
void foldWindows(RuleContext& c);
void resample(RuleContext& c);
void resampleGrad(RuleContext& c);

// grids.cpp
void affineGrid(RuleContext& c);
void gridSample(RuleContext& c);
void gridSampleInputGrad(RuleContext& c);
void gridSampleGridGrad(RuleContext& c);

// attention.cpp
void attention(RuleContext& c);
void attentionGrad(RuleContext& c);

// contractions.cpp
void matmul(RuleContext& c);
void conv2d(RuleContext& c);
void conv2dInputGrad(RuleContext& c);
void conv2dWeightGrad(RuleContext& c);

// recurrent.cpp
void recurrentSequence(RuleContext& c);

// normalization.cpp
void batchNorm(RuleContext& c);
void groupNorm(RuleContext& c);
void layerNorm(RuleContext& c);
// special.cpp
void zeta(RuleContext& c);
void gammainc(RuleContext& c);
void gammaCdfSlope(RuleContext& c);
void cholesky(RuleContext& c);
void triangularSolve(RuleContext& c);
// factorisations.cpp
void lu(RuleContext& c);
void ldl(RuleContext& c);
void ldlSolve(RuleContext& c);
void solveFactored(RuleContext& c);
void solve(RuleContext& c);
void qr(RuleContext& c);
void svd(RuleContext& c);
void eigh(RuleContext& c);
void singularValues(RuleContext& c);
void eigenvalues(RuleContext& c);
void householderProduct(RuleContext& c);
void matrixExp(RuleContext& c);
void det(RuleContext& c);
void logAbsDet(RuleContext& c);
void pinv(RuleContext& c);
void leastSquares(RuleContext& c);
void choleskySolve(RuleContext& c);

// indexing.cpp
void gather(RuleContext& c);
void scatterAdd(RuleContext& c);
void scatterOne(RuleContext& c);
void scatter(RuleContext& c);
void scatterCombine(RuleContext& c);
void indexSelect(RuleContext& c);
void indexAdd(RuleContext& c);
void bagSum(RuleContext& c);
void multilabelMargins(RuleContext& c);
void bagMax(RuleContext& c);
void takePieces(RuleContext& c);
void indexGet(RuleContext& c);
void indexPut(RuleContext& c);
void byIndices(RuleContext& c);
void cat(RuleContext& c);
void lowerTriangle(RuleContext& c);
void upperTriangle(RuleContext& c);

}  // namespace rules
}  // namespace tandem
