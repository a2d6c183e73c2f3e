# Manual pages, written by scripts/reference/ from what the command says of itself and from the public headers. Included by
# cmake/install.cmake. Without Python there are none; all else is built.
find_package(Python3 COMPONENTS Interpreter QUIET)
set(LIANA_MANUAL ${PROJECT_BINARY_DIR}/manual)
if(Python3_Interpreter_FOUND)
  file(GLOB_RECURSE LIANA_REFERENCE_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/scripts/reference/*.py
    ${PROJECT_SOURCE_DIR}/include/liana/*.h)
  add_custom_command(OUTPUT ${LIANA_MANUAL}.stamp
    COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/scripts/reference/reference.py --manual ${LIANA_MANUAL}
      ${PROJECT_SOURCE_DIR}/include/liana ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:liana>
    COMMAND ${CMAKE_COMMAND} -E touch ${LIANA_MANUAL}.stamp
    DEPENDS liana ${LIANA_REFERENCE_SOURCES} COMMENT "manual pages" VERBATIM)
  add_custom_target(liana_manual ALL DEPENDS ${LIANA_MANUAL}.stamp)
  install(DIRECTORY ${LIANA_MANUAL}/ DESTINATION ${CMAKE_INSTALL_MANDIR})
else()
  message(NOTICE "Manual pages are not built: python3 is missing (scripts/install-packages.sh)")
  add_custom_target(liana_manual)
endif()
