// What we call of NVRTC. Names are those of its documentation.
#pragma once

#include <cstddef>

namespace tandem::codegen::cuda {

using Program = struct _nvrtcProgram*;

#define TANDEM_NVRTC(X)                                                                                                \
  X(version, nvrtcVersion, (int* major, int* minor))                                                                   \
  X(createProgram, nvrtcCreateProgram,                                                                                 \
    (Program * program, const char* text, const char* name, int headers, const char* const* sources,                   \
     const char* const* includeNames))                                                                                 \
  X(compileProgram, nvrtcCompileProgram, (Program program, int count, const char* const* options))                     \
  X(destroyProgram, nvrtcDestroyProgram, (Program * program))                                                          \
  X(getProgramLogSize, nvrtcGetProgramLogSize, (Program program, std::size_t* bytes))                                  \
  X(getProgramLog, nvrtcGetProgramLog, (Program program, char* log))                                                   \
  X(getCubinSize, nvrtcGetCUBINSize, (Program program, std::size_t* bytes))                                            \
  X(getCubin, nvrtcGetCUBIN, (Program program, char* code))                                                            \
  X(getPtxSize, nvrtcGetPTXSize, (Program program, std::size_t* bytes))                                                \
  X(getPtx, nvrtcGetPTX, (Program program, char* code))

}  // namespace tandem::codegen::cuda
