// Layers of neural networks (Python: tandem.nn.functional): normalisation, dropout, lookup, attention.

def : Composite<"batch_norm",
    "Tensor input, Tensor? running_mean, Tensor? running_var, Tensor? weight=None, Tensor? bias=None, bool "
    "training=False, Operand? momentum=None, float eps=1e-05"> {
  let forms = ["nn"];
  let summary = "Each channel of [N, C, ...] normalised by its mean and variance: of the batch while training (the "
                "running ones then move towards them by `momentum`), else the running ones (Ioffe and Szegedy 2015).";
  let shapes = "Same";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> F.batch_norm(tandem.tensor([[1., 10.], [3., 30.]]), None, None, training=True)
    tensor([[-1.0000, -1.0000],
            [ 1.0000,  1.0000]])
  }];
}

def : Composite<"batch_norm_parts", "Tensor input, Tensor? weight, Tensor? bias, float eps"> {
  let results = "(Tensor, Tensor, Tensor, Tensor)";
  let numResults = 4;
  let forms = ["hidden"];
  let rule = "batchNorm";
  let saves = ["input", "weight", "out1", "out2"];
  let summary = "`batch_norm` by the batch of [samples, channels, ...], with factors of the same dims; the means, the "
                "reciprocals of the deviations, and the variances, through which no gradient comes.";
  let samples = "none";
}

def : Composite<"instance_norm",
    "Tensor input, Tensor? running_mean=None, Tensor? running_var=None, Tensor? weight=None, Tensor? bias=None, "
    "bool use_input_stats=True, Operand? momentum=None, float eps=1e-05"> {
  let forms = ["nn"];
  let summary = "Each channel of each sample of [N, C, ...] normalised by its own mean and variance (Ulyanov et al. "
                "2016).";
  let shapes = "Same";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> F.instance_norm(tandem.tensor([[[1., 3.], [10., 30.]]]))
    tensor([[[-1.0000,  1.0000],
             [-1.0000,  1.0000]]])
  }];
}

def : Composite<"group_norm",
    "Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05"> {
  let gpuMixedPrecision = "Float32";
  let forms = ["nn", "function"];
  let takesOut = 0;
  let summary = "Each group of channels of each sample of [N, C, ...] normalised by its own mean and variance (Wu and "
                "He 2018).";
  let shapes = "Same";
  let accepts = "Floating";
  let gives = "First";
  let raises = [Raises<"RuntimeError", "the number of channels is not divisible by `num_groups`",
                       "F.group_norm(tandem.ones(1, 3), 2)">];
  let example = [{
    >>> F.group_norm(tandem.tensor([[1., 3., 10., 30.]]), 2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
  }];
}

def : Composite<"group_norm_parts",
    "Tensor input, Tensor? weight, Tensor? bias, float eps"> {
  let results = "(Tensor, Tensor, Tensor)";
  let numResults = 3;
  let forms = ["hidden"];
  let rule = "groupNorm";
  let saves = ["input", "weight", "out1", "out2"];
  let summary = "`group_norm` of [samples, groups, channels of a group, elements of a channel], with the factors of "
                "channels [groups, channels of a group, 1]; the means, and the reciprocals of the deviations.";
  let samples = "none";
}

def : Composite<"layer_norm",
    "Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05"> {
  let gpuMixedPrecision = "Float32";
  let forms = ["nn"];
  let summary = "(x - mean) / sqrt(var + eps) * weight + bias over the last dims (Ba et al. 2016).";
  let shapes = "Same";
  let accepts = "Floating";
  let gives = "First";
  let raises = [Raises<"RuntimeError", "`normalized_shape` is not that of the last dims",
                       "F.layer_norm(tandem.ones(2, 3), (2,))">];
  let example = [{
    >>> F.layer_norm(tandem.tensor([[1., 3.], [10., 30.]]), (2,))
    tensor([[-1.0000,  1.0000],
            [-1.0000,  1.0000]])
  }];
}

def : Composite<"layer_norm_parts",
    "Tensor input, Tensor? weight, Tensor? bias, int dims, float eps"> {
  let results = "(Tensor, Tensor, Tensor)";
  let numResults = 3;
  let forms = ["hidden"];
  let rule = "layerNorm";
  let saves = ["input", "weight", "out1", "out2"];
  let summary = "`layer_norm` over so many last dims; the means, and the reciprocals of the deviations.";
  let samples = "none";
}

def : Composite<"rms_norm", "Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None"> {
  let forms = ["nn", "function"];
  let takesOut = 0;
  let summary = "x / sqrt(mean(x^2) + eps) * weight over the last dims (Zhang and Sennrich 2019); eps is that of the "
                "dtype when None.";
  let shapes = "Same";
  let accepts = "Floating";
  let gives = "First";
  let raises = [Raises<"RuntimeError", "`normalized_shape` is not that of the last dims",
                       "F.rms_norm(tandem.ones(2, 3), (2,))">];
  let example = [{
    >>> F.rms_norm(tandem.tensor([[3., 4.]]), (2,))
    tensor([[0.8485, 1.1314]])
  }];
}

def : Composite<"local_response_norm",
    "Tensor input, int size, float alpha=0.0001, float beta=0.75, float k=1.0"> {
  let forms = ["nn"];
  let summary = "x / (k + alpha * mean of squares over `size` neighbouring channels)^beta.";
  let shapes = "Same";
  let accepts = "FloatingOrInt64";
  let gives = "Float";
  let example = [{
    >>> F.local_response_norm(tandem.ones(1, 3, 2), 2, alpha=1.)
    tensor([[[0.7378, 0.7378],
             [0.5946, 0.5946],
             [0.5946, 0.5946]]])
  }];
}

def : Composite<"dropout", "Tensor input, float p=0.5, bool training=True"> {
  let forms = ["nn", "function"];
  let takesOut = 0;
  let summary = "Elements zeroed with probability p, the others scaled by 1 / (1 - p), while training (Srivastava et "
                "al. 2014).";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "that of `input`, of integers that are scaled the default dtype";
  let raises = [Raises<"ValueError", "`p` is not between 0 and 1", "tandem.dropout(tandem.ones(2), 2., True)">];
  let example = [{
    >>> F.dropout(tandem.ones(4), p=0.5, training=False)
    tensor([1., 1., 1., 1.])
  }];
}

def : Composite<"one_hot", "Tensor input, int num_classes=-1"> {
  let forms = ["nn"];
  let summary = "int64 rows with a one at each class.";
  let shapes = "any; one more dim of size `num_classes` behind (the largest class + 1 when -1)";
  let accepts = "Integer";
  let gives = "Int64";
  let example = [{
    >>> F.one_hot(tandem.tensor([0, 2]), num_classes=3)
    tensor([[1, 0, 0],
            [0, 0, 1]])
  }];
}

def : Composite<"embedding",
    "Tensor input, Tensor weight, int? padding_idx=None, float? max_norm=None, float norm_type=2.0, bool "
    "scale_grad_by_freq=False, bool sparse=False"> {
  let forms = ["nn"];
  let summary = "Rows of `weight` [V, D] at the integers `input` (any shape S): [*S, D]. The row `padding_idx` gets "
                "no gradient; with `max_norm` the rows read are first scaled down in place to at most that norm.";
  let shapes = "`input` [*], `weight` [V, D]; the result is [*, D]";
  let accepts = "Any";
  let gives = "that of `weight`; `input` holds integers";
  let raises = [Raises<"IndexError", "an index is out of range", "F.embedding(tandem.tensor([3]), tandem.ones(2, 2))">];
  let example = [{
    >>> F.embedding(tandem.tensor([2, 0]), tandem.tensor([[0., 1.], [2., 3.], [4., 5.]]))
    tensor([[4., 5.],
            [0., 1.]])
  }];
}

def : Composite<"embedding_bag",
    "Tensor input, Tensor weight, Tensor? offsets=None, float? max_norm=None, float norm_type=2.0, bool "
    "scale_grad_by_freq=False, str mode='mean', bool sparse=False, Tensor? per_sample_weights=None, bool "
    "include_last_offset=False, int? padding_idx=None"> {
  let forms = ["nn"];
  let summary = "Sums, means or maxima of the rows of `weight` [V, D] that each bag of `input` names: [B, D]. Bags "
                "are the rows of a 2-d input, or the parts of a 1-d one that begin at `offsets`.";
  let shapes = "`input` [B, L], or [L] with `offsets` [B]; `weight` [V, D]; the result is [B, D]";
  let accepts = "Any";
  let gives = "that of `weight`, the default dtype for means of integers; `input` and `offsets` hold integers";
  let example = [{
    >>> F.embedding_bag(tandem.tensor([[0, 2], [1, 1]]), tandem.tensor([[0., 1.], [2., 3.], [4., 5.]]), mode="sum")
    tensor([[4., 6.],
            [4., 6.]])
  }];
}

def : Library<"bag_sum",
    "Tensor weight, Tensor index, Tensor[] extras, int padding, bool last, bool mean, bool by_frequency",
    "bagSum"> {
  let failure = "Values";
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let forms = ["hidden"];
  let rule = "bagSum";
  let saves = ["weight", "index", "extras", "out1"];
  let summary = "Sums of the rows of `weight` [V, D] that the bags of `index` name, [B, D], or their means, and how "
                "many they are, [B]; the row `padding` is none. Bags are rows, or of one dim begin at the first of "
                "`extras`, `last` of which is the end of the last bag; then come factors of the rows. Gradients are "
                "divided by how often a row is named with `by_frequency`.";
}

def : Library<"bag_max", "Tensor weight, Tensor index, Tensor[] extras, int padding, bool last", "bagMax"> {
  let failure = "Values";
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let forms = ["hidden"];
  let rule = "bagMax";
  let saves = ["out1"];
  let summary = "The largest elements of the rows of such bags, and the rows that they are in, -1 where a bag has "
                "none.";
}

// An operation of its own, so that what a gradient is scaled by does not touch the value.
def : Pointwise<"scale_gradient", "Promote", "Operand input, Operand factor"> {
  let forms = ["hidden"];
  let body = [(identity $input)];
  let derivative = [(scaled_gradient $g, $factor), (none)];
  let summary = "`input`, whose gradient is multiplied by `factor`.";
  let samples = "none";
}

// What passes a gradient on to such a gradient is not scaled, in PyTorch.
def : Case<"scaled_gradient", "Promote", "Operand grad, Operand factor"> {
  let body = [(mul $grad, $factor)];
  let derivative = [(identity $g), (none)];
  let summary = "grad * factor, whose gradient is not multiplied by `factor`.";
}

def : Composite<"scaled_dot_product_attention",
    "Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, "
    "float? scale=None, bool enable_gqa=False"> {
  let forms = ["nn"];
  let mixedPrecision = "Lower";
  let summary = "softmax(query @ key^T * scale + mask) @ value of [..., H, L, E], [..., H, S, E], [..., H, S, V], in "
                "memory linear in L and S. A bool mask is True where attention is allowed; a row without any gives "
                "zeros. `is_causal` allows places up to the row's own; with `enable_gqa` groups of query heads share "
                "a head of key and value; `scale` is 1 / sqrt(E) when None.";
  let shapes = "`query` [..., L, E], `key` [..., S, E], `value` [..., S, V], leading dims broadcast; `attn_mask` "
               "broadcasts to [..., L, S]. The result is [..., L, V]";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> query, key, value = tandem.ones(1, 2, 4), tandem.ones(1, 3, 4), tandem.arange(6.).reshape(1, 3, 2)
    >>> F.scaled_dot_product_attention(query, key, value)
    tensor([[[2., 3.],
             [2., 3.]]])
  }];
}

// Attention with an online softmax (Milakov and Gimelshein 2018; Dao et al. 2022): [B, H, L, E] with [B, K, S, E] and
// [B, K, S, V]. `extras` holds the
// mask if there is one, then the key of dropout if there is one. The second result is, for every row, the largest score
// and one over the sum of exponentials; of both, what backward makes of them counts: exp(score - first) * second.
// Operands of a half type are computed with as float32, and what comes of them is rounded, on CPUs of bfloat16 the
// exponentials, too, before they meet the values; the mask and the statistics are float32. `half` or `bfloat` says that
// cuDNN may multiply in float16 or bfloat16, of which the operands are, or were before they were converted.
// `rows_first` says that the output is [B, L, H, V], for a query whose memory has a row of all heads before the next
// row, and the like of cotangents.
def : Attention<"attention_plain",
    "Tensor query, Tensor key, Tensor value, Scalar scale, Scalar dropout, Tensor[] extras, bool causal, bool masked, "
    "bool half=False, bool bfloat=False, bool rows_first=False",
    "attention"> {
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let forms = ["hidden"];
  let rule = "attention";
  let saves = ["query", "key", "value", "extras", "out", "out1"];
  let summary = "Attention, and the statistics of its rows.";
}

def : Attention<"attention_grad",
    "Tensor grad, Tensor query, Tensor key, Tensor value, Tensor output, Tensor stats, Scalar scale, Scalar dropout, "
    "Tensor[] extras, bool causal, bool masked, bool half=False, bool bfloat=False, bool query_rows_first=False, "
    "bool key_rows_first=False, bool value_rows_first=False",
    "attentionGrad"> {
  let results = "(Tensor, Tensor, Tensor)";
  let numResults = 3;
  let forms = ["hidden"];
  let rule = "attentionGrad";
  let saves = ["grad", "query", "key", "value", "extras"];
  let summary = "Cotangents of query, key and value, scores being computed again.";
}

def : Attention<"attention_keep", "Tensor key, Scalar dropout, int[] size", "attentionKeep"> {
  let forms = ["hidden"];
  let differentiable = 0;
  let summary = "Which elements the dropout of attention keeps.";
}
