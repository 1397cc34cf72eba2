// Examples of reductions, statistics, running results and order.
// Each is run by the tests, and prints what PyTorch prints.

def : Example<Sum, [{
>>> x = tandem.tensor([[1., 2.], [3., 4.]])
>>> tandem.sum(x)
tensor(10.)
>>> tandem.sum(x, dim=0, keepdim=True)
tensor([[4., 6.]])
}]>;
def : Example<Prod, [{
>>> tandem.prod(tandem.tensor([[1., 2.], [3., 4.]]), dim=1)
tensor([ 2., 12.])
}]>;
def : Example<Amax, [{
>>> tandem.amax(tandem.tensor([[1., 5.], [3., 4.]]), dim=1)
tensor([5., 4.])
}]>;
def : Example<Amin, [{
>>> tandem.amin(tandem.tensor([[1., 5.], [3., 4.]]), dim=(0, 1))
tensor(1.)
}]>;
def : Example<Any, [{
>>> tandem.any(tandem.tensor([[False, True], [False, False]]), dim=1)
tensor([ True, False])
}]>;
def : Example<All, [{
>>> tandem.all(tandem.tensor([[1, 2], [0, 3]]), dim=1)
tensor([ True, False])
}]>;
def : Example<Mean, [{
>>> x = tandem.tensor([[1., 2.], [3., 6.]])
>>> tandem.mean(x)
tensor(3.)
>>> tandem.mean(x, dim=1, keepdim=True)
tensor([[1.5000],
        [4.5000]])
}]>;
def : Example<Var, [{
>>> tandem.var(tandem.tensor([1., 2., 3., 4.]), correction=0)
tensor(1.2500)
}]>;
def : Example<VarUnbiased, [{
>>> tandem.var(tandem.tensor([[1., 2.], [3., 7.]]), 1, unbiased=False)
tensor([0.2500, 4.0000])
}]>;
def : Example<VarFlag, [{
>>> tandem.var(tandem.tensor([1., 2., 3., 4.]), unbiased=True)
tensor(1.6667)
}]>;
def : Example<Std, [{
>>> tandem.std(tandem.tensor([[1., 2.], [3., 7.]]), dim=1, keepdim=True)
tensor([[0.7071],
        [2.8284]])
}]>;
def : Example<StdUnbiased, [{
>>> tandem.std(tandem.tensor([[1., 2.], [3., 7.]]), 1, unbiased=False)
tensor([0.5000, 2.0000])
}]>;
def : Example<StdFlag, [{
>>> tandem.std(tandem.tensor([1., 2., 3., 4.]), unbiased=False)
tensor(1.1180)
}]>;
def : Example<VarMean, [{
>>> tandem.var_mean(tandem.tensor([1., 2., 3., 4.]))
(tensor(1.6667), tensor(2.5000))
}]>;
def : Example<VarMeanUnbiased, [{
>>> tandem.var_mean(tandem.tensor([[1., 2.], [3., 7.]]), 1, unbiased=False)
(tensor([0.2500, 4.0000]), tensor([1.5000, 5.0000]))
}]>;
def : Example<VarMeanFlag, [{
>>> tandem.var_mean(tandem.tensor([1., 2., 3., 4.]), unbiased=False)
(tensor(1.2500), tensor(2.5000))
}]>;
def : Example<StdMean, [{
>>> tandem.std_mean(tandem.tensor([1., 2., 3., 4.]), correction=0)
(tensor(1.1180), tensor(2.5000))
}]>;
def : Example<StdMeanUnbiased, [{
>>> tandem.std_mean(tandem.tensor([[1., 2.], [3., 7.]]), 1, unbiased=False)
(tensor([0.5000, 2.0000]), tensor([1.5000, 5.0000]))
}]>;
def : Example<StdMeanFlag, [{
>>> tandem.std_mean(tandem.tensor([1., 2., 3., 4.]), unbiased=False)
(tensor(1.1180), tensor(2.5000))
}]>;
def : Example<Norm, [{
>>> tandem.norm(tandem.tensor([3., 4.]))
tensor(5.)
>>> tandem.norm(tandem.tensor([[3., -4.], [1., 2.]]), p=1, dim=1)
tensor([7., 3.])
}]>;
def : Example<NormNamed, [{
>>> tandem.norm(tandem.tensor([[1., 2.], [2., 4.]]), p="fro")
tensor(5.)
}]>;
def : Example<LogSumExp, [{
>>> tandem.logsumexp(tandem.tensor([[1000., 1000.], [0., 0.]]), dim=1)
tensor([1.0007e+03, 6.9315e-01])
}]>;
def : Example<NanSum, [{
>>> tandem.nansum(tandem.tensor([1., float("nan"), 2.]))
tensor(3.)
}]>;
def : Example<NanMean, [{
>>> tandem.nanmean(tandem.tensor([1., float("nan"), 2.]))
tensor(1.5000)
}]>;
def : Example<CountNonzero, [{
>>> tandem.count_nonzero(tandem.tensor([[0, 1, 2], [0, 0, 3]]), dim=1)
tensor([2, 1])
}]>;
def : Example<MaxAll, [{
>>> tandem.max(tandem.tensor([1., 5., 3.]))
tensor(5.)
}]>;
def : Example<MaxPair, [{
>>> tandem.max(tandem.tensor([1., 5.]), tandem.tensor([3., 2.]))
tensor([3., 5.])
}]>;
def : Example<MaxDim, [{
>>> values, indices = tandem.max(tandem.tensor([[1., 5., 3.], [7., 2., 7.]]), dim=1)
>>> values, indices
(tensor([5., 7.]), tensor([1, 0]))
}]>;
def : Example<MinAll, [{
>>> tandem.min(tandem.tensor([4., 1., 3.]))
tensor(1.)
}]>;
def : Example<MinPair, [{
>>> tandem.min(tandem.tensor([1., 5.]), tandem.tensor([3., 2.]))
tensor([1., 2.])
}]>;
def : Example<MinDim, [{
>>> values, indices = tandem.min(tandem.tensor([[1., 5., 3.], [7., 2., 7.]]), dim=1)
>>> values, indices
(tensor([1., 2.]), tensor([0, 1]))
}]>;
def : Example<AMinMax, [{
>>> tandem.aminmax(tandem.tensor([3, 1, 4]))
tandem.return_types.aminmax(
min=tensor(1),
max=tensor(4))
}]>;
def : Example<ArgMax, [{
>>> x = tandem.tensor([[1., 5., 3.], [7., 2., 7.]])
>>> tandem.argmax(x)
tensor(3)
>>> tandem.argmax(x, dim=1)
tensor([1, 0])
}]>;
def : Example<ArgMin, [{
>>> tandem.argmin(tandem.tensor([[1., 5., 3.], [7., 2., 7.]]), dim=1)
tensor([0, 1])
}]>;
def : Example<Median, [{
>>> tandem.median(tandem.tensor([3., 1., 4., 2.]))
tensor(2.)
}]>;
def : Example<MedianDim, [{
>>> tandem.median(tandem.tensor([[3., 1., 2.], [6., 5., 4.]]), dim=1)
tandem.return_types.median(
values=tensor([2., 5.]),
indices=tensor([2, 1]))
}]>;
def : Example<NanMedian, [{
>>> tandem.nanmedian(tandem.tensor([3., float("nan"), 1., 2.]))
tensor(2.)
}]>;
def : Example<NanMedianDim, [{
>>> tandem.nanmedian(tandem.tensor([[3., float("nan"), 2.], [6., 5., 4.]]), dim=1)
tandem.return_types.nanmedian(
values=tensor([2., 5.]),
indices=tensor([2, 1]))
}]>;
def : Example<Mode, [{
>>> tandem.mode(tandem.tensor([[1, 2, 2], [3, 3, 1]]), dim=1)
tandem.return_types.mode(
values=tensor([2, 3]),
indices=tensor([2, 1]))
}]>;
def : Example<KthValue, [{
>>> tandem.kthvalue(tandem.tensor([4., 1., 3., 2.]), 2)
tandem.return_types.kthvalue(
values=tensor(2.),
indices=tensor(3))
}]>;
def : Example<Quantile, [{
>>> tandem.quantile(tandem.tensor([1., 2., 3., 4.]), tandem.tensor([0.25, 0.5]))
tensor([1.7500, 2.5000])
}]>;
def : Example<QuantileAt, [{
>>> tandem.quantile(tandem.tensor([[1., 2.], [3., 6.]]), 0.5, dim=1)
tensor([1.5000, 4.5000])
}]>;
def : Example<NanQuantile, [{
>>> tandem.nanquantile(tandem.tensor([1., float("nan"), 3.]), tandem.tensor([0.5]))
tensor([2.])
}]>;
def : Example<NanQuantileAt, [{
>>> tandem.nanquantile(tandem.tensor([1., float("nan"), 3.]), 0.5)
tensor(2.)
}]>;
def : Example<HistC, [{
>>> tandem.histc(tandem.tensor([1., 2., 1., 3.]), bins=4, min=0, max=4)
tensor([0., 2., 1., 1.])
}]>;
def : Example<BinCount, [{
>>> tandem.bincount(tandem.tensor([0, 1, 1, 3]))
tensor([1, 2, 0, 1])
>>> tandem.bincount(tandem.tensor([0, 1, 1]), weights=tandem.tensor([0.5, 1., 2.]))
tensor([0.5000, 3.0000])
}]>;
def : Example<Cov, [{
>>> tandem.cov(tandem.tensor([[0., 1., 2.], [2., 1., 0.]]))
tensor([[ 1., -1.],
        [-1.,  1.]])
}]>;
def : Example<CorrCoef, [{
>>> tandem.corrcoef(tandem.tensor([[0., 1., 2.], [2., 1., 0.]]))
tensor([[ 1., -1.],
        [-1.,  1.]])
}]>;
def : Example<Trapezoid, [{
>>> tandem.trapezoid(tandem.tensor([1., 5., 10.]), tandem.tensor([0., 1., 3.]))
tensor(18.)
}]>;
def : Example<TrapezoidDx, [{
>>> tandem.trapezoid(tandem.tensor([1., 5., 10.]), dx=2)
tensor(21.)
}]>;
def : Example<CumTrapezoid, [{
>>> tandem.cumulative_trapezoid(tandem.tensor([1., 5., 10.]), tandem.tensor([0., 1., 3.]))
tensor([ 3., 18.])
}]>;
def : Example<CumTrapezoidDx, [{
>>> tandem.cumulative_trapezoid(tandem.tensor([1., 5., 10.]))
tensor([ 3.0000, 10.5000])
}]>;

// ---- running results ----
def : Example<CumSumT, [{
>>> tandem.cumsum(tandem.tensor([1., 2., 3.]), dim=0)
tensor([1., 3., 6.])
>>> tandem.cumsum(tandem.tensor([[True, True], [False, True]]), dim=1)
tensor([[1, 2],
        [0, 1]])
}]>;
def : Example<CumProdT, [{
>>> tandem.cumprod(tandem.tensor([1., 2., 3., 4.]), dim=0)
tensor([ 1.,  2.,  6., 24.])
}]>;
def : Example<CumMax, [{
>>> tandem.cummax(tandem.tensor([1., 3., 2., 3.]), dim=0)
tandem.return_types.cummax(
values=tensor([1., 3., 3., 3.]),
indices=tensor([0, 1, 1, 3]))
}]>;
def : Example<CumMin, [{
>>> tandem.cummin(tandem.tensor([3., 1., 2., 1.]), dim=0)
tandem.return_types.cummin(
values=tensor([3., 1., 1., 1.]),
indices=tensor([0, 1, 1, 3]))
}]>;
def : Example<LogCumSumExp, [{
>>> tandem.logcumsumexp(tandem.tensor([0., 0., 0.]), dim=0)
tensor([0.0000, 0.6931, 1.0986])
}]>;
def : Example<Diff, [{
>>> tandem.diff(tandem.tensor([1, 3, 6, 10]))
tensor([2, 3, 4])
>>> tandem.diff(tandem.tensor([1, 3, 6, 10]), n=2)
tensor([1, 1])
}]>;

// ---- order and search ----
def : Example<Sort, [{
>>> tandem.sort(tandem.tensor([3., 1., 2.]))
tandem.return_types.sort(
values=tensor([1., 2., 3.]),
indices=tensor([1, 2, 0]))
}]>;
def : Example<ArgSort, [{
>>> tandem.argsort(tandem.tensor([3., 1., 2.]), descending=True)
tensor([0, 2, 1])
}]>;
def : Example<MSort, [{
>>> tandem.msort(tandem.tensor([[3, 1], [2, 4]]))
tensor([[2, 1],
        [3, 4]])
}]>;
def : Example<TopK, [{
>>> tandem.topk(tandem.tensor([1., 4., 2., 3.]), 2)
tandem.return_types.topk(
values=tensor([4., 3.]),
indices=tensor([1, 3]))
}]>;
def : Example<SearchSorted, [{
>>> tandem.searchsorted(tandem.tensor([1., 3., 5.]), tandem.tensor([3., 4.]))
tensor([1, 2])
>>> tandem.searchsorted(tandem.tensor([1., 3., 5.]), tandem.tensor([3., 4.]), right=True)
tensor([2, 2])
}]>;
def : Example<Bucketize, [{
>>> tandem.bucketize(tandem.tensor([0.5, 2., 9.]), tandem.tensor([1., 2., 3.]))
tensor([0, 1, 3])
}]>;
def : Example<Unique, [{
>>> tandem.unique(tandem.tensor([3, 1, 3, 2]))
tensor([1, 2, 3])
>>> tandem.unique(tandem.tensor([3, 1, 3]), return_inverse=True, return_counts=True)
(tensor([1, 3]), tensor([1, 0, 1]), tensor([1, 2]))
}]>;
def : Example<UniqueConsecutive, [{
>>> tandem.unique_consecutive(tandem.tensor([1, 1, 2, 2, 1]))
tensor([1, 2, 1])
}]>;
def : Example<ArgWhere, [{
>>> tandem.argwhere(tandem.tensor([[0, 1], [2, 0]]))
tensor([[0, 1],
        [1, 0]])
}]>;
def : Example<NonZeroStatic, [{
>>> tandem.nonzero_static(tandem.tensor([0, 5, 0, 7]), size=3)
tensor([[ 1],
        [ 3],
        [-1]])
}]>;

// ---- softmax ----
def : Example<Softmax, [{
>>> tandem.softmax(tandem.tensor([1., 2., 3.]), dim=0)
tensor([0.0900, 0.2447, 0.6652])
}]>;
def : Example<LogSoftmax, [{
>>> tandem.log_softmax(tandem.tensor([1., 2., 3.]), dim=0)
tensor([-2.4076, -1.4076, -0.4076])
}]>;
