// Pools of windows of the last dims: maxima, means, power means, windows at random places (runtime/lib: max_pool.cpp,
// avg_pool.cpp; eager/composites: pooling.cpp, pools.cpp). All but maxima are linear maps, given with their transposes.

def : Pool<"max_pool_plain",
    "Tensor input, int[] kernel_size, int[] stride, int[] padding, int[] dilation, int[] size, "
    "bool channels_last=False",
    "maxPool"> {
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let forms = ["hidden"];
  let rule = "maxPool";
  let saves = ["out1"];
  let batching = "folded";
  let summary = "Maxima of windows of the last dims and their flat indices there; an empty kernel for adaptive "
                "windows.";
}

def : Pool<"max_pool_values",
    "Tensor input, int[] kernel_size, int[] stride, int[] padding, int[] dilation, int[] size, "
    "bool channels_last=False",
    "maxPoolValues"> {
  let forms = ["hidden"];
  let differentiable = 0;
  let batching = "folded";
  let summary = "The first result of max_pool_plain alone, where no gradient will ask for the places.";
  let samples = "none";
}

def : Pool<"max_pool_grad", "Tensor grad, Tensor indices, int[] input_size, bool channels_last=False",
    "maxPoolGrad"> {
  let forms = ["hidden"];
  let rule = "maxPoolGrad";
  let saves = ["indices"];
  let batching = "folded";
  let summary = "The elements of `grad` added at `indices` into zeros of the spatial size `input_size`.";
}

def : Composite<"max_pool1d",
    "Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] dilation=1, bool ceil_mode=False"> {
  let forms = ["nn", "function"];
  let takesOut = 0;
  let summary = "Maxima of windows of the last dim; stride is the kernel size when None.";
  let shapes = "`input` [N, C, *]; the result has (L + 2 padding - dilation (kernel_size - 1) - 1) // stride + 1 in "
               "place of a last size L, rounded up if ceil_mode. N may be absent";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> F.max_pool1d(tandem.tensor([[1., 3., 2., 5.]]), 2)
    tensor([[3., 5.]])
  }];
}

def : Composite<"max_pool1d_with_indices",
    "Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] dilation=1, bool ceil_mode=False"> {
  let results = "Tensor[]";
  let forms = ["nn", "function"];
  let summary = "As max_pool1d, with the flat place of each maximum along it.";
  let shapes = "`input` [N, C, *]; the result has (L + 2 padding - dilation (kernel_size - 1) - 1) // stride + 1 in "
               "place of a last size L, rounded up if ceil_mode. N may be absent";
  let accepts = "Any";
  let gives = "FirstAndIndices";
  let example = [{
    >>> F.max_pool1d_with_indices(tandem.tensor([[1., 3., 2., 5.]]), 2)
    (tensor([[3., 5.]]), tensor([[1, 3]]))
  }];
}

def : Composite<"max_pool2d",
    "Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] dilation=1, bool ceil_mode=False"> {
  let forms = ["nn", "function"];
  let takesOut = 0;
  let summary = "Maxima of windows of the last 2 dims; stride is the kernel size when None.";
  let shapes = "`input` [N, C, *]; the result has (L + 2 padding - dilation (kernel_size - 1) - 1) // stride + 1 in "
               "place of a last size L, rounded up if ceil_mode. N may be absent";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> F.max_pool2d(tandem.arange(16.).reshape(1, 4, 4), 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
  }];
}

def : Composite<"max_pool2d_with_indices",
    "Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] dilation=1, bool ceil_mode=False"> {
  let results = "Tensor[]";
  let forms = ["nn"];
  let summary = "As max_pool2d, with the flat place of each maximum among the last 2 dims.";
  let shapes = "`input` [N, C, *]; the result has (L + 2 padding - dilation (kernel_size - 1) - 1) // stride + 1 in "
               "place of a last size L, rounded up if ceil_mode. N may be absent";
  let accepts = "Any";
  let gives = "FirstAndIndices";
  let example = [{
    >>> F.max_pool2d_with_indices(tandem.arange(16.).reshape(1, 4, 4), 2)
    (tensor([[[ 5.,  7.],
             [13., 15.]]]), tensor([[[ 5,  7],
             [13, 15]]]))
  }];
}

def : Composite<"max_pool3d",
    "Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] dilation=1, bool ceil_mode=False"> {
  let forms = ["nn", "function"];
  let takesOut = 0;
  let mixedPrecision = "Float32";
  let summary = "Maxima of windows of the last 3 dims; stride is the kernel size when None.";
  let shapes = "`input` [N, C, *]; the result has (L + 2 padding - dilation (kernel_size - 1) - 1) // stride + 1 in "
               "place of a last size L, rounded up if ceil_mode. N may be absent";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> F.max_pool3d(tandem.zeros(1, 4, 4, 4), 2).shape
    tandem.Size([1, 2, 2, 2])
  }];
}

def : Composite<"max_pool3d_with_indices",
    "Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] dilation=1, bool ceil_mode=False"> {
  let results = "Tensor[]";
  let forms = ["nn"];
  let summary = "As max_pool3d, with the flat place of each maximum among the last 3 dims.";
  let shapes = "`input` [N, C, *]; the result has (L + 2 padding - dilation (kernel_size - 1) - 1) // stride + 1 in "
               "place of a last size L, rounded up if ceil_mode. N may be absent";
  let accepts = "Any";
  let gives = "FirstAndIndices";
  let example = [{
    >>> values, indices = F.max_pool3d_with_indices(tandem.arange(8.).reshape(1, 2, 2, 2), 2)
    >>> values.flatten(), indices.flatten()
    (tensor([7.]), tensor([7]))
  }];
}

def : Composite<"max_unpool", "Tensor input, Tensor indices, int[] output_size"> {
  let forms = ["nn"];
  let summary = "Zeros of the spatial size `output_size` with `input` written at the flat `indices` there.";
  let shapes = "`input` and `indices` [N, C, *]; the result has `output_size` as last sizes";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> F.max_unpool(tandem.tensor([[5., 7.]]), tandem.tensor([[1, 3]]), (4,))
    tensor([[0., 5., 0., 7.]])
  }];
}

def : Pool<"avg_pool_plain",
    "Tensor input, int[] kernel_size, int[] stride, int[] padding, int[] size, bool count_include_pad, int divisor, "
    "bool channels_last=False",
    "avgPool"> {
  let forms = ["hidden"];
  let rule = "avgPool";
  let batching = "folded";
  let summary = "Means of windows of the last dims; an empty kernel for adaptive windows, a divisor of 0 for what the "
                "window covers.";
}

def : Pool<"avg_pool_grad",
    "Tensor grad, int[] input_size, int[] kernel_size, int[] stride, int[] padding, int[] size, bool "
    "count_include_pad, int divisor, bool channels_last=False",
    "avgPoolGrad"> {
  let forms = ["hidden"];
  let rule = "avgPoolGrad";
  let batching = "folded";
  let summary = "Cotangent of the input of avg_pool_plain.";
}

def : Composite<"avg_pool1d",
    "Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, bool ceil_mode=False, bool "
    "count_include_pad=True"> {
  let forms = ["nn", "function"];
  let takesOut = 0;
  let summary = "Means of windows of the last dim; stride is the kernel size when None, places of the padding count "
                "unless told.";
  let shapes = "`input` [N, C, *]; the result has (L + 2 padding - kernel_size) // stride + 1 in place of a last size "
               "L, rounded up if ceil_mode. N may be absent";
  let accepts = "FloatingOrInt64";
  let gives = "First";
  let example = [{
    >>> F.avg_pool1d(tandem.tensor([[1., 3., 2., 6.]]), 2)
    tensor([[2., 4.]])
  }];
}

def : Composite<"avg_pool2d",
    "Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, bool ceil_mode=False, bool "
    "count_include_pad=True, int? divisor_override=None"> {
  let forms = ["nn", "out"];
  let summary = "Means of windows of the last 2 dims; stride is the kernel size when None, places of the padding "
                "count unless told.";
  let shapes = "`input` [N, C, *]; the result has (L + 2 padding - kernel_size) // stride + 1 in place of a last size "
               "L, rounded up if ceil_mode. N may be absent";
  let accepts = "FloatingOrInt64";
  let gives = "First";
  let example = [{
    >>> F.avg_pool2d(tandem.arange(16.).reshape(1, 4, 4), 2)
    tensor([[[ 2.5000,  4.5000],
             [10.5000, 12.5000]]])
  }];
}

def : Composite<"avg_pool3d",
    "Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, bool ceil_mode=False, bool "
    "count_include_pad=True, int? divisor_override=None"> {
  let forms = ["nn", "out"];
  let mixedPrecision = "Float32";
  let summary = "Means of windows of the last 3 dims; stride is the kernel size when None, places of the padding "
                "count unless told.";
  let shapes = "`input` [N, C, *]; the result has (L + 2 padding - kernel_size) // stride + 1 in place of a last size "
               "L, rounded up if ceil_mode. N may be absent";
  let accepts = "FloatingOrInt64";
  let gives = "First";
  let example = [{
    >>> F.avg_pool3d(tandem.ones(1, 4, 4, 4), 2).shape
    tandem.Size([1, 2, 2, 2])
  }];
}

def : Composite<"adaptive_avg_pool1d", "Tensor input, int[] output_size"> {
  let forms = ["nn", "function"];
  let takesOut = 0;
  let summary = "Means of windows of the last dim that divide them into `output_size`.";
  let shapes = "`input` [N, C, *]; the result has `output_size` as last sizes. N may be absent";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> F.adaptive_avg_pool1d(tandem.tensor([[1., 3., 2., 6.]]), 2)
    tensor([[2., 4.]])
  }];
}

def : Composite<"adaptive_avg_pool2d", "Tensor input, int[] output_size"> {
  let forms = ["nn"];
  let summary = "Means of windows of the last 2 dims that divide them into `output_size`.";
  let shapes = "`input` [N, C, *]; the result has `output_size` as last sizes. N may be absent";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> F.adaptive_avg_pool2d(tandem.arange(16.).reshape(1, 4, 4), 1)
    tensor([[[7.5000]]])
  }];
}

def : Composite<"adaptive_avg_pool3d", "Tensor input, int[] output_size"> {
  let forms = ["nn"];
  let mixedPrecision = "Float32";
  let summary = "Means of windows of the last 3 dims that divide them into `output_size`.";
  let shapes = "`input` [N, C, *]; the result has `output_size` as last sizes. N may be absent";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> F.adaptive_avg_pool3d(tandem.zeros(1, 4, 4, 4), 2).shape
    tandem.Size([1, 2, 2, 2])
  }];
}

def : Composite<"adaptive_max_pool1d", "Tensor input, int[] output_size"> {
  let results = "Tensor[]";
  let forms = ["nn", "function"];
  let summary = "Maxima of windows of the last dim that divide them into `output_size`, and their flat places.";
  let shapes = "`input` [N, C, *]; the result has `output_size` as last sizes. N may be absent";
  let accepts = "Any";
  let gives = "FirstAndIndices";
  let example = [{
    >>> F.adaptive_max_pool1d(tandem.tensor([[1., 3., 2., 6.]]), 2)
    tensor([[3., 6.]])
  }];
}

def : Composite<"adaptive_max_pool2d", "Tensor input, int[] output_size"> {
  let results = "Tensor[]";
  let forms = ["nn"];
  let summary = "Maxima of windows of the last 2 dims that divide them into `output_size`, and their flat places.";
  let shapes = "`input` [N, C, *]; the result has `output_size` as last sizes. N may be absent";
  let accepts = "Any";
  let gives = "FirstAndIndices";
  let example = [{
    >>> F.adaptive_max_pool2d(tandem.arange(16.).reshape(1, 4, 4), (1, 2))
    tensor([[[13., 15.]]])
  }];
}

def : Composite<"adaptive_max_pool3d", "Tensor input, int[] output_size"> {
  let results = "Tensor[]";
  let forms = ["nn"];
  let summary = "Maxima of windows of the last 3 dims that divide them into `output_size`, and their flat places.";
  let shapes = "`input` [N, C, *]; the result has `output_size` as last sizes. N may be absent";
  let accepts = "Any";
  let gives = "FirstAndIndices";
  let example = [{
    >>> F.adaptive_max_pool3d(tandem.zeros(1, 4, 4, 4), 2).shape
    tandem.Size([1, 2, 2, 2])
  }];
}

class LpPool<string n> : Composite<n,
    "Tensor input, float norm_type, int[] kernel_size, int[]? stride=None, bool ceil_mode=False"> {
  let forms = ["nn"];
  let summary = "(sum of x^norm_type)^(1 / norm_type) over windows.";
  let samples = "none";
}

def : LpPool<"lp_pool1d"> {
  let shapes = "[N, C, L] or [C, L]; the last dim is that of the windows: (L - kernel_size) / stride + 1, rounded "
               "down, or up if `ceil_mode`";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> F.lp_pool1d(tandem.tensor([[3., 4., 0., 1.]]), 2, 2)
    tensor([[5., 1.]])
  }];
}

def : LpPool<"lp_pool2d"> {
  let shapes = "[N, C, H, W] or [C, H, W]; the last dims are those of the windows: (size - kernel_size) / stride + 1, "
               "rounded down, or up if `ceil_mode`";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> F.lp_pool2d(tandem.ones(1, 2, 4), 2, 2)
    tensor([[[2., 2.]]])
  }];
}

def : LpPool<"lp_pool3d"> {
  let shapes = "[N, C, D, H, W] or [C, D, H, W]; the last dims are those of the windows: (size - kernel_size) / "
               "stride + 1, rounded down, or up if `ceil_mode`";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> F.lp_pool3d(tandem.ones(1, 2, 2, 2), 1, 2)
    tensor([[[[8.]]]])
  }];
}

def : Composite<"fractional_max_pool",
    "Tensor input, int[] kernel_size, int[] output_size, Tensor samples"> {
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let forms = ["nn"];
  let summary = "Maxima of windows of the last dims, and where they are in the flattened dims; the windows begin at "
                "about even distances, shifted by numbers of `samples` [N, C, dims] in [0, 1).";
  let shapes = "`input` [N, C, ...] or [C, ...] with two or three last dims, `samples` [N, C, 2 or 3]; both results "
               "have `output_size` for the last dims";
  let accepts = "Any";
  let gives = "FirstAndIndices";
  let example = [{
    >>> F.fractional_max_pool(tandem.arange(9.).reshape(1, 3, 3), (2, 2), (2, 2), tandem.zeros(1, 1, 2))
    tandem.return_types.fractional_max_pool(
    values=tensor([[[4., 5.],
             [7., 8.]]]),
    indices=tensor([[[4, 5],
             [7, 8]]]))
  }];
  let samples = "none";
}
