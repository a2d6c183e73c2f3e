/* Opens a run, trains it and evaluates it. */
#include "train/checkpoint/data_state.h"
#include "train/run/run_internal.h"

#include "base/file.h"
#include "base/format.h"

#include <stdio.h>
#include <unistd.h>

void liana__run_close(liana__run *run)
{
    liana__run_close_data(&run->training);
    liana__run_close_data(&run->validation);
    liana__run_close_data(&run->test);
    liana__training_close(&run->core);
    liana_model_destroy(run->model);
    liana__remote_destroy(run->remote);
    liana__bad_records_free(&run->bad_records);
    liana__outlet_close(run->outlet);
    if (run->locked) close(run->lock);
    liana__arena_free(&run->arena);
    *run = (liana__run){0};
}

liana_status liana__run_make_trainer(liana__run *run, const liana__run_options *options, liana__error *error)
{
    liana__train_config *train = &run->config->train;
    liana__optimizer_choice optimizer;
    liana__training_options wanted = {
        .device = train->device,
        .optimizer = options->training ? &optimizer : NULL,
        .trainer = {.model = run->model,
                    .batch_size = train->batch_size,
                    .microbatch = train->microbatch,
                    .seed = (uint64_t)train->seed,
                    .scale = run->scale,
                    .class_weights = run->class_weights,
                    .num_class_weights = run->num_classes,
                    .mixes = run->training.augment && liana__augment_mixes(run->training.augment)},
        .precision = (liana_precision)train->precision,
        .recompute = (liana_recompute)train->recompute,
        .memory = train->memory,
        .data_memory = liana__run_data_memory(run),
        .notes = {options->on_note, options->user},
    };
    LIANA_TRY(liana__run_find_objective(run, options->training, &wanted.trainer.objective, error));
    if (options->training) LIANA_TRY(liana__run_find_optimizer(run, &optimizer, error));
    LIANA_TRY(liana__run_find_strategy(run, &wanted.strategy, error));
    LIANA_TRY(liana__training_open(&run->core, &wanted, error));
    train->precision = run->core.precision;
    train->microbatch = liana__trainer_microbatch(run->core.trainer);
    if (options->training) {
        train->recompute = run->core.recompute;
        train->memory = run->core.memory;
    }
    return LIANA_OK;
}

liana_status liana__run_note_data(liana__run *run, liana__error *error)
{
    liana__data_state *data = liana__arena_allocate(&run->arena, sizeof *data);
    if (!data) return liana__fail_memory(error, "the state of the data");
    run->core.state.data = data;
    return liana__data_state_find(run->training.source, &run->arena, data, error);
}

void liana__run_note_contents(liana__run *run, const liana__run_options *options)
{
    liana__data_state *data = run->core.state.data;
    if (!data) return;
    if (*data->note) liana__run_note(options, "%s", data->note);
    liana__data_state_read_contents(data);
}

static const char *checkpoint_folder(liana__run *run, const char *folder)
{
    return liana__path_join(&run->arena, folder, "checkpoints");
}

static liana_status fetch_checkpoint(liana__run *run, const char *url, const char **path, liana__error *error)
{
    liana__paths found;
    LIANA_TRY(liana__remote_resolve(run->remote, &url, 1, &run->arena, &found, error));
    *path = found.items[0];
    if (found.count == 1 && liana__folder_exists(*path)) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "'%s' is not a checkpoint: name its folder, on gs:// or s3:// (web servers have no folders)",
                       url);
}

liana_status liana__run_load(liana__run *run, const char *folder, const char *checkpoint, const char **loaded,
                             liana__error *error)
{
    const char *checkpoints = checkpoint_folder(run, folder), *path = checkpoint;
    if (!checkpoints) return liana__fail_memory(error, "the run folder");
    if (!checkpoint) {
        LIANA_TRY(liana__checkpoint_newest(checkpoints, &run->arena, &path, error));
    } else if (liana__path_is_remote(checkpoint)) {
        LIANA_TRY(fetch_checkpoint(run, checkpoint, &path, error));
    } else if (!liana__folder_exists(checkpoint)) {
        path = liana__path_join(&run->arena, checkpoints, checkpoint);
        if (!path) return liana__fail_memory(error, "the run folder");
        if (!liana__folder_exists(path)) {
            return liana__fail(error, LIANA_NOT_FOUND, "there is no checkpoint '%s', and none with that name in '%s'",
                               checkpoint, checkpoints);
        }
    }
    if (!path) {
        return liana__fail(error, LIANA_NOT_FOUND, "'%s' has no checkpoint yet; train it with 'liana train' first",
                           folder);
    }
    if (loaded) *loaded = path;
    return liana__checkpoint_load(path, &run->core.variables, NULL, error);
}

static liana_status resume(liana__run *run, const liana__run_options *options, bool *resumed, liana__error *error)
{
    const char *checkpoints = checkpoint_folder(run, run->folder), *path;
    if (!checkpoints) return liana__fail_memory(error, "the run folder");
    const liana__notes notes = {options->on_note, options->user};
    LIANA_TRY(liana__checkpoint_resume(checkpoints, &run->core, &notes, &run->arena, &path, error));
    *resumed = path != NULL;
    if (!path) {
        liana__run_note(options, "no checkpoint in '%s' yet: starting from the beginning",
                        liana__remote_name(run->folder));
        return LIANA_OK;
    }
    LIANA_TRY(liana__run_read_bad_records(run, error));
    if (run->core.state.epoch >= run->config->train.epochs) {
        liana__run_note(options, "'%s' is the end of the last epoch: nothing is left to train",
                        liana__remote_name(path));
        return LIANA_OK;
    }
    liana__run_note(options, "resumed from '%s': epoch %lld, after step %lld", liana__remote_name(path),
                    (long long)run->core.state.epoch + 1, (long long)run->core.state.step);
    const char *isa = liana__isa_name(run->context->isa);
    if (strcmp(run->core.state.isa, isa) != 0) {
        liana__run_note(options,
                        "the checkpoint was saved with %s; resuming with %s, which rounds differently; results will "
                        "not be bit-identical (LIANA_MAX_ISA can lower the instruction set of this machine)",
                        run->core.state.isa, isa);
    }
    return LIANA_OK;
}

static liana_status open_model(liana__run *run, const liana__run_options *options, liana__error *error)
{
    LIANA_TRY(liana__run_make_remote(run, options, error));
    if (options->training && run->folder) {
        const liana__remote_options remote = liana__run_remote_options(run);
        LIANA_TRY(liana__run_open_outlet(run, options->resume, &remote, error));
        LIANA_TRY(liana__run_check_folder(run, options->resume, error));
    }
    LIANA_TRY(liana__run_find_data(run, options, error));
    return liana__run_build_model(run, error);
}

static liana_status set_up(liana__run *run, const liana__run_options *options, liana__error *error)
{
    LIANA_TRY(open_model(run, options, error));
    LIANA_TRY(liana__run_make_trainer(run, options, error));
    bool resumed = false, has_weights = run->config->model.weights != NULL;
    if (options->training && !has_weights) LIANA_TRY(liana__warn_find_averages(&run->warnings, error));
    if (options->training && run->folder) LIANA_TRY(liana__run_note_data(run, error));
    if (options->training && options->resume && run->folder) LIANA_TRY(resume(run, options, &resumed, error));
    if (options->training) liana__run_note_contents(run, options);
    if (options->training && !resumed) LIANA_TRY(liana__run_load_weights(run, options, error));
    if (options->training && !resumed && has_weights) LIANA_TRY(liana__warn_find_averages(&run->warnings, error));
    LIANA_TRY(liana__run_start_loaders(run, options, error));
    if (options->training) {
        liana__warn_of_warmup(&run->warnings, run->training.loader, run->config->train.epochs);
    }
    return LIANA_OK;
}

typedef liana_status (*opener)(liana__run *run, const liana__run_options *options, liana__error *error);

static liana_status open_with(opener open, liana_context *context, const liana__config *config,
                              const liana__run_options *options, liana__run *run, liana__error *error)
{
    *run = (liana__run){.context = context, .folder = options->folder};
    run->config = liana__arena_copy(&run->arena, config, sizeof *config);
    run->bad_records.most = config->data.max_bad;
    run->bad_records.on_note = options->on_bad_record ? options->on_bad_record : options->on_note;
    run->bad_records.user = options->user;
    liana_status status = run->config ? open(run, options, error) : liana__fail_memory(error, "the run");
    if (status == LIANA_OK) liana__run_forget_options(run);
    if (status != LIANA_OK) liana__run_close(run);
    return status;
}

liana_status liana__run_open(liana_context *context, const liana__config *config, const liana__run_options *options,
                             liana__run *run, liana__error *error)
{
    return open_with(set_up, context, config, options, run, error);
}

liana_status liana__run_open_model(liana_context *context, const liana__config *config,
                                   const liana__run_options *options, liana__run *run, liana__error *error)
{
    return open_with(open_model, context, config, options, run, error);
}

/* Passes events on, and keeps the history on disk up to date. */
typedef struct watcher {
    liana__run *run;
    const liana__run_options *options;
    const char *checkpoints; /* the folder */
    liana__error *error;
    liana_status status;
} watcher;

static liana_status write_history(const liana__run *run, liana__error *error)
{
    LIANA_TRY(liana__run_check_there(run, error));
    return liana__run_write_history(run, error);
}

static liana_status save(void *user, liana__error *error)
{
    const watcher *own = user;
    liana__run *run = own->run;
    LIANA_TRY(liana__run_check_there(run, error));
    LIANA_TRY(liana__checkpoint_save(own->checkpoints, &run->core.variables, &run->core.state,
                                     run->config->checkpoint.keep, error));
    return liana__run_send(run, error);
}

static bool watch(void *user, const liana__fit_event *event)
{
    watcher *own = user;
    if (event->kind == LIANA__FIT_EPOCH) own->status = write_history(own->run, own->error);
    if (event->kind == LIANA__FIT_EPOCH) liana__run_note_cache_events(own->run, own->options);
    /* Written before the next checkpoint, so that a run resumed from it has the whole list. */
    if (own->status == LIANA_OK) own->status = liana__run_write_bad_records(own->run, own->error);
    if (own->status != LIANA_OK) return false;
    bool goes_on = !own->options->on_event || own->options->on_event(own->options->user, event);
    if (event->kind == LIANA__FIT_EPOCH) liana__warn_after_epoch(&own->run->warnings);
    return goes_on;
}

static liana_status fit(liana__run *run, const liana__run_options *options, liana__error *error)
{
    const liana__config *config = run->config;
    liana__error write_error = {0};
    watcher own = {.run = run, .options = options, .error = &write_error};
    if (run->folder) {
        own.checkpoints = checkpoint_folder(run, run->folder);
        if (!own.checkpoints) return liana__fail_memory(error, "the run folder");
    }
    liana__fit_options wanted = {.training = run->training.loader,
                                 .validation = run->validation.loader,
                                 .batch_size = config->train.batch_size,
                                 .epochs = config->train.epochs,
                                 .seen_classes = liana__warn_classes_to_see(&run->warnings),
                                 .every_epoch = config->checkpoint.every_epoch,
                                 .every_steps = config->checkpoint.every_steps,
                                 .every_minutes = config->checkpoint.every_minutes,
                                 .save = run->folder ? save : NULL,
                                 .on_event = watch,
                                 .user = &own};
    liana_status status = liana__fit(&run->core, &wanted, error);
    if (own.status != LIANA_OK) {
        *error = write_error;
        return own.status;
    }
    return status;
}

static liana_status write_predictions(liana__run *run, const liana__run_data *data, liana__prediction_columns columns,
                                      const char *name, const liana__run_options *options, liana__error *error)
{
    if (!data->source) return LIANA_OK;
    const char *path = liana__path_join(&run->arena, run->folder, name);
    if (!path) return liana__fail_memory(error, name);
    return liana__run_predict(run, data, columns, path, options, NULL, error);
}

static liana_status write_results(liana__run *run, const liana__run_options *options, liana__error *error)
{
    LIANA_TRY(write_history(run, error));
    LIANA_TRY(write_predictions(run, &run->validation, LIANA__PREDICTIONS_VALIDATION, "validation_predictions.csv",
                                options, error));
    return write_predictions(run, &run->test, LIANA__PREDICTIONS_SUBMISSION, "test_predictions.csv", options, error);
}

/* Where the folder is gone, that is why a file of it could not be written. */
static liana_status explain(const liana__run *run, liana_status status, liana__error *error)
{
    liana__error gone = {0};
    bool written = status == LIANA_OK || status == LIANA_CANCELLED;
    if (written || liana__run_check_there(run, &gone) == LIANA_OK) return status;
    *error = gone;
    return gone.status;
}

/* Whatever ended the run, what it wrote is sent. */
static liana_status send_results(const liana__run *run, const liana__run_options *options, liana_status status,
                                 liana__error *error)
{
    liana__error own = {0};
    if (!run->outlet) return status;
    liana__run_note(options, "sending the results to '%s'", liana__outlet_url(run->outlet));
    liana_status sent = liana__run_send_all(run, &own);
    if (sent == LIANA_OK || (status != LIANA_OK && status != LIANA_CANCELLED)) return status;
    *error = own;
    return sent;
}

liana_status liana__run_train(liana__run *run, const liana__run_options *options, liana__error *error)
{
    if (run->folder) LIANA_TRY(liana__run_begin_folder(run, error));
    liana_status status = fit(run, options, error);
    if (status == LIANA_OK && run->folder) status = write_results(run, options, error);
    status = explain(run, status, error);
    /* The error that ended the run is reported first. */
    liana_status listed = liana__run_write_bad_records(run, status == LIANA_OK ? error : NULL);
    return send_results(run, options, status == LIANA_OK ? listed : status, error);
}
