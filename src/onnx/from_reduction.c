/* Sums, means and other reductions over axes. */
#include "onnx/import_internal.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *op, *name;
} reductions[] = {
    {"ReduceMean", "mean"}, {"ReduceSum", "sum"},   {"ReduceMax", "max"},
    {"ReduceMin", "min"},   {"ReduceProd", "prod"}, {"ReduceLogSumExp", "logsumexp"},
    {"ReduceL2", "norm"},   {"ArgMax", "argmax"},   {"ArgMin", "argmin"},
};

/* Whether these are all places of an image, with the channels last: then it is a layer of global pooling. */
static bool is_global(const liana__import *own, const liana__import_value *x, const bool *over, const char *name)
{
    const int rank = liana__import_shape(own, x->result)->rank;
    bool is_all = strcmp(name, "mean") == 0 || strcmp(name, "max") == 0;
    for (int i = 0; i < rank; i++) is_all = is_all && over[i] == (i > 0 && i < rank - 1);
    return is_all && rank >= 4 && rank <= 5;
}

static liana_status reduce(liana__import *own, liana__import_node *node, size_t *result, const bool *over,
                           const liana__import_value *x, const char *name)
{
    char type[40];
    LIANA__SCOPED(liana__text) axes = {0};
    const int rank = liana__import_shape(own, *result)->rank;
    if (is_global(own, x, over, name)) {
        snprintf(type, sizeof type, "Global%sPooling%dD", strcmp(name, "max") == 0 ? "Max" : "Average", rank - 2);
        return liana__import_add(own, node, type, NULL, NULL, result, 1, result);
    }
    for (int i = 0; i < rank; i++) {
        if (over[i]) liana__text_add(&axes, "%s%d", axes.data ? ", " : "", i);
    }
    if (axes.failed) return liana__fail_memory(own->error, own->path);
    return liana__import_operation(own, node, result, 1, result, "%s(axis=[%s])", name, axes.data ? axes.data : "");
}

/* The output without the axes that were summed up; with keepdims they are axes without any of the result. */
static void set_reduced(liana__import_value *output, const liana__import_value *x, size_t result, const bool *over,
                        const bool *leaves, bool keeps)
{
    int places[LIANA_MAX_RANK] = {0};
    for (int i = 0, next = 0; i < LIANA_MAX_RANK; i++) places[i] = over[i] ? 0 : next++;
    liana__import_set_like(output, x, result);
    output->rank = 0;
    for (int i = 0; i < x->rank; i++) {
        liana__import_axis axis = x->axes[i];
        if (leaves[i] && !keeps) continue;
        if (leaves[i]) axis.count = 0;
        for (int k = 0; k < axis.count; k++) axis.at[k] = places[axis.at[k]];
        output->axes[output->rank++] = axis;
    }
}

static liana_status read_reduction(liana__import *own, liana__import_node *node)
{
    liana__import_value *x;
    const int64_t *axes;
    int64_t count, arg_axis = liana__import_int(node, "axis", 0);
    bool over[LIANA_MAX_RANK] = {false}, leaves[LIANA_MAX_RANK] = {false};
    size_t row = 0;
    while (strcmp(reductions[row].op, node->op) != 0) row++;
    const bool is_arg = node->op[0] == 'A', keeps = liana__import_int(node, "keepdims", 1) != 0;
    if (liana__import_int(node, "select_last_index", 0)) {
        return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "select_last_index: the last of equal elements");
    }
    LIANA_TRY(liana__import_result(own, node, 0, &x));
    LIANA_TRY(liana__import_integers(own, node, "axes", is_arg ? SIZE_MAX : 1, &axes, &count));
    if (is_arg) {
        axes = &arg_axis;
        count = 1;
    }
    const bool is_empty = count == 0 && liana__import_int(node, "noop_with_empty_axes", 0);
    for (int64_t i = 0; i < (count ? count : x->rank) && !is_empty; i++) {
        int axis;
        LIANA_TRY(liana__import_axis_of(own, node, count ? axes[i] : i, x->rank, &axis));
        leaves[axis] = true;
        if (liana__import_has_batch(x, axis)) {
            return liana__import_fail(own, node, LIANA_UNIMPLEMENTED, "it joins the examples of a batch (axis %d)",
                                      axis);
        }
    }
    bool is_any = false;
    if (is_arg)
        LIANA_TRY(liana__import_single(own, node, x, (int)(arg_axis < 0 ? arg_axis + x->rank : arg_axis), &(int){0}));
    for (int i = 0; i < x->rank; i++) {
        for (int k = 0; leaves[i] && k < x->axes[i].count; k++) over[x->axes[i].at[k]] = is_any = true;
    }
    const liana__import_value like = *x;
    size_t result = x->result;
    if (is_any) LIANA_TRY(reduce(own, node, &result, over, x, reductions[row].name));
    set_reduced(node->outputs[0], &like, result, over, leaves, keeps);
    return LIANA_OK;
}

const liana__import_op liana__import_reductions[] = {
    {"ReduceMean", read_reduction}, {"ReduceSum", read_reduction},
    {"ReduceMax", read_reduction},  {"ReduceMin", read_reduction},
    {"ReduceProd", read_reduction}, {"ReduceLogSumExp", read_reduction},
    {"ReduceL2", read_reduction},   {"ArgMax", read_reduction},
    {"ArgMin", read_reduction},     {0},
};
