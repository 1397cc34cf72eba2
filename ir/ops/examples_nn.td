// Examples of activations, losses, norms and layers.
// Each is run by the tests, and prints what PyTorch prints.

def : Example<Relu, [{
>>> F.relu(tandem.tensor([-1., 0., 2.]))
tensor([0., 0., 2.])
}]>;
def : Example<ReluInPlace, [{
>>> x = tandem.tensor([-1., 2.])
>>> F.relu(x, inplace=True) is x
True
}]>;
def : Example<Silu, [{
>>> F.silu(tandem.tensor([-1., 0., 2.]))
tensor([-0.2689,  0.0000,  1.7616])
}]>;
def : Example<SiluInPlace, [{
>>> F.silu(tandem.tensor([1.]), inplace=True)
tensor([0.7311])
}]>;
def : Example<Softplus, [{
>>> F.softplus_unit(tandem.tensor([0., 100.]))
tensor([  0.6931, 100.0000])
}]>;
def : Example<LeakyRelu, [{
>>> F.leaky_relu(tandem.tensor([-1., 2.]), negative_slope=0.1)
tensor([-0.1000,  2.0000])
}]>;
def : Example<Elu, [{
>>> F.elu(tandem.tensor([-1., 2.]))
tensor([-0.6321,  2.0000])
}]>;
def : Example<Selu, [{
>>> F.selu(tandem.tensor([-1., 2.]))
tensor([-1.1113,  2.1014])
}]>;
def : Example<Celu, [{
>>> F.celu(tandem.tensor([-1., 2.]), alpha=2.)
tensor([-0.7869,  2.0000])
}]>;
def : Example<Mish, [{
>>> F.mish(tandem.tensor([-1., 2.]))
tensor([-0.3034,  1.9440])
}]>;
def : Example<SoftplusBeta, [{
>>> F.softplus(tandem.tensor([0., 100.]))
tensor([  0.6931, 100.0000])
}]>;
def : Example<LogSigmoid, [{
>>> F.logsigmoid(tandem.tensor([0., -100.]))
tensor([  -0.6931, -100.0000])
}]>;
def : Example<Hardtanh, [{
>>> F.hardtanh(tandem.tensor([-3., 0.5, 3.]))
tensor([-1.0000,  0.5000,  1.0000])
}]>;
def : Example<Relu6, [{
>>> F.relu6(tandem.tensor([-1., 3., 8.]))
tensor([0., 3., 6.])
}]>;
def : Example<Hardsigmoid, [{
>>> F.hardsigmoid(tandem.tensor([-4., 0., 4.]))
tensor([0.0000, 0.5000, 1.0000])
}]>;
def : Example<Hardswish, [{
>>> F.hardswish(tandem.tensor([-4., 1., 4.]))
tensor([-0.0000, 0.6667, 4.0000])
}]>;
def : Example<Softsign, [{
>>> F.softsign(tandem.tensor([-1., 3.]))
tensor([-0.5000,  0.7500])
}]>;
def : Example<Tanhshrink, [{
>>> F.tanhshrink(tandem.tensor([0., 1.]))
tensor([0.0000, 0.2384])
}]>;
def : Example<Softshrink, [{
>>> F.softshrink(tandem.tensor([-1., 0.2, 1.]))
tensor([-0.5000,  0.0000,  0.5000])
}]>;
def : Example<Hardshrink, [{
>>> F.hardshrink(tandem.tensor([-1., 0.2, 1.]))
tensor([-1.,  0.,  1.])
}]>;
def : Example<Threshold, [{
>>> F.threshold(tandem.tensor([-1., 0.2, 1.]), 0.5, 9.)
tensor([9., 9., 1.])
}]>;
def : Example<Glu, [{
>>> F.glu(tandem.tensor([1., 2., 0., 0.]))
tensor([0.5000, 1.0000])
}]>;
def : Example<Prelu, [{
>>> F.prelu(tandem.tensor([-1., 2.]), tandem.tensor(0.25))
tensor([-0.2500,  2.0000])
}]>;
def : Example<Rrelu, [{
>>> F.rrelu(tandem.tensor([-48., 2.]))
tensor([-11.,   2.])
}]>;
def : Example<Gelu, [{
>>> F.gelu(tandem.tensor([-1., 2.]))
tensor([-0.1587,  1.9545])
>>> F.gelu(tandem.tensor([-1., 2.]), approximate="tanh")
tensor([-0.1588,  1.9546])
}]>;
def : Example<Linear, [{
>>> F.linear(tandem.tensor([[1., 2.]]), tandem.tensor([[1., 0.], [0., 1.], [1., 1.]]), tandem.tensor([0., 0., 10.]))
tensor([[ 1.,  2., 13.]])
}]>;
def : Example<LayerNorm, [{
>>> F.layer_norm(tandem.tensor([[1., 3.], [10., 30.]]), (2,))
tensor([[-1.0000,  1.0000],
        [-1.0000,  1.0000]])
}]>;
def : Example<OneHot, [{
>>> F.one_hot(tandem.tensor([0, 2]), num_classes=3)
tensor([[1, 0, 0],
        [0, 0, 1]])
}]>;
def : Example<Normalize, [{
>>> F.normalize(tandem.tensor([[3., 4.]]))
tensor([[0.6000, 0.8000]])
}]>;
def : Example<CosineSimilarity, [{
>>> F.cosine_similarity(tandem.tensor([[1., 0.]]), tandem.tensor([[1., 1.]]))
tensor([0.7071])
}]>;
def : Example<PairwiseDistance, [{
>>> F.pairwise_distance(tandem.tensor([[0., 0.]]), tandem.tensor([[3., 4.]]))
tensor([5.0000])
}]>;

// ---- losses ----
def : Example<MseLoss, [{
>>> F.mse_loss(tandem.tensor([1., 2.]), tandem.tensor([1., 4.]))
tensor(2.)
>>> F.mse_loss(tandem.tensor([1., 2.]), tandem.tensor([1., 4.]), reduction="none")
tensor([0., 4.])
}]>;
def : Example<L1Loss, [{
>>> F.l1_loss(tandem.tensor([1., 2.]), tandem.tensor([1., 4.]))
tensor(1.)
}]>;
def : Example<SmoothL1Loss, [{
>>> F.smooth_l1_loss(tandem.tensor([1., 2.]), tandem.tensor([1.5, 4.]), reduction="none")
tensor([0.1250, 1.5000])
}]>;
def : Example<HuberLoss, [{
>>> F.huber_loss(tandem.tensor([1., 2.]), tandem.tensor([1.5, 5.]), reduction="none", delta=2.)
tensor([0.1250, 4.0000])
}]>;
def : Example<BinaryCrossEntropy, [{
>>> F.binary_cross_entropy(tandem.tensor([0.9, 0.2]), tandem.tensor([1., 0.]))
tensor(0.1643)
}]>;
def : Example<BinaryCrossEntropyLogits, [{
>>> F.binary_cross_entropy_with_logits(tandem.tensor([2., -1.]), tandem.tensor([1., 0.]))
tensor(0.2201)
}]>;
def : Example<KlDiv, [{
>>> F.kl_div(tandem.tensor([[0.5, 0.5]]).log(), tandem.tensor([[0.9, 0.1]]), reduction="batchmean")
tensor(0.3681)
}]>;
def : Example<PoissonNllLoss, [{
>>> F.poisson_nll_loss(tandem.tensor([0., 1.]), tandem.tensor([1., 3.]))
tensor(0.3591)
}]>;
def : Example<GaussianNllLoss, [{
>>> F.gaussian_nll_loss(tandem.tensor([0., 1.]), tandem.tensor([1., 1.]), tandem.tensor([1., 4.]))
tensor(0.5966)
}]>;
def : Example<HingeEmbeddingLoss, [{
>>> F.hinge_embedding_loss(tandem.tensor([0.3, 0.4]), tandem.tensor([1., -1.]), reduction="none")
tensor([0.3000, 0.6000])
}]>;
def : Example<MarginRankingLoss, [{
>>> F.margin_ranking_loss(tandem.tensor([1., 2.]), tandem.tensor([2., 1.]), tandem.tensor([1., 1.]), reduction="none")
tensor([1., 0.])
}]>;
def : Example<SoftMarginLoss, [{
>>> F.soft_margin_loss(tandem.tensor([2., -1.]), tandem.tensor([1., -1.]))
tensor(0.2201)
}]>;
def : Example<CosineEmbeddingLoss, [{
>>> F.cosine_embedding_loss(tandem.tensor([[1., 0.]]), tandem.tensor([[0., 1.]]), tandem.tensor([1.]))
tensor(1.)
}]>;
def : Example<TripletMarginLoss, [{
>>> F.triplet_margin_loss(tandem.tensor([[0., 0.]]), tandem.tensor([[3., 4.]]), tandem.tensor([[0., 2.]]))
tensor(4.0000)
}]>;
def : Example<MultilabelMarginLoss, [{
>>> F.multilabel_margin_loss(tandem.tensor([[0.1, 0.2, 0.4, 0.8]]), tandem.tensor([[3, 0, -1, 1]]))
tensor(0.8500)
}]>;
def : Example<MultilabelSoftMarginLoss, [{
>>> F.multilabel_soft_margin_loss(tandem.tensor([[2., -1.]]), tandem.tensor([[1., 0.]]))
tensor(0.2201)
}]>;
def : Example<MultiMarginLoss, [{
>>> F.multi_margin_loss(tandem.tensor([[0.1, 0.2, 0.4, 0.8]]), tandem.tensor([3]))
tensor(0.3250)
}]>;
def : Example<NllLoss, [{
>>> F.nll_loss(tandem.tensor([[0.9, 0.1], [0.4, 0.6]]).log(), tandem.tensor([0, 1]), reduction="none")
tensor([0.1054, 0.5108])
}]>;
def : Example<CrossEntropy, [{
>>> F.cross_entropy(tandem.tensor([[2., 0.], [0., 1.]]), tandem.tensor([0, 1]))
tensor(0.2201)
>>> F.cross_entropy(tandem.tensor([[2., 0.]]), tandem.tensor([[0.5, 0.5]]))
tensor(1.1269)
}]>;
def : Example<CtcLoss, [{
>>> scores = tandem.full((3, 1, 2), 0.5).log()
>>> F.ctc_loss(scores, tandem.tensor([[1]]), tandem.tensor([3]), tandem.tensor([1]), reduction="sum")
tensor(0.2877)
}]>;
def : Example<CtcLossLists, [{
>>> scores = tandem.full((3, 1, 2), 0.5).log()
>>> F.ctc_loss(scores, tandem.tensor([[1]]), (3,), (1,), reduction="sum")
tensor(0.2877)
}]>;

// ---- norms, lookup, attention ----
def : Example<BatchNorm, [{
>>> F.batch_norm(tandem.tensor([[1., 10.], [3., 30.]]), None, None, training=True)
tensor([[-1.0000, -1.0000],
        [ 1.0000,  1.0000]])
}]>;
def : Example<InstanceNorm, [{
>>> F.instance_norm(tandem.tensor([[[1., 3.], [10., 30.]]]))
tensor([[[-1.0000,  1.0000],
         [-1.0000,  1.0000]]])
}]>;
def : Example<GroupNorm, [{
>>> F.group_norm(tandem.tensor([[1., 3., 10., 30.]]), 2)
tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
}]>;
def : Example<RmsNorm, [{
>>> F.rms_norm(tandem.tensor([[3., 4.]]), (2,))
tensor([[0.8485, 1.1314]])
}]>;
def : Example<LocalResponseNorm, [{
>>> F.local_response_norm(tandem.ones(1, 3, 2), 2, alpha=1.)
tensor([[[0.7378, 0.7378],
         [0.5946, 0.5946],
         [0.5946, 0.5946]]])
}]>;
def : Example<Embedding, [{
>>> F.embedding(tandem.tensor([2, 0]), tandem.tensor([[0., 1.], [2., 3.], [4., 5.]]))
tensor([[4., 5.],
        [0., 1.]])
}]>;
def : Example<EmbeddingBag, [{
>>> F.embedding_bag(tandem.tensor([[0, 2], [1, 1]]), tandem.tensor([[0., 1.], [2., 3.], [4., 5.]]), mode="sum")
tensor([[4., 6.],
        [4., 6.]])
}]>;
def : Example<Sdpa, [{
>>> query, key, value = tandem.ones(1, 2, 4), tandem.ones(1, 3, 4), tandem.arange(6.).reshape(1, 3, 2)
>>> F.scaled_dot_product_attention(query, key, value)
tensor([[[2., 3.],
         [2., 3.]]])
}]>;

// ---- recurrent networks ----
def : Example<Lstm, [{
>>> state = (tandem.zeros(1, 3, 5), tandem.zeros(1, 3, 5))
>>> weights = [tandem.zeros(20, 4), tandem.zeros(20, 5), tandem.zeros(20), tandem.zeros(20)]
>>> output, h, c = tandem.lstm(tandem.ones(7, 3, 4), state, weights, True, 1, 0., False, False, False)
>>> output.shape, h.shape, c.shape
(tandem.Size([7, 3, 5]), tandem.Size([1, 3, 5]), tandem.Size([1, 3, 5]))
}]>;
def : Example<LstmPacked, [{
>>> state = (tandem.zeros(1, 3, 5), tandem.zeros(1, 3, 5))
>>> weights = [tandem.zeros(20, 4), tandem.zeros(20, 5), tandem.zeros(20), tandem.zeros(20)]
>>> data, batch_sizes = tandem.ones(6, 4), (3, 2, 1)
>>> output, h, c = tandem.lstm(data, batch_sizes, state, weights, True, 1, 0., False, False)
>>> output.shape, h.shape
(tandem.Size([6, 5]), tandem.Size([1, 3, 5]))
}]>;
def : Example<Gru, [{
>>> weights = [tandem.zeros(15, 4), tandem.zeros(15, 5), tandem.zeros(15), tandem.zeros(15)]
>>> x, h = tandem.ones(7, 3, 4), tandem.zeros(1, 3, 5)
>>> output, h = tandem.gru(x, h, weights, True, 1, 0., False, False, False)
>>> output.shape, h.shape
(tandem.Size([7, 3, 5]), tandem.Size([1, 3, 5]))
}]>;
def : Example<GruPacked, [{
>>> weights = [tandem.zeros(15, 4), tandem.zeros(15, 5), tandem.zeros(15), tandem.zeros(15)]
>>> data, batch_sizes = tandem.ones(6, 4), (3, 2, 1)
>>> output, h = tandem.gru(data, batch_sizes, tandem.zeros(1, 3, 5), weights, True, 1, 0., False, False)
>>> output.shape, h.shape
(tandem.Size([6, 5]), tandem.Size([1, 3, 5]))
}]>;
def : Example<RnnTanh, [{
>>> weights = [tandem.ones(1, 1), tandem.ones(1, 1)]
>>> x, h = tandem.ones(2, 1, 1), tandem.zeros(1, 1, 1)
>>> output, h = tandem.rnn_tanh(x, h, weights, False, 1, 0., False, False, False)
>>> output.flatten(), h.flatten()
(tensor([0.7616, 0.9427]), tensor([0.9427]))
}]>;
def : Example<RnnTanhPacked, [{
>>> data, batch_sizes = tandem.ones(2, 1), (1, 1)
>>> weights = [tandem.ones(1, 1), tandem.ones(1, 1)]
>>> tandem.rnn_tanh(data, batch_sizes, tandem.zeros(1, 1, 1), weights, False, 1, 0., False, False)[0]
tensor([[0.7616],
        [0.9427]])
}]>;
def : Example<RnnRelu, [{
>>> weights = [tandem.ones(1, 1), tandem.ones(1, 1)]
>>> x, h = tandem.ones(2, 1, 1), tandem.zeros(1, 1, 1)
>>> output, h = tandem.rnn_relu(x, h, weights, False, 1, 0., False, False, False)
>>> output.flatten(), h.flatten()
(tensor([1., 2.]), tensor([2.]))
}]>;
def : Example<RnnReluPacked, [{
>>> data, batch_sizes = tandem.ones(2, 1), (1, 1)
>>> weights = [tandem.ones(1, 1), tandem.ones(1, 1)]
>>> tandem.rnn_relu(data, batch_sizes, tandem.zeros(1, 1, 1), weights, False, 1, 0., False, False)[0]
tensor([[1.],
        [2.]])
}]>;
def : Example<LstmCell, [{
>>> state = (tandem.zeros(1, 1), tandem.zeros(1, 1))
>>> h, c = tandem.lstm_cell(tandem.ones(1, 1), state, tandem.ones(4, 1), tandem.ones(4, 1))
>>> h, c
(tensor([[0.3696]]), tensor([[0.5568]]))
}]>;
def : Example<GruCell, [{
>>> tandem.gru_cell(tandem.ones(1, 1), tandem.zeros(1, 1), tandem.ones(3, 1), tandem.ones(3, 1))
tensor([[0.2048]])
}]>;
def : Example<RnnTanhCell, [{
>>> tandem.rnn_tanh_cell(tandem.ones(1, 1), tandem.zeros(1, 1), tandem.ones(1, 1), tandem.ones(1, 1))
tensor([[0.7616]])
}]>;
def : Example<RnnReluCell, [{
>>> tandem.rnn_relu_cell(tandem.ones(1, 1), tandem.zeros(1, 1), tandem.ones(1, 1), tandem.ones(1, 1))
tensor([[1.]])
}]>;
