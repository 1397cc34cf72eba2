// Docstrings of methods bound by hand that change sizes, draw by other distributions, or tell of memory.

def : ByHand<"method", "view", "*shape", [{
The same elements in another shape, without a copy: `view(sizes)`, one of which may be -1. With a dtype,
`view(dtype)`: the same memory as elements of it, the last dim longer or shorter where its elements are
smaller or larger; such a view has no gradient.

Shapes: as given, of as many elements; with a dtype the last dim changes by the ratio of the sizes.
Dtypes: any; the result has that of the tensor, or the one given.
Raises: RuntimeError where strides or sizes do not allow it.

>>> x = tandem.tensor([[1, 2], [3, 4]])
>>> x.view(-1)
tensor([1, 2, 3, 4])
>>> tandem.tensor([1., -2.]).view(tandem.int32)
tensor([ 1065353216, -1073741824], dtype=tandem.int32)
}]>;
def : ByHand<"method", "float_power_", "exponent", [{
Every element to the power `exponent`, a number or a tensor, in float64; the tensor is returned.

Shapes: `exponent` broadcasts to the shape of the tensor.
Dtypes: the tensor is float64, as the result is.
Raises: RuntimeError if the tensor has another dtype, or `exponent` does not broadcast to it.

>>> tandem.tensor([2., 3.], dtype=tandem.float64).float_power_(2)
tensor([4., 9.], dtype=tandem.float64)
}]>;
def : ByHand<"method", "resize_", "*size, memory_format=None", [{
Another size for the tensor itself: the first elements stay, in row-major order, and those that are new are
not set; laid out as `memory_format` says. RuntimeError for a tensor that requires a gradient, and for a larger size
where an array shares the memory.

>>> tandem.tensor([1, 2, 3, 4]).resize_(3)
tensor([1, 2, 3])
}]>;
def : ByHand<"method", "resize_as_", "the_template, memory_format=None", [{
`resize_` to the size of another tensor.

>>> tandem.tensor([1, 2, 3, 4]).resize_as_(tandem.zeros(2, 2))
tensor([[1, 2],
        [3, 4]])
}]>;
def : ByHand<"method", "is_same_size", "other", [{
Have both tensors the same shape?

>>> tandem.zeros(2, 3).is_same_size(tandem.ones(2, 3))
True
}]>;
def : ByHand<"method", "is_conj", "", [{
False: there are no complex dtypes.

>>> tandem.zeros(2).is_conj()
False
}]>;
def : ByHand<"method", "is_neg", "", [{
False: no tensor is a lazy negative.

>>> tandem.zeros(2).is_neg()
False
}]>;
def : ByHand<"method", "share_memory_", "", [{
The tensor itself, with a warning: its memory is that of this process, and others get copies.

>>> tandem.ones(2).share_memory_()
tensor([1., 1.])
}]>;
def : ByHand<"method", "is_nonzero", "", [{
Is the only element not zero? A tensor of no or several elements is an error (RuntimeError).

>>> tandem.tensor([2.]).is_nonzero()
True
}]>;
def : ByHand<"method", "new", "*args, size=None, device=None", [{
A tensor of the same dtype: of these sizes, with elements that are not set, of data given as a list, or on the
memory of a tensor or storage of that dtype.

>>> tandem.zeros(2).new([1, 2])
tensor([1., 2.])
>>> tandem.zeros(2).new(2, 3).shape
tandem.Size([2, 3])
}]>;
def : ByHand<"method", "storage", "", [{
The memory of the tensor and of those that share it, counted in elements: `data_ptr()`, `nbytes()`, `size()`,
`element_size()`, `tolist()`.

>>> tandem.arange(6)[2:].storage().size()
6
}]>;
def : ByHand<"method", "untyped_storage", "", [{
As `storage`, counted in bytes.

>>> tandem.zeros(3).untyped_storage().nbytes()
12
}]>;
def : ByHand<"method", "set_", "source=None, storage_offset=0, size=None, stride=None", [{
The tensor becomes one of the memory of `source`, a tensor or a storage, with the given offset, size and stride, else
those of the source; one without elements if there is none.

Raises: RuntimeError if `source` has another dtype, or the tensor requires a gradient.

>>> x, y = tandem.zeros(2), tandem.arange(4.)
>>> x.set_(y, 1, (2,), (2,))
tensor([1., 3.])
>>> _ = x.fill_(7.)
>>> y
tensor([0., 7., 2., 7.])
}]>;
def : ByHand<"method", "lu", "pivot=True, get_infos=False", [{
`tandem.lu` of the tensor: L and U in one matrix, and the rows that were swapped, from 1.

Shapes: (..., m, n) gives (..., m, n) and (..., k), k the smaller of m and n; with `get_infos` (...) too.
Dtypes: float32 or float64, and int32 for the rest.
Raises: RuntimeError for other shapes and dtypes, and without `pivot`.

>>> tandem.tensor([[2., 4.], [1., 5.]]).lu()[1].tolist()
[1, 2]
}]>;
def : ByHand<"method", "lu_solve", "LU_data, LU_pivots", [{
`tandem.lu_solve` of the tensor and a factorisation: the X with A X = the tensor.

Shapes: (..., n, k), with factors (..., n, n) and (..., n), gives (..., n, k).
Dtypes: float32 or float64, of the tensor and the factors.
Raises: RuntimeError for other shapes and dtypes.

>>> tandem.ones(1, 1).lu_solve(*tandem.linalg.lu_factor(tandem.tensor([[2.]])))
tensor([[0.5000]])
}]>;
def : ByHand<"method", "triangular_solve", "A, upper=True, transpose=False, unitriangular=False", [{
`tandem.triangular_solve` of the tensor and a triangular matrix.

>>> tandem.ones(1, 1).triangular_solve(tandem.tensor([[2.]])).solution
tensor([[0.5000]])
}]>;
def : ByHand<"method", "ormqr", "tau, other, left=True, transpose=False", [{
`tandem.ormqr` of the tensor: products of `other` with the orthogonal matrix whose reflectors are its columns.

Raises: RuntimeError for shapes or dtypes that do not fit.

>>> reflectors, tau = tandem.geqrf(tandem.tensor([[3.], [4.]]))
>>> reflectors.ormqr(tau, tandem.tensor([[5.], [0.]]))
tensor([[-3.],
        [-4.]])
}]>;
def : ByHand<"method", "apply_", "function", [{
Replaces each element by what a Python function makes of it; slow.

>>> tandem.tensor([1., 2.]).apply_(lambda x: x + 1)
tensor([2., 3.])
}]>;
def : ByHand<"method", "map_", "other, function", [{
Replaces each element by what a Python function makes of it and of that of `other`, which broadcasts; slow.

>>> tandem.tensor([1., 2.]).map_(tandem.tensor([3., 4.]), lambda x, y: x * y)
tensor([3., 8.])
}]>;
def : ByHand<"method", "map2_", "x, y, callable", [{
Replaces each element by what a Python function makes of it and of those of two other tensors, which broadcast; slow.

Raises: TypeError unless all have one dtype; RuntimeError for a tensor that requires a gradient.

>>> tandem.tensor([1., 2.]).map2_(tandem.tensor(3.), tandem.tensor([4., 5.]), lambda a, x, y: a + x * y)
tensor([13., 17.])
}]>;
def : ByHand<"method", "is_set_to", "tensor", [{
Is `tensor` the same window on the same memory: one storage, offset, shape and strides?

Raises: TypeError unless it is a tensor.

>>> x = tandem.zeros(4)
>>> x.is_set_to(x.view(4)), x.is_set_to(x.view(2, 2)), x.is_set_to(x.clone())
(True, False, False)
}]>;
def : ByHand<"method", "module_load", "other, assign=False", [{
What `load_state_dict` swaps a parameter or buffer with, for what it loads: this memory with the elements of `other`,
or `other` itself if `assign` (`tandem.__future__.set_swap_module_params_on_conversion`).

Raises: RuntimeError where the shapes do not broadcast.

>>> x = tandem.zeros(2)
>>> x.module_load(tandem.ones(2)), x
(tensor([1., 1.]), tensor([1., 1.]))
}]>;
def : ByHand<"method", "dim_order", "*, ambiguity_check=False", [{
The dims from the one whose neighbours lie furthest apart in memory to that whose lie nearest, as a tuple.

Dims of size 1 and dims of one stride could stand elsewhere too. With `ambiguity_check` that is an error, unless the
tensor is contiguous in exactly one of the memory formats that it lists.

Raises: RuntimeError for an order that is not the only one; TypeError for another `ambiguity_check`.

>>> tandem.zeros(2, 3, 4).permute(2, 0, 1).dim_order()
(1, 2, 0)
}]>;
def : ByHand<"method", "histogram", "bins=100, *, range=None, weight=None, density=False", [{
`tandem.histogram` of the tensor.

>>> tandem.tensor([1., 2., 1.]).histogram(4, range=(0., 3.)).hist
tensor([0., 2., 1., 0.])
}]>;
def : ByHand<"method", "to_dense", "dtype=None, *, masked_grad=True", [{
The tensor itself, as all are dense; in another dtype if one is given.

>>> tandem.ones(2).to_dense()
tensor([1., 1.])
}]>;
def : ByHand<"method", "exponential_", "lambd=1, *, generator=None", [{
Draws from the exponential distribution of rate `lambd` > 0, mean 1 / lambd. For floating-point dtypes
(RuntimeError).

>>> bool((tandem.empty(3).exponential_() > 0).all())
True
}]>;
def : ByHand<"method", "geometric_", "p, *, generator=None", [{
Numbers of trials of probability `p`, 0 < p < 1, up to the first success: 1, 2, ...

>>> bool((tandem.empty(3).geometric_(0.5) >= 1).all())
True
}]>;
def : ByHand<"method", "log_normal_", "mean=1, std=2, *, generator=None", [{
exp of draws from the normal distribution of this mean and deviation `std` > 0. For floating-point dtypes
(NotImplementedError).

>>> bool((tandem.empty(3).log_normal_() > 0).all())
True
}]>;
def : ByHand<"method", "cauchy_", "median=0, sigma=1, *, generator=None", [{
Draws from the Cauchy distribution around `median` with the scale `sigma` > 0. For floating-point dtypes
(NotImplementedError).

>>> tandem.empty(3).cauchy_().shape
tandem.Size([3])
}]>;
