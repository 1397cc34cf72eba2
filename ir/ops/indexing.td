// Reading and writing at indices: the functions of runtime/lib that do it, and what is made of them (eager/composites:
// indexing.cpp, scatter_reduce.cpp).

def : Gather<"gather", "Tensor input, int dim, Tensor index", "gather"> {
  let rule = "gather";
  let saves = ["index"];
  let batching = "alongDim";
  let summary = "input[..., index[i], ...] along `dim`, for every element of `index`.";
  let shapes = "`index` with as many dims as `input`, no larger but in `dim`; the result has the shape of `index`";
  let accepts = "Any";
  let gives = "First";
  let raises = [Raises<"RuntimeError", "an index is out of range",
                       "tandem.gather(tandem.ones(2), 0, tandem.tensor([5]))">];
  let example = [{
    >>> tandem.gather(tandem.tensor([[1, 2], [3, 4]]), 1, tandem.tensor([[0, 0], [1, 0]]))
    tensor([[1, 1],
            [4, 3]])
  }];
}

def : Composite<"gather_sparse", "Tensor input, int dim, Tensor index, *, bool sparse_grad"> {
  let python = "gather";
  let summary = "As above; gradients are dense, whatever `sparse_grad` says.";
  let shapes = "`index` with as many dims as `input`, no larger but in `dim`; the result has the shape of `index`";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.gather(tandem.tensor([1, 2, 3]), 0, tandem.tensor([2, 0]), sparse_grad=True)
    tensor([3, 1])
  }];
}

def : Composite<"scatter_one", "Tensor source, int dim, Tensor index, int size"> {
  let forms = ["hidden"];
  let rule = "scatterOne";
  let saves = ["index"];
  let summary = "Zeros of `size` along `dim`, in which `source` and `index` have one element a row, with the source "
                "at the index: what `gather` of one element a row is the derivative of, and the other way round.";
  let samples = "none";
}

def : Composite<"take", "Tensor input, Tensor index"> {
  let summary = "Elements of the flattened `input` at `index`.";
  let shapes = "the result has the shape of `index`";
  let accepts = "Any";
  let gives = "First";
  let raises = [Raises<"IndexError", "an index is out of range", "tandem.take(tandem.ones(2), tandem.tensor([2]))">];
  let example = [{
    >>> tandem.take(tandem.tensor([[1, 2], [3, 4]]), tandem.tensor([0, 3]))
    tensor([1, 4])
  }];
  let reference = "take";
}

def : Composite<"take_along_dim", "Tensor input, Tensor indices, int? dim=None"> {
  let summary = "gather with broadcasting; of both flattened if `dim` is None.";
  let shapes = "`input` and `indices` broadcast but in `dim`, where the result has the size of `indices`; without "
               "`dim` the result is [elements of `indices`]";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> x = tandem.tensor([[3, 1], [2, 4]])
    >>> tandem.take_along_dim(x, tandem.argsort(x, dim=1), dim=1)
    tensor([[1, 3],
            [2, 4]])
    >>> tandem.take_along_dim(x, tandem.tensor([0, 3]))
    tensor([3, 4])
  }];
  let reference = "take_along_axis";
}

def : Gather<"index_select", "Tensor input, int dim, Tensor index", "indexSelect"> {
  let rule = "indexSelect";
  let saves = ["index"];
  let batching = "indexSelect";
  let summary = "The slices of `dim` that the 1-d `index` names.";
  let shapes = "`index` [K]; `input` with size K in `dim`";
  let accepts = "Any";
  let gives = "First";
  let raises = [Raises<"IndexError", "an index is out of range",
                       "tandem.index_select(tandem.ones(2), 0, tandem.tensor([2]))">];
  let example = [{
    >>> tandem.index_select(tandem.tensor([[1, 2], [3, 4], [5, 6]]), 0, tandem.tensor([2, 0]))
    tensor([[5, 6],
            [1, 2]])
  }];
  let reference = "take";
}

def : Gather<"index_get", "Tensor input, Tensor[] indices, int first_dim, bool flat=False", "indexGet"> {
  let forms = ["hidden"];
  let rule = "indexGet";
  let saves = ["indices"];
  let batching = "indexGet";
  let summary = "Advanced indexing by integer tensors of one shape in adjacent dims; `flat` says that the dim is a "
                "tensor's elements, for errors.";
}

def : Scatter<"scatter_plain", "Tensor input, int dim, Tensor index, Tensor src", "scatter"> {
  let forms = ["hidden"];
  let rule = "scatter";
  let saves = ["index"];
  let batching = "alongDim";
  let summary = "A copy of `input` with src[i] written at index[i] along `dim`.";
}

def : Composite<"scatter", "Tensor input, int dim, Tensor index, Operand src"> {
  let forms = ["function", "method", "inplace"];
  let summary = "A copy of `input` with `src` (a tensor or a number) written at `index` along `dim`.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "First";
  let raises = [Raises<"RuntimeError", "an index is out of range",
                       "tandem.scatter(tandem.zeros(2), 0, tandem.tensor([3]), 1.)">];
  let example = [{
    >>> tandem.scatter(tandem.zeros(2, 3), 1, tandem.tensor([[0], [2]]), 1.)
    tensor([[1., 0., 0.],
            [0., 0., 1.]])
  }];
}

def : Composite<"scatter_with", "Tensor input, int dim, Tensor index, Operand src, *, str reduce"> {
  let python = "scatter";
  let forms = ["function", "method", "inplace"];
  let summary = "A copy of `input` to which `src` is added ('add'), or by which it is multiplied ('multiply'), at "
                "`index` along `dim`.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.scatter(tandem.ones(2, 3), 1, tandem.tensor([[0], [2]]), 5., reduce="add")
    tensor([[6., 1., 1.],
            [1., 1., 6.]])
  }];
}

def : Scatter<"scatter_add", "Tensor input, int dim, Tensor index, Tensor src", "scatter"> {
  let gpuMixedPrecision = "Promote";
  let forms = ["function", "method", "inplace"];
  let rule = "scatterAdd";
  let saves = ["index"];
  let batching = "alongDim";
  let summary = "A copy of `input` with src[i] added at index[i] along `dim`, in row-major order of `src`.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "First";
  let raises = [Raises<"RuntimeError", "an index is out of range",
                       "tandem.scatter_add(tandem.zeros(2), 0, tandem.tensor([3]), tandem.ones(1))">];
  let example = [{
    >>> tandem.scatter_add(tandem.zeros(3), 0, tandem.tensor([0, 1, 0]), tandem.tensor([1., 2., 3.]))
    tensor([4., 2., 0.])
  }];
}

def : Composite<"scatter_reduce",
    "Tensor input, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True"> {
  let forms = ["function", "method", "inplace"];
  let summary = "The 'sum', 'prod', 'mean', 'amin' or 'amax' of all `src` with the same `index` along `dim`, and of "
                "`input` there if include_self; `input` where there are none.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.scatter_reduce(tandem.zeros(2), 0, tandem.tensor([0, 0, 1]), tandem.tensor([1., 5., 2.]), "amax")
    tensor([5., 2.])
  }];
}

def : Scatter<"scatter_combine",
    "Tensor input, int dim, Tensor index, Tensor src, int kind",
    "scatter"> {
  let forms = ["hidden"];
  let rule = "scatterCombine";
  let saves = ["input", "index", "src", "out"];
  let summary = "A copy of `input` combined with src[i] at index[i] along `dim`, in row-major order: product (kind "
                "0), smaller (1) or larger (2); NaN wins.";
}

def : Composite<"put", "Tensor input, Tensor index, Tensor source, bool accumulate=False"> {
  let forms = ["function", "method", "inplace"];
  let takesOut = 0;
  let summary = "A copy of `input` with `source` written (or added, in order) at `index` of the flattened tensor.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.put(tandem.zeros(2, 2), tandem.tensor([1, 2]), tandem.tensor([5., 6.]))
    tensor([[0., 5.],
            [6., 0.]])
  }];
}

def : Scatter<"index_put_plain",
    "Tensor input, Tensor values, Tensor[] indices, int first_dim, bool accumulate, bool flat=False",
    "indexPut"> {
  let forms = ["hidden"];
  let rule = "indexPut";
  let saves = ["indices"];
  let batching = "indexPut";
  let summary = "A copy of `input` with `values` written (or added, in order) at integer tensors of one shape in "
                "adjacent dims.";
}

def : Composite<"index_put", "Tensor input, Tensor[] indices, Tensor values, bool accumulate=False"> {
  let gpuMixedPrecision = "Promote";
  let repeats = "Warned";
  let forms = ["function", "method", "inplace"];
  let takesOut = 0;
  let summary = "A copy of `input` with `values` written (or added, in order) at indices[i] of dim i, as "
                "input[indices] = values; masks stand for the places where they hold.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.index_put(tandem.zeros(2, 2), (tandem.tensor([0, 1]), tandem.tensor([1, 0])), tandem.tensor([5., 6.]))
    tensor([[0., 5.],
            [6., 0.]])
  }];
}

def : Scatter<"index_add_plain", "Tensor input, int dim, Tensor index, Tensor source", "indexAdd"> {
  let forms = ["hidden"];
  let rule = "indexAdd";
  let saves = ["index"];
  let batching = "indexAdd";
  let summary = "A copy of `input` with slices of `source` added at `index`, in order.";
}

def : Composite<"index_add", "Tensor input, int dim, Tensor index, Tensor source, *, Scalar alpha=1"> {
  let forms = ["function", "method", "inplace"];
  let summary = "A copy of `input` with alpha * source added at `index` along `dim`, in order.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "Promote";
  let example = [{
    >>> tandem.index_add(tandem.zeros(2, 2), 0, tandem.tensor([0, 0]), tandem.tensor([[1., 2.], [3., 4.]]))
    tensor([[4., 6.],
            [0., 0.]])
  }];
}

def : Composite<"index_fill", "Tensor input, int dim, Tensor index, Operand value"> {
  let repeats = "Warned";
  let forms = ["function", "method", "inplace"];
  let takesOut = 0;
  let summary = "A copy of `input` with the slices of `dim` at `index` filled with `value`.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.index_fill(tandem.tensor([[1, 2], [3, 4]]), 1, tandem.tensor([0]), 9)
    tensor([[9, 2],
            [9, 4]])
  }];
}

def : Composite<"index_copy", "Tensor input, int dim, Tensor index, Tensor source"> {
  let forms = ["function", "method", "inplace"];
  let mixedPrecision = "Promote";
  let summary = "A copy of `input` with the slices of `source` written at `index` of `dim`, in order.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.index_copy(tandem.zeros(3, 2), 0, tandem.tensor([2, 0]), tandem.tensor([[1., 2.], [3., 4.]]))
    tensor([[3., 4.],
            [0., 0.],
            [1., 2.]])
  }];
}

def : Composite<"index_reduce",
    "Tensor input, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True"> {
  let forms = ["function", "method", "inplace"];
  let summary = "The 'prod', 'mean', 'amin' or 'amax' of all slices of `source` with the same `index`, and of `input` "
                "there if include_self; `input` where there are none.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.index_reduce(tandem.ones(2), 0, tandem.tensor([0, 0]), tandem.tensor([2., 3.]), "prod")
    tensor([6., 1.])
  }];
}

def : Composite<"masked_fill", "Tensor input, Tensor mask, Operand value"> {
  let repeats = "Warned";
  let forms = ["function", "method", "inplace"];
  let takesOut = 0;
  let summary = "`value` where `mask` holds, `input` elsewhere.";
  let shapes = "Broadcast";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.masked_fill(tandem.tensor([1, 2, 3]), tandem.tensor([False, True, False]), 0)
    tensor([1, 0, 3])
  }];
}

def : Composite<"masked_scatter", "Tensor input, Tensor mask, Tensor source"> {
  let forms = ["function", "method", "inplace"];
  let takesOut = 0;
  let summary = "The elements of `source`, in order, where `mask` holds, `input` elsewhere.";
  let shapes = "`input` and `mask` broadcast to the shape of the result; `source` has any shape, with enough elements";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.masked_scatter(tandem.zeros(3), tandem.tensor([True, False, True]), tandem.tensor([1., 2.]))
    tensor([1., 0., 2.])
  }];
}

def : Library<"nonzero_rows", "Tensor input, Tensor count, int size", "nonzeroRows"> {
  let forms = ["hidden"];
  let differentiable = 0;
  let summary = "Where the bool `input` is true, a row of indices each; `count` holds their number, `size`.";
  let samples = "none";
}

def : Composite<"nonzero", "Tensor input"> {
  let forms = ["hidden"];
  let summary = "Where elements are not zero, in row-major order: a row of indices each.";
  let samples = "none";
}

def : Composite<"nonzero_static", "Tensor input, *, int size, int fill_value=-1"> {
  let summary = "The first `size` rows of nonzero, rows of `fill_value` behind the last: a size that does not depend "
                "on data.";
  let shapes = "any; the result is [size, dims]";
  let accepts = "Any";
  let gives = "Int64";
  let example = [{
    >>> tandem.nonzero_static(tandem.tensor([0, 5, 0, 7]), size=3)
    tensor([[ 1],
            [ 3],
            [-1]])
  }];
}

def : Composite<"argwhere", "Tensor input"> {
  let takesOut = 0;
  let summary = "Where elements are not zero: a row of indices each.";
  let shapes = "any; the result is [number of nonzero elements, dims]";
  let accepts = "Any";
  let gives = "Int64";
  let example = [{
    >>> tandem.argwhere(tandem.tensor([[0, 1], [2, 0]]))
    tensor([[0, 1],
            [1, 0]])
  }];
  let reference = "argwhere";
}

// Sizes that depend on data (runtime/lib/indexing/nonzero.h).
def : Library<"expect_size", "Tensor count, int size, int number", "sameAsInput"> {
  let failure = "Computing";
  let forms = ["hidden"];
  let differentiable = 0;
  let summary = "The 0-d `count`, which is `size`.";
  let samples = "none";
}

def : Library<"expect", "Tensor input, Tensor good, Tensor shown, int what, int detail", "sameAsInput"> {
  let failure = "Values";
  let forms = ["hidden"];
  let role = "Expect";
  let derivative = [(identity $g), (none), (none)];
  let batching = "leading";
  let summary = "`input`, where all of `good` holds; else the error that `what` and `detail` say.";
  let samples = "none";
}

def : Library<"class_indices", "Tensor target, int classes, int ignored", "sameAsInput"> {
  let failure = "Values";
  let forms = ["hidden"];
  let differentiable = 0;
  let batching = "leading";
  let summary = "The int64 `target`, whose elements are classes, with 0 for `ignored`; else the error that names one "
                "which is neither.";
  let samples = "none";
}
