// Reductions. The order of primitive sums is fixed by shape and dims alone (ARCHITECTURE.md); the others are made of
// them in eager/composites (reductions.cpp, statistics.cpp).

def : Reduction<"sum", "Sum", "Sum", "Tensor input, dims dim=None, bool keepdim=False, *, dtype? dtype=None"> {
  let gpuMixedPrecision = "Float32";
  let forms = ["function", "method"];
  let outSaysDType = 1;
  let rule = "sum";
  let summary = "Sum over `dim` (all dims when None). bool and integers sum to int64.";
  let example = [{
    >>> x = tandem.tensor([[1., 2.], [3., 4.]])
    >>> tandem.sum(x)
    tensor(10.)
    >>> tandem.sum(x, dim=0, keepdim=True)
    tensor([[4., 6.]])
  }];
}

def : Reduction<"prod", "Sum", "Prod", "Tensor input, dim dim=None, bool keepdim=False, *, dtype? dtype=None"> {
  let forms = ["function", "method"];
  let outSaysDType = 1;
  let rule = "prod";
  let saves = ["input"];
  let mixedPrecision = "Float32";
  let summary = "Product over `dim`, of all elements without it.";
  let example = [{
    >>> tandem.prod(tandem.tensor([[1., 2.], [3., 4.]]), dim=1)
    tensor([ 2., 12.])
  }];
}

def : Reduction<"amax", "First", "Max", "Tensor input, dims dim=None, bool keepdim=False"> {
  let forms = ["function", "method"];
  let rule = "amaxAmin";
  let saves = ["input", "out"];
  let summary = "Largest element over `dim`; NaN if there is one. Ties share the gradient.";
  let example = [{
    >>> tandem.amax(tandem.tensor([[1., 5.], [3., 4.]]), dim=1)
    tensor([5., 4.])
  }];
  let reference = "max";
}

def : Reduction<"amin", "First", "Min", "Tensor input, dims dim=None, bool keepdim=False"> {
  let forms = ["function", "method"];
  let rule = "amaxAmin";
  let saves = ["input", "out"];
  let summary = "Smallest element over `dim`; NaN if there is one. Ties share the gradient.";
  let example = [{
    >>> tandem.amin(tandem.tensor([[1., 5.], [3., 4.]]), dim=(0, 1))
    tensor(1.)
  }];
  let reference = "min";
}

def : Reduction<"any", "Logical", "Any", "Tensor input, dims dim=None, bool keepdim=False"> {
  let differentiable = 0;
  let summary = "Is any element nonzero?";
  let example = [{
    >>> tandem.any(tandem.tensor([[False, True], [False, False]]), dim=1)
    tensor([ True, False])
  }];
}

def : Reduction<"all", "Logical", "All", "Tensor input, dims dim=None, bool keepdim=False"> {
  let differentiable = 0;
  let summary = "Are all elements nonzero?";
  let example = [{
    >>> tandem.all(tandem.tensor([[1, 2], [0, 3]]), dim=1)
    tensor([ True, False])
  }];
}

def : Composite<"mean", "Tensor input, dims dim=None, bool keepdim=False, *, dtype? dtype=None"> {
  let forms = ["function", "method"];
  let summary = "Mean over `dim` (all dims when None).";
  let shapes = "Reduced";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> x = tandem.tensor([[1., 2.], [3., 6.]])
    >>> tandem.mean(x)
    tensor(3.)
    >>> tandem.mean(x, dim=1, keepdim=True)
    tensor([[1.5000],
            [4.5000]])
  }];
  let reference = "mean";
}

def : Composite<"var", "Tensor input, dims dim=None, *, Scalar? correction=None, bool keepdim=False"> {
  let summary = "Variance over `dim`, the sum of squares divided by n - correction (1 when None).";
  let shapes = "Reduced";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.var(tandem.tensor([1., 2., 3., 4.]), correction=0)
    tensor(1.2500)
  }];
}

def : Composite<"var_unbiased", "Tensor input, dims dim, bool unbiased, bool keepdim=False"> {
  let python = "var";
  let summary = "Variance over `dim`, divided by n - 1 if unbiased.";
  let shapes = "Reduced";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.var(tandem.tensor([[1., 2.], [3., 7.]]), 1, unbiased=False)
    tensor([0.2500, 4.0000])
  }];
}

def : Composite<"var_flag", "Tensor input, bool unbiased"> {
  let python = "var";
  let summary = "Variance of all elements.";
  let shapes = "Scalar";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.var(tandem.tensor([1., 2., 3., 4.]), unbiased=True)
    tensor(1.6667)
  }];
}

def : Composite<"var_mean", "Tensor input, dims dim=None, *, Scalar? correction=None, bool keepdim=False"> {
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let fields = [];
  let forms = ["function"];
  let takesOut = 0;
  let summary = "`var` and `mean` over `dim`, as a pair.";
  let shapes = "Reduced";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.var_mean(tandem.tensor([1., 2., 3., 4.]))
    (tensor(1.6667), tensor(2.5000))
  }];
}

def : Composite<"var_mean_unbiased", "Tensor input, dims dim, bool unbiased, bool keepdim=False"> {
  let python = "var_mean";
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let fields = [];
  let forms = ["function"];
  let takesOut = 0;
  let summary = "Variance over `dim`, divided by n - 1 if unbiased, and mean.";
  let shapes = "Reduced";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.var_mean(tandem.tensor([[1., 2.], [3., 7.]]), 1, unbiased=False)
    (tensor([0.2500, 4.0000]), tensor([1.5000, 5.0000]))
  }];
}

def : Composite<"var_mean_flag", "Tensor input, bool unbiased"> {
  let python = "var_mean";
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let fields = [];
  let forms = ["function"];
  let takesOut = 0;
  let summary = "Variance and mean of all elements.";
  let shapes = "Scalar";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.var_mean(tandem.tensor([1., 2., 3., 4.]), unbiased=False)
    (tensor(1.2500), tensor(2.5000))
  }];
}

def : Composite<"std", "Tensor input, dims dim=None, *, Scalar? correction=None, bool keepdim=False"> {
  let summary = "Standard deviation: the root of `var`.";
  let shapes = "Reduced";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.std(tandem.tensor([[1., 2.], [3., 7.]]), dim=1, keepdim=True)
    tensor([[0.7071],
            [2.8284]])
  }];
}

def : Composite<"std_unbiased", "Tensor input, dims dim, bool unbiased, bool keepdim=False"> {
  let python = "std";
  let summary = "Standard deviation over `dim`.";
  let shapes = "Reduced";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.std(tandem.tensor([[1., 2.], [3., 7.]]), 1, unbiased=False)
    tensor([0.5000, 2.0000])
  }];
}

def : Composite<"std_flag", "Tensor input, bool unbiased"> {
  let python = "std";
  let summary = "Standard deviation of all elements.";
  let shapes = "Scalar";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.std(tandem.tensor([1., 2., 3., 4.]), unbiased=False)
    tensor(1.1180)
  }];
}

def : Composite<"std_mean", "Tensor input, dims dim=None, *, Scalar? correction=None, bool keepdim=False"> {
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let fields = [];
  let forms = ["function"];
  let takesOut = 0;
  let summary = "`std` and `mean` over `dim`, as a pair.";
  let shapes = "Reduced";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.std_mean(tandem.tensor([1., 2., 3., 4.]), correction=0)
    (tensor(1.1180), tensor(2.5000))
  }];
}

def : Composite<"std_mean_unbiased", "Tensor input, dims dim, bool unbiased, bool keepdim=False"> {
  let python = "std_mean";
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let fields = [];
  let forms = ["function"];
  let takesOut = 0;
  let summary = "Standard deviation over `dim`, of n - 1 if unbiased, and mean.";
  let shapes = "Reduced";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.std_mean(tandem.tensor([[1., 2.], [3., 7.]]), 1, unbiased=False)
    (tensor([0.5000, 2.0000]), tensor([1.5000, 5.0000]))
  }];
}

def : Composite<"std_mean_flag", "Tensor input, bool unbiased"> {
  let python = "std_mean";
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let fields = [];
  let forms = ["function"];
  let takesOut = 0;
  let summary = "Standard deviation and mean of all elements.";
  let shapes = "Scalar";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.std_mean(tandem.tensor([1., 2., 3., 4.]), unbiased=False)
    (tensor(1.1180), tensor(2.5000))
  }];
}

def : Composite<"logsumexp", "Tensor input, dims dim, bool keepdim=False"> {
  let gpuMixedPrecision = "Float32";
  let forms = ["function", "method", "special"];
  let summary = "log(sum(exp(input))) over `dim`, without overflow.";
  let shapes = "Reduced";
  let accepts = "Any";
  let gives = "Float";
  let example = [{
    >>> tandem.logsumexp(tandem.tensor([[1000., 1000.], [0., 0.]]), dim=1)
    tensor([1.0007e+03, 6.9315e-01])
  }];
}

def : Composite<"nansum", "Tensor input, dims dim=None, bool keepdim=False, *, dtype? dtype=None"> {
  let outSaysDType = 1;
  let summary = "Sum over `dim`, NaN counting as 0.";
  let shapes = "Reduced";
  let accepts = "Any";
  let gives = "Sum";
  let example = [{
    >>> tandem.nansum(tandem.tensor([1., float("nan"), 2.]))
    tensor(3.)
  }];
}

def : Composite<"nanmean", "Tensor input, dims dim=None, bool keepdim=False, *, dtype? dtype=None"> {
  let summary = "Mean over `dim` of what is no NaN.";
  let shapes = "Reduced";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.nanmean(tandem.tensor([1., float("nan"), 2.]))
    tensor(1.5000)
  }];
}

def : Composite<"count_nonzero", "Tensor input, dims dim=None"> {
  let takesOut = 0;
  let summary = "How many elements are nonzero, over `dim`.";
  let shapes = "Reduced";
  let accepts = "Any";
  let gives = "Int64";
  let example = [{
    >>> tandem.count_nonzero(tandem.tensor([[0, 1, 2], [0, 0, 3]]), dim=1)
    tensor([2, 1])
  }];
  let reference = "count_nonzero";
}

def : Composite<"aminmax", "Tensor input, *, int? dim=None, bool keepdim=False"> {
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let fields = ["min", "max"];
  let summary = "Smallest and largest element, along `dim` or of all.";
  let shapes = "Reduced";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.aminmax(tandem.tensor([3, 1, 4]))
    tandem.return_types.aminmax(
    min=tensor(1),
    max=tensor(4))
  }];
}

def : Composite<"max_all", "Tensor input"> {
  let python = "max";
  let summary = "Largest element.";
  let shapes = "Scalar";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.max(tandem.tensor([1., 5., 3.]))
    tensor(5.)
  }];
  let reference = "max";
}

def : Composite<"min_all", "Tensor input"> {
  let python = "min";
  let summary = "Smallest element.";
  let shapes = "Scalar";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.min(tandem.tensor([4., 1., 3.]))
    tensor(1.)
  }];
  let reference = "min";
}

def : Library<"max_dim", "Tensor input, int dim, bool keepdim=False", "maxDim"> {
  let python = "max";
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let rule = "byIndices";
  let saves = ["out1"];
  let batching = "alongDim";
  let summary = "Largest elements along `dim` and the first place of each; NaN wins.";
  let shapes = "Reduced";
  let accepts = "Any";
  let gives = "FirstAndIndices";
  let example = [{
    >>> values, indices = tandem.max(tandem.tensor([[1., 5., 3.], [7., 2., 7.]]), dim=1)
    >>> values, indices
    (tensor([5., 7.]), tensor([1, 0]))
  }];
}

def : Library<"min_dim", "Tensor input, int dim, bool keepdim=False", "maxDim"> {
  let python = "min";
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let rule = "byIndices";
  let saves = ["out1"];
  let batching = "alongDim";
  let summary = "Smallest elements along `dim` and the first place of each; NaN wins.";
  let shapes = "Reduced";
  let accepts = "Any";
  let gives = "FirstAndIndices";
  let example = [{
    >>> values, indices = tandem.min(tandem.tensor([[1., 5., 3.], [7., 2., 7.]]), dim=1)
    >>> values, indices
    (tensor([1., 2.]), tensor([0, 1]))
  }];
}

def : Library<"argmax", "Tensor input, int? dim=None, bool keepdim=False", "argReduce"> {
  let differentiable = 0;
  let batching = "alongDim";
  let summary = "Place of the first largest element, along `dim` or of the flattened tensor.";
  let shapes = "Reduced";
  let accepts = "Any";
  let gives = "Int64";
  let example = [{
    >>> x = tandem.tensor([[1., 5., 3.], [7., 2., 7.]])
    >>> tandem.argmax(x)
    tensor(3)
    >>> tandem.argmax(x, dim=1)
    tensor([1, 0])
  }];
}

def : Library<"argmin", "Tensor input, int? dim=None, bool keepdim=False", "argReduce"> {
  let differentiable = 0;
  let batching = "alongDim";
  let summary = "Place of the first smallest element, along `dim` or of the flattened tensor.";
  let shapes = "Reduced";
  let accepts = "Any";
  let gives = "Int64";
  let example = [{
    >>> tandem.argmin(tandem.tensor([[1., 5., 3.], [7., 2., 7.]]), dim=1)
    tensor([0, 1])
  }];
}
