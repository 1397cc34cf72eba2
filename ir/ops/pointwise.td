// Arithmetic and elementary functions of single elements.

def Add : Binary<"add", "Promote"> { let summary = "Sum of the operands."; let body = [(add $input, $other)]; }
def Sub : Binary<"sub", "Promote"> { let shape = "subtraction"; let summary = "Difference of the operands."; let body = [(sub $input, $other)]; let aliases = ["subtract"]; let reference = "subtract"; }
def Mul : Binary<"mul", "Promote"> { let wideNumbers = 1; let summary = "Product of the operands."; let body = [(mul $input, $other)]; let aliases = ["multiply"]; let reference = "multiply"; }
def Div : Binary<"div", "Float"> { let wideNumbers = 1; let summary = "Quotient of the operands; integers are divided as floats."; let body = [(div $input, $other)]; let aliases = ["divide", "true_divide"]; let reference = "divide"; }
def FloorDivide : Binary<"floor_divide", "Promote"> { let domain = "Number"; let wideNumbers = 1; let partial = "Divisor"; let summary = "Quotient rounded towards negative infinity."; let body = [(floor_divide $input, $other)]; }
def TruncDivide : Binary<"trunc_divide", "Promote"> { let domain = "Number"; let wideNumbers = 1; let partial = "Divisor"; let summary = "Quotient rounded towards zero."; let body = [(trunc_divide $input, $other)]; let forms = ["hidden"]; let samples = "none"; }
def Remainder : Binary<"remainder", "Promote"> { let domain = "Number"; let partial = "Divisor"; let summary = "Remainder with the sign of the divisor, as Python's %."; let body = [(remainder $input, $other)]; }
def Fmod : Binary<"fmod", "Promote"> { let domain = "Number"; let partial = "Divisor"; let summary = "Remainder with the sign of the dividend, as C's fmod."; let body = [(fmod $input, $other)]; }
def Pow : Pointwise<"pow", "Promote", "Operand input, Operand exponent"> { let domain = "Number"; let partial = "Exponent"; let summary = "`input` to the power `exponent`."; let body = [(pow $input, $exponent)]; let reference = "power"; let samples = "power"; }
def Hypot : TensorPair<"hypot", "Promote"> { let summary = "sqrt(input^2 + other^2), without overflow."; let domain = "Floating"; let body = [(hypot $input, $other)]; }
def Atan2 : Pointwise<"atan2", "Float", "Tensor input, Tensor other"> { let samples = "binary"; let summary = "Angle of the point (other, input), in (-pi, pi]."; let body = [(atan2 $input, $other)]; let aliases = ["arctan2"]; let reference = "arctan2"; }
def Maximum : Binary<"maximum", "Promote"> { let summary = "The larger operand; NaN if either is."; let body = [(maximum $input, $other)]; let forms = ["function", "method", "out"]; }
def Minimum : Binary<"minimum", "Promote"> { let summary = "The smaller operand; NaN if either is."; let body = [(minimum $input, $other)]; let forms = ["function", "method", "out"]; }

def Neg : Unary<"neg", "Promote"> { let domain = "Number"; let summary = "Negative."; let body = [(neg $input)]; let aliases = ["negative"]; let reference = "negative"; }
def Abs : Unary<"abs", "Promote"> { let domain = "Number"; let summary = "Absolute value."; let body = [(abs $input)]; let aliases = ["absolute"]; }
def Sign : Unary<"sign", "Promote"> { let summary = "-1, 0 or 1 by sign; 0 for NaN."; let aliases = ["sgn"]; let body = [(sign $input)]; }
def Square : Unary<"square", "Number"> { let summary = "Square."; let body = [(square $input)]; }
def Reciprocal : Unary<"reciprocal", "Float"> { let summary = "1 / input."; let body = [(reciprocal $input)]; }
def Sqrt : Unary<"sqrt", "Float"> { let summary = "Square root; NaN below zero."; let body = [(sqrt $input)]; }
def Rsqrt : Unary<"rsqrt", "Float"> { let summary = "1 / sqrt(input)."; let body = [(rsqrt $input)]; let reference = ""; }
def Exp : Unary<"exp", "Float"> { let summary = "e to the power of input."; let body = [(exp $input)]; }
def Exp2 : Unary<"exp2", "Float"> { let summary = "2 to the power of input."; let body = [(exp2 $input)]; let forms = ["function", "method", "inplace", "out", "special"]; }
def Expm1 : Unary<"expm1", "Float"> { let summary = "exp(input) - 1, accurate near zero."; let body = [(expm1 $input)]; let forms = ["function", "method", "inplace", "out", "special"]; }
def Log : Unary<"log", "Float"> { let summary = "Natural logarithm."; let body = [(log $input)]; }
def Log2 : Unary<"log2", "Float"> { let summary = "Logarithm to base 2."; let body = [(log2 $input)]; }
def Log10 : Unary<"log10", "Float"> { let summary = "Logarithm to base 10."; let body = [(log10 $input)]; }
def Log1p : Unary<"log1p", "Float"> { let summary = "log(1 + input), accurate near zero."; let body = [(log1p $input)]; let forms = ["function", "method", "inplace", "out", "special"]; }
def Sin : Unary<"sin", "Float"> { let summary = "Sine of an angle in radians."; let body = [(sin $input)]; }
def Cos : Unary<"cos", "Float"> { let summary = "Cosine of an angle in radians."; let body = [(cos $input)]; }
def Tan : Unary<"tan", "Float"> { let summary = "Tangent of an angle in radians."; let body = [(tan $input)]; }
def Asin : Unary<"asin", "Float"> { let summary = "Arc sine, in radians."; let body = [(asin $input)]; let aliases = ["arcsin"]; let reference = "arcsin"; }
def Acos : Unary<"acos", "Float"> { let summary = "Arc cosine, in radians."; let body = [(acos $input)]; let aliases = ["arccos"]; let reference = "arccos"; }
def Atan : Unary<"atan", "Float"> { let summary = "Arc tangent, in radians."; let body = [(atan $input)]; let aliases = ["arctan"]; let reference = "arctan"; }
def Sinh : Unary<"sinh", "Float"> { let summary = "Hyperbolic sine."; let body = [(sinh $input)]; }
def Cosh : Unary<"cosh", "Float"> { let summary = "Hyperbolic cosine."; let body = [(cosh $input)]; }
def Tanh : Unary<"tanh", "Float"> { let summary = "Hyperbolic tangent."; let body = [(tanh $input)]; }
def Asinh : Unary<"asinh", "Float"> { let summary = "Inverse hyperbolic sine."; let body = [(asinh $input)]; let aliases = ["arcsinh"]; let reference = "arcsinh"; }
def Acosh : Unary<"acosh", "Float"> { let summary = "Inverse hyperbolic cosine."; let body = [(acosh $input)]; let aliases = ["arccosh"]; let reference = "arccosh"; }
def Atanh : Unary<"atanh", "Float"> { let summary = "Inverse hyperbolic tangent."; let body = [(atanh $input)]; let aliases = ["arctanh"]; let reference = "arctanh"; }
def Erf : Unary<"erf", "Float"> { let summary = "Error function."; let body = [(erf $input)]; let reference = "scipy.special.erf"; let forms = ["function", "method", "inplace", "out", "special"]; }
def Erfc : Unary<"erfc", "Float"> { let summary = "Complementary error function, 1 - erf, accurate in the tail."; let body = [(erfc $input)]; let reference = "scipy.special.erfc"; let forms = ["function", "method", "inplace", "out", "special"]; }
def Sigmoid : Unary<"sigmoid", "Float"> { let summary = "1 / (1 + exp(-input))."; let body = [(sigmoid $input)]; let reference = "scipy.special.expit"; }
def Relu : Unary<"relu", "Promote"> { let domain = "Number"; let summary = "max(input, 0); NaN stays NaN."; let body = [(relu $input)]; let reference = ""; let forms = ["function", "method", "inplace", "nn"]; }
def ReluGrad : Pointwise<"relu_grad", "Promote", "Tensor grad, Tensor at"> { let summary = "`grad` except where `at` <= 0, which gives 0: how a cotangent passes relu."; let body = [(select (le $at, 0), 0, $grad)]; let forms = ["hidden"]; let samples = "none"; }
def Floor : Unary<"floor", "Promote"> { let domain = "Number"; let summary = "Largest integer not above input."; let body = [(floor $input)]; }
def Ceil : Unary<"ceil", "Promote"> { let domain = "Number"; let summary = "Smallest integer not below input."; let body = [(ceil $input)]; }
def Trunc : Unary<"trunc", "Promote"> { let domain = "Number"; let summary = "Integer part."; let body = [(trunc $input)]; let aliases = ["fix"]; }
def RoundEven : Unary<"round_even", "Promote"> { let domain = "Number"; let summary = "Nearest integer, halves to even."; let body = [(round $input)]; let forms = ["hidden"]; let reference = "round"; }
def GeluErf : Unary<"gelu_erf", "Float"> { let summary = "input * Phi(input), Phi the standard normal distribution."; let body = [(gelu $input)]; let forms = ["hidden"]; let reference = ""; }
def Softplus : Unary<"softplus_unit", "Float"> { let summary = "log(1 + exp(input)), without overflow."; let body = [(softplus $input)]; let forms = ["nn"]; let reference = ""; }
def Ndtr : Unary<"ndtr", "Float"> { let summary = "The standard normal distribution: the area under its density from -inf to input."; let body = [(ndtr $input)]; let forms = ["special"]; let reference = "scipy.special.ndtr"; }
def Silu : Unary<"silu", "Float"> { let summary = "input * sigmoid(input)."; let body = [(silu $input)]; let forms = ["nn"]; let reference = ""; }

def Clone : Pointwise<"clone", "First", "Operand input"> { let summary = "A copy of its own."; let body = [(identity $input)]; let forms = ["function", "method"]; let samples = "unary"; let reference = "copy"; }
def To : Pointwise<"to", "Explicit", "Operand input, dtype dtype"> { let summary = "Elements converted to `dtype`."; let body = [(cast $input, $type)]; let forms = ["hidden"]; let samples = "none"; }
def Where : Pointwise<"where", "Select", "Tensor condition, Operand input, Operand other"> { let shape = "selection"; let summary = "`input` where `condition` holds, `other` elsewhere."; let body = [(select $condition, $input, $other)]; let forms = ["function"]; let samples = "where"; let reference = "where"; }
def Fma : Pointwise<"addcmul_unit", "Promote", "Operand input, Operand tensor1, Operand tensor2"> { let summary = "input + tensor1 * tensor2, rounded twice."; let body = [(add $input, (mul $tensor1, $tensor2))]; let forms = ["hidden"]; let samples = "none"; }
