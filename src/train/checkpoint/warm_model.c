/* The warm start of a program's model. */
#include "train/checkpoint/model_values.h"
#include "train/checkpoint/warm_start.h"

#include <liana/train.h>
#include <string.h>

typedef struct warm_call {
    const liana__warm_start *warm;
    liana__remote *remote;
    liana__warm_result *result;
} warm_call;

static liana_status read_values(liana_model *model, const void *options, float *const *values, liana__arena *arena,
                                liana__error *error)
{
    const warm_call *call = options;
    const liana__place place = {.file = NULL};
    return liana__warm_start_read(model, call->warm, "warm_start", &place, call->remote, values, arena, call->result,
                                  error);
}

static liana_status take_options(const liana_warm_start_options *options, liana__arena *arena, liana__warm_start *warm,
                                 liana__error *error)
{
    const liana_warm_name *names = options->map;
    liana__value *map = liana__value_map(arena);
    *warm = (liana__warm_start){.from = options->from, .map = map, .skip = {.items = options->skip}};
    if (!options->from) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "warm_start: 'from' is missing; expected a run, a checkpoint or a file of weights");
    }
    for (size_t i = 0; i < LIANA_MAX_WARM_NAMES && names[i].pattern; i++) {
        const char *in_file = names[i].in_file ? names[i].in_file : "";
        liana__value_set(arena, map, names[i].pattern, liana__value_string(arena, in_file));
    }
    while (warm->skip.count < LIANA_MAX_WARM_NAMES && options->skip[warm->skip.count]) warm->skip.count++;
    return arena->failed ? liana__fail_memory(error, "a warm start") : LIANA_OK;
}

static liana_status warm_start(liana_model *model, const liana_warm_start_options *options, liana_warm_report *report,
                               liana__arena *arena)
{
    liana__error *error = &model->context->error;
    liana__warm_start warm;
    liana__warm_result result;
    LIANA_TRY(take_options(options, arena, &warm, error));
    warm_call call = {.warm = &warm, .result = &result};
    LIANA_TRY(liana__remote_create(NULL, &call.remote, error));
    liana_status status = liana__model_values_change(model, read_values, &call, arena, error);
    if (status != LIANA_OK) liana__remote_fail_within(call.remote, error);
    liana__remote_destroy(call.remote);
    LIANA_TRY(status);
    if (report) {
        *report =
            (liana_warm_report){(int64_t)result.num_matched, (int64_t)result.num_skipped, (int64_t)result.num_unused};
    }
    const char *listing = options->listing;
    return listing ? liana__file_replace(listing, result.listing, strlen(result.listing), error) : LIANA_OK;
}

static liana_status call_warm_start(liana_model *model, const liana_warm_start_options *options,
                                    liana_warm_report *report)
{
    liana__arena arena = {0};
    liana_status status = warm_start(model, options, report, &arena);
    liana__arena_free(&arena);
    return status;
}

liana_status liana_model_warm_start(liana_model *model, const liana_warm_start_options *options,
                                    liana_warm_report *report)
{
    if (report) *report = (liana_warm_report){0};
    LIANA__REQUIRE(NULL, model);
    LIANA__REQUIRE(&model->context->error, options);
    LIANA__CONTEXT_CALL(model->context, call_warm_start(model, options, report));
}
