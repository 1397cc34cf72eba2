// Exponentials, logarithms, angles and hyperbolic functions of single elements.

def : Unary<"exp", "Float"> {
  let gpuMixedPrecision = "Float32";
  let body = [(exp $input)];
  let derivative = [(mul $g, $out)];
  let summary = "e to the power of input.";
  let example = [{
    >>> tandem.exp(tandem.tensor([0., 1.]))
    tensor([1.0000, 2.7183])
  }];
}

def : Unary<"exp2", "Float"> {
  let forms = ["function", "method", "inplace", "special"];
  let body = [(exp2 $input)];
  let derivative = [(mul $g, (mul $out, "0.693147180559945309417"))];
  let summary = "2 to the power of input.";
  let example = [{
    >>> tandem.exp2(tandem.tensor([0., 3., -1.]))
    tensor([1.0000, 8.0000, 0.5000])
  }];
}

def : Unary<"expm1", "Float"> {
  let gpuMixedPrecision = "Float32";
  let forms = ["function", "method", "inplace", "special"];
  let body = [(expm1 $input)];
  let derivative = [(mul $g, (add $out, 1))];
  let summary = "exp(input) - 1, accurate near zero.";
  let example = [{
    >>> tandem.expm1(tandem.tensor([0., 1.]))
    tensor([0.0000, 1.7183])
  }];
}

def : Unary<"log", "Float"> {
  let gpuMixedPrecision = "Float32";
  let body = [(log $input)];
  let derivative = [(div $g, $input)];
  let summary = "Natural logarithm.";
  let example = [{
    >>> tandem.log(tandem.tensor([1., 10.]))
    tensor([0.0000, 2.3026])
  }];
}

def : Unary<"log2", "Float"> {
  let gpuMixedPrecision = "Float32";
  let body = [(log2 $input)];
  let derivative = [(div $g, (mul $input, "0.693147180559945309417"))];
  let summary = "Logarithm to base 2.";
  let example = [{
    >>> tandem.log2(tandem.tensor([1., 8.]))
    tensor([0., 3.])
  }];
}

def : Unary<"log10", "Float"> {
  let gpuMixedPrecision = "Float32";
  let body = [(log10 $input)];
  let derivative = [(div $g, (mul $input, "2.30258509299404568402"))];
  let summary = "Logarithm to base 10.";
  let example = [{
    >>> tandem.log10(tandem.tensor([1., 1000.]))
    tensor([0., 3.])
  }];
}

def : Unary<"log1p", "Float"> {
  let gpuMixedPrecision = "Float32";
  let forms = ["function", "method", "inplace", "special"];
  let body = [(log1p $input)];
  let derivative = [(div $g, (add $input, 1))];
  let summary = "log(1 + input), accurate near zero.";
  let example = [{
    >>> tandem.log1p(tandem.tensor([0., 1.]))
    tensor([0.0000, 0.6931])
  }];
}

def : TensorPair<"logaddexp", "Promote"> {
  let domain = "Floating";
  let forms = ["function", "method"];
  let body = [(logaddexp $input, $other)];
  let derivative = [(mul $g, (sigmoid (sub $input, $other))), (mul $g, (sigmoid (sub $other, $input)))];
  let summary = "log(exp(input) + exp(other)), without overflow.";
  let example = [{
    >>> tandem.logaddexp(tandem.tensor([0., 1000.]), tandem.tensor([0., 1000.]))
    tensor([6.9315e-01, 1.0007e+03])
  }];
}

// A step of ctc_loss: what comes to a place of a path from three.
class Logaddexp3<string n> : Pointwise<n, "Promote", "Operand input, Operand other, Operand third"> {
  let domain = "Floating";
  let forms = ["hidden"];
  let samples = "none";
}

def : Logaddexp3<"logaddexp3"> {
  let body = [(logaddexp3 $input, $other, $third)];
  let derivative = [(mul $g, (logaddexp3_share $input, $other, $third)),
                    (mul $g, (logaddexp3_share $other, $input, $third)),
                    (mul $g, (logaddexp3_share $third, $input, $other))];
  let summary = "log(exp(input) + exp(other) + exp(third)), without overflow.";
}

def : Logaddexp3<"logaddexp3_share"> {
  let body = [(logaddexp3_share $input, $other, $third)];
  let derivative = [(mul $g, (mul $out, (sub 1, $out))),
                    (neg (mul $g, (mul $out, (logaddexp3_share $other, $input, $third)))),
                    (neg (mul $g, (mul $out, (logaddexp3_share $third, $input, $other))))];
  let summary = "exp(input) / (exp(input) + exp(other) + exp(third)): the derivative of logaddexp3.";
}

def : TensorPair<"logaddexp2", "Promote"> {
  let domain = "Floating";
  let forms = ["function", "method"];
  let body = [(logaddexp2 $input, $other)];
  let derivative = [(mul $g, (sigmoid (mul "0.693147180559945309417", (sub $input, $other)))),
                    (mul $g, (sigmoid (mul "0.693147180559945309417", (sub $other, $input))))];
  let summary = "log2(2^input + 2^other), without overflow.";
  let example = [{
    >>> tandem.logaddexp2(tandem.tensor([0., 3.]), tandem.tensor([0., 3.]))
    tensor([1., 4.])
  }];
}

// d/dinput is log(other), as xlogy(g, other): 0 where g is, and where input = 0 meets other <= 0.
def : Binary<"xlogy", "Float"> {
  let forms = ["function", "method", "inplace", "special"];
  let body = [(xlogy $input, $other)];
  let derivative = [(xlogy (where (logical_and (eq $input, 0), (le $other, 0)), 0, $g), $other),
                    (mul $g, (div $input, $other))];
  let summary = "input * log(other), 0 where input is 0 and other no NaN.";
  let example = [{
    >>> tandem.xlogy(tandem.tensor([0., 2.]), tandem.tensor([0., 3.]))
    tensor([0.0000, 2.1972])
  }];
  let samples = "composite";
  let reference = "scipy.special.xlogy";
}

def : Binary<"xlog1py", "Float"> {
  let forms = ["special"];
  let body = [(xlog1py $input, $other)];
  let derivative = [(xlog1py (where (logical_and (eq $input, 0), (le $other, -1)), 0, $g), $other),
                    (mul $g, (div $input, (add $other, 1)))];
  let summary = "input * log1p(other), 0 where input is 0 and other no NaN.";
  let example = [{
    >>> tandem.special.xlog1py(tandem.tensor([0., 2.]), tandem.tensor([-1., 2.]))
    tensor([0.0000, 2.1972])
  }];
  let samples = "composite";
  let reference = "scipy.special.xlog1py";
}

// d/dinput is -(1 + log(input)), NaN below 0.
def : Unary<"entr_plain", "Float"> {
  let forms = ["hidden"];
  let body = [(select (lt $input, 0), (div $input, 0), (select (eq $input, 0), 0, (neg (xlogy $input, $input))))];
  let derivative = [(neg (mul $g, (add 1, (log $input))))];
  let summary = "-input * log(input), 0 at 0 and -inf below.";
  let samples = "none";
}

def : Composite<"entr", "Tensor input"> {
  let forms = ["special"];
  let summary = "-input * log(input), 0 at 0 and -inf below.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "Float";
  let example = [{
    >>> tandem.special.entr(tandem.tensor([-1., 0., 0.5]))
    tensor([  -inf, 0.0000, 0.3466])
  }];
  let reference = "scipy.special.entr";
}

def : Unary<"logit_plain", "Float"> {
  let forms = ["hidden"];
  let body = [(logit $input)];
  let derivative = [(where (logical_and (ge $input, 0), (le $input, 1)), (div $g, (mul $input, (sub 1, $input))),
                           "NAN")];
  let summary = "log(input / (1 - input)).";
  let samples = "none";
}

def : Case<"logit_clamped", "First", "Tensor input, Operand low, Operand high"> {
  let body = [(logit (select (lt $input, $low), $low, (select (gt $input, $high), $high, $input)))];
  let derivative = [(where (logical_and (ge $input, $low), (le $input, $high)), (div $g, (mul $input, (sub 1, $input))),
                           0),
                    (none),
                    (none)];
  let summary = "log(x / (1 - x)) of the input limited to [low, high].";
}

def : Composite<"logit", "Tensor input, float? eps=None"> {
  let forms = ["function", "method", "inplace", "special"];
  let summary = "log(input / (1 - input)), the input clamped to [eps, 1 - eps] if eps is given.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "Float";
  let example = [{
    >>> tandem.logit(tandem.tensor([0.5, 0.9]))
    tensor([0.0000, 2.1972])
    >>> tandem.logit(tandem.tensor([0., 1.]), eps=0.1)
    tensor([-2.1972,  2.1972])
  }];
}

def : Unary<"sigmoid", "Float"> {
  let body = [(sigmoid $input)];
  let derivative = [(mul $g, (mul $out, (sub 1, $out)))];
  let summary = "1 / (1 + exp(-input)).";
  let example = [{
    >>> tandem.sigmoid(tandem.tensor([0., 2.]))
    tensor([0.5000, 0.8808])
  }];
  let reference = "scipy.special.expit";
}

def : Composite<"expit", "Tensor input"> {
  let forms = ["special"];
  let summary = "1 / (1 + exp(-input)).";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "Float";
  let example = [{
    >>> tandem.special.expit(tandem.tensor([0., 2.]))
    tensor([0.5000, 0.8808])
  }];
  let reference = "scipy.special.expit";
}

def : Unary<"sin", "Float"> {
  let body = [(sin $input)];
  let derivative = [(mul $g, (cos $input))];
  let summary = "Sine of an angle in radians.";
  let example = [{
    >>> tandem.sin(tandem.tensor([0., 1.]))
    tensor([0.0000, 0.8415])
  }];
}

def : Unary<"cos", "Float"> {
  let body = [(cos $input)];
  let derivative = [(neg (mul $g, (sin $input)))];
  let summary = "Cosine of an angle in radians.";
  let example = [{
    >>> tandem.cos(tandem.tensor([0., 1.]))
    tensor([1.0000, 0.5403])
  }];
}

def : Unary<"tan", "Float"> {
  let gpuMixedPrecision = "Float32";
  let body = [(tan $input)];
  let derivative = [(mul $g, (add 1, (square $out)))];
  let summary = "Tangent of an angle in radians.";
  let example = [{
    >>> tandem.tan(tandem.tensor([0., 1.]))
    tensor([0.0000, 1.5574])
  }];
}

def : Unary<"asin", "Float"> {
  let gpuMixedPrecision = "Float32";
  let aliases = ["arcsin"];
  let body = [(asin $input)];
  let derivative = [(mul $g, (rsqrt (sub 1, (square $input))))];
  let summary = "Arc sine, in radians.";
  let example = [{
    >>> tandem.asin(tandem.tensor([0., 1.]))
    tensor([0.0000, 1.5708])
  }];
  let reference = "arcsin";
}

def : Unary<"acos", "Float"> {
  let gpuMixedPrecision = "Float32";
  let aliases = ["arccos"];
  let body = [(acos $input)];
  let derivative = [(neg (mul $g, (rsqrt (sub 1, (square $input)))))];
  let summary = "Arc cosine, in radians.";
  let example = [{
    >>> tandem.acos(tandem.tensor([0., 1.]))
    tensor([1.5708, 0.0000])
  }];
  let reference = "arccos";
}

def : Unary<"atan", "Float"> {
  let aliases = ["arctan"];
  let body = [(atan $input)];
  let derivative = [(div $g, (add 1, (square $input)))];
  let summary = "Arc tangent, in radians.";
  let example = [{
    >>> tandem.atan(tandem.tensor([0., 1.]))
    tensor([0.0000, 0.7854])
  }];
  let reference = "arctan";
}

def : Pointwise<"atan2", "Float", "Tensor input, Tensor other"> {
  let aliases = ["arctan2"];
  let body = [(atan2 $input, $other)];
  let derivative = [(where (eq (add (mul $input, $input), (mul $other, $other)), 0), 0,
                           (mul (mul $g, $other), (reciprocal (add (mul $input, $input), (mul $other, $other))))),
                    (where (eq (add (mul $input, $input), (mul $other, $other)), 0), 0,
                           (mul (mul $g, (neg $input)),
                                (reciprocal (add (mul $input, $input), (mul $other, $other)))))];
  let summary = "Angle of the point (other, input), in (-pi, pi].";
  let example = [{
    >>> tandem.atan2(tandem.tensor([1., 1.]), tandem.tensor([1., -1.]))
    tensor([0.7854, 2.3562])
  }];
  let samples = "binary";
  let reference = "arctan2";
}

def : Unary<"sinc", "Float"> {
  let forms = ["function", "method", "inplace", "special"];
  let body = [(sinc $input)];
  let derivative = [(mul $g, (sinc_slope $input))];
  let summary = "sin(pi input) / (pi input), 1 at 0.";
  let example = [{
    >>> tandem.sinc(tandem.tensor([0., 0.5, 1.5]))
    tensor([ 1.0000,  0.6366, -0.2122])
  }];
}

def : Composite<"sinc_slope", "Tensor input"> {
  let forms = ["hidden"];
  let summary = "The derivative of sinc, right to every order at 0 too.";
  let samples = "none";
}

def : Composite<"deg2rad", "Tensor input"> {
  let forms = ["function", "method", "inplace"];
  let summary = "Degrees as radians: input * pi / 180.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "Float";
  let example = [{
    >>> tandem.deg2rad(tandem.tensor([180., 90.]))
    tensor([3.1416, 1.5708])
  }];
}

def : Composite<"rad2deg", "Tensor input"> {
  let forms = ["function", "method", "inplace"];
  let summary = "Radians as degrees: input * 180 / pi.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "Float";
  let example = [{
    >>> tandem.rad2deg(tandem.tensor([3.14159265, 0.]))
    tensor([180.,   0.])
  }];
}

def : Unary<"sinh", "Float"> {
  let gpuMixedPrecision = "Float32";
  let body = [(sinh $input)];
  let derivative = [(mul $g, (cosh $input))];
  let summary = "Hyperbolic sine.";
  let example = [{
    >>> tandem.sinh(tandem.tensor([0., 1.]))
    tensor([0.0000, 1.1752])
  }];
}

def : Unary<"cosh", "Float"> {
  let gpuMixedPrecision = "Float32";
  let body = [(cosh $input)];
  let derivative = [(mul $g, (sinh $input))];
  let summary = "Hyperbolic cosine.";
  let example = [{
    >>> tandem.cosh(tandem.tensor([0., 1.]))
    tensor([1.0000, 1.5431])
  }];
}

def : Unary<"tanh", "Float"> {
  let body = [(tanh $input)];
  let derivative = [(mul $g, (sub 1, (square $out)))];
  let summary = "Hyperbolic tangent.";
  let example = [{
    >>> tandem.tanh(tandem.tensor([0., 1., -100.]))
    tensor([ 0.0000,  0.7616, -1.0000])
  }];
}

def : Unary<"asinh", "Float"> {
  let aliases = ["arcsinh"];
  let body = [(asinh $input)];
  let derivative = [(mul $g, (rsqrt (add 1, (square $input))))];
  let summary = "Inverse hyperbolic sine.";
  let example = [{
    >>> tandem.asinh(tandem.tensor([0., 1.]))
    tensor([0.0000, 0.8814])
  }];
  let reference = "arcsinh";
}

def : Unary<"acosh", "Float"> {
  let aliases = ["arccosh"];
  let body = [(acosh $input)];
  let derivative = [(mul $g, (rsqrt (sub (square $input), 1)))];
  let summary = "Inverse hyperbolic cosine.";
  let example = [{
    >>> tandem.acosh(tandem.tensor([1., 2.]))
    tensor([0.0000, 1.3170])
  }];
  let reference = "arccosh";
}

def : Unary<"atanh", "Float"> {
  let aliases = ["arctanh"];
  let body = [(atanh $input)];
  let derivative = [(div $g, (sub 1, (square $input)))];
  let summary = "Inverse hyperbolic tangent.";
  let example = [{
    >>> tandem.atanh(tandem.tensor([0., 0.5]))
    tensor([0.0000, 0.5493])
  }];
  let reference = "arctanh";
}
