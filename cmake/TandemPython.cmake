# The extension module tandem._C: python/src on top of the core, one shared object. Built into
# ${CMAKE_BINARY_DIR}/python/tandem; the install component `python` puts it beside the package's Python files.
find_package(Python3 3.10 REQUIRED COMPONENTS Interpreter Development.Module)

file(GLOB TANDEM_PYTHON_SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/python/src/*.cpp)
Python3_add_library(tandem_python MODULE WITH_SOABI ${TANDEM_PYTHON_SOURCES})
add_dependencies(tandem_python tandem_generated tandem_compiler)
target_compile_options(tandem_python PRIVATE -ftls-model=initial-exec)  # as the libraries in it
target_link_libraries(tandem_python PRIVATE tandem_options
  tandem_runtime tandem_schema tandem_trace tandem_eager tandem_autograd tandem_lazy
  tandem_runtime_libraries)
# Nothing else is to be found in it: archives that it is linked with are compiled for programs.
file(WRITE ${CMAKE_BINARY_DIR}/python.map "{ global: PyInit__C; local: *; };\n")
target_link_options(tandem_python PRIVATE -Wl,--version-script=${CMAKE_BINARY_DIR}/python.map)
set_target_properties(tandem_python PROPERTIES
  LINK_DEPENDS ${CMAKE_BINARY_DIR}/python.map
  OUTPUT_NAME _C
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/python/tandem)

install(TARGETS tandem_python LIBRARY DESTINATION tandem COMPONENT python)
install(DIRECTORY ${TANDEM_GENERATED_DIR}/python/_C DESTINATION tandem COMPONENT python FILES_MATCHING PATTERN "*.pyi")
