# What `make bench` runs beside the liana command. A test keeps it running; nothing is measured there.
add_executable(bench_steps ${PROJECT_SOURCE_DIR}/bench/bench_steps.c)
target_link_libraries(bench_steps PRIVATE liana_static liana_options)
add_test(NAME bench_steps_runs COMMAND bench_steps mnist 2 1)
set_tests_properties(bench_steps_runs PROPERTIES LABELS bench TIMEOUT 600)
