# The transport of tandem.distributed: a shared object of its own over Gloo, opened by the first init_process_group, so
# that nothing else needs Gloo.
option(TANDEM_DISTRIBUTED "Build what tandem.distributed sends by" ON)
if(NOT TANDEM_DISTRIBUTED)
  return()
endif()
find_path(GLOO_INCLUDE_DIR gloo/config.h REQUIRED)
find_library(GLOO_LIBRARY gloo REQUIRED)

file(GLOB TANDEM_DISTRIBUTED_SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/python/gloo/*.cpp)
add_library(tandem_gloo MODULE ${TANDEM_DISTRIBUTED_SOURCES})
target_include_directories(tandem_gloo SYSTEM PRIVATE ${GLOO_INCLUDE_DIR})
target_link_libraries(tandem_gloo PRIVATE tandem_options ${GLOO_LIBRARY})
file(WRITE ${CMAKE_BINARY_DIR}/gloo.map "{ global: tandem_gloo_*; local: *; };\n")
target_link_options(tandem_gloo PRIVATE -Wl,--version-script=${CMAKE_BINARY_DIR}/gloo.map)
set_target_properties(tandem_gloo PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/python/tandem
  LINK_DEPENDS ${CMAKE_BINARY_DIR}/gloo.map)
install(TARGETS tandem_gloo LIBRARY DESTINATION tandem COMPONENT python)
