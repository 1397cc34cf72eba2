// Special functions around Gamma and the error function.

def : Unary<"erf", "Float"> {
  let forms = ["function", "method", "inplace", "special"];
  let body = [(erf $input)];
  let derivative = [(mul $g, (mul "1.12837916709551257390", (exp (neg (square $input)))))];
  let summary = "Error function.";
  let example = [{
    >>> tandem.erf(tandem.tensor([0., 1.]))
    tensor([0.0000, 0.8427])
  }];
  let reference = "scipy.special.erf";
}

def : Unary<"erfc", "Float"> {
  let forms = ["function", "method", "inplace", "special"];
  let body = [(erfc $input)];
  let derivative = [(mul $g, (mul "-1.12837916709551257390", (exp (neg (square $input)))))];
  let summary = "Complementary error function, 1 - erf, accurate in the tail.";
  let example = [{
    >>> tandem.erfc(tandem.tensor([0., 1.]))
    tensor([1.0000, 0.1573])
  }];
  let reference = "scipy.special.erfc";
}

def : Unary<"erfinv", "Float"> {
  let gpuMixedPrecision = "Float32";
  let forms = ["function", "method", "inplace", "special"];
  let body = [(erfinv $input)];
  let derivative = [(mul $g, (mul "0.886226925452758013649", (exp (square $out))))];
  let summary = "The y with erf(y) = input; NaN outside [-1, 1].";
  let example = [{
    >>> tandem.erfinv(tandem.tensor([0., 0.5, -1.]))
    tensor([0.0000, 0.4769,   -inf])
  }];
  let reference = "scipy.special.erfinv";
}

def : Unary<"ndtr", "Float"> {
  let forms = ["special"];
  let body = [(ndtr $input)];
  let derivative = [(mul $g, (mul "0.39894228040143267794", (exp (mul "-0.5", (square $input)))))];
  let summary = "The standard normal distribution: the area under its density from -inf to input.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "Float";
  let example = [{
    >>> tandem.special.ndtr(tandem.tensor([0., 1.96]))
    tensor([0.5000, 0.9750])
  }];
  let reference = "scipy.special.ndtr";
}

def : Unary<"lgamma", "Float"> {
  let body = [(lgamma $input)];
  let derivative = [(mul $g, (digamma $input))];
  let summary = "log |Gamma(input)|; inf at 0 and the negative integers.";
  let example = [{
    >>> tandem.lgamma(tandem.tensor([0.5, 1., 5.]))
    tensor([0.5724, 0.0000, 3.1781])
  }];
  let reference = "scipy.special.gammaln";
}

def : Unary<"digamma", "Float"> {
  let forms = ["function", "method", "inplace", "special"];
  let body = [(digamma $input)];
  let derivative = [(mul $g, (polygamma 1, $input))];
  let summary = "The derivative of log |Gamma(input)|; NaN at the negative integers.";
  let example = [{
    >>> tandem.digamma(tandem.tensor([1., 0.5]))
    tensor([-0.5772, -1.9635])
  }];
  let reference = "scipy.special.psi";
}

def : Unary<"trigamma", "Float"> {
  let forms = ["hidden"];
  let body = [(trigamma $input)];
  let derivative = [(mul $g, (polygamma 2, $input))];
  let summary = "The derivative of digamma; inf at 0 and the negative integers.";
  let reference = "";
}

def : Composite<"polygamma", "int n, Tensor input"> {
  let forms = ["function", "special"];
  let summary = "The n-th derivative of digamma; n >= 0.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "Float";
  let example = [{
    >>> tandem.polygamma(1, tandem.tensor([1., 0.5]))
    tensor([1.6449, 4.9348])
  }];
  let samples = "none";
}

def : Composite<"polygamma_of", "Tensor input, int n"> {
  let python = "polygamma";
  let forms = ["method", "inplace"];
  let summary = "The n-th derivative of digamma.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "Float";
  let example = [{
    >>> tandem.tensor([1., 2.]).polygamma(1)
    tensor([1.6449, 0.6449])
  }];
  let inPlaceExample = [{
    >>> tandem.tensor([1., 2.]).polygamma_(1)
    tensor([1.6449, 0.6449])
  }];
  let samples = "none";
}

def : Composite<"mvlgamma", "Tensor input, int p"> {
  let forms = ["function", "method", "inplace", "special"];
  let summary = "log of the multivariate Gamma function of dimension p; input > (p - 1) / 2.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "Float";
  let example = [{
    >>> tandem.mvlgamma(tandem.tensor([2., 3.]), 2)
    tensor([0.4516, 1.5502])
  }];
  let samples = "none";
}

def : Composite<"gammaln", "Tensor input"> {
  let forms = ["special"];
  let summary = "log |Gamma(input)|.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "Float";
  let example = [{
    >>> tandem.special.gammaln(tandem.tensor([0.5, 1., 5.]))
    tensor([0.5724, 0.0000, 3.1781])
  }];
  let samples = "none";
}

def : Composite<"psi", "Tensor input"> {
  let forms = ["special"];
  let summary = "The derivative of log |Gamma(input)|.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "Float";
  let example = [{
    >>> tandem.special.psi(tandem.tensor([1., 0.5]))
    tensor([-0.5772, -1.9635])
  }];
  let samples = "none";
}

def : Composite<"zeta", "Operand input, Operand other"> {
  let needsOne = 1;
  let forms = ["special"];
  let summary = "Hurwitz zeta: the sum of (other + k)^-input over k = 0, 1, ...; input > 1.";
  let shapes = "Broadcast";
  let accepts = "Any";
  let gives = "Float";
  let example = [{
    >>> tandem.special.zeta(tandem.tensor([2., 4.]), 1)
    tensor([1.6449, 1.0823])
  }];
  let samples = "none";
}

// Float64 arrays of one shape; the composites above bring others to that.
def : Library<"zeta_plain", "Tensor x, Tensor q", "sameAsInput"> {
  let forms = ["hidden"];
  let rule = "zeta";
  let saves = ["x", "q"];
  let summary = "Hurwitz zeta function of float64 arrays.";
  let samples = "none";
}

def : Composite<"igamma", "Tensor input, Tensor other"> {
  let forms = ["function", "method", "inplace"];
  let summary = "Regularised lower incomplete Gamma function P(input, other): the distribution function of "
                "Gamma(input, 1) at `other`.";
  let shapes = "Broadcast";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.igamma(tandem.tensor([4.]), tandem.tensor([3., 4., 5.]))
    tensor([0.3528, 0.5665, 0.7350])
  }];
  let inPlaceExample = [{
    >>> tandem.tensor([4., 4.]).igamma_(tandem.tensor([3., 5.]))
    tensor([0.3528, 0.7350])
  }];
  let samples = "none";
}

def : Composite<"igammac", "Tensor input, Tensor other"> {
  let forms = ["function", "method", "inplace"];
  let summary = "Regularised upper incomplete Gamma function, 1 - igamma(input, other), accurate where it is small.";
  let shapes = "Broadcast";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.igammac(tandem.tensor([4.]), tandem.tensor([3., 4., 5.]))
    tensor([0.6472, 0.4335, 0.2650])
  }];
  let inPlaceExample = [{
    >>> tandem.tensor([4., 4.]).igammac_(tandem.tensor([3., 5.]))
    tensor([0.6472, 0.2650])
  }];
  let samples = "none";
}

def : Composite<"gammainc", "Tensor input, Tensor other"> {
  let forms = ["special"];
  let summary = "Regularised lower incomplete Gamma function P(input, other).";
  let shapes = "Broadcast";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.special.gammainc(tandem.tensor([4.]), tandem.tensor([3., 4., 5.]))
    tensor([0.3528, 0.5665, 0.7350])
  }];
  let samples = "none";
}

def : Composite<"gammaincc", "Tensor input, Tensor other"> {
  let forms = ["special"];
  let summary = "Regularised upper incomplete Gamma function, 1 - P(input, other).";
  let shapes = "Broadcast";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.special.gammaincc(tandem.tensor([4.]), tandem.tensor([3., 4., 5.]))
    tensor([0.6472, 0.4335, 0.2650])
  }];
  let samples = "none";
}

def : Library<"gammainc_plain", "Tensor a, Tensor x, bool upper", "sameAsInput"> {
  let forms = ["hidden"];
  let rule = "gammainc";
  let saves = ["a", "x"];
  let summary = "Regularised incomplete Gamma functions of float64 arrays.";
  let samples = "none";
}

def : Library<"gamma_cdf_slope_plain", "Tensor a, Tensor x, int order", "sameAsInput"> {
  let forms = ["hidden"];
  let rule = "gammaCdfSlope";
  let saves = ["a", "x", "out"];
  let summary = "The derivative of that order of P(a, x) in a, divided by the density x^(a-1) e^-x / Gamma(a); "
                "float64.";
  let samples = "none";
}
