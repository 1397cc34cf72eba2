// Bessel and Airy functions, the normal distribution, and orthogonal polynomials (codegen/math/bessel.h, airy.h,
// normal.h; runtime/lib/polynomials.cpp). Those without a derivative have none in PyTorch either.

def I0 : Unary<"i0", "Float"> { let summary = "Modified Bessel function of the first kind, order 0."; let body = [(i0 $input)]; let forms = ["function", "method", "inplace", "out", "special"]; let reference = ""; }
def I0E : Unary<"i0e", "Float"> { let summary = "exp(-|input|) i0(input), without overflow."; let body = [(i0e $input)]; let forms = ["special"]; let reference = "scipy.special.i0e"; }
def I1 : Unary<"i1", "Float"> { let summary = "Modified Bessel function of the first kind, order 1."; let body = [(i1 $input)]; let forms = ["special"]; let reference = ""; }
def I1E : Unary<"i1e", "Float"> { let summary = "exp(-|input|) i1(input), without overflow."; let body = [(i1e $input)]; let forms = ["special"]; let reference = "scipy.special.i1e"; }
def : Derivative<I0, [(mul $g, (i1 $input))]>;
def : Derivative<I0E, [(mul $g, (sub (i1e $input), (mul (sign $input), $out)))]>;
def : Derivative<I1, [(mul $g, (i1_slope $input))]>;
def : Derivative<I1E, [(mul $g, (i1e_slope $input))]>;
def I1Slope : Composite<"i1_slope", "Tensor input"> { let summary = "The derivative of i1, right to every order at 0 too."; let forms = ["hidden"]; let samples = "none"; }
def I1ESlope : Composite<"i1e_slope", "Tensor input"> { let summary = "The derivative of i1e, likewise."; let forms = ["hidden"]; let samples = "none"; }
def ModifiedI0 : Composite<"modified_bessel_i0", "Tensor input"> { let summary = "Modified Bessel function of the first kind, order 0."; let forms = ["special"]; let reference = ""; }
def ModifiedI1 : Composite<"modified_bessel_i1", "Tensor input"> { let summary = "Modified Bessel function of the first kind, order 1."; let forms = ["special"]; let reference = ""; }

def ModifiedK0 : Unary<"modified_bessel_k0", "Float"> { let summary = "Modified Bessel function of the second kind, order 0; inf at 0, NaN below."; let body = [(modified_bessel_k0 $input)]; let forms = ["special"]; let reference = "scipy.special.k0"; }
def ModifiedK1 : Unary<"modified_bessel_k1", "Float"> { let summary = "Modified Bessel function of the second kind, order 1; inf at 0, NaN below."; let body = [(modified_bessel_k1 $input)]; let forms = ["special"]; let reference = "scipy.special.k1"; }
def ScaledK0 : Pointwise<"scaled_modified_bessel_k0", "Float", "Tensor x"> { let summary = "exp(x) modified_bessel_k0(x), without underflow."; let body = [(scaled_modified_bessel_k0 $x)]; let forms = ["special"]; let samples = "unary"; let reference = "scipy.special.k0e"; }
def ScaledK1 : Pointwise<"scaled_modified_bessel_k1", "Float", "Tensor x"> { let summary = "exp(x) modified_bessel_k1(x), without underflow."; let body = [(scaled_modified_bessel_k1 $x)]; let forms = ["special"]; let samples = "unary"; let reference = "scipy.special.k1e"; }
def BesselJ0 : Unary<"bessel_j0", "Float"> { let summary = "Bessel function of the first kind, order 0."; let body = [(bessel_j0 $input)]; let forms = ["special"]; let reference = ""; }
def BesselJ1 : Unary<"bessel_j1", "Float"> { let summary = "Bessel function of the first kind, order 1."; let body = [(bessel_j1 $input)]; let forms = ["special"]; let reference = ""; }
def BesselY0 : Unary<"bessel_y0", "Float"> { let summary = "Bessel function of the second kind, order 0; -inf at 0, NaN below."; let body = [(bessel_y0 $input)]; let forms = ["special"]; let reference = ""; }
def BesselY1 : Unary<"bessel_y1", "Float"> { let summary = "Bessel function of the second kind, order 1; -inf at 0, NaN below."; let body = [(bessel_y1 $input)]; let forms = ["special"]; let reference = ""; }
def SphericalJ0 : Pointwise<"spherical_bessel_j0", "Float", "Tensor x"> { let summary = "Spherical Bessel function of the first kind, order 0: sin(x) / x, 1 at 0."; let body = [(spherical_bessel_j0 $x)]; let forms = ["special"]; let samples = "unary"; let reference = ""; }
def AiryAi : Pointwise<"airy_ai", "Float", "Tensor x"> { let summary = "Airy function Ai."; let body = [(airy_ai $x)]; let forms = ["special"]; let samples = "unary"; let reference = ""; }
foreach o = [ModifiedK0, ModifiedK1, ScaledK0, ScaledK1, BesselJ0, BesselJ1, BesselY0, BesselY1, SphericalJ0, AiryAi] in
  def : NotDifferentiable<o>;

def ErfCX : Unary<"erfcx", "Float"> { let summary = "exp(input^2) erfc(input), without underflow."; let body = [(erfcx $input)]; let forms = ["special"]; let reference = "scipy.special.erfcx"; }
def LogNdtr : Unary<"log_ndtr", "Float"> { let summary = "Logarithm of the standard normal distribution function, accurate in both tails."; let body = [(log_ndtr $input)]; let forms = ["special"]; let reference = "scipy.special.log_ndtr"; }
def NdtrI : Unary<"ndtri", "Float"> { let summary = "The x with ndtr(x) = input: -inf at 0, inf at 1, NaN outside [0, 1]."; let body = [(ndtri $input)]; let forms = ["special"]; let reference = "scipy.special.ndtri"; }
def : Derivative<ErfCX, [(mul $g, (sub (mul (mul $input, 2), $out), "1.12837916709551257389615890312154517"))]>;
def : Derivative<LogNdtr, [(mul $g, (log_ndtr_slope $input))]>;
def : Derivative<NdtrI, [(mul $g, (mul "2.50662827463100050241576528481104525", (exp (mul (square $out), "0.5"))))]>;
def LogNdtrSlope : Composite<"log_ndtr_slope", "Tensor input"> { let summary = "The derivative of log_ndtr: density over distribution function."; let forms = ["hidden"]; let samples = "none"; }

// Polynomials of degree `n`, one for each element; of float64 arrays of one shape in the library's function.
def PolynomialPlain : Library<"orthogonal_polynomial_plain", "Tensor x, Tensor n, int family, bool shifted", "sameAsInput"> { let summary = "Orthogonal polynomials of a family (runtime/lib/polynomials.h), of 2 x - 1 if shifted."; let forms = ["hidden"]; let samples = "none"; }
def : NotDifferentiable<PolynomialPlain>;
def ChebyshevT : Composite<"chebyshev_polynomial_t", "Operand x, Operand n"> { let summary = "Chebyshev polynomial of the first kind: cos(n arccos x) for |x| <= 1; `n` is truncated to an integer, and the result 0 below degree 0."; let forms = ["special"]; }
def ChebyshevU : Composite<"chebyshev_polynomial_u", "Operand x, Operand n"> { let summary = "Chebyshev polynomial of the second kind: sin((n + 1) arccos x) / sin(arccos x); `n` is truncated to an integer, and the result 0 below degree 0."; let forms = ["special"]; }
def ChebyshevV : Composite<"chebyshev_polynomial_v", "Operand x, Operand n"> { let summary = "Chebyshev polynomial of the third kind: cos((n + 1/2) arccos x) / cos(arccos(x) / 2); `n` is truncated to an integer, and the result 0 below degree 0."; let forms = ["special"]; }
def ChebyshevW : Composite<"chebyshev_polynomial_w", "Operand x, Operand n"> { let summary = "Chebyshev polynomial of the fourth kind: sin((n + 1/2) arccos x) / sin(arccos(x) / 2); `n` is truncated to an integer, and the result 0 below degree 0."; let forms = ["special"]; }
def ShiftedT : Composite<"shifted_chebyshev_polynomial_t", "Operand x, Operand n"> { let summary = "chebyshev_polynomial_t(2 x - 1, n), orthogonal on [0, 1]; `n` is truncated to an integer, and the result 0 below degree 0."; let forms = ["special"]; }
def ShiftedU : Composite<"shifted_chebyshev_polynomial_u", "Operand x, Operand n"> { let summary = "chebyshev_polynomial_u(2 x - 1, n), orthogonal on [0, 1]; `n` is truncated to an integer, and the result 0 below degree 0."; let forms = ["special"]; }
def ShiftedV : Composite<"shifted_chebyshev_polynomial_v", "Operand x, Operand n"> { let summary = "chebyshev_polynomial_v(2 x - 1, n), orthogonal on [0, 1]; `n` is truncated to an integer, and the result 0 below degree 0."; let forms = ["special"]; }
def ShiftedW : Composite<"shifted_chebyshev_polynomial_w", "Operand x, Operand n"> { let summary = "chebyshev_polynomial_w(2 x - 1, n), orthogonal on [0, 1]; `n` is truncated to an integer, and the result 0 below degree 0."; let forms = ["special"]; }
def HermiteH : Composite<"hermite_polynomial_h", "Operand x, Operand n"> { let summary = "Physicist's Hermite polynomial, of leading coefficient 2^n; NaN for n > 512; `n` is truncated to an integer, and the result 0 below degree 0."; let forms = ["special"]; }
def HermiteHe : Composite<"hermite_polynomial_he", "Operand x, Operand n"> { let summary = "Probabilist's Hermite polynomial, of leading coefficient 1; NaN for n > 512; `n` is truncated to an integer, and the result 0 below degree 0."; let forms = ["special"]; }
def LaguerreL : Composite<"laguerre_polynomial_l", "Operand x, Operand n"> { let summary = "Laguerre polynomial, orthogonal on [0, inf) with weight exp(-x); `n` is truncated to an integer, and the result 0 below degree 0."; let forms = ["special"]; }
def LegendreP : Composite<"legendre_polynomial_p", "Operand x, Operand n"> { let summary = "Legendre polynomial, orthogonal on [-1, 1]; `n` is truncated to an integer, and the result 0 below degree 0."; let forms = ["special"]; }
