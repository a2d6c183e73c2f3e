/* The parts that all jobs have alike. */
#include "train/job/job.h"

#include "base/clock.h"
#include "distribute/cluster/cluster.h"
#include "train/callbacks/watch.h"
#include "train/checkpoint/data_state.h"
#include "train/checkpoint/resume.h"
#include "train/training/tile_plan.h"

#include <stdio.h>
#include <time.h>

void liana__job_free(liana__job *job)
{
    liana__callback_list_free(&job->callbacks);
}

/* ---- length ---- */

liana__training_length liana__job_length(const liana__job *job)
{
    const liana__job_options *options = job->options;
    return (liana__training_length){options->epochs, options->steps, options->max_minutes, job->stop_at};
}

liana_status liana__job_find_stop(liana__job *job, liana__cluster *cluster, liana__error *error)
{
    time_t moment;
    const char *text = job->options->stop_at;
    if (text && liana__wall_clock_read(text, time(NULL), &moment)) job->stop_at = (int64_t)moment;
    return cluster ? liana__cluster_follow_chief(cluster, &job->stop_at, sizeof job->stop_at, error) : LIANA_OK;
}

static liana_status check_stop(const liana__job *job, liana__error *error)
{
    char moment[64], now[64];
    if (!liana__cluster_is_chief(job->training->cluster)) return LIANA_OK;
    if (job->resumed || !job->stop_at || (time_t)job->stop_at > time(NULL)) return LIANA_OK;
    return liana__job_refuse(&job->door, error, "stop_at", liana__wall_clock_show((time_t)job->stop_at, moment),
                             "a time to come; now it is %s", liana__wall_clock_show(time(NULL), now));
}

liana_status liana__job_check_stop(const liana__job *job, liana__error *error)
{
    return liana__cluster_agree_status(job->training->cluster, check_stop(job, error), error);
}

liana_status liana__job_read_stages(const liana__job_options *options, const liana__job_door *door,
                                    const liana_context *context, liana__arena *arena, liana__training_stages *stages,
                                    liana__error *error)
{
    const char *epochs = liana__arena_format(arena, "%sepochs", door->prefix);
    if (!epochs) return liana__fail_memory(error, "the stages");
    liana__training_stages_request request = {.context = context,
                                              .where = "stages",
                                              .initial_epoch = options->initial_epoch,
                                              .epochs = options->epochs,
                                              .epochs_where = epochs};
    LIANA_TRY(liana__job_value(options, options->stages, "stages", arena, &request.list, error));
    LIANA_TRY(liana__job_optimizer_value(options, arena, &request.optimizer, error));
    return liana__training_stages_read(&request, arena, stages, error);
}

liana_status liana__job_begin_stages(liana__job *job, liana_model *model, liana__error *error)
{
    liana__job_options *options = job->options;
    liana__training_stages stages;
    if (!options->stages) return LIANA_OK;
    LIANA_TRY(liana__job_read_stages(options, &job->door, job->context, job->arena, &stages, error));
    LIANA_TRY(liana__training_stages_bind(&stages, model, "stages", job->arena, error));
    job->stages = stages;
    options->epochs = liana__training_stages_epochs(&stages);
    liana__training_stage_apply(&stages, 0, model);
    return LIANA_OK;
}

/* ---- compiling ---- */

bool liana__job_keeps_precision(liana__job_options *options, const char *recorded, liana_precision *before)
{
    if (!recorded || !*recorded) return true;
    *before = liana__precision_named(recorded);
    if (options->precision == LIANA_PRECISION_AUTO) options->precision = (int)*before;
    return options->precision == (int)*before;
}

liana_status liana__job_compile(const liana__job_options *options, const liana__data_match *match,
                                liana__training_options *wanted, liana__arena *arena, liana__training *training,
                                liana__error *error)
{
    liana__trainer_options *trainer = &wanted->trainer;
    wanted->device = options->device;
    wanted->precision = (liana_precision)options->precision;
    wanted->recompute = (liana_recompute)options->recompute;
    wanted->memory = options->memory;
    trainer->batch_size = options->batch_size;
    trainer->evaluation_batch_size = liana__job_evaluation_batch_size(options);
    trainer->microbatch = options->microbatch;
    trainer->steps_per_execution = options->steps_per_execution;
    trainer->seed = (uint64_t)options->seed;
    trainer->deterministic = options->deterministic;
    if (match) {
        liana__trainer_input *inputs = liana__arena_allocate(arena, LIANA__MAX_INPUTS * sizeof *inputs);
        if (!inputs) return liana__fail_memory(error, "the model's inputs");
        liana__data_match_inputs(trainer->model, match, inputs);
        trainer->inputs = inputs;
        trainer->weighted = match->weight != NULL;
    }
    LIANA_TRY(liana__training_open(training, wanted, error));
    if (match && wanted->optimizer && !trainer->unprepared) liana__tile_advice_note(training, &wanted->notes);
    return LIANA_OK;
}

/* ---- fitting ---- */

liana_status liana__job_add_callbacks(liana__job *job, const liana_callback *const *own, size_t count,
                                      liana__error *error)
{
    const liana__job_options *options = job->options;
    liana__callback_list *list = &job->callbacks;
    const bool is_run = job->door.kind == LIANA__DOOR_RUN;
    const char *control = is_run ? "train.control" : "control";
    const char *callbacks = is_run ? "train.callbacks" : "named_callbacks";
    const liana__value *value;
    LIANA_TRY(liana__callback_list_add(list, &liana__callback_history, NULL, NULL, NULL, error));
    LIANA_TRY(liana__job_value(options, options->control, control, job->arena, &value, error));
    LIANA_TRY(liana__control_read(list, value, control, job->arena, error));
    LIANA_TRY(liana__job_value(options, options->callbacks, callbacks, job->arena, &value, error));
    LIANA_TRY(liana__callback_list_read(list, job->context, value, callbacks, job->arena, error));
    LIANA_TRY(liana__job_value(options, options->summaries, "summaries", job->arena, &value, error));
    LIANA_TRY(liana__summaries_read(list, value, "summaries", job->arena, error));
    for (size_t i = 0; i < count; i++) LIANA_TRY(liana__user_callback_add(list, own ? own[i] : NULL, error));
    return LIANA_OK;
}

/* Those that every job has. */
static liana_status finish_callbacks(liana__job *job, const liana__job_watch *watch,
                                     const liana__numbers_options *numbers, liana__error *error)
{
    const liana__job_options *options = job->options;
    const liana__checkpointing_options *saves = &options->checkpoint;
    const struct {
        bool wanted;
        const liana_callback_type *type;
        const void *options;
        const char *name;
    } all[] = {
        {options->max_minutes > 0, &liana__callback_max_minutes, &options->max_minutes, "max_minutes"},
        {job->stop_at != 0, &liana__callback_stop_at, &job->stop_at, "stop_at"},
        {watch->numbers, &liana__callback_bad_numbers, numbers, "bad_numbers"},
        {watch->progress != NULL, &liana__callback_progress, watch->progress, NULL},
        {saves->best.monitor != NULL, &liana__callback_best_checkpoint, &saves->best, "best_checkpoint"},
        {true, &liana__callback_checkpointing, saves, saves->keep_every_hours > 0 ? "checkpointing" : NULL},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!all[i].wanted) continue;
        LIANA_TRY(liana__callback_list_add(&job->callbacks, all[i].type, all[i].options, all[i].name, NULL, error));
    }
    return LIANA_OK;
}

liana_status liana__job_fit(liana__job *job, const liana__job_watch *watch, liana__fit_options *wanted,
                            liana__error *error)
{
    const liana__job_options *options = job->options;
    const liana__numbers_options numbers = {(liana__on_bad_numbers)options->on_bad_numbers, options->max_bad_numbers,
                                            options->bad_numbers_factor, watch->numbers_folder};
    liana_status status = finish_callbacks(job, watch, &numbers, error);
    wanted->job = options;
    wanted->length = liana__job_length(job);
    wanted->resumed = job->resumed;
    wanted->callbacks = &job->callbacks;
    wanted->notes = job->notes;
    if (status == LIANA_OK) status = liana__fit(job->training, wanted, error);
    status = liana__checkpoint_writer_close(job->writer, status, error);
    job->writer = NULL;
    return status;
}

/* ---- checkpoints ---- */

liana_status liana__job_note_data(liana__job *job, const liana__source *source, liana__error *error)
{
    liana__data_state *data = liana__arena_allocate(job->arena, sizeof *data);
    if (!data) return liana__fail_memory(error, "the state of the data");
    job->training->state.data = data;
    return liana__data_state_find(source, job->arena, data, error);
}

void liana__job_note_contents(const liana__job *job)
{
    liana__data_state *data = job->training->state.data;
    if (!data) return;
    if (*data->note) liana__note(&job->notes, "%s", data->note);
    liana__data_state_read_contents(data);
}

liana_status liana__job_resume(liana__job *job, const char *folder, const char *newer, const char *from,
                               const char **path, liana__error *error)
{
    liana__cluster *cluster = job->training->cluster;
    *path = from;
    if (from) {
        liana_status status = LIANA_OK;
        if (liana__cluster_is_chief(cluster)) status = liana__checkpoint_find(folder, from, job->arena, path, error);
        LIANA_TRY(liana__cluster_agree_status(cluster, status, error));
        LIANA_TRY(liana__checkpoint_resume_from(folder, *path, job->training, &job->notes, job->arena, error));
    } else {
        LIANA_TRY(liana__checkpoint_resume(folder, newer, job->training, &job->notes, job->arena, path, error));
    }
    job->resumed = *path != NULL;
    return LIANA_OK;
}

liana_status liana__job_open_writer(liana__job *job, const char *folder, liana__outlet *outlet, liana__error *error)
{
    const liana__checkpoint_writer_options options = {folder, job->options->checkpoint.keep, outlet};
    return liana__checkpoint_writer_create(&options, &job->training->variables, &job->writer, error);
}

liana_status liana__job_send(liana__outlet *outlet, liana_status status, liana__error *error)
{
    liana__error unsent = {0};
    liana_status sent = outlet ? liana__outlet_flush(outlet, &unsent) : LIANA_OK;
    if (sent == LIANA_OK || (status != LIANA_OK && status != LIANA_CANCELLED)) return status;
    *error = unsent;
    return sent;
}
