/* sliced_update.h - an update in a cluster, as one process does it: it applies the update to the slice that it owns, and
 * all processes get the new values of the variables that leaves read. What only updates read stays with its owner. */
#ifndef LIANA_DISTRIBUTE_SLICED_UPDATE_H
#define LIANA_DISTRIBUTE_SLICED_UPDATE_H

#include "distribute/cluster/slice_map.h"
#include "distribute/replica_update.h"

/* Where a slice's variable comes from. */
typedef struct liana__slice_origin {
    liana__slice_part part; /* of the plan's variables */
    bool held;              /* only its owner has it */
    bool assigned;
    uint64_t version; /* of the plan's variable, when it was copied */
} liana__slice_origin;

typedef struct liana__sliced_update {
    const liana__strategy_plan *plan; /* of all variables; NULL: not made */
    liana__cluster *cluster;
    liana__device *device;
    size_t slice;                 /* the number of owners: this process owns none */
    liana__strategy_plan of_part; /* the plan of the slice */
    liana__replica_update update;
    liana__finite_check sums_check, new_values;
    liana__variables variables; /* the slice's, on the device */
    liana__slice_origin *origins;
    size_t num_origins_allocated;
    liana__slice_map own;
    liana__slice_map *maps; /* by owner */
    size_t *sum_offsets;    /* by part of the own sums: elements before it */
    const float *sums;      /* of the running update: the own parts, one behind the other */
    uint64_t *round_sizes;  /* [processes, rounds]: floats that a process adds to a round */
    float **chunk_sums;     /* by round: all owners' */
    char **whole;           /* by place among the plan's variables: new values of all owners; NULL: not sent */
    size_t num_places;
    char *packed; /* new values of one owner */
} liana__sliced_update;

/* Cuts the update, and compiles the own slice. All processes do it at the same time. The plan is borrowed; a training
 * leaf was built before. Errors: those of the plan, of compiling, of the cluster. Zero-initialise; free it in any case. */
liana_status liana__sliced_update_create(liana__cluster *cluster, liana__device *device,
                                         const liana__strategy_plan *plan, liana__sliced_update *update,
                                         liana__error *error) LIANA_MUST_USE;
void liana__sliced_update_free(liana__sliced_update *update);

/* One update. `sums`: the parts of the sums that this process owns, one behind the other; NULL: it owns none. */
liana_status liana__sliced_update_run(liana__sliced_update *update, const float *sums, const float *scalars,
                                      liana__error *error) LIANA_MUST_USE;

/* The parts of an update, for workers that are not in step (span.h). What this process owns changes; nobody hears of it. */
liana_status liana__sliced_update_apply(liana__sliced_update *update, const float *sums, const float *scalars,
                                        liana__error *error) LIANA_MUST_USE;
/* Copies the own new values, one behind the other, to where another process takes them from. */
liana_status liana__sliced_update_give(liana__sliced_update *update, char *values, size_t *size, liana__error *error)
    LIANA_MUST_USE;
/* Takes over an owner's new values, and writes those of all owners to the variables. */
void liana__sliced_update_take(liana__sliced_update *update, size_t owner, const char *values);
liana_status liana__sliced_update_write(liana__sliced_update *update, liana__error *error) LIANA_MUST_USE;
/* All processes get the new values of all owners. */
liana_status liana__sliced_update_exchange(liana__sliced_update *update, liana__error *error) LIANA_MUST_USE;

/* What this process owns that is not finite. The name is that of the whole variable or sum, in `name`. */
liana_status liana__sliced_update_check(liana__sliced_update *update, liana__checked what, const float *sums,
                                        int64_t *count, char name[256], liana__error *error) LIANA_MUST_USE;

/* A variable that its owners hold: from them to all processes, and from this process's copy to what it owns of it. The
 * place is that among the plan's variables. */
liana_status liana__sliced_update_gather(liana__sliced_update *update, size_t place, void *data, liana__error *error)
    LIANA_MUST_USE;
liana_status liana__sliced_update_scatter(liana__sliced_update *update, size_t place, const void *data,
                                          liana__error *error) LIANA_MUST_USE;
/* What this process holds of it, to its places in `data`. */
liana_status liana__sliced_update_read_own(const liana__sliced_update *update, size_t place, void *data,
                                           liana__error *error) LIANA_MUST_USE;
/* A sum of the leaves, from its owners to all processes. */
liana_status liana__sliced_update_read_sum(liana__sliced_update *update, size_t sum, const float *sums, float *data,
                                           liana__error *error) LIANA_MUST_USE;

#endif
