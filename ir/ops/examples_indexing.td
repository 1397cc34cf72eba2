// Examples of reading and writing at indices.
// Each is run by the tests, and prints what PyTorch prints.

def : Example<Gather, [{
>>> tandem.gather(tandem.tensor([[1, 2], [3, 4]]), 1, tandem.tensor([[0, 0], [1, 0]]))
tensor([[1, 1],
        [4, 3]])
}]>;
def : Example<IndexSelect, [{
>>> tandem.index_select(tandem.tensor([[1, 2], [3, 4], [5, 6]]), 0, tandem.tensor([2, 0]))
tensor([[5, 6],
        [1, 2]])
}]>;
def : Example<Take, [{
>>> tandem.take(tandem.tensor([[1, 2], [3, 4]]), tandem.tensor([0, 3]))
tensor([1, 4])
}]>;
def : Example<TakeAlongDim, [{
>>> x = tandem.tensor([[3, 1], [2, 4]])
>>> tandem.take_along_dim(x, tandem.argsort(x, dim=1), dim=1)
tensor([[1, 3],
        [2, 4]])
>>> tandem.take_along_dim(x, tandem.tensor([0, 3]))
tensor([3, 4])
}]>;
def : Example<GatherSparse, [{
>>> tandem.gather(tandem.tensor([1, 2, 3]), 0, tandem.tensor([2, 0]), sparse_grad=True)
tensor([3, 1])
}]>;
def : Example<WhereTrue, [{
>>> tandem.where(tandem.tensor([[True, False], [False, True]]))
(tensor([0, 1]), tensor([0, 1]))
}]>;
def : Example<WhereMethod, [{
>>> x = tandem.tensor([1., -2., 3.])
>>> x.where(x > 0, 0.)
tensor([1., 0., 3.])
}]>;
def : Example<ScatterSrc, [{
>>> tandem.scatter(tandem.zeros(2, 3), 1, tandem.tensor([[0], [2]]), 1.)
tensor([[1., 0., 0.],
        [0., 0., 1.]])
}]>;
def : Example<ScatterWith, [{
>>> tandem.scatter(tandem.ones(2, 3), 1, tandem.tensor([[0], [2]]), 5., reduce="add")
tensor([[6., 1., 1.],
        [1., 1., 6.]])
}]>;
def : Example<ScatterAdd, [{
>>> tandem.scatter_add(tandem.zeros(3), 0, tandem.tensor([0, 1, 0]), tandem.tensor([1., 2., 3.]))
tensor([4., 2., 0.])
}]>;
def : Example<ScatterReduce, [{
>>> tandem.scatter_reduce(tandem.zeros(2), 0, tandem.tensor([0, 0, 1]), tandem.tensor([1., 5., 2.]), "amax")
tensor([5., 2.])
}]>;
def : Example<IndexAddT, [{
>>> tandem.index_add(tandem.zeros(2, 2), 0, tandem.tensor([0, 0]), tandem.tensor([[1., 2.], [3., 4.]]))
tensor([[4., 6.],
        [0., 0.]])
}]>;
def : Example<IndexCopy, [{
>>> tandem.index_copy(tandem.zeros(3, 2), 0, tandem.tensor([2, 0]), tandem.tensor([[1., 2.], [3., 4.]]))
tensor([[3., 4.],
        [0., 0.],
        [1., 2.]])
}]>;
def : Example<IndexFill, [{
>>> tandem.index_fill(tandem.tensor([[1, 2], [3, 4]]), 1, tandem.tensor([0]), 9)
tensor([[9, 2],
        [9, 4]])
}]>;
def : Example<IndexReduce, [{
>>> tandem.index_reduce(tandem.ones(2), 0, tandem.tensor([0, 0]), tandem.tensor([2., 3.]), "prod")
tensor([6., 1.])
}]>;
def : Example<IndexPutT, [{
>>> tandem.index_put(tandem.zeros(2, 2), (tandem.tensor([0, 1]), tandem.tensor([1, 0])), tandem.tensor([5., 6.]))
tensor([[0., 5.],
        [6., 0.]])
}]>;
def : Example<Put, [{
>>> tandem.put(tandem.zeros(2, 2), tandem.tensor([1, 2]), tandem.tensor([5., 6.]))
tensor([[0., 5.],
        [6., 0.]])
}]>;
def : Example<MaskedFill, [{
>>> tandem.masked_fill(tandem.tensor([1, 2, 3]), tandem.tensor([False, True, False]), 0)
tensor([1, 0, 3])
}]>;
def : Example<MaskedScatter, [{
>>> tandem.masked_scatter(tandem.zeros(3), tandem.tensor([True, False, True]), tandem.tensor([1., 2.]))
tensor([1., 0., 2.])
}]>;
def : Example<DiagonalScatter, [{
>>> tandem.diagonal_scatter(tandem.zeros(2, 2), tandem.tensor([1., 2.]))
tensor([[1., 0.],
        [0., 2.]])
}]>;
def : Example<SelectScatter, [{
>>> tandem.select_scatter(tandem.zeros(2, 2), tandem.tensor([1., 2.]), 0, 1)
tensor([[0., 0.],
        [1., 2.]])
}]>;
def : Example<SliceScatter, [{
>>> tandem.slice_scatter(tandem.zeros(4), tandem.tensor([1., 2.]), start=1, end=3)
tensor([0., 1., 2., 0.])
}]>;
def : Example<AsStridedScatter, [{
>>> tandem.as_strided_scatter(tandem.zeros(4), tandem.tensor([1., 2.]), (2,), (3,))
tensor([1., 0., 0., 2.])
}]>;
