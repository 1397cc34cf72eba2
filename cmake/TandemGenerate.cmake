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

# tandem_embed(TARGET FOLDER NAMESPACE FILE ...): generated/FOLDER/texts.h, which declares `kNameText` for each file
# name.*, and texts.cpp, which has the texts and belongs to the sources of whoever reads them. TARGET makes both.
function(tandem_embed target folder namespace)
  set(to ${TANDEM_GENERATED_DIR}/${folder})
  set(list ${CMAKE_BINARY_DIR}/${target}.txt)
  set(script ${CMAKE_SOURCE_DIR}/cmake/EmbedTexts.cmake)
  string(REPLACE ";" "\n" files "${ARGN}")
  file(GENERATE OUTPUT ${list} CONTENT "${files}\n")
  add_custom_command(
    OUTPUT ${to}/texts.cpp
    BYPRODUCTS ${to}/texts.h
    COMMAND ${CMAKE_COMMAND} -D LIST=${list} -D ROOT=${TANDEM_GENERATED_DIR} -D FOLDER=${folder}
            -D NAMESPACE=${namespace} -P ${script}
    DEPENDS ${ARGN} ${list} ${script}
    COMMENT "Embedding the texts of ${folder}"
    VERBATIM)
  add_custom_target(${target} DEPENDS ${to}/texts.cpp)
endfunction()
