/* Estimators: making one, and the common part of its calls. */
#include "train/estimator/estimator.h"

#include "distribute/strategies/strategies.h"
#include "program/device.h"
#include "train/checkpoint/remote_checkpoints.h"
#include "train/checkpoint/temporary.h"
#include "train/objective/shared_loader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT_CHECKPOINTS = 5 };
static const char CHECKPOINTS[] = "checkpoints/";

/* ---- options ---- */

static const char *copy(liana_estimator *own, const char *text)
{
    return liana__arena_string(&own->arena, text);
}

/* Numbers that are not of the job, or have other bounds than there. */
static liana_status check_numbers(const liana_estimator *own, liana__error *error)
{
    const liana_run_config *config = &own->options.config;
    const struct {
        const char *name;
        int64_t value, least, most;
    } numbers[] = {{"keep_checkpoint_max", config->keep_checkpoint_max, -1, INT64_MAX},
                   {"log_step_count_steps", config->log_step_count_steps, 0, INT64_MAX}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (numbers[i].value >= numbers[i].least && numbers[i].value <= numbers[i].most) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: config.%s is %lld, expected %lld to %lld",
                           own->options.name, numbers[i].name, (long long)numbers[i].value, (long long)numbers[i].least,
                           (long long)numbers[i].most);
    }
    return LIANA_OK;
}

/* The options of the job that each training, evaluation and prediction begins with. */
static liana_status take_options(liana_estimator *own, liana__error *error)
{
    const liana_run_config *config = &own->options.config;
    liana__job_options *job = &own->job;
    const char *prefix = liana__arena_format(&own->arena, "%s: config.", own->options.name);
    if (!prefix) return liana__fail_memory(error, "an estimator");
    own->door = (liana__job_door){LIANA__DOOR_ESTIMATOR, prefix, "training", NULL, NULL};
    LIANA_TRY(check_numbers(own, error));
    LIANA_TRY(liana__job_take(&own->door, config, NULL, &own->arena, job, error));
    if (!job->validation_batch_size) job->validation_batch_size = job->batch_size;
    if (!config->keep_checkpoint_max) job->checkpoint.keep = KEPT_CHECKPOINTS;
    return LIANA_OK;
}

static void copy_warm_start(liana_estimator *own)
{
    liana_warm_start *warm = &own->options.warm_start_from;
    warm->from = copy(own, warm->from);
    for (size_t i = 0; i < LIANA_MAX_WARM_NAMES; i++) {
        warm->variables[i] = copy(own, warm->variables[i]);
        warm->names[i].variable = copy(own, warm->names[i].variable);
        warm->names[i].previous = copy(own, warm->names[i].previous);
    }
}

/* Copies the texts and lists of the options. */
static liana_status keep_options(liana_estimator *own, const liana_estimator_options *given, liana__error *error)
{
    liana_estimator_options *options = &own->options;
    *options = *given;
    options->name = copy(own, given->name ? given->name : "estimator");
    if (!given->labels[0]) options->labels[0] = "label";
    for (size_t i = 0; i < LIANA_MAX_OUTPUTS; i++) options->labels[i] = copy(own, options->labels[i]);
    options->config.model_dir = copy(own, given->config.model_dir);
    options->config.device = copy(own, given->config.device);
    options->config.bad_numbers_folder = copy(own, given->config.bad_numbers_folder);
    copy_warm_start(own);
    own->fn = (liana__fn){given->model_fn, given->params, options->name, given->config.seed};
    if (own->arena.failed) return liana__fail_memory(error, "an estimator");
    if (!given->model_fn) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: the options have no model_fn", options->name);
    }
    return take_options(own, error);
}

/* Finds out that there is no such device before anything is built. */
static liana_status check_device(const liana_estimator *own, liana__error *error)
{
    liana__device *device;
    liana_status status = liana__device_open(own->context, own->job.device, &device, error);
    if (status != LIANA_OK) return liana__fail_within(error, "%s: config.device", own->options.name);
    liana__device_close(device);
    return LIANA_OK;
}

static liana_status find_strategy(liana_estimator *own, liana__error *error)
{
    liana_strategy *given = &own->job.own_strategy;
    LIANA_TRY(liana__strategy_copy(given, &own->arena, given, error));
    liana_status status = liana__strategy_of(given, &own->arena, &own->strategy, error);
    return status == LIANA_OK ? status : liana__fail_within(error, "%s: config", own->options.name);
}

static liana_status find_folder(liana_estimator *own, liana__error *error)
{
    const char *temporary = getenv("TMPDIR");
    own->folder = own->options.config.model_dir;
    if (own->folder) {
        liana_status checked = liana__folder_name_check(own->folder, "a folder of checkpoints", error);
        if (checked != LIANA_OK) return liana__fail_within(error, "%s: config.model_dir", own->options.name);
    }
    if (own->folder && liana__path_is_remote(own->folder)) {
        const liana__outlet_options options = {.url = own->folder,
                                               .last = liana__checkpoint_state,
                                               .hint = "training again with the same model_dir sends it and goes on"};
        liana_status status = liana__outlet_open(&options, &own->outlet, error);
        if (status != LIANA_OK) return liana__fail_within(error, "%s: config.model_dir", own->options.name);
        own->folder = liana__outlet_folder(own->outlet);
    }
    if (!own->folder) {
        char *made =
            liana__arena_format(&own->arena, "%s/liana-estimator-XXXXXX", temporary && *temporary ? temporary : "/tmp");
        if (made && !mkdtemp(made)) {
            return liana__fail(error, LIANA_IO_ERROR, "%s: no temporary folder could be made as '%s'; set model_dir",
                               own->options.name, made);
        }
        own->folder = made;
        own->is_temporary = made != NULL;
    }
    own->checkpoints = liana__path_join(&own->arena, own->folder, "checkpoints");
    return own->arena.failed ? liana__fail_memory(error, "an estimator") : LIANA_OK;
}

static liana_status set_up(liana_estimator *own, const liana_estimator_options *options, liana__error *error)
{
    LIANA_TRY(keep_options(own, options, error));
    LIANA_TRY(check_device(own, error));
    LIANA_TRY(find_strategy(own, error));
    LIANA_TRY(liana_device_open(own->context, "cpu", &own->device));
    return find_folder(own, error);
}

static liana_status create(liana_context *context, const liana_estimator_options *options, liana_estimator **out)
{
    liana_estimator *own = calloc(1, sizeof *own);
    if (!own) return liana__fail_memory(&context->error, "an estimator");
    own->context = context;
    liana_status status = set_up(own, options, &context->error);
    if (status != LIANA_OK) {
        liana_estimator_destroy(own);
        return status;
    }
    *out = own;
    return LIANA_OK;
}

liana_status liana_estimator_create(liana_context *context, const liana_estimator_options *options,
                                    liana_estimator **estimator)
{
    LIANA__REQUIRE(liana__context_error(context), estimator);
    *estimator = NULL;
    LIANA__REQUIRE(NULL, context);
    LIANA__REQUIRE(&context->error, options);
    LIANA__CONTEXT_CALL(context, create(context, options, estimator));
}

void liana_estimator_destroy(liana_estimator *own)
{
    if (!own) return;
    /* A folder that cannot be removed stays: there is nobody to tell. */
    if (own->is_temporary && liana__folder_remove(own->folder, NULL) != LIANA_OK) own->is_temporary = false;
    liana_variables_destroy(own->variables);
    liana_device_close(own->device);
    liana__outlet_close(own->outlet);
    liana__arena_free(&own->results);
    liana__arena_free(&own->arena);
    free(own);
}

/* ---- sessions ---- */

liana_status liana__fn_session_trace(liana__fn_session *own, liana_mode_kind kind, const liana__fn_input *input,
                                     liana__error *error)
{
    liana_estimator *estimator = own->estimator;
    return liana__fn_trace(estimator->context, &estimator->fn, kind, &input->offered, &own->arena, &own->built[kind],
                           error);
}

static size_t data_bytes(const liana_run_config *config)
{
    return (size_t)(config->data_memory ? config->data_memory : LIANA__DEFAULT_DATA_MEMORY) << 20;
}

liana_status liana__fn_session_compile(liana__fn_session *own, const liana__fn_modes *modes,
                                       const liana__fn_input *first, liana__error *error)
{
    liana_estimator *estimator = own->estimator;
    const liana_run_config *config = &estimator->options.config;
    liana__function_model *model = &own->model;
    bool fractions = false;
    LIANA_TRY(liana__function_model_make(estimator->context, &estimator->fn, &first->offered, modes, &own->arena, model,
                                         error));
    if (modes->train && modes->train->update) LIANA_TRY(liana__own_update_make(model, error));
    for (size_t i = 0; i < model->function.num_inputs; i++) {
        fractions |= model->arrivals[i].is_image && model->arrivals[i].dtype == LIANA_F32;
    }
    own->job = estimator->job;
    own->job.precision = (int)liana__estimator_precision(estimator, &own->arena);
    if (!modes->train) own->job.batch_size = own->job.validation_batch_size;
    liana__training_options options = {.strategy = estimator->strategy,
                                       .optimizer = modes->train ? &modes->train->optimizer : NULL,
                                       .trainer = {.function = &model->function,
                                                   .objective = &model->objective,
                                                   .inputs = model->arrivals,
                                                   .scale = first->offered.scale,
                                                   .fractions = fractions},
                                       .data_memory = data_bytes(config),
                                       .notes = {config->on_note, config->user}};
    return liana__job_compile(&own->job, NULL, &options, &own->arena, &own->training, error);
}

liana_status liana__fn_session_load(liana__fn_session *own, liana__fn_input *input, bool trains, liana__error *error)
{
    const liana_run_config *config = &own->estimator->options.config;
    liana__loader_options options = {.batch_size = trains ? own->job.batch_size : own->job.validation_batch_size,
                                     .seed = config->seed,
                                     .shuffle = trains && !input->given->keep_order,
                                     .memory = data_bytes(config) / 2,
                                     .cache_memory = trains ? (size_t)1 << 30 : 0};
    liana__share_loader(own->training.trainer, &input->workers, &options);
    return liana__fn_input_load(input, &own->model, options, error);
}

void liana__fn_session_close(liana__fn_session *own)
{
    liana__fn_input_close(&own->train);
    liana__fn_input_close(&own->measured);
    if (own->training.context) liana__training_close(&own->training);
    liana__user_update_free(&own->model.update);
    liana__arena_free(&own->arena);
}

/* ---- checkpoints ---- */

liana_status liana__estimator_blame(const liana_estimator *own, liana__error *error)
{
    return liana__fail_within(error, "%s: model_dir '%s' does not fit this model function", own->options.name,
                              liana__remote_name(own->folder));
}

static liana_status fetch_checkpoints(liana_estimator *own, liana__arena *arena, liana__error *error)
{
    liana__paths names;
    liana__newest_checkpoint newest;
    LIANA_TRY(liana__outlet_list(own->outlet, arena, &names, error));
    LIANA_TRY(liana__checkpoints_fetch(own->outlet, CHECKPOINTS, &names, own->job.checkpoint.keep, &newest, error));
    own->is_fetched = true;
    return LIANA_OK;
}

liana_status liana__estimator_fetch(liana_estimator *own, liana__error *error)
{
    if (!own->outlet || own->is_fetched) return LIANA_OK;
    liana__arena arena = {0};
    liana_status status = fetch_checkpoints(own, &arena, error);
    liana__arena_free(&arena);
    return status == LIANA_OK ? LIANA_OK : liana__fail_within(error, "%s: config.model_dir", own->options.name);
}

liana_precision liana__estimator_precision(const liana_estimator *own, liana__arena *arena)
{
    liana__job_options job = own->job;
    liana_precision before;
    if (job.precision != LIANA_PRECISION_AUTO) return (liana_precision)job.precision;
    liana__job_keeps_precision(&job, liana__checkpoint_precision(own->checkpoints, arena), &before);
    return (liana_precision)job.precision;
}

/* The number behind "step-" in the name of a checkpoint. */
static int64_t step_of(const char *path)
{
    const char *name = strrchr(path, '/');
    return strtoll((name ? name + 1 : path) + strlen("step-"), NULL, 10);
}

liana_status liana__estimator_newest(liana_estimator *own, liana__arena *arena, const char **path, liana__error *error)
{
    LIANA_TRY(liana__estimator_fetch(own, error));
    LIANA_TRY(liana__checkpoint_newest(own->checkpoints, arena, path, error));
    if (*path) {
        own->global_step = step_of(*path);
        return LIANA_OK;
    }
    return liana__fail(error, LIANA_NOT_FOUND, "%s: there is no checkpoint in '%s'; train first", own->options.name,
                       liana__remote_name(own->folder));
}

liana_status liana__estimator_restore(liana__fn_session *own, liana__error *error)
{
    const char *path;
    LIANA_TRY(liana__estimator_newest(own->estimator, &own->arena, &path, error));
    liana_status status = liana__checkpoint_load(path, &own->training.variables, NULL, error);
    return status == LIANA_INVALID_DATA ? liana__estimator_blame(own->estimator, error) : status;
}

int64_t liana_estimator_global_step(const liana_estimator *own)
{
    return own ? own->global_step : 0;
}
