# Writes OUT/texts.h, which declares `kNameText` for each file name.cu in LIST, and OUT/texts.cpp, which has the texts.
file(STRINGS ${LIST} files)
set(declarations)
set(definitions)
foreach(path IN LISTS files)
  get_filename_component(name ${path} NAME_WE)
  string(REPLACE "_" ";" words ${name})
  set(variable "k")
  foreach(word IN LISTS words)
    string(SUBSTRING ${word} 0 1 first)
    string(SUBSTRING ${word} 1 -1 rest)
    string(TOUPPER ${first} first)
    string(APPEND variable "${first}${rest}")
  endforeach()
  file(READ ${path} text)
  string(APPEND declarations "extern const char ${variable}Text[];\n")
  string(APPEND definitions "const char ${variable}Text[] = R\"cu(${text})cu\";\n")
endforeach()
# The declarations change only with the files there are, so that a change of a text compiles one file.
file(WRITE ${OUT}/texts.h.new "// Generated from runtime/lib/cuda and runtime/lib/formulas. Do not edit.
#pragma once

namespace tandem::cuda {

${declarations}
}  // namespace tandem::cuda
")
file(COPY_FILE ${OUT}/texts.h.new ${OUT}/texts.h ONLY_IF_DIFFERENT)
file(REMOVE ${OUT}/texts.h.new)
file(WRITE ${OUT}/texts.cpp "// Generated from runtime/lib/cuda and runtime/lib/formulas. Do not edit.
#include \"runtime/lib/cuda/texts.h\"

namespace tandem::cuda {

${definitions}
}  // namespace tandem::cuda
")
