// Factorisations of matrices in the last two dims, float32 or float64 (runtime/lib/linalg), under
// the names that Python knows.

def : Factorisation<"lu_plain", "Tensor input", "luFactors"> {
  let results = "(Tensor, Tensor, Tensor)";
  let numResults = 3;
  let forms = ["hidden"];
  let rule = "lu";
  let saves = ["out", "out2"];
  let batching = "leading";
  let summary = "Partial pivoting: L and U of P^T input = L U in one matrix of its shape, the rows swapped (from 1) "
                "and the row that came to each place.";
  let samples = "none";
}

def : Factorisation<"lu_order", "Tensor pivots", "luOrder"> {
  let forms = ["hidden"];
  let differentiable = 0;
  let batching = "leading";
  let summary = "The row (from 0) that the swaps of square matrices (from 1, int32) bring to each place.";
  let samples = "none";
}

def : Factorisation<"lu_solve_plain", "Tensor LU, Tensor order, Tensor other, bool adjoint", "luSolve"> {
  let forms = ["hidden"];
  let differentiable = 0;
  let batching = "leading";
  let summary = "A^-1 other (A^-T other where `adjoint`) by what `lu_plain` says of A; batch dims equal.";
  let samples = "none";
}

def : Composite<"linalg_lu", "Tensor A, *, bool pivot=True"> {
  let python = "lu";
  let results = "(Tensor, Tensor, Tensor)";
  let numResults = 3;
  let fields = ["P", "L", "U"];
  let forms = ["linalg"];
  let summary = "P, L and U with P L U = A, P a permutation.";
  let shapes = "[..., M, N]; `P` [..., M, M], `L` [..., M, min(M, N)], `U` [..., min(M, N), N]";
  let accepts = "Wide";
  let gives = "that of `A`, for all results";
  let example = [{
    >>> tandem.linalg.lu(tandem.tensor([[1., 2.], [2., 6.]]))
    tandem.return_types.linalg_lu(
    P=tensor([[0., 1.],
            [1., 0.]]),
    L=tensor([[1.0000, 0.0000],
            [0.5000, 1.0000]]),
    U=tensor([[ 2.,  6.],
            [ 0., -1.]]))
  }];
  let samples = "none";
}

def : Composite<"linalg_lu_factor", "Tensor A, *, bool pivot=True"> {
  let python = "lu_factor";
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let fields = ["LU", "pivots"];
  let forms = ["linalg"];
  let mixedPrecision = "Float32";
  let summary = "L and U in one matrix, and the rows that were swapped (from 1).";
  let shapes = "[..., M, N]; `LU` alike, `pivots` [..., min(M, N)]";
  let accepts = "Wide";
  let gives = "that of `A`; `pivots` is int32";
  let raises = [Raises<"RuntimeError", "a pivot is zero", "tandem.linalg.lu_factor(tandem.zeros(2, 2))">];
  let example = [{
    >>> tandem.linalg.lu_factor(tandem.tensor([[1., 2.], [2., 6.]]))
    tandem.return_types.linalg_lu_factor(
    LU=tensor([[ 2.0000,  6.0000],
            [ 0.5000, -1.0000]]),
    pivots=tensor([2, 2], dtype=tandem.int32))
  }];
  let samples = "none";
}

def : Composite<"linalg_lu_factor_ex", "Tensor A, *, bool pivot=True, bool check_errors=False"> {
  let python = "lu_factor_ex";
  let results = "(Tensor, Tensor, Tensor)";
  let numResults = 3;
  let fields = ["LU", "pivots", "info"];
  let forms = ["linalg"];
  let mixedPrecision = "Float32";
  let summary = "As linalg.lu_factor, and 0 or the place (from 1) of the first zero on the diagonal of U, which is an "
                "error only where `check_errors` says so.";
  let shapes = "[..., M, N]; `LU` alike, `pivots` [..., min(M, N)], `info` [...]";
  let accepts = "Wide";
  let gives = "that of `A`; `pivots` and `info` are int32";
  let example = [{
    >>> tandem.linalg.lu_factor_ex(tandem.tensor([[2., 4.], [1., 2.]])).info
    tensor(2, dtype=tandem.int32)
  }];
  let samples = "none";
}

def : Composite<"linalg_lu_solve",
    "Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False"> {
  let python = "lu_solve";
  let forms = ["linalg"];
  let mixedPrecision = "Float32";
  let summary = "The X with A X = B (X A where not `left`, A^T where `adjoint`), of an A that `lu_factor` factored.";
  let shapes = "`LU` [..., N, N], `pivots` [..., N], `B` [..., N, K] ([..., K, N] where not `left`); the result is as "
               "`B`, leading dims broadcast";
  let accepts = "Wide";
  let gives = "that of `B`; `pivots` holds int32";
  let example = [{
    >>> A = tandem.tensor([[1., 2.], [2., 6.]])
    >>> tandem.linalg.lu_solve(*tandem.linalg.lu_factor(A), tandem.tensor([[3.], [8.]]))
    tensor([[1.],
            [1.]])
  }];
  let samples = "none";
}

def : Factorisation<"qr_plain", "Tensor input, bool complete", "qrFactors"> {
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let forms = ["hidden"];
  let rule = "qr";
  let saves = ["input", "out", "out1"];
  let batching = "leading";
  let summary = "Q with orthonormal columns and upper triangular R, Q R = input; all of Q if complete.";
  let samples = "none";
}

def : Factorisation<"geqrf", "Tensor input", "geqrf"> {
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let fields = ["a", "tau"];
  let rule = "refused";
  let batching = "leading";
  let summary = "Householder vectors of the QR factorisation below R, and their factors tau.";
  let shapes = "[..., M, N]; `a` alike, `tau` [..., min(M, N)]";
  let accepts = "Wide";
  let gives = "that of `input`, for both results";
  let example = [{
    >>> tandem.geqrf(tandem.tensor([[1., 2.], [0., 3.]]))
    tandem.return_types.geqrf(
    a=tensor([[1., 2.],
            [0., 3.]]),
    tau=tensor([0., 0.]))
  }];
  let samples = "none";
}

def : Composite<"linalg_qr", "Tensor A, str mode='reduced'"> {
  let python = "qr";
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let fields = ["Q", "R"];
  let forms = ["linalg"];
  let mixedPrecision = "Float32";
  let summary = "Q with orthonormal columns and upper triangular R, Q R = A; mode 'complete' gives square Q, 'r' an "
                "empty one.";
  let shapes = "[..., M, N]; with K = min(M, N), or M where complete, `Q` is [..., M, K] and `R` [..., K, N]";
  let accepts = "Wide";
  let gives = "that of `A`, for all results";
  let example = [{
    >>> Q, R = tandem.linalg.qr(tandem.tensor([[1., 2.], [0., 3.], [0., 4.]]))
    >>> Q.shape, (Q @ R).round()
    (tandem.Size([3, 2]), tensor([[1., 2.],
            [0., 3.],
            [0., 4.]]))
  }];
  let samples = "none";
}

def : Composite<"qr", "Tensor input, bool some=True"> {
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let fields = ["Q", "R"];
  let mixedPrecision = "Float32";
  let summary = "As linalg.qr, complete where not `some`.";
  let shapes = "[..., M, N]; with K = min(M, N), or M where complete, `Q` is [..., M, K] and `R` [..., K, N]";
  let accepts = "Wide";
  let gives = "that of `input`, for both results";
  let example = [{
    >>> Q, R = tandem.qr(tandem.tensor([[1., 2.], [0., 3.], [0., 4.]]))
    >>> Q.shape, R.shape
    (tandem.Size([3, 2]), tandem.Size([2, 2]))
  }];
  let samples = "none";
}

def : Factorisation<"householder_product_plain", "Tensor input, Tensor tau", "sameAsInput"> {
  let forms = ["hidden"];
  let rule = "householderProduct";
  let saves = ["input", "tau"];
  let summary = "`linalg_householder_product` of at least one reflection; batch dims equal.";
  let samples = "none";
}

def : Composite<"linalg_householder_product", "Tensor input, Tensor tau"> {
  let python = "householder_product";
  let forms = ["linalg"];
  let summary = "The first columns of the product of the reflections 1 - tau v v^T, v the columns of `input` below a "
                "diagonal of ones.";
  let shapes = "`input` [..., M, N] with M >= N, `tau` [..., K] with K <= N; the result is as `input`";
  let accepts = "Wide";
  let gives = "First";
  let example = [{
    >>> tandem.linalg.householder_product(tandem.tensor([[1., 2.], [1., 3.]]), tandem.tensor([1., 2.]))
    tensor([[ 0.,  1.],
            [-1.,  0.]])
  }];
  let samples = "none";
}

def : Composite<"orgqr", "Tensor input, Tensor input2"> {
  let mixedPrecision = "Float32";
  let summary = "As linalg.householder_product.";
  let shapes = "`input` [..., M, N] with M >= N, `input2` [..., K] with K <= N; the result is as `input`";
  let accepts = "Wide";
  let gives = "First";
  let example = [{
    >>> tandem.orgqr(tandem.tensor([[1., 2.], [1., 3.]]), tandem.tensor([1., 2.]))
    tensor([[ 0.,  1.],
            [-1.,  0.]])
  }];
  let samples = "none";
}

def : Factorisation<"svd_plain", "Tensor input, bool full", "svdFactors"> {
  let failure = "Computing";
  let results = "(Tensor, Tensor, Tensor)";
  let numResults = 3;
  let forms = ["hidden"];
  let rule = "svd";
  let saves = ["out", "out1", "out2"];
  let batching = "leading";
  let summary = "U, S and Vh with U diag(S) Vh = input, S descending; square U and Vh if full.";
  let samples = "none";
}

def : Factorisation<"svdvals_plain", "Tensor input", "singularValues"> {
  let failure = "Computing";
  let forms = ["hidden"];
  let rule = "singularValues";
  let saves = ["input"];
  let batching = "leading";
  let summary = "The singular values alone; the derivative finds the vectors.";
  let samples = "none";
}

def : Composite<"linalg_svd", "Tensor A, bool full_matrices=True, *, str? driver=None"> {
  let python = "svd";
  let results = "(Tensor, Tensor, Tensor)";
  let numResults = 3;
  let fields = ["U", "S", "Vh"];
  let forms = ["linalg"];
  let mixedPrecision = "Float32";
  let summary = "U, S and Vh with U diag(S) Vh = A, singular values descending.";
  let shapes = "[..., M, N] with K = min(M, N); `U` [..., M, M], `S` [..., K], `Vh` [..., N, N]; [..., M, K] and "
               "[..., K, N] without `full_matrices`";
  let accepts = "Wide";
  let gives = "that of `A`, for all results";
  let example = [{
    >>> U, S, Vh = tandem.linalg.svd(tandem.tensor([[3., 0.], [0., 4.], [0., 0.]]))
    >>> U.shape, S, Vh.shape
    (tandem.Size([3, 3]), tensor([4., 3.]), tandem.Size([2, 2]))
  }];
  let samples = "none";
}

def : Composite<"svd", "Tensor input, bool some=True, bool compute_uv=True"> {
  let results = "(Tensor, Tensor, Tensor)";
  let numResults = 3;
  let fields = ["U", "S", "V"];
  let mixedPrecision = "Float32";
  let summary = "U, S and V with U diag(S) V^T = input; square U and V where not `some`, zeros where not `compute_uv`.";
  let shapes = "[..., M, N] with K = min(M, N); `U` [..., M, K], `S` [..., K], `V` [..., N, K]; [..., M, M] and [..., "
               "N, N] where not `some`";
  let accepts = "Wide";
  let gives = "that of `input`, for both results";
  let example = [{
    >>> U, S, V = tandem.svd(tandem.tensor([[3., 0.], [0., 4.], [0., 0.]]))
    >>> U.shape, S, V.shape
    (tandem.Size([3, 2]), tensor([4., 3.]), tandem.Size([2, 2]))
  }];
  let samples = "none";
}

def : Composite<"linalg_svdvals", "Tensor A, *, str? driver=None"> {
  let python = "svdvals";
  let forms = ["linalg"];
  let mixedPrecision = "Float32";
  let summary = "Singular values, descending.";
  let shapes = "[..., M, N]; the result is [..., min(M, N)]";
  let accepts = "Wide";
  let gives = "First";
  let example = [{
    >>> tandem.linalg.svdvals(tandem.tensor([[3., 0.], [0., 4.]]))
    tensor([4., 3.])
  }];
}

def : Factorisation<"eigh_plain", "Tensor input, bool upper", "eighFactors"> {
  let failure = "Computing";
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let forms = ["hidden"];
  let rule = "eigh";
  let saves = ["out", "out1"];
  let batching = "leading";
  let summary = "Eigenvalues, ascending, and eigenvectors of the symmetric matrix of which one triangle is read.";
  let samples = "none";
}

def : Factorisation<"eigvalsh_plain", "Tensor input, bool upper", "eigenvalues"> {
  let failure = "Computing";
  let forms = ["hidden"];
  let rule = "eigenvalues";
  let saves = ["input"];
  let batching = "leading";
  let summary = "The eigenvalues alone; the derivative finds the vectors.";
  let samples = "none";
}

def : Composite<"linalg_eigh", "Tensor A, str UPLO='L'"> {
  let python = "eigh";
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let fields = ["eigenvalues", "eigenvectors"];
  let forms = ["linalg"];
  let mixedPrecision = "Float32";
  let summary = "Eigenvalues, ascending, and eigenvectors of symmetric matrices, of which the lower (or upper) "
                "triangle is read.";
  let shapes = "square matrices [..., N, N]; `eigenvalues` [..., N], `eigenvectors` [..., N, N]";
  let accepts = "Wide";
  let gives = "that of `A`, for all results";
  let example = [{
    >>> tandem.linalg.eigh(tandem.tensor([[2., 0.], [0., 1.]])).eigenvalues
    tensor([1., 2.])
  }];
  let samples = "none";
}

def : Composite<"linalg_eigvalsh", "Tensor A, str UPLO='L'"> {
  let python = "eigvalsh";
  let forms = ["linalg"];
  let mixedPrecision = "Float32";
  let summary = "Eigenvalues of symmetric matrices, ascending.";
  let shapes = "square matrices [..., N, N]; the result is [..., N]";
  let accepts = "Wide";
  let gives = "First";
  let example = [{
    >>> tandem.linalg.eigvalsh(tandem.tensor([[3., 0.], [0., 1.]]))
    tensor([1., 3.])
  }];
  let samples = "none";
}

def : Factorisation<"ldl_plain", "Tensor input", "ldlFactors"> {
  let results = "(Tensor, Tensor, Tensor)";
  let numResults = 3;
  let forms = ["hidden"];
  let rule = "ldl";
  let batching = "leading";
  let summary = "L and the blocks of D in one matrix, pivots as LAPACK's sytrf gives them, and 0 or the place (from 1) "
                "of the first block that is zero.";
  let samples = "none";
}

def : Factorisation<"ldl_solve_plain", "Tensor LD, Tensor pivots, Tensor other", "ldlSolve"> {
  let forms = ["hidden"];
  let rule = "ldlSolve";
  let batching = "leading";
  let summary = "A^-1 other by what `ldl_plain` says of A; batch dims equal.";
  let samples = "none";
}

def : Composite<"linalg_ldl_factor", "Tensor A, *, bool hermitian=False"> {
  let python = "ldl_factor";
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let fields = ["LD", "pivots"];
  let forms = ["linalg"];
  let summary = "L and D with A = L D L^T for symmetric matrices, of which the lower triangle is read; D has blocks of "
                "one or two rows. Backward raises an error.";
  let shapes = "square matrices [..., N, N]; `LD` alike, `pivots` [..., N]: p > 0 is a block of one row that came from "
               "row p, two equal ones p < 0 are a block of two rows, of which the second came from row -p";
  let accepts = "Wide";
  let gives = "that of `A`; `pivots` is int32";
  let raises = [Raises<"RuntimeError", "a block of D is zero (as linalg.LinAlgError)",
                       "tandem.linalg.ldl_factor(tandem.zeros(2, 2))">];
  let example = [{
    >>> tandem.linalg.ldl_factor(tandem.tensor([[4., 2.], [2., 5.]]))
    tandem.return_types.linalg_ldl_factor(
    LD=tensor([[4.0000, 0.0000],
            [0.5000, 4.0000]]),
    pivots=tensor([1, 2], dtype=tandem.int32))
  }];
  let samples = "none";
}

def : Composite<"linalg_ldl_factor_ex", "Tensor A, *, bool hermitian=False, bool check_errors=False"> {
  let python = "ldl_factor_ex";
  let results = "(Tensor, Tensor, Tensor)";
  let numResults = 3;
  let fields = ["LD", "pivots", "info"];
  let forms = ["linalg"];
  let summary = "As linalg.ldl_factor, and 0 or the place (from 1) of the first block of D that is zero.";
  let shapes = "square matrices [..., N, N]; `LD` alike, `pivots` [..., N], `info` [...]";
  let accepts = "Wide";
  let gives = "that of `A`; `pivots` and `info` are int32";
  let example = [{
    >>> tandem.linalg.ldl_factor_ex(tandem.tensor([[0., 0.], [0., 5.]])).info
    tensor(1, dtype=tandem.int32)
  }];
  let samples = "none";
}

def : Composite<"linalg_ldl_solve", "Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False"> {
  let python = "ldl_solve";
  let forms = ["linalg"];
  let summary = "The X with A X = B, of an A that `ldl_factor` factored. Backward raises an error.";
  let shapes = "`LD` [..., N, N], `pivots` [..., N], `B` [..., N, K]; the result is as `B`, leading dims broadcast";
  let accepts = "Wide";
  let gives = "that of `B`; `pivots` holds integers";
  let example = [{
    >>> A = tandem.tensor([[4., 2.], [2., 5.]])
    >>> tandem.linalg.ldl_solve(*tandem.linalg.ldl_factor(A), tandem.tensor([[6.], [7.]]))
    tensor([[1.],
            [1.]])
  }];
  let samples = "none";
}

// Matrices in the last two dims, float32 or float64.
def : Factorisation<"cholesky_plain", "Tensor input, bool check", "choleskyFactors"> {
  let failure = "Values";
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let forms = ["hidden"];
  let rule = "cholesky";
  let saves = ["out"];
  let summary = "The lower triangular L with L L^T = input, and 0 or the order of the leading minor that is not "
                "positive-definite: an error if checked, else NaN.";
  let samples = "none";
}

def : Composite<"linalg_cholesky", "Tensor input, *, bool upper=False"> {
  let python = "cholesky";
  let forms = ["linalg"];
  let mixedPrecision = "Float32";
  let summary = "The lower triangular L with L L^T = input (or upper, with U^T U) for symmetric positive-definite "
                "matrices.";
  let shapes = "[..., N, N]; the result is alike";
  let accepts = "Wide";
  let gives = "First";
  let raises = [Raises<"RuntimeError", "the matrix is not positive definite (as linalg.LinAlgError)",
                       "tandem.linalg.cholesky(-tandem.ones(1, 1))">];
  let example = [{
    >>> tandem.linalg.cholesky(tandem.tensor([[4., 2.], [2., 5.]]))
    tensor([[2., 0.],
            [1., 2.]])
  }];
  let samples = "none";
}

def : Composite<"cholesky", "Tensor input, bool upper=False"> {
  let mixedPrecision = "Float32";
  let summary = "The Cholesky factor, as linalg.cholesky.";
  let shapes = "[..., N, N]; the result is alike";
  let accepts = "Wide";
  let gives = "First";
  let example = [{
    >>> tandem.cholesky(tandem.tensor([[4., 2.], [2., 5.]]), upper=True)
    tensor([[2., 1.],
            [0., 2.]])
  }];
  let samples = "none";
}

def : Composite<"linalg_cholesky_ex", "Tensor input, *, bool upper=False, bool check_errors=False"> {
  let python = "cholesky_ex";
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let fields = ["L", "info"];
  let forms = ["linalg"];
  let summary = "Cholesky factors, and 0 or the order of the leading minor that is not positive-definite.";
  let shapes = "square matrices [..., N, N]; the factors alike, `info` [...]";
  let accepts = "Wide";
  let gives = "that of the operand; `info` is int32";
  let example = [{
    >>> L, info = tandem.linalg.cholesky_ex(tandem.tensor([[4., 2.], [2., 5.]]))
    >>> L, info
    (tensor([[2., 0.],
            [1., 2.]]), tensor(0, dtype=tandem.int32))
  }];
  let samples = "none";
}

def : Composite<"cholesky_solve", "Tensor input, Tensor L, bool upper=False"> {
  let rule = "choleskySolve";
  let saves = ["L", "out"];
  let mixedPrecision = "Float32";
  let summary = "The X with L L^T X = input (U^T U X where `upper`).";
  let shapes = "`input` [..., N, K], `L` [..., N, N]; the result is as `input`, leading dims broadcast";
  let accepts = "Wide";
  let gives = "First";
  let example = [{
    >>> tandem.cholesky_solve(tandem.tensor([[4.], [8.]]), tandem.tensor([[2., 0.], [0., 4.]]))
    tensor([[1.0000],
            [0.5000]])
  }];
  let samples = "none";
}

def : Composite<"cholesky_inverse", "Tensor L, bool upper=False"> {
  let mixedPrecision = "Float32";
  let summary = "The inverse of L L^T (of U^T U where `upper`).";
  let shapes = "square matrices [..., N, N]; the result is alike";
  let accepts = "Wide";
  let gives = "First";
  let example = [{
    >>> tandem.cholesky_inverse(tandem.tensor([[1., 0.], [1., 1.]]))
    tensor([[ 2., -1.],
            [-1.,  1.]])
  }];
  let samples = "none";
}
