// Products of matrices and vectors, and contractions (eager/composites: products.cpp, contraction.cpp). With `wide` the
// product of half types is float32, for what is added before it is rounded; a `bias` of theirs, a number for each
// column, is added so, where the device's products do that themselves (Target::productsAddBias).

def : Contraction<"matmul_plain",
    "Tensor input, Tensor other, bool allow_tf32=False, bool wide=False, Tensor? bias=None", "matmul"> {
  let forms = ["hidden"];
  let rule = "matmul";
  let saves = ["input@1", "other@0"];
  let batching = "matmul";
  let summary = "Matrix products of the last two dims; batch dims equal.";
}

def : Library<"pack_matrix", "Tensor other", "packMatrix"> {
  let forms = ["hidden"];
  let differentiable = 0;
  let summary = "A matrix in the order in which products read it, for `matmul_packed`.";
  let samples = "none";
}

def : Contraction<"matmul_packed", "Tensor input, Tensor packed, int columns, bool allow_tf32=False",
    "matmulPacked"> {
  let forms = ["hidden"];
  let differentiable = 0;
  let summary = "input @ other, bit for bit as matmul, for the matrix of `columns` columns that was packed.";
  let samples = "none";
}

def : Composite<"matmul", "Tensor input, Tensor other"> {
  let forms = ["function", "method"];
  let mixedPrecision = "Lower";
  let summary = "Matrix product, of vectors, matrices or batches of them, as Python's @.";
  let shapes = "[N] @ [N] is 0-d, [..., M, K] @ [..., K, N] is [..., M, N]; leading dims broadcast; a vector counts "
               "as one row or column, whose dim goes again";
  let accepts = "Number";
  let gives = "Promote";
  let raises = [Raises<"RuntimeError", "the inner sizes differ", "tandem.matmul(tandem.ones(2, 3), tandem.ones(2, 3))">,
                Raises<"RuntimeError", "the dtypes of the operands differ",
                       "tandem.matmul(tandem.ones(2, 2), tandem.ones(2, 2, dtype=tandem.int64))">];
  let example = [{
    >>> tandem.matmul(tandem.tensor([[1., 2.], [3., 4.]]), tandem.tensor([1., 1.]))
    tensor([3., 7.])
    >>> tandem.matmul(tandem.zeros(5, 2, 3), tandem.zeros(3, 4)).shape
    tandem.Size([5, 2, 4])
  }];
  let reference = "matmul";
}

def : Composite<"linalg_matmul", "Tensor input, Tensor other"> {
  let python = "matmul";
  let forms = ["linalg"];
  let mixedPrecision = "Lower";
  let summary = "As matmul.";
  let shapes = "[N] @ [N] is 0-d, [..., M, K] @ [..., K, N] is [..., M, N]; leading dims broadcast; a vector counts "
               "as one row or column, whose dim goes again";
  let accepts = "Number";
  let gives = "Promote";
  let example = [{
    >>> tandem.linalg.matmul(tandem.tensor([[1., 2.], [3., 4.]]), tandem.tensor([[0., 1.], [1., 0.]]))
    tensor([[2., 1.],
            [4., 3.]])
  }];
}

def : Composite<"mm", "Tensor input, Tensor mat2"> {
  let forms = ["function", "method"];
  let mixedPrecision = "Lower";
  let summary = "Product of two matrices.";
  let shapes = "[M, K] and [K, N]; the result is [M, N]";
  let accepts = "Number";
  let gives = "Promote";
  let raises = [Raises<"RuntimeError", "an operand is no matrix, or the inner sizes differ",
                       "tandem.mm(tandem.ones(2, 3), tandem.ones(2, 3))">,
                Raises<"RuntimeError", "the dtypes of the operands differ",
                       "tandem.mm(tandem.ones(2, 2), tandem.ones(2, 2, dtype=tandem.int64))">];
  let example = [{
    >>> tandem.mm(tandem.tensor([[1., 2.], [3., 4.]]), tandem.tensor([[0., 1.], [1., 0.]]))
    tensor([[2., 1.],
            [4., 3.]])
  }];
  let reference = "matmul";
}

def : Composite<"bmm", "Tensor input, Tensor mat2"> {
  let forms = ["function", "method"];
  let mixedPrecision = "Lower";
  let summary = "Products of two batches of matrices.";
  let shapes = "[B, M, K] and [B, K, N]; the result is [B, M, N]";
  let accepts = "Number";
  let gives = "Promote";
  let raises = [Raises<"RuntimeError", "an operand is not 3-d, or the sizes do not fit",
                       "tandem.bmm(tandem.ones(2, 3), tandem.ones(2, 3))">,
                Raises<"RuntimeError", "the dtypes of the operands differ",
                       "tandem.bmm(tandem.ones(1, 2, 2), tandem.ones(1, 2, 2, dtype=tandem.int64))">];
  let example = [{
    >>> tandem.bmm(tandem.zeros(5, 2, 3), tandem.zeros(5, 3, 4)).shape
    tandem.Size([5, 2, 4])
  }];
  let reference = "matmul";
}

def : Composite<"mv", "Tensor input, Tensor vec"> {
  let summary = "Product of a matrix and a vector.";
  let shapes = "[M, K] and [K]; the result is [M]";
  let accepts = "Number";
  let gives = "Promote";
  let raises = [Raises<"RuntimeError", "the sizes do not fit", "tandem.mv(tandem.ones(2, 3), tandem.ones(2))">,
                Raises<"RuntimeError", "the dtypes of the operands differ",
                       "tandem.mv(tandem.ones(2, 2), tandem.ones(2, dtype=tandem.int64))">];
  let example = [{
    >>> tandem.mv(tandem.tensor([[1., 2.], [3., 4.]]), tandem.tensor([1., 1.]))
    tensor([3., 7.])
  }];
  let reference = "matmul";
}

def : Composite<"dot", "Tensor input, Tensor tensor"> {
  let gpuMixedPrecision = "Promote";
  let summary = "Inner product of two vectors.";
  let shapes = "Scalar";
  let accepts = "Number";
  let gives = "Promote";
  let raises = [Raises<"RuntimeError", "the operands are not 1-d, or of different sizes",
                       "tandem.dot(tandem.ones(2), tandem.ones(3))">,
                Raises<"RuntimeError", "the dtypes of the operands differ",
                       "tandem.dot(tandem.ones(2), tandem.ones(2, dtype=tandem.int64))">];
  let example = [{
    >>> tandem.dot(tandem.tensor([1., 2.]), tandem.tensor([3., 4.]))
    tensor(11.)
  }];
  let reference = "dot";
}

def : Composite<"vdot", "Tensor input, Tensor other"> {
  let gpuMixedPrecision = "Promote";
  let summary = "Inner product of two vectors.";
  let shapes = "Scalar";
  let accepts = "Number";
  let gives = "Promote";
  let raises = [Raises<"RuntimeError", "the operands are not 1-d, or of different sizes",
                       "tandem.vdot(tandem.ones(2), tandem.ones(3))">];
  let example = [{
    >>> tandem.vdot(tandem.tensor([1, 2]), tandem.tensor([3, 4]))
    tensor(11)
  }];
  let reference = "vdot";
}

def : Composite<"vecdot", "Tensor x, Tensor y, *, int dim=-1"> {
  let forms = ["linalg"];
  let mixedPrecision = "Lower";
  let summary = "Inner products of the vectors along `dim`.";
  let shapes = "`x` and `y` broadcast; the result lacks `dim` of that";
  let accepts = "Any";
  let gives = "Sum";
  let example = [{
    >>> tandem.linalg.vecdot(tandem.tensor([[1., 2.], [3., 4.]]), tandem.tensor([1., 1.]))
    tensor([3., 7.])
  }];
}

def : Composite<"inner", "Tensor input, Tensor other"> {
  let mixedPrecision = "LowerSums";
  let summary = "Sums of products over the last dims; the product if either is 0-d.";
  let shapes = "[..., K] and [..., K] with any leading dims; the result has those of `input`, then those of `other`";
  let accepts = "Number";
  let gives = "Promote";
  let example = [{
    >>> tandem.inner(tandem.tensor([[1, 2], [3, 4]]), tandem.tensor([1, 1]))
    tensor([3, 7])
  }];
  let reference = "inner";
}

def : Composite<"outer", "Tensor input, Tensor vec2"> {
  let aliases = ["ger"];
  let summary = "Outer product of two vectors.";
  let shapes = "[M] and [N]; the result is [M, N]";
  let accepts = "Any";
  let gives = "Promote";
  let example = [{
    >>> tandem.outer(tandem.tensor([1, 2]), tandem.tensor([3, 4, 5]))
    tensor([[ 3,  4,  5],
            [ 6,  8, 10]])
  }];
  let reference = "outer";
}

def : Composite<"kron", "Tensor input, Tensor other"> {
  let summary = "Kronecker product: every element of `input` times `other`, in blocks.";
  let shapes = "sizes multiply, dim by dim from the last";
  let accepts = "Any";
  let gives = "Promote";
  let example = [{
    >>> tandem.kron(tandem.tensor([[1, 2]]), tandem.tensor([[1, 0], [0, 1]]))
    tensor([[1, 0, 2, 0],
            [0, 1, 0, 2]])
  }];
  let reference = "kron";
}

def : Composite<"addmm", "Tensor input, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1"> {
  let older = ["beta, input, alpha, mat1, mat2", "beta, input, mat1, mat2"];
  let forms = ["function", "method", "inplace"];
  let mixedPrecision = "Lower";
  let summary = "beta * input + alpha * (mat1 @ mat2).";
  let shapes = "`mat1` [M, K], `mat2` [K, N]; `input` broadcasts to the result, [M, N]";
  let accepts = "Any";
  let gives = "Promote";
  let example = [{
    >>> tandem.addmm(tandem.tensor([10., 20.]), tandem.tensor([[1., 2.]]), tandem.tensor([[1., 0.], [0., 1.]]))
    tensor([[11., 22.]])
  }];
  let inPlaceExample = [{
    >>> tandem.zeros(1, 2).addmm_(tandem.tensor([[1., 2.]]), tandem.tensor([[1., 0.], [0., 1.]]))
    tensor([[1., 2.]])
  }];
}

def : Composite<"addmv", "Tensor input, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1"> {
  let older = ["beta, input, alpha, mat, vec", "beta, input, mat, vec"];
  let forms = ["function", "method", "inplace"];
  let summary = "beta * input + alpha * (mat @ vec).";
  let shapes = "`mat` [M, K], `vec` [K]; `input` broadcasts to the result, [M]";
  let accepts = "Any";
  let gives = "Promote";
  let example = [{
    >>> tandem.addmv(tandem.tensor([10., 20.]), tandem.tensor([[1., 2.], [3., 4.]]), tandem.tensor([1., 1.]), beta=0.5)
    tensor([ 8., 17.])
  }];
}

def : Composite<"addr", "Tensor input, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1"> {
  let older = ["beta, input, alpha, vec1, vec2", "beta, input, vec1, vec2"];
  let forms = ["function", "method", "inplace"];
  let summary = "beta * input + alpha * outer(vec1, vec2).";
  let shapes = "`vec1` [M], `vec2` [N]; `input` broadcasts to the result, [M, N]";
  let accepts = "Any";
  let gives = "Promote";
  let example = [{
    >>> tandem.addr(tandem.zeros(2, 2), tandem.tensor([1., 2.]), tandem.tensor([3., 4.]))
    tensor([[3., 4.],
            [6., 8.]])
  }];
}

def : Composite<"baddbmm", "Tensor input, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1"> {
  let older = ["beta, input, alpha, batch1, batch2", "beta, input, batch1, batch2"];
  let forms = ["function", "method", "inplace"];
  let mixedPrecision = "Lower";
  let summary = "beta * input + alpha * bmm(batch1, batch2).";
  let shapes = "`batch1` [B, M, K], `batch2` [B, K, N]; `input` broadcasts to the result, [B, M, N]";
  let accepts = "Any";
  let gives = "Promote";
  let example = [{
    >>> tandem.baddbmm(tandem.zeros(2, 4), tandem.zeros(5, 2, 3), tandem.zeros(5, 3, 4)).shape
    tandem.Size([5, 2, 4])
  }];
  let inPlaceExample = [{
    >>> tandem.zeros(1, 1, 2).baddbmm_(tandem.ones(1, 1, 3), tandem.ones(1, 3, 2))
    tensor([[[3., 3.]]])
  }];
}

def : Composite<"addbmm", "Tensor input, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1"> {
  let older = ["beta, input, alpha, batch1, batch2", "beta, input, batch1, batch2"];
  let forms = ["function", "method", "inplace"];
  let mixedPrecision = "Lower";
  let summary = "beta * input + alpha * the sum of the products of two batches of matrices.";
  let shapes = "`batch1` [B, M, K], `batch2` [B, K, N]; `input` broadcasts to the result, [M, N]";
  let accepts = "Any";
  let gives = "Promote";
  let example = [{
    >>> tandem.addbmm(tandem.zeros(2, 2), tandem.ones(5, 2, 3), tandem.ones(5, 3, 2))
    tensor([[15., 15.],
            [15., 15.]])
  }];
}

def : Composite<"linear", "Tensor input, Tensor weight, Tensor? bias=None"> {
  let forms = ["nn", "out"];
  let mixedPrecision = "Lower";
  let summary = "input @ weight.T + bias; weight [out, in].";
  let shapes = "`input` [*, K], `weight` [N, K] or [K], `bias` [N] or 0-d; the result is [*, N], or [*] for a vector "
               "`weight`";
  let accepts = "Number";
  let gives = "Promote";
  let raises = [Raises<"RuntimeError", "the inner sizes differ", "F.linear(tandem.ones(2, 3), tandem.ones(4, 5))">];
  let example = [{
    >>> F.linear(tandem.tensor([[1., 2.]]), tandem.tensor([[1., 0.], [0., 1.], [1., 1.]]), tandem.tensor([0., 0., 10.]))
    tensor([[ 1.,  2., 13.]])
  }];
}

def : Composite<"einsum", "str equation, Tensor[] operands"> {
  let oneByOne = 1;
  let forms = ["function"];
  let takesOut = 0;
  let mixedPrecision = "LowerSums";
  let summary = "Sum of products by Einstein's convention: `equation` names the dims of each operand and of the "
                "result by letters, `...` the others. Contracted in pairs, in the order of fewest multiplications.";
  let shapes = "as `equation` says; sizes called by one letter are equal or 1";
  let accepts = "Number";
  let gives = "Promote";
  let raises = [Raises<"RuntimeError", "the equation does not fit the operands",
                       "tandem.einsum(\"ij,jk\", tandem.ones(2, 3))">];
  let example = [{
    >>> tandem.einsum("ij,jk->ik", tandem.tensor([[1., 2.], [3., 4.]]), tandem.tensor([[1.], [1.]]))
    tensor([[3.],
            [7.]])
    >>> tandem.einsum("bii->b", tandem.ones(2, 3, 3))
    tensor([3., 3.])
  }];
}

def : Composite<"tensordot", "Tensor a, Tensor b, int[] dims_a, int[] dims_b"> {
  let forms = ["function"];
  let mixedPrecision = "Lower";
  let summary = "Sum of products over dims of two tensors, paired in order.";
  let shapes = "paired dims have equal sizes; the result has the others, of `a`, then of `b`";
  let accepts = "Number";
  let gives = "Promote";
  let example = [{
    >>> tandem.tensordot(tandem.arange(6.).reshape(2, 3), tandem.ones(3, 2), dims=1)
    tensor([[ 3.,  3.],
            [12., 12.]])
  }];
}

def : Composite<"multi_dot", "Tensor[] tensors"> {
  let forms = ["linalg"];
  let mixedPrecision = "Lower";
  let summary = "Product of two or more matrices, in the order of fewest multiplications; the first may be a row, the "
                "last a column.";
  let shapes = "[M, K1], [K1, K2], ..., [Kn, N]; the result is [M, N]. The first may be [K1], the last [Kn]: that dim "
               "is absent from the result";
  let accepts = "Number";
  let gives = "Promote";
  let example = [{
    >>> tandem.linalg.multi_dot([tandem.ones(2, 10), tandem.ones(10, 3), tandem.ones(3, 1)])
    tensor([[30.],
            [30.]])
  }];
}

def : Composite<"chain_matmul", "Tensor[] matrices"> {
  let oneByOne = 1;
  let forms = ["function"];
  let mixedPrecision = "Lower";
  let summary = "Product of matrices, in the order of fewest multiplications.";
  let shapes = "[M, K1], [K1, K2], ..., [Kn, N]; the result is [M, N]";
  let accepts = "Number";
  let gives = "Promote";
  let example = [{
    >>> tandem.chain_matmul(tandem.ones(2, 10), tandem.ones(10, 3), tandem.ones(3, 1))
    tensor([[30.],
            [30.]])
  }];
}

def : Composite<"matrix_power", "Tensor input, int n"> {
  let forms = ["function", "method", "linalg"];
  let mixedPrecision = "Float32";
  let summary = "Square matrices to an integer power, by squaring; a negative one of the inverse.";
  let shapes = "square matrices [..., N, N]; the result is alike";
  let accepts = "Number";
  let gives = "Promote";
  let raises = [Raises<"RuntimeError", "the input is not square", "tandem.linalg.matrix_power(tandem.ones(2, 3), 2)">];
  let example = [{
    >>> tandem.matrix_power(tandem.tensor([[1., 1.], [0., 1.]]), 3)
    tensor([[1., 3.],
            [0., 1.]])
  }];
}

def : Composite<"cross", "Tensor input, Tensor other, int? dim=None"> {
  let summary = "Vector products along a dim of size 3 (the first such when None).";
  let shapes = "`input` and `other` broadcast, with size 3 in `dim`";
  let accepts = "Number";
  let gives = "Promote";
  let example = [{
    >>> tandem.cross(tandem.tensor([1., 0., 0.]), tandem.tensor([0., 1., 0.]), dim=0)
    tensor([0., 0., 1.])
  }];
}

def : Composite<"linalg_cross", "Tensor input, Tensor other, *, int dim=-1"> {
  let python = "cross";
  let forms = ["linalg"];
  let summary = "Vector products along `dim`, of size 3.";
  let shapes = "`input` and `other` broadcast, with size 3 in `dim`";
  let accepts = "Number";
  let gives = "Promote";
  let example = [{
    >>> tandem.linalg.cross(tandem.tensor([1., 0., 0.]), tandem.tensor([0., 1., 0.]))
    tensor([0., 0., 1.])
  }];
}

def : Composite<"trace", "Tensor input"> {
  let takesOut = 0;
  let mixedPrecision = "Float32";
  let summary = "Sum of the diagonal of a matrix.";
  let shapes = "Scalar";
  let accepts = "Number";
  let gives = "Sum";
  let example = [{
    >>> tandem.trace(tandem.tensor([[1, 2], [3, 4]]))
    tensor(5)
  }];
  let reference = "trace";
}

def : Composite<"linalg_diagonal", "Tensor A, *, int offset=0, int dim1=-2, int dim2=-1"> {
  let python = "diagonal";
  let forms = ["linalg"];
  let takesOut = 0;
  let summary = "As diagonal, of the last two dims.";
  let shapes = "`input` without dim1 and dim2, and the length of the diagonal behind";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.linalg.diagonal(tandem.tensor([[1, 2], [3, 4]]), offset=1)
    tensor([2])
  }];
}
