/* Devices of this process: their variables, and the shards that each computes. */
#include "distribute/device_group.h"

#include "base/context.h"

#include <stdlib.h>

/* ---- setting up ---- */

static void free_member(liana__group_member *own)
{
    for (int kind = 0; kind < LIANA__NUM_STEP_KINDS; kind++) {
        if (own->replicas[kind]) own->device->backend->replicas->destroy(own->replicas[kind]);
    }
    if (own->own_variables.device) liana__variables_free(&own->own_variables);
    free(own->versions);
}

void liana__device_group_free(liana__device_group *group)
{
    for (size_t i = 0; group->members && i < group->count; i++) free_member(&group->members[i]);
    liana__tree_plan_free(&group->tree);
    liana__group_sums_free(&group->sums);
    liana__pool_destroy(group->pool);
    free(group->copied);
    liana__arena_free(&group->arena);
    *group = (liana__device_group){0};
}

size_t liana__strategy_most_shards(const liana__strategy_plan *plan)
{
    size_t most = 1;
    for (int kind = 0; kind < LIANA__NUM_STEP_KINDS; kind++) {
        if (plan->leaves[kind] && plan->leaves[kind]->max_leaves > most) most = plan->leaves[kind]->max_leaves;
    }
    return most;
}

static liana_status make_member(liana__device_group *group, const liana__strategy_plan *plan, size_t number,
                                liana__device *device, bool of_parts, liana__error *error)
{
    liana__group_member *made = &group->members[number];
    made->device = device;
    made->variables = plan->variables;
    if (number > 0) {
        liana__variables_init(&made->own_variables, device);
        made->variables = &made->own_variables;
    }
    for (int kind = 0; kind < LIANA__NUM_STEP_KINDS; kind++) {
        if (!plan->leaves[kind]) continue;
        made->plans[kind] = *plan->leaves[kind];
        made->plans[kind].variables = made->variables;
        made->plans[kind].of_parts = of_parts || group->count > 1;
        LIANA_TRY(device->backend->replicas->create(device, &made->plans[kind], &made->replicas[kind], error));
    }
    return LIANA_OK;
}

/* The common state of several members: ranges and a plan, with the shards before and behind theirs. */
static liana_status join_members(liana__device_group *group, const liana__strategy_plan *plan, const double *speeds,
                                 liana__error *error)
{
    group->ranges = liana__arena_allocate(&group->arena, (group->count + 2) * sizeof *group->ranges);
    if (speeds) group->speeds = liana__arena_copy(&group->arena, speeds, group->count * sizeof *group->speeds);
    if (group->arena.failed) return liana__fail_memory(error, "the strategy");
    LIANA_TRY(liana__tree_plan_create(liana__strategy_most_shards(plan), group->count + 2, &group->tree, error));
    group->sums.add = liana__host_choose_add(group->members[0].device->context->isa);
    return liana__pool_create((int)group->count, &group->pool, error);
}

liana_status liana__device_group_create(const liana__strategy_devices *devices, const liana__strategy_plan *plan,
                                        bool of_parts, liana__device_group *group, liana__error *error)
{
    *group = (liana__device_group){.count = devices->count,
                                   .source = plan->variables,
                                   .num_leaf_variables = plan->num_leaf_variables};
    group->members = liana__arena_allocate(&group->arena, devices->count * sizeof *group->members);
    if (!group->members) return liana__fail_memory(error, "the strategy");
    for (size_t i = 0; i < devices->count; i++) {
        if (devices->groups) group->members[i].group = devices->groups[i];
        LIANA_TRY(make_member(group, plan, i, devices->items[i], of_parts, error));
    }
    return group->count > 1 ? join_members(group, plan, devices->speeds, error) : LIANA_OK;
}

/* ---- the other devices' copies of the variables ---- */

static liana_status copy_variable(liana__device_group *group, liana__group_member *to, size_t number,
                                  liana__error *error)
{
    const liana__variable *from = &group->source->items[number];
    const liana__buffer *buffer = from->buffer;
    if (buffer->size > group->copied_size) {
        void *larger = realloc(group->copied, buffer->size);
        if (!larger) return liana__fail_memory(error, "the variables of another device");
        group->copied = larger;
        group->copied_size = buffer->size;
    }
    LIANA_TRY(liana__variable_read(from, group->copied, error));
    if (number < to->variables->count) {
        return liana__variable_write(&to->variables->items[number], group->copied, error);
    }
    return liana__variables_add(to->variables, from->name, buffer->dtype, &buffer->shape, group->copied, error);
}

/* Copies the variables that shards read, as far as they have changed. */
static liana_status copy_variables(liana__device_group *group, liana__group_member *to, liana__error *error)
{
    const size_t count = group->num_leaf_variables;
    if (!to->versions) {
        to->versions = calloc(count + 1, sizeof *to->versions);
        if (!to->versions) return liana__fail_memory(error, "the variables of another device");
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t version = group->source->items[i].buffer->version;
        if (to->versions[i] == version) continue;
        LIANA_TRY(copy_variable(group, to, i, error));
        to->versions[i] = version;
    }
    return LIANA_OK;
}

/* ---- preparing ---- */

/* The members' ranges are in the middle of the plan's. */
static liana_status assign(liana__device_group *group, const liana__leaf_batch *batch, liana__error *error)
{
    const size_t num_leaves = batch->end - batch->first;
    liana__leaf_range *ranges = group->ranges;
    LIANA_TRY(liana__tree_assign(num_leaves, group->count, group->speeds, LIANA__TREE_TOLERANCE, ranges + 1, error));
    ranges[0] = (liana__leaf_range){0, batch->first};
    for (size_t i = 1; i <= group->count; i++) {
        ranges[i].begin += batch->first;
        ranges[i].end += batch->first;
    }
    ranges[group->count + 1] = (liana__leaf_range){batch->end, batch->num_leaves};
    return liana__tree_plan_make(&group->tree, batch->num_leaves, ranges, error);
}

liana_status liana__device_group_share(liana__device_group *group, const liana__leaf_batch *batch, liana__error *error)
{
    if (group->count > 1) LIANA_TRY(assign(group, batch, error));
    group->is_watched = false;
    for (size_t i = 0; i < group->count; i++) {
        liana__group_member *each = &group->members[i];
        each->batch = *batch;
        each->batch.watch = NULL;
        if (group->count > 1) {
            each->batch.first = group->ranges[1 + i].begin;
            each->batch.end = group->ranges[1 + i].end;
        }
        if (i > 0) LIANA_TRY(copy_variables(group, each, error));
    }
    return LIANA_OK;
}

liana_status liana__device_group_prepare(liana__device_group *group, liana__step_kind kind,
                                         const liana__leaf_batch *batch, liana__error *error)
{
    LIANA_TRY(liana__device_group_share(group, batch, error));
    for (size_t i = 0; i < group->count; i++) {
        liana__group_member *each = &group->members[i];
        LIANA_TRY(each->device->backend->replicas->prepare(each->replicas[kind], &each->batch, error));
    }
    return LIANA_OK;
}

/* ---- running ---- */

static void compute_member(void *user, size_t number, int thread)
{
    (void)thread;
    liana__device_group *group = user;
    liana__group_member *each = &group->members[number];
    const cpu_set_t *processors = CPU_COUNT(&each->group) ? &each->group : NULL;
    cpu_set_t before;
    liana__cpu_enter(processors, &before);
    each->error.status = LIANA_OK;
    each->status = each->device->backend->replicas->compute(each->replicas[group->kind], &each->batch, &each->blocks,
                                                            &each->num_blocks, &each->error);
    liana__cpu_leave(processors, &before);
}

liana_status liana__device_group_compute(liana__device_group *group, liana__step_kind kind, liana__error *error)
{
    if (group->count == 1) {
        liana__group_member *only = &group->members[0];
        return only->device->backend->replicas->compute(only->replicas[kind], &only->batch, &only->blocks,
                                                        &only->num_blocks, error);
    }
    group->kind = kind;
    liana__pool_run(group->pool, group->count, compute_member, group);
    /* The first failing member has the first failing shard. */
    for (size_t i = 0; i < group->count; i++) {
        if (group->members[i].status == LIANA_OK) continue;
        if (error) *error = group->members[i].error;
        return group->members[i].status;
    }
    return LIANA_OK;
}

/* ---- blocks of the whole range ---- */

static liana_status begin_sums(liana__device_group *group, liana__local_exchange *exchange,
                               const liana__sum_watch *listener, liana__error *error)
{
    const liana__leaf_range range = {group->ranges[0].end, group->ranges[group->count + 1].begin};
    const size_t *first_slots = group->tree.first_slots;
    return liana__group_sums_begin(&group->sums, &group->tree, first_slots[1], first_slots[group->count + 1], range,
                                   exchange, listener, error);
}

liana_status liana__device_group_watch(liana__device_group *group, liana__local_exchange *exchange,
                                       const liana__sum_watch *watch, liana__error *error)
{
    if (group->count == 1) {
        group->members[0].batch.watch = watch;
        return LIANA_OK;
    }
    LIANA_TRY(begin_sums(group, exchange, watch, error));
    group->is_watched = true;
    for (size_t i = 0; i < group->count; i++) group->members[i].batch.watch = &group->sums.watch;
    return LIANA_OK;
}

static liana_status take_blocks(liana__device_group *group, liana__error *error)
{
    const liana__tree_plan *tree = &group->tree;
    for (size_t i = 0; i < group->count; i++) {
        const liana__group_member *each = &group->members[i];
        const size_t begin = tree->first_slots[1 + i], wanted = tree->first_slots[2 + i] - begin;
        if (each->num_blocks != wanted) {
            return liana__fail(error, LIANA_INTERNAL, "device %zu gave %zu sums of blocks, expected %zu", i,
                               each->num_blocks, wanted);
        }
        LIANA_TRY(liana__group_sums_take(&group->sums, begin - tree->first_slots[1], each->blocks, wanted, error));
    }
    return LIANA_OK;
}

liana_status liana__device_group_collect(liana__device_group *group, liana__local_exchange *exchange,
                                         size_t *num_blocks, liana__error *error)
{
    const liana__group_member *first = &group->members[0];
    *num_blocks = first->num_blocks;
    if (group->count == 1) return liana__local_exchange_take(exchange, first->blocks, first->num_blocks, error);
    if (!group->is_watched) LIANA_TRY(begin_sums(group, exchange, NULL, error));
    LIANA_TRY(take_blocks(group, error));
    liana__group_sums_end(&group->sums);
    *num_blocks = group->sums.num_blocks;
    return LIANA_OK;
}

void liana__device_group_memory(const liana__device_group *group, liana__step_kind kind, const liana__leaf_batch *batch,
                                liana__replica_memory *memory)
{
    *memory = (liana__replica_memory){0};
    for (size_t i = 0; i < group->count; i++) {
        const liana__group_member *each = &group->members[i];
        liana__leaf_batch range = *batch;
        if (group->count > 1) {
            range.first = group->ranges[1 + i].begin;
            range.end = group->ranges[1 + i].end;
        }
        liana__replica_memory needed;
        each->device->backend->replicas->memory(each->replicas[kind], &range, &needed);
        if (needed.workspace >= memory->workspace) *memory = needed;
    }
}
