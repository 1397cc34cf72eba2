// Docstrings of methods bound by hand that make tensors, write, draw or concern gradients.

def : ByHand<"method", "new_empty",
             "*size, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False", [{
A tensor of the given sizes whose elements are not set, of the dtype of this one unless `dtype` is
given.

>>> tandem.zeros(2, dtype=tandem.float64).new_empty(2, 3).dtype
tandem.float64
}]>;
def : ByHand<"method", "new_empty_strided",
             "size, stride, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False", [{
A tensor of the given sizes and strides whose elements are not set, of the dtype of this one unless `dtype` is given.

Raises: RuntimeError for a size or a stride that is negative, or not as many of both.

>>> tandem.zeros(2).new_empty_strided((2, 3), (1, 2)).stride()
(1, 2)
}]>;
def : ByHand<"method", "new_zeros",
             "*size, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False", [{
Zeros of the given sizes, of the dtype of this tensor unless `dtype` is given.

>>> tandem.tensor([1, 2]).new_zeros(3)
tensor([0, 0, 0])
}]>;
def : ByHand<"method", "new_ones",
             "*size, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False", [{
Ones of the given sizes, of the dtype of this tensor unless `dtype` is given.

>>> tandem.tensor([1, 2]).new_ones(2, 2)
tensor([[1, 1],
        [1, 1]])
}]>;
def : ByHand<"method", "new_full",
             "size, fill_value, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False", [{
A tensor of the given sizes filled with a number, of the dtype of this one unless `dtype` is given.

>>> tandem.tensor([1., 2.]).new_full((3,), 7)
tensor([7., 7., 7.])
}]>;
def : ByHand<"method", "new_tensor",
             "data, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False", [{
`tandem.tensor(data)`, of the dtype of this tensor unless `dtype` is given.

>>> tandem.tensor([1.]).new_tensor([1, 2])
tensor([1., 2.])
}]>;
def : ByHand<"method", "copy_", "src, non_blocking=False", [{
Writes the elements of `src`, a tensor or a number, into the tensor, which is returned. With `non_blocking`, a copy
between a GPU and page-locked memory of the host does not wait.

Shapes: `src` broadcasts to the shape of the tensor.
Dtypes: any; elements are converted.
Raises: RuntimeError if `src` does not broadcast, or the tensor is a leaf that requires a gradient.
Gradients: of every order, to `src`.

>>> tandem.zeros(2, 2).copy_(tandem.tensor([1, 2]))
tensor([[1., 2.],
        [1., 2.]])
}]>;
def : ByHand<"method", "fill_", "value", [{
Writes `value`, a number or a 0-d tensor, into every element; returns the tensor.

Shapes: any; `value` is 0-d.
Dtypes: any; `value` is converted.
Raises: RuntimeError if `value` has dims, or the tensor is a leaf that requires a gradient.
Gradients: of every order, to `value`.

>>> tandem.zeros(2, 2).fill_(7)
tensor([[7., 7.],
        [7., 7.]])
}]>;
def : ByHand<"method", "zero_", "", [{
Writes zeros into every element; returns the tensor.

Raises: RuntimeError if the tensor is a leaf that requires a gradient.

>>> tandem.tensor([1., 2.]).zero_()
tensor([0., 0.])
}]>;
def : ByHand<"method", "masked_select", "mask, *, out=None", [{
The elements where `mask` holds, as a vector.

Shapes: the tensor and `mask` broadcast; the result is 1-d, its size depends on the data.
Dtypes: any, `mask` bool; the result has that of the tensor.
Raises: RuntimeError if `mask` is not bool, or the shapes do not broadcast.
Gradients: of every order.

>>> x = tandem.tensor([1., -2., 3.])
>>> x.masked_select(x > 0)
tensor([1., 3.])
}]>;
def : ByHand<"method", "nonzero", "*, as_tuple=False", [{
Where elements are not 0: an int64 matrix with a row of indices each, or with `as_tuple` a vector
for each dim.

Shapes: [number of such elements, dims]; the size depends on the data.
Dtypes: any; the result is int64.

>>> tandem.tensor([[0, 1], [2, 0]]).nonzero()
tensor([[0, 1],
        [1, 0]])
>>> tandem.tensor([0, 5, 6]).nonzero(as_tuple=True)
(tensor([1, 2]),)
}]>;
def : ByHand<"method", "uniform_", "from_=0.0, to=1.0, *, generator=None", [{
Writes numbers uniform on [from, to); returns the tensor. The keyword `from` is a word of Python's:
`from_` means the same.

Shapes: the result has the shape of the tensor.
Dtypes: floating-point.
Raises: RuntimeError if `from` is above `to`, or the tensor is a leaf that requires a gradient.

>>> x = tandem.zeros(100).uniform_(2., 3.)
>>> bool((x >= 2).all() and (x <= 3).all())
True
}]>;
def : ByHand<"method", "normal_", "mean=0.0, std=1.0, *, generator=None", [{
Writes normal numbers of a mean and standard deviation; returns the tensor.

Shapes: the result has the shape of the tensor.
Dtypes: floating-point.
Raises: RuntimeError if `std` is negative, or the tensor is a leaf that requires a gradient.

>>> tandem.zeros(2, 3).normal_(5., 0.)
tensor([[5., 5., 5.],
        [5., 5., 5.]])
}]>;
def : ByHand<"method", "random_", "from_=None, to=None, *, generator=None", [{
Writes integers uniform on [from, to), or `random_(to)` on [0, to), or without arguments on all that
the dtype counts exactly from 0 on. Returns the tensor. The keyword `from` is a word of Python's:
`from_` means the same.

Raises: RuntimeError if `from` is not below `to`, or the tensor is a leaf that requires a gradient.

>>> x = tandem.zeros(100, dtype=tandem.int64).random_(3, 5)
>>> x.min(), x.max()
(tensor(3), tensor(4))
}]>;
def : ByHand<"method", "bernoulli_", "p=0.5, *, generator=None", [{
Writes 1 with probability `p`, a number or a tensor, else 0; returns the tensor.

Shapes: `p` broadcasts to the shape of the tensor.
Dtypes: any.
Raises: RuntimeError if `p` does not broadcast, or the tensor is a leaf that requires a gradient.

>>> tandem.zeros(3).bernoulli_(tandem.tensor([0., 1., 1.]))
tensor([0., 1., 1.])
}]>;
def : ByHand<"method", "requires_grad_", "requires_grad=True", [{
Asks for a gradient (or no longer) and returns the tensor.

Dtypes: floating-point.
Raises: RuntimeError if the dtype is not floating-point, or False is given to what an operation
    made.

>>> tandem.tensor([1., 2.]).requires_grad_()
tensor([1., 2.], requires_grad=True)
}]>;
def : ByHand<"method", "detach", "", [{
The same memory outside the graph: nothing that is done with it is differentiated.

>>> tandem.tensor([1.], requires_grad=True).detach().requires_grad
False
}]>;
def : ByHand<"method", "detach_", "", [{
Cuts the tensor itself from its graph and returns it.

Raises: RuntimeError for a view, whose base would stay in the graph.

>>> y = tandem.tensor([1.], requires_grad=True) * 2
>>> y.detach_().requires_grad
False
}]>;
def : ByHand<"method", "retain_grad", "", [{
Keeps the gradient of a tensor that an operation made in `.grad`, as leaves do.

Raises: RuntimeError if the tensor requires no gradient.

>>> x = tandem.tensor([1., 2.], requires_grad=True)
>>> y = x * 2
>>> y.retain_grad()
>>> y.sum().backward()
>>> y.grad
tensor([1., 1.])
}]>;
def : ByHand<"method", "backward", "gradient=None, retain_graph=None, create_graph=False, inputs=None", [{
Adds to `.grad` of the leaves, or of `inputs` only, the derivative of the tensor by each, times
`gradient` (1 for a tensor of one element). `create_graph` makes these derivatives differentiable in
turn; `retain_graph` (on with it) keeps what the graph saved for another backward.

Raises: RuntimeError if `gradient` is missing or of another shape, the tensor requires no gradient,
    or the graph was freed.

>>> x = tandem.tensor([1., 2., 3.], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4., 6.])
}]>;
def : ByHand<"method", "register_hook", "hook", [{
Calls `hook(grad)` when the gradient of the tensor is known; what it returns, unless None, is used
instead. Returns a handle with `remove()`.

Raises: RuntimeError if the tensor requires no gradient.

>>> x = tandem.tensor([1., 2.], requires_grad=True)
>>> handle = x.register_hook(lambda grad: grad * 10)
>>> x.sum().backward()
>>> x.grad
tensor([10., 10.])
}]>;
def : ByHand<"method", "register_post_accumulate_grad_hook", "hook", [{
Calls `hook(tensor)` after something was added to `.grad` of this leaf. Returns a handle with
`remove()`.

Raises: RuntimeError if the tensor requires no gradient, or is no leaf.

>>> x = tandem.tensor([1., 2.], requires_grad=True)
>>> handle = x.register_post_accumulate_grad_hook(lambda leaf: print("grad", leaf.grad.tolist()))
>>> x.sum().backward()
grad [1.0, 1.0]
}]>;
def : ByHand<"method", "equal", "other", [{
Have both tensors the same shape and the same elements? NaN differs from itself. Reads the data.

Raises: TypeError if `other` is no tensor.

>>> tandem.tensor([1, 2]).equal(tandem.tensor([1, 2]))
True
}]>;
def : ByHand<"method", "allclose", "other, rtol=1e-05, atol=1e-08, equal_nan=False", [{
Is |self - other| <= atol + rtol * |other| for all elements? Reads the data.

Shapes: both broadcast.

>>> tandem.tensor([1., 2.]).allclose(tandem.tensor([1., 2. + 1e-6]))
True
}]>;
def : ByHand<"method", "as_subclass", "cls", [{
The same tensor as an object of `cls`, a subclass of tandem.Tensor; gradients pass through.

Raises: TypeError if `cls` is no such class.

>>> class Named(tandem.Tensor): pass
>>> type(tandem.zeros(2).as_subclass(Named)).__name__
'Named'
}]>;
