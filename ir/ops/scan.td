// Running sums, products and extremes along a dim (runtime/lib/order/scan.cpp).

def : Scan<"cumsum_plain", "Tensor input, int dim", "sameAsInput"> {
  let forms = ["hidden"];
  let rule = "cumsum";
  let batching = "alongDim";
  let summary = "Running sums along `dim`.";
}

def : Composite<"cumsum", "Tensor input, int dim, *, dtype? dtype=None"> {
  let gpuMixedPrecision = "Float32";
  let forms = ["function", "method", "inplace"];
  let outSaysDType = 1;
  let summary = "Running sums along `dim`; integers in int64.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "Sum";
  let example = [{
    >>> tandem.cumsum(tandem.tensor([1., 2., 3.]), dim=0)
    tensor([1., 3., 6.])
    >>> tandem.cumsum(tandem.tensor([[True, True], [False, True]]), dim=1)
    tensor([[1, 2],
            [0, 1]])
  }];
  let reference = "cumsum";
}

def : Scan<"cumprod_plain", "Tensor input, int dim", "sameAsInput"> {
  let forms = ["hidden"];
  let rule = "cumprod";
  let saves = ["input"];
  let batching = "alongDim";
  let summary = "Running products along `dim`.";
}

def : Composite<"cumprod", "Tensor input, int dim, *, dtype? dtype=None"> {
  let gpuMixedPrecision = "Float32";
  let forms = ["function", "method", "inplace"];
  let outSaysDType = 1;
  let summary = "Running products along `dim`; integers in int64.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "Sum";
  let example = [{
    >>> tandem.cumprod(tandem.tensor([1., 2., 3., 4.]), dim=0)
    tensor([ 1.,  2.,  6., 24.])
  }];
  let reference = "cumprod";
}

def : Scan<"linear_recurrence",
    "Tensor terms, Tensor factors, int dim, bool reverse",
    "sameAsInput"> {
  let forms = ["hidden"];
  let rule = "linearRecurrence";
  let saves = ["factors", "out"];
  let batching = "alongDim";
  let summary = "s[i] = terms[i] + factors[i] s[i-1] along `dim`, of s[i+1] where `reverse`; the first term is the "
                "first sum.";
  let samples = "none";
}

def : Scan<"cummax", "Tensor input, int dim", "valuesAndIndices"> {
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let rule = "byIndices";
  let saves = ["out1"];
  let batching = "alongDim";
  let summary = "Running maxima along `dim` and the last place of each; NaN wins.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "FirstAndIndices";
  let example = [{
    >>> tandem.cummax(tandem.tensor([1., 3., 2., 3.]), dim=0)
    tandem.return_types.cummax(
    values=tensor([1., 3., 3., 3.]),
    indices=tensor([0, 1, 1, 3]))
  }];
}

def : Scan<"cummin", "Tensor input, int dim", "valuesAndIndices"> {
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let rule = "byIndices";
  let saves = ["out1"];
  let batching = "alongDim";
  let summary = "Running minima along `dim` and the last place of each; NaN wins.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "FirstAndIndices";
  let example = [{
    >>> tandem.cummin(tandem.tensor([3., 1., 2., 1.]), dim=0)
    tandem.return_types.cummin(
    values=tensor([3., 1., 1., 1.]),
    indices=tensor([0, 1, 1, 3]))
  }];
}

def : Scan<"logcumsumexp_plain", "Tensor input, int dim", "sameAsInput"> {
  let forms = ["hidden"];
  let rule = "logcumsumexp";
  let saves = ["input", "out"];
  let batching = "alongDim";
  let summary = "log of the running sums of exp(input).";
}

def : Composite<"logcumsumexp", "Tensor input, int dim"> {
  let summary = "log of the running sums of exp(input) along `dim`, without overflow.";
  let shapes = "Same";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.logcumsumexp(tandem.tensor([0., 0., 0.]), dim=0)
    tensor([0.0000, 0.6931, 1.0986])
  }];
}

def : Composite<"diff", "Tensor input, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None"> {
  let summary = "Differences of neighbours along `dim`, `n` times over, after `prepend` and `append` were joined on; "
                "of bools, whether they differ.";
  let shapes = "`input`, shorter by `n` along `dim`; `prepend` and `append` count in, equal to it in the other dims";
  let accepts = "Any";
  let gives = "Promote";
  let example = [{
    >>> tandem.diff(tandem.tensor([1, 3, 6, 10]))
    tensor([2, 3, 4])
    >>> tandem.diff(tandem.tensor([1, 3, 6, 10]), n=2)
    tensor([1, 1])
  }];
}
