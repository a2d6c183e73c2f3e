/* given.h - arguments of functions that build graphs, which must not be NULL. */
#ifndef LIANA_IR_GIVEN_H
#define LIANA_IR_GIVEN_H

#include <liana/graph.h>

/* Whether the argument is there; if not, that is the graph's error. `graph` may be NULL: then nothing can be said. */
bool liana__graph_given(liana_graph *graph, liana_location here, const void *argument, const char *function,
                        const char *name);
#define LIANA__GRAPH_REQUIRE(graph, here, argument) liana__graph_given((graph), (here), (argument), __func__, #argument)

#endif
