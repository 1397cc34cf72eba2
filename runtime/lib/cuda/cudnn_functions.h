// What we call of cuDNN 9: its graph API. Names and values are those of its documentation.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/device/cuda/driver.h"

namespace tandem::cuda::cudnn {

using Handle = struct cudnnContext*;
using DescriptorHandle = void*;

/// cudnnStatus_t. Thousands are categories.
enum Status : int {
  kSuccess = 0,
  kBadParameter = 2000,
  kNotFinalized = 2004,
  kWrongAttributeType = 2010,
  kNotSupported = 3000,
  kInternalError = 4000,
  kNoHostMemory = 4003,
  kNoDeviceMemory = 4004,
  kExecutionFailed = 5000,
};
/// cudnnDataType_t.
enum DataType : int { kFloat32 = 0, kFloat64 = 1, kFloat16 = 2, kBFloat16 = 9, kBoolean = 11 };
inline constexpr int kCrossCorrelation = 1;                  // cudnnConvolutionMode_t
enum Heuristic : int { kFallback = 2, kDecisionTrees = 3 };  // cudnnBackendHeurMode_t; the latter is called A

/// cudnnPointwiseMode_t, and cudnnReduceTensorOp_t.
enum PointwiseMode : int {
  kAdd = 0,
  kMultiply = 1,
  kDivide = 6,
  kSubtract = 9,
  kExp = 13,
  kLog = 15,
  kGreaterOrEqual = 303,
  kIndexAlong = 501,
  kSelect = 601,
};
enum Reduction : int { kSum = 0, kMaximum = 3 };

/// cudnnBackendNumericalNote_t: what the results of an engine are like.
enum NumericalNote : int {
  kTensorCore = 0,
  kDownConvertInputs = 1,
  kReducedPrecisionReduction = 2,
  kFft = 3,
  kNondeterministic = 4,
  kWinograd = 5,
  kWinogradTile4x4 = 6,
  kWinogradTile6x6 = 7,
  kWinogradTile13x13 = 8,
  kStrictNanPropagation = 9,
};

/// cudnnBackendAttributeType_t.
enum AttributeType : int {
  kHandleType = 0,
  kDataTypeType = 1,
  kBooleanType = 2,
  kInt64Type = 3,
  kFloatType = 4,
  kPointerType = 6,
  kConvolutionModeType = 7,
  kHeuristicType = 8,
  kNumericalNoteType = 11,
  kPointwiseModeType = 14,
  kDescriptorType = 15,
  kReductionType = 18,
};

/// cudnnBackendDescriptorType_t.
enum DescriptorKind : int {
  kPointwise = 0,
  kConvolution = 1,
  kEngine = 2,
  kEngineConfig = 3,
  kEngineHeuristic = 4,
  kExecutionPlan = 5,
  kConvolutionForward = 10,
  kConvolutionBackwardFilter = 11,
  kConvolutionBackwardData = 12,
  kPointwiseOperation = 13,
  kOperationGraph = 15,
  kVariantPack = 16,
  kTensor = 17,
  kMatmul = 18,
  kMatmulOperation = 19,
  kReduction = 21,
  kReductionOperation = 22,
  kReshapeOperation = 31,
};

/// cudnnBackendAttributeName_t. The comment says type and count where they are not one descriptor.
enum AttributeName : int {
  kPointwiseModeName = 0,          // pointwise mode
  kPointwiseComputeType = 1,       // data type
  kPointwiseAxis = 9,              // int64, of kIndexAlong
  kConvolutionComputeType = 100,   // data type
  kConvolutionModeName = 101,      // convolution mode
  kConvolutionDilations = 102,     // int64, one a spatial dim
  kConvolutionStrides = 103,       // likewise
  kConvolutionPostPaddings = 104,  // likewise
  kConvolutionPrePaddings = 105,   // likewise
  kConvolutionSpatialDims = 106,   // int64
  kHeuristicMode = 200,            // heuristic
  kHeuristicGraph = 201,
  kHeuristicResults = 202,  // engine configurations, best first
  kConfigEngine = 300,
  kPlanHandle = 400,  // handle
  kPlanConfig = 401,
  kPlanWorkspaceSize = 402,  // int64
  kForwardAlpha = 700,       // float
  kForwardBeta = 701,        // float
  kForwardConvolution = 702,
  kForwardW = 703,
  kForwardX = 704,
  kForwardY = 705,
  kBackwardDataAlpha = 706,  // float
  kBackwardDataBeta = 707,   // float
  kBackwardDataConvolution = 708,
  kBackwardDataW = 709,
  kBackwardDataDx = 710,
  kBackwardDataDy = 711,
  kBackwardFilterAlpha = 712,  // float
  kBackwardFilterBeta = 713,   // float
  kBackwardFilterConvolution = 714,
  kBackwardFilterDw = 715,
  kBackwardFilterX = 716,
  kBackwardFilterDy = 717,
  kPointwiseDescriptor = 750,
  kPointwiseX = 751,
  kPointwiseB = 752,  // where the mode takes two
  kPointwiseY = 753,
  kPointwiseT = 758,          // where it takes three: which of x (true) and b
  kGraphHandle = 800,         // handle
  kGraphOperations = 801,     // one descriptor an operation
  kTensorAlignment = 900,     // int64, in bytes
  kTensorDataType = 901,      // data type
  kTensorDimensions = 902,    // int64, one a dim
  kTensorStrides = 903,       // likewise, in elements
  kTensorId = 906,            // int64
  kTensorIsVirtual = 907,     // boolean: between operations, and nowhere in memory
  kTensorIsByValue = 908,     // boolean: a number in the host's memory
  kPackIds = 1000,            // int64, one a tensor
  kPackPointers = 1001,       // pointers, in the same order
  kPackWorkspace = 1003,      // pointer
  kEngineNotes = 1303,        // numerical notes
  kMatmulComputeType = 1500,  // data type
  kMatmulA = 1520,
  kMatmulB = 1521,
  kMatmulC = 1522,
  kMatmulDescriptor = 1523,
  kReductionOperator = 1600,     // reduction
  kReductionComputeType = 1601,  // data type
  kReductionX = 1610,
  kReductionY = 1611,
  kReductionDescriptor = 1612,
  kReshapeX = 2200,
  kReshapeY = 2201,
};

#define TANDEM_CUDNN(X)                                                                                                \
  X(std::size_t, version, cudnnGetVersion, ())                                                                         \
  X(std::size_t, cudaVersion, cudnnGetCudartVersion, ())                                                               \
  X(void, lastError, cudnnGetLastErrorString, (char* text, std::size_t bytes))                                         \
  X(int, create, cudnnCreate, (Handle * handle))                                                                       \
  X(int, setStream, cudnnSetStream, (Handle handle, StreamHandle stream))                                              \
  X(int, createDescriptor, cudnnBackendCreateDescriptor, (int kind, DescriptorHandle* descriptor))                     \
  X(int, destroyDescriptor, cudnnBackendDestroyDescriptor, (DescriptorHandle descriptor))                              \
  X(int, finalize, cudnnBackendFinalize, (DescriptorHandle descriptor))                                                \
  X(int, setAttribute, cudnnBackendSetAttribute,                                                                       \
    (DescriptorHandle descriptor, int name, int type, std::int64_t count, const void* values))                         \
  X(int, getAttribute, cudnnBackendGetAttribute,                                                                       \
    (DescriptorHandle descriptor, int name, int type, std::int64_t most, std::int64_t* count, void* values))           \
  X(int, execute, cudnnBackendExecute, (Handle handle, DescriptorHandle plan, DescriptorHandle pack))

/// The functions of the library.
struct Library {
#define X(returned, member, symbol, parameters)                                                                        \
  returned(*member) parameters = nullptr;  // NOLINT(bugprone-macro-parentheses): names
  TANDEM_CUDNN(X)
#undef X
};

}  // namespace tandem::cuda::cudnn
