// Rounding, the parts and neighbours of numbers, signs.

def : Unary<"floor", "Promote"> {
  let domain = "Number";
  let body = [(floor $input)];
  let derivative = [(zeros_like $g)];
  let summary = "Largest integer not above input.";
  let example = [{
    >>> tandem.floor(tandem.tensor([1.7, -1.2]))
    tensor([ 1., -2.])
  }];
}

def : Unary<"ceil", "Promote"> {
  let domain = "Number";
  let body = [(ceil $input)];
  let derivative = [(zeros_like $g)];
  let summary = "Smallest integer not below input.";
  let example = [{
    >>> tandem.ceil(tandem.tensor([1.2, -1.7]))
    tensor([ 2., -1.])
  }];
}

def : Unary<"trunc", "Promote"> {
  let aliases = ["fix"];
  let domain = "Number";
  let body = [(trunc $input)];
  let derivative = [(zeros_like $g)];
  let summary = "Integer part.";
  let example = [{
    >>> tandem.trunc(tandem.tensor([1.7, -1.7]))
    tensor([ 1., -1.])
  }];
}

def : Unary<"round_even", "Promote"> {
  let domain = "Number";
  let forms = ["hidden"];
  let body = [(round $input)];
  let derivative = [(zeros_like $g)];
  let summary = "Nearest integer, halves to even.";
  let reference = "round";
}

def : Composite<"round", "Tensor input, *, int decimals=0"> {
  let forms = ["function", "method", "inplace", "special"];
  let summary = "Nearest integer (or multiple of 10^-decimals), halves to even.";
  let shapes = "Same";
  let accepts = "Number";
  let gives = "First";
  let example = [{
    >>> tandem.round(tandem.tensor([0.5, 1.5, 2.7]))
    tensor([0., 2., 3.])
    >>> tandem.round(tandem.tensor(3.14159), decimals=2)
    tensor(3.1400)
  }];
  let reference = "round";
}

def : Unary<"frac", "Promote"> {
  let domain = "Floating";
  let body = [(frac $input)];
  let derivative = [(identity $g)];
  let summary = "What `trunc` takes away: input - trunc(input), with the sign of input.";
  let example = [{
    >>> tandem.frac(tandem.tensor([1.75, -2.5]))
    tensor([ 0.7500, -0.5000])
  }];
  let reference = "";
}

// Parts and neighbours of numbers.
def : Unary<"frexp_mantissa", "Promote"> {
  let domain = "Floating";
  let forms = ["hidden"];
  let body = [(frexp_mantissa $input)];
  let derivative = [(mul $g, (exp2 (neg (frexp_exponent $input))))];
  let summary = "The m in [0.5, 1) with input = m 2^e.";
  let samples = "none";
}

def : Unary<"frexp_exponent", "Promote"> {
  let domain = "Floating";
  let forms = ["hidden"];
  let body = [(frexp_exponent $input)];
  let differentiable = 0;
  let summary = "The e of the same, in the dtype of input.";
  let samples = "none";
}

def : Composite<"frexp", "Tensor input"> {
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let fields = ["mantissa", "exponent"];
  let summary = "Mantissas in [0.5, 1) and exponents, input = mantissa * 2^exponent; zeros, infinities and NaN are "
                "their own mantissas, of exponent 0.";
  let shapes = "Same";
  let accepts = "Floating";
  let gives = "that of `input`; `exponent` holds int32";
  let example = [{
    >>> mantissa, exponent = tandem.frexp(tandem.tensor([3., -0.1, 0.]))
    >>> mantissa
    tensor([ 0.7500, -0.8000,  0.0000])
    >>> exponent
    tensor([ 2, -3,  0], dtype=tandem.int32)
  }];
}

def : TensorPair<"nextafter", "Promote"> {
  let domain = "Floating";
  let body = [(nextafter $input, $other, $dtype)];
  let derivative = [(where (eq $input, $other), 0, $g), (zeros_like $g)];
  let summary = "The number of the dtype next to `input` in the direction of `other`.";
  let example = [{
    >>> tandem.nextafter(tandem.tensor([0., -1.]), tandem.tensor([1., -1.]))
    tensor([ 1.4013e-45, -1.0000e+00])
  }];
  let samples = "composite";
}

def : Pointwise<"copysign", "Float", "Tensor input, Operand other"> {
  let body = [(copysign $input, $other)];
  let derivative = [(mul $g, (where (eq $input, 0), 0, (div $out, $input))), (zeros_like $g)];
  let summary = "|input| with the sign of `other`.";
  let example = [{
    >>> tandem.copysign(tandem.tensor([1., 2.]), tandem.tensor([-1., 1.]))
    tensor([-1.,  2.])
  }];
  let samples = "binary";
  let reference = "copysign";
}

def : Unary<"signbit", "Compare"> {
  let forms = ["function", "method"];
  let body = [(signbit $input)];
  let differentiable = 0;
  let summary = "Is the sign bit set? True for -0.0.";
  let example = [{
    >>> tandem.signbit(tandem.tensor([1., -1., -0.]))
    tensor([False,  True,  True])
  }];
}

def : Unary<"angle", "Float"> {
  let forms = ["function", "method"];
  let body = [(select (lt $input, 0), "3.14159265358979323846", (select (isnan $input), $input, 0))];
  let derivative = [(zeros_like $g)];
  let summary = "The argument of a real number: pi below 0, else 0; NaN of NaN.";
  let example = [{
    >>> tandem.angle(tandem.tensor([-1., 0., 2.]))
    tensor([3.1416, 0.0000, 0.0000])
  }];
  let reference = "";
}

def : Composite<"isreal", "Tensor input"> {
  let takesOut = 0;
  let summary = "Is real: True, as all dtypes are.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "Bool";
  let example = [{
    >>> tandem.isreal(tandem.tensor([1., -2.]))
    tensor([True, True])
  }];
  let reference = "isreal";
}

def : Pointwise<"nan_to_num_plain", "First", "Tensor input, Scalar nan, Scalar posinf, Scalar neginf"> {
  let forms = ["hidden"];
  let body = [(select (isnan $input), $nan,
                      (select (isinf $input), (select (gt $input, 0), $posinf, $neginf), $input))];
  let derivative = [(where (isfinite $input), $g, 0), (none), (none), (none)];
  let summary = "`nan`, `posinf` and `neginf` in place of NaN and the infinities.";
  let samples = "none";
}

def : Composite<"nan_to_num", "Tensor input, Scalar? nan=None, Scalar? posinf=None, Scalar? neginf=None"> {
  let forms = ["function", "method", "inplace"];
  let summary = "`nan` (0) in place of NaN, `posinf` and `neginf` (the largest and smallest finite) in place of the "
                "infinities.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.nan_to_num(tandem.tensor([float("nan"), float("inf"), 1.]), posinf=100.)
    tensor([  0., 100.,   1.])
  }];
}
