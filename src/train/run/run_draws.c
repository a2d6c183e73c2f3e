/* Data that are predicted, in random variants. */
#include "train/run/run_draws.h"

#include "train/run/run_internal.h"

static bool is_mixing(const liana__run *run, const liana__value *stage)
{
    const char *name = stage->kind == LIANA__VALUE_STRING                    ? stage->string
                       : stage->kind == LIANA__VALUE_MAP && stage->count > 0 ? stage->keys[0]
                                                                             : NULL;
    const liana_augmentation_type *type =
        name ? liana__part_find(run->context, &liana__augmentation_kind, name, NULL) : NULL;
    return type && type->mix;
}

/* The stages that change one image; of all others predictions would depend on the examples beside it. */
static liana_status list_stages(liana__run *run, liana__value **stages, liana__error *error)
{
    const liana__value *all = run->config->data.augment;
    *stages = liana__value_list(&run->arena);
    for (size_t i = 0; all && all->kind == LIANA__VALUE_LIST && i < all->count; i++) {
        if (is_mixing(run, all->items[i])) continue;
        liana__value_add(&run->arena, *stages, liana__value_copy(&run->arena, all->items[i]));
    }
    return run->arena.failed ? liana__fail_memory(error, "the augmentation") : LIANA_OK;
}

liana_status liana__run_open_draws(liana__run *run, const liana__run_data *data, liana__run_data *draws,
                                   liana__error *error)
{
    liana__value *stages;
    *draws = (liana__run_data){0};
    LIANA_TRY(list_stages(run, &stages, error));
    if (!stages->count || !run->image_shape[0]) {
        const liana__value *all = run->config->data.augment;
        const char *why = !run->image_shape[0] ? "the data have no images"
                          : all && all->count  ? "data.augment of the run only mixes examples"
                                               : "the run augments nothing (data.augment)";
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "%s, so there are no variants to predict; leave out --augment%s", why,
                           run->image_shape[0] ? ", or give an augmentation: data.augment=[random_flip]" : "");
    }
    const liana_image_shape shape = {run->image_shape[0], run->image_shape[1], (int)run->image_shape[2]};
    LIANA_TRY(liana__augment_create(run->context, stages, "data.augment", &shape, &draws->augment, error));
    draws->source = data->source;
    const liana_status status = liana__run_start_loader(run, draws, error);
    if (status != LIANA_OK) liana__run_close_draws(draws);
    return status;
}

void liana__run_close_draws(liana__run_data *draws)
{
    draws->source = NULL; /* it is borrowed */
    liana__run_close_data(draws);
}
