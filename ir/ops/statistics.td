// Statistics of elements and running extremes, in eager/composites/statistics.cpp; what no composite does well, one pass
// over each line, is in runtime/lib (scan.cpp, selection.cpp).

def VarMean : Composite<"var_mean", "Tensor input, dims dim=None, *, Scalar? correction=None, bool keepdim=False"> { let summary = "`var` and `mean` over `dim`, as a pair."; let numResults = 2; let results = "(Tensor, Tensor)"; let fields = []; let forms = ["function"]; }
def VarMeanUnbiased : Composite<"var_mean_unbiased", "Tensor input, dims dim, bool unbiased, bool keepdim=False"> { let summary = "Variance over `dim`, divided by n - 1 if unbiased, and mean."; let python = "var_mean"; let numResults = 2; let results = "(Tensor, Tensor)"; let fields = []; let forms = ["function"]; }
def VarMeanFlag : Composite<"var_mean_flag", "Tensor input, bool unbiased"> { let summary = "Variance and mean of all elements."; let python = "var_mean"; let numResults = 2; let results = "(Tensor, Tensor)"; let fields = []; let forms = ["function"]; }
def StdMean : Composite<"std_mean", "Tensor input, dims dim=None, *, Scalar? correction=None, bool keepdim=False"> { let summary = "`std` and `mean` over `dim`, as a pair."; let numResults = 2; let results = "(Tensor, Tensor)"; let fields = []; let forms = ["function"]; }
def StdMeanUnbiased : Composite<"std_mean_unbiased", "Tensor input, dims dim, bool unbiased, bool keepdim=False"> { let summary = "Standard deviation over `dim`, of n - 1 if unbiased, and mean."; let python = "std_mean"; let numResults = 2; let results = "(Tensor, Tensor)"; let fields = []; let forms = ["function"]; }
def StdMeanFlag : Composite<"std_mean_flag", "Tensor input, bool unbiased"> { let summary = "Standard deviation and mean of all elements."; let python = "std_mean"; let numResults = 2; let results = "(Tensor, Tensor)"; let fields = []; let forms = ["function"]; }
def StdFlag : Composite<"std_flag", "Tensor input, bool unbiased"> { let summary = "Standard deviation of all elements."; let python = "std"; }
def AMinMax : Composite<"aminmax", "Tensor input, *, int? dim=None, bool keepdim=False"> { let summary = "Smallest and largest element, along `dim` or of all."; let numResults = 2; let results = "(Tensor, Tensor)"; let fields = ["min", "max"]; }
def NanSum : Composite<"nansum", "Tensor input, dims dim=None, bool keepdim=False, *, dtype? dtype=None"> { let outSaysDType = 1; let summary = "Sum over `dim`, NaN counting as 0."; }
def NanMean : Composite<"nanmean", "Tensor input, dims dim=None, bool keepdim=False, *, dtype? dtype=None"> { let summary = "Mean over `dim` of what is no NaN."; }
def CountNonzero : Composite<"count_nonzero", "Tensor input, dims dim=None"> { let summary = "How many elements are nonzero, over `dim`."; let reference = "count_nonzero"; }
def Median : Composite<"median", "Tensor input"> { let summary = "The lower of the middle elements; NaN if there is one."; }
def NanMedian : Composite<"nanmedian", "Tensor input"> { let summary = "The lower of the middle elements of what is no NaN."; }
def Quantile : Composite<"quantile", "Tensor input, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation='linear'"> { let summary = "The q-th quantiles along `dim` (of all elements when None), the quantiles in a first dim if q is 1-d; NaN if there is one. Between two elements: linear, lower, higher, midpoint or nearest."; }
def QuantileAt : Composite<"quantile_at", "Tensor input, float q, int? dim=None, bool keepdim=False, *, str interpolation='linear'"> { let summary = "The q-th quantile along `dim`."; let python = "quantile"; }
def NanQuantile : Composite<"nanquantile", "Tensor input, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation='linear'"> { let summary = "`quantile` of what is no NaN."; }
def NanQuantileAt : Composite<"nanquantile_at", "Tensor input, float q, int? dim=None, bool keepdim=False, *, str interpolation='linear'"> { let summary = "`quantile` of what is no NaN."; let python = "nanquantile"; }
def HistC : Composite<"histc", "Tensor input, int bins=100, float min=0, float max=0"> { let summary = "How many elements fall into each of `bins` equal parts of [min, max] (the range of the input when both are 0); those outside into none."; }
def BinCount : Composite<"bincount", "Tensor input, Tensor? weights=None, int minlength=0"> { let summary = "How often, or with what sum of weights, each of 0, 1, ... occurs in a vector. The size of the result depends on the data."; let reference = "bincount"; }
def Cov : Composite<"cov", "Tensor input, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None"> { let summary = "Covariances of the rows, whose columns are observations, weighted by counts (fweights) and importance (aweights)."; }
def CorrCoef : Composite<"corrcoef", "Tensor input"> { let summary = "Correlation coefficients of the rows."; let reference = "corrcoef"; }
def Trapezoid : Composite<"trapezoid", "Tensor y, Tensor x, *, int dim=-1"> { let summary = "Integral of y along `dim` by the trapezoidal rule, at the points x."; let aliases = ["trapz"]; let forms = ["function"]; }
def TrapezoidDx : Composite<"trapezoid_dx", "Tensor y, *, Scalar dx=1, int dim=-1"> { let summary = "Integral of y along `dim` by the trapezoidal rule, at points dx apart."; let python = "trapezoid"; let aliases = ["trapz"]; let forms = ["function"]; }
def CumTrapezoid : Composite<"cumulative_trapezoid", "Tensor y, Tensor x, *, int dim=-1"> { let summary = "Running integrals of y along `dim` by the trapezoidal rule, at the points x."; let forms = ["function"]; }
def CumTrapezoidDx : Composite<"cumulative_trapezoid_dx", "Tensor y, *, Scalar dx=1, int dim=-1"> { let summary = "Running integrals of y along `dim`, at points dx apart."; let python = "cumulative_trapezoid"; let forms = ["function"]; }

def CumMax : Library<"cummax", "Tensor input, int dim", "valuesAndIndices"> { let summary = "Running maxima along `dim` and the last place of each; NaN wins."; let numResults = 2; let results = "(Tensor, Tensor)"; }
def CumMin : Library<"cummin", "Tensor input, int dim", "valuesAndIndices"> { let summary = "Running minima along `dim` and the last place of each; NaN wins."; let numResults = 2; let results = "(Tensor, Tensor)"; }
def : Rule<CumMax, "byIndices", ["out1"]>;
def : Rule<CumMin, "byIndices", ["out1"]>;
def LogCumSumExpPlain : Library<"logcumsumexp_plain", "Tensor input, int dim", "sameAsInput"> { let function = "logcumsumexp"; let summary = "log of the running sums of exp(input)."; let forms = ["hidden"]; }
def : Rule<LogCumSumExpPlain, "logcumsumexp", ["input", "out"]>;
def LogCumSumExp : Composite<"logcumsumexp", "Tensor input, int dim"> { let summary = "log of the running sums of exp(input) along `dim`, without overflow."; }
def KthValue : Library<"kthvalue", "Tensor input, int k, int dim=-1, bool keepdim=False", "kthValue"> { let summary = "The k-th smallest element along `dim`, counted from 1, and the first place of it; NaN counts as largest."; let numResults = 2; let results = "(Tensor, Tensor)"; }
def MedianDim : Library<"median_dim", "Tensor input, int dim, bool keepdim=False", "maxDim"> { let summary = "The lower of the middle elements along `dim` (NaN if there is one), and the first place of it."; let python = "median"; let numResults = 2; let results = "(Tensor, Tensor)"; }
def NanMedianDim : Library<"nanmedian_dim", "Tensor input, int dim, bool keepdim=False", "maxDim"> { let summary = "The lower of the middle elements along `dim` of what is no NaN, and the first place of it."; let python = "nanmedian"; let numResults = 2; let results = "(Tensor, Tensor)"; }
def Mode : Library<"mode", "Tensor input, int dim=-1, bool keepdim=False", "maxDim"> { let summary = "The most frequent element along `dim`, the smallest of several such, and its last place."; let numResults = 2; let results = "(Tensor, Tensor)"; }
foreach o = [KthValue, MedianDim, NanMedianDim, Mode] in def : Rule<o, "byIndices", ["out1"]>;
def GcdPlain : Library<"gcd_plain", "Tensor input, Tensor other", "sameAsInput"> { let function = "gcd"; let summary = "Greatest common divisors of two integer tensors of one shape and dtype."; let forms = ["hidden"]; }
def : NotDifferentiable<GcdPlain>;
def Gcd : Composite<"gcd", "Tensor input, Tensor other"> { let summary = "Greatest common divisor of integers, elementwise; not negative."; let forms = ["function", "method", "inplace"]; let reference = "gcd"; }
def Lcm : Composite<"lcm", "Tensor input, Tensor other"> { let summary = "Least common multiple of integers, elementwise; not negative."; let forms = ["function", "method", "inplace"]; let reference = "lcm"; }
