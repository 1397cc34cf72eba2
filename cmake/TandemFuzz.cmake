# The fuzzers of saved programs (scripts/fuzz.sh), from the loader's sources with an allocator of their own. Clang alone
# has the fuzzing library.
file(GLOB_RECURSE TANDEM_FUZZED CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/runtime/*.cpp ${CMAKE_SOURCE_DIR}/ir/schema/*.cpp)
list(REMOVE_ITEM TANDEM_FUZZED ${CMAKE_SOURCE_DIR}/runtime/memory/allocator.cpp)
list(FILTER TANDEM_FUZZED EXCLUDE REGEX "^${CMAKE_SOURCE_DIR}/runtime/(device|lib)/cuda/")
add_library(tandem_fuzzed OBJECT ${TANDEM_FUZZED}
  ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzzing.cpp ${CMAKE_SOURCE_DIR}/tests/fuzz/guarded_allocator.cpp)
target_include_directories(tandem_fuzzed SYSTEM PRIVATE ${FLATBUFFERS_INCLUDE_DIR})
target_include_directories(tandem_fuzzed PRIVATE ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(tandem_fuzzed PRIVATE tandem_options)
# A bool of a file may be any byte, and floating numbers of one may be converted to any integer: neither leaves memory.
# Generated code has no marks of its functions' types.
target_compile_options(tandem_fuzzed PRIVATE -w -march=x86-64-v3
  -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=bool,float-cast-overflow,function,vptr
  -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
add_dependencies(tandem_fuzzed tandem_generated)
# Clang ignores the pragmas that say which instructions a file may use.
file(GLOB_RECURSE TANDEM_AVX512 CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/runtime/*_avx512.cpp
  ${CMAKE_SOURCE_DIR}/runtime/lib/matmul/gemm_pairs.cpp)
set_source_files_properties(${TANDEM_AVX512} PROPERTIES COMPILE_OPTIONS "-march=x86-64-v4;-mavx512bf16")
set_source_files_properties(${CMAKE_SOURCE_DIR}/runtime/lib/matmul/gemm_amx.cpp PROPERTIES
  COMPILE_OPTIONS "-mamx-tile;-mamx-bf16")
foreach(name file manifest)
  add_executable(fuzz_${name} ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_${name}.cpp $<TARGET_OBJECTS:tandem_fuzzed>)
  add_dependencies(fuzz_${name} tandem_generated)
  target_link_libraries(fuzz_${name} PRIVATE tandem_options tandem_runtime_libraries)
  target_compile_options(fuzz_${name} PRIVATE -fsanitize=address,undefined -fno-sanitize=vptr)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer,address,undefined -fno-sanitize=vptr)
  set_target_properties(fuzz_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
endforeach()
