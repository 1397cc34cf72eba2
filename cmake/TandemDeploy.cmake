# libtandem_runtime: the loader of saved programs, which is runtime/ and the rules of ir/schema, as a shared object that
# exports the C functions of include/tandem/program.h, and as an archive. The install component `runtime`
# (`make install PREFIX=...`) puts them where find_package(Tandem) and pkg-config find them.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# These files are compiled a second time: without the copies of their loops that are worth a fifth of the time of some of
# their functions.
set(TANDEM_TWICE runtime/lib/indexing/index_blocks.cpp runtime/lib/indexing/multilabel_margins.cpp
  runtime/lib/indexing/selection.cpp runtime/lib/movement/pieces.cpp
  runtime/lib/order/arg_reduce.cpp runtime/lib/order/keys.cpp runtime/lib/order/scan.cpp
  runtime/lib/order/search.cpp runtime/lib/order/sort.cpp
  runtime/lib/pool/avg_pool.cpp runtime/lib/pool/max_pool.cpp
  runtime/lib/pool/resample.cpp)
list(TRANSFORM TANDEM_TWICE REPLACE "^.*/(.*)[.]cpp$" "\\1" OUTPUT_VARIABLE TANDEM_TWICE_NAMES)
list(JOIN TANDEM_TWICE_NAMES | TANDEM_TWICE_NAMES)
add_library(tandem_loader_only OBJECT ${TANDEM_TWICE})
target_link_libraries(tandem_loader_only PRIVATE tandem_options)
get_target_property(TANDEM_RUNTIME_COMPILE tandem_runtime COMPILE_OPTIONS)
target_compile_options(tandem_loader_only PRIVATE ${TANDEM_RUNTIME_COMPILE} -O2 -fvect-cost-model=dynamic)
add_dependencies(tandem_loader_only tandem_generated)
set(TANDEM_TABLE $<FILTER:$<TARGET_OBJECTS:tandem_runtime>,INCLUDE,/all_functions[.]cpp>)
# What opens programs lies together, and behind it what they call: a process maps few pages of it to open one. Eager
# reductions alone ask how strided memory is walked.
set(TANDEM_EAGER_ONLY "/(dense_rows|dense_sums|strided_reduction|column_reduction)[.]cpp")
set(TANDEM_LOADER_OBJECTS
  $<FILTER:$<TARGET_OBJECTS:tandem_runtime>,EXCLUDE,/runtime/lib/|${TANDEM_EAGER_ONLY}> $<TARGET_OBJECTS:tandem_schema>
  $<FILTER:$<FILTER:$<TARGET_OBJECTS:tandem_runtime>,INCLUDE,/runtime/lib/>,EXCLUDE,/\(all_functions|${TANDEM_TWICE_NAMES}\)[.]cpp>
  $<TARGET_OBJECTS:tandem_loader_only>)

file(WRITE ${CMAKE_BINARY_DIR}/runtime.map "{ global: tandem_*; local: *; };\n")
add_library(tandem_loader SHARED ${TANDEM_LOADER_OBJECTS} ${TANDEM_TABLE})
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

# The archive has two objects. One is the runtime and what it needs of other archives, linked to one file of which only
# the C functions can be seen, and the library functions for tables of them. So it meets no other zlib or libcrypto of the
# program that it becomes part of. The other is the table of all library functions, for programs without one of their
# own (include/tandem/functions.hpp).
find_program(GNU_LD NAMES ld.bfd ld REQUIRED)
set(TANDEM_ARCHIVE ${CMAKE_BINARY_DIR}/lib/libtandem_runtime.a)
set(TANDEM_OBJECT ${CMAKE_BINARY_DIR}/lib/tandem_runtime.o)
set(TANDEM_TABLE_OBJECT ${CMAKE_BINARY_DIR}/lib/tandem_all_functions.o)
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/runtime_objects.txt
  CONTENT "$<JOIN:${TANDEM_LOADER_OBJECTS},\n>\n${SODIUM_ARCHIVE}\n${CRYPTO_ARCHIVE}\n${ZLIB_ARCHIVE}\n")
add_custom_command(
  OUTPUT ${TANDEM_ARCHIVE}
  COMMAND ${GNU_LD} -r --force-group-allocation -o ${TANDEM_OBJECT} @${CMAKE_BINARY_DIR}/runtime_objects.txt
  COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=tandem_* --strip-unneeded ${TANDEM_OBJECT}
  COMMAND ${CMAKE_COMMAND} -E copy "${TANDEM_TABLE}" ${TANDEM_TABLE_OBJECT}
  COMMAND ${CMAKE_COMMAND} -E rm -f ${TANDEM_ARCHIVE}
  COMMAND ${CMAKE_AR} rcs ${TANDEM_ARCHIVE} ${TANDEM_OBJECT} ${TANDEM_TABLE_OBJECT}
  COMMAND ${CMAKE_COMMAND} -E rm ${TANDEM_OBJECT} ${TANDEM_TABLE_OBJECT}
  DEPENDS tandem_runtime tandem_loader_only tandem_schema ${TANDEM_LOADER_OBJECTS}
    ${CMAKE_BINARY_DIR}/runtime_objects.txt
  COMMENT "Making libtandem_runtime.a"
  VERBATIM)
add_custom_target(tandem_archive ALL DEPENDS ${TANDEM_ARCHIVE})

set(TANDEM_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Tandem)
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/TandemConfig.cmake.in ${CMAKE_BINARY_DIR}/TandemConfig.cmake
  INSTALL_DESTINATION ${TANDEM_PACKAGE_DIR} PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/TandemConfigVersion.cmake COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH TANDEM_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_SOURCE_DIR}/cmake/tandem.pc.in ${CMAKE_BINARY_DIR}/tandem.pc @ONLY)

install(TARGETS tandem_loader LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
install(FILES ${TANDEM_ARCHIVE} DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/tandem DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT runtime)
install(FILES ${CMAKE_BINARY_DIR}/TandemConfig.cmake ${CMAKE_BINARY_DIR}/TandemConfigVersion.cmake
  ${CMAKE_SOURCE_DIR}/cmake/program_functions.cpp DESTINATION ${TANDEM_PACKAGE_DIR} COMPONENT runtime)
install(FILES ${CMAKE_BINARY_DIR}/tandem.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT runtime)
