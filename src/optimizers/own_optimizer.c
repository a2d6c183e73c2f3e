/* Optimizers that a program registers. */
#include "ir/own_result.h"
#include "optimizers/optimizer.h"

#include <math.h>
#include <string.h>

typedef struct own_optimizer {
    liana__own_part part;
    liana__optimizer optimizer;
    liana_optimizer_type given;
} own_optimizer;

_Static_assert((int)LIANA_MAX_SLOTS <= (int)LIANA__MAX_SLOTS, "an own optimizer's slots have a place");

/* The options of all optimizers, the part's address, then the program's struct. */
enum {
    STAMP = sizeof(liana__optimizer_common),
    SHIFT = (STAMP + sizeof(void *) + LIANA__OWN_SHIFT - 1) / LIANA__OWN_SHIFT * LIANA__OWN_SHIFT,
};

static liana__update_reads read_whole(const void *options)
{
    (void)options;
    return (liana__update_reads){.whole = true};
}

static void call_update(liana__optimizer_step *step)
{
    const own_optimizer *own = (const own_optimizer *)liana__own_part_of((const char *)step->options + STAMP);
    const size_t num_slots = liana__optimizer_num_slots(&own->optimizer, step->options);
    liana_optimizer_step given = {
        .options = liana__own_options_of(&own->part, step->options),
        .variable = step->variable,
        .gradient = step->gradient,
        .learning_rate = step->learning_rate,
        .iteration = step->iteration,
    };
    for (size_t i = 0; i < num_slots; i++) given.slots[i] = step->slots[i];
    own->given.update(&given);
    const liana_shape shape = liana_tensor_shape(step->variable);
    liana_graph *graph = step->variable.graph;
    const liana_dtype dtype = liana_tensor_dtype(step->variable);
    step->new_variable = liana__own_result(&own->part, "update", given.new_variable, graph, dtype, &shape);
    for (size_t i = 0; i < num_slots; i++) {
        step->new_slots[i] = liana__own_result(&own->part, "update", given.new_slots[i], graph, dtype, &shape);
    }
}

static liana_status fill(liana_context *context, own_optimizer *own)
{
    own->optimizer = (liana__optimizer){
        .name = own->part.name,
        .doc = own->part.doc,
        .options = &own->part.options,
        .own = &own->part,
        .default_learning_rate = own->given.default_learning_rate,
        .reads = own->given.reads_whole_variable ? read_whole : NULL,
        .update = call_update,
    };
    for (size_t i = 0; i < LIANA_MAX_SLOTS && own->given.slots[i]; i++) {
        own->optimizer.slot_names[i] = liana__arena_string(&context->parts, own->given.slots[i]);
        if (!own->optimizer.slot_names[i]) return liana__fail_memory(&context->error, own->part.name);
        for (size_t k = 0; k <= i; k++) {
            const char *name = own->optimizer.slot_names[k];
            bool is_name = *name && !strchr(name, '/');
            if (is_name && (k == i || strcmp(name, own->optimizer.slot_names[i]) != 0)) continue;
            return liana__own_part_refuse(context, &own->part, "slot %zu is called '%.60s', expected %s", i, name,
                                          is_name ? "another name for each slot" : "a name without '/'");
        }
    }
    return LIANA_OK;
}

liana_status liana_register_optimizer(liana_context *context, const liana_optimizer_type *type)
{
    static const char *const reserved[] = {"learning_rate", "rate_multipliers", NULL};
    static const liana__field common[] = {LIANA__OPTIMIZER_FIELDS("null")};
    LIANA__REQUIRE(NULL, context);
    LIANA__REQUIRE(&context->error, type);
    own_optimizer *own = liana__own_part_allocate(context, sizeof *own);
    if (!own) return LIANA_OUT_OF_MEMORY;
    const liana__own_request request = {.kind = LIANA__PART_OPTIMIZER,
                                        .given = type,
                                        .size = sizeof *type,
                                        .stamp = STAMP,
                                        .shift = SHIFT,
                                        .common = common,
                                        .num_common = sizeof common / sizeof *common,
                                        .reserved = reserved};
    LIANA_TRY(liana__own_part_begin(context, &request, &own->part, &own->given));
    if (!own->given.update) return liana__own_part_refuse(context, &own->part, "its function 'update' is NULL");
    const double rate = own->given.default_learning_rate;
    if (!isfinite(rate) || rate <= 0) {
        return liana__own_part_refuse(context, &own->part, "its default_learning_rate is %g, expected a number above 0",
                                      rate);
    }
    LIANA_TRY(fill(context, own));
    return liana__own_part_add(context, &own->part, liana__optimizer_find(NULL, own->part.name, NULL) != NULL,
                               &own->optimizer);
}
