/* The list of optimizers, and what they are built of. */
#include "optimizers/optimizer.h"

#include "base/parts.h"

const liana__optimizer *const liana__optimizers[] = {
#define LIANA__OPTIMIZER(stem, name) &liana__optimizer_##name,
#include "optimizers/optimizers.def"
#undef LIANA__OPTIMIZER
    NULL,
};

enum { NUM_OPTIMIZERS = sizeof liana__optimizers / sizeof *liana__optimizers - 1 };

const liana__optimizer *liana__optimizer_find(const liana_context *context, const char *name, const char **nearest)
{
    liana__named list = LIANA__NAMED_POINTERS(liana__optimizer, liana__optimizers, NUM_OPTIMIZERS);
    list.any_case = true; /* Keras takes "adam" for "Adam" too */
    return liana__part_find(context, LIANA__PART_OPTIMIZER, list, name, nearest);
}

size_t liana__optimizer_num_slots(const liana__optimizer *optimizer, const void *options)
{
    if (optimizer->num_slots) return optimizer->num_slots(options);
    size_t count = 0;
    while (count < LIANA__MAX_SLOTS && optimizer->slot_names[count]) count++;
    return count;
}

liana__update_reads liana__optimizer_reads(const liana__optimizer *optimizer, const void *options)
{
    return optimizer->reads ? optimizer->reads(options) : (liana__update_reads){0};
}

/* ---- building blocks ---- */

liana_tensor liana__optimizer_scalar(liana_tensor like, double value)
{
    return liana_graph_scalar(like.graph, liana_tensor_dtype(like), value);
}

liana_tensor liana__optimizer_average(liana_tensor old, liana_tensor value, double decay)
{
    liana_tensor share = liana__optimizer_scalar(old, 1 - decay);
    return liana_op_add(old, liana_op_multiply(share, liana_op_subtract(value, old)));
}

liana_tensor liana__optimizer_correction(liana_tensor iteration, double decay)
{
    liana_tensor power = liana_op_power(liana__optimizer_scalar(iteration, decay), iteration);
    return liana_op_subtract(liana__optimizer_scalar(iteration, 1), power);
}

liana_tensor liana__optimizer_ratio(liana_tensor a, liana_tensor b)
{
    liana_tensor none = liana__optimizer_scalar(a, 0), one = liana__optimizer_scalar(a, 1);
    liana_tensor both = liana_op_logical_and(liana_op_greater(a, none), liana_op_greater(b, none));
    return liana_op_select(both, liana_op_divide(a, b), one);
}

void liana__optimizer_descend(liana__optimizer_step *step, liana_tensor descent)
{
    step->descent = descent;
    step->new_variable = liana_op_subtract(step->variable, descent);
}
