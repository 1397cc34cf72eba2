// Special functions around Gamma, the random draws that need them, and factorisations of symmetric matrices: what
// probability distributions are made of.

def LGamma : Unary<"lgamma", "Float"> { let summary = "log |Gamma(input)|; inf at 0 and the negative integers."; let body = [(lgamma $input)]; let reference = "scipy.special.gammaln"; }
def Digamma : Unary<"digamma", "Float"> { let summary = "The derivative of log |Gamma(input)|; NaN at the negative integers."; let body = [(digamma $input)]; let reference = "scipy.special.psi"; let forms = ["function", "method", "inplace", "out", "special"]; }
def ErfInv : Unary<"erfinv", "Float"> { let summary = "The y with erf(y) = input; NaN outside [-1, 1]."; let body = [(erfinv $input)]; let reference = "scipy.special.erfinv"; let forms = ["function", "method", "inplace", "out", "special"]; }
def : Derivative<LGamma, [(mul $g, (digamma $input))]>;
def : Derivative<Digamma, [(mul $g, (polygamma 1, $input))]>;
def : Derivative<ErfInv, [(mul $g, (mul "0.886226925452758013649", (exp (square $out))))]>;

def PolyGamma : Composite<"polygamma", "int n, Tensor input"> { let summary = "The n-th derivative of digamma; n >= 0."; let forms = ["function", "special", "out"]; let samples = "none"; }
def MVLGamma : Composite<"mvlgamma", "Tensor input, int p"> { let summary = "log of the multivariate Gamma function of dimension p; input > (p - 1) / 2."; let forms = ["function", "method", "inplace", "special"]; let samples = "none"; }
def GammaLn : Composite<"gammaln", "Tensor input"> { let summary = "log |Gamma(input)|."; let forms = ["special"]; let samples = "none"; }
def Psi : Composite<"psi", "Tensor input"> { let summary = "The derivative of log |Gamma(input)|."; let forms = ["special"]; let samples = "none"; }
def Zeta : Composite<"zeta", "Operand input, Operand other"> { let summary = "Hurwitz zeta: the sum of (other + k)^-input over k = 0, 1, ...; input > 1."; let forms = ["special"]; let samples = "none"; }
def IGamma : Composite<"igamma", "Tensor input, Tensor other"> { let summary = "Regularised lower incomplete Gamma function P(input, other): the distribution function of Gamma(input, 1) at `other`."; let forms = ["function", "method", "inplace"]; let samples = "none"; }
def IGammaC : Composite<"igammac", "Tensor input, Tensor other"> { let summary = "Regularised upper incomplete Gamma function, 1 - igamma(input, other), accurate where it is small."; let forms = ["function", "method", "inplace"]; let samples = "none"; }
def GammaInc : Composite<"gammainc", "Tensor input, Tensor other"> { let summary = "Regularised lower incomplete Gamma function P(input, other)."; let forms = ["special"]; let samples = "none"; }
def GammaIncC : Composite<"gammaincc", "Tensor input, Tensor other"> { let summary = "Regularised upper incomplete Gamma function, 1 - P(input, other)."; let forms = ["special"]; let samples = "none"; }

// Float64 arrays of one shape; the composites above bring others to that.
def ZetaPlain : Library<"zeta_plain", "Tensor x, Tensor q", "sameAsInput"> { let summary = "Hurwitz zeta function of float64 arrays."; let forms = ["hidden"]; let samples = "none"; }
def GammaIncPlain : Library<"gammainc_plain", "Tensor a, Tensor x, bool upper", "sameAsInput"> { let summary = "Regularised incomplete Gamma functions of float64 arrays."; let forms = ["hidden"]; let samples = "none"; }
def GammaCdfSlope : Library<"gamma_cdf_slope_plain", "Tensor a, Tensor x, int order", "sameAsInput"> { let summary = "The derivative of that order of P(a, x) in a, divided by the density x^(a-1) e^-x / Gamma(a); float64."; let forms = ["hidden"]; let samples = "none"; }
def : Rule<ZetaPlain, "zeta", ["x", "q"]>;
def : Rule<GammaIncPlain, "gammaInc", ["a", "x"]>;
def : Rule<GammaCdfSlope, "gammaCdfSlope", ["a", "x", "out"]>;

// Draws. Element i of a draw reads the Philox counters (offset, i) and as many after it as its rejections ask for.
def GammaDraw : Library<"gamma_draw", "Scalar seed, Scalar offset, Tensor alpha", "sameAsLast"> { let summary = "Draws of Gamma(alpha, 1); float64."; let forms = ["hidden"]; let samples = "none"; }
def PoissonDraw : Library<"poisson_draw", "Scalar seed, Scalar offset, Tensor rate", "sameAsLast"> { let summary = "Poisson draws; float64."; let forms = ["hidden"]; let samples = "none"; }
def BinomialDraw : Library<"binomial_draw", "Scalar seed, Scalar offset, Tensor count, Tensor prob", "sameAsLast"> { let summary = "Binomial draws; float64."; let forms = ["hidden"]; let samples = "none"; }
foreach o = [GammaDraw, PoissonDraw, BinomialDraw] in def : NotDifferentiable<o>;
// Implicit reparameterisation (Figurnov et al. 2018): a draw x of Gamma(a) keeps its quantile, so dx/da = -F_a / F_x.
def GammaSample : Pointwise<"gamma_sample", "Promote", "Tensor alpha, Tensor draw"> { let summary = "`draw`, which depends on `alpha` as the quantile of Gamma(alpha, 1) does."; let body = [(identity $draw)]; let forms = ["hidden"]; let samples = "none"; }
def : Derivative<GammaSample, [(neg (mul $g, (gamma_cdf_slope $alpha, $out))), (none)]>;
def GammaSlope : Composite<"gamma_cdf_slope", "Tensor a, Tensor x"> { let summary = "The derivative of P(a, x) in a, divided by the density."; let forms = ["hidden"]; let samples = "none"; }

def StandardGamma : Composite<"standard_gamma", "Tensor input, generator? generator=None"> { let python = "_standard_gamma"; let summary = "Draws of Gamma(input, 1), differentiable in `input`."; let forms = ["function"]; let samples = "none"; }
def PoissonRandom : Composite<"poisson", "Tensor input, generator? generator=None"> { let summary = "Poisson draws with rates `input`."; let forms = ["function"]; let samples = "none"; }
def BinomialRandom : Composite<"binomial", "Tensor count, Tensor prob, generator? generator=None"> { let summary = "Numbers of successes in `count` trials of probability `prob`."; let forms = ["function"]; let samples = "none"; }

// Matrices in the last two dims, float32 or float64.
def CholeskyPlain : Library<"cholesky_plain", "Tensor input, bool check", "choleskyFactors"> { let summary = "The lower triangular L with L L^T = input, and 0 or the order of the leading minor that is not positive-definite: an error if checked, else NaN.";  let numResults = 2; let results = "(Tensor, Tensor)"; let forms = ["hidden"]; let samples = "none"; }
def TriangularSolve : Library<"triangular_solve_plain", "Tensor input, Tensor other, bool upper, bool unitriangular", "triangularSolve"> { let summary = "input^-1 other for a triangular input; batch dims equal."; let forms = ["hidden"]; let samples = "none"; }
def : Rule<CholeskyPlain, "cholesky", ["out"]>;
def : Rule<TriangularSolve, "triangularSolve", ["input", "out"]>;
def Cholesky : Composite<"linalg_cholesky", "Tensor input, *, bool upper=False"> { let python = "cholesky"; let summary = "The lower triangular L with L L^T = input (or upper, with U^T U) for symmetric positive-definite matrices."; let forms = ["linalg"]; let samples = "none"; }
def CholeskyOld : Composite<"cholesky", "Tensor input, bool upper=False"> { let summary = "The Cholesky factor, as linalg.cholesky."; let samples = "none"; }
def SolveTriangular : Composite<"linalg_solve_triangular", "Tensor input, Tensor B, *, bool upper, bool left=True, bool unitriangular=False"> { let python = "solve_triangular"; let summary = "The X with input X = B (or X input = B where not `left`), input triangular."; let forms = ["linalg"]; let samples = "none"; }
