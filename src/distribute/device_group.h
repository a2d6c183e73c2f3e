/* device_group.h - the devices of this process: each has the variables that shards read, and computes a part of a range
 * of shards, in a thread of its own. */
#ifndef LIANA_DISTRIBUTE_DEVICE_GROUP_H
#define LIANA_DISTRIBUTE_DEVICE_GROUP_H

#include "base/threads.h"
#include "distribute/group_sums.h"
#include "distribute/local_exchange.h"
#include "distribute/strategy.h"
#include "distribute/tree.h"

/* One device's part. */
typedef struct liana__group_member {
    liana__device *device;
    cpu_set_t group;             /* where it computes; empty: anywhere */
    liana__variables *variables; /* the first one's are the plan's; the others copy those that shards read */
    liana__variables own_variables;
    uint64_t *versions; /* of the first device's variables, when they were copied */
    liana__leaf_plan plans[LIANA__NUM_STEP_KINDS];
    liana__replica *replicas[LIANA__NUM_STEP_KINDS];
    liana__leaf_batch batch; /* the running one, with the member's range */
    const liana__leaf_block *blocks;
    size_t num_blocks;
    liana_status status;
    liana__error error;
} liana__group_member;

typedef struct liana__device_group {
    liana__arena arena; /* of the lists */
    liana__group_member *members;
    size_t count;
    liana__variables *source; /* the plan's */
    size_t num_leaf_variables;
    double *speeds; /* NULL: all are equally fast */
    /* Of several members. */
    liana__pool *pool;
    liana__leaf_range *ranges; /* of the running batch */
    liana__tree_plan tree;     /* of it: the shards before the group's, the members', those behind */
    liana__group_sums sums;    /* of blocks, on their way */
    bool is_watched;           /* they are added while the members compute */
    void *copied;              /* host memory for the largest variable */
    size_t copied_size;
    liana__step_kind kind; /* of the running call */
} liana__device_group;

/* The most shards that a batch of any kind has. */
size_t liana__strategy_most_shards(const liana__strategy_plan *plan);

/* `of_parts`: the group may be asked for a part of a batch's shards. Free it in any case. Errors: those of the
 * devices. */
liana_status liana__device_group_create(const liana__strategy_devices *devices, const liana__strategy_plan *plan,
                                        bool of_parts, liana__device_group *group, liana__error *error) LIANA_MUST_USE;
void liana__device_group_free(liana__device_group *group);

/* Gives each member its range of the shards [batch->first, batch->end), and the present variables. */
liana_status liana__device_group_share(liana__device_group *group, const liana__leaf_batch *batch, liana__error *error)
    LIANA_MUST_USE;
/* The same, and compiles their programs. */
liana_status liana__device_group_prepare(liana__device_group *group, liana__step_kind kind,
                                         const liana__leaf_batch *batch, liana__error *error) LIANA_MUST_USE;
/* After that: sums of whole blocks of the range are told of while the members compute. Where there are several they are
 * in the exchange, as liana__device_group_collect will leave them there. Errors: OUT_OF_MEMORY. */
liana_status liana__device_group_watch(liana__device_group *group, liana__local_exchange *exchange,
                                       const liana__sum_watch *watch, liana__error *error) LIANA_MUST_USE;
/* Computes the shards that were shared out: the members then have their blocks. The error is that of the first failing
 * shard. */
liana_status liana__device_group_compute(liana__device_group *group, liana__step_kind kind, liana__error *error)
    LIANA_MUST_USE;
/* Copies the largest aligned blocks of the range into the first slots of an exchange; those of several members are
 * added up on the way. */
liana_status liana__device_group_collect(liana__device_group *group, liana__local_exchange *exchange,
                                         size_t *num_blocks, liana__error *error) LIANA_MUST_USE;
/* The needs of the prepared batch, of the device that needs most. */
void liana__device_group_memory(const liana__device_group *group, liana__step_kind kind, const liana__leaf_batch *batch,
                                liana__replica_memory *memory);

#endif
