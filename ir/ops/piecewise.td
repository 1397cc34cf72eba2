// Functions by cases, as one step each. Their gradients are stated as PyTorch gives them at the bounds, at NaN and at
// infinities; those of `..._grad` depend on where they were taken, with derivative 0, as the graph of PyTorch says.

class Case<string n, string t, string p> : Pointwise<n, t, p> { let forms = ["hidden"]; let samples = "none"; }

def LeakyReluUnit : Case<"leaky_relu_unit", "Promote", "Tensor input, Operand slope"> { let summary = "input where input > 0, else slope * input."; let body = [(select (gt $input, 0), $input, (mul $input, $slope))]; }
def LeakyReluGrad : Case<"leaky_relu_grad", "Promote", "Tensor grad, Tensor at, Operand slope"> { let summary = "`grad` where `at` > 0, else slope * grad."; let body = [(select (gt $at, 0), $grad, (mul $grad, $slope))]; }
def : Derivative<LeakyReluUnit, [(leaky_relu_grad $g, $input, $slope), (where (gt $input, 0), 0, (mul $g, $input))]>;
def : Derivative<LeakyReluGrad, [(leaky_relu_grad $g, $at, $slope), (zeros_like $at), (where (gt $at, 0), 0, (mul $g, $grad))]>;

// At 0 the second derivative is 0.
def EluUnit : Case<"elu_unit", "Promote", "Tensor input, Operand scale, Operand factor, Operand divisor"> { let summary = "scale * input where input > 0, else factor * (exp(input / divisor) - 1)."; let body = [(select (gt $input, 0), (mul $input, $scale), (mul (expm1 (div $input, $divisor)), $factor))]; }
def : Derivative<EluUnit, [(where (le $input, 0), (div (mul (mul $g, $factor), (exp (div (where (lt $input, 0), $input, 0), $divisor))), $divisor), (mul $g, $scale)), (none), (none), (none)]>;

def HardtanhUnit : Case<"hardtanh_unit", "First", "Tensor input, Operand low, Operand high"> { let summary = "input limited to [low, high]; NaN stays NaN."; let body = [(select (lt $input, $low), $low, (select (gt $input, $high), $high, $input))]; }
def InsideGrad : Case<"inside_grad", "First", "Tensor grad, Tensor at, Operand low, Operand high"> { let summary = "`grad` where low < at < high, else 0."; let body = [(select (gt $at, $low), (select (lt $at, $high), $grad, 0), 0)]; }
def : Derivative<HardtanhUnit, [(inside_grad $g, $input, $low, $high), (none), (none)]>;
def : Derivative<InsideGrad, [(inside_grad $g, $at, $low, $high), (zeros_like $at), (none), (none)]>;

def HardswishUnit : Case<"hardswish_unit", "First", "Tensor input"> { let summary = "input * min(max(input + 3, 0), 6) / 6."; let body = [(div (mul $input, (select (le (add $input, 3), 0), 0, (select (ge (add $input, 3), 6), 6, (add $input, 3)))), 6)]; }
def : Derivative<HardswishUnit, [(where (le $input, -3), 0, (where (lt $input, 3), (mul $g, (add (div $input, 3), "0.5")), $g))]>;

def HardshrinkUnit : Case<"hardshrink_unit", "First", "Tensor input, Operand bound"> { let summary = "input, and 0 where |input| <= bound."; let body = [(select (le (abs $input), $bound), 0, $input)]; }
// The product keeps NaN.
def SoftshrinkUnit : Case<"softshrink_unit", "First", "Tensor input, Operand bound"> { let summary = "input moved towards 0 by bound, and 0 where |input| <= bound."; let body = [(select (gt $input, $bound), (sub $input, $bound), (select (lt $input, (neg $bound)), (add $input, $bound), (mul $input, 0)))]; }
def OutsideGrad : Case<"outside_grad", "First", "Tensor grad, Tensor at, Operand bound"> { let summary = "`grad` where |at| > bound, else 0."; let body = [(select (gt (abs $at), $bound), $grad, 0)]; }
def : Derivative<HardshrinkUnit, [(outside_grad $g, $input, $bound), (none)]>;
def : Derivative<SoftshrinkUnit, [(outside_grad $g, $input, $bound), (none)]>;
def : Derivative<OutsideGrad, [(outside_grad $g, $at, $bound), (zeros_like $at), (none)]>;

def ThresholdUnit : Case<"threshold_unit", "First", "Tensor input, Operand least, Operand value"> { let summary = "input, and value where input <= least."; let body = [(select (le $input, $least), $value, $input)]; }
def ThresholdGrad : Case<"threshold_grad", "First", "Tensor grad, Tensor at, Operand least"> { let summary = "`grad`, and 0 where at <= least."; let body = [(select (le $at, $least), 0, $grad)]; }
def : Derivative<ThresholdUnit, [(threshold_grad $g, $input, $least), (none), (none)]>;
def : Derivative<ThresholdGrad, [(threshold_grad $g, $at, $least), (zeros_like $at), (none)]>;

// A bound that is met passes the gradient to the input; NaN, of input or bound, passes none. The sum is the NaN of either.
def ClampLow : Case<"clamp_low", "Promote", "Tensor input, Operand min"> { let summary = "The larger of input and min."; let body = [(select (isnan $min), $min, (select (lt $input, $min), $min, $input))]; }
def ClampHigh : Case<"clamp_high", "Promote", "Tensor input, Operand max"> { let summary = "The smaller of input and max."; let body = [(select (isnan $max), $max, (select (gt $input, $max), $max, $input))]; }
def : Derivative<ClampLow, [(where (ge $input, $min), $g, 0), (where (lt $input, $min), $g, 0)]>;
def : Derivative<ClampHigh, [(where (le $input, $max), $g, 0), (where (gt $input, $max), $g, 0)]>;
// NaN in the input is passed on because it compares false. That of a number as a bound is asked for once a row.
defvar raised = (select (isnan $min), $min, (select (lt $input, $min), $min, $input));
def ClampBand : Case<"clamp_band", "Promote", "Tensor input, Operand min, Operand max"> { let summary = "The smaller of max and the larger of input and min."; let body = [(select (isnan $max), $max, (select (gt raised, $max), $max, raised))]; }
def : Derivative<ClampBand, [(where (logical_and (ge $input, $min), (le $input, $max)), $g, 0),
                             (where (logical_and (lt $input, $min), (lt $min, $max)), $g, 0),
                             (where (logical_or (gt $input, $max), (lt $max, $min)), $g, 0)]>;

// From the nearer side, so that a weight of 1 gives `end` itself.
def LerpUnit : Case<"lerp_unit", "Promote", "Tensor input, Tensor end, Operand weight"> { let summary = "input + weight * (end - input)."; let body = [(select (lt (abs $weight), "0.5"), (add $input, (mul (sub $end, $input), $weight)), (sub $end, (mul (sub $end, $input), (sub 1, $weight))))]; }
def : Derivative<LerpUnit, [(sub $g, (mul $g, $weight)), (mul $g, $weight), (mul $g, (sub $end, $input))]>;

// A number's size as the norm of one element: at infinities there is no direction.
def NormUnit : Case<"norm_unit", "First", "Tensor input"> { let summary = "|input|."; let body = [(abs $input)]; }
def : Derivative<NormUnit, [(mul $g, (where (eq $out, 0), 0, (div $input, (where (eq $out, 0), 1, $out))))]>;
def LogitClamped : Case<"logit_clamped", "First", "Tensor input, Operand low, Operand high"> { let summary = "log(x / (1 - x)) of the input limited to [low, high]."; let body = [(logit (select (lt $input, $low), $low, (select (gt $input, $high), $high, $input)))]; }
def : Derivative<LogitClamped, [(where (logical_and (ge $input, $low), (le $input, $high)), (div $g, (mul $input, (sub 1, $input))), 0), (none), (none)]>;
// Part of the graph, but no gradient passes: what leads to it alone has None.
def NonZeroUnit : Case<"nonzero_unit", "First", "Tensor input"> { let summary = "0 at 0, else 1, also at NaN."; let body = [(select (eq $input, 0), 0, 1)]; }
def : Derivative<NonZeroUnit, [(none)]>;
