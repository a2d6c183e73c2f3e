/* stablehlo_program.h - a program that somebody else has written as StableHLO (jax_peer.py --export), on a device of a
 * plugin. Arguments that it donates to a result are the former result, from execution to execution, as weights are in a
 * training. */
#ifndef LIANA_BENCH_STABLEHLO_PROGRAM_H
#define LIANA_BENCH_STABLEHLO_PROGRAM_H

#include "backends/backend.h"

typedef struct stablehlo_program stablehlo_program;

/* Compiles the file, which takes *seconds, and uploads arguments: small positive numbers. Close it in any case. Errors:
 * INVALID_CONFIG for another device, and for arguments that are not written as JAX does. */
liana_status stablehlo_program_open(liana__device *device, const char *path, stablehlo_program **program,
                                    double *seconds, liana__error *error) LIANA_MUST_USE;
/* One execution, to its end: its last result is read. */
liana_status stablehlo_program_run(stablehlo_program *program, double *seconds, liana__error *error) LIANA_MUST_USE;
/* NULL: does nothing. */
void stablehlo_program_close(stablehlo_program *program);

#endif
