/* Replicas on devices of one process. One device keeps its sums. With several, each computes its shards in a thread of
 * its own; their blocks are added on the host in the tree's order; the first device updates the variables, and the
 * others take the new ones over before they compute again. */
#include "distribute/replicas.h"

#include "backends/shard_programs.h"
#include "base/scoped.h"
#include "distribute/device_group.h"
#include "distribute/replica_update.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct replicas {
    liana__strategy_plan plan; /* its shards are the caller's, and gone: the group has copies */
    liana__device_group group;
    liana__whole *whole;                                    /* whole updates; NULL: there are none */
    liana__replica_update update;                           /* on the first device */
    liana__local_exchange exchanges[LIANA__NUM_STEP_KINDS]; /* of several devices */
    /* Of the last training batch, on the first device. */
    liana__buffer *const *sums;
} replicas;

/* ---- setting up ---- */

static void destroy(liana__strategy_instance *instance)
{
    replicas *own = (replicas *)instance;
    if (!own) return;
    if (own->whole) own->group.members[0].device->backend->whole->destroy(own->whole);
    liana__replica_update_free(&own->update);
    liana__device_group_free(&own->group);
    for (int kind = 0; kind < LIANA__NUM_STEP_KINDS; kind++) liana__local_exchange_free(&own->exchanges[kind]);
    free(own);
}

liana_status liana__replicas_create(const liana__strategy_devices *devices, const liana__strategy_plan *plan,
                                    liana__strategy_instance **instance, liana__error *error)
{
    *instance = NULL;
    replicas *own = calloc(1, sizeof *own);
    if (!own) return liana__fail_memory(error, "the strategy");
    own->plan = *plan;
    liana_status status = liana__device_group_create(devices, plan, false, &own->group, error);
    if (status != LIANA_OK) {
        destroy((liana__strategy_instance *)own);
        return status;
    }
    *instance = (liana__strategy_instance *)own;
    return LIANA_OK;
}

static size_t count(const liana__strategy_instance *instance)
{
    return ((const replicas *)instance)->group.count;
}

/* ---- preparing ---- */

/* The graph of any shard: all have the same sums. Destroy it. */
static liana_status build_shard(const replicas *own, liana__step_kind kind, liana_graph **graph, liana__error *error)
{
    const liana__leaf_plan *plan = &own->group.members[0].plans[kind];
    return plan->build(plan->user, plan->leaf_size, own->group.members[0].device->backend->static_leaves, graph, error);
}

static liana_status prepare_exchange(replicas *own, liana__step_kind kind, liana__error *error)
{
    if (own->group.count == 1 || own->exchanges[kind].num_sums) return LIANA_OK;
    liana_graph *shard;
    LIANA_TRY(build_shard(own, kind, &shard, error));
    size_t num_sums = liana__leaf_num_sums(&own->group.members[0].plans[kind], shard);
    liana_status status = liana__local_exchange_create(shard, num_sums, &own->exchanges[kind], error);
    liana_graph_destroy(shard);
    return status;
}

/* The programs of an update that is not a whole one. */
static liana_status prepare_update(replicas *own, liana__error *error)
{
    if (own->update.programs) return LIANA_OK;
    return liana__replica_update_create(own->group.members[0].device, &own->plan, &own->update, error);
}

/* Whether updates are whole ones: all devices are of a backend that can do that. */
static bool is_whole(const replicas *own)
{
    const liana__backend *backend = own->group.members[0].device->backend;
    bool can = own->plan.whole && backend->whole;
    for (size_t i = 1; i < own->group.count; i++) can = can && own->group.members[i].device->backend == backend;
    return can;
}

static liana_status make_whole(replicas *own, liana__error *error)
{
    const liana__backend *backend = own->group.members[0].device->backend;
    const size_t count = own->group.count;
    if (own->whole) return LIANA_OK;
    liana__whole_plan plan = *own->plan.whole;
    plan.leaf = &own->group.members[0].plans[LIANA__STEP_TRAINING];
    plan.variables = own->plan.variables;
    LIANA__SCOPED_MEMORY liana__device **devices = calloc(count, sizeof(liana__device *));
    if (!devices) return liana__fail_memory(error, "the strategy");
    for (size_t i = 0; i < count; i++) devices[i] = own->group.members[i].device;
    return backend->whole->create(devices, count, &plan, &own->whole, error);
}

static liana__whole *whole(liana__strategy_instance *instance)
{
    return ((replicas *)instance)->whole;
}

/* Shard by shard. */
static liana_status prepare_shards(replicas *own, liana__step_kind kind, const liana__leaf_batch *batch,
                                   liana__error *error)
{
    LIANA_TRY(liana__device_group_prepare(&own->group, kind, batch, error));
    LIANA_TRY(prepare_exchange(own, kind, error));
    return kind == LIANA__STEP_TRAINING ? prepare_update(own, error) : LIANA_OK;
}

static liana_status prepare(liana__strategy_instance *instance, liana__step_kind kind, const liana__leaf_batch *batch,
                            liana__error *error)
{
    replicas *own = (replicas *)instance;
    if (kind == LIANA__STEP_TRAINING && is_whole(own)) return make_whole(own, error);
    return prepare_shards(own, kind, batch, error);
}

/* ---- running ---- */

/* All shards are one block, whose sums somebody may want to hear of. */
static liana_status watch(replicas *own, liana__step_kind kind, const liana__leaf_batch *batch, liana__error *error)
{
    if (!batch->watch) return LIANA_OK;
    return liana__device_group_watch(&own->group, &own->exchanges[kind], batch->watch, error);
}

static liana_status sum(liana__strategy_instance *instance, liana__step_kind kind, const liana__leaf_batch *batch,
                        void *first, liana__error *error)
{
    replicas *own = (replicas *)instance;
    if (own->group.count == 1) {
        const liana__group_member *only = &own->group.members[0];
        LIANA_TRY(liana__device_group_share(&own->group, batch, error));
        LIANA_TRY(watch(own, kind, batch, error));
        LIANA_TRY(liana__device_group_compute(&own->group, kind, error));
        own->sums = only->blocks[0].sums;
        return only->device->backend->download(own->sums[0], first, error);
    }
    LIANA_TRY(prepare_shards(own, kind, batch, error));
    LIANA_TRY(watch(own, kind, batch, error));
    LIANA_TRY(liana__device_group_compute(&own->group, kind, error));
    /* All shards are one block. */
    liana__local_exchange *exchange = &own->exchanges[kind];
    size_t num_blocks;
    LIANA_TRY(liana__device_group_collect(&own->group, exchange, &num_blocks, error));
    memcpy(first, exchange->slots[0], exchange->offsets[1] * sizeof(float));
    return LIANA_OK;
}

/* Lets a program read a sum: on the device, or from the host. */
static liana_status feed_sum(void *user, liana__program *program, size_t input, size_t sum, liana__error *error)
{
    const replicas *own = user;
    if (own->group.count == 1) {
        liana__program_bind(program, input, own->sums[sum]);
        return LIANA_OK;
    }
    const liana__local_exchange *exchange = &own->exchanges[LIANA__STEP_TRAINING];
    const liana__node *node = program->graph->inputs[input];
    const float *data = exchange->slots[0] + exchange->offsets[sum];
    return liana__program_feed(program, input, node->dtype, &node->shape, data, error);
}

static liana_status check(liana__strategy_instance *instance, liana__checked what, liana__non_finite *found,
                          liana__error *error)
{
    replicas *own = (replicas *)instance;
    LIANA_TRY(prepare_update(own, error));
    return liana__replica_update_check(&own->update, what, &(liana__sum_feed){feed_sum, own}, found, error);
}

static liana_status read_sum(const liana__strategy_instance *instance, size_t number, void *data, liana__error *error)
{
    const replicas *own = (const replicas *)instance;
    if (own->group.count == 1 ? !own->sums : !own->exchanges[LIANA__STEP_TRAINING].slots) {
        return liana__fail(error, LIANA_INTERNAL, "the sums of an update are read, which was done as one program");
    }
    if (own->group.count == 1) return own->group.members[0].device->backend->download(own->sums[number], data, error);
    const liana__local_exchange *exchange = &own->exchanges[LIANA__STEP_TRAINING];
    /* The shard's graph, which had the sum's shape, is destroyed once it is compiled. */
    const size_t *offsets = &exchange->offsets[number];
    memcpy(data, exchange->slots[0] + offsets[0], (offsets[1] - offsets[0]) * sizeof(float));
    return LIANA_OK;
}

static liana_status update(liana__strategy_instance *instance, const float *scalars, liana__error *error)
{
    replicas *own = (replicas *)instance;
    LIANA_TRY(prepare_update(own, error));
    return liana__replica_update_run(&own->update, &(liana__sum_feed){feed_sum, own}, scalars, error);
}

static void memory(const liana__strategy_instance *instance, liana__step_kind kind, const liana__leaf_batch *batch,
                   liana__replica_memory *memory)
{
    const replicas *own = (const replicas *)instance;
    liana__device_group_memory(&own->group, kind, batch, memory);
    if (kind != LIANA__STEP_TRAINING || !own->whole) return;
    own->group.members[0].device->backend->whole->memory(own->whole, memory);
}

const liana__strategy_functions liana__replicas_functions = {
    .destroy = destroy,
    .num_replicas_in_sync = count,
    .prepare = prepare,
    .sum = sum,
    .update = update,
    .check = check,
    .read_sum = read_sum,
    .whole = whole,
    .memory = memory,
};
