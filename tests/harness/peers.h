/* peers.h - the peers of liana, where scripts/install-peers.sh has put them; and tests that are skipped. */
#ifndef LIANA_TESTS_PEERS_H
#define LIANA_TESTS_PEERS_H

#include "harness/harness.h"

/* Skips the running test. `make test` lists the reason at its end (scripts/run_tests.sh). */
#define liana__test_skip(...)       \
    do {                            \
        print_message("skipped: "); \
        print_message(__VA_ARGS__); \
        print_message("\n");        \
        skip();                     \
    } while (0)

/* The folder of a peer: "jax", "onnx", "plugin", "tensorflow", "tfjs" or "browser". NULL, and a line that says why,
 * where it is not there, or where LIANA_PEERS is empty: `make test` leaves the peers to `make check-peers`. In a static
 * buffer that the next call overwrites. */
const char *liana__test_peer(const char *name);

/* Runs a program, which is looked for in PATH; its arguments end with NULL. Fails the test unless it exits with 0. */
void liana__test_run_program(const char *const *arguments);
/* Runs a Python script of the tree by the peer tensorflow, which must be there; its arguments end with NULL. */
void liana__test_run_keras(const char *script, const char *const *arguments);

#endif
