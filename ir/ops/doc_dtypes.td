// The dtypes that operations take and give, where no dtype rule says it, and what has no gradient.

def : Dtypes<"Any", "First", [
    Tril, Triu, Adjoint, AsStridedScatter, AtLeast1d, AtLeast2d, AtLeast3d, AtLeast1dList, AtLeast2dList,
    AtLeast3dList, BroadcastTo, BroadcastTensors, ChannelShuffle, Chunk, Combinations, Contiguous, Diag,
    DiagEmbed, DiagFlat, DiagonalScatter, DSplit, DSplitAt, ExpandAs, Fill, Flatten, Flip, FlipLR, FlipUD,
    HSplit, HSplitAt, LinalgDiagonal, MaskedFill, MaxAll, MinAll, MoveDim, MSort, Narrow, NarrowCopy,
    NarrowTensor, Pad, PixelShuffle, PixelUnshuffle, Put, Ravel, Repeat, RepeatInterleave,
    RepeatInterleaveTensor, Reshape, ReshapeAs, Roll, Rot90, ScatterSrc, ScatterWith, ScatterAdd, SelectScatter,
    SliceScatter, SplitSize, SplitSizes, SplitSizesNamed, UnsafeSplit, UnsafeChunk, SqueezeAll, TShort, Take,
    TakeAlongDim, TensorSplit, TensorSplitAt, TensorSplitTensor, Tile, Unbind, Unflatten, ViewAs,
    VSplit, VSplitAt, Gather, GatherSparse, BernoulliProb, IndexSelect, IndexCopy, IndexFill, IndexPutT, IndexReduce, MaskedScatter, AMinMax,
    Im2Col, Col2Im, MaxPool1d, MaxPool2d, MaxPool3d, MaxUnpool, NanToNum, ScatterReduce, Heaviside,
    Threshold]>;
def : Dtypes<"Any", "FirstAndIndices", [
    CumMax, CumMin, KthValue, MaxDim, MinDim, MedianDim, NanMedianDim, Mode, Sort, TopK, AdaptiveMaxPool1d,
    AdaptiveMaxPool2d, AdaptiveMaxPool3d, MaxPool1dIndices, MaxPool2dIndices, MaxPool3dIndices, Unique,
    UniqueConsecutive]>;
def : Dtypes<"Any", "Promote", [
    AddAlpha, SubAlpha, AddCMul, AddBMM, AddMM, AddMV, AddR, BAddBMM, BlockDiag, CartesianProd, CatT,
    ClampMax, ClampMin, WhereMethod, ColumnStack, Conv1dBias, Conv1dNamed, Conv2dBias, Conv2dNamed,
    Conv3dBias, Conv3dNamed, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, Diff, DStack,
    HStack, Kron, MaxPair, MinPair,
    Outer, RSub, Stack, VStack, MeshGrid,
    IndexAddT]>;
def : Dtypes<"Any", "Float", [
    Deg2Rad, Entr, Expit, LdExp, Logit, LogSumExp, Ndtr, Rad2Deg,
    RDiv]>;
def : Dtypes<"Any", "that of `weight`, the default dtype for means of integers; `input` and `offsets` hold integers", [
    EmbeddingBag]>;
def : Dtypes<"Any", "the promoted dtype of the operands, for integers without `rounding_mode` the default dtype", [
    DivRounding]>;
def : Dtypes<"Any", "Float", [
    PolyGamma, MVLGamma, GammaLn, Psi, Zeta, ModifiedI0, ModifiedI1, ChebyshevT, ChebyshevU, ChebyshevV, ChebyshevW, ShiftedT,
    ShiftedU, ShiftedV, ShiftedW, HermiteH, HermiteHe, LaguerreL, LegendreP]>;
def : NoGradient<[NextAfter, ChebyshevT, ChebyshevU, ChebyshevV, ChebyshevW, ShiftedT, ShiftedU, ShiftedV, ShiftedW,
    HermiteH, HermiteHe, LaguerreL, LegendreP]>;
def : Dtypes<"Floating", "that of `input`; `exponent` holds int32", [Frexp]>;
def : Dtypes<"Floating", "Promote", [NextAfter]>;
def : Dtypes<"Any", "Bool", [IsReal, IsClose, IsIn, IsNegInf, IsPosInf]>;
def : Dtypes<"Any", "Int64", [ArgMax, ArgMin, ArgSort, CountNonzero, ArgWhere, NonZeroStatic, WhereTrue]>;
def : Dtypes<"Any", "Float64", [FloatPower, FloatPowerOf]>;
def : Dtypes<"Any", "that of `input`, int64 for integers that are summed", [SumToSize]>;
def : Dtypes<"Any", "Sum", [CumProdT, CumSumT, NanSum, Vander, VecDot]>;
def : Dtypes<"Any", "int32 for `out_int32`, else int64", [SearchSorted, Bucketize]>;
def : Dtypes<"Any", "`dtype`, or that of `input`", [
    EmptyLike, FullLike, OnesLike, ZerosLike, RandIntLike, RandIntLikeHigh]>;
def : Dtypes<"Any", "`dtype`, or the default dtype", [Empty, Eye, Ones, Zeros, Linspace, Logspace]>;
def : Dtypes<"Any", "`dtype`, or int64 for ints and the default dtype for floats", [Arange, ArangeEnd]>;
def : Dtypes<"Any", "`dtype`, or what the type of `fill_value` says: bool, int64 or the default dtype", [FullT]>;
def : Dtypes<"Any", "`dtype`, or int64", [RandInt, RandIntHigh, RandPermT, TrilIndices, TriuIndices]>;
def : Dtypes<"Any", "that of `weights`, at least float64 for integers; int64 without", [BinCount]>;
def : Dtypes<"Number", "First", [Positive, Hardtanh, Relu6, Median, NanMedian, AvgPool1d, AvgPool2d, AvgPool3d]>;
def : Dtypes<"Number", "Float", [CorrCoef, CumTrapezoid, CumTrapezoidDx, Trapezoid, TrapezoidDx]>;
def : Dtypes<"Any", "Float", [LocalResponseNorm]>;
def : Dtypes<"Number", "Sum", [Trace]>;
def : Dtypes<"Floating", "First", [
    AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d, BatchNorm, Bernoulli, Celu, Dist, Elu, Gelu, Glu,
    GroupNorm, Hardshrink, Hardsigmoid, Hardswish, HistC, InstanceNorm, LayerNorm, LeakyRelu, LinalgNorm,
    LinalgNormNamed, LogSoftmax, LogCumSumExp, LogSigmoid, MatrixNorm, MatrixNormOf, Mean, Mish, NanMean, Norm,
    NormNamed, Normalize, RmsNorm, Rrelu, Sdpa, Selu, Softmax, SoftplusBeta, Softshrink, Std, StdFlag,
    StdUnbiased, StdMean, StdMeanFlag, StdMeanUnbiased, Upsample, Var, VarFlag, VarUnbiased, VarMean,
    VarMeanFlag, VarMeanUnbiased, VectorNorm, NormalAt, NormalAround, MseLoss, L1Loss, CDist, Cov,
    StandardGamma, PoissonRandom, BinomialRandom, IGamma, IGammaC, GammaInc, GammaIncC]>;
def : Dtypes<"Floating", "First", [Lstm, Gru, RnnTanh, LstmPacked, GruPacked, RnnTanhPacked]>;
def : Dtypes<"Any", "that of `input`, of integers that are scaled the default dtype", [Dropout]>;
def : Dtypes<"Floating", "Int64", [Multinomial]>;
def : Dtypes<"Floating", "`dtype`, or the default dtype", [Rand, Randn, NormalOfSize]>;
def : Dtypes<"Floating", "`dtype`, or that of `input`", [RandLike, RandnLike]>;
def : Dtypes<"Wide", "First", [
    Quantile, QuantileAt, NanQuantile, NanQuantileAt, Cholesky, CholeskyOld, SolveTriangular]>;
def : Dtypes<"Integer", "Promote", [Gcd, Lcm]>;
def : Dtypes<"Integer", "Int64", [OneHot, RepeatInterleaveCounts]>;
def : NoGradient<[Bernoulli, BernoulliProb, WhereTrue, BinomialRandom, BinCount, Bucketize, Heaviside, HistC, PoissonRandom, SearchSorted]>;
def : Dtypes<"Floating", "First", [AffineGrid]>;
def : Dtypes<"Any", "that of `weight`; `input` holds integers", [Embedding]>;
def : Dtypes<"Any", "that of `input`, the default dtype for integers; `target` holds integers", [
    NllLoss, MultiMarginLoss, MultilabelMarginLoss]>;
def : Dtypes<"Floating", "that of `input`; `target` holds integers, or probabilities", [CrossEntropy]>;
def : Dtypes<"Floating", "that of `log_probs`; the others hold integers", [CtcLoss, CtcLossLists]>;

// ---- linear algebra, pools and what scripts use now and then
def : Dtypes<"Wide", "First", [
    Det, LogDet, Inverse, Inv, PInv, PInvRcond, PInvLinalgRcond, Solve, CholeskySolve, CholeskyInverse, TensorInv,
    TensorSolve, MatrixExp, HouseholderProduct, OrgQr, SVDVals, EigValsh, Cond, CondNamed, NuclearNorm,
    NuclearNormDims]>;
def : Dtypes<"Wide", "that of `A`, for all results", [Slogdet, LU, QR, SVD, Eigh]>;
def : Dtypes<"Wide", "that of `input`, for both results", [QROld, SVDOld, Geqrf]>;
def : Dtypes<"Wide", "that of the operand; `info` is int32", [InvEx, SolveEx, CholeskyEx]>;
def : Dtypes<"Wide", "that of `A`; `rank` is int64", [LstSq]>;
def : Dtypes<"Wide", "that of `A`; `pivots` is int32", [LUFactor]>;
def : Dtypes<"Wide", "that of `B`; `pivots` holds int32", [LUSolve]>;
def : Dtypes<"Wide", "Int64", [MatrixRank, MatrixRankTol]>;
def : Dtypes<"Floating", "First", [LpPool1d, LpPool2d, LpPool3d, Renorm, PDist, FrobeniusNorm]>;
def : Dtypes<"Any", "FirstAndIndices", [FractionalMaxPool]>;
def : Dtypes<"Any", "First", [FillDiagonal]>;
def : Dtypes<"Any", "Float", [PolygammaMethod]>;
def : Dtypes<"Any", "`dtype`, or the default dtype", [Range]>;
def : Dtypes<"Any", "`dtype`, a floating one, or the default dtype", [
    HannWindow, HammingWindow, BlackmanWindow, BartlettWindow]>;
def : NoGradient<[MatrixRank, MatrixRankTol, Geqrf]>;
def : Dtypes<"Number", "Float", [
    MarginRankingLoss, BinaryCrossEntropyLogits, MultilabelSoftMarginLoss, PairwiseDistance, PoissonNllLoss,
    SmoothL1Loss, TripletMarginLoss, GaussianNllLoss, HingeEmbeddingLoss, HuberLoss, Softsign, Tanhshrink]>;
def : Dtypes<"Number", "Promote", [
    LinalgCross, Cross, Sub, Remainder, Fmod, FloorDivide]>;
def : Dtypes<"Floating", "Promote", [
    LstmCell, GruCell, BinaryCrossEntropy, AddCDiv, CosineSimilarity, CosineEmbeddingLoss]>;
def : Dtypes<"Floating", "First", [Lerp]>;
def : Dtypes<"Any", "that of `input`, int64 for bool", [Square]>;
def : Dtypes<"Number", "First", [Round, ReluInPlace]>;
def : Dtypes<"Number", "Promote", [
    BMM, ChainMatMul, Clamp, Dot, Einsum, Inner, LinalgMatMul, Linear, MatMulAny, MatrixPower, MM, MultiDot, MV, TensorDot,
    VDot, RnnRelu, RnnReluCell, RnnReluPacked]>;
def : Dtypes<"Number", "Float", [SoftMarginLoss, RnnTanhCell]>;
def : Dtypes<"Floating", "Promote", [Prelu]>;
def : Dtypes<"Floating", "Float", [SiluInPlace, GridSample, KlDiv]>;
