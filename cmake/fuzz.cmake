# Fuzz targets (libFuzzer): each tests/fuzz/fuzz_*.c is a program that feeds a reader with what libFuzzer invents.
#   cmake -G Ninja -B build-fuzz -S . -DCMAKE_C_COMPILER=clang -DLIANA_FUZZ=ON && ninja -C build-fuzz liana_fuzz
#   build-fuzz/fuzz_tfrecord -max_total_time=60 CORPUS_FOLDER tests/fuzz/corpus/fuzz_tfrecord
# tests/fuzz/corpus holds a few small valid files to start from, and the findings of earlier runs; tests replay them.
if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "LIANA_FUZZ needs clang: libFuzzer is a part of it (-DCMAKE_C_COMPILER=clang)")
endif()
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_FLAGS -fsanitize=fuzzer)
check_c_source_compiles("#include <stddef.h>
  int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) { return data && size ? 0 : -1; }" LIANA_HAS_FUZZER)
unset(CMAKE_REQUIRED_FLAGS)
if(NOT LIANA_HAS_FUZZER)
  message(FATAL_ERROR "clang's libFuzzer is not installed; scripts/install-packages.sh --fuzz installs it")
endif()
# pointer-overflow would stop at NULL + 0, the place of an empty workspace; address finds reads and writes there.
target_compile_options(liana_options INTERFACE -fsanitize=fuzzer-no-link,address,undefined
  -fno-sanitize=pointer-overflow -fno-sanitize-recover=all -fno-omit-frame-pointer)
target_link_options(liana_options INTERFACE -fsanitize=address,undefined)
# Numeric kernels read no file, and take minutes to compile with sanitizers.
foreach(source ${LIANA_SOURCES})
  if(source MATCHES "/src/(ops|kernels)/.*\\.(generic|avx2|avx512|avx512_bf16_storage|avx512_bf16|amx)\\.c$")
    set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=all)
  endif()
endforeach()
file(GLOB LIANA_FUZZ_HELPERS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/harness/try/try_*.c)
file(GLOB LIANA_FUZZ_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/fuzz_*.c)
if(NOT LIANA_REMOTE)
  list(FILTER LIANA_FUZZ_HELPERS EXCLUDE REGEX "/try_remote\\.c$")
  list(FILTER LIANA_FUZZ_SOURCES EXCLUDE REGEX "/fuzz_(listing|credentials)\\.c$")
endif()
# clang links its sanitizers into programs only, so that a shared library cannot be built with them.
add_custom_target(liana_fuzz)
foreach(source ${LIANA_FUZZ_SOURCES})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source} ${LIANA_FUZZ_HELPERS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE liana_static liana_options)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(liana_fuzz ${name})
endforeach()
