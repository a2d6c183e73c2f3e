# Finds the libraries that liana uses. docs/design/libraries.md says which are loaded at run time, and why.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
pkg_check_modules(JPEG REQUIRED IMPORTED_TARGET libjpeg)
pkg_check_modules(PNG REQUIRED IMPORTED_TARGET libpng)
pkg_check_modules(EXIF REQUIRED IMPORTED_TARGET libexif)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(FYAML REQUIRED IMPORTED_TARGET libfyaml)
pkg_check_modules(PROTOBUF_C REQUIRED IMPORTED_TARGET libprotobuf-c)
find_program(PROTOC_C protoc-c REQUIRED)

# Debian's oneDNN 2.6 comes with libgomp; its thread count must be set around every call (see src/kernels/onednn.c).
find_path(DNNL_INCLUDE oneapi/dnnl/dnnl.h REQUIRED)
find_library(DNNL_LIBRARY dnnl REQUIRED)
find_library(GOMP_LIBRARY NAMES gomp libgomp.so.1 REQUIRED)

# Libraries that are not linked but loaded when they are first needed (src/base/library.h), by their SONAMEs: those of
# the headers that liana is compiled with.
#   liana_find_loaded(CURL libcurl FILE): headers of a package, and where LIANA_CURL_FILE is to be known
set(LIANA_LOADED_INCLUDES)
function(liana_find_loaded stem package source)
  pkg_check_modules(${stem} REQUIRED IMPORTED_TARGET ${package})
  list(GET ${stem}_LINK_LIBRARIES 0 library)
  execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${library} OUTPUT_VARIABLE headers ERROR_QUIET)
  if(NOT headers MATCHES "SONAME +([^ \n]+)")
    message(FATAL_ERROR "${library} is no shared library: liana loads ${package} when it runs, so it needs one")
  endif()
  set_property(SOURCE ${PROJECT_SOURCE_DIR}/${source} APPEND PROPERTY
    COMPILE_DEFINITIONS "LIANA_${stem}_FILE=\"${CMAKE_MATCH_1}\"")
  set(LIANA_LOADED_INCLUDES ${LIANA_LOADED_INCLUDES} ${${stem}_INCLUDE_DIRS} PARENT_SCOPE)
endfunction()

liana_find_loaded(CAIRO cairo src/formats/cairo_calls.c)
liana_find_loaded(FONTCONFIG fontconfig src/formats/fontconfig_calls.c)
liana_find_loaded(GIF libgif src/formats/image_calls.c)
liana_find_loaded(WEBP libwebp src/formats/image_calls.c)
liana_find_loaded(TIFF libtiff-4 src/formats/image_calls.c)
if(LIANA_HDF5)
  liana_find_loaded(HDF5 hdf5-serial src/formats/hdf5_calls.c)
endif()
if(LIANA_ZMQ)
  liana_find_loaded(ZMQ libzmq src/distribute/transport/zmq_calls.c)
endif()
if(LIANA_REMOTE)
  liana_find_loaded(CURL libcurl src/remote/calls.c)
  liana_find_loaded(CRYPTO libcrypto src/remote/calls.c)
  liana_find_loaded(EXPAT expat src/remote/calls.c)
endif()
