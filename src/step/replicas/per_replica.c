/* Values by replica: makes them, and shows those of this process. */
#include "step/replicas/per_replica.h"

#include "base/context.h"
#include "base/named.h"
#include "base/scoped.h"
#include "batch/cut.h"
#include "ir/shape.h"
#include "program/array_text.h"

#include <stdlib.h>
#include <string.h>

/* How unevenly shards may be shared out so that ranges have few blocks. */
static const double ASSIGN_TOLERANCE = 0.05;

/* ---- shards ---- */

void liana_per_replica_destroy(liana_per_replica *values)
{
    if (!values) return;
    free(values->components);
    liana__arena_free(&values->arena);
    free(values);
}

liana_status liana__per_replica_create_as(liana_replicas *replicas, const int64_t *examples, size_t num_leaves,
                                          const liana__leaf_range *ranges, liana_per_replica **out, liana__error *error)
{
    const size_t num_replicas = liana__replicas_total(replicas), first = liana__replicas_first(replicas);
    *out = NULL;
    liana_per_replica *values = calloc(1, sizeof *values);
    if (!values) return liana__fail_memory(error, "values by replica");
    values->replicas = replicas;
    values->context = replicas->context;
    values->num_leaves = num_leaves;
    values->examples = liana__arena_copy(&values->arena, examples, num_leaves * sizeof *examples);
    values->ranges = liana__arena_copy(&values->arena, ranges, num_replicas * sizeof *ranges);
    if (values->arena.failed) {
        liana_per_replica_destroy(values);
        return liana__fail_memory(error, "values by replica");
    }
    const liana__leaf_range own = liana__per_replica_range(values, first, first + liana__replicas_local(replicas));
    values->first = own.begin;
    values->end = own.end;
    *out = values;
    return LIANA_OK;
}

liana_status liana__per_replica_create(liana_replicas *replicas, const int64_t *examples, size_t num_leaves,
                                       liana_per_replica **values, liana__error *error)
{
    const size_t num_replicas = liana__replicas_total(replicas);
    *values = NULL;
    LIANA__SCOPED_MEMORY liana__leaf_range *ranges = calloc(num_replicas, sizeof *ranges);
    if (!ranges) return liana__fail_memory(error, "values by replica");
    LIANA_TRY(liana__tree_assign(num_leaves, num_replicas, NULL, ASSIGN_TOLERANCE, ranges, error));
    return liana__per_replica_create_as(replicas, examples, num_leaves, ranges, values, error);
}

liana_status liana__per_replica_like(const liana_per_replica *like, liana_per_replica **values, liana__error *error)
{
    return liana__per_replica_create_as(like->replicas, like->examples, like->num_leaves, like->ranges, values, error);
}

liana__leaf_range liana__per_replica_range(const liana_per_replica *values, size_t begin, size_t end)
{
    if (begin == end) return (liana__leaf_range){values->num_leaves, values->num_leaves};
    return (liana__leaf_range){values->ranges[begin].begin, values->ranges[end - 1].end};
}

bool liana__per_replica_same_leaves(const liana_per_replica *a, const liana_per_replica *b)
{
    const size_t num_replicas = liana__replicas_total(a->replicas);
    return a->replicas == b->replicas && a->num_leaves == b->num_leaves &&
           memcmp(a->examples, b->examples, a->num_leaves * sizeof *a->examples) == 0 &&
           memcmp(a->ranges, b->ranges, num_replicas * sizeof *a->ranges) == 0;
}

/* ---- arrays ---- */

liana__leaf_component *liana__per_replica_add(liana_per_replica *values, const char *name)
{
    if (!liana__grow(&values->components, values->num_components, &values->capacity, sizeof *values->components)) {
        return NULL;
    }
    const size_t count = values->end - values->first;
    liana__leaf_component *added = &values->components[values->num_components];
    *added = (liana__leaf_component){.name = liana__arena_string(&values->arena, name)};
    added->arrays = liana__arena_allocate(&values->arena, (count + 1) * sizeof *added->arrays);
    if (!added->name || !added->arrays) return NULL;
    values->num_components++;
    return added;
}

liana_status liana__per_replica_allocate(liana_per_replica *values, liana__leaf_component *component, size_t index,
                                         int dtype, const liana_shape *shape, liana__error *error)
{
    const size_t size = (size_t)liana_shape_size(shape) * liana__value_size(dtype);
    void *data = liana__arena_allocate(&values->arena, size + 1);
    if (!data) return liana__fail_memory(error, "values by replica");
    component->arrays[index] = (liana_array){component->name, dtype, *shape, data};
    return LIANA_OK;
}

liana_status liana__per_replica_allocate_rows(liana_per_replica *values, liana__leaf_component *component, int dtype,
                                              const liana_shape *row, liana__error *error)
{
    const size_t size = (size_t)liana_shape_size(row) * liana__value_size(dtype);
    int64_t count = 0;
    for (size_t leaf = values->first; leaf < values->end; leaf++) count += values->examples[leaf];
    char *data = liana__arena_allocate(&values->arena, (size_t)count * size + 1);
    if (!data) return liana__fail_memory(error, "values by replica");
    component->rows = data;
    component->dtype = dtype;
    component->row = *row;
    for (size_t leaf = values->first; leaf < values->end; leaf++) {
        liana_shape shape = {row->rank + 1, {values->examples[leaf]}};
        memcpy(shape.dims + 1, row->dims, (size_t)row->rank * sizeof *shape.dims);
        component->arrays[leaf - values->first] = (liana_array){component->name, dtype, shape, data};
        data += (size_t)values->examples[leaf] * size;
    }
    return LIANA_OK;
}

liana_status liana__per_replica_fill(liana_per_replica *values, int dtype, void *to, const void *from, size_t count,
                                     liana__error *error)
{
    memcpy(to, from, count * liana__value_size(dtype));
    for (size_t i = 0; dtype == LIANA_STRING && i < count; i++) {
        liana_bytes *bytes = (liana_bytes *)to + i;
        if (!bytes->data && bytes->size) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT, "a string of %zu bytes is at no address", bytes->size);
        }
        char *copy = liana__arena_copy(&values->arena, bytes->data ? bytes->data : "", bytes->size);
        if (!copy) return liana__fail_memory(error, "values by replica");
        bytes->data = copy;
    }
    return LIANA_OK;
}

const liana__leaf_component *liana__per_replica_find(const liana_per_replica *values, const char *name,
                                                     const char **nearest)
{
    const size_t count = values->num_components;
    if (count == 0) return NULL;
    const size_t found =
        liana__named_find(LIANA__NAMED(liana__leaf_component, values->components, count), name, nearest);
    return found < count ? &values->components[found] : NULL;
}

/* ---- a batch that every process has ---- */

static liana_status check_arrays(const liana_array *arrays, size_t num_arrays, liana__error *error)
{
    if (num_arrays == 0) return liana__fail(error, LIANA_INVALID_ARGUMENT, "there is no array to split");
    for (size_t i = 0; i < num_arrays; i++) {
        const liana_array *array = &arrays[i];
        const bool known = array->dtype >= 0 && array->dtype <= LIANA_STRING;
        bool fits = array->name && array->data && known && array->shape.rank >= 1 &&
                    array->shape.rank <= LIANA_MAX_RANK && array->shape.dims[0] == arrays[0].shape.dims[0];
        for (int k = 0; fits && k < array->shape.rank; k++) fits = array->shape.dims[k] >= 1;
        if (!fits) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT,
                               "the array '%.100s' is %s%s; expected [examples, ...] with as many examples as the "
                               "first array, at least one",
                               array->name ? array->name : "without a name", liana__array_show(array).text,
                               array->data ? "" : " at no address");
        }
        for (size_t k = 0; k < i; k++) {
            if (strcmp(arrays[k].name, array->name) != 0) continue;
            return liana__fail(error, LIANA_INVALID_ARGUMENT, "the array '%.100s' is given twice", array->name);
        }
    }
    return LIANA_OK;
}

/* Copies the rows of this process's shards; `cut` says where they begin. */
static liana_status take_rows(liana_per_replica *values, const liana_array *array, const liana__cut *cut,
                              liana__error *error)
{
    liana__leaf_component *component = liana__per_replica_add(values, array->name);
    if (!component) return liana__fail_memory(error, "values by replica");
    liana_shape row = {array->shape.rank - 1, {0}};
    memcpy(row.dims, array->shape.dims + 1, (size_t)row.rank * sizeof *row.dims);
    LIANA_TRY(liana__per_replica_allocate_rows(values, component, array->dtype, &row, error));
    const int64_t begin = liana__cut_begin(cut, (int64_t)values->first);
    const size_t size = (size_t)liana_shape_size(&row),
                 count = (size_t)(liana__cut_begin(cut, (int64_t)values->end) - begin);
    const char *from = (const char *)array->data + (size_t)begin * size * liana__value_size(array->dtype);
    return liana__per_replica_fill(values, array->dtype, (void *)component->rows, from, count * size, error);
}

static liana_status split(liana_replicas *replicas, const liana_array *arrays, size_t num_arrays, int64_t microbatch,
                          liana_per_replica **out, liana__error *error)
{
    LIANA_TRY(check_arrays(arrays, num_arrays, error));
    if (microbatch < 0) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "microbatch is %lld, expected 0 or more",
                           (long long)microbatch);
    }
    const int64_t count = arrays[0].shape.dims[0], num_replicas = (int64_t)liana__replicas_total(replicas);
    const liana__cut cut = liana__cut_batch(count, microbatch ? microbatch : (count + num_replicas - 1) / num_replicas);
    LIANA__SCOPED_MEMORY int64_t *examples = calloc((size_t)cut.count, sizeof *examples);
    if (!examples) return liana__fail_memory(error, "values by replica");
    for (int64_t i = 0; i < cut.count; i++) examples[i] = liana__cut_size(&cut, i);
    liana_per_replica *values = NULL;
    liana_status status = liana__per_replica_create(replicas, examples, (size_t)cut.count, &values, error);
    for (size_t i = 0; status == LIANA_OK && i < num_arrays; i++) status = take_rows(values, &arrays[i], &cut, error);
    if (status == LIANA_OK) {
        *out = values;
    } else {
        liana_per_replica_destroy(values);
    }
    return status;
}

liana_status liana_per_replica_split(liana_replicas *replicas, const liana_array *arrays, size_t num_arrays,
                                     int64_t microbatch, liana_per_replica **out)
{
    liana__error *error = replicas ? &replicas->context->error : NULL;
    LIANA__REQUIRE_AS(error, out, "values");
    *out = NULL;
    LIANA__REQUIRE(error, replicas);
    LIANA__REQUIRE(error, arrays);
    LIANA__CONTEXT_CALL(replicas->context, split(replicas, arrays, num_arrays, microbatch, out, error));
}

/* ---- of a function ---- */

static liana_status check_components(const liana_component *components, size_t count, liana__error *error)
{
    if (count == 0 || count > LIANA_MAX_COMPONENTS) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "values have %zu components, expected 1 to %d", count,
                           LIANA_MAX_COMPONENTS);
    }
    for (size_t i = 0; i < count; i++) {
        const liana_component *given = &components[i];
        const bool is_number = given->dtype >= 0 && given->dtype < LIANA_NUM_DTYPES && given->shape.rank >= 0 &&
                               given->shape.rank <= LIANA_MAX_RANK &&
                               liana__shape_valid((liana_dtype)given->dtype, &given->shape);
        bool twice = false;
        for (size_t k = 0; given->name && k < i; k++) twice |= strcmp(components[k].name, given->name) == 0;
        if (given->name && *given->name && is_number && !twice) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "component %zu ('%.100s') %s", i,
                           given->name ? given->name : "",
                           twice       ? "stands there twice"
                           : is_number ? "has no name"
                                       : "has no dtype of numbers, or no static shape");
    }
    return LIANA_OK;
}

static liana_status call(liana_per_replica *values, size_t index, liana_replica_value_function function, void *user,
                         liana__error *error)
{
    void *data[LIANA_MAX_COMPONENTS] = {0};
    for (size_t i = 0; i < values->num_components; i++) data[i] = (void *)values->components[i].arrays[index].data;
    const int64_t replica = (int64_t)(values->first + index);
    liana_status status = function(user, replica, (int64_t)liana__replicas_total(values->replicas), data);
    if (status == LIANA_OK) return LIANA_OK;
    return liana__fail(error, status, "the function failed that makes the values of replica %lld", (long long)replica);
}

static liana_status fill_all(liana_per_replica *values, const liana_component *components, size_t count,
                             liana_replica_value_function function, void *user, liana__error *error)
{
    const size_t num_local = values->end - values->first;
    for (size_t i = 0; i < count; i++) {
        liana__leaf_component *component = liana__per_replica_add(values, components[i].name);
        if (!component) return liana__fail_memory(error, "values by replica");
        for (size_t leaf = 0; leaf < num_local; leaf++) {
            LIANA_TRY(
                liana__per_replica_allocate(values, component, leaf, components[i].dtype, &components[i].shape, error));
        }
    }
    for (size_t leaf = 0; leaf < num_local; leaf++) LIANA_TRY(call(values, leaf, function, user, error));
    return LIANA_OK;
}

static liana_status from_function(liana_replicas *replicas, const liana_component *components, size_t num_components,
                                  liana_replica_value_function function, void *user, liana_per_replica **out)
{
    liana__error *error = &replicas->context->error;
    const size_t num_replicas = liana__replicas_total(replicas);
    liana_per_replica *values = NULL;
    LIANA_TRY(liana__replicas_enter(replicas, "liana_per_replica_from_function", error));
    liana_status status = check_components(components, num_components, error);
    LIANA__SCOPED_MEMORY int64_t *examples = calloc(num_replicas, sizeof *examples);
    if (!examples) status = liana__fail_memory(error, "values by replica");
    for (size_t i = 0; examples && i < num_replicas; i++) examples[i] = 1;
    if (status == LIANA_OK) status = liana__per_replica_create(replicas, examples, num_replicas, &values, error);
    if (status == LIANA_OK) status = fill_all(values, components, num_components, function, user, error);
    status = liana__cluster_agree_status(replicas->cluster, status, error);
    liana__replicas_leave(replicas);
    if (status == LIANA_OK) {
        *out = values;
    } else {
        liana_per_replica_destroy(values);
    }
    return status;
}

liana_status liana_per_replica_from_function(liana_replicas *replicas, const liana_component *components,
                                             size_t num_components, liana_replica_value_function function, void *user,
                                             liana_per_replica **out)
{
    liana__error *error = replicas ? &replicas->context->error : NULL;
    LIANA__REQUIRE_AS(error, out, "values");
    *out = NULL;
    LIANA__REQUIRE(error, replicas);
    LIANA__REQUIRE(error, components);
    LIANA__REQUIRE(error, function);
    LIANA__CONTEXT_CALL(replicas->context, from_function(replicas, components, num_components, function, user, out));
}

/* ---- looking at them ---- */

liana_per_replica_facts liana_per_replica_info(const liana_per_replica *values)
{
    if (!values) return (liana_per_replica_facts){0};
    liana_per_replica_facts facts = {.num_shards = (int64_t)values->num_leaves,
                                     .num_local = (int64_t)(values->end - values->first)};
    for (size_t i = 0; i < values->num_leaves; i++) facts.num_examples += values->examples[i];
    return facts;
}

static bool is_local(const liana_per_replica *values, int64_t index)
{
    return values && index >= 0 && index < (int64_t)(values->end - values->first);
}

bool liana_per_replica_local(const liana_per_replica *values, int64_t index, liana_local_shard *shard)
{
    const bool found = is_local(values, index);
    if (!shard) return found;
    *shard = (liana_local_shard){0};
    if (!found) return false;
    const size_t number = values->first + (size_t)index;
    size_t replica = 0;
    while (values->ranges[replica].end <= number) replica++;
    *shard = (liana_local_shard){(int64_t)replica, (int64_t)number, values->examples[number]};
    return true;
}

bool liana_per_replica_array(const liana_per_replica *values, int64_t index, const char *name, liana_array *array)
{
    if (array) *array = (liana_array){0};
    if (!name || !is_local(values, index)) return false;
    const liana__leaf_component *component = liana__per_replica_find(values, name, NULL);
    if (component && array) *array = component->arrays[index];
    return component != NULL;
}
