/* Training, evaluation and prediction of one batch that a program made. */
#include "base/scoped.h"
#include "ir/shape.h"
#include "models/preprocessing.h"
#include "program/array_text.h"
#include "step/spans.h"
#include "train/callbacks/watch.h"
#include "train/checkpoint/resume.h"
#include "train/job/fit.h"
#include "train/model/compiled.h"
#include "train/model/model_objective.h"

#include <liana/train.h>
#include <stdlib.h>
#include <string.h>

/* A program's arrays as a batch. */
typedef struct arrays_batch {
    liana__batch batch;
    liana__component_name names[LIANA_MAX_COMPONENTS];
    liana__data_match match; /* names are the arrays' */
    uint64_t *positions;
    liana__arena arena; /* rows that are made of texts */
} arrays_batch;

/* ---- the arrays ---- */

/* The components that the arrays are: their shapes without the batch. */
static liana_status list_components(const liana_array *arrays, size_t count, liana_component *components,
                                    liana__error *error)
{
    if (count && !arrays) return liana__fail(error, LIANA_INVALID_ARGUMENT, "the arrays of the batch are NULL");
    if (count > LIANA_MAX_COMPONENTS) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "found %zu arrays, expected at most %d", count,
                           LIANA_MAX_COMPONENTS);
    }
    for (size_t i = 0; i < count; i++) {
        const liana_array *array = &arrays[i];
        const char *name = array->name ? array->name : "";
        if (!*name || !array->data) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT, "array %zu ('%.60s') has no %s", i, name,
                               *name ? "data: they are NULL" : "name");
        }
        bool known = array->dtype >= 0 && array->dtype <= LIANA_STRING;
        if (!known || array->shape.rank < 1 || array->shape.rank > LIANA_MAX_RANK || array->shape.dims[0] < 1 ||
            array->shape.dims[0] != arrays[0].shape.dims[0]) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT,
                               "the array '%.60s' is %s, expected [batch, ...], with the same batch as '%.60s'", name,
                               liana__array_show(array).text, arrays[0].name ? arrays[0].name : "");
        }
        components[i] = (liana_component){name, array->dtype, {.rank = array->shape.rank - 1}};
        for (int k = 1; k < array->shape.rank; k++) components[i].shape.dims[k - 1] = array->shape.dims[k];
    }
    return LIANA_OK;
}

static const liana_array *find_array(const liana_array *arrays, size_t count, const char *name)
{
    for (size_t i = 0; name && i < count; i++) {
        if (strcmp(arrays[i].name, name) == 0) return &arrays[i];
    }
    return NULL;
}

/* `shape` is that of one example, with a batch of 1. */
static liana_status check_array(const liana_array *array, liana_dtype dtype, liana_shape shape, liana__error *error)
{
    shape.dims[0] = array->shape.dims[0];
    if (array->dtype == (int)dtype && liana_shape_equal(&array->shape, &shape)) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "the array '%.60s' is %s, expected %s %s for this model",
                       array->name, liana__array_show(array).text, liana_dtype_name(dtype),
                       liana__shape_print(&shape).text);
}

/* The device does not look whether indices are in range. */
static liana_status check_range(const liana_array *array, int64_t limit, const char *what, liana__error *error)
{
    const int32_t *values = array->data;
    int64_t count = liana_shape_size(&array->shape), each = count / array->shape.dims[0];
    for (int64_t i = 0; i < count; i++) {
        if (values[i] >= 0 && values[i] < limit) continue;
        return liana__fail(error, LIANA_OUT_OF_RANGE, "example %lld has the %s %d, expected 0 to %lld",
                           (long long)(i / each), what, (int)values[i], (long long)limit - 1);
    }
    return LIANA_OK;
}

/* Nor whether the loss is defined for them. */
static liana_status check_values(const liana_array *array, const liana__objective_output *output, liana__error *error)
{
    const liana_loss_type *loss = output->choice.loss;
    if (output->target != LIANA_TARGET_VALUES || output->masked) return LIANA_OK;
    const int64_t count = array->shape.dims[0], each = liana_shape_size(&array->shape) / count;
    const int64_t classes = output->shape.dims[output->shape.rank - 1];
    for (int64_t i = 0; i < count; i++) {
        const float *values = (const float *)array->data + i * each;
        if (liana__target_check(loss->range, values, each, classes, array->name, loss->part.name, error) == LIANA_OK)
            continue;
        return liana__fail_within(error, "example %lld", (long long)i);
    }
    return LIANA_OK;
}

/* An array becomes a component of the batch. */
static void add(arrays_batch *made, liana__component_name name, const liana_array *array)
{
    liana__component_name *kept = &made->names[made->batch.num_components];
    liana_shape shape = {.rank = array->shape.rank - 1};
    for (int i = 0; i < shape.rank; i++) shape.dims[i] = array->shape.dims[i + 1];
    *kept = name;
    liana__batch_add(&made->batch, kept->text, (liana_dtype)array->dtype, &shape, array->data);
}

/* The rows of an input that the model has as texts. */
static liana_status take_texts(const liana_model *model, size_t index, const liana_array *array, arrays_batch *made,
                               liana__error *error)
{
    const liana__model_port port = liana__model_input(model, index);
    const liana__row_of_texts how = liana__port_texts(&port);
    const int64_t count = array->shape.dims[0], each = liana_shape_size(&array->shape) / count;
    const size_t size = liana__byte_size(port.dtype, &port.shape);
    const size_t given =
        array->dtype == LIANA_STRING ? sizeof(liana_bytes) : liana_dtype_size((liana_dtype)array->dtype);
    if (!liana__dtype_has_texts(array->dtype) || each != how.count) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "the array '%.60s' is %s, expected %lld text%s for each example (string, or whole numbers)",
                           array->name, liana__array_show(array).text, (long long)how.count, how.count == 1 ? "" : "s");
    }
    uint8_t *rows = liana__arena_allocate(&made->arena, (size_t)count * size);
    if (!rows) return liana__fail_memory(error, "a batch");
    for (int64_t i = 0; i < count; i++) {
        const uint8_t *values = (const uint8_t *)array->data + (size_t)(i * each) * given;
        if (liana__row_from_texts(&how, array->dtype, values, rows + (size_t)i * size, size, error) == LIANA_OK)
            continue;
        return liana__fail_within(error, "example %lld of '%.60s'", (long long)i, array->name);
    }
    liana_array numbers = {.name = array->name, .dtype = (int)port.dtype, .shape = port.shape, .data = rows};
    numbers.shape.dims[0] = count;
    add(made, liana__input_component(model, index), &numbers);
    return LIANA_OK;
}

static liana_status take_inputs(const liana_model *model, const liana_array *arrays, size_t count, arrays_batch *made,
                                liana__error *error)
{
    liana__trainer_input inputs[LIANA__MAX_INPUTS];
    liana__data_match_inputs(model, &made->match, inputs);
    for (size_t i = 0; i < liana__model_num_inputs(model); i++) {
        const liana_array *array = find_array(arrays, count, made->match.inputs[i].name);
        liana__model_port port = liana__model_input(model, i);
        if (port.texts) {
            LIANA_TRY(take_texts(model, i, array, made, error));
            continue;
        }
        LIANA_TRY(check_array(array, inputs[i].dtype, port.shape, error));
        if (port.num_ids && port.dtype == LIANA_S32) LIANA_TRY(check_range(array, port.num_ids, "id", error));
        add(made, liana__input_component(model, i), array);
    }
    return LIANA_OK;
}

static liana_status take_targets(const liana__objective *objective, const liana_array *arrays, size_t count,
                                 arrays_batch *made, liana__error *error)
{
    for (size_t i = 0; i < objective->num_outputs; i++) {
        const liana__objective_output *output = &objective->outputs[i];
        const liana_array *array = find_array(arrays, count, made->match.targets[i].name);
        if (!array || !output->choice.loss) continue;
        LIANA_TRY(check_array(array, output->target_dtype, output->target_shape, error));
        if (output->target == LIANA_TARGET_CLASSES) {
            LIANA_TRY(check_range(array, output->shape.dims[output->shape.rank - 1], array->name, error));
        }
        LIANA_TRY(check_values(array, output, error));
        add(made, liana__target_component(objective, i), array);
    }
    return LIANA_OK;
}

static liana_status take_weights(const liana_array *arrays, size_t count, arrays_batch *made, liana__error *error)
{
    const liana_array *array = find_array(arrays, count, made->match.weight);
    if (!array) return LIANA_OK;
    LIANA_TRY(check_array(array, LIANA_F32, liana_shape_of(1), error));
    add(made, (liana__component_name){LIANA__WEIGHTS}, array);
    return LIANA_OK;
}

static liana_status check_all_used(const liana__data_match *match, const liana_array *arrays, size_t count,
                                   liana__error *error)
{
    for (size_t i = 0; i < count; i++) {
        bool used = match->weight && strcmp(match->weight, arrays[i].name) == 0;
        for (size_t k = 0; k < LIANA__MAX_INPUTS; k++) {
            used |= match->inputs[k].name && strcmp(match->inputs[k].name, arrays[i].name) == 0;
        }
        for (size_t k = 0; k < LIANA__MAX_OUTPUTS; k++) {
            used |= match->targets[k].name && strcmp(match->targets[k].name, arrays[i].name) == 0;
        }
        if (used) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "the array '%.60s' is no input and no target of the model, and not example_weight",
                           arrays[i].name);
    }
    return LIANA_OK;
}

static void arrays_batch_free(arrays_batch *made)
{
    free(made->positions);
    liana__arena_free(&made->arena);
}

/* Finds the use of each array, before the model is compiled. Random numbers of examples depend on their positions:
 * those of the first epoch of a fit in the same order. */
static liana_status make_batch(liana_model *model, const liana_array *arrays, size_t num_arrays, const char *weight,
                               bool has_targets, arrays_batch *made, liana__error *error)
{
    const liana__data_names names = {.weight = weight};
    liana_component components[LIANA_MAX_COMPONENTS];
    LIANA_TRY(list_components(arrays, num_arrays, components, error));
    LIANA_TRY(liana__model_check(model, error));
    LIANA_TRY(liana__data_match_list(model, components, num_arrays, &names, has_targets, &made->match, error));
    LIANA_TRY(liana__data_match_take_sizes(model, &made->match, error));
    if (has_targets) LIANA_TRY(check_all_used(&made->match, arrays, num_arrays, error));
    LIANA_TRY(take_inputs(model, arrays, num_arrays, made, error));
    LIANA_TRY(take_weights(arrays, num_arrays, made, error));
    int64_t count = arrays[0].shape.dims[0];
    made->positions = malloc((size_t)count * sizeof *made->positions);
    if (!made->positions) return liana__fail_memory(error, "a batch");
    for (int64_t i = 0; i < count; i++) made->positions[i] = (uint64_t)i;
    made->batch.count = made->batch.num_positions = count;
    made->batch.positions = made->positions;
    return LIANA_OK;
}

static int64_t count_of(const liana_array *arrays, size_t num_arrays)
{
    bool known = arrays && num_arrays && arrays[0].shape.rank > 0 && arrays[0].shape.dims[0] > 0;
    return known ? arrays[0].shape.dims[0] : 1;
}

static liana_scale scale_of(const liana_model *model)
{
    liana_scale known = model->preprocessing.scale;
    return known != LIANA_SCALE_AUTO ? known : liana__scale_assumed(model);
}

static liana_status check_size(int64_t batch_size, int64_t count, liana__error *error)
{
    if (batch_size >= 0 && count <= INT32_MAX && (batch_size == 0 || count <= batch_size)) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "a batch of %lld examples, but batch_size is %lld, the largest number (0: that of this batch)",
                       (long long)count, (long long)batch_size);
}

static liana_status set_results(const liana__objective *objective, const float *sums, int64_t count,
                                liana_results *results, liana__error *error)
{
    liana__totals totals;
    LIANA_TRY(liana__totals_create(objective, &totals, error));
    liana__totals_add(&totals, sums, count, 0);
    *results = liana__results_of(&totals);
    liana__totals_free(&totals);
    return LIANA_OK;
}

/* ---- training ---- */

/* How long a training of single batches will be is not known. */
static liana_status find_rate(const liana__training *training, const liana_fit_options *options, double *rate,
                              liana__error *error)
{
    liana_learning_rate schedule = training->learning_rate;
    const liana_schedule_common *common = schedule.options;
    schedule.steps_per_epoch = options->steps_per_epoch;
    if (!liana__learning_rate_has_length(&schedule)) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "%s decays to the end of a fit, which single batches do not have; give decay_steps",
                           schedule.schedule->part.name);
    }
    bool in_epochs = common->warmup_epochs > 0 || common->decay_epochs > 0;
    if (in_epochs && options->steps_per_epoch < 1) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "%s has a length in epochs, which single batches do not have; give it in steps, or set "
                           "steps_per_epoch",
                           schedule.schedule->part.name);
    }
    *rate = liana__training_rate(training, &schedule, training->state.iteration) * training->state.rate_factor;
    return LIANA_OK;
}

/* With workers in step. */
static liana_status train_in_step(liana__training *training, const liana__batch *batch, double *rate,
                                  liana_results *results, liana__error *error)
{
    const float *sums;
    liana__trainer *trainer = training->trainer;
    const double scalars[] = {*rate, (double)(training->state.iteration + 1)};
    liana__trainer_set_rate(trainer, *rate);
    const liana_status status = liana__step_update_in_section(trainer->step, batch, scalars, &sums, error);
    if (status == LIANA_OUT_OF_RANGE && liana__step_fault(trainer->step)->kind != LIANA__FAULT_NONE) {
        return liana__watch_explain(training, batch, *rate, error);
    }
    LIANA_TRY(status);
    *rate = liana__training_keep_rate(training, *rate);
    return results ? set_results(training->objective, sums, batch->count, results, error) : LIANA_OK;
}

/* One update of a batch that every process has, where workers are not in step. With first arrivals it is of the shares
 * that came first. Asynchronous workers compute whole batches in turn. */
typedef struct batch_span {
    const liana__training *training;
    const liana__batch *batch;
    double rate;
    liana__totals totals;
} batch_span;

static liana_status next_batch(void *user, const liana__span_try *attempt, size_t step, const liana__batch **batch,
                               liana__error *error)
{
    (void)attempt;
    (void)step;
    (void)error;
    *batch = ((const batch_span *)user)->batch;
    return LIANA_OK;
}

static liana_status set_scalars(void *user, size_t update, float *scalars, liana__error *error)
{
    const batch_span *own = user;
    (void)update;
    (void)error;
    scalars[LIANA__UPDATE_RATE] = (float)own->rate;
    scalars[LIANA__UPDATE_ITERATION] = (float)(own->training->state.iteration + 1);
    return LIANA_OK;
}

static void add_record(void *user, size_t step, const liana__span_record *record, const float *sums)
{
    (void)step;
    liana__totals_add(&((batch_span *)user)->totals, sums, record->count, 0);
}

static liana_status train_apart(liana__training *training, const liana__batch *batch, double rate,
                                const liana__notes *notes, liana_results *results, liana__error *error)
{
    batch_span own = {.training = training, .batch = batch, .rate = rate};
    const liana__step_span span = {.num_steps = 1,
                                   .turn = (uint64_t)training->state.iteration,
                                   .notes = notes,
                                   .next = next_batch,
                                   .scalars = set_scalars,
                                   .add = add_record,
                                   .user = &own};
    liana__span_result result = {0};
    LIANA_TRY(liana__totals_create(training->objective, &own.totals, error));
    const liana_status status = liana__step_run_span(training->trainer->step, &span, &result, error);
    if (status == LIANA_OK) liana__span_counts_add(&training->state.gradients, &result.counts);
    if (status == LIANA_OK && results) *results = liana__results_of(&own.totals);
    liana__totals_free(&own.totals);
    return status;
}

/* ---- checkpoints ---- */

/* The saver, and its options. */
typedef struct saver {
    const liana__training *training;
    const liana_fit_options *options;
    int64_t keep;
} saver;

static liana_status save(void *user, liana__error *error)
{
    const saver *own = user;
    const char *folder = own->options->checkpoints;
    LIANA_TRY(liana__folder_make(folder, error));
    return liana__checkpoint_save(folder, &own->training->variables, &own->training->state, own->keep, error);
}

/* After a number of updates, or after each. */
static liana_status save_if_due(liana__training *training, const liana_fit_options *options,
                                const liana__job_options *job, liana__error *error)
{
    saver own = {training, options, job->checkpoint.keep};
    const int64_t every = options->checkpoint_steps ? options->checkpoint_steps : 1;
    if (!options->checkpoints || training->state.iteration % every != 0) return LIANA_OK;
    return liana__fit_save(training, save, &own, error);
}

/* The first update of new programs goes on from the newest checkpoint. */
static liana_status resume(liana__training *training, const liana_fit_options *options, liana__arena *arena,
                           liana__error *error)
{
    const liana__notes notes = {options->on_note, options->user};
    liana__recorded recorded;
    const char *path;
    if (!options->resume || !options->checkpoints || training->state.iteration > 0) return LIANA_OK;
    LIANA_TRY(liana__checkpoint_recorded(options->checkpoints, training->cluster, arena, &recorded, error));
    if (*recorded.precision && strcmp(recorded.precision, training->state.precision) != 0) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "the precision is %s, but the checkpoints in '%s' were trained in %s; ask for that",
                           training->state.precision, options->checkpoints, recorded.precision);
    }
    return liana__checkpoint_resume(options->checkpoints, NULL, training, &notes, arena, &path, error);
}

static liana_status train(liana_model *model, liana__training *training, const liana_fit_options *options,
                          const liana__batch *batch, liana_results *results, liana__error *error)
{
    double rate = 0;
    const liana__trainer_options *compiled = liana__trainer_options_of(training->trainer);
    const liana__notes notes = {options->on_note, options->user};
    LIANA_TRY(find_rate(training, options, &rate, error));
    LIANA_TRY(liana__step_prepare(training->trainer->step, batch->count, true, error));
    LIANA_TRY(liana__averaged_weights_return(training, error));
    const bool apart = liana__span_steps_of(compiled->strategy, compiled->strategy_options, training->cluster) > 0;
    LIANA_TRY(apart ? train_apart(training, batch, rate, &notes, results, error)
                    : train_in_step(training, batch, &rate, results, error));
    training->state.iteration++;
    LIANA_TRY(liana__compiled_take_weights(model, training, error));
    liana_preprocessing learnt = model->preprocessing;
    learnt.scale = scale_of(model);
    model->precision = training->precision;
    return liana__preprocessing_set(model, &learnt, model->knows_classes, error);
}

static liana_status check_options(const liana_fit_options *options, liana__error *error)
{
    const char *unread = options->augment                                     ? "augment"
                         : options->resume_from                               ? "resume_from"
                         : options->stages                                    ? "stages"
                         : options->num_callbacks || options->named_callbacks ? "callbacks"
                                                                              : NULL;
    const char *folder = options->checkpoints ? options->checkpoints : "";
    if (liana__path_is_remote(folder)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "the checkpoints of single batches are in a folder on this machine, not in '%s'", folder);
    }
    if (options->resume && !*folder) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "resume is set, but there is no folder of checkpoints");
    }
    if (!unread) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "%s is set, which only liana_fit reads: a batch is trained on as "
                       "it is",
                       unread);
}

static liana_status compile_and_train(liana__compile_request *request, const liana_fit_options *options,
                                      const liana_array *arrays, size_t num_arrays, liana__arena *arena,
                                      liana_results *results, liana__error *error)
{
    LIANA__SCOPED(arrays_batch) made = {0};
    liana_model *model = request->model;
    liana__training *training = NULL;
    const uint64_t batch_size = (uint64_t)request->job->batch_size;
    LIANA_TRY(make_batch(model, arrays, num_arrays, options->example_weight, true, &made, error));
    request->match = &made.match;

    LIANA_TRY(liana__compiled_get(request, &training, error));
    if (!training->has_agreed) LIANA_TRY(liana__agree_on_training(training, error));
    LIANA_TRY(resume(training, options, arena, error));
    LIANA_TRY(take_targets(training->objective, arrays, num_arrays, &made, error));
    const uint64_t first = (uint64_t)training->state.iteration * batch_size;
    made.batch.first_position = first;
    for (int64_t i = 0; i < made.batch.count; i++) made.positions[i] += first;
    liana_status status = train(model, training, options, &made.batch, results, error);
    if (status == LIANA_OK) status = save_if_due(training, options, request->job, error);
    if (status != LIANA_OK) liana__compiled_forget(model);
    return status;
}

static liana_status train_on_arrays(liana_model *model, const liana_fit_options *given, const liana_array *arrays,
                                    size_t num_arrays, liana_results *results)
{
    static const liana_fit_options defaults;
    const liana__job_options *job_defaults;
    const liana_fit_options *options = given ? given : &defaults;
    liana__error *error = &model->context->error;
    int64_t count = count_of(arrays, num_arrays);
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__job_options job;
    LIANA_TRY(check_options(options, error));
    LIANA_TRY(check_size(options->batch_size, count, error));
    LIANA_TRY(liana__compiled_defaults(model, &job_defaults, error));
    LIANA_TRY(liana__job_take(&liana__job_fit_door, options, job_defaults, &arena, &job, error));
    LIANA_TRY(liana__model_find_optimizer(model, options->optimizer, &arena, &job, error));
    if (!options->batch_size) job.batch_size = count;
    job.validation_batch_size = job.batch_size;
    job.steps_per_execution = 1;
    liana__compile_request request = {.model = model,
                                      .job = &job,
                                      .scale = scale_of(model),
                                      .data_memory = options->data_memory,
                                      .notes = {options->on_note, options->user}};
    return compile_and_train(&request, options, arrays, num_arrays, &arena, results, error);
}

liana_status liana_train_on_batch(liana_model *model, const liana_fit_options *given, const liana_array *arrays,
                                  size_t num_arrays, liana_results *results)
{
    LIANA__REQUIRE(NULL, model);
    LIANA__REQUIRE_AS(&model->context->error, arrays || !num_arrays, "arrays");
    LIANA__CONTEXT_CALL(model->context, train_on_arrays(model, given, arrays, num_arrays, results));
}

/* ---- evaluation and prediction ---- */

static liana_status compile_and_measure(liana__compile_request *request, liana__job_options *job,
                                        const liana_evaluate_options *options, const liana_array *arrays,
                                        size_t num_arrays, float *outputs, liana_results *results, liana__error *error)
{
    LIANA__SCOPED(arrays_batch) made = {0};
    LIANA_TRY(make_batch(request->model, arrays, num_arrays, options->example_weight, !outputs, &made, error));
    if (!options->batch_size) job->batch_size = made.batch.count;
    job->precision = (int)request->model->precision;
    request->job = job;
    request->scale = scale_of(request->model);
    request->match = &made.match;
    if (outputs) memset(made.match.targets, 0, sizeof made.match.targets);
    const float *sums;
    liana__training *training = NULL;

    LIANA_TRY(liana__compiled_get(request, &training, error));
    if (!training->has_agreed) LIANA_TRY(liana__agree_on_training(training, error));
    LIANA_TRY(take_targets(training->objective, arrays, num_arrays, &made, error));
    LIANA_TRY(liana__step_prepare(training->trainer->step, made.batch.count, false, error));
    LIANA_TRY(liana__step_measure_in_section(training->trainer->step, &made.batch, outputs, &sums, error));
    return results ? set_results(training->objective, sums, made.batch.count, results, error) : LIANA_OK;
}

static liana_status evaluate(liana__compile_request *request, const liana_evaluate_options *given,
                             const liana_array *arrays, size_t num_arrays, float *outputs, liana_results *results)
{
    static const liana_evaluate_options defaults;
    const liana__job_options *job_defaults;
    const liana_evaluate_options *options = given ? given : &defaults;
    liana__error *error = &request->model->context->error;
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__job_options job;
    LIANA_TRY(check_size(options->batch_size, count_of(arrays, num_arrays), error));
    LIANA_TRY(liana__compiled_defaults(request->model, &job_defaults, error));
    LIANA_TRY(liana__job_take(&liana__job_evaluate_door, options, job_defaults, &arena, &job, error));
    return compile_and_measure(request, &job, options, arrays, num_arrays, outputs, results, error);
}

liana_status liana_test_on_batch(liana_model *model, const liana_evaluate_options *options, const liana_array *arrays,
                                 size_t num_arrays, liana_results *results)
{
    LIANA__REQUIRE(NULL, model);
    LIANA__REQUIRE_AS(&model->context->error, arrays || !num_arrays, "arrays");
    liana__compile_request request = {.model = model};
    LIANA__CONTEXT_CALL(model->context, evaluate(&request, options, arrays, num_arrays, NULL, results));
}

liana_status liana_predict_on_batch(liana_model *model, const liana_array *arrays, size_t num_arrays, float *outputs)
{
    LIANA__REQUIRE(NULL, model);
    LIANA__REQUIRE_AS(&model->context->error, arrays || !num_arrays, "arrays");
    LIANA__REQUIRE(&model->context->error, outputs);
    liana__compile_request request = {.model = model, .predicts = liana__model_has_no_loss(model)};
    LIANA__CONTEXT_CALL(model->context, evaluate(&request, NULL, arrays, num_arrays, outputs, NULL));
}
