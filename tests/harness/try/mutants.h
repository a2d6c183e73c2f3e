/* mutants.h - damaged copies of a file, the same ones in each run. */
#ifndef LIANA_TESTS_MUTANTS_H
#define LIANA_TESTS_MUTANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The largest file. */
enum { LIANA__MUTANT_ROOM = 4096 };

/* Gives `try_bytes` the file, which it must accept, and `count` mutants of it, each with one to four changes. At least
 * a tenth of them must be refused, or the mutations do nothing. Each is in memory of just its size, so that a read
 * beyond the end is seen. */
void liana__test_mutants(const uint8_t *bytes, size_t size, uint32_t count, bool (*try_bytes)(const uint8_t *, size_t));

#endif
