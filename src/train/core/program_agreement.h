/* program_agreement.h - what the processes of a C program must have in common: compared before the first step, as
 * `liana train` compares its configurations. A difference is an error on all of them, which names it. */
#ifndef LIANA_TRAIN_PROGRAM_AGREEMENT_H
#define LIANA_TRAIN_PROGRAM_AGREEMENT_H

#include "train/core/graph_facts.h"

/* ---- facts ---- */

void liana__facts_add_number(liana__facts *facts, const char *key, double value);
void liana__facts_add_seed(liana__facts *facts, uint64_t seed);

/* ---- comparing ---- */

/* A graph, and what it runs on. */
typedef struct liana__graph_agreement {
    liana__device *device;
    liana__variables *variables;
    liana__cluster *cluster;
    const char *name; /* "a shard of the step 'gan'" */
} liana__graph_agreement;

/* Compares the graph, its ops and the values of its variables, and then what each process computes with it from made-up
 * examples. The graph is freed. `facts` are what else is compared. Errors: INVALID_CONFIG with what differs;
 * UNAVAILABLE for a process that computes other bits; those of compiling. */
liana_status liana__agree_on_graph(const liana__graph_agreement *own, liana_graph *graph, liana__facts *facts,
                                   liana__error *error) LIANA_MUST_USE;

/* The same for a training: its sizes, seed, precision and optimizer, a shard and the arithmetic. All get the chief's weights. A
 * training is compared once; all compare it if one of them has not. Alone: nothing. */
liana_status liana__agree_on_training(liana__training *training, liana__error *error) LIANA_MUST_USE;

#endif
