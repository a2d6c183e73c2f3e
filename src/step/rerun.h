/* rerun.h - a step whose numbers went bad, run again node by node: it finds the program, and in that the op, that gave
 * the first number that is not finite. It does so for every step, with any builders. */
#ifndef LIANA_STEP_RERUN_H
#define LIANA_STEP_RERUN_H

#include "step/incident.h"
#include "step/step.h"

/* All is borrowed. */
typedef struct liana__rerun {
    liana__step *step;
    const liana__batch *batch;
    const double *scalars; /* of the update */
    bool of_validation;    /* it was an evaluation */
    bool masked;           /* training shards are those of devices with static shapes */
    /* The value of a variable before an update that gave bad values: host data by the variable's index. NULL: it is as
     * on the device. */
    const void *(*before)(const void *user, size_t variable);
    const void *values;
    /* The layer of a node of a shard, and of a variable; NULL: nothing has layers. */
    const char *(*layer_of_node)(const void *user, const liana__node *node);
    const char *(*layer_of_variable)(const void *user, const char *name);
    /* Adds the file and record of an example to a map. NULL: they are not known. */
    void (*note_record)(const void *user, int64_t example, liana__arena *arena, liana__value *map);
    /* Adds facts to the program ("what") and the fault, and the examples of the shard among them. NULL: there are no
     * more facts. */
    void (*note_facts)(const void *user, liana__arena *arena, liana__value *facts, liana__value *examples);
    const void *user;
} liana__rerun;

/* Finds the program that went bad - of the shards the first one - and examines it. The step was just done. Where
 * nothing goes bad again, the incident is that of the last program tried, and its finding says so. Free the incident
 * in any case. Errors: those of building and running graphs, OUT_OF_MEMORY. */
liana_status liana__rerun_find(const liana__rerun *rerun, const liana__fault *fault, liana__incident *incident,
                               liana__error *error) LIANA_MUST_USE;

/* The graph of a shard with all that it reads, and its layers noted; facts and finding are NULL. Free the incident in
 * any case. Errors: those of building graphs, OUT_OF_MEMORY. */
liana_status liana__rerun_shard(const liana__rerun *rerun, const liana__leaf_batch *shards, size_t number,
                                liana__incident *incident, liana__error *error) LIANA_MUST_USE;

#endif
