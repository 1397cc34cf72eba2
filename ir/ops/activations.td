// Activation functions (Python: tandem.nn.functional). What is said by cases is one step, with the gradient that
// PyTorch gives at the bounds, at NaN and at infinities; a `..._grad` depends on where it was taken, with derivative 0,
// as the graph of PyTorch says. The rest is made of other operations in eager/composites/activations.cpp; `inplace`
// writes into the input.

def : Unary<"relu", "Promote"> {
  let domain = "Number";
  let forms = ["function", "method", "inplace", "nn"];
  let takesOut = 0;
  let body = [(relu $input)];
  // An operation of its own, so that a gradient through it depends on what relu gave, with derivative 0, as the graph
  // says.
  let derivative = [(relu_grad $g, $out)];
  let summary = "max(input, 0); NaN stays NaN.";
  let example = [{
    >>> F.relu(tandem.tensor([-1., 0., 2.]))
    tensor([0., 0., 2.])
  }];
  let reference = "";
}

def : Pointwise<"relu_grad", "Promote", "Tensor grad, Tensor at"> {
  let forms = ["hidden"];
  let body = [(select (le $at, 0), 0, $grad)];
  let derivative = [(relu_grad $g, $at), (zeros_like $at)];
  let summary = "`grad` except where `at` <= 0, which gives 0: how a cotangent passes relu.";
  let samples = "none";
}

class Activation<string n, string p> : Composite<n, p> {
  let forms = ["nn"];
}

def : Activation<"relu_option", "Tensor input, bool inplace"> {
  let python = "relu";
  let summary = "relu, written into the input if `inplace`.";
  let shapes = "Same";
  let accepts = "Number";
  let gives = "First";
  let example = [{
    >>> x = tandem.tensor([-1., 2.])
    >>> F.relu(x, inplace=True) is x
    True
  }];
}

def : Activation<"relu6", "Tensor input, bool inplace=False"> {
  let summary = "x limited to [0, 6].";
  let shapes = "Same";
  let accepts = "Number";
  let gives = "First";
  let example = [{
    >>> F.relu6(tandem.tensor([-1., 3., 8.]))
    tensor([0., 3., 6.])
  }];
}

def : Case<"leaky_relu_plain", "Promote", "Tensor input, Operand slope"> {
  let body = [(select (gt $input, 0), $input, (mul $input, $slope))];
  let derivative = [(leaky_relu_grad $g, $input, $slope), (where (gt $input, 0), 0, (mul $g, $input))];
  let summary = "input where input > 0, else slope * input.";
}

def : Case<"leaky_relu_grad", "Promote", "Tensor grad, Tensor at, Operand slope"> {
  let body = [(select (gt $at, 0), $grad, (mul $grad, $slope))];
  let derivative = [(leaky_relu_grad $g, $at, $slope), (zeros_like $at), (where (gt $at, 0), 0, (mul $g, $grad))];
  let summary = "`grad` where `at` > 0, else slope * grad.";
}

// Of prelu, whose gradient takes the slope at 0 and whose second derivatives take 1 there, in PyTorch.
def : Case<"prelu_plain", "Promote", "Tensor input, Operand slope"> {
  let body = [(select (gt $input, 0), $input, (mul $input, $slope))];
  let derivative = [(prelu_grad $g, $input, $slope), (where (ge $input, 0), 0, (mul $g, $input))];
  let summary = "input where input > 0, else slope * input.";
}

def : Case<"prelu_grad", "Promote", "Tensor grad, Tensor at, Operand slope"> {
  let body = [(select (gt $at, 0), $grad, (mul $grad, $slope))];
  let derivative = [(where (ge $at, 0), $g, (mul $g, $slope)), (zeros_like $at),
                    (where (ge $at, 0), 0, (mul $g, $grad))];
  let summary = "`grad` where `at` > 0, else slope * grad.";
}

def : Activation<"leaky_relu", "Tensor input, float negative_slope=0.01, bool inplace=False"> {
  let summary = "x where x > 0, else negative_slope * x.";
  let shapes = "Same";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> F.leaky_relu(tandem.tensor([-1., 2.]), negative_slope=0.1)
    tensor([-0.1000,  2.0000])
  }];
}

def : Activation<"prelu", "Tensor input, Tensor weight"> {
  let mixedPrecision = "Lower";
  let forms = ["nn", "function", "method"];
  let takesOut = 0;
  let summary = "x where x > 0, else weight * x; the weight is one number, or one a channel (dim 1).";
  let shapes = "Same";
  let accepts = "Floating";
  let gives = "Promote";
  let example = [{
    >>> F.prelu(tandem.tensor([-1., 2.]), tandem.tensor(0.25))
    tensor([-0.2500,  2.0000])
  }];
}

def : Activation<"rrelu",
    "Tensor input, float lower=0.125, float upper=0.3333333333333333, bool training=False, bool inplace=False"> {
  let forms = ["nn", "function"];
  let takesOut = 0;
  let summary = "x where x >= 0, else a * x with a drawn from [lower, upper] while training, and their mean otherwise.";
  let shapes = "Same";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> F.rrelu(tandem.tensor([-48., 2.]))
    tensor([-11.,   2.])
  }];
}

// At 0 the second derivative is 0.
def : Case<"elu_plain", "Promote", "Tensor input, Operand scale, Operand factor, Operand divisor"> {
  let body = [(elu $input, $scale, $factor, $divisor)];
  let derivative = [(where (le $input, 0),
                           (div (mul (mul $g, $factor), (exp (div (where (lt $input, 0), $input, 0), $divisor))),
                                $divisor), (mul $g, $scale)),
                    (none),
                    (none),
                    (none)];
  let summary = "scale * input where input > 0, else factor * (exp(input / divisor) - 1).";
}

def : Activation<"elu", "Tensor input, float alpha=1.0, bool inplace=False"> {
  let summary = "x where x > 0, else alpha * (exp(x) - 1).";
  let shapes = "Same";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> F.elu(tandem.tensor([-1., 2.]))
    tensor([-0.6321,  2.0000])
  }];
}

def : Activation<"selu", "Tensor input, bool inplace=False"> {
  let forms = ["nn", "function"];
  let takesOut = 0;
  let summary = "scale * elu(x, alpha) with the constants that keep mean 0 and variance 1 (Klambauer et al. 2017).";
  let shapes = "Same";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> F.selu(tandem.tensor([-1., 2.]))
    tensor([-1.1113,  2.1014])
  }];
}

def : Activation<"celu", "Tensor input, float alpha=1.0, bool inplace=False"> {
  let forms = ["nn", "function"];
  let takesOut = 0;
  let summary = "x where x > 0, else alpha * (exp(x / alpha) - 1).";
  let shapes = "Same";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> F.celu(tandem.tensor([-1., 2.]), alpha=2.)
    tensor([-0.7869,  2.0000])
  }];
}

def : Case<"hardtanh_plain", "First", "Tensor input, Operand low, Operand high"> {
  let body = [(select (lt $input, $low), $low, (select (gt $input, $high), $high, $input))];
  let derivative = [(inside_grad $g, $input, $low, $high), (none), (none)];
  let summary = "input limited to [low, high]; NaN stays NaN.";
}

def : Case<"inside_grad", "First", "Tensor grad, Tensor at, Operand low, Operand high"> {
  let body = [(select (gt $at, $low), (select (lt $at, $high), $grad, 0), 0)];
  let derivative = [(inside_grad $g, $at, $low, $high), (zeros_like $at), (none), (none)];
  let summary = "`grad` where low < at < high, else 0.";
}

def : Activation<"hardtanh", "Tensor input, float min_val=-1.0, float max_val=1.0, bool inplace=False"> {
  let summary = "x limited to [min_val, max_val]; no gradient passes at the limits.";
  let shapes = "Same";
  let accepts = "Number";
  let gives = "First";
  let raises = [Raises<"RuntimeError", "an element cannot hold a limit, as -1 of uint8",
                       "F.hardtanh(tandem.ones(2, dtype=tandem.uint8))">];
  let example = [{
    >>> F.hardtanh(tandem.tensor([-3., 0.5, 3.]))
    tensor([-1.0000,  0.5000,  1.0000])
  }];
}

def : Activation<"hardsigmoid", "Tensor input, bool inplace=False"> {
  let summary = "x / 6 + 1 / 2 limited to [0, 1].";
  let shapes = "Same";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> F.hardsigmoid(tandem.tensor([-4., 0., 4.]))
    tensor([0.0000, 0.5000, 1.0000])
  }];
}

def : Case<"hardswish_plain", "First", "Tensor input"> {
  let body = [(div (mul $input,
                        (select (le (add $input, 3), 0), 0, (select (ge (add $input, 3), 6), 6, (add $input, 3)))), 6)];
  let derivative = [(where (le $input, -3), 0, (where (lt $input, 3), (mul $g, (add (div $input, 3), "0.5")), $g))];
  let summary = "input * min(max(input + 3, 0), 6) / 6.";
}

def : Activation<"hardswish", "Tensor input, bool inplace=False"> {
  let summary = "x * hardsigmoid(x).";
  let shapes = "Same";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> F.hardswish(tandem.tensor([-4., 1., 4.]))
    tensor([-0.0000, 0.6667, 4.0000])
  }];
}

def : Case<"hardshrink_plain", "First", "Tensor input, Operand bound"> {
  let body = [(select (le (abs $input), $bound), 0, $input)];
  let derivative = [(outside_grad $g, $input, $bound), (none)];
  let summary = "input, and 0 where |input| <= bound.";
}

def : Case<"outside_grad", "First", "Tensor grad, Tensor at, Operand bound"> {
  let body = [(select (gt (abs $at), $bound), $grad, 0)];
  let derivative = [(outside_grad $g, $at, $bound), (zeros_like $at), (none)];
  let summary = "`grad` where |at| > bound, else 0.";
}

def : Activation<"hardshrink", "Tensor input, float lambd=0.5"> {
  let forms = ["nn", "function", "method", "out"];
  let summary = "x, and 0 where |x| <= lambd.";
  let shapes = "Same";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> F.hardshrink(tandem.tensor([-1., 0.2, 1.]))
    tensor([-1.,  0.,  1.])
  }];
}

// The product keeps NaN.
def : Case<"softshrink_plain", "First", "Tensor input, Operand bound"> {
  let body = [(select (gt $input, $bound), (sub $input, $bound),
                      (select (lt $input, (neg $bound)), (add $input, $bound), (mul $input, 0)))];
  let derivative = [(outside_grad $g, $input, $bound), (none)];
  let summary = "input moved towards 0 by bound, and 0 where |input| <= bound.";
}

def : Activation<"softshrink", "Tensor input, float lambd=0.5"> {
  let forms = ["nn", "out"];
  let summary = "x moved towards 0 by lambd, and 0 where |x| <= lambd.";
  let shapes = "Same";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> F.softshrink(tandem.tensor([-1., 0.2, 1.]))
    tensor([-0.5000,  0.0000,  0.5000])
  }];
}

def : Case<"threshold_plain", "First", "Tensor input, Operand least, Operand value"> {
  let body = [(select (le $input, $least), $value, $input)];
  let derivative = [(threshold_grad $g, $input, $least), (none), (none)];
  let summary = "input, and value where input <= least.";
}

def : Case<"threshold_grad", "First", "Tensor grad, Tensor at, Operand least"> {
  let body = [(select (le $at, $least), 0, $grad)];
  let derivative = [(threshold_grad $g, $at, $least), (zeros_like $at), (none)];
  let summary = "`grad`, and 0 where at <= least.";
}

def : Activation<"threshold", "Tensor input, Scalar threshold, Scalar value, bool inplace=False"> {
  let forms = ["nn", "function"];
  let summary = "x where x > threshold, else value.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> F.threshold(tandem.tensor([-1., 0.2, 1.]), 0.5, 9.)
    tensor([9., 9., 1.])
  }];
}

def : Unary<"softplus_plain", "Float"> {
  let forms = ["hidden"];
  let body = [(softplus $input)];
  let derivative = [(mul $g, (sigmoid $input))];
  let summary = "log(1 + exp(input)), without overflow.";
  let reference = "";
}

def : Activation<"softplus", "Tensor input, float beta=1.0, float threshold=20.0"> {
  let forms = ["nn", "out"];
  let gpuMixedPrecision = "Float32";
  let summary = "log(1 + exp(beta * x)) / beta, and x itself where beta * x > threshold.";
  let shapes = "Same";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> F.softplus(tandem.tensor([0., 100.]))
    tensor([  0.6931, 100.0000])
  }];
}

def : Activation<"logsigmoid", "Tensor input"> {
  let forms = ["nn", "out"];
  let aliases = ["log_sigmoid"];
  let summary = "log(1 / (1 + exp(-x))).";
  let shapes = "Same";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> F.logsigmoid(tandem.tensor([0., -100.]))
    tensor([  -0.6931, -100.0000])
  }];
}

def : Activation<"softsign", "Tensor input"> {
  let summary = "x / (1 + |x|).";
  let shapes = "Same";
  let accepts = "Number";
  let gives = "Float";
  let example = [{
    >>> F.softsign(tandem.tensor([-1., 3.]))
    tensor([-0.5000,  0.7500])
  }];
}

def : Activation<"tanhshrink", "Tensor input"> {
  let summary = "x - tanh(x).";
  let shapes = "Same";
  let accepts = "Number";
  let gives = "Float";
  let example = [{
    >>> F.tanhshrink(tandem.tensor([0., 1.]))
    tensor([0.0000, 0.2384])
  }];
}

def : Unary<"gelu_erf", "Float"> {
  let forms = ["hidden"];
  let body = [(gelu $input, $dtype)];
  let derivative = [(mul $g, (gelu_slope $input))];
  let summary = "input * Phi(input), Phi the standard normal distribution.";
  let reference = "";
}

// Its derivative, Phi(x) + x phi(x), whose own one is 2 phi(x) - x^2 phi(x), in an order in which nothing overflows.
def : Unary<"gelu_slope", "Float"> {
  let forms = ["hidden"];
  let body = [(gelu_slope $input, $dtype)];
  let derivative = [(mul $g, (sub (mul "0.79788456080286535588", (exp (mul "-0.5", (square $input)))),
                                  (mul $input, (mul $input, (mul "0.39894228040143267794",
                                                                 (exp (mul "-0.5", (square $input))))))))];
  let summary = "Phi(input) + input * phi(input), of the standard normal distribution and its density.";
  let reference = "";
}

def : Composite<"gelu", "Tensor input, *, str approximate='none'"> {
  let forms = ["nn", "out"];
  let summary = "input * Phi(input); approximate='tanh' for the tanh form (Hendrycks and Gimpel 2016).";
  let shapes = "Same";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> F.gelu(tandem.tensor([-1., 2.]))
    tensor([-0.1587,  1.9545])
    >>> F.gelu(tandem.tensor([-1., 2.]), approximate="tanh")
    tensor([-0.1588,  1.9546])
  }];
}

def : Unary<"silu", "Float"> {
  let forms = ["nn"];
  let body = [(silu $input)];
  let derivative = [(mul $g, (mul (sigmoid $input), (add 1, (mul $input, (sub 1, (sigmoid $input))))))];
  let summary = "input * sigmoid(input).";
  let example = [{
    >>> F.silu(tandem.tensor([-1., 0., 2.]))
    tensor([-0.2689,  0.0000,  1.7616])
  }];
  let reference = "";
}

def : Activation<"silu_option", "Tensor input, bool inplace"> {
  let python = "silu";
  let summary = "silu, written into the input if `inplace`.";
  let shapes = "Same";
  let accepts = "Floating";
  let gives = "Float";
  let example = [{
    >>> F.silu(tandem.tensor([1.]), inplace=True)
    tensor([0.7311])
  }];
}

def : Activation<"mish", "Tensor input, bool inplace=False"> {
  let summary = "x * tanh(log(1 + exp(x))).";
  let shapes = "Same";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> F.mish(tandem.tensor([-1., 2.]))
    tensor([-0.3034,  1.9440])
  }];
}

def : Activation<"glu", "Tensor input, int dim=-1"> {
  let summary = "The first half along `dim` times the sigmoid of the second.";
  let shapes = "`input` with half the size in `dim`";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> F.glu(tandem.tensor([1., 2., 0., 0.]))
    tensor([0.5000, 1.0000])
  }];
}

// Steps of softmax and log_softmax: of elements, the greatest along the dim, and the sum.
def : Pointwise<"exp_sub", "Float", "Tensor input, Tensor other"> {
  let forms = ["hidden"];
  let body = [(exp_below (sub $input, $other))];
  let derivative = [(mul $g, $out), (neg (mul $g, $out))];
  let summary = "exp(input - other), of an input that is not above the other.";
  let samples = "none";
}

def : Pointwise<"sub_log", "Float", "Tensor input, Tensor other, Tensor total"> {
  let forms = ["hidden"];
  let body = [(sub (sub $input, $other), (log $total))];
  let derivative = [(identity $g), (neg $g), (neg (div $g, $total))];
  let summary = "input - other - log(total).";
  let samples = "none";
}

// softmax of floats, taped as a whole: its derivative reads the result alone.
def : Composite<"softmax_along", "Tensor input, int dim"> {
  let forms = ["hidden"];
  let rule = "softmaxAlong";
  let saves = ["out"];
  let summary = "softmax along `dim`.";
  let samples = "none";
}

// Likewise.
def : Composite<"log_softmax_along", "Tensor input, int dim"> {
  let forms = ["hidden"];
  let rule = "logSoftmaxAlong";
  let saves = ["out"];
  let summary = "log_softmax along `dim`.";
  let samples = "none";
}

def : Composite<"log_softmax_at", "Tensor input, int dim, Tensor index"> {
  let results = "(Tensor, Tensor, Tensor)";
  let numResults = 3;
  let forms = ["hidden"];
  let rule = "logSoftmaxAt";
  let saves = ["input", "index", "out1", "out2"];
  let summary = "log_softmax along `dim` at `index`, one place of each row, with no more than the scores kept for its "
                "gradient; the greatest of each row, and the sums of e^(x - greatest).";
  let samples = "none";
}

def : Composite<"softmax", "Tensor input, int dim, dtype? dtype=None"> {
  let gpuMixedPrecision = "Float32";
  let forms = ["function", "method", "special"];
  let summary = "exp(x - max) / sum(exp(x - max)) along `dim`.";
  let shapes = "Same";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.softmax(tandem.tensor([1., 2., 3.]), dim=0)
    tensor([0.0900, 0.2447, 0.6652])
  }];
}

def : Composite<"log_softmax", "Tensor input, int dim, dtype? dtype=None"> {
  let gpuMixedPrecision = "Float32";
  let forms = ["function", "method", "special"];
  let summary = "x - max - log(sum(exp(x - max))) along `dim`.";
  let shapes = "Same";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.log_softmax(tandem.tensor([1., 2., 3.]), dim=0)
    tensor([-2.4076, -1.4076, -0.4076])
  }];
}
