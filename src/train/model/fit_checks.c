/* Checks of a fit's options that need no data to be opened. */
#include "train/model/fit_checks.h"
#include "train/checkpoint/folder_name.h"
#include "train/model/model_classes.h"

static liana_status check_number(const char *name, int64_t number, int64_t most, liana__error *error)
{
    if (number >= 0 && number <= most) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s is %lld, expected 0 to %lld", name, (long long)number,
                       (long long)most);
}

static liana_status check_checkpoints(const liana_fit_options *options, liana__error *error)
{
    if (options->checkpoints) {
        liana_status status = liana__folder_name_check(options->checkpoints, "a folder of checkpoints", error);
        if (status != LIANA_OK) return liana__fail_within(error, "checkpoints");
    }
    if (!options->resume_from || options->checkpoints) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "resume_from is '%s', but no folder for checkpoints is given; set checkpoints",
                       options->resume_from);
}

liana_status liana__fit_check(const liana_model *model, const liana_fit_options *options, liana__error *error)
{
    LIANA_TRY(check_number("max_bad_records", options->max_bad_records, INT64_MAX, error));
    LIANA_TRY(check_number("data_memory", options->data_memory, 1 << 24, error));
    LIANA_TRY(check_checkpoints(options, error));
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
