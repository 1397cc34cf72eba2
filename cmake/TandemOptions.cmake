# Compile and link options of every target of ours, and the helper that makes a target of a folder.
find_package(Threads REQUIRED)
# Reading saved programs: archives of them, so that what is deployed stands alone. Of libcrypto it is SHA-256, which uses
# the processor's instructions for it.
find_library(SODIUM_ARCHIVE libsodium.a REQUIRED)
find_library(CRYPTO_ARCHIVE libcrypto.a REQUIRED)
find_library(ZLIB_ARCHIVE libz.a REQUIRED)
find_path(FLATBUFFERS_INCLUDE_DIR flatbuffers/flatbuffers.h REQUIRED)
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
endif()

add_library(tandem_options INTERFACE)
target_include_directories(tandem_options INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
target_compile_options(tandem_options INTERFACE -Wall -Wextra -Werror -ffp-contract=off -fno-math-errno -fno-trapping-math)
target_link_options(tandem_options INTERFACE -fuse-ld=lld -B/usr/lib/llvm-22/bin)
target_link_libraries(tandem_options INTERFACE Threads::Threads)
if(TANDEM_SANITIZE STREQUAL "address")
  target_compile_options(tandem_options INTERFACE -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  target_link_options(tandem_options INTERFACE -fsanitize=address,undefined)
elseif(TANDEM_SANITIZE STREQUAL "thread")
  target_compile_options(tandem_options INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(tandem_options INTERFACE -fsanitize=thread)
endif()

# What the runtime's objects are linked with.
add_library(tandem_runtime_libraries INTERFACE)
target_link_libraries(tandem_runtime_libraries INTERFACE
  ${SODIUM_ARCHIVE} ${CRYPTO_ARCHIVE} ${ZLIB_ARCHIVE} ${CMAKE_DL_LIBS})

# tandem_library(TARGET FOLDER [EXCLUDE FOLDER...]): an object library of all .cpp files below FOLDER.
function(tandem_library target folder)
  cmake_parse_arguments(PARSE_ARGV 2 without "" "" EXCLUDE)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.cpp)
  foreach(left IN LISTS without_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "^${CMAKE_SOURCE_DIR}/${left}/")
  endforeach()
  add_library(${target} OBJECT ${sources})
  target_link_libraries(${target} PRIVATE tandem_options)
  # An eager call reads a dozen thread-local variables; a call of the loader's for each would be a tenth of its time.
  # They are few bytes, which the loader has room for also when it opens the extension late.
  target_compile_options(${target} PRIVATE -ftls-model=initial-exec)
  add_dependencies(${target} tandem_generated)
endfunction()
