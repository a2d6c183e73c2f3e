# The version, in two forms. The number is in the file VERSION: it names the library (the SONAME), and is written into
# files. The whole version is the number and how far the source is from the release, as git tells it; `liana version`
# prints it. docs/guides/releasing.md has the rules.
#
#   1.0.0                  the commit of the tag v1.0.0; or a source archive, which has no git
#   1.0.0+12.g8b6246af     12 commits after the tag v1.0.0
#   1.0.0-dev+g8b6246af    no tag is reached: before the first release, or a clone without tags
#
# Included by CMakeLists.txt it sets LIANA_NUMBER. `cmake -DFILE=version.c -P cmake/version.cmake` writes the function
# liana_version, and only if it is another version: a commit compiles one small file again. Without FILE it prints the
# whole version.
get_filename_component(LIANA_VERSION_ROOT ${CMAKE_CURRENT_LIST_DIR}/.. ABSOLUTE)
file(STRINGS ${LIANA_VERSION_ROOT}/VERSION LIANA_VERSION_LINE LIMIT_COUNT 1)
if(NOT LIANA_VERSION_LINE MATCHES "^([0-9]+\\.[0-9]+\\.[0-9]+)([-+][-+.0-9A-Za-z]*)?$")
  message(FATAL_ERROR "VERSION: found '${LIANA_VERSION_LINE}', expected a version such as 1.0.0")
endif()
set(LIANA_NUMBER ${CMAKE_MATCH_1})
set(LIANA_VERSION_SUFFIX "${CMAKE_MATCH_2}")

function(liana_ask_git result)
  execute_process(COMMAND git -C ${LIANA_VERSION_ROOT} ${ARGN} OUTPUT_VARIABLE answer ERROR_QUIET
    OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    set(answer "")
  endif()
  set(${result} "${answer}" PARENT_SCOPE)
endfunction()

# Sets LIANA_WHOLE_VERSION.
function(liana_find_whole_version)
  set(LIANA_WHOLE_VERSION ${LIANA_VERSION_LINE} PARENT_SCOPE)
  # A source archive that lies in somebody else's repository has no git of its own. Its VERSION may be a whole version.
  liana_ask_git(top rev-parse --show-toplevel)
  get_filename_component(top "${top}" REALPATH)
  get_filename_component(root "${LIANA_VERSION_ROOT}" REALPATH)
  if(LIANA_VERSION_SUFFIX OR NOT top STREQUAL root)
    return()
  endif()
  # git shortens a hash by the size of the repository, so that two clones may differ.
  liana_ask_git(hash rev-parse HEAD)
  string(SUBSTRING "${hash}" 0 8 hash)
  liana_ask_git(described describe --tags --long --match "v[0-9]*.[0-9]*.[0-9]*")
  if(described MATCHES "^v([0-9]+\\.[0-9]+\\.[0-9]+)-0-g")
    set(version ${CMAKE_MATCH_1})
    # A tag of the number is the release itself; another one was put on a commit whose VERSION says something else.
    if(NOT version STREQUAL LIANA_NUMBER)
      message(FATAL_ERROR "the tag of this commit is v${version}, but VERSION is ${LIANA_NUMBER}: they must be the same")
    endif()
  elseif(described MATCHES "^v([0-9]+\\.[0-9]+\\.[0-9]+)-([0-9]+)-g" AND CMAKE_MATCH_1 VERSION_EQUAL LIANA_NUMBER)
    set(version ${LIANA_NUMBER}+${CMAKE_MATCH_2}.g${hash})
  else()
    # No tag, or VERSION is ahead of the last one: the next release is being prepared.
    set(version ${LIANA_NUMBER}-dev+g${hash})
  endif()
  set(LIANA_WHOLE_VERSION ${version} PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  liana_find_whole_version()
  if(NOT FILE)
    execute_process(COMMAND ${CMAKE_COMMAND} -E echo ${LIANA_WHOLE_VERSION})
    return()
  endif()
  set(text "/* Written by cmake/version.cmake. */\n#include <liana/context.h>\n\nconst char *liana_version(void)\n{\n"
    "    return \"${LIANA_WHOLE_VERSION}\"\;\n}\n")
  string(CONCAT text ${text})
  if(EXISTS ${FILE})
    file(READ ${FILE} before)
  endif()
  if(NOT "${before}" STREQUAL "${text}")
    file(WRITE ${FILE} "${text}")
  endif()
endif()
