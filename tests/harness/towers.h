/* towers.h - a training whose graph has two towers, each on a device of its own, and variables on others: in-graph
 * replication. Without devices it is the same graph on one device. */
#ifndef LIANA_TESTS_TOWERS_H
#define LIANA_TESTS_TOWERS_H

#include <liana/liana.h>

typedef struct liana__test_places {
    const char *own;        /* the program's device */
    const char *towers[2];  /* NULL: the program's */
    const char *servers[2]; /* of variables, in turn; NULL: none */
    liana_balance balance;
} liana__test_places;

typedef struct liana__test_towers {
    liana_context *context;
    liana_device *device;
    liana_graph *graph;
    liana_program *program;
} liana__test_towers;

enum { LIANA__TEST_TOWER_STEPS = 8 };

/* Two layers for each tower's half of a batch; the losses' mean is trained with Adam, clipped by the global norm. */
void liana__test_towers_begin(liana_context *context, const liana__test_places *places, liana__test_towers *towers);
void liana__test_towers_end(liana__test_towers *towers);
/* One step. */
liana_status liana__test_towers_learn(liana__test_towers *towers, int step, float *loss);
/* Checks that two trainings give the same bytes: losses, a hidden layer, all variables. */
void liana__test_towers_compare(liana_context *context, const liana__test_places *one, const liana__test_places *other);

#endif
