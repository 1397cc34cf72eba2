# Records (ir/ops/*.td) to sources in the build tree: llvm-tblgen dumps them as JSON, ir/opgen writes the files.
find_package(Python3 3.10 REQUIRED COMPONENTS Interpreter)
find_program(LLVM_TBLGEN NAMES llvm-tblgen-22 llvm-tblgen HINTS /usr/lib/llvm-22/bin REQUIRED)

file(GLOB TANDEM_RECORDS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/ir/*.td ${CMAKE_SOURCE_DIR}/ir/ops/*.td)
file(GLOB TANDEM_OPGEN CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/ir/opgen/*.py ${CMAKE_SOURCE_DIR}/ir/opgen/*.pyi)
set(TANDEM_GENERATED_DIR ${CMAKE_BINARY_DIR}/generated)
# The build must know every file, or it compiles what reads one before looking whether it changed.
execute_process(COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1 ${Python3_EXECUTABLE}
                        ${CMAKE_SOURCE_DIR}/ir/opgen/main.py --list
                OUTPUT_VARIABLE TANDEM_GENERATED_FILES OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
list(TRANSFORM TANDEM_GENERATED_FILES PREPEND ${TANDEM_GENERATED_DIR}/)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${TANDEM_OPGEN})
add_custom_command(
  OUTPUT ${TANDEM_GENERATED_DIR}/stamp
  BYPRODUCTS ${TANDEM_GENERATED_FILES}
  COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1 ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/ir/opgen/main.py
          --tblgen ${LLVM_TBLGEN} --records ${CMAKE_SOURCE_DIR}/ir/ops.td --out ${TANDEM_GENERATED_DIR}
  DEPENDS ${TANDEM_RECORDS} ${TANDEM_OPGEN}
  COMMENT "Generating sources from the operation records"
  VERBATIM)
add_custom_target(tandem_generated DEPENDS ${TANDEM_GENERATED_DIR}/stamp)

# The tables of a saved program's manifest.
find_program(FLATC flatc REQUIRED)
set(TANDEM_MANIFEST ${TANDEM_GENERATED_DIR}/runtime/program/manifest_generated.h)
add_custom_command(
  OUTPUT ${TANDEM_MANIFEST}
  COMMAND ${FLATC} --cpp --scoped-enums -o ${TANDEM_GENERATED_DIR}/runtime/program
          ${CMAKE_SOURCE_DIR}/runtime/program/manifest.fbs
  DEPENDS ${CMAKE_SOURCE_DIR}/runtime/program/manifest.fbs
  VERBATIM)
add_custom_target(tandem_manifest DEPENDS ${TANDEM_MANIFEST})
add_dependencies(tandem_generated tandem_manifest)

# tandem_embed(HEADER NAMESPACE VARIABLE FILE ...): a header under generated/ with the texts of files as constants.
function(tandem_embed header namespace)
  set(lines "// Texts of the tree, embedded by the build. Do not edit.\n#pragma once\n\nnamespace ${namespace} {\n")
  while(ARGN)
    list(POP_FRONT ARGN variable file)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} text)
    string(APPEND lines "inline constexpr char ${variable}[] = R\"text(${text})text\";\n")
  endwhile()
  string(APPEND lines "}  // namespace ${namespace}\n")
  # Written only where it changed.
  set(TANDEM_EMBEDDED "${lines}")
  file(WRITE ${CMAKE_BINARY_DIR}/embed.in "@TANDEM_EMBEDDED@")
  configure_file(${CMAKE_BINARY_DIR}/embed.in ${TANDEM_GENERATED_DIR}/${header} @ONLY)
endfunction()
