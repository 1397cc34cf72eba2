// Triangles and diagonals of matrices.

def : Composite<"tril", "Tensor input, int diagonal=0"> {
  let rule = "lowerTriangle";
  let repeats = "Taken";
  let forms = ["function", "method", "inplace"];
  let summary = "The lower triangle, zeros elsewhere.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.tril(tandem.ones(3, 3))
    tensor([[1., 0., 0.],
            [1., 1., 0.],
            [1., 1., 1.]])
  }];
  let reference = "tril";
}

def : Composite<"triu", "Tensor input, int diagonal=0"> {
  let rule = "upperTriangle";
  let repeats = "Taken";
  let forms = ["function", "method", "inplace"];
  let summary = "The upper triangle, zeros elsewhere.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.triu(tandem.ones(3, 3), diagonal=1)
    tensor([[0., 1., 1.],
            [0., 0., 1.],
            [0., 0., 0.]])
  }];
  let reference = "triu";
}

def : Composite<"tril_indices", "int row, int col, int offset=0, *, dtype? dtype=None"> {
  let forms = ["function"];
  let factory = 1;
  let summary = "Rows and columns of the lower triangle of a row x col matrix, as [2, n].";
  let shapes = "[2, number of elements in the triangle]";
  let accepts = "Any";
  let gives = "`dtype`, or int64";
  let example = [{
    >>> tandem.tril_indices(2, 3)
    tensor([[0, 1, 1],
            [0, 0, 1]])
  }];
}

def : Composite<"triu_indices", "int row, int col, int offset=0, *, dtype? dtype=None"> {
  let forms = ["function"];
  let factory = 1;
  let summary = "Rows and columns of the upper triangle of a row x col matrix, as [2, n].";
  let shapes = "[2, number of elements in the triangle]";
  let accepts = "Any";
  let gives = "`dtype`, or int64";
  let example = [{
    >>> tandem.triu_indices(2, 3)
    tensor([[0, 0, 0, 1, 1],
            [0, 1, 2, 1, 2]])
  }];
}

def : Composite<"diag", "Tensor input, int diagonal=0"> {
  let summary = "The diagonal of a matrix as a vector, or a matrix with a vector on its diagonal.";
  let shapes = "[N] gives [N + |diagonal|, N + |diagonal|]; [M, N] the length of the diagonal";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.diag(tandem.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    >>> tandem.diag(tandem.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
  }];
  let reference = "diag";
}

def : Composite<"diag_embed", "Tensor input, int offset=0, int dim1=-2, int dim2=-1"> {
  let takesOut = 0;
  let summary = "The last dim as the diagonal of two dims, zeros elsewhere.";
  let shapes = "[..., N]; two dims of size N + |offset| in place of the last, at dim1 and dim2";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.diag_embed(tandem.tensor([1, 2]), offset=1)
    tensor([[0, 1, 0],
            [0, 0, 2],
            [0, 0, 0]])
  }];
}

def : Composite<"diagflat", "Tensor input, int offset=0"> {
  let takesOut = 0;
  let summary = "A matrix with the elements of `input` on its diagonal.";
  let shapes = "N elements; the result is [N + |offset|, N + |offset|]";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.diagflat(tandem.tensor([[1], [2]]))
    tensor([[1, 0],
            [0, 2]])
  }];
  let reference = "diagflat";
}

def : Composite<"fill_diagonal", "Tensor input, Scalar fill_value, bool wrap=False"> {
  let repeats = "Taken";
  let forms = ["inplace"];
  let summary = "`fill_value` where all indices are equal; with `wrap`, in tall matrices again after each block.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.zeros(2, 3).fill_diagonal_(5.)
    tensor([[5., 0., 0.],
            [0., 5., 0.]])
  }];
  let inPlaceExample = [{
    >>> tandem.zeros(2, 3).fill_diagonal_(5.)
    tensor([[5., 0., 0.],
            [0., 5., 0.]])
  }];
  let samples = "none";
}
