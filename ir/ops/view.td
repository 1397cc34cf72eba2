// Views: another window on the same storage. Written in eager/views.cpp; no kernel, no copy.

def : View<"view", "Tensor input, int[] size"> {
  let forms = ["method"];
  let rule = "view";
  let summary = "The same elements in another shape, without a copy; an error where strides do not allow it. One size "
                "may be -1.";
  let shapes = "`input` in the shape `size`; one size of it may be -1";
  let raises = [Raises<"RuntimeError", "the number of elements differs, or strides do not allow a view",
                       "tandem.ones(2, 3).t().view(6)">];
  let example = [{
    >>> tandem.arange(6).view(2, 3)
    tensor([[0, 1, 2],
            [3, 4, 5]])
  }];
  let reference = "reshape";
}

def : View<"expand", "Tensor input, int[] size"> {
  let forms = ["method"];
  let rule = "expand";
  let summary = "Dims of size 1 repeated to `size` without a copy; -1 keeps a size.";
  let shapes = "`input` broadcasts to `size`; -1 keeps a size";
  let raises = [Raises<"RuntimeError", "`size` does not fit", "tandem.ones(2, 3).expand(2, 4)">];
  let example = [{
    >>> tandem.tensor([[1], [2]]).expand(-1, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
  }];
  let reference = "broadcast_to";
}

def : View<"permute", "Tensor input, int[] dims"> {
  let rule = "permute";
  let summary = "Dims in another order.";
  let shapes = "`input` with its sizes in the order `dims`";
  let raises = [Raises<"RuntimeError", "there are repeated or too few dims",
                       "tandem.permute(tandem.ones(2, 3), (0, 0))">];
  let example = [{
    >>> tandem.permute(tandem.zeros(2, 3, 4), (2, 0, 1)).shape
    tandem.Size([4, 2, 3])
  }];
  let reference = "transpose";
}

def : View<"transpose", "Tensor input, int dim0, int dim1"> {
  let aliases = ["swapaxes", "swapdims"];
  let forms = ["function", "method", "inview"];
  let rule = "transpose";
  let summary = "Two dims swapped.";
  let shapes = "`input` with two sizes swapped";
  let example = [{
    >>> tandem.transpose(tandem.zeros(2, 3, 4), 0, 2).shape
    tandem.Size([4, 3, 2])
  }];
  let inPlaceExample = [{
    >>> tandem.zeros(2, 3, 4).transpose_(0, 2).shape
    tandem.Size([4, 3, 2])
  }];
  let reference = "swapaxes";
}

def : View<"select", "Tensor input, int dim, int index"> {
  let rule = "select";
  let summary = "The slice at `index` of `dim`, which is dropped.";
  let shapes = "`input` without `dim`";
  let example = [{
    >>> tandem.select(tandem.tensor([[1, 2], [3, 4]]), 1, 0)
    tensor([1, 3])
  }];
  let reference = "take";
}

def : View<"slice", "Tensor input, int dim, int start, int end, int step"> {
  let forms = ["hidden"];
  let rule = "slice";
  let summary = "Elements start, start + step, ... below `end` of `dim`.";
}

def : View<"unsqueeze", "Tensor input, int dim"> {
  let forms = ["function", "method", "inview"];
  let rule = "unsqueeze";
  let summary = "A dim of size 1 inserted at `dim`.";
  let shapes = "`input` with a dim of size 1 more";
  let example = [{
    >>> tandem.unsqueeze(tandem.tensor([1, 2]), 1)
    tensor([[1],
            [2]])
  }];
  let reference = "expand_dims";
}

def : View<"squeeze_dims", "Tensor input, int[] dims"> {
  let forms = ["hidden"];
  let rule = "squeezeDims";
  let summary = "Those of `dims` that have size 1 dropped.";
  let reference = "squeeze";
}

def : View<"diagonal", "Tensor input, int offset=0, int dim1=0, int dim2=1"> {
  let rule = "diagonal";
  let summary = "The diagonal of two dims, as the last dim.";
  let shapes = "`input` without dim1 and dim2, and the length of the diagonal behind";
  let example = [{
    >>> tandem.diagonal(tandem.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
  }];
}

def : View<"as_strided", "Tensor input, int[] size, int[] stride, int? storage_offset=None"> {
  let forms = ["function", "method", "inview"];
  let rule = "asStrided";
  let summary = "Any window on the storage of `input`; sizes, strides and offset count elements.";
  let shapes = "`size`";
  let example = [{
    >>> tandem.as_strided(tandem.arange(6), (3, 2), (1, 2))
    tensor([[0, 2],
            [1, 3],
            [2, 4]])
  }];
}

def : View<"unfold", "Tensor input, int dimension, int size, int step"> {
  let forms = ["method"];
  let rule = "unfold";
  let summary = "Windows of `size` every `step` along `dimension`, as a new last dim.";
  let shapes = "`input` with (size of `dimension` - size) // step + 1 in `dimension`, and `size` behind";
  let example = [{
    >>> tandem.arange(5).unfold(0, 3, 1)
    tensor([[0, 1, 2],
            [1, 2, 3],
            [2, 3, 4]])
  }];
}

def : View<"alias", "Tensor input"> {
  let forms = ["hidden"];
  let rule = "alias";
  let summary = "The same window.";
}

// Into and out of `vmap` (eager/batch_dims.h); `axis` is the number of a live axis.
def : View<"batch_in", "Tensor input, int dim, int axis"> {
  let forms = ["hidden"];
  let rule = "batchIn";
  let summary = "`dim` hidden: the examples of a batch axis.";
  let samples = "none";
}

def : View<"batch_out", "Tensor input, int dim, int axis"> {
  let forms = ["hidden"];
  let rule = "batchOut";
  let summary = "The examples of a batch axis as a new dim at `dim`; copies without copying where there are none.";
  let samples = "none";
}
