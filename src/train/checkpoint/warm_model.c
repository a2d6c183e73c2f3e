/* The warm start of a program's model. */
#include "formats/yaml.h"
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

static liana_status read_options(const char *text, liana__arena *arena, liana__warm_start *warm, liana__error *error)
{
    liana__value *options;
    LIANA_TRY(liana__yaml_parse(text, strlen(text), "warm_start", arena, &options, error));
    LIANA_TRY(liana__fields_read(&liana__warm_start_fields, options, "", NULL, arena, warm, error));
    if (warm->from) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "warm_start: 'from' is missing; expected a run, a checkpoint or a file of weights");
}

static liana_status warm_start(liana_model *model, const char *options, const char *listing, liana_warm_report *report,
                               liana__arena *arena)
{
    liana__error *error = &model->context->error;
    liana__warm_start warm;
    liana__warm_result result;
    LIANA_TRY(read_options(options, arena, &warm, error));
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
    return listing ? liana__file_replace(listing, result.listing, strlen(result.listing), error) : LIANA_OK;
}

static liana_status call_warm_start(liana_model *model, const char *options, const char *listing,
                                    liana_warm_report *report)
{
    liana__arena arena = {0};
    liana_status status = warm_start(model, options, listing, report, &arena);
    liana__arena_free(&arena);
    return status;
}

liana_status liana_model_warm_start(liana_model *model, const char *options, const char *listing,
                                    liana_warm_report *report)
{
    if (report) *report = (liana_warm_report){0};
    LIANA__REQUIRE(NULL, model);
    LIANA__REQUIRE(&model->context->error, options);
    LIANA__CONTEXT_CALL(model->context, call_warm_start(model, options, listing, report));
}
