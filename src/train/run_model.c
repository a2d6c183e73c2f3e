/* The model of a run. */
#include "train/run_internal.h"

static liana_status model_status(liana__run *run, liana_status status, liana__error *error)
{
    if (status != LIANA_OK && error != &run->model->error) *error = run->model->error;
    return status;
}

static void find_scale(liana__run *run, liana__scale automatic)
{
    liana__scale scale = (liana__scale)run->config->data.scale;
    if (scale == LIANA__SCALE_AUTO) scale = automatic;
    run->scale = scale == LIANA__SCALE_NONE ? 1 : scale == LIANA__SCALE_MINUS_ONE_ONE ? 1 / 127.5 : 1 / 255.0;
    run->offset = scale == LIANA__SCALE_MINUS_ONE_ONE ? -1 : 0;
}

static liana_status build_layers(liana__run *run, liana__error *error)
{
    liana_shape shape = liana_shape_of(1, run->image_shape[0], run->image_shape[1], run->image_shape[2]);
    find_scale(run, LIANA__SCALE_ZERO_ONE);
    liana_status status = liana__model_from_layers(run->model, run->config->model.layers, "model.layers", &shape);
    return model_status(run, status, error);
}

static liana_status check_classes(const liana__run *run, liana__error *error)
{
    liana_shape output = liana__model_output_shape(run->model);
    int64_t found = output.rank ? output.dims[output.rank - 1] : 0;
    if (output.rank != 2 || found == run->num_classes) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "the model's last layer gives %lld classes, the data has %lld; make them agree",
                       (long long)found, (long long)run->num_classes);
}

liana_status liana__run_build_model(liana__run *run, liana__error *error)
{
    const liana__model_config *config = &run->config->model;
    LIANA_TRY(liana_model_create(run->context, config->name, &run->model));
    LIANA_TRY(build_layers(run, error));
    if (config->trainable_from) LIANA_TRY(liana__model_train_from(run->model, config->trainable_from, error));
    if (config->batch_norm_momentum == config->batch_norm_momentum) {
        liana__model_set_batch_norm_momentum(run->model, config->batch_norm_momentum);
    }
    return check_classes(run, error);
}

liana_status liana__run_load_weights(liana__run *run, const liana__run_options *options, liana__error *error)
{
    (void)run;
    (void)options;
    (void)error;
    return LIANA_OK;
}
