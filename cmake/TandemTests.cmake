# The C++ tests, one binary: tests/unit/*.cpp on top of the core. It opens the compiler that TANDEM_COMPILER names.
find_package(GTest REQUIRED)

file(GLOB TANDEM_TEST_SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/unit/*.cpp)
add_executable(tandem_tests EXCLUDE_FROM_ALL ${TANDEM_TEST_SOURCES})
add_dependencies(tandem_tests tandem_generated)
target_link_libraries(tandem_tests PRIVATE tandem_options
  tandem_runtime tandem_schema tandem_trace tandem_eager tandem_autograd tandem_lazy
  tandem_runtime_libraries GTest::gtest GTest::gtest_main)
target_compile_options(tandem_tests PRIVATE -march=x86-64-v3)
# Arithmetic without memory, inlined into itself: instrumented it takes a compiler 12 minutes and 4 GB.
if(TANDEM_SANITIZE)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/tests/unit/test_vector_math.cpp
    PROPERTIES COMPILE_OPTIONS -fno-sanitize=all)
endif()
set_target_properties(tandem_tests PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
add_dependencies(tandem_tests tandem_compiler)

# Devices that tests load, each a shared object as one with other devices would be.
foreach(device guarded twin)
  add_library(tandem_${device} MODULE ${CMAKE_SOURCE_DIR}/tests/guarded/${device}_device.cpp
    ${CMAKE_SOURCE_DIR}/runtime/base/error.cpp)
  target_link_libraries(tandem_${device} PRIVATE tandem_options)
  set_target_properties(tandem_${device} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  add_dependencies(tandem_${device} tandem_generated)
  add_dependencies(tandem_tests tandem_${device})
endforeach()
target_compile_definitions(tandem_tests PRIVATE TANDEM_GUARDED="${CMAKE_BINARY_DIR}/lib/libtandem_guarded.so")

include(TandemEmulation)
