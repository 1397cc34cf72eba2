// Sums, products, quotients, powers and what is made of them, of single elements.

def : Binary<"add", "Promote"> {
  let needsOne = 0;
  let body = [(add $input, $other)];
  let derivative = [(identity $g), (identity $g)];
  let summary = "Sum of the operands.";
  let example = [{
    >>> tandem.add(tandem.tensor([1., 2., 3.]), 10)
    tensor([11., 12., 13.])
  }];
}

def : Composite<"add_alpha", "Operand input, Operand other, *, Scalar alpha"> {
  let python = "add";
  let older = ["input, alpha, other"];
  let forms = ["function", "method", "inplace"];
  let summary = "input + alpha * other.";
  let shapes = "Broadcast";
  let accepts = "Any";
  let gives = "Promote";
  let example = [{
    >>> tandem.add(tandem.tensor([1., 2., 3.]), tandem.tensor([1., 1., 1.]), alpha=0.5)
    tensor([1.5000, 2.5000, 3.5000])
  }];
}

def : Binary<"sub", "Promote"> {
  let needsOne = 0;
  let aliases = ["subtract"];
  let shape = "subtraction";
  let body = [(sub $input, $other)];
  let derivative = [(identity $g), (neg $g)];
  let summary = "Difference of the operands.";
  let accepts = "Number";
  let gives = "Promote";
  let example = [{
    >>> tandem.sub(tandem.tensor([5, 7]), tandem.tensor([1, 2]))
    tensor([4, 5])
  }];
  let reference = "subtract";
}

def : Composite<"sub_alpha", "Operand input, Operand other, *, Scalar alpha"> {
  let python = "sub";
  let older = ["input, alpha, other"];
  let forms = ["function", "method", "inplace"];
  let summary = "input - alpha * other.";
  let shapes = "Broadcast";
  let accepts = "Any";
  let gives = "Promote";
  let example = [{
    >>> tandem.sub(tandem.tensor([5, 7]), tandem.tensor([1, 2]), alpha=2)
    tensor([3, 3])
  }];
}

def : Composite<"rsub", "Tensor input, Operand other, *, Scalar alpha=1"> {
  let takesOut = 0;
  let summary = "other - alpha * input.";
  let shapes = "Broadcast";
  let accepts = "Any";
  let gives = "Promote";
  let example = [{
    >>> tandem.rsub(tandem.tensor([1., 2.]), 10)
    tensor([9., 8.])
  }];
}

def : Binary<"mul", "Promote"> {
  let needsOne = 0;
  let aliases = ["multiply"];
  let wideNumbers = 1;
  let body = [(mul $input, $other)];
  let derivative = [(mul $g, $other), (mul $g, $input)];
  let summary = "Product of the operands.";
  let example = [{
    >>> tandem.mul(tandem.tensor([[1.], [2.]]), tandem.tensor([3., 4.]))
    tensor([[3., 4.],
            [6., 8.]])
  }];
  let inPlaceExample = [{
    >>> tandem.tensor([1., 2.]).mul_(tandem.tensor([3., 4.]))
    tensor([3., 8.])
  }];
  let reference = "multiply";
}

def : Binary<"div", "Float"> {
  let needsOne = 0;
  let aliases = ["divide", "true_divide"];
  let wideNumbers = 1;
  let body = [(div $input, $other)];
  let derivative = [(div $g, $other), (neg (mul $g, (div (div $input, $other), $other)))];
  let summary = "Quotient of the operands; integers are divided as floats.";
  let example = [{
    >>> tandem.div(tandem.tensor([7, 8]), 2)
    tensor([3.5000, 4.0000])
  }];
  let inPlaceExample = [{
    >>> tandem.tensor([7., 8.]).div_(2)
    tensor([3.5000, 4.0000])
  }];
  let reference = "divide";
}

def : Composite<"div_rounding", "Operand input, Operand other, *, str? rounding_mode"> {
  let python = "div";
  let aliases = ["divide"];
  let forms = ["function", "method", "inplace"];
  let summary = "Quotient, rounded as `rounding_mode` says: None, 'floor' or 'trunc'.";
  let shapes = "Broadcast";
  let accepts = "Any";
  let gives = "the promoted dtype of the operands, for integers without `rounding_mode` the default dtype";
  let raises = [Raises<"RuntimeError", "`rounding_mode` is none of these",
                       "tandem.div(tandem.ones(2), 2, rounding_mode=\"up\")">];
  let example = [{
    >>> tandem.div(tandem.tensor([-7, 7]), 2, rounding_mode="floor")
    tensor([-4,  3])
    >>> tandem.div(tandem.tensor([-7, 7]), 2, rounding_mode="trunc")
    tensor([-3,  3])
  }];
}

def : Composite<"rdiv", "Tensor input, Operand other"> {
  let python = "__rdiv__";
  let forms = ["method"];
  let summary = "other / input.";
  let shapes = "Broadcast";
  let accepts = "Any";
  let gives = "Float";
  let example = [{
    >>> 1 / tandem.tensor([2., 4.])
    tensor([0.5000, 0.2500])
  }];
}

def : Binary<"floor_divide", "Promote"> {
  let needsOne = 0;
  let domain = "Number";
  let partial = "Divisor";
  let wideNumbers = 1;
  let body = [(floor_divide $input, $other)];
  let rule = "refused";
  let summary = "Quotient rounded towards negative infinity.";
  let accepts = "Number";
  let gives = "Promote";
  let example = [{
    >>> tandem.floor_divide(tandem.tensor([-7, 7]), 2)
    tensor([-4,  3])
  }];
}

def : Binary<"trunc_divide", "Promote"> {
  let needsOne = 0;
  let domain = "Number";
  let partial = "Divisor";
  let wideNumbers = 1;
  let forms = ["hidden"];
  let body = [(trunc_divide $input, $other)];
  let differentiable = 0;
  let summary = "Quotient rounded towards zero.";
  let samples = "none";
}

def : Binary<"remainder", "Promote"> {
  let domain = "Number";
  let partial = "Divisor";
  let body = [(remainder $input, $other)];
  let rule = "remainder";
  let saves = ["input@1", "other@1"];
  let summary = "Remainder with the sign of the divisor, as Python's %.";
  let accepts = "Number";
  let gives = "Promote";
  let example = [{
    >>> tandem.remainder(tandem.tensor([-7, 7]), 3)
    tensor([2, 1])
  }];
}

def : Binary<"fmod", "Promote"> {
  let tensors = 1;
  let domain = "Number";
  let partial = "Divisor";
  let body = [(fmod $input, $other)];
  let derivative = [(identity $g), (neg (mul $g, (trunc_divide $input, $other)))];
  let summary = "Remainder with the sign of the dividend, as C's fmod.";
  let accepts = "Number";
  let gives = "Promote";
  let example = [{
    >>> tandem.fmod(tandem.tensor([-7, 7]), 3)
    tensor([-1,  1])
  }];
}

def : Pointwise<"pow", "Promote", "Operand input, Operand exponent"> {
  let needsOne = 1;
  let gpuMixedPrecision = "Float32";
  let domain = "Number";
  let partial = "Exponent";
  let body = [(pow $input, $exponent)];
  let rule = "pow";
  let saves = ["input", "exponent", "out@1"];
  let summary = "`input` to the power `exponent`.";
  let example = [{
    >>> tandem.pow(tandem.tensor([1., 2., 3.]), 2)
    tensor([1., 4., 9.])
    >>> tandem.pow(2, tandem.tensor([1, 2, 3]))
    tensor([2, 4, 8])
  }];
  let samples = "power";
  let reference = "power";
}

def : Composite<"float_power", "Tensor input, Operand exponent"> {
  let forms = ["function", "method"];
  let summary = "`input` to the power `exponent`, in float64.";
  let shapes = "Broadcast";
  let accepts = "Any";
  let gives = "Float64";
  let example = [{
    >>> tandem.float_power(tandem.tensor([1, 2, 3]), 2)
    tensor([1., 4., 9.], dtype=tandem.float64)
  }];
  let inPlaceExample = [{
    >>> tandem.tensor([1., 2., 3.], dtype=tandem.float64).float_power_(2)
    tensor([1., 4., 9.], dtype=tandem.float64)
  }];
}

def : Composite<"float_power_of", "Scalar input, Tensor exponent"> {
  let python = "float_power";
  let forms = ["function"];
  let summary = "A number to the power `exponent`, in float64.";
  let shapes = "Broadcast";
  let accepts = "Any";
  let gives = "Float64";
  let example = [{
    >>> tandem.float_power(2, tandem.tensor([1, 2, 3]))
    tensor([2., 4., 8.], dtype=tandem.float64)
  }];
}

def : Unary<"neg", "Promote"> {
  let aliases = ["negative"];
  let domain = "Number";
  let body = [(neg $input)];
  let derivative = [(neg $g)];
  let summary = "Negative.";
  let example = [{
    >>> tandem.neg(tandem.tensor([1., -2.]))
    tensor([-1.,  2.])
  }];
  let reference = "negative";
}

def : Composite<"positive", "Tensor input"> {
  let takesOut = 0;
  let summary = "`input` itself.";
  let shapes = "Same";
  let accepts = "Number";
  let gives = "First";
  let example = [{
    >>> tandem.positive(tandem.tensor([1, -2]))
    tensor([ 1, -2])
  }];
}

def : Unary<"abs", "Promote"> {
  let aliases = ["absolute"];
  let domain = "Number";
  let body = [(abs $input)];
  let derivative = [(mul $g, (sign $input))];
  let summary = "Absolute value.";
  let example = [{
    >>> tandem.abs(tandem.tensor([-1, 0, 2]))
    tensor([1, 0, 2])
  }];
}

def : Unary<"sign", "Promote"> {
  let aliases = ["sgn"];
  let body = [(sign $input)];
  let derivative = [(zeros_like $g)];
  let summary = "-1, 0 or 1 by sign; 0 for NaN.";
  let example = [{
    >>> tandem.sign(tandem.tensor([-3., 0., 2.]))
    tensor([-1.,  0.,  1.])
  }];
}

def : Unary<"square", "Number"> {
  let body = [(square $input)];
  let derivative = [(mul $g, (mul 2, $input))];
  let summary = "Square.";
  let accepts = "Any";
  let gives = "that of `input`, int64 for bool";
  let example = [{
    >>> tandem.square(tandem.tensor([-2, 3]))
    tensor([4, 9])
  }];
}

def : Unary<"reciprocal", "Float"> {
  let gpuMixedPrecision = "Float32";
  let body = [(reciprocal $input)];
  let derivative = [(neg (mul $g, (square $out)))];
  let summary = "1 / input.";
  let example = [{
    >>> tandem.reciprocal(tandem.tensor([2., 4.]))
    tensor([0.5000, 0.2500])
  }];
}

def : Unary<"sqrt", "Float"> {
  let body = [(sqrt $input)];
  let derivative = [(div $g, (mul 2, $out))];
  let summary = "Square root; NaN below zero.";
  let example = [{
    >>> tandem.sqrt(tandem.tensor([4., 9., -1.]))
    tensor([2., 3., nan])
  }];
}

def : Unary<"rsqrt", "Float"> {
  let gpuMixedPrecision = "Float32";
  let body = [(rsqrt $input)];
  let derivative = [(mul (mul "-0.5", $g), (mul $out, (square $out)))];
  let summary = "1 / sqrt(input).";
  let example = [{
    >>> tandem.rsqrt(tandem.tensor([4., 16.]))
    tensor([0.5000, 0.2500])
  }];
  let reference = "";
}

def : TensorPair<"hypot", "Promote"> {
  let domain = "Floating";
  let body = [(hypot $input, $other)];
  let derivative = [(mul $g, (div $input, $out)), (mul $g, (div $other, $out))];
  let summary = "sqrt(input^2 + other^2), without overflow.";
  let example = [{
    >>> tandem.hypot(tandem.tensor([3., 5.]), tandem.tensor([4., 12.]))
    tensor([ 5., 13.])
  }];
}

def : Composite<"ldexp", "Tensor input, Tensor other"> {
  let forms = ["function", "method", "inplace"];
  let summary = "input * 2^other, in floating point.";
  let shapes = "Broadcast";
  let accepts = "Any";
  let gives = "Float";
  let example = [{
    >>> tandem.ldexp(tandem.tensor([1., 3.]), tandem.tensor([4, -1]))
    tensor([16.0000,  1.5000])
  }];
}

def : Pointwise<"addcmul_plain", "Promote", "Operand input, Operand tensor1, Operand tensor2"> {
  let forms = ["hidden"];
  let body = [(add $input, (mul $tensor1, $tensor2))];
  let derivative = [(identity $g), (mul $g, $tensor2), (mul $g, $tensor1)];
  let summary = "input + tensor1 * tensor2, rounded twice.";
  let samples = "none";
}

def : Composite<"addcmul", "Tensor input, Tensor tensor1, Tensor tensor2, *, Scalar value=1"> {
  let older = ["input, value, tensor1, tensor2"];
  let forms = ["function", "method", "inplace"];
  let summary = "input + value * tensor1 * tensor2.";
  let shapes = "Broadcast";
  let accepts = "Any";
  let gives = "Promote";
  let example = [{
    >>> tandem.addcmul(tandem.tensor([1., 1.]), tandem.tensor([2., 3.]), tandem.tensor([4., 5.]), value=0.1)
    tensor([1.8000, 2.5000])
  }];
}

def : Composite<"addcdiv", "Tensor input, Tensor tensor1, Tensor tensor2, *, Scalar value=1"> {
  let older = ["input, value, tensor1, tensor2"];
  let forms = ["function", "method", "inplace"];
  let summary = "input + value * tensor1 / tensor2.";
  let shapes = "Broadcast";
  let accepts = "Floating";
  let gives = "Promote";
  let example = [{
    >>> tandem.addcdiv(tandem.tensor([1., 1.]), tandem.tensor([2., 3.]), tandem.tensor([4., 6.]), value=2)
    tensor([2., 2.])
  }];
}

// From the nearer side, so that a weight of 1 gives `end` itself.
def : Case<"lerp_plain", "Promote", "Tensor input, Tensor end, Operand weight"> {
  let body = [(select (lt (abs $weight), "0.5"), (add $input, (mul (sub $end, $input), $weight)),
                      (sub $end, (mul (sub $end, $input), (sub 1, $weight))))];
  let derivative = [(sub $g, (mul $g, $weight)), (mul $g, $weight), (mul $g, (sub $end, $input))];
  let summary = "input + weight * (end - input).";
}

def : Composite<"lerp", "Tensor input, Tensor end, Operand weight"> {
  let forms = ["function", "method", "inplace"];
  let summary = "input + weight * (end - input).";
  let shapes = "Broadcast";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.lerp(tandem.tensor([0., 10.]), tandem.tensor([10., 20.]), 0.25)
    tensor([ 2.5000, 12.5000])
  }];
}

def : Library<"gcd_plain", "Tensor input, Tensor other", "sameAsInput"> {
  let forms = ["hidden"];
  let differentiable = 0;
  let summary = "Greatest common divisors of two integer tensors of one shape and dtype.";
}

def : Composite<"gcd", "Tensor input, Tensor other"> {
  let forms = ["function", "method", "inplace"];
  let summary = "Greatest common divisor of integers, elementwise; not negative.";
  let shapes = "Broadcast";
  let accepts = "Integer";
  let gives = "Promote";
  let example = [{
    >>> tandem.gcd(tandem.tensor([12, 7]), tandem.tensor([18, 21]))
    tensor([6, 7])
  }];
  let reference = "gcd";
}

def : Case<"lcm_by_gcd", "Promote", "Tensor input, Tensor other, Tensor gcd"> {
  let domain = "Number";
  let body = [(abs (mul (trunc_divide $input, (select (eq $gcd, 0), 1, $gcd)), $other))];
  let differentiable = 0;
  let summary = "Least common multiples of integers whose greatest common divisors are known.";
}

def : Composite<"lcm", "Tensor input, Tensor other"> {
  let forms = ["function", "method", "inplace"];
  let summary = "Least common multiple of integers, elementwise; not negative.";
  let shapes = "Broadcast";
  let accepts = "Integer";
  let gives = "Promote";
  let example = [{
    >>> tandem.lcm(tandem.tensor([4, 6]), tandem.tensor([6, 8]))
    tensor([12, 24])
  }];
  let reference = "lcm";
}

def : Pointwise<"clone", "First", "Operand input"> {
  let role = "Copy";
  let forms = ["method"];
  let body = [(identity $input)];
  let derivative = [(identity $g)];
  let summary = "A copy of its own.";
  let example = [{
    >>> x = tandem.tensor([1., 2.])
    >>> y = x.clone()
    >>> y[0] = 5.
    >>> x
    tensor([1., 2.])
  }];
  let samples = "unary";
  let reference = "copy";
}

def : Pointwise<"device_copy", "First", "Tensor input, int device, int origin"> {
  let forms = ["hidden"];
  let body = [(identity $input)];
  let rule = "deviceCopy";
  let summary = "A copy on a device, by its number (deviceNumber); `origin` is that of `input`.";
  let samples = "none";
}

def : Pointwise<"to", "Explicit", "Operand input, dtype dtype"> {
  let role = "Convert";
  let forms = ["hidden"];
  let body = [(cast $input, $type)];
  let derivative = [(identity $g)];
  let summary = "Elements converted to `dtype`.";
  let samples = "none";
}
