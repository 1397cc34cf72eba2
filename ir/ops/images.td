// Images of the last dims resampled, padded and rearranged.

def : Library<"resample",
    "Tensor input, Scalar ratio, int dim, int size, int mode, bool align_corners",
    "resample"> {
  let forms = ["hidden"];
  let rule = "resample";
  let summary = "One dim interpolated to `size`; a positive `ratio` is the factor to compute places with.";
}

def : Library<"resample_grad",
    "Tensor grad, Scalar ratio, int dim, int size, int mode, bool align_corners",
    "resample"> {
  let forms = ["hidden"];
  let rule = "resampleGrad";
  let summary = "The transpose of resample, back to a dim of `size`.";
}

def : Composite<"upsample_to",
    "Tensor input, int[] size, str mode='nearest', bool align_corners=False, bool antialias=False, float "
    "ratio0=0.0, float ratio1=0.0, float ratio2=0.0"> {
  let forms = ["nn"];
  let summary = "The spatial dims of [N, C, ...] interpolated to `size`; a positive ratio is the factor that places "
                "of its dim are computed with.";
  let shapes = "`input` [N, C, *]; the result is [N, C, *size]";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> F.upsample_to(tandem.tensor([[[1., 2.]]]), (4,))
    tensor([[[1., 1., 2., 2.]]])
  }];
}

// Modes are numbered bilinear, nearest, bicubic, paddings zeros, border, reflection.
def : Library<"grid_sample_plain", "Tensor input, Tensor grid, int mode, int padding, bool align_corners",
    "gridSample"> {
  let forms = ["hidden"];
  let rule = "gridSample";
  let saves = ["input", "grid"];
  let summary = "`input` read at the places of `grid`.";
}

def : Library<"grid_sample_input_grad",
    "Tensor grad, Tensor grid, int[] size, int mode, int padding, bool align_corners",
    "gridSampleInputGrad"> {
  let forms = ["hidden"];
  let rule = "gridSampleInputGrad";
  let saves = ["grad", "grid"];
  let summary = "The transpose of grid_sample, which is linear in its input, back to spatial dims of `size`.";
}

def : Library<"grid_sample_grid_grad",
    "Tensor grad, Tensor input, Tensor grid, int mode, int padding, bool align_corners",
    "gridSampleGridGrad"> {
  let forms = ["hidden"];
  let rule = "gridSampleGridGrad";
  let saves = ["grad", "input", "grid"];
  let summary = "The cotangent of grid_sample's grid.";
}

def : Composite<"grid_sample",
    "Tensor input, Tensor grid, str mode='bilinear', str padding_mode='zeros', bool align_corners=False"> {
  let forms = ["nn"];
  let mixedPrecision = "Float32";
  let summary = "[N, C, H, W] read at the places of `grid` [N, H, W, 2] (x, y in [-1, 1]), or [N, C, D, H, W] at "
                "those of [N, D, H, W, 3].";
  let shapes = "`input` [N, C, H, W], `grid` [N, H', W', 2]; the result is [N, C, H', W']. With depth: [N, C, D, H, "
               "W], [N, D', H', W', 3], [N, C, D', H', W']";
  let accepts = "Floating";
  let gives = "Float";
  let example = [{
    >>> image = tandem.arange(4.).reshape(1, 1, 2, 2)
    >>> F.grid_sample(image, tandem.zeros(1, 1, 1, 2), align_corners=True)
    tensor([[[[1.5000]]]])
  }];
}

def : Composite<"affine_grid_base", "Tensor like, int[] size, bool align_corners"> {
  let forms = ["hidden"];
  let summary = "The places [1, P, n + 1] of an output of `size`, P in all, each followed by a one.";
  let samples = "none";
}

// Linear in theta: its derivative needs the places alone, which are made again.
def : Composite<"affine_grid", "Tensor theta, int[] size, bool align_corners=False"> {
  let rule = "affineGrid";
  let forms = ["nn"];
  let summary = "The grid for grid_sample that affine maps [N, 2, 3] (or [N, 3, 4]) make of an output of `size`.";
  let shapes = "`theta` [N, 2, 3], `size` (N, C, H, W); the result is [N, H, W, 2]. With depth: [N, 3, 4], (N, C, D, "
               "H, W), [N, D, H, W, 3]";
  let accepts = "Floating";
  let gives = "First";
  let raises = [Raises<"ValueError", "`theta` is not floating-point",
                       "F.affine_grid(tandem.ones(1, 2, 3, dtype=tandem.int64), (1, 1, 2, 2))">];
  let example = [{
    >>> F.affine_grid(tandem.tensor([[[1., 0., 0.], [0., 1., 0.]]]), (1, 1, 2, 2), align_corners=True)
    tensor([[[[-1., -1.],
              [ 1., -1.]],

             [[-1.,  1.],
              [ 1.,  1.]]]])
  }];
}

def : Composite<"pad", "Tensor input, int[] pad, str mode='constant', float? value=None"> {
  let forms = ["nn"];
  let summary = "Elements put before and after dims: `pad` holds the two counts of the last dim, then of the one "
                "before it; mode 'constant' (of `value`; negative counts crop), 'reflect', 'replicate' or 'circular'.";
  let shapes = "`input` with the counts of `pad` added to the last sizes";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> F.pad(tandem.tensor([[1., 2., 3.]]), (1, 2))
    tensor([[0., 1., 2., 3., 0., 0.]])
    >>> F.pad(tandem.tensor([[1., 2., 3.]]), (2, 0), mode="reflect")
    tensor([[3., 2., 1., 2., 3.]])
  }];
}

def : Composite<"pixel_shuffle", "Tensor input, int upscale_factor"> {
  let forms = ["nn", "function"];
  let takesOut = 0;
  let summary = "[..., C * r^2, H, W] as [..., C, H * r, W * r].";
  let shapes = "[..., C * r^2, H, W]; the result is [..., C, H * r, W * r]";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> F.pixel_shuffle(tandem.arange(4.).reshape(1, 4, 1, 1), 2)
    tensor([[[[0., 1.],
              [2., 3.]]]])
  }];
}

def : Composite<"pixel_unshuffle", "Tensor input, int downscale_factor"> {
  let forms = ["nn", "function"];
  let takesOut = 0;
  let summary = "[..., C, H * r, W * r] as [..., C * r^2, H, W].";
  let shapes = "[..., C, H * r, W * r]; the result is [..., C * r^2, H, W]";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> F.pixel_unshuffle(tandem.arange(4.).reshape(1, 1, 2, 2), 2).shape
    tandem.Size([1, 4, 1, 1])
  }];
}

def : Composite<"channel_shuffle", "Tensor input, int groups"> {
  let forms = ["nn", "function"];
  let takesOut = 0;
  let summary = "Channels [N, groups * k, ...] reordered as if [groups, k] were transposed.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> F.channel_shuffle(tandem.arange(4.).reshape(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
  }];
}
