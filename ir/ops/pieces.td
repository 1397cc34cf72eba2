// Operations that join and split (eager/composites: joining.cpp, pieces.cpp), and results with a part replaced.

def : Library<"cat_plain", "Tensor[] tensors, int dim", "cat"> {
  let forms = ["hidden"];
  let rule = "cat";
  let batching = "alongDim";
  let summary = "Tensors of one dtype joined along `dim`.";
}

def : Composite<"cat", "Tensor[] tensors, int dim=0"> {
  let aliases = ["concat", "concatenate"];
  let forms = ["function"];
  let mixedPrecision = "Promote";
  let summary = "Tensors joined along `dim`; the other sizes are equal, dtypes promote.";
  let shapes = "equal but in `dim`, whose sizes add up; empty vectors count as nothing";
  let accepts = "Any";
  let gives = "Promote";
  let raises = [Raises<"RuntimeError", "sizes differ in another dim than `dim`, or the list is empty",
                       "tandem.cat([tandem.ones(1, 2), tandem.ones(1, 3)], 0)">];
  let example = [{
    >>> tandem.cat([tandem.tensor([[1, 2]]), tandem.tensor([[3, 4]])], dim=0)
    tensor([[1, 2],
            [3, 4]])
    >>> tandem.cat([tandem.tensor([1]), tandem.tensor([0.5])])
    tensor([1.0000, 0.5000])
  }];
  let reference = "concatenate";
}

def : Composite<"stack", "Tensor[] tensors, int dim=0"> {
  let forms = ["function"];
  let mixedPrecision = "Promote";
  let summary = "Tensors of one shape joined along a new dim.";
  let shapes = "all equal; the result has a dim more, at `dim`, as long as the list";
  let accepts = "Any";
  let gives = "Promote";
  let raises = [Raises<"RuntimeError", "shapes differ, or the list is empty",
                       "tandem.stack([tandem.ones(2), tandem.ones(3)])">];
  let example = [{
    >>> tandem.stack([tandem.tensor([1, 2]), tandem.tensor([3, 4])], dim=1)
    tensor([[1, 3],
            [2, 4]])
  }];
  let reference = "stack";
}

def : Composite<"hstack", "Tensor[] tensors"> {
  let forms = ["function"];
  let summary = "Tensors joined along dim 1 (vectors along dim 0).";
  let shapes = "equal but in dim 1 (vectors: dim 0), whose sizes add up";
  let accepts = "Any";
  let gives = "Promote";
  let example = [{
    >>> tandem.hstack([tandem.tensor([[1], [2]]), tandem.tensor([[3], [4]])])
    tensor([[1, 3],
            [2, 4]])
  }];
  let reference = "hstack";
}

def : Composite<"vstack", "Tensor[] tensors"> {
  let aliases = ["row_stack"];
  let forms = ["function"];
  let summary = "Tensors joined along dim 0, vectors as rows.";
  let shapes = "equal but in dim 0, whose sizes add up; vectors [N] count as [1, N]";
  let accepts = "Any";
  let gives = "Promote";
  let example = [{
    >>> tandem.vstack([tandem.tensor([1, 2]), tandem.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
  }];
  let reference = "vstack";
}

def : Composite<"dstack", "Tensor[] tensors"> {
  let forms = ["function"];
  let summary = "Tensors joined along dim 2.";
  let shapes = "equal but in dim 2, whose sizes add up; [N] counts as [1, N, 1], [M, N] as [M, N, 1]";
  let accepts = "Any";
  let gives = "Promote";
  let example = [{
    >>> tandem.dstack([tandem.tensor([1, 2]), tandem.tensor([3, 4])])
    tensor([[[1, 3],
             [2, 4]]])
  }];
  let reference = "dstack";
}

def : Composite<"column_stack", "Tensor[] tensors"> {
  let forms = ["function"];
  let summary = "Tensors joined along dim 1, vectors as columns.";
  let shapes = "equal but in dim 1, whose sizes add up; vectors [N] count as [N, 1]";
  let accepts = "Any";
  let gives = "Promote";
  let example = [{
    >>> tandem.column_stack([tandem.tensor([1, 2]), tandem.tensor([3, 4])])
    tensor([[1, 3],
            [2, 4]])
  }];
  let reference = "column_stack";
}

def : Composite<"block_diag", "Tensor[] tensors"> {
  let oneByOne = 1;
  let forms = ["function"];
  let takesOut = 0;
  let summary = "A matrix with the given matrices along its diagonal, zeros elsewhere; vectors count as rows, numbers "
                "as 1 x 1.";
  let shapes = "[M1, N1], [M2, N2], ...; the result is [M1 + M2 + ..., N1 + N2 + ...]";
  let accepts = "Any";
  let gives = "Promote";
  let example = [{
    >>> tandem.block_diag(tandem.tensor([[1, 2]]), tandem.tensor([[3], [4]]))
    tensor([[1, 2, 0],
            [0, 0, 3],
            [0, 0, 4]])
  }];
}

def : Pieces<"meshgrid", "Tensor[] tensors, *, str? indexing=None"> {
  let oneByOne = 1;
  let forms = ["function"];
  let summary = "The coordinates of a grid from those along each axis, as views: `tensors[i]` varies along dim i "
                "('ij'), or with the first two dims swapped ('xy').";
  let shapes = "vectors [N1], [N2], ... or 0-d; each result is [N1, N2, ...], the first two swapped for 'xy'";
  let accepts = "Any";
  let gives = "Promote";
  let example = [{
    >>> x, y = tandem.meshgrid(tandem.tensor([1, 2]), tandem.tensor([3, 4, 5]), indexing="ij")
    >>> y
    tensor([[3, 4, 5],
            [3, 4, 5]])
  }];
}

def : Composite<"cartesian_prod", "Tensor[] tensors"> {
  let oneByOne = 1;
  let forms = ["function"];
  let takesOut = 0;
  let summary = "All tuples of one element from each vector, as rows.";
  let shapes = "[N1], [N2], ...; the result is [N1 * N2 * ..., how many]; one vector as it is";
  let accepts = "Any";
  let gives = "Promote";
  let example = [{
    >>> tandem.cartesian_prod(tandem.tensor([1, 2]), tandem.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
  }];
}

def : Composite<"combinations", "Tensor input, int r=2, bool with_replacement=False"> {
  let takesOut = 0;
  let summary = "All choices of `r` elements of a vector in order, as rows.";
  let shapes = "[N]; the result is [number of choices, r]";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.combinations(tandem.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
  }];
}

def : Composite<"chunk", "Tensor input, int chunks, int dim=0"> {
  let results = "Tensor[]";
  let summary = "At most `chunks` pieces along `dim`, as views.";
  let shapes = "`input`, shorter in `dim`: together they are `input`";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.chunk(tandem.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
  }];
}

def : Composite<"split", "Tensor tensor, int split_size_or_sections, int dim=0"> {
  let python = "split";
  let rule = "pieces";
  let results = "Tensor[]";
  let summary = "Pieces of a size along `dim`, as views; the last may be smaller.";
  let shapes = "`input`, shorter in `dim`: together they are `input`";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.split(tandem.arange(5), 2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
  }];
}

def : Composite<"split_sizes", "Tensor tensor, int[] split_size_or_sections, int dim=0"> {
  let python = "split";
  let results = "Tensor[]";
  let summary = "Pieces of the given sizes along `dim`, as views.";
  let shapes = "`input`, shorter in `dim`: together they are `input`";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.split(tandem.arange(5), [1, 4])
    (tensor([0]), tensor([1, 2, 3, 4]))
  }];
}

def : Pieces<"split_with_sizes", "Tensor input, int[] split_sizes, int dim=0"> {
  let rule = "pieces";
  let summary = "Pieces of the given sizes along `dim`, as views.";
  let shapes = "`input`, shorter in `dim`: together they are `input`";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.split_with_sizes(tandem.arange(5), [1, 4])
    (tensor([0]), tensor([1, 2, 3, 4]))
  }];
}

def : Composite<"unbind", "Tensor input, int dim=0"> {
  let rule = "unbind";
  let results = "Tensor[]";
  let summary = "All slices of `dim`, as views.";
  let shapes = "`input` without `dim`, as many times as `dim` is long";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.unbind(tandem.tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
  }];
}

def : Pieces<"tensor_split", "Tensor input, int sections, int dim=0"> {
  let summary = "`sections` pieces along `dim`, as views; the first ones are one larger where they cannot be equal.";
  let shapes = "`input`, shorter in `dim`: together they are `input`";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.tensor_split(tandem.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
  }];
}

def : Pieces<"tensor_split_at", "Tensor input, int[] indices, int dim=0"> {
  let python = "tensor_split";
  let summary = "Pieces that end before each of `indices` along `dim`, and the rest, as views.";
  let shapes = "`input`, shorter in `dim`: together they are `input`";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.tensor_split(tandem.arange(5), (1, 3))
    (tensor([0]), tensor([1, 2]), tensor([3, 4]))
  }];
}

def : Pieces<"tensor_split_tensor", "Tensor input, Tensor tensor_indices_or_sections, int dim=0"> {
  let python = "tensor_split";
  let summary = "As above, the number or the indices in an int64 tensor, which is read.";
  let shapes = "`input`, shorter in `dim`: together they are `input`";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.tensor_split(tandem.arange(5), tandem.tensor([1, 3]))
    (tensor([0]), tensor([1, 2]), tensor([3, 4]))
  }];
}

def : Pieces<"hsplit", "Tensor input, int sections"> {
  let summary = "Equal pieces along dim 1 (dim 0 of vectors), as views.";
  let shapes = "[N] or [M, N, ...], divided in N";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> left, right = tandem.hsplit(tandem.tensor([[1, 2], [3, 4]]), 2)
    >>> left
    tensor([[1],
            [3]])
  }];
}

def : Pieces<"hsplit_at", "Tensor input, int[] indices"> {
  let python = "hsplit";
  let summary = "Pieces along dim 1 (dim 0 of vectors) that end before each of `indices`, as views.";
  let shapes = "[N] or [M, N, ...], divided in N";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.hsplit(tandem.arange(4), [1])
    (tensor([0]), tensor([1, 2, 3]))
  }];
}

def : Pieces<"vsplit", "Tensor input, int sections"> {
  let summary = "Equal pieces along dim 0, as views.";
  let shapes = "[N, ...], at least 2-d, divided in N";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.vsplit(tandem.tensor([[1, 2], [3, 4]]), 2)
    (tensor([[1, 2]]), tensor([[3, 4]]))
  }];
}

def : Pieces<"vsplit_at", "Tensor input, int[] indices"> {
  let python = "vsplit";
  let summary = "Pieces along dim 0 that end before each of `indices`, as views.";
  let shapes = "[N, ...], at least 2-d, divided in N";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.vsplit(tandem.tensor([[1, 2], [3, 4]]), [1])
    (tensor([[1, 2]]), tensor([[3, 4]]))
  }];
}

def : Pieces<"dsplit", "Tensor input, int sections"> {
  let summary = "Equal pieces along dim 2, as views.";
  let shapes = "[L, M, N, ...], divided in N";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> [piece.shape for piece in tandem.dsplit(tandem.zeros(2, 2, 4), 2)]
    [tandem.Size([2, 2, 2]), tandem.Size([2, 2, 2])]
  }];
}

def : Pieces<"dsplit_at", "Tensor input, int[] indices"> {
  let python = "dsplit";
  let summary = "Pieces along dim 2 that end before each of `indices`, as views.";
  let shapes = "[L, M, N, ...], divided in N";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> [piece.shape for piece in tandem.dsplit(tandem.zeros(2, 2, 4), [1])]
    [tandem.Size([2, 2, 1]), tandem.Size([2, 2, 3])]
  }];
}

def : Pieces<"unsafe_chunk", "Tensor input, int chunks, int dim=0"> {
  let summary = "As `chunk`.";
  let shapes = "`input`, shorter in `dim`: together they are `input`";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.unsafe_chunk(tandem.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
  }];
}

def : Pieces<"unsafe_split_with_sizes", "Tensor input, int[] split_sizes, int dim=0"> {
  let summary = "As `split_with_sizes`.";
  let shapes = "`input`, shorter in `dim`: together they are `input`";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.unsafe_split_with_sizes(tandem.arange(5), [1, 4])
    (tensor([0]), tensor([1, 2, 3, 4]))
  }];
}

def : Pieces<"unsafe_split", "Tensor input, int split_size, int dim=0"> {
  let summary = "As `split`.";
  let shapes = "`input`, shorter in `dim`: together they are `input`";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.unsafe_split(tandem.arange(5), 2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
  }];
}

def : Library<"take_pieces", "Tensor input, int dim, int[] pieces", "takePieces"> {
  let forms = ["hidden"];
  let rule = "takePieces";
  let batching = "alongDim";
  let summary = "The places of `dim` and of the dims behind it that `pieces` (runtime/base/pieces.h) runs through; "
                "dims without pieces whole.";
  let samples = "none";
}

def : Composite<"diagonal_scatter", "Tensor input, Tensor src, int offset=0, int dim1=0, int dim2=1"> {
  let takesOut = 0;
  let summary = "A copy of `input` with a diagonal replaced by `src`.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.diagonal_scatter(tandem.zeros(2, 2), tandem.tensor([1., 2.]))
    tensor([[1., 0.],
            [0., 2.]])
  }];
}

def : Composite<"select_scatter", "Tensor input, Tensor src, int dim, int index"> {
  let takesOut = 0;
  let summary = "A copy of `input` with the slice at `index` of `dim` replaced by `src`.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.select_scatter(tandem.zeros(2, 2), tandem.tensor([1., 2.]), 0, 1)
    tensor([[0., 0.],
            [1., 2.]])
  }];
}

def : Composite<"slice_scatter",
    "Tensor input, Tensor src, int dim=0, int? start=None, int? end=None, int step=1"> {
  let summary = "A copy of `input` with start, start + step, ... below `end` of `dim` replaced by `src`.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.slice_scatter(tandem.zeros(4), tandem.tensor([1., 2.]), start=1, end=3)
    tensor([0., 1., 2., 0.])
  }];
}

def : Composite<"as_strided_scatter",
    "Tensor input, Tensor src, int[] size, int[] stride, int? storage_offset=None"> {
  let takesOut = 0;
  let summary = "A copy of `input` with a strided window replaced by `src`; strides and offset count elements of a "
                "contiguous `input`.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.as_strided_scatter(tandem.zeros(4), tandem.tensor([1., 2.]), (2,), (3,))
    tensor([1., 0., 0., 2.])
  }];
}

def : Scatter<"window_write",
    "Tensor input, Tensor value, int[] size, int[] stride, int offset",
    "windowWrite"> {
  let failure = "Never";
  let forms = ["hidden"];
  let rule = "windowWrite";
  let batching = "windowWrite";
  let summary = "A copy of the contiguous `input` with a strided window of it replaced by `value`.";
}
