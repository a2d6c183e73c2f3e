/* Reduces values by replica, over the shards of all processes, in the tree's order. */
#include "backends/host_add.h"
#include "base/context.h"
#include "base/denormals.h"
#include "base/scoped.h"
#include "ir/shape.h"
#include "step/replicas/per_replica.h"

#include <stdlib.h>
#include <string.h>

/* A reduction that is under way. */
typedef struct reducing {
    liana_per_replica *values;
    const char *name;
    liana_reduction reduction;
    liana__error *error;
    const liana_array *leaves; /* of this process; NULL: it has none */
    /* The facts that are the same in all processes. */
    int dtype;
    liana_shape shape;  /* of the result; where shards are concatenated, of a row */
    int64_t total_rows; /* of all shards */
    /* Sums. */
    liana_dtype sum_dtype; /* f64 for means */
    size_t count, size;    /* values of a sum, and their bytes */
    void **slots;          /* by shard: the sum of the block that begins with it */
} reducing;

static bool is_mean(liana_reduction reduction)
{
    return reduction == LIANA_REDUCE_MEAN || reduction == LIANA_REDUCE_ROW_MEAN;
}

/* Whether the first axis of a shard is one of rows. */
static bool has_rows(liana_reduction reduction)
{
    return reduction >= LIANA_REDUCE_CONCATENATE;
}

/* ---- the arrays ---- */

/* The shards of the array in a process. */
typedef struct description {
    int32_t dtype, rank; /* dtype -1: no shards */
    int64_t dims[LIANA_MAX_RANK];
    int64_t rows;
} description;

/* The shape that all shards must have. */
static liana_shape shape_of_leaf(const reducing *own, const liana_array *array)
{
    liana_shape shape = array->shape;
    if (!has_rows(own->reduction) || shape.rank == 0) return shape;
    memmove(shape.dims, shape.dims + 1, (size_t)(shape.rank - 1) * sizeof *shape.dims);
    shape.dims[--shape.rank] = 0;
    return shape;
}

static const char *takes_dtype(const reducing *own, int dtype)
{
    if (dtype == LIANA_STRING) return "strings stay in their process (liana_per_replica_array)";
    if (own->reduction == LIANA_REDUCE_CONCATENATE) return NULL;
    if (is_mean(own->reduction)) {
        return dtype == LIANA_F32 || dtype == LIANA_F64 ? NULL : "means are of f32 or f64; cast it in the program";
    }
    if (dtype == LIANA_BOOL || liana_dtype_size((liana_dtype)dtype) < 4) {
        return "sums are of f32, f64, s32, s64, u32 or u64; cast it in the program";
    }
    return NULL;
}

static liana_status fail_shapes(const reducing *own, const liana_array *a, const liana_array *b, size_t leaf)
{
    const char *advice = has_rows(own->reduction) ? "; only the first dimension may differ"
                                                  : "; LIANA_REDUCE_ROW_SUM and LIANA_REDUCE_CONCATENATE take leaves "
                                                    "of different lengths";
    return liana__fail(own->error, LIANA_INVALID_ARGUMENT, "the array '%.100s' is %s in leaf %zu and %s in leaf %zu%s",
                       own->name, liana__type_print((liana_dtype)a->dtype, &a->shape).text, own->values->first,
                       liana__type_print((liana_dtype)b->dtype, &b->shape).text, leaf, advice);
}

static liana_status check_leaf(const reducing *own, const liana_array *array, size_t leaf)
{
    const char *wrong = takes_dtype(own, array->dtype);
    if (!wrong && has_rows(own->reduction) && array->shape.rank == 0) wrong = "a scalar has no rows";
    if (wrong) {
        return liana__fail(own->error, LIANA_INVALID_ARGUMENT, "the array '%.100s' is %s: %s", own->name,
                           array->dtype == LIANA_STRING
                               ? "string"
                               : liana__type_print((liana_dtype)array->dtype, &array->shape).text,
                           wrong);
    }
    const liana_shape shape = shape_of_leaf(own, array), expected = shape_of_leaf(own, &own->leaves[0]);
    if (array->dtype == own->leaves[0].dtype && liana_shape_equal(&shape, &expected)) return LIANA_OK;
    return fail_shapes(own, &own->leaves[0], array, leaf);
}

static liana_status describe(reducing *own, description *here)
{
    const liana_per_replica *values = own->values;
    const char *nearest = NULL;
    *here = (description){.dtype = -1};
    const liana__leaf_component *component = liana__per_replica_find(values, own->name, &nearest);
    if (!component && values->first < values->end) {
        return liana__fail(own->error, LIANA_NOT_FOUND, "the values have no array '%.100s'%s", own->name,
                           liana__hint(nearest).text);
    }
    if (values->first == values->end) return LIANA_OK;
    own->leaves = component->arrays;
    for (size_t leaf = values->first; leaf < values->end; leaf++) {
        const liana_array *array = &component->arrays[leaf - values->first];
        LIANA_TRY(check_leaf(own, array, leaf));
        here->rows += has_rows(own->reduction) ? array->shape.dims[0] : 0;
    }
    const liana_shape shape = shape_of_leaf(own, &own->leaves[0]);
    here->dtype = own->leaves[0].dtype;
    here->rank = shape.rank;
    memcpy(here->dims, shape.dims, sizeof here->dims);
    return LIANA_OK;
}

static liana_status agree_on(reducing *own, const description *all, size_t count)
{
    const description *known = NULL;
    for (size_t i = 0; i < count; i++) {
        own->total_rows += all[i].rows;
        if (all[i].dtype < 0) continue;
        if (!known) known = &all[i];
        bool same = all[i].dtype == known->dtype && all[i].rank == known->rank;
        for (int k = 0; same && k < known->rank; k++) same = all[i].dims[k] == known->dims[k];
        if (same) continue;
        return liana__fail(own->error, LIANA_INVALID_ARGUMENT,
                           "the array '%.100s' has another dtype or shape in process %zu than in those before it",
                           own->name, i);
    }
    if (!known) {
        return liana__fail(own->error, LIANA_INVALID_ARGUMENT, "no replica has a value of the array '%.100s'",
                           own->name);
    }
    own->dtype = known->dtype;
    own->shape.rank = known->rank;
    memcpy(own->shape.dims, known->dims, sizeof own->shape.dims);
    return LIANA_OK;
}

static liana_status agree(reducing *own)
{
    liana__cluster *cluster = own->values->replicas->cluster;
    description here;
    liana_status status = liana__cluster_agree_status(cluster, describe(own, &here), own->error);
    if (status != LIANA_OK || !cluster) return status == LIANA_OK ? agree_on(own, &here, 1) : status;
    const size_t count = liana__cluster_size(cluster);
    LIANA__SCOPED_MEMORY description *all = calloc(count, sizeof *all);
    if (!all) return liana__fail_memory(own->error, "a reduction");
    LIANA_TRY(liana__cluster_gather(cluster, &here, sizeof here, all, own->error));
    return agree_on(own, all, count);
}

static liana_status fail_told(const reducing *own, size_t size)
{
    return liana__fail(own->error, LIANA_INTERNAL,
                       "the processes tell %zu bytes of the array '%.100s', as none expects", size, own->name);
}

/* ---- one behind the other ---- */

static liana_status concatenate(reducing *own, liana_array *result)
{
    liana_per_replica *values = own->values;
    liana__cluster *cluster = values->replicas->cluster;
    liana_shape shape = {own->shape.rank + 1, {own->total_rows}};
    memcpy(shape.dims + 1, own->shape.dims, (size_t)own->shape.rank * sizeof *shape.dims);
    char *data = liana__arena_allocate(&values->arena, liana__byte_size((liana_dtype)own->dtype, &shape) + 1);
    if (!data) return liana__fail_memory(own->error, "a reduction");
    size_t size = 0;
    for (size_t i = 0; i < values->end - values->first; i++) {
        const size_t bytes = liana__byte_size((liana_dtype)own->dtype, &own->leaves[i].shape);
        memcpy(data + size, own->leaves[i].data, bytes);
        size += bytes;
    }
    *result = (liana_array){NULL, own->dtype, shape, data};
    if (!cluster) return LIANA_OK;
    /* Processes are in the order of their shards. */
    LIANA__SCOPED(liana__gathered) all = {0};
    LIANA_TRY(liana__cluster_gather_sized(cluster, data, size, &all, own->error));
    const size_t told = all.offsets[liana__cluster_size(cluster)];
    if (told != liana__byte_size((liana_dtype)own->dtype, &shape)) return fail_told(own, told);
    memcpy(data, all.data, told);
    return LIANA_OK;
}

/* ---- sums ---- */

static void add(const reducing *own, void *into, const void *from)
{
    switch (own->sum_dtype) {
    case LIANA_F32: liana__host_choose_add(own->values->context->isa)(into, into, from, (int64_t)own->count); break;
    case LIANA_F64:
        for (size_t i = 0; i < own->count; i++) ((double *)into)[i] += ((const double *)from)[i];
        break;
    case LIANA_S32:
    case LIANA_U32:
        /* Of two's complement: both wrap around alike. */
        for (size_t i = 0; i < own->count; i++) ((uint32_t *)into)[i] += ((const uint32_t *)from)[i];
        break;
    default:
        for (size_t i = 0; i < own->count; i++) ((uint64_t *)into)[i] += ((const uint64_t *)from)[i];
        break;
    }
}

static double number_at(int dtype, const void *data, size_t index)
{
    return dtype == LIANA_F64 ? ((const double *)data)[index] : (double)((const float *)data)[index];
}

/* The addend of one shard: itself, or its rows, for a mean in double. */
static void add_leaf(const reducing *own, const liana_array *leaf, int64_t num_examples, void *sum)
{
    const size_t rows = has_rows(own->reduction) ? (size_t)leaf->shape.dims[0] : 1;
    const double weight = own->reduction == LIANA_REDUCE_MEAN ? (double)num_examples : 1;
    for (size_t row = 0; row < rows; row++) {
        if (is_mean(own->reduction)) {
            for (size_t i = 0; i < own->count; i++) {
                ((double *)sum)[i] += weight * number_at(own->dtype, leaf->data, row * own->count + i);
            }
        } else if (row == 0) {
            memcpy(sum, leaf->data, own->size);
        } else {
            add(own, sum, (const char *)leaf->data + row * own->size);
        }
    }
}

static liana_status make_slots(reducing *own)
{
    const liana_per_replica *values = own->values;
    for (size_t leaf = values->first; leaf < values->end; leaf++) {
        own->slots[leaf] = liana__allocate_zeroed(own->size);
        if (!own->slots[leaf]) return liana__fail_memory(own->error, "a reduction");
        add_leaf(own, &own->leaves[leaf - values->first], values->examples[leaf], own->slots[leaf]);
    }
    return LIANA_OK;
}

/* The blocks of the shards that a process has. */
static size_t blocks_of(const liana_per_replica *values, size_t process, liana__tree_block *blocks)
{
    const size_t *first_of = values->replicas->first_of;
    const liana__leaf_range range = liana__per_replica_range(values, first_of[process], first_of[process + 1]);
    return liana__tree_blocks(values->num_leaves, range, blocks);
}

/* Marks the first shard of each block of each process: additions between these come after the exchange. */
static void mark_begins(const liana_per_replica *values, bool *begins)
{
    for (size_t process = 0; process < values->replicas->num_processes; process++) {
        liana__tree_block blocks[LIANA__TREE_MAX_BLOCKS];
        const size_t count = blocks_of(values, process, blocks);
        for (size_t i = 0; i < count; i++) begins[liana__tree_leaves(values->num_leaves, blocks[i]).begin] = true;
    }
}

/* Adds within the blocks of this process, or the rest. */
static void run_additions(const reducing *own, const liana__tree_plan *plan, const bool *begins, bool within)
{
    for (size_t i = 0; i < plan->num_additions; i++) {
        const liana__tree_addition *addition = &plan->additions[i];
        if (begins[addition->from] == within || !own->slots[addition->from]) continue;
        add(own, own->slots[addition->into], own->slots[addition->from]);
    }
}

static liana_status exchange(reducing *own)
{
    const liana_per_replica *values = own->values;
    liana__tree_block blocks[LIANA__TREE_MAX_BLOCKS];
    LIANA__SCOPED(liana__gathered) all = {0};
    const size_t count = blocks_of(values, values->replicas->rank, blocks);
    LIANA__SCOPED_MEMORY char *packed = malloc(count * own->size + 1);
    if (!packed) return liana__fail_memory(own->error, "a reduction");
    for (size_t i = 0; i < count; i++) {
        memcpy(packed + i * own->size, own->slots[liana__tree_leaves(values->num_leaves, blocks[i]).begin], own->size);
    }
    LIANA_TRY(liana__cluster_gather_sized(values->replicas->cluster, packed, count * own->size, &all, own->error));
    for (size_t process = 0; process < values->replicas->num_processes; process++) {
        const size_t others = process == values->replicas->rank ? 0 : blocks_of(values, process, blocks);
        const size_t told = all.offsets[process + 1] - all.offsets[process];
        if (others && told != others * own->size) return fail_told(own, told);
        for (size_t i = 0; i < others; i++) {
            void **slot = &own->slots[liana__tree_leaves(values->num_leaves, blocks[i]).begin];
            *slot = liana__allocate_aligned(own->size);
            if (!*slot) return liana__fail_memory(own->error, "a reduction");
            memcpy(*slot, all.data + all.offsets[process] + i * own->size, own->size);
        }
    }
    return LIANA_OK;
}

static liana_status add_all(reducing *own, liana__tree_plan *plan, liana__leaf_range *leaves, bool *begins)
{
    const size_t num_leaves = own->values->num_leaves;
    for (size_t i = 0; i < num_leaves; i++) leaves[i] = (liana__leaf_range){i, i + 1};
    LIANA_TRY(liana__tree_plan_create(num_leaves, num_leaves, plan, own->error));
    LIANA_TRY(liana__tree_plan_make(plan, num_leaves, leaves, own->error));
    mark_begins(own->values, begins);
    LIANA_TRY(make_slots(own));
    const liana__denormals before = liana__denormals_flush();
    run_additions(own, plan, begins, true);
    liana__denormals_restore(before);
    if (own->values->replicas->cluster) LIANA_TRY(exchange(own));
    const liana__denormals again = liana__denormals_flush();
    run_additions(own, plan, begins, false);
    liana__denormals_restore(again);
    return LIANA_OK;
}

static liana_status give_sum(const reducing *own, liana_array *result)
{
    liana_per_replica *values = own->values;
    const double divisor = own->reduction == LIANA_REDUCE_ROW_MEAN
                               ? (double)own->total_rows
                               : (double)liana_per_replica_info(values).num_examples;
    void *data = liana__arena_allocate(&values->arena, own->count * liana_dtype_size((liana_dtype)own->dtype) + 1);
    if (!data) return liana__fail_memory(own->error, "a reduction");
    if (!is_mean(own->reduction)) memcpy(data, own->slots[0], own->size);
    for (size_t i = 0; is_mean(own->reduction) && i < own->count; i++) {
        const double mean = ((const double *)own->slots[0])[i] / divisor;
        if (own->dtype == LIANA_F64) {
            ((double *)data)[i] = mean;
        } else {
            ((float *)data)[i] = (float)mean;
        }
    }
    *result = (liana_array){NULL, own->dtype, own->shape, data};
    return LIANA_OK;
}

static liana_status sum(reducing *own, liana_array *result)
{
    const size_t num_leaves = own->values->num_leaves;
    LIANA__SCOPED(liana__tree_plan) plan = {0};
    own->sum_dtype = is_mean(own->reduction) ? LIANA_F64 : (liana_dtype)own->dtype;
    own->count = (size_t)liana_shape_size(&own->shape);
    own->size = own->count * liana_dtype_size(own->sum_dtype);
    own->slots = calloc(num_leaves, sizeof *own->slots);
    LIANA__SCOPED_MEMORY liana__leaf_range *leaves = calloc(num_leaves, sizeof *leaves);
    LIANA__SCOPED_MEMORY bool *begins = calloc(num_leaves, sizeof *begins);
    liana_status status = own->slots && leaves && begins ? LIANA_OK : liana__fail_memory(own->error, "a reduction");
    if (status == LIANA_OK) status = add_all(own, &plan, leaves, begins);
    if (status == LIANA_OK) status = give_sum(own, result);
    for (size_t i = 0; own->slots && i < num_leaves; i++) free(own->slots[i]);
    free(own->slots);
    return status;
}

static liana_status reduce(liana_per_replica *values, const char *name, liana_reduction reduction, liana_array *result)
{
    reducing own = {.values = values, .name = name, .reduction = reduction, .error = &values->context->error};
    if ((unsigned)reduction >= LIANA_NUM_REDUCTIONS) {
        return liana__fail(own.error, LIANA_INVALID_ARGUMENT, "%d is no liana_reduction", (int)reduction);
    }
    LIANA_TRY(liana__replicas_enter(values->replicas, "liana_per_replica_reduce", own.error));
    liana_status status = agree(&own);
    if (status == LIANA_OK) {
        status = reduction == LIANA_REDUCE_CONCATENATE ? concatenate(&own, result) : sum(&own, result);
    }
    liana__replicas_leave(values->replicas);
    if (status != LIANA_OK) return status;
    result->name = liana__arena_string(&values->arena, name);
    return result->name ? LIANA_OK : liana__fail_memory(own.error, "a reduction");
}

liana_status liana_per_replica_reduce(liana_per_replica *values, const char *name, liana_reduction reduction,
                                      liana_array *result)
{
    liana__error *error = values ? &values->context->error : NULL;
    LIANA__REQUIRE(error, result);
    *result = (liana_array){0};
    LIANA__REQUIRE(error, values);
    LIANA__REQUIRE(error, name);
    LIANA__CONTEXT_CALL(values->context, reduce(values, name, reduction, result));
}
