// Comparisons, logic, shifts of bits and tests of elements; choices by them.

def : Binary<"eq", "Compare"> {
  let tensors = 1;
  let body = [(eq $input, $other)];
  let differentiable = 0;
  let summary = "input == other.";
  let example = [{
    >>> tandem.eq(tandem.tensor([1, 2, 3]), tandem.tensor([1, 0, 3]))
    tensor([ True, False,  True])
  }];
  let inPlaceExample = [{
    >>> tandem.tensor([1, 2, 3]).eq_(2)
    tensor([0, 1, 0])
  }];
  let reference = "equal";
}

def : Binary<"ne", "Compare"> {
  let tensors = 1;
  let aliases = ["not_equal"];
  let body = [(ne $input, $other)];
  let differentiable = 0;
  let summary = "input != other.";
  let example = [{
    >>> tandem.ne(tandem.tensor([1, 2, 3]), 2)
    tensor([ True, False,  True])
  }];
  let inPlaceExample = [{
    >>> tandem.tensor([1, 2, 3]).ne_(2)
    tensor([1, 0, 1])
  }];
  let reference = "not_equal";
}

def : Binary<"lt", "Compare"> {
  let tensors = 1;
  let aliases = ["less"];
  let body = [(lt $input, $other)];
  let differentiable = 0;
  let summary = "input < other.";
  let example = [{
    >>> tandem.lt(tandem.tensor([1, 2, 3]), 2)
    tensor([ True, False, False])
  }];
  let inPlaceExample = [{
    >>> tandem.tensor([1, 2, 3]).lt_(2)
    tensor([1, 0, 0])
  }];
  let reference = "less";
}

def : Binary<"le", "Compare"> {
  let tensors = 1;
  let aliases = ["less_equal"];
  let body = [(le $input, $other)];
  let differentiable = 0;
  let summary = "input <= other.";
  let example = [{
    >>> tandem.le(tandem.tensor([1, 2, 3]), 2)
    tensor([ True,  True, False])
  }];
  let inPlaceExample = [{
    >>> tandem.tensor([1, 2, 3]).le_(2)
    tensor([1, 1, 0])
  }];
  let reference = "less_equal";
}

def : Binary<"gt", "Compare"> {
  let tensors = 1;
  let aliases = ["greater"];
  let body = [(gt $input, $other)];
  let differentiable = 0;
  let summary = "input > other.";
  let example = [{
    >>> tandem.gt(tandem.tensor([1, 2, 3]), 2)
    tensor([False, False,  True])
  }];
  let inPlaceExample = [{
    >>> tandem.tensor([1, 2, 3]).gt_(2)
    tensor([0, 0, 1])
  }];
  let reference = "greater";
}

def : Binary<"ge", "Compare"> {
  let tensors = 1;
  let aliases = ["greater_equal"];
  let body = [(ge $input, $other)];
  let differentiable = 0;
  let summary = "input >= other.";
  let example = [{
    >>> tandem.ge(tandem.tensor([1, 2, 3]), 2)
    tensor([False,  True,  True])
  }];
  let inPlaceExample = [{
    >>> tandem.tensor([1, 2, 3]).ge_(2)
    tensor([0, 1, 1])
  }];
  let reference = "greater_equal";
}

def : Composite<"isclose",
    "Tensor input, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False"> {
  let takesOut = 0;
  let summary = "|input - other| <= atol + rtol * |other|, elementwise.";
  let shapes = "Broadcast";
  let accepts = "Any";
  let gives = "Bool";
  let example = [{
    >>> tandem.isclose(tandem.tensor([1., 2.]), tandem.tensor([1. + 1e-7, 2.1]))
    tensor([ True, False])
  }];
  let reference = "isclose";
}

// What checks of values ask, as one step.
def : Case<"within", "Compare", "Tensor input, Operand low, Operand high"> {
  let body = [(and_ (ge $input, $low), (le $input, $high))];
  let differentiable = 0;
  let summary = "low <= input <= high.";
}

def : Binary<"logical_and", "Logical"> {
  let tensors = 2;
  let body = [(and_ $input, $other)];
  let differentiable = 0;
  let summary = "Both are nonzero.";
  let example = [{
    >>> tandem.logical_and(tandem.tensor([0, 1, 2]), tandem.tensor([1, 1, 0]))
    tensor([False,  True, False])
  }];
  let inPlaceExample = [{
    >>> tandem.tensor([0, 1, 2]).logical_and_(tandem.tensor([1, 1, 0]))
    tensor([0, 1, 0])
  }];
}

def : Binary<"logical_or", "Logical"> {
  let tensors = 2;
  let body = [(or_ $input, $other)];
  let differentiable = 0;
  let summary = "Either is nonzero.";
  let example = [{
    >>> tandem.logical_or(tandem.tensor([0, 1, 2]), tandem.tensor([0, 1, 0]))
    tensor([False,  True,  True])
  }];
  let inPlaceExample = [{
    >>> tandem.tensor([0, 1, 2]).logical_or_(tandem.tensor([0, 1, 0]))
    tensor([0, 1, 1])
  }];
}

def : Binary<"logical_xor", "Logical"> {
  let tensors = 2;
  let body = [(xor_ $input, $other)];
  let differentiable = 0;
  let summary = "Exactly one is nonzero.";
  let example = [{
    >>> tandem.logical_xor(tandem.tensor([0, 1, 2]), tandem.tensor([1, 1, 0]))
    tensor([ True, False,  True])
  }];
  let inPlaceExample = [{
    >>> tandem.tensor([0, 1, 2]).logical_xor_(tandem.tensor([1, 1, 0]))
    tensor([1, 0, 1])
  }];
}

def : Unary<"logical_not", "Logical"> {
  let body = [(not_ $input)];
  let differentiable = 0;
  let summary = "Is zero.";
  let example = [{
    >>> tandem.logical_not(tandem.tensor([0., 0.5]))
    tensor([ True, False])
  }];
  let inPlaceExample = [{
    >>> tandem.tensor([0., 0.5]).logical_not_()
    tensor([1., 0.])
  }];
}

def : Binary<"bitwise_and", "Promote"> {
  let domain = "Integral";
  let body = [(and_ $input, $other)];
  let differentiable = 0;
  let summary = "Bitwise and of integers, logical and of bools.";
  let example = [{
    >>> tandem.bitwise_and(tandem.tensor([12, 10]), 6)
    tensor([4, 2])
  }];
  let samples = "integers";
}

def : Binary<"bitwise_or", "Promote"> {
  let domain = "Integral";
  let body = [(or_ $input, $other)];
  let differentiable = 0;
  let summary = "Bitwise or of integers, logical or of bools.";
  let example = [{
    >>> tandem.bitwise_or(tandem.tensor([12, 10]), 6)
    tensor([14, 14])
  }];
  let samples = "integers";
}

def : Binary<"bitwise_xor", "Promote"> {
  let domain = "Integral";
  let body = [(xor_ $input, $other)];
  let differentiable = 0;
  let summary = "Bitwise exclusive or of integers, logical of bools.";
  let example = [{
    >>> tandem.bitwise_xor(tandem.tensor([12, 10]), 6)
    tensor([10, 12])
  }];
  let samples = "integers";
}

def : Unary<"bitwise_not", "Promote"> {
  let domain = "Integral";
  let body = [(not_ $input)];
  let differentiable = 0;
  let summary = "Bitwise complement of integers, logical not of bools.";
  let example = [{
    >>> tandem.bitwise_not(tandem.tensor([0, 5]))
    tensor([-1, -6])
  }];
  let samples = "integers";
  let reference = "invert";
}

def : Binary<"bitwise_left_shift", "Promote"> {
  let domain = "Integer";
  let body = [(shift_left $input, $other)];
  let differentiable = 0;
  let summary = "input * 2^other, the bits that leave the integer lost; 0 for other < 0 or beyond its width.";
  let example = [{
    >>> tandem.bitwise_left_shift(tandem.tensor([1, 3]), 2)
    tensor([ 4, 12])
  }];
  let samples = "shifts";
  let reference = "";
}

def : Binary<"bitwise_right_shift", "Promote"> {
  let domain = "Integer";
  let body = [(shift_right $input, $other)];
  let differentiable = 0;
  let summary = "floor(input / 2^other); what shifting far enough gives for other < 0 or beyond the width.";
  let example = [{
    >>> tandem.bitwise_right_shift(tandem.tensor([8, -8]), 2)
    tensor([ 2, -2])
  }];
  let samples = "shifts";
  let reference = "";
}

def : Unary<"isnan", "Compare"> {
  let forms = ["function", "method"];
  let takesOut = 0;
  let body = [(isnan $input)];
  let differentiable = 0;
  let summary = "Is NaN.";
  let example = [{
    >>> tandem.isnan(tandem.tensor([1., float("nan")]))
    tensor([False,  True])
  }];
}

def : Unary<"isinf", "Compare"> {
  let forms = ["function", "method"];
  let takesOut = 0;
  let body = [(isinf $input)];
  let differentiable = 0;
  let summary = "Is an infinity.";
  let example = [{
    >>> tandem.isinf(tandem.tensor([1., float("-inf")]))
    tensor([False,  True])
  }];
}

def : Unary<"isfinite", "Compare"> {
  let forms = ["function", "method"];
  let takesOut = 0;
  let body = [(isfinite $input)];
  let differentiable = 0;
  let summary = "Is neither NaN nor an infinity.";
  let example = [{
    >>> tandem.isfinite(tandem.tensor([1., float("inf"), float("nan")]))
    tensor([ True, False, False])
  }];
}

def : Composite<"isposinf", "Tensor input"> {
  let summary = "Is positive infinity.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "Bool";
  let example = [{
    >>> tandem.isposinf(tandem.tensor([1., float("inf"), float("-inf")]))
    tensor([False,  True, False])
  }];
  let reference = "isposinf";
}

def : Composite<"isneginf", "Tensor input"> {
  let summary = "Is negative infinity.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "Bool";
  let example = [{
    >>> tandem.isneginf(tandem.tensor([1., float("inf"), float("-inf")]))
    tensor([False, False,  True])
  }];
  let reference = "isneginf";
}

// Part of the graph, but no gradient passes: what leads to it alone has None.
def : Case<"nonzero_plain", "First", "Tensor input"> {
  let body = [(select (eq $input, 0), 0, 1)];
  let derivative = [(none)];
  let summary = "0 at 0, else 1, also at NaN.";
}

def : Pointwise<"where", "Select", "Tensor condition, Operand input, Operand other"> {
  let shape = "selection";
  let partial = "Choice";
  let forms = ["function"];
  let body = [(select $condition, $input, $other)];
  let derivative = [(none), (where $condition, $g, 0), (where $condition, 0, $g)];
  let summary = "`input` where `condition` holds, `other` elsewhere.";
  let example = [{
    >>> x = tandem.tensor([-1., 2., -3.])
    >>> tandem.where(x > 0, x, 0.)
    tensor([0., 2., 0.])
  }];
  let samples = "where";
  let reference = "where";
}

def : Composite<"where_method", "Tensor input, Tensor condition, Operand other"> {
  let python = "where";
  let forms = ["method"];
  let summary = "`input` where `condition` holds, `other` elsewhere.";
  let shapes = "`condition` and `other` broadcast with `input` to the shape of the result";
  let accepts = "Any";
  let gives = "Promote";
  let example = [{
    >>> x = tandem.tensor([1., -2., 3.])
    >>> x.where(x > 0, 0.)
    tensor([1., 0., 3.])
  }];
}

def : Composite<"where_true", "Tensor condition"> {
  let python = "where";
  let results = "Tensor[]";
  let forms = ["function"];
  let differentiable = 0;
  let summary = "Where `condition` holds: a vector of indices a dim, as `nonzero(as_tuple=True)`.";
  let shapes = "one vector [number of true elements] a dim, for 0-d as for [1]";
  let accepts = "Any";
  let gives = "Int64";
  let example = [{
    >>> tandem.where(tandem.tensor([[True, False], [False, True]]))
    (tensor([0, 1]), tensor([0, 1]))
  }];
}

def : Binary<"maximum", "Promote"> {
  let tensors = 2;
  let forms = ["function", "method"];
  let body = [(maximum $input, $other)];
  let rule = "maximum";
  let saves = ["input", "other"];
  let summary = "The larger operand; NaN if either is.";
  let example = [{
    >>> tandem.maximum(tandem.tensor([1., 5., float("nan")]), tandem.tensor([3., 2., 0.]))
    tensor([3., 5., nan])
  }];
}

def : Composite<"max_pair", "Tensor input, Tensor other"> {
  let python = "max";
  let summary = "The larger of two, elementwise.";
  let shapes = "Broadcast";
  let accepts = "Any";
  let gives = "Promote";
  let example = [{
    >>> tandem.max(tandem.tensor([1., 5.]), tandem.tensor([3., 2.]))
    tensor([3., 5.])
  }];
}

def : Binary<"minimum", "Promote"> {
  let tensors = 2;
  let forms = ["function", "method"];
  let body = [(minimum $input, $other)];
  let rule = "minimum";
  let saves = ["input", "other"];
  let summary = "The smaller operand; NaN if either is.";
  let example = [{
    >>> tandem.minimum(tandem.tensor([1., 5., float("nan")]), tandem.tensor([3., 2., 0.]))
    tensor([1., 2., nan])
  }];
}

def : Composite<"min_pair", "Tensor input, Tensor other"> {
  let python = "min";
  let summary = "The smaller of two, elementwise.";
  let shapes = "Broadcast";
  let accepts = "Any";
  let gives = "Promote";
  let example = [{
    >>> tandem.min(tandem.tensor([1., 5.]), tandem.tensor([3., 2.]))
    tensor([1., 2.])
  }];
}

def : TensorPair<"fmax", "Promote"> {
  let forms = ["function", "method"];
  let body = [(fmax $input, $other)];
  let derivative = [(where (logical_or (ge $input, $other), (isnan $other)), $g, 0),
                    (where (logical_or (ge $input, $other), (isnan $other)), 0, $g)];
  let summary = "The larger operand; the other one where either is NaN.";
  let example = [{
    >>> tandem.fmax(tandem.tensor([1., float("nan")]), tandem.tensor([3., 2.]))
    tensor([3., 2.])
  }];
}

def : TensorPair<"fmin", "Promote"> {
  let forms = ["function", "method"];
  let body = [(fmin $input, $other)];
  let derivative = [(where (logical_or (le $input, $other), (isnan $other)), $g, 0),
                    (where (logical_or (le $input, $other), (isnan $other)), 0, $g)];
  let summary = "The smaller operand; the other one where either is NaN.";
  let example = [{
    >>> tandem.fmin(tandem.tensor([1., float("nan")]), tandem.tensor([3., 2.]))
    tensor([1., 2.])
  }];
}

// A bound that is met passes the gradient to the input; NaN, of input or bound, passes none. The sum is the NaN of
// either.
def : Case<"clamp_low", "Promote", "Tensor input, Operand min"> {
  let body = [(select (isnan $min), $min, (select (lt $input, $min), $min, $input))];
  let derivative = [(where (ge $input, $min), $g, 0), (where (lt $input, $min), $g, 0)];
  let summary = "The larger of input and min.";
}

def : Case<"clamp_high", "Promote", "Tensor input, Operand max"> {
  let body = [(select (isnan $max), $max, (select (gt $input, $max), $max, $input))];
  let derivative = [(where (le $input, $max), $g, 0), (where (gt $input, $max), $g, 0)];
  let summary = "The smaller of input and max.";
}

// NaN in the input is passed on because it compares false. That of a number as a bound is asked for once a row.
defvar raised = (select (isnan $min), $min, (select (lt $input, $min), $min, $input));
def : Case<"clamp_band", "Promote", "Tensor input, Operand min, Operand max"> {
  let body = [(select (isnan $max), $max, (select (gt raised, $max), $max, raised))];
  let derivative = [(where (logical_and (ge $input, $min), (le $input, $max)), $g, 0),
                    (where (logical_and (lt $input, $min), (lt $min, $max)), $g, 0),
                    (where (logical_or (gt $input, $max), (lt $max, $min)), $g, 0)];
  let summary = "The smaller of max and the larger of input and min.";
}

def : Composite<"clamp", "Tensor input, Operand? min=None, Operand? max=None"> {
  let aliases = ["clip"];
  let forms = ["function", "method", "inplace"];
  let summary = "Elements below `min` raised to it, above `max` lowered to it; NaN stays NaN.";
  let shapes = "Broadcast";
  let accepts = "Number";
  let gives = "Promote";
  let example = [{
    >>> tandem.clamp(tandem.tensor([-2., 0.5, 7.]), min=0., max=1.)
    tensor([0.0000, 0.5000, 1.0000])
  }];
  let reference = "clip";
}

def : Composite<"clamp_min", "Tensor input, Operand min"> {
  let forms = ["function", "method", "inplace"];
  let summary = "Elements below `min` raised to it; NaN stays NaN.";
  let shapes = "Broadcast";
  let accepts = "Any";
  let gives = "Promote";
  let example = [{
    >>> tandem.clamp_min(tandem.tensor([-2, 3]), 0)
    tensor([0, 3])
  }];
}

def : Composite<"clamp_max", "Tensor input, Operand max"> {
  let forms = ["function", "method", "inplace"];
  let summary = "Elements above `max` lowered to it; NaN stays NaN.";
  let shapes = "Broadcast";
  let accepts = "Any";
  let gives = "Promote";
  let example = [{
    >>> tandem.clamp_max(tandem.tensor([-2, 3]), 0)
    tensor([-2,  0])
  }];
}

def : TensorPair<"heaviside_plain", "Promote"> {
  let forms = ["hidden"];
  let body = [(select (eq $input, 0), $other, (select (gt $input, 0), 1, 0))];
  let rule = "refused";
  let summary = "`heaviside` of tensors of one dtype.";
  let samples = "none";
}

def : Composite<"heaviside", "Tensor input, Tensor values"> {
  let forms = ["function", "method", "inplace"];
  let differentiable = 0;
  let summary = "0 below 0, 1 above, `values` at 0. Both of one dtype.";
  let shapes = "Broadcast";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.heaviside(tandem.tensor([-1., 0., 2.]), tandem.tensor([0.5]))
    tensor([0.0000, 0.5000, 1.0000])
  }];
}
