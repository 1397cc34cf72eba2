// Examples of operations that rearrange, join and split.
// Each is run by the tests, and prints what PyTorch prints.

def : Example<Reshape, [{
>>> tandem.reshape(tandem.arange(6), (2, -1))
tensor([[0, 1, 2],
        [3, 4, 5]])
}]>;
def : Example<View_, [{
>>> tandem.arange(6).view(2, 3)
tensor([[0, 1, 2],
        [3, 4, 5]])
}]>;
def : Example<ViewAs, [{
>>> tandem.arange(4).view_as(tandem.zeros(2, 2))
tensor([[0, 1],
        [2, 3]])
}]>;
def : Example<ReshapeAs, [{
>>> tandem.arange(4).reshape_as(tandem.zeros(2, 2))
tensor([[0, 1],
        [2, 3]])
}]>;
def : Example<Flatten, [{
>>> tandem.flatten(tandem.zeros(2, 3, 4), start_dim=1).shape
tandem.Size([2, 12])
}]>;
def : Example<Unflatten, [{
>>> tandem.unflatten(tandem.zeros(2, 12), 1, (3, -1)).shape
tandem.Size([2, 3, 4])
}]>;
def : Example<Ravel, [{
>>> tandem.ravel(tandem.tensor([[1, 2], [3, 4]]))
tensor([1, 2, 3, 4])
}]>;
def : Example<SqueezeAll, [{
>>> tandem.squeeze(tandem.zeros(1, 3, 1)).shape
tandem.Size([3])
>>> tandem.squeeze(tandem.zeros(1, 3, 1), dim=0).shape
tandem.Size([3, 1])
}]>;
def : Example<Unsqueeze, [{
>>> tandem.unsqueeze(tandem.tensor([1, 2]), 1)
tensor([[1],
        [2]])
}]>;
def : Example<TShort, [{
>>> tandem.t(tandem.tensor([[1, 2, 3], [4, 5, 6]]))
tensor([[1, 4],
        [2, 5],
        [3, 6]])
}]>;
def : Example<Transpose, [{
>>> tandem.transpose(tandem.zeros(2, 3, 4), 0, 2).shape
tandem.Size([4, 3, 2])
}]>;
def : Example<Permute, [{
>>> tandem.permute(tandem.zeros(2, 3, 4), (2, 0, 1)).shape
tandem.Size([4, 2, 3])
}]>;
def : Example<MoveDim, [{
>>> tandem.movedim(tandem.zeros(2, 3, 4), 0, -1).shape
tandem.Size([3, 4, 2])
}]>;
def : Example<Adjoint, [{
>>> tandem.adjoint(tandem.zeros(5, 2, 3)).shape
tandem.Size([5, 3, 2])
}]>;
def : Example<Expand, [{
>>> tandem.tensor([[1], [2]]).expand(-1, 3)
tensor([[1, 1, 1],
        [2, 2, 2]])
}]>;
def : Example<ExpandAs, [{
>>> tandem.tensor([1, 2]).expand_as(tandem.zeros(2, 2))
tensor([[1, 2],
        [1, 2]])
}]>;
def : Example<BroadcastTo, [{
>>> tandem.broadcast_to(tandem.tensor([1, 2, 3]), (2, 3))
tensor([[1, 2, 3],
        [1, 2, 3]])
}]>;
def : Example<BroadcastTensors, [{
>>> a, b = tandem.broadcast_tensors(tandem.zeros(3, 1), tandem.zeros(4))
>>> a.shape, b.shape
(tandem.Size([3, 4]), tandem.Size([3, 4]))
}]>;
def : Example<Contiguous, [{
>>> x = tandem.zeros(2, 3).t()
>>> x.is_contiguous(), x.contiguous().is_contiguous()
(False, True)
}]>;
def : Example<Select, [{
>>> tandem.select(tandem.tensor([[1, 2], [3, 4]]), 1, 0)
tensor([1, 3])
}]>;
def : Example<Narrow, [{
>>> tandem.narrow(tandem.tensor([1, 2, 3, 4]), 0, 1, 2)
tensor([2, 3])
}]>;
def : Example<NarrowTensor, [{
>>> tandem.narrow(tandem.tensor([1, 2, 3, 4]), 0, tandem.tensor(2), 2)
tensor([3, 4])
}]>;
def : Example<NarrowCopy, [{
>>> tandem.narrow_copy(tandem.tensor([1, 2, 3, 4]), 0, 1, 2)
tensor([2, 3])
}]>;
def : Example<AsStrided, [{
>>> tandem.as_strided(tandem.arange(6), (3, 2), (1, 2))
tensor([[0, 2],
        [1, 3],
        [2, 4]])
}]>;
def : Example<Unfold, [{
>>> tandem.arange(5).unfold(0, 3, 1)
tensor([[0, 1, 2],
        [1, 2, 3],
        [2, 3, 4]])
}]>;
def : Example<Diagonal, [{
>>> tandem.diagonal(tandem.tensor([[1, 2], [3, 4]]))
tensor([1, 4])
}]>;
def : Example<LinalgDiagonal, [{
>>> tandem.linalg.diagonal(tandem.tensor([[1, 2], [3, 4]]), offset=1)
tensor([2])
}]>;
def : Example<Diag, [{
>>> tandem.diag(tandem.tensor([1, 2]))
tensor([[1, 0],
        [0, 2]])
>>> tandem.diag(tandem.tensor([[1, 2], [3, 4]]))
tensor([1, 4])
}]>;
def : Example<DiagEmbed, [{
>>> tandem.diag_embed(tandem.tensor([1, 2]), offset=1)
tensor([[0, 1, 0],
        [0, 0, 2],
        [0, 0, 0]])
}]>;
def : Example<DiagFlat, [{
>>> tandem.diagflat(tandem.tensor([[1], [2]]))
tensor([[1, 0],
        [0, 2]])
}]>;
def : Example<Tril, [{
>>> tandem.tril(tandem.ones(3, 3))
tensor([[1., 0., 0.],
        [1., 1., 0.],
        [1., 1., 1.]])
}]>;
def : Example<Triu, [{
>>> tandem.triu(tandem.ones(3, 3), diagonal=1)
tensor([[0., 1., 1.],
        [0., 0., 1.],
        [0., 0., 0.]])
}]>;
def : Example<Flip, [{
>>> tandem.flip(tandem.tensor([[1, 2], [3, 4]]), (0, 1))
tensor([[4, 3],
        [2, 1]])
}]>;
def : Example<FlipLR, [{
>>> tandem.fliplr(tandem.tensor([[1, 2], [3, 4]]))
tensor([[2, 1],
        [4, 3]])
}]>;
def : Example<FlipUD, [{
>>> tandem.flipud(tandem.tensor([[1, 2], [3, 4]]))
tensor([[3, 4],
        [1, 2]])
}]>;
def : Example<Roll, [{
>>> tandem.roll(tandem.tensor([1, 2, 3, 4]), 1)
tensor([4, 1, 2, 3])
}]>;
def : Example<Rot90, [{
>>> tandem.rot90(tandem.tensor([[1, 2], [3, 4]]))
tensor([[2, 4],
        [1, 3]])
}]>;

// ---- pieces and joins ----
def : Example<Chunk, [{
>>> tandem.chunk(tandem.arange(5), 2)
(tensor([0, 1, 2]), tensor([3, 4]))
}]>;
def : Example<UnsafeChunk, [{
>>> tandem.unsafe_chunk(tandem.arange(5), 2)
(tensor([0, 1, 2]), tensor([3, 4]))
}]>;
def : Example<SplitSize, [{
>>> tandem.split(tandem.arange(5), 2)
(tensor([0, 1]), tensor([2, 3]), tensor([4]))
}]>;
def : Example<SplitSizes, [{
>>> tandem.split(tandem.arange(5), [1, 4])
(tensor([0]), tensor([1, 2, 3, 4]))
}]>;
def : Example<SplitSizesNamed, [{
>>> tandem.split_with_sizes(tandem.arange(5), [1, 4])
(tensor([0]), tensor([1, 2, 3, 4]))
}]>;
def : Example<UnsafeSplit, [{
>>> tandem.unsafe_split(tandem.arange(5), 2)
(tensor([0, 1]), tensor([2, 3]), tensor([4]))
}]>;
def : Example<TensorSplit, [{
>>> tandem.tensor_split(tandem.arange(5), 2)
(tensor([0, 1, 2]), tensor([3, 4]))
}]>;
def : Example<TensorSplitAt, [{
>>> tandem.tensor_split(tandem.arange(5), (1, 3))
(tensor([0]), tensor([1, 2]), tensor([3, 4]))
}]>;
def : Example<TensorSplitTensor, [{
>>> tandem.tensor_split(tandem.arange(5), tandem.tensor([1, 3]))
(tensor([0]), tensor([1, 2]), tensor([3, 4]))
}]>;
def : Example<HSplit, [{
>>> left, right = tandem.hsplit(tandem.tensor([[1, 2], [3, 4]]), 2)
>>> left
tensor([[1],
        [3]])
}]>;
def : Example<HSplitAt, [{
>>> tandem.hsplit(tandem.arange(4), [1])
(tensor([0]), tensor([1, 2, 3]))
}]>;
def : Example<VSplit, [{
>>> tandem.vsplit(tandem.tensor([[1, 2], [3, 4]]), 2)
(tensor([[1, 2]]), tensor([[3, 4]]))
}]>;
def : Example<VSplitAt, [{
>>> tandem.vsplit(tandem.tensor([[1, 2], [3, 4]]), [1])
(tensor([[1, 2]]), tensor([[3, 4]]))
}]>;
def : Example<DSplit, [{
>>> [piece.shape for piece in tandem.dsplit(tandem.zeros(2, 2, 4), 2)]
[tandem.Size([2, 2, 2]), tandem.Size([2, 2, 2])]
}]>;
def : Example<DSplitAt, [{
>>> [piece.shape for piece in tandem.dsplit(tandem.zeros(2, 2, 4), [1])]
[tandem.Size([2, 2, 1]), tandem.Size([2, 2, 3])]
}]>;
def : Example<Unbind, [{
>>> tandem.unbind(tandem.tensor([[1, 2], [3, 4]]))
(tensor([1, 2]), tensor([3, 4]))
}]>;
def : Example<CatT, [{
>>> tandem.cat([tandem.tensor([[1, 2]]), tandem.tensor([[3, 4]])], dim=0)
tensor([[1, 2],
        [3, 4]])
>>> tandem.cat([tandem.tensor([1]), tandem.tensor([0.5])])
tensor([1.0000, 0.5000])
}]>;
def : Example<Stack, [{
>>> tandem.stack([tandem.tensor([1, 2]), tandem.tensor([3, 4])], dim=1)
tensor([[1, 3],
        [2, 4]])
}]>;
def : Example<HStack, [{
>>> tandem.hstack([tandem.tensor([[1], [2]]), tandem.tensor([[3], [4]])])
tensor([[1, 3],
        [2, 4]])
}]>;
def : Example<VStack, [{
>>> tandem.vstack([tandem.tensor([1, 2]), tandem.tensor([3, 4])])
tensor([[1, 2],
        [3, 4]])
}]>;
def : Example<DStack, [{
>>> tandem.dstack([tandem.tensor([1, 2]), tandem.tensor([3, 4])])
tensor([[[1, 3],
         [2, 4]]])
}]>;
def : Example<ColumnStack, [{
>>> tandem.column_stack([tandem.tensor([1, 2]), tandem.tensor([3, 4])])
tensor([[1, 3],
        [2, 4]])
}]>;
def : Example<BlockDiag, [{
>>> tandem.block_diag(tandem.tensor([[1, 2]]), tandem.tensor([[3], [4]]))
tensor([[1, 2, 0],
        [0, 0, 3],
        [0, 0, 4]])
}]>;
def : Example<AtLeast1d, [{
>>> tandem.atleast_1d(tandem.tensor(1.))
tensor([1.])
}]>;
def : Example<AtLeast1dList, [{
>>> tandem.atleast_1d([tandem.tensor(1), tandem.tensor([2, 3])])
(tensor([1]), tensor([2, 3]))
}]>;
def : Example<AtLeast2d, [{
>>> tandem.atleast_2d(tandem.tensor([1, 2]))
tensor([[1, 2]])
}]>;
def : Example<AtLeast2dList, [{
>>> tandem.atleast_2d([tandem.tensor(1), tandem.tensor([2, 3])])
(tensor([[1]]), tensor([[2, 3]]))
}]>;
def : Example<AtLeast3d, [{
>>> tandem.atleast_3d(tandem.tensor([1, 2])).shape
tandem.Size([1, 2, 1])
}]>;
def : Example<AtLeast3dList, [{
>>> [x.shape for x in tandem.atleast_3d([tandem.tensor(1), tandem.tensor([2, 3])])]
[tandem.Size([1, 1, 1]), tandem.Size([1, 2, 1])]
}]>;
def : Example<Repeat, [{
>>> tandem.tensor([1, 2]).repeat(2, 2)
tensor([[1, 2, 1, 2],
        [1, 2, 1, 2]])
}]>;
def : Example<Tile, [{
>>> tandem.tile(tandem.tensor([[1, 2], [3, 4]]), (1, 2))
tensor([[1, 2, 1, 2],
        [3, 4, 3, 4]])
}]>;
def : Example<RepeatInterleave, [{
>>> tandem.repeat_interleave(tandem.tensor([1, 2]), 2)
tensor([1, 1, 2, 2])
}]>;
def : Example<RepeatInterleaveTensor, [{
>>> tandem.repeat_interleave(tandem.tensor([[1, 2], [3, 4]]), tandem.tensor([1, 2]), dim=0)
tensor([[1, 2],
        [3, 4],
        [3, 4]])
}]>;
def : Example<RepeatInterleaveCounts, [{
>>> tandem.repeat_interleave(tandem.tensor([2, 0, 1]))
tensor([0, 0, 2])
}]>;
def : Example<MeshGrid, [{
>>> x, y = tandem.meshgrid(tandem.tensor([1, 2]), tandem.tensor([3, 4, 5]), indexing="ij")
>>> y
tensor([[3, 4, 5],
        [3, 4, 5]])
}]>;
def : Example<CartesianProd, [{
>>> tandem.cartesian_prod(tandem.tensor([1, 2]), tandem.tensor([3, 4]))
tensor([[1, 3],
        [1, 4],
        [2, 3],
        [2, 4]])
}]>;
def : Example<Combinations, [{
>>> tandem.combinations(tandem.tensor([1, 2, 3]))
tensor([[1, 2],
        [1, 3],
        [2, 3]])
}]>;
def : Example<SumToSize, [{
>>> tandem.ones(3, 2).sum_to_size(1, 2)
tensor([[3., 3.]])
}]>;
def : Example<Vander, [{
>>> tandem.vander(tandem.tensor([1, 2, 3]))
tensor([[1, 1, 1],
        [4, 2, 1],
        [9, 3, 1]])
}]>;
def : Example<TrilIndices, [{
>>> tandem.tril_indices(2, 3)
tensor([[0, 1, 1],
        [0, 0, 1]])
}]>;
def : Example<TriuIndices, [{
>>> tandem.triu_indices(2, 3)
tensor([[0, 0, 0, 1, 1],
        [0, 1, 2, 1, 2]])
}]>;
