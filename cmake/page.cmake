# The files of pages as arrays of C: src/report/page/ in report/page_files.h, src/serve/predict/page/ in serve/upload_files.h.
# Run at configure time to make the rules, and as a script (-P) to write a header.
if(CMAKE_SCRIPT_MODE_FILE)
  set(text "/* Made from ${FOLDER} by cmake/page.cmake. */\n")
  foreach(name html css js)
    set(hex "")
    foreach(file ${FILES_${name}})
      file(READ ${file} part HEX)
      string(APPEND hex ${part})
    endforeach()
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    string(REGEX REPLACE "((0x..,){24})" "\\1\n" bytes "${bytes}")
    # Ends with a 0, as a string does.
    string(APPEND text "static const char liana__${STEM}_${name}[] = {\n${bytes}0};\n")
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
function(liana_add_page stem header folder html css)
  set(header ${PROJECT_BINARY_DIR}/generated/${header})
  get_filename_component(made ${header} DIRECTORY)
  file(MAKE_DIRECTORY ${made})
  add_custom_command(OUTPUT ${header}
    COMMAND ${CMAKE_COMMAND} "-DOUTPUT=${header}" "-DSTEM=${stem}" "-DFOLDER=${folder}/" "-DFILES_html=${html}"
      "-DFILES_css=${css}" "-DFILES_js=${ARGN}" -P ${PROJECT_SOURCE_DIR}/cmake/page.cmake
    DEPENDS ${html} ${css} ${ARGN} ${PROJECT_SOURCE_DIR}/cmake/page.cmake COMMENT "${header}" VERBATIM)
  target_sources(liana_objects PRIVATE ${header})
endfunction()
liana_add_page(page report/page_files.h src/report/page ${page}/page.html ${page}/page.css ${LIANA_PAGE_SCRIPTS})
set(upload ${PROJECT_SOURCE_DIR}/src/serve/predict/page)
liana_add_page(upload serve/upload_files.h src/serve/predict/page ${upload}/upload.html ${upload}/upload.css
  ${upload}/upload.js)
