// Docstrings of functions that are bound by hand (python/src/module_functions.cpp), and their parameters.

def : ByHand<"function", "tensor",
             "data, *, dtype=None, device=None, requires_grad=False, pin_memory=False", [{
A new tensor of a number, nested sequences of numbers, a NumPy array or a tensor: always a copy.

Shapes: that of `data`; nested sequences have equal lengths.
Dtypes: `dtype`; else that of an array or tensor; bool, int64 or the default dtype for Python's
    bools, ints and floats.
Raises: ValueError if lengths differ; TypeError if an element is no number; RuntimeError for a device
    that is not here.

>>> tandem.tensor([[1, 2], [3, 4]])
tensor([[1, 2],
        [3, 4]])
>>> tandem.tensor([1, 2], dtype=tandem.float64, requires_grad=True)
tensor([1., 2.], dtype=tandem.float64, requires_grad=True)
}]>;
def : ByHand<"function", "as_tensor", "data, dtype=None, device=None, *, copy=False, requires_grad=False", [{
`data` as a tensor: a tensor itself, an array's memory shared, anything else copied. A copy where
the dtype changes.

Dtypes: `dtype`; else as for `tandem.tensor`.
Raises: as `tandem.tensor`.

>>> x = tandem.tensor([1., 2.])
>>> tandem.as_tensor(x) is x
True
>>> tandem.as_tensor([1, 2])
tensor([1, 2])
}]>;
def : ByHand<"function", "asarray", "data, dtype=None, device=None, *, copy=False, requires_grad=False", [{
`data` as a tensor that shares its memory where it can; with `copy` it never does.

Dtypes: `dtype`; else as for `tandem.tensor`.
Raises: as `tandem.tensor`.

>>> tandem.asarray([1, 2], dtype=tandem.float32)
tensor([1., 2.])
}]>;
def : ByHand<"function", "frombuffer", "buffer, *, dtype, count=-1, offset=0, requires_grad=False", [{
A vector that shares the memory of an object with a buffer: `count` elements (all when -1) from byte
`offset` on.

Shapes: the result is 1-d.
Raises: ValueError if the elements do not fit the buffer.

>>> tandem.frombuffer(bytearray([1, 0, 2, 0]), dtype=tandem.int16)
tensor([1, 2], dtype=tandem.int16)
}]>;
def : ByHand<"function", "clone", "input, *, memory_format=None", [{
A copy with memory of its own, through which gradients pass on. Its strides are those of `input` where
that is dense, else contiguous in the same order of dims; or as `memory_format` says.

Shapes: the result has the shape of `input`.
Dtypes: any; the result has that of `input`.
Raises: TypeError if an argument is of another type; RuntimeError if `memory_format` is for another
    number of dims.
Gradients: of every order.

>>> x = tandem.zeros(1, 2, 2, 2)
>>> tandem.clone(x, memory_format=tandem.channels_last).stride()
(8, 1, 4, 2)
}]>;
def : ByHand<"function", "from_numpy", "array, /", [{
A tensor that shares the memory of a NumPy array.

Shapes: that of the array.
Dtypes: bool, uint8, int8 to int64, float16 to float64.
Raises: TypeError if the argument is no array, or of another dtype.

>>> import numpy
>>> tandem.from_numpy(numpy.array([1., 2.]))
tensor([1., 2.], dtype=tandem.float64)
}]>;
def : ByHand<"function", "result_type", "tensor1, tensor2", [{
The dtype that an operation on both, tensors or numbers, gives: a number counts by its kind only.

>>> tandem.result_type(tandem.tensor([1, 2]), 0.5)
tandem.float32
}]>;
def : ByHand<"function", "promote_types", "type1, type2, /", [{
The smallest dtype that both convert to.

Raises: TypeError if an argument is no dtype.

>>> tandem.promote_types(tandem.int64, tandem.float16)
tandem.float16
}]>;
def : ByHand<"function", "can_cast", "from_, to, /", [{
May values of one dtype be stored in the other: neither floats in integers, nor numbers in bool, nor
signed in uint8?

Raises: TypeError if an argument is no dtype.

>>> tandem.can_cast(tandem.int64, tandem.float32), tandem.can_cast(tandem.float32, tandem.int64)
(True, False)
}]>;
def : ByHand<"function", "set_default_dtype", "dtype, /", [{
Sets the dtype of new tensors of Python floats, and of results of integers that are floats.

Raises: TypeError if the dtype is not floating-point.

>>> tandem.set_default_dtype(tandem.float64)
>>> tandem.tensor([1.5]).dtype
tandem.float64
>>> tandem.set_default_dtype(tandem.float32)
}]>;
def : ByHand<"function", "get_default_dtype", "", [{
The dtype of new tensors of Python floats.

>>> tandem.get_default_dtype()
tandem.float32
}]>;
def : ByHand<"function", "is_grad_enabled", "", [{
Do operations make a graph on this thread? See tandem.no_grad.

>>> with tandem.no_grad(): tandem.is_grad_enabled()
False
}]>;
def : ByHand<"function", "is_inference_mode_enabled", "", [{
Is inference mode on for this thread? See tandem.inference_mode.

>>> tandem.is_inference_mode_enabled()
False
}]>;
def : ByHand<"function", "get_num_threads", "", [{
How many threads take part in a computation.

>>> tandem.get_num_threads() >= 1
True
}]>;
def : ByHand<"function", "set_num_threads", "n, /", [{
Sets how many threads take part in a computation. Results do not depend on it.

Raises: TypeError if `n` is no int; RuntimeError if it is below 1.

>>> before = tandem.get_num_threads()
>>> tandem.set_num_threads(1)
>>> tandem.get_num_threads()
1
>>> tandem.set_num_threads(before)
}]>;
def : ByHand<"function", "counters", "", [{
What was compiled, launched, traced and allocated so far, as a dict of numbers that only grow
(`bytes_allocated` apart).

>>> sorted(tandem.counters())[:2]
['bytes_allocated', 'graph_launches']
}]>;
def : ByHand<"function", "eval", "*tensors", [{
Runs what was recorded for these tensors (for all, without arguments) in a block of `tandem.lazy()`.

Raises: TypeError if an argument is no tensor.

>>> with tandem.lazy():
...     x = tandem.ones(2) + 1
...     tandem.eval(x)
>>> x
tensor([2., 2.])
}]>;
