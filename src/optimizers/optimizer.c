/* The list of optimizers, and their common code. */
#include "optimizers/optimizer.h"

#include "ir/part_result.h"

#include <math.h>
#include <string.h>

static liana_status accept_slots(liana_context *context, const liana_part *part, const char **slots)
{
    for (size_t i = 0; i < LIANA_MAX_SLOTS && slots[i]; i++) {
        if (i >= LIANA_MAX_OWN_SLOTS) {
            return liana__part_refuse(context, part, "it has more than %d slots", LIANA_MAX_OWN_SLOTS);
        }
        slots[i] = liana__arena_string(&context->parts, slots[i]);
        if (!slots[i]) return liana__fail_memory(&context->error, part->name);
        for (size_t k = 0; k <= i; k++) {
            bool is_name = *slots[k] && !strchr(slots[k], '/');
            if (is_name && (k == i || strcmp(slots[k], slots[i]) != 0)) continue;
            return liana__part_refuse(context, part, "slot %zu is called '%.60s', expected %s", i, slots[k],
                                      is_name ? "another name for each slot" : "a name without '/'");
        }
    }
    return LIANA_OK;
}

static liana_status accept(liana_context *context, liana_part *part)
{
    static const liana_option common[] = {LIANA_OPTIMIZER_ROWS("null")};
    liana_optimizer_type *optimizer = (liana_optimizer_type *)part;
    const double rate = optimizer->default_learning_rate;
    LIANA_TRY(liana__part_needs(context, part, optimizer->update != NULL, "update"));
    if (!isfinite(rate) || rate <= 0) {
        return liana__part_refuse(context, part, "its default_learning_rate is %g, expected a number above 0", rate);
    }
    LIANA_TRY(accept_slots(context, part, optimizer->slots));
    return liana__part_needs_rows(context, part, common, sizeof common / sizeof *common, "LIANA_OPTIMIZER_ROWS");
}

static const liana_part *const list[] = {
#define LIANA__OPTIMIZER(stem, name) &liana__optimizer_##name.part,
#include "optimizers/optimizers.def"
#undef LIANA__OPTIMIZER
    NULL,
};

static const char *const reserved[] = {"learning_rate", "rate_multipliers", NULL};

/* Keras takes "adam" for "Adam" too. */
const liana__kind liana__optimizer_kind = {.kind = LIANA_PART_OPTIMIZER,
                                           .size = sizeof(liana_optimizer_type),
                                           .builtin = list,
                                           .reserved = reserved,
                                           .accept = accept};

size_t liana__optimizer_num_slots(const liana_optimizer_type *optimizer, const void *options)
{
    if (optimizer->num_slots) return optimizer->num_slots(options);
    size_t count = 0;
    while (count < LIANA_MAX_SLOTS && optimizer->slots[count]) count++;
    return count;
}

liana_update_reads liana__optimizer_reads(const liana_optimizer_type *optimizer, const void *options)
{
    return optimizer->reads ? optimizer->reads(options) : (liana_update_reads){0};
}

void liana__optimizer_update(const liana_optimizer_type *optimizer, liana_optimizer_step *step)
{
    const liana_shape shape = liana_tensor_shape(step->variable);
    const liana_dtype dtype = liana_tensor_dtype(step->variable);
    const size_t num_slots = liana__optimizer_num_slots(optimizer, step->options);
    liana_graph *graph = step->variable.graph;
    optimizer->update(step);
    step->new_variable = liana__part_result(&optimizer->part, "update", step->new_variable, graph, dtype, &shape);
    for (size_t i = 0; i < num_slots; i++) {
        step->new_slots[i] = liana__part_result(&optimizer->part, "update", step->new_slots[i], graph, dtype, &shape);
    }
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

void liana__optimizer_descend(liana_optimizer_step *step, liana_tensor descent)
{
    step->descent = descent;
    step->new_variable = liana_op_subtract(step->variable, descent);
}
