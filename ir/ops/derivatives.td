// What to pass on to each operand, as calls of differentiable operations: so every order follows from these lines. `$g`
// is the cotangent of the (first) result, `$out` that result. Broadcasting is undone in the engine.

def : Derivative<Add, [(identity $g), (identity $g)]>;
def : Derivative<Sub, [(identity $g), (neg $g)]>;
def : Derivative<Mul, [(mul $g, $other), (mul $g, $input)]>;
def : Derivative<Div, [(div $g, $other), (neg (mul $g, (div (div $input, $other), $other)))]>;
def : NotDifferentiable<FloorDivide>;
def : NotDifferentiable<TruncDivide>;
def : Derivative<Remainder, [(identity $g), (neg (mul $g, (floor_divide $input, $other)))]>;
def : Derivative<Fmod, [(identity $g), (neg (mul $g, (trunc_divide $input, $other)))]>;
def : Rule<Pow, "pow", ["input", "exponent", "out@1"]>;
def : Derivative<Atan2, [(where (logical_and (eq $input, 0), (eq $other, 0)), 0, (mul $g, (div $other, (add (square $input), (square $other))))),
                         (where (logical_and (eq $input, 0), (eq $other, 0)), 0, (neg (mul $g, (div $input, (add (square $input), (square $other))))))]>;
def : Derivative<Hypot, [(mul $g, (div $input, $out)), (mul $g, (div $other, $out))]>;
def : Rule<Maximum, "maximum", ["input", "other"]>;
def : Rule<Minimum, "minimum", ["input", "other"]>;

def : Derivative<Neg, [(neg $g)]>;
def : Derivative<Abs, [(mul $g, (sign $input))]>;
def : Derivative<Sign, [(zeros_like $g)]>;
def : Derivative<Square, [(mul $g, (mul 2, $input))]>;
def : Derivative<Reciprocal, [(neg (mul $g, (square $out)))]>;
def : Derivative<Sqrt, [(div $g, (mul 2, $out))]>;
def : Derivative<Rsqrt, [(mul (mul "-0.5", $g), (mul $out, (square $out)))]>;
def : Derivative<Exp, [(mul $g, $out)]>;
def : Derivative<Exp2, [(mul $g, (mul $out, "0.693147180559945309417"))]>;
def : Derivative<Expm1, [(mul $g, (add $out, 1))]>;
def : Derivative<Log, [(div $g, $input)]>;
def : Derivative<Log2, [(div $g, (mul $input, "0.693147180559945309417"))]>;
def : Derivative<Log10, [(div $g, (mul $input, "2.30258509299404568402"))]>;
def : Derivative<Log1p, [(div $g, (add $input, 1))]>;
def : Derivative<Sin, [(mul $g, (cos $input))]>;
def : Derivative<Cos, [(neg (mul $g, (sin $input)))]>;
def : Derivative<Tan, [(mul $g, (add 1, (square $out)))]>;
def : Derivative<Asin, [(mul $g, (rsqrt (sub 1, (square $input))))]>;
def : Derivative<Acos, [(neg (mul $g, (rsqrt (sub 1, (square $input)))))]>;
def : Derivative<Atan, [(div $g, (add 1, (square $input)))]>;
def : Derivative<Sinh, [(mul $g, (cosh $input))]>;
def : Derivative<Cosh, [(mul $g, (sinh $input))]>;
def : Derivative<Tanh, [(mul $g, (sub 1, (square $out)))]>;
def : Derivative<Asinh, [(mul $g, (rsqrt (add 1, (square $input))))]>;
def : Derivative<Acosh, [(mul $g, (rsqrt (sub (square $input), 1)))]>;
def : Derivative<Atanh, [(div $g, (sub 1, (square $input)))]>;
def : Derivative<Erf, [(mul $g, (mul "1.12837916709551257390", (exp (neg (square $input)))))]>;
def : Derivative<Erfc, [(mul $g, (mul "-1.12837916709551257390", (exp (neg (square $input)))))]>;
def : Derivative<Sigmoid, [(mul $g, (mul $out, (sub 1, $out)))]>;
// An operation of its own, so that a gradient through it depends on what relu gave, with derivative 0, as the graph says.
def : Derivative<Relu, [(relu_grad $g, $out)]>;
def : Derivative<ReluGrad, [(relu_grad $g, $at), (zeros_like $at)]>;
def : Derivative<Floor, [(zeros_like $g)]>;
def : Derivative<Ceil, [(zeros_like $g)]>;
def : Derivative<Trunc, [(zeros_like $g)]>;
def : Derivative<RoundEven, [(zeros_like $g)]>;
def : Derivative<Ndtr, [(mul $g, (mul "0.39894228040143267794", (exp (mul "-0.5", (square $input)))))]>;
// d/dx x Phi(x) = Phi(x) + x phi(x).
def : Derivative<GeluErf, [(mul $g, (add (ndtr $input),
                                         (mul $input, (mul "0.39894228040143267794", (exp (mul "-0.5", (square $input)))))))]>;
def : Derivative<Softplus, [(mul $g, (sigmoid $input))]>;
def : Derivative<Silu, [(mul $g, (mul (sigmoid $input), (add 1, (mul $input, (sub 1, (sigmoid $input))))))]>;
def : Derivative<Clone, [(identity $g)]>;
def : Derivative<To, [(identity $g)]>;
def : Derivative<Where, [(none), (where $condition, $g, 0), (where $condition, 0, $g)]>;
def : Derivative<Fma, [(identity $g), (mul $g, $tensor2), (mul $g, $tensor1)]>;

foreach o = [Eq, Ne, Lt, Le, Gt, Ge, LogicalAnd, LogicalOr, LogicalXor, LogicalNot, BitwiseAnd, BitwiseOr, BitwiseXor,
             BitwiseNot, IsNan, IsInf, IsFinite] in
  def : NotDifferentiable<o>;

def : Rule<Sum, "sum", []>;
def : Rule<Prod, "prod", ["input"]>;
def : Rule<Amax, "amaxAmin", ["input", "out"]>;
def : Rule<Amin, "amaxAmin", ["input", "out"]>;
def : NotDifferentiable<Any>;
def : NotDifferentiable<All>;

foreach o = [Full, Ramp, Uniform, Normal, RandomInteger, RandPerm] in def : NotDifferentiable<o>;

def : Rule<View_, "view", []>;
def : Rule<Expand, "expand", []>;
def : Rule<Permute, "permute", []>;
def : Rule<Transpose, "transpose", []>;
def : Rule<Select, "select", []>;
def : Rule<Slice, "slice", []>;
def : Rule<Unsqueeze, "unsqueeze", []>;
def : Rule<SqueezeDims, "squeezeDims", []>;
def : Rule<Diagonal, "diagonal", []>;
def : Rule<AsStrided, "asStrided", []>;
def : Rule<Unfold, "unfold", []>;
def : Rule<Alias, "alias", []>;
def : Rule<BatchIn, "batchIn", []>;
def : Rule<BatchOut, "batchOut", []>;

def : Rule<MatMul, "matmulBatched", ["input@1", "other@0"]>;
def : Rule<WindowWrite, "windowWrite", []>;
def : Rule<Conv2d, "conv2d", ["input@1", "weight@0"]>;
def : Rule<Conv2dInputGrad, "conv2dInputGrad", ["grad@1", "weight@0"]>;
def : Rule<Conv2dWeightGrad, "conv2dWeightGrad", ["grad@1", "input@0"]>;
def : Rule<Gather, "gather", ["index"]>;
def : Rule<ScatterAdd, "scatterAdd", ["index"]>;
def : Rule<Scatter, "scatter", ["index"]>;
def : Rule<ScatterCombine, "scatterCombine", ["input", "index", "src", "out"]>;
def : NotDifferentiable<SearchRows>;
def : NotDifferentiable<LexOrder>;
def : Rule<IndexSelect, "indexSelect", ["index"]>;
def : Rule<IndexAdd, "indexAdd", ["index"]>;
def : Rule<TakePieces, "takePieces", []>;
def : Rule<IndexGet, "indexGet", ["indices"]>;
def : Rule<IndexPut, "indexPut", ["indices"]>;
def : Rule<CumSum, "cumsum", []>;
def : Rule<CumProd, "cumprod", ["input"]>;
def : Rule<LinearRecurrence, "linearRecurrence", ["factors", "out"]>;
def : Rule<Sort, "byIndices", ["out1"]>;
def : Rule<MaxDim, "byIndices", ["out1"]>;
def : Rule<MinDim, "byIndices", ["out1"]>;
def : NotDifferentiable<ArgMax>;
def : NotDifferentiable<ArgMin>;
def : NotDifferentiable<ExpectSize>;
def : NotDifferentiable<NonZeroRows>;
def : Rule<TopK, "byIndices", ["out1"]>;
def : Rule<Cat, "cat", []>;
def : Rule<RecurrentSequence, "recurrentSequence",
           ["hidden", "cell", "weight", "projection", "out", "out1", "out2", "out3"]>;
foreach o = [LstmStep, LstmStepGrad, GruStep, GruStepGrad, PackMatrix, MatMulPacked] in def : NotDifferentiable<o>;
