// Operations made of others, in C++ (eager/composites). Alone each is compiled as one fused region.

def AddAlpha : Composite<"add_alpha", "Tensor input, Operand other, *, Scalar alpha"> { let older = ["input, alpha, other"]; let summary = "input + alpha * other."; let python = "add"; let forms = ["function", "method", "inplace"]; }
def SubAlpha : Composite<"sub_alpha", "Tensor input, Operand other, *, Scalar alpha"> { let older = ["input, alpha, other"]; let summary = "input - alpha * other."; let python = "sub"; let forms = ["function", "method", "inplace"]; }
def RSub : Composite<"rsub", "Tensor input, Operand other, *, Scalar alpha=1"> { let summary = "other - alpha * input."; }
def DivRounding : Composite<"div_rounding", "Tensor input, Operand other, *, str? rounding_mode"> { let summary = "Quotient, rounded as `rounding_mode` says: None, 'floor' or 'trunc'."; let python = "div"; let aliases = ["divide"]; let forms = ["function", "method", "inplace"]; }
def Mean : Composite<"mean", "Tensor input, dims dim=None, bool keepdim=False, *, dtype? dtype=None"> { let summary = "Mean over `dim` (all dims when None)."; let reference = "mean"; let forms = ["function", "method", "out"]; }
def Var : Composite<"var", "Tensor input, dims dim=None, *, Scalar? correction=None, bool keepdim=False"> { let summary = "Variance over `dim`, the sum of squares divided by n - correction (1 when None)."; }
def VarUnbiased : Composite<"var_unbiased", "Tensor input, dims dim, bool unbiased, bool keepdim=False"> { let summary = "Variance over `dim`, divided by n - 1 if unbiased."; let python = "var"; }
def VarFlag : Composite<"var_flag", "Tensor input, bool unbiased"> { let summary = "Variance of all elements."; let python = "var"; }
def Std : Composite<"std", "Tensor input, dims dim=None, *, Scalar? correction=None, bool keepdim=False"> { let summary = "Standard deviation: the root of `var`."; }
def StdUnbiased : Composite<"std_unbiased", "Tensor input, dims dim, bool unbiased, bool keepdim=False"> { let summary = "Standard deviation over `dim`."; let python = "std"; }
def Norm : Composite<"norm", "Tensor input, float? p=None, dims dim=None, bool keepdim=False, *, dtype? dtype=None"> { let summary = "Vector p-norm over `dim`; 2 when p is None."; }
def LogSumExp : Composite<"logsumexp", "Tensor input, dims dim, bool keepdim=False"> { let summary = "log(sum(exp(input))) over `dim`, without overflow."; let forms = ["function", "method", "special"]; }
def MaxAll : Composite<"max_all", "Tensor input"> { let summary = "Largest element."; let python = "max"; let reference = "max"; }
def MinAll : Composite<"min_all", "Tensor input"> { let summary = "Smallest element."; let python = "min"; let reference = "min"; }
def MaxPair : Composite<"max_pair", "Tensor input, Tensor other"> { let summary = "The larger of two, elementwise."; let python = "max"; }
def MinPair : Composite<"min_pair", "Tensor input, Tensor other"> { let summary = "The smaller of two, elementwise."; let python = "min"; }
def MatMulAny : Composite<"matmul", "Tensor input, Tensor other"> { let summary = "Matrix product, of vectors, matrices or batches of them, as Python's @."; let reference = "matmul"; let forms = ["function", "method", "out"]; }
def MM : Composite<"mm", "Tensor input, Tensor mat2"> { let summary = "Product of two matrices."; let reference = "matmul"; let forms = ["function", "method", "out"]; }
def BMM : Composite<"bmm", "Tensor input, Tensor mat2"> { let summary = "Products of two batches of matrices."; let reference = "matmul"; let forms = ["function", "method", "out"]; }
def MV : Composite<"mv", "Tensor input, Tensor vec"> { let summary = "Product of a matrix and a vector."; let reference = "matmul"; }
def Dot : Composite<"dot", "Tensor input, Tensor tensor"> { let summary = "Inner product of two vectors."; let reference = "dot"; }
def Outer : Composite<"outer", "Tensor input, Tensor vec2"> { let summary = "Outer product of two vectors."; let aliases = ["ger"]; let reference = "outer"; }
def AddMM : Composite<"addmm", "Tensor input, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1"> { let older = ["beta, input, alpha, mat1, mat2", "beta, input, mat1, mat2"]; let summary = "beta * input + alpha * (mat1 @ mat2)."; let forms = ["function", "method", "inplace"]; }
def AddCMul : Composite<"addcmul", "Tensor input, Tensor tensor1, Tensor tensor2, *, Scalar value=1"> { let older = ["input, value, tensor1, tensor2"]; let summary = "input + value * tensor1 * tensor2."; let forms = ["function", "method", "inplace"]; }
def AddCDiv : Composite<"addcdiv", "Tensor input, Tensor tensor1, Tensor tensor2, *, Scalar value=1"> { let older = ["input, value, tensor1, tensor2"]; let summary = "input + value * tensor1 / tensor2."; let forms = ["function", "method", "inplace"]; }
def Lerp : Composite<"lerp", "Tensor input, Tensor end, Operand weight"> { let summary = "input + weight * (end - input)."; let forms = ["function", "method", "inplace"]; }
def Clamp : Composite<"clamp", "Tensor input, Operand? min=None, Operand? max=None"> { let summary = "Elements below `min` raised to it, above `max` lowered to it; NaN stays NaN."; let aliases = ["clip"]; let reference = "clip"; let forms = ["function", "method", "inplace"]; }
def Round : Composite<"round", "Tensor input, *, int decimals=0"> { let summary = "Nearest integer (or multiple of 10^-decimals), halves to even."; let reference = "round"; let forms = ["function", "method", "inplace", "special"]; }
// softmax of floats, taped as a whole: its derivative reads the result alone.
def SoftmaxAlong : Composite<"softmax_along", "Tensor input, int dim"> { let summary = "softmax along `dim`."; let forms = ["hidden"]; let samples = "none"; }
def : Rule<SoftmaxAlong, "softmaxAlong", ["out"]>;
def Softmax : Composite<"softmax", "Tensor input, int dim, dtype? dtype=None"> { let summary = "exp(x - max) / sum(exp(x - max)) along `dim`."; let forms = ["function", "method", "special"]; }
def LogSoftmax : Composite<"log_softmax", "Tensor input, int dim, dtype? dtype=None"> { let summary = "x - max - log(sum(exp(x - max))) along `dim`."; let forms = ["function", "method", "special"]; }
def Reshape : Composite<"reshape", "Tensor input, int[] shape"> { let summary = "The same elements in another shape: a view where strides allow, else a copy. One size may be -1."; let reference = "reshape"; }
def Flatten : Composite<"flatten", "Tensor input, int start_dim=0, int end_dim=-1"> { let summary = "Dims start_dim .. end_dim as one."; }
def Unflatten : Composite<"unflatten", "Tensor input, int dim, int[] sizes"> { let summary = "One dim as several; one size may be -1."; }
def SqueezeAll : Composite<"squeeze", "Tensor input, dims dim=None"> { let summary = "Dims of size 1 dropped (those in `dim` when given)."; let reference = "squeeze"; let forms = ["function", "method", "inview"]; }
def TShort : Composite<"t", "Tensor input"> { let summary = "The transpose of a matrix; vectors as they are."; let reference = "transpose"; let forms = ["function", "method", "inview"]; }
def Narrow : Composite<"narrow", "Tensor input, int dim, int start, int length"> { let summary = "`length` elements of `dim` from `start` on, as a view."; }
def NarrowTensor : Composite<"narrow_tensor", "Tensor input, int dim, Tensor start, int length"> { let summary = "`length` elements of `dim` from the 0-d integer tensor `start` on, as a copy."; let python = "narrow"; }
def MoveDim : Composite<"movedim", "Tensor input, int[] source, int[] destination"> { let summary = "Dims moved to new places, the others in order."; let aliases = ["moveaxis"]; let reference = "moveaxis"; }
def ExpandAs : Composite<"expand_as", "Tensor input, Tensor other"> { let summary = "`input` expanded to the shape of `other`."; let forms = ["method"]; }
def BroadcastTo : Composite<"broadcast_to", "Tensor input, int[] size"> { let summary = "`input` expanded to `size`, as a view."; let reference = "broadcast_to"; }
def ViewAs : Composite<"view_as", "Tensor input, Tensor other"> { let summary = "`input` viewed in the shape of `other`."; let forms = ["method"]; }
def ReshapeAs : Composite<"reshape_as", "Tensor input, Tensor other"> { let summary = "`input` in the shape of `other`."; let forms = ["method"]; }
def Contiguous : Composite<"contiguous", "Tensor input"> { let summary = "`input` itself if its elements lie in row-major order, else a copy that does."; let forms = ["method"]; }
def Chunk : Composite<"chunk", "Tensor input, int chunks, int dim=0"> { let summary = "At most `chunks` pieces along `dim`, as views."; let results = "Tensor[]"; }
def SplitSize : Composite<"split", "Tensor tensor, int split_size_or_sections, int dim=0"> { let summary = "Pieces of a size along `dim`, as views; the last may be smaller."; let results = "Tensor[]"; let python = "split"; }
def SplitSizes : Composite<"split_with_sizes", "Tensor tensor, int[] split_size_or_sections, int dim=0"> { let summary = "Pieces of the given sizes along `dim`, as views."; let results = "Tensor[]"; let python = "split"; }
def Unbind : Composite<"unbind", "Tensor input, int dim=0"> { let summary = "All slices of `dim`, as views."; let results = "Tensor[]"; }
def CatT : Composite<"cat", "Tensor[] tensors, int dim=0"> { let summary = "Tensors joined along `dim`; the other sizes are equal, dtypes promote."; let forms = ["function"]; let aliases = ["concat", "concatenate"]; let reference = "concatenate"; }
def Stack : Composite<"stack", "Tensor[] tensors, int dim=0"> { let summary = "Tensors of one shape joined along a new dim."; let forms = ["function"]; let reference = "stack"; }
def Repeat : Composite<"repeat", "Tensor input, int[] repeats"> { let summary = "Copies along every dim, as NumPy's tile."; let forms = ["method"]; let reference = "tile"; }
def Flip : Composite<"flip", "Tensor input, int[] dims"> { let summary = "Elements in reverse order along `dims`."; let reference = "flip"; }
def Tril : Composite<"tril", "Tensor input, int diagonal=0"> { let repeats = "Taken"; let summary = "The lower triangle, zeros elsewhere."; let reference = "tril"; let forms = ["function", "method", "inplace"]; }
def Triu : Composite<"triu", "Tensor input, int diagonal=0"> { let repeats = "Taken"; let summary = "The upper triangle, zeros elsewhere."; let reference = "triu"; let forms = ["function", "method", "inplace"]; }
def CumSumT : Composite<"cumsum", "Tensor input, int dim, *, dtype? dtype=None"> { let outSaysDType = 1; let summary = "Running sums along `dim`; integers in int64."; let reference = "cumsum"; let forms = ["function", "method", "inplace"]; }
def CumProdT : Composite<"cumprod", "Tensor input, int dim, *, dtype? dtype=None"> { let outSaysDType = 1; let summary = "Running products along `dim`; integers in int64."; let reference = "cumprod"; let forms = ["function", "method", "inplace"]; }
def ArgSort : Composite<"argsort", "Tensor input, int dim=-1, bool descending=False, bool stable=False"> { let summary = "Places of the elements in order along `dim`."; }
def ScatterSrc : Composite<"scatter", "Tensor input, int dim, Tensor index, Operand src"> { let summary = "A copy of `input` with `src` (a tensor or a number) written at `index` along `dim`."; let forms = ["function", "method", "inplace"]; }
def IndexAddT : Composite<"index_add", "Tensor input, int dim, Tensor index, Tensor source, *, Scalar alpha=1"> { let summary = "A copy of `input` with alpha * source added at `index` along `dim`, in order."; let forms = ["function", "method", "inplace"]; }
def MaskedFill : Composite<"masked_fill", "Tensor input, Tensor mask, Operand value"> { let repeats = "Warned"; let summary = "`value` where `mask` holds, `input` elsewhere."; let forms = ["function", "method", "inplace"]; }
def TakeAlongDim : Composite<"take_along_dim", "Tensor input, Tensor indices, int? dim=None"> { let summary = "gather with broadcasting; of both flattened if `dim` is None."; let reference = "take_along_axis"; }
def Fill : Composite<"fill", "Tensor input, Operand value"> { let summary = "A tensor like `input` whose every element is `value`."; let forms = ["function"]; }
def NonZero : Composite<"nonzero", "Tensor input"> { let summary = "Where elements are not zero, in row-major order: a row of indices each."; let forms = ["hidden"]; let samples = "none"; }
def IsClose : Composite<"isclose", "Tensor input, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False"> { let summary = "|input - other| <= atol + rtol * |other|, elementwise."; let reference = "isclose"; }
def Positive : Composite<"positive", "Tensor input"> { let summary = "`input` itself."; }

def Zeros : Composite<"zeros", "int[] size, *, dtype? dtype=None"> { let summary = "Zeros."; let forms = ["function"]; let factory = 1; let reference = "zeros"; }
def Ones : Composite<"ones", "int[] size, *, dtype? dtype=None"> { let summary = "Ones."; let forms = ["function"]; let factory = 1; let reference = "ones"; }
def Empty : Composite<"empty", "int[] size, *, dtype? dtype=None"> { let summary = "Uninitialised elements."; let forms = ["function"]; let factory = 1; }
def FullT : Composite<"full", "int[] size, Scalar fill_value, *, dtype? dtype=None"> { let summary = "Every element `fill_value`, whose type decides the dtype unless given."; let forms = ["function"]; let factory = 1; let reference = "full"; }
def ArangeEnd : Composite<"arange_end", "Scalar end, *, dtype? dtype=None"> { let summary = "0, 1, ... below `end`."; let python = "arange"; let forms = ["function"]; let factory = 1; let keepsOutShape = 1; }
def Arange : Composite<"arange", "Scalar start, Scalar end, Scalar step=1, *, dtype? dtype=None"> { let summary = "start, start + step, ... below `end`."; let forms = ["function"]; let factory = 1; let keepsOutShape = 1; let reference = "arange"; }
def Eye : Composite<"eye", "int n, int? m=None, *, dtype? dtype=None"> { let summary = "Ones on the diagonal of an n x m matrix."; let forms = ["function"]; let factory = 1; let reference = "eye"; }
def Rand : Composite<"rand", "int[] size, *, generator? generator=None, dtype? dtype=None"> { let summary = "Uniform on [0, 1)."; let forms = ["function"]; let factory = 1; }
def Randn : Composite<"randn", "int[] size, *, generator? generator=None, dtype? dtype=None"> { let summary = "Standard normal."; let forms = ["function"]; let factory = 1; }
def RandInt : Composite<"randint", "int low, int high, int[] size, *, generator? generator=None, dtype? dtype=None"> { let summary = "Integers uniform on [low, high), int64 unless `dtype` is given."; let forms = ["function"]; let factory = 1; }
def RandIntHigh : Composite<"randint_high", "int high, int[] size, *, generator? generator=None, dtype? dtype=None"> { let summary = "Integers uniform on [0, high)."; let python = "randint"; let forms = ["function"]; let factory = 1; }
def RandPermT : Composite<"randperm", "int n, *, generator? generator=None, dtype? dtype=None"> { let summary = "A random permutation of 0 .. n-1, int64 unless `dtype` is given."; let forms = ["function"]; let factory = 1; }
def Bernoulli : Composite<"bernoulli", "Tensor input, *, generator? generator=None"> { let summary = "1 with probability `input`, else 0."; }
def BernoulliProb : Composite<"bernoulli_prob", "Tensor input, float p, *, generator? generator=None"> { let summary = "1 with probability `p`, else 0, in the shape and dtype of `input`."; let python = "bernoulli"; }
def ZerosLike : Composite<"zeros_like", "Tensor input, *, dtype? dtype=None"> { let summary = "Zeros in the shape and dtype of `input`."; let forms = ["function"]; let factory = 1; let reference = "zeros_like"; }
def OnesLike : Composite<"ones_like", "Tensor input, *, dtype? dtype=None"> { let summary = "Ones in the shape and dtype of `input`."; let forms = ["function"]; let factory = 1; let reference = "ones_like"; }
def EmptyLike : Composite<"empty_like", "Tensor input, *, dtype? dtype=None"> { let summary = "Uninitialised, in the shape and dtype of `input`."; let forms = ["function"]; let factory = 1; }
def FullLike : Composite<"full_like", "Tensor input, Scalar fill_value, *, dtype? dtype=None"> { let summary = "Every element `fill_value`, in the shape and dtype of `input`."; let forms = ["function"]; let factory = 1; let reference = "full_like"; }
def RandLike : Composite<"rand_like", "Tensor input, *, dtype? dtype=None"> { let summary = "Uniform on [0, 1), in the shape and dtype of `input`."; let forms = ["function"]; let factory = 1; }
def RandnLike : Composite<"randn_like", "Tensor input, *, dtype? dtype=None"> { let summary = "Standard normal, in the shape and dtype of `input`."; let forms = ["function"]; let factory = 1; }
