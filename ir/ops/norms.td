// Norms and distances of vectors and matrices (eager/composites/norms.cpp).

// A number's size as the norm of one element: at infinities there is no direction.
def : Case<"norm_plain", "First", "Tensor input"> {
  let body = [(abs $input)];
  let derivative = [(mul $g, (where (eq $out, 0), 0, (div $input, (where (eq $out, 0), 1, $out))))];
  let summary = "|input|.";
}

def : Unary<"root", "Float"> {
  let forms = ["hidden"];
  let body = [(sqrt $input)];
  let derivative = [(where (eq $out, 0), 0, (div $g, (mul 2, (where (eq $out, 0), 1, $out))))];
  let summary = "Square root whose derivatives at 0 are 0.";
  let samples = "none";
}

def : Composite<"norm", "Tensor input, float? p=None, dims dim=None, bool keepdim=False, *, dtype? dtype=None"> {
  let gpuMixedPrecision = "Float32";
  let summary = "Vector p-norm over `dim`; 2 when p is None.";
  let shapes = "Reduced";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.norm(tandem.tensor([3., 4.]))
    tensor(5.)
    >>> tandem.norm(tandem.tensor([[3., -4.], [1., 2.]]), p=1, dim=1)
    tensor([7., 3.])
  }];
}

def : Composite<"norm_named",
    "Tensor input, str p, dims dim=None, bool keepdim=False, *, dtype? dtype=None"> {
  let python = "norm";
  let summary = "The norm called 'fro' (root of the sum of squares) or 'nuc' (sum of singular values).";
  let shapes = "Reduced";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.norm(tandem.tensor([[1., 2.], [2., 4.]]), p="fro")
    tensor(5.)
  }];
}

def : Composite<"vector_norm",
    "Tensor x, float ord=2, dims dim=None, bool keepdim=False, *, dtype? dtype=None"> {
  let forms = ["linalg"];
  let summary = "Vector norm of order `ord` over `dim`.";
  let shapes = "Reduced";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.linalg.vector_norm(tandem.tensor([[3., 4.], [6., 8.]]), dim=1)
    tensor([ 5., 10.])
  }];
}

def : Composite<"matrix_norm",
    "Tensor A, str ord='fro', int[]? dim=None, bool keepdim=False, *, dtype? dtype=None"> {
  let forms = ["linalg"];
  let summary = "The norm 'fro' (Frobenius) or 'nuc' (sum of singular values) of the matrices in two dims.";
  let shapes = "`A` [..., M, N] without the two dims of `dim` (the last two when None), which stay as 1 if `keepdim`";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.linalg.matrix_norm(tandem.tensor([[1., 2.], [2., 4.]]))
    tensor(5.)
  }];
}

def : Composite<"matrix_norm_of",
    "Tensor A, float ord, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None"> {
  let python = "matrix_norm";
  let forms = ["linalg"];
  let summary = "Matrix norm: largest (1, inf) or smallest (-1, -inf) sum of absolute values of a column or row, "
                "largest (2) or smallest (-2) singular value.";
  let shapes = "`A` [..., M, N] without the two dims of `dim` (the last two when None), which stay as 1 if `keepdim`";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.linalg.matrix_norm(tandem.tensor([[1., -2.], [3., 4.]]), 1)
    tensor(6.)
  }];
}

def : Composite<"linalg_norm",
    "Tensor A, float? ord=None, dims dim=None, bool keepdim=False, *, dtype? dtype=None"> {
  let gpuMixedPrecision = "Float32";
  let python = "norm";
  let forms = ["linalg"];
  let summary = "Vector norm of all elements or over one dim, matrix norm over two.";
  let shapes = "a vector norm as a reduction over `dim`; a matrix norm of two dims, which go, or stay as 1 if "
               "`keepdim`";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.linalg.norm(tandem.tensor([3., 4.]))
    tensor(5.)
  }];
}

def : Composite<"linalg_norm_named",
    "Tensor A, str ord, dims dim=None, bool keepdim=False, *, dtype? dtype=None"> {
  let python = "norm";
  let forms = ["linalg"];
  let summary = "Matrix norm called 'fro' or 'nuc'.";
  let shapes = "a vector norm as a reduction over `dim`; a matrix norm of two dims, which go, or stay as 1 if "
               "`keepdim`";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.linalg.norm(tandem.tensor([[1., 2.], [2., 4.]]), "fro")
    tensor(5.)
  }];
}

def : Composite<"frobenius_norm", "Tensor input, dims dim=None, bool keepdim=False"> {
  let forms = ["function"];
  let summary = "The root of the sum of squares over `dim`.";
  let shapes = "Reduced";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.frobenius_norm(tandem.tensor([[3., 0.], [0., 4.]]), (0, 1))
    tensor(5.)
  }];
  let samples = "none";
}

def : Composite<"nuclear_norm", "Tensor input, bool keepdim=False"> {
  let forms = ["function"];
  let summary = "The sum of the singular values.";
  let shapes = "[M, N]; the result is 0-d, or [1, 1] if `keepdim`";
  let accepts = "Wide";
  let gives = "First";
  let example = [{
    >>> tandem.nuclear_norm(tandem.tensor([[3., 0.], [0., 4.]]))
    tensor(7.)
  }];
  let samples = "none";
}

def : Composite<"nuclear_norm_dims", "Tensor input, int[2] dim, bool keepdim=False"> {
  let python = "nuclear_norm";
  let forms = ["function"];
  let summary = "The sum of the singular values of the matrices in two dims.";
  let shapes = "`input` without the two dims of `dim`, which stay as 1 if `keepdim`";
  let accepts = "Wide";
  let gives = "First";
  let example = [{
    >>> tandem.nuclear_norm(tandem.eye(2).expand(3, 2, 2), (1, 2))
    tensor([2., 2., 2.])
  }];
  let samples = "none";
}

def : Composite<"normalize", "Tensor input, float p=2.0, int[] dim=[1], float eps=1e-12"> {
  let gpuMixedPrecision = "Float32";
  let forms = ["nn"];
  let summary = "input / max(p-norm along dim, eps).";
  let shapes = "Same";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> F.normalize(tandem.tensor([[3., 4.]]))
    tensor([[0.6000, 0.8000]])
  }];
}

def : Composite<"renorm", "Tensor input, float p, int dim, float maxnorm"> {
  let gpuMixedPrecision = "Float32";
  let forms = ["function", "method", "inplace"];
  let summary = "Slices of `dim` whose p-norm exceeds `maxnorm` scaled down to it.";
  let shapes = "Same";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.renorm(tandem.tensor([[3., 4.], [0.5, 0.]]), p=2, dim=0, maxnorm=2.5)
    tensor([[1.5000, 2.0000],
            [0.5000, 0.0000]])
  }];
  let samples = "none";
}

def : Composite<"dist", "Tensor input, Tensor other, float p=2"> {
  let takesOut = 0;
  let gpuMixedPrecision = "Float32";
  let summary = "The p-norm of input - other.";
  let shapes = "Scalar";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.dist(tandem.tensor([1., 2.]), tandem.tensor([4., 6.]))
    tensor(5.)
  }];
}

// Taped as a whole: its derivative takes the differences again, which are many more than what it reads.
def : Composite<"row_distances", "Tensor x1, Tensor x2, int order, bool across"> {
  let forms = ["hidden"];
  let rule = "rowDistances";
  let saves = ["x1", "x2", "out"];
  let summary = "Distances between rows [..., P, M] and [..., R, M], by the norm of an order, 0 for infinity; `across` "
                "adds up rows side by side.";
  let samples = "none";
}

def : Composite<"cdist", "Tensor x1, Tensor x2, float p=2.0, str? compute_mode=None"> {
  let forms = ["function"];
  let takesOut = 0;
  let mixedPrecision = "Float32";
  let summary = "p-norm distances between all rows of two batches of matrices. For p = 2 and more than 25 rows by a "
                "matrix product, unless `compute_mode` says otherwise.";
  let shapes = "[..., P, M] and [..., R, M], leading dims broadcast; the result is [..., P, R]";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.cdist(tandem.tensor([[0., 0.], [3., 4.]]), tandem.tensor([[0., 0.]]))
    tensor([[0.],
            [5.]])
  }];
}

def : Composite<"pdist", "Tensor input, float p=2"> {
  let gpuMixedPrecision = "Float32";
  let forms = ["function", "nn"];
  let takesOut = 0;
  let summary = "p-norm distances between all pairs of rows, those of the first row first.";
  let shapes = "[N, M]; the result is [N (N - 1) / 2]";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.pdist(tandem.tensor([[0., 0.], [3., 4.], [0., 1.]]))
    tensor([5.0000, 1.0000, 4.2426])
  }];
  let samples = "none";
}
