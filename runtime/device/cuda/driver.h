// The CUDA driver: declarations of our own of what we call, found in libcuda.so.1 when a device is first asked for. One
// build runs on machines with and without it, and no CUDA header is needed to build. Names and values are the driver
// API's, as its documentation has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tandem::cuda {

// ---- what the driver API calls CUdevice, CUcontext, ...

using DeviceOrdinal = int;
using DevicePointer = std::uint64_t;
using ContextHandle = struct CUctx_st*;
using StreamHandle = struct CUstream_st*;
using EventHandle = struct CUevent_st*;
using ModuleHandle = struct CUmod_st*;
using FunctionHandle = struct CUfunc_st*;
using GraphHandle = struct CUgraph_st*;
using GraphExecHandle = struct CUgraphExec_st*;
using GraphNodeHandle = struct CUgraphNode_st*;
using HostFunction = void (*)(void* data);

/// CUDA_KERNEL_NODE_PARAMS_v2.
struct KernelNodeParameters {
  FunctionHandle function;
  unsigned grid[3];
  unsigned block[3];
  unsigned sharedBytes;
  void** parameters;
  void** extra;
  void* kernel;
  ContextHandle context;
};

/// CUresult; those that are told apart.
enum Result : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kNoDevice = 100,
  kInvalidImage = 200,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchFailed = 719,
  kStreamCaptureUnsupported = 900,
  kStreamCaptureInvalidated = 901,
};

/// CUdevice_attribute; those that are asked.
enum DeviceAttribute : int {
  kMaxThreadsPerBlock = 1,
  kMaxSharedMemoryPerBlock = 8,
  kWarpSize = 10,
  kClockRate = 13,
  kMultiprocessorCount = 16,
  kIntegrated = 18,
  kMemoryClockRate = 36,
  kGlobalMemoryBusWidth = 37,
  kL2CacheSize = 38,
  kMaxThreadsPerMultiprocessor = 39,
  kPciBusId = 33,
  kPciDeviceId = 34,
  kPciDomainId = 50,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kMaxSharedMemoryPerMultiprocessor = 81,
  kMaxRegistersPerMultiprocessor = 82,
  kIsMultiGpuBoard = 84,
  kMaxSharedMemoryPerBlockOptin = 97,
};
/// CUfunction_attribute.
enum FunctionAttribute : int {
  kFunctionSharedBytes = 1,
  kFunctionLocalBytes = 3,
  kFunctionRegisters = 4,
  kFunctionMaxDynamicSharedBytes = 8,
};
inline constexpr unsigned kEventDisableTiming = 2;  // CU_EVENT_DISABLE_TIMING
inline constexpr unsigned kStreamNonBlocking = 1;   // CU_STREAM_NON_BLOCKING
inline constexpr int kPointerDeviceOrdinal = 9;     // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
inline constexpr unsigned kHostAllocPortable = 1;   // CU_MEMHOSTALLOC_PORTABLE
inline constexpr unsigned kHostAllocDeviceMap = 2;  // CU_MEMHOSTALLOC_DEVICEMAP
inline constexpr int kCaptureRelaxed = 2;           // CU_STREAM_CAPTURE_MODE_RELAXED
inline constexpr int kCaptureNone = 0;              // CU_STREAM_CAPTURE_STATUS_NONE

// ---- the functions: X(member, symbol, parameters)

#define TANDEM_CUDA_DRIVER(X)                                                                                          \
  X(init, cuInit, (unsigned flags))                                                                                    \
  X(driverGetVersion, cuDriverGetVersion, (int* version))                                                              \
  X(getErrorName, cuGetErrorName, (int error, const char** name))                                                      \
  X(getErrorString, cuGetErrorString, (int error, const char** text))                                                  \
  X(deviceGetCount, cuDeviceGetCount, (int* count))                                                                    \
  X(deviceGet, cuDeviceGet, (DeviceOrdinal * device, int ordinal))                                                     \
  X(deviceGetName, cuDeviceGetName, (char* name, int length, DeviceOrdinal device))                                    \
  X(deviceGetAttribute, cuDeviceGetAttribute, (int* value, int attribute, DeviceOrdinal device))                       \
  X(deviceTotalMem, cuDeviceTotalMem_v2, (std::size_t* bytes, DeviceOrdinal device))                                   \
  X(deviceGetUuid, cuDeviceGetUuid_v2, (void* uuid, DeviceOrdinal device))                                             \
  X(deviceCanAccessPeer, cuDeviceCanAccessPeer, (int* can, DeviceOrdinal device, DeviceOrdinal peer))                  \
  X(devicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (ContextHandle * context, DeviceOrdinal device))                 \
  X(ctxSetCurrent, cuCtxSetCurrent, (ContextHandle context))                                                           \
  X(ctxGetCurrent, cuCtxGetCurrent, (ContextHandle * context))                                                         \
  X(ctxSynchronize, cuCtxSynchronize, ())                                                                              \
  X(memAlloc, cuMemAlloc_v2, (DevicePointer * memory, std::size_t bytes))                                              \
  X(memFree, cuMemFree_v2, (DevicePointer memory))                                                                     \
  X(memGetInfo, cuMemGetInfo_v2, (std::size_t* free, std::size_t* total))                                              \
  X(pointerGetAttribute, cuPointerGetAttribute, (void* value, int attribute, DevicePointer memory))                    \
  X(memHostAlloc, cuMemHostAlloc, (void** memory, std::size_t bytes, unsigned flags))                                  \
  X(memFreeHost, cuMemFreeHost, (void* memory))                                                                        \
  X(memcpyHtoDAsync, cuMemcpyHtoDAsync_v2,                                                                             \
    (DevicePointer to, const void* from, std::size_t bytes, StreamHandle stream))                                      \
  X(memcpyDtoHAsync, cuMemcpyDtoHAsync_v2, (void* to, DevicePointer from, std::size_t bytes, StreamHandle stream))     \
  X(memcpyDtoDAsync, cuMemcpyDtoDAsync_v2,                                                                             \
    (DevicePointer to, DevicePointer from, std::size_t bytes, StreamHandle stream))                                    \
  X(memcpyPeerAsync, cuMemcpyPeerAsync,                                                                                \
    (DevicePointer to, ContextHandle toContext, DevicePointer from, ContextHandle fromContext, std::size_t bytes,      \
     StreamHandle stream))                                                                                             \
  X(memsetD8Async, cuMemsetD8Async, (DevicePointer to, unsigned char value, std::size_t n, StreamHandle stream))       \
  X(streamCreateWithPriority, cuStreamCreateWithPriority, (StreamHandle * stream, unsigned flags, int priority))       \
  X(streamDestroy, cuStreamDestroy_v2, (StreamHandle stream))                                                          \
  X(streamSynchronize, cuStreamSynchronize, (StreamHandle stream))                                                     \
  X(streamQuery, cuStreamQuery, (StreamHandle stream))                                                                 \
  X(streamWaitEvent, cuStreamWaitEvent, (StreamHandle stream, EventHandle event, unsigned flags))                      \
  X(launchHostFunc, cuLaunchHostFunc, (StreamHandle stream, HostFunction function, void* data))                        \
  X(eventCreate, cuEventCreate, (EventHandle * event, unsigned flags))                                                 \
  X(eventDestroy, cuEventDestroy_v2, (EventHandle event))                                                              \
  X(eventRecord, cuEventRecord, (EventHandle event, StreamHandle stream))                                              \
  X(eventQuery, cuEventQuery, (EventHandle event))                                                                     \
  X(eventSynchronize, cuEventSynchronize, (EventHandle event))                                                         \
  X(eventElapsedTime, cuEventElapsedTime, (float* milliseconds, EventHandle from, EventHandle to))                     \
  X(moduleLoadData, cuModuleLoadData, (ModuleHandle * module, const void* image))                                      \
  X(moduleUnload, cuModuleUnload, (ModuleHandle module))                                                               \
  X(moduleGetFunction, cuModuleGetFunction, (FunctionHandle * function, ModuleHandle module, const char* name))        \
  X(funcGetAttribute, cuFuncGetAttribute, (int* value, int attribute, FunctionHandle function))                        \
  X(funcSetAttribute, cuFuncSetAttribute, (FunctionHandle function, int attribute, int value))                         \
  X(launchKernel, cuLaunchKernel,                                                                                      \
    (FunctionHandle function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,        \
     unsigned blockZ, unsigned sharedBytes, StreamHandle stream, void** parameters, void** extra))                     \
  X(streamBeginCapture, cuStreamBeginCapture_v2, (StreamHandle stream, int mode))                                      \
  X(streamEndCapture, cuStreamEndCapture, (StreamHandle stream, GraphHandle * graph))                                  \
  X(streamIsCapturing, cuStreamIsCapturing, (StreamHandle stream, int* status))                                        \
  X(streamGetCaptureInfo, cuStreamGetCaptureInfo_v2,                                                                   \
    (StreamHandle stream, int* status, std::uint64_t* id, GraphHandle* graph, const GraphNodeHandle** last,            \
     std::size_t* count))                                                                                              \
  X(graphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams_v2,                                                   \
    (GraphExecHandle exec, GraphNodeHandle node, const KernelNodeParameters* parameters))                              \
  X(graphInstantiate, cuGraphInstantiateWithFlags,                                                                     \
    (GraphExecHandle * exec, GraphHandle graph, unsigned long long flags))                                             \
  X(graphLaunch, cuGraphLaunch, (GraphExecHandle exec, StreamHandle stream))                                           \
  X(graphExecDestroy, cuGraphExecDestroy, (GraphExecHandle exec))                                                      \
  X(graphDestroy, cuGraphDestroy, (GraphHandle graph))

/// The driver's functions.
struct Driver {
#define X(member, symbol, parameters) int(*member) parameters = nullptr;  // NOLINT(bugprone-macro-parentheses): names
  TANDEM_CUDA_DRIVER(X)
#undef X
};

/// The driver, opened and initialised once: $TANDEM_CUDA_DRIVER, else libcuda.so.1. Throws Error where it is missing,
/// naming it, where it lacks a function, or where it has no device.
const Driver& driver();
/// Why `driver` would throw; empty where it would not.
const std::string& driverMissing();

/// Throws where a call of the driver failed: OutOfMemoryError for kOutOfMemory, Error otherwise, with the driver's text
/// and what was done.
void check(int result, std::string_view what);

}  // namespace tandem::cuda
