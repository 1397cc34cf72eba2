// Medians, quantiles, counts, covariances and integrals, in eager/composites/statistics.cpp; what no composite does
// well, one pass over each line, is in runtime/lib (selection.cpp).

def : Composite<"median", "Tensor input"> {
  let summary = "The lower of the middle elements; NaN if there is one.";
  let shapes = "Scalar";
  let accepts = "Number";
  let gives = "First";
  let example = [{
    >>> tandem.median(tandem.tensor([3., 1., 4., 2.]))
    tensor(2.)
  }];
}

def : Composite<"nanmedian", "Tensor input"> {
  let summary = "The lower of the middle elements of what is no NaN.";
  let shapes = "Scalar";
  let accepts = "Number";
  let gives = "First";
  let example = [{
    >>> tandem.nanmedian(tandem.tensor([3., float("nan"), 1., 2.]))
    tensor(2.)
  }];
}

def : Sort<"kthvalue", "Tensor input, int k, int dim=-1, bool keepdim=False", "kthvalue"> {
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let rule = "byIndices";
  let saves = ["out1"];
  let batching = "alongDim";
  let summary = "The k-th smallest element along `dim`, counted from 1, and the first place of it; NaN counts as "
                "largest.";
  let shapes = "Reduced";
  let accepts = "Any";
  let gives = "FirstAndIndices";
  let example = [{
    >>> tandem.kthvalue(tandem.tensor([4., 1., 3., 2.]), 2)
    tandem.return_types.kthvalue(
    values=tensor(2.),
    indices=tensor(3))
  }];
}

def : Sort<"median_dim", "Tensor input, int dim, bool keepdim=False", "maxDim"> {
  let python = "median";
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let rule = "byIndices";
  let saves = ["out1"];
  let batching = "alongDim";
  let summary = "The lower of the middle elements along `dim` (NaN if there is one), and the first place of it.";
  let shapes = "Reduced";
  let accepts = "Any";
  let gives = "FirstAndIndices";
  let example = [{
    >>> tandem.median(tandem.tensor([[3., 1., 2.], [6., 5., 4.]]), dim=1)
    tandem.return_types.median(
    values=tensor([2., 5.]),
    indices=tensor([2, 1]))
  }];
}

def : Sort<"nanmedian_dim", "Tensor input, int dim, bool keepdim=False", "maxDim"> {
  let python = "nanmedian";
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let rule = "byIndices";
  let saves = ["out1"];
  let batching = "alongDim";
  let summary = "The lower of the middle elements along `dim` of what is no NaN, and the first place of it.";
  let shapes = "Reduced";
  let accepts = "Any";
  let gives = "FirstAndIndices";
  let example = [{
    >>> tandem.nanmedian(tandem.tensor([[3., float("nan"), 2.], [6., 5., 4.]]), dim=1)
    tandem.return_types.nanmedian(
    values=tensor([2., 5.]),
    indices=tensor([2, 1]))
  }];
}

def : Sort<"mode", "Tensor input, int dim=-1, bool keepdim=False", "maxDim"> {
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let rule = "byIndices";
  let saves = ["out1"];
  let batching = "alongDim";
  let summary = "The most frequent element along `dim`, the smallest of several such, and its last place.";
  let shapes = "Reduced";
  let accepts = "Any";
  let gives = "FirstAndIndices";
  let example = [{
    >>> tandem.mode(tandem.tensor([[1, 2, 2], [3, 3, 1]]), dim=1)
    tandem.return_types.mode(
    values=tensor([2, 3]),
    indices=tensor([2, 1]))
  }];
}

def : Composite<"quantile",
    "Tensor input, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation='linear'"> {
  let mixedPrecision = "Float32";
  let summary = "The q-th quantiles along `dim` (of all elements when None), the quantiles in a first dim if q is "
                "1-d; NaN if there is one. Between two elements: linear, lower, higher, midpoint or nearest.";
  let shapes = "`input` without the dims of `dim`, which stay as 1 if `keepdim`; in front the dim of `q` if it is 1-d";
  let accepts = "Wide";
  let gives = "First";
  let example = [{
    >>> tandem.quantile(tandem.tensor([1., 2., 3., 4.]), tandem.tensor([0.25, 0.5]))
    tensor([1.7500, 2.5000])
  }];
}

def : Composite<"quantile_at",
    "Tensor input, float q, int? dim=None, bool keepdim=False, *, str interpolation='linear'"> {
  let python = "quantile";
  let mixedPrecision = "Float32";
  let summary = "The q-th quantile along `dim`.";
  let shapes = "Reduced";
  let accepts = "Wide";
  let gives = "First";
  let example = [{
    >>> tandem.quantile(tandem.tensor([[1., 2.], [3., 6.]]), 0.5, dim=1)
    tensor([1.5000, 4.5000])
  }];
}

def : Composite<"nanquantile",
    "Tensor input, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation='linear'"> {
  let mixedPrecision = "Float32";
  let summary = "`quantile` of what is no NaN.";
  let shapes = "`input` without the dims of `dim`, which stay as 1 if `keepdim`; in front the dim of `q` if it is 1-d";
  let accepts = "Wide";
  let gives = "First";
  let example = [{
    >>> tandem.nanquantile(tandem.tensor([1., float("nan"), 3.]), tandem.tensor([0.5]))
    tensor([2.])
  }];
}

def : Composite<"nanquantile_at",
    "Tensor input, float q, int? dim=None, bool keepdim=False, *, str interpolation='linear'"> {
  let python = "nanquantile";
  let mixedPrecision = "Float32";
  let summary = "`quantile` of what is no NaN.";
  let shapes = "Reduced";
  let accepts = "Wide";
  let gives = "First";
  let example = [{
    >>> tandem.nanquantile(tandem.tensor([1., float("nan"), 3.]), 0.5)
    tensor(2.)
  }];
}

def : Composite<"histc", "Tensor input, int bins=100, float min=0, float max=0"> {
  let differentiable = 0;
  let summary = "How many elements fall into each of `bins` equal parts of [min, max] (the range of the input when "
                "both are 0); those outside into none.";
  let shapes = "any; the result is [bins]";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.histc(tandem.tensor([1., 2., 1., 3.]), bins=4, min=0, max=4)
    tensor([0., 2., 1., 1.])
  }];
}

def : Composite<"bincount", "Tensor input, Tensor? weights=None, int minlength=0"> {
  let takesOut = 0;
  let differentiable = 0;
  let summary = "How often, or with what sum of weights, each of 0, 1, ... occurs in a vector. The size of the result "
                "depends on the data.";
  let shapes = "[N]; the result has as many elements as the largest number + 1, at least `minlength`";
  let accepts = "Any";
  let gives = "that of `weights`, at least float64 for integers; int64 without";
  let example = [{
    >>> tandem.bincount(tandem.tensor([0, 1, 1, 3]))
    tensor([1, 2, 0, 1])
    >>> tandem.bincount(tandem.tensor([0, 1, 1]), weights=tandem.tensor([0.5, 1., 2.]))
    tensor([0.5000, 3.0000])
  }];
  let reference = "bincount";
}

def : Composite<"cov", "Tensor input, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None"> {
  let takesOut = 0;
  let summary = "Covariances of the rows, whose columns are observations, weighted by counts (fweights) and "
                "importance (aweights).";
  let shapes = "[variables, observations], or [observations]; the result is [variables, variables], or 0-d";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.cov(tandem.tensor([[0., 1., 2.], [2., 1., 0.]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
  }];
}

def : Composite<"corrcoef", "Tensor input"> {
  let takesOut = 0;
  let summary = "Correlation coefficients of the rows.";
  let shapes = "[variables, observations], or [observations]; the result is [variables, variables], or 0-d";
  let accepts = "Number";
  let gives = "Float";
  let example = [{
    >>> tandem.corrcoef(tandem.tensor([[0., 1., 2.], [2., 1., 0.]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
  }];
  let reference = "corrcoef";
}

def : Composite<"trapezoid", "Tensor y, Tensor x, *, int dim=-1"> {
  let aliases = ["trapz"];
  let forms = ["function"];
  let takesOut = 0;
  let summary = "Integral of y along `dim` by the trapezoidal rule, at the points x.";
  let shapes = "`y` without `dim`; `x` broadcasts to `y`, or is a vector along `dim`";
  let accepts = "Number";
  let gives = "Float";
  let example = [{
    >>> tandem.trapezoid(tandem.tensor([1., 5., 10.]), tandem.tensor([0., 1., 3.]))
    tensor(18.)
  }];
}

def : Composite<"trapezoid_dx", "Tensor y, *, Scalar dx=1, int dim=-1"> {
  let python = "trapezoid";
  let aliases = ["trapz"];
  let forms = ["function"];
  let takesOut = 0;
  let summary = "Integral of y along `dim` by the trapezoidal rule, at points dx apart.";
  let shapes = "`y` without `dim`";
  let accepts = "Number";
  let gives = "Float";
  let example = [{
    >>> tandem.trapezoid(tandem.tensor([1., 5., 10.]), dx=2)
    tensor(21.)
  }];
}

def : Composite<"cumulative_trapezoid", "Tensor y, Tensor x, *, int dim=-1"> {
  let forms = ["function"];
  let takesOut = 0;
  let summary = "Running integrals of y along `dim` by the trapezoidal rule, at the points x.";
  let shapes = "`y`, one shorter along `dim`; `x` broadcasts to `y`, or is a vector along `dim`";
  let accepts = "Number";
  let gives = "Float";
  let example = [{
    >>> tandem.cumulative_trapezoid(tandem.tensor([1., 5., 10.]), tandem.tensor([0., 1., 3.]))
    tensor([ 3., 18.])
  }];
}

def : Composite<"cumulative_trapezoid_dx", "Tensor y, *, Scalar dx=1, int dim=-1"> {
  let python = "cumulative_trapezoid";
  let forms = ["function"];
  let takesOut = 0;
  let summary = "Running integrals of y along `dim`, at points dx apart.";
  let shapes = "`y`, one shorter along `dim`";
  let accepts = "Number";
  let gives = "Float";
  let example = [{
    >>> tandem.cumulative_trapezoid(tandem.tensor([1., 5., 10.]))
    tensor([ 3.0000, 10.5000])
  }];
}
