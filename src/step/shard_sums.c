/* Gradients and statistics of a shard, as outputs of its graph. */
#include "step/shard_sums.h"

#include "ir/graph.h"
#include "ir/shape.h"

#include <liana/ops.h>
#include <stdlib.h>
#include <string.h>

void liana__shard_sums_free(liana__shard_sums *own)
{
    free(own->sums.items);
    free(own->values);
}

/* ---- adding ---- */

/* False after an error. */
static bool add(liana_location here, liana__shard_sums *own, liana_tensor variable, liana_tensor value,
                liana__step_sum item)
{
    liana__step_sums *sums = &own->sums;
    const liana__node *node = liana__tensor_node(variable);
    if (node && liana__step_sums_find(sums, node->name)) {
        liana__graph_fail(own->graph, here, LIANA_INVALID_ARGUMENT,
                          "the shard gives the variable '%s' two gradients or averages; give one", node->name);
    }
    if (!node || own->graph->status != LIANA_OK) return false;
    if (!liana__grow(&sums->items, sums->count, &own->capacity, sizeof *sums->items) ||
        !liana__grow(&own->values, sums->count, &own->value_capacity, sizeof *own->values)) {
        liana__graph_fail(own->graph, here, LIANA_OUT_OF_MEMORY, "out of memory for a shard");
        return false;
    }
    item.variable = node->name;
    item.dtype = node->dtype;
    item.shape = node->shape;
    item.constraint = liana__graph_constraint(own->graph, node);
    const size_t place = item.is_gradient ? sums->num_gradients++ : sums->count;
    memmove(sums->items + place + 1, sums->items + place, (sums->count - place) * sizeof *sums->items);
    memmove(own->values + place + 1, own->values + place, (sums->count - place) * sizeof *own->values);
    sums->items[place] = item;
    own->values[place] = value;
    sums->count++;
    return true;
}

void liana__shard_sums_add_gradients(liana_location here, liana__shard_sums *own, liana_tensor loss,
                                     const liana_tensor *variables, size_t count)
{
    liana_tensor *gradients = liana__arena_allocate(&own->graph->arena, (count + 1) * sizeof *gradients);
    if (!gradients) {
        liana__graph_fail(own->graph, here, LIANA_OUT_OF_MEMORY, "out of memory for the gradients");
        return;
    }
    liana_gradients_at(here, loss, variables, count, gradients);
    for (size_t i = 0; i < count; i++) {
        if (!add(here, own, variables[i], gradients[i], (liana__step_sum){.is_gradient = true})) return;
    }
}

liana_tensor liana__count_examples(liana_location here, liana_graph *graph, liana_tensor present, int64_t size)
{
    if (!present.id) return liana_graph_scalar_at(here, graph, LIANA_F32, (double)size);
    return liana_op_reduce_sum_at(here, present, LIANA_ALL_AXES, false);
}

void liana__shard_sums_add_statistics(liana_location here, liana__shard_sums *own, liana_tensor examples,
                                      const liana_variable_update *updates, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const liana__node *about = updates[i].about.id ? liana__tensor_node(updates[i].about) : NULL;
        const liana__step_sum item = {.momentum = updates[i].momentum, .about = about ? about->name : NULL};
        const liana_tensor whole = liana_op_multiply_at(here, updates[i].statistic, examples);
        if (!add(here, own, updates[i].variable, whole, item)) return;
    }
}

void liana__shard_sums_finish(const liana__shard_sums *own, liana_tensor vector)
{
    liana_graph_output(own->graph, "sums", vector);
    for (size_t i = 0; i < own->sums.count; i++) {
        liana_graph_output(own->graph, own->sums.items[i].variable, own->values[i]);
    }
}

/* ---- keeping ---- */

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool are_same(const liana__step_sums *a, const liana__step_sums *b)
{
    bool same = a->count == b->count && a->num_gradients == b->num_gradients;
    for (size_t i = 0; same && i < a->count; i++) {
        const liana__step_sum *x = &a->items[i], *y = &b->items[i];
        same = strcmp(x->variable, y->variable) == 0 && x->dtype == y->dtype && same_text(x->about, y->about) &&
               same_text(x->constraint, y->constraint) && x->momentum == y->momentum &&
               liana_shape_equal(&x->shape, &y->shape);
    }
    return same;
}

bool liana__shard_sums_keep(const liana__shard_sums *own, liana__arena *arena, liana__step_sums *kept)
{
    const liana__step_sums *found = &own->sums;
    if (kept->items) return are_same(kept, found);
    *kept = *found;
    kept->items = liana__arena_allocate(arena, (found->count + 1) * sizeof *found->items);
    for (size_t i = 0; kept->items && i < found->count; i++) {
        liana__step_sum *item = &kept->items[i];
        *item = found->items[i];
        item->variable = liana__arena_string(arena, item->variable);
        item->constraint = liana__arena_string(arena, item->constraint);
        item->about = liana__arena_string(arena, item->about);
    }
    return true;
}
