/* slice.h - one slice of an update, as a process has it that owns it or is its mirror: variables, programs, sums. */
#ifndef LIANA_DISTRIBUTE_SLICE_H
#define LIANA_DISTRIBUTE_SLICE_H

#include "distribute/cluster/slice_map.h"
#include "distribute/replica_update.h"

/* Where a slice's variable comes from. */
typedef struct liana__slice_origin {
    liana__slice_part part; /* of the plan's variables */
    bool held;              /* only its owner and its mirror have it */
    bool assigned;
    uint64_t version; /* of the plan's variable, when it was copied */
} liana__slice_origin;

typedef struct liana__slice {
    size_t number;
    const liana__strategy_plan *plan; /* of all variables */
    liana__device *device;
    liana__update_functions functions; /* of the slice alone */
    liana__strategy_plan of_part;      /* the plan of the slice */
    liana__replica_update update;
    liana__variables variables; /* the slice's, on the device */
    liana__slice_origin *origins;
    size_t num_origins_allocated;
    liana__slice_map map;
    size_t *sum_offsets;  /* by part of the sums: elements before it */
    liana__buffer **sums; /* by part: of the running update, which all its programs read */
    float *memory;        /* for them, of a device with memory of its own: one behind the other; NULL: it has none */
    char *values;         /* memory for new values, of such a device; NULL: they were not asked for */
    uint64_t applied;     /* updates that the variables have seen, since the first one of all slices */
} liana__slice;

/* Compiles a slice of a plan that was cut; its variables begin with the plan's values, or with the first values of held
 * ones. The plan is borrowed. Errors: those of the plan and of compiling. Free it in any case. */
liana_status liana__slice_create(liana__device *device, const liana__strategy_plan *plan, size_t number,
                                 liana__slice **slice, liana__error *error) LIANA_MUST_USE;
void liana__slice_free(liana__slice *slice);

/* Takes over values that were written to the plan's variables from outside of updates. */
liana_status liana__slice_refresh(liana__slice *slice, liana__error *error) LIANA_MUST_USE;
/* The plan's variables have the new values of the slice's. */
void liana__slice_written(liana__slice *slice);
/* Where the sum of a part is written, before all are taken over for the next runs. */
float *liana__slice_sum(const liana__slice *slice, size_t part);
liana_status liana__slice_take_sums(liana__slice *slice, liana__error *error) LIANA_MUST_USE;
/* Runs a round of sums, or after all rounds the update; see replica_update.h. */
liana_status liana__slice_run(liana__slice *slice, size_t number, liana__error *error) LIANA_MUST_USE;
/* Counts the numbers that are not finite. `name` is that of the whole variable or sum. */
liana_status liana__slice_check(liana__slice *slice, liana__checked what, int64_t *count, char name[256],
                                liana__error *error) LIANA_MUST_USE;

/* Bytes of the held variables, or of the rest. */
size_t liana__slice_bytes(const liana__slice *slice, bool held);
/* Where the new values of the variables that are sent lie, in the order of the map: valid until the slice runs
 * again. */
liana_status liana__slice_list_sent(liana__slice *slice, liana__message_part *parts, liana__error *error)
    LIANA_MUST_USE;
/* Copies those of them that shards read, one behind the other; *size: of all. */
liana_status liana__slice_read_fetched(const liana__slice *slice, char *to, size_t *size, liana__error *error)
    LIANA_MUST_USE;
/* Copies the parts of a variable that is held, or of a sum, one behind the other. */
liana_status liana__slice_read_parts(const liana__slice *slice, liana__part_list list, size_t thing, char *to,
                                     liana__error *error) LIANA_MUST_USE;
/* The slice's part of a held variable: to its places in `data`, and from there. */
liana_status liana__slice_read_held(const liana__slice *slice, size_t place, void *data, liana__error *error)
    LIANA_MUST_USE;
liana_status liana__slice_write_held(liana__slice *slice, size_t place, const void *data, liana__error *error)
    LIANA_MUST_USE;
/* All variables, one behind the other, to another process and from it. */
liana_status liana__slice_read_all(const liana__slice *slice, char *to, liana__error *error) LIANA_MUST_USE;
liana_status liana__slice_write_all(liana__slice *slice, const char *from, liana__error *error) LIANA_MUST_USE;

#endif
