# Each tests/ROOM/**/test_*.c is one cmocka program, and one ctest, both of its name. Tests see liana's insides: they link
# liana_internal.
liana_find_package(CMOCKA cmocka REQUIRED)
file(GLOB_RECURSE LIANA_TEST_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/*/test_*.c)
list(FILTER LIANA_TEST_SOURCES EXCLUDE REGEX "/harness/")
if(NOT LIANA_REMOTE)
  list(FILTER LIANA_TEST_SOURCES EXCLUDE REGEX "/test_(remote.*|sigv4|listing|known_fetch|known_files|fetch_command|data_sets|named_weights)\\.c$")
endif()
file(GLOB_RECURSE LIANA_TEST_HARNESS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/harness/*.c)
liana_choose_instruction_sets(${LIANA_TEST_HARNESS})
if(NOT LIANA_X86)
  list(FILTER LIANA_TEST_HARNESS EXCLUDE REGEX "\\.avx512_bf16\\.c$")
endif()
add_library(liana_test_harness STATIC ${LIANA_TEST_HARNESS} ${LIANA_SAMPLE_SOURCES})
target_link_libraries(liana_test_harness PUBLIC liana_internal liana_options PkgConfig::CMOCKA)
target_include_directories(liana_test_harness PUBLIC ${PROJECT_SOURCE_DIR}/tests)
target_compile_definitions(liana_test_harness PUBLIC LIANA_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
  LIANA_COMMAND="$<TARGET_FILE_DIR:liana_internal>/liana")
# What runs a program of another machine, as strings of C with a comma behind each.
set(LIANA_TEST_EMULATOR)
foreach(word ${CMAKE_CROSSCOMPILING_EMULATOR})
  string(APPEND LIANA_TEST_EMULATOR "\"${word}\",")
endforeach()
target_compile_definitions(liana_test_harness PRIVATE "LIANA_TEST_EMULATOR=${LIANA_TEST_EMULATOR}")
set(LIANA_PEERS_ENVIRONMENT)
if(LIANA_SANITIZE)
  set(LIANA_PEERS_ENVIRONMENT
    "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/harness/lsan.supp:print_suppressions=0"
    "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/harness/tsan.supp:die_after_fork=0")
endif()
# `make test` needs nothing but Debian: tests that need a peer (harness/peers.h) have the label peers and run apart.
set(LIANA_TEST_ENVIRONMENT ${LIANA_PEERS_ENVIRONMENT} "LIANA_PEERS=")
# The PJRT plugin that counts and fails on purpose; it hands calls to a real one.
add_library(liana_counting_plugin MODULE ${PROJECT_SOURCE_DIR}/tests/modules/counting_plugin.c)
target_link_libraries(liana_counting_plugin PRIVATE liana_options)
target_compile_definitions(liana_test_harness PUBLIC LIANA_COUNTING_PLUGIN="$<TARGET_FILE:liana_counting_plugin>")
add_dependencies(liana_test_harness liana_counting_plugin)
# A clock that is wrong, for one process of several.
add_library(liana_other_clock MODULE ${PROJECT_SOURCE_DIR}/tests/modules/other_clock.c)
target_link_libraries(liana_other_clock PRIVATE liana_options)
set_property(SOURCE ${PROJECT_SOURCE_DIR}/tests/distribute/cluster/test_cluster_refused.c
  APPEND PROPERTY COMPILE_DEFINITIONS LIANA_OTHER_CLOCK="$<TARGET_FILE:liana_other_clock>")
add_dependencies(liana_test_harness liana_other_clock)
# The one that compiles for devices that are not there.
add_library(liana_ahead_plugin MODULE ${PROJECT_SOURCE_DIR}/tests/modules/ahead_plugin.c)
target_link_libraries(liana_ahead_plugin PRIVATE liana_options)
set_property(SOURCE ${PROJECT_SOURCE_DIR}/tests/train/training/test_tile_plan.c
  APPEND PROPERTY COMPILE_DEFINITIONS LIANA_AHEAD_PLUGIN="$<TARGET_FILE:liana_ahead_plugin>")
add_dependencies(liana_test_harness liana_ahead_plugin)
# Tests without arithmetic on arrays and images: they depend on no instruction set. `make test-levels` runs them once.
foreach(name credentials crc32c csv csv_table example field file_target gzip gzip_index hdf5 hdf5_keras3 hdf5_tree idx json
    known_fetch listing remote remote_https remote_keys remote_names remote_outlet remote_store safetensors sampler sigv4 tar tf_checkpoint
    tfrecord tfrecord_blocks value yaml zip)
  set(LIANA_LABELS_test_${name} "files;")
  set(LIANA_LABELS_replay_${name} "files;")
endforeach()
# All that these do needs a peer. Of other tests some cases do: they run once without peers, and once with them.
set(LIANA_ONLY_WITH_PEERS test_pjrt_losses test_pjrt_ops test_pjrt_recompute test_pjrt_train test_pjrt_whole test_pjrt_zoo
  test_stablehlo_models test_tfjs test_keras_features test_keras_layers test_keras_updates test_keras_vocabulary
  test_keras_zoo test_tf_data_peers test_feature_space test_onnx_networks test_onnxruntime)
foreach(source ${LIANA_TEST_SOURCES})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE liana_test_harness)
  add_dependencies(${name} liana)
  set(peers ${name})
  if(NOT name IN_LIST LIANA_ONLY_WITH_PEERS)
    string(REGEX REPLACE "^test_" "peers_" peers ${name})
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES LABELS "${LIANA_LABELS_${name}}unit" TIMEOUT ${LIANA_TEST_TIMEOUT}
      ENVIRONMENT "${LIANA_TEST_ENVIRONMENT}")
  endif()
  file(STRINGS ${source} needs_peers REGEX "liana__test_(plugin_is_there|begin_on_plugin|need_jaxlib|peer)\\(" LIMIT_COUNT 1)
  if(needs_peers)
    add_test(NAME ${peers} COMMAND ${name})
    set_tests_properties(${peers} PROPERTIES LABELS "peers;unit" TIMEOUT ${LIANA_TEST_TIMEOUT}
      ENVIRONMENT "${LIANA_PEERS_ENVIRONMENT}")
  elseif(name IN_LIST LIANA_ONLY_WITH_PEERS)
    message(FATAL_ERROR "${source} asks for no peer")
  endif()
endforeach()
# "": there is none.
set_property(SOURCE ${PROJECT_SOURCE_DIR}/tests/report/web/test_augment_module.c
  ${PROJECT_SOURCE_DIR}/tests/report/web/test_augment_page.c
  APPEND PROPERTY COMPILE_DEFINITIONS LIANA_WASM_MODULE="${LIANA_WASM_MODULE}")
if(LIANA_HDF5)
  # They write files of their own with it.
  foreach(name test_hdf5 test_hdf5_keras3 test_hdf5_tree test_model_zoo)
    target_link_libraries(${name} PRIVATE PkgConfig::HDF5)
  endforeach()
endif()

# Its calls are written from the public headers.
file(GLOB LIANA_PUBLIC_HEADERS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/liana/*.h ${PROJECT_SOURCE_DIR}/include/liana/layers/*.h)
set(LIANA_NULL_ARGUMENTS ${PROJECT_SOURCE_DIR}/tests/public/null_arguments)
set(LIANA_NULL_ARGUMENTS_MADE ${PROJECT_BINARY_DIR}/null_arguments)
file(MAKE_DIRECTORY ${LIANA_NULL_ARGUMENTS_MADE})
add_custom_command(OUTPUT ${LIANA_NULL_ARGUMENTS_MADE}/null_arguments.inc
  COMMAND sh ${LIANA_NULL_ARGUMENTS}/generate.sh ${CMAKE_C_COMPILER} ${PROJECT_SOURCE_DIR}/include
    ${LIANA_NULL_ARGUMENTS_MADE}/null_arguments.inc
  DEPENDS ${LIANA_PUBLIC_HEADERS} ${LIANA_NULL_ARGUMENTS}/generate.sh ${LIANA_NULL_ARGUMENTS}/may_be_null.txt VERBATIM)
target_sources(test_null_arguments PRIVATE ${LIANA_NULL_ARGUMENTS_MADE}/null_arguments.inc)
target_include_directories(test_null_arguments PRIVATE ${LIANA_NULL_ARGUMENTS_MADE})

# The small corpora of the fuzz targets: replay_X feeds fuzz_X with tests/fuzz/corpus/fuzz_X.
file(GLOB LIANA_FUZZ_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/fuzz_*.c)
if(NOT LIANA_REMOTE)
  list(FILTER LIANA_FUZZ_SOURCES EXCLUDE REGEX "/fuzz_(listing|credentials)\\.c$")
endif()
foreach(source ${LIANA_FUZZ_SOURCES})
  get_filename_component(target ${source} NAME_WE)
  string(REPLACE fuzz_ replay_ name ${target})
  if(EXISTS ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${target})
    add_executable(${name} ${source} ${PROJECT_SOURCE_DIR}/tests/fuzz/replay.c)
    target_link_libraries(${name} PRIVATE liana_test_harness)
    add_test(NAME ${name} COMMAND ${name} ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${target})
    set_tests_properties(${name} PROPERTIES LABELS "${LIANA_LABELS_${name}}unit" ENVIRONMENT "${LIANA_TEST_ENVIRONMENT}")
  endif()
endforeach()

# The examples in C; tests/install builds them against the installed library as well.
foreach(example mnist datasets line values custom_loop replicas free_workers gan class_picture estimator towers)
  add_executable(example_${example} ${PROJECT_SOURCE_DIR}/examples/${example}.c)
  target_link_libraries(example_${example} PRIVATE liana_internal m)
endforeach()
