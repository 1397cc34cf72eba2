// Views: another window on the same storage. Written in eager/views.cpp; no kernel, no copy.

def View_ : View<"view", "Tensor input, int[] size"> { let summary = "The same elements in another shape, without a copy; an error where strides do not allow it. One size may be -1."; let forms = ["method"]; let reference = "reshape"; }
def Expand : View<"expand", "Tensor input, int[] size"> { let summary = "Dims of size 1 repeated to `size` without a copy; -1 keeps a size."; let forms = ["method"]; let reference = "broadcast_to"; }
def Permute : View<"permute", "Tensor input, int[] dims"> { let summary = "Dims in another order."; let reference = "transpose"; }
def Transpose : View<"transpose", "Tensor input, int dim0, int dim1"> { let summary = "Two dims swapped."; let aliases = ["swapaxes", "swapdims"]; let reference = "swapaxes"; let forms = ["function", "method", "inview"]; }
def Select : View<"select", "Tensor input, int dim, int index"> { let summary = "The slice at `index` of `dim`, which is dropped."; let reference = "take"; }
def Slice : View<"slice", "Tensor input, int dim, int start, int end, int step"> { let summary = "Elements start, start + step, ... below `end` of `dim`."; let forms = ["hidden"]; }
def Unsqueeze : View<"unsqueeze", "Tensor input, int dim"> { let summary = "A dim of size 1 inserted at `dim`."; let reference = "expand_dims"; let forms = ["function", "method", "inview"]; }
def SqueezeDims : View<"squeeze_dims", "Tensor input, int[] dims"> { let summary = "Those of `dims` that have size 1 dropped."; let forms = ["hidden"]; let reference = "squeeze"; }
def Diagonal : View<"diagonal", "Tensor input, int offset=0, int dim1=0, int dim2=1"> { let summary = "The diagonal of two dims, as the last dim."; }
def AsStrided : View<"as_strided", "Tensor input, int[] size, int[] stride, int? storage_offset=None"> { let summary = "Any window on the storage of `input`; sizes, strides and offset count elements."; let forms = ["function", "method", "inview"]; }
def Unfold : View<"unfold", "Tensor input, int dimension, int size, int step"> { let summary = "Windows of `size` every `step` along `dimension`, as a new last dim."; let forms = ["method"]; }
def Alias : View<"alias", "Tensor input"> { let summary = "The same window."; let forms = ["hidden"]; }

// Into and out of `vmap` (eager/batch_dims.h); `axis` is the number of a live axis.
def BatchIn : View<"batch_in", "Tensor input, int dim, int axis"> { let summary = "`dim` hidden: the examples of a batch axis."; let forms = ["hidden"]; let samples = "none"; }
def BatchOut : View<"batch_out", "Tensor input, int dim, int axis"> { let summary = "The examples of a batch axis as a new dim at `dim`; copies without copying where there are none."; let forms = ["hidden"]; let samples = "none"; }
