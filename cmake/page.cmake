# The files of a page (src/report/page/) as arrays of C in report/page_files.h. Run at configure time to make the rule, and
# as a script (-P) to write the header.
if(CMAKE_SCRIPT_MODE_FILE)
  set(text "/* Made from src/report/page/ by cmake/page.cmake. */\n")
  foreach(name html css js)
    set(hex "")
    foreach(file ${FILES_${name}})
      file(READ ${file} part HEX)
      string(APPEND hex ${part})
    endforeach()
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    string(REGEX REPLACE "((0x..,){24})" "\\1\n" bytes "${bytes}")
    # Ends with a 0, as a string does.
    string(APPEND text "static const char liana__page_${name}[] = {\n${bytes}0};\n")
  endforeach()
  file(WRITE ${OUTPUT} "${text}")
  return()
endif()

set(page ${PROJECT_SOURCE_DIR}/src/report/page)
file(GLOB LIANA_PAGE_SCRIPTS CONFIGURE_DEPENDS ${page}/*.js)
list(SORT LIANA_PAGE_SCRIPTS)
# The first one names the others' shared words, the last one begins to draw.
list(REMOVE_ITEM LIANA_PAGE_SCRIPTS ${page}/base.js ${page}/page.js)
set(LIANA_PAGE_SCRIPTS ${page}/base.js ${LIANA_PAGE_SCRIPTS} ${page}/page.js)
set(header ${PROJECT_BINARY_DIR}/generated/report/page_files.h)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/generated/report)
add_custom_command(OUTPUT ${header}
  COMMAND ${CMAKE_COMMAND} "-DOUTPUT=${header}" "-DFILES_html=${page}/page.html" "-DFILES_css=${page}/page.css"
    "-DFILES_js=${LIANA_PAGE_SCRIPTS}" -P ${PROJECT_SOURCE_DIR}/cmake/page.cmake
  DEPENDS ${page}/page.html ${page}/page.css ${LIANA_PAGE_SCRIPTS} ${PROJECT_SOURCE_DIR}/cmake/page.cmake
  COMMENT "report/page_files.h" VERBATIM)
target_sources(liana_objects PRIVATE ${header})
