# libtandem_runtime: the loader of saved programs, which is runtime/ alone, as a shared object that exports the C
# functions of include/tandem/program.h, and as an archive. `make install PREFIX=...` puts them in place.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

file(WRITE ${CMAKE_BINARY_DIR}/runtime.map "{ global: tandem_*; local: *; };\n")
add_library(tandem_loader SHARED $<TARGET_OBJECTS:tandem_runtime>)
target_link_libraries(tandem_loader PRIVATE tandem_options tandem_runtime_libraries)
target_link_options(tandem_loader PRIVATE -Wl,--version-script=${CMAKE_BINARY_DIR}/runtime.map -Wl,--gc-sections
  -Wl,--icf=all -Wl,-s)
set_target_properties(tandem_loader PROPERTIES
  OUTPUT_NAME tandem_runtime
  VERSION ${PROJECT_VERSION}
  SOVERSION 0
  LINKER_LANGUAGE CXX
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib
  LINK_DEPENDS ${CMAKE_BINARY_DIR}/runtime.map)
