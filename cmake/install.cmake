# What `make install` puts where, and how other programs find it: liana.pc for pkg-config, LianaConfig.cmake for CMake.
# Both find their files from where they lie themselves, so an installed tree may be moved.
include(CMakePackageConfigHelpers)

# What `make` builds: everything that is installed, and no tests.
add_custom_target(liana_product DEPENDS liana_static liana_shared)
if(TARGET liana)
  add_dependencies(liana_product liana)
  install(TARGETS liana RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

install(TARGETS liana_shared liana_static
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/liana DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")

# What a program that links libliana.a must link as well.
set(LIANA_PC_REQUIRES "libjpeg libpng libexif cairo fontconfig jansson libfyaml libprotobuf-c zlib")
set(LIANA_PC_LIBS "-ldnnl -lgomp -lpthread -lm")
if(LIANA_HDF5)
  string(APPEND LIANA_PC_REQUIRES " hdf5-serial")
endif()
if(LIANA_REMOTE)
  # Named as libraries: as packages they would ask for all that a static libcurl needs, which few machines have.
  string(APPEND LIANA_PC_LIBS " -lcurl -lcrypto -lexpat")
endif()

file(RELATIVE_PATH LIANA_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" LIANA_PC_PREFIX ${LIANA_PC_PREFIX})
configure_file(cmake/liana.pc.in generated/liana.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/generated/liana.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

get_target_property(LIANA_SONAME_VERSION liana_shared SOVERSION)
configure_package_config_file(cmake/LianaConfig.cmake.in generated/LianaConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Liana PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
# 0.x promises nothing from one minor version to the next.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/LianaConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/LianaConfig.cmake ${PROJECT_BINARY_DIR}/generated/LianaConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Liana)
