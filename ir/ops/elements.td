// More functions of single elements: signs, logarithms of sums, shifts, limits, conversions of angles. Those with a body
// are primitives, each with its derivative beside it; the others are made of primitives in eager/composites/elements.cpp.

def CopySign : Pointwise<"copysign", "Float", "Tensor input, Operand other"> { let summary = "|input| with the sign of `other`."; let body = [(copysign $input, $other)]; let samples = "binary"; let reference = "copysign"; }
def : Derivative<CopySign, [(mul $g, (where (eq $input, 0), 0, (div $out, $input))), (zeros_like $g)]>;
def FMax : TensorPair<"fmax", "Promote"> { let summary = "The larger operand; the other one where either is NaN."; let body = [(fmax $input, $other)]; let forms = ["function", "method", "out"]; }
def : Derivative<FMax, [(where (logical_or (ge $input, $other), (isnan $other)), $g, 0),
                        (where (logical_or (ge $input, $other), (isnan $other)), 0, $g)]>;
def FMin : TensorPair<"fmin", "Promote"> { let summary = "The smaller operand; the other one where either is NaN."; let body = [(fmin $input, $other)]; let forms = ["function", "method", "out"]; }
def : Derivative<FMin, [(where (logical_or (le $input, $other), (isnan $other)), $g, 0),
                        (where (logical_or (le $input, $other), (isnan $other)), 0, $g)]>;
def Frac : Unary<"frac", "Promote"> { let summary = "What `trunc` takes away: input - trunc(input), with the sign of input."; let domain = "Floating"; let body = [(frac $input)]; let reference = ""; }
def : Derivative<Frac, [(identity $g)]>;
def SignBit : Unary<"signbit", "Compare"> { let summary = "Is the sign bit set? True for -0.0."; let body = [(signbit $input)]; let forms = ["function", "method", "out"]; }
def : NotDifferentiable<SignBit>;

def Angle : Unary<"angle", "Float"> { let summary = "The argument of a real number: pi below 0, else 0; NaN of NaN."; let body = [(select (lt $input, 0), "3.14159265358979323846", (select (isnan $input), $input, 0))]; let forms = ["function", "method"]; let reference = ""; }
def : Derivative<Angle, [(zeros_like $g)]>;
def IsReal : Composite<"isreal", "Tensor input"> { let summary = "Is real: True, as all dtypes are."; let reference = "isreal"; }

// Parts and neighbours of numbers.
def FrexpMantissa : Unary<"frexp_mantissa", "Promote"> { let summary = "The m in [0.5, 1) with input = m 2^e."; let domain = "Floating"; let body = [(frexp_mantissa $input)]; let forms = ["hidden"]; let samples = "none"; }
def FrexpExponent : Unary<"frexp_exponent", "Promote"> { let summary = "The e of the same, in the dtype of input."; let domain = "Floating"; let body = [(frexp_exponent $input)]; let forms = ["hidden"]; let samples = "none"; }
def : Derivative<FrexpMantissa, [(mul $g, (exp2 (neg (frexp_exponent $input))))]>;
def : NotDifferentiable<FrexpExponent>;
def Frexp : Composite<"frexp", "Tensor input"> { let summary = "Mantissas in [0.5, 1) and exponents, input = mantissa * 2^exponent; zeros, infinities and NaN are their own mantissas, of exponent 0."; let numResults = 2; let results = "(Tensor, Tensor)"; let fields = ["mantissa", "exponent"]; }
def NextAfterUnit : TensorPair<"nextafter_unit", "Promote"> { let summary = "nextafter of float32 and float64."; let domain = "Floating"; let body = [(nextafter $input, $other)]; let forms = ["hidden"]; let samples = "none"; }
def NextAfterBFloat16 : TensorPair<"nextafter_bfloat16", "Promote"> { let summary = "nextafter of bfloat16."; let domain = "Floating"; let body = [(nextafter_bfloat16 $input, $other)]; let forms = ["hidden"]; let samples = "none"; }
def NextAfterFloat16 : TensorPair<"nextafter_float16", "Promote"> { let summary = "nextafter of float16."; let domain = "Floating"; let body = [(nextafter_float16 $input, $other)]; let forms = ["hidden"]; let samples = "none"; }
foreach o = [NextAfterUnit, NextAfterBFloat16, NextAfterFloat16] in def : NotDifferentiable<o>;
def NextAfter : Composite<"nextafter", "Tensor input, Tensor other"> { let summary = "The number of the dtype next to `input` in the direction of `other`."; let forms = ["function", "method", "inplace"]; }

def LogAddExp : TensorPair<"logaddexp", "Promote"> { let summary = "log(exp(input) + exp(other)), without overflow."; let domain = "Floating"; let body = [(logaddexp $input, $other)]; let forms = ["function", "method", "out"]; }
def : Derivative<LogAddExp, [(mul $g, (sigmoid (sub $input, $other))), (mul $g, (sigmoid (sub $other, $input)))]>;
def LogAddExp2 : TensorPair<"logaddexp2", "Promote"> { let summary = "log2(2^input + 2^other), without overflow."; let domain = "Floating"; let body = [(logaddexp2 $input, $other)]; let forms = ["function", "method", "out"]; }
def : Derivative<LogAddExp2, [(mul $g, (sigmoid (mul "0.693147180559945309417", (sub $input, $other)))),
                              (mul $g, (sigmoid (mul "0.693147180559945309417", (sub $other, $input))))]>;
// d/dinput is log(other), as xlogy(g, other): 0 where g is, and where input = 0 meets other <= 0.
def XLogY : Binary<"xlogy", "Float"> { let summary = "input * log(other), 0 where input is 0 and other no NaN."; let body = [(xlogy $input, $other)]; let forms = ["function", "method", "inplace", "out", "special"]; let samples = "composite"; let reference = "scipy.special.xlogy"; }
def : Derivative<XLogY, [(xlogy (where (logical_and (eq $input, 0), (le $other, 0)), 0, $g), $other),
                         (mul $g, (div $input, $other))]>;
def XLog1pY : Binary<"xlog1py", "Float"> { let summary = "input * log1p(other), 0 where input is 0 and other no NaN."; let body = [(xlog1py $input, $other)]; let forms = ["special"]; let samples = "composite"; let reference = "scipy.special.xlog1py"; }
def : Derivative<XLog1pY, [(xlog1py (where (logical_and (eq $input, 0), (le $other, -1)), 0, $g), $other),
                           (mul $g, (div $input, (add $other, 1)))]>;
def LogitUnit : Unary<"logit_unit", "Float"> { let summary = "log(input / (1 - input))."; let body = [(logit $input)]; let forms = ["hidden"]; let samples = "none"; }
def : Derivative<LogitUnit, [(where (logical_and (ge $input, 0), (le $input, 1)), (div $g, (mul $input, (sub 1, $input))), "NAN")]>;
def Logit : Composite<"logit", "Tensor input, float? eps=None"> { let summary = "log(input / (1 - input)), the input clamped to [eps, 1 - eps] if eps is given."; let forms = ["function", "method", "inplace", "special"]; }

def Sinc : Unary<"sinc", "Float"> { let summary = "sin(pi input) / (pi input), 1 at 0."; let body = [(sinc $input)]; let forms = ["function", "method", "inplace", "out", "special"]; }
def : Derivative<Sinc, [(mul $g, (sinc_slope $input))]>;
def SincSlope : Composite<"sinc_slope", "Tensor input"> { let summary = "The derivative of sinc, right to every order at 0 too."; let forms = ["hidden"]; let samples = "none"; }

def LeftShift : Binary<"bitwise_left_shift", "Promote"> { let summary = "input * 2^other, the bits that leave the integer lost; 0 for other < 0 or beyond its width."; let domain = "Integer"; let body = [(shift_left $input, $other)]; let samples = "shifts"; let reference = ""; }
def RightShift : Binary<"bitwise_right_shift", "Promote"> { let summary = "floor(input / 2^other); what shifting far enough gives for other < 0 or beyond the width."; let domain = "Integer"; let body = [(shift_right $input, $other)]; let samples = "shifts"; let reference = ""; }
def : NotDifferentiable<LeftShift>;
def : NotDifferentiable<RightShift>;

def NanToNumUnit : Pointwise<"nan_to_num_unit", "First", "Tensor input, Scalar nan, Scalar posinf, Scalar neginf"> { let summary = "`nan`, `posinf` and `neginf` in place of NaN and the infinities."; let body = [(select (isnan $input), $nan, (select (isinf $input), (select (gt $input, 0), $posinf, $neginf), $input))]; let forms = ["hidden"]; let samples = "none"; }
def : Derivative<NanToNumUnit, [(where (isfinite $input), $g, 0), (none), (none), (none)]>;
def NanToNum : Composite<"nan_to_num", "Tensor input, Scalar? nan=None, Scalar? posinf=None, Scalar? neginf=None"> { let summary = "`nan` (0) in place of NaN, `posinf` and `neginf` (the largest and smallest finite) in place of the infinities."; let forms = ["function", "method", "inplace"]; }

def ClampMin : Composite<"clamp_min", "Tensor input, Operand min"> { let summary = "Elements below `min` raised to it; NaN stays NaN."; let forms = ["function", "method", "inplace"]; }
def ClampMax : Composite<"clamp_max", "Tensor input, Operand max"> { let summary = "Elements above `max` lowered to it; NaN stays NaN."; let forms = ["function", "method", "inplace"]; }
def Heaviside : Composite<"heaviside", "Tensor input, Tensor values"> { let summary = "0 below 0, 1 above, `values` at 0. Both of one dtype."; let forms = ["function", "method", "inplace"]; }
def IsPosInf : Composite<"isposinf", "Tensor input"> { let summary = "Is positive infinity."; let reference = "isposinf"; }
def IsNegInf : Composite<"isneginf", "Tensor input"> { let summary = "Is negative infinity."; let reference = "isneginf"; }
def Deg2Rad : Composite<"deg2rad", "Tensor input"> { let summary = "Degrees as radians: input * pi / 180."; let forms = ["function", "method", "inplace"]; }
def Rad2Deg : Composite<"rad2deg", "Tensor input"> { let summary = "Radians as degrees: input * 180 / pi."; let forms = ["function", "method", "inplace"]; }
def LdExp : Composite<"ldexp", "Tensor input, Tensor other"> { let summary = "input * 2^other, in floating point."; let forms = ["function", "method", "inplace"]; }
def FloatPower : Composite<"float_power", "Tensor input, Operand exponent"> { let summary = "`input` to the power `exponent`, in float64."; let forms = ["function", "method"]; }
def FloatPowerOf : Composite<"float_power_of", "Scalar input, Tensor exponent"> { let summary = "A number to the power `exponent`, in float64."; let python = "float_power"; let forms = ["function"]; }
def RDiv : Composite<"rdiv", "Tensor input, Operand other"> { let summary = "other / input."; let python = "__rdiv__"; let forms = ["method"]; }
def Expit : Composite<"expit", "Tensor input"> { let summary = "1 / (1 + exp(-input))."; let forms = ["special"]; let reference = "scipy.special.expit"; }
// d/dinput is -(1 + log(input)), NaN below 0.
def EntrUnit : Unary<"entr_unit", "Float"> { let summary = "-input * log(input), 0 at 0 and -inf below."; let body = [(select (lt $input, 0), (div $input, 0), (sub 0, (xlogy $input, $input)))]; let forms = ["hidden"]; let samples = "none"; }
def : Derivative<EntrUnit, [(neg (mul $g, (add 1, (log $input))))]>;
def Entr : Composite<"entr", "Tensor input"> { let summary = "-input * log(input), 0 at 0 and -inf below."; let forms = ["special"]; let reference = "scipy.special.entr"; }
