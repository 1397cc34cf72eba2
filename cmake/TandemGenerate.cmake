# Records (ir/ops/*.td) to sources in the build tree: llvm-tblgen dumps them as JSON, ir/opgen writes the files.
find_package(Python3 3.10 REQUIRED COMPONENTS Interpreter)
find_program(LLVM_TBLGEN NAMES llvm-tblgen-22 llvm-tblgen HINTS /usr/lib/llvm-22/bin REQUIRED)

file(GLOB TANDEM_RECORDS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/ir/*.td ${CMAKE_SOURCE_DIR}/ir/ops/*.td)
file(GLOB TANDEM_OPGEN CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/ir/opgen/*.py)
set(TANDEM_GENERATED_DIR ${CMAKE_BINARY_DIR}/generated)
add_custom_command(
  OUTPUT ${TANDEM_GENERATED_DIR}/stamp
  COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1 ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/ir/opgen/main.py
          --tblgen ${LLVM_TBLGEN} --records ${CMAKE_SOURCE_DIR}/ir/ops.td --out ${TANDEM_GENERATED_DIR}
  DEPENDS ${TANDEM_RECORDS} ${TANDEM_OPGEN}
  COMMENT "Generating sources from the operation records"
  VERBATIM)
add_custom_target(tandem_generated DEPENDS ${TANDEM_GENERATED_DIR}/stamp)
