/* Opens a run. */
#include "train/checkpoint/data_state.h"

#include "backends/remote/names.h"
#include "base/file.h"
#include "distribute/strategies/strategies.h"
#include "train/checkpoint/temporary.h"
#include "train/model/model_objective.h"
#include "train/run/run_internal.h"

#include <stdio.h>
#include <unistd.h>

void liana__run_close(liana__run *run)
{
    run->examples.source = NULL; /* that of the training data */
    liana__run_close_data(&run->examples);
    liana__run_close_data(&run->training);
    liana__run_close_data(&run->validation);
    liana__run_close_data(&run->test);
    liana__job_free(&run->job);
    liana__training_close(&run->core);
    liana__optimizer_state_free(&run->state);
    liana_model_destroy(run->model);
    liana__remote_destroy(run->remote);
    liana__bad_records_free(&run->bad_records);
    liana__outlet_close(run->outlet);
    liana__folder_hold_end(&run->hold);
    liana__arena_free(&run->arena);
    *run = (liana__run){0};
}

/* ---- optimizer, strategy, loss and metrics, as the configuration names them ---- */

static liana_status find_optimizer(liana__run *run, liana__optimizer_choice *choice, liana__error *error)
{
    LIANA_TRY(
        liana__optimizer_read(run->context, run->config->job.optimizer, "train.optimizer", &run->arena, choice, error));
    LIANA_TRY(liana__job_begin_stages(&run->job, run->model, error));
    if (run->job.stages.count) *choice = run->job.stages.items[0].optimizer;
    return LIANA_OK;
}

static liana_status find_strategy(liana__run *run, bool training, liana__strategy_choice *choice, liana__error *error)
{
    const liana__cluster *cluster = liana__cluster_of(run->context);
    LIANA_TRY(liana__strategy_read(run->config->job.strategy, "train.strategy", &run->arena, choice, error));
    /* The cluster that trained the run is not the one that measures it. */
    if (!training && (cluster || choice->strategy->needs_cluster)) {
        *choice = (liana__strategy_choice){&liana__strategy_one_device, NULL};
    }
    /* Several processes that were told nothing else work together. */
    if (cluster && choice->strategy == &liana__strategy_one_device) {
        choice->strategy =
            cluster->place.num_servers ? &liana__strategy_parameter_server : &liana__strategy_multi_worker;
    }
    return LIANA_OK;
}

/* Where nothing is trained, a default loss of the configuration is left out. */
static liana_status find_objective(liana__run *run, const liana__run_options *options,
                                   const liana__objective **objective, liana__error *error)
{
    liana__job_options job = run->config->job;
    const liana__run_data *data = run->training.source ? &run->training : &run->validation;
    const liana__data_match *match = data->source ? &data->match : NULL;
    liana__objective_request request = {.model = run->model,
                                        .by_class = options->by_class,
                                        .predicts = !options->training && !options->validation &&
                                                    liana__model_has_no_loss(run->model)};
    if (!options->training && !liana__config_gives(run->config, "train.loss")) job.loss = NULL;
    if (options->layer) {
        request.predicts = true;
        job.loss = job.loss_weights = job.metrics = NULL;
    }
    return liana__model_find_objective(&job, match, options->training, &run->arena, &request, objective, error);
}

liana_status liana__run_list_values(liana__run *run, const liana__objective **objective, liana__error *error)
{
    LIANA_TRY(liana__run_find_match(run, error));
    const liana__run_options wanted = {.training = true};
    return find_objective(run, &wanted, objective, error);
}

static liana_status give_layer(liana__run *run, const char *layer, liana__error *error)
{
    liana__error own = {0};
    const liana_status status = liana__model_give_results(run->model, layer, &own);
    if (status == LIANA_OK) return LIANA_OK;
    return liana__fail(error, status == LIANA_NOT_FOUND ? LIANA_INVALID_CONFIG : status, "--layer: %s", own.message);
}

static liana_status make_trainer(liana__run *run, const liana__run_options *options, liana__error *error)
{
    liana__job_options *job = &run->config->job;
    const bool training = options->training;
    const liana__run_data *data = run->training.source ? &run->training : &run->validation;
    liana__optimizer_choice optimizer;
    liana__training_options wanted = {
        .optimizer = training ? &optimizer : NULL,
        .trainer = {.model = run->model,
                    .table_rows = training ? liana__run_device_rows(run) : 0,
                    .unprepared = options->unprepared,
                    .scale = run->scale,
                    .fractions = run->fractions,
                    .mixes = run->training.augment && liana__augment_mixes(run->training.augment)},
        .data_memory = liana__run_data_memory(run),
        .notes = {options->on_note, options->user},
    };
    LIANA_TRY(liana__run_find_match(run, error));
    if (options->layer) LIANA_TRY(give_layer(run, options->layer, error));
    LIANA_TRY(find_objective(run, options, &wanted.trainer.objective, error));
    if (training) LIANA_TRY(liana__run_check_labels(run, wanted.trainer.objective, options, error));
    if (training) LIANA_TRY(liana__run_find_class_weights(run, wanted.trainer.objective, options, error));
    wanted.trainer.class_weights = run->class_weights;
    wanted.trainer.num_class_weights = run->num_class_weights;
    if (training) LIANA_TRY(find_optimizer(run, &optimizer, error));
    LIANA_TRY(find_strategy(run, training, &wanted.strategy, error));
    if (liana__device_set_is_served(run->context, job->device, &wanted.strategy)) {
        LIANA_TRY(liana__served_use_cluster(run->context, &run->config->cluster, error));
    }
    const liana__data_match *match = data->source ? &data->match : NULL;
    LIANA_TRY(liana__job_compile(job, match, &wanted, &run->arena, &run->core, error));
    if (run->job.stages.count) run->core.stages = &run->job.stages;
    job->precision = run->core.precision;
    job->microbatch = liana__trainer_microbatch(run->core.trainer);
    if (training) {
        job->recompute = run->core.recompute;
        job->memory = run->core.memory;
    }
    return LIANA_OK;
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
    const char *checkpoints = liana__run_checkpoints(run, folder), *path = checkpoint;
    if (!checkpoints) return liana__fail_memory(error, "the run folder");
    if (!checkpoint) {
        LIANA_TRY(liana__checkpoint_newest(checkpoints, &run->arena, &path, error));
    } else if (liana__path_is_remote(checkpoint)) {
        LIANA_TRY(fetch_checkpoint(run, checkpoint, &path, error));
    } else {
        LIANA_TRY(liana__checkpoint_find(checkpoints, checkpoint, &run->arena, &path, error));
    }
    if (!path) {
        return liana__fail(error, LIANA_NOT_FOUND, "'%s' has no checkpoint yet; train it with 'liana train' first",
                           folder);
    }
    if (loaded) *loaded = path;
    return liana__checkpoint_load(path, &run->core.variables, NULL, error);
}

/* A run that was longer or shorter before has another schedule now, if that goes to its end. */
static void note_length(const liana__run *run, const liana__run_options *options)
{
    const liana__training_length now = liana__job_length(&run->job), *before = &run->length_before;
    if (now.epochs == before->epochs && now.steps == before->steps) return;
    if (liana__learning_rate_has_length(&run->core.learning_rate)) return;
    liana__run_note(options,
                    "the run has another length than before: %s now decays to the new end, so the learning rate is not "
                    "what it was (decay_steps or decay_epochs keep a schedule as it is)",
                    run->core.learning_rate.schedule->part.name);
}

static liana_status resume(liana__run *run, const liana__run_options *options, liana__error *error)
{
    const char *checkpoints = liana__run_checkpoints(run, run->folder), *path;
    if (!checkpoints) return liana__fail_memory(error, "the run folder");
    const char *newer = options->handover ? options->handover->checkpoint : NULL;
    if (run->core.state.data) run->core.state.data->may_change = options->allow_changed;
    LIANA_TRY(liana__job_resume(&run->job, checkpoints, newer, options->resume_from, &path, error));
    const bool meets_again = liana__cluster_is_later_round(run->core.cluster);
    liana__run_handover_end(options->handover);
    if (!path) {
        liana__run_note(options, "no checkpoint in '%s' yet: starting from the beginning",
                        liana__remote_name(run->folder));
        return LIANA_OK;
    }
    LIANA_TRY(liana__run_read_bad_records(run, error));
    const liana__training_length length = liana__job_length(&run->job);
    if (liana__fit_is_over(&run->core.state, &length, &run->job.callbacks)) {
        const char *stopped_by = run->core.state.stopped_by;
        liana__run_note(options, "'%s' is the end of the run%s%s: nothing is left to train", liana__remote_name(path),
                        *stopped_by ? ", which was ended by " : "", stopped_by);
        return LIANA_OK;
    }
    note_length(run, options);
    if (meets_again) {
        liana__run_note(options, "the processes have met again, and go on in epoch %lld after step %lld: %zu of %zu",
                        (long long)run->core.state.epoch + 1, (long long)run->core.state.step,
                        liana__cluster_num_members(run->core.cluster), liana__cluster_size(run->core.cluster));
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

/* A run that goes on has the name that it has. */
static liana_status check_folder_name(const liana__run *run, const liana__run_options *options, liana__error *error)
{
    const char *output = run->config->output;
    if (!options->training || !options->folder || options->resume || options->resume_from) return LIANA_OK;
    liana__error found = {0};
    liana_status status =
        liana__folder_name_check(options->folder, "a run folder with config.yaml, model.json and checkpoints", &found);
    if (status == LIANA_OK) return LIANA_OK;
    const bool is_key = output && strcmp(output, options->folder) == 0;
    const liana__place place = is_key ? liana__config_place(run->config, "output") : (liana__place){0};
    return liana__fail_at(error, &place, is_key ? "output" : "--out", "%s", found.message);
}

static liana_status open_model(liana__run *run, const liana__run_options *options, liana__error *error)
{
    LIANA_TRY(check_folder_name(run, options, error));
    LIANA_TRY(liana__run_make_remote(run, options, error));
    LIANA_TRY(liana__run_read_model(run, error));
    if (options->training) LIANA_TRY(liana__run_read_state(run, error));
    if (options->training && run->folder) {
        const liana__remote_options remote = liana__run_remote_options(run);
        const liana_status opened = liana__run_open_outlet(run, options, &remote, error);
        LIANA_TRY(liana__run_share_beginning(run, options, opened, error));
        LIANA_TRY(liana__run_check_folder(run, options, error));
    }
    LIANA_TRY(liana__run_find_data(run, options, error));
    liana__run_find_fractions(run, options);
    if (options->training) LIANA_TRY(liana__run_check_device_cache(run, error));
    LIANA_TRY(liana__run_find_options(run, options, error));
    LIANA_TRY(liana__run_build_model(run, error));
    const bool goes_on = options->training && options->resume && run->folder;
    return goes_on ? liana__run_keep_variances(run, error) : LIANA_OK;
}

static bool has_weights(const liana__run *run)
{
    return run->config->model.weights || run->config->model.warm_start.from;
}

/* Of a cluster the chief alone opens the files, and the others wait for its variables. */
static liana_status load_weights(liana__run *run, const liana__run_options *options, liana__error *error)
{
    liana__cluster *cluster = run->core.cluster;
    liana_status status = LIANA_OK;
    if (!has_weights(run)) return LIANA_OK;
    if (liana__cluster_is_chief(cluster)) {
        status = liana__run_load_weights(run, options, error);
        if (status == LIANA_OK) status = liana__run_warm_start(run, options, error);
    }
    LIANA_TRY(liana__cluster_agree_status(cluster, status, error));
    return liana__training_take_variables(&run->core, error);
}

static liana_status set_up(liana__run *run, const liana__run_options *options, liana__error *error)
{
    LIANA_TRY(liana__run_agree_on_settings(run, options, error));
    liana__phase_part("open");
    liana_status status = open_model(run, options, error);
    LIANA_TRY(liana__run_agree_to_go_on(run, options, status, error));
    LIANA_TRY(liana__run_agree_on_data(run, error));
    liana__phase_part("compile");
    status = make_trainer(run, options, error);
    LIANA_TRY(liana__run_agree_to_go_on(run, options, status, error));
    LIANA_TRY(liana__run_agree_on_arithmetic(run, options, error));
    if (options->training && !has_weights(run)) LIANA_TRY(liana__warn_find_averages(&run->warnings, error));
    if (options->training && run->folder) {
        LIANA_TRY(liana__job_note_data(&run->job, run->training.source, error));
        LIANA_TRY(liana__run_note_settings(run, options, error));
    }
    if (options->training) {
        liana__training_state_next_fit(&run->core.state, run->config->job.initial_epoch);
        LIANA_TRY(liana__job_add_callbacks(&run->job, NULL, 0, error));
        LIANA_TRY(liana__job_find_stop(&run->job, run->core.cluster, error));
    }
    const bool resumes = options->resume || options->resume_from;
    if (options->training && resumes && run->folder) LIANA_TRY(resume(run, options, error));
    if (options->training) {
        LIANA_TRY(liana__job_check_stop(&run->job, error));
        liana__job_note_contents(&run->job);
    }
    if (options->training && !run->job.resumed) {
        liana__phase_part("adapt");
        LIANA_TRY(liana__run_agree_to_go_on(run, options, liana__run_adapt(run, options, error), error));
        LIANA_TRY(load_weights(run, options, error));
        const liana__notes notes = {options->on_note, options->user};
        LIANA_TRY(liana__optimizer_state_begin(&run->state, &run->core, &notes, error));
    }
    liana__optimizer_state_free(&run->state);
    if (options->training && !run->job.resumed && has_weights(run))
        LIANA_TRY(liana__warn_find_averages(&run->warnings, error));
    status = liana__run_start_loaders(run, options, error);
    if (status == LIANA_OK && options->training) status = liana__run_fill_device(run, options, error);
    LIANA_TRY(liana__run_agree_to_go_on(run, options, status, error));
    if (options->training) {
        const liana__training_length length = liana__job_length(&run->job);
        liana__warn_of_warmup(&run->warnings, run->training.loader, &length);
    }
    return LIANA_OK;
}

typedef liana_status (*opener)(liana__run *run, const liana__run_options *options, liana__error *error);

static liana_status open_with(opener open, liana_context *context, const liana__config *config,
                              const liana__run_options *options, liana__run *run, liana__error *error)
{
    *run = (liana__run){.context = context, .folder = options->folder, .untrained = options->untrained};
    run->config = liana__arena_copy(&run->arena, config, sizeof *config);
    run->bad_records.most = config->data.max_bad;
    run->bad_records.on_note = options->on_bad_record ? options->on_bad_record : options->on_note;
    run->bad_records.user = options->user;
    liana_status status = LIANA_OK;
    if (run->config) {
        run->job = (liana__job){.context = context,
                                .options = &run->config->job,
                                .door = liana__config_door(run->config),
                                .notes = {options->on_note, options->user},
                                .arena = &run->arena,
                                .training = &run->core};
        status = open(run, options, error);
    } else {
        status = liana__fail_memory(error, "the run");
    }
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
