// Errors beyond those that follow from parameters and dtypes, each with what provokes it.

def : Raises<"RuntimeError", "the inner sizes differ",
             "tandem.matmul(tandem.ones(2, 3), tandem.ones(2, 3))", [MatMulAny]>;
def : Raises<"RuntimeError", "an operand is no matrix, or the inner sizes differ",
             "tandem.mm(tandem.ones(2, 3), tandem.ones(2, 3))", [MM]>;
def : Raises<"RuntimeError", "an operand is not 3-d, or the sizes do not fit",
             "tandem.bmm(tandem.ones(2, 3), tandem.ones(2, 3))", [BMM]>;
def : Raises<"RuntimeError", "the sizes do not fit",
             "tandem.mv(tandem.ones(2, 3), tandem.ones(2))", [MV]>;
def : Raises<"RuntimeError", "the operands are not 1-d, or of different sizes",
             "tandem.dot(tandem.ones(2), tandem.ones(3))", [Dot, VDot]>;
def : Raises<"RuntimeError", "the dtypes of the operands differ",
             "tandem.mm(tandem.ones(2, 2), tandem.ones(2, 2, dtype=tandem.int64))", [MatMulAny, MM, BMM, MV, Dot]>;
def : Raises<"RuntimeError", "the number of elements differs",
             "tandem.reshape(tandem.ones(4), (3,))", [Reshape]>;
def : Raises<"RuntimeError", "the number of elements differs, or strides do not allow a view",
             "tandem.ones(2, 3).t().view(6)", [View_]>;
def : Raises<"RuntimeError", "sizes differ in another dim than `dim`, or the list is empty",
             "tandem.cat([tandem.ones(1, 2), tandem.ones(1, 3)], 0)", [CatT]>;
def : Raises<"RuntimeError", "shapes differ, or the list is empty",
             "tandem.stack([tandem.ones(2), tandem.ones(3)])", [Stack]>;
def : Raises<"RuntimeError", "an index is out of range",
             "tandem.gather(tandem.ones(2), 0, tandem.tensor([5]))", [Gather]>;
def : Raises<"RuntimeError", "the inner sizes differ",
             "F.linear(tandem.ones(2, 3), tandem.ones(4, 5))", [Linear]>;
def : Raises<"RuntimeError", "channels of `input` and `weight` do not fit, or the kernel is larger than the input",
             "F.conv2d(tandem.ones(1, 3, 4, 4), tandem.ones(2, 2, 3, 3))", [Conv2dBias]>;
def : Raises<"RuntimeError", "there are repeated or too few dims",
             "tandem.permute(tandem.ones(2, 3), (0, 0))", [Permute]>;
def : Raises<"RuntimeError", "the input has more than 2 dims",
             "tandem.t(tandem.ones(2, 2, 2))", [TShort]>;
def : Raises<"RuntimeError", "`start` and `length` leave the dim",
             "tandem.narrow(tandem.ones(3), 0, 2, 2)", [Narrow]>;
def : Raises<"RuntimeError", "`size` does not fit",
             "tandem.ones(2, 3).expand(2, 4)", [Expand]>;
def : Raises<"RuntimeError", "`size` does not fit",
             "tandem.broadcast_to(tandem.ones(3), (2,))", [BroadcastTo]>;
def : Raises<"RuntimeError", "`k` is larger than the size of `dim`",
             "tandem.topk(tandem.ones(2), 3)", [TopK]>;
def : Raises<"RuntimeError", "`rounding_mode` is none of these",
             "tandem.div(tandem.ones(2), 2, rounding_mode=\"up\")", [DivRounding]>;
def : Raises<"RuntimeError", "the step is 0, or leads away from `end`",
             "tandem.arange(0, 3, -1)", [Arange]>;
def : Raises<"RuntimeError", "a size is negative",
             "tandem.zeros(-1)", [Zeros, Ones, Rand, Randn, Empty, FullT]>;
def : Raises<"RuntimeError", "the input is not square",
             "tandem.linalg.matrix_power(tandem.ones(2, 3), 2)", [MatrixPower]>;
def : Raises<"RuntimeError", "the matrix is not positive definite (as linalg.LinAlgError)",
             "tandem.linalg.cholesky(-tandem.ones(1, 1))", [Cholesky]>;
def : Raises<"IndexError", "a class is out of range",
             "F.cross_entropy(tandem.zeros(1, 2), tandem.tensor([2]))", [CrossEntropy, NllLoss]>;
def : Raises<"ValueError", "`reduction` is none of 'none', 'mean' and 'sum'",
             "F.mse_loss(tandem.ones(1), tandem.ones(1), reduction=\"max\")", [MseLoss]>;
def : Raises<"ValueError", "`p` is not between 0 and 1",
             "tandem.dropout(tandem.ones(2), 2., True)", [Dropout]>;
def : Raises<"RuntimeError", "`normalized_shape` is not that of the last dims",
             "F.layer_norm(tandem.ones(2, 3), (2,))", [LayerNorm, RmsNorm]>;
def : Raises<"RuntimeError", "the number of channels is not divisible by `num_groups`",
             "F.group_norm(tandem.ones(1, 3), 2)", [GroupNorm]>;
def : Raises<"IndexError", "an index is out of range",
             "tandem.index_select(tandem.ones(2), 0, tandem.tensor([2]))", [IndexSelect]>;
def : Raises<"IndexError", "an index is out of range",
             "tandem.take(tandem.ones(2), tandem.tensor([2]))", [Take]>;
def : Raises<"IndexError", "an index is out of range",
             "F.embedding(tandem.tensor([3]), tandem.ones(2, 2))", [Embedding]>;
def : Raises<"RuntimeError", "`low` is not below `high`",
             "tandem.randint(3, 3, (2,))", [RandInt]>;
def : Raises<"RuntimeError", "an index is out of range",
             "tandem.scatter(tandem.zeros(2), 0, tandem.tensor([3]), 1.)", [ScatterSrc]>;
def : Raises<"RuntimeError", "an index is out of range",
             "tandem.scatter_add(tandem.zeros(2), 0, tandem.tensor([3]), tandem.ones(1))", [ScatterAdd]>;
def : Raises<"RuntimeError", "the equation does not fit the operands",
             "tandem.einsum(\"ij,jk\", tandem.ones(2, 3))", [Einsum]>;
def : Raises<"ValueError", "`theta` is not floating-point",
             "F.affine_grid(tandem.ones(1, 2, 3, dtype=tandem.int64), (1, 1, 2, 2))", [AffineGrid]>;
def : Raises<"RuntimeError", "a matrix is singular (as linalg.LinAlgError)",
             "tandem.linalg.inv(tandem.zeros(2, 2))", [Inv]>;
def : Raises<"RuntimeError", "a matrix is singular (as linalg.LinAlgError)",
             "tandem.linalg.solve(tandem.zeros(2, 2), tandem.ones(2))", [Solve]>;
def : Raises<"RuntimeError", "the input is not square",
             "tandem.det(tandem.ones(2, 3))", [Det, Slogdet, Inv, Solve, MatrixExp]>;
