// Operations that rearrange and repeat (eager/composites: rearranging.cpp, diagonals.cpp).

def : Composite<"reshape", "Tensor input, int[] shape"> {
  let takesOut = 0;
  let summary = "The same elements in another shape: a view where strides allow, else a copy. One size may be -1.";
  let shapes = "`input` in the shape `shape`; one size of it may be -1";
  let accepts = "Any";
  let gives = "First";
  let raises = [Raises<"RuntimeError", "the number of elements differs", "tandem.reshape(tandem.ones(4), (3,))">];
  let example = [{
    >>> tandem.reshape(tandem.arange(6), (2, -1))
    tensor([[0, 1, 2],
            [3, 4, 5]])
  }];
  let reference = "reshape";
}

def : Composite<"reshape_as", "Tensor input, Tensor other"> {
  let forms = ["method"];
  let summary = "`input` in the shape of `other`.";
  let shapes = "the result has the shape of `other`";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.arange(4).reshape_as(tandem.zeros(2, 2))
    tensor([[0, 1],
            [2, 3]])
  }];
}

def : Composite<"view_as", "Tensor input, Tensor other"> {
  let forms = ["method"];
  let summary = "`input` viewed in the shape of `other`.";
  let shapes = "the result has the shape of `other`";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.arange(4).view_as(tandem.zeros(2, 2))
    tensor([[0, 1],
            [2, 3]])
  }];
}

def : Composite<"flatten", "Tensor input, int start_dim=0, int end_dim=-1"> {
  let takesOut = 0;
  let summary = "Dims start_dim .. end_dim as one.";
  let shapes = "`input` with start_dim .. end_dim as one dim; a 0-d tensor as [1]";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.flatten(tandem.zeros(2, 3, 4), start_dim=1).shape
    tandem.Size([2, 12])
  }];
}

def : Composite<"unflatten", "Tensor input, int dim, int[] sizes"> {
  let takesOut = 0;
  let summary = "One dim as several; one size may be -1.";
  let shapes = "`input` with `dim` as the dims `sizes`, whose product it is";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.unflatten(tandem.zeros(2, 12), 1, (3, -1)).shape
    tandem.Size([2, 3, 4])
  }];
}

def : Composite<"ravel", "Tensor input"> {
  let takesOut = 0;
  let summary = "All elements as a vector; a view where strides allow.";
  let shapes = "the result is [number of elements]";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.ravel(tandem.tensor([[1, 2], [3, 4]]))
    tensor([1, 2, 3, 4])
  }];
  let reference = "ravel";
}

def : Composite<"squeeze", "Tensor input, dims dim=None"> {
  let forms = ["function", "method", "inview"];
  let takesOut = 0;
  let summary = "Dims of size 1 dropped (those in `dim` when given).";
  let shapes = "`input` without its dims of size 1, or only without those of `dim`";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.squeeze(tandem.zeros(1, 3, 1)).shape
    tandem.Size([3])
    >>> tandem.squeeze(tandem.zeros(1, 3, 1), dim=0).shape
    tandem.Size([3, 1])
  }];
  let inPlaceExample = [{
    >>> tandem.zeros(1, 3, 1).squeeze_().shape
    tandem.Size([3])
  }];
  let reference = "squeeze";
}

def : Composite<"t", "Tensor input"> {
  let forms = ["function", "method", "inview"];
  let takesOut = 0;
  let summary = "The transpose of a matrix; vectors as they are.";
  let shapes = "[M, N]; the result is [N, M]. [N] and 0-d stay";
  let accepts = "Any";
  let gives = "First";
  let raises = [Raises<"RuntimeError", "the input has more than 2 dims", "tandem.t(tandem.ones(2, 2, 2))">];
  let example = [{
    >>> tandem.t(tandem.tensor([[1, 2, 3], [4, 5, 6]]))
    tensor([[1, 4],
            [2, 5],
            [3, 6]])
  }];
  let reference = "transpose";
}

def : Composite<"adjoint", "Tensor input"> {
  let takesOut = 0;
  let summary = "The last two dims swapped, as a view.";
  let shapes = "[..., M, N]; the result is [..., N, M]";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.adjoint(tandem.zeros(5, 2, 3)).shape
    tandem.Size([5, 3, 2])
  }];
}

def : Composite<"movedim", "Tensor input, int[] source, int[] destination"> {
  let takesOut = 0;
  let aliases = ["moveaxis"];
  let summary = "Dims moved to new places, the others in order.";
  let shapes = "`input` with its sizes in another order";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.movedim(tandem.zeros(2, 3, 4), 0, -1).shape
    tandem.Size([3, 4, 2])
  }];
  let reference = "moveaxis";
}

def : Composite<"expand_as", "Tensor input, Tensor other"> {
  let forms = ["method"];
  let summary = "`input` expanded to the shape of `other`.";
  let shapes = "the result has the shape of `other`";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.tensor([1, 2]).expand_as(tandem.zeros(2, 2))
    tensor([[1, 2],
            [1, 2]])
  }];
}

def : Composite<"broadcast_to", "Tensor input, int[] size"> {
  let takesOut = 0;
  let summary = "`input` expanded to `size`, as a view.";
  let shapes = "`input` broadcasts to `size`";
  let accepts = "Any";
  let gives = "First";
  let raises = [Raises<"RuntimeError", "`size` does not fit", "tandem.broadcast_to(tandem.ones(3), (2,))">];
  let example = [{
    >>> tandem.broadcast_to(tandem.tensor([1, 2, 3]), (2, 3))
    tensor([[1, 2, 3],
            [1, 2, 3]])
  }];
  let reference = "broadcast_to";
}

class Pieces<string n, string p> : Composite<n, p> {
  let results = "Tensor[]";
}

def : Pieces<"broadcast_tensors", "Tensor[] tensors"> {
  let oneByOne = 1;
  let forms = ["function"];
  let summary = "All of them expanded to their common shape, as views.";
  let shapes = "all broadcast to one shape";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> a, b = tandem.broadcast_tensors(tandem.zeros(3, 1), tandem.zeros(4))
    >>> a.shape, b.shape
    (tandem.Size([3, 4]), tandem.Size([3, 4]))
  }];
}

def : Composite<"sum_to_size", "Tensor input, int[] size"> {
  let forms = ["method"];
  let summary = "Summed over the dims along which a tensor of `size` would be broadcast to `input`: the transpose of "
                "`expand`.";
  let shapes = "the result has the shape `size`, which broadcasts to that of `input`";
  let accepts = "Any";
  let gives = "that of `input`, int64 for integers that are summed";
  let example = [{
    >>> tandem.ones(3, 2).sum_to_size(1, 2)
    tensor([[3., 3.]])
  }];
}

def : Composite<"contiguous", "Tensor input"> {
  let forms = ["method"];
  let summary = "`input` itself if its elements lie in row-major order, else a copy that does.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> x = tandem.zeros(2, 3).t()
    >>> x.is_contiguous(), x.contiguous().is_contiguous()
    (False, True)
  }];
}

def : Composite<"narrow", "Tensor input, int dim, int start, int length"> {
  let takesOut = 0;
  let summary = "`length` elements of `dim` from `start` on, as a view.";
  let shapes = "`input` with size `length` in `dim`";
  let accepts = "Any";
  let gives = "First";
  let raises = [Raises<"RuntimeError", "`start` and `length` leave the dim", "tandem.narrow(tandem.ones(3), 0, 2, 2)">];
  let example = [{
    >>> tandem.narrow(tandem.tensor([1, 2, 3, 4]), 0, 1, 2)
    tensor([2, 3])
  }];
}

def : Composite<"narrow_tensor", "Tensor input, int dim, Tensor start, int length"> {
  let takesOut = 0;
  let python = "narrow";
  let summary = "`length` elements of `dim` from the 0-d integer tensor `start` on, as a copy.";
  let shapes = "`input` with size `length` in `dim`";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.narrow(tandem.tensor([1, 2, 3, 4]), 0, tandem.tensor(2), 2)
    tensor([3, 4])
  }];
}

def : Composite<"narrow_copy", "Tensor input, int dim, int start, int length"> {
  let summary = "`length` elements of `dim` from `start` on, as a copy.";
  let shapes = "`input` with size `length` in `dim`";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.narrow_copy(tandem.tensor([1, 2, 3, 4]), 0, 1, 2)
    tensor([2, 3])
  }];
}

def : Composite<"alias_copy", "Tensor input"> {
  let forms = ["function"];
  let summary = "A copy of `input`, in row-major order.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.alias_copy(tandem.zeros(2, 3).t()).stride()
    (2, 1)
  }];
}

def : Composite<"atleast_1d", "Tensor input"> {
  let forms = ["function"];
  let takesOut = 0;
  let summary = "`input` with at least 1 dim, as a view.";
  let shapes = "0-d gives [1]; others stay";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.atleast_1d(tandem.tensor(1.))
    tensor([1.])
  }];
  let reference = "atleast_1d";
}

def : Pieces<"atleast_1d_list", "Tensor[] tensors"> {
  let oneByOne = 1;
  let python = "atleast_1d";
  let forms = ["function"];
  let summary = "Each of them with at least 1 dim.";
  let shapes = "0-d gives [1]; others stay";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.atleast_1d([tandem.tensor(1), tandem.tensor([2, 3])])
    (tensor([1]), tensor([2, 3]))
  }];
}

def : Composite<"atleast_2d", "Tensor input"> {
  let forms = ["function"];
  let takesOut = 0;
  let summary = "`input` with at least 2 dims, vectors as rows, as a view.";
  let shapes = "0-d gives [1, 1], [N] gives [1, N]; others stay";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.atleast_2d(tandem.tensor([1, 2]))
    tensor([[1, 2]])
  }];
  let reference = "atleast_2d";
}

def : Pieces<"atleast_2d_list", "Tensor[] tensors"> {
  let oneByOne = 1;
  let python = "atleast_2d";
  let forms = ["function"];
  let summary = "Each of them with at least 2 dims.";
  let shapes = "0-d gives [1, 1], [N] gives [1, N]; others stay";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.atleast_2d([tandem.tensor(1), tandem.tensor([2, 3])])
    (tensor([[1]]), tensor([[2, 3]]))
  }];
}

def : Composite<"atleast_3d", "Tensor input"> {
  let forms = ["function"];
  let takesOut = 0;
  let summary = "`input` with at least 3 dims (a vector in the middle one), as a view.";
  let shapes = "0-d gives [1, 1, 1], [N] gives [1, N, 1], [M, N] gives [M, N, 1]; others stay";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.atleast_3d(tandem.tensor([1, 2])).shape
    tandem.Size([1, 2, 1])
  }];
  let reference = "atleast_3d";
}

def : Pieces<"atleast_3d_list", "Tensor[] tensors"> {
  let oneByOne = 1;
  let python = "atleast_3d";
  let forms = ["function"];
  let summary = "Each of them with at least 3 dims.";
  let shapes = "0-d gives [1, 1, 1], [N] gives [1, N, 1], [M, N] gives [M, N, 1]; others stay";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> [x.shape for x in tandem.atleast_3d([tandem.tensor(1), tandem.tensor([2, 3])])]
    [tandem.Size([1, 1, 1]), tandem.Size([1, 2, 1])]
  }];
}

def : Composite<"repeat", "Tensor input, int[] repeats"> {
  let forms = ["method"];
  let summary = "Copies along every dim, as NumPy's tile.";
  let shapes = "sizes multiply by `repeats`, of which there are at least as many as dims";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
  }];
  let reference = "tile";
}

def : Composite<"tile", "Tensor input, int[] dims"> {
  let takesOut = 0;
  let summary = "`input` repeated dims[i] times along dim i; missing ones count as 1.";
  let shapes = "sizes multiply by `dims`";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.tile(tandem.tensor([[1, 2], [3, 4]]), (1, 2))
    tensor([[1, 2, 1, 2],
            [3, 4, 3, 4]])
  }];
  let reference = "tile";
}

def : Composite<"repeat_interleave",
    "Tensor input, int repeats, int? dim=None, *, int? output_size=None"> {
  let takesOut = 0;
  let summary = "Each slice of `dim` (of the flattened tensor when None) `repeats` times in a row.";
  let shapes = "`input` with `repeats` times the size in `dim`; flat when `dim` is None";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.repeat_interleave(tandem.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
  }];
}

def : Composite<"repeat_interleave_tensor",
    "Tensor input, Tensor repeats, int? dim=None, *, int? output_size=None"> {
  let takesOut = 0;
  let python = "repeat_interleave";
  let summary = "Slice i of `dim` (of the flattened tensor when None) repeats[i] times in a row. With `output_size`, "
                "their sum, no data is read.";
  let shapes = "`repeats` [size of `dim`], or [1]; `input` with their sum as size of `dim`, flat when `dim` is None";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.repeat_interleave(tandem.tensor([[1, 2], [3, 4]]), tandem.tensor([1, 2]), dim=0)
    tensor([[1, 2],
            [3, 4],
            [3, 4]])
  }];
}

def : Composite<"repeat_interleave_counts", "Tensor repeats, *, int? output_size=None"> {
  let python = "repeat_interleave";
  let forms = ["function"];
  let takesOut = 0;
  let summary = "Each place i repeats[i] times in a row.";
  let shapes = "[N]; the result is [sum of `repeats`]";
  let accepts = "Integer";
  let gives = "Int64";
  let example = [{
    >>> tandem.repeat_interleave(tandem.tensor([2, 0, 1]))
    tensor([0, 0, 2])
  }];
}

def : Composite<"flip", "Tensor input, int[] dims"> {
  let takesOut = 0;
  let summary = "Elements in reverse order along `dims`.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.flip(tandem.tensor([[1, 2], [3, 4]]), (0, 1))
    tensor([[4, 3],
            [2, 1]])
  }];
  let reference = "flip";
}

def : Composite<"fliplr", "Tensor input"> {
  let takesOut = 0;
  let summary = "Elements in reverse order along dim 1.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.fliplr(tandem.tensor([[1, 2], [3, 4]]))
    tensor([[2, 1],
            [4, 3]])
  }];
  let reference = "fliplr";
}

def : Composite<"flipud", "Tensor input"> {
  let takesOut = 0;
  let summary = "Elements in reverse order along dim 0.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.flipud(tandem.tensor([[1, 2], [3, 4]]))
    tensor([[3, 4],
            [1, 2]])
  }];
  let reference = "flipud";
}

def : Composite<"roll", "Tensor input, int[] shifts, int[] dims=[]"> {
  let takesOut = 0;
  let summary = "Elements moved by shifts[i] along dims[i], from the end round to the beginning; of the flattened "
                "tensor without `dims`.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.roll(tandem.tensor([1, 2, 3, 4]), 1)
    tensor([4, 1, 2, 3])
  }];
}

def : Composite<"rot90", "Tensor input, int k=1, int[] dims=[0, 1]"> {
  let takesOut = 0;
  let summary = "Rotated by k quarter turns from dims[0] towards dims[1].";
  let shapes = "`input` with the sizes of both `dims` swapped for odd `k`";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.rot90(tandem.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
  }];
  let reference = "rot90";
}
