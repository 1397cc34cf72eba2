# The stand-ins for the CUDA driver and for NVRTC (tests/emulation), shared objects that tests put in their place by
# path: $TANDEM_CUDA_DRIVER and $TANDEM_NVRTC.
set(folder ${CMAKE_SOURCE_DIR}/tests/emulation)
file(GLOB TANDEM_SHIM_TEXTS CONFIGURE_DEPENDS ${folder}/module.h ${folder}/shim/*.h)
tandem_embed(tandem_emulation_texts tests/emulation tandem::emulation ${TANDEM_SHIM_TEXTS})

foreach(part driver nvrtc)
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/${part}/*.cpp)
  add_library(tandem_emulated_${part} MODULE ${sources} ${folder}/shim_text.cpp
    ${TANDEM_GENERATED_DIR}/tests/emulation/texts.cpp)
  target_link_libraries(tandem_emulated_${part} PRIVATE tandem_options ${CMAKE_DL_LIBS})
  # A kernel's threads have stacks of their own and are left in the middle, of which sanitizers know nothing.
  target_compile_options(tandem_emulated_${part} PRIVATE -fno-sanitize=all)
  target_link_options(tandem_emulated_${part} PRIVATE -Wl,-z,defs)
  set_target_properties(tandem_emulated_${part} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  add_dependencies(tandem_emulated_${part} tandem_generated tandem_emulation_texts)
  add_dependencies(tandem_tests tandem_emulated_${part})
endforeach()

# And for libraries whose work is kernels of the other two: $TANDEM_CUBLASLT, $TANDEM_CUDNN, $TANDEM_CUSOLVER.
foreach(part cublaslt cudnn cusolver)
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/${part}/*.cpp)
  add_library(tandem_emulated_${part} MODULE ${sources} ${folder}/library_kernel.cpp ${TANDEM_TEXTS_DIR}/texts.cpp)
  target_link_libraries(tandem_emulated_${part} PRIVATE tandem_options ${CMAKE_DL_LIBS})
  target_link_options(tandem_emulated_${part} PRIVATE -Wl,-z,defs)
  set_target_properties(tandem_emulated_${part} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  add_dependencies(tandem_emulated_${part} tandem_cuda_texts tandem_generated)
  add_dependencies(tandem_tests tandem_emulated_${part})
endforeach()

# And for NCCL, between processes: $TANDEM_NCCL.
file(GLOB TANDEM_NCCL_SOURCES CONFIGURE_DEPENDS ${folder}/nccl/*.cpp)
add_library(tandem_emulated_nccl MODULE ${TANDEM_NCCL_SOURCES})
target_link_libraries(tandem_emulated_nccl PRIVATE tandem_options ${CMAKE_DL_LIBS})
target_link_options(tandem_emulated_nccl PRIVATE -Wl,-z,defs)
set_target_properties(tandem_emulated_nccl PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
add_dependencies(tandem_emulated_nccl tandem_generated)
add_dependencies(tandem_tests tandem_emulated_nccl)

# And for the management library: $TANDEM_NVML.
add_library(tandem_emulated_nvml MODULE ${folder}/nvml/nvml.cpp)
target_link_libraries(tandem_emulated_nvml PRIVATE tandem_options)
set_target_properties(tandem_emulated_nvml PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
add_dependencies(tandem_tests tandem_emulated_nvml)

# The host's compiler and assembler, called without the program that calls both.
foreach(tool cc1plus as)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-prog-name=${tool}
    OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  find_program(TANDEM_${tool} ${path} REQUIRED)
endforeach()
target_compile_definitions(tandem_emulated_nvrtc PRIVATE
  TANDEM_CC1PLUS="${TANDEM_cc1plus}" TANDEM_ASSEMBLER="${TANDEM_as}")

# The C++ tests of the GPU's runtime, one binary with the plug-in's objects in it, on the stand-ins.
file(GLOB TANDEM_CUDA_TEST_SOURCES CONFIGURE_DEPENDS ${folder}/unit/*.cpp)
add_executable(tandem_cuda_tests EXCLUDE_FROM_ALL ${TANDEM_CUDA_TEST_SOURCES} $<TARGET_OBJECTS:tandem_cuda_objects>)
target_link_libraries(tandem_cuda_tests PRIVATE tandem_options tandem_runtime tandem_schema tandem_runtime_libraries
  GTest::gtest GTest::gtest_main)
target_compile_options(tandem_cuda_tests PRIVATE -march=x86-64-v3)
target_compile_definitions(tandem_cuda_tests PRIVATE
  TANDEM_EMULATED_DRIVER="$<TARGET_FILE:tandem_emulated_driver>"
  TANDEM_EMULATED_NVRTC="$<TARGET_FILE:tandem_emulated_nvrtc>")
set_target_properties(tandem_cuda_tests PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
add_dependencies(tandem_cuda_tests tandem_generated tandem_compiler tandem_emulated_driver tandem_emulated_nvrtc)
