# The checks of the tree itself, as tests, so that `make test` and CI run them and ctest's summary counts them.
function(liana_add_check name)
  add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS checks SKIP_RETURN_CODE 77 TIMEOUT ${LIANA_TEST_TIMEOUT}
    ENVIRONMENT "${LIANA_TEST_ENVIRONMENT}")
endfunction()

# Checks that need a peer (tests/checks/needs.sh).
function(liana_add_peers_check name)
  liana_add_check(${name} ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS "peers;checks" ENVIRONMENT "${LIANA_PEERS_ENVIRONMENT}")
endfunction()

liana_add_check(check_format scripts/format.sh --check)
liana_add_check(check_includes scripts/check_includes.sh)
liana_add_check(check_includes_catches tests/checks/test_check_includes.sh)
liana_add_check(check_names scripts/check_names.sh)
liana_add_check(check_names_catches tests/checks/test_check_names.sh)
liana_add_check(check_registry scripts/check_registry.sh)
liana_add_check(check_registry_catches tests/checks/test_check_registry.sh)
liana_add_check(second_make tests/checks/test_second_make.sh ${CMAKE_C_COMPILER})
liana_add_check(install_peers tests/checks/test_install_peers.sh)
liana_add_check(skips tests/checks/test_skips.sh)
liana_add_check(builders_without_warnings tests/checks/test_builders.sh)
liana_add_check(named_lists tests/checks/test_named_lists.sh ${PROJECT_BINARY_DIR})
liana_add_check(completion tests/checks/test_completion.sh ${PROJECT_BINARY_DIR})
liana_add_check(bench_runs tests/checks/test_bench.sh ${PROJECT_BINARY_DIR})
foreach(peer torch jax tensorflow)
  liana_add_peers_check(bench_peer_${peer} tests/checks/test_peers.sh ${peer})
endforeach()
foreach(peer torch jax)
  liana_add_peers_check(bench_networks_${peer} tests/checks/test_peer_networks.sh ${peer})
endforeach()
foreach(backend tensorflow jax)
  liana_add_peers_check(keras_tasks_${backend} tests/checks/test_keras_lists.sh tasks ${backend})
  liana_add_peers_check(keras_rules_${backend} tests/checks/test_keras_lists.sh rules ${backend})
endforeach()
liana_add_peers_check(keras_optimizers tests/checks/test_keras_optimizers.sh)
liana_add_peers_check(keras_page tests/checks/test_keras_page.sh ${PROJECT_BINARY_DIR})
liana_add_peers_check(tensorboard tests/checks/test_tensorboard.sh ${PROJECT_BINARY_DIR})
liana_add_peers_check(browser tests/checks/test_browser.sh)
liana_add_peers_check(bench_page_runs env SECONDS_EACH=0.5 bench/bench_page.sh ${PROJECT_BINARY_DIR})
liana_add_peers_check(page tests/checks/test_page.sh ${PROJECT_BINARY_DIR})
liana_add_peers_check(serve_page tests/checks/test_serve_page.sh ${PROJECT_BINARY_DIR})
liana_add_peers_check(live tests/checks/test_live.sh ${PROJECT_BINARY_DIR})
liana_add_peers_check(tf_checkpoints tests/checks/test_tf_checkpoints.sh)
liana_add_peers_check(pjrt_header tests/checks/test_pjrt_header.sh ${CMAKE_C_COMPILER})
liana_add_check(cut_network tests/checks/test_cut_network.sh ${PROJECT_BINARY_DIR})
liana_add_check(kills tests/checks/test_kills.sh ${PROJECT_BINARY_DIR})
liana_add_check(shaped_network tests/checks/test_shaped_network.sh ${PROJECT_BINARY_DIR})
liana_add_check(event_devices tests/checks/test_event_devices.sh ${PROJECT_BINARY_DIR})
liana_add_peers_check(event_devices_plugin tests/checks/test_event_devices.sh ${PROJECT_BINARY_DIR} --plugin)
liana_add_check(mpi tests/checks/test_mpi.sh ${PROJECT_BINARY_DIR})
liana_add_check(full_disk tests/checks/test_full_disk.sh ${PROJECT_BINARY_DIR})
liana_add_check(serve tests/checks/test_serve.sh ${PROJECT_BINARY_DIR})
liana_add_check(serve_soak tests/checks/test_serve_soak.sh ${PROJECT_BINARY_DIR})
liana_add_check(code_gate tests/checks/test_code_gate.sh ${PROJECT_BINARY_DIR})
liana_add_check(quoted_code tests/checks/test_quoted_code.sh)
liana_add_check(named_files tests/checks/test_named_files.sh)
liana_add_check(docs_commands tests/docs/test_docs.sh ${PROJECT_BINARY_DIR})
liana_add_peers_check(docs_commands_with_plugin tests/docs/test_docs.sh ${PROJECT_BINARY_DIR} --plugin)
# A sanitizer asks other questions.
if(NOT LIANA_SANITIZE)
  liana_add_check(install_and_use tests/install/test_install.sh ${PROJECT_BINARY_DIR} ${PROJECT_VERSION})
  if(LIANA_SHARED)
    liana_add_check(plugins tests/checks/test_plugins.sh ${PROJECT_BINARY_DIR})
    liana_add_check(python tests/checks/test_python.sh ${PROJECT_BINARY_DIR} ${CMAKE_C_COMPILER})
  endif()
  liana_add_check(loaded_libraries tests/checks/test_loaded_libraries.sh ${PROJECT_BINARY_DIR})
  liana_add_check(small_processors tests/checks/test_small_processors.sh ${PROJECT_BINARY_DIR})
  liana_add_check(same_bytes tests/checks/test_same_bytes.sh ${PROJECT_BINARY_DIR}
    "${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION} ${CMAKE_BUILD_TYPE}")
  # -O0 without debugging lines, kernels too: only the compilers' and the linker's words count.
  liana_add_check(builds_with_clang tests/checks/test_build.sh ${PROJECT_BINARY_DIR}/clang clang-14
    -DCMAKE_BUILD_TYPE=None -DLIANA_KERNEL_OPTIMIZATION=-O0 -DBUILD_SHARED_LIBS=OFF)
  liana_add_check(builds_without_options tests/checks/test_build.sh ${PROJECT_BINARY_DIR}/without-options gcc
    -DCMAKE_BUILD_TYPE=None -DLIANA_KERNEL_OPTIMIZATION=-O0 -DLIANA_HDF5=OFF -DLIANA_REMOTE=OFF -DLIANA_ZMQ=OFF
    -DLIANA_MPI=OFF -DLIANA_WASM=OFF -DLIANA_X86=OFF -DLIANA_TESTS=OFF -DBUILD_SHARED_LIBS=ON)
  set_tests_properties(builds_with_clang builds_without_options PROPERTIES PROCESSORS 2)
  # Of these builds the first has the static library alone, the second the shared one.
  liana_add_check(install_static tests/install/test_one_library.sh ${PROJECT_BINARY_DIR}/clang static ${PROJECT_VERSION})
  liana_add_check(install_shared tests/install/test_one_library.sh ${PROJECT_BINARY_DIR}/without-options shared
    ${PROJECT_VERSION})
  set_tests_properties(install_static PROPERTIES DEPENDS builds_with_clang)
  set_tests_properties(install_shared PROPERTIES DEPENDS builds_without_options)
endif()

# Long tests begin first, so that no core is idle at the end. During the two builds, which take both cores, run tests
# that mostly wait (for leases, heartbeats and deaths); later one of those between others that compute. A finished run
# tells CTest how long each takes, and it orders them by that.
set(LIANA_LONG_TESTS builds_with_clang builds_without_options test_rejoin test_deaths test_free_deaths
  small_processors test_ops test_cluster_signals docs_commands test_team test_remote_takeover
  test_resume test_model_zoo test_lease mpi test_recompute_segments test_cluster_refused
  test_synth_flowers bench_runs kills test_vector_math same_bytes test_comes_late test_graph_round_trip test_loader_memory
  bench_peer_torch test_pjrt_losses test_pjrt_zoo peers_stablehlo test_stablehlo_models test_pjrt_ops test_pjrt_train
  docs_commands_with_plugin)
set(cost 1000)
foreach(name ${LIANA_LONG_TESTS})
  if(TEST ${name})
    set_tests_properties(${name} PROPERTIES COST ${cost})
  endif()
  math(EXPR cost "${cost} - 1")
endforeach()
