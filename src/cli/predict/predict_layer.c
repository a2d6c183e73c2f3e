/* The outputs of a layer instead of predictions: features, embeddings. */
#include "cli/predict/predict.h"

/* "128 x 7 x 7 x 1280", of each result. */
static liana__value *shape_value(const liana__objective_output *output, int64_t count, liana__arena *arena)
{
    liana__value *dims = liana__value_list(arena);
    liana__value_add(arena, dims, liana__value_int(arena, count));
    for (int i = 1; i < output->shape.rank; i++) {
        liana__value_add(arena, dims, liana__value_int(arena, output->shape.dims[i]));
    }
    return dims;
}

static void print_features(liana__invocation *invocation, const liana__run *run, const char *path,
                           const liana__measured *measured)
{
    const liana__objective *objective = liana__trainer_objective(run->core.trainer);
    const char *layer = liana__invocation_text(invocation, "layer");
    liana__arena *arena = &invocation->arena;
    const char *ids = liana__features_ids(path, arena);
    if (liana__invocation_has(invocation, "json")) {
        liana__value *event = liana__session_event(invocation, "features"), *shapes = liana__value_list(arena);
        for (size_t i = 0; i < objective->num_outputs; i++) {
            liana__value_add(arena, shapes, shape_value(&objective->outputs[i], measured->count, arena));
        }
        liana__event_text(invocation, event, "layer", layer);
        liana__event_text(invocation, event, "out", path);
        if (ids) liana__event_text(invocation, event, "ids", ids);
        liana__event_int(invocation, event, "examples", measured->count);
        liana__event_int(invocation, event, "bad_records", measured->bad_records);
        liana__value_set(arena, event, "shapes", shapes);
        liana__invocation_print_json(invocation, event);
        return;
    }
    fprintf(invocation->out, "layer '%s' in '%s':", layer, path);
    for (size_t i = 0; i < objective->num_outputs; i++) {
        const liana_shape *shape = &objective->outputs[i].shape;
        fprintf(invocation->out, "%s%lld", i ? ", " : " ", (long long)measured->count);
        for (int k = 1; k < shape->rank; k++) fprintf(invocation->out, " x %lld", (long long)shape->dims[k]);
    }
    if (ids) fprintf(invocation->out, "; ids in '%s'", ids);
    if (measured->bad_records) fprintf(invocation->out, "; %lld records left out", (long long)measured->bad_records);
    fputc('\n', invocation->out);
}

liana_status liana__predict_check_layer(liana__invocation *invocation, const char *path)
{
    static const char *const others[] = {"probabilities", "top", "threshold", "augment", "ensemble", "keep"};
    const char *layer = liana__invocation_text(invocation, "layer");
    if (layer && !path) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "predict: --layer %s needs a file: --out FILE.npy, --out FILE.csv, or --out - for CSV on "
                           "standard output",
                           layer);
    }
    for (size_t i = 0; layer && i < sizeof others / sizeof *others; i++) {
        if (!liana__invocation_has(invocation, others[i])) continue;
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "predict: --%s is for predictions, and --layer %s writes the outputs of a layer; leave one "
                           "of them out",
                           others[i], layer);
    }
    return LIANA_OK;
}

static liana_status write_layer(liana__invocation *invocation, liana__run *run, const liana__run_data *data,
                                const char *path, liana__measured *measured, bool is_chief)
{
    liana__sending sending;
    bool is_sending = false;
    const char *local = path;
    liana_status status = LIANA_OK;
    if (is_chief) status = liana__predict_find_place(invocation, path, &sending, &is_sending, &local);
    status = liana__cluster_agree_status(run->core.cluster, status, &invocation->error);
    if (status == LIANA_OK) status = liana__run_write_features(run, data, local, measured, &invocation->error);
    return is_sending ? liana__sending_end(invocation, &sending, status) : status;
}

liana_status liana__predict_layer(liana__invocation *invocation, liana__run *run, const liana__run_data *data,
                                  const char *path, bool is_chief)
{
    liana__measured measured;
    LIANA_TRY(write_layer(invocation, run, data, path, &measured, is_chief));
    if (is_chief) print_features(invocation, run, path, &measured);
    return LIANA_OK;
}
