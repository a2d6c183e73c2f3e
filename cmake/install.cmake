# The files of `make install`, and how other programs find the library: liana.pc for pkg-config, LianaConfig.cmake for
# CMake. Both find their files from where they lie themselves, so an installed tree may be moved.
include(CMakePackageConfigHelpers)

# `make` builds everything that is installed, and no tests.
add_custom_target(liana_product DEPENDS liana liana_manual)
install(TARGETS liana RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(LIANA_SHARED)
  add_dependencies(liana_product liana_shared)
  install(TARGETS liana_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(LIANA_STATIC)
  set_target_properties(liana_static PROPERTIES EXCLUDE_FROM_ALL OFF)
  add_dependencies(liana_product liana_static)
  install(TARGETS liana_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(LIANA_MPI_MODULES)
  add_dependencies(liana_product ${LIANA_MPI_MODULES})
  install(TARGETS ${LIANA_MPI_MODULES} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/${LIANA_MODULES_FOLDER})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/liana DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")

# The Python module finds the library of its own installation. The folder is Debian's for modules of packages below
# /usr, and of others below /usr/local; a folder of your own is for PYTHONPATH.
if(LIANA_SHARED)
  set(LIANA_PYTHON_DIR lib/python3/dist-packages CACHE STRING "Where the Python module is installed, below the prefix")
  install(FILES bindings/python/liana.py DESTINATION ${LIANA_PYTHON_DIR} COMPONENT python)
endif()

# As they lie in the tree, so that links between them lead somewhere.
install(FILES LICENSE README.md CONTRIBUTING.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY bench DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md")

include(cmake/reference.cmake)
# Completion of command lines: where each shell looks for a command's own script.
set(LIANA_COMPLETIONS)
foreach(row bash:bash-completion/completions:liana zsh:zsh/site-functions:_liana fish:fish/vendor_completions.d:liana.fish)
  string(REPLACE ":" ";" row ${row})
  list(GET row 0 shell)
  list(GET row 1 folder)
  list(GET row 2 file)
  set(script ${PROJECT_BINARY_DIR}/generated/completion/${file})
  add_custom_command(OUTPUT ${script} COMMAND liana completion ${shell} > ${script} DEPENDS liana COMMENT "completion for ${shell}")
  list(APPEND LIANA_COMPLETIONS ${script})
  install(FILES ${script} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder})
endforeach()
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/generated/completion)
add_custom_target(liana_completions ALL DEPENDS ${LIANA_COMPLETIONS})
add_dependencies(liana_product liana_completions)

add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake
  WORKING_DIRECTORY ${PROJECT_BINARY_DIR} VERBATIM)

# Libraries that a program with libliana.a must link as well, each in its shared form: Debian has no archive of oneDNN.
# Written as libraries, not as packages: only programs that link libliana.a need the packages' development files.
set(LIANA_NEEDED_LIBS)
foreach(package JPEG PNG EXIF JANSSON FYAML PROTOBUF_C UTF8PROC)
  list(APPEND LIANA_NEEDED_LIBS ${${package}_LDFLAGS})
endforeach()
list(APPEND LIANA_NEEDED_LIBS -lz)
foreach(library ${DNNL_LIBRARY} ${GOMP_LIBRARY})
  get_filename_component(name ${library} NAME)
  # Debian's libgomp has no libgomp.so but gcc's own, which clang does not look for.
  if(name MATCHES "^lib(.*)\\.so$")
    list(APPEND LIANA_NEEDED_LIBS -l${CMAKE_MATCH_1})
  else()
    list(APPEND LIANA_NEEDED_LIBS -l:${name})
  endif()
endforeach()
list(APPEND LIANA_NEEDED_LIBS -lpthread -lm)
foreach(name ${CMAKE_DL_LIBS})
  list(APPEND LIANA_NEEDED_LIBS -l${name})
endforeach()
list(REMOVE_DUPLICATES LIANA_NEEDED_LIBS)
foreach(folder ${CMAKE_C_IMPLICIT_LINK_DIRECTORIES})
  list(REMOVE_ITEM LIANA_NEEDED_LIBS -L${folder})
endforeach()
list(JOIN LIANA_NEEDED_LIBS " " LIANA_PC_NEEDED)
# Where there is no shared library, every program needs them.
if(LIANA_SHARED)
  set(LIANA_PC_LIBS)
  set(LIANA_PC_LIBS_PRIVATE " ${LIANA_PC_NEEDED}")
else()
  set(LIANA_PC_LIBS " ${LIANA_PC_NEEDED}")
  set(LIANA_PC_LIBS_PRIVATE)
endif()

file(RELATIVE_PATH LIANA_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" LIANA_PC_PREFIX ${LIANA_PC_PREFIX})
configure_file(cmake/liana.pc.in generated/liana.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/generated/liana.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

configure_package_config_file(cmake/LianaConfig.cmake.in generated/LianaConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Liana PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
# Programs of 1.2 run with 1.3, and not with 1.1 (docs/guides/releasing.md).
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/LianaConfigVersion.cmake
  COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/LianaConfig.cmake ${PROJECT_BINARY_DIR}/generated/LianaConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Liana)
