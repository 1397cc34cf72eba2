// Random numbers: streams of the generator, and distributions whose parameters may be tensors
// (eager/composites/sampling.cpp). Element i of a draw reads the Philox counters (offset, i) and as many after it as
// its rejections ask for.

def : Random<"uniform_plain", "Scalar seed, Scalar offset, int[] size, dtype dtype"> {
  let forms = ["hidden"];
  let body = [(uniform $dtype, $seed, $offset, $index)];
  let differentiable = 0;
  let summary = "Uniform on [0, 1).";
  let samples = "none";
}

def : Random<"normal_plain", "Scalar seed, Scalar offset, int[] size, dtype dtype"> {
  let forms = ["hidden"];
  let body = [(normal $type, $seed, $offset, $index)];
  let differentiable = 0;
  let summary = "Standard normal, by Box-Muller.";
  let samples = "none";
}

def : Random<"randint_plain",
    "Scalar seed, Scalar offset, Scalar low, Scalar high, int[] size, dtype dtype"> {
  let forms = ["hidden"];
  let body = [(random_integer $seed, $offset, $low, $high, $index)];
  let differentiable = 0;
  let summary = "Integers uniform on [low, high).";
  let samples = "none";
}

def : Composite<"rand", "int[] size, *, generator? generator=None, dtype? dtype=None"> {
  let forms = ["function"];
  let factory = 1;
  let takesOut = 1;
  let summary = "Uniform on [0, 1).";
  let shapes = "Size";
  let accepts = "Floating";
  let gives = "`dtype`, or the default dtype";
  let raises = [Raises<"RuntimeError", "a size is negative", "tandem.rand(-1)">];
  let example = [{
    >>> tandem.rand(2, 3).shape
    tandem.Size([2, 3])
  }];
}

def : Composite<"rand_like", "Tensor input, *, dtype? dtype=None"> {
  let forms = ["function"];
  let factory = 1;
  let summary = "Uniform on [0, 1), in the shape and dtype of `input`.";
  let shapes = "Same";
  let accepts = "Floating";
  let gives = "`dtype`, or that of `input`";
  let example = [{
    >>> tandem.rand_like(tandem.zeros(2, 3)).shape
    tandem.Size([2, 3])
  }];
}

def : Composite<"randn", "int[] size, *, generator? generator=None, dtype? dtype=None"> {
  let forms = ["function"];
  let factory = 1;
  let takesOut = 1;
  let summary = "Standard normal.";
  let shapes = "Size";
  let accepts = "Floating";
  let gives = "`dtype`, or the default dtype";
  let raises = [Raises<"RuntimeError", "a size is negative", "tandem.randn(-1)">];
  let example = [{
    >>> tandem.randn(2, 3).shape
    tandem.Size([2, 3])
  }];
}

def : Composite<"randn_like", "Tensor input, *, dtype? dtype=None"> {
  let forms = ["function"];
  let factory = 1;
  let summary = "Standard normal, in the shape and dtype of `input`.";
  let shapes = "Same";
  let accepts = "Floating";
  let gives = "`dtype`, or that of `input`";
  let example = [{
    >>> tandem.randn_like(tandem.zeros(2, 3, dtype=tandem.float64)).dtype
    tandem.float64
  }];
}

def : Composite<"randint", "int low, int high, int[] size, *, generator? generator=None, dtype? dtype=None"> {
  let forms = ["function"];
  let factory = 1;
  let takesOut = 1;
  let summary = "Integers uniform on [low, high), int64 unless `dtype` is given.";
  let shapes = "Size";
  let accepts = "Any";
  let gives = "`dtype`, or int64";
  let raises = [Raises<"RuntimeError", "`low` is not below `high`", "tandem.randint(3, 3, (2,))">];
  let example = [{
    >>> x = tandem.randint(3, 5, (100,))
    >>> x.min(), x.max()
    (tensor(3), tensor(4))
  }];
}

def : Composite<"randint_high", "int high, int[] size, *, generator? generator=None, dtype? dtype=None"> {
  let python = "randint";
  let forms = ["function"];
  let factory = 1;
  let takesOut = 1;
  let summary = "Integers uniform on [0, high).";
  let shapes = "Size";
  let accepts = "Any";
  let gives = "`dtype`, or int64";
  let example = [{
    >>> tandem.randint(10, (2, 3)).dtype
    tandem.int64
  }];
}

def : Composite<"randint_like", "Tensor input, int low, int high, *, dtype? dtype=None"> {
  let forms = ["function"];
  let factory = 1;
  let summary = "Integers uniform on [low, high), in the shape and dtype of `input`.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "`dtype`, or that of `input`";
  let example = [{
    >>> tandem.randint_like(tandem.zeros(2, 3), 3, 5).shape
    tandem.Size([2, 3])
  }];
}

def : Composite<"randint_like_high", "Tensor input, int high, *, dtype? dtype=None"> {
  let python = "randint_like";
  let forms = ["function"];
  let factory = 1;
  let summary = "Integers uniform on [0, high), in the shape and dtype of `input`.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "`dtype`, or that of `input`";
  let example = [{
    >>> tandem.randint_like(tandem.zeros(2, dtype=tandem.int64), 10).dtype
    tandem.int64
  }];
}

def : Library<"randperm_plain", "Scalar seed, Scalar offset, int n", "randperm"> {
  let forms = ["hidden"];
  let differentiable = 0;
  let summary = "A random permutation of 0 .. n-1.";
}

def : Composite<"randperm", "int n, *, generator? generator=None, dtype? dtype=None"> {
  let forms = ["function"];
  let factory = 1;
  let takesOut = 1;
  let summary = "A random permutation of 0 .. n-1, int64 unless `dtype` is given.";
  let shapes = "[n]";
  let accepts = "Any";
  let gives = "`dtype`, or int64";
  let example = [{
    >>> tandem.randperm(4).sort().values
    tensor([0, 1, 2, 3])
  }];
}

def : Composite<"bernoulli", "Tensor input, *, generator? generator=None"> {
  let differentiable = 0;
  let summary = "1 with probability `input`, else 0.";
  let shapes = "Same";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.bernoulli(tandem.tensor([0., 1., 1.]))
    tensor([0., 1., 1.])
  }];
}

def : Composite<"bernoulli_prob", "Tensor input, float p, *, generator? generator=None"> {
  let python = "bernoulli";
  let differentiable = 0;
  let summary = "1 with probability `p`, else 0, in the shape and dtype of `input`.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.bernoulli(tandem.zeros(3), 1.)
    tensor([1., 1., 1.])
  }];
}

def : Composite<"normal_at", "Tensor mean, Operand std=1.0, *, generator? generator=None"> {
  let python = "normal";
  let forms = ["function"];
  let differentiable = 0;
  let summary = "Normal numbers of the given means and standard deviations.";
  let shapes = "Broadcast";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.normal(tandem.tensor([1., 100.]), 0.).shape
    tandem.Size([2])
  }];
}

def : Composite<"normal_around", "float mean, Tensor std, *, generator? generator=None"> {
  let python = "normal";
  let forms = ["function"];
  let differentiable = 0;
  let summary = "Normal numbers of one mean and the given standard deviations.";
  let shapes = "Same";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.normal(2., tandem.tensor([0., 0.]))
    tensor([2., 2.])
  }];
}

def : Composite<"normal_of_size",
    "float mean, float std, int[] size, *, generator? generator=None, dtype? dtype=None"> {
  let python = "normal";
  let forms = ["function"];
  let factory = 1;
  let takesOut = 1;
  let summary = "Normal numbers of one mean and standard deviation.";
  let shapes = "Size";
  let accepts = "Floating";
  let gives = "`dtype`, or the default dtype";
  let example = [{
    >>> tandem.normal(0., 1., (2, 3)).shape
    tandem.Size([2, 3])
  }];
}

def : Composite<"multinomial",
    "Tensor input, int num_samples, bool replacement=False, *, generator? generator=None"> {
  let summary = "Places drawn from each row with probabilities in proportion to its elements: all different, unless "
                "`replacement`.";
  let shapes = "[C] or [B, C]; the result is [num_samples] or [B, num_samples]";
  let accepts = "Floating";
  let gives = "Int64";
  let example = [{
    >>> tandem.multinomial(tandem.tensor([0., 1., 0.]), 2, replacement=True)
    tensor([1, 1])
  }];
}

// Draws. Element i of a draw reads the Philox counters (offset, i) and as many after it as its rejections ask for.
def : Library<"gamma_draw", "Scalar seed, Scalar offset, Tensor alpha", "sameAsLast"> {
  let forms = ["hidden"];
  let differentiable = 0;
  let summary = "Draws of Gamma(alpha, 1); float64.";
  let samples = "none";
}

def : Library<"poisson_draw", "Scalar seed, Scalar offset, Tensor rate", "sameAsLast"> {
  let forms = ["hidden"];
  let differentiable = 0;
  let summary = "Poisson draws; float64.";
  let samples = "none";
}

def : Library<"binomial_draw", "Scalar seed, Scalar offset, Tensor count, Tensor prob", "sameAsLast"> {
  let forms = ["hidden"];
  let differentiable = 0;
  let summary = "Binomial draws; float64.";
  let samples = "none";
}

// Implicit reparameterisation (Figurnov et al. 2018): a draw x of Gamma(a) keeps its quantile, so dx/da = -F_a / F_x.
def : Pointwise<"gamma_sample", "Promote", "Tensor alpha, Tensor draw"> {
  let forms = ["hidden"];
  let body = [(identity $draw)];
  let derivative = [(neg (mul $g, (gamma_cdf_slope $alpha, $out))), (none)];
  let summary = "`draw`, which depends on `alpha` as the quantile of Gamma(alpha, 1) does.";
  let samples = "none";
}

def : Composite<"gamma_cdf_slope", "Tensor a, Tensor x"> {
  let forms = ["hidden"];
  let summary = "The derivative of P(a, x) in a, divided by the density.";
  let samples = "none";
}

def : Composite<"standard_gamma", "Tensor input, generator? generator=None"> {
  let python = "_standard_gamma";
  let forms = ["function"];
  let takesOut = 0;
  let summary = "Draws of Gamma(input, 1), differentiable in `input`.";
  let shapes = "Same";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem._standard_gamma(tandem.ones(2, 3)).shape
    tandem.Size([2, 3])
  }];
  let samples = "none";
}

def : Composite<"poisson", "Tensor input, generator? generator=None"> {
  let forms = ["function"];
  let takesOut = 0;
  let differentiable = 0;
  let summary = "Poisson draws with rates `input`.";
  let shapes = "Same";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.poisson(tandem.tensor([0., 4.])).shape
    tandem.Size([2])
  }];
  let samples = "none";
}

def : Composite<"binomial", "Tensor count, Tensor prob, generator? generator=None"> {
  let forms = ["function"];
  let takesOut = 0;
  let differentiable = 0;
  let summary = "Numbers of successes in `count` trials of probability `prob`.";
  let shapes = "Broadcast";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> tandem.binomial(tandem.tensor([10., 10.]), tandem.tensor([0., 1.]))
    tensor([ 0., 10.])
  }];
  let samples = "none";
}
