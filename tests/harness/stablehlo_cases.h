/* stablehlo_cases.h - graphs, inputs and expected results in a folder, for tests/stablehlo/check.py, which runs the
 * graphs' StableHLO without liana. */
#ifndef LIANA_TESTS_STABLEHLO_CASES_H
#define LIANA_TESTS_STABLEHLO_CASES_H

#include "harness/graph_run.h"

typedef struct liana__test_cases {
    const char *folder;
    FILE *list;   /* a line of JSON for each case */
    FILE *texts;  /* the modules one after the other */
    FILE *arrays; /* inputs and results one after the other */
    long text_at, array_at;
    size_t count;
} liana__test_cases;

/* Makes files in the test's folder. */
liana__test_cases liana__test_cases_open(void);

/* Adds a case: `text` is run with the values of inputs and variables, and must give `results` up to
 * tolerance x (1 + |expected|); integers exactly. `work` is about the number of operations: a case of more than some
 * thousands is not interpreted, but compiled by XLA, and with LIANA__TEST_ONLY_READ only parsed and verified. */
enum { LIANA__TEST_COMPILED = 1000000000, LIANA__TEST_ONLY_READ = -1 };
void liana__test_cases_add(liana__test_cases *cases, const char *name, const char *text,
                           const liana__test_value *arguments, size_t num_arguments, const liana__test_value *results,
                           size_t num_results, double tolerance, double work);

/* Skips the running test where jaxlib is not there (harness/peers.h). */
void liana__test_need_jaxlib(void);

/* Closes the files and runs all cases; fails the test unless all agree. */
void liana__test_cases_check(liana__test_cases *cases);

#endif
