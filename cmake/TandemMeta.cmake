# The device `meta`: libtandem_meta.so, opened when a device of the kind is first asked for, so that nobody asks where
# tensors are before.
add_library(tandem_meta MODULE ${CMAKE_SOURCE_DIR}/runtime/device/meta/meta_device.cpp
  ${CMAKE_SOURCE_DIR}/runtime/base/error.cpp)
target_link_libraries(tandem_meta PRIVATE tandem_options)
target_link_options(tandem_meta PRIVATE -Wl,-s)
set_target_properties(tandem_meta PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/python/tandem)
add_dependencies(tandem_meta tandem_generated)
install(TARGETS tandem_meta LIBRARY DESTINATION tandem COMPONENT python)
