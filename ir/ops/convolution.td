// Convolutions and the columns they are made of. Spatial lists hold one number a spatial dim; composites take one int
// for all. The result of a primitive with `channels_last` has its dim of channels, the second one, last; operands have
// it where they always have it, and where it lies innermost in memory it is read so. With `wide` the result of half
// types is float32, for what is added before it is rounded.

def : Convolution<"conv2d_plain",
    "Tensor input, Tensor weight, int[2] stride, int[2] padding, int[2] dilation, int groups, "
    "bool cudnn_enabled=True, bool allow_tf32=False, bool channels_last=False, bool wide=False",
    "conv2d"> {
  let forms = ["hidden"];
  let rule = "conv2d";
  let saves = ["input@1", "weight@0"];
  let batching = "convolution";
  let summary = "2-d convolution (cross-correlation) of [N, C, H, W] with [O, C / groups, KH, KW].";
}

def : Convolution<"conv2d_input_grad",
    "Tensor grad, Tensor weight, int[] input_shape, int[2] stride, int[2] padding, int[2] dilation, int "
    "groups, bool cudnn_enabled=True, bool allow_tf32=False, bool channels_last=False, bool wide=False",
    "conv2dInputGrad"> {
  let forms = ["hidden"];
  let rule = "conv2dInputGrad";
  let saves = ["grad@1", "weight@0"];
  let batching = "convolutionInputGrad";
  let summary = "Cotangent of a convolution's input.";
}

def : Convolution<"conv2d_weight_grad",
    "Tensor grad, Tensor input, int[] weight_shape, int[2] stride, int[2] padding, int[2] dilation, int "
    "groups, bool cudnn_enabled=True, bool allow_tf32=False, bool channels_last=False",
    "conv2dWeightGrad"> {
  let forms = ["hidden"];
  let rule = "conv2dWeightGrad";
  let saves = ["grad@1", "input@0"];
  let batching = "convolutionWeightGrad";
  let summary = "Cotangent of a convolution's weight.";
}

def : Composite<"conv1d",
    "Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] dilation=1, int groups=1"> {
  let forms = ["nn", "function"];
  let takesOut = 0;
  let mixedPrecision = "Lower";
  let summary = "1-d cross-correlation of [N, C, L] or [C, L] with [O, C / groups, KL].";
  let shapes = "`input` [N, C, L], `weight` [O, C / groups, K], `bias` [O]; the result is [N, O, (L + 2 padding - "
               "dilation (K - 1) - 1) // stride + 1]. N may be absent";
  let accepts = "Any";
  let gives = "Promote";
  let example = [{
    >>> F.conv1d(tandem.tensor([[[1., 2., 3., 4.]]]), tandem.tensor([[[1., -1.]]]))
    tensor([[[-1., -1., -1.]]])
  }];
}

def : Composite<"conv1d_named",
    "Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, str padding='valid', int[] dilation=1, int "
    "groups=1"> {
  let python = "conv1d";
  let forms = ["nn", "function"];
  let takesOut = 0;
  let mixedPrecision = "Lower";
  let summary = "1-d cross-correlation with padding 'valid' or 'same'.";
  let shapes = "`input` [N, C, L], `weight` [O, C / groups, K], `bias` [O]; the result is [N, O, L] for 'same'. N may "
               "be absent";
  let accepts = "Any";
  let gives = "Promote";
  let example = [{
    >>> F.conv1d(tandem.tensor([[[1., 2., 3., 4.]]]), tandem.tensor([[[1., 0., -1.]]]), padding="same")
    tensor([[[-2., -2., -2.,  3.]]])
  }];
}

def : Composite<"conv2d",
    "Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] dilation=1, int groups=1"> {
  let forms = ["nn", "function"];
  let takesOut = 0;
  let mixedPrecision = "Lower";
  let summary = "2-d cross-correlation of [N, C, H, W] or [C, H, W] with [O, C / groups, KH, KW].";
  let shapes = "`input` [N, C, H, W], `weight` [O, C / groups, KH, KW], `bias` [O]; the result is [N, O, H', W'], H' "
               "= (H + 2 padding - dilation (KH - 1) - 1) // stride + 1, W' alike. N may be absent";
  let accepts = "Any";
  let gives = "Promote";
  let raises = [Raises<"RuntimeError",
                       "channels of `input` and `weight` do not fit, or the kernel is larger than the input",
                       "F.conv2d(tandem.ones(1, 3, 4, 4), tandem.ones(2, 2, 3, 3))">];
  let example = [{
    >>> F.conv2d(tandem.ones(1, 1, 3, 3), tandem.ones(1, 1, 2, 2))
    tensor([[[[4., 4.],
              [4., 4.]]]])
  }];
}

def : Composite<"conv2d_named",
    "Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, str padding='valid', int[] dilation=1, int "
    "groups=1"> {
  let python = "conv2d";
  let forms = ["nn", "function"];
  let takesOut = 0;
  let mixedPrecision = "Lower";
  let summary = "2-d cross-correlation with padding 'valid' or 'same'.";
  let shapes = "`input` [N, C, H, W], `weight` [O, C / groups, KH, KW], `bias` [O]; the result is [N, O, H, W] for "
               "'same'. N may be absent";
  let accepts = "Any";
  let gives = "Promote";
  let example = [{
    >>> F.conv2d(tandem.zeros(1, 3, 8, 8), tandem.zeros(5, 3, 3, 3), padding="same").shape
    tandem.Size([1, 5, 8, 8])
  }];
}

def : Composite<"conv3d",
    "Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] dilation=1, int groups=1"> {
  let forms = ["nn", "function"];
  let takesOut = 0;
  let mixedPrecision = "Lower";
  let summary = "3-d cross-correlation of [N, C, D, H, W] or [C, D, H, W] with [O, C / groups, KD, KH, KW].";
  let shapes = "`input` [N, C, D, H, W], `weight` [O, C / groups, KD, KH, KW], `bias` [O]; the result is [N, O, D', "
               "H', W'], D' = (D + 2 padding - dilation (KD - 1) - 1) // stride + 1, the others alike. N may be absent";
  let accepts = "Any";
  let gives = "Promote";
  let example = [{
    >>> F.conv3d(tandem.zeros(1, 2, 4, 4, 4), tandem.zeros(3, 2, 3, 3, 3)).shape
    tandem.Size([1, 3, 2, 2, 2])
  }];
}

def : Composite<"conv3d_named",
    "Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, str padding='valid', int[] dilation=1, int "
    "groups=1"> {
  let python = "conv3d";
  let forms = ["nn", "function"];
  let takesOut = 0;
  let mixedPrecision = "Lower";
  let summary = "3-d cross-correlation with padding 'valid' or 'same'.";
  let shapes = "`input` [N, C, D, H, W], `weight` [O, C / groups, KD, KH, KW], `bias` [O]; the result is [N, O, D, H, "
               "W] for 'same'. N may be absent";
  let accepts = "Any";
  let gives = "Promote";
  let example = [{
    >>> F.conv3d(tandem.zeros(1, 2, 4, 4, 4), tandem.zeros(3, 2, 3, 3, 3), padding="same").shape
    tandem.Size([1, 3, 4, 4, 4])
  }];
}

def : Composite<"conv_transpose1d",
    "Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] output_padding=0, int "
    "groups=1, int[] dilation=1"> {
  let forms = ["nn", "function"];
  let takesOut = 0;
  let mixedPrecision = "Lower";
  let summary = "The transpose of conv1d, of [N, C, L] with [C, O / groups, KL]; `output_padding` makes one side of "
                "the result larger.";
  let shapes = "`input` [N, C, *], `weight` [C, O / groups, *K], `bias` [O]; the result is [N, O, *], a size L "
               "becoming (L - 1) stride - 2 padding + dilation (K - 1) + output_padding + 1. N may be absent";
  let accepts = "Any";
  let gives = "Promote";
  let example = [{
    >>> F.conv_transpose1d(tandem.tensor([[[1., 2.]]]), tandem.tensor([[[1., 1.]]]), stride=2)
    tensor([[[1., 1., 2., 2.]]])
  }];
}

def : Composite<"conv_transpose2d",
    "Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] output_padding=0, int "
    "groups=1, int[] dilation=1"> {
  let forms = ["nn", "function"];
  let takesOut = 0;
  let mixedPrecision = "Lower";
  let summary = "The transpose of conv2d, of [N, C, H, W] with [C, O / groups, KH, KW]; `output_padding` makes one "
                "side of the result larger.";
  let shapes = "`input` [N, C, *], `weight` [C, O / groups, *K], `bias` [O]; the result is [N, O, *], a size L "
               "becoming (L - 1) stride - 2 padding + dilation (K - 1) + output_padding + 1. N may be absent";
  let accepts = "Any";
  let gives = "Promote";
  let example = [{
    >>> F.conv_transpose2d(tandem.zeros(1, 3, 4, 4), tandem.zeros(3, 5, 3, 3), stride=2).shape
    tandem.Size([1, 5, 9, 9])
  }];
}

def : Composite<"conv_transpose3d",
    "Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] output_padding=0, int "
    "groups=1, int[] dilation=1"> {
  let forms = ["nn", "function"];
  let takesOut = 0;
  let mixedPrecision = "Lower";
  let summary = "The transpose of conv3d, of [N, C, D, H, W] with [C, O / groups, KD, KH, KW]; `output_padding` makes "
                "one side of the result larger.";
  let shapes = "`input` [N, C, *], `weight` [C, O / groups, *K], `bias` [O]; the result is [N, O, *], a size L "
               "becoming (L - 1) stride - 2 padding + dilation (K - 1) + output_padding + 1. N may be absent";
  let accepts = "Any";
  let gives = "Promote";
  let example = [{
    >>> F.conv_transpose3d(tandem.zeros(1, 3, 4, 4, 4), tandem.zeros(3, 5, 2, 2, 2), stride=2).shape
    tandem.Size([1, 5, 8, 8, 8])
  }];
}

def : Pool<"unfold_windows",
    "Tensor input, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride",
    "unfoldWindows"> {
  let forms = ["hidden"];
  let rule = "unfoldWindows";
  let batching = "folded";
  let summary = "Windows of [N, C, H, W] as columns [N, C * kh * kw, L].";
}

def : Pool<"fold_windows",
    "Tensor input, int[] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride",
    "foldWindows"> {
  let forms = ["hidden"];
  let rule = "foldWindows";
  let batching = "folded";
  let summary = "Columns added back into images: the transpose of unfold_windows.";
}

def : Composite<"nn_unfold", "Tensor input, int[] kernel_size, int[] dilation=1, int[] padding=0, int[] stride=1"> {
  let python = "unfold";
  let forms = ["nn"];
  let summary = "Windows of [N, C, H, W] or [C, H, W] as columns [N, C * kh * kw, L].";
  let shapes = "`input` [N, C, H, W] or [C, H, W]; the result is [N, C * KH * KW, number of windows], without N as "
               "well";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> F.unfold(tandem.arange(9.).reshape(1, 1, 3, 3), 2)
    tensor([[[0., 1., 3., 4.],
             [1., 2., 4., 5.],
             [3., 4., 6., 7.],
             [4., 5., 7., 8.]]])
  }];
}

def : Composite<"nn_fold",
    "Tensor input, int[] output_size, int[] kernel_size, int[] dilation=1, int[] padding=0, int[] stride=1"> {
  let python = "fold";
  let forms = ["nn"];
  let summary = "Columns [N, C * kh * kw, L] added into images [N, C, H, W].";
  let shapes = "`input` [N, C * KH * KW, number of windows], or without N; the result is [N, C, *output_size]";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> F.fold(tandem.ones(1, 4, 4), (3, 3), 2)
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
  }];
}
