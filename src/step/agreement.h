/* agreement.h - compares the processes of a cluster before the first step.
 *
 * All processes call these functions in the same order, and each of them comes to the same answer. */
#ifndef LIANA_STEP_AGREEMENT_H
#define LIANA_STEP_AGREEMENT_H

#include "base/value.h"
#include "exec/program.h"
#include "step/exchange.h"

/* Keys with values, as texts. Zero-initialise; free with liana__facts_free. */
typedef struct liana__facts {
    liana__text message;
    liana__arena arena;
    uint64_t count;
} liana__facts;

void liana__facts_free(liana__facts *facts);
void liana__facts_add(liana__facts *facts, const char *key, const char *value);
/* Each leaf of a tree by its dotted key, below `key`; a list counts as a leaf unless it has maps, which
 * are called by their `name`, or by their number. */
void liana__facts_add_tree(liana__facts *facts, const char *key, const liana__value *tree);

/* Compares with the facts of the other processes. *same: all have the same facts. Errors: those of the cluster. */
liana_status liana__facts_compare(const liana__facts *facts, liana__cluster *cluster, bool *same, liana__error *error)
    LIANA_MUST_USE;
/* The same, where a difference is an error. Errors: INVALID_CONFIG with the first key that differs from the chief's,
 * the first process that has another value, and both values. */
liana_status liana__facts_agree(const liana__facts *facts, liana__cluster *cluster, liana__error *error) LIANA_MUST_USE;
/* The same for many facts that mostly do not differ: processes compare one number first, and send the facts only where
 * that differs. */
liana_status liana__facts_agree_shortly(const liana__facts *facts, liana__cluster *cluster, liana__error *error)
    LIANA_MUST_USE;

/* That error, for messages of any bytes in which a process differs from the first one. */
liana_status liana__facts_explain(const liana__gathered *all, size_t first, size_t process, liana__error *error);

/* The instruction set becomes the highest one that all processes have, with a note where it is lowered. Before anything
 * is compiled. Errors: those of the cluster. */
liana_status liana__agree_on_isa(liana_context *context, liana__cluster *cluster, const liana__notes *notes,
                                 liana__error *error) LIANA_MUST_USE;

/* Equal instruction sets are not yet equal arithmetic: libraries choose by sizes of caches as well. So each process
 * computes a graph (taken over) of made-up examples, and digests of its outputs are compared. The variables are the
 * same on all processes. Other digests are an error. Errors: UNAVAILABLE (a process computes other bits; it is
 * named). */
liana_status liana__agree_on_sums(liana__device *device, liana__variables *variables, liana__cluster *cluster,
                                  liana_graph *graph, liana__error *error) LIANA_MUST_USE;
/* The same, where `difference` then describes the first difference; "": none. */
enum { LIANA__DIFFERENCE_SIZE = 300 };
liana_status liana__compare_sums(liana__device *device, liana__variables *variables, liana__cluster *cluster,
                                 liana_graph *graph, char *difference, liana__error *error) LIANA_MUST_USE;
/* The remedy. */
extern const char *const liana__same_processors;

/* ---- numbers ---- */

void liana__facts_add_number(liana__facts *facts, const char *key, double value);
void liana__facts_add_seed(liana__facts *facts, uint64_t seed);

/* ---- graph facts ---- */

/* Graphs as facts that processes compare. */

/* The inputs, variables and outputs of a graph by their names, with dtypes and shapes, and its precision. `key` names
 * the graph: "a shard of mine". */
void liana__facts_add_graph(liana__facts *facts, const char *key, const liana_graph *graph);

/* Its ops with their inputs and attributes, the values of its constants, and the assignments to its variables. Three
 * things are left out, since they may differ from process to process and change no bits: where an op was built (the
 * paths of sources), on which device of a scope it is computed, and which nodes are recomputed to save memory. */
void liana__facts_add_ops(liana__facts *facts, const char *key, const liana_graph *graph);

/* A graph, and its device. */
typedef struct liana__graph_agreement {
    liana__device *device;
    liana__variables *variables;
    liana__cluster *cluster;
    const char *name; /* "a shard of the step 'gan'" */
} liana__graph_agreement;

/* Compares the graph, its ops and the values of its variables, and then each process's results for made-up examples.
 * The graph is freed. `facts` are compared too. Errors: INVALID_CONFIG with the difference; UNAVAILABLE for a process
 * that computes other bits; those of compiling. */
liana_status liana__agree_on_graph(const liana__graph_agreement *own, liana_graph *graph, liana__facts *facts,
                                   liana__error *error) LIANA_MUST_USE;
/* `facts`, the graph and its ops alone. Errors: INVALID_CONFIG with the difference. */
liana_status liana__agree_on_ops(const liana__graph_agreement *own, const liana_graph *graph, liana__facts *facts,
                                 liana__error *error) LIANA_MUST_USE;

#endif
