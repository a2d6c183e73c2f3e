/* Training, evaluation and prediction of one batch that a program made. */
#include "ir/shape.h"
#include "train/model/compiled.h"
#include "train/model/model_arrays.h"
#include "train/model/model_preprocessing.h"

#include <liana/train.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A program's arrays as a batch. */
typedef struct arrays_batch {
    liana__trainer_batch batch;
    uint64_t *positions;
} arrays_batch;

/* ---- the arrays ---- */

static const liana_array *find_array(const liana_array *arrays, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (arrays[i].name && strcmp(arrays[i].name, name) == 0) return &arrays[i];
    }
    return NULL;
}

static liana_status check_names(const liana_array *arrays, size_t count, liana__error *error)
{
    static const char *const known[] = {"image", "label"};
    for (size_t i = 0; i < count; i++) {
        const char *name = arrays[i].name ? arrays[i].name : "";
        if (strcmp(name, known[0]) == 0 || strcmp(name, known[1]) == 0) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "array %zu is called '%.60s', expected 'image' or 'label'%s",
                           i, name, liana__hint(liana__nearest(name, known, 2)).text);
    }
    return LIANA_OK;
}

static liana_status check_images(const liana_model *model, const liana_array *images, liana__error *error)
{
    liana_shape input = liana__model_input_shape(model);
    if (!images || !images->data) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "the batch has no array 'image', or its data are NULL");
    }
    bool fits = images->dtype == LIANA_U8 && images->shape.rank == 4 && input.rank == 4 && images->shape.dims[0] >= 1;
    for (int i = 1; fits && i < 4; i++) fits = images->shape.dims[i] == input.dims[i];
    if (fits) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "the array 'image' is %s, expected u8 [batch, %lld, %lld, %lld] for this model",
                       liana__array_show(images).text, (long long)input.dims[1], (long long)input.dims[2],
                       (long long)input.dims[3]);
}

static liana_status check_labels(const liana_model *model, const liana_array *labels, int64_t count,
                                 liana__error *error)
{
    if (!labels || !labels->data) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "the batch has no array 'label', or its data are NULL");
    }
    bool fits = labels->dtype == LIANA_S32 && labels->shape.rank == 1 && labels->shape.dims[0] == count;
    if (!fits) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "the array 'label' is %s, expected s32 [%lld]",
                           liana__array_show(labels).text, (long long)count);
    }
    liana_shape output = liana__model_output_shape(model);
    const int64_t classes = output.rank ? output.dims[output.rank - 1] : 0;
    for (int64_t i = 0; i < count; i++) {
        int32_t label = ((const int32_t *)labels->data)[i];
        if (label >= 0 && label < classes) continue;
        return liana__fail(error, LIANA_OUT_OF_RANGE, "example %lld has the label %d, expected 0 to %lld", (long long)i,
                           (int)label, (long long)classes - 1);
    }
    return LIANA_OK;
}

/* Examples are drawn for by their numbers: those of the first epoch of a fit in the same order. */
static liana_status make_batch(const liana_model *model, const liana_array *arrays, size_t num_arrays, bool labelled,
                               uint64_t first_position, arrays_batch *made, liana__error *error)
{
    *made = (arrays_batch){0};
    if (num_arrays && !arrays) return liana__fail(error, LIANA_INVALID_ARGUMENT, "the arrays of the batch are NULL");
    LIANA_TRY(liana__model_check(model, error));
    LIANA_TRY(check_names(arrays, num_arrays, error));
    const liana_array *images = find_array(arrays, num_arrays, "image"), *labels = NULL;
    LIANA_TRY(check_images(model, images, error));
    int64_t count = images->shape.dims[0];
    if (labelled) {
        labels = find_array(arrays, num_arrays, "label");
        LIANA_TRY(check_labels(model, labels, count, error));
    }
    made->positions = malloc((size_t)count * sizeof *made->positions);
    if (!made->positions) return liana__fail_memory(error, "a batch");
    for (int64_t i = 0; i < count; i++) made->positions[i] = first_position + (uint64_t)i;
    made->batch = (liana__trainer_batch){.count = count,
                                         .images = images->data,
                                         .labels = labels ? labels->data : NULL,
                                         .positions = made->positions,
                                         .num_positions = count,
                                         .first_position = first_position};
    return LIANA_OK;
}

static int64_t count_of(const liana_array *arrays, size_t num_arrays)
{
    const liana_array *images = arrays ? find_array(arrays, num_arrays, "image") : NULL;
    return images && images->shape.rank > 0 && images->shape.dims[0] > 0 ? images->shape.dims[0] : 1;
}

static liana_scale scale_of(const liana_model *model)
{
    liana_scale known = model->preprocessing.scale;
    return known != LIANA_SCALE_AUTO ? known : LIANA_SCALE_ZERO_ONE;
}

static liana_status check_size(int64_t batch_size, int64_t count, liana__error *error)
{
    if (batch_size >= 0 && count <= INT32_MAX && (batch_size == 0 || count <= batch_size)) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "a batch of %lld examples, but batch_size is %lld, the largest number (0: that of this batch)",
                       (long long)count, (long long)batch_size);
}

static void set_results(const liana__trainer_sums *sums, int64_t count, size_t num_metrics, liana_results *results)
{
    liana__totals totals = {0};
    liana__totals_add(&totals, sums, count, 0);
    *results = (liana_results){.num_examples = count, .loss = liana__totals_mean(&totals, 0)};
    for (size_t i = 0; i < num_metrics; i++) results->metrics[i] = liana__totals_mean(&totals, i + 1);
}

/* ---- training ---- */

/* How long a training of single batches will be is not known. */
static liana_status find_rate(const liana__training *training, const liana_fit_options *options, double *rate,
                              liana__error *error)
{
    liana__learning_rate schedule = training->learning_rate;
    const liana__schedule_common *common = schedule.options;
    schedule.steps_per_epoch = options->steps_per_epoch;
    if (!liana__learning_rate_has_length(&schedule)) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "%s decays to the end of a fit, which single batches do not have; give decay_steps",
                           schedule.schedule->name);
    }
    bool in_epochs = common->warmup_epochs > 0 || common->decay_epochs > 0;
    if (in_epochs && options->steps_per_epoch < 1) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "%s has a length in epochs, which single batches do not have; give it in steps, or set "
                           "steps_per_epoch",
                           schedule.schedule->name);
    }
    *rate = liana__learning_rate_at(&schedule, training->state.iteration) * training->state.rate_factor;
    return LIANA_OK;
}

static liana_status train(liana_model *model, liana__training *training, const liana_fit_options *options,
                          const liana__trainer_batch *batch, liana_results *results, liana__error *error)
{
    liana__trainer_sums sums = {{0}};
    double rate = 0;
    LIANA_TRY(find_rate(training, options, &rate, error));
    LIANA_TRY(liana__trainer_prepare(training->trainer, batch->count, true, error));
    LIANA_TRY(liana__trainer_step(training->trainer, batch, rate, training->state.iteration + 1, &sums, error));
    if (!isfinite(sums.values[0])) {
        return liana__fail(error, LIANA_OUT_OF_RANGE,
                           "the loss is %g (learning rate %g): training has diverged; try a smaller learning rate",
                           (double)sums.values[0], rate);
    }
    training->state.iteration++;
    if (results) set_results(&sums, batch->count, training->num_metrics, results);
    LIANA_TRY(liana__compiled_take_weights(model, training, error));
    liana_preprocessing learnt = model->preprocessing;
    learnt.scale = scale_of(model);
    model->precision = training->precision;
    return liana__preprocessing_set(model, &learnt, model->knows_classes, error);
}

static liana_status check_options(const liana_fit_options *options, liana__error *error)
{
    const char *unread = options->augment                                     ? "augment"
                         : options->resume                                    ? "resume"
                         : options->checkpoints                               ? "checkpoints"
                         : options->num_callbacks || options->named_callbacks ? "callbacks"
                                                                              : NULL;
    if (!unread) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "%s is set, which only liana_fit reads: a batch is trained on as "
                       "it is",
                       unread);
}

liana_status liana_train_on_batch(liana_model *model, const liana_fit_options *given, const liana_array *arrays,
                                  size_t num_arrays, liana_results *results)
{
    static const liana_fit_options defaults;
    const liana_fit_options *options = given ? given : &defaults;
    liana__error *error = &model->context->error;
    int64_t count = count_of(arrays, num_arrays);
    LIANA_TRY(check_options(options, error));
    LIANA_TRY(check_size(options->batch_size, count, error));
    int64_t batch_size = options->batch_size ? options->batch_size : count;
    LIANA_TRY(liana__compiled_check_sizes(batch_size, options->microbatch, options->data_memory, error));
    LIANA_TRY(liana__compiled_check_modes(options->precision, options->recompute, options->memory, error));
    LIANA_TRY(liana__compiled_check_weights(options->class_weights, options->num_class_weights, error));
    liana__compile_request request = {.model = model,
                                      .strategy = options->strategy.name,
                                      .optimizer = options->optimizer ? options->optimizer : "Adam",
                                      .loss = options->loss,
                                      .metrics = options->metrics,
                                      .batch_size = batch_size,
                                      .evaluation_batch_size = batch_size,
                                      .class_weights = options->class_weights,
                                      .num_class_weights = options->class_weights ? options->num_class_weights : 0,
                                      .microbatch = options->microbatch,
                                      .seed = options->seed,
                                      .scale = scale_of(model),
                                      .precision = options->precision,
                                      .recompute = options->recompute,
                                      .memory = options->memory,
                                      .data_memory = options->data_memory,
                                      .notes = {options->on_note, options->user}};
    arrays_batch made;
    LIANA_TRY(make_batch(model, arrays, num_arrays, true, 0, &made, error));
    liana__training *training = NULL;
    liana_status status = liana__compiled_get(&request, &training, error);
    if (status == LIANA_OK) {
        uint64_t first = (uint64_t)training->state.iteration * (uint64_t)batch_size;
        made.batch.first_position = first;
        for (int64_t i = 0; i < count; i++) made.positions[i] += first;
        status = train(model, training, options, &made.batch, results, error);
        if (status != LIANA_OK) liana__compiled_forget(model);
    }
    free(made.positions);
    return status;
}

/* ---- evaluation and prediction ---- */

static liana_status evaluate(liana__compile_request *request, const liana_array *arrays, size_t num_arrays,
                             bool labelled, float *outputs, liana_results *results, liana__error *error)
{
    arrays_batch made;
    LIANA_TRY(check_size(request->batch_size, count_of(arrays, num_arrays), error));
    LIANA_TRY(make_batch(request->model, arrays, num_arrays, labelled, 0, &made, error));
    if (!request->batch_size) request->batch_size = made.batch.count;
    request->scale = scale_of(request->model);
    request->precision = request->model->precision;
    liana__trainer_sums sums = {{0}};
    liana__training *training = NULL;
    liana_status status = liana__compiled_get(request, &training, error);
    if (status == LIANA_OK) status = liana__trainer_prepare(training->trainer, made.batch.count, false, error);
    if (status == LIANA_OK) status = liana__trainer_evaluate(training->trainer, &made.batch, outputs, &sums, error);
    if (status == LIANA_OK && results) set_results(&sums, made.batch.count, training->num_metrics, results);
    free(made.positions);
    return status;
}

liana_status liana_test_on_batch(liana_model *model, const liana_evaluate_options *options, const liana_array *arrays,
                                 size_t num_arrays, liana_results *results)
{
    static const liana_evaluate_options defaults;
    if (!options) options = &defaults;
    liana__compile_request request = {.model = model,
                                      .batch_size = options->batch_size,
                                      .loss = options->loss,
                                      .metrics = options->metrics};
    return evaluate(&request, arrays, num_arrays, true, NULL, results, &model->context->error);
}

liana_status liana_predict_on_batch(liana_model *model, const liana_array *arrays, size_t num_arrays, float *outputs)
{
    liana__error *error = &model->context->error;
    liana__compile_request request = {.model = model};
    if (!outputs) return liana__fail(error, LIANA_INVALID_ARGUMENT, "the memory for the outputs is NULL");
    return evaluate(&request, arrays, num_arrays, false, outputs, NULL, error);
}
