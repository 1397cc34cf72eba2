// Losses (Python: tandem.nn.functional), made of other operations in C++ (eager/composites/losses.cpp). `reduction` is
// 'none' (a loss for each element), 'mean' or 'sum'; `size_average` and `reduce` are its older form and win if given.

class Loss<string n, string p> : Composite<n, p> {
  let forms = ["nn"];
}

class ReducedLoss<string n, string p, string rest = ""> : Loss<n,
    p # ", bool? size_average=None, bool? reduce=None, str reduction='mean'" # rest>;

def : ReducedLoss<"mse_loss", "Tensor input, Tensor target", ", Tensor? weight=None"> {
  let mixedPrecision = "Float32";
  let summary = "(input - target)^2; a weighted mean divides by the sum of the weights.";
  let shapes = "`input` and `target` broadcast; the result is 0-d, or of their common shape for reduction='none'";
  let accepts = "Floating";
  let gives = "First";
  let raises = [Raises<"ValueError", "`reduction` is none of 'none', 'mean' and 'sum'",
                       "F.mse_loss(tandem.ones(1), tandem.ones(1), reduction=\"max\")">];
  let example = [{
    >>> F.mse_loss(tandem.tensor([1., 2.]), tandem.tensor([1., 4.]))
    tensor(2.)
    >>> F.mse_loss(tandem.tensor([1., 2.]), tandem.tensor([1., 4.]), reduction="none")
    tensor([0., 4.])
  }];
}

def : ReducedLoss<"l1_loss", "Tensor input, Tensor target", ", Tensor? weight=None"> {
  let mixedPrecision = "Float32";
  let summary = "|input - target|; a weighted mean divides by the sum of the weights.";
  let shapes = "`input` and `target` broadcast; the result is 0-d, or of their common shape for reduction='none'";
  let accepts = "Floating";
  let gives = "First";
  let example = [{
    >>> F.l1_loss(tandem.tensor([1., 2.]), tandem.tensor([1., 4.]))
    tensor(1.)
  }];
}

def : ReducedLoss<"smooth_l1_loss", "Tensor input, Tensor target", ", float beta=1.0"> {
  let mixedPrecision = "Float32";
  let summary = "d^2 / (2 beta) where d = |input - target| < beta, else d - beta / 2.";
  let shapes = "`input` and `target` broadcast; the result is 0-d, or of their common shape for reduction='none'";
  let accepts = "Number";
  let gives = "Float";
  let example = [{
    >>> F.smooth_l1_loss(tandem.tensor([1., 2.]), tandem.tensor([1.5, 4.]), reduction="none")
    tensor([0.1250, 1.5000])
  }];
}

def : Loss<"huber_loss",
    "Tensor input, Tensor target, str reduction='mean', float delta=1.0, Tensor? weight=None"> {
  let mixedPrecision = "Float32";
  let summary = "d^2 / 2 where d = |input - target| < delta, else delta * (d - delta / 2), times `weight`.";
  let shapes = "`input` and `target` broadcast; the result is 0-d, or of their common shape for reduction='none'";
  let accepts = "Number";
  let gives = "Float";
  let example = [{
    >>> F.huber_loss(tandem.tensor([1., 2.]), tandem.tensor([1.5, 5.]), reduction="none", delta=2.)
    tensor([0.1250, 4.0000])
  }];
}

// Of binary_cross_entropy. The slope is divided by no less than 1e-12, and its derivative by the squares of what is
// 1e-12 more, as PyTorch does: a probability that rounding brought near a wrong end pulls less than its logarithm says.
def : Case<"log_loss", "Promote", "Tensor input, Tensor target"> {
  let body = [(sub (mul (sub $target, 1), (maximum (log1p (neg $input)), -100)),
                   (mul $target, (maximum (log $input), -100)))];
  let derivative = [(log_loss_grad $g, $input, $target), (mul $g, (sub (log1p (neg $input)), (log $input)))];
  let summary = "-target * log(input) - (1 - target) * log(1 - input), logarithms no less than -100.";
}

def : Case<"log_loss_grad", "Promote", "Tensor grad, Tensor at, Tensor target"> {
  let body = [(div (mul $grad, (sub $at, $target)), (maximum (mul (sub 1, $at), $at), "1e-12"))];
  let derivative = [(log_loss_grad $g, $at, $target),
                    (mul (mul $g, $grad),
                         (div (add (sub (mul $at, $at), (mul (mul $at, 2), $target)), $target),
                              (mul (square (add $at, "1e-12")), (square (add (sub 1, $at), "1e-12"))))),
                    (div (neg (mul $g, $grad)), (clamp_min (mul (sub 1, $at), $at), "1e-12"))];
  let summary = "grad * (at - target) / max(at * (1 - at), 1e-12).";
}

// Of binary_cross_entropy_with_logits: `factor` is 1 + (pos_weight - 1) * target and `pull` pos_weight * target. The
// slope is stated, since that of the terms cancels where the logit is far below 0.
def : Case<"logit_loss", "Promote", "Tensor input, Tensor target, Operand factor, Operand pull"> {
  let body = [(add (mul (sub 1, $target), $input), (mul $factor, (softplus (neg $input))))];
  let derivative = [(mul $g, (sub (mul (sigmoid $input), $factor), $pull)), (neg (mul $g, $input)),
                    (mul $g, (softplus_plain (neg $input))), (none)];
  let summary = "(1 - target) * input + factor * log(1 + exp(-input)).";
}

def : Loss<"binary_cross_entropy",
    "Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, bool? reduce=None, str "
    "reduction='mean'"> {
  let mixedPrecision = "Float32";
  let summary = "-(target log(input) + (1 - target) log(1 - input)) of probabilities; logarithms are at least -100.";
  let shapes = "`input` and `target` of one shape; the result is 0-d, or of that shape for reduction='none'";
  let accepts = "Floating";
  let gives = "Promote";
  let example = [{
    >>> F.binary_cross_entropy(tandem.tensor([0.9, 0.2]), tandem.tensor([1., 0.]))
    tensor(0.1643)
  }];
}

def : Loss<"binary_cross_entropy_with_logits",
    "Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, bool? reduce=None, str "
    "reduction='mean', Tensor? pos_weight=None"> {
  let gpuMixedPrecision = "Float32";
  let summary = "binary_cross_entropy of sigmoid(input), without its overflow; `pos_weight` multiplies the target's "
                "term.";
  let shapes = "`input` and `target` of one shape; the result is 0-d, or of that shape for reduction='none'";
  let accepts = "Number";
  let gives = "Float";
  let example = [{
    >>> F.binary_cross_entropy_with_logits(tandem.tensor([2., -1.]), tandem.tensor([1., 0.]))
    tensor(0.2201)
  }];
}

def : ReducedLoss<"kl_div", "Tensor input, Tensor target", ", bool log_target=False"> {
  let mixedPrecision = "Float32";
  let summary = "target * (log(target) - input), `input` being log-probabilities; 'batchmean' divides the sum by dim "
                "0.";
  let shapes = "`input` and `target` broadcast; the result is 0-d, or of their common shape for reduction='none'";
  let accepts = "Floating";
  let gives = "Float";
  let example = [{
    >>> F.kl_div(tandem.tensor([[0.5, 0.5]]).log(), tandem.tensor([[0.9, 0.1]]), reduction="batchmean")
    tensor(0.3681)
  }];
}

def : Loss<"poisson_nll_loss",
    "Tensor input, Tensor target, bool log_input=True, bool full=False, bool? size_average=None, float eps=1e-08, "
    "bool? reduce=None, str reduction='mean'"> {
  let mixedPrecision = "Float32";
  let summary = "Negative log likelihood of counts `target` for rates exp(input), or `input` if not `log_input`.";
  let shapes = "`input` and `target` broadcast; the result is 0-d, or of their common shape for reduction='none'";
  let accepts = "Number";
  let gives = "Float";
  let example = [{
    >>> F.poisson_nll_loss(tandem.tensor([0., 1.]), tandem.tensor([1., 3.]))
    tensor(0.3591)
  }];
}

def : Loss<"gaussian_nll_loss",
    "Tensor input, Tensor target, Operand var, bool full=False, float eps=1e-06, str reduction='mean'"> {
  let summary = "Negative log likelihood of `target` under normal distributions of mean `input` and variance max(var, "
                "eps).";
  let shapes = "`target` broadcasts with `input`; `var` as `input`, with 1 as the size of one dim, or without the last "
               "dim. The result is 0-d, or of the common shape for reduction='none'";
  let accepts = "Number";
  let gives = "Float";
  let example = [{
    >>> F.gaussian_nll_loss(tandem.tensor([0., 1.]), tandem.tensor([1., 1.]), tandem.tensor([1., 4.]))
    tensor(0.5966)
  }];
  let raises = [Raises<"ValueError", "a variance is negative",
                       "F.gaussian_nll_loss(tandem.ones(1), tandem.ones(1), -tandem.ones(1))">];
}

def : Loss<"hinge_embedding_loss",
    "Tensor input, Tensor target, float margin=1.0, bool? size_average=None, bool? reduce=None, str reduction='mean'"> {
  let mixedPrecision = "Float32";
  let summary = "input where target is 1, max(0, margin - input) where it is -1.";
  let shapes = "`input` and `target` broadcast; the result is 0-d, or of their common shape for reduction='none'";
  let accepts = "Number";
  let gives = "Float";
  let example = [{
    >>> F.hinge_embedding_loss(tandem.tensor([0.3, 0.4]), tandem.tensor([1., -1.]), reduction="none")
    tensor([0.3000, 0.6000])
  }];
}

def : Loss<"margin_ranking_loss",
    "Tensor input1, Tensor input2, Tensor target, float margin=0.0, bool? size_average=None, bool? reduce=None, str "
    "reduction='mean'"> {
  let mixedPrecision = "Float32";
  let summary = "max(0, -target * (input1 - input2) + margin).";
  let shapes = "`input1`, `input2` and `target` broadcast; the result is 0-d, or of their common shape for "
               "reduction='none'";
  let accepts = "Number";
  let gives = "Float";
  let example = [{
    >>> F.margin_ranking_loss(tandem.tensor([1., 2.]), tandem.tensor([2., 1.]), tandem.ones(2), reduction="none")
    tensor([1., 0.])
  }];
}

def : ReducedLoss<"soft_margin_loss", "Tensor input, Tensor target"> {
  let mixedPrecision = "Float32";
  let summary = "log(1 + exp(-target * input)).";
  let shapes = "`input` and `target` broadcast; the result is 0-d, or of their common shape for reduction='none'";
  let accepts = "Number";
  let gives = "Float";
  let example = [{
    >>> F.soft_margin_loss(tandem.tensor([2., -1.]), tandem.tensor([1., -1.]))
    tensor(0.2201)
  }];
}

def : Loss<"cosine_embedding_loss",
    "Tensor input1, Tensor input2, Tensor target, float margin=0.0, bool? size_average=None, bool? reduce=None, str "
    "reduction='mean'"> {
  let mixedPrecision = "Float32";
  let summary = "1 - cos where target is 1, max(0, cos - margin) where it is -1, over the last dim.";
  let shapes = "`input1` and `input2` [N, D] with `target` [N], or [D] with 0-d; the result is 0-d, or [N] for "
               "reduction='none'";
  let accepts = "Any";
  let gives = "Float";
  let example = [{
    >>> F.cosine_embedding_loss(tandem.tensor([[1., 0.]]), tandem.tensor([[0., 1.]]), tandem.tensor([1.]))
    tensor(1.)
  }];
}

def : Loss<"triplet_margin_loss",
    "Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2.0, float eps=1e-06, bool "
    "swap=False, bool? size_average=None, bool? reduce=None, str reduction='mean'"> {
  let mixedPrecision = "Float32";
  let summary = "max(0, d(anchor, positive) - d(anchor, negative) + margin), d the p-norm distance; `swap` takes the "
                "nearer of anchor and positive.";
  let shapes = "[N, D] each, or [D]; the result is 0-d, or [N] for reduction='none'";
  let accepts = "Number";
  let gives = "Float";
  let example = [{
    >>> F.triplet_margin_loss(tandem.tensor([[0., 0.]]), tandem.tensor([[3., 4.]]), tandem.tensor([[0., 2.]]))
    tensor(4.0000)
  }];
}

def : Library<"multilabel_margins", "Tensor input, Tensor labels", "multilabelMargins"> {
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let forms = ["hidden"];
  let rule = "multilabelMargins";
  let saves = ["out1"];
  let summary = "Of rows [N, C], and their labels up to the first negative one, what multilabel_margin_loss gives for "
                "each, [N], and its slopes by the elements of the row, [N, C].";
}

def : ReducedLoss<"multilabel_margin_loss", "Tensor input, Tensor target"> {
  let mixedPrecision = "Float32";
  let summary = "Mean over classes of the sums of max(0, 1 - (input[y] - input[i])) over the target classes y (those "
                "before the first -1) and all others i.";
  let shapes = "`input` and `target` [N, C] or [C]; the result is 0-d, or [N] for reduction='none'";
  let accepts = "Any";
  let gives = "that of `input`, the default dtype for integers; `target` holds integers";
  let example = [{
    >>> F.multilabel_margin_loss(tandem.tensor([[0.1, 0.2, 0.4, 0.8]]), tandem.tensor([[3, 0, -1, 1]]))
    tensor(0.8500)
  }];
}

def : Loss<"multilabel_soft_margin_loss",
    "Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, bool? reduce=None, str "
    "reduction='mean'"> {
  let summary = "Mean over classes of binary_cross_entropy_with_logits.";
  let shapes = "`input` and `target` [N, C] or [C]; the result is 0-d, or [N] for reduction='none'";
  let accepts = "Number";
  let gives = "Float";
  let example = [{
    >>> F.multilabel_soft_margin_loss(tandem.tensor([[2., -1.]]), tandem.tensor([[1., 0.]]))
    tensor(0.2201)
  }];
}

// An element that is NaN is not above 0, as in PyTorch, and passes no gradient on.
def : Case<"excess", "Promote", "Tensor input, Tensor other, Operand margin"> {
  let domain = "Number";
  let body = [(select (gt (add (sub $input, $other), $margin), 0), (add (sub $input, $other), $margin), 0)];
  let derivative = [(where (gt $out, 0), $g, 0), (neg (where (gt $out, 0), $g, 0)), (none)];
  let summary = "input - other + margin where that is above 0, else 0.";
}

def : Loss<"multi_margin_loss",
    "Tensor input, Tensor target, int p=1, float margin=1.0, Tensor? weight=None, bool? size_average=None, bool? "
    "reduce=None, str reduction='mean'"> {
  let mixedPrecision = "Float32";
  let summary = "Mean over classes i other than the target y of max(0, margin - input[y] + input[i])^p, weighted by y.";
  let shapes = "`input` [N, C] with `target` [N], or [C] with 0-d; the result is 0-d, or [N] for reduction='none'";
  let accepts = "Any";
  let gives = "that of `input`, the default dtype for integers; `target` holds integers";
  let example = [{
    >>> F.multi_margin_loss(tandem.tensor([[0.1, 0.2, 0.4, 0.8]]), tandem.tensor([3]))
    tensor(0.3250)
  }];
}

def : Loss<"nll_loss",
    "Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, int ignore_index=-100, bool? "
    "reduce=None, str reduction='mean'"> {
  let mixedPrecision = "Float32";
  let summary = "-input[n, target[n], ...] of log-probabilities [N, C, ...], weighted by class; targets equal to "
                "ignore_index count as nothing.";
  let shapes = "`input` [N, C, ...] with `target` [N, ...], or [C] with 0-d, `weight` [C]; the result is 0-d, or as "
               "`target` for reduction='none'";
  let accepts = "Any";
  let gives = "that of `input`, the default dtype for integers; `target` holds integers";
  let raises = [Raises<"IndexError", "a class is out of range", "F.nll_loss(tandem.zeros(1, 2), tandem.tensor([2]))">];
  let example = [{
    >>> F.nll_loss(tandem.tensor([[0.9, 0.1], [0.4, 0.6]]).log(), tandem.tensor([0, 1]), reduction="none")
    tensor([0.1054, 0.5108])
  }];
}

def : Loss<"cross_entropy",
    "Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, int ignore_index=-100, bool? "
    "reduce=None, str reduction='mean', float label_smoothing=0.0"> {
  let mixedPrecision = "Float32";
  let summary = "nll_loss of log_softmax; the target holds class indices, or class probabilities in input's shape.";
  let shapes = "`input` [N, C, ...] with `target` [N, ...], or [C] with 0-d (probabilities: as `input`), `weight` "
               "[C]; the result is 0-d, or [N, ...] for reduction='none'";
  let accepts = "Floating";
  let gives = "that of `input`; `target` holds integers, or probabilities";
  let raises = [Raises<"IndexError", "a class is out of range",
                       "F.cross_entropy(tandem.zeros(1, 2), tandem.tensor([2]))">];
  let example = [{
    >>> F.cross_entropy(tandem.tensor([[2., 0.], [0., 1.]]), tandem.tensor([0, 1]))
    tensor(0.2201)
    >>> F.cross_entropy(tandem.tensor([[2., 0.]]), tandem.tensor([[0.5, 0.5]]))
    tensor(1.1269)
  }];
}

def : Loss<"ctc_loss",
    "Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, str "
    "reduction='mean', bool zero_infinity=False"> {
  let mixedPrecision = "Float32";
  let summary = "Negative log likelihood of label sequences under all their alignments to [T, N, C] log-probabilities "
                "(Graves et al. 2006); targets are [N, S] or one after the other.";
  let shapes = "`log_probs` [T, N, C] or [T, C], `targets` [N, S] or [sum of lengths], lengths [N]; the result is "
               "0-d, or [N] for reduction='none'";
  let accepts = "Floating";
  let gives = "that of `log_probs`; the others hold integers";
  let example = [{
    >>> scores = tandem.full((3, 1, 2), 0.5).log()
    >>> F.ctc_loss(scores, tandem.tensor([[1]]), tandem.tensor([3]), tandem.tensor([1]), reduction="sum")
    tensor(0.2877)
  }];
}

def : Loss<"ctc_loss_lists",
    "Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, str "
    "reduction='mean', bool zero_infinity=False"> {
  let python = "ctc_loss";
  let mixedPrecision = "Float32";
  let summary = "ctc_loss with lengths as lists.";
  let shapes = "`log_probs` [T, N, C] or [T, C], `targets` [N, S] or [sum of lengths], lengths [N]; the result is "
               "0-d, or [N] for reduction='none'";
  let accepts = "Floating";
  let gives = "that of `log_probs`; the others hold integers";
  let example = [{
    >>> scores = tandem.full((3, 1, 2), 0.5).log()
    >>> F.ctc_loss(scores, tandem.tensor([[1]]), (3,), (1,), reduction="sum")
    tensor(0.2877)
  }];
}

def : Loss<"cosine_similarity", "Tensor x1, Tensor x2, int dim=1, float eps=1e-08"> {
  let gpuMixedPrecision = "Float32";
  let forms = ["nn", "function"];
  let takesOut = 0;
  let summary = "Scalar product along `dim` of x1 and x2, each divided by max(its norm, eps).";
  let shapes = "`x1` and `x2` broadcast; the result lacks `dim` of that";
  let accepts = "Floating";
  let gives = "Promote";
  let example = [{
    >>> F.cosine_similarity(tandem.tensor([[1., 0.]]), tandem.tensor([[1., 1.]]))
    tensor([0.7071])
  }];
}

def : Loss<"pairwise_distance",
    "Tensor x1, Tensor x2, float p=2.0, float eps=1e-06, bool keepdim=False"> {
  let forms = ["nn", "function"];
  let takesOut = 0;
  let summary = "The p-norm of x1 - x2 + eps along the last dim.";
  let shapes = "`x1` and `x2` broadcast; the result lacks their last dim, which stays as 1 if `keepdim`";
  let accepts = "Number";
  let gives = "Float";
  let example = [{
    >>> F.pairwise_distance(tandem.tensor([[0., 0.]]), tandem.tensor([[3., 4.]]))
    tensor([5.0000])
  }];
}
