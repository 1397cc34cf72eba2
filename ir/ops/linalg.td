// Linear algebra made of factorisations: inverses, determinants, systems of equations (eager/composites/linalg.cpp).
// Tested by tests/python/operations/test_linalg.py.

def : Factorisation<"solve_plain", "Tensor input, Tensor other", "triangularSolve"> {
  let forms = ["hidden"];
  let rule = "solve";
  let saves = ["input", "out"];
  let batching = "leading";
  let summary = "input^-1 other by LU with partial pivoting; infinities and NaN where input is singular. Batch dims "
                "equal.";
  let samples = "none";
}

def : Composite<"solve_factored", "Tensor A, Tensor other, Tensor LU, Tensor order, bool adjoint"> {
  let forms = ["hidden"];
  let rule = "solveFactored";
  let saves = ["A", "LU", "order", "out"];
  let summary = "A^-1 other (A^-T other where `adjoint`), of an A that `lu_plain` factored. Batch dims equal.";
  let samples = "none";
}

def : Composite<"linalg_solve", "Tensor A, Tensor B, *, bool left=True"> {
  let python = "solve";
  let forms = ["linalg"];
  let mixedPrecision = "Float32";
  let summary = "The X with A X = B (X A = B where not `left`); B may be a vector. A LinAlgError where A is singular.";
  let shapes = "`A` [..., N, N]; `B` [..., N, K] ([..., K, N] where not `left`), or vectors [..., N]; the result is "
               "as `B`, leading dims broadcast";
  let accepts = "Wide";
  let gives = "First";
  let raises = [Raises<"RuntimeError", "a matrix is singular (as linalg.LinAlgError)",
                       "tandem.linalg.solve(tandem.zeros(2, 2), tandem.ones(2))">,
                Raises<"RuntimeError", "the input is not square",
                       "tandem.linalg.solve(tandem.ones(2, 3), tandem.ones(2))">];
  let example = [{
    >>> tandem.linalg.solve(tandem.tensor([[2., 0.], [0., 4.]]), tandem.tensor([2., 2.]))
    tensor([1.0000, 0.5000])
  }];
  let samples = "none";
}

def : Composite<"linalg_solve_ex", "Tensor A, Tensor B, *, bool left=True, bool check_errors=False"> {
  let python = "solve_ex";
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let fields = ["result", "info"];
  let forms = ["linalg"];
  let summary = "Solutions, and where a matrix is singular the place (from 1) of the zero pivot.";
  let shapes = "`A` [..., N, N]; `B` [..., N, K] ([..., K, N] where not `left`), or vectors [..., N]; the result is "
               "as `B`, leading dims broadcast, `info` [...]";
  let accepts = "Wide";
  let gives = "that of the operand; `info` is int32";
  let example = [{
    >>> tandem.linalg.solve_ex(tandem.tensor([[2., 0.], [0., 4.]]), tandem.tensor([2., 2.])).info
    tensor(0, dtype=tandem.int32)
  }];
  let samples = "none";
}

def : Factorisation<"triangular_solve_plain",
    "Tensor input, Tensor other, bool upper, bool unitriangular",
    "triangularSolve"> {
  let forms = ["hidden"];
  let rule = "triangularSolve";
  let saves = ["input", "out"];
  let batching = "leading";
  let summary = "input^-1 other for a triangular input; batch dims equal.";
  let samples = "none";
}

def : Composite<"linalg_solve_triangular",
    "Tensor input, Tensor B, *, bool upper, bool left=True, bool unitriangular=False"> {
  let python = "solve_triangular";
  let forms = ["linalg"];
  let mixedPrecision = "Float32";
  let summary = "The X with input X = B (or X input = B where not `left`), input triangular.";
  let shapes = "`input` [..., N, N], `B` [..., N, K] ([..., K, N] where not `left`); the result is as `B`, leading "
               "dims broadcast";
  let accepts = "Wide";
  let gives = "First";
  let example = [{
    >>> tandem.linalg.solve_triangular(tandem.tensor([[2., 0.], [1., 4.]]), tandem.tensor([[2.], [9.]]), upper=False)
    tensor([[1.],
            [2.]])
  }];
  let samples = "none";
}

def : Factorisation<"lstsq_plain", "Tensor A, Tensor other, Tensor rcond", "leastSquares"> {
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let forms = ["hidden"];
  let differentiable = 0;
  let summary = "The X of least |A X - other|, of least norm among several, and ranks: A counts as the first of its "
                "columns, in QR with pivoting, whose condition is at most 1 / rcond. Batch dims equal.";
  let samples = "none";
}

def : Composite<"least_squares", "Tensor A, Tensor other, Tensor solution"> {
  let forms = ["hidden"];
  let rule = "leastSquares";
  let saves = ["A", "other"];
  let summary = "`solution`, which is that of least |A X - other|. Batch dims equal.";
  let samples = "none";
}

def : Composite<"linalg_lstsq", "Tensor A, Tensor B, Scalar? rcond=None, *, str? driver=None"> {
  let python = "lstsq";
  let results = "(Tensor, Tensor, Tensor, Tensor)";
  let numResults = 4;
  let fields = ["solution", "residuals", "rank", "singular_values"];
  let forms = ["linalg"];
  let mixedPrecision = "Float32";
  let summary = "The X of least |A X - B| (of least norm among several), squared residuals, ranks and singular "
                "values; by QR for driver 'gels' and 'gelsy', by SVD for 'gelsd' and 'gelss'.";
  let shapes = "`A` [..., M, N], `B` [..., M, K] or [..., M]; `solution` [..., N, K] or [..., N], `residuals` [..., "
               "K] where M > N and the rank is full, else empty, `rank` [...], `singular_values` [..., min(M, N)]; "
               "what the driver does not compute is empty";
  let accepts = "Wide";
  let gives = "that of `A`; `rank` is int64";
  let example = [{
    >>> tandem.linalg.lstsq(tandem.tensor([[2., 0.], [0., 4.], [0., 0.]]), tandem.tensor([[2.], [2.], [3.]])).solution
    tensor([[1.0000],
            [0.5000]])
  }];
  let samples = "none";
}

def : Composite<"linalg_inv", "Tensor A"> {
  let python = "inv";
  let forms = ["linalg"];
  let summary = "Inverses of square matrices; a LinAlgError where one is singular.";
  let shapes = "square matrices [..., N, N]; the result is alike";
  let accepts = "Wide";
  let gives = "First";
  let raises = [Raises<"RuntimeError", "a matrix is singular (as linalg.LinAlgError)",
                       "tandem.linalg.inv(tandem.zeros(2, 2))">,
                Raises<"RuntimeError", "the input is not square", "tandem.linalg.inv(tandem.ones(2, 3))">];
  let example = [{
    >>> tandem.linalg.inv(tandem.tensor([[2., 0.], [0., 4.]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
  }];
  let samples = "none";
}

def : Composite<"inverse", "Tensor input"> {
  let mixedPrecision = "Float32";
  let summary = "As linalg.inv.";
  let shapes = "square matrices [..., N, N]; the result is alike";
  let accepts = "Wide";
  let gives = "First";
  let example = [{
    >>> tandem.inverse(tandem.tensor([[2., 0.], [0., 4.]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
  }];
  let samples = "none";
}

def : Composite<"linalg_inv_ex", "Tensor A, *, bool check_errors=False"> {
  let python = "inv_ex";
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let fields = ["inverse", "info"];
  let forms = ["linalg"];
  let summary = "Inverses, and where a matrix is singular the place (from 1) of the zero pivot.";
  let shapes = "square matrices [..., N, N]; the inverses alike, `info` [...]";
  let accepts = "Wide";
  let gives = "that of the operand; `info` is int32";
  let example = [{
    >>> tandem.linalg.inv_ex(tandem.tensor([[2., 0.], [0., 4.]]))
    tandem.return_types.linalg_inv_ex(
    inverse=tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]]),
    info=tensor(0, dtype=tandem.int32))
  }];
  let samples = "none";
}

def : Composite<"linalg_pinv", "Tensor A, *, Operand? atol=None, Operand? rtol=None, bool hermitian=False"> {
  let python = "pinv";
  let forms = ["linalg"];
  let mixedPrecision = "Float32";
  let summary = "Moore-Penrose inverses; singular values at most max(atol, rtol * largest) count as 0, rtol max(m, n) "
                "eps by default.";
  let shapes = "[..., M, N]; the result is [..., N, M]";
  let accepts = "Wide";
  let gives = "First";
  let example = [{
    >>> tandem.linalg.pinv(tandem.tensor([[2., 0.], [0., 0.]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.0000]])
  }];
  let samples = "none";
}

def : Composite<"pinverse", "Tensor input, Operand rcond=1e-15"> {
  let takesOut = 0;
  let mixedPrecision = "Float32";
  let summary = "Moore-Penrose inverses; singular values at most rcond * largest count as 0.";
  let shapes = "[..., M, N]; the result is [..., N, M]";
  let accepts = "Wide";
  let gives = "First";
  let example = [{
    >>> tandem.pinverse(tandem.tensor([[2., 0.], [0., 0.]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.0000]])
  }];
  let samples = "none";
}

def : Composite<"linalg_pinv_rcond", "Tensor A, Operand rcond, bool hermitian=False"> {
  let python = "pinv";
  let forms = ["linalg"];
  let mixedPrecision = "Float32";
  let summary = "Moore-Penrose inverses; singular values at most rcond * largest count as 0.";
  let shapes = "[..., M, N]; the result is [..., N, M]";
  let accepts = "Wide";
  let gives = "First";
  let example = [{
    >>> tandem.linalg.pinv(tandem.tensor([[2., 0.], [0., 0.1]]), 0.1)
    tensor([[0.5000, 0.0000],
            [0.0000, 0.0000]])
  }];
  let samples = "none";
}

def : Composite<"pinv_plain", "Tensor A, Tensor cutoff"> {
  let forms = ["hidden"];
  let rule = "pinv";
  let saves = ["out", "A"];
  let summary = "The inverse of what singular values above the cutoff span.";
  let samples = "none";
}

def : Composite<"det_factored", "Tensor A, Tensor LU, Tensor pivots, Tensor order"> {
  let forms = ["hidden"];
  let rule = "det";
  let saves = ["A", "LU", "pivots", "order"];
  let summary = "Determinants of matrices that `lu_plain` factored.";
  let samples = "none";
}

def : Composite<"det", "Tensor A"> {
  let forms = ["function", "method", "linalg"];
  let mixedPrecision = "Float32";
  let summary = "Determinants of square matrices.";
  let shapes = "square matrices [..., N, N]; the result is [...]";
  let accepts = "Wide";
  let gives = "First";
  let raises = [Raises<"RuntimeError", "the input is not square", "tandem.det(tandem.ones(2, 3))">];
  let example = [{
    >>> tandem.det(tandem.tensor([[4., 2.], [2., 2.]]))
    tensor(4.)
  }];
  let samples = "none";
}

def : Composite<"slogdet", "Tensor A"> {
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let fields = ["sign", "logabsdet"];
  let forms = ["function", "method", "linalg"];
  let mixedPrecision = "Float32";
  let summary = "Signs and logarithms of the absolute values of determinants.";
  let shapes = "square matrices [..., N, N]; both results are [...]";
  let accepts = "Wide";
  let gives = "that of `A`, for all results";
  let raises = [Raises<"RuntimeError", "the input is not square", "tandem.slogdet(tandem.ones(2, 3))">];
  let example = [{
    >>> tandem.slogdet(tandem.tensor([[1., 2.], [3., 4.]]))
    tandem.return_types.slogdet(
    sign=tensor(-1.),
    logabsdet=tensor(0.6931))
  }];
  let samples = "none";
}

def : Composite<"log_abs_det", "Tensor A, Tensor LU, Tensor order"> {
  let forms = ["hidden"];
  let rule = "logAbsDet";
  let saves = ["A", "LU", "order"];
  let summary = "log |det A| of matrices that `lu_plain` factored.";
  let samples = "none";
}

def : Composite<"logdet", "Tensor input"> {
  let takesOut = 0;
  let mixedPrecision = "Float32";
  let summary = "log of determinants; NaN for negative ones.";
  let shapes = "square matrices [..., N, N]; the result is [...]";
  let accepts = "Wide";
  let gives = "First";
  let example = [{
    >>> tandem.logdet(tandem.tensor([[2., 0.], [0., 4.]]))
    tensor(2.0794)
  }];
  let samples = "none";
}

def : Composite<"linalg_tensorinv", "Tensor A, int ind=2"> {
  let python = "tensorinv";
  let forms = ["linalg"];
  let summary = "The inverse of `tensordot` with A over its first `ind` dims.";
  let shapes = "the product of the first `ind` sizes is that of the others; the result has the others in front, then "
               "the first";
  let accepts = "Wide";
  let gives = "First";
  let example = [{
    >>> tandem.linalg.tensorinv(2 * tandem.eye(6).reshape(2, 3, 6), ind=2).shape
    tandem.Size([6, 2, 3])
  }];
  let samples = "none";
}

def : Composite<"linalg_tensorsolve", "Tensor A, Tensor B, int[]? dims=None"> {
  let python = "tensorsolve";
  let forms = ["linalg"];
  let summary = "The X with tensordot(A, X, X.dim()) = B; `dims` of A are moved to its end first.";
  let shapes = "the sizes of `A` begin with those of `B`; the result has the others";
  let accepts = "Wide";
  let gives = "First";
  let example = [{
    >>> tandem.linalg.tensorsolve(2 * tandem.eye(6).reshape(2, 3, 6), tandem.ones(2, 3))
    tensor([0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000])
  }];
  let samples = "none";
}

def : Library<"matrix_exp_plain", "Tensor input", "cholesky"> {
  let forms = ["hidden"];
  let rule = "matrixExp";
  let saves = ["input"];
  let batching = "leading";
  let summary = "exp of square matrices.";
  let samples = "none";
}

def : Composite<"matrix_exp", "Tensor input"> {
  let forms = ["function", "method", "linalg"];
  let takesOut = 0;
  let summary = "Exponentials of square matrices; those of half types are computed in float32.";
  let shapes = "square matrices [..., N, N]; the result is alike";
  let accepts = "Floating";
  let gives = "First";
  let raises = [Raises<"RuntimeError", "the input is not square", "tandem.matrix_exp(tandem.ones(2, 3))">];
  let example = [{
    >>> tandem.matrix_exp(tandem.tensor([[0., 1.], [0., 0.]]))
    tensor([[1., 1.],
            [0., 1.]])
  }];
}

def : Composite<"linalg_matrix_rank",
    "Tensor A, *, Operand? atol=None, Operand? rtol=None, bool hermitian=False"> {
  let python = "matrix_rank";
  let forms = ["linalg"];
  let differentiable = 0;
  let mixedPrecision = "Float32";
  let summary = "How many singular values exceed max(atol, rtol * largest), rtol max(m, n) eps by default.";
  let shapes = "[..., M, N]; the result is [...]";
  let accepts = "Wide";
  let gives = "Int64";
  let example = [{
    >>> tandem.linalg.matrix_rank(tandem.tensor([[1., 2.], [2., 4.]]))
    tensor(1)
  }];
  let samples = "none";
}

def : Composite<"linalg_matrix_rank_tol", "Tensor A, Operand tol, bool hermitian=False"> {
  let python = "matrix_rank";
  let forms = ["linalg"];
  let differentiable = 0;
  let mixedPrecision = "Float32";
  let summary = "How many singular values exceed `tol`.";
  let shapes = "[..., M, N]; the result is [...]";
  let accepts = "Wide";
  let gives = "Int64";
  let example = [{
    >>> tandem.linalg.matrix_rank(tandem.tensor([[1., 0.], [0., 0.1]]), 0.5)
    tensor(1)
  }];
  let samples = "none";
}

def : Composite<"linalg_cond", "Tensor A, float? p=None"> {
  let python = "cond";
  let forms = ["linalg"];
  let summary = "|A| |A^-1| in a norm, 2 by default.";
  let shapes = "[..., M, N]; the result is [...]";
  let accepts = "Wide";
  let gives = "First";
  let example = [{
    >>> tandem.linalg.cond(tandem.tensor([[4., 0.], [0., 2.]]))
    tensor(2.)
  }];
  let samples = "none";
}

def : Composite<"linalg_cond_named", "Tensor A, str p"> {
  let python = "cond";
  let forms = ["linalg"];
  let summary = "|A| |A^-1| in the norm 'fro' or 'nuc'.";
  let shapes = "[..., M, N]; the result is [...]";
  let accepts = "Wide";
  let gives = "First";
  let example = [{
    >>> tandem.linalg.cond(tandem.tensor([[3., 0.], [0., 4.]]), 'nuc')
    tensor(4.0833)
  }];
  let samples = "none";
}
