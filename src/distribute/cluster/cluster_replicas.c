/* A device in each of several processes. */
#include "distribute/cluster/cluster_replicas.h"

#include "backends/host_add.h"
#include "backends/shard_programs.h"
#include "base/denormals.h"
#include "base/scoped.h"
#include "distribute/cluster/block_exchange.h"
#include "distribute/cluster/exchange_options.h"
#include "distribute/cluster/held.h"
#include "distribute/cluster/recovery.h"
#include "distribute/cluster/sliced_update.h"
#include "distribute/cluster/span.h"
#include "distribute/cluster/worker_devices.h"
#include "distribute/device_group.h"

#include <stdlib.h>

typedef struct replicas {
    liana__strategy_plan plan; /* its shards are the caller's, and gone: there are copies */
    liana__cluster *cluster;
    liana__device *device; /* the first one of this process */
    size_t num_replicas;   /* of all processes */
    liana__leaf_plan plans[LIANA__NUM_STEP_KINDS];
    liana__device_group group;                          /* of a worker: the devices that compute its shards */
    liana__local_exchange local[LIANA__NUM_STEP_KINDS]; /* the own blocks on the host */
    size_t row_size;                                    /* bytes of a row of the output; 0: there are none */
    liana__leaf_range *ranges;                          /* by worker */
    double *speeds;                                     /* by worker: 0 of those that are gone */
    liana__tree_plan tree;
    liana__block_exchange exchange;
    liana__sliced_update update;
    liana__leaf_batch batch; /* the running one, with the own range */
    float *first;            /* the first sum of the last training batch */
    liana__exchange_options options;
    char found_name[256];
} replicas;

/* ---- setting up ---- */

static void destroy(liana__strategy_instance *instance)
{
    replicas *own = (replicas *)instance;
    if (!own) return;
    liana__held_release(own->plan.variables, &own->update);
    liana__sliced_update_free(&own->update);
    liana__device_group_free(&own->group);
    for (int kind = 0; kind < LIANA__NUM_STEP_KINDS; kind++) liana__local_exchange_free(&own->local[kind]);
    liana__block_exchange_free(&own->exchange);
    liana__tree_plan_free(&own->tree);
    free(own->ranges);
    free(own->speeds);
    free(own->first);
    free(own);
}

static liana_status make_replicas(replicas *own, const liana__strategy_devices *devices, liana__error *error)
{
    const size_t num_workers = own->cluster->place.num_workers;
    own->ranges = calloc(num_workers, sizeof *own->ranges);
    own->speeds = calloc(num_workers, sizeof *own->speeds);
    if (!own->ranges || !own->speeds) return liana__fail_memory(error, "the strategy");
    LIANA_TRY(liana__tree_plan_create(liana__strategy_most_shards(&own->plan), num_workers, &own->tree, error));
    for (int kind = 0; kind < LIANA__NUM_STEP_KINDS; kind++) {
        if (!own->plan.leaves[kind]) continue;
        own->plans[kind] = *own->plan.leaves[kind];
        own->plans[kind].variables = own->plan.variables;
        own->plans[kind].of_parts = num_workers > 1;
    }
    if (!liana__cluster_is_worker(own->cluster)) return LIANA_OK;
    return liana__device_group_create(devices, &own->plan, num_workers > 1, &own->group, error);
}

liana_status liana__cluster_replicas_create(const liana__strategy_devices *devices, const liana__strategy_plan *plan,
                                            liana__strategy_instance **instance, liana__error *error)
{
    *instance = NULL;
    if (!devices->cluster || devices->count == 0) {
        return liana__fail(error, LIANA_INTERNAL, "a strategy of several processes was given %zu devices and %s",
                           devices->count, devices->cluster ? "a cluster" : "no cluster");
    }
    replicas *own = calloc(1, sizeof *own);
    if (!own) return liana__fail_memory(error, "the strategy");
    own->plan = *plan;
    own->cluster = devices->cluster;
    own->num_replicas = devices->count * devices->cluster->place.num_workers;
    own->device = devices->items[0];
    const liana__cluster_place *place = &own->cluster->place;
    if (place->num_servers) own->options = liana__parameter_server_options(devices->options, place->num_workers);
    own->exchange.context = own->device->context;
    own->exchange.sender.format =
        (liana__wire_format){liana__worker_wire(devices->options), plan->is_gradient, plan->user};
    liana_status status = make_replicas(own, devices, error);
    if (status != LIANA_OK) {
        destroy((liana__strategy_instance *)own);
        return status;
    }
    *instance = (liana__strategy_instance *)own;
    return LIANA_OK;
}

static size_t count(const liana__strategy_instance *instance)
{
    return ((const replicas *)instance)->num_replicas;
}

/* ---- variables in slices ---- */

static liana_status hold(liana__strategy_instance *instance, const char *name, liana_dtype dtype,
                         const liana_shape *shape, double begins_at, liana__error *error)
{
    replicas *own = (replicas *)instance;
    const liana__slice_holder holder = {liana__sliced_update_gather, liana__sliced_update_scatter,
                                        liana__sliced_update_read_own, &own->update};
    return liana__held_add(own->plan.variables, name, dtype, shape, begins_at, &holder, error);
}

/* ---- preparing ---- */

/* Shares shards out among the workers that are left. */
static liana_status assign(replicas *own, size_t num_leaves, liana__error *error)
{
    for (size_t i = 0; i < own->cluster->place.num_workers; i++) {
        own->speeds[i] = liana__cluster_is_member(own->cluster, i) ? 1 : 0;
    }
    return liana__tree_assign(num_leaves, own->cluster->place.num_workers, own->speeds, LIANA__TREE_TOLERANCE,
                              own->ranges, error);
}

/* Finds each worker's range of the batch. */
static liana_status share_out(replicas *own, const liana__leaf_batch *batch, liana__error *error)
{
    const liana__cluster_place *place = &own->cluster->place;
    if (batch->worker_ends) {
        for (size_t i = 0; i < place->num_workers; i++) {
            own->ranges[i] = (liana__leaf_range){i ? batch->worker_ends[i - 1] : 0, batch->worker_ends[i]};
        }
    } else {
        LIANA_TRY(assign(own, batch->num_leaves, error));
    }
    own->batch = *batch;
    const bool works = liana__cluster_is_worker(own->cluster);
    own->batch.first = works ? own->ranges[place->rank].begin : batch->num_leaves;
    own->batch.end = works ? own->ranges[place->rank].end : batch->num_leaves;
    return LIANA_OK;
}

/* The sums of a shard: all shards have the same. */
static liana_status find_sums(replicas *own, liana__step_kind kind, liana__error *error)
{
    const liana__leaf_plan *plan = &own->plans[kind];
    if (own->local[kind].num_sums) return LIANA_OK;
    liana_graph *shard;
    LIANA_TRY(plan->build(plan->user, plan->leaf_size, own->device->backend->static_leaves, &shard, error));
    const size_t num_sums = liana__leaf_num_sums(plan, shard);
    if (plan->gives_rows) {
        const liana__node *rows = shard->outputs[num_sums].node;
        own->row_size = liana__byte_size(rows->dtype, &rows->shape) / (size_t)rows->shape.dims[0];
    }
    liana_status status = liana__local_exchange_create(shard, num_sums, &own->local[kind], error);
    liana_graph_destroy(shard);
    return status;
}

static liana_status prepare_here(replicas *own, liana__step_kind kind, liana__error *error)
{
    if (own->batch.first == own->batch.end) return LIANA_OK;
    return liana__device_group_prepare(&own->group, kind, &own->batch, error);
}

static liana_status prepare(liana__strategy_instance *instance, liana__step_kind kind, const liana__leaf_batch *batch,
                            liana__error *error)
{
    replicas *own = (replicas *)instance;
    liana_status status = find_sums(own, kind, error);
    if (status == LIANA_OK) status = share_out(own, batch, error);
    if (status == LIANA_OK) status = prepare_here(own, kind, error);
    LIANA_TRY(liana__cluster_agree_status(own->cluster, status, error));
    if (kind != LIANA__STEP_TRAINING || own->update.plan) return LIANA_OK;
    own->first = calloc(own->local[kind].offsets[1] + 1, sizeof *own->first);
    if (!own->first) return liana__fail_memory(error, "the strategy");
    /* A mirror would have to receive the gradients of each update of a span. */
    const bool mirrors = own->cluster->place.mirrors;
    own->cluster->place.mirrors = mirrors && own->options.pause_steps == 0;
    status = liana__sliced_update_create(own->cluster, own->device, &own->plan, &own->update, error);
    own->cluster->place.mirrors = mirrors;
    return status;
}

/* ---- running ---- */

/* Computes the own shards; their blocks are in the first slots of `local`. */
static liana_status compute(replicas *own, liana__step_kind kind, liana__error *error)
{
    size_t num_blocks;
    LIANA_TRY(prepare_here(own, kind, error));
    const size_t wanted =
        own->tree.first_slots[own->cluster->place.rank + 1] - own->tree.first_slots[own->cluster->place.rank];
    if (own->batch.watch) {
        LIANA_TRY(liana__device_group_watch(&own->group, &own->local[kind], own->batch.watch, error));
    }
    LIANA_TRY(liana__device_group_compute(&own->group, kind, error));
    LIANA_TRY(liana__device_group_collect(&own->group, &own->local[kind], &num_blocks, error));
    if (num_blocks != wanted) {
        return liana__fail(error, LIANA_INTERNAL, "the device gave %zu sums of blocks, expected %zu", num_blocks,
                           wanted);
    }
    own->cluster->counters.shards_computed += own->batch.end - own->batch.first;
    return LIANA_OK;
}

/* The bytes of a worker's rows of the output, and where they begin. */
static size_t rows_of(const replicas *own, size_t worker, size_t *offset)
{
    const liana__leaf_range *range = &own->ranges[worker];
    *offset = 0;
    if (range->begin == range->end) return 0;
    const liana__leaf *first = &own->batch.leaves[range->begin], *last = &own->batch.leaves[range->end - 1];
    *offset = (size_t)first->begin * own->row_size;
    return (size_t)(last->begin + last->size - first->begin) * own->row_size;
}

/* All processes get the rows of all. */
static liana_status exchange_rows(replicas *own, liana__error *error)
{
    liana__cluster *cluster = own->cluster;
    char *rows = own->batch.outputs;
    size_t offset;
    liana__cluster_begin(cluster);
    for (size_t i = 0; i < cluster->place.num_workers; i++) {
        const size_t size = rows_of(own, i, &offset);
        if (size && i == cluster->place.rank) {
            LIANA_TRY(liana__cluster_send_to_all(cluster, LIANA__MESSAGE_ROWS, rows + offset, size, error));
        }
    }
    for (size_t i = 0; i < cluster->place.num_workers; i++) {
        const size_t size = rows_of(own, i, &offset);
        if (size == 0 || i == cluster->place.rank) continue;
        LIANA_TRY(liana__cluster_receive(cluster, i, LIANA__MESSAGE_ROWS, 0, rows + offset, size, error));
    }
    return LIANA_OK;
}

static liana_status sum(liana__strategy_instance *instance, liana__step_kind kind, const liana__leaf_batch *batch,
                        void *first, liana__error *error)
{
    replicas *own = (replicas *)instance;
    liana__cluster *cluster = own->cluster;
    const liana__local_exchange *local = &own->local[kind];
    liana__block_sender *sender = &own->exchange.sender;
    if (own->update.plan) LIANA_TRY(liana__mirrors_follow(&own->update, error));
    LIANA_TRY(find_sums(own, kind, error));
    LIANA_TRY(share_out(own, batch, error));
    LIANA_TRY(liana__tree_plan_make(&own->tree, batch->num_leaves, own->ranges, error));
    liana__cluster_begin(cluster);
    const bool trains = kind == LIANA__STEP_TRAINING;
    if (trains) {
        LIANA_TRY(liana__block_sender_begin(sender, cluster, &own->tree, &own->update, local->num_sums, error));
        own->batch.watch = &sender->watch;
    }
    const liana_status status = own->batch.first < own->batch.end ? compute(own, kind, error) : LIANA_OK;
    if (trains && status == LIANA_OK) LIANA_TRY(liana__block_sender_end(sender, local, error));
    LIANA_TRY(liana__block_exchange_report(&own->exchange, cluster, &own->tree, local, local->offsets[1], status, first,
                                           error));
    if (!trains) return batch->outputs && own->row_size && !batch->has_own_rows ? exchange_rows(own, error) : LIANA_OK;
    memcpy(own->first, first, local->offsets[1] * sizeof *own->first);
    return liana__block_exchange_add(&own->exchange, cluster, &own->tree, &own->update, error);
}

/* All blocks of the tree are in slots here. */
static liana_status add_alone(const replicas *own, liana__local_exchange *local, liana__error *error)
{
    LIANA_TRY(liana__local_exchange_keep(local, own->tree.num_slots, error));
    const liana__host_add_loop add = liana__host_choose_add(own->device->context->isa);
    const liana__denormals before = liana__denormals_flush();
    for (size_t i = 0; i < own->tree.num_additions; i++) {
        const liana__tree_addition *addition = &own->tree.additions[i];
        float *into = local->slots[addition->into];
        add(into, into, local->slots[addition->from], (int64_t)local->offsets[local->num_sums]);
    }
    liana__denormals_restore(before);
    return LIANA_OK;
}

/* All shards are this worker's; their sum is in the first slot of `local`. */
static liana_status compute_alone(void *user, const liana__leaf_batch *batch, const float **block, liana__error *error)
{
    replicas *own = user;
    liana__local_exchange *local = &own->local[LIANA__STEP_TRAINING];
    const size_t rank = own->cluster->place.rank, count = batch->num_leaves;
    for (size_t i = 0; i < own->cluster->place.num_workers; i++) {
        own->ranges[i] = (liana__leaf_range){i <= rank ? 0 : count, i < rank ? 0 : count};
    }
    own->batch = *batch;
    own->batch.first = 0;
    own->batch.end = count;
    LIANA_TRY(find_sums(own, LIANA__STEP_TRAINING, error));
    LIANA_TRY(liana__tree_plan_make(&own->tree, count, own->ranges, error));
    LIANA_TRY(compute(own, LIANA__STEP_TRAINING, error));
    LIANA_TRY(add_alone(own, local, error));
    *block = local->slots[0];
    return LIANA_OK;
}

static liana_status span(liana__strategy_instance *instance, const liana__span_work *work, liana__span_outcome *outcome,
                         liana__error *error)
{
    replicas *own = (replicas *)instance;
    const liana__span_parts span = {.cluster = own->cluster,
                                    .options = own->options,
                                    .update = &own->update,
                                    .format = &own->exchange.sender.format,
                                    .compute = compute_alone,
                                    .offsets = own->local[LIANA__STEP_TRAINING].offsets,
                                    .user = own};
    return liana__span_run(&span, work, outcome, error);
}

static liana_status update(liana__strategy_instance *instance, const float *scalars, liana__error *error)
{
    replicas *own = (replicas *)instance;
    return liana__sliced_update_run(&own->update, scalars, error);
}

/* An owner's finding in its slice. */
typedef struct finding {
    int64_t count;
    char name[256];
} finding;

/* The findings of all owners: a result of all processes. */
typedef struct search {
    replicas *own;
    liana__checked what;
    finding *all;
} search;

static liana_status find(void *user, liana__cluster *cluster, liana__error *error)
{
    const search *of = user;
    finding here = {0};
    LIANA_TRY(liana__sliced_update_check(&of->own->update, of->what, &here.count, here.name, error));
    return liana__cluster_exchange(cluster, &here, sizeof here, of->all, NULL, error);
}

static liana_status check(liana__strategy_instance *instance, liana__checked what, liana__non_finite *found,
                          liana__error *error)
{
    replicas *own = (replicas *)instance;
    liana__cluster *cluster = own->cluster;
    const size_t count = liana__cluster_size(cluster);
    LIANA__SCOPED_MEMORY finding *all = calloc(count, sizeof *all);
    search of = {own, what, all};
    const liana__operation operation = {
        .run = find, .user = &of, .result = all, .size = count * sizeof *all, .hears_all = true};
    *found = (liana__non_finite){0};
    if (!all) return liana__fail_memory(error, "the check of numbers");
    LIANA_TRY(liana__cluster_operate(cluster, &operation, error));
    for (size_t i = 0; i < count; i++) {
        const finding *one = &all[i];
        if (one->count && !found->name) {
            memcpy(own->found_name, one->name, sizeof own->found_name);
            own->found_name[sizeof own->found_name - 1] = 0;
            found->name = own->found_name;
        }
        found->count += one->count;
    }
    return LIANA_OK;
}

static liana_status read_sum(const liana__strategy_instance *instance, size_t number, void *data, liana__error *error)
{
    replicas *own = (replicas *)(void *)(uintptr_t)instance;
    if (number > 0) return liana__sliced_update_read_sum(&own->update, number, data, error);
    memcpy(data, own->first, own->local[LIANA__STEP_TRAINING].offsets[1] * sizeof *own->first);
    return LIANA_OK;
}

static void memory(const liana__strategy_instance *instance, liana__step_kind kind, const liana__leaf_batch *batch,
                   liana__replica_memory *memory)
{
    const replicas *own = (const replicas *)instance;
    *memory = (liana__replica_memory){0};
    if (own->group.count == 0 || !own->plans[kind].build) return;
    liana__leaf_batch range = *batch;
    range.first = own->batch.first;
    range.end = own->batch.end;
    if (range.first < range.end) liana__device_group_memory(&own->group, kind, &range, memory);
}

const liana__strategy_functions liana__cluster_replicas_functions = {
    .destroy = destroy,
    .hold = hold,
    .num_replicas_in_sync = count,
    .prepare = prepare,
    .sum = sum,
    .update = update,
    .check = check,
    .read_sum = read_sum,
    .memory = memory,
    .run_span = span,
};
