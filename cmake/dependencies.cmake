# Finds the libraries that liana uses. docs/design/libraries.md says which are loaded at run time, and why.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
# liana_find_package(JPEG libjpeg REQUIRED|QUIET): the target PkgConfig::JPEG. JPEG_FOUND says whether it is there.
# pkg_check_modules makes include folders of a package's -isystem options when it first sees the package. Any later
# configuration has it from the cache, with the folders missing or in another place, and everything is compiled again.
# So the target gets the options of ..._CFLAGS, which are complete each time.
function(liana_find_package stem package need)
  pkg_check_modules(${stem} ${need} IMPORTED_TARGET ${package})
  if(NOT ${stem}_FOUND)
    return()
  endif()
  string(REGEX REPLACE "(^|;)(-I|-isystem);" "\\1\\2" options "${${stem}_CFLAGS}")
  set(includes)
  foreach(kind -I -isystem)
    set(folders ${options})
    list(FILTER folders INCLUDE REGEX "^${kind}")
    list(TRANSFORM folders REPLACE "^${kind}" "")
    list(APPEND includes ${folders})
    list(FILTER options EXCLUDE REGEX "^${kind}")
  endforeach()
  set_target_properties(PkgConfig::${stem} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${includes}"
    INTERFACE_COMPILE_OPTIONS "${options}")
endfunction()
liana_find_package(JPEG libjpeg REQUIRED)
liana_find_package(PNG libpng REQUIRED)
liana_find_package(EXIF libexif REQUIRED)
liana_find_package(JANSSON jansson REQUIRED)
liana_find_package(FYAML libfyaml REQUIRED)
liana_find_package(PROTOBUF_C libprotobuf-c REQUIRED)
liana_find_package(UTF8PROC libutf8proc REQUIRED)
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
  liana_find_package(${stem} ${package} REQUIRED)
  get_target_property(libraries PkgConfig::${stem} INTERFACE_LINK_LIBRARIES)
  list(GET libraries 0 library)
  execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${library} OUTPUT_VARIABLE headers ERROR_QUIET)
  if(NOT headers MATCHES "SONAME +([^ \n]+)")
    message(FATAL_ERROR "${library} is no shared library: liana loads ${package} when it runs, so it needs one")
  endif()
  set_property(SOURCE ${PROJECT_SOURCE_DIR}/${source} APPEND PROPERTY
    COMPILE_DEFINITIONS "LIANA_${stem}_FILE=\"${CMAKE_MATCH_1}\"")
  get_target_property(includes PkgConfig::${stem} INTERFACE_INCLUDE_DIRECTORIES)
  set(LIANA_LOADED_INCLUDES ${LIANA_LOADED_INCLUDES} ${includes} PARENT_SCOPE)
endfunction()

liana_find_loaded(CAIRO cairo src/formats/cairo_calls.c)
liana_find_loaded(FONTCONFIG fontconfig src/formats/fontconfig_calls.c)
liana_find_loaded(GIF libgif src/formats/image_calls.c)
liana_find_loaded(WEBP libwebp src/formats/image_calls.c)
liana_find_loaded(TIFF libtiff-4 src/formats/image_calls.c)
liana_find_loaded(ZIP libzip src/formats/zip_calls.c)
if(LIANA_HDF5)
  liana_find_loaded(HDF5 hdf5-serial src/formats/hdf5/hdf5_calls.c)
endif()
if(LIANA_ZMQ)
  liana_find_loaded(ZMQ libzmq src/distribute/transport/zmq_calls.c)
endif()
if(LIANA_REMOTE)
  liana_find_loaded(CURL libcurl src/remote/calls.c)
  liana_find_loaded(CRYPTO libcrypto src/remote/calls.c)
  liana_find_loaded(EXPAT expat src/remote/calls.c)
endif()
