// Examples of linear algebra, of pools and of what scripts use now and then.

def : Example<Det, [{
>>> tandem.det(tandem.tensor([[4., 2.], [2., 2.]]))
tensor(4.)
}]>;
def : Example<Slogdet, [{
>>> tandem.slogdet(tandem.tensor([[1., 2.], [3., 4.]]))
tandem.return_types.slogdet(
sign=tensor(-1.),
logabsdet=tensor(0.6931))
}]>;
def : Example<LogDet, [{
>>> tandem.logdet(tandem.tensor([[2., 0.], [0., 4.]]))
tensor(2.0794)
}]>;
def : Example<Inv, [{
>>> tandem.linalg.inv(tandem.tensor([[2., 0.], [0., 4.]]))
tensor([[0.5000, 0.0000],
        [0.0000, 0.2500]])
}]>;
def : Example<Inverse, [{
>>> tandem.inverse(tandem.tensor([[2., 0.], [0., 4.]]))
tensor([[0.5000, 0.0000],
        [0.0000, 0.2500]])
}]>;
def : Example<InvEx, [{
>>> tandem.linalg.inv_ex(tandem.tensor([[2., 0.], [0., 4.]]))
tandem.return_types.linalg_inv_ex(
inverse=tensor([[0.5000, 0.0000],
        [0.0000, 0.2500]]),
info=tensor(0, dtype=tandem.int32))
}]>;
def : Example<PInv, [{
>>> tandem.linalg.pinv(tandem.tensor([[2., 0.], [0., 0.]]))
tensor([[0.5000, 0.0000],
        [0.0000, 0.0000]])
}]>;
def : Example<PInvRcond, [{
>>> tandem.pinverse(tandem.tensor([[2., 0.], [0., 0.]]))
tensor([[0.5000, 0.0000],
        [0.0000, 0.0000]])
}]>;
def : Example<PInvLinalgRcond, [{
>>> tandem.linalg.pinv(tandem.tensor([[2., 0.], [0., 0.1]]), 0.1)
tensor([[0.5000, 0.0000],
        [0.0000, 0.0000]])
}]>;
def : Example<Solve, [{
>>> tandem.linalg.solve(tandem.tensor([[2., 0.], [0., 4.]]), tandem.tensor([2., 2.]))
tensor([1.0000, 0.5000])
}]>;
def : Example<SolveEx, [{
>>> tandem.linalg.solve_ex(tandem.tensor([[2., 0.], [0., 4.]]), tandem.tensor([2., 2.])).info
tensor(0, dtype=tandem.int32)
}]>;
def : Example<LstSq, [{
>>> tandem.linalg.lstsq(tandem.tensor([[2., 0.], [0., 4.], [0., 0.]]), tandem.tensor([[2.], [2.], [3.]])).solution
tensor([[1.0000],
        [0.5000]])
}]>;
def : Example<CholeskySolve, [{
>>> tandem.cholesky_solve(tandem.tensor([[4.], [8.]]), tandem.tensor([[2., 0.], [0., 4.]]))
tensor([[1.0000],
        [0.5000]])
}]>;
def : Example<CholeskyInverse, [{
>>> tandem.cholesky_inverse(tandem.tensor([[1., 0.], [1., 1.]]))
tensor([[ 2., -1.],
        [-1.,  1.]])
}]>;
def : Example<CholeskyEx, [{
>>> L, info = tandem.linalg.cholesky_ex(tandem.tensor([[4., 2.], [2., 5.]]))
>>> L, info
(tensor([[2., 0.],
        [1., 2.]]), tensor(0, dtype=tandem.int32))
}]>;
def : Example<TensorInv, [{
>>> tandem.linalg.tensorinv(2 * tandem.eye(6).reshape(2, 3, 6), ind=2).shape
tandem.Size([6, 2, 3])
}]>;
def : Example<TensorSolve, [{
>>> tandem.linalg.tensorsolve(2 * tandem.eye(6).reshape(2, 3, 6), tandem.ones(2, 3))
tensor([0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000])
}]>;
def : Example<LU, [{
>>> tandem.linalg.lu(tandem.tensor([[1., 2.], [2., 6.]]))
tandem.return_types.linalg_lu(
P=tensor([[0., 1.],
        [1., 0.]]),
L=tensor([[1.0000, 0.0000],
        [0.5000, 1.0000]]),
U=tensor([[ 2.,  6.],
        [ 0., -1.]]))
}]>;
def : Example<LUFactor, [{
>>> tandem.linalg.lu_factor(tandem.tensor([[1., 2.], [2., 6.]]))
tandem.return_types.linalg_lu_factor(
LU=tensor([[ 2.0000,  6.0000],
        [ 0.5000, -1.0000]]),
pivots=tensor([2, 2], dtype=tandem.int32))
}]>;
def : Example<LUSolve, [{
>>> A = tandem.tensor([[1., 2.], [2., 6.]])
>>> tandem.linalg.lu_solve(*tandem.linalg.lu_factor(A), tandem.tensor([[3.], [8.]]))
tensor([[1.],
        [1.]])
}]>;
def : Example<QR, [{
>>> Q, R = tandem.linalg.qr(tandem.tensor([[1., 2.], [0., 3.], [0., 4.]]))
>>> Q.shape, (Q @ R).round()
(tandem.Size([3, 2]), tensor([[1., 2.],
        [0., 3.],
        [0., 4.]]))
}]>;
def : Example<QROld, [{
>>> Q, R = tandem.qr(tandem.tensor([[1., 2.], [0., 3.], [0., 4.]]))
>>> Q.shape, R.shape
(tandem.Size([3, 2]), tandem.Size([2, 2]))
}]>;
def : Example<Geqrf, [{
>>> tandem.geqrf(tandem.tensor([[1., 2.], [0., 3.]]))
tandem.return_types.geqrf(
a=tensor([[1., 2.],
        [0., 3.]]),
tau=tensor([0., 0.]))
}]>;
def : Example<SVD, [{
>>> U, S, Vh = tandem.linalg.svd(tandem.tensor([[3., 0.], [0., 4.], [0., 0.]]))
>>> U.shape, S, Vh.shape
(tandem.Size([3, 3]), tensor([4., 3.]), tandem.Size([2, 2]))
}]>;
def : Example<SVDOld, [{
>>> U, S, V = tandem.svd(tandem.tensor([[3., 0.], [0., 4.], [0., 0.]]))
>>> U.shape, S, V.shape
(tandem.Size([3, 2]), tensor([4., 3.]), tandem.Size([2, 2]))
}]>;
def : Example<SVDVals, [{
>>> tandem.linalg.svdvals(tandem.tensor([[3., 0.], [0., 4.]]))
tensor([4., 3.])
}]>;
def : Example<Eigh, [{
>>> tandem.linalg.eigh(tandem.tensor([[2., 0.], [0., 1.]])).eigenvalues
tensor([1., 2.])
}]>;
def : Example<EigValsh, [{
>>> tandem.linalg.eigvalsh(tandem.tensor([[3., 0.], [0., 1.]]))
tensor([1., 3.])
}]>;
def : Example<MatrixExp, [{
>>> tandem.matrix_exp(tandem.tensor([[0., 1.], [0., 0.]]))
tensor([[1., 1.],
        [0., 1.]])
}]>;
def : Example<HouseholderProduct, [{
>>> tandem.linalg.householder_product(tandem.tensor([[1., 2.], [1., 3.]]), tandem.tensor([1., 2.]))
tensor([[ 0.,  1.],
        [-1.,  0.]])
}]>;
def : Example<OrgQr, [{
>>> tandem.orgqr(tandem.tensor([[1., 2.], [1., 3.]]), tandem.tensor([1., 2.]))
tensor([[ 0.,  1.],
        [-1.,  0.]])
}]>;
def : Example<MatrixRank, [{
>>> tandem.linalg.matrix_rank(tandem.tensor([[1., 2.], [2., 4.]]))
tensor(1)
}]>;
def : Example<MatrixRankTol, [{
>>> tandem.linalg.matrix_rank(tandem.tensor([[1., 0.], [0., 0.1]]), 0.5)
tensor(1)
}]>;
def : Example<Cond, [{
>>> tandem.linalg.cond(tandem.tensor([[4., 0.], [0., 2.]]))
tensor(2.)
}]>;
def : Example<CondNamed, [{
>>> tandem.linalg.cond(tandem.tensor([[3., 0.], [0., 4.]]), 'nuc')
tensor(4.0833)
}]>;
def : Example<NuclearNorm, [{
>>> tandem.nuclear_norm(tandem.tensor([[3., 0.], [0., 4.]]))
tensor(7.)
}]>;
def : Example<NuclearNormDims, [{
>>> tandem.nuclear_norm(tandem.eye(2).expand(3, 2, 2), (1, 2))
tensor([2., 2., 2.])
}]>;
def : Example<LpPool1d, [{
>>> F.lp_pool1d(tandem.tensor([[3., 4., 0., 1.]]), 2, 2)
tensor([[5., 1.]])
}]>;
def : Example<LpPool2d, [{
>>> F.lp_pool2d(tandem.ones(1, 2, 4), 2, 2)
tensor([[[2., 2.]]])
}]>;
def : Example<LpPool3d, [{
>>> F.lp_pool3d(tandem.ones(1, 2, 2, 2), 1, 2)
tensor([[[[8.]]]])
}]>;
def : Example<FractionalMaxPool, [{
>>> F.fractional_max_pool(tandem.arange(9.).reshape(1, 3, 3), (2, 2), (2, 2), tandem.zeros(1, 1, 2))
tandem.return_types.fractional_max_pool(
values=tensor([[[4., 5.],
         [7., 8.]]]),
indices=tensor([[[4, 5],
         [7, 8]]]))
}]>;
def : Example<Renorm, [{
>>> tandem.renorm(tandem.tensor([[3., 4.], [0.5, 0.]]), p=2, dim=0, maxnorm=2.5)
tensor([[1.5000, 2.0000],
        [0.5000, 0.0000]])
}]>;
def : Example<PDist, [{
>>> tandem.pdist(tandem.tensor([[0., 0.], [3., 4.], [0., 1.]]))
tensor([5.0000, 1.0000, 4.2426])
}]>;
def : Example<FillDiagonal, [{
>>> tandem.zeros(2, 3).fill_diagonal_(5.)
tensor([[5., 0., 0.],
        [0., 5., 0.]])
}]>;
def : Example<FrobeniusNorm, [{
>>> tandem.frobenius_norm(tandem.tensor([[3., 0.], [0., 4.]]), (0, 1))
tensor(5.)
}]>;
def : Example<Range, [{
>>> tandem.range(1, 3)
tensor([1., 2., 3.])
}]>;
def : Example<PolygammaMethod, [{
>>> tandem.tensor([1., 2.]).polygamma(1)
tensor([1.6449, 0.6449])
}]>;
def : Example<HannWindow, [{
>>> tandem.hann_window(4)
tensor([0.0000, 0.5000, 1.0000, 0.5000])
}]>;
def : Example<HammingWindow, [{
>>> tandem.hamming_window(4, periodic=False)
tensor([0.0800, 0.7700, 0.7700, 0.0800])
}]>;
def : Example<BlackmanWindow, [{
>>> tandem.blackman_window(4)[1:]
tensor([0.3400, 1.0000, 0.3400])
}]>;
def : Example<BartlettWindow, [{
>>> tandem.bartlett_window(4)
tensor([0.0000, 0.5000, 1.0000, 0.5000])
}]>;
def : InPlaceExample<FillDiagonal, [{
>>> tandem.zeros(2, 3).fill_diagonal_(5.)
tensor([[5., 0., 0.],
        [0., 5., 0.]])
}]>;
def : InPlaceExample<PolygammaMethod, [{
>>> tandem.tensor([1., 2.]).polygamma_(1)
tensor([1.6449, 0.6449])
}]>;
def : InPlaceExample<SqueezeAll, [{
>>> tandem.zeros(1, 3, 1).squeeze_().shape
tandem.Size([3])
}]>;
def : InPlaceExample<Transpose, [{
>>> tandem.zeros(2, 3, 4).transpose_(0, 2).shape
tandem.Size([4, 3, 2])
}]>;
def : InPlaceExample<IGamma, [{
>>> tandem.tensor([4., 4.]).igamma_(tandem.tensor([3., 5.]))
tensor([0.3528, 0.7350])
}]>;
def : InPlaceExample<IGammaC, [{
>>> tandem.tensor([4., 4.]).igammac_(tandem.tensor([3., 5.]))
tensor([0.6472, 0.2650])
}]>;
