# The stand-ins for the CUDA driver and for NVRTC (tests/emulation), two shared objects that tests put in their place by
# path: $TANDEM_CUDA_DRIVER and $TANDEM_NVRTC.
set(folder ${CMAKE_SOURCE_DIR}/tests/emulation)
tandem_embed(tests/emulation/shim_texts.h tandem::emulation
  kModuleText ${folder}/module.h
  kTypesText ${folder}/shim/types.h
  kThreadsText ${folder}/shim/threads.h
  kAtomicsText ${folder}/shim/atomics.h
  kMathText ${folder}/shim/math.h
  kConvertText ${folder}/shim/convert.h
  kKernelsText ${folder}/shim/kernels.h)

foreach(part driver nvrtc)
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/${part}/*.cpp)
  add_library(tandem_emulated_${part} MODULE ${sources} ${folder}/shim_text.cpp)
  target_link_libraries(tandem_emulated_${part} PRIVATE tandem_options ${CMAKE_DL_LIBS})
  # A kernel's threads have stacks of their own and are left in the middle, of which sanitizers know nothing.
  target_compile_options(tandem_emulated_${part} PRIVATE -fno-sanitize=all)
  target_link_options(tandem_emulated_${part} PRIVATE -Wl,-z,defs)
  set_target_properties(tandem_emulated_${part} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  add_dependencies(tandem_emulated_${part} tandem_generated)
  add_dependencies(tandem_tests tandem_emulated_${part})
endforeach()

# The host's compiler and assembler, called without the program that calls both.
foreach(tool cc1plus as)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-prog-name=${tool}
    OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  find_program(TANDEM_${tool} ${path} REQUIRED)
endforeach()
target_compile_definitions(tandem_emulated_nvrtc PRIVATE
  TANDEM_CC1PLUS="${TANDEM_cc1plus}" TANDEM_ASSEMBLER="${TANDEM_as}")
