/* Adds the callbacks that every training has. */
#include "train/callbacks/standard.h"

liana_status liana__callbacks_begin(liana__callback_list *list, liana__error *error)
{
    return liana__callback_list_add(list, &liana__callback_history, NULL, NULL, NULL, error);
}

liana_status liana__callbacks_finish(liana__callback_list *list, const liana__standard_callbacks *options,
                                     liana__error *error)
{
    if (options->max_minutes && *options->max_minutes > 0) {
        LIANA_TRY(liana__callback_list_add(list, &liana__callback_max_minutes, options->max_minutes, "max_minutes",
                                           NULL, error));
    }
    if (options->stop_at && *options->stop_at) {
        LIANA_TRY(liana__callback_list_add(list, &liana__callback_stop_at, options->stop_at, "stop_at", NULL, error));
    }
    if (options->numbers) {
        LIANA_TRY(
            liana__callback_list_add(list, &liana__callback_bad_numbers, options->numbers, "bad_numbers", NULL, error));
    }
    if (options->progress) {
        LIANA_TRY(liana__callback_list_add(list, &liana__callback_progress, options->progress, NULL, NULL, error));
    }
    const liana__checkpointing_options *saves = options->checkpointing;
    if (!saves) return LIANA_OK;
    if (saves->best.monitor) {
        LIANA_TRY(liana__callback_list_add(list, &liana__callback_best_checkpoint, &saves->best, "best_checkpoint",
                                           NULL, error));
    }
    const char *name = saves->keep_every_hours > 0 ? "checkpointing" : NULL;
    return liana__callback_list_add(list, &liana__callback_checkpointing, saves, name, NULL, error);
}
