// Attributes of tensors.
#include "autograd/autograd.h"
#include "eager/ops.h"
#include "python/src/autograd_bindings.h"
#include "python/src/convert.h"
#include "python/src/cuda_bindings.h"
#include "python/src/device_object.h"
#include "python/src/docs.h"
#include "python/src/func_bindings.h"
#include "python/src/py_tensor.h"
#include "runtime/base/warn.h"

namespace tandem::python {

namespace {

template <class F>
PyObject* of(PyObject* self, F&& value) {
  return guarded([&]() -> PyObject* { return value(tensorOf(self)); });
}

PyObject* shape(PyObject* self, void*) {
  return of(self, [](const Tensor& t) { return sizeObject(sized(t).shape()); });
}
PyObject* dtype(PyObject* self, void*) { return Py_NewRef(dtypeObject(tensorOf(self).dtype())); }
PyObject* device(PyObject* self, void*) {
  return guarded([&] { return deviceObject(tensorOf(self).device()); });
}
PyObject* isCpu(PyObject* self, void*) { return PyBool_FromLong(tensorOf(self).device().isCpu() ? 1 : 0); }
PyObject* isCuda(PyObject* self, void*) {
  return guarded([&] {
    const Device device = tensorOf(self).device();
    return PyBool_FromLong(!device.isCpu() && device.kind == cudaKind() ? 1 : 0);
  });
}
PyObject* isMetaTensor(PyObject* self, void*) {
  return guarded([&] { return PyBool_FromLong(isMeta(tensorOf(self).device()) ? 1 : 0); });
}
PyObject* layout(PyObject*, void*) { return callSupport("strided_layout", {}); }
PyObject* cudaArray(PyObject* self, void*) { return callSupport("cuda_array_interface", {self}); }
PyObject* ndim(PyObject* self, void*) { return PyLong_FromLongLong(tensorOf(self).dim()); }
PyObject* itemsize(PyObject* self, void*) { return PyLong_FromSize_t(itemSize(tensorOf(self).dtype())); }
PyObject* nbytes(PyObject* self, void*) {
  return of(self, [](const Tensor& t) {
    return PyLong_FromLongLong(sized(t).numel() * static_cast<std::int64_t>(itemSize(t.dtype())));
  });
}
PyObject* no(PyObject*, void*) { Py_RETURN_FALSE; }

PyObject* reversed(PyObject* self, void*) {
  return of(self, [](const Tensor& t) {
    if (t.dim() == 0)
      warnOnce("Tensor.T is deprecated on 0-D tensors, where it is the identity.");
    else if (t.dim() != 2 && t.dim() != 1)
      warnOnce("The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated. Use "
               "`x.mT` to transpose batches of matrices, or `x.permute(...)`.");
    Dims dims;
    for (std::int64_t d = t.dim() - 1; d >= 0; --d) dims.push_back(d);
    return wrap(ops::permute(t, dims));
  });
}
PyObject* matrixTranspose(PyObject* self, void*) {
  return of(self, [](const Tensor& t) {
    if (t.dim() == 1) fail("tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor.");
    if (t.dim() == 0) {
      warnOnce("Tensor.mT is deprecated on 0-D tensors, where it is the identity.");
      return wrap(t);
    }
    return wrap(ops::transpose(t, -2, -1));
  });
}
PyObject* conjugateTranspose(PyObject* self, void*) {
  return of(self, [](const Tensor& t) {
    if (t.dim() != 2 && t.dim() != 0) {
      fail("tensor.H is only supported on matrices (2-D tensors). Got ", t.dim(), "-D tensor.");
    }
    if (t.dim() == 0) {
      warnOnce("Tensor.H is deprecated on 0-D tensors, where it is the identity.");
    }
    return t.dim() == 0 ? wrap(t) : wrap(ops::transpose(t, 0, 1));
  });
}
PyObject* real(PyObject* self, void*) { return Py_NewRef(self); }

PyObject* requiresGrad(PyObject* self, void*) {
  return of(self, [](const Tensor& t) { return PyBool_FromLong(autograd::requiresGrad(t) ? 1 : 0); });
}
int setRequiresGrad(PyObject* self, PyObject* value, void*) {
  return guardedInt([&] {
    if (value == nullptr || !PyBool_Check(value)) fail("requires_grad must be a bool");
    autograd::setRequiresGrad(tensorOf(self), value == Py_True);
    return 0;
  });
}
PyObject* isLeaf(PyObject* self, void*) {
  return of(self, [](const Tensor& t) { return PyBool_FromLong(autograd::isLeaf(t) ? 1 : 0); });
}
PyObject* retainsGrad(PyObject* self, void*) {
  return of(self, [](const Tensor& t) { return PyBool_FromLong(autograd::retainsGrad(t) ? 1 : 0); });
}
PyObject* grad(PyObject* self, void*) {
  return of(self, [](const Tensor& t) {
    if (t.requiresGrad() && !autograd::isLeaf(t) && !autograd::retainsGrad(t))
      warn("The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
           "populated during autograd.backward(). Use .retain_grad() on it if it should be, and the leaf Tensor if "
           "that was meant.");
    return wrap(autograd::gradOf(t));
  });
}
int setGrad(PyObject* self, PyObject* value, void*) {
  return guardedInt([&] {
    if (value == nullptr || value == Py_None) {
      autograd::setGrad(tensorOf(self), Tensor());
    } else if (isTensor(value)) {
      if (value == self) fail("can't assign Variable as its own grad");
      autograd::setGrad(tensorOf(self), tensorOf(value));
    } else {
      fail<TypeError>("assigned grad expected to be a Tensor or None but got grad of type ", Py_TYPE(value)->tp_name);
    }
    return 0;
  });
}
PyObject* gradFn(PyObject* self, void*) {
  return of(self, [](const Tensor& t) { return nodeObject(autograd::gradFn(t)); });
}
PyObject* outputNr(PyObject* self, void*) {
  return of(self, [](const Tensor& t) { return PyLong_FromLong(autograd::outputNr(t)); });
}
PyObject* storageId(PyObject* self, void*) {
  return of(self, [](const Tensor& t) { return PyLong_FromVoidPtr(t.impl()->storage.get()); });
}
PyObject* version(PyObject* self, void*) {
  return of(self, [](const Tensor& t) {
    if (t.impl()->inference) fail("Inference tensors do not track version counter.");
    return PyLong_FromLongLong(autograd::versionOf(t));
  });
}
PyObject* base(PyObject* self, void*) {
  return of(self, [](const Tensor& t) { return wrap(Tensor(t.impl()->viewBase)); });
}

PyObject* data(PyObject* self, void*) {
  return of(self, [](const Tensor& t) {
    if (isOfExamples(t)) fail("accessing `data` under vmap transform is not allowed");
    Tensor window = makeAlias(t, t.shape(), t.strides(), t.impl()->offset);
    window.impl()->countAlone();
    return wrap(std::move(window));
  });
}
int setData(PyObject* self, PyObject* value, void*) {
  return guardedInt([&] {
    if (value == nullptr || !isTensor(value)) {
      fail<TypeError>("Variable data has to be a tensor, but got ",
                      value == nullptr ? "nothing" : Py_TYPE(value)->tp_name);
    }
    if (isOfExamples(tensorOf(self)) || isOfExamples(tensorOf(value)))
      fail("mutating directly with `.data` under vmap transform is not allowed.");
    autograd::setData(tensorOf(self), tensorOf(value));
    return 0;
  });
}

}  // namespace

std::vector<PyGetSetDef> propertyDefs() {
  return {
      {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
      {"shape", shape, nullptr, doc::property_shape, nullptr},
      {"dtype", dtype, nullptr, doc::property_dtype, nullptr},
      {"device", device, nullptr, doc::property_device, nullptr},
      {"layout", layout, nullptr, doc::property_layout, nullptr},
      {"ndim", ndim, nullptr, doc::property_ndim, nullptr},
      {"itemsize", itemsize, nullptr, doc::property_itemsize, nullptr},
      {"nbytes", nbytes, nullptr, doc::property_nbytes, nullptr},
      {"is_cuda", isCuda, nullptr, doc::property_is_cuda, nullptr},
      {"is_cpu", isCpu, nullptr, doc::property_is_cpu, nullptr},
      {"is_mps", no, nullptr, doc::property_is_mps, nullptr},
      {"is_meta", isMetaTensor, nullptr, doc::property_is_meta, nullptr},
      {"is_sparse", no, nullptr, doc::property_is_sparse, nullptr},
      {"is_quantized", no, nullptr, doc::property_is_quantized, nullptr},
      {"is_nested", no, nullptr, doc::property_is_nested, nullptr},
      {"is_xpu", no, nullptr, doc::property_is_xpu, nullptr},
      {"is_ipu", no, nullptr, doc::property_is_ipu, nullptr},
      {"is_mtia", no, nullptr, doc::property_is_mtia, nullptr},
      {"is_maia", no, nullptr, doc::property_is_maia, nullptr},
      {"is_vulkan", no, nullptr, doc::property_is_vulkan, nullptr},
      {"is_mkldnn", no, nullptr, doc::property_is_mkldnn, nullptr},
      {"is_sparse_csr", no, nullptr, doc::property_is_sparse_csr, nullptr},
      {"is_xla", no, nullptr, doc::property_is_xla, nullptr},
      {"T", reversed, nullptr, doc::property_T, nullptr},
      {"mT", matrixTranspose, nullptr, doc::property_mT, nullptr},
      {"H", conjugateTranspose, nullptr, doc::property_H, nullptr},
      {"mH", matrixTranspose, nullptr, doc::property_mH, nullptr},
      {"real", real, nullptr, doc::property_real, nullptr},
      {"requires_grad", requiresGrad, setRequiresGrad, doc::property_requires_grad, nullptr},
      {"is_leaf", isLeaf, nullptr, doc::property_is_leaf, nullptr},
      {"retains_grad", retainsGrad, nullptr, doc::property_retains_grad, nullptr},
      {"grad", grad, setGrad, doc::property_grad, nullptr},
      {"_grad", grad, setGrad, "An older name of `grad`.", nullptr},
      {"grad_fn", gradFn, nullptr, doc::property_grad_fn, nullptr},
      {"output_nr", outputNr, nullptr, doc::property_output_nr, nullptr},
      {"_storage_id", storageId, nullptr, "Which storage it is, among those that live.", nullptr},
      {"_version", version, nullptr, "Writes to the storage so far.", nullptr},
      {"_base", base, nullptr, "The tensor this is a view of, or None.", nullptr},
      {"data", data, setData, doc::property_data, nullptr},
      {"__cuda_array_interface__", cudaArray, nullptr, doc::property___cuda_array_interface__, nullptr},
  };
}

}  // namespace tandem::python
