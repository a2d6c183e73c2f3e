# Each tests/**/test_*.c is one cmocka program, and one ctest. Tests see liana's insides: they link the static library.
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
file(GLOB_RECURSE LIANA_TEST_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/test_*.c)
file(GLOB LIANA_TEST_HARNESS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/harness/*.c)
add_library(liana_test_harness STATIC ${LIANA_TEST_HARNESS} ${LIANA_SAMPLE_SOURCES})
target_link_libraries(liana_test_harness PUBLIC liana_cli liana_static liana_options PkgConfig::CMOCKA)
target_include_directories(liana_test_harness PUBLIC ${PROJECT_SOURCE_DIR}/tests)
target_compile_definitions(liana_test_harness PUBLIC LIANA_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
  LIANA_COMMAND="$<TARGET_FILE_DIR:liana_shared>/liana")
set(LIANA_TEST_ENVIRONMENT)
if(LIANA_SANITIZE)
  set(LIANA_TEST_ENVIRONMENT
    "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/harness/lsan.supp:print_suppressions=0"
    "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/harness/tsan.supp")
endif()
foreach(source ${LIANA_TEST_SOURCES})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE liana_test_harness)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 600)
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "${LIANA_TEST_ENVIRONMENT}")
  add_dependencies(${name} liana)
endforeach()
