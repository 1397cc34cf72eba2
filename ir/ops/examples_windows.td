// Examples of operations on windows: convolutions, pools, padding, resampling.
// Each is run by the tests, and prints what PyTorch prints.

def : Example<Conv1dBias, [{
>>> F.conv1d(tandem.tensor([[[1., 2., 3., 4.]]]), tandem.tensor([[[1., -1.]]]))
tensor([[[-1., -1., -1.]]])
}]>;
def : Example<Conv1dNamed, [{
>>> F.conv1d(tandem.tensor([[[1., 2., 3., 4.]]]), tandem.tensor([[[1., 0., -1.]]]), padding="same")
tensor([[[-2., -2., -2.,  3.]]])
}]>;
def : Example<Conv2dBias, [{
>>> F.conv2d(tandem.ones(1, 1, 3, 3), tandem.ones(1, 1, 2, 2))
tensor([[[[4., 4.],
          [4., 4.]]]])
}]>;
def : Example<Conv2dNamed, [{
>>> F.conv2d(tandem.zeros(1, 3, 8, 8), tandem.zeros(5, 3, 3, 3), padding="same").shape
tandem.Size([1, 5, 8, 8])
}]>;
def : Example<Conv3dBias, [{
>>> F.conv3d(tandem.zeros(1, 2, 4, 4, 4), tandem.zeros(3, 2, 3, 3, 3)).shape
tandem.Size([1, 3, 2, 2, 2])
}]>;
def : Example<Conv3dNamed, [{
>>> F.conv3d(tandem.zeros(1, 2, 4, 4, 4), tandem.zeros(3, 2, 3, 3, 3), padding="same").shape
tandem.Size([1, 3, 4, 4, 4])
}]>;
def : Example<ConvTranspose1d, [{
>>> F.conv_transpose1d(tandem.tensor([[[1., 2.]]]), tandem.tensor([[[1., 1.]]]), stride=2)
tensor([[[1., 1., 2., 2.]]])
}]>;
def : Example<ConvTranspose2d, [{
>>> F.conv_transpose2d(tandem.zeros(1, 3, 4, 4), tandem.zeros(3, 5, 3, 3), stride=2).shape
tandem.Size([1, 5, 9, 9])
}]>;
def : Example<ConvTranspose3d, [{
>>> F.conv_transpose3d(tandem.zeros(1, 3, 4, 4, 4), tandem.zeros(3, 5, 2, 2, 2), stride=2).shape
tandem.Size([1, 5, 8, 8, 8])
}]>;
def : Example<MaxPool1d, [{
>>> F.max_pool1d(tandem.tensor([[1., 3., 2., 5.]]), 2)
tensor([[3., 5.]])
}]>;
def : Example<MaxPool1dIndices, [{
>>> F.max_pool1d_with_indices(tandem.tensor([[1., 3., 2., 5.]]), 2)
(tensor([[3., 5.]]), tensor([[1, 3]]))
}]>;
def : Example<MaxPool2d, [{
>>> F.max_pool2d(tandem.arange(16.).reshape(1, 4, 4), 2)
tensor([[[ 5.,  7.],
         [13., 15.]]])
}]>;
def : Example<MaxPool2dIndices, [{
>>> F.max_pool2d_with_indices(tandem.arange(16.).reshape(1, 4, 4), 2)
(tensor([[[ 5.,  7.],
         [13., 15.]]]), tensor([[[ 5,  7],
         [13, 15]]]))
}]>;
def : Example<MaxPool3d, [{
>>> F.max_pool3d(tandem.zeros(1, 4, 4, 4), 2).shape
tandem.Size([1, 2, 2, 2])
}]>;
def : Example<MaxPool3dIndices, [{
>>> values, indices = F.max_pool3d_with_indices(tandem.arange(8.).reshape(1, 2, 2, 2), 2)
>>> values.flatten(), indices.flatten()
(tensor([7.]), tensor([7]))
}]>;
def : Example<AvgPool1d, [{
>>> F.avg_pool1d(tandem.tensor([[1., 3., 2., 6.]]), 2)
tensor([[2., 4.]])
}]>;
def : Example<AvgPool2d, [{
>>> F.avg_pool2d(tandem.arange(16.).reshape(1, 4, 4), 2)
tensor([[[ 2.5000,  4.5000],
         [10.5000, 12.5000]]])
}]>;
def : Example<AvgPool3d, [{
>>> F.avg_pool3d(tandem.ones(1, 4, 4, 4), 2).shape
tandem.Size([1, 2, 2, 2])
}]>;
def : Example<AdaptiveAvgPool1d, [{
>>> F.adaptive_avg_pool1d(tandem.tensor([[1., 3., 2., 6.]]), 2)
tensor([[2., 4.]])
}]>;
def : Example<AdaptiveMaxPool1d, [{
>>> F.adaptive_max_pool1d(tandem.tensor([[1., 3., 2., 6.]]), 2)
tensor([[3., 6.]])
}]>;
def : Example<AdaptiveAvgPool2d, [{
>>> F.adaptive_avg_pool2d(tandem.arange(16.).reshape(1, 4, 4), 1)
tensor([[[7.5000]]])
}]>;
def : Example<AdaptiveMaxPool2d, [{
>>> F.adaptive_max_pool2d(tandem.arange(16.).reshape(1, 4, 4), (1, 2))
tensor([[[13., 15.]]])
}]>;
def : Example<AdaptiveAvgPool3d, [{
>>> F.adaptive_avg_pool3d(tandem.zeros(1, 4, 4, 4), 2).shape
tandem.Size([1, 2, 2, 2])
}]>;
def : Example<AdaptiveMaxPool3d, [{
>>> F.adaptive_max_pool3d(tandem.zeros(1, 4, 4, 4), 2).shape
tandem.Size([1, 2, 2, 2])
}]>;
def : Example<MaxUnpool, [{
>>> F.max_unpool(tandem.tensor([[5., 7.]]), tandem.tensor([[1, 3]]), (4,))
tensor([[0., 5., 0., 7.]])
}]>;
def : Example<Im2Col, [{
>>> F.unfold(tandem.arange(9.).reshape(1, 1, 3, 3), 2)
tensor([[[0., 1., 3., 4.],
         [1., 2., 4., 5.],
         [3., 4., 6., 7.],
         [4., 5., 7., 8.]]])
}]>;
def : Example<Col2Im, [{
>>> F.fold(tandem.ones(1, 4, 4), (3, 3), 2)
tensor([[[[1., 2., 1.],
          [2., 4., 2.],
          [1., 2., 1.]]]])
}]>;
def : Example<Pad, [{
>>> F.pad(tandem.tensor([[1., 2., 3.]]), (1, 2))
tensor([[0., 1., 2., 3., 0., 0.]])
>>> F.pad(tandem.tensor([[1., 2., 3.]]), (2, 0), mode="reflect")
tensor([[3., 2., 1., 2., 3.]])
}]>;
def : Example<Upsample, [{
>>> F.upsample_to(tandem.tensor([[[1., 2.]]]), (4,))
tensor([[[1., 1., 2., 2.]]])
}]>;
def : Example<GridSample, [{
>>> image = tandem.arange(4.).reshape(1, 1, 2, 2)
>>> F.grid_sample(image, tandem.zeros(1, 1, 1, 2), align_corners=True)
tensor([[[[1.5000]]]])
}]>;
def : Example<AffineGrid, [{
>>> F.affine_grid(tandem.tensor([[[1., 0., 0.], [0., 1., 0.]]]), (1, 1, 2, 2), align_corners=True)
tensor([[[[-1., -1.],
          [ 1., -1.]],

         [[-1.,  1.],
          [ 1.,  1.]]]])
}]>;
def : Example<PixelShuffle, [{
>>> F.pixel_shuffle(tandem.arange(4.).reshape(1, 4, 1, 1), 2)
tensor([[[[0., 1.],
          [2., 3.]]]])
}]>;
def : Example<PixelUnshuffle, [{
>>> F.pixel_unshuffle(tandem.arange(4.).reshape(1, 1, 2, 2), 2).shape
tandem.Size([1, 4, 1, 1])
}]>;
def : Example<ChannelShuffle, [{
>>> F.channel_shuffle(tandem.arange(4.).reshape(1, 4, 1), 2).flatten()
tensor([0., 2., 1., 3.])
}]>;
