# Writes texts.h to FOLDER under ROOT, which declares `kNameText` in NAMESPACE for each file name.* in LIST, and texts.cpp,
# which has the texts (tandem_embed).
set(out ${ROOT}/${FOLDER})
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
  string(APPEND definitions "const char ${variable}Text[] = R\"text(${text})text\";\n")
endforeach()
# The declarations change only with the files there are, so that a change of a text compiles one file.
file(WRITE ${out}/texts.h.new "// Texts of the tree, embedded by the build. Do not edit.
#pragma once

namespace ${NAMESPACE} {

${declarations}
}  // namespace ${NAMESPACE}
")
file(COPY_FILE ${out}/texts.h.new ${out}/texts.h ONLY_IF_DIFFERENT)
file(REMOVE ${out}/texts.h.new)
file(WRITE ${out}/texts.cpp "// Texts of the tree, embedded by the build. Do not edit.
#include \"${FOLDER}/texts.h\"

namespace ${NAMESPACE} {

${definitions}
}  // namespace ${NAMESPACE}
")
