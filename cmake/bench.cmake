# The programs that `make bench` runs together with the liana command. Tests keep it running; nothing is measured there.
add_executable(bench_step ${PROJECT_SOURCE_DIR}/bench/bench_step.c ${PROJECT_SOURCE_DIR}/bench/bench_models.c
  ${PROJECT_SOURCE_DIR}/bench/stablehlo_program.c)
add_executable(bench_kernels ${PROJECT_SOURCE_DIR}/bench/bench_kernels.c)
add_executable(bench_run ${PROJECT_SOURCE_DIR}/bench/bench_run.c)
add_executable(bench_products ${PROJECT_SOURCE_DIR}/bench/bench_products.c)
add_executable(bench_program ${PROJECT_SOURCE_DIR}/bench/bench_program.c)
add_executable(bench_model_files ${PROJECT_SOURCE_DIR}/bench/bench_model_files.c)
add_executable(bench_data ${PROJECT_SOURCE_DIR}/bench/bench_data.c)
add_executable(bench_report ${PROJECT_SOURCE_DIR}/bench/bench_report.c ${PROJECT_SOURCE_DIR}/bench/bench_plot.c
  ${PROJECT_SOURCE_DIR}/bench/bench_records.c)
add_executable(bench_transport ${PROJECT_SOURCE_DIR}/bench/bench_transport.c)
add_executable(bench_serve_load ${PROJECT_SOURCE_DIR}/bench/serve_load.c)
add_executable(plot_scaling ${PROJECT_SOURCE_DIR}/bench/plot_scaling.c)
foreach(program bench_transport plot_scaling bench_step bench_kernels bench_run bench_report bench_products bench_program
    bench_model_files bench_data bench_serve_load)
  target_link_libraries(${program} PRIVATE liana_internal liana_options)
endforeach()
add_dependencies(test_launch bench_transport)
add_test(NAME bench_products_runs COMMAND bench_products mlp 3)
set_tests_properties(bench_products_runs PROPERTIES LABELS bench TIMEOUT ${LIANA_TEST_TIMEOUT})
add_test(NAME bench_program_runs COMMAND bench_program 1000)
set_tests_properties(bench_program_runs PROPERTIES LABELS bench TIMEOUT ${LIANA_TEST_TIMEOUT})
