// Tensors made from nothing. Random numbers are Philox4x32-10 with the counter (offset, logical element index): Salmon
// et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".

def : Creation<"full_plain", "Scalar fill_value, int[] size, dtype dtype"> {
  let role = "Fill";
  let forms = ["hidden"];
  let body = [(identity $fill_value)];
  let differentiable = 0;
  let summary = "Every element is `fill_value`.";
  let samples = "none";
}

def : Composite<"full", "int[] size, Scalar fill_value, *, dtype? dtype=None"> {
  let forms = ["function"];
  let factory = 1;
  let takesOut = 1;
  let summary = "Every element `fill_value`, whose type decides the dtype unless given.";
  let shapes = "Size";
  let accepts = "Any";
  let gives = "`dtype`, or what the type of `fill_value` says: bool, int64 or the default dtype";
  let raises = [Raises<"RuntimeError", "a size is negative", "tandem.full((-1,), 0.)">];
  let example = [{
    >>> tandem.full((2, 2), 7)
    tensor([[7, 7],
            [7, 7]])
  }];
  let reference = "full";
}

def : Composite<"fill", "Tensor input, Operand value"> {
  let forms = ["function"];
  let takesOut = 0;
  let summary = "A tensor like `input` whose every element is `value`.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.fill(tandem.tensor([[1., 2.], [3., 4.]]), 7)
    tensor([[7., 7.],
            [7., 7.]])
  }];
}

def : Composite<"full_like", "Tensor input, Scalar fill_value, *, dtype? dtype=None"> {
  let forms = ["function"];
  let factory = 1;
  let summary = "Every element `fill_value`, in the shape and dtype of `input`.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "`dtype`, or that of `input`";
  let example = [{
    >>> tandem.full_like(tandem.zeros(2), 3)
    tensor([3., 3.])
  }];
  let reference = "full_like";
}

def : Composite<"zeros", "int[] size, *, dtype? dtype=None"> {
  let forms = ["function"];
  let factory = 1;
  let takesOut = 1;
  let summary = "Zeros.";
  let shapes = "Size";
  let accepts = "Any";
  let gives = "`dtype`, or the default dtype";
  let raises = [Raises<"RuntimeError", "a size is negative", "tandem.zeros(-1)">];
  let example = [{
    >>> tandem.zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
  }];
  let reference = "zeros";
}

def : Composite<"zeros_like", "Tensor input, *, dtype? dtype=None"> {
  let forms = ["function"];
  let factory = 1;
  let summary = "Zeros in the shape and dtype of `input`.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "`dtype`, or that of `input`";
  let example = [{
    >>> tandem.zeros_like(tandem.tensor([1, 2]))
    tensor([0, 0])
  }];
  let reference = "zeros_like";
}

def : Composite<"ones", "int[] size, *, dtype? dtype=None"> {
  let forms = ["function"];
  let factory = 1;
  let takesOut = 1;
  let summary = "Ones.";
  let shapes = "Size";
  let accepts = "Any";
  let gives = "`dtype`, or the default dtype";
  let raises = [Raises<"RuntimeError", "a size is negative", "tandem.ones(-1)">];
  let example = [{
    >>> tandem.ones((2, 2), dtype=tandem.int64)
    tensor([[1, 1],
            [1, 1]])
  }];
  let reference = "ones";
}

def : Composite<"ones_like", "Tensor input, *, dtype? dtype=None"> {
  let forms = ["function"];
  let factory = 1;
  let summary = "Ones in the shape and dtype of `input`.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "`dtype`, or that of `input`";
  let example = [{
    >>> tandem.ones_like(tandem.tensor([1., 2.]))
    tensor([1., 1.])
  }];
  let reference = "ones_like";
}

def : Composite<"empty", "int[] size, *, dtype? dtype=None"> {
  let forms = ["function"];
  let factory = 1;
  let takesFormat = 1;
  let takesOut = 1;
  let summary = "Uninitialised elements.";
  let shapes = "Size";
  let accepts = "Any";
  let gives = "`dtype`, or the default dtype";
  let raises = [Raises<"RuntimeError", "a size is negative", "tandem.empty(-1)">];
  let example = [{
    >>> tandem.empty(2, 3).shape
    tandem.Size([2, 3])
  }];
}

def : Composite<"empty_like", "Tensor input, *, dtype? dtype=None"> {
  let forms = ["function"];
  let factory = 1;
  let summary = "Uninitialised, in the shape and dtype of `input`.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "`dtype`, or that of `input`";
  let example = [{
    >>> tandem.empty_like(tandem.zeros(2, 3)).shape
    tandem.Size([2, 3])
  }];
}

def : Creation<"ramp", "Scalar start, Scalar step, int[] size, dtype dtype"> {
  let types = "Raw";
  let forms = ["hidden"];
  let body = [(arange_value $type, $start, $step, $index)];
  let differentiable = 0;
  let summary = "start + step * i for the i-th element.";
  let samples = "none";
}

def : Composite<"arange_end", "Scalar end, *, dtype? dtype=None"> {
  let python = "arange";
  let forms = ["function"];
  let factory = 1;
  let takesOut = 1;
  let keepsOutShape = 1;
  let summary = "0, 1, ... below `end`.";
  let shapes = "[end, rounded up]";
  let accepts = "Any";
  let gives = "`dtype`, or int64 for ints and the default dtype for floats";
  let example = [{
    >>> tandem.arange(4)
    tensor([0, 1, 2, 3])
  }];
}

def : Composite<"arange", "Scalar start, Scalar end, Scalar step=1, *, dtype? dtype=None"> {
  let forms = ["function"];
  let factory = 1;
  let takesOut = 1;
  let keepsOutShape = 1;
  let summary = "start, start + step, ... below `end`.";
  let shapes = "[(end - start) / step, rounded up]";
  let accepts = "Any";
  let gives = "`dtype`, or int64 for ints and the default dtype for floats";
  let raises = [Raises<"RuntimeError", "the step is 0, or leads away from `end`", "tandem.arange(0, 3, -1)">];
  let example = [{
    >>> tandem.arange(1, 2, 0.25)
    tensor([1.0000, 1.2500, 1.5000, 1.7500])
  }];
  let reference = "arange";
}

def : Composite<"range", "Scalar start, Scalar end, Scalar step=1, *, dtype? dtype=None"> {
  let forms = ["function"];
  let factory = 1;
  let takesOut = 1;
  let keepsOutShape = 1;
  let summary = "start, start + step, ... up to and with `end`.";
  let shapes = "[(end - start) / step, rounded down, + 1]";
  let accepts = "Any";
  let gives = "`dtype`, or the default dtype";
  let example = [{
    >>> tandem.range(1, 3)
    tensor([1., 2., 3.])
  }];
  let samples = "none";
}

def : Composite<"linspace", "Operand start, Operand end, int steps, *, dtype? dtype=None"> {
  let forms = ["function"];
  let factory = 1;
  let takesOut = 1;
  let keepsOutShape = 1;
  let summary = "`steps` equally spaced numbers from `start` to `end`, numbers or 0-d tensors.";
  let shapes = "[steps]";
  let accepts = "Any";
  let gives = "`dtype`, or the default dtype";
  let example = [{
    >>> tandem.linspace(0, 1, steps=5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
  }];
  let reference = "linspace";
}

def : Composite<"logspace", "Operand start, Operand end, int steps, float base=10.0, *, dtype? dtype=None"> {
  let forms = ["function"];
  let factory = 1;
  let takesOut = 1;
  let keepsOutShape = 1;
  let summary = "base to the powers linspace(start, end, steps).";
  let shapes = "[steps]";
  let accepts = "Any";
  let gives = "`dtype`, or the default dtype";
  let example = [{
    >>> tandem.logspace(0, 2, steps=3)
    tensor([  1.,  10., 100.])
  }];
}

def : Composite<"eye", "int n, int? m=None, *, dtype? dtype=None"> {
  let forms = ["function"];
  let factory = 1;
  let takesOut = 1;
  let summary = "Ones on the diagonal of an n x m matrix.";
  let shapes = "[n, m]; [n, n] when `m` is None";
  let accepts = "Any";
  let gives = "`dtype`, or the default dtype";
  let example = [{
    >>> tandem.eye(2, 3)
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
  }];
  let reference = "eye";
}

def : Composite<"vander", "Tensor x, int? N=None, bool increasing=False"> {
  let forms = ["function"];
  let takesOut = 0;
  let summary = "Powers of each element of a vector as a row, from x^(N-1) to 1, or the other way round; N is the "
                "vector's size when None.";
  let shapes = "[N]; the result is [N, columns]";
  let accepts = "Any";
  let gives = "Sum";
  let example = [{
    >>> tandem.vander(tandem.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [4, 2, 1],
            [9, 3, 1]])
  }];
  let reference = "vander";
}

// Windows of signal processing: symmetric, or periodic, one period of a longer symmetric one.
def : Composite<"hann_window", "int window_length, bool periodic=True, *, dtype? dtype=None"> {
  let forms = ["function"];
  let factory = 1;
  let summary = "sin^2(pi n / N).";
  let shapes = "[window_length]";
  let accepts = "Any";
  let gives = "`dtype`, a floating one, or the default dtype";
  let example = [{
    >>> tandem.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
  }];
  let samples = "none";
}

def : Composite<"hamming_window",
    "int window_length, bool periodic=True, float alpha=0.54, float beta=0.46, *, dtype? dtype=None"> {
  let forms = ["function"];
  let factory = 1;
  let summary = "alpha - beta cos(2 pi n / N).";
  let shapes = "[window_length]";
  let accepts = "Any";
  let gives = "`dtype`, a floating one, or the default dtype";
  let example = [{
    >>> tandem.hamming_window(4, periodic=False)
    tensor([0.0800, 0.7700, 0.7700, 0.0800])
  }];
  let samples = "none";
}

def : Composite<"blackman_window", "int window_length, bool periodic=True, *, dtype? dtype=None"> {
  let forms = ["function"];
  let factory = 1;
  let summary = "0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N).";
  let shapes = "[window_length]";
  let accepts = "Any";
  let gives = "`dtype`, a floating one, or the default dtype";
  let example = [{
    >>> tandem.blackman_window(4)[1:]
    tensor([0.3400, 1.0000, 0.3400])
  }];
  let samples = "none";
}

def : Composite<"bartlett_window", "int window_length, bool periodic=True, *, dtype? dtype=None"> {
  let forms = ["function"];
  let factory = 1;
  let summary = "1 - |2 n / N - 1|.";
  let shapes = "[window_length]";
  let accepts = "Any";
  let gives = "`dtype`, a floating one, or the default dtype";
  let example = [{
    >>> tandem.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
  }];
  let samples = "none";
}
