// Bessel and Airy functions, the normal distribution, and orthogonal polynomials (codegen/math/bessel.h, airy.h,
// normal.h; runtime/lib/functions/polynomials.cpp). Those without a derivative have none in PyTorch either.

def : Unary<"i0", "Float"> {
  let forms = ["function", "method", "inplace", "special"];
  let body = [(i0 $input)];
  let derivative = [(mul $g, (i1 $input))];
  let summary = "Modified Bessel function of the first kind, order 0.";
  let example = [{
    >>> tandem.special.i0(tandem.tensor([0., 1., 2.]))
    tensor([1.0000, 1.2661, 2.2796])
  }];
  let reference = "";
}

def : Unary<"i0e", "Float"> {
  let forms = ["special"];
  let body = [(i0e $input)];
  let derivative = [(mul $g, (sub (i1e $input), (mul (sign $input), $out)))];
  let summary = "exp(-|input|) i0(input), without overflow.";
  let example = [{
    >>> tandem.special.i0e(tandem.tensor([0., 1., 100.]))
    tensor([1.0000, 0.4658, 0.0399])
  }];
  let reference = "scipy.special.i0e";
}

def : Unary<"i1", "Float"> {
  let forms = ["special"];
  let body = [(i1 $input)];
  let derivative = [(mul $g, (i1_slope $input))];
  let summary = "Modified Bessel function of the first kind, order 1.";
  let example = [{
    >>> tandem.special.i1(tandem.tensor([0., 1., -2.]))
    tensor([ 0.0000,  0.5652, -1.5906])
  }];
  let reference = "";
}

def : Unary<"i1e", "Float"> {
  let forms = ["special"];
  let body = [(i1e $input)];
  let derivative = [(mul $g, (i1e_slope $input))];
  let summary = "exp(-|input|) i1(input), without overflow.";
  let example = [{
    >>> tandem.special.i1e(tandem.tensor([0., 1., 100.]))
    tensor([0.0000, 0.2079, 0.0397])
  }];
  let reference = "scipy.special.i1e";
}

def : Composite<"i1_slope", "Tensor input"> {
  let forms = ["hidden"];
  let summary = "The derivative of i1, right to every order at 0 too.";
  let samples = "none";
}

def : Composite<"i1e_slope", "Tensor input"> {
  let forms = ["hidden"];
  let summary = "The derivative of i1e, likewise.";
  let samples = "none";
}

def : Composite<"modified_bessel_i0", "Tensor input"> {
  let forms = ["special"];
  let summary = "Modified Bessel function of the first kind, order 0.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "Float";
  let example = [{
    >>> tandem.special.modified_bessel_i0(tandem.tensor([0., 1., 2.]))
    tensor([1.0000, 1.2661, 2.2796])
  }];
  let reference = "";
}

def : Composite<"modified_bessel_i1", "Tensor input"> {
  let forms = ["special"];
  let summary = "Modified Bessel function of the first kind, order 1.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "Float";
  let example = [{
    >>> tandem.special.modified_bessel_i1(tandem.tensor([0., 1., -2.]))
    tensor([ 0.0000,  0.5652, -1.5906])
  }];
  let reference = "";
}

def : Unary<"modified_bessel_k0", "Float"> {
  let forms = ["special"];
  let body = [(modified_bessel_k0 $input)];
  let differentiable = 0;
  let summary = "Modified Bessel function of the second kind, order 0; inf at 0, NaN below.";
  let example = [{
    >>> tandem.special.modified_bessel_k0(tandem.tensor([0., 1., 2.]))
    tensor([   inf, 0.4210, 0.1139])
  }];
  let reference = "scipy.special.k0";
}

def : Unary<"modified_bessel_k1", "Float"> {
  let forms = ["special"];
  let body = [(modified_bessel_k1 $input)];
  let differentiable = 0;
  let summary = "Modified Bessel function of the second kind, order 1; inf at 0, NaN below.";
  let example = [{
    >>> tandem.special.modified_bessel_k1(tandem.tensor([0., 1., 2.]))
    tensor([   inf, 0.6019, 0.1399])
  }];
  let reference = "scipy.special.k1";
}

def : Pointwise<"scaled_modified_bessel_k0", "Float", "Tensor x"> {
  let forms = ["special"];
  let body = [(scaled_modified_bessel_k0 $x)];
  let differentiable = 0;
  let summary = "exp(x) modified_bessel_k0(x), without underflow.";
  let example = [{
    >>> tandem.special.scaled_modified_bessel_k0(tandem.tensor([1., 100.]))
    tensor([1.1445, 0.1252])
  }];
  let samples = "unary";
  let reference = "scipy.special.k0e";
}

def : Pointwise<"scaled_modified_bessel_k1", "Float", "Tensor x"> {
  let forms = ["special"];
  let body = [(scaled_modified_bessel_k1 $x)];
  let differentiable = 0;
  let summary = "exp(x) modified_bessel_k1(x), without underflow.";
  let example = [{
    >>> tandem.special.scaled_modified_bessel_k1(tandem.tensor([1., 100.]))
    tensor([1.6362, 0.1258])
  }];
  let samples = "unary";
  let reference = "scipy.special.k1e";
}

def : Unary<"bessel_j0", "Float"> {
  let forms = ["special"];
  let body = [(bessel_j0 $input)];
  let differentiable = 0;
  let summary = "Bessel function of the first kind, order 0.";
  let example = [{
    >>> tandem.special.bessel_j0(tandem.tensor([0., 1., 10.]))
    tensor([ 1.0000,  0.7652, -0.2459])
  }];
  let reference = "";
}

def : Unary<"bessel_j1", "Float"> {
  let forms = ["special"];
  let body = [(bessel_j1 $input)];
  let differentiable = 0;
  let summary = "Bessel function of the first kind, order 1.";
  let example = [{
    >>> tandem.special.bessel_j1(tandem.tensor([0., 1., 10.]))
    tensor([0.0000, 0.4401, 0.0435])
  }];
  let reference = "";
}

def : Unary<"bessel_y0", "Float"> {
  let forms = ["special"];
  let body = [(bessel_y0 $input)];
  let differentiable = 0;
  let summary = "Bessel function of the second kind, order 0; -inf at 0, NaN below.";
  let example = [{
    >>> tandem.special.bessel_y0(tandem.tensor([0., 1., 10.]))
    tensor([  -inf, 0.0883, 0.0557])
  }];
  let reference = "";
}

def : Unary<"bessel_y1", "Float"> {
  let forms = ["special"];
  let body = [(bessel_y1 $input)];
  let differentiable = 0;
  let summary = "Bessel function of the second kind, order 1; -inf at 0, NaN below.";
  let example = [{
    >>> tandem.special.bessel_y1(tandem.tensor([0., 1., 10.]))
    tensor([   -inf, -0.7812,  0.2490])
  }];
  let reference = "";
}

def : Pointwise<"spherical_bessel_j0", "Float", "Tensor x"> {
  let forms = ["special"];
  let body = [(spherical_bessel_j0 $x)];
  let differentiable = 0;
  let summary = "Spherical Bessel function of the first kind, order 0: sin(x) / x, 1 at 0.";
  let example = [{
    >>> tandem.special.spherical_bessel_j0(tandem.tensor([0., 1., 10.]))
    tensor([ 1.0000,  0.8415, -0.0544])
  }];
  let samples = "unary";
  let reference = "";
}

def : Pointwise<"airy_ai", "Float", "Tensor x"> {
  let forms = ["special"];
  let body = [(airy_ai $x)];
  let differentiable = 0;
  let summary = "Airy function Ai.";
  let example = [{
    >>> tandem.special.airy_ai(tandem.tensor([-2., 0., 1.]))
    tensor([0.2274, 0.3550, 0.1353])
  }];
  let samples = "unary";
  let reference = "";
}

def : Unary<"erfcx", "Float"> {
  let forms = ["special"];
  let body = [(erfcx $input)];
  let derivative = [(mul $g, (sub (mul (mul $input, 2), $out), "1.12837916709551257389615890312154517"))];
  let summary = "exp(input^2) erfc(input), without underflow.";
  let example = [{
    >>> tandem.special.erfcx(tandem.tensor([-1., 0., 100.]))
    tensor([5.0090, 1.0000, 0.0056])
  }];
  let reference = "scipy.special.erfcx";
}

def : Unary<"log_ndtr", "Float"> {
  let forms = ["special"];
  let body = [(log_ndtr $input)];
  let derivative = [(mul $g, (log_ndtr_slope $input))];
  let summary = "Logarithm of the standard normal distribution function, accurate in both tails.";
  let example = [{
    >>> tandem.special.log_ndtr(tandem.tensor([-20., 0., 3.]))
    tensor([-2.0392e+02, -6.9315e-01, -1.3508e-03])
  }];
  let reference = "scipy.special.log_ndtr";
}

def : Unary<"ndtri", "Float"> {
  let forms = ["special"];
  let body = [(ndtri $input)];
  let derivative = [(mul $g, (mul "2.50662827463100050241576528481104525", (exp (mul (square $out), "0.5"))))];
  let summary = "The x with ndtr(x) = input: -inf at 0, inf at 1, NaN outside [0, 1].";
  let example = [{
    >>> tandem.special.ndtri(tandem.tensor([0., 0.025, 0.5]))
    tensor([   -inf, -1.9600,  0.0000])
  }];
  let reference = "scipy.special.ndtri";
}

def : Composite<"log_ndtr_slope", "Tensor input"> {
  let forms = ["hidden"];
  let summary = "The derivative of log_ndtr: density over distribution function.";
  let samples = "none";
}

// Polynomials of degree `n`, one for each element; in the library's function of arrays of one shape, `x` of float32 or
// float64 and `n` of float64.
def : Library<"orthogonal_polynomial_plain",
    "Tensor x, Tensor n, int family, bool shifted",
    "sameAsInput"> {
  let forms = ["hidden"];
  let differentiable = 0;
  let summary = "Orthogonal polynomials of a family (runtime/lib/functions/polynomials.h), of 2 x - 1 if shifted.";
  let samples = "none";
}

def : Composite<"chebyshev_polynomial_t", "Operand x, Operand n"> {
  let needsOne = 1;
  let forms = ["special"];
  let differentiable = 0;
  let summary = "Chebyshev polynomial of the first kind: cos(n arccos x) for |x| <= 1; `n` is truncated to an "
                "integer, and the result 0 below degree 0.";
  let shapes = "Broadcast";
  let accepts = "Any";
  let gives = "Float";
  let example = [{
    >>> tandem.special.chebyshev_polynomial_t(tandem.tensor([0.25, 2.]), 3)
    tensor([-0.6875, 26.0000])
  }];
}

def : Composite<"chebyshev_polynomial_u", "Operand x, Operand n"> {
  let needsOne = 1;
  let forms = ["special"];
  let differentiable = 0;
  let summary = "Chebyshev polynomial of the second kind: sin((n + 1) arccos x) / sin(arccos x); `n` is truncated to "
                "an integer, and the result 0 below degree 0.";
  let shapes = "Broadcast";
  let accepts = "Any";
  let gives = "Float";
  let example = [{
    >>> tandem.special.chebyshev_polynomial_u(tandem.tensor([0.25, 2.]), 3)
    tensor([-0.8750, 56.0000])
  }];
}

def : Composite<"chebyshev_polynomial_v", "Operand x, Operand n"> {
  let needsOne = 1;
  let forms = ["special"];
  let differentiable = 0;
  let summary = "Chebyshev polynomial of the third kind: cos((n + 1/2) arccos x) / cos(arccos(x) / 2); `n` is "
                "truncated to an integer, and the result 0 below degree 0.";
  let shapes = "Broadcast";
  let accepts = "Any";
  let gives = "Float";
  let example = [{
    >>> tandem.special.chebyshev_polynomial_v(tandem.tensor([0.25, 2.]), 3)
    tensor([-0.1250, 41.0000])
  }];
}

def : Composite<"chebyshev_polynomial_w", "Operand x, Operand n"> {
  let needsOne = 1;
  let forms = ["special"];
  let differentiable = 0;
  let summary = "Chebyshev polynomial of the fourth kind: sin((n + 1/2) arccos x) / sin(arccos(x) / 2); `n` is "
                "truncated to an integer, and the result 0 below degree 0.";
  let shapes = "Broadcast";
  let accepts = "Any";
  let gives = "Float";
  let example = [{
    >>> tandem.special.chebyshev_polynomial_w(tandem.tensor([0.25, 2.]), 3)
    tensor([-1.6250, 71.0000])
  }];
}

def : Composite<"shifted_chebyshev_polynomial_t", "Operand x, Operand n"> {
  let needsOne = 1;
  let forms = ["special"];
  let differentiable = 0;
  let summary = "chebyshev_polynomial_t(2 x - 1, n), orthogonal on [0, 1]; `n` is truncated to an integer, and the "
                "result 0 below degree 0.";
  let shapes = "Broadcast";
  let accepts = "Any";
  let gives = "Float";
  let example = [{
    >>> tandem.special.shifted_chebyshev_polynomial_t(tandem.tensor([0.25, 2.]), 3)
    tensor([ 1., 99.])
  }];
}

def : Composite<"shifted_chebyshev_polynomial_u", "Operand x, Operand n"> {
  let needsOne = 1;
  let forms = ["special"];
  let differentiable = 0;
  let summary = "chebyshev_polynomial_u(2 x - 1, n), orthogonal on [0, 1]; `n` is truncated to an integer, and the "
                "result 0 below degree 0.";
  let shapes = "Broadcast";
  let accepts = "Any";
  let gives = "Float";
  let example = [{
    >>> tandem.special.shifted_chebyshev_polynomial_u(tandem.tensor([0.25, 2.]), 3)
    tensor([  1., 204.])
  }];
}

def : Composite<"shifted_chebyshev_polynomial_v", "Operand x, Operand n"> {
  let needsOne = 1;
  let forms = ["special"];
  let differentiable = 0;
  let summary = "chebyshev_polynomial_v(2 x - 1, n), orthogonal on [0, 1]; `n` is truncated to an integer, and the "
                "result 0 below degree 0.";
  let shapes = "Broadcast";
  let accepts = "Any";
  let gives = "Float";
  let example = [{
    >>> tandem.special.shifted_chebyshev_polynomial_v(tandem.tensor([0.25, 2.]), 3)
    tensor([  1., 169.])
  }];
}

def : Composite<"shifted_chebyshev_polynomial_w", "Operand x, Operand n"> {
  let needsOne = 1;
  let forms = ["special"];
  let differentiable = 0;
  let summary = "chebyshev_polynomial_w(2 x - 1, n), orthogonal on [0, 1]; `n` is truncated to an integer, and the "
                "result 0 below degree 0.";
  let shapes = "Broadcast";
  let accepts = "Any";
  let gives = "Float";
  let example = [{
    >>> tandem.special.shifted_chebyshev_polynomial_w(tandem.tensor([0.25, 2.]), 3)
    tensor([  1., 239.])
  }];
}

def : Composite<"hermite_polynomial_h", "Operand x, Operand n"> {
  let needsOne = 1;
  let forms = ["special"];
  let differentiable = 0;
  let summary = "Physicist's Hermite polynomial, of leading coefficient 2^n; NaN for n > 512; `n` is truncated to an "
                "integer, and the result 0 below degree 0.";
  let shapes = "Broadcast";
  let accepts = "Any";
  let gives = "Float";
  let example = [{
    >>> tandem.special.hermite_polynomial_h(tandem.tensor([0.25, 2.]), 3)
    tensor([-2.8750, 40.0000])
  }];
}

def : Composite<"hermite_polynomial_he", "Operand x, Operand n"> {
  let needsOne = 1;
  let forms = ["special"];
  let differentiable = 0;
  let summary = "Probabilist's Hermite polynomial, of leading coefficient 1; NaN for n > 512; `n` is truncated to an "
                "integer, and the result 0 below degree 0.";
  let shapes = "Broadcast";
  let accepts = "Any";
  let gives = "Float";
  let example = [{
    >>> tandem.special.hermite_polynomial_he(tandem.tensor([0.25, 2.]), 3)
    tensor([-0.7344,  2.0000])
  }];
}

def : Composite<"laguerre_polynomial_l", "Operand x, Operand n"> {
  let needsOne = 1;
  let forms = ["special"];
  let differentiable = 0;
  let summary = "Laguerre polynomial, orthogonal on [0, inf) with weight exp(-x); `n` is truncated to an integer, and "
                "the result 0 below degree 0.";
  let shapes = "Broadcast";
  let accepts = "Any";
  let gives = "Float";
  let example = [{
    >>> tandem.special.laguerre_polynomial_l(tandem.tensor([0.25, 2.]), 3)
    tensor([ 0.3411, -0.3333])
  }];
}

def : Composite<"legendre_polynomial_p", "Operand x, Operand n"> {
  let needsOne = 1;
  let forms = ["special"];
  let differentiable = 0;
  let summary = "Legendre polynomial, orthogonal on [-1, 1]; `n` is truncated to an integer, and the result 0 below "
                "degree 0.";
  let shapes = "Broadcast";
  let accepts = "Any";
  let gives = "Float";
  let example = [{
    >>> tandem.special.legendre_polynomial_p(tandem.tensor([0.25, 2.]), 3)
    tensor([-0.3359, 17.0000])
  }];
}
