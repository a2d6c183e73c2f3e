/* Checks of a fit's options that need no data to be opened. */
#include "train/model/fit_checks.h"
#include "train/checkpoint/folder_name.h"
#include "train/model/compiled.h"
#include "train/model/model_classes.h"

/* Numbers that are 0 or more. */
static liana_status check_counts(const liana_fit_options *options, liana__error *error)
{
    const struct {
        const char *name;
        int64_t value;
    } counts[] = {{"epochs", options->epochs},
                  {"steps_per_epoch", options->steps_per_epoch},
                  {"steps_per_execution", options->steps_per_execution},
                  {"steps", options->steps},
                  {"initial_epoch", options->initial_epoch},
                  {"validation_freq", options->validation_freq},
                  {"validation_steps", options->validation_steps},
                  {"checkpoint_steps", options->checkpoint_steps},
                  {"max_bad_records", options->max_bad_records},
                  {"max_bad_numbers", options->max_bad_numbers}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (counts[i].value >= 0) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s is %lld, expected 0 or more", counts[i].name,
                           (long long)counts[i].value);
    }
    if (options->steps_per_execution > LIANA__MAX_STEPS_PER_EXECUTION) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "steps_per_execution is %lld, expected 0 to %d",
                           (long long)options->steps_per_execution, LIANA__MAX_STEPS_PER_EXECUTION);
    }
    if (!(options->keep_every_hours >= 0)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "keep_every_hours is %g, expected 0 or more",
                           options->keep_every_hours);
    }
    if (options->checkpoints) {
        liana_status status = liana__folder_name_check(options->checkpoints, "a folder of checkpoints", error);
        if (status != LIANA_OK) return liana__fail_within(error, "checkpoints");
    }
    if (options->resume_from && !options->checkpoints) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "resume_from is '%s', but no folder for checkpoints is given; set checkpoints",
                           options->resume_from);
    }
    if (!(options->max_minutes >= 0)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "max_minutes is %g, expected 0 or more",
                           options->max_minutes);
    }
    if ((unsigned)options->on_bad_numbers > LIANA_ON_BAD_NUMBERS_RESTORE) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "on_bad_numbers is %d, expected fail, skip or restore",
                           (int)options->on_bad_numbers);
    }
    if (!(options->bad_numbers_factor >= 0 && options->bad_numbers_factor < 1)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "bad_numbers_factor is %g, expected 0 or more, and below 1",
                           options->bad_numbers_factor);
    }
    if (!options->epochs || options->initial_epoch < options->epochs) return LIANA_OK;
    return liana__fail(
        error, LIANA_INVALID_ARGUMENT,
        "initial_epoch is %lld, expected less than epochs, which is %lld: epochs counts the initial ones",
        (long long)options->initial_epoch, (long long)options->epochs);
}

liana_status liana__fit_check(const liana_model *model, const liana_fit_options *options, liana__error *error)
{
    LIANA_TRY(check_counts(options, error));
    LIANA_TRY(liana__compiled_check_weights(options->class_weights, options->num_class_weights, error));
    if (options->validation && options->validation_split) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "validation and validation_split exclude each other; keep one of them");
    }
    if (options->training && options->validation) {
        LIANA_TRY(liana__classes_check_validation(options->training, options->validation, error));
    }
    if (options->training) LIANA_TRY(liana__classes_check_model(model, options->training, error));
    return LIANA_OK;
}
