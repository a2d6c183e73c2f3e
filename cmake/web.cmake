# The augmentation as WebAssembly, for the page of `liana data --html`: the files of src/data/augment and what they stand
# on, compiled by clang against wasi-libc. LIANA_WASM is ON (an error where the compiler is missing), OFF, or auto.
# docs/explanation/augmentation.md says why it is built like this.
set(LIANA_WASM auto CACHE STRING "The page of augmentations, in WebAssembly: ON, OFF or auto (if clang, lld and wasi-libc are there)")

# Debian's clang of any version, with its linker and the libraries of the target: what compiles and links a program that
# needs all of them. The answer is kept for this compiler.
function(liana_find_wasm)
  find_program(LIANA_WASM_COMPILER NAMES clang clang-14 clang-16 clang-19 DOC "clang, for WebAssembly")
  mark_as_advanced(LIANA_WASM_COMPILER)
  if(NOT LIANA_WASM_COMPILER)
    set(LIANA_WASM_MISSING "there is no clang" PARENT_SCOPE)
    return()
  endif()
  set(folder ${PROJECT_BINARY_DIR}/web)
  file(MAKE_DIRECTORY ${folder})
  # 128-bit products come from compiler-rt's builtins, the memory from wasi-libc.
  file(WRITE ${folder}/probe.c "#include <stdlib.h>\n"
    "__attribute__((visibility(\"default\"))) void *probe(__int128 a, __int128 b) { return malloc((size_t)(a * b)); }\n")
  execute_process(COMMAND ${LIANA_WASM_COMPILER} ${LIANA_WASM_OPTIONS} ${LIANA_WASM_LINK_OPTIONS} -Wl,--export=probe
    ${folder}/probe.c -o ${folder}/probe.wasm RESULT_VARIABLE result ERROR_VARIABLE said OUTPUT_QUIET)
  if(result EQUAL 0)
    set(LIANA_WASM_MISSING "" PARENT_SCOPE)
  else()
    string(REGEX REPLACE "\n.*" "" said "${said}")
    set(LIANA_WASM_MISSING "${LIANA_WASM_COMPILER} does not link WebAssembly: ${said}" PARENT_SCOPE)
  endif()
endfunction()

# Numbers are computed as in liana's own kernels: nothing is contracted or reordered, so the bytes are the same.
set(LIANA_WASM_OPTIONS --target=wasm32-wasi -std=c17 -O2 -ffp-contract=off -fno-math-errno -fvisibility=hidden
  -ffunction-sections -fdata-sections)
set(LIANA_WASM_LINK_OPTIONS -mexec-model=reactor -Wl,--gc-sections -Wl,--strip-all -Wl,-z,stack-size=262144)

# liana_embed(OUTPUT NAME FILE...): a C file with the bytes of the files, one behind the other, as liana__web_NAME.
function(liana_embed output name)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DNAME=liana__web_${name} "-DINPUTS=${ARGN}"
      -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${ARGN} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
endfunction()

function(liana_add_web_page)
  set(source ${PROJECT_SOURCE_DIR}/src)
  set(folder ${PROJECT_BINARY_DIR}/web)
  set(module ${folder}/augment.wasm)
  file(GLOB sources CONFIGURE_DEPENDS ${source}/data/augment/*.c)
  list(FILTER sources EXCLUDE REGEX "\\.(avx2|avx512)\\.c$")
  foreach(stem base/choice base/error base/field base/format base/memory base/named base/other_names base/part base/random
      base/text base/utf8 base/value batch/batch ir/shape report/web/augment_module)
    list(APPEND sources ${source}/${stem}.c)
  endforeach()
  list(APPEND sources ${source}/report/web/stand_ins/files_missing.c)
  set(options ${LIANA_WASM_OPTIONS} -D_GNU_SOURCE -Wall -Wextra -I${source} -I${PROJECT_SOURCE_DIR}/include
    -isystem ${source}/report/web/stand_ins)
  if(LIANA_WERROR)
    list(APPEND options -Werror)
  endif()
  set(objects)
  foreach(file ${sources})
    file(RELATIVE_PATH object ${source} ${file})
    string(REPLACE "/" "_" object ${object})
    set(object ${folder}/${object}.o)
    set(extra)
    if(file MATCHES "\\.generic\\.c$")
      set(extra -O3)
    endif()
    add_custom_command(OUTPUT ${object}
      COMMAND ${LIANA_WASM_COMPILER} ${options} ${extra} -MD -MF ${object}.d -MT ${object} -c ${file} -o ${object}
      DEPENDS ${file} DEPFILE ${object}.d COMMENT "WebAssembly: ${file}" VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  # What the module exports is what its header marks.
  set(interface ${source}/report/web/augment_module.h)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${interface})
  file(STRINGS ${interface} lines REGEX "^LIANA__WEB ")
  set(exports -Wl,--export=malloc -Wl,--export=free)
  foreach(line ${lines})
    string(REGEX REPLACE ".*(liana__web_[a-z_]+)\\(.*" "-Wl,--export=\\1" export "${line}")
    list(APPEND exports ${export})
  endforeach()
  add_custom_command(OUTPUT ${module}
    COMMAND ${LIANA_WASM_COMPILER} ${LIANA_WASM_OPTIONS} ${LIANA_WASM_LINK_OPTIONS} ${exports} ${objects} -lm -o ${module}
    DEPENDS ${objects} COMMENT "WebAssembly: the module" VERBATIM)
  set(page ${source}/report/web/augment_page)
  file(GLOB scripts CONFIGURE_DEPENDS ${source}/report/web/*.js)
  list(SORT scripts)
  liana_embed(${folder}/module.c module ${module})
  liana_embed(${folder}/page_html.c page_html ${page}.html)
  liana_embed(${folder}/page_css.c page_css ${page}.css)
  liana_embed(${folder}/page_js.c page_js ${scripts})
  set(LIANA_WASM_MODULE ${module} PARENT_SCOPE)
  set(LIANA_WEB_SOURCES ${folder}/module.c ${folder}/page_html.c ${folder}/page_css.c ${folder}/page_js.c PARENT_SCOPE)
endfunction()

set(LIANA_WASM_MODULE)
set(LIANA_WEB_SOURCES)
if(LIANA_WASM)
  liana_find_wasm()
  if(NOT LIANA_WASM_MISSING)
    liana_add_web_page()
  elseif(LIANA_WASM STREQUAL "auto")
    message(STATUS "no WebAssembly, so no page of augmentations: ${LIANA_WASM_MISSING}")
  else()
    message(FATAL_ERROR "LIANA_WASM is ${LIANA_WASM}, but ${LIANA_WASM_MISSING}; install clang, lld, wasi-libc and "
      "libclang-rt-dev-wasm32, or leave it at auto")
  endif()
endif()
