/* try_graph.h - feeds any bytes to the reader of serialised graphs, and runs accepted ones. For the fuzz target and the
 * tests of damaged bytes: the reader may refuse, with a message, but its results must be sound. */
#ifndef LIANA_TESTS_TRY_GRAPH_H
#define LIANA_TESTS_TRY_GRAPH_H

#include "ir/graph.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes the header and its checksums fit `size` bytes, at least the header's. The version stays. */
void liana__repair_graph(uint8_t *bytes, size_t size);

/* Whether running it takes a moment and little memory. */
bool liana__graph_is_small(const liana_graph *graph);

/* Each returns whether the reader accepted the bytes. Aborts if an error has no message or the wrong status, or if an
 * accepted graph fails the verifier, is another one after a second round trip, or cannot be run (small ones only). */
bool liana__try_graph(const uint8_t *bytes, size_t size);
/* With the header and its checksums put right: random bytes hardly ever come with them. */
bool liana__try_graph_repaired(const uint8_t *bytes, size_t size);

#endif
