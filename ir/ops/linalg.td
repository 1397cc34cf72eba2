// Linear algebra: matrices in the last two dims, batches before them; float32 or float64. The factorisations are library
// operations (runtime/lib/factorisations.cpp); what is made of them, eager/composites/linalg.cpp. Tested by
// tests/python/test_linalg.py.

// ---- what values are expected to be (runtime/lib/expectation.h)
def Expect : Library<"expect", "Tensor input, Tensor good, Tensor shown, int what, int detail", "sameAsInput"> { let summary = "`input`, where all of `good` holds; else the error that `what` and `detail` say."; let forms = ["hidden"]; let samples = "none"; }
def : Derivative<Expect, [(identity $g), (none), (none)]>;
def : Batched<Expect, "leading">;
def ClassIndices : Library<"class_indices", "Tensor target, int classes, int ignored", "sameAsInput"> { let summary = "The int64 `target`, whose elements are classes, with 0 for `ignored`; else the error that names one which is neither."; let forms = ["hidden"]; let samples = "none"; }
def : NotDifferentiable<ClassIndices>;
def : Batched<ClassIndices, "leading">;

// ---- factorisations
def LuPlain : Library<"lu_plain", "Tensor input", "luFactors"> { let summary = "Partial pivoting: L and U of P^T input = L U in one matrix of its shape, the rows swapped (from 1) and the row that came to each place."; let numResults = 3; let results = "(Tensor, Tensor, Tensor)"; let forms = ["hidden"]; let samples = "none"; }
def SolvePlain : Library<"solve_plain", "Tensor input, Tensor other", "triangularSolve"> { let summary = "input^-1 other by LU with partial pivoting; infinities and NaN where input is singular. Batch dims equal."; let forms = ["hidden"]; let samples = "none"; }
def QrPlain : Library<"qr_plain", "Tensor input, bool complete", "qrFactors"> { let summary = "Q with orthonormal columns and upper triangular R, Q R = input; all of Q if complete."; let numResults = 2; let results = "(Tensor, Tensor)"; let forms = ["hidden"]; let samples = "none"; }
def Geqrf : Library<"geqrf", "Tensor input", "geqrf"> { let summary = "Householder vectors of the QR factorisation below R, and their factors tau."; let numResults = 2; let results = "(Tensor, Tensor)"; let fields = ["a", "tau"]; let samples = "none"; }
def SvdPlain : Library<"svd_plain", "Tensor input, bool full", "svdFactors"> { let summary = "U, S and Vh with U diag(S) Vh = input, S descending; square U and Vh if full."; let numResults = 3; let results = "(Tensor, Tensor, Tensor)"; let forms = ["hidden"]; let samples = "none"; }
def EighPlain : Library<"eigh_plain", "Tensor input, bool upper", "eighFactors"> { let summary = "Eigenvalues, ascending, and eigenvectors of the symmetric matrix of which one triangle is read."; let numResults = 2; let results = "(Tensor, Tensor)"; let forms = ["hidden"]; let samples = "none"; }
def MatrixExpPlain : Library<"matrix_exp_plain", "Tensor input", "cholesky"> { let summary = "exp of square matrices."; let forms = ["hidden"]; let samples = "none"; }
foreach o = [LuPlain, SolvePlain, QrPlain, Geqrf, SvdPlain, EighPlain, MatrixExpPlain] in def : Batched<o, "leading">;
def : Rule<LuPlain, "lu", ["out", "out2"]>;
def : Rule<SolvePlain, "solve", ["input", "out"]>;
def : Rule<QrPlain, "qr", ["input", "out", "out1"]>;
def : NotDifferentiable<Geqrf>;
def : Rule<SvdPlain, "svd", ["out", "out1", "out2"]>;
def : Rule<EighPlain, "eigh", ["out", "out1"]>;
def : Rule<MatrixExpPlain, "matrixExp", ["input"]>;

// ---- determinants and inverses; det and pinv have derivatives of their own, right for singular matrices too
def Det : Composite<"det", "Tensor A"> { let summary = "Determinants of square matrices."; let forms = ["function", "method", "linalg"]; let samples = "none"; }
def : Rule<Det, "det", ["A"]>;
def Slogdet : Composite<"slogdet", "Tensor A"> { let summary = "Signs and logarithms of the absolute values of determinants."; let numResults = 2; let results = "(Tensor, Tensor)"; let fields = ["sign", "logabsdet"]; let forms = ["function", "method", "linalg"]; let samples = "none"; }
def LogAbsDet : Composite<"log_abs_det", "Tensor A, Tensor pivots"> { let summary = "log |det A| of matrices whose LU factors have these pivots."; let forms = ["hidden"]; let samples = "none"; }
def : Rule<LogAbsDet, "logAbsDet", ["A"]>;
def LogDet : Composite<"logdet", "Tensor input"> { let summary = "log of determinants; NaN for negative ones."; let samples = "none"; }
def Inv : Composite<"linalg_inv", "Tensor A"> { let python = "inv"; let summary = "Inverses of square matrices; a LinAlgError where one is singular."; let forms = ["linalg"]; let samples = "none"; }
def Inverse : Composite<"inverse", "Tensor input"> { let summary = "As linalg.inv."; let samples = "none"; }
def InvEx : Composite<"linalg_inv_ex", "Tensor A, *, bool check_errors=False"> { let python = "inv_ex"; let summary = "Inverses, and where a matrix is singular the place (from 1) of the zero pivot."; let numResults = 2; let results = "(Tensor, Tensor)"; let fields = ["inverse", "info"]; let forms = ["linalg"]; let samples = "none"; }
def PInv : Composite<"linalg_pinv", "Tensor A, *, Operand? atol=None, Operand? rtol=None, bool hermitian=False"> { let python = "pinv"; let summary = "Moore-Penrose inverses; singular values at most max(atol, rtol * largest) count as 0, rtol max(m, n) eps by default."; let forms = ["linalg"]; let samples = "none"; }
def PInvRcond : Composite<"pinverse", "Tensor input, Operand rcond=1e-15"> { let summary = "Moore-Penrose inverses; singular values at most rcond * largest count as 0."; let samples = "none"; }
def PInvLinalgRcond : Composite<"linalg_pinv_rcond", "Tensor A, Operand rcond, bool hermitian=False"> { let python = "pinv"; let summary = "Moore-Penrose inverses; singular values at most rcond * largest count as 0."; let forms = ["linalg"]; let samples = "none"; }
def PInvOf : Composite<"pinv_of", "Tensor A, Tensor cutoff"> { let summary = "The inverse of what singular values above the cutoff span."; let forms = ["hidden"]; let samples = "none"; }
def : Rule<PInvOf, "pinv", ["out", "A"]>;

// ---- systems of equations
def Solve : Composite<"linalg_solve", "Tensor A, Tensor B, *, bool left=True"> { let python = "solve"; let summary = "The X with A X = B (X A = B where not `left`); B may be a vector. A LinAlgError where A is singular."; let forms = ["linalg"]; let samples = "none"; }
def SolveEx : Composite<"linalg_solve_ex", "Tensor A, Tensor B, *, bool left=True, bool check_errors=False"> { let python = "solve_ex"; let summary = "Solutions, and where a matrix is singular the place (from 1) of the zero pivot."; let numResults = 2; let results = "(Tensor, Tensor)"; let fields = ["result", "info"]; let forms = ["linalg"]; let samples = "none"; }
def LstSq : Composite<"linalg_lstsq", "Tensor A, Tensor B, Scalar? rcond=None, *, str? driver=None"> { let python = "lstsq"; let summary = "The X of least |A X - B| (of least norm among several), squared residuals, ranks and singular values; by QR for driver 'gels' and 'gelsy', by SVD for 'gelsd' and 'gelss'."; let numResults = 4; let results = "(Tensor, Tensor, Tensor, Tensor)"; let fields = ["solution", "residuals", "rank", "singular_values"]; let forms = ["linalg"]; let samples = "none"; }
def CholeskySolve : Composite<"cholesky_solve", "Tensor input, Tensor L, bool upper=False"> { let summary = "The X with L L^T X = input (U^T U X where `upper`)."; let samples = "none"; }
def : Rule<CholeskySolve, "choleskySolve", ["L", "out"]>;
def CholeskyInverse : Composite<"cholesky_inverse", "Tensor L, bool upper=False"> { let summary = "The inverse of L L^T (of U^T U where `upper`)."; let samples = "none"; }
def CholeskyEx : Composite<"linalg_cholesky_ex", "Tensor input, *, bool upper=False, bool check_errors=False"> { let python = "cholesky_ex"; let summary = "Cholesky factors, and 0 or the order of the leading minor that is not positive-definite."; let numResults = 2; let results = "(Tensor, Tensor)"; let fields = ["L", "info"]; let forms = ["linalg"]; let samples = "none"; }
def TensorInv : Composite<"linalg_tensorinv", "Tensor A, int ind=2"> { let python = "tensorinv"; let summary = "The inverse of `tensordot` with A over its first `ind` dims."; let forms = ["linalg"]; let samples = "none"; }
def TensorSolve : Composite<"linalg_tensorsolve", "Tensor A, Tensor B, int[]? dims=None"> { let python = "tensorsolve"; let summary = "The X with tensordot(A, X, X.dim()) = B; `dims` of A are moved to its end first."; let forms = ["linalg"]; let samples = "none"; }

// ---- factorisations as users know them
def LU : Composite<"linalg_lu", "Tensor A, *, bool pivot=True"> { let python = "lu"; let summary = "P, L and U with P L U = A, P a permutation."; let numResults = 3; let results = "(Tensor, Tensor, Tensor)"; let fields = ["P", "L", "U"]; let forms = ["linalg"]; let samples = "none"; }
def LUFactor : Composite<"linalg_lu_factor", "Tensor A, *, bool pivot=True"> { let python = "lu_factor"; let summary = "L and U in one matrix, and the rows that were swapped (from 1)."; let numResults = 2; let results = "(Tensor, Tensor)"; let fields = ["LU", "pivots"]; let forms = ["linalg"]; let samples = "none"; }
def LUSolve : Composite<"linalg_lu_solve", "Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False"> { let python = "lu_solve"; let summary = "The X with A X = B (X A where not `left`, A^T where `adjoint`), of an A that `lu_factor` factored."; let forms = ["linalg"]; let samples = "none"; }
def QR : Composite<"linalg_qr", "Tensor A, str mode='reduced'"> { let python = "qr"; let summary = "Q with orthonormal columns and upper triangular R, Q R = A; mode 'complete' gives square Q, 'r' an empty one."; let numResults = 2; let results = "(Tensor, Tensor)"; let fields = ["Q", "R"]; let forms = ["linalg"]; let samples = "none"; }
def QROld : Composite<"qr", "Tensor input, bool some=True"> { let summary = "As linalg.qr, complete where not `some`."; let numResults = 2; let results = "(Tensor, Tensor)"; let fields = ["Q", "R"]; let samples = "none"; }
def SVD : Composite<"linalg_svd", "Tensor A, bool full_matrices=True, *, str? driver=None"> { let python = "svd"; let summary = "U, S and Vh with U diag(S) Vh = A, singular values descending."; let numResults = 3; let results = "(Tensor, Tensor, Tensor)"; let fields = ["U", "S", "Vh"]; let forms = ["linalg"]; let samples = "none"; }
def SVDOld : Composite<"svd", "Tensor input, bool some=True, bool compute_uv=True"> { let summary = "U, S and V with U diag(S) V^T = input; square U and V where not `some`, zeros where not `compute_uv`."; let numResults = 3; let results = "(Tensor, Tensor, Tensor)"; let fields = ["U", "S", "V"]; let samples = "none"; }
def SVDVals : Composite<"linalg_svdvals", "Tensor A, *, str? driver=None"> { let python = "svdvals"; let summary = "Singular values, descending."; let forms = ["linalg"]; let samples = "none"; }
def Eigh : Composite<"linalg_eigh", "Tensor A, str UPLO='L'"> { let python = "eigh"; let summary = "Eigenvalues, ascending, and eigenvectors of symmetric matrices, of which the lower (or upper) triangle is read."; let numResults = 2; let results = "(Tensor, Tensor)"; let fields = ["eigenvalues", "eigenvectors"]; let forms = ["linalg"]; let samples = "none"; }
def EigValsh : Composite<"linalg_eigvalsh", "Tensor A, str UPLO='L'"> { let python = "eigvalsh"; let summary = "Eigenvalues of symmetric matrices, ascending."; let forms = ["linalg"]; let samples = "none"; }
def MatrixExp : Composite<"matrix_exp", "Tensor input"> { let summary = "Exponentials of square matrices."; let forms = ["function", "method", "linalg"]; let samples = "none"; }
def HouseholderProduct : Composite<"linalg_householder_product", "Tensor input, Tensor tau"> { let python = "householder_product"; let summary = "The first columns of the product of the reflections 1 - tau v v^T, v the columns of `input` below a diagonal of ones."; let forms = ["linalg"]; let samples = "none"; }
def OrgQr : Composite<"orgqr", "Tensor input, Tensor input2"> { let summary = "As linalg.householder_product."; let samples = "none"; }

// ---- what singular values tell
def MatrixRank : Composite<"linalg_matrix_rank", "Tensor A, *, Operand? atol=None, Operand? rtol=None, bool hermitian=False"> { let python = "matrix_rank"; let summary = "How many singular values exceed max(atol, rtol * largest), rtol max(m, n) eps by default."; let forms = ["linalg"]; let samples = "none"; }
def MatrixRankTol : Composite<"linalg_matrix_rank_tol", "Tensor A, Operand tol, bool hermitian=False"> { let python = "matrix_rank"; let summary = "How many singular values exceed `tol`."; let forms = ["linalg"]; let samples = "none"; }
def Cond : Composite<"linalg_cond", "Tensor A, float? p=None"> { let python = "cond"; let summary = "|A| |A^-1| in a norm, 2 by default."; let forms = ["linalg"]; let samples = "none"; }
def CondNamed : Composite<"linalg_cond_named", "Tensor A, str p"> { let python = "cond"; let summary = "|A| |A^-1| in the norm 'fro' or 'nuc'."; let forms = ["linalg"]; let samples = "none"; }
def NuclearNorm : Composite<"nuclear_norm", "Tensor input, bool keepdim=False"> { let summary = "The sum of the singular values."; let forms = ["function"]; let samples = "none"; }
def NuclearNormDims : Composite<"nuclear_norm_dims", "Tensor input, int[2] dim, bool keepdim=False"> { let python = "nuclear_norm"; let summary = "The sum of the singular values of the matrices in two dims."; let forms = ["function"]; let samples = "none"; }
