# The compiler: the dialect td, passes and code generation as one shared object that exports one symbol. LLVM and MLIR
# are linked statically, so that opening it takes milliseconds and its symbols meet no other LLVM in the process.
if(NOT MLIR_DIR)
  set(MLIR_DIR /usr/lib/llvm-22/lib/cmake/mlir)
endif()
find_package(MLIR REQUIRED CONFIG)
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "LLVM and MLIR 22 are needed; ${MLIR_DIR} has ${LLVM_VERSION}")
endif()
find_program(MLIR_TBLGEN NAMES mlir-tblgen-22 mlir-tblgen HINTS /usr/lib/llvm-22/bin REQUIRED)

# The exported MLIR targets name the shared LLVM library. Beside the archives it would be a second LLVM in the process.
foreach(target IN LISTS MLIR_EXPORTED_TARGETS)
  get_target_property(libraries ${target} INTERFACE_LINK_LIBRARIES)
  if(libraries)
    list(REMOVE_ITEM libraries LLVM)
    set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${libraries}")
  endif()
endforeach()
set(TANDEM_LLVM_COMPONENTS X86CodeGen X86AsmParser X86Desc X86Info Core Support CodeGen Target TargetParser Analysis
  ScalarOpts TransformUtils MC BitReader BitWriter AsmPrinter SelectionDAG IRReader frontendopenmp)
if(TANDEM_SANITIZE STREQUAL "address")
  list(APPEND TANDEM_LLVM_COMPONENTS Instrumentation)  # kernels are instrumented, too
endif()
llvm_map_components_to_libnames(TANDEM_LLVM_LIBRARIES ${TANDEM_LLVM_COMPONENTS})

# ---- the dialect

set(TANDEM_DIALECT_DIR ${CMAKE_BINARY_DIR}/dialect)
set(TANDEM_DIALECT_FILES)
function(tandem_tblgen generator file)
  set(out ${TANDEM_DIALECT_DIR}/ir/dialect/${file})
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${MLIR_TBLGEN} ${generator} -I ${MLIR_INCLUDE_DIRS} -I ${CMAKE_SOURCE_DIR}
            ${CMAKE_SOURCE_DIR}/ir/dialect/td.td -o ${out}
    DEPENDS ${CMAKE_SOURCE_DIR}/ir/dialect/td.td
    VERBATIM)
  list(APPEND TANDEM_DIALECT_FILES ${out})
  set(TANDEM_DIALECT_FILES ${TANDEM_DIALECT_FILES} PARENT_SCOPE)
endfunction()
file(MAKE_DIRECTORY ${TANDEM_DIALECT_DIR}/ir/dialect)
tandem_tblgen(-gen-dialect-decls td_dialect.h.inc)
tandem_tblgen(-gen-dialect-defs td_dialect.cpp.inc)
tandem_tblgen(-gen-attrdef-decls td_attrs.h.inc)
tandem_tblgen(-gen-attrdef-defs td_attrs.cpp.inc)
tandem_tblgen(-gen-op-decls td_ops.h.inc)
tandem_tblgen(-gen-op-defs td_ops.cpp.inc)
add_custom_target(tandem_dialect_generated DEPENDS ${TANDEM_DIALECT_FILES})

# ---- objects

# What the compiler needs of the core, in copies of its own: the core's symbols are hidden.
file(GLOB TANDEM_COMPILER_CORE CONFIGURE_DEPENDS
  ${CMAKE_SOURCE_DIR}/runtime/base/*.cpp
  ${CMAKE_SOURCE_DIR}/runtime/kernel/kernel_signature.cpp
  ${CMAKE_SOURCE_DIR}/runtime/kernel/collapse.cpp
  ${CMAKE_SOURCE_DIR}/runtime/kernel/launch_builder.cpp
  ${CMAKE_SOURCE_DIR}/runtime/kernel/schedule.cpp
  ${CMAKE_SOURCE_DIR}/ir/trace/trace.cpp
  ${CMAKE_SOURCE_DIR}/ir/schema/*.cpp)
add_library(tandem_compiler_core OBJECT ${TANDEM_COMPILER_CORE})
target_link_libraries(tandem_compiler_core PRIVATE tandem_options)
add_dependencies(tandem_compiler_core tandem_generated)

function(tandem_mlir_library target)
  add_library(${target} OBJECT ${ARGN})
  target_link_libraries(${target} PRIVATE tandem_options)
  target_include_directories(${target} SYSTEM PRIVATE ${TANDEM_DIALECT_DIR} ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_compile_options(${target} PRIVATE -ffunction-sections -fdata-sections)
  add_dependencies(${target} tandem_generated tandem_dialect_generated)
endfunction()
file(GLOB TANDEM_PASSES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/ir/dialect/*.cpp ${CMAKE_SOURCE_DIR}/passes/*.cpp)
file(GLOB_RECURSE TANDEM_CODEGEN CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/codegen/*.cpp)
tandem_embed(tandem_codegen_texts codegen/cuda tandem::codegen::cuda ${CMAKE_SOURCE_DIR}/codegen/cuda/prelude.cu)
set(TANDEM_CODEGEN_TEXTS ${TANDEM_GENERATED_DIR}/codegen/cuda/texts.cpp)
set_source_files_properties(${TANDEM_CODEGEN_TEXTS} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
tandem_mlir_library(tandem_passes ${TANDEM_PASSES})
tandem_mlir_library(tandem_codegen ${TANDEM_CODEGEN} ${TANDEM_CODEGEN_TEXTS})
add_dependencies(tandem_codegen tandem_codegen_texts)
target_precompile_headers(tandem_passes PRIVATE <mlir/Dialect/Func/IR/FuncOps.h> <mlir/IR/Builders.h>
  <mlir/Pass/Pass.h>)
target_precompile_headers(tandem_codegen PRIVATE <mlir/Dialect/Arith/IR/Arith.h> <mlir/Dialect/Math/IR/Math.h>
  <mlir/Dialect/SCF/IR/SCF.h> <mlir/Dialect/Vector/IR/VectorOps.h>)

# ---- the shared object

add_library(tandem_compiler_libraries INTERFACE)
target_link_libraries(tandem_compiler_libraries INTERFACE
  MLIRFuncDialect MLIRPass MLIRArithDialect MLIRMathDialect MLIRSCFDialect MLIRVectorDialect MLIRLLVMDialect
  MLIRControlFlowDialect MLIRArithToLLVM MLIRMathToLLVM MLIRSCFToControlFlow MLIRControlFlowToLLVM MLIRVectorToLLVM
  MLIRVectorTransforms MLIRLLVMCommonConversion MLIRReconcileUnrealizedCasts MLIRTargetLLVMIRExport
  MLIRBuiltinToLLVMIRTranslation MLIRLLVMToLLVMIRTranslation ${TANDEM_LLVM_LIBRARIES})

file(WRITE ${CMAKE_BINARY_DIR}/compiler.map "{ global: tandemCompilerInit; local: *; };\n")
add_library(tandem_compiler MODULE
  $<TARGET_OBJECTS:tandem_passes> $<TARGET_OBJECTS:tandem_codegen> $<TARGET_OBJECTS:tandem_compiler_core>)
target_link_libraries(tandem_compiler PRIVATE tandem_options tandem_compiler_libraries)
# The build id is the key of the kernels it makes.
target_link_options(tandem_compiler PRIVATE -Wl,--version-script=${CMAKE_BINARY_DIR}/compiler.map -Wl,--gc-sections
  -Wl,--icf=all -Wl,--build-id -Wl,-s)
set_target_properties(tandem_compiler PROPERTIES
  LINKER_LANGUAGE CXX
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/python/tandem
  LINK_DEPENDS ${CMAKE_BINARY_DIR}/compiler.map)
install(TARGETS tandem_compiler LIBRARY DESTINATION tandem COMPONENT python)

if(TANDEM_TOOLS)
  add_executable(td-opt ${CMAKE_SOURCE_DIR}/tools/td-opt.cpp
    $<TARGET_OBJECTS:tandem_passes> $<TARGET_OBJECTS:tandem_codegen> $<TARGET_OBJECTS:tandem_compiler_core>)
  target_include_directories(td-opt SYSTEM PRIVATE ${TANDEM_DIALECT_DIR} ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_link_libraries(td-opt PRIVATE tandem_options MLIROptLib tandem_compiler_libraries)
  target_link_options(td-opt PRIVATE -Wl,--gc-sections)
  add_dependencies(td-opt tandem_generated tandem_dialect_generated)
  set_target_properties(td-opt PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
endif()
