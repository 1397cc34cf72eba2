# The GPU's device plug-in: libtandem_cuda.so, opened when a device of kind `cuda` is first asked for. It links no CUDA
# library, and what it needs of the runtime is in copies of its own.

# ---- texts of kernels: runtime/lib/cuda/NAME.cu, and formulas that the CPU's library shares, as `kNameText`

file(GLOB TANDEM_CUDA_TEXTS CONFIGURE_DEPENDS
  ${CMAKE_SOURCE_DIR}/runtime/lib/cuda/*.cu ${CMAKE_SOURCE_DIR}/runtime/lib/formulas/*.inl)
set(TANDEM_TEXTS_DIR ${TANDEM_GENERATED_DIR}/runtime/lib/cuda)
tandem_embed(tandem_cuda_texts runtime/lib/cuda tandem::cuda ${TANDEM_CUDA_TEXTS})

# ---- the shared object

file(GLOB TANDEM_CUDA_SOURCES CONFIGURE_DEPENDS
  ${CMAKE_SOURCE_DIR}/runtime/device/cuda/*.cpp ${CMAKE_SOURCE_DIR}/runtime/lib/cuda/*.cpp)
add_library(tandem_cuda_objects OBJECT ${TANDEM_CUDA_SOURCES} ${TANDEM_TEXTS_DIR}/texts.cpp)
# The copies: symbols of the core are hidden.
file(GLOB TANDEM_CUDA_CORE CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/runtime/base/*.cpp)
add_library(tandem_cuda_core OBJECT ${TANDEM_CUDA_CORE}
  ${CMAKE_SOURCE_DIR}/runtime/kernel/collapse.cpp
  ${CMAKE_SOURCE_DIR}/runtime/kernel/column_reduction.cpp
  ${CMAKE_SOURCE_DIR}/runtime/kernel/in_parallel.cpp
  ${CMAKE_SOURCE_DIR}/runtime/kernel/kernel_signature.cpp
  ${CMAKE_SOURCE_DIR}/runtime/kernel/launch_builder.cpp
  ${CMAKE_SOURCE_DIR}/runtime/kernel/schedule.cpp
  ${CMAKE_SOURCE_DIR}/runtime/kernel/split.cpp)
foreach(target tandem_cuda_objects tandem_cuda_core)
  target_link_libraries(${target} PRIVATE tandem_options)
  target_compile_options(${target} PRIVATE -ffunction-sections -fdata-sections)
  add_dependencies(${target} tandem_generated tandem_cuda_texts)
endforeach()

file(WRITE ${CMAKE_BINARY_DIR}/cuda.map "{ global: tandemDevices; local: *; };\n")
add_library(tandem_cuda MODULE $<TARGET_OBJECTS:tandem_cuda_objects> $<TARGET_OBJECTS:tandem_cuda_core>)
target_link_libraries(tandem_cuda PRIVATE tandem_options ${CMAKE_DL_LIBS})
target_link_options(tandem_cuda PRIVATE -Wl,--version-script=${CMAKE_BINARY_DIR}/cuda.map -Wl,--gc-sections
  -Wl,--no-undefined -Wl,-s)
set_target_properties(tandem_cuda PROPERTIES
  LINKER_LANGUAGE CXX
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/python/tandem
  LINK_DEPENDS ${CMAKE_BINARY_DIR}/cuda.map)
install(TARGETS tandem_cuda LIBRARY DESTINATION tandem COMPONENT python)
# Programs that run saved ones find it beside the loader.
install(TARGETS tandem_cuda LIBRARY DESTINATION lib COMPONENT runtime EXCLUDE_FROM_ALL)
