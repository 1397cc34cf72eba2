// Examples of products, linear algebra, tensors made from nothing and random numbers.
// Each is run by the tests, and prints what PyTorch prints.

def : Example<MatMulAny, [{
>>> tandem.matmul(tandem.tensor([[1., 2.], [3., 4.]]), tandem.tensor([1., 1.]))
tensor([3., 7.])
>>> tandem.matmul(tandem.zeros(5, 2, 3), tandem.zeros(3, 4)).shape
tandem.Size([5, 2, 4])
}]>;
def : Example<LinalgMatMul, [{
>>> tandem.linalg.matmul(tandem.tensor([[1., 2.], [3., 4.]]), tandem.tensor([[0., 1.], [1., 0.]]))
tensor([[2., 1.],
        [4., 3.]])
}]>;
def : Example<MM, [{
>>> tandem.mm(tandem.tensor([[1., 2.], [3., 4.]]), tandem.tensor([[0., 1.], [1., 0.]]))
tensor([[2., 1.],
        [4., 3.]])
}]>;
def : Example<BMM, [{
>>> tandem.bmm(tandem.zeros(5, 2, 3), tandem.zeros(5, 3, 4)).shape
tandem.Size([5, 2, 4])
}]>;
def : Example<MV, [{
>>> tandem.mv(tandem.tensor([[1., 2.], [3., 4.]]), tandem.tensor([1., 1.]))
tensor([3., 7.])
}]>;
def : Example<Dot, [{
>>> tandem.dot(tandem.tensor([1., 2.]), tandem.tensor([3., 4.]))
tensor(11.)
}]>;
def : Example<VDot, [{
>>> tandem.vdot(tandem.tensor([1, 2]), tandem.tensor([3, 4]))
tensor(11)
}]>;
def : Example<Inner, [{
>>> tandem.inner(tandem.tensor([[1, 2], [3, 4]]), tandem.tensor([1, 1]))
tensor([3, 7])
}]>;
def : Example<Outer, [{
>>> tandem.outer(tandem.tensor([1, 2]), tandem.tensor([3, 4, 5]))
tensor([[ 3,  4,  5],
        [ 6,  8, 10]])
}]>;
def : Example<Kron, [{
>>> tandem.kron(tandem.tensor([[1, 2]]), tandem.tensor([[1, 0], [0, 1]]))
tensor([[1, 0, 2, 0],
        [0, 1, 0, 2]])
}]>;
def : Example<Cross, [{
>>> tandem.cross(tandem.tensor([1., 0., 0.]), tandem.tensor([0., 1., 0.]), dim=0)
tensor([0., 0., 1.])
}]>;
def : Example<LinalgCross, [{
>>> tandem.linalg.cross(tandem.tensor([1., 0., 0.]), tandem.tensor([0., 1., 0.]))
tensor([0., 0., 1.])
}]>;
def : Example<VecDot, [{
>>> tandem.linalg.vecdot(tandem.tensor([[1., 2.], [3., 4.]]), tandem.tensor([1., 1.]))
tensor([3., 7.])
}]>;
def : Example<Trace, [{
>>> tandem.trace(tandem.tensor([[1, 2], [3, 4]]))
tensor(5)
}]>;
def : Example<AddMM, [{
>>> tandem.addmm(tandem.tensor([10., 20.]), tandem.tensor([[1., 2.]]), tandem.tensor([[1., 0.], [0., 1.]]))
tensor([[11., 22.]])
}]>;
def : InPlaceExample<AddMM, [{
>>> tandem.zeros(1, 2).addmm_(tandem.tensor([[1., 2.]]), tandem.tensor([[1., 0.], [0., 1.]]))
tensor([[1., 2.]])
}]>;
def : Example<AddMV, [{
>>> tandem.addmv(tandem.tensor([10., 20.]), tandem.tensor([[1., 2.], [3., 4.]]), tandem.tensor([1., 1.]), beta=0.5)
tensor([ 8., 17.])
}]>;
def : Example<AddR, [{
>>> tandem.addr(tandem.zeros(2, 2), tandem.tensor([1., 2.]), tandem.tensor([3., 4.]))
tensor([[3., 4.],
        [6., 8.]])
}]>;
def : Example<BAddBMM, [{
>>> tandem.baddbmm(tandem.zeros(2, 4), tandem.zeros(5, 2, 3), tandem.zeros(5, 3, 4)).shape
tandem.Size([5, 2, 4])
}]>;
def : InPlaceExample<BAddBMM, [{
>>> tandem.zeros(1, 1, 2).baddbmm_(tandem.ones(1, 1, 3), tandem.ones(1, 3, 2))
tensor([[[3., 3.]]])
}]>;
def : Example<AddBMM, [{
>>> tandem.addbmm(tandem.zeros(2, 2), tandem.ones(5, 2, 3), tandem.ones(5, 3, 2))
tensor([[15., 15.],
        [15., 15.]])
}]>;
def : Example<Einsum, [{
>>> tandem.einsum("ij,jk->ik", tandem.tensor([[1., 2.], [3., 4.]]), tandem.tensor([[1.], [1.]]))
tensor([[3.],
        [7.]])
>>> tandem.einsum("bii->b", tandem.ones(2, 3, 3))
tensor([3., 3.])
}]>;
def : Example<TensorDot, [{
>>> tandem.tensordot(tandem.arange(6.).reshape(2, 3), tandem.ones(3, 2), dims=1)
tensor([[ 3.,  3.],
        [12., 12.]])
}]>;
def : Example<MultiDot, [{
>>> tandem.linalg.multi_dot([tandem.ones(2, 10), tandem.ones(10, 3), tandem.ones(3, 1)])
tensor([[30.],
        [30.]])
}]>;
def : Example<ChainMatMul, [{
>>> tandem.chain_matmul(tandem.ones(2, 10), tandem.ones(10, 3), tandem.ones(3, 1))
tensor([[30.],
        [30.]])
}]>;
def : Example<MatrixPower, [{
>>> tandem.matrix_power(tandem.tensor([[1., 1.], [0., 1.]]), 3)
tensor([[1., 3.],
        [0., 1.]])
}]>;
def : Example<Dist, [{
>>> tandem.dist(tandem.tensor([1., 2.]), tandem.tensor([4., 6.]))
tensor(5.)
}]>;
def : Example<CDist, [{
>>> tandem.cdist(tandem.tensor([[0., 0.], [3., 4.]]), tandem.tensor([[0., 0.]]))
tensor([[0.],
        [5.]])
}]>;
def : Example<VectorNorm, [{
>>> tandem.linalg.vector_norm(tandem.tensor([[3., 4.], [6., 8.]]), dim=1)
tensor([ 5., 10.])
}]>;
def : Example<MatrixNorm, [{
>>> tandem.linalg.matrix_norm(tandem.tensor([[1., 2.], [2., 4.]]))
tensor(5.)
}]>;
def : Example<MatrixNormOf, [{
>>> tandem.linalg.matrix_norm(tandem.tensor([[1., -2.], [3., 4.]]), 1)
tensor(6.)
}]>;
def : Example<LinalgNorm, [{
>>> tandem.linalg.norm(tandem.tensor([3., 4.]))
tensor(5.)
}]>;
def : Example<LinalgNormNamed, [{
>>> tandem.linalg.norm(tandem.tensor([[1., 2.], [2., 4.]]), "fro")
tensor(5.)
}]>;
def : Example<Cholesky, [{
>>> tandem.linalg.cholesky(tandem.tensor([[4., 2.], [2., 5.]]))
tensor([[2., 0.],
        [1., 2.]])
}]>;
def : Example<CholeskyOld, [{
>>> tandem.cholesky(tandem.tensor([[4., 2.], [2., 5.]]), upper=True)
tensor([[2., 1.],
        [0., 2.]])
}]>;
def : Example<SolveTriangular, [{
>>> tandem.linalg.solve_triangular(tandem.tensor([[2., 0.], [1., 4.]]), tandem.tensor([[2.], [9.]]), upper=False)
tensor([[1.],
        [2.]])
}]>;

// ---- made from nothing ----
def : Example<Zeros, [{
>>> tandem.zeros(2, 3)
tensor([[0., 0., 0.],
        [0., 0., 0.]])
}]>;
def : Example<ZerosLike, [{
>>> tandem.zeros_like(tandem.tensor([1, 2]))
tensor([0, 0])
}]>;
def : Example<Ones, [{
>>> tandem.ones((2, 2), dtype=tandem.int64)
tensor([[1, 1],
        [1, 1]])
}]>;
def : Example<OnesLike, [{
>>> tandem.ones_like(tandem.tensor([1., 2.]))
tensor([1., 1.])
}]>;
def : Example<Empty, [{
>>> tandem.empty(2, 3).shape
tandem.Size([2, 3])
}]>;
def : Example<EmptyLike, [{
>>> tandem.empty_like(tandem.zeros(2, 3)).shape
tandem.Size([2, 3])
}]>;
def : Example<FullT, [{
>>> tandem.full((2, 2), 7)
tensor([[7, 7],
        [7, 7]])
}]>;
def : Example<FullLike, [{
>>> tandem.full_like(tandem.zeros(2), 3)
tensor([3., 3.])
}]>;
def : Example<ArangeEnd, [{
>>> tandem.arange(4)
tensor([0, 1, 2, 3])
}]>;
def : Example<Arange, [{
>>> tandem.arange(1, 2, 0.25)
tensor([1.0000, 1.2500, 1.5000, 1.7500])
}]>;
def : Example<Linspace, [{
>>> tandem.linspace(0, 1, steps=5)
tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
}]>;
def : Example<Logspace, [{
>>> tandem.logspace(0, 2, steps=3)
tensor([  1.,  10., 100.])
}]>;
def : Example<Eye, [{
>>> tandem.eye(2, 3)
tensor([[1., 0., 0.],
        [0., 1., 0.]])
}]>;

// ---- random numbers ----
def : Example<Rand, [{
>>> tandem.rand(2, 3).shape
tandem.Size([2, 3])
}]>;
def : Example<Randn, [{
>>> tandem.randn(2, 3).shape
tandem.Size([2, 3])
}]>;
def : Example<RandInt, [{
>>> x = tandem.randint(3, 5, (100,))
>>> x.min(), x.max()
(tensor(3), tensor(4))
}]>;
def : Example<RandIntHigh, [{
>>> tandem.randint(10, (2, 3)).dtype
tandem.int64
}]>;
def : Example<RandPermT, [{
>>> tandem.randperm(4).sort().values
tensor([0, 1, 2, 3])
}]>;
def : Example<RandLike, [{
>>> tandem.rand_like(tandem.zeros(2, 3)).shape
tandem.Size([2, 3])
}]>;
def : Example<RandnLike, [{
>>> tandem.randn_like(tandem.zeros(2, 3, dtype=tandem.float64)).dtype
tandem.float64
}]>;
def : Example<RandIntLike, [{
>>> tandem.randint_like(tandem.zeros(2, 3), 3, 5).shape
tandem.Size([2, 3])
}]>;
def : Example<RandIntLikeHigh, [{
>>> tandem.randint_like(tandem.zeros(2, dtype=tandem.int64), 10).dtype
tandem.int64
}]>;
def : Example<Bernoulli, [{
>>> tandem.bernoulli(tandem.tensor([0., 1., 1.]))
tensor([0., 1., 1.])
}]>;
def : Example<BernoulliProb, [{
>>> tandem.bernoulli(tandem.zeros(3), 1.)
tensor([1., 1., 1.])
}]>;
def : Example<NormalAt, [{
>>> tandem.normal(tandem.tensor([1., 100.]), 0.).shape
tandem.Size([2])
}]>;
def : Example<NormalAround, [{
>>> tandem.normal(2., tandem.tensor([0., 0.]))
tensor([2., 2.])
}]>;
def : Example<NormalOfSize, [{
>>> tandem.normal(0., 1., (2, 3)).shape
tandem.Size([2, 3])
}]>;
def : Example<Multinomial, [{
>>> tandem.multinomial(tandem.tensor([0., 1., 0.]), 2, replacement=True)
tensor([1, 1])
}]>;
def : Example<StandardGamma, [{
>>> tandem._standard_gamma(tandem.ones(2, 3)).shape
tandem.Size([2, 3])
}]>;
def : Example<PoissonRandom, [{
>>> tandem.poisson(tandem.tensor([0., 4.])).shape
tandem.Size([2])
}]>;
def : Example<BinomialRandom, [{
>>> tandem.binomial(tandem.tensor([10., 10.]), tandem.tensor([0., 1.]))
tensor([ 0., 10.])
}]>;
def : Example<Dropout, [{
>>> F.dropout(tandem.ones(4), p=0.5, training=False)
tensor([1., 1., 1., 1.])
}]>;
