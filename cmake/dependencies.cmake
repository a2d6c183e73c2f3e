# The libraries that liana stands on; DESIGN's reasons are in docs/design.md.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
pkg_check_modules(JPEG REQUIRED IMPORTED_TARGET libjpeg)
pkg_check_modules(PNG REQUIRED IMPORTED_TARGET libpng)
pkg_check_modules(EXIF REQUIRED IMPORTED_TARGET libexif)
pkg_check_modules(CAIRO REQUIRED IMPORTED_TARGET cairo)
pkg_check_modules(FONTCONFIG REQUIRED IMPORTED_TARGET fontconfig)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(FYAML REQUIRED IMPORTED_TARGET libfyaml)
pkg_check_modules(PROTOBUF_C REQUIRED IMPORTED_TARGET libprotobuf-c)
find_program(PROTOC_C protoc-c REQUIRED)

# Debian's oneDNN 2.6 comes with libgomp; its thread count must be set around every call (see src/kernels/onednn.c).
find_path(DNNL_INCLUDE oneapi/dnnl/dnnl.h REQUIRED)
find_library(DNNL_LIBRARY dnnl REQUIRED)
find_library(GOMP_LIBRARY NAMES gomp libgomp.so.1 REQUIRED)

if(LIANA_HDF5)
  pkg_check_modules(HDF5 REQUIRED IMPORTED_TARGET hdf5-serial)
endif()

if(LIANA_REMOTE)
  pkg_check_modules(CURL REQUIRED IMPORTED_TARGET libcurl)
  pkg_check_modules(CRYPTO REQUIRED IMPORTED_TARGET libcrypto)
  pkg_check_modules(EXPAT REQUIRED IMPORTED_TARGET expat)
endif()
