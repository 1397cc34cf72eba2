#include "runtime/lib/cuda/cudnn_graph.h"

#include "runtime/lib/cuda/foreign.h"

namespace tandem::cuda::cudnn {
namespace {

void setTensor(Descriptor& descriptor, AttributeName name, DescriptorHandle tensor) {
  if (tensor != nullptr) descriptor.set(name, kDescriptorType, tensor);
}

}  // namespace

DescriptorHandle GraphBuilder::keep(Descriptor descriptor) {
  return made_.parts.emplace_back(std::move(descriptor)).handle();
}
void GraphBuilder::add(Descriptor operation) {
  operation.finalize("describing an operation");
  made_.operations.push_back(keep(std::move(operation)));
}

GraphBuilder::Tensor GraphBuilder::tensor(std::int64_t id, DataType type, DimsRef shape, DimsRef strides, Place place) {
  Descriptor made(kTensor);
  made.set(kTensorId, kInt64Type, id);
  made.set(kTensorDataType, kDataTypeType, type);
  made.set(kTensorAlignment, kInt64Type, kForeignAlignment);
  made.set(kTensorDimensions, shape);
  made.set(kTensorStrides, strides);
  if (place == Place::Host) made.set(kTensorIsByValue, kBooleanType, true);
  if (place == Place::Between) made.set(kTensorIsVirtual, kBooleanType, true);
  made.finalize("describing a tensor");
  return keep(std::move(made));
}
GraphBuilder::Tensor GraphBuilder::inMemory(std::int64_t id, DataType type, DimsRef shape, DimsRef strides) {
  return tensor(id, type, shape, strides, Place::Memory);
}
GraphBuilder::Tensor GraphBuilder::number(std::int64_t id) {
  const Dims one{1, 1, 1, 1};
  return tensor(id, kFloat32, one, one, Place::Host);
}
GraphBuilder::Tensor GraphBuilder::between(DataType type, DimsRef shape, DimsRef strides) {
  return tensor(between_++, type, shape, strides, Place::Between);
}

void GraphBuilder::multiply(Tensor a, Tensor b, Tensor c) {
  Descriptor how(kMatmul);
  how.set(kMatmulComputeType, kDataTypeType, kFloat32);
  how.finalize("describing a product");
  Descriptor operation(kMatmulOperation);
  setTensor(operation, kMatmulA, a);
  setTensor(operation, kMatmulB, b);
  setTensor(operation, kMatmulC, c);
  operation.set(kMatmulDescriptor, how);
  keep(std::move(how));
  add(std::move(operation));
}

void GraphBuilder::pointwise(PointwiseMode mode, Tensor x, Tensor b, Tensor which, std::int64_t dim, Tensor y) {
  Descriptor how(kPointwise);
  how.set(kPointwiseModeName, kPointwiseModeType, mode);
  how.set(kPointwiseComputeType, kDataTypeType, kFloat32);
  if (dim >= 0) how.set(kPointwiseAxis, kInt64Type, dim);
  how.finalize("describing a pointwise operation");
  Descriptor operation(kPointwiseOperation);
  operation.set(kPointwiseDescriptor, how);
  setTensor(operation, kPointwiseX, x);
  setTensor(operation, kPointwiseB, b);
  setTensor(operation, kPointwiseT, which);
  setTensor(operation, kPointwiseY, y);
  keep(std::move(how));
  add(std::move(operation));
}

void GraphBuilder::reduce(Reduction reduction, Tensor x, Tensor y) {
  Descriptor how(kReduction);
  how.set(kReductionOperator, kReductionType, reduction);
  how.set(kReductionComputeType, kDataTypeType, kFloat32);
  how.finalize("describing a reduction");
  Descriptor operation(kReductionOperation);
  operation.set(kReductionDescriptor, how);
  setTensor(operation, kReductionX, x);
  setTensor(operation, kReductionY, y);
  keep(std::move(how));
  add(std::move(operation));
}

void GraphBuilder::reshape(Tensor x, Tensor y) {
  Descriptor operation(kReshapeOperation);
  setTensor(operation, kReshapeX, x);
  setTensor(operation, kReshapeY, y);
  add(std::move(operation));
}

}  // namespace tandem::cuda::cudnn
