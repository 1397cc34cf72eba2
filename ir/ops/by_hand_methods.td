// Docstrings of methods bound by hand (python/src/tensor_methods.cpp): sizes, memory, reading, conversion.

def : ByHand<"method", "size", "dim=None", [{
All sizes as a `tandem.Size`, or that of one dim as an int.

Raises: IndexError if `dim` is out of range.

>>> x = tandem.zeros(2, 3)
>>> x.size(), x.size(-1)
(tandem.Size([2, 3]), 3)
}]>;
def : ByHand<"method", "stride", "dim=None", [{
All strides as a tuple, or that of one dim: how many elements of the storage lie between neighbours.

Raises: IndexError if `dim` is out of range.

>>> x = tandem.zeros(2, 3)
>>> x.stride(), x.t().stride(), x.stride(0)
((3, 1), (1, 3), 3)
}]>;
def : ByHand<"method", "dim", "", [{
The number of dims.

>>> tandem.zeros(2, 3).dim()
2
}]>;
def : ByHand<"method", "ndimension", "", [{
The number of dims, as `dim()`.

>>> tandem.zeros(2, 3).ndimension()
2
}]>;
def : ByHand<"method", "numel", "", [{
The number of elements.

>>> tandem.zeros(2, 3).numel()
6
}]>;
def : ByHand<"method", "nelement", "", [{
The number of elements, as `numel()`.

>>> tandem.zeros(2, 3).nelement()
6
}]>;
def : ByHand<"method", "storage_offset", "", [{
How many elements of the storage lie before the first of the tensor.

>>> tandem.arange(5)[2:].storage_offset()
2
}]>;
def : ByHand<"method", "element_size", "", [{
Bytes of one element.

>>> tandem.zeros(2, dtype=tandem.float64).element_size()
8
}]>;
def : ByHand<"method", "data_ptr", "", [{
The address of the first element; 0 for a tensor without elements.

>>> x = tandem.zeros(4)
>>> x[1:].data_ptr() - x.data_ptr()
4
}]>;
def : ByHand<"method", "is_floating_point", "", [{
Is the dtype a floating-point type?

>>> tandem.tensor([1.]).is_floating_point(), tandem.tensor([1]).is_floating_point()
(True, False)
}]>;
def : ByHand<"method", "is_complex", "", [{
False: there are no complex dtypes.

>>> tandem.tensor([1.]).is_complex()
False
}]>;
def : ByHand<"method", "is_signed", "", [{
Can the dtype hold negative numbers?

>>> tandem.tensor([1], dtype=tandem.uint8).is_signed()
False
}]>;
def : ByHand<"method", "is_inference", "", [{
Was the tensor made in inference mode? Then it can take part in no graph.

>>> tandem.zeros(2).is_inference()
False
}]>;
def : ByHand<"method", "is_pinned", "device=None", [{
Is its memory page-locked (`pin_memory`)? False where no GPU was used yet.

>>> tandem.zeros(2).is_pinned()
False
}]>;
def : ByHand<"method", "is_shared", "", [{
False: the memory belongs to this process.

>>> tandem.zeros(2).is_shared()
False
}]>;
def : ByHand<"method", "get_device", "", [{
The index of its device; -1 on the CPU.

>>> tandem.zeros(2).get_device()
-1
}]>;
def : ByHand<"method", "record_stream", "stream", [{
Another stream uses the memory of this tensor, which is on a GPU: when the tensor is dropped, others get
the memory after what that stream has by then.

Raises: TypeError unless `stream` is a `tandem.cuda.Stream`; RuntimeError for a tensor elsewhere.

>>> try:
...     tandem.zeros(2).record_stream(None)
... except TypeError as error:
...     print(error)
record_stream: expected a tandem.cuda.Stream, not NoneType
}]>;
def : ByHand<"method", "pin_memory", "device=None", [{
A copy in page-locked memory, from which `to(device, non_blocking=True)` does not wait; the tensor itself
where it is there, or where there is no GPU.

Raises: RuntimeError for a tensor on a device.

>>> x = tandem.zeros(2)
>>> x.pin_memory() is x
True
}]>;
def : ByHand<"method", "resolve_conj", "", [{
The tensor itself: it is real.

>>> x = tandem.zeros(2)
>>> x.resolve_conj() is x
True
}]>;
def : ByHand<"method", "resolve_neg", "", [{
The tensor itself.

>>> x = tandem.zeros(2)
>>> x.resolve_neg() is x
True
}]>;
def : ByHand<"method", "conj", "", [{
The tensor itself: it is real.

>>> tandem.tensor([1., -2.]).conj()
tensor([ 1., -2.])
}]>;
def : ByHand<"method", "conj_physical", "", [{
The tensor itself: its elements are real.

>>> x = tandem.tensor([1., -2.])
>>> x.conj_physical() is x
True
}]>;
def : ByHand<"method", "conj_physical_", "", [{
The tensor itself: its elements are real.

>>> tandem.tensor([1., -2.]).conj_physical_()
tensor([ 1., -2.])
}]>;
def : ByHand<"method", "is_contiguous", "*, memory_format=None", [{
Do the elements lie in row-major order without gaps, or with `memory_format=tandem.channels_last`
(4-d) or `channels_last_3d` (5-d) in that one's? False for a tensor of other dims.

>>> x = tandem.zeros(2, 3)
>>> x.is_contiguous(), x.t().is_contiguous()
(True, False)
}]>;
def : ByHand<"method", "contiguous", "*, memory_format=None", [{
The tensor itself if its elements lie in row-major order without gaps, else a copy that does; with
`memory_format=tandem.channels_last` or `channels_last_3d`, in that order.

Shapes: the result has the shape of the tensor.
Dtypes: any; the result has that of the tensor.
Raises: TypeError if an argument is of another type; RuntimeError if `memory_format` is for another
    number of dims, or is `preserve_format`.
Gradients: of every order.

>>> x = tandem.zeros(2, 3).t()
>>> x.contiguous().stride()
(2, 1)
}]>;
def : ByHand<"method", "clone", "*, memory_format=None", [{
A copy with memory of its own, through which gradients pass on. Its strides are those of the tensor
where that is dense, else contiguous in the same order of dims; or as `memory_format` says.

Shapes: the result has the shape of the tensor.
Dtypes: any; the result has that of the tensor.
Raises: TypeError if an argument is of another type; RuntimeError if `memory_format` is for another
    number of dims.
Gradients: of every order.

>>> x = tandem.tensor([1., 2.])
>>> y = x.clone()
>>> y[0] = 5.
>>> x
tensor([1., 2.])
}]>;
def : ByHand<"method", "item", "", [{
The only element as a Python bool, int or float. A function being compiled cannot read it.

Shapes: one element, of any number of dims.
Raises: RuntimeError if there is not exactly one element.

>>> tandem.tensor([[2.5]]).item()
2.5
}]>;
def : ByHand<"method", "tolist", "", [{
The elements as nested lists of Python numbers; a 0-d tensor as a number.

>>> tandem.tensor([[1, 2], [3, 4]]).tolist()
[[1, 2], [3, 4]]
}]>;
def : ByHand<"method", "numpy", "*, force=False", [{
A NumPy array that shares the memory of the tensor. With `force` also of a tensor that requires a
gradient.

Dtypes: any but bfloat16, which NumPy lacks.
Raises: RuntimeError if the tensor requires a gradient, and not `force`.

>>> x = tandem.tensor([1., 2.])
>>> x.numpy()[0] = 5.
>>> x
tensor([5., 2.])
}]>;
def : ByHand<"method", "to",
             "dtype=None, non_blocking=False, copy=False, *, device=None, other=None, memory_format=None", [{
The tensor in another dtype or on another device: `to(dtype)`, `to(device, dtype)`, or as another
tensor, `to(other)`.
The tensor itself where nothing changes, unless `copy`. Gradients pass on, converted back. A copy
keeps the order of dims in memory, or has that of `memory_format`.

Dtypes: any, to any. Floats lose their fraction on the way to integers; everything but 0 is True.
Raises: TypeError if the argument is no dtype, device or tensor; RuntimeError for a device that is
    not here, and for a `memory_format` of another number of dims.

>>> tandem.tensor([1.7, -1.7]).to(tandem.int64)
tensor([ 1, -1])
>>> x = tandem.tensor([1., 2.])
>>> x.to(tandem.float32) is x
True
}]>;
def : ByHand<"method", "float", "*, memory_format=None", [{
The tensor in float32, as `to(tandem.float32)`.

>>> tandem.tensor([1, 2]).float()
tensor([1., 2.])
}]>;
def : ByHand<"method", "double", "*, memory_format=None", [{
The tensor in float64, as `to(tandem.float64)`.

>>> tandem.tensor([1, 2]).double()
tensor([1., 2.], dtype=tandem.float64)
}]>;
def : ByHand<"method", "half", "*, memory_format=None", [{
The tensor in float16, as `to(tandem.float16)`.

>>> tandem.tensor([1., 0.1]).half()
tensor([1.0000, 0.1000], dtype=tandem.float16)
}]>;
def : ByHand<"method", "bfloat16", "*, memory_format=None", [{
The tensor in bfloat16, as `to(tandem.bfloat16)`.

>>> tandem.tensor([1., 0.1]).bfloat16()
tensor([1.0000, 0.1001], dtype=tandem.bfloat16)
}]>;
def : ByHand<"method", "int", "*, memory_format=None", [{
The tensor in int32, as `to(tandem.int32)`.

>>> tandem.tensor([1.7, -1.7]).int()
tensor([ 1, -1], dtype=tandem.int32)
}]>;
def : ByHand<"method", "long", "*, memory_format=None", [{
The tensor in int64, as `to(tandem.int64)`.

>>> tandem.tensor([1.7, -1.7]).long()
tensor([ 1, -1])
}]>;
def : ByHand<"method", "short", "*, memory_format=None", [{
The tensor in int16, as `to(tandem.int16)`.

>>> tandem.tensor([1.7, -1.7]).short()
tensor([ 1, -1], dtype=tandem.int16)
}]>;
def : ByHand<"method", "char", "*, memory_format=None", [{
The tensor in int8, as `to(tandem.int8)`.

>>> tandem.tensor([1.7, -1.7]).char()
tensor([ 1, -1], dtype=tandem.int8)
}]>;
def : ByHand<"method", "byte", "*, memory_format=None", [{
The tensor in uint8, as `to(tandem.uint8)`.

>>> tandem.tensor([1.7, 200.]).byte()
tensor([  1, 200], dtype=tandem.uint8)
}]>;
def : ByHand<"method", "bool", "*, memory_format=None", [{
The tensor in bool: which elements are not 0.

>>> tandem.tensor([0., 0.5]).bool()
tensor([False,  True])
}]>;
def : ByHand<"method", "type_as", "other", [{
The tensor in the dtype of `other`.

>>> tandem.tensor([1, 2]).type_as(tandem.tensor([0.5]))
tensor([1., 2.])
}]>;
def : ByHand<"method", "type", "dtype=None, non_blocking=False", [{
The tensor in another dtype, or without an argument the name of its type.

Raises: TypeError if `dtype` is neither a dtype nor the name of a tensor type.

>>> tandem.tensor([1, 2]).type()
'tandem.LongTensor'
>>> tandem.tensor([1, 2]).type(tandem.float32)
tensor([1., 2.])
}]>;
def : ByHand<"method", "cpu", "", [{
A copy on the CPU; the tensor itself where it is there.

>>> x = tandem.zeros(2)
>>> x.cpu() is x
True
}]>;
def : ByHand<"method", "cuda", "device=None, non_blocking=False", [{
A copy on a GPU, by its index or name, or the current one (`tandem.cuda.set_device`). RuntimeError where
there is none.

>>> tandem.cuda.is_available()
False
}]>;
def : ByHand<"method", "xpu", "device=None, non_blocking=False", [{
RuntimeError: this build does not compute on Intel's GPUs.

>>> try:
...     tandem.zeros(2).xpu()
... except RuntimeError as error:
...     print(error)
Tensor.xpu(): this build of Tandem has no devices of the kind xpu
}]>;
def : ByHand<"method", "ipu", "device=None, non_blocking=False", [{
RuntimeError: this build does not compute on Graphcore's processors.

>>> try:
...     tandem.zeros(2).ipu()
... except RuntimeError as error:
...     print(error)
Tensor.ipu(): this build of Tandem has no devices of the kind ipu
}]>;
def : ByHand<"method", "mtia", "device=None, non_blocking=False", [{
RuntimeError: this build does not compute on Meta's accelerators.

>>> try:
...     tandem.zeros(2).mtia()
... except RuntimeError as error:
...     print(error)
Tensor.mtia(): this build of Tandem has no devices of the kind mtia
}]>;
