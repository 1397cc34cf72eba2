// Order and search: sorting, the largest, places in sorted lists, distinct elements.

def : Sort<"sort", "Tensor input, int dim=-1, bool descending=False, bool stable=False", "valuesAndIndices"> {
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let rule = "byIndices";
  let saves = ["out1"];
  let batching = "alongDim";
  let summary = "Elements in order along `dim`, and where they were; NaN counts as largest. Always stable.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "FirstAndIndices";
  let example = [{
    >>> tandem.sort(tandem.tensor([3., 1., 2.]))
    tandem.return_types.sort(
    values=tensor([1., 2., 3.]),
    indices=tensor([1, 2, 0]))
  }];
}

def : Composite<"msort", "Tensor input"> {
  let summary = "Elements in order along dim 0.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "First";
  let example = [{
    >>> tandem.msort(tandem.tensor([[3, 1], [2, 4]]))
    tensor([[2, 1],
            [3, 4]])
  }];
}

def : Composite<"argsort", "Tensor input, int dim=-1, bool descending=False, bool stable=False"> {
  let summary = "Places of the elements in order along `dim`.";
  let shapes = "Same";
  let accepts = "Any";
  let gives = "Int64";
  let example = [{
    >>> tandem.argsort(tandem.tensor([3., 1., 2.]), descending=True)
    tensor([0, 2, 1])
  }];
}

def : Sort<"topk", "Tensor input, int k, int dim=-1, bool largest=True, bool sorted=True", "topk"> {
  let results = "(Tensor, Tensor)";
  let numResults = 2;
  let rule = "byIndices";
  let saves = ["out1"];
  let batching = "alongDim";
  let summary = "The k largest (or smallest) elements along `dim`, in order, and their places.";
  let shapes = "`input`, with size `k` in `dim`";
  let accepts = "Any";
  let gives = "FirstAndIndices";
  let raises = [Raises<"RuntimeError", "`k` is larger than the size of `dim`", "tandem.topk(tandem.ones(2), 3)">];
  let example = [{
    >>> tandem.topk(tandem.tensor([1., 4., 2., 3.]), 2)
    tandem.return_types.topk(
    values=tensor([4., 3.]),
    indices=tensor([1, 3]))
  }];
}

def : Sort<"lex_order", "Tensor rows", "lexOrder"> {
  let forms = ["hidden"];
  let differentiable = 0;
  let summary = "The order of the rows of a matrix, compared from their first element on; equal ones stay in order, "
                "NaN counts as largest.";
}

def : Composite<"searchsorted",
    "Tensor sorted_sequence, Operand input, *, bool out_int32=False, bool right=False, str? side=None, Tensor? "
    "sorter=None"> {
  let forms = ["function"];
  let differentiable = 0;
  let summary = "Where each element of `input` would be inserted into the rows of `sorted_sequence` to keep them "
                "sorted: before equal elements, or behind them (`right`, or side='right'); NaN counts as largest. "
                "`sorter` holds the order of rows that are not sorted.";
  let shapes = "`sorted_sequence` [..., N]; `input` with the same leading sizes, or any shape if the sequence is 1-d. "
               "The result has the shape of `input`";
  let accepts = "Any";
  let gives = "int32 for `out_int32`, else int64";
  let example = [{
    >>> tandem.searchsorted(tandem.tensor([1., 3., 5.]), tandem.tensor([3., 4.]))
    tensor([1, 2])
    >>> tandem.searchsorted(tandem.tensor([1., 3., 5.]), tandem.tensor([3., 4.]), right=True)
    tensor([2, 2])
  }];
}

def : Composite<"bucketize", "Operand input, Tensor boundaries, *, bool out_int32=False, bool right=False"> {
  let forms = ["function"];
  let differentiable = 0;
  let summary = "The bucket of each element of `input` between the ascending `boundaries`: how many of them are "
                "smaller (or not larger if `right`).";
  let shapes = "`boundaries` 1-d; the result has the shape of `input`";
  let accepts = "Any";
  let gives = "int32 for `out_int32`, else int64";
  let example = [{
    >>> tandem.bucketize(tandem.tensor([0.5, 2., 9.]), tandem.tensor([1., 2., 3.]))
    tensor([0, 1, 3])
  }];
}

def : Library<"search_rows", "Tensor sorted_sequence, Tensor input, bool right", "searchRows"> {
  let forms = ["hidden"];
  let differentiable = 0;
  let summary = "searchsorted of rows of one dtype.";
}

def : Composite<"isin",
    "Operand elements, Operand test_elements, *, bool assume_unique=False, bool invert=False"> {
  let forms = ["function"];
  let summary = "Is each element among `test_elements` (or not, if `invert`)?";
  let shapes = "the result has the shape of `elements`";
  let accepts = "Any";
  let gives = "Bool";
  let example = [{
    >>> tandem.isin(tandem.tensor([1, 2, 3]), tandem.tensor([2, 5]))
    tensor([False,  True, False])
  }];
  let reference = "isin";
}

class OneOrMore<string n, string p> : Composite<n, p> {
  let results = "Tensor or Tensor[]";
}

def : OneOrMore<"unique",
    "Tensor input, bool sorted=True, bool return_inverse=False, bool return_counts=False, int? dim=None"> {
  let summary = "The different elements (slices of `dim` when given) in ascending order; where each element of "
                "`input` is among them, and how often each occurs, when asked for. NaN differs from itself.";
  let shapes = "flat without `dim`: [how many], and the inverse in the shape of `input`; with `dim`, the slices that "
               "remain, and the inverse [size of `dim`]; counts [how many]";
  let accepts = "Any";
  let gives = "FirstAndIndices";
  let example = [{
    >>> tandem.unique(tandem.tensor([3, 1, 3, 2]))
    tensor([1, 2, 3])
    >>> tandem.unique(tandem.tensor([3, 1, 3]), return_inverse=True, return_counts=True)
    (tensor([1, 3]), tensor([1, 0, 1]), tensor([1, 2]))
  }];
}

def : OneOrMore<"unique_consecutive",
    "Tensor input, bool return_inverse=False, bool return_counts=False, int? dim=None"> {
  let summary = "The first of each run of equal elements (slices of `dim` when given); which run each element of "
                "`input` is in, and how long each is, when asked for.";
  let shapes = "flat without `dim`: [how many], and the inverse in the shape of `input`; with `dim`, the slices that "
               "remain, and the inverse [size of `dim`]; counts [how many]";
  let accepts = "Any";
  let gives = "FirstAndIndices";
  let example = [{
    >>> tandem.unique_consecutive(tandem.tensor([1, 1, 2, 2, 1]))
    tensor([1, 2, 1])
  }];
}
