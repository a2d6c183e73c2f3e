/* Replicas on devices of one process. One device keeps its sums. With several, each computes its leaves in a thread of
 * its own; their blocks are added on the host in the tree's order; the first device updates the variables, and the
 * others take the new ones over before they compute again. */
#include "distribute/replicas.h"

#include "backends/leaf_programs.h"
#include "base/threads.h"
#include "distribute/exchange/local.h"
#include "distribute/replica_update.h"

#include <stdio.h>
#include <stdlib.h>

/* One device's part. */
typedef struct member {
    liana__device *device;
    cpu_set_t group;             /* where it computes; empty: anywhere */
    liana__variables *variables; /* the first one's are the plan's; the others have copies of what leaves read */
    liana__variables own_variables;
    uint64_t *versions; /* of the first device's variables, when they were copied */
    liana__leaf_plan plans[LIANA__NUM_STEP_KINDS];
    liana__replica *replicas[LIANA__NUM_STEP_KINDS];
    liana__leaf_batch batch; /* the running one, with the member's range */
    const liana__leaf_block *blocks;
    size_t num_blocks;
    liana_status status;
    liana__error error;
} member;

typedef struct replicas {
    liana__strategy_plan plan; /* its leaves are the caller's, and gone: the members have copies */
    member *members;
    size_t count;
    double *speeds;                             /* NULL: all are equally fast */
    liana__whole *whole;                        /* whole updates; NULL: there are none */
    liana__replica_update update;               /* on the first device */
    liana__finite_check sums_check, new_values; /* of what the update reads, and of what it assigns to */
    /* Of several members. */
    liana__pool *pool;
    liana__leaf_range *ranges;
    liana__tree_plan tree;
    liana__local_exchange exchanges[LIANA__NUM_STEP_KINDS];
    void *copied; /* host memory for the largest variable */
    size_t copied_size;
    liana__step_kind kind; /* of the running call */
    /* Of the last training batch, on the first device. */
    liana__buffer *const *sums;
} replicas;

/* How unevenly leaves may be shared out so that ranges have few blocks. */
static const double ASSIGN_TOLERANCE = 0.05;

/* ---- setting up ---- */

static void free_member(member *own)
{
    for (int kind = 0; kind < LIANA__NUM_STEP_KINDS; kind++) {
        if (own->replicas[kind]) own->device->backend->replica_destroy(own->replicas[kind]);
    }
    if (own->own_variables.device) liana__variables_free(&own->own_variables);
    free(own->versions);
}

void liana__replicas_destroy(liana__strategy_instance *instance)
{
    replicas *own = (replicas *)instance;
    if (!own) return;
    if (own->whole) own->members[0].device->backend->whole_destroy(own->whole);
    liana__finite_check_free(&own->sums_check);
    liana__finite_check_free(&own->new_values);
    liana__replica_update_free(&own->update);
    for (size_t i = 0; own->members && i < own->count; i++) free_member(&own->members[i]);
    for (int kind = 0; kind < LIANA__NUM_STEP_KINDS; kind++) liana__local_exchange_free(&own->exchanges[kind]);
    liana__tree_plan_free(&own->tree);
    liana__pool_destroy(own->pool);
    free(own->ranges);
    free(own->copied);
    free(own->speeds);
    free(own->members);
    free(own);
}

static size_t most_leaves(const liana__strategy_plan *plan)
{
    size_t most = 1;
    for (int kind = 0; kind < LIANA__NUM_STEP_KINDS; kind++) {
        if (plan->leaves[kind] && plan->leaves[kind]->max_leaves > most) most = plan->leaves[kind]->max_leaves;
    }
    return most;
}

static liana_status make_member(replicas *own, size_t number, liana__device *device, liana__error *error)
{
    member *made = &own->members[number];
    made->device = device;
    made->variables = own->plan.variables;
    if (number > 0) {
        liana__variables_init(&made->own_variables, device);
        made->variables = &made->own_variables;
    }
    for (int kind = 0; kind < LIANA__NUM_STEP_KINDS; kind++) {
        if (!own->plan.leaves[kind]) continue;
        made->plans[kind] = *own->plan.leaves[kind];
        made->plans[kind].variables = made->variables;
        made->plans[kind].of_parts = own->count > 1;
        LIANA_TRY(device->backend->replica_create(device, &made->plans[kind], &made->replicas[kind], error));
    }
    return LIANA_OK;
}

/* What several members need to work together. */
static liana_status make_exchange(replicas *own, const double *speeds, liana__error *error)
{
    own->ranges = calloc(own->count, sizeof *own->ranges);
    if (!own->ranges) return liana__fail_memory(error, "the strategy");
    if (speeds) {
        own->speeds = malloc(own->count * sizeof *own->speeds);
        if (!own->speeds) return liana__fail_memory(error, "the strategy");
        memcpy(own->speeds, speeds, own->count * sizeof *own->speeds);
    }
    LIANA_TRY(liana__tree_plan_create(most_leaves(&own->plan), own->count, &own->tree, error));
    return liana__pool_create((int)own->count, &own->pool, error);
}

liana_status liana__replicas_create(const liana__strategy_devices *devices, const liana__strategy_plan *plan,
                                    liana__strategy_instance **instance, liana__error *error)
{
    *instance = NULL;
    replicas *own = calloc(1, sizeof *own);
    if (!own) return liana__fail_memory(error, "the strategy");
    own->plan = *plan;
    own->count = devices->count;
    own->members = calloc(devices->count, sizeof *own->members);
    liana_status status = own->members ? LIANA_OK : liana__fail_memory(error, "the strategy");
    for (size_t i = 0; status == LIANA_OK && i < devices->count; i++) {
        if (devices->groups) own->members[i].group = devices->groups[i];
        status = make_member(own, i, devices->items[i], error);
    }
    if (status == LIANA_OK && own->count > 1) status = make_exchange(own, devices->speeds, error);
    if (status != LIANA_OK) {
        liana__replicas_destroy((liana__strategy_instance *)own);
        return status;
    }
    *instance = (liana__strategy_instance *)own;
    return LIANA_OK;
}

size_t liana__replicas_count(const liana__strategy_instance *instance)
{
    return ((const replicas *)instance)->count;
}

/* ---- the other devices' copies of the variables ---- */

static liana_status copy_variable(replicas *own, member *to, size_t number, liana__error *error)
{
    const liana__variable *from = &own->plan.variables->items[number];
    const liana__buffer *buffer = from->buffer;
    if (buffer->size > own->copied_size) {
        void *larger = realloc(own->copied, buffer->size);
        if (!larger) return liana__fail_memory(error, "the variables of another device");
        own->copied = larger;
        own->copied_size = buffer->size;
    }
    LIANA_TRY(liana__variable_read(from, own->copied, error));
    if (number < to->variables->count) return liana__variable_write(&to->variables->items[number], own->copied, error);
    return liana__variables_add(to->variables, from->name, buffer->dtype, &buffer->shape, own->copied, error);
}

/* Copies the variables that leaves read, as far as they have changed. */
static liana_status copy_variables(replicas *own, member *to, liana__error *error)
{
    const size_t count = own->plan.num_leaf_variables;
    if (!to->versions) {
        to->versions = calloc(count + 1, sizeof *to->versions);
        if (!to->versions) return liana__fail_memory(error, "the variables of another device");
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t version = own->plan.variables->items[i].buffer->version;
        if (to->versions[i] == version) continue;
        LIANA_TRY(copy_variable(own, to, i, error));
        to->versions[i] = version;
    }
    return LIANA_OK;
}

/* ---- preparing ---- */

/* Gives each member its range of the batch. */
static liana_status share_out(replicas *own, const liana__leaf_batch *batch, liana__error *error)
{
    if (own->count > 1) {
        LIANA_TRY(liana__tree_assign(batch->num_leaves, own->count, own->speeds, ASSIGN_TOLERANCE, own->ranges, error));
    }
    for (size_t i = 0; i < own->count; i++) {
        member *each = &own->members[i];
        each->batch = *batch;
        each->batch.first = own->count > 1 ? own->ranges[i].begin : 0;
        each->batch.end = own->count > 1 ? own->ranges[i].end : batch->num_leaves;
        if (i > 0) LIANA_TRY(copy_variables(own, each, error));
    }
    return LIANA_OK;
}

/* Of what the update reads, and of what it changes. */
static liana_status make_checks(replicas *own, liana__error *error)
{
    liana__device *device = own->members[0].device;
    const liana__update_program *last = &own->update.programs[own->plan.num_sum_rounds];
    const liana_graph *update = last->program->graph;
    LIANA_TRY(liana__finite_check_create(device, update->inputs, last->num_read, NULL, &own->sums_check, error));
    liana__node **assigned = calloc(update->num_assignments + 1, sizeof *assigned);
    if (!assigned) return liana__fail_memory(error, "the update");
    for (size_t i = 0; i < update->num_assignments; i++) assigned[i] = update->assignments[i].variable;
    liana_status status = liana__finite_check_create(device, assigned, update->num_assignments, own->plan.variables,
                                                     &own->new_values, error);
    free(assigned);
    return status;
}

/* The graph of any leaf: all have the same sums. Destroy it. */
static liana_status build_leaf(const replicas *own, liana__step_kind kind, liana_graph **graph, liana__error *error)
{
    const liana__leaf_plan *plan = &own->members[0].plans[kind];
    return plan->build(plan->user, plan->leaf_size, own->members[0].device->backend->static_leaves, graph, error);
}

static liana_status prepare_exchange(replicas *own, liana__step_kind kind, liana__error *error)
{
    if (own->count == 1 || own->exchanges[kind].num_sums) return LIANA_OK;
    liana_graph *leaf;
    LIANA_TRY(build_leaf(own, kind, &leaf, error));
    size_t num_sums = liana__leaf_num_sums(&own->members[0].plans[kind], leaf);
    liana_status status = liana__local_exchange_create(leaf, num_sums, &own->exchanges[kind], error);
    liana_graph_destroy(leaf);
    return status;
}

/* The programs of an update that is not a whole one. */
static liana_status prepare_update(replicas *own, liana__error *error)
{
    if (own->update.programs) return LIANA_OK;
    LIANA_TRY(liana__replica_update_create(own->members[0].device, &own->plan, &own->update, error));
    return make_checks(own, error);
}

/* Whether updates are whole ones: all devices are of a backend that can do that. */
static bool is_whole(const replicas *own)
{
    const liana__backend *backend = own->members[0].device->backend;
    bool can = own->plan.whole && backend->whole_create;
    for (size_t i = 1; i < own->count; i++) can = can && own->members[i].device->backend == backend;
    return can;
}

static liana_status make_whole(replicas *own, liana__error *error)
{
    const liana__backend *backend = own->members[0].device->backend;
    if (own->whole) return LIANA_OK;
    liana__whole_plan plan = *own->plan.whole;
    plan.leaf = &own->members[0].plans[LIANA__STEP_TRAINING];
    plan.variables = own->plan.variables;
    liana__device **devices = calloc(own->count, sizeof(liana__device *));
    if (!devices) return liana__fail_memory(error, "the strategy");
    for (size_t i = 0; i < own->count; i++) devices[i] = own->members[i].device;
    liana_status status = backend->whole_create(devices, own->count, &plan, &own->whole, error);
    free(devices);
    return status;
}

/* Leaf by leaf. */
static liana_status prepare_leaves(replicas *own, liana__step_kind kind, liana__error *error)
{
    for (size_t i = 0; i < own->count; i++) {
        member *each = &own->members[i];
        LIANA_TRY(each->device->backend->replica_prepare(each->replicas[kind], &each->batch, error));
    }
    LIANA_TRY(prepare_exchange(own, kind, error));
    return kind == LIANA__STEP_TRAINING ? prepare_update(own, error) : LIANA_OK;
}

liana__whole *liana__replicas_whole(liana__strategy_instance *instance)
{
    return ((replicas *)instance)->whole;
}

liana_status liana__replicas_prepare(liana__strategy_instance *instance, liana__step_kind kind,
                                     const liana__leaf_batch *batch, liana__error *error)
{
    replicas *own = (replicas *)instance;
    if (kind == LIANA__STEP_TRAINING && is_whole(own)) return make_whole(own, error);
    LIANA_TRY(share_out(own, batch, error));
    return prepare_leaves(own, kind, error);
}

/* ---- running ---- */

static void compute_member(void *user, size_t number, int thread)
{
    (void)thread;
    replicas *own = user;
    member *each = &own->members[number];
    const cpu_set_t *group = CPU_COUNT(&each->group) ? &each->group : NULL;
    cpu_set_t before;
    liana__cpu_enter(group, &before);
    each->error.status = LIANA_OK;
    each->status = each->device->backend->replica_compute(each->replicas[own->kind], &each->batch, &each->blocks,
                                                          &each->num_blocks, &each->error);
    liana__cpu_leave(group, &before);
}

/* The first failing member has the first failing leaf. */
static liana_status report_failure(const replicas *own, liana__error *error)
{
    for (size_t i = 0; i < own->count; i++) {
        if (own->members[i].status == LIANA_OK) continue;
        if (error) *error = own->members[i].error;
        return own->members[i].status;
    }
    return LIANA_OK;
}

/* Adds the blocks of several members; the sum is in slot 0 of the exchange. */
static liana_status add_blocks(replicas *own, size_t num_leaves, liana__error *error)
{
    liana__local_exchange *exchange = &own->exchanges[own->kind];
    LIANA_TRY(liana__tree_plan_make(&own->tree, num_leaves, own->ranges, error));
    LIANA_TRY(liana__local_exchange_reserve(exchange, own->tree.num_slots, error));
    for (size_t i = 0; i < own->count; i++) {
        const member *each = &own->members[i];
        size_t first = own->tree.first_slots[i];
        if (each->num_blocks != own->tree.first_slots[i + 1] - first) {
            return liana__fail(error, LIANA_INTERNAL, "device %zu gave %zu sums of blocks, expected %zu", i,
                               each->num_blocks, own->tree.first_slots[i + 1] - first);
        }
        LIANA_TRY(liana__local_exchange_take(exchange, first, each->blocks, each->num_blocks, error));
    }
    liana__local_exchange_add(exchange, &own->tree, 0, exchange->offsets[exchange->num_sums],
                              own->members[0].device->context);
    return LIANA_OK;
}

liana_status liana__replicas_sum(liana__strategy_instance *instance, liana__step_kind kind,
                                 const liana__leaf_batch *batch, void *first, liana__error *error)
{
    replicas *own = (replicas *)instance;
    own->kind = kind;
    LIANA_TRY(share_out(own, batch, error));
    if (own->count == 1) {
        member *only = &own->members[0];
        const liana__backend *backend = only->device->backend;
        LIANA_TRY(
            backend->replica_compute(only->replicas[kind], &only->batch, &only->blocks, &only->num_blocks, error));
        own->sums = only->blocks[0].sums;
        return backend->download(own->sums[0], first, error);
    }
    LIANA_TRY(prepare_leaves(own, kind, error));
    liana__pool_run(own->pool, own->count, compute_member, own);
    LIANA_TRY(report_failure(own, error));
    LIANA_TRY(add_blocks(own, batch->num_leaves, error));
    const liana__local_exchange *exchange = &own->exchanges[kind];
    memcpy(first, exchange->slots[0], exchange->offsets[1] * sizeof(float));
    return LIANA_OK;
}

/* Lets a program read a sum: on the device, or from the host. */
static liana_status feed_sum(void *user, liana__program *program, size_t input, size_t sum, liana__error *error)
{
    const replicas *own = user;
    if (own->count == 1) {
        liana__program_bind(program, input, own->sums[sum]);
        return LIANA_OK;
    }
    const liana__local_exchange *exchange = &own->exchanges[LIANA__STEP_TRAINING];
    const liana__node *node = program->graph->inputs[input];
    const float *data = exchange->slots[0] + exchange->offsets[sum];
    return liana__program_feed(program, input, node->dtype, &node->shape, data, error);
}

liana_status liana__replicas_check(liana__strategy_instance *instance, liana__checked what, liana__non_finite *found,
                                   liana__error *error)
{
    replicas *own = (replicas *)instance;
    LIANA_TRY(prepare_update(own, error));
    liana__finite_check *check = what == LIANA__CHECK_SUMS ? &own->sums_check : &own->new_values;
    const liana__update_program *last = &own->update.programs[own->plan.num_sum_rounds];
    for (size_t i = 0; what == LIANA__CHECK_SUMS && check->program && i < last->num_read; i++) {
        LIANA_TRY(feed_sum(own, check->program, i, last->sums_read[i], error));
    }
    return liana__finite_check_run(check, found, error);
}

liana_status liana__replicas_read_sum(const liana__strategy_instance *instance, size_t number, void *data,
                                      liana__error *error)
{
    const replicas *own = (const replicas *)instance;
    if (own->count == 1) return own->members[0].device->backend->download(own->sums[number], data, error);
    const liana__local_exchange *exchange = &own->exchanges[LIANA__STEP_TRAINING];
    /* The leaf's graph, which had the sum's shape, is destroyed once it is compiled. */
    const size_t *offsets = &exchange->offsets[number];
    memcpy(data, exchange->slots[0] + offsets[0], (offsets[1] - offsets[0]) * sizeof(float));
    return LIANA_OK;
}

liana_status liana__replicas_update(liana__strategy_instance *instance, const float *scalars, liana__error *error)
{
    replicas *own = (replicas *)instance;
    LIANA_TRY(prepare_update(own, error));
    return liana__replica_update_run(&own->update, &(liana__sum_feed){feed_sum, own}, scalars, error);
}

void liana__replicas_memory(const liana__strategy_instance *instance, liana__step_kind kind,
                            const liana__leaf_batch *batch, liana__replica_memory *memory)
{
    const replicas *own = (const replicas *)instance;
    *memory = (liana__replica_memory){0};
    for (size_t i = 0; i < own->count; i++) {
        const member *each = &own->members[i];
        liana__leaf_batch range = *batch;
        range.first = own->count > 1 ? own->ranges[i].begin : 0;
        range.end = own->count > 1 ? own->ranges[i].end : batch->num_leaves;
        liana__replica_memory needed;
        each->device->backend->replica_memory(each->replicas[kind], &range, &needed);
        if (needed.workspace >= memory->workspace) *memory = needed;
    }
    if (kind != LIANA__STEP_TRAINING || !own->whole) return;
    memory->workspace = memory->workspace_before = own->members[0].device->backend->whole_workspace(own->whole);
}
