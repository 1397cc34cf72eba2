// Reading and writing at indices, and searching (eager/composites: indexing.cpp, scatter_reduce.cpp, searching.cpp,
// unique.cpp), beside those of structured.td and composite.td that the others stand on.

// ---- reading and writing at indices ----
def Take : Composite<"take", "Tensor input, Tensor index"> { let summary = "Elements of the flattened `input` at `index`."; let reference = "take"; }
def GatherSparse : Composite<"gather_sparse", "Tensor input, int dim, Tensor index, *, bool sparse_grad"> { let summary = "As above; gradients are dense, whatever `sparse_grad` says."; let python = "gather"; }
def WhereTrue : Composite<"where_true", "Tensor condition"> { let summary = "Where `condition` holds: a vector of indices a dim, as `nonzero(as_tuple=True)`."; let python = "where"; let results = "Tensor[]"; let forms = ["function"]; }
def WhereMethod : Composite<"where_method", "Tensor input, Tensor condition, Operand other"> { let summary = "`input` where `condition` holds, `other` elsewhere."; let python = "where"; let forms = ["method"]; }
def Put : Composite<"put", "Tensor input, Tensor index, Tensor source, bool accumulate=False"> { let summary = "A copy of `input` with `source` written (or added, in order) at `index` of the flattened tensor."; let forms = ["function", "method", "inplace"]; }
def IndexPutT : Composite<"index_put", "Tensor input, Tensor[] indices, Tensor values, bool accumulate=False"> { let repeats = "Warned"; let summary = "A copy of `input` with `values` written (or added, in order) at indices[i] of dim i, as input[indices] = values; masks stand for the places where they hold."; let forms = ["function", "method", "inplace"]; }
def IndexFill : Composite<"index_fill", "Tensor input, int dim, Tensor index, Operand value"> { let repeats = "Warned"; let summary = "A copy of `input` with the slices of `dim` at `index` filled with `value`."; let forms = ["function", "method", "inplace"]; }
def IndexCopy : Composite<"index_copy", "Tensor input, int dim, Tensor index, Tensor source"> { let summary = "A copy of `input` with the slices of `source` written at `index` of `dim`, in order."; let forms = ["function", "method", "inplace"]; }
def MaskedScatter : Composite<"masked_scatter", "Tensor input, Tensor mask, Tensor source"> { let summary = "The elements of `source`, in order, where `mask` holds, `input` elsewhere."; let forms = ["function", "method", "inplace"]; }

// ---- scattering with a reduction ----
def ScatterWith : Composite<"scatter_with", "Tensor input, int dim, Tensor index, Operand src, *, str reduce"> { let summary = "A copy of `input` to which `src` is added ('add'), or by which it is multiplied ('multiply'), at `index` along `dim`."; let python = "scatter"; let forms = ["function", "method", "inplace"]; }
def ScatterReduce : Composite<"scatter_reduce", "Tensor input, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True"> { let summary = "The 'sum', 'prod', 'mean', 'amin' or 'amax' of all `src` with the same `index` along `dim`, and of `input` there if include_self; `input` where there are none."; let forms = ["function", "method", "inplace"]; }
def IndexReduce : Composite<"index_reduce", "Tensor input, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True"> { let summary = "The 'prod', 'mean', 'amin' or 'amax' of all slices of `source` with the same `index`, and of `input` there if include_self; `input` where there are none."; let forms = ["function", "method", "inplace"]; }
def ScatterCombine : Library<"scatter_combine", "Tensor input, int dim, Tensor index, Tensor src, int kind", "scatter"> { let updates = 1; let summary = "A copy of `input` combined with src[i] at index[i] along `dim`, in row-major order: product (kind 0), smaller (1) or larger (2); NaN wins."; let forms = ["hidden"]; }

// ---- searching ----
def SearchSorted : Composite<"searchsorted", "Tensor sorted_sequence, Operand input, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None"> { let summary = "Where each element of `input` would be inserted into the rows of `sorted_sequence` to keep them sorted: before equal elements, or behind them (`right`, or side='right'); NaN counts as largest. `sorter` holds the order of rows that are not sorted."; let forms = ["function"]; }
def Bucketize : Composite<"bucketize", "Operand input, Tensor boundaries, *, bool out_int32=False, bool right=False"> { let summary = "The bucket of each element of `input` between the ascending `boundaries`: how many of them are smaller (or not larger if `right`)."; let forms = ["function"]; }
def SearchRows : Library<"search_rows", "Tensor sorted_sequence, Tensor input, bool right", "searchRows"> { let summary = "searchsorted of rows of one dtype."; let forms = ["hidden"]; }
def IsIn : Composite<"isin", "Operand elements, Operand test_elements, *, bool assume_unique=False, bool invert=False"> { let summary = "Is each element among `test_elements` (or not, if `invert`)?"; let forms = ["function"]; let reference = "isin"; }
def LexOrder : Library<"lex_order", "Tensor rows", "lexOrder"> { let summary = "The order of the rows of a matrix, compared from their first element on; equal ones stay in order, NaN counts as largest."; let forms = ["hidden"]; }
def MSort : Composite<"msort", "Tensor input"> { let summary = "Elements in order along dim 0."; }

// ---- results whose sizes depend on data ----
def ArgWhere : Composite<"argwhere", "Tensor input"> { let summary = "Where elements are not zero: a row of indices each."; let reference = "argwhere"; }
def NonZeroStatic : Composite<"nonzero_static", "Tensor input, *, int size, int fill_value=-1"> { let summary = "The first `size` rows of nonzero, rows of `fill_value` behind the last: a size that does not depend on data."; }
def RepeatInterleaveTensor : Composite<"repeat_interleave_tensor", "Tensor input, Tensor repeats, int? dim=None, *, int? output_size=None"> { let summary = "Slice i of `dim` (of the flattened tensor when None) repeats[i] times in a row. With `output_size`, their sum, no data is read."; let python = "repeat_interleave"; }
def RepeatInterleaveCounts : Composite<"repeat_interleave_counts", "Tensor repeats, *, int? output_size=None"> { let summary = "Each place i repeats[i] times in a row."; let python = "repeat_interleave"; let forms = ["function"]; }
class OneOrMore<string n, string p> : Composite<n, p> { let results = "Tensor or Tensor[]"; }
def Unique : OneOrMore<"unique", "Tensor input, bool sorted=True, bool return_inverse=False, bool return_counts=False, int? dim=None"> { let summary = "The different elements (slices of `dim` when given) in ascending order; where each element of `input` is among them, and how often each occurs, when asked for. NaN differs from itself."; }
def UniqueConsecutive : OneOrMore<"unique_consecutive", "Tensor input, bool return_inverse=False, bool return_counts=False, int? dim=None"> { let summary = "The first of each run of equal elements (slices of `dim` when given); which run each element of `input` is in, and how long each is, when asked for."; }
