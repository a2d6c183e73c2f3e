# libliana (static, shared or both: BUILD_SHARED_LIBS) and the liana command. A new file in src/ is built without an edit here; the suffix of
# a file name chooses its instruction set: kernel.generic.c, kernel.avx2.c, kernel.avx512.c,
# kernel.avx512_bf16_storage.c, kernel.avx512_bf16.c, kernel.amx.c.
file(GLOB_RECURSE LIANA_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.c)
set(LIANA_CLI_SOURCES ${LIANA_SOURCES})
list(FILTER LIANA_CLI_SOURCES INCLUDE REGEX "/src/cli/")
list(FILTER LIANA_SOURCES EXCLUDE REGEX "/src/cli/")
set(LIANA_SAMPLE_SOURCES ${LIANA_SOURCES})
list(FILTER LIANA_SAMPLE_SOURCES INCLUDE REGEX "\\.samples\\.c$")
list(FILTER LIANA_SOURCES EXCLUDE REGEX "\\.samples\\.c$")

# Kernels are compiled once for each width of vectors (src/kernels/vector_kernels.h); the wide ones are x86-64's.
# With sanitizers, whose checks stand at each access of loops that are unrolled by hand, -O3 takes minutes for a file.
if(LIANA_SANITIZE)
  set(LIANA_KERNEL_OPTIMIZATION -O1 CACHE STRING "How kernels are optimized, whatever the build type")
else()
  set(LIANA_KERNEL_OPTIMIZATION -O3 CACHE STRING "How kernels are optimized, whatever the build type")
endif()
set(LIANA_AVX512_OPTIONS -mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512
  ${LIANA_KERNEL_OPTIMIZATION} -DLIANA_VECTOR_BYTES=64)
function(liana_choose_instruction_sets)
  foreach(source ${ARGN})
    if(source MATCHES "\\.avx2\\.c$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS
        "-mavx2;-mfma;-mf16c;${LIANA_KERNEL_OPTIMIZATION};-DLIANA_VECTOR_BYTES=32")
    elseif(source MATCHES "\\.avx512\\.c$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${LIANA_AVX512_OPTIONS}")
    elseif(source MATCHES "\\.avx512_bf16\\.c$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${LIANA_AVX512_OPTIONS};-mavx512bf16")
    elseif(source MATCHES "\\.avx512_bf16_storage\\.c$")
      # With the rounding of AVX512_BF16, without its dot products.
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS
        "${LIANA_AVX512_OPTIONS};-mavx512bf16;-DLIANA_BF16_STORAGE")
    elseif(source MATCHES "\\.amx\\.c$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS
        "${LIANA_AVX512_OPTIONS};-mavx512bf16;-mamx-tile;-mamx-bf16;-DLIANA_AMX")
    elseif(source MATCHES "\\.generic\\.c$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS
        "${LIANA_KERNEL_OPTIMIZATION};-DLIANA_VECTOR_BYTES=16")
    elseif(source MATCHES "\\.plain\\.c$")
      # Their plain loops are to become vectors.
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS ${LIANA_KERNEL_OPTIMIZATION})
    endif()
  endforeach()
endfunction()
liana_choose_instruction_sets(${LIANA_SOURCES})
if(NOT LIANA_X86)
  list(FILTER LIANA_SOURCES EXCLUDE REGEX "\\.(avx2|avx512|avx512_bf16_storage|avx512_bf16|amx)\\.c$")
endif()
if(LIANA_REMOTE)
  list(FILTER LIANA_SOURCES EXCLUDE REGEX "/src/remote/remote_missing\\.c$")
else()
  list(FILTER LIANA_SOURCES EXCLUDE REGEX "/src/remote/(.*/)?[^/]*\\.c$")
  list(APPEND LIANA_SOURCES ${PROJECT_SOURCE_DIR}/src/remote/remote_missing.c ${PROJECT_SOURCE_DIR}/src/remote/name.c)
endif()

# The page of augmentations needs WebAssembly (cmake/web.cmake).
list(FILTER LIANA_SOURCES EXCLUDE REGEX "/report/web/stand_ins/")
if(LIANA_WEB_SOURCES)
  list(FILTER LIANA_SOURCES EXCLUDE REGEX "/report/web/augment_page_missing\\.c$")
  list(APPEND LIANA_SOURCES ${LIANA_WEB_SOURCES})
else()
  list(FILTER LIANA_SOURCES EXCLUDE REGEX "/report/web/augment_page\\.c$")
endif()

# Modules that are loaded at run time.
list(FILTER LIANA_SOURCES EXCLUDE REGEX "/transport/module/")
file(RELATIVE_PATH LIANA_BIN_TO_LIB ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
# Below the library's folder. Those of another SONAME lie next to them.
set(LIANA_MODULES_FOLDER liana/${PROJECT_VERSION_MAJOR})
set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/distribute/transport/mpi_load.c APPEND PROPERTY
  COMPILE_DEFINITIONS "LIANA_MODULES_FOLDER=\"${LIANA_MODULES_FOLDER}\""
  "LIANA_MODULES_FROM_BIN=\"${LIANA_BIN_TO_LIB}/${LIANA_MODULES_FOLDER}\"")
if(LIANA_ZMQ)
  list(FILTER LIANA_SOURCES EXCLUDE REGEX "/transport/zmq_missing\\.c$")
else()
  list(FILTER LIANA_SOURCES EXCLUDE REGEX "/transport/zmq(_[^/]*)?\\.c$")
  list(APPEND LIANA_SOURCES ${PROJECT_SOURCE_DIR}/src/distribute/transport/zmq_missing.c)
endif()

# The compiler's options for every part of liana.
add_library(liana_options INTERFACE)
target_compile_definitions(liana_options INTERFACE _GNU_SOURCE LIANA_VERSION="${PROJECT_VERSION}"
  $<$<BOOL:${LIANA_HDF5}>:LIANA_HAVE_HDF5> $<$<BOOL:${LIANA_X86}>:LIANA_X86>
  $<$<BOOL:${LIANA_REMOTE}>:LIANA_HAVE_REMOTE> $<$<BOOL:${LIANA_ZMQ}>:LIANA_HAVE_ZMQ>)
target_compile_options(liana_options INTERFACE -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
  -Wpointer-arith -Wundef -Wformat=2 -fno-math-errno -ffp-contract=off -fno-semantic-interposition)
if(LIANA_WERROR)
  target_compile_options(liana_options INTERFACE -Werror)
endif()
if(LIANA_SANITIZE)
  target_compile_options(liana_options INTERFACE -fsanitize=${LIANA_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  target_link_options(liana_options INTERFACE -fsanitize=${LIANA_SANITIZE})
endif()
target_include_directories(liana_options INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include
  ${PROJECT_BINARY_DIR}/generated ${DNNL_INCLUDE})
target_include_directories(liana_options SYSTEM INTERFACE ${LIANA_LOADED_INCLUDES})
target_link_libraries(liana_options INTERFACE ${DNNL_LIBRARY} ${GOMP_LIBRARY} PkgConfig::JPEG PkgConfig::PNG
  PkgConfig::EXIF PkgConfig::JANSSON PkgConfig::FYAML PkgConfig::PROTOBUF_C PkgConfig::UTF8PROC ZLIB::ZLIB
  Threads::Threads m ${CMAKE_DL_LIBS})

add_library(liana_objects OBJECT ${LIANA_SOURCES})
# git is asked at each build, since a commit is another version (cmake/version.cmake).
set(LIANA_VERSION_FILE ${PROJECT_BINARY_DIR}/generated/version.c)
add_custom_target(liana_version BYPRODUCTS ${LIANA_VERSION_FILE}
  COMMAND ${CMAKE_COMMAND} -DFILE=${LIANA_VERSION_FILE} -P ${PROJECT_SOURCE_DIR}/cmake/version.cmake VERBATIM)
target_sources(liana_objects PRIVATE ${LIANA_VERSION_FILE})
add_dependencies(liana_objects liana_version)
target_link_libraries(liana_objects PRIVATE liana_options)

# libliana.so hides by this list all that is not public. The objects hide nothing: tests look inside.
set(LIANA_EXPORTS ${PROJECT_SOURCE_DIR}/cmake/exports.map)
add_library(liana_static STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:liana_objects>)
set_target_properties(liana_static PROPERTIES OUTPUT_NAME liana)
target_link_libraries(liana_static PRIVATE liana_options)
target_include_directories(liana_static PUBLIC ${PROJECT_SOURCE_DIR}/include)

# The command without its main: tests call it, too.
list(FILTER LIANA_CLI_SOURCES EXCLUDE REGEX "/main\\.c$")
add_library(liana_cli_objects OBJECT ${LIANA_CLI_SOURCES})
target_link_libraries(liana_cli_objects PRIVATE liana_options)
# Tests and measurements call what libliana.so hides. Three hundred programs link this library in a tenth of the time
# that the archive takes. It is not installed.
add_library(liana_internal SHARED EXCLUDE_FROM_ALL $<TARGET_OBJECTS:liana_objects> $<TARGET_OBJECTS:liana_cli_objects>)
set_target_properties(liana_internal PROPERTIES OUTPUT_NAME liana-internal)
target_link_libraries(liana_internal PRIVATE liana_options)
target_include_directories(liana_internal PUBLIC ${PROJECT_SOURCE_DIR}/include)
add_executable(liana ${PROJECT_SOURCE_DIR}/src/cli/main.c)

if(LIANA_SHARED)
  add_library(liana_shared SHARED $<TARGET_OBJECTS:liana_objects>)
  set_target_properties(liana_shared PROPERTIES OUTPUT_NAME liana VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS ${LIANA_EXPORTS})
  target_link_options(liana_shared PRIVATE -Wl,--version-script=${LIANA_EXPORTS})
  target_link_libraries(liana_shared PRIVATE liana_options)
  if(NOT LIANA_SANITIZE)
    target_link_options(liana_shared PRIVATE -Wl,-z,defs)
  endif()
endif()
if(LIANA_SHARED)
  # Plugins call the library that has loaded them, so the command links the shared one. The command calls functions that
  # the library hides: its code lies in the library too, and the program is a main that calls it.
  target_sources(liana_shared PRIVATE $<TARGET_OBJECTS:liana_cli_objects>)
  if(LIANA_SANITIZE)
    # A sanitizer's library must come first in the program that loads a library built with it.
    target_link_options(liana PRIVATE -fsanitize=${LIANA_SANITIZE})
  endif()
  target_link_libraries(liana PRIVATE liana_shared)
  target_include_directories(liana PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  set_target_properties(liana PROPERTIES INSTALL_RPATH "$ORIGIN/${LIANA_BIN_TO_LIB}")
else()
  # Plugins find liana's functions in the program itself, so it has all of them.
  target_sources(liana PRIVATE $<TARGET_OBJECTS:liana_objects> $<TARGET_OBJECTS:liana_cli_objects>)
  target_link_libraries(liana PRIVATE liana_options)
  target_link_options(liana PRIVATE -Wl,--version-script=${LIANA_EXPORTS})
  set_target_properties(liana PROPERTIES ENABLE_EXPORTS ON LINK_DEPENDS ${LIANA_EXPORTS})
endif()

# One module for each MPI whose headers are there (src/distribute/transport/mpi_module.h).
set(LIANA_MPI_MODULES)
function(liana_add_mpi_module library package)
  liana_find_package(MPI_${library} ${package} QUIET)
  if(NOT MPI_${library}_FOUND)
    message(STATUS "no ${package}: without the module for ${library}")
    return()
  endif()
  add_library(liana_${library} MODULE ${PROJECT_SOURCE_DIR}/src/distribute/transport/module/mpi_module.c)
  target_link_libraries(liana_${library} PRIVATE PkgConfig::MPI_${library})
  target_include_directories(liana_${library} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  set_target_properties(liana_${library} PROPERTIES PREFIX "")
  set(LIANA_MPI_MODULES ${LIANA_MPI_MODULES} liana_${library} PARENT_SCOPE)
endfunction()
if(LIANA_MPI)
  liana_add_mpi_module(openmpi ompi-c)
  liana_add_mpi_module(mpich mpich)
endif()
