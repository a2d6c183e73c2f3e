/* Lists what updates change. */
#include "harness/update_items.h"

liana_status liana__test_update_items(const liana_model *model, const liana__update_rule *rule,
                                      const liana__average *averages, const bool *updated, liana__arena *arena,
                                      liana__update_items *items, liana__error *error)
{
    const liana__updated_variable *weights, *variables;
    size_t count;
    liana__step_sums sums = {.items = liana__arena_allocate(arena, (model->num_weights + 1) * sizeof *sums.items)};
    if (!sums.items) return liana__fail_memory(error, "a test");
    for (size_t i = 0; i < model->num_weights; i++) {
        if (!updated[i]) continue;
        const bool is_gradient = liana__weight_trainable(model, i);
        const size_t about = is_gradient ? LIANA__NO_WEIGHT : averages[i].about;
        sums.items[sums.count++] = (liana__step_sum){
            .variable = model->weights[i].name,
            .shape = model->weights[i].shape,
            .is_gradient = is_gradient,
            .momentum = averages[i].momentum,
            .about = about < model->num_weights ? model->weights[about].name : NULL,
        };
    }
    LIANA_TRY(liana__model_list_weights(model, arena, &weights, error));
    LIANA_TRY(liana__list_updated(weights, model->num_weights, rule, &sums, arena, &variables, &count, error));
    return liana__update_items_create(variables, count, rule, items, error);
}
