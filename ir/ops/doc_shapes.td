// The shapes that operations take and give, where the kind does not say it.

def : Shapes<"Same", [
    ArgSort, AsStridedScatter, BatchNorm, Bernoulli, BernoulliProb, Celu, ChannelShuffle, Contiguous, CumMax, CumMin, CumProdT,
    CumSumT, Deg2Rad, DiagonalScatter, Dropout, Elu, EmptyLike, Entr, Expit, Fill, Flip, FlipLR, FlipUD,
    FullLike, Gelu, GroupNorm, Hardshrink, Hardsigmoid, Hardswish, Hardtanh, IndexAddT, IndexCopy, IndexFill,
    IndexPutT, IndexReduce, InstanceNorm, IsNegInf, IsPosInf, LayerNorm, LeakyRelu, LocalResponseNorm,
    LogSoftmax, LogCumSumExp, Logit, LogSigmoid, Mish, MSort, NanToNum, Ndtr, NormalAround, Normalize, OnesLike,
    Positive, Prelu, Put, Rad2Deg, RandLike, RandIntLike, RandIntLikeHigh, RandnLike, Relu6, ReluInPlace,
    RmsNorm, Roll, Round, Rrelu, ScatterSrc, ScatterAdd, ScatterReduce, ScatterWith, SelectScatter, Selu,
    SiluInPlace, SliceScatter, Softmax, SoftplusBeta, Softshrink, Softsign, Sort, Tanhshrink, Threshold, Tril,
    Triu, ZerosLike, StandardGamma, PoissonRandom, PolyGamma, MVLGamma, GammaLn, Psi, IsReal, Frexp,
    ModifiedI0, ModifiedI1]>;
def : Shapes<"Broadcast", [
    AddAlpha, SubAlpha, AddCDiv, AddCMul, Clamp, ClampMin, ClampMax, DivRounding, FloatPower, FloatPowerOf,
    Heaviside, IsClose, Lerp, LdExp, Gcd, Lcm, MaxPair, MinPair, RDiv, RSub, MaskedFill, Zeta, IGamma, IGammaC,
    GammaInc, GammaIncC, NormalAt, BinomialRandom, NextAfter, ChebyshevT, ChebyshevU, ChebyshevV, ChebyshevW,
    ShiftedT, ShiftedU, ShiftedV, ShiftedW, HermiteH, HermiteHe, LaguerreL, LegendreP]>;
def : Shapes<"Reduced", [
    ArgMax, ArgMin, KthValue, Mode, MaxDim, MinDim, MedianDim, NanMedianDim, LogSumExp, Mean, NanMean, NanSum,
    Norm, NormNamed, Std, StdMean, StdMeanUnbiased, StdUnbiased, Var, VarMean, VarMeanUnbiased, VarUnbiased,
    VectorNorm, AMinMax, QuantileAt, NanQuantileAt, CountNonzero]>;
def : Shapes<"`input` and `mask` broadcast to the shape of the result; `source` has any shape, with enough elements", [
    MaskedScatter]>;
def : Shapes<"Scalar", [
    MaxAll, MinAll, Median, NanMedian, StdFlag, StdMeanFlag, VarFlag, VarMeanFlag, Trace, Dot, VDot, Dist]>;
def : Shapes<"Size", [Empty, FullT, Ones, Rand, RandInt, RandIntHigh, Randn, Zeros, NormalOfSize]>;
def : Shapes<"`input` without the dims of `dim`, which stay as 1 if `keepdim`; in front the dim of `q` if it is 1-d", [
    Quantile, NanQuantile]>;
def : Shapes<"a vector norm as a reduction over `dim`; a matrix norm of two dims, which go, or stay as 1 if `keepdim`", [
    LinalgNorm, LinalgNormNamed]>;
def : Shapes<"`A` [..., M, N] without the two dims of `dim` (the last two when None), which stay as 1 if `keepdim`", [
    MatrixNorm, MatrixNormOf]>;
def : Shapes<"`x1` and `x2` broadcast; the result lacks their last dim, which stays as 1 if `keepdim`", [
    PairwiseDistance]>;
def : Shapes<"`x1` and `x2` broadcast; the result lacks `dim` of that", [CosineSimilarity]>;
def : Shapes<"`x` and `y` broadcast; the result lacks `dim` of that", [VecDot]>;
def : Shapes<"`input` and `other` broadcast, with size 3 in `dim`", [Cross, LinalgCross]>;
def : Shapes<"square matrices [..., N, N]; the result is alike", [MatrixPower]>;
def : Shapes<"`boundaries` 1-d; the result has the shape of `input`", [Bucketize]>;
def : Shapes<"the result has the shape of `elements`", [IsIn]>;
def : Shapes<"`sorted_sequence` [..., N]; `input` with the same leading sizes, or any shape if the sequence is 1-d. The result has the shape of `input`", [
    SearchSorted]>;
def : Shapes<"[N] @ [N] is 0-d, [..., M, K] @ [..., K, N] is [..., M, N]; leading dims broadcast; a vector counts as one row or column, whose dim goes again", [
    MatMulAny, LinalgMatMul]>;
def : Shapes<"[M, K] and [K, N]; the result is [M, N]", [MM]>;
def : Shapes<"[B, M, K] and [B, K, N]; the result is [B, M, N]", [BMM]>;
def : Shapes<"[M, K] and [K]; the result is [M]", [MV]>;
def : Shapes<"[..., K] and [..., K] with any leading dims; the result has those of `input`, then those of `other`", [
    Inner]>;
def : Shapes<"[M] and [N]; the result is [M, N]", [Outer]>;
def : Shapes<"sizes multiply, dim by dim from the last", [Kron]>;
def : Shapes<"`mat1` [M, K], `mat2` [K, N]; `input` broadcasts to the result, [M, N]", [AddMM]>;
def : Shapes<"`mat` [M, K], `vec` [K]; `input` broadcasts to the result, [M]", [AddMV]>;
def : Shapes<"`vec1` [M], `vec2` [N]; `input` broadcasts to the result, [M, N]", [AddR]>;
def : Shapes<"`batch1` [B, M, K], `batch2` [B, K, N]; `input` broadcasts to the result, [B, M, N]", [BAddBMM]>;
def : Shapes<"`batch1` [B, M, K], `batch2` [B, K, N]; `input` broadcasts to the result, [M, N]", [AddBMM]>;
def : Shapes<"as `equation` says; sizes called by one letter are equal or 1", [Einsum]>;
def : Shapes<"paired dims have equal sizes; the result has the others, of `a`, then of `b`", [TensorDot]>;
def : Shapes<"[M, K1], [K1, K2], ..., [Kn, N]; the result is [M, N]. The first may be [K1], the last [Kn]: that dim is absent from the result", [
    MultiDot]>;
def : Shapes<"[M, K1], [K1, K2], ..., [Kn, N]; the result is [M, N]", [ChainMatMul]>;
def : Shapes<"[..., P, M] and [..., R, M], leading dims broadcast; the result is [..., P, R]", [CDist]>;
def : Shapes<"[..., N, N]; the result is alike", [Cholesky, CholeskyOld]>;
def : Shapes<"`input` [..., N, N], `B` [..., N, K] ([..., K, N] where not `left`); the result is as `B`, leading dims broadcast", [
    SolveTriangular]>;
def : Shapes<"`input` [*, K], `weight` [N, K] or [K], `bias` [N] or 0-d; the result is [*, N], or [*] for a vector `weight`", [
    Linear]>;
def : Shapes<"any; one more dim of size `num_classes` behind (the largest class + 1 when -1)", [OneHot]>;
def : Shapes<"any; the result is [number of nonzero elements, dims]", [ArgWhere]>;
def : Shapes<"any; the result is [size, dims]", [NonZeroStatic]>;
def : Shapes<"[N]; the result has as many elements as the largest number + 1, at least `minlength`", [BinCount]>;
def : Shapes<"any; the result is [bins]", [HistC]>;
def : Shapes<"[variables, observations], or [observations]; the result is [variables, variables], or 0-d", [
    Cov, CorrCoef]>;
def : Shapes<"`y` without `dim`; `x` broadcasts to `y`, or is a vector along `dim`", [Trapezoid]>;
def : Shapes<"`y` without `dim`", [TrapezoidDx]>;
def : Shapes<"`y`, one shorter along `dim`; `x` broadcasts to `y`, or is a vector along `dim`", [CumTrapezoid]>;
def : Shapes<"`y`, one shorter along `dim`", [CumTrapezoidDx]>;
def : Shapes<"`input`, shorter by `n` along `dim`; `prepend` and `append` count in, equal to it in the other dims", [
    Diff]>;
def : Shapes<"`input`, with size `k` in `dim`", [TopK]>;
def : Shapes<"flat without `dim`: [how many], and the inverse in the shape of `input`; with `dim`, the slices that remain, and the inverse [size of `dim`]; counts [how many]", [
    Unique, UniqueConsecutive]>;
def : Shapes<"[(end - start) / step, rounded up]", [Arange]>;
def : Shapes<"[end, rounded up]", [ArangeEnd]>;
def : Shapes<"[steps]", [Linspace, Logspace]>;
def : Shapes<"[n, m]; [n, n] when `m` is None", [Eye]>;
def : Shapes<"[n]", [RandPermT]>;
def : Shapes<"[2, number of elements in the triangle]", [TrilIndices, TriuIndices]>;
def : Shapes<"[N]; the result is [N, columns]", [Vander]>;
def : Shapes<"[C] or [B, C]; the result is [num_samples] or [B, num_samples]", [Multinomial]>;
def : Shapes<"`input` in the shape `shape`; one size of it may be -1", [Reshape]>;
def : Shapes<"`input` in the shape `size`; one size of it may be -1", [View_]>;
def : Shapes<"the result has the shape of `other`", [ViewAs, ReshapeAs, ExpandAs]>;
def : Shapes<"`input` with start_dim .. end_dim as one dim; a 0-d tensor as [1]", [Flatten]>;
def : Shapes<"`input` with `dim` as the dims `sizes`, whose product it is", [Unflatten]>;
def : Shapes<"the result is [number of elements]", [Ravel]>;
def : Shapes<"`input` without its dims of size 1, or only without those of `dim`", [SqueezeAll]>;
def : Shapes<"`input` with a dim of size 1 more", [Unsqueeze]>;
def : Shapes<"[M, N]; the result is [N, M]. [N] and 0-d stay", [TShort]>;
def : Shapes<"`input` with two sizes swapped", [Transpose]>;
def : Shapes<"`input` with its sizes in the order `dims`", [Permute]>;
def : Shapes<"`input` with its sizes in another order", [MoveDim]>;
def : Shapes<"[..., M, N]; the result is [..., N, M]", [Adjoint]>;
def : Shapes<"`input` broadcasts to `size`; -1 keeps a size", [Expand]>;
def : Shapes<"`input` broadcasts to `size`", [BroadcastTo]>;
def : Shapes<"all broadcast to one shape", [BroadcastTensors]>;
def : Shapes<"`input` without `dim`", [Select]>;
def : Shapes<"`input` with size `length` in `dim`", [Narrow, NarrowTensor, NarrowCopy]>;
def : Shapes<"`size`", [AsStrided]>;
def : Shapes<"`input` with (size of `dimension` - size) // step + 1 in `dimension`, and `size` behind", [Unfold]>;
def : Shapes<"`input` without dim1 and dim2, and the length of the diagonal behind", [Diagonal, LinalgDiagonal]>;
def : Shapes<"[N] gives [N + |diagonal|, N + |diagonal|]; [M, N] the length of the diagonal", [Diag]>;
def : Shapes<"[..., N]; two dims of size N + |offset| in place of the last, at dim1 and dim2", [DiagEmbed]>;
def : Shapes<"N elements; the result is [N + |offset|, N + |offset|]", [DiagFlat]>;
def : Shapes<"`input` with the sizes of both `dims` swapped for odd `k`", [Rot90]>;
def : Shapes<"`input`, shorter in `dim`: together they are `input`", [
    Chunk, UnsafeChunk, SplitSize, SplitSizes, SplitSizesNamed, UnsafeSplit, TensorSplit, TensorSplitAt,
    TensorSplitTensor]>;
def : Shapes<"[N] or [M, N, ...], divided in N", [HSplit, HSplitAt]>;
def : Shapes<"[N, ...], at least 2-d, divided in N", [VSplit, VSplitAt]>;
def : Shapes<"[L, M, N, ...], divided in N", [DSplit, DSplitAt]>;
def : Shapes<"`input` without `dim`, as many times as `dim` is long", [Unbind]>;
def : Shapes<"equal but in `dim`, whose sizes add up; empty vectors count as nothing", [CatT]>;
def : Shapes<"all equal; the result has a dim more, at `dim`, as long as the list", [Stack]>;
def : Shapes<"equal but in dim 1 (vectors: dim 0), whose sizes add up", [HStack]>;
def : Shapes<"equal but in dim 0, whose sizes add up; vectors [N] count as [1, N]", [VStack]>;
def : Shapes<"equal but in dim 2, whose sizes add up; [N] counts as [1, N, 1], [M, N] as [M, N, 1]", [DStack]>;
def : Shapes<"equal but in dim 1, whose sizes add up; vectors [N] count as [N, 1]", [ColumnStack]>;
def : Shapes<"[M1, N1], [M2, N2], ...; the result is [M1 + M2 + ..., N1 + N2 + ...]", [BlockDiag]>;
def : Shapes<"0-d gives [1]; others stay", [AtLeast1d, AtLeast1dList]>;
def : Shapes<"0-d gives [1, 1], [N] gives [1, N]; others stay", [AtLeast2d, AtLeast2dList]>;
def : Shapes<"0-d gives [1, 1, 1], [N] gives [1, N, 1], [M, N] gives [M, N, 1]; others stay", [
    AtLeast3d, AtLeast3dList]>;
def : Shapes<"sizes multiply by `repeats`, of which there are at least as many as dims", [Repeat]>;
def : Shapes<"sizes multiply by `dims`", [Tile]>;
def : Shapes<"`input` with `repeats` times the size in `dim`; flat when `dim` is None", [RepeatInterleave]>;
def : Shapes<"`repeats` [size of `dim`], or [1]; `input` with their sum as size of `dim`, flat when `dim` is None", [
    RepeatInterleaveTensor]>;
def : Shapes<"[N]; the result is [sum of `repeats`]", [RepeatInterleaveCounts]>;
def : Shapes<"vectors [N1], [N2], ... or 0-d; each result is [N1, N2, ...], the first two swapped for 'xy'", [
    MeshGrid]>;
def : Shapes<"[N1], [N2], ...; the result is [N1 * N2 * ..., how many]; one vector as it is", [CartesianProd]>;
def : Shapes<"[N]; the result is [number of choices, r]", [Combinations]>;
def : Shapes<"the result has the shape `size`, which broadcasts to that of `input`", [SumToSize]>;
def : Shapes<"`index` with as many dims as `input`, no larger but in `dim`; the result has the shape of `index`", [
    Gather, GatherSparse]>;
def : Shapes<"`index` [K]; `input` with size K in `dim`", [IndexSelect]>;
def : Shapes<"the result has the shape of `index`", [Take]>;
def : Shapes<"`input` and `indices` broadcast but in `dim`, where the result has the size of `indices`; without `dim` the result is [elements of `indices`]", [
    TakeAlongDim]>;
def : Shapes<"`condition` and `other` broadcast with `input` to the shape of the result", [WhereMethod]>;
def : Shapes<"one vector [number of true elements] a dim, for 0-d as for [1]", [WhereTrue]>;
def : Shapes<"`input` and `target` broadcast; the result is 0-d, or of their common shape for reduction='none'", [
    MseLoss, L1Loss, SmoothL1Loss, HuberLoss, KlDiv, PoissonNllLoss, SoftMarginLoss, HingeEmbeddingLoss]>;
def : Shapes<"`input` and `target` of one shape; the result is 0-d, or of that shape for reduction='none'", [
    BinaryCrossEntropy, BinaryCrossEntropyLogits]>;
def : Shapes<"`input1`, `input2` and `target` broadcast; the result is 0-d, or of their common shape for reduction='none'", [
    MarginRankingLoss]>;
def : Shapes<"`target` broadcasts with `input`; `var` as `input`, with 1 as last size, or without the last dim. The result is 0-d, or of the common shape for reduction='none'", [
    GaussianNllLoss]>;
def : Shapes<"`input1` and `input2` [N, D] with `target` [N], or [D] with 0-d; the result is 0-d, or [N] for reduction='none'", [
    CosineEmbeddingLoss]>;
def : Shapes<"[N, D] each, or [D]; the result is 0-d, or [N] for reduction='none'", [TripletMarginLoss]>;
def : Shapes<"`input` and `target` [N, C] or [C]; the result is 0-d, or [N] for reduction='none'", [
    MultilabelMarginLoss, MultilabelSoftMarginLoss]>;
def : Shapes<"`input` [N, C] with `target` [N], or [C] with 0-d; the result is 0-d, or [N] for reduction='none'", [
    MultiMarginLoss]>;
def : Shapes<"`input` [N, C, ...] with `target` [N, ...], or [C] with 0-d, `weight` [C]; the result is 0-d, or as `target` for reduction='none'", [
    NllLoss]>;
def : Shapes<"`input` [N, C, ...] with `target` [N, ...], or [C] with 0-d (probabilities: as `input`), `weight` [C]; the result is 0-d, or [N, ...] for reduction='none'", [
    CrossEntropy]>;
def : Shapes<"`log_probs` [T, N, C] or [T, C], `targets` [N, S] or [sum of lengths], lengths [N]; the result is 0-d, or [N] for reduction='none'", [
    CtcLoss, CtcLossLists]>;
def : Shapes<"`input` with half the size in `dim`", [Glu]>;
def : Shapes<"`input` [*], `weight` [V, D]; the result is [*, D]", [Embedding]>;
def : Shapes<"`input` [B, L], or [L] with `offsets` [B]; `weight` [V, D]; the result is [B, D]", [EmbeddingBag]>;
def : Shapes<"`query` [..., L, E], `key` [..., S, E], `value` [..., S, V], leading dims broadcast; `attn_mask` broadcasts to [..., L, S]. The result is [..., L, V]", [
    Sdpa]>;
def : Shapes<"`input` [T, B, I] ([B, T, I] if batch_first), states [layers * directions, B, H]; outputs [T, B, directions * H], states as given", [
    Lstm, Gru, RnnTanh, RnnRelu]>;
def : Shapes<"`data` [sum of `batch_sizes`, I], states [layers * directions, B, H]; outputs [sum of `batch_sizes`, directions * H], states as given", [
    LstmPacked, GruPacked, RnnTanhPacked, RnnReluPacked]>;
def : Shapes<"`input` [B, I], states [B, H], `w_ih` [gates * H, I], `w_hh` [gates * H, H]; the result is [B, H], of lstm_cell two such", [
    LstmCell, GruCell, RnnTanhCell, RnnReluCell]>;
def : Shapes<"`input` [N, C, L], `weight` [O, C / groups, K], `bias` [O]; the result is [N, O, (L + 2 padding - dilation (K - 1) - 1) // stride + 1]. N may be absent", [
    Conv1dBias]>;
def : Shapes<"`input` [N, C, L], `weight` [O, C / groups, K], `bias` [O]; the result is [N, O, L] for 'same'. N may be absent", [
    Conv1dNamed]>;
def : Shapes<"`input` [N, C, H, W], `weight` [O, C / groups, KH, KW], `bias` [O]; the result is [N, O, H', W'], H' = (H + 2 padding - dilation (KH - 1) - 1) // stride + 1, W' alike. N may be absent", [
    Conv2dBias]>;
def : Shapes<"`input` [N, C, H, W], `weight` [O, C / groups, KH, KW], `bias` [O]; the result is [N, O, H, W] for 'same'. N may be absent", [
    Conv2dNamed]>;
def : Shapes<"`input` [N, C, D, H, W], `weight` [O, C / groups, KD, KH, KW], `bias` [O]; the result is [N, O, D', H', W'], D' = (D + 2 padding - dilation (KD - 1) - 1) // stride + 1, the others alike. N may be absent", [
    Conv3dBias]>;
def : Shapes<"`input` [N, C, D, H, W], `weight` [O, C / groups, KD, KH, KW], `bias` [O]; the result is [N, O, D, H, W] for 'same'. N may be absent", [
    Conv3dNamed]>;
def : Shapes<"`input` [N, C, *], `weight` [C, O / groups, *K], `bias` [O]; the result is [N, O, *], a size L becoming (L - 1) stride - 2 padding + dilation (K - 1) + output_padding + 1. N may be absent", [
    ConvTranspose1d, ConvTranspose2d, ConvTranspose3d]>;
def : Shapes<"`input` [N, C, *]; the result has (L + 2 padding - dilation (kernel_size - 1) - 1) // stride + 1 in place of a last size L, rounded up if ceil_mode. N may be absent", [
    MaxPool1d, MaxPool1dIndices, MaxPool2d, MaxPool2dIndices, MaxPool3d, MaxPool3dIndices]>;
def : Shapes<"`input` [N, C, *]; the result has (L + 2 padding - kernel_size) // stride + 1 in place of a last size L, rounded up if ceil_mode. N may be absent", [
    AvgPool1d, AvgPool2d, AvgPool3d]>;
def : Shapes<"`input` [N, C, *]; the result has `output_size` as last sizes. N may be absent", [
    AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d, AdaptiveMaxPool1d, AdaptiveMaxPool2d,
    AdaptiveMaxPool3d]>;
def : Shapes<"`input` and `indices` [N, C, *]; the result has `output_size` as last sizes", [MaxUnpool]>;
def : Shapes<"`input` [N, C, H, W] or [C, H, W]; the result is [N, C * KH * KW, number of windows], without N as well", [
    Im2Col]>;
def : Shapes<"`input` [N, C * KH * KW, number of windows], or without N; the result is [N, C, *output_size]", [Col2Im]>;
def : Shapes<"`input` with the counts of `pad` added to the last sizes", [Pad]>;
def : Shapes<"`input` [N, C, *]; the result is [N, C, *size]", [Upsample]>;
def : Shapes<"`input` [N, C, H, W], `grid` [N, H', W', 2]; the result is [N, C, H', W']. With depth: [N, C, D, H, W], [N, D', H', W', 3], [N, C, D', H', W']", [
    GridSample]>;
def : Shapes<"`theta` [N, 2, 3], `size` (N, C, H, W); the result is [N, H, W, 2]. With depth: [N, 3, 4], (N, C, D, H, W), [N, D, H, W, 3]", [
    AffineGrid]>;
def : Shapes<"[..., C * r^2, H, W]; the result is [..., C, H * r, W * r]", [PixelShuffle]>;
def : Shapes<"[..., C, H * r, W * r]; the result is [..., C * r^2, H, W]", [PixelUnshuffle]>;

// ---- linear algebra: square matrices [..., N, N] unless said otherwise
def : Shapes<"square matrices [..., N, N]; the result is alike", [
    Inverse, Inv, MatrixExp, CholeskyInverse]>;
def : Shapes<"square matrices [..., N, N]; the inverses alike, `info` [...]", [InvEx]>;
def : Shapes<"square matrices [..., N, N]; the factors alike, `info` [...]", [CholeskyEx]>;
def : Shapes<"square matrices [..., N, N]; the result is [...]", [Det, LogDet]>;
def : Shapes<"square matrices [..., N, N]; both results are [...]", [Slogdet]>;
def : Shapes<"[..., M, N]; the result is [..., N, M]", [PInv, PInvRcond, PInvLinalgRcond]>;
def : Shapes<"`A` [..., N, N]; `B` [..., N, K] ([..., K, N] where not `left`), or vectors [..., N]; the result is as `B`, leading dims broadcast", [
    Solve]>;
def : Shapes<"`A` [..., N, N]; `B` [..., N, K] ([..., K, N] where not `left`), or vectors [..., N]; the result is as `B`, leading dims broadcast, `info` [...]", [
    SolveEx]>;
def : Shapes<"`A` [..., M, N], `B` [..., M, K] or [..., M]; `solution` [..., N, K] or [..., N], `residuals` [..., K] where M > N and the rank is full, else empty, `rank` [...], `singular_values` [..., min(M, N)]; what the driver does not compute is empty", [
    LstSq]>;
def : Shapes<"`input` [..., N, K], `L` [..., N, N]; the result is as `input`, leading dims broadcast", [CholeskySolve]>;
def : Shapes<"the product of the first `ind` sizes is that of the others; the result has the others in front, then the first", [
    TensorInv]>;
def : Shapes<"the sizes of `A` begin with those of `B`; the result has the others", [TensorSolve]>;
def : Shapes<"[..., M, N]; `P` [..., M, M], `L` [..., M, min(M, N)], `U` [..., min(M, N), N]", [LU]>;
def : Shapes<"[..., M, N]; `LU` alike, `pivots` [..., min(M, N)]", [LUFactor]>;
def : Shapes<"`LU` [..., N, N], `pivots` [..., N], `B` [..., N, K] ([..., K, N] where not `left`); the result is as `B`, leading dims broadcast", [
    LUSolve]>;
def : Shapes<"[..., M, N]; with K = min(M, N), or M where complete, `Q` is [..., M, K] and `R` [..., K, N]", [QR, QROld]>;
def : Shapes<"[..., M, N]; `a` alike, `tau` [..., min(M, N)]", [Geqrf]>;
def : Shapes<"[..., M, N] with K = min(M, N); `U` [..., M, M], `S` [..., K], `Vh` [..., N, N]; [..., M, K] and [..., K, N] without `full_matrices`", [
    SVD]>;
def : Shapes<"[..., M, N] with K = min(M, N); `U` [..., M, K], `S` [..., K], `V` [..., N, K]; [..., M, M] and [..., N, N] where not `some`", [
    SVDOld]>;
def : Shapes<"[..., M, N]; the result is [..., min(M, N)]", [SVDVals]>;
def : Shapes<"square matrices [..., N, N]; `eigenvalues` [..., N], `eigenvectors` [..., N, N]", [Eigh]>;
def : Shapes<"square matrices [..., N, N]; the result is [..., N]", [EigValsh]>;
def : Shapes<"`input` [..., M, N] with M >= N, `tau` [..., K] with K <= N; the result is as `input`", [HouseholderProduct]>;
def : Shapes<"`input` [..., M, N] with M >= N, `input2` [..., K] with K <= N; the result is as `input`", [OrgQr]>;
def : Shapes<"[..., M, N]; the result is [...]", [MatrixRank, MatrixRankTol, Cond, CondNamed]>;
def : Shapes<"[M, N]; the result is 0-d, or [1, 1] if `keepdim`", [NuclearNorm]>;
def : Shapes<"`input` without the two dims of `dim`, which stay as 1 if `keepdim`", [NuclearNormDims]>;

// ---- pools, windows and the like
def : Shapes<"[N, C, L] or [C, L]; the last dim is that of the windows: (L - kernel_size) / stride + 1, rounded down, or up if `ceil_mode`", [
    LpPool1d]>;
def : Shapes<"[N, C, H, W] or [C, H, W]; the last dims are those of the windows: (size - kernel_size) / stride + 1, rounded down, or up if `ceil_mode`", [
    LpPool2d]>;
def : Shapes<"[N, C, D, H, W] or [C, D, H, W]; the last dims are those of the windows: (size - kernel_size) / stride + 1, rounded down, or up if `ceil_mode`", [
    LpPool3d]>;
def : Shapes<"`input` [N, C, ...] or [C, ...] with two or three last dims, `samples` [N, C, 2 or 3]; both results have `output_size` for the last dims", [
    FractionalMaxPool]>;
def : Shapes<"Same", [Renorm, FillDiagonal, PolygammaMethod]>;
def : Shapes<"[N, M]; the result is [N (N - 1) / 2]", [PDist]>;
def : Shapes<"Reduced", [FrobeniusNorm]>;
def : Shapes<"[(end - start) / step, rounded down, + 1]", [Range]>;
def : Shapes<"[window_length]", [HannWindow, HammingWindow, BlackmanWindow, BartlettWindow]>;
