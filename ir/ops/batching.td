// How library operations run on all examples of `vmap` at once (eager/batch_rules.h). Pointwise operations, reductions,
// random numbers and views follow from their kind.

def : Batched<MatMul, "matmul">;
def : Batched<WindowWrite, "windowWrite">;
def : Batched<Conv2d, "convolution">;
def : Batched<Conv2dInputGrad, "convolutionInputGrad">;
def : Batched<Conv2dWeightGrad, "convolutionWeightGrad">;
foreach o = [MaxPool, MaxPoolValues, MaxPoolGrad, AvgPool, AvgPoolGrad, UnfoldWindows, FoldWindows] in def : Batched<o, "folded">;
def : Batched<IndexSelect, "indexSelect">;
def : Batched<IndexAdd, "indexAdd">;
def : Batched<IndexGet, "indexGet">;
def : Batched<IndexPut, "indexPut">;

// Along the attribute `dim`, whatever dims lead.
foreach o = [TakePieces, Gather, ScatterAdd, Scatter, CumSum, CumProd, LinearRecurrence, Sort, MaxDim, MinDim, ArgMax, ArgMin, TopK, Cat] in
  def : Batched<o, "alongDim">;
foreach o = [CumMax, CumMin, LogCumSumExpPlain, KthValue, MedianDim, NanMedianDim, Mode] in
  def : Batched<o, "alongDim">;
