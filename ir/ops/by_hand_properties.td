// Docstrings of properties (python/src/properties.cpp).

def : ByHand<"property", "shape", "", [{
The sizes, as a tandem.Size: a tuple of ints.

>>> tandem.zeros(2, 3).shape
tandem.Size([2, 3])
}]>;
def : ByHand<"property", "dtype", "", [{
The type of the elements.

>>> tandem.tensor([1, 2]).dtype
tandem.int64
}]>;
def : ByHand<"property", "device", "", [{
Where the tensor lives.

>>> tandem.zeros(2).device
device(type='cpu')
}]>;
def : ByHand<"property", "layout", "", [{
tandem.strided.

>>> tandem.zeros(2).layout
tandem.strided
}]>;
def : ByHand<"property", "ndim", "", [{
The number of dims.

>>> tandem.zeros(2, 3).ndim
2
}]>;
def : ByHand<"property", "itemsize", "", [{
Bytes of one element.

>>> tandem.zeros(2).itemsize
4
}]>;
def : ByHand<"property", "nbytes", "", [{
Bytes of all elements.

>>> tandem.zeros(2, 3).nbytes
24
}]>;
def : ByHand<"property", "T", "", [{
The tensor with its dims reversed, as a view.

>>> tandem.zeros(2, 3).T.shape
tandem.Size([3, 2])
}]>;
def : ByHand<"property", "mT", "", [{
The last two dims swapped, as a view.

Raises: RuntimeError if there are fewer than two dims.

>>> tandem.zeros(5, 2, 3).mT.shape
tandem.Size([5, 3, 2])
}]>;
def : ByHand<"property", "H", "", [{
The transpose of a matrix, as a view.

Raises: RuntimeError if the tensor has other than 2 or 0 dims.

>>> tandem.zeros(2, 3).H.shape
tandem.Size([3, 2])
}]>;
def : ByHand<"property", "mH", "", [{
The last two dims swapped, as a view.

Raises: RuntimeError if there are fewer than two dims.

>>> tandem.zeros(5, 2, 3).mH.shape
tandem.Size([5, 3, 2])
}]>;
def : ByHand<"property", "real", "", [{
The tensor itself: it is real.

>>> tandem.tensor([1., 2.]).real
tensor([1., 2.])
}]>;
def : ByHand<"property", "requires_grad", "", [{
Is a gradient wanted for this tensor? May be set for leaves.

Raises: RuntimeError if it is set to True for another dtype than a floating-point one.

>>> x = tandem.tensor([1., 2.], requires_grad=True)
>>> x.requires_grad, (x * 2).requires_grad, x.detach().requires_grad
(True, True, False)
}]>;
def : ByHand<"property", "is_leaf", "", [{
Was the tensor made by the user, not by an operation on what requires a gradient? `backward` fills
`.grad` of leaves.

>>> x = tandem.tensor([1., 2.], requires_grad=True)
>>> x.is_leaf, (x * 2).is_leaf
(True, False)
}]>;
def : ByHand<"property", "retains_grad", "", [{
Will `.grad` of this tensor, which is no leaf, be kept? See `retain_grad()`.

>>> y = tandem.tensor([1.], requires_grad=True) * 2
>>> y.retains_grad
False
}]>;
def : ByHand<"property", "grad", "", [{
The gradient that `backward` has added up, or None. May be set to a tensor of the same shape and
dtype, or None.

>>> x = tandem.tensor([3.], requires_grad=True)
>>> (x * x).backward()
>>> x.grad
tensor([6.])
}]>;
def : ByHand<"property", "grad_fn", "", [{
The node of the graph that made this tensor, or None.

>>> x = tandem.tensor([3.], requires_grad=True)
>>> x.grad_fn is None, (x * x).grad_fn is None
(True, False)
}]>;
def : ByHand<"property", "output_nr", "", [{
Which result of `grad_fn` this is.

>>> tandem.zeros(2).output_nr
0
}]>;
def : ByHand<"property", "data", "", [{
The same elements outside the graph; writes through it are not seen by autograd. Setting it gives
the tensor other elements.

>>> x = tandem.tensor([1., 2.], requires_grad=True)
>>> x.data.mul_(10)
tensor([10., 20.])
}]>;
def : ByHand<"property", "is_cpu", "", [{
Is the tensor on the CPU?

>>> tandem.zeros(2).is_cpu
True
}]>;
def : ByHand<"property", "is_cuda", "", [{
Is the tensor on a CUDA device?

>>> tandem.zeros(2).is_cuda
False
}]>;
def : ByHand<"property", "__cuda_array_interface__", "", [{
Where the elements are on a GPU, as other libraries for GPUs understand it; AttributeError on a CPU.

>>> hasattr(tandem.zeros(2), "__cuda_array_interface__")
False
}]>;
def : ByHand<"property", "is_mps", "", [{
False: the tensor is on the CPU.

>>> tandem.zeros(2).is_mps
False
}]>;
def : ByHand<"property", "is_meta", "", [{
False: the tensor has elements.

>>> tandem.zeros(2).is_meta
False
}]>;
def : ByHand<"property", "is_sparse", "", [{
False: all elements are stored.

>>> tandem.zeros(2).is_sparse
False
}]>;
def : ByHand<"property", "is_quantized", "", [{
False: elements are numbers, not codes.

>>> tandem.zeros(2).is_quantized
False
}]>;
def : ByHand<"property", "is_xpu", "", [{
Is the tensor on an Intel GPU? False: this build computes on the CPU.

>>> tandem.zeros(2).is_xpu
False
}]>;
def : ByHand<"property", "is_ipu", "", [{
Is the tensor on an IPU? False: this build computes on the CPU.

>>> tandem.zeros(2).is_ipu
False
}]>;
def : ByHand<"property", "is_mtia", "", [{
Is the tensor on an MTIA accelerator? False: this build computes on the CPU.

>>> tandem.zeros(2).is_mtia
False
}]>;
def : ByHand<"property", "is_maia", "", [{
Is the tensor on a Maia accelerator? False: this build computes on the CPU.

>>> tandem.zeros(2).is_maia
False
}]>;
def : ByHand<"property", "is_vulkan", "", [{
Is the tensor on a Vulkan device? False: this build computes on the CPU.

>>> tandem.zeros(2).is_vulkan
False
}]>;
def : ByHand<"property", "is_mkldnn", "", [{
Has the tensor a layout of oneDNN's? False: tensors are strided.

>>> tandem.zeros(2).is_mkldnn
False
}]>;
def : ByHand<"property", "is_sparse_csr", "", [{
Is the tensor sparse, in compressed rows? False: tensors are dense.

>>> tandem.zeros(2).is_sparse_csr
False
}]>;
def : ByHand<"property", "is_xla", "", [{
Is the tensor on an XLA device? False: this build computes on the CPU.

>>> tandem.zeros(2).is_xla
False
}]>;
def : ByHand<"property", "is_nested", "", [{
False: the tensor has one shape.

>>> tandem.zeros(2).is_nested
False
}]>;
